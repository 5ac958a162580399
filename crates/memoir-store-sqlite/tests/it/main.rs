//! The embedded store from outside.

mod common;
mod concurrency;
mod conformance;
mod crash;
mod damage;
mod file;
mod full;

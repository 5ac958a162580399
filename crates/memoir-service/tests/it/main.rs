//! The service over real HTTP.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod agents;
mod documented;
mod house;
mod matrix;
mod memories;
mod sessions;
mod tokens;

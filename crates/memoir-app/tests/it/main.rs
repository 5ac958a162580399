//! Whole stories through the use cases, on a real store, with scripted models.

mod crashing;
mod driving;
mod leases;
mod privacy;
mod rehearsing;
mod sending;
mod undoing;
mod world;

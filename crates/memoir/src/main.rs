//! The `memoir` command.
fn main() {}

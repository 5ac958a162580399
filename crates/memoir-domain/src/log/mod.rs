//! The log of an agent: its records, which of them are effective, and the core size that they state (SPEC 4.1, 4.3).
//! The reconstruction of past states from records is not here, but in `history`.

pub mod audit;
pub mod core_size;
pub mod effective;

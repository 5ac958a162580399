//! The pages of help: the commands in groups, an example for each, and suggestions for a line that cannot be parsed.

mod examples;
mod groups;
mod slips;

pub(crate) use examples::with_examples;
pub(crate) use groups::grouped;
pub(crate) use slips::{reading_negatives, with_closest};

//! Which events may be logged (SPEC 5.1).

use tracing::{Level, Metadata};

/// Whether an event can hold no agent's words. Those of Memoir's own crates hold none, whatever their
/// level. Other crates know nothing of that: the one that speaks the Model Context Protocol writes whole
/// messages, and of the others what they tell at work may hold what they work on.
pub fn may_be_logged(metadata: &Metadata<'_>) -> bool {
    let target = metadata.target();
    let of = |name: &str| target.split("::").next() == Some(name);
    if target.starts_with("memoir") {
        return true;
    }
    !of("rmcp") && *metadata.level() <= Level::WARN
}

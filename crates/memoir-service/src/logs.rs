//! Which events may be logged (SPEC 5.1).

use tracing::{Level, Metadata};

/// Whether an event holds no agent's text. Those of Memoir's own crates hold none, whatever their level. Other crates
/// know no such rule: the one of the Model Context Protocol logs whole messages, and the others may log the data that
/// they process.
pub fn may_be_logged(metadata: &Metadata<'_>) -> bool {
    let target = metadata.target();
    let of = |name: &str| target.split("::").next() == Some(name);
    if target.starts_with("memoir") {
        return true;
    }
    !of("rmcp") && *metadata.level() <= Level::WARN
}

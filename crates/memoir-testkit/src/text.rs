//! Checks of a text and of an object, with what was checked in their failures.

use serde_json::Value;

/// The rows of a table of cases: a line each, with ` | ` between its cells. Blank lines are none.
///
/// # Panics
/// A line has another number of cells.
pub fn rows<const N: usize>(table: &str) -> impl Iterator<Item = [&str; N]> {
    let lines = table.lines().map(str::trim);
    lines.filter(|line| !line.is_empty()).map(|line| {
        let cells: Vec<&str> = line.split(" | ").collect();
        cells.try_into().unwrap_or_else(|_| panic!("{line}"))
    })
}

/// What a test expects of a text, which it prints where that fails.
pub trait TestedText {
    /// Checks that it begins with a part.
    fn begins(&self, part: &str);

    /// Checks that it contains a part.
    fn tells(&self, part: &str);

    /// Checks that it does not contain a part.
    fn omits(&self, part: &str);
}

/// What a test expects of an object, which it prints where that fails.
pub trait TestedObject {
    /// Checks that it has these fields with these values; null where a field may be missing as well.
    fn has(&self, fields: Value);
}

impl TestedObject for Value {
    #[track_caller]
    #[expect(clippy::unwrap_used, reason = "a test says which fields")]
    fn has(&self, fields: Value) {
        for (name, value) in fields.as_object().unwrap() {
            assert_eq!(self[name], *value, "`{name}` of {self}");
        }
    }
}

impl TestedText for str {
    #[track_caller]
    fn begins(&self, part: &str) {
        assert!(self.starts_with(part), "it lacks `{part}` first: {self}");
    }

    #[track_caller]
    fn tells(&self, part: &str) {
        assert!(self.contains(part), "it lacks `{part}`: {self}");
    }

    #[track_caller]
    fn omits(&self, part: &str) {
        assert!(!self.contains(part), "it has `{part}`: {self}");
    }
}

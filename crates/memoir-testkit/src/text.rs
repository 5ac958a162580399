//! Checks of a text, with the text in their failures.

/// What a test expects of a text, which it prints where that fails.
pub trait TestedText {
    /// Checks that it contains a part.
    fn tells(&self, part: &str);

    /// Checks that it does not contain a part.
    fn omits(&self, part: &str);
}

impl TestedText for str {
    #[track_caller]
    fn tells(&self, part: &str) {
        assert!(self.contains(part), "it lacks `{part}`: {self}");
    }

    #[track_caller]
    fn omits(&self, part: &str) {
        assert!(!self.contains(part), "it has `{part}`: {self}");
    }
}

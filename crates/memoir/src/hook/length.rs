//! The length of a text as a program counts it, and the most that it accepts.

/// The unit in which a program counts a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextUnit {
    /// Units of UTF-16, as JavaScript counts: an emoji is two.
    Utf16,
    /// Bytes of UTF-8: a Chinese character is three.
    Bytes,
}

/// The most that a program accepts as one response; it puts more into a file that its model is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextLimit {
    pub(super) most: usize,
    pub(super) unit: TextUnit,
}

impl TextLimit {
    pub(super) fn length_of(self, text: &str) -> usize {
        match self.unit {
            TextUnit::Utf16 => text.chars().map(char::len_utf16).sum(),
            TextUnit::Bytes => text.len(),
        }
    }

    pub(super) fn fits(self, text: &str) -> bool {
        self.length_of(text) <= self.most
    }

    /// What is left of it beside a text.
    pub(super) fn beside(self, text: &str) -> Self {
        self.at_most(self.most.saturating_sub(self.length_of(text)))
    }

    pub(super) fn at_most(self, most: usize) -> Self {
        Self {
            most: self.most.min(most),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_2_3_a_text_is_as_long_as_its_program_counts() {
        let limit = |unit| TextLimit { most: 6, unit };
        for (text, utf16, bytes) in [("bees", 4, 4), ("🐝🐝", 4, 8), ("蜜蜂", 2, 6)] {
            assert_eq!(limit(TextUnit::Utf16).length_of(text), utf16);
            assert_eq!(limit(TextUnit::Bytes).length_of(text), bytes);
        }
        let limit = limit(TextUnit::Utf16);
        assert!(limit.fits("🐝🐝🐝") && !limit.fits("🐝🐝🐝."));
        assert_eq!(limit.beside("🐝").most, 4);
        assert_eq!(limit.beside("🐝🐝🐝🐝").most, 0);
    }
}

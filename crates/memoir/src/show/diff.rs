//! Two texts against each other: lines with `-` and `+`, and in colour the words that differ.

use std::fmt::Write;

use anstyle::Style;
use similar::{ChangeTag, TextDiff};

use crate::terminal::{ADDED, ADDED_WORD, DIM, REMOVED, REMOVED_WORD, safe_lines};

/// What became of `before`; an absent side is nothing at all.
pub(crate) fn diff(before: Option<&str>, after: Option<&str>) -> String {
    match (before, after) {
        (Some(before), Some(after)) => between(&safe_lines(before), &safe_lines(after)),
        (Some(before), None) => whole('-', REMOVED, before),
        (None, Some(after)) => whole('+', ADDED, after),
        (None, None) => String::new(),
    }
}

fn whole(sign: char, style: Style, text: &str) -> String {
    let text = safe_lines(text);
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| format!("{style}{sign} {line}{style:#}\n"))
        .collect();
    lines.concat()
}

fn between(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut text = String::new();
    for operation in diff.ops() {
        for change in diff.iter_inline_changes(operation) {
            let (sign, style, word) = match change.tag() {
                ChangeTag::Equal => (' ', DIM, DIM),
                ChangeTag::Delete => ('-', REMOVED, REMOVED_WORD),
                ChangeTag::Insert => ('+', ADDED, ADDED_WORD),
            };
            // Writing to a string cannot fail.
            let _ = write!(text, "{style}{sign} {style:#}");
            for &(emphasized, part) in change.values() {
                let style = if emphasized { word } else { style };
                let part = part.trim_end_matches('\n');
                let _ = write!(text, "{style}{part}{style:#}");
            }
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(before: Option<&str>, after: Option<&str>) -> String {
        anstream::adapter::strip_str(&diff(before, after)).to_string()
    }

    #[test]
    fn without_colour_every_line_tells_by_its_sign() {
        assert_eq!(plain(Some("a b"), Some("a c")), "- a b\n+ a c\n");
        assert_eq!(plain(Some("a\nb"), Some("a\nc")), "  a\n- b\n+ c\n");
        assert_eq!(plain(Some("a\nb"), None), "- a\n- b\n");
        assert_eq!(plain(None, Some("a")), "+ a\n");
        assert_eq!(plain(Some("\u{1b}[31m"), None), "- \\u{1b}[31m\n");
    }

    #[test]
    fn in_colour_the_words_that_differ_stand_out() {
        let text = diff(
            Some("Wheat paste keeps four days in the larder"),
            Some("Wheat paste keeps five days in the larder"),
        );
        assert!(
            text.contains(&format!("{ADDED_WORD}five{ADDED_WORD:#}")),
            "{text:?}"
        );
    }
}

//! Fits text into columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The lines of `text`, each at most `columns` wide. Words are kept whole where they fit; scripts without spaces are
/// cut between characters.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    text.split('\n')
        // A wide character takes two columns.
        .flat_map(|line| wrap_line(line, columns.max(2)))
        .collect()
}

fn wrap_line(line: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in line.split_inclusive(' ') {
        let width = word.trim_end().width();
        if used > 0 && used + width > columns && width <= columns {
            lines.push(String::new());
            used = 0;
        }
        for character in word.chars() {
            // Callers make control characters visible first, and all other characters have a width.
            let width = character.width().unwrap_or(0);
            // A space at the end of a line takes no room.
            if used + width > columns && character != ' ' {
                lines.push(String::new());
                used = 0;
            }
            if let Some(line) = lines.last_mut() {
                line.push(character);
            }
            used += width;
        }
    }
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole_where_they_fit_and_no_line_is_too_wide() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a\n\nb", 9), ["a", "", "b"]);
        assert_eq!(wrap("unbreakable", 4), ["unbr", "eaka", "ble"]);
        assert_eq!(wrap("ab 日本語です", 6), ["ab 日", "本語で", "す"]);
    }
}

//! Differences of two texts: lines with `-` and `+`, and in colour the words that differ.

use std::fmt::Write;

use anstyle::Style;
use memoir_domain::text::{gaps, pieces};

use crate::terminal::{ADDED, ADDED_WORD, DIM, REMOVED, REMOVED_WORD, safe_lines};

/// The change of `before` to `after`; `None` is no text.
pub(crate) fn diff(before: Option<&str>, after: Option<&str>) -> String {
    match (before, after) {
        // The texts are escaped before they are compared, so that the differences are those of the shown texts.
        (Some(before), Some(after)) => between(&safe_lines(before), &safe_lines(after)),
        (Some(before), None) => whole('-', REMOVED, before),
        (None, Some(after)) => whole('+', ADDED, after),
        (None, None) => String::new(),
    }
}

fn whole(sign: char, style: Style, text: &str) -> String {
    let text = safe_lines(text);
    let lines = text.split('\n');
    let lines = lines.map(|line| format!("{style}{sign} {line}{style:#}\n"));
    lines.collect()
}

fn between(before: &str, after: &str) -> String {
    let [old, new] = [before, after].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let mut text = String::new();
    let mut next = 0;
    for [left, right] in gaps(&old, &new) {
        lines(&mut text, ' ', [DIM, DIM], &plain(&old[next..left.start]));
        next = left.end;
        let [removed, added] = marked(&old[left], &new[right]);
        lines(&mut text, '-', [REMOVED, REMOVED_WORD], &removed);
        lines(&mut text, '+', [ADDED, ADDED_WORD], &added);
    }
    lines(&mut text, ' ', [DIM, DIM], &plain(&old[next..]));
    text
}

/// A piece of a line, and whether it is highlighted.
type Piece<'a> = (&'a str, bool);

fn plain<'a>(lines: &[&'a str]) -> Vec<Piece<'a>> {
    let all = lines.iter().flat_map(|line| pieces(line));
    all.map(|piece| (piece, false)).collect()
}

/// The pieces of replaced and replacing lines; where at least half is equal, the different ones are highlighted.
fn marked<'a>(removed: &[&'a str], added: &[&'a str]) -> [Vec<Piece<'a>>; 2] {
    let mut sides = [plain(removed), plain(added)];
    let [left, right] = sides
        .each_ref()
        .map(|side| side.iter().map(|(piece, _)| *piece).collect::<Vec<_>>());
    let gaps = gaps(&left, &right);
    let apart: usize = gaps.iter().flatten().map(|places| places.len()).sum();
    if apart * 2 <= left.len() + right.len() {
        for gap in gaps {
            for (side, places) in sides.iter_mut().zip(gap) {
                side[places]
                    .iter_mut()
                    .for_each(|(_, stands_out)| *stands_out = true);
            }
        }
    }
    sides
}

fn lines(text: &mut String, sign: char, [style, word]: [Style; 2], pieces: &[Piece<'_>]) {
    for line in pieces.split_inclusive(|(piece, _)| *piece == "\n") {
        let _ = write!(text, "{style}{sign} {style:#}");
        for run in line.chunk_by(|(_, one), (_, other)| one == other) {
            let style = if run[0].1 { word } else { style };
            let part: String = run.iter().map(|(piece, _)| *piece).collect();
            let part = part.trim_end_matches('\n');
            if !part.is_empty() {
                let _ = write!(text, "{style}{part}{style:#}");
            }
        }
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(before: Option<&str>, after: Option<&str>) -> String {
        anstream::adapter::strip_str(&diff(before, after)).to_string()
    }

    #[test]
    fn without_colour_every_line_has_its_sign() {
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
        let word = format!("{ADDED_WORD}five{ADDED_WORD:#}");
        assert!(text.contains(&word), "{text:?}");
    }
}

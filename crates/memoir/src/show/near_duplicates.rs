//! Near duplicates: pairs of memories that are similar.

use std::fmt::Write;

use memoir_app::ShownMemory;
use memoir_domain::{PrivateText, near_duplicates::NearDuplicate};

use super::{joined, percent, wrap::wrap};
use crate::terminal::{self, ADDED, BOLD, DIM, REMOVED, YELLOW, safe};

/// One pair after the other: the similarity, both texts, and the differences.
pub(crate) fn list(pairs: &[NearDuplicate<ShownMemory>]) -> String {
    let width = terminal::width().map(usize::from);
    joined(pairs.iter().map(|pair| paragraph(pair, width)), "\n")
}

fn paragraph(pair: &NearDuplicate<ShownMemory>, width: Option<usize>) -> String {
    let (left, right) = (pair.left.number, pair.right.number);
    let mut text = format!("{BOLD}{left} and {right}{BOLD:#}  ");
    let _ = if pair.exact {
        writeln!(
            text,
            "{YELLOW}duplicates{YELLOW:#}{DIM}, which the next session joins{DIM:#}"
        )
    } else {
        writeln!(
            text,
            "{DIM}{} of their words{DIM:#}",
            percent(pair.similarity)
        )
    };
    for memory in [&pair.left, &pair.right] {
        quoted(&mut text, memory, width);
    }
    for difference in &pair.differences {
        let value = |value: &Option<PrivateText>| match value {
            Some(words) => safe(words.expose()).into_owned(),
            None => "-".to_owned(),
        };
        let (left, right) = (value(&difference.left), value(&difference.right));
        let _ = writeln!(
            text,
            "    {REMOVED}{left}{REMOVED:#} | {ADDED}{right}{ADDED:#}"
        );
    }
    if pair.more_differences > 0 {
        let _ = writeln!(text, "    {DIM}and {} more{DIM:#}", pair.more_differences);
    }
    text
}

fn quoted(text: &mut String, memory: &ShownMemory, width: Option<usize>) {
    // The indentation has room for `#`, a number of five digits and the gap of two.
    const INDENT: usize = 8;
    let number = memory.number.to_string();
    let content = safe(memory.content());
    let lines = match width {
        Some(width) => wrap(&content, width.saturating_sub(INDENT)),
        None => vec![content.into_owned()],
    };
    for (place, line) in lines.iter().enumerate() {
        let number = if place == 0 { number.as_str() } else { "" };
        let _ = writeln!(text, "{number:>6}  {line}");
    }
}

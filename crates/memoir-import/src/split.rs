//! Long texts in parts: at headings and between paragraphs, never between sentences of a paragraph.
//!
//! A part that is not the first of its section begins with the section's heading again, so that its subject is known. A
//! paragraph that refers to the one before stays with it. A paragraph is broken only if it is over the limit alone, at
//! a line break, or else at white space.

/// Beginnings of paragraphs that refer to the paragraph before.
const LEANING: &str = "but|however|yet|though|although|still|nevertheless|instead|except|otherwise|aber|jedoch|doch|mais|\
    cependant|pero|sin embargo|mas|porém|però|tuttavia|но";

/// A text that is one memory unless it is over `limit` characters.
pub(crate) fn text(text: &str, limit: usize) -> Vec<String> {
    // One character over the limit is enough: a text may have megabytes.
    if text.chars().take(limit + 1).count() <= limit {
        return vec![text.to_owned()];
    }
    page(text, limit, limit)
}

/// A page: whole where it has up to `short` characters, else in parts of about as many where its paragraphs allow it,
/// none of them over `limit`.
pub(crate) fn page(text: &str, short: usize, limit: usize) -> Vec<String> {
    let text = text.trim();
    if text.chars().take(short + 1).count() <= short.min(limit) {
        return vec![text.to_owned()];
    }
    let mut parts = Vec::new();
    for section in sections(text) {
        section.split(short, limit, &mut parts);
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

struct HeadedSection<'a> {
    heading: &'a str,
    blocks: Vec<&'a str>,
}

/// The sections of a page. A heading with only a deeper heading below it is added to that one.
fn sections(text: &str) -> Vec<HeadedSection<'_>> {
    let mut sections: Vec<HeadedSection<'_>> = vec![HeadedSection {
        heading: "",
        blocks: Vec::new(),
    }];
    for block in blocks(text) {
        let (heading, rest) = match is_heading(block) {
            true => match block.split_once('\n') {
                Some((heading, rest)) => (heading.trim_end(), rest.trim_matches('\n')),
                None => (block.trim_end(), ""),
            },
            false => ("", block),
        };
        if !heading.is_empty() {
            sections.push(HeadedSection {
                heading,
                blocks: Vec::new(),
            });
        }
        if let Some(last) = sections.last_mut()
            && !rest.trim().is_empty()
        {
            last.blocks.push(rest);
        }
    }
    sections.retain(|section| !section.heading.is_empty() || !section.blocks.is_empty());
    // A heading without text is the title of the following sections; alone it has no content.
    if sections.iter().any(|section| !section.blocks.is_empty()) {
        sections.retain(|section| !section.blocks.is_empty());
    }
    sections
}

impl HeadedSection<'_> {
    fn split(&self, short: usize, limit: usize, parts: &mut Vec<String>) {
        // A heading that leaves no room below it is a text like others.
        let is_title = length(self.heading) <= (limit / 4).min(300);
        let heading = if is_title { self.heading } else { "" };
        let mut blocks = self.blocks.clone();
        if !is_title {
            blocks.insert(0, self.heading);
        }
        let above = if heading.is_empty() {
            0
        } else {
            length(heading) + 2
        };
        let room = limit.saturating_sub(above).max(1);
        let mut part = String::new();
        let mut flush = |part: &mut String| {
            if part.trim().is_empty() {
                return;
            }
            let text = std::mem::take(part);
            parts.push(match heading {
                "" => text,
                heading => format!("{heading}\n\n{text}"),
            });
        };
        if blocks.is_empty() {
            parts.push(heading.to_owned());
            return;
        }
        for block in blocks {
            let together = length(&part) + 2 + length(block);
            let leans = leans(block);
            // A referring paragraph may exceed the target length, but not the limit.
            let fits = together <= short.min(room) || leans && together <= room;
            if !part.is_empty() && !fits {
                flush(&mut part);
            }
            if !part.is_empty() {
                part.push_str("\n\n");
            }
            if length(block) <= room {
                part.push_str(block);
            } else {
                for piece in broken(block, room) {
                    flush(&mut part);
                    part.push_str(&piece);
                }
            }
        }
        flush(&mut part);
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Whether a paragraph refers to the one before it.
fn leans(block: &str) -> bool {
    let begin = block.trim_start_matches(|character: char| !character.is_alphanumeric());
    let begin = begin.chars().take(20).flat_map(char::to_lowercase);
    let begin: String = begin.collect();
    LEANING.split('|').any(|word| {
        begin
            .strip_prefix(word)
            .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

fn is_heading(block: &str) -> bool {
    let marks = block.bytes().take_while(|byte| *byte == b'#').count();
    (1..=6).contains(&marks) && block[marks..].starts_with([' ', '\t'])
}

/// Paragraphs, headings with the text directly below, and fenced blocks, which blank lines do not split.
fn blocks(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    let mut begin = None;
    let mut end = 0;
    let mut fence: Option<&str> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| bare.starts_with(mark));
        let is_outside = fence.is_none();
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        // Within a fence a line that begins with `#` is a comment of a script.
        let is_break = is_outside && (bare.is_empty() || is_heading(line));
        if is_break && let Some(begin) = begin.take() {
            blocks.push(text[begin..end].trim_end());
        }
        if !bare.is_empty() || !is_outside {
            begin.get_or_insert(at);
        }
        at += line.len();
        end = at;
    }
    if let Some(begin) = begin {
        blocks.push(text[begin..].trim_end());
    }
    blocks
}

/// A block that is over the limit alone, in pieces.
fn broken(block: &str, limit: usize) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut piece = String::new();
    let mut size = 0;
    for line in block.split_inclusive('\n') {
        let line_size = length(line);
        if size + line_size > limit && !piece.is_empty() {
            pieces.push(std::mem::take(&mut piece));
            size = 0;
        }
        if line_size <= limit {
            piece.push_str(line);
            size += line_size;
            continue;
        }
        let mut rest = line;
        // Counted up to the limit only: counting all of the rest for each piece would be quadratic in the line's
        // length.
        while let Some((end, _)) = rest.char_indices().nth(limit) {
            let cut = rest[..end]
                .rfind(char::is_whitespace)
                // White space at the very beginning would give an empty piece, and no end.
                .filter(|cut| *cut > 0)
                .unwrap_or(end);
            pieces.push(rest[..cut].to_owned());
            rest = rest[cut..].trim_start();
        }
        piece = rest.to_owned();
        size = length(rest);
    }
    pieces.push(piece);
    pieces
        .iter_mut()
        .for_each(|piece| *piece = piece.trim().to_owned());
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_page_stays_whole() {
        assert_eq!(page("# A\n\nb\n\nc", 100, 1_000), ["# A\n\nb\n\nc"]);
    }

    #[test]
    fn a_long_page_is_split_at_headings_and_paragraphs_and_says_what_it_is_about() {
        let text = "# Kai\n\n## Food\nLikes tea. Hates tea with milk.\n\nBut milk in coffee is fine.\n\nCooks on Sundays.\n## Work\nBuilds boats.";
        assert_eq!(
            page(text, 40, 1_000),
            [
                "## Food\n\nLikes tea. Hates tea with milk.\n\nBut milk in coffee is fine.",
                "## Food\n\nCooks on Sundays.",
                "## Work\n\nBuilds boats.",
            ]
        );
    }

    #[test]
    fn blank_lines_in_a_fence_part_nothing() {
        let text = "Run this:\n\n```\none\n\n# two\n```\n\nThen rest.";
        let parts = ["Run this:", "```\none\n\n# two\n```", "Then rest."];
        assert_eq!(page(text, 25, 1_000), parts);
    }

    #[test]
    fn a_paragraph_over_the_limit_is_broken_at_lines_and_else_at_white_space() {
        assert_eq!(text("one two\nthree four", 10), ["one two", "three four"]);
        assert_eq!(text("one two three", 8), ["one two", "three"]);
        assert_eq!(text("abcdefghij", 4), ["abcd", "efgh", "ij"]);
    }

    proptest! {
        #[test]
        fn no_letter_is_lost_and_no_part_is_over_the_limit(
            page_text in "([a-cé# \n`~-]|But |\n\n|# |```\n){0,80}",
            short in 1_usize..30,
            more in 0_usize..30,
        ) {
            let limit = short + more + 12;
            let parts = page(&page_text, short, limit);
            for part in &parts {
                prop_assert!(length(part) <= limit, "{part:?}");
            }
            let letters = |text: &str| -> Vec<char> {
                text.chars().filter(|character| character.is_alphanumeric()).collect()
            };
            // Trimmed as a page is read: a mark at the new beginning makes a heading, too.
            let lines = page_text.trim().lines();
            let bodies: Vec<&str> = lines.filter(|line| !is_heading(line)).collect();
            let mut given = letters(&parts.concat()).into_iter();
            for letter in letters(&bodies.concat()) {
                prop_assert!(given.any(|other| other == letter), "{letter} of {page_text:?}: {parts:?}");
            }
        }
    }
}

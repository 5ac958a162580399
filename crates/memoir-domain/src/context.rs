//! The context: what an agent's runtime puts after the system prompt (SPEC 2.3).

use std::fmt::Write;

use crate::{
    PrivateText, Timestamp,
    memory::{JOURNAL_DAYS, Kind, Memory, tokens},
};

/// The line that opens the text.
pub const HEADING: &str = "# Your memory";
/// The line that opens the core memories.
pub const CORE_HEADING: &str = "## Core memories";
/// The line that opens the journal entries.
pub const JOURNAL_HEADING: &str = "## Journal of the last week";

/// The context's text and sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextText {
    /// Empty where there are no memories to show.
    pub text: PrivateText,
    /// Tokens of the core memories shown.
    pub core_tokens: u64,
    /// Tokens of the journal entries shown.
    pub journal_tokens: u64,
    /// Core memories and journal entries left out for want of room.
    pub left_out: (usize, usize),
}

/// From when on a journal entry is in the prompt at `now`.
pub fn journal_since(now: Timestamp) -> Timestamp {
    now.plus_days(-JOURNAL_DAYS)
}

struct Entry<'a> {
    memory: &'a Memory,
    text: String,
    tokens: u64,
    shown: bool,
}

/// Builds the context from kept memories, in any order; faded journal entries are passed over.
/// With `max_tokens` whole entries are left out: journal entries first, the oldest of them first, then
/// core memories from the newest on; constitutional ones never.
pub fn build(memories: &[Memory], now: Timestamp, max_tokens: Option<u64>) -> ContextText {
    let mut core = entries(memories, |memory| memory.is_kept_core());
    let mut journal = entries(memories, |memory| {
        memory.kind == Kind::Journal && memory.is_kept() && memory.created_at > journal_since(now)
    });
    if let Some(max_tokens) = max_tokens {
        leave_out(&mut core, &mut journal, max_tokens);
    }
    render(&core, &journal)
}

fn entries(memories: &[Memory], wanted: impl Fn(&Memory) -> bool) -> Vec<Entry<'_>> {
    let mut chosen: Vec<&Memory> = memories.iter().filter(|memory| wanted(memory)).collect();
    chosen.sort_by_key(|memory| (memory.created_at, memory.number));
    chosen
        .into_iter()
        .map(|memory| {
            let text = entry(memory);
            Entry {
                memory,
                tokens: tokens(&text),
                text,
                shown: true,
            }
        })
        .collect()
}

/// One list item; further lines are indented, so that none of them can pass for another item.
fn entry(memory: &Memory) -> String {
    let mut text = match memory.kind {
        Kind::Core => "- ".to_owned(),
        Kind::Journal => format!("- {}: ", memory.created_at.date()),
    };
    let content = memory.content.expose().replace("\r\n", "\n");
    let mut lines = content.split([
        '\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}',
    ]);
    text.push_str(lines.next().unwrap_or_default());
    for line in lines {
        text.push_str("\n  ");
        text.push_str(line);
    }
    text.push('\n');
    text
}

fn leave_out<'a>(core: &mut [Entry<'a>], journal: &mut [Entry<'a>], max_tokens: u64) {
    // Headings and the note on what is left out take room too; the figure is above both together.
    const FRAME: u64 = 60;
    let mut used: u64 = FRAME
        + core
            .iter()
            .chain(journal.iter())
            .map(|entry| entry.tokens)
            .sum::<u64>();
    let optional = journal.iter_mut().chain(
        core.iter_mut()
            .rev()
            .filter(|entry| !entry.memory.is_constitutional()),
    );
    for entry in optional {
        if used <= max_tokens {
            return;
        }
        entry.shown = false;
        used -= entry.tokens;
    }
}

fn render(core: &[Entry<'_>], journal: &[Entry<'_>]) -> ContextText {
    let hidden = |entries: &[Entry<'_>]| entries.iter().filter(|entry| !entry.shown).count();
    let shown_tokens = |entries: &[Entry<'_>]| {
        entries
            .iter()
            .filter(|entry| entry.shown)
            .map(|entry| entry.memory.tokens())
            .sum()
    };
    let left_out = (hidden(core), hidden(journal));
    let mut text = String::new();
    if !core.is_empty() || !journal.is_empty() {
        let _ = writeln!(text, "{HEADING}");
        section(&mut text, CORE_HEADING, core);
        section(&mut text, JOURNAL_HEADING, journal);
        if left_out != (0, 0) {
            let _ = writeln!(
                text,
                "\n({} core memories and {} journal entries are left out here for want of room.)",
                left_out.0, left_out.1
            );
        }
    }
    ContextText {
        text: text.into(),
        core_tokens: shown_tokens(core),
        journal_tokens: shown_tokens(journal),
        left_out,
    }
}

fn section(text: &mut String, heading: &str, entries: &[Entry<'_>]) {
    if entries.iter().any(|entry| entry.shown) {
        let _ = write!(text, "\n{heading}\n\n");
        text.extend(
            entries
                .iter()
                .filter(|entry| entry.shown)
                .map(|entry| entry.text.as_str()),
        );
    }
}

/// Reads the core memories' texts back out of a prompt that ends in a context.
pub fn parse_core(prompt: &str) -> Vec<String> {
    let marker = format!("{HEADING}\n\n{CORE_HEADING}\n");
    let Some(start) = prompt.rfind(&marker) else {
        return Vec::new();
    };
    let mut texts: Vec<String> = Vec::new();
    for line in prompt[start + marker.len()..].lines() {
        if let Some(text) = line.strip_prefix("- ") {
            texts.push(text.to_owned());
        } else if let (Some(text), Some(last)) = (line.strip_prefix("  "), texts.last_mut()) {
            last.push('\n');
            last.push_str(text);
        } else if line.starts_with('#') {
            break;
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::test_memory;

    fn journal(number: u64, content: &str) -> Memory {
        Memory {
            kind: Kind::Journal,
            ..test_memory(number, content)
        }
    }

    fn now() -> Timestamp {
        Timestamp::from_microseconds(0).unwrap().plus_days(3)
    }

    #[test]
    fn spec_2_3_core_oldest_first_then_the_last_weeks_journal() {
        let mut faded = journal(3, "faded");
        faded.created_at = now().plus_days(-7);
        let mut discarded = test_memory(9, "discarded");
        discarded.discarded_at = Some(now());
        let memories = [
            test_memory(2, "second\n- third"),
            test_memory(1, "first"),
            faded,
            journal(4, "met Lena"),
            discarded,
        ];
        let context = build(&memories, now(), None);
        assert_eq!(
            context.text.expose(),
            "# Your memory\n\n## Core memories\n\n- first\n- second\n  - third\n\n\
             ## Journal of the last week\n\n- 1970-01-01: met Lena\n"
        );
        assert_eq!((context.core_tokens, context.journal_tokens), (2 + 4, 2));
        assert_eq!(
            parse_core(&format!("I am Wren.\n\n{}", context.text.expose())),
            ["first", "second\n- third"]
        );
        assert!(build(&[], now(), None).text.is_empty());
    }

    #[test]
    fn spec_2_3_whole_entries_are_left_out_and_constitutional_ones_never() {
        let mut vow = test_memory(3, &"v".repeat(400));
        vow.protected_seq = Some(1);
        let memories = [
            test_memory(1, &"a".repeat(400)),
            test_memory(2, &"b".repeat(400)),
            vow,
            journal(4, &"c".repeat(400)),
            journal(5, &"d".repeat(400)),
        ];
        for (max, left_out) in [
            (2_000, (0, 0)),
            (500, (0, 1)),
            (400, (0, 2)),
            (300, (1, 2)),
            (10, (2, 2)),
        ] {
            let context = build(&memories, now(), Some(max));
            assert_eq!(context.left_out, left_out, "{max}");
            assert!(context.text.expose().contains("vvvv"));
            if max > 200 {
                assert!(tokens(context.text.expose()) <= max);
            }
        }
        let text = build(&memories, now(), Some(300)).text;
        assert!(
            text.expose()
                .contains("(1 core memories and 2 journal entries are left out")
        );
        assert!(text.expose().contains("aaaa") && !text.expose().contains("bbbb"));
    }
}

//! The text beside a prompt: the best memories for it that the session was not shown, as many as fit.

use std::fmt::Write;

use memoir_domain::{Timestamp, context::NOTE, origin::Origin, quote::quote, recall::shown_dates};

use super::{length::TextLimit, reached::HookMemory};

/// How many memories are considered: many of the best ones stand in the context already.
pub(super) const CONSIDERED: usize = 100;
/// The most that is shown beside one prompt, in the program's unit: 400 tokens.
pub(super) const LENGTH: usize = 1_600;

/// The found memories that were not shown, nor a text equal to theirs.
pub(super) fn unseen(
    found: Vec<HookMemory>,
    was_shown: impl FnMut(&HookMemory) -> bool,
) -> Vec<HookMemory> {
    let (shown, mut new): (Vec<_>, Vec<_>) = found.into_iter().partition(was_shown);
    new.retain(|memory| !shown.iter().any(|known| known.is_copy_of(memory)));
    new
}

/// The best memories that fit, and their text; `None` where there is none.
pub(super) fn prompt(
    found: Vec<HookMemory>,
    limit: TextLimit,
) -> Option<(Vec<HookMemory>, String)> {
    let limit = limit.at_most(LENGTH);
    let mut chosen: Vec<HookMemory> = Vec::new();
    let mut text = None;
    for memory in found {
        if chosen.iter().any(|known| known.is_copy_of(&memory)) {
            continue;
        }
        chosen.push(memory);
        let longer = text_of(&chosen);
        // A memory that does not fit is omitted, and a shorter one after it may still fit.
        match limit.fits(&longer) {
            true => text = Some(longer),
            false => drop(chosen.pop()),
        }
    }
    Some((chosen, text?))
}

/// Each on a line of its own, quoted, so that none can imitate another (SPEC 3.6). Its number, its day and what
/// distinguishes it stand before it, and its origin on a line of its own where that changes.
fn text_of(memories: &[HookMemory]) -> String {
    let times: Vec<Timestamp> = memories.iter().map(|memory| memory.created_at).collect();
    let mut text = format!("From your memory, for this prompt. {NOTE}\n");
    let mut stated: Option<&str> = None;
    for (memory, date) in memories.iter().zip(shown_dates(&times)) {
        let origin = memory.origin.as_str();
        // The agent's own memories, or an administrator's, need no statement before another one is made.
        if stated.unwrap_or(origin) != origin || stated.is_none() && is_weak(origin) {
            stated = Some(origin);
            let _ = writeln!(text, "(origin {origin} from here on)");
        }
        let _ = write!(text, "#{} {date}", memory.number);
        if memory.kind != "core" {
            let _ = write!(text, ", {}", memory.kind);
        }
        if memory.is_summary {
            text.push_str(", summary");
        }
        if let (Some(until), Some(now)) = (memory.until, memory.now) {
            let _ = write!(text, ", until {}, now #{now}", until.date());
        }
        let _ = writeln!(text, " {}", quote(memory.content.expose()));
    }
    text
}

/// Whether an origin is weaker than the agent's own word. One that this version does not know is.
fn is_weak(origin: &str) -> bool {
    let known = origin.parse::<Origin>();
    known.map_or(true, |origin| origin.weakness() > 0)
}

#[cfg(test)]
mod tests {
    use memoir_domain::PrivateText;

    use super::{super::length::TextUnit, *};

    fn memory(number: u64, origin: &str, content: &str) -> HookMemory {
        serde_json::from_value(serde_json::json!({
            "number": number, "kind": "core", "origin": origin, "content": PrivateText::from(content),
            "created_at": "2026-05-03T10:00:00Z", "updated_at": "2026-05-03T10:00:00Z",
        }))
        .unwrap()
    }

    const LIMIT: TextLimit = TextLimit {
        most: 10_000,
        unit: TextUnit::Utf16,
    };

    #[test]
    fn spec_2_4_the_origin_at_a_prompt_stands_where_it_changes() {
        let origins = [
            "agent",
            "import",
            "import",
            "agent",
            "administrator",
            "external",
        ];
        let found = origins.iter().zip(1..);
        let found = found.map(|(origin, number)| memory(number, origin, &format!("text {number}")));
        let (chosen, text) = prompt(found.collect(), LIMIT).unwrap();
        assert_eq!(chosen.len(), 6);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "#1 2026-05-03 \"text 1\"",
                "(origin import from here on)",
                "#2 2026-05-03 \"text 2\"",
                "#3 2026-05-03 \"text 3\"",
                "(origin agent from here on)",
                "#4 2026-05-03 \"text 4\"",
                "(origin administrator from here on)",
                "#5 2026-05-03 \"text 5\"",
                "(origin external from here on)",
                "#6 2026-05-03 \"text 6\"",
            ]
        );
        let (_, text) = prompt(vec![memory(1, "administrator", "tea")], LIMIT).unwrap();
        assert!(!text.contains("origin"), "{text}");
    }

    #[test]
    fn spec_2_8_at_a_prompt_as_many_memories_stand_as_fit() {
        let long = "🐝".repeat(800);
        let found = (1..=200).map(|number| match number {
            // Alone it takes most of the room, as its program counts.
            3 => memory(number, "agent", &long),
            7 => memory(number, "agent", "one more note, which is number 6"),
            number => memory(
                number,
                "agent",
                &format!("one more note, which is number {number}"),
            ),
        });
        let (chosen, text) = prompt(found.collect(), LIMIT).unwrap();
        let numbers: Vec<u64> = chosen.iter().map(|memory| memory.number).collect();
        assert_eq!(numbers[..5], [1, 2, 4, 5, 6]);
        assert!(!numbers.contains(&3), "it does not fit");
        assert!(!numbers.contains(&7), "the same text is there already");
        let length = LIMIT.length_of(&text);
        assert!(length <= LENGTH && length > LENGTH - 60, "{length}");
        assert!(prompt(vec![memory(1, "agent", &long.repeat(2))], LIMIT).is_none());
    }
}

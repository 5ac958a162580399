//! Recall: an agent's kept memories by words and phrases, best match first (SPEC 2.8).

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::{
    Timestamp,
    memory::{Kind, Memory, Number},
    text::fold,
    wording::Origin,
};

/// Most characters of what is looked for, here and in a session's search.
pub const QUERY_LIMIT: usize = 1_000;
/// Most memories that one recall answers with.
pub const RECALL_LIMIT: usize = 200;

/// What is asked for. Every part narrows the answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// Words and phrases in double quotes; empty finds everything, newest first.
    pub text: crate::PrivateText,
    /// The earliest origin date.
    pub since: Option<Timestamp>,
    /// The latest origin date.
    pub until: Option<Timestamp>,
    /// The kind.
    pub kind: Option<Kind>,
    /// A tag, whatever the case.
    pub tag: Option<crate::PrivateText>,
    /// The origin: the weakest of the wordings that a memory stands for.
    pub origin: Option<Origin>,
    /// The most memories to answer with.
    pub limit: usize,
}

/// Where a match stands in the order of all matches: the same whatever else is written or discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RecallRank(Score, Timestamp, Number);

/// Finds among `memories`, best first: those with more of the words, then those with the whole query
/// as it stands, then those with more whole words, then the newest.
pub fn recall<'a>(memories: &'a [Memory], query: &Query) -> Vec<&'a Memory> {
    let query = Query {
        limit: query.limit.min(RECALL_LIMIT),
        ..query.clone()
    };
    recall_page(memories, &query, None, false)
        .into_iter()
        .map(|(_, memory)| memory)
        .collect()
}

/// As [`recall`], from behind a place on, as many as the query says; discarded ones too where wanted.
pub fn recall_page<'a>(
    memories: &'a [Memory],
    query: &Query,
    after: Option<RecallRank>,
    with_discarded: bool,
) -> Vec<(RecallRank, &'a Memory)> {
    let whole = fold(query.text.expose().trim());
    let terms = terms(&whole);
    let tag = query.tag.as_ref().map(|tag| fold(tag.expose()));
    let mut found: Vec<(RecallRank, &Memory)> = memories
        .iter()
        .filter(|memory| with_discarded || memory.is_kept())
        .filter(|memory| query.kind.is_none_or(|kind| memory.kind == kind))
        .filter(|memory| query.origin.is_none_or(|origin| memory.origin() == origin))
        .filter(|memory| query.since.is_none_or(|since| memory.created_at >= since))
        .filter(|memory| query.until.is_none_or(|until| memory.created_at <= until))
        .filter(|memory| {
            tag.as_ref()
                .is_none_or(|tag| memory.tags.iter().any(|own| fold(own) == *tag))
        })
        .filter_map(|memory| {
            let score = score(memory, &whole, &terms)?;
            Some((RecallRank(score, memory.created_at, memory.number), memory))
        })
        .filter(|(place, _)| after.is_none_or(|after| *place < after))
        .collect();
    found.sort_by_key(|(place, _)| Reverse(*place));
    found.truncate(query.limit);
    found
}

/// Terms found, the whole query found, whole words found.
type Score = (usize, bool, usize);

fn score(memory: &Memory, whole: &str, terms: &[String]) -> Option<Score> {
    if terms.is_empty() {
        return Some((0, false, 0));
    }
    let text = fold(memory.content.expose());
    let found: Vec<&String> = terms
        .iter()
        .filter(|term| text.contains(term.as_str()))
        .collect();
    if found.is_empty() {
        return None;
    }
    let whole_words = found
        .iter()
        .filter(|term| stands_alone(&text, term))
        .count();
    Some((found.len(), text.contains(whole), whole_words))
}

fn stands_alone(text: &str, term: &str) -> bool {
    text.match_indices(term).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

/// The words of a folded query, and its phrases in double quotes as one term each.
fn terms(query: &str) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    for (place, part) in query.split('"').enumerate() {
        let is_phrase = place % 2 == 1;
        if is_phrase {
            terms.push(part.trim().to_owned());
        } else {
            terms.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    terms.retain(|term| !term.is_empty());
    terms.sort();
    terms.dedup();
    terms
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::test_memory;

    fn find(texts: &[&str], query: &str) -> Vec<u64> {
        let memories: Vec<Memory> = texts
            .iter()
            .enumerate()
            .map(|(at, text)| test_memory(at as u64 + 1, text))
            .collect();
        let query = Query {
            text: query.into(),
            limit: 10,
            ..Query::default()
        };
        recall(&memories, &query)
            .iter()
            .map(|memory| memory.number.0)
            .collect()
    }

    #[test]
    fn spec_2_8_words_and_phrases_best_match_first() {
        let texts = [
            "Linen thread for spines",
            "Thread of linen",
            "A threadbare coat",
            "Wool",
        ];
        assert_eq!(find(&texts, "linen thread"), [1, 2, 3]);
        assert_eq!(find(&texts, "\"linen thread\""), [1]);
        assert_eq!(find(&texts, "LINEN"), [2, 1]);
        assert_eq!(find(&texts, "silk"), Vec::<u64>::new());
        assert_eq!(find(&texts, ""), [4, 3, 2, 1]);
    }

    #[test]
    fn spec_2_8_percent_and_underscore_are_literal() {
        let texts = ["100% sure", "1000 sure", "snake_case", "snakeXcase"];
        assert_eq!(find(&texts, "100%"), [1]);
        assert_eq!(find(&texts, "snake_case"), [3]);
        assert_eq!(find(&["STRASSE", "Ольга"], "straße"), [1]);
        assert_eq!(find(&["STRASSE", "Ольга"], "ОЛЬГА"), [2]);
    }

    #[test]
    fn spec_2_8_range_kind_tag_and_origin_narrow_the_answer() {
        let mut memories = vec![
            test_memory(1, "tea"),
            test_memory(2, "tea"),
            test_memory(3, "tea"),
        ];
        memories[1].kind = Kind::Journal;
        memories[1].door.origin = Origin::External;
        memories[2].tags = crate::memory::Tags::parse(["Vow"]).unwrap();
        let base = Query {
            text: "tea".into(),
            limit: 10,
            ..Query::default()
        };
        let numbers = |query: &Query| {
            recall(&memories, query)
                .iter()
                .map(|memory| memory.number.0)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            numbers(&Query {
                kind: Some(Kind::Journal),
                ..base.clone()
            }),
            [2]
        );
        for (origin, found) in [(Origin::External, vec![2]), (Origin::Agent, vec![3, 1])] {
            assert_eq!(
                numbers(&Query {
                    origin: Some(origin),
                    ..base.clone()
                }),
                found
            );
        }
        assert_eq!(
            numbers(&Query {
                tag: Some("vow".into()),
                ..base.clone()
            }),
            [3]
        );
        assert_eq!(
            numbers(&Query {
                since: Some(memories[1].created_at),
                ..base.clone()
            }),
            [3, 2]
        );
        assert_eq!(
            numbers(&Query {
                until: Some(memories[1].created_at),
                limit: 1,
                ..base
            }),
            [2]
        );
    }
}

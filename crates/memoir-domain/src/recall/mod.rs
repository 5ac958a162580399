//! Recall: the agent's memories for a question, best match first (SPEC 2.8).
//! The search that a session's tool makes is not here, but in `session::tools`.
//!
//! Ranked by BM25 over the stems of folded words ([`RecallIndex`]). `query` parses a question, `index` holds the terms
//! of all memories, `vectors` their vectors where a model made some, `rank` orders the matches, `replaced` places
//! replaced memories after their successors, `probe` makes questions of memories. What
//! is stored is sealed (SPEC 5.3): vectors, and an index as a whole.

mod index;
mod probe;
mod query;
mod rank;
mod replaced;
#[cfg(test)]
mod tests;
mod vectors;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use self::replaced::FoundHistories;
use crate::{
    memory::{Kind, Memory, Number, by_number, origin::Origin},
    text::{fold, private::PrivateText},
    time::Timestamp,
};

pub use index::RecallIndex;
pub use probe::{PROBES, Probe, probes};
pub use replaced::ReplacedMark;
pub use vectors::{DIMENSIONS_LIMIT, Vector};

/// Most characters of a query of a session's search.
pub const QUERY_LIMIT: usize = 1_000;
/// Most characters of a question of recall: a whole prompt of an agent's client fits.
pub const QUESTION_LIMIT: usize = 20_000;
/// Most memories of one result.
pub const RECALL_LIMIT: usize = 200;
/// The marks around a phrase: the quotation marks that make no other text (SPEC 1).
const QUOTES: [char; 11] = ['"', '«', '»', '“', '”', '„', '‟', '〝', '〞', '〟', '＂'];

/// A question with its filters, which apply before ranking.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecallQuery {
    /// Words or a whole question; text in double quotes of any form must occur. Empty finds everything, newest first.
    pub text: PrivateText,
    /// The earliest origin date.
    pub since: Option<Timestamp>,
    /// The latest origin date.
    pub until: Option<Timestamp>,
    /// The kind.
    pub kind: Option<Kind>,
    /// A tag, whatever the case.
    pub tag: Option<PrivateText>,
    /// The origin.
    pub origin: Option<Origin>,
    /// `true` for constitutional memories only, `false` for others only; `None` for both.
    pub protected: Option<bool>,
    /// Whether the matches by words are ordered by their origin dates alone, the newest first.
    pub newest_first: bool,
    /// The only memories that can be found; `None` for all. [`RecallQuery::with_phrases`] sets them.
    pub among: Option<BTreeSet<Number>>,
    /// The most memories of the result.
    pub limit: usize,
}

/// The end of one page of matches, for the next one. Changes between two pages can move the matches. So the next page
/// begins after the last memory seen, or else after the one before it, or else at the same rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecallPlace {
    /// The number of memories seen.
    pub seen: usize,
    /// The last one seen.
    pub last: Number,
    /// The one before it; `None` where there was none.
    pub before: Option<Number>,
}

/// One match.
#[derive(Debug, Clone, PartialEq)]
pub struct RecallMatch {
    /// Its number.
    pub number: Number,
    /// Its rank among all matches, from 1.
    pub rank: usize,
    /// The memory of the rank before.
    pub before: Option<Number>,
    /// The sum of the weights; 0 for a question without words.
    pub score: f32,
    /// The older memory that it seems to correct, and therefore precedes; `None` where its score alone decides.
    pub corrects: Option<Number>,
    /// Whether it was found by stop words alone ("is", "the"), as was the memory that it corrects.
    pub by_stop_words: bool,
    /// Its replacement; `None` where it was not replaced.
    pub replaced: Option<ReplacedMark>,
    /// Its rank among the nearest in meaning, from 1; `None` where it is not among them, or without a vector.
    pub near: Option<usize>,
    /// The matched terms, the weightiest first; none where only the memory that it corrects was found.
    pub terms: Vec<MatchedTerm>,
}

impl RecallMatch {
    /// Whether to add it to a prompt unasked, given the best match by words.
    pub fn is_worth_showing(&self, best: &Self) -> bool {
        is_worth_showing(
            self.by_stop_words,
            self.corrects.is_some(),
            self.score,
            best.score,
            self.near,
        )
    }

    /// The place behind it.
    pub fn place(&self) -> RecallPlace {
        RecallPlace {
            seen: self.rank,
            last: self.number,
            before: self.before,
        }
    }
}

/// Whether to add a match with that score to a prompt unasked: it has a third of the score of the best match by words,
/// corrects a shown memory, or is among the three nearest in meaning. Stop words alone are no reason (SPEC 2.8).
pub fn is_worth_showing(
    by_stop_words: bool,
    corrects: bool,
    score: f32,
    best: f32,
    near: Option<usize>,
) -> bool {
    let is_said = score > 0.0 && score * 3.0 >= best;
    !by_stop_words && (corrects || is_said || near.is_some_and(|rank| rank <= 3))
}

/// One term of a question that a memory matched.
// Serialized as it is: the names of the fields are part of the API.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MatchedTerm {
    /// As in the question, folded.
    pub term: PrivateText,
    /// How the memory contains it.
    pub found: FoundAs,
    /// Its part of the score.
    pub weight: f32,
}

wire_names! {
    /// Whether the search used meaning too, where a model of embeddings is installed or configured.
    pub enum SemanticStatus {
        /// By words and by meaning.
        Merged = "merged",
        /// As `merged`; but some or all memories have no vector yet, and are found by words alone.
        Partial = "partial",
        /// By words alone: the server did not respond in time, or responded wrongly.
        Unavailable = "unavailable",
        /// By words alone: the agent has not agreed that its text is sent to the server.
        NotAllowed = "not_allowed",
    }
}

wire_names! {
    /// How a memory contains a term.
    pub enum FoundAs {
        /// The word, in this or another form; or the pair of characters.
        Word = "word",
        /// Consecutive words: a phrase in quotes, or a name with its signs.
        Phrase = "phrase",
        /// A part of a longer word, or a word that is part of the term.
        Part = "part",
        /// A word that differs by one typing error, since the word itself has no match.
        Slip = "slip",
        /// Text without a word, as it is.
        Literal = "literal",
        /// The whole question is near in meaning: the term is empty, and the weight is the cosine of the angle between
        /// both vectors, at most 1.
        Meaning = "meaning",
    }
}

/// Whether a question has nothing that the index knows, only marks such as "_": [`literal_matches`] searches the texts
/// for those.
pub fn is_literal(text: &str) -> bool {
    !text.trim().is_empty() && query::RecallQuestion::of(text).is_empty()
}

/// Whether a question has a phrase of marks alone: [`RecallQuery::with_phrases`] requires it.
pub fn has_literal_phrase(text: &str) -> bool {
    !query::literal_phrases(text).is_empty()
}

/// The memories whose text contains the question literally, or each of its phrases where it has some, ignoring case, the
/// newest first; all of them where the question is empty.
pub fn literal_matches<'a>(
    memories: impl IntoIterator<Item = &'a Memory>,
    query: &RecallQuery,
    after: Option<RecallPlace>,
) -> Vec<RecallMatch> {
    let text = fold(query.text.expose().trim());
    let mut wanted = query::literal_phrases(&text);
    if wanted.is_empty() && !text.is_empty() {
        // Quotes are syntax, unless the question is nothing else.
        let marks = text.replace(QUOTES, "");
        wanted.push(match marks.trim() {
            "" => text,
            marks => marks.to_owned(),
        });
    }
    let all = by_number(memories);
    let admitted = all.values().copied().filter(|memory| query.admits(memory));
    let mut found: Vec<&Memory> = admitted
        .filter(|memory| contains_all(memory, &wanted))
        .collect();
    found.sort_by_key(|memory| std::cmp::Reverse((memory.created_at, memory.number)));
    let found = replaced_behind(&all, found);
    let from = rank::begin(found.iter().map(|memory| memory.number), after);
    let ranked = found.iter().enumerate().skip(from).take(query.limit);
    let terms = literal_terms(&wanted);
    let matched = ranked.map(|(at, memory)| RecallMatch {
        number: memory.number,
        rank: at + 1,
        before: at.checked_sub(1).map(|before| found[before].number),
        score: 0.0,
        corrects: None,
        by_stop_words: false,
        replaced: replaced::mark(&all, memory.number),
        near: None,
        terms: terms.clone(),
    });
    matched.collect()
}

/// Whether a memory's text contains these folded texts.
fn contains_all(memory: &Memory, wanted: &[String]) -> bool {
    if wanted.is_empty() {
        return true;
    }
    let text = fold(memory.content.expose());
    wanted.iter().all(|wanted| text.contains(wanted.as_str()))
}

fn literal_terms(wanted: &[String]) -> Vec<MatchedTerm> {
    let terms = wanted.iter().map(|wanted| MatchedTerm {
        term: wanted.as_str().into(),
        found: FoundAs::Literal,
        weight: 0.0,
    });
    terms.collect()
}

/// The matches, the best first, with each replaced memory directly after its successor. Both rank at the better of
/// their places.
fn replaced_behind<'a>(
    all: &BTreeMap<Number, &'a Memory>,
    found: Vec<&'a Memory>,
) -> Vec<&'a Memory> {
    let archived = found.iter().filter(|memory| memory.under().is_some());
    let histories = FoundHistories::of(
        all,
        archived.map(|memory| memory.number),
        found.iter().map(|memory| memory.number),
    );
    if histories.is_empty() {
        return found;
    }
    let mut seen = BTreeSet::new();
    let heads = found
        .iter()
        .map(|memory| histories.head(memory.number))
        .filter(|head| seen.insert(*head))
        .filter_map(|head| all.get(&head).copied());
    let heads = heads.collect();
    let followers = found.into_iter();
    let followers = followers.filter(|memory| histories.ranks_after_another(memory.number));
    let followers = followers.collect();
    histories.unfold(
        heads,
        followers,
        |memory| memory.number,
        |memory| memory.created_at,
    )
}

/// The origin dates of memories that are shown together: days, and to the minute where two share a day.
pub fn shown_dates(times: &[Timestamp]) -> Vec<String> {
    let to_the_minute = |time: &Timestamp| time.to_jiff().strftime("%Y-%m-%d %H:%M").to_string();
    let mut of_day: BTreeMap<i64, BTreeSet<String>> = BTreeMap::new();
    for time in times {
        let minutes = of_day.entry(time.day_number()).or_default();
        minutes.insert(to_the_minute(time));
    }
    let is_alone = |time: &Timestamp| {
        of_day
            .get(&time.day_number())
            .is_none_or(|minutes| minutes.len() == 1)
    };
    let shown = times.iter().map(|time| match is_alone(time) {
        true => time.date(),
        false => to_the_minute(time),
    });
    shown.collect()
}

impl RecallQuery {
    /// The query for a prompt of an agent's client. Quoted text is not required. Of a prompt over `characters` the
    /// beginning and the end count, where the request stands; between them is what was pasted.
    pub fn of_prompt(prompt: &str, characters: usize, limit: usize) -> Self {
        let characters = characters.min(QUESTION_LIMIT);
        let length = prompt.chars().count();
        let half = characters.saturating_sub(1) / 2;
        let ends: String = match length <= characters {
            true => prompt.to_owned(),
            false => {
                let begin = prompt.chars().take(half);
                let end = prompt.chars().skip(length - half);
                begin.chain([' ']).chain(end).collect()
            }
        };
        Self {
            text: PrivateText::new(ends.replace(QUOTES, " ")),
            limit,
            ..Self::default()
        }
    }

    /// The query among those of `memories` that contain its phrases of marks alone, ignoring case: they must occur as any
    /// phrase (SPEC 2.8), and an index does not have them. A query without such phrases stays among all.
    pub fn with_phrases<'a>(&self, memories: impl IntoIterator<Item = &'a Memory>) -> Self {
        let phrases = query::literal_phrases(self.text.expose());
        let among = (!phrases.is_empty()).then(|| {
            let memories = memories.into_iter();
            let having = memories.filter(|memory| contains_all(memory, &phrases));
            having.map(|memory| memory.number).collect()
        });
        Self {
            among,
            ..self.clone()
        }
    }

    /// Whether all filters but the words match.
    fn admits(&self, memory: &Memory) -> bool {
        let among = self.among.as_ref();
        among.is_none_or(|among| among.contains(&memory.number))
            && self.kind.is_none_or(|kind| memory.kind() == kind)
            && self.origin.is_none_or(|origin| memory.origin() == origin)
            && self.since.is_none_or(|since| memory.created_at >= since)
            && self.until.is_none_or(|until| memory.created_at <= until)
            && self
                .protected
                .is_none_or(|protected| memory.is_constitutional() == protected)
            && self.tag.as_ref().is_none_or(|tag| {
                let tag = fold(tag.expose().trim());
                memory.tags.iter().any(|own| fold(own) == tag)
            })
    }
}

//! Recall: an agent's memories by what is asked, best match first (SPEC 2.8).
//!
//! Ranked by BM25 over the stems of folded words ([`RecallIndex`]). `query` takes a question apart, `index`
//! holds the words of all memories and where they stand, `vectors` those of their meanings where a model made some,
//! `rank` puts what was found in its order, `replaced` puts memories that were replaced behind those that replaced
//! them, `wiped` is what the index is kept in. Nothing here is ever stored but vectors, sealed (SPEC 5.3).

mod index;
mod query;
mod rank;
mod replaced;
#[cfg(test)]
mod tests;
mod vectors;
mod wiped;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use self::replaced::FoundHistories;
use crate::{
    PrivateText, Timestamp,
    memory::{Kind, Memory, Number, by_number},
    origin::Origin,
    text::fold,
};

pub use index::RecallIndex;
pub use replaced::ReplacedMark;
pub use vectors::{DIMENSIONS_LIMIT, Vector};

/// Most characters of what a session's search looks for.
pub const QUERY_LIMIT: usize = 1_000;
/// Most characters of what is asked in a recall: a whole prompt of an agent's client fits.
pub const QUESTION_LIMIT: usize = 20_000;
/// Most memories that one recall answers with.
pub const RECALL_LIMIT: usize = 200;

/// What is asked for. Every part but the text narrows the answer before it is ranked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecallQuery {
    /// Words or a whole question; what stands in double quotes must occur. Empty finds everything, newest
    /// first.
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
    /// The most memories to answer with.
    pub limit: usize,
}

/// Where one page of matches ended, for the next one. A memory that is saved, discarded or rewritten between
/// two pages moves what is behind it, so that the next page begins behind the last memory that was seen, behind
/// the one before where that one is gone, and else where it stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecallPlace {
    /// How many were seen.
    pub seen: usize,
    /// The last one that was seen.
    pub last: Number,
    /// The one before it; `None` where there was none.
    pub before: Option<Number>,
}

/// One memory that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct RecallMatch {
    /// Its number.
    pub number: Number,
    /// Its rank among all that was found, from 1.
    pub rank: usize,
    /// The memory of the rank before.
    pub before: Option<Number>,
    /// The sum of the weights; 0 where nothing was asked in words.
    pub score: f32,
    /// The older memory that it seems to correct, and therefore comes before; `None` where its score says where
    /// it stands.
    pub corrects: Option<Number>,
    /// That it was replaced; `None` where it was not.
    pub replaced: Option<ReplacedMark>,
    /// Its rank among what is near the question in meaning, from 1; `None` where it is not, or no vector was asked with.
    pub near: Option<usize>,
    /// What of the question it was found by, the weightiest first; nothing where only what it corrects was found.
    pub terms: Vec<MatchedTerm>,
}

impl RecallMatch {
    /// Whether it is worth telling to somebody who did not ask for it, beside the best that was found by words.
    pub fn is_worth_telling(&self, best: &Self) -> bool {
        is_worth_telling(self.corrects.is_some(), self.score, best.score, self.near)
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

/// Whether a match with that score is worth telling to somebody who did not ask for it: worth a third of the best that
/// was found by words, a correction of something that is told, or among the three nearest in meaning.
pub fn is_worth_telling(corrects: bool, score: f32, best: f32, near: Option<usize>) -> bool {
    let is_said = score > 0.0 && score * 3.0 >= best;
    corrects || is_said || near.is_some_and(|rank| rank <= 3)
}

/// What of a question one memory was found by.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchedTerm {
    /// As the question has it, folded.
    pub term: PrivateText,
    /// How it is in the memory.
    pub found: FoundAs,
    /// How much it adds to the score.
    pub weight: f32,
}

wire_names! {
    /// Whether memories were looked for by their meaning too, where a server of embeddings is configured.
    pub enum Meaning {
        /// By words and by meaning.
        Merged = "merged",
        /// As `merged`; but some memories, or all, have no vector yet, and are found by words alone.
        Partial = "partial",
        /// By words alone: the server did not answer in time, or not as it should.
        Unavailable = "unavailable",
        /// By words alone: the agent has not agreed that its words are sent to the server.
        NotAllowed = "not_allowed",
    }
}

wire_names! {
    /// How something asked for is in a memory.
    pub enum FoundAs {
        /// The word, in this or another form; or the pair of characters.
        Word = "word",
        /// Words that stand one after the other: a phrase in quotes, or a name with its signs.
        Phrase = "phrase",
        /// A part of a longer word, or of which the word is put together.
        Part = "part",
        /// A word that differs by one slip of the pen, since the word itself is nowhere.
        Slip = "slip",
        /// What has no word in it, as it stands.
        Literal = "literal",
        /// The whole question is near it in meaning: the term is empty, and the weight the cosine of the angle
        /// between the vectors of the two, at most 1.
        Meaning = "meaning",
    }
}

/// Whether a question has nothing that an index of words could know, only marks such as "_": those are looked
/// for in the texts themselves, by [`literal_matches`].
pub fn is_literal(text: &str) -> bool {
    !text.trim().is_empty() && query::RecallQuestion::of(text).is_empty()
}

/// The memories in whose text the question stands as it is, whatever the case, the newest first.
pub fn literal_matches<'a>(
    memories: impl IntoIterator<Item = &'a Memory>,
    query: &RecallQuery,
    after: Option<RecallPlace>,
) -> Vec<RecallMatch> {
    let wanted = fold(query.text.expose().trim());
    // Quotes are asked with, not for, unless the question is nothing else.
    let marks = wanted.replace('"', "");
    let wanted = if marks.trim().is_empty() {
        wanted.as_str()
    } else {
        marks.trim()
    };
    let all = by_number(memories);
    let admitted = all.values().copied().filter(|memory| query.admits(memory));
    let mut found: Vec<&Memory> = admitted
        .filter(|memory| fold(memory.content.expose()).contains(wanted))
        .collect();
    found.sort_by_key(|memory| std::cmp::Reverse((memory.created_at, memory.number)));
    let found = replaced_behind(&all, found);
    let from = rank::begin(found.iter().map(|memory| memory.number), after);
    let ranked = found.iter().enumerate().skip(from).take(query.limit);
    let matched = ranked.map(|(at, memory)| RecallMatch {
        number: memory.number,
        rank: at + 1,
        before: at.checked_sub(1).map(|before| found[before].number),
        score: 0.0,
        corrects: None,
        replaced: replaced::mark(&all, memory.number),
        near: None,
        terms: vec![MatchedTerm {
            term: wanted.into(),
            found: FoundAs::Literal,
            weight: 0.0,
        }],
    });
    matched.collect()
}

/// What was found, the best first, with each memory that was replaced directly behind the one that replaced it. Both
/// rank where the better of them does.
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

/// The origin dates of memories that are shown together: the days, and to the minute where two of one day differ.
pub fn shown_dates(times: &[Timestamp]) -> Vec<String> {
    let mut of_day: BTreeMap<i64, BTreeSet<Timestamp>> = BTreeMap::new();
    for time in times {
        of_day.entry(time.day_number()).or_default().insert(*time);
    }
    let is_alone = |time: &Timestamp| {
        of_day
            .get(&time.day_number())
            .is_none_or(|times| times.len() == 1)
    };
    let shown = times.iter().map(|time| match is_alone(time) {
        true => time.date(),
        false => time.to_jiff().strftime("%Y-%m-%d %H:%M").to_string(),
    });
    shown.collect()
}

impl RecallQuery {
    /// What is asked with a prompt of an agent's client: nothing that it quotes must occur, and of a prompt that is
    /// too long only the end counts, where what is wanted mostly stands.
    pub fn of_prompt(prompt: &str, limit: usize) -> Self {
        let characters = prompt.chars().count();
        let end = prompt
            .chars()
            .skip(characters.saturating_sub(QUESTION_LIMIT));
        let unquoted = end.map(|character| if character == '"' { ' ' } else { character });
        Self {
            text: PrivateText::new(unquoted.collect::<String>()),
            limit,
            ..Self::default()
        }
    }

    /// Whether all but the words fits.
    fn admits(&self, memory: &Memory) -> bool {
        self.kind.is_none_or(|kind| memory.kind() == kind)
            && self.origin.is_none_or(|origin| memory.origin() == origin)
            && self.since.is_none_or(|since| memory.created_at >= since)
            && self.until.is_none_or(|until| memory.created_at <= until)
            && self.tag.as_ref().is_none_or(|tag| {
                let tag = fold(tag.expose().trim());
                memory.tags.iter().any(|own| fold(own) == tag)
            })
    }
}

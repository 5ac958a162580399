//! Questions made of an agent's own memories, by which context and recall before and after a session are compared.
//! They hold its words, and are for the agent itself and its owner.

use std::{cmp::Reverse, ops::Range};

use memoir_text::Cut;

use super::{QUOTES, RecallIndex};
use crate::{
    memory::{Memory, Number},
    text::{is_unspaced, private::PrivateText, sentences},
};

/// Most probes of one state of the memories.
pub const PROBES: usize = 50;
/// Fewest words of a sentence of which a probe is made.
// A shorter one is no question without its rarest word.
const SENTENCE_WORDS: usize = 3;
/// Characters that count as one word in scripts without spaces: recall finds them by pairs.
const UNSPACED_CHARACTERS: usize = 2;

/// A question that one memory answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The memory.
    pub number: Number,
    /// One of its sentences without its rarest word.
    pub question: PrivateText,
}

/// Probes of the originals in the prompt, [`PROBES`] at most, evenly from the first to the last sentence of all. A
/// session moves no other memories. `index` holds the agent's active memories, which decide how rare a word is.
pub fn probes<'a>(
    memories: impl IntoIterator<Item = &'a Memory>,
    index: &RecallIndex,
) -> Vec<Probe> {
    let asked = memories
        .into_iter()
        .filter(|memory| memory.is_active_core() && memory.is_original());
    let all: Vec<Probe> = asked.flat_map(|memory| of_memory(memory, index)).collect();
    let taken = all.len().min(PROBES);
    let places = (0..taken).map(|place| place * all.len() / taken);
    places.map(|place| all[place].clone()).collect()
}

fn of_memory(memory: &Memory, index: &RecallIndex) -> Vec<Probe> {
    let text = memory.content.expose();
    // As the index stems its words: a single sentence may seem to be of another language.
    let language = Cut::of(text).language();
    let question = |sentence: &str| {
        let counted = words(sentence).into_iter().filter_map(|word| {
            let memories = index.frequency(&sentence[word.clone()], language)?;
            Some((memories, word))
        });
        let counted: Vec<(usize, Range<usize>)> = counted.collect();
        let is_long = counted.len() >= SENTENCE_WORDS;
        // Of several the longest, which most likely says the most; of those the first.
        let rarest = counted
            .into_iter()
            .min_by_key(|(memories, word)| (*memories, Reverse(word.len())));
        let (_, rarest) = rarest.filter(|_| is_long)?;
        let rest = [&sentence[..rarest.start], &sentence[rarest.end..]].join(" ");
        // What stands in quotes would have to occur as it is.
        Some(Probe {
            number: memory.number,
            question: rest.replace(QUOTES, " ").into(),
        })
    };
    sentences(text).filter_map(question).collect()
}

/// The places of the words of a sentence: what stands between white space, and pairs of characters of a script without
/// spaces.
fn words(sentence: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut unspaced = 0;
    for (at, character) in sentence.char_indices() {
        if character.is_whitespace() {
            continue;
        }
        let end = at + character.len_utf8();
        match words.last_mut() {
            Some(word) if word.end == at && unspaced < UNSPACED_CHARACTERS => word.end = end,
            _ => {
                words.push(at..end);
                unspaced = 0;
            }
        }
        unspaced += usize::from(is_unspaced(character));
    }
    words
}

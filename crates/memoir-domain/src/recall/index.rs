//! The inverted index of an agent's memories, wiped when it is dropped (SPEC 5.3). `stored` is its form to be sealed.
//!
//! A memory has a slot. The slot holds the filters (date, kind, tags, origin), the memory above it in the archive, and
//! its run of `sequence`: its terms in their order, as numbers of units. A unit is one word as read in one language; it
//! belongs to the group of all words with its stem. Each group has a list of the slots that contain it, with counts.
//! Terms that are searched by group only (pairs of characters, whole names) follow the run. No text is kept, except
//! each word that a typing error could be meant for, once.
//!
//! A question is searched element by element. Each adds a BM25 score to every memory that has it; `rank` orders the few
//! best, and only for those the matched terms are determined.

mod stored;

use std::collections::{HashMap, HashSet};

use memoir_text::{
    Cut, Language, TermKind, corrects, has_compounds, is_function_pair, is_function_word,
    is_stemmed, stem_into, stem_key,
};
use zeroize::{DefaultIsZeroes, Zeroize};

use super::{
    FoundAs, MatchedTerm, RECALL_LIMIT, RecallMatch, RecallPlace, RecallQuery, literal_terms,
    query::{QueryElement, RecallQuestion, SoughtForm, literal_phrases},
    rank::{self, FoundMemory},
    replaced::{self, ChainLink, ChainLinks, FoundHistories},
    vectors::{IndexVectors, Vector},
};
use crate::{
    log::audit::Change,
    memory::{Memory, Number, origin::Origin},
    text::{
        fold,
        wiped::{Wiped, WipedLists, WipedTable},
    },
};

/// How fast further repetitions of a word stop to count, of BM25.
const K1: f32 = 0.9;
/// How much a memory's length counts against it, of BM25.
const B: f32 = 0.25;
/// Most elements of a question that count: those that must occur, and the rarest. A prompt of 20,000 characters has
/// thousands.
// Each element that counts reads a list as long as the memories that have it.
const MOST: usize = 32;
/// Most elements of a question with tolerance for typing errors: each is compared with all words.
// A question of more elements finds something by the others.
const FORGIVEN: usize = 12;
/// Fewest letters of a word with this tolerance.
// In shorter words one letter mostly makes another word: "form" and "from", "cat" and "car".
const SLIP_LETTERS: usize = 5;
/// Fewest letters of a part of a longer word.
const PART_LETTERS: usize = 4;
/// Fewest letters of a compound word.
const COMPOUND_LETTERS: usize = 8;
/// The weight of a typing error and of a part, against that of the word itself.
const SLIP_WEIGHT: f32 = 0.8;
const PART_WEIGHT: f32 = 0.6;
/// The weight of a function word: enough to order otherwise equal matches.
const FUNCTION_WEIGHT: f32 = 0.1;
/// The weight of the whole question occurring in a memory.
const WHOLE_WEIGHT: f32 = 0.4;
/// Letters of the longest word whose letters are kept.
const LETTERS: usize = 64;
/// Room for any such word: a reallocation would leave a copy behind.
const WORD_BYTES: usize = 4 * LETTERS;

/// The share of the shorter memory that two memories have in common where one may correct the other: where the question
/// finds both, and where it finds the older one alone.
// Stricter where the question did not find the correction itself, which is then added to the result.
const ALIKE: [f32; 2] = [0.28, 0.44];
/// The number of words that only these two contain which suffices instead, likewise.
const SUBJECTS: [usize; 2] = [1, 2];
/// Most memories with a word by which one may have the same subject as another.
// It bounds the work too: lists up to this length are walked for each of the best matches.
const SUBJECT: usize = 8;
/// How much lower a correction may score than the memory that it corrects, and still count as found.
const FOUND_TOO: f32 = 0.4;

/// The group of terms that are not searched by themselves.
const NO_GROUP: u32 = u32::MAX;
/// Bits for the count of a term in a memory, the low ones of a posting; the slot is above.
const TIMES_BITS: u32 = 6;
const TIMES: u32 = (1 << TIMES_BITS) - 1;

/// One word, as read in one language.
#[derive(Debug, Clone, Copy, Default)]
struct Unit {
    key: u64,
    group: u32,
    letters: u32,
    length: u32,
}

impl DefaultIsZeroes for Unit {}

/// The stem of a long word of a language with compounds.
#[derive(Debug, Clone, Copy, Default)]
struct Compound {
    group: u32,
    letters: u32,
    length: u32,
}

impl DefaultIsZeroes for Compound {}

#[derive(derive_more::Deref)]
struct IndexSlot {
    number: Number,
    #[deref]
    link: ChainLink,
    is_active: bool,
    is_constitutional: bool,
    origin: Origin,
    tags: Box<[u64]>,
    from: u32,
    to: u32,
    /// After the run: groups without a place in it.
    end: u32,
    /// The number of searchable terms.
    length: u32,
    /// Its place among the counts of languages.
    language: u8,
    /// Whether its text says that a state has changed.
    corrects: bool,
    /// Whether the memory is still indexed.
    lives: bool,
}

/// The index of an agent's memories. Built from opened texts; `Debug` prints counts only.
#[derive(Default, derive_more::Debug)]
#[debug("RecallIndex({} memories, {} bytes)", self.slot_of.len(), self.bytes())]
pub struct RecallIndex {
    units: Wiped<Unit>,
    letters: Wiped<u8>,
    compounds: Wiped<Compound>,
    sequence: Wiped<u32>,
    unit_of: WipedTable,
    group_of: WipedTable,
    /// The slots of each group, ascending, with counts.
    postings: WipedLists,
    /// For each group, whether it can be a subject of a memory.
    subjects: Vec<bool>,
    slots: Vec<IndexSlot>,
    /// The number of tags of the slots.
    tagged: usize,
    slot_of: HashMap<Number, u32, foldhash::fast::RandomState>,
    vectors: IndexVectors,
    /// What the vectors were made with; empty where there was none yet.
    vector_model: String,
    /// How many there were as it was stored; 0 for an index that was built.
    stored_vectors: usize,
    /// The number of memories in each language; the last one counts those without.
    languages: [u32; LANGUAGES],
    length: u64,
}

/// The languages with tables, and none.
// More than exist, so that a further table does not change the number; it is also the number of salts tried for a word.
const LANGUAGES: usize = 17;

fn language_place(language: Option<Language>) -> usize {
    language.map_or(LANGUAGES - 1, |language| language as usize)
}

impl Drop for RecallIndex {
    fn drop(&mut self) {
        // The other fields that come from words wipe themselves (`Wiped`).
        for slot in &mut self.slots {
            slot.tags.zeroize();
            slot.link.text.zeroize();
        }
    }
}

impl ChainLinks for RecallIndex {
    fn link(&self, number: Number) -> Option<ChainLink> {
        let slot = &self.slots[*self.slot_of.get(&number)? as usize];
        slot.is_active.then_some(slot.link)
    }

    fn count(&self) -> usize {
        self.slot_of.len()
    }
}

impl RecallIndex {
    /// From these memories, discarded ones included.
    pub fn of<'a>(memories: impl IntoIterator<Item = &'a Memory>) -> Self {
        let mut index = Self::default();
        for memory in memories {
            index.put(memory);
        }
        index
    }

    /// The number of indexed memories.
    pub fn memories(&self) -> usize {
        self.slot_of.len()
    }

    /// Its size in memory, approximately, in bytes.
    pub fn bytes(&self) -> usize {
        let bytes = self.units.bytes()
            + self.letters.bytes()
            + self.compounds.bytes()
            + self.sequence.bytes()
            + self.unit_of.bytes()
            + self.group_of.bytes()
            + self.postings.bytes()
            + self.subjects.capacity()
            + self.slots.capacity() * size_of::<IndexSlot>()
            + self.tagged * 8
            + self.slot_of.capacity() * 24
            + self.vectors.bytes();
        // The allocator keeps more beside them: by `scripts/index-memory`, an eighth to a fifth.
        bytes + bytes / 8
    }

    /// As [`RecallIndex::bytes`], from the length of each memory alone. The size itself would show an administrator, who
    /// reads it, whether the words of an added text are in other memories (SPEC 5.1).
    pub fn bytes_by_length(&self) -> usize {
        /// About, of a memory and of each of its terms.
        const BYTES: (usize, usize) = (256, 32);
        self.memories() * BYTES.0
            + self.length as usize * BYTES.1
            + self.vectors() * self.vector_dimensions().unwrap_or(0)
    }

    /// Follows written changes. `false`: text was shredded, or most of its room is unused; the caller must drop it.
    #[must_use]
    pub fn follow(&mut self, changes: &[Change]) -> bool {
        for change in changes {
            let after = change.after();
            if after.shredded_at.is_some() {
                // Not removed singly: data derived from the memory's text is in shared tables, which are only wiped as
                // a whole.
                return false;
            }
            if after.is_active() {
                self.put(&after);
            } else {
                self.take(after.number);
            }
        }
        self.is_compact()
    }

    /// Whether most of its room is used. Slots are never used again, so that postings stay sorted; an index with half of
    /// its slots unused is rebuilt, unless it is small.
    pub fn is_compact(&self) -> bool {
        self.slots.len() < 1_024 || self.slot_of.len() * 2 > self.slots.len()
    }

    /// Adds a memory, in place of its number's earlier state.
    pub fn put(&mut self, memory: &Memory) {
        self.take(memory.number);
        // Slots are numbered in 26 bits, which no agent's memory fills.
        let slot = self.slots.len() as u32;
        let cut = Cut::of(memory.content.expose());
        let language = cut.language();
        let from = self.sequence.len() as u32;
        // The run is the text in another form.
        let (mut groups, mut apart) = (Wiped::default(), Wiped::default());
        let (mut before, mut scratch) = (0, String::with_capacity(WORD_BYTES));
        let mut character = String::new();
        cut.each(|term| {
            let last = std::mem::take(&mut before);
            match term.kind {
                TermKind::Word => {
                    let unit = self.word(term.word, term.key, language, &mut scratch);
                    self.sequence.push(unit);
                    groups.push(self.units.as_slice()[unit as usize].group);
                }
                TermKind::Sign => {
                    let unit =
                        self.unit(term.key, term.key, |index| index.group(term.key, || false));
                    self.sequence.push(unit);
                    groups.push(self.units.as_slice()[unit as usize].group);
                }
                TermKind::Mark => {
                    // A mark is never searched by itself, so it needs no list.
                    let unit = self.unit(mark_key(term.key), term.key, |_| NO_GROUP);
                    self.sequence.push(unit);
                }
                TermKind::Character { follows } => {
                    let unit = self.unit(mark_key(term.key), term.key, |_| NO_GROUP);
                    self.sequence.push(unit);
                    if follows && last != 0 {
                        let is_function = |of| is_function_pair(&character, term.word, of);
                        let is_subject = || !language.is_some_and(is_function);
                        apart.push(self.group(pair_key([last, term.key]), is_subject));
                    }
                    before = term.key;
                    character.zeroize();
                    character.push_str(term.word);
                }
                TermKind::Whole => {
                    let stem = stem_key(term.word, language, &mut scratch);
                    apart.push(self.group(stem, || is_subject(term.word, language)));
                }
            }
        });
        let to = self.sequence.len() as u32;
        self.sequence.extend(apart.as_slice());
        groups.extend(apart.as_slice());
        let groups = groups.as_mut_slice();
        groups.sort_unstable();
        let length = groups.len() as u32;
        for same in groups.chunk_by(|one, other| one == other) {
            // More occurrences than `TIMES` would hardly count for more (`saturated`).
            let times = (same.len() as u32).min(TIMES);
            // Slots only grow, so that each list stays sorted by pushing.
            self.postings
                .push(same[0] as usize, slot << TIMES_BITS | times);
        }
        scratch.zeroize();
        character.zeroize();
        let language = language_place(language);
        self.languages[language] += 1;
        self.length += u64::from(length);
        self.tagged += memory.tags.iter().len();
        self.slot_of.insert(memory.number, slot);
        self.slots.push(IndexSlot {
            number: memory.number,
            link: ChainLink::new(memory),
            is_active: memory.is_active(),
            is_constitutional: memory.is_constitutional(),
            origin: memory.origin(),
            tags: memory.tags.iter().map(tag_key).collect(),
            from,
            to,
            end: self.sequence.len() as u32,
            length,
            language: language as u8,
            corrects: corrects(&cut),
            lives: true,
        });
    }

    /// Removes a memory.
    pub fn take(&mut self, number: Number) {
        let Some(at) = self.slot_of.remove(&number) else {
            return;
        };
        self.vectors.take(at);
        let mut groups = self.groups(at);
        let slot = &mut self.slots[at as usize];
        slot.lives = false;
        slot.tags.zeroize();
        slot.link.text.zeroize();
        self.languages[usize::from(slot.language)] -= 1;
        self.length -= u64::from(slot.length);
        // A run of units is the text in another form, and is removed with its memory immediately.
        self.sequence.as_mut_slice()[slot.from as usize..slot.end as usize].zeroize();
        for group in &groups {
            let (list, slot) = (*group as usize, |posting: &u32| posting >> TIMES_BITS);
            if let Ok(place) = self.postings[list].binary_search_by_key(&at, slot) {
                self.postings.remove(list, place);
            }
        }
        groups.zeroize();
    }

    /// Reserves room for this many vectors of that number of dimensions, before the caller adds them.
    pub fn expect_vectors(&mut self, more: usize, dimensions: usize) {
        self.vectors.make_room(more, dimensions);
    }

    /// Sets the vector of a memory of [`RecallIndex::without_vector`], valid until its number gets another state.
    /// `false` where it has another state by then or is gone, or the other vectors have another length.
    pub fn put_vector(&mut self, (number, slot): (Number, u32), vector: &Vector) -> bool {
        self.slot_of.get(&number) == Some(&slot) && self.vectors.put(slot, vector)
    }

    /// The memories without a vector, in no order, each with its slot: no later state of its number has the same one.
    pub fn without_vector(&self) -> Vec<(Number, u32)> {
        if self.vectors.count() == self.slot_of.len() {
            return Vec::new();
        }
        let slots = self.slot_of.iter();
        let lacking = slots.filter(|(_, slot)| !self.vectors.has(**slot));
        lacking.map(|(number, slot)| (*number, *slot)).collect()
    }

    /// The length of its vectors; `None` where it has none.
    pub fn vector_dimensions(&self) -> Option<usize> {
        self.vectors.dimensions()
    }

    /// What the vectors were made with, as [`RecallIndex::begin_vectors`] was given it; empty where there was none yet.
    pub fn vector_model(&self) -> &str {
        &self.vector_model
    }

    /// How many memories have a vector.
    pub fn vectors(&self) -> usize {
        self.vectors.count()
    }

    /// How many memories had a vector as the index was stored, with its vectors or without; 0 for one that was built.
    pub fn stored_vectors(&self) -> usize {
        self.stored_vectors
    }

    /// Wipes the vectors of any other model: between vectors of two models there is no angle.
    pub fn begin_vectors(&mut self, model: &str) {
        if self.vector_model != model {
            self.forget_vectors();
            model.clone_into(&mut self.vector_model);
        }
    }

    /// Wipes all vectors.
    pub fn forget_vectors(&mut self) {
        self.vectors = IndexVectors::default();
    }

    fn group(&mut self, key: u64, is_subject: impl FnOnce() -> bool) -> u32 {
        let new = self.postings.len() as u32;
        let group = self.group_of.get_or_put(key, new);
        if group == new {
            self.postings.begin();
            self.subjects.push(is_subject());
        }
        group
    }

    /// The unit of a key; a new one gets that group.
    fn unit(&mut self, at: u64, key: u64, group: impl FnOnce(&mut Self) -> u32) -> u32 {
        let new = self.units.len() as u32;
        let unit = self.unit_of.get_or_put(at, new);
        if unit == new {
            let group = group(self);
            self.units.push(Unit {
                key,
                group,
                ..Unit::default()
            });
        }
        unit
    }

    /// The unit of a word, per language where that makes a difference.
    fn word(
        &mut self,
        word: &str,
        key: u64,
        language: Option<Language>,
        scratch: &mut String,
    ) -> u32 {
        // A word is one unit for each language that it was read in, since its stem, and so its group, differs.
        let salt = if is_stemmed(word) {
            1 + language_place(language) as u64
        } else {
            0
        };
        let at = key.wrapping_add(salt.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let new = self.units.len() as u32;
        let unit = self.unit(at, key, |index| {
            index.group(stem_key(word, language, scratch), || {
                is_subject(word, language)
            })
        });
        if unit == new {
            let letters = word.chars().take(LETTERS + 1).count();
            // The intended word may be one letter shorter than the mistyped one.
            if (SLIP_LETTERS - 1..=LETTERS).contains(&letters) && is_lettered(word) {
                let place = self.letters.len() as u32;
                self.letters.extend(word.as_bytes());
                let unit = &mut self.units.as_mut_slice()[unit as usize];
                (unit.letters, unit.length) = (place, word.len() as u32);
            }
            if letters >= COMPOUND_LETTERS && has_compounds(language) && is_lettered(word) {
                stem_into(word, language, scratch);
                let place = self.letters.len() as u32;
                self.letters.extend(scratch.as_bytes());
                let group = self.units.as_slice()[unit as usize].group;
                self.compounds.push(Compound {
                    group,
                    letters: place,
                    length: scratch.len() as u32,
                });
            }
        }
        unit
    }

    fn letters(&self, place: u32, length: u32) -> &[u8] {
        let end = place as usize + length as usize;
        &self.letters.as_slice()[place as usize..end]
    }

    /// In how many memories the rarest word of a text in that language stands; `None` where none stands in any.
    pub(super) fn frequency(&self, text: &str, language: Option<Language>) -> Option<usize> {
        let mut scratch = String::with_capacity(WORD_BYTES);
        let (mut least, mut before) = (None, 0);
        Cut::of(text).each(|term| {
            let last = std::mem::take(&mut before);
            let key = match term.kind {
                TermKind::Word => Some(stem_key(term.word, language, &mut scratch)),
                TermKind::Sign => Some(term.key),
                TermKind::Character { follows } => {
                    before = term.key;
                    (follows && last != 0).then(|| pair_key([last, term.key]))
                }
                TermKind::Mark | TermKind::Whole => None,
            };
            let group = key.and_then(|key| self.group_of.get(key));
            let memories = group.map(|group| self.postings[group as usize].len());
            let known = memories.filter(|memories| *memories > 0);
            least = least.into_iter().chain(known).min();
        });
        scratch.zeroize();
        least
    }

    fn present(&self) -> impl Iterator<Item = Option<Language>> {
        let all = Language::ALL.into_iter().map(Some).chain([None]);
        all.filter(|language| self.languages[language_place(*language)] > 0)
    }

    fn main_language(&self) -> Language {
        let most = Language::ALL.into_iter();
        let most = most.max_by_key(|language| self.languages[*language as usize]);
        most.filter(|language| self.languages[*language as usize] > 0)
            .unwrap_or(Language::English)
    }

    /// A page of the matches, best first, after a place.
    pub fn search(&self, query: &RecallQuery, after: Option<RecallPlace>) -> Vec<RecallMatch> {
        self.search_near(query, None, after)
    }

    /// As [`RecallIndex::search`], merged by rank with the nearest memories to `vector`, the question's vector.
    /// Required terms must occur all the same.
    pub fn search_near(
        &self,
        query: &RecallQuery,
        vector: Option<&Vector>,
        after: Option<RecallPlace>,
    ) -> Vec<RecallMatch> {
        let mut question = RecallQuestion::of(query.text.expose());
        question.mark_function_words(self.main_language());
        let is_asked = !question.is_empty();
        let mut looked = self.look_up(question.elements);
        // The best are reordered by corrections: the same ones for every page.
        let needed = after.map_or(0, |after| after.seen);
        // A client returns a place, and can put any number into it.
        let needed = needed.saturating_add(rank::MOVED + query.limit);
        // Function words refine the order of few matches. They are in most memories, and would cost most of the time.
        let fillers: Vec<LookedUp> = looked.extract_if(.., |one| one.is_function).collect();
        // First without the function words: see above.
        let mut scored = self.score(&looked, is_asked, query);
        let is_informative = looked.iter().any(|one| !one.is_stop);
        let mut informative = vec![false; self.slots.len()];
        for one in scored.iter().filter(|_| is_informative) {
            informative[one.slot as usize] = true;
        }
        let has_informative = is_informative && !scored.is_empty();
        if scored.len() < RECALL_LIMIT && !fillers.is_empty() {
            looked.extend(fillers);
            scored = self.score(&looked, is_asked, query);
        }
        // Matches by meaning have no order but their nearness.
        let is_ranked = is_asked && !query.newest_first;
        let vector = vector.filter(|_| is_ranked);
        let nearest = vector.map_or_else(Vec::new, |vector| self.nearest(vector, &looked, query));
        // Matches that rest on stop words alone are none where there are others (SPEC 2.8).
        if has_informative || !nearest.is_empty() {
            scored.retain(|one| informative[one.slot as usize]);
        }
        // Over all matches, before the best are taken: so that every page has the same ones.
        let mut folded = self.fold(scored, &nearest);
        if query.newest_first {
            // Equal scores are ordered by date.
            for one in &mut folded.scored {
                one.rank_score = 0.0;
            }
        }
        let mut found = if nearest.is_empty() {
            rank::first(folded.scored, needed)
        } else {
            let by_words = rank::first(folded.scored, needed.max(rank::MERGED));
            rank::merged(by_words, folded.nearest.into_iter())
        };
        let near = |slot: u32| nearest.iter().position(|(one, _)| one.slot == slot);
        if is_ranked {
            let best = found.iter().take(rank::CORRECTED);
            // For the best alone: later matches are rarely read, and each costs a walk over lists.
            let best: Vec<BestMatch> = best.map(|one| self.with_corrections(one)).collect();
            if looked.iter().all(|one| !one.must) {
                self.add_corrections(&mut found, &best, query);
            }
            let alike = |new: &FoundMemory, old: &FoundMemory| {
                let known = best.iter().find(|one| one.found.slot == old.slot);
                let most_shared = known.map_or(0.0, |one| one.most_shared);
                self.corrects(new, old, most_shared)
                    || self.corrects_by_meaning(new, old, &best, &nearest)
            };
            rank::corrections_first(&mut found, alike);
        }
        let found = folded.histories.unfold(
            found,
            folded.followers,
            |one| one.number,
            |one| one.created_at,
        );
        let from = rank::begin(found.iter().map(|found| found.number), after);
        let page = found.iter().enumerate().skip(from).take(query.limit);
        // Without these texts nothing was admitted.
        let literal = query.among.as_ref().map_or_else(Vec::new, |_| {
            literal_terms(&literal_phrases(query.text.expose()))
        });
        page.map(|(at, one)| RecallMatch {
            number: one.number,
            rank: at + 1,
            before: at.checked_sub(1).map(|before| found[before].number),
            score: one.score,
            corrects: one.corrects,
            by_stop_words: is_asked
                && near(one.slot).is_none()
                && self.is_by_stop_words(&looked, one),
            replaced: replaced::mark(self, one.number),
            near: near(one.slot).map(|at| at + 1),
            terms: {
                let mut terms = self.matched(&looked, one.slot);
                terms.extend(near(one.slot).map(|at| MatchedTerm {
                    term: "".into(),
                    found: FoundAs::Meaning,
                    weight: nearest[at].1,
                }));
                terms.extend(literal.iter().cloned());
                terms
            },
        })
        .collect()
    }

    /// The nearest memories in meaning, the nearest first, each with its nearness.
    fn nearest(
        &self,
        vector: &Vector,
        looked: &[LookedUp],
        query: &RecallQuery,
    ) -> Vec<(FoundMemory, f32)> {
        let narrowed = Narrowed::by(query);
        let musts = self.musts(looked);
        let admits = |at: u32| {
            narrowed.admits(&self.slots[at as usize])
                && musts.iter().all(|slots| slots.contains(&at))
        };
        let near = self.vectors.nearest(vector, admits).into_iter();
        near.map(|(at, nearness)| (self.found(at, 0.0), nearness))
            .collect()
    }

    fn found(&self, at: u32, score: f32) -> FoundMemory {
        let slot = &self.slots[at as usize];
        FoundMemory {
            score,
            rank_score: score,
            created_at: slot.created_at,
            number: slot.number,
            slot: at,
            corrects: None,
        }
    }

    /// Removes matches that rank directly after another found memory, which then ranks at the better of both places.
    fn fold(&self, scored: Vec<FoundMemory>, nearest: &[(FoundMemory, f32)]) -> FoldedMatches {
        let near = || nearest.iter().map(|(one, _)| *one);
        let found = || scored.iter().copied().chain(near());
        let archived = found().filter(|one| self.slots[one.slot as usize].under.is_some());
        let histories = FoundHistories::of(
            self,
            archived.map(|one| one.number),
            found().map(|one| one.number),
        );
        if histories.is_empty() {
            return FoldedMatches {
                nearest: near().collect(),
                scored,
                followers: Vec::new(),
                histories,
            };
        }
        // Matches by words come first, with their score.
        let mut followers: Vec<FoundMemory> = Vec::new();
        let mut known = HashSet::new();
        for one in found().filter(|one| histories.ranks_after_another(one.number)) {
            if known.insert(one.number) {
                followers.push(one);
            }
        }
        let mut best: HashMap<Number, f32> = HashMap::new();
        for one in scored.iter().filter(|one| known.contains(&one.number)) {
            let best = best.entry(histories.head(one.number)).or_default();
            *best = best.max(one.score);
        }
        let mut heads: HashMap<Number, FoundMemory> = near().map(|one| (one.number, one)).collect();
        let mut folded: Vec<FoundMemory> = scored;
        folded.retain(|one| !known.contains(&one.number));
        for one in &mut folded {
            if let Some(best) = best.remove(&one.number) {
                one.rank_score = one.score.max(best);
            }
        }
        // The rest are heads that were found by their meaning alone.
        folded.extend(best.into_iter().filter_map(|(number, best)| {
            let head = heads.get(&number)?;
            Some(FoundMemory {
                rank_score: best,
                ..*head
            })
        }));
        let mut near_heads: Vec<Number> = Vec::new();
        let mut seen = HashSet::new();
        for one in near() {
            let head = histories.head(one.number);
            if seen.insert(head) {
                near_heads.push(head);
            }
        }
        // A head need not be near itself.
        let of_words = folded.iter().filter(|one| seen.contains(&one.number));
        heads.extend(of_words.map(|one| (one.number, *one)));
        let nearest = near_heads
            .iter()
            .filter_map(|head| heads.get(head).copied());
        FoldedMatches {
            scored: folded,
            nearest: nearest.collect(),
            followers,
            histories,
        }
    }

    /// Looks each element up; of too many, the rarest ones.
    fn look_up(&self, elements: Vec<QueryElement>) -> Vec<LookedUp> {
        let forgives = elements.len() <= FORGIVEN;
        let mut looked: Vec<LookedUp> = Vec::with_capacity(elements.len());
        for element in elements {
            let (from, text) = (looked.len(), element.text);
            match element.sought {
                SoughtForm::Word(key) => {
                    // Typing errors are not tolerated in function words.
                    let forgives = forgives && !element.is_function;
                    looked.push(self.look_up_word(text, key, forgives));
                }
                SoughtForm::Whole(keys) => {
                    let found = self.with_sequence(&keys);
                    if !found.is_empty() {
                        let mut whole = self.of_postings(text, found, FoundAs::Phrase);
                        whole.rarity *= WHOLE_WEIGHT;
                        looked.push(whole);
                    }
                }
                SoughtForm::Pair(keys) => {
                    let group = self.group_of.get(pair_key(keys));
                    let group = group.map(|group| (group, 1.0));
                    looked.push(self.of_groups(text, group, FoundAs::Word));
                }
                SoughtForm::Character(key) => {
                    let found = self.with_sequence(&[key]);
                    looked.push(self.of_postings(text, found, FoundAs::Word));
                }
                SoughtForm::Sequence { keys, words, must } => {
                    let found = match must {
                        true => self.with_phrase(&text, &keys),
                        false => self.with_sequence(&keys),
                    };
                    if found.is_empty() && !must {
                        // A name without a match may be written with other signs.
                        let words = words.into_iter();
                        looked.extend(words.map(|(text, key)| self.look_up_word(text, key, false)));
                    } else {
                        let mut found = self.of_postings(text, found, FoundAs::Phrase);
                        found.must = must;
                        looked.push(found);
                    }
                }
            }
            for one in &mut looked[from..] {
                one.is_stop = element.is_stop;
                if element.is_function {
                    one.rarity *= FUNCTION_WEIGHT;
                    one.is_function = true;
                }
            }
        }
        if looked.len() > MOST {
            // Required terms stay even without a match: then nothing is found, as requested.
            looked.retain(|one| one.must || one.postings.count(self) > 0);
            looked.sort_by_key(|one| (!one.must, one.postings.count(self)));
            let musts = looked.iter().filter(|one| one.must).count();
            looked.truncate(MOST.max(musts));
        }
        looked
    }

    fn look_up_word(&self, text: String, key: u64, forgives: bool) -> LookedUp {
        let (mut groups, mut scratch): (Vec<(u32, f32)>, _) = (Vec::new(), String::new());
        let add = |groups: &mut Vec<(u32, f32)>, group: u32, weight: f32| {
            let has_any = !self.postings[group as usize].is_empty();
            if has_any && groups.iter().all(|(known, _)| *known != group) {
                groups.push((group, weight));
            }
        };
        if is_stemmed(&text) {
            for language in self.present() {
                let stem = stem_key(&text, language, &mut scratch);
                if let Some(group) = self.group_of.get(stem) {
                    add(&mut groups, group, 1.0);
                }
            }
        } else {
            let stem = stem_key(&text, self.main_language().into(), &mut scratch);
            let stems = [stem, key].into_iter();
            for group in stems.filter_map(|stem| self.group_of.get(stem)) {
                add(&mut groups, group, 1.0);
            }
        }
        let mut found = FoundAs::Word;
        if !self.compounds.is_empty() && text.chars().count() >= PART_LETTERS {
            let own = groups.len();
            self.parts(&text, &mut scratch, |group| {
                add(&mut groups, group, PART_WEIGHT)
            });
            // Reported as a part only where the word itself has no match: the weight is lower in both cases.
            if own == 0 && !groups.is_empty() {
                found = FoundAs::Part;
            }
        }
        if groups.is_empty() && forgives && text.chars().count() >= SLIP_LETTERS {
            found = FoundAs::Slip;
            for unit in self.units.as_slice().iter().filter(|unit| unit.length > 0) {
                let known = self.letters(unit.letters, unit.length);
                if is_one_slip(text.as_bytes(), known) {
                    add(&mut groups, unit.group, SLIP_WEIGHT);
                }
            }
        }
        self.of_groups(text, groups, found)
    }

    /// The words that contain a word, and for an unknown compound its parts.
    fn parts(&self, text: &str, scratch: &mut String, mut give: impl FnMut(u32)) {
        let language = Language::ALL
            .into_iter()
            .filter(|language| has_compounds(Some(*language)))
            .max_by_key(|language| self.languages[*language as usize]);
        stem_into(text, language, scratch);
        if scratch.chars().count() < PART_LETTERS {
            return;
        }
        let part = scratch.as_bytes();
        for compound in self.compounds.as_slice() {
            let whole = self.letters(compound.letters, compound.length);
            let is_longer = whole.len() >= part.len() + PART_LETTERS - 1;
            if is_longer && (whole.starts_with(part) || whole.ends_with(part)) {
                give(compound.group);
            }
        }
        if text.chars().count() < COMPOUND_LETTERS {
            return;
        }
        // "Haustürschlüssel" matches the key of the front one too.
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        for at in places.into_iter().skip(PART_LETTERS) {
            let (head, tail) = text.split_at(at);
            if tail.chars().count() < PART_LETTERS {
                break;
            }
            let mut known = |word: &str| {
                let stem = stem_key(word, language, scratch);
                let group = self.group_of.get(stem);
                group.filter(|group| !self.postings[*group as usize].is_empty())
            };
            // With the linking letter: "Arbeit-s-platz".
            let joined = [head, head.strip_suffix('s').unwrap_or(head)];
            let heads = joined.into_iter().find_map(&mut known);
            if let (Some(head), Some(tail)) = (heads, known(tail)) {
                give(head);
                give(tail);
                break;
            }
        }
    }

    /// The memories with any of the groups, each with its weight.
    fn of_groups(
        &self,
        text: String,
        groups: impl IntoIterator<Item = (u32, f32)>,
        found: FoundAs,
    ) -> LookedUp {
        let groups: Vec<(u32, f32)> = groups.into_iter().collect();
        if let [(group, weight)] = groups.as_slice() {
            let postings = Postings::One(*group, *weight);
            return LookedUp::new(text, self, postings, found);
        }
        let mut all: Vec<(u32, f32)> = Vec::new();
        for (group, weight) in groups {
            let list = self.postings[group as usize].iter();
            all.extend(list.map(|posting| {
                let times = (posting & TIMES) as f32;
                (posting >> TIMES_BITS, times * weight)
            }));
        }
        all.sort_unstable_by_key(|(slot, _)| *slot);
        all.dedup_by(|other, one| {
            let is_same = one.0 == other.0;
            if is_same {
                one.1 += other.1;
            }
            is_same
        });
        LookedUp::new(text, self, Postings::Several(all), found)
    }

    fn of_postings(&self, text: String, found: Vec<(u32, f32)>, how: FoundAs) -> LookedUp {
        LookedUp::new(text, self, Postings::Several(found), how)
    }

    /// The memories that have the terms one after the other, and how often.
    fn with_sequence(&self, keys: &[u64]) -> Vec<(u32, f32)> {
        let times = |slot: &IndexSlot| {
            let run = &self.sequence.as_slice()[slot.from as usize..slot.to as usize];
            let units = self.units.as_slice();
            let is_it = |(unit, key): (&u32, &u64)| units[*unit as usize].key == *key;
            // There is a key: a phrase without one is no element, and a whole question has several.
            let windows = run.windows(keys.len());
            windows
                .filter(|window| window.iter().zip(keys).all(is_it))
                .count()
        };
        let slots = self.rarest(keys).into_iter();
        let slots = slots.map(|at| (at, &self.slots[at as usize]));
        let lives = slots.filter(|(_, slot)| slot.lives);
        let found = lives.map(|(at, slot)| (at, times(slot) as f32));
        found.filter(|(_, times)| *times > 0.0).collect()
    }

    /// As [`RecallIndex::with_sequence`], for a folded phrase with those keys, wherever it and a memory have capitals: a
    /// name such as "GitHub" is two units, and "github" is one.
    fn with_phrase(&self, phrase: &str, keys: &[u64]) -> Vec<(u32, f32)> {
        let mut found = self.with_sequence(keys);
        let mut terms: Vec<(String, u64, TermKind)> = Vec::new();
        Cut::of(phrase).each(|term| terms.push((term.word.to_owned(), term.key, term.kind)));
        // Each beginning of the first word is hashed: a word longer than any is found as it is written only.
        let is_long = terms.iter().any(|(word, ..)| word.len() > WORD_BYTES);
        let Some((first, ..)) = terms.first().filter(|_| !is_long) else {
            return found;
        };
        let begins = first.char_indices().map(|(at, last)| at + last.len_utf8());
        let begins: HashSet<u64> = begins.map(|end| memoir_text::key(&first[..end])).collect();
        let is_cut = !terms.iter().map(|(_, key, _)| key).eq(keys);
        let words = terms.iter().filter(|(.., kind)| *kind == TermKind::Word);
        let looked = words.map(|(word, key, _)| self.look_up_word(word.clone(), *key, false));
        let looked: Vec<LookedUp> = looked.collect();
        let mut slots = Vec::new();
        if let Some(rarest) = looked.iter().min_by_key(|one| one.postings.count(self)) {
            rarest.each(self, |at, _| slots.push(at));
        }
        slots.retain(|at| {
            let slot = &self.slots[*at as usize];
            let run = &self.sequence.as_slice()[slot.from as usize..slot.to as usize];
            let begins = |unit: u32| begins.contains(&self.units.as_slice()[unit as usize].key);
            let mut starts = (0..run.len()).filter(|from| begins(run[*from]));
            // Without a name as a whole behind its run, a memory has the phrase as it is cut here or not at all.
            (is_cut || slot.to < slot.end)
                && found.binary_search_by_key(at, |(at, _)| *at).is_err()
                && looked.iter().all(|one| one.times(self, *at).is_some())
                && starts.any(|from| self.begins_with(&run[from..], &terms))
        });
        found.extend(slots.into_iter().map(|at| (at, 1.0)));
        found.sort_unstable_by_key(|(at, _)| *at);
        found
    }

    /// Whether the units begin with these terms, of which each may be several units.
    fn begins_with(&self, units: &[u32], terms: &[(String, u64, TermKind)]) -> bool {
        let key = |unit: &u32| self.units.as_slice()[*unit as usize].key;
        let mut keys = units.iter().map(key).peekable();
        terms.iter().all(|(word, ..)| {
            let mut from = 0;
            for end in word.char_indices().map(|(at, last)| at + last.len_utf8()) {
                let part = memoir_text::key(&word[from..end]);
                from = keys.next_if_eq(&part).map_or(from, |_| end);
            }
            from == word.len()
        })
    }

    /// The slots of the rarest of these terms: none where one of them is in no memory, and all where no list knows (a
    /// single character, or marks alone).
    fn rarest(&self, keys: &[u64]) -> Vec<u32> {
        let mut best: Option<Vec<u32>> = None;
        let mut offer = |groups: Vec<u32>| {
            let mut slots: Vec<u32> = Vec::new();
            for group in groups {
                let list = self.postings[group as usize].iter();
                slots.extend(list.map(|posting| posting >> TIMES_BITS));
            }
            slots.sort_unstable();
            slots.dedup();
            if best.as_ref().is_none_or(|best| slots.len() < best.len()) {
                best = Some(slots);
            }
        };
        let mut last_was_character = false;
        for (at, key) in keys.iter().enumerate() {
            let salts = 0..=LANGUAGES as u64;
            let units = salts.filter_map(|salt| {
                let salted = key.wrapping_add(salt.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                self.unit_of.get(salted)
            });
            let units = units.map(|unit| self.units.as_slice()[unit as usize]);
            let groups: Vec<u32> = units
                // The table knows hashes: another word's unit may be in the place of this one with its salt.
                .filter(|unit| unit.key == *key && unit.group != NO_GROUP)
                .map(|unit| unit.group)
                .collect();
            if !groups.is_empty() {
                last_was_character = false;
                offer(groups);
            } else if self.unit_of.get(mark_key(*key)).is_some() {
                // A mark, or a character that its pair with the previous one covers.
                if last_was_character && at > 0 {
                    let pair = self.group_of.get(pair_key([keys[at - 1], *key]));
                    offer(pair.into_iter().collect());
                }
                last_was_character = true;
            } else {
                return Vec::new();
            }
        }
        best.unwrap_or_else(|| (0..self.slots.len() as u32).collect())
    }

    /// Adds up the score of each memory, without those that the filters of the query exclude.
    fn score(&self, looked: &[LookedUp], is_asked: bool, query: &RecallQuery) -> Vec<FoundMemory> {
        let narrowed = Narrowed::by(query);
        let admits = |slot: &IndexSlot| slot.lives && narrowed.admits(slot);
        if !is_asked {
            let admitted = self.slots.iter().enumerate();
            let admitted = admitted.filter(|(_, slot)| admits(slot));
            return admitted.map(|(at, _)| self.found(at as u32, 0.0)).collect();
        }
        // One place for each slot, the dead ones too: they have no postings, and stay at 0.
        let mut scores = vec![0.0_f32; self.slots.len()];
        let average = self.average();
        for one in looked {
            one.each(self, |slot, times| {
                let length = self.slots[slot as usize].length;
                scores[slot as usize] += one.rarity * saturated(times, length, average);
            });
        }
        let musts = self.musts(looked);
        let scored = scores.iter().zip(&self.slots).enumerate();
        scored
            .filter(|(_, (score, _))| **score > 0.0)
            .filter(|(at, (_, slot))| {
                admits(slot) && musts.iter().all(|slots| slots.contains(&(*at as u32)))
            })
            .map(|(at, (score, _))| self.found(at as u32, *score))
            .collect()
    }

    /// The slots that have every required element; `None` where none is required.
    fn musts(&self, looked: &[LookedUp]) -> Option<HashSet<u32>> {
        let slots = |one: &LookedUp| {
            let mut slots = HashSet::new();
            one.each(self, |slot, _| {
                slots.insert(slot);
            });
            slots
        };
        let mut musts = looked.iter().filter(|one| one.must).map(slots);
        let mut all = musts.next()?;
        while !all.is_empty()
            && let Some(others) = musts.next()
        {
            all.retain(|slot| others.contains(slot));
        }
        Some(all)
    }

    fn average(&self) -> f32 {
        (self.length as f32 / self.slot_of.len().max(1) as f32).max(1.0)
    }

    /// Adds, before each of the best, the memories that correct it and were not found: a question in outdated terms
    /// then returns the present state. Not for queries with required terms.
    fn add_corrections(
        &self,
        found: &mut Vec<FoundMemory>,
        best: &[BestMatch],
        query: &RecallQuery,
    ) {
        let narrowed = Narrowed::by(query);
        for one in best {
            let old = &one.found;
            for &at in &one.corrections {
                let slot = &self.slots[at as usize];
                let new = FoundMemory {
                    corrects: Some(old.number),
                    ..self.found(at, 0.0)
                };
                let is_found = best.iter().any(|known| known.found.slot == at);
                if !is_found && narrowed.admits(slot) && self.corrects(&new, old, one.most_shared) {
                    found.retain(|known| known.slot != at);
                    // The best are the first of those found, so the old one is among them.
                    let place = found.iter().position(|known| known.slot == old.slot);
                    found.insert(place.unwrap_or(0), new);
                }
            }
        }
    }

    /// A match with its possible corrections: newer memories that say that a state has changed, and share a subject
    /// word with it.
    fn with_corrections(&self, old: &FoundMemory) -> BestMatch {
        let is_newer =
            |slot: &IndexSlot| (slot.created_at, slot.number) > (old.created_at, old.number);
        let mut sharing: Vec<(u32, bool)> = Vec::new();
        for group in self.groups(old.slot) {
            let list = &self.postings[group as usize];
            // A word of many memories is no subject.
            if list.len() > SUBJECT {
                continue;
            }
            let slots = list.iter().map(|posting| posting >> TIMES_BITS);
            let corrections = slots.filter(|at| {
                let slot = &self.slots[*at as usize];
                // A replaced memory does not state the present either.
                slot.corrects && is_newer(slot) && replaced::mark(self, slot.number).is_none()
            });
            let corrections: Vec<u32> = corrections.collect();
            let is_subject = !corrections.is_empty() && self.is_subject_of_one(group);
            sharing.extend(corrections.into_iter().map(|at| (at, is_subject)));
        }
        // For each, the words that no third memory has come first.
        sharing.sort_unstable_by_key(|(at, is_subject)| (*at, !is_subject));
        sharing.dedup_by_key(|(at, _)| *at);
        let of_one = sharing.iter().filter(|(_, is)| *is);
        let of_one: Vec<u32> = of_one.map(|(at, _)| *at).collect();
        let most_shared = match of_one.as_slice() {
            // The only one shares most.
            [] | [_] => 0.0,
            several => {
                let shared = several.iter().map(|at| self.likeness(*at, old.slot).shared);
                shared.fold(0.0, f32::max)
            }
        };
        BestMatch {
            found: *old,
            most_shared,
            corrections: sharing.into_iter().map(|(at, _)| at).collect(),
        }
    }

    /// Whether a memory says that the state of another one has changed: it has a word that says so, and the two share
    /// much of their words, or subject words of no third memory. Among several of the latter kind, the one that shares
    /// most with the older one: `most_shared`.
    fn corrects(&self, new: &FoundMemory, old: &FoundMemory, most_shared: f32) -> bool {
        if !self.slots[new.slot as usize].corrects {
            return false;
        }
        let alone = usize::from(new.score < FOUND_TOO * old.score);
        let likeness = self.likeness(new.slot, old.slot);
        likeness.shared >= ALIKE[alone] * likeness.said
            || likeness.subjects >= SUBJECTS[alone] && likeness.shared >= most_shared
    }

    /// How rare a term is that so many memories have.
    fn rarity(&self, with: usize) -> f32 {
        let (memories, with) = (self.slot_of.len() as f32, with as f32);
        // Never 0 or less: a word in more than half of the memories would otherwise count against them.
        (1.0 + (memories - with + 0.5).max(0.5) / (with + 0.5)).ln()
    }

    fn likeness(&self, new: u32, old: u32) -> Likeness {
        let (new, old) = (self.groups(new), self.groups(old));
        let rarity = |group: &u32| self.rarity(self.postings[*group as usize].len());
        let [new_says, old_says] =
            [&new, &old].map(|groups| groups.iter().map(rarity).sum::<f32>());
        let mut likeness = Likeness {
            said: new_says.min(old_says),
            ..Likeness::default()
        };
        for group in new.iter().filter(|group| old.binary_search(group).is_ok()) {
            likeness.shared += rarity(group);
            likeness.subjects += usize::from(self.is_subject_of_one(*group));
        }
        likeness
    }

    /// Whether it can be a subject, and of one memory alone, besides those that say that a state has changed.
    fn is_subject_of_one(&self, group: u32) -> bool {
        let list = &self.postings[group as usize];
        let slots = list.iter().map(|posting| (posting >> TIMES_BITS) as usize);
        self.subjects[group as usize]
            && list.len() <= SUBJECT
            && slots.filter(|slot| !self.slots[*slot].corrects).count() == 1
    }

    /// Whether one memory says that the state of another one has changed, by meaning: it has a word that says so, the
    /// other is its nearest older one among the best, and both are nearer to each other than the question is to either.
    /// No fixed angle is used, since models differ.
    fn corrects_by_meaning(
        &self,
        new: &FoundMemory,
        old: &FoundMemory,
        best: &[BestMatch],
        nearest: &[(FoundMemory, f32)],
    ) -> bool {
        if nearest.is_empty() || !self.slots[new.slot as usize].corrects {
            return false;
        }
        let Some(between) = self.vectors.between(new.slot, old.slot) else {
            return false;
        };
        let is_further = |slot: u32| {
            let near = nearest.iter().find(|(one, _)| one.slot == slot);
            near.is_some_and(|(_, nearness)| *nearness <= between)
        };
        let older =
            |one: &&FoundMemory| (one.created_at, one.number) < (new.created_at, new.number);
        let others = best.iter().map(|one| &one.found).filter(older);
        let mut others = others.filter_map(|one| self.vectors.between(new.slot, one.slot));
        is_further(new.slot) && is_further(old.slot) && others.all(|other| other <= between)
    }

    /// The searchable groups of a memory, each once, in order.
    fn groups(&self, slot: u32) -> Vec<u32> {
        let slot = &self.slots[slot as usize];
        let run = &self.sequence.as_slice()[slot.from as usize..slot.end as usize];
        let (units, apart) = run.split_at((slot.to - slot.from) as usize);
        let of_unit = |unit: &u32| self.units.as_slice()[*unit as usize].group;
        let of_units = units.iter().map(of_unit);
        let mut groups: Vec<u32> = of_units.chain(apart.iter().copied()).collect();
        groups.retain(|group| *group != NO_GROUP);
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// Whether a match rests on stop words alone: its own, and those of the memory that it corrects.
    fn is_by_stop_words(&self, looked: &[LookedUp], found: &FoundMemory) -> bool {
        let says_something = |slot: u32| {
            let mut informative = looked.iter().filter(|one| !one.is_stop);
            informative.any(|one| one.times(self, slot).is_some())
        };
        let corrected = found.corrects.and_then(|old| self.slot_of.get(&old));
        !says_something(found.slot) && !corrected.is_some_and(|slot| says_something(*slot))
    }

    /// The terms by which one memory was found.
    fn matched(&self, looked: &[LookedUp], slot: u32) -> Vec<MatchedTerm> {
        let (average, length) = (self.average(), self.slots[slot as usize].length);
        let terms = looked.iter().filter_map(|one| {
            Some(MatchedTerm {
                weight: one.rarity * saturated(one.times(self, slot)?, length, average),
                term: one.text.as_str().into(),
                found: one.found,
            })
        });
        let mut terms: Vec<MatchedTerm> = terms.collect();
        terms.sort_by(|one, other| other.weight.total_cmp(&one.weight));
        terms
    }
}

/// The matches, without those that rank directly after another memory.
struct FoldedMatches {
    scored: Vec<FoundMemory>,
    /// The nearest first.
    nearest: Vec<FoundMemory>,
    /// Those that rank directly after another memory.
    followers: Vec<FoundMemory>,
    histories: FoundHistories,
}

struct BestMatch {
    found: FoundMemory,
    /// Slots, ascending.
    corrections: Vec<u32>,
    /// The most words of no third memory that any of them shares with it.
    most_shared: f32,
}

#[derive(Default)]
struct Likeness {
    /// The weight of the common words.
    shared: f32,
    /// The weight of the shorter one's words.
    said: f32,
    /// The number of common words of no third memory.
    subjects: usize,
}

struct Narrowed<'q> {
    query: &'q RecallQuery,
    tag: Option<u64>,
}

impl<'q> Narrowed<'q> {
    fn by(query: &'q RecallQuery) -> Self {
        let tag = query.tag.as_ref().map(|tag| tag_key(tag.expose().trim()));
        Self { query, tag }
    }

    fn admits(&self, slot: &IndexSlot) -> bool {
        let query = self.query;
        let among = query.among.as_ref();
        among.is_none_or(|among| among.contains(&slot.number))
            && query.kind.is_none_or(|kind| slot.kind == kind)
            && query.origin.is_none_or(|origin| slot.origin == origin)
            && query.since.is_none_or(|since| slot.created_at >= since)
            && query.until.is_none_or(|until| slot.created_at <= until)
            && query
                .protected
                .is_none_or(|protected| slot.is_constitutional == protected)
            && self.tag.is_none_or(|tag| slot.tags.contains(&tag))
    }
}

/// An element of a question, and the memories that have it.
struct LookedUp {
    text: String,
    found: FoundAs,
    postings: Postings,
    /// Its weight: the rarer, the higher.
    rarity: f32,
    must: bool,
    /// Whether it says nothing of what is asked for.
    is_stop: bool,
    /// Whether it is a function word beside others that are not.
    is_function: bool,
}

enum Postings {
    /// The list of a group, with a weight.
    One(u32, f32),
    /// Slots, ascending, with counts.
    Several(Vec<(u32, f32)>),
}

impl LookedUp {
    fn new(text: String, index: &RecallIndex, postings: Postings, found: FoundAs) -> Self {
        let rarity = index.rarity(postings.count(index));
        Self {
            text,
            found,
            postings,
            rarity,
            must: false,
            is_stop: false,
            is_function: false,
        }
    }

    fn each(&self, index: &RecallIndex, mut give: impl FnMut(u32, f32)) {
        match &self.postings {
            Postings::One(group, weight) => {
                for posting in &index.postings[*group as usize] {
                    give(posting >> TIMES_BITS, (posting & TIMES) as f32 * weight);
                }
            }
            Postings::Several(slots) => {
                for (slot, times) in slots {
                    give(*slot, *times);
                }
            }
        }
    }

    fn times(&self, index: &RecallIndex, slot: u32) -> Option<f32> {
        match &self.postings {
            Postings::One(group, weight) => {
                let list = &index.postings[*group as usize];
                let at = list.binary_search_by_key(&slot, |posting| posting >> TIMES_BITS);
                at.ok().map(|at| (list[at] & TIMES) as f32 * weight)
            }
            Postings::Several(slots) => {
                let at = slots.binary_search_by_key(&slot, |(slot, _)| *slot);
                at.ok().map(|at| slots[at].1)
            }
        }
    }
}

impl Postings {
    fn count(&self, index: &RecallIndex) -> usize {
        match self {
            Self::One(group, _) => index.postings[*group as usize].len(),
            Self::Several(slots) => slots.len(),
        }
    }
}

/// The value of a term's repetition in a memory of that length, of BM25.
fn saturated(times: f32, length: u32, average: f32) -> f32 {
    let long = 1.0 - B + B * length as f32 / average;
    times * (K1 + 1.0) / (times + K1 * long)
}

fn tag_key(tag: &str) -> u64 {
    memoir_text::key(&fold(tag))
}

fn pair_key([one, other]: [u64; 2]) -> u64 {
    // The order counts: the same two in the other order are another pair.
    one.rotate_left(23) ^ other.wrapping_mul(0xC2B2_AE3D_27D4_EB4F)
}

/// The key of a term with a place in a text that is not searched by itself.
fn mark_key(key: u64) -> u64 {
    key.rotate_left(32) ^ 0x5851_F42D_4C95_7F2D
}

/// Whether a word can be a subject: neither a number nor a function word.
fn is_subject(word: &str, language: Option<Language>) -> bool {
    word.starts_with(char::is_alphabetic)
        && !language.is_some_and(|language| is_function_word(word, language))
}

fn is_lettered(word: &str) -> bool {
    word.chars().all(char::is_alphabetic)
}

/// Whether two words differ by one typing error: a letter added, missing, replaced, or two exchanged.
fn is_one_slip(one: &[u8], other: &[u8]) -> bool {
    // Letters of other scripts have up to three bytes.
    if one.len().abs_diff(other.len()) > 3 {
        return false;
    }
    let is_inside = |bytes: &[u8], at: usize| bytes.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    let mut head = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    // Back to where a character begins: the bytes that two characters share are no letter.
    while is_inside(one, head) || is_inside(other, head) {
        head -= 1;
    }
    let rest = one.len().min(other.len()) - head;
    let ends = one.iter().rev().zip(other.iter().rev());
    let mut tail = ends.take(rest).take_while(|(a, b)| a == b).count();
    while tail > 0 && is_inside(one, one.len() - tail) {
        tail -= 1;
    }
    let (one, other) = (
        &one[head..one.len() - tail],
        &other[head..other.len() - tail],
    );
    let letters = |bytes: &[u8]| bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
    match (one.len(), other.len()) {
        (0, 0) => false,
        _ if letters(one).max(letters(other)) <= 1 => true,
        (a, b) if a == b && letters(one) == 2 => {
            let half = a / 2;
            one[..half] == other[half..] && one[half..] == other[..half]
        }
        _ => false,
    }
}

//! The one function of SPEC 3.12: what an edit loses, adds and only marks otherwise.

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::align::{NOWHERE, common};
use crate::language::Language;
use crate::lexicon::{JOIN, place};
use crate::reading::Reading;
use crate::says::{PARTING, ReadIn, SentenceFate, must_stay};
use crate::words::Word;

/// One memory that an edit replaces.
#[derive(Clone, Copy, Debug)]
pub struct Replaced<'a> {
    /// What it says now.
    pub present: &'a Reading,
    /// The wordings that it stands for; where there are none, its present text is the only one.
    pub wordings: &'a [&'a Reading],
}

impl<'a> Replaced<'a> {
    fn wordings(&self) -> &[&'a Reading] {
        if self.wordings.is_empty() {
            std::slice::from_ref(&self.present)
        } else {
            self.wordings
        }
    }
}

/// What an edit would do. It is free if nothing is in it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Words that no replaced text or wording says in such a sentence, as they are written.
    pub added: Vec<String>,
    /// A sentence is written more often than the replaced texts have it, or more words than they
    /// have together: how many are written, and how many there are together.
    pub surplus: Option<(u32, u32)>,
    /// Sentences of wordings that the present text still says, or says more of.
    pub losses: Vec<Loss>,
    /// Sentences that stay said, with other marks inside.
    pub marks: Vec<MarkChange>,
}

impl Judgement {
    /// Whether nothing is lost, added or marked otherwise.
    pub fn is_free(&self) -> bool {
        self.added.is_empty()
            && self.surplus.is_none()
            && self.losses.is_empty()
            && self.marks.is_empty()
    }
}

impl fmt::Debug for Judgement {
    /// Prints counts only, because text is never printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judgement")
            .field("added", &self.added.len())
            .field("surplus", &self.surplus)
            .field("losses", &self.losses)
            .field("marks", &self.marks)
            .finish()
    }
}

/// What one sentence of one wording loses.
#[derive(Clone, PartialEq, Eq)]
pub struct Loss {
    /// Which of the replaced memories, from 0.
    pub replaced: usize,
    /// Which of its wordings, from 0.
    pub wording: usize,
    /// Which sentence of the wording, from 0.
    pub sentence: usize,
    /// The words that newly go, in the author's own form and order.
    pub lost: Vec<String>,
    /// How many words are newly lost: all that were not lost before, where too little of it stays.
    pub words: u32,
    /// How many words are missing in all, before this edit and by it; fewer than are lost, where a piece
    /// stays that is too little.
    pub gone: u32,
    /// How many words of the sentence count.
    pub of: u32,
    /// Too little of it stays, and yet a piece of it does.
    pub gutted: bool,
    /// Nothing of it is said any more.
    pub whole: bool,
    /// The sentence of the written text that has most of it.
    pub nearest: Option<usize>,
}

impl fmt::Debug for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loss")
            .field("replaced", &self.replaced)
            .field("wording", &self.wording)
            .field("sentence", &self.sentence)
            .field("words", &self.words)
            .field("gone", &self.gone)
            .field("of", &self.of)
            .field("gutted", &self.gutted)
            .field("whole", &self.whole)
            .field("nearest", &self.nearest)
            .finish_non_exhaustive()
    }
}

/// A sentence that stays said, but with other commas, colons, dashes, brackets or quotation marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkChange {
    /// Which of the replaced memories, from 0.
    pub replaced: usize,
    /// Which of its wordings, from 0.
    pub wording: usize,
    /// Which sentence of the wording, from 0.
    pub sentence: usize,
    /// The sentence of the written text that would say it.
    pub would_say: usize,
}

/// What becomes of all that the replaced texts and their wordings say once `written` stands in
/// their place.
pub fn judge(replaced: &[Replaced<'_>], written: &Reading) -> Judgement {
    let views = Views::of(replaced, written);
    let mut judgement = Judgement::default();
    let fates = views.fates(replaced);
    let saying: HashSet<usize> = fates
        .iter()
        .flatten()
        .flatten()
        .filter_map(|fate| fate.said_by)
        .collect();
    // Losses are worked out only once all fates are known, since `loss` needs all sentences that say another one
    // (`saying`).
    for (r, one) in replaced.iter().enumerate() {
        for (w, wording) in one.wordings().iter().enumerate() {
            let mut present = None;
            for (s, fate) in fates[r][w].iter().enumerate() {
                if fate.said_by.is_some() && !fate.marks_differ {
                    continue;
                }
                // Read only where something is lost or marked otherwise: most edits leave most sentences as
                // they are.
                let present =
                    present.get_or_insert_with(|| ReadIn::new(one.present, wording.language()));
                let before = present.fate(wording, s);
                match fate.said_by {
                    Some(would_say) => {
                        // Marks that the present text has changed already are not changed again.
                        if before.said_by.is_some() && !before.marks_differ {
                            judgement.marks.push(MarkChange {
                                replaced: r,
                                wording: w,
                                sentence: s,
                                would_say,
                            });
                        }
                    }
                    None => {
                        let view = views.view(wording.language());
                        let loss = loss(wording, s, fate, Some(&before), view, &saying);
                        judgement.losses.extend(loss.map(|loss| Loss {
                            replaced: r,
                            wording: w,
                            ..loss
                        }));
                    }
                }
            }
        }
    }
    judgement
        .marks
        .extend(run_together(replaced, &views, &fates));
    let additions = Additions::of(replaced, written, &views, &judgement.losses);
    judgement.added = additions.added;
    judgement.surplus = additions.surplus;
    judgement
}

/// Sentences that stay said, but run into the next one with neither a mark nor a joining word between:
/// "Ann left. Bob cried." and "Ann left Bob cried."
fn run_together(
    replaced: &[Replaced<'_>],
    views: &Views<'_>,
    fates: &[Vec<Vec<SentenceFate>>],
) -> Vec<MarkChange> {
    // Where each said sentence begins, and the word that follows it unparted, by written sentence.
    let mut begins: HashSet<(usize, u32)> = HashSet::new();
    let mut unparted: Vec<(u32, MarkChange)> = Vec::new();
    for (r, one) in replaced.iter().enumerate() {
        for (w, wording) in one.wordings().iter().enumerate() {
            let view = views.view(wording.language());
            for (s, fate) in fates[r][w].iter().enumerate() {
                let Some(n) = fate.said_by.filter(|_| !fate.marks_differ) else {
                    continue;
                };
                let words = view.reading.of_sentence(n);
                // All of it is the sentence, so that nothing follows inside.
                if words.len() == wording.of_sentence(s).len() {
                    continue;
                }
                let Some(at) = view.words_of(n, wording, s, false) else {
                    continue;
                };
                let (first, last) = (at[0] as usize, at[at.len() - 1] as usize);
                begins.insert((n, words[first].start));
                if let Some(next) = words.get(last + 1).filter(|next| next.marks & PARTING == 0) {
                    let change = MarkChange {
                        replaced: r,
                        wording: w,
                        sentence: s,
                        would_say: n,
                    };
                    unparted.push((next.start, change));
                }
            }
        }
    }
    // What stood so in a text that is replaced was run together before this edit.
    let is_new = |n: usize| {
        !replaced.iter().any(|one| {
            let read = &views.view(one.present.language()).reading;
            (0..one.present.sentences()).any(|s| one.present.same(s, read, n))
        })
    };
    let changes = unparted.into_iter().filter(|(next, change)| {
        begins.contains(&(change.would_say, *next)) && is_new(change.would_say)
    });
    changes.map(|(_, change)| change).collect()
}

/// The free words that are written more often than the replaced texts and wordings have any: what is at most
/// tightened gets none (SPEC 3.10). Each once, as written.
pub fn padding(replaced: &[Replaced<'_>], written: &Reading) -> Vec<String> {
    flooding(replaced, &Views::of(replaced, written), false)
}

/// What of these wordings the text does not say; empty where it says every sentence of each.
/// `Loss::replaced` is 0.
pub fn unsaid(wordings: &[&Reading], text: &Reading) -> Vec<Loss> {
    let compared = Compared::new(wordings, text);
    let lost = compared.not_said().filter_map(|(w, s, fate, view)| {
        let loss = loss(wordings[w], s, fate, None, view, &compared.saying);
        loss.map(|loss| Loss { wording: w, ..loss })
    });
    lost.collect()
}

/// How many words of these wordings the text does not say: the sum of [`Loss::gone`] over all that [`unsaid`]
/// gives, and so 0 where it gives nothing. For finding the one of many texts that says most.
pub fn unsaid_words(wordings: &[&Reading], text: &Reading) -> u64 {
    let compared = Compared::new(wordings, text);
    let gone = compared.not_said().map(|(w, s, fate, view)| {
        let (of, gone) = (wordings[w].of_sentence(s).len(), fate.gone());
        // Where all of it is gone, it makes no difference whether a piece of it is kept.
        let is_whole = of - gone < must_stay(of)
            && gone < of
            && !view.keeps_piece(wordings[w], s, |n| !compared.saying.contains(&n));
        if is_whole { of } else { gone }
    });
    gone.map(|gone| gone as u64).sum()
}

/// Wordings beside a text, each sentence with what becomes of it there.
struct Compared<'a> {
    views: Vec<(Option<Language>, ReadIn<'a>)>,
    /// By wording and sentence, with the place of the view.
    fates: Vec<(usize, Vec<SentenceFate>)>,
    /// The sentences of the text that say one.
    saying: HashSet<usize>,
}

impl<'a> Compared<'a> {
    fn new(wordings: &[&Reading], text: &'a Reading) -> Self {
        let mut views: Vec<(Option<Language>, ReadIn<'a>)> = Vec::new();
        let mut fates = Vec::with_capacity(wordings.len());
        for wording in wordings {
            let language = wording.language();
            let known = views.iter().position(|(of, _)| *of == language);
            let view = known.unwrap_or_else(|| {
                views.push((language, ReadIn::new(text, language)));
                views.len() - 1
            });
            let sentences = 0..wording.sentences();
            let of_wording = sentences.map(|s| views[view].1.fate(wording, s));
            fates.push((view, of_wording.collect::<Vec<_>>()));
        }
        let all = fates.iter().flat_map(|(_, fates)| fates);
        let saying = all.filter_map(|fate| fate.said_by).collect();
        Compared {
            views,
            fates,
            saying,
        }
    }

    /// The sentences that none says: wording, sentence, what becomes of it, and in which view.
    fn not_said(&self) -> impl Iterator<Item = (usize, usize, &SentenceFate, &ReadIn<'a>)> {
        let fates = self.fates.iter().enumerate();
        fates.flat_map(move |(w, (view, fates))| {
            let not_said = fates.iter().enumerate();
            let not_said = not_said.filter(|(_, fate)| fate.said_by.is_none());
            not_said.map(move |(s, fate)| (w, s, fate, &self.views[*view].1))
        })
    }
}

/// What sentence `s` loses, where something of it is newly lost.
fn loss(
    wording: &Reading,
    s: usize,
    fate: &SentenceFate,
    before: Option<&SentenceFate>,
    view: &ReadIn<'_>,
    saying: &HashSet<usize>,
) -> Option<Loss> {
    let words = wording.of_sentence(s);
    let of = words.len();
    let was_lost = |i: usize| before.is_some_and(|before| before.is_lost(i));
    let is_worse = (0..of).any(|i| fate.is_lost(i) && !was_lost(i));
    // Of a sentence of which too little stays, nothing is said, though other sentences share words with it.
    let is_short = |gone: usize| of - gone < must_stay(of);
    let count = |gone: usize| if is_short(gone) { of } else { gone };
    let gone_before = before.map_or(0, |before| count(before.gone()));
    let gone = fate.gone();
    // A sentence that says another one is no piece that is left of this one.
    let piece = is_short(gone) && view.keeps_piece(wording, s, |n| !saying.contains(&n));
    let whole = is_short(gone) && !piece;
    let newly: Vec<&Word> = words
        .iter()
        .enumerate()
        .filter(|(i, _)| (whole || fate.is_lost(*i)) && !was_lost(*i))
        .map(|(_, word)| word)
        .collect();
    let lost_words = if is_short(gone) {
        of - gone_before
    } else {
        newly.len().min(of - gone_before)
    };
    (lost_words > 0 || is_worse).then(|| Loss {
        replaced: 0,
        wording: 0,
        sentence: s,
        lost: forms(wording, &newly),
        words: lost_words as u32,
        gone: if whole { of } else { gone } as u32,
        of: of as u32,
        gutted: piece && is_worse,
        whole,
        nearest: fate.nearest,
    })
}

/// Words as their author wrote them; a short form that was written out stands once.
pub(crate) fn forms(reading: &Reading, words: &[&Word]) -> Vec<String> {
    let mut forms = Vec::with_capacity(words.len());
    let mut last = None;
    for word in words {
        if last != Some(word.start) {
            forms.push(reading.form(word).to_owned());
        }
        last = Some(word.start);
    }
    forms
}

/// The free words that are written more often than in the replaced texts and wordings, where they are more
/// than belong there: no more than there were or, where sentences are put together or back into form
/// (`is_form`), one more for every two words that count. The written text is read in that language of
/// the replaced texts in which there are most of them, so that it is the same in any order of these.
fn flooding(replaced: &[Replaced<'_>], views: &Views<'_>, is_form: bool) -> Vec<String> {
    // A text that was tightened may get back what its wordings have.
    let free = |one: &Replaced<'_>| -> usize {
        let wordings = one
            .wordings
            .iter()
            .map(|reading| reading.free_words().len());
        one.present.free_words().len().max(wordings.sum())
    };
    let words = |one: &Replaced<'_>| -> usize {
        let all = one
            .wordings()
            .iter()
            .map(|reading| reading.words() as usize);
        all.sum()
    };
    let form: usize = replaced.iter().map(words).sum::<usize>() / 2 + JOINING;
    let room = replaced.iter().map(free).sum::<usize>() + if is_form { form } else { 0 };
    let mut there: HashMap<u64, usize> = HashMap::new();
    let presents = replaced.iter().map(|one| one.present);
    for word in presents.flat_map(Reading::free_words) {
        *there.entry(word.key).or_default() += 1;
    }
    let mut languages: Vec<Option<Language>> =
        replaced.iter().map(|one| one.present.language()).collect();
    languages.sort_unstable();
    languages.dedup();
    let floods = languages.into_iter().filter_map(|language| {
        let written = &*views.view(language).reading;
        let is_flood = written.free_words().len() > room;
        is_flood.then(|| forms(written, &beyond(written, there.clone())))
    });
    // `max_by_key` takes the last of equal ones; the languages are in an order of their own.
    floods.max_by_key(Vec::len).unwrap_or_default()
}

/// The free words that are written more often than they are `there`, each once.
fn beyond(written: &Reading, mut there: HashMap<u64, usize>) -> Vec<&Word> {
    let mut more: Vec<&Word> = Vec::new();
    for word in written.free_words() {
        match there.get_mut(&word.key).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None if more.iter().all(|other| other.key != word.key) => more.push(word),
            None => {}
        }
    }
    more
}

/// Free words that may come in any case: those that join sentences.
const JOINING: usize = 2;

/// The written text as read in each language of the wordings and replaced texts.
struct Views<'a> {
    views: HashMap<Option<Language>, ReadIn<'a>>,
}

impl<'a> Views<'a> {
    fn of(replaced: &[Replaced<'_>], written: &'a Reading) -> Self {
        let mut views = HashMap::new();
        for one in replaced {
            for reading in one.wordings().iter().chain([&one.present]) {
                let language = reading.language();
                views
                    .entry(language)
                    .or_insert_with(|| ReadIn::new(written, language));
            }
        }
        Views { views }
    }

    fn view(&self, language: Option<Language>) -> &ReadIn<'a> {
        // `of` has made one for the language of each text and wording that is asked about.
        &self.views[&language]
    }

    /// For each replaced memory, wording and sentence: what becomes of it.
    fn fates(&self, replaced: &[Replaced<'_>]) -> Vec<Vec<Vec<SentenceFate>>> {
        let of_wording = |wording: &&Reading| {
            let view = self.view(wording.language());
            (0..wording.sentences())
                .map(|s| view.fate(wording, s))
                .collect()
        };
        replaced
            .iter()
            .map(|one| one.wordings().iter().map(of_wording).collect())
            .collect()
    }
}

/// Where a written sentence may come from.
#[derive(Clone, Copy)]
struct SourceSentence<'a> {
    reading: &'a Reading,
    sentence: usize,
}

impl SourceSentence<'_> {
    /// The frame that stands before it, as one value.
    fn frame(&self) -> Option<u64> {
        self.reading.outline(self.sentence).frame
    }
}

/// What is written beyond what was there.
#[derive(Default)]
struct Additions {
    added: Vec<String>,
    surplus: Option<(u32, u32)>,
}

impl Additions {
    fn of(
        replaced: &[Replaced<'_>],
        written: &Reading,
        views: &Views<'_>,
        losses: &[Loss],
    ) -> Self {
        let sources = Sources::of(replaced);
        if sources.languages.is_empty() {
            // Nothing is replaced: all is new, and nobody asks.
            return Additions::default();
        }
        let mut additions = Additions::default();
        let mut total = 0;
        let mut doubled = false;
        // Each sentence of the present texts may be written once; more often is padding.
        let mut left = sources.present.clone();
        let mut written_so_far: HashSet<u64> = HashSet::new();
        for n in 0..written.sentences() {
            let counted = match sources.same(views, n, &mut left) {
                Some((source, fresh)) => {
                    let counted = source.reading.of_sentence(source.sentence).len();
                    doubled |=
                        counted > 0 && !fresh && written_so_far.contains(&written.outline(n).same);
                    counted
                }
                None => {
                    let covered = sources.cover(views, written, n, losses, replaced);
                    doubled |=
                        covered.counted > 0 && written_so_far.contains(&written.outline(n).same);
                    additions.added.extend(covered.added);
                    covered.counted
                }
            };
            written_so_far.insert(written.outline(n).same);
            total += counted as u32;
        }
        additions.added.extend(flooding(replaced, views, true));
        let together = replaced.iter().map(|one| one.present.words()).sum();
        additions.surplus = (total > together || doubled).then_some((total, together));
        additions
    }
}

/// The sentences of all replaced texts and their wordings, each once.
struct Sources<'a> {
    all: Vec<SourceSentence<'a>>,
    /// By language and words: one for each frame that stands before these words, none among them.
    by_same: HashMap<(usize, u64), Vec<SourceSentence<'a>>>,
    /// How often each sentence stands in the present texts, by language.
    present: HashMap<(usize, u64), u32>,
    languages: Vec<Option<Language>>,
}

/// How a written sentence is covered.
struct Covered {
    added: Vec<String>,
    counted: usize,
}

impl<'a> Sources<'a> {
    fn of(replaced: &[Replaced<'a>]) -> Self {
        let mut sources = Sources {
            all: Vec::new(),
            by_same: HashMap::new(),
            present: HashMap::new(),
            languages: Vec::new(),
        };
        for one in replaced {
            for outline in one.present.outlines() {
                let key = (place(one.present.language()), outline.same);
                *sources.present.entry(key).or_insert(0) += 1;
            }
            let wordings = one.wordings.iter().copied();
            for reading in [one.present].into_iter().chain(wordings) {
                let language = reading.language();
                if !sources.languages.contains(&language) {
                    sources.languages.push(language);
                }
                for (sentence, outline) in reading.outlines().iter().enumerate() {
                    let key = (place(language), outline.same);
                    let same = sources.by_same.entry(key).or_default();
                    if same.iter().all(|source| source.frame() != outline.frame) {
                        same.push(SourceSentence { reading, sentence });
                    }
                }
            }
        }
        // In an order that does not depend on that of the members, nor on the map.
        let mut all: Vec<_> = sources.by_same.iter_mut().collect();
        all.sort_by_key(|(key, _)| **key);
        for (_, same) in all {
            same.sort_by_key(SourceSentence::frame);
            sources.all.extend(same.iter().copied());
        }
        // Where nothing is free, sentences differ that are equal in a language: those first.
        sources.languages.sort_unstable();
        sources
    }

    /// The source that has exactly the words of written sentence `n`, read in its language, and
    /// whether it stands in a present text and was `left` there, from where it is taken.
    fn same(
        &self,
        views: &Views<'_>,
        n: usize,
        left: &mut HashMap<(usize, u64), u32>,
    ) -> Option<(SourceSentence<'a>, bool)> {
        let mut found = None;
        for language in &self.languages {
            let reading = &views.view(*language).reading;
            let outline = reading.outline(n);
            let key = (place(*language), outline.same);
            // A frame may go, but none may come.
            let candidates = self.by_same.get(&key).into_iter().flatten();
            let mut fitting = candidates
                .filter(|source| outline.frame.is_none() || source.frame() == outline.frame);
            let source = fitting.next().copied();
            let Some(source) =
                source.filter(|source| source.reading.same(source.sentence, reading, n))
            else {
                continue;
            };
            if let Some(count) = left.get_mut(&key).filter(|count| **count > 0) {
                *count -= 1;
                return Some((source, true));
            }
            found = Some((source, false));
        }
        found
    }

    /// What of written sentence `n` no source covers: those that it says, and one further of which
    /// it keeps enough.
    fn cover(
        &self,
        views: &Views<'_>,
        written: &Reading,
        n: usize,
        losses: &[Loss],
        replaced: &[Replaced<'_>],
    ) -> Covered {
        let mut covered: Vec<u32> = Vec::new();
        let places = |source: &SourceSentence<'a>, partly: bool| {
            let view = views.view(source.reading.language());
            let at = view.words_of(n, source.reading, source.sentence, partly)?;
            let words = view.reading.of_sentence(n);
            Some(
                at.into_iter()
                    .map(|j| words[j as usize].start)
                    .collect::<Vec<u32>>(),
            )
        };
        let likely = self.likely(views, n);
        // The languages of the sources that cover something: free is what is free in one of them.
        let mut languages: Vec<Option<Language>> = Vec::new();
        for source in likely
            .iter()
            .filter(|(_, whole)| *whole)
            .map(|(source, _)| source)
        {
            if let Some(starts) = places(source, false) {
                languages.push(source.reading.language());
                covered.extend(starts);
            }
        }
        covered.sort_unstable();
        covered.dedup();
        let (mut language, mut open) = self.left(views, n, &covered, &languages, written);
        if !open.is_empty() {
            // The one further source that covers most of the rest.
            let mut best: Option<(usize, Vec<u32>, SourceSentence<'a>)> = None;
            for (source, _) in &likely {
                let Some(starts) = places(source, true) else {
                    continue;
                };
                let gain = open
                    .iter()
                    .filter(|word| starts.contains(&word.start))
                    .count();
                if best.as_ref().is_none_or(|(most, ..)| gain > *most) {
                    best = Some((gain, starts, *source));
                }
            }
            if let Some((_, starts, source)) = best.filter(|(gain, ..)| *gain > 0) {
                languages.push(source.reading.language());
                covered.extend(starts);
                covered.sort_unstable();
                (language, open) = self.left(views, n, &covered, &languages, written);
            }
        }
        let view = views.view(language);
        let reading: &Reading = &view.reading;
        let words = reading.of_sentence(n);
        let mut added: Vec<&Word> = open
            .iter()
            .filter(|word| !joins(word, words, &covered))
            .collect();
        let counted = words.len() - (open.len() - added.len());
        // A frame that no source has may not be put before one.
        let frame = reading.outline(n).frame;
        let framed = frame.is_some() && !self.all.iter().any(|source| source.frame() == frame);
        if !added.is_empty() && covered.is_empty() {
            // Nothing of it is covered, since what it is nearest to is turned or cut short. Told are
            // the words that are not there; where all are, the loss tells it, unless there is none.
            let missing = self.missing(&likely, words);
            if !missing.is_empty() {
                added = words
                    .iter()
                    .filter(|word| missing.contains(&word.start))
                    .collect();
            } else if self.is_reported(views, n, losses, replaced) {
                added.clear();
            }
        } else if !added.is_empty() && self.is_reported(views, n, losses, replaced) {
            added.clear();
        }
        let mut added = forms(reading, &added);
        if framed && added.is_empty() {
            added = vec![reading.sentence(n).to_owned()];
        }
        Covered { added, counted }
    }

    /// The places of the words that even the nearest source has not, at least.
    fn missing(&self, likely: &[(SourceSentence<'a>, bool)], words: &[Word]) -> Vec<u32> {
        let places = |source: &SourceSentence<'a>| {
            let places = common(words, source.reading.of_sentence(source.sentence));
            let missing = words
                .iter()
                .zip(places)
                .filter(|(_, place)| *place == NOWHERE);
            missing.map(|(word, _)| word.start).collect::<Vec<u32>>()
        };
        let all = self.all.iter().take(MOST_SOURCES);
        let nearest = likely
            .iter()
            .map(|(source, _)| source)
            .chain(all)
            .map(places);
        nearest
            .min_by(|a, b| (a.len(), a).cmp(&(b.len(), b)))
            .unwrap_or_default()
    }

    /// The words of written sentence `n` that are not covered, as read in that of the languages in
    /// which they are fewest.
    fn left(
        &self,
        views: &Views<'_>,
        n: usize,
        covered: &[u32],
        languages: &[Option<Language>],
        written: &Reading,
    ) -> (Option<Language>, Vec<Word>) {
        let own = written.language();
        let default = if self.languages.contains(&own) {
            own
        } else {
            self.languages[0]
        };
        let mut languages = languages.to_vec();
        languages.sort_unstable();
        languages.dedup();
        if languages.is_empty() {
            languages.push(default);
        }
        let open = |language: Option<Language>| {
            let words = views.view(language).reading.of_sentence(n).iter();
            let open = words.filter(|word| covered.binary_search(&word.start).is_err());
            (language, open.copied().collect::<Vec<Word>>())
        };
        let all = languages.into_iter().map(open);
        all.min_by_key(|(_, open)| open.len())
            .unwrap_or((default, Vec::new()))
    }

    /// Sources that share enough words with written sentence `n` to cover something of it, and
    /// whether it may say them whole.
    fn likely(&self, views: &Views<'_>, n: usize) -> Vec<(SourceSentence<'a>, bool)> {
        let mut likely: Vec<(u32, SourceSentence<'a>, bool)> = Vec::new();
        for source in &self.all {
            let outline = source.reading.outline(source.sentence);
            let reading = &views.view(source.reading.language()).reading;
            let shared = (outline.signature & reading.outline(n).signature).count_ones();
            let words = outline.signature.count_ones();
            if shared > 0 && 4 * shared + 4 >= 3 * words {
                likely.push((shared, *source, shared == words));
            }
        }
        // A hostile memory may stand for very many sentences with the same words.
        if likely.len() > MOST_SOURCES {
            likely.sort_by_key(|(shared, ..)| std::cmp::Reverse(*shared));
            likely.truncate(MOST_SOURCES);
        }
        likely
            .into_iter()
            .map(|(_, source, whole)| (source, whole))
            .collect()
    }

    /// Whether written sentence `n` is told already, as the gutting of a sentence that it is a piece
    /// of: then no word of it is new, and saying so would mislead.
    fn is_reported(
        &self,
        views: &Views<'_>,
        n: usize,
        losses: &[Loss],
        replaced: &[Replaced<'_>],
    ) -> bool {
        losses.iter().filter(|loss| loss.gutted).any(|loss| {
            let wording = replaced[loss.replaced].wordings()[loss.wording];
            let words = views.view(wording.language()).reading.of_sentence(n);
            let places = common(words, wording.of_sentence(loss.sentence));
            places.into_iter().all(|place| place != NOWHERE)
        })
    }
}

/// How many sources a written sentence is compared with: those that share most of its words.
const MOST_SOURCES: usize = 48;

/// Whether an uncovered word only joins: it stands between two covered ones.
fn joins(word: &Word, words: &[Word], covered: &[u32]) -> bool {
    let Some(at) = words
        .iter()
        .position(|other| other.start == word.start)
        .filter(|_| word.is(JOIN))
    else {
        return false;
    };
    let is_covered = |j: Option<usize>| {
        j.and_then(|j| words.get(j))
            .is_some_and(|other| covered.binary_search(&other.start).is_ok())
    };
    is_covered(at.checked_sub(1)) && is_covered(Some(at + 1))
}

//! A text that would pass, and the words in which two texts differ.

use crate::align::{NOWHERE, common};
use crate::judge::{Judgement, Replaced, forms, judge, unsaid};
use crate::reading::Reading;
use crate::words::Word;

/// From how many sentences on no text that would pass is looked for: each is tried by itself.
const MOST_SENTENCES: usize = 96;

/// A text that would pass in place of `written`: the written one with what is missing put back, or
/// the sentences side by side. `None` where even that would not pass, where it would only be the one
/// text that is there already, and where the texts have more than 96 sentences.
pub fn passing(replaced: &[Replaced<'_>], written: &Reading) -> Option<String> {
    let judgement = judge(replaced, written);
    if judgement.is_free() {
        return Some(written.text().to_owned());
    }
    let present: usize = replaced.iter().map(|one| one.present.sentences()).sum();
    if written.sentences() + present > MOST_SENTENCES {
        return None;
    }
    // What stays of the written text, then nothing of it.
    let candidates = [sound_sentences(replaced, written, &judgement), Vec::new()];
    candidates.into_iter().find_map(|mut sentences| {
        put_back(replaced, &mut sentences);
        // One space where the sentences stay apart with it; else a line, else a paragraph each.
        [" ", "\n", "\n\n"].into_iter().find_map(|between| {
            let text = sentences.join(between);
            let reading = Reading::in_language(&text, written.language());
            let is_old = match replaced {
                [one] => unsaid(&[&reading], one.present).is_empty(),
                _ => false,
            };
            (!is_old && judge(replaced, &reading).is_free()).then_some(text)
        })
    })
}

/// The written sentences that add nothing, change no marks, and of which none keeps only a piece of
/// what was said.
fn sound_sentences(
    replaced: &[Replaced<'_>],
    written: &Reading,
    judgement: &Judgement,
) -> Vec<String> {
    (0..written.sentences())
        .filter(|n| {
            let marked = judgement.marks.iter().any(|mark| mark.would_say == *n);
            let cut = judgement
                .losses
                .iter()
                .any(|loss| loss.nearest == Some(*n) && !loss.whole);
            let alone = Reading::in_language(written.sentence(*n), written.language());
            !marked && !cut && judge(replaced, &alone).added.is_empty()
        })
        .map(|n| written.sentence(n).to_owned())
        .collect()
}

/// Appends each sentence of the present texts that is not said yet.
fn put_back(replaced: &[Replaced<'_>], sentences: &mut Vec<String>) {
    for one in replaced {
        for s in 0..one.present.sentences() {
            let sentence = one.present.sentence(s);
            let reading = Reading::in_language(sentence, one.present.language());
            // Read anew for each: what was just put back may say the next one, too.
            let there = Reading::in_language(&sentences.join("\n\n"), one.present.language());
            if !unsaid(&[&reading], &there).is_empty() {
                sentences.push(sentence.to_owned());
            }
        }
    }
}

/// The words in which two texts differ, each as its author wrote it: those only in `a`, and those
/// only in `b`. Where they have the same words in another order, the words that are moved.
pub fn differing(a: &Reading, b: &Reading) -> (Vec<String>, Vec<String>) {
    let other;
    let b = if a.language() == b.language() {
        b
    } else {
        other = Reading::in_language(b.text(), a.language());
        &other
    };
    let (left, right) = (only(a, b), only(b, a));
    if left.is_empty() && right.is_empty() {
        (moved(a, b), moved(b, a))
    } else {
        (forms(a, &left), forms(b, &right))
    }
}

fn only<'a>(a: &'a Reading, b: &Reading) -> Vec<&'a Word> {
    let mut counts = std::collections::HashMap::new();
    for word in b.all_words() {
        *counts.entry(word.key).or_insert(0_u32) += 1;
    }
    a.all_words()
        .iter()
        .filter(|word| match counts.get_mut(&word.key) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        })
        .collect()
}

fn moved(a: &Reading, b: &Reading) -> Vec<String> {
    let places = common(a.all_words(), b.all_words());
    let moved: Vec<&Word> = a
        .all_words()
        .iter()
        .zip(places)
        .filter(|(_, place)| *place == NOWHERE)
        .map(|(word, _)| word)
        .collect();
    forms(a, &moved)
}

//! A text that would pass, and the words in which two texts differ.

use crate::align::{NOWHERE, common};
use crate::judge::{Replaced, forms, judge, unsaid};
use crate::reading::Reading;
use crate::words::Word;

/// A text that would pass in place of `written`: the written one with what is missing put back, or
/// the sentences side by side. `None` where even that would not pass, or where it would only be the
/// one text that is there already.
pub fn passing(replaced: &[Replaced<'_>], written: &Reading) -> Option<String> {
    if judge(replaced, written).is_free() {
        return Some(written.text().to_owned());
    }
    let candidates = [put_back(replaced, written), side_by_side(replaced)];
    candidates.into_iter().find_map(|sentences| {
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

/// The written sentences, but for those that keep only a piece of something, which is put back in
/// their place as it stands now.
fn put_back(replaced: &[Replaced<'_>], written: &Reading) -> Vec<String> {
    let judgement = judge(replaced, written);
    let said_by_present: Vec<(usize, usize)> = replaced
        .iter()
        .enumerate()
        .flat_map(|(r, one)| (0..one.present.sentences()).map(move |s| (r, s)))
        .collect();
    let mut sentences: Vec<Option<&str>> = (0..written.sentences()).map(|n| Some(written.sentence(n))).collect();
    // A written sentence stays if, alone, it adds nothing and says something whole.
    for (n, sentence) in sentences.iter_mut().enumerate() {
        let alone = Reading::in_language(written.sentence(n), written.language());
        let sound = judge(replaced, &alone).added.is_empty()
            && !judgement.marks.iter().any(|mark| mark.would_say == n);
        if !sound || judgement.losses.iter().any(|loss| loss.nearest == Some(n) && !loss.whole) {
            *sentence = None;
        }
    }
    let mut text: Vec<String> = sentences.into_iter().flatten().map(str::to_owned).collect();
    for (r, s) in said_by_present {
        let present = replaced[r].present;
        let sentence = Reading::in_language(present.sentence(s), present.language());
        let there = Reading::in_language(&text.join("\n\n"), present.language());
        if !unsaid(&[&sentence], &there).is_empty() {
            text.push(present.sentence(s).to_owned());
        }
    }
    text
}

/// All sentences of the replaced texts, each that another does not say.
fn side_by_side(replaced: &[Replaced<'_>]) -> Vec<String> {
    let mut text: Vec<String> = Vec::new();
    for one in replaced {
        for s in 0..one.present.sentences() {
            let sentence = one.present.sentence(s);
            let reading = Reading::in_language(sentence, one.present.language());
            let there = Reading::in_language(&text.join("\n\n"), one.present.language());
            if text.is_empty() || !unsaid(&[&reading], &there).is_empty() {
                text.push(sentence.to_owned());
            }
        }
    }
    text
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

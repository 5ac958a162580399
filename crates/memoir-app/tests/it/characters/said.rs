//! Whether a sentence is made of what somebody said: by bare words in their order, and with nothing of the
//! code that is on trial.

use std::collections::BTreeSet;

use super::mind::sentences;

/// Every sentence that was ever saved, as its words.
pub struct Said(BTreeSet<Vec<String>>);

impl Said {
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut said = Self(BTreeSet::new());
        texts.into_iter().for_each(|text| said.add(text));
        said
    }

    pub fn add(&mut self, text: &str) {
        self.0.extend(sentences(text).iter().map(|one| words(one)));
    }

    /// Whether each word of a sentence stands, in order, in sentences of which the greater part is there:
    /// one, or two with the same beginning.
    pub fn says(&self, sentence: &str) -> bool {
        let written = words(sentence);
        if self.0.contains(&written) {
            return true;
        }
        // A word may join two sentences.
        let mut open: Vec<bool> = written.iter().map(|word| word != "and").collect();
        let mut near: Vec<Vec<usize>> = self
            .0
            .iter()
            .flat_map(|said| {
                // The earliest places, and the latest.
                let backwards = |words: &[String]| words.iter().rev().cloned().collect::<Vec<_>>();
                let early = common(said, &written);
                let late = common(&backwards(said), &backwards(&written));
                let late = late.into_iter().map(|place| written.len() - 1 - place);
                [early, late.collect()].map(|places: Vec<usize>| (said.len(), places))
            })
            .filter(|(length, places)| 2 * places.len() > *length)
            .map(|(_, places)| places)
            .collect();
        for _ in 0..3 {
            let fresh = |places: &Vec<usize>| places.iter().filter(|place| open[**place]).count();
            let Some(best) = (0..near.len()).max_by_key(|place| fresh(&near[*place])) else {
                break;
            };
            for place in near.swap_remove(best) {
                open[place] = false;
            }
        }
        !open.contains(&true)
    }
}

fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let all = lower.split(|letter: char| !letter.is_alphanumeric());
    all.filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The places in `written` of the longest run of words that stands in both in the same order.
fn common(said: &[String], written: &[String]) -> Vec<usize> {
    let width = written.len() + 1;
    let mut most = vec![0_u32; (said.len() + 1) * width];
    for (i, one) in said.iter().enumerate().rev() {
        for (j, two) in written.iter().enumerate().rev() {
            most[i * width + j] = if one == two {
                most[(i + 1) * width + j + 1] + 1
            } else {
                most[(i + 1) * width + j].max(most[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut places) = (0, 0, Vec::new());
    while i < said.len() && j < written.len() {
        if said[i] == written[j] {
            places.push(j);
            (i, j) = (i + 1, j + 1);
        } else if most[(i + 1) * width + j] >= most[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    places
}

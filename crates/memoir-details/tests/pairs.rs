//! The rule against labelled edits (SPEC 3.12): every `tests/pairs/*.jsonl` that is there.
//!
//! Prints ids and counts, never texts.

#![allow(
    clippy::unwrap_used,
    reason = "a file of pairs that cannot be read fails the test"
)]

use std::collections::BTreeMap;
use std::path::Path;

use memoir_details::{Judgement, Reading, Replaced, judge, unsaid};
use serde_json::Value;

struct Pair {
    set: String,
    id: String,
    language: String,
    class: String,
    kind: String,
    replaced: Vec<String>,
    written: Option<String>,
    kept: Option<String>,
    dates: Vec<String>,
}

/// What the rule says of an edit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Verdict {
    Free,
    /// Only marks, or losses within three quarters.
    Asked,
    Refused,
}

fn verdict_of(judgement: &Judgement) -> Verdict {
    if judgement.is_free() {
        Verdict::Free
    } else if judgement.added.is_empty()
        && judgement.surplus.is_none()
        && judgement.losses.iter().all(|loss| !loss.gutted)
    {
        Verdict::Asked
    } else {
        Verdict::Refused
    }
}

impl Pair {
    fn verdict(&self) -> Verdict {
        let replaced: Vec<Reading> = self.replaced.iter().map(|text| Reading::of(text)).collect();
        if let Some(written) = &self.written {
            let days_differ = self.dates.iter().any(|date| *date != self.dates[0]);
            if days_differ && replaced.iter().any(Reading::has_relative_time) {
                return Verdict::Refused;
            }
            let replaced: Vec<Replaced<'_>> = replaced
                .iter()
                .map(|present| Replaced {
                    present,
                    wordings: &[],
                })
                .collect();
            return verdict_of(&judge(&replaced, &Reading::of(written)));
        }
        let wordings: Vec<&Reading> = replaced.iter().collect();
        match &self.kept {
            Some(kept) if unsaid(&wordings, &Reading::of(kept)).is_empty() => Verdict::Free,
            _ => Verdict::Asked,
        }
    }
}

fn read(path: &Path) -> Vec<Pair> {
    let set = path.file_stem().unwrap().to_string_lossy().into_owned();
    let word = |v: &Value, field: &str| v[field].as_str().map(str::to_owned);
    let list = |v: &Value, field: &str| -> Vec<String> {
        let items = v[field].as_array().map_or(&[][..], Vec::as_slice);
        items
            .iter()
            .map(|item| item.as_str().unwrap().to_owned())
            .collect()
    };
    std::fs::read_to_string(path)
        .unwrap()
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let v: Value = serde_json::from_str(line).unwrap();
            Pair {
                set: set.clone(),
                id: word(&v, "id").unwrap(),
                language: word(&v, "language").unwrap(),
                class: word(&v, "class").unwrap(),
                kind: word(&v, "kind").unwrap(),
                replaced: list(&v, "replaced"),
                written: word(&v, "written"),
                kept: word(&v, "kept"),
                dates: list(&v, "dates"),
            }
        })
        .collect()
}

fn all() -> Vec<Pair> {
    let directory = std::env::var("MEMOIR_PAIRS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pairs").to_owned());
    let mut paths: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "jsonl")
        })
        .collect();
    paths.sort();
    paths.iter().flat_map(|path| read(path)).collect()
}

#[derive(Default)]
struct Count {
    verdicts: [u32; 3],
}

impl Count {
    fn line(&self) -> String {
        let all: u32 = self.verdicts.iter().sum();
        let share = |n: u32| 100.0 * f64::from(n) / f64::from(all.max(1));
        let [free, asked, refused] = self.verdicts;
        format!(
            "{all:>4}: free {free:>4} ({:>5.1} %)  asked {asked:>4} ({:>5.1} %)  refused {refused:>4} ({:>5.1} %)",
            share(free),
            share(asked),
            share(refused)
        )
    }
}

#[test]
fn spec_3_12_harmful_edits_are_not_free_and_unions_are() {
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pair in all() {
        let verdict = pair.verdict();
        for name in [
            format!("{} in all", pair.class),
            format!("{} in {}", pair.class, pair.set),
            format!("{} / {}", pair.class, pair.kind),
            format!("{} / language {}", pair.class, pair.language),
        ] {
            counts.entry(name).or_default().verdicts[verdict as usize] += 1;
        }
        let is_wrong = match pair.class.as_str() {
            "harmful" => verdict == Verdict::Free,
            "free" => verdict != Verdict::Free,
            _ => false,
        };
        if is_wrong {
            wrong
                .entry(pair.class.clone())
                .or_default()
                .push(format!("{} {:?}", pair.id, verdict));
        }
    }
    for (name, count) in &counts {
        println!("{name:<44} {}", count.line());
    }
    println!("misjudged: {wrong:#?}");
    let of = |class: &str| {
        let [free, asked, refused] = counts
            .get(&format!("{class} in all"))
            .map_or([0; 3], |c| c.verdicts);
        (f64::from(free), f64::from(free + asked + refused))
    };
    let (free, harmful) = of("harmful");
    assert!(
        free <= 0.005 * harmful,
        "{free} of {harmful} harmful edits are free"
    );
    let (free, unions) = of("free");
    assert!(
        unions - free <= 0.01 * unions,
        "{} of {unions} are not free",
        unions - free
    );
}

//! The detail guard against labelled pairs of texts and edits.
//!
//! Owns the report and the thresholds. A pair that fails is named by its id only; memory-like text
//! is never printed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::collections::{BTreeMap, HashSet};

use memoir_details::lost;
use serde_json::Value;

const SETS: [&str; 3] = ["tuning", "held-out", "fresh"];

struct Pair {
    set: &'static str,
    id: String,
    language: String,
    category: String,
    replaced: Vec<String>,
    written: String,
    lost: bool,
}

#[derive(Default)]
struct Score {
    harmful: usize,
    caught: usize,
    honest: usize,
    alarms: usize,
}

impl Score {
    fn count(&mut self, pair: &Pair, flagged: bool) {
        if pair.lost {
            self.harmful += 1;
            self.caught += usize::from(flagged);
        } else {
            self.honest += 1;
            self.alarms += usize::from(flagged);
        }
    }

    /// The share of harmful edits caught, in percent.
    fn caught(&self) -> f64 {
        percent(self.caught, self.harmful)
    }

    /// The share of honest edits flagged, in percent.
    fn alarms(&self) -> f64 {
        percent(self.alarms, self.honest)
    }

    fn line(&self, name: &str) -> String {
        format!(
            "{name:<24} harmful caught {:>4}/{:<4} {:>6.1} %   false alarms {:>3}/{:<4} {:>6.1} %",
            self.caught,
            self.harmful,
            self.caught(),
            self.alarms,
            self.honest,
            self.alarms()
        )
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        100.0 * part as f64 / whole as f64
    }
}

fn read(set: &'static str) -> Vec<Pair> {
    let text = match set {
        "tuning" => include_str!("../pairs/tuning.jsonl"),
        "held-out" => include_str!("../pairs/held-out.jsonl"),
        "fresh" => include_str!("../pairs/fresh.jsonl"),
        other => panic!("there is no set {other}"),
    };
    let word = |v: &Value, field: &str| v[field].as_str().unwrap().to_owned();
    text.lines()
        .map(|line| {
            let v: Value = serde_json::from_str(line).expect("every line is a pair");
            assert!(!word(&v, "why").is_empty());
            Pair {
                set,
                id: word(&v, "id"),
                language: word(&v, "language"),
                category: word(&v, "category"),
                replaced: v["replaced"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|t| t.as_str().unwrap().to_owned())
                    .collect(),
                written: word(&v, "written"),
                lost: v["lost"].as_bool().unwrap(),
            }
        })
        .collect()
}

fn all() -> Vec<Pair> {
    SETS.into_iter().flat_map(read).collect()
}

fn flagged(pair: &Pair) -> bool {
    let replaced: Vec<&str> = pair.replaced.iter().map(String::as_str).collect();
    !lost(&replaced, &pair.written).is_empty()
}

#[test]
fn spec_3_12_the_guard_catches_lost_details_and_lets_honest_tightenings_pass() {
    let mut totals: BTreeMap<&str, Score> = BTreeMap::new();
    let mut parts: BTreeMap<String, Score> = BTreeMap::new();
    let mut wrong: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for pair in all() {
        let flagged = flagged(&pair);
        for name in ["all", pair.set] {
            totals.entry(name).or_default().count(&pair, flagged);
        }
        for name in [
            format!("{} / {}", pair.set, pair.category),
            format!("{} / language {}", pair.set, pair.language),
        ] {
            parts.entry(name).or_default().count(&pair, flagged);
        }
        if flagged != pair.lost && pair.set != "held-out" {
            wrong.entry(pair.set).or_default().push(pair.id.clone());
        }
    }
    for (name, score) in parts
        .iter()
        .map(|(n, s)| (n.as_str(), s))
        .chain(totals.iter().map(|(n, s)| (*n, s)))
    {
        println!("{}", score.line(name));
    }
    println!("misjudged: {wrong:?}");
    for (name, score) in &totals {
        assert!(score.caught() >= 99.0, "{name}: {}", score.line(name));
        assert!(score.alarms() < 5.0, "{name}: {}", score.line(name));
    }
}

#[test]
fn spec_3_12_the_pairs_are_many_unique_and_a_third_is_held_out() {
    let pairs = all();
    let ids: HashSet<&str> = pairs.iter().map(|p| p.id.as_str()).collect();
    let texts: HashSet<(&[String], &str)> = pairs
        .iter()
        .map(|p| (p.replaced.as_slice(), p.written.as_str()))
        .collect();
    assert_eq!(ids.len(), pairs.len());
    assert_eq!(texts.len(), pairs.len());
    assert!(pairs.len() >= 400);
    let held_out = pairs.iter().filter(|p| p.set == "held-out").count();
    let tuning = pairs.iter().filter(|p| p.set == "tuning").count();
    assert!(
        3 * held_out >= held_out + tuning,
        "{held_out} of {}",
        held_out + tuning
    );
    let harmful = pairs.iter().filter(|p| p.lost).count();
    assert!((40..=60).contains(&(100 * harmful / pairs.len())));
    let languages: HashSet<&str> = pairs.iter().map(|p| p.language.as_str()).collect();
    assert!(languages.len() >= 12);
}

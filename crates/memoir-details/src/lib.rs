//! Stand-in.
#![allow(missing_docs)]
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Language { English }
impl Language {
    pub fn code(self) -> &'static str { "en" }
    pub fn from_code(c: &str) -> Option<Self> { (c == "en").then_some(Self::English) }
    pub fn of(_: &str) -> Option<Self> { Some(Self::English) }
}
#[derive(Debug, Clone)]
pub struct Reading { sentences: Vec<String>, words: Vec<Vec<String>>, language: Option<Language> }
fn fold(w: &str) -> String { w.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase() }
fn key(w: &str) -> u64 { let mut h = std::hash::DefaultHasher::new(); w.hash(&mut h); h.finish() }
const FREE: [&str; 6] = ["a", "the", "that", "and", "very", "is"];
impl Reading {
    pub fn of(text: &str) -> Self { Self::in_language(text, Language::of(text)) }
    pub fn in_language(text: &str, language: Option<Language>) -> Self {
        let sentences: Vec<String> = text.split_inclusive(['.', '!']).map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).collect();
        let words = sentences.iter().map(|s| s.split_whitespace().map(fold).filter(|w| !w.is_empty() && !FREE.contains(&w.as_str())).collect()).collect();
        Self { sentences, words, language }
    }
    pub fn language(&self) -> Option<Language> { self.language }
    pub fn words(&self) -> u32 { self.words.iter().map(|w| w.len() as u32).sum() }
    pub fn sentences(&self) -> usize { self.sentences.len() }
    pub fn sentence(&self, n: usize) -> &str { &self.sentences[n] }
    pub fn has_relative_time(&self) -> bool { self.words.iter().flatten().any(|w| w == "yesterday") }
    pub fn keys(&self) -> impl Iterator<Item = u64> { self.words.iter().flatten().map(|w| key(w)) }
}
pub struct Replaced<'a> { pub present: &'a Reading, pub wordings: &'a [&'a Reading] }
#[derive(Debug, Default)]
pub struct Judgement { pub added: Vec<String>, pub surplus: Option<(u32, u32)>, pub losses: Vec<Loss>, pub marks: Vec<MarkChange> }
impl Judgement { pub fn is_free(&self) -> bool { self.added.is_empty() && self.surplus.is_none() && self.losses.is_empty() && self.marks.is_empty() } }
#[derive(Debug, Clone)]
pub struct Loss { pub replaced: usize, pub wording: usize, pub sentence: usize, pub lost: Vec<String>, pub words: u32, pub gone: u32, pub of: u32, pub gutted: bool, pub whole: bool, pub nearest: Option<usize> }
#[derive(Debug, Clone)]
pub struct MarkChange { pub replaced: usize, pub wording: usize, pub sentence: usize, pub would_say: usize }
fn missing(s: &[String], t: &Reading) -> (Vec<String>, Option<usize>) {
    t.words.iter().enumerate().map(|(n, w)| (s.iter().filter(|x| !w.contains(x)).cloned().collect::<Vec<_>>(), Some(n))).min_by_key(|(l, _)| l.len()).unwrap_or((s.to_vec(), None))
}
pub fn judge(replaced: &[Replaced<'_>], written: &Reading) -> Judgement {
    let mut j = Judgement::default();
    let known: HashSet<&String> = replaced.iter().flat_map(|r| r.wordings.iter().copied().chain([r.present])).flat_map(|r| r.words.iter().flatten()).collect();
    j.added = written.words.iter().flatten().filter(|w| !known.contains(w)).cloned().collect();
    for (i, r) in replaced.iter().enumerate() { for (k, w) in r.wordings.iter().enumerate() { for (n, s) in w.words.iter().enumerate() {
        let (now, nearest) = missing(s, written);
        let before = missing(s, r.present).0;
        let lost: Vec<String> = now.iter().filter(|x| !before.contains(x)).cloned().collect();
        if lost.is_empty() { continue; }
        let of = s.len() as u32; let gone = now.len() as u32; let stay = of - gone;
        let whole = stay == 0;
        let need = match of { 0..=3 => of, 4..=7 => of - 1, _ => (of * 3).div_ceil(4) };
        j.losses.push(Loss { replaced: i, wording: k, sentence: n, words: lost.len() as u32, lost, gone, of, gutted: !whole && stay < need, whole, nearest });
    } } }
    j
}
pub fn passing(replaced: &[Replaced<'_>], _written: &Reading) -> Option<String> {
    Some(replaced.iter().flat_map(|r| r.wordings.iter()).flat_map(|w| w.sentences.iter().cloned()).collect::<Vec<_>>().join(" "))
}
pub fn unsaid(wordings: &[&Reading], text: &Reading) -> Vec<Loss> {
    let nothing = Reading { sentences: vec![], words: vec![], language: None };
    let _ = &nothing;
    let mut out = Vec::new();
    for (k, w) in wordings.iter().enumerate() { for (n, s) in w.words.iter().enumerate() {
        let (lost, nearest) = missing(s, text);
        if !lost.is_empty() { let of = s.len() as u32; let gone = lost.len() as u32; out.push(Loss { replaced: 0, wording: k, sentence: n, words: gone, lost, gone, of, gutted: false, whole: gone == of, nearest }); }
    } }
    out
}
pub fn differing(a: &Reading, b: &Reading) -> (Vec<String>, Vec<String>) {
    let only = |x: &Reading, y: &Reading| x.words.iter().flatten().filter(|w| !y.words.iter().flatten().any(|v| v == *w)).cloned().collect();
    (only(a, b), only(b, a))
}

//! The cost of a question among 10,000 and 100,000 memories, and of building the index, compared with BM25 in plain
//! Rust on the same texts. Times are processor time where the system reports it, so that a busy machine has little
//! effect. `nice -n 10 cargo bench -p memoir-domain --bench recall`.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures"
)]

use std::{
    collections::HashMap,
    hint::black_box,
    time::{Duration, Instant},
};

use memoir_domain::{
    Timestamp,
    audit::ActorKind,
    memory::{Kind, Memory, NewMemory, Number},
    origin::SavedBy,
    recall::{RecallIndex, RecallQuery, Vector},
};

/// Numbers that look drawn, the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((self.0 >> 33) as usize) % most
    }

    /// Small ones more often than large ones, as words are.
    fn rank(&mut self, most: usize) -> usize {
        let (one, two, three) = (self.below(most), self.below(most), self.below(most));
        one * two / most * three / most
    }
}

const SYLLABLES: [&str; 24] = [
    "ka", "lo", "mi", "ren", "tas", "vel", "dor", "shi", "pun", "gra", "bel", "nor", "fi", "quo",
    "sta", "ler", "min", "dus", "hal", "cor", "wen", "zi", "pla", "tre",
];

fn words(count: usize) -> Vec<String> {
    let mut dice = Dice(7);
    let common = "the of and to a in is was that for with on she he her his at by from not";
    let mut words: Vec<String> = common.split(' ').map(str::to_owned).collect();
    while words.len() < count {
        let length = 2 + dice.below(3);
        words.push((0..length).map(|_| SYLLABLES[dice.below(24)]).collect());
    }
    words
}

/// Memories of about twenty words.
fn memories(count: usize, words: &[String]) -> Vec<Memory> {
    let mut dice = Dice(11);
    let start = Timestamp::from_microseconds(0).unwrap();
    (1..=count as u64)
        .map(|number| {
            let length = 10 + dice.below(20);
            let text: Vec<&str> = (0..length)
                .map(|_| words[dice.rank(words.len())].as_str())
                .collect();
            let at = start.plus_seconds(number as i64);
            let content = text.join(" ").into();
            let saved_by = SavedBy::of(ActorKind::Agent);
            NewMemory::new(Kind::Core, content, saved_by).into_memory(Number(number), number, at)
        })
        .collect()
}

/// Questions of three to twelve words of some memory, one in twenty with a slip of the pen.
fn questions(memories: &[Memory], count: usize) -> Vec<String> {
    let mut dice = Dice(13);
    (0..count)
        .map(|number| {
            let text = memories[dice.below(memories.len())].content.expose();
            let own: Vec<&str> = text.split(' ').collect();
            let asked = 3 + dice.below(10);
            let mut question: Vec<String> = (0..asked)
                .map(|_| own[dice.below(own.len())].to_owned())
                .collect();
            if number % 20 == 0 {
                question[0].push_str("xq");
            }
            question.join(" ")
        })
        .collect()
}

/// BM25 over an inverted index of lower-case words, without stems, filters, phrases or slips.
struct Plain {
    postings: HashMap<String, Vec<(u32, u32)>>,
    lengths: Vec<f32>,
    average: f32,
}

impl Plain {
    fn of(memories: &[Memory]) -> Self {
        let mut postings: HashMap<String, Vec<(u32, u32)>> = HashMap::new();
        let mut lengths = Vec::new();
        for (at, memory) in memories.iter().enumerate() {
            let text = memory.content.expose().to_lowercase();
            let mut length = 0;
            for word in text
                .split(|c: char| !c.is_alphanumeric())
                .filter(|word| !word.is_empty())
            {
                length += 1;
                let list = postings.entry(word.to_owned()).or_default();
                match list.last_mut() {
                    Some((last, times)) if *last == at as u32 => *times += 1,
                    _ => list.push((at as u32, 1)),
                }
            }
            lengths.push(length as f32);
        }
        let average = lengths.iter().sum::<f32>() / lengths.len() as f32;
        Self {
            postings,
            lengths,
            average,
        }
    }

    fn search(&self, question: &str) -> Vec<(f32, u32)> {
        let mut scores = vec![0.0_f32; self.lengths.len()];
        let question = question.to_lowercase();
        let count = self.lengths.len() as f32;
        for list in question
            .split(' ')
            .filter_map(|word| self.postings.get(word))
        {
            let with = list.len() as f32;
            let rarity = (1.0 + (count - with + 0.5) / (with + 0.5)).ln();
            for (at, times) in list {
                let long = 0.25 + 0.75 * self.lengths[*at as usize] / self.average;
                let times = *times as f32;
                scores[*at as usize] += rarity * times * 2.2 / (times + 1.2 * long);
            }
        }
        let scored = scores.iter().enumerate().filter(|(_, score)| **score > 0.0);
        let mut found: Vec<(f32, u32)> = scored.map(|(at, score)| (*score, at as u32)).collect();
        found.sort_by(|one, other| other.0.total_cmp(&one.0));
        found.truncate(20);
        found
    }
}

fn percentiles(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}

/// How long this thread has worked, by the processor's clock; where the system does not say, how long ago the first
/// call was.
fn worked(began: Instant) -> Duration {
    #[cfg(unix)]
    {
        let _ = began;
        let told = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(told.tv_sec as u64, told.tv_nsec as u32)
    }
    #[cfg(not(unix))]
    began.elapsed()
}

/// How long `work` works, with what asking for it costs.
fn timed_once<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let began = Instant::now();
    let before = worked(began);
    let done = work();
    (worked(began).saturating_sub(before), done)
}

fn timed(questions: &[String], mut ask: impl FnMut(&str)) -> (Duration, Duration) {
    percentiles(
        questions
            .iter()
            .map(|question| timed_once(|| ask(question)).0)
            .collect(),
    )
}

fn main() {
    for count in [10_000, 100_000] {
        let words = words(count / 2);
        let memories = memories(count, &words);
        // Once for the tables of the languages.
        black_box(RecallIndex::of(&memories[..100]));
        let built: Vec<Duration> = (0..5)
            .map(|_| timed_once(|| black_box(RecallIndex::of(&memories))).0)
            .collect();
        let (build, _) = percentiles(built);
        let mut index = RecallIndex::of(&memories);
        let (plain_build, plain) = timed_once(|| Plain::of(&memories));
        println!(
            "{count} memories: built in {build:.1?} (plain BM25 {plain_build:.1?}), {:.1} MB",
            index.bytes() as f64 / 1e6
        );
        let (written, stored) = timed_once(|| index.to_bytes(true));
        let read: Vec<Duration> = (0..5)
            .map(|_| timed_once(|| black_box(RecallIndex::from_bytes(&stored))).0)
            .collect();
        let (read, _) = percentiles(read);
        println!(
            "  as a stored index             {:>9.1} MB, written in {written:.1?}, read in {read:.1?}",
            stored.len() as f64 / 1e6
        );
        let questions = questions(&memories, 2_000);
        let query = |question: &str| RecallQuery {
            text: question.into(),
            limit: 20,
            ..RecallQuery::default()
        };
        let (median, p99) = timed(&questions, |question| {
            black_box(index.search(&query(question), None));
        });
        println!("  a question of 3 to 12 words   {median:>9.1?} median, {p99:>9.1?} p99");
        let (median, p99) = timed(&questions, |question| {
            black_box(plain.search(question));
        });
        println!("  the same in plain BM25        {median:>9.1?} median, {p99:>9.1?} p99");
        let mut dice = Dice(17);
        let mut vector = || {
            let values: Vec<f32> = (0..384)
                .map(|_| dice.below(2_001) as f32 - 1_000.0)
                .collect();
            Vector::of(&values).unwrap()
        };
        for (memory, slot) in memories.iter().zip(0..) {
            assert!(index.put_vector((memory.number, slot), &vector()));
        }
        let asked = vector();
        let (median, p99) = timed(&questions, |question| {
            black_box(index.search_near(&query(question), Some(&asked), None));
        });
        println!("  merged with 384 dimensions    {median:>9.1?} median, {p99:>9.1?} p99");
        println!("  … all of it in {:.1} MB", index.bytes() as f64 / 1e6);
        let (median, p99) = timed(&questions[..200], |_| {
            black_box(index.search_near(&query("nowherexq"), Some(&asked), None));
        });
        println!("  … of one word that is nowhere {median:>9.1?} median, {p99:>9.1?} p99");
        index.forget_vectors();
        let saved: Vec<String> = questions.iter().take(500).cloned().collect();
        let mut number = count as u64;
        let (median, p99) = timed(&saved, |question| {
            number += 1;
            let mut memory = memories[0].clone();
            (memory.number, memory.content) = (Number(number), question.into());
            index.put(&memory);
        });
        println!("  taking a saved memory in      {median:>9.1?} median, {p99:>9.1?} p99");
    }
}

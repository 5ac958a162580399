//! The cost of finding near duplicates among 10,000 memories, compared with one pass that splits the same texts into
//! words: `cargo bench -p memoir-domain --bench near_duplicates`.
//!
//! Besides an ordinary memory, it measures the worst cases: memories that are all near duplicates of each other.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints, and stops where it fails"
)]

use std::time::{Duration, Instant};

use memoir_domain::{
    Timestamp,
    agent::DuplicateMatch,
    audit::ActorKind,
    memory::{Kind, Memory, NewMemory, Number},
    near_duplicates::ledger_lines,
    origin::SavedBy,
};

const MEMORIES: usize = 10_000;
const ROUNDS: usize = 3;

/// Numbers that look random and are the same in each run (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    /// A word; the lower its number, the more often it comes, as words do.
    fn word(&mut self) -> String {
        let most = 1 + self.roll(6_000);
        spelled(self.roll(most))
    }

    fn sentence(&mut self, words: usize) -> String {
        let words: Vec<String> = (0..words).map(|_| self.word()).collect();
        words.join(" ")
    }
}

fn spelled(mut number: usize) -> String {
    const SYLLABLES: [&str; 20] = [
        "ka", "lo", "mi", "tu", "re", "sa", "no", "vi", "du", "pe", "ga", "fo", "hi", "ju", "be",
        "za", "co", "li", "wu", "te",
    ];
    let mut word = String::new();
    loop {
        word.push_str(SYLLABLES[number % 20]);
        number /= 20;
        if number == 0 {
            return word;
        }
    }
}

/// Sentences of 6 to 30 words; one in twenty is another one with one word changed.
fn ordinary(dice: &mut Dice) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for _ in 0..MEMORIES {
        let text = if dice.roll(20) == 0 && !texts.is_empty() {
            let mut words: Vec<String> = texts[dice.roll(texts.len())]
                .split(' ')
                .map(String::from)
                .collect();
            let place = dice.roll(words.len());
            words[place] = dice.word();
            words.join(" ")
        } else {
            let words = 6 + dice.roll(25);
            dice.sentence(words)
        };
        texts.push(text);
    }
    texts
}

/// The same words but for one of its own each.
fn alike(dice: &mut Dice, words: usize) -> Vec<String> {
    let before = dice.sentence(words / 2);
    let after = dice.sentence(words / 2);
    (0..MEMORIES)
        .map(|number| format!("{before} own{} {after}", spelled(number)))
        .collect()
}

/// Twelve of the same forty words, so that all share words and few are alike.
fn same_words(dice: &mut Dice) -> Vec<String> {
    let text = |dice: &mut Dice| -> String {
        let words: Vec<String> = (0..12).map(|_| spelled(dice.roll(40))).collect();
        words.join(" ")
    };
    (0..MEMORIES).map(|_| text(dice)).collect()
}

fn numbered() -> Vec<String> {
    (0..MEMORIES)
        .map(|number| format!("on day {number} the scale said {} kilograms", number % 90))
        .collect()
}

fn unspaced(dice: &mut Dice) -> Vec<String> {
    let text = |dice: &mut Dice| -> String {
        let length = 12 + dice.roll(30);
        let characters = (0..length).map(|_| {
            let most = 1 + dice.roll(1_500);
            char::from_u32(0x4E00 + dice.roll(most) as u32).unwrap()
        });
        characters.collect()
    };
    (0..MEMORIES).map(|_| text(dice)).collect()
}

fn memories(texts: &[String]) -> Vec<Memory> {
    let at = Timestamp::from_microseconds(0).unwrap();
    let numbered = texts.iter().zip(1..);
    numbered
        .map(|(text, number)| {
            let saved_by = SavedBy::of(ActorKind::Agent);
            let memory = NewMemory::new(Kind::Core, text.as_str().into(), saved_by);
            memory.into_memory(Number(number), number, at)
        })
        .collect()
}

/// The shortest of some rounds.
fn shortest<T>(mut run: impl FnMut() -> T) -> (Duration, T) {
    let mut best: Option<(Duration, T)> = None;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let answer = run();
        let took = start.elapsed();
        if best.as_ref().is_none_or(|(least, _)| took < *least) {
            best = Some((took, answer));
        }
    }
    best.unwrap()
}

fn measure(name: &str, texts: &[String]) {
    let memories = memories(texts);
    let (floor, words) = shortest(|| {
        let words = texts.iter().map(|text| text.split_whitespace().count());
        words.sum::<usize>()
    });
    let (took, found) = shortest(|| ledger_lines(&memories, DuplicateMatch::Exact));
    let lines = found.map_or(0, |found| found.expose().lines().count());
    println!(
        "{name:<34} {:>8.1} ms   words alone {:>6.1} ms   {:>5.1} times   {words:>8} words   {lines:>9} lines",
        took.as_secs_f64() * 1e3,
        floor.as_secs_f64() * 1e3,
        took.as_secs_f64() / floor.as_secs_f64(),
    );
}

fn main() {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    println!("{MEMORIES} memories, the shortest of {ROUNDS} runs");
    measure("an ordinary memory", &ordinary(&mut dice));
    measure("one without spaces", &unspaced(&mut dice));
    measure("all the same but for numbers", &numbered());
    measure("all the same but for one word of 9", &alike(&mut dice, 8));
    measure("… of 101", &alike(&mut dice, 100));
    measure("… of 1,001", &alike(&mut dice, 1_000));
    measure("few words, all in many", &same_words(&mut dice));
}

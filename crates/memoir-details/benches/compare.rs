//! Reading and comparing two texts of 600 characters (SPEC 3.12; it must stay under 40 µs), beside
//! a floor measured in the same run: splitting the same texts at white space and hashing the words.
//!
//! `cargo bench -p memoir-details`

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hash::{DefaultHasher, Hasher};
use std::hint::black_box;
use std::time::{Duration, Instant};

use memoir_details::{Reading, Replaced, judge, unsaid};

const OLD: &str = "Ann moved from Riga to Oslo in the spring of 2019, because her sister Eva had found \
work there. She works as a nurse at St. Mary's hospital and never takes the night shift before a \
holiday. On Tuesdays she sings in the choir of the harbour church; Bob, her husband, plays the \
organ. They have two cats, Miso and Taro, and a garden that is very steep. Ann is afraid of \
thunder, but not of rain. She once said: \"I would rather be cold than bored.\" The rent is \
1,450 euros a month, and it is due on the 3rd. If the heating fails again, she will call the \
landlord at +47 22 33 44 55.";

/// The same but for a sentence shortened, one moved, one merged with a new end and one dropped.
const NEW: &str = "On Tuesdays she sings in the choir of the harbour church; Bob, her husband, plays the \
organ. Ann moved from Riga to Oslo in spring of 2019, because her sister Eva had found work. She works \
as a nurse at St. Mary's hospital and never takes the night shift before a holiday. They have two \
cats, Miso and Taro, and a steep garden. Ann is afraid of thunder and she once said: \"I would \
rather be cold than bored.\" The rent is 1450 euros a month and it is due on the 3rd. If the heating \
fails again, she will call the landlord at +47 22 33 44 55. Ann is not afraid of rain, but of hail.";

fn time(mut work: impl FnMut()) -> Duration {
    for _ in 0..200 {
        work();
    }
    // The best of many runs: what the machine does besides only ever adds.
    (0..60)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..50 {
                work();
            }
            start.elapsed() / 50
        })
        .min()
        .unwrap_or_default()
}

fn main() {
    let (old, new) = (Reading::of(OLD), Reading::of(NEW));
    let floor = time(|| {
        for text in [OLD, NEW] {
            for word in text.split_whitespace() {
                let mut hasher = DefaultHasher::new();
                hasher.write(word.as_bytes());
                black_box(hasher.finish());
            }
        }
    });
    let reading = time(|| {
        black_box(Reading::of(black_box(OLD)));
        black_box(Reading::of(black_box(NEW)));
    });
    let judging = time(|| {
        let replaced = [Replaced {
            present: &old,
            wordings: &[],
        }];
        black_box(judge(black_box(&replaced), black_box(&new)));
    });
    let saying = time(|| {
        black_box(unsaid(black_box(&[&old]), black_box(&new)));
    });
    let same = time(|| {
        black_box(unsaid(black_box(&[&old]), black_box(&old)));
    });
    println!(
        "two texts of {} and {} characters",
        OLD.chars().count(),
        NEW.chars().count()
    );
    println!("floor, split and hash   {floor:>10.1?}");
    println!("reading both            {reading:>10.1?}");
    println!("what is unsaid          {saying:>10.1?}");
    println!("what is unsaid, equal   {same:>10.1?}");
    println!("judging an edit         {judging:>10.1?}");
    println!(
        "reading and comparing   {:>10.1?}  (must be under 40 µs)",
        reading + saying
    );
    println!("reading and judging     {:>10.1?}", reading + judging);
}

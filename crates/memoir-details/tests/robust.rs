//! What holds for every text: no panic, nothing lost to itself, the same answer twice, little time.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::{Duration, Instant};

use memoir_details::{carries, details, lost};
use proptest::prelude::*;

/// Pieces which the readers have rules for, in any order.
fn piece() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "not ",
        "no ",
        "half ",
        "past ",
        "a ",
        "one ",
        "twenty-",
        "three ",
        "million ",
        "1",
        "12",
        "2024",
        ".",
        ",",
        ":",
        "-",
        "/",
        " ",
        "\n",
        "'",
        "\"",
        "“",
        "”",
        "«",
        "»",
        "„",
        "@",
        "#",
        "$",
        "°",
        "C",
        "km",
        "pm",
        "May ",
        "3rd ",
        "of ",
        "Anna",
        "Müller ",
        "O'",
        "d'",
        "n't ",
        "不",
        "三",
        "月",
        "日",
        "点",
        "さん",
        "ない",
        "ー",
        "ア",
        "씨",
        "않",
        "لا ",
        "א",
        "נ",
        "नहीं ",
        "не ",
        "ß",
        "İ",
        "ﬁ",
        "½",
        "²",
        "…",
        "+",
        "(",
        ")",
        "U.S.",
        "a@b.co",
        "http://x",
        "und ",
        "der ",
        "hundert",
        "vent",
        "VIII ",
        "\u{301}",
        "\u{200d}",
        "🦀",
        "x_1",
    ];
    prop_oneof![
        4 => prop::sample::select(PIECES).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => "\\PC{0,8}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn spec_3_12_a_text_carries_all_of_itself(text in text()) {
        prop_assert!(lost(&[&text], &text).is_empty());
        let found = details(&text);
        prop_assert_eq!(&found, &details(&text));
        for detail in &found {
            prop_assert!(!detail.key().is_empty());
            prop_assert!(text.contains(detail.surface()));
            prop_assert!(carries(&text, detail));
        }
    }

    #[test]
    fn spec_3_12_lost_is_what_the_written_text_does_not_carry(old in text(), new in text()) {
        let expected: Vec<_> = details(&old).into_iter().filter(|d| !carries(&new, d)).collect();
        prop_assert_eq!(lost(&[&old], &new), expected);
        let held: Vec<String> = details(&new).iter().map(|d| d.key().to_owned()).collect();
        for detail in details(&old) {
            prop_assert!(!held.contains(&detail.key().to_owned()) || carries(&new, &detail));
        }
    }
}

#[test]
fn spec_3_12_hostile_texts_take_no_more_than_linear_time() {
    let patterns = [
        "1.", "1 ", "1,", "\"", "'a ", "not ", "A ", "(", "-1", "@a", "二", "A.", "a-1-", "no, ",
        "«", "half ", "John ", "x_1", "三十", "not a, ", "'", "don't ",
    ];
    let take = |text: &str| {
        let start = Instant::now();
        let _ = lost(&[text], "Anna");
        start.elapsed()
    };
    let _ = take("warm");
    for pattern in patterns {
        let small = take(&pattern.repeat(5_000 / pattern.len()));
        let large = take(&pattern.repeat(20_000 / pattern.len()));
        assert!(
            large < 12 * small + Duration::from_millis(200),
            "{pattern:?}: {small:?} {large:?}"
        );
    }
    // Many different details, all of them lost.
    let names: String = (0..1200)
        .map(|n| {
            format!(
                "Xa{}o TKT-{n} {n} km. ",
                "bcdfghjk"
                    .chars()
                    .cycle()
                    .skip(n % 7)
                    .take(3 + n % 5)
                    .collect::<String>()
            )
        })
        .collect();
    let start = Instant::now();
    let written: String = (0..1200).map(|n| format!("word{n} Yu{n} ")).collect();
    assert!(!lost(&[&names], &written).is_empty());
    assert!(start.elapsed() < Duration::from_secs(8));
}

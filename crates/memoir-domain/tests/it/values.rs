//! Values as callers of the domain read them: times, texts, tags, and the health of an agent.

use jiff::tz::TimeZone;
use memoir_domain::{
    PrivateJson, PrivateText, Timestamp,
    memory::{Tags, parse_content, tokens},
    session::{Health, State},
    time::InvalidTimestamp,
};

#[test]
fn spec_4_1_times_are_whole_microseconds() {
    let time: Timestamp = "2026-03-01T04:00:00.123456789+01:00".parse().unwrap();
    assert_eq!(time.to_string(), "2026-03-01T03:00:00.123456Z");
    assert_eq!(time.date(), "2026-03-01");
}

#[test]
fn dates_and_local_times_are_read_as_utc() {
    for (text, expected) in [
        ("2026-03-01", "2026-03-01T00:00:00Z"),
        ("2026-03-01 04:30", "2026-03-01T04:30:00Z"),
        (" 2026-03-01T04:30:15 ", "2026-03-01T04:30:15Z"),
        ("2026-03-01T10:00:00[Europe/Berlin]", "2026-03-01T09:00:00Z"),
        ("2026-07-01 10:00[Europe/Berlin]", "2026-07-01T08:00:00Z"),
        (
            "2026-03-01T10:00:00+01:00[Europe/Berlin]",
            "2026-03-01T09:00:00Z",
        ),
        (
            "2026-03-01T10:00:00Z[Europe/Berlin]",
            "2026-03-01T10:00:00Z",
        ),
    ] {
        assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), expected);
    }
    let until = |text| Timestamp::parse_until(text).unwrap().to_string();
    assert_eq!(until("2026-03-01"), "2026-03-01T23:59:59.999999Z");
    assert_eq!(until("2026-03-01T04:00:00Z"), "2026-03-01T04:00:00Z");
    let berlin = TimeZone::get("Europe/Berlin").unwrap();
    for (text, time, until) in [
        (
            "2026-03-01T04:30",
            "2026-03-01T03:30:00Z",
            "2026-03-01T03:30:00Z",
        ),
        (
            "2026-03-01T04:30:00Z",
            "2026-03-01T04:30:00Z",
            "2026-03-01T04:30:00Z",
        ),
        // Of 23 hours.
        (
            "2026-03-29",
            "2026-03-28T23:00:00Z",
            "2026-03-29T21:59:59.999999Z",
        ),
    ] {
        let read = Timestamp::parse_in(text, &berlin).unwrap();
        assert_eq!(read.to_string(), time);
        let read = Timestamp::parse_until_in(text, &berlin).unwrap();
        assert_eq!(read.to_string(), until);
    }
    for text in [
        "",
        "yesterday",
        "2026-13-01",
        "-000001-01-01T00:00:00Z",
        "9999-12-31T00:00:00Z",
        "2026-03-01T10:00:00[Europe/Nowhere]",
        "2026-03-01T10:00:00+05:00[Europe/Berlin]",
    ] {
        assert_eq!(text.parse::<Timestamp>(), Err(InvalidTimestamp), "{text}");
    }
}

#[test]
fn spec_5_1_private_text_prints_its_length_only() {
    let text = PrivateText::new("a vow kept in confidence");
    assert_eq!(
        format!("{text:?} {text}"),
        "PrivateText(24 characters) [24 characters]"
    );
    let json = PrivateJson::new(serde_json::json!({"content": "a vow"}));
    assert_eq!(format!("{json:?}"), "PrivateJson(19 bytes)");
}

#[test]
fn the_worst_of_what_holds_of_an_agent_is_its_health() {
    let over = 1_000_001;
    for (last, share, health) in [
        (Some(State::Failed), over, Health::Failed),
        (Some(State::RolledBack), over, Health::OverBudget),
        (Some(State::RolledBack), 1_000_000, Health::RolledBack),
        (Some(State::Declined), 0, Health::InOrder),
        (None, over, Health::OverBudget),
        (None, 0, Health::InOrder),
    ] {
        assert_eq!(Health::from_row(last, share), health);
    }
    assert_eq!(Health::ALL.map(Health::rank), [0, 1, 2, 3]);
}

#[test]
fn spec_1_tokens_are_a_quarter_of_the_characters_rounded_up() {
    for (text, expected) in [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("日本語です", 2),
    ] {
        assert_eq!(tokens(text), expected);
    }
}

#[test]
fn spec_2_1_content_is_trimmed_and_limited() {
    let parse = parse_content;
    assert_eq!(parse("  a\r\n\tb \n").unwrap().expose(), "a\r\n\tb");
    for text in [
        "\u{feff}a b",
        " \u{feff} a b\n",
        "a b\u{feff}\n\u{feff}",
        "\u{feff}\u{feff}a b",
    ] {
        assert_eq!(parse(text).unwrap().expose(), "a b", "{text:?}");
    }
    let inside = "a\u{feff}b\u{a0}c";
    assert_eq!(parse(inside).unwrap().expose(), inside);
    assert!(
        parse("\u{feff} \n")
            .unwrap_err()
            .problem
            .contains("is empty")
    );
    assert_eq!(parse(&"é".repeat(10_000)).unwrap().chars(), 10_000);
    let error = parse(&"é".repeat(10_001)).unwrap_err();
    assert!(error.too_long && error.problem.contains("10001") && error.problem.contains("10000"));
    for (text, part) in [
        (" \n ", "is empty"),
        ("a\0b", "U+0000 at character 2"),
        ("a\rb", "U+000D"),
        ("ab\u{1b}[31m", "U+001B at character 3"),
        ("a\u{85}b", "U+0085"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.problem.contains(part), "{error}");
    }
}

#[test]
fn spec_2_1_tags_are_limited_and_distinct() {
    let tags = Tags::parse([" voice ", "voice", "a"]).unwrap();
    assert_eq!(tags.iter().collect::<Vec<_>>(), ["voice", "a"]);
    assert!(Tags::parse(["x".repeat(50).as_str()]).is_ok());
    assert!(Tags::parse(["x".repeat(51).as_str()]).unwrap_err().too_long);
    assert!(Tags::parse(["a\nb"]).is_err());
    assert!(Tags::parse([""]).is_err());
    let many: Vec<String> = (0..17).map(|n| n.to_string()).collect();
    let error = Tags::parse(many.iter().map(String::as_str)).unwrap_err();
    assert!(error.problem.contains("17") && error.problem.contains("16"));
}

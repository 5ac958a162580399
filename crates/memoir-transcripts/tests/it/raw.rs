//! Values of JSON that are read undecoded, and where they break.

use memoir_transcripts::raw::{BrokenJson, Raw};

fn strings(json: &str) -> Vec<Result<Option<String>, BrokenJson>> {
    let raw = Raw::whole(json.as_bytes()).unwrap();
    raw.elements()
        .unwrap()
        .map(|part| part.unwrap().string())
        .collect()
}

#[test]
fn fields_are_found_whatever_stands_beside_them() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let json = format!(r#" {{"a": 1e999, "b": {deep}, "c":"}}\"]", "d" : nope}} "#);
    let raw = Raw::whole(json.as_bytes()).unwrap();
    let [c, missing, a] = raw.fields(["c", "e", "a"]).unwrap();
    assert_eq!(c.unwrap().string(), Ok(Some("}\"]".to_owned())));
    assert!(missing.is_none());
    assert_eq!(a.unwrap().number(), None);
    assert_eq!(&json.as_bytes()[c.unwrap().at..][..2], b"\"}");
}

#[test]
fn what_is_broken_is_named_by_its_byte() {
    for (json, at) in [
        ("{\"a\" 1}", 5),
        ("{\"a\":1 \"b\":2}", 7),
        ("{1:2}", 2),
        ("[1]", 0),
        ("{\"a\":}", 5),
    ] {
        let raw = Raw::whole(json.as_bytes()).unwrap();
        assert_eq!(raw.fields(["a"]).unwrap_err(), BrokenJson(at), "{json}");
    }
    for json in ["", "{", "\"abc", "[[]", "]", "1 2", "{}x", "[}", "{]"] {
        assert!(Raw::whole(json.as_bytes()).is_err(), "{json}");
    }
}

#[test]
fn the_bracket_at_the_end_of_a_value_is_that_of_its_beginning() {
    let raw = Raw::whole(b"{\"a\": [}, \"b\": {], \"c\": [1]}").unwrap();
    let [a, b, c] = raw.fields(["a", "b", "c"]).unwrap();
    assert_eq!(a.unwrap().elements().err(), Some(BrokenJson(7)));
    assert_eq!(b.unwrap().entries().err(), Some(BrokenJson(16)));
    assert_eq!(c.unwrap().elements().unwrap().count(), 1);
    assert_eq!(Raw::whole(b"[1, 2}").unwrap_err(), BrokenJson(5));
}

#[test]
fn a_lone_half_of_a_pair_becomes_a_replacement_character() {
    let json = r#"["\ud83d\ude00", "a\ud83d b", "\\ud83d", "\ude00\ud83d\ude00", "\ud83d\u0041"]"#;
    let expected = ["😀", "a\u{FFFD} b", "\\ud83d", "\u{FFFD}😀", "\u{FFFD}A"];
    let expected: Vec<_> = expected.map(|text| Ok(Some(text.to_owned()))).into();
    assert_eq!(strings(json), expected);
}

#[test]
fn a_value_that_is_no_string_and_one_that_cannot_be_decoded_differ() {
    assert_eq!(strings("[1, \"\\x\"]"), [Ok(None), Err(BrokenJson(4))]);
    let raw = Raw::whole(b"\"\xFF\"").unwrap();
    assert_eq!(raw.string(), Ok(Some("\u{FFFD}".to_owned())));
}

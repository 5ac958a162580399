//! Files that are truncated, too large, in other encodings, or of another kind than named.

use std::{
    io::{self, Read},
    ops::ControlFlow,
};

use memoir_transcripts::{Error, Item, TranscriptFormat, TranscriptLimits, TranscriptReader};

use crate::{expect, items, lines, read, read_within};

const SMALL: TranscriptLimits = TranscriptLimits {
    conversation_bytes: 300,
    message_bytes: 100,
};

/// The lines of a file within [`SMALL`] limits.
fn small(file: &str) -> Vec<String> {
    lines(&read_within(file.as_bytes(), None, SMALL))
}

#[test]
fn a_file_that_is_cut_off_gives_what_came_before() {
    let whole = include_bytes!("../fixtures/claude.json");
    let second = whole
        .windows(12)
        .position(|bytes| bytes == b"My sister's ")
        .unwrap();
    let found = lines(&read(&whole[..second]));
    assert_eq!(found[..3], lines(&read(whole))[..3]);
    assert_eq!(found[5], "2:- 9 Malformed");
    assert!(
        found[6].starts_with("! the file ends in the middle (line 10, "),
        "{found:?}"
    );
    assert_eq!(found.len(), 7);
    expect(
        b"{\"messages\": [{\"id\": 1, \"speaker\": \"a\", \"text\": \"b\"}",
        TranscriptFormat::Messages,
        &[
            "1 1|-|a|b",
            "! the file ends in the middle (line 1, byte 52)",
        ],
    );
}

#[test]
fn a_file_cut_off_anywhere_ends_with_a_report() {
    let files: [&[u8]; 7] = [
        include_bytes!("../fixtures/chatgpt.json"),
        include_bytes!("../fixtures/claude.json"),
        include_bytes!("../fixtures/messages.json"),
        include_bytes!("../fixtures/claude_code.jsonl"),
        include_bytes!("../fixtures/codex.jsonl"),
        include_bytes!("../fixtures/copilot.jsonl"),
        include_bytes!("../fixtures/gemini.jsonl"),
    ];
    for file in files {
        let whole = read(file);
        let format = TranscriptReader::open(file, None).unwrap().format();
        // From the byte on at which the format is recognisable.
        for end in (60..file.trim_ascii_end().len()).step_by(7) {
            let items = read_within(&file[..end], Some(format), TranscriptLimits::default());
            let is_lines = !matches!(
                format,
                TranscriptFormat::ChatGpt | TranscriptFormat::Claude | TranscriptFormat::Messages
            );
            assert!(
                is_lines || matches!(items.last(), Some(Err(Error::Truncated(_)))),
                "{format} {end}"
            );
            let given = items
                .iter()
                .filter(|item| matches!(item, Ok(Item::Message(_))));
            assert!(
                given.clone().all(|item| whole.contains(item)),
                "{format} {end}"
            );
        }
    }
}

#[test]
fn text_behind_the_end_is_reported() {
    let one = r#"[{"id": 1, "speaker": "a", "text": "b"}]"#;
    for (rest, place) in [("]", 40), (" [", 41), ("\n\n}", 42)] {
        let found = lines(&read(format!("{one}{rest}").as_bytes()));
        assert_eq!(found.len(), 2);
        assert!(
            found[1].starts_with("! the file is broken")
                && found[1].contains(&format!("byte {place})"))
        );
    }
    let comma = br#"[{"id": 1, "speaker": "a", "text": "b"},]"#;
    expect(
        comma,
        TranscriptFormat::Messages,
        &["1 1|-|a|b", "! the file is broken (line 1, byte 40)"],
    );
    let none = br#"[{"id": 1, "speaker": "a", "text": "b"} {"id": 2}]"#;
    expect(
        none,
        TranscriptFormat::Messages,
        &["1 1|-|a|b", "! the file is broken (line 1, byte 40)"],
    );
}

#[test]
fn what_is_too_large_is_passed_over_with_its_place() {
    let long = "x".repeat(101);
    let huge = "x".repeat(400);
    let lines = |text: &str| {
        format!(
            "{{\"id\":1,\"speaker\":\"a\",\"text\":\"{text}\"}}\n{{\"id\":2,\"speaker\":\"a\",\"text\":\"short\"}}\n"
        )
    };
    assert_eq!(small(&lines(&long)), ["1 1 TooLarge", "2 2|-|a|short"]);
    assert_eq!(small(&lines(&huge)), ["- 1 TooLarge", "2 2|-|a|short"]);
    let text = format!("Mina: one\n{huge}\nEvan: two\nthree\n");
    let expected = ["# 1|-|Mina|one", "- 2 TooLarge", "# 3|-|Evan|two/three"];
    assert_eq!(small(&text), expected);
    let conversation = |text: &str| {
        format!(r#"{{"chat_messages": [{{"uuid": "1", "sender": "human", "text": "{text}"}}]}}"#)
    };
    let export = format!("[{},\n{}]", conversation(&huge), conversation("short"));
    assert_eq!(small(&export), ["1:- 1 TooLarge", "2:1 2|-|user|short"]);
    let export = format!("[{}]", conversation(&long));
    assert_eq!(small(&export), ["1:1 1 TooLarge"]);
}

#[test]
fn plain_text_that_goes_on_and_on_loses_no_line() {
    let line = "and so it went on";
    let text = format!("Mina: it began\n{}", format!("{line}\n").repeat(50));
    let items = read_within(text.as_bytes(), None, SMALL);
    let mut words = String::new();
    for item in &items {
        let Ok(Item::Message(message)) = item else {
            panic!("{item:?}")
        };
        assert_eq!(message.speaker.expose(), "Mina");
        assert!(message.text.expose().len() <= SMALL.message_bytes);
        words.push_str(message.text.expose());
    }
    assert_eq!(words.matches(line).count(), 50);
}

#[test]
fn spec_2_1_other_encodings_are_named_and_bad_bytes_are_mended() {
    let utf16: Vec<u8> = "\u{FEFF}Mina: hi"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(
        TranscriptReader::open(&*utf16, None).unwrap_err(),
        Error::Utf16
    );
    assert_eq!(
        TranscriptReader::open(&b"PK\x03\x04\x14\0"[..], None).unwrap_err(),
        Error::Packed
    );
    let text = b"Mina: one\nt\xE9a\nEvan: two\n";
    expect(
        text,
        TranscriptFormat::Text,
        &["# 1|-|Mina|one/t\u{FFFD}a", "# 3|-|Evan|two"],
    );
    let json = b"[{\"id\":1,\"speaker\":\"a\",\"text\":\"t\xE9a\"},{\"id\":2,\"x\":\"\xE9\",\"speaker\":\"a\",\"text\":\"b\"}]";
    expect(
        json,
        TranscriptFormat::Messages,
        &["1 1|-|a|t\u{FFFD}a", "2 1|-|a|b"],
    );
    let marked = "\u{FEFF}[{\"id\":1,\"speaker\":\"a\",\"text\":\"b\"}]";
    expect(
        marked.as_bytes(),
        TranscriptFormat::Messages,
        &["1 1|-|a|b"],
    );
}

#[test]
fn depth_and_huge_numbers_do_no_harm() {
    let deep = "[".repeat(200_000);
    let numbers = format!("1e99999, {}", "9".repeat(10_000));
    let closed = format!(
        r#"[{{"speaker": "a", "x": {deep}{}, "y": [{numbers}], "id": 1, "text": "b"}}]"#,
        "]".repeat(200_000)
    );
    expect(
        closed.as_bytes(),
        TranscriptFormat::Messages,
        &["1 1|-|a|b"],
    );
    let open = format!(r#"[{{"id": 1, "speaker": "a", "text": "b", "x": {deep}"#);
    let items = read(open.as_bytes());
    assert!(matches!(items.last(), Some(Err(Error::Truncated(_)))));
    let times = r#"{"mapping": {"a": {"message": {"author": {"role": "user"}, "create_time": -1e300, "content": {"parts": ["b"]}}}}}"#;
    expect(
        times.as_bytes(),
        TranscriptFormat::ChatGpt,
        &["1:a 1|-|user|b"],
    );
}

#[test]
fn what_is_no_text_is_not_read_as_one() {
    for (file, kind) in [
        (&b"%PDF-1.7\nHello."[..], "a PDF document"),
        (b"Hello.\0", "data of some program, and no text"),
    ] {
        let refused = TranscriptReader::open(file, None).unwrap_err();
        assert_eq!(refused, Error::Unrecognised(kind));
    }
}

#[test]
fn a_form_that_a_file_does_not_have_is_refused() {
    assert_eq!(
        TranscriptReader::open(&b"{\"conversations\": []}"[..], None).unwrap_err(),
        Error::Unrecognised("JSON, without the fields of any form that is known")
    );
    assert_eq!(
        TranscriptReader::open(&b"hello"[..], Some(TranscriptFormat::ChatGpt)).unwrap_err(),
        Error::OtherForm(TranscriptFormat::ChatGpt)
    );
    let claude = include_bytes!("../fixtures/claude.json");
    let format = Some(TranscriptFormat::ChatGpt);
    let found = lines(&read_within(claude, format, TranscriptLimits::default()));
    assert!(
        found
            .iter()
            .all(|line| line.ends_with("MissingField(\"mapping\")")),
        "{found:?}"
    );
}

#[test]
fn conversations_of_two_forms_in_one_file_are_reported() {
    let mixed = r#"[{"uuid": "a", "chat_messages": [{"uuid": "1", "sender": "human", "text": "one"}]},
            {"id": "b", "mapping": {}},
            {"uuid": "c", "chat_messages": [{"uuid": "2", "sender": "human", "text": "two"}]}]"#;
    let format = Some(TranscriptFormat::Claude);
    assert_eq!(
        lines(&read_within(
            mixed.as_bytes(),
            format,
            TranscriptLimits::default()
        )),
        [
            "1:1 1|-|user|one",
            "2:- 2 MissingField(\"chat_messages\")",
            "3:2 3|-|user|two"
        ]
    );
}

/// Returns one byte at a time, is interrupted between, and fails after `left` bytes.
struct Slow<'a> {
    bytes: &'a [u8],
    left: usize,
    interrupt: bool,
}

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupt = !self.interrupt;
        if self.interrupt {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if self.left == 0 {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        self.left -= 1;
        let count = self.bytes.len().min(buffer.len()).min(1);
        buffer[..count].copy_from_slice(&self.bytes[..count]);
        self.bytes = &self.bytes[count..];
        Ok(count)
    }
}

#[test]
fn how_the_bytes_come_makes_no_difference() {
    for bytes in [
        &include_bytes!("../fixtures/chatgpt.json")[..],
        include_bytes!("../fixtures/text.txt"),
    ] {
        let slow = Slow {
            bytes,
            left: usize::MAX,
            interrupt: false,
        };
        let items = items(TranscriptReader::open(slow, None).unwrap());
        assert_eq!(items, read(bytes));
    }
}

#[test]
fn a_failing_reader_is_reported_with_its_position_and_ends_the_stream() {
    let text = "Mina: hello\n".repeat(40_000);
    let slow = Slow {
        bytes: text.as_bytes(),
        left: 400_000,
        interrupt: false,
    };
    let items = items(TranscriptReader::open(slow, None).unwrap());
    let Some(Err(Error::Read { kind, place })) = items.last() else {
        panic!("{:?}", items.last())
    };
    assert_eq!(
        (*kind, place.byte),
        (io::ErrorKind::ConnectionReset, 400_000)
    );
    // The last line is incomplete.
    assert_eq!(items.len(), 400_000 / 12 + 1);
}

#[test]
fn a_receiver_that_stops_gets_nothing_more_and_nothing_more_is_read() {
    let activity = |text: &str| {
        format!(r#"{{"header": "Gemini", "title": "Prompted {text}"}},"#)
            + r#"{"header": "Gemini", "title": 5},"#
    };
    for (format, file) in [
        (
            TranscriptFormat::Messages,
            format!("{{{}", r#""messages":1,"#.repeat(200_000)),
        ),
        (TranscriptFormat::Text, "Mina: hello\n".repeat(200_000)),
        // Its messages are held until its end.
        (
            TranscriptFormat::GeminiTakeout,
            format!("[{}", activity("Ferns").repeat(40_000)),
        ),
    ] {
        let mut left = file.as_bytes();
        let transcript = TranscriptReader::open(&mut left, Some(format)).unwrap();
        let mut count = 0;
        let read = transcript.read(&mut |_| {
            count += 1;
            ControlFlow::Break(())
        });
        read.unwrap();
        assert_eq!(count, 1, "{format:?}");
        assert!(!left.is_empty(), "{format:?}");
    }
}

#[test]
fn names_and_identifiers_that_are_none_are_not_handed_on() {
    let long = "x".repeat(401);
    let json = format!(
        r#"[{{"id": "{long}", "speaker": "a", "text": "b"}}, {{"id": 2, "speaker": "{long}", "text": "b"}}]"#
    );
    let items = read(json.as_bytes());
    let Ok(Item::Message(message)) = &items[0] else {
        panic!("{items:?}")
    };
    assert_eq!(message.id.expose().len(), 32);
    assert_eq!(lines(&items[1..]), ["2 1 InvalidField(\"speaker\")"]);
}

#[test]
fn formats_are_read_by_their_names() {
    let names: Vec<_> = TranscriptFormat::ALL
        .iter()
        .map(|format| TranscriptFormat::from_name(format.as_str()))
        .collect();
    assert_eq!(names, TranscriptFormat::ALL.map(Some));
}

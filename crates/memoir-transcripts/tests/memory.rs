//! A large file is read in little memory. Each test runs in a process of its own, since the peak of a process only
//! grows, and concurrent tests would be counted in.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::{
    io::{self, Read},
    ops::ControlFlow,
};

use memoir_transcripts::{Item, TranscriptFormat, TranscriptReader, TranscriptReport};

const MEGABYTE: u64 = 1 << 20;
/// Set for the process that runs one test.
const ALONE: &str = "MEMOIR_TEST_ALONE";

/// Runs the test of that name in a process of its own.
fn alone(name: &str, play: impl FnOnce()) {
    if std::env::var_os(ALONE).is_some() {
        return play();
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--include-ignored", "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    eprintln!("{said}");
    assert!(output.status.success(), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

/// A file that is generated while it is read: `first`, then the results of `piece` for 0, 1, 2 and so on until `size`
/// bytes are reached, then `last`.
struct Made<F> {
    size: u64,
    made: u64,
    number: u64,
    last: Option<&'static str>,
    piece: F,
    ready: Vec<u8>,
    taken: usize,
}

impl<F: FnMut(u64) -> String> Read for Made<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.ready.len() {
            self.taken = 0;
            self.ready = if self.made < self.size {
                self.number += 1;
                (self.piece)(self.number - 1).into_bytes()
            } else {
                self.last.take().unwrap_or_default().into()
            };
            self.made += self.ready.len() as u64;
        }
        let rest = &self.ready[self.taken..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.taken += count;
        Ok(count)
    }
}

/// The most memory that this process ever had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim()
        .trim_end_matches(" kB")
        .trim()
        .parse::<u64>()
        .unwrap()
        * 1024
}

/// Reads a file of `size` bytes and returns its items and the growth of the peak.
fn read(
    format: TranscriptFormat,
    size: u64,
    first: &str,
    last: &'static str,
    piece: impl FnMut(u64) -> String,
) -> (TranscriptReport, u64) {
    let made = Made {
        size,
        made: 0,
        number: 0,
        last: Some(last),
        piece,
        ready: first.into(),
        taken: 0,
    };
    let before = peak();
    let transcript = TranscriptReader::open(made, None).unwrap();
    assert_eq!(transcript.format(), format);
    let mut report = TranscriptReport::default();
    let mut characters = 0;
    let read = transcript.read(&mut |item| {
        report.note(&item);
        if let Item::Message(message) = item {
            characters += message.text.expose().len() as u64;
        }
        ControlFlow::Continue(())
    });
    read.unwrap();
    assert!(characters > size / 4);
    (report, peak() - before)
}

fn words(number: u64) -> String {
    format!("In the year {number} somebody said a great many things. ").repeat(12)
}

/// A conversation of twenty messages, of which one is on another branch.
fn chatgpt(number: u64) -> String {
    let node = |at: u64| {
        let parent = at.saturating_sub(if at == 20 { 2 } else { 1 });
        let role = if at.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        let id = format!("{number}-{at}");
        format!(
            r#""{id}": {{"id": "{id}", "message": {{"id": "{id}", "author": {{"role": "{role}", "name": null, "metadata": {{}}}}, "create_time": {at}.5, "content": {{"content_type": "text", "parts": ["{}"]}}, "weight": 1.0, "metadata": {{"model_slug": "m"}}, "recipient": "all"}}, "parent": "{number}-{parent}", "children": []}}"#,
            words(number)
        )
    };
    let root = format!(
        r#""{number}-0": {{"id": "{number}-0", "message": null, "parent": null, "children": []}}"#
    );
    let nodes: Vec<String> = std::iter::once(root).chain((1..21).map(node)).collect();
    let comma = if number == 0 { "" } else { ",\n" };
    format!(
        r#"{comma}{{"title": "t", "mapping": {{{}}}, "current_node": "{number}-20", "id": "c{number}"}}"#,
        nodes.join(", ")
    )
}

fn chatgpt_export(size: u64) {
    let mut conversations = 0;
    let (report, grown) = read(TranscriptFormat::ChatGpt, size, "[", "]", |number| {
        conversations = number + 1;
        chatgpt(number)
    });
    let counts: Vec<u64> = report.skipped.into_values().collect();
    assert_eq!(
        (report.messages, counts),
        (19 * conversations, vec![conversations, conversations])
    );
    eprintln!(
        "{} MB of ChatGPT's export: {} messages, {} KB",
        size / MEGABYTE,
        report.messages,
        grown / 1024
    );
    assert!(grown < 24 * MEGABYTE, "{grown}");
}

#[test]
fn spec_2_6_an_export_of_40_megabytes_is_read_as_a_stream() {
    alone(
        "spec_2_6_an_export_of_40_megabytes_is_read_as_a_stream",
        || {
            chatgpt_export(40 * MEGABYTE);
        },
    );
}

#[test]
#[ignore = "takes long; the same with 40 MB is always run"]
fn spec_2_6_an_export_of_200_megabytes_is_read_as_a_stream() {
    alone(
        "spec_2_6_an_export_of_200_megabytes_is_read_as_a_stream",
        || {
            chatgpt_export(200 * MEGABYTE);
        },
    );
}

#[test]
fn spec_2_6_a_session_of_20_megabytes_is_read_as_a_stream() {
    alone(
        "spec_2_6_a_session_of_20_megabytes_is_read_as_a_stream",
        || {
            let line = |number: u64| {
                format!(
                    "{{\"type\":\"user\",\"uuid\":\"u{number}\",\"sessionId\":\"s\",\"message\":{{\"role\":\"user\",\"content\":\"{}\"}}}}\n",
                    words(number)
                )
            };
            let (report, grown) = read(TranscriptFormat::ClaudeCode, 20 * MEGABYTE, "", "", line);
            assert!(report.messages > 20_000 && report.skipped.is_empty());
            assert!(grown < 16 * MEGABYTE, "{grown}");
        },
    );
}

#[test]
fn spec_2_6_a_text_of_20_megabytes_by_one_speaker_is_read_as_a_stream() {
    alone(
        "spec_2_6_a_text_of_20_megabytes_by_one_speaker_is_read_as_a_stream",
        || {
            let (report, grown) = read(
                TranscriptFormat::Text,
                20 * MEGABYTE,
                "Mina: it began\n",
                "",
                |number| {
                    format!(
                        "{}\n{}",
                        words(number),
                        if number.is_multiple_of(9) { "\n" } else { "" }
                    )
                },
            );
            assert!(
                report.messages > 30 && report.skipped.is_empty(),
                "{report}"
            );
            assert!(grown < 16 * MEGABYTE, "{grown}");
        },
    );
}

#[test]
fn a_conversation_of_100_megabytes_is_passed_over_and_the_next_one_read() {
    let small =
        r#"{"uuid": "a", "chat_messages": [{"uuid": "1", "sender": "human", "text": "hello"}]}"#;
    let size = 100 * MEGABYTE;
    let made = Made {
        size,
        made: 0,
        number: 0,
        last: Some(
            r#""]},{"uuid": "b", "chat_messages": [{"uuid": "2", "sender": "human", "text": "bye"}]}]"#,
        ),
        piece: |_| "x".repeat(1 << 16),
        ready: format!("[{small},{{\"uuid\": \"c\", \"chat_messages\": [\"").into(),
        taken: 0,
    };
    let before = peak();
    let mut report = TranscriptReport::default();
    let transcript = TranscriptReader::open(made, None).unwrap();
    let read = transcript.read(&mut |item| {
        report.note(&item);
        ControlFlow::Continue(())
    });
    read.unwrap();
    assert_eq!((report.messages, report.lost()), (2, 1));
    assert_eq!(
        report.losses[0].0.to_string(),
        "conversation 2, line 1, byte 85"
    );
    let grown = peak() - before;
    // The limit of a conversation, and the buffer that it outgrew.
    assert!(grown < 140 * MEGABYTE, "{grown}");
}

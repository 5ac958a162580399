//! Each format in its real shape, and with its possible faults.

use memoir_transcripts::{Item, TranscriptFormat, TranscriptLimits, TranscriptReport};

use crate::{expect, lines, read, read_within};

#[test]
fn chatgpt_gives_the_path_that_was_gone_on_with() {
    expect(
        include_bytes!("../fixtures/chatgpt.json"),
        TranscriptFormat::ChatGpt,
        &[
            "1:client-created-root 2 NoMessage",
            "1:a1b0-sys 3 System",
            "1:a1b0-ctx 4 Hidden",
            "1:a1b1-edited 7|2026-01-01T00:01:00.25Z|user|My garden is 80 m². What grows in the shade?",
            "1:a1b3-again 9 Thinking",
            "1:a1b4-call 10 Tool",
            "1:a1b4-result 11 Tool",
            "1:a1b4-recap 12 Thinking",
            "1:a1b5 13|2026-01-01T00:01:45.75Z|assistant|Hostas, ferns and woodruff./Which soil do you have?",
            "1:a1b6 14|2026-01-01T00:02:40Z|user|This is the soil.|-1",
            "1:a1b7 15 NotText",
            "1:a1b8 16|2026-01-01T00:03:00Z|user|It stays wet in winter.|-1",
            "1:a1b9 17 Empty",
            "1:a1b1 5 OtherBranch",
            "1:a1b2 6 OtherBranch",
            "1:a1b3 8 OtherBranch",
            "2:d-0 22 NoMessage",
            "2:d-1 21|-|user|I passed the exam.",
            "2:d-2 20|2023-03-28T10:40:10Z|assistant|Congratulations, Ines.",
        ],
    );
}

#[test]
fn spec_2_6_a_conversation_that_is_not_to_be_remembered_gives_no_message() {
    let conversation = |forget: bool| {
        let content = r#"{"content_type": "text", "parts": ["I sail."]}"#;
        let message = format!(r#"{{"author": {{"role": "user"}}, "content": {content}}}"#);
        let rest = format!(r#""current_node": "a", "mapping": {{"a": {{"message": {message}}}}}"#);
        format!(r#"{{"is_do_not_remember": {forget}, {rest}}}"#)
    };
    let file = format!("[{},\n{}]", conversation(true), conversation(false));
    let expected = ["1:- 1 NotToRemember", "2:a 2|-|user|I sail."];
    expect(file.as_bytes(), TranscriptFormat::ChatGpt, &expected);
}

#[test]
fn chatgpt_with_broken_trees_ends_and_reports_each_node() {
    expect(
        include_bytes!("../fixtures/chatgpt_hostile.json"),
        TranscriptFormat::ChatGpt,
        &[
            "1:- 1 Malformed",
            "2:- 2 MissingField(\"mapping\")",
            "4:one 5|-|user|cut \u{FFFD} in half, \u{FFFD} and 😀",
            "4:two 6|2026-01-01T00:00:00Z|assistant|the end",
            "4:second root 7 OtherBranch",
            "4:lost 8 Detached",
            "4:nothing 9 Malformed",
            "4:nobody 10 MissingField(\"author\")",
            "4:silent 11 MissingField(\"content\")",
            "4:partless 12 MissingField(\"parts\")",
            "4:strange 13 NotText",
            "4:two 14 OtherBranch",
            "5:a 17|-|user|I am",
            "5:b 18|-|assistant|you are",
            "5:c 19 Detached",
            "6:x 22|-|user|the same identifier again",
            "6:y 23|-|user|after it",
            "7:p 26|-|user|before the break",
            "7:- 27 Malformed",
        ],
    );
}

#[test]
fn claude_gives_all_messages_or_the_path_where_they_are_linked() {
    expect(
        include_bytes!("../fixtures/claude.json"),
        TranscriptFormat::Claude,
        &[
            "1:m-1 3|2026-02-01T09:00:01.5Z|user|When does the train to Porto leave?|-2",
            "1:m-2 4|2026-02-01T09:00:09Z|assistant|Let me look.//At 07:39.|-3",
            "1:m-3 5|2026-02-01T09:01:00Z|user|I always sit by the window.",
            "1:m-4 6 Tool",
            "1:m-5 7 NotText",
            "2:n-1 10 OtherBranch",
            "2:n-2 11 OtherBranch",
            "2:n-1b 12|2026-06-01T09:01:00Z|user|My sister's name is Ida.",
            "2:n-2b 13|2026-06-01T09:01:05Z|assistant|Hello to Ida.",
        ],
    );
}

#[test]
fn claude_with_missing_fields_and_links_reports_each_message() {
    expect(
        include_bytes!("../fixtures/claude_hostile.json"),
        TranscriptFormat::Claude,
        &[
            "1:- 1 Malformed",
            "2:- 2 MissingField(\"chat_messages\")",
            "3:- 3 Malformed",
            "4:top 5|-|user|first",
            "4:unlinked 6|-|assistant|second",
            "4:leaf 7|-|user|third",
            "4:beside 8 OtherBranch",
            "4:orphan 9 Detached",
            "4:round 10 Detached",
            "4:- 11 Malformed",
            "4:mute 12 MissingField(\"sender\")",
            "4:void 13 MissingField(\"text\")",
            "4:wrong 14 InvalidField(\"text\")",
            "4:leaf 15 OtherBranch",
        ],
    );
}

#[test]
fn claude_code_gives_what_was_said_and_not_what_tools_did() {
    expect(
        include_bytes!("../fixtures/claude_code.jsonl"),
        TranscriptFormat::ClaudeCode,
        &[
            "- 1 Bookkeeping",
            "- 2 Bookkeeping",
            "u-0 3 Hidden",
            "u-0b 4 Tool",
            "u-1 5|2026-03-01T10:00:01Z|user|I prefer small functions. Please fix the parser.",
            "u-2 6 Thinking",
            "u-3 7|2026-03-01T10:00:04Z|assistant|I'll read the parser first.",
            "u-4 8 Tool",
            "u-5 9 Tool",
            "- 10 Bookkeeping",
            "u-6 11|2026-03-01T10:00:06.1Z|user|and add a test",
            "u-6b 12 Bookkeeping",
            "u-7 13 Sidechain",
            "u-8 14 System",
            "u-8b 15 Bookkeeping",
            "u-8c 16 System",
            "u-8d 17 System",
            "u-9 18|2026-03-01T10:00:09Z|user|It looks like this.|-2",
            "u-10 19|2026-03-01T10:00:10Z|assistant|Done.//Both tests pass.",
        ],
    );
}

#[test]
fn spec_2_6_what_an_editor_or_another_session_adds_is_not_the_users() {
    let said = [
        r#"[{"type":"text","text":"<ide_opened_file>a.rs</ide_opened_file>"},{"type":"text","text":"Explain it."}]"#,
        r#"[{"type":"text","text":"<ide_selection>fn main()</ide_selection>"}]"#,
        r#""<teammate-message teammate_id=\"lead\">Do it.</teammate-message>""#,
        r#""Another Claude session sent a message:\n<teammate-message>Done.</teammate-message>""#,
    ];
    let lines = said.iter().enumerate().map(|(at, content)| {
        let message = format!(r#"{{"role":"user","content":{content}}}"#);
        format!(r#"{{"type":"user","sessionId":"s","uuid":"u-{at}","message":{message}}}"#)
    });
    let file: Vec<String> = lines.collect();
    let expected = [
        "u-0 1|-|user|Explain it.|-1",
        "u-1 2 System",
        "u-2 3 Sidechain",
        "u-3 4 Sidechain",
    ];
    let format = TranscriptFormat::ClaudeCode;
    expect(file.join("\n").as_bytes(), format, &expected);
}

#[test]
fn codex_gives_what_was_said_and_not_what_the_model_was_sent() {
    expect(
        include_bytes!("../fixtures/codex.jsonl"),
        TranscriptFormat::Codex,
        &[
            "- 1 Bookkeeping",
            "- 2 System",
            "- 3 System",
            "2026-03-01T10:00:02.000Z user f2609678313cfe2b 4|2026-03-01T10:00:02Z|user|I prefer small functions. Please fix the parser.",
            "- 5 Thinking",
            "- 6 System",
            "- 7 System",
            "2026-03-01T10:00:05.000Z assistant b083439a5ccad258 8|2026-03-01T10:00:05Z|assistant|Done./Both tests pass.",
            "- 9 Bookkeeping",
            // As later versions write it.
            "2026-11-23T09:42:18.761Z user 7929fcf8abeb27ca 10|2026-11-23T09:42:18.761Z|user|What does Marta prefer?|-1",
            "- 11 Thinking",
            "- 12 Tool",
            "2026-11-23T09:42:18.816Z assistant 489413b524c19f1f 13|2026-11-23T09:42:18.816Z|assistant|Linen thread.",
        ],
    );
}

#[test]
fn codex_gives_both_of_two_messages_of_one_time_and_one_that_is_written_twice_once() {
    let line = |text: &str| {
        format!(
            r#"{{"timestamp":"2026-03-01T10:00:02.000Z","type":"event_msg","payload":{{"type":"user_message","message":"{text}"}}}}"#
        )
    };
    let file = [line("Kai sails."), line("Kai cooks."), line("Kai sails.")].join("\n");
    let at = "2026-03-01T10:00:02Z|user";
    let (sails, cooks) = (
        "2026-03-01T10:00:02.000Z user d78e6d3f79c9778f",
        "2026-03-01T10:00:02.000Z user 4fc8b28d8bfe947e",
    );
    expect(
        file.as_bytes(),
        TranscriptFormat::Codex,
        &[
            &format!("{sails} 1|{at}|Kai sails."),
            &format!("{cooks} 2|{at}|Kai cooks."),
            "- 3 DuplicateId",
        ],
    );
    // The same from any line of the file on.
    expect(
        line("Kai cooks.").as_bytes(),
        TranscriptFormat::Codex,
        &[&format!("{cooks} 1|{at}|Kai cooks.")],
    );
}

#[test]
fn copilot_gives_what_was_typed_and_not_what_was_put_beside_it() {
    expect(
        include_bytes!("../fixtures/copilot.jsonl"),
        TranscriptFormat::Copilot,
        &[
            "- 1 Bookkeeping",
            "- 2 Bookkeeping",
            "- 3 System",
            "e-4 4|2026-11-23T12:24:19Z|user|Which thread does Marta prefer?",
            "- 5 Bookkeeping",
            "- 6 Empty",
            "- 7 Tool",
            "- 8 Sidechain",
            "- 9 Thinking",
            "- 10 Hidden",
            "e-11 11|2026-11-23T12:24:23Z|assistant|Linen thread.",
            "- 12 MissingField(\"content\")",
        ],
    );
}

#[test]
fn gemini_gives_each_message_once_without_what_hooks_put_beside_it() {
    expect(
        include_bytes!("../fixtures/gemini.jsonl"),
        TranscriptFormat::Gemini,
        &[
            "- 1 Bookkeeping",
            "- 2 Bookkeeping",
            "- 3 System",
            "g-2 4|2026-11-23T12:24:19Z|user|Which thread does Marta prefer?",
            "- 5 Empty",
            "- 6 Empty",
            "- 7 Tool",
            "- 8 Bookkeeping",
            "g-5 9|2026-11-23T12:24:22Z|assistant|Linen thread.",
            "- 10 DuplicateId",
            "g-6 11|2026-11-23T12:24:23Z|user|And this?|-1",
            "- 12 System",
        ],
    );
}

#[test]
fn spec_2_6_gemini_s_activity_gives_prompts_and_responses_the_oldest_first() {
    let entries = [
        r#"{"header": "Gemini Apps", "title": "Prompted And in winter?", "time": "2026-03-01T10:05:00.123Z", "products": ["Gemini Apps"], "safeHtmlItem": [{"html": "<p>Fern &amp; moss.</p>"}, {"html": "<ul><li>1 &lt; 2</li><li>&#233;</li></ul>"}]}"#,
        r#"{"header": "Gemini Apps", "title": "Used Gemini Apps", "products": ["Gemini Apps"]}"#,
        r#"{"header": "Search", "title": "Searched for ferns", "products": ["Search"]}"#,
        r#"{"header": "Gemini Apps", "title": "Prompted", "imageFile": "a.png"}"#,
        r#"{"header": "Gemini Apps", "title": 5}"#,
        r#"{"header": "Gemini-Apps", "title": "Eingabe: Was wächst im Schatten?", "time": "2026-03-01T10:00:00Z", "safeHtmlItem": [{"html": "<p>Hostas.<br>Ferns.</p>"}]}"#,
    ];
    let file = format!("[\n{}\n]", entries.join(",\n"));
    let expected = [
        "- 3 Bookkeeping",
        "- 4 Bookkeeping",
        "- 6 InvalidField(\"title\")",
        "2026-03-01T10:00:00Z user 1cfdbdd37bbfe31f 7|2026-03-01T10:00:00Z|user|Eingabe: Was wächst im Schatten?",
        "2026-03-01T10:00:00Z assistant dc59ff68bf3de591 7|2026-03-01T10:00:00Z|assistant|Hostas./Ferns.",
        "- 5 NotText",
        "2026-03-01T10:05:00.123Z user 8f2e7682950bed3f 2|2026-03-01T10:05:00.123Z|user|And in winter?",
        "2026-03-01T10:05:00.123Z assistant 1af3de82aee3807a 2|2026-03-01T10:05:00.123Z|assistant|Fern & moss.//- 1 < 2/- é",
    ];
    expect(file.as_bytes(), TranscriptFormat::GeminiTakeout, &expected);
    // What comes before the place at which a file is cut off is read in the same order.
    let cut = lines(&read(&file.as_bytes()[..file.len() - 3]));
    assert_eq!(cut.len(), 8, "{cut:?}");
    assert_eq!(cut[..2], expected[..2]);
    assert_eq!(cut[5..7], expected[6..]);
}

#[test]
fn spec_2_6_a_held_prompt_of_gemini_s_activity_counts_with_more_than_its_text() {
    let entry = |number: u32| format!(r#"{{"header": "Gemini", "title": "Prompted {number}"}}"#);
    let entries: Vec<String> = (0..9).rev().map(entry).collect();
    let file = format!("[{}]", entries.join(","));
    let limits = TranscriptLimits {
        conversation_bytes: 1 << 10,
        ..TranscriptLimits::default()
    };
    let format = Some(TranscriptFormat::GeminiTakeout);
    let items = read_within(file.as_bytes(), format, limits);
    let texts = items.iter().filter_map(|item| match item {
        Ok(Item::Message(message)) => Some(message.text.expose()),
        _ => None,
    });
    assert_eq!(texts.collect::<String>(), "567812340");
}

#[test]
fn claude_code_with_broken_lines_gives_the_others() {
    expect(
        include_bytes!("../fixtures/claude_code_hostile.jsonl"),
        TranscriptFormat::ClaudeCode,
        &[
            "k-1 1|-|user|a good line",
            "- 3 Malformed",
            "k-2 4 MissingField(\"message\")",
            "k-3 5 MissingField(\"content\")",
            "k-4 6 MissingField(\"type\")",
            "k-1 7|-|user|a good line, written twice",
            "k-5 8 Empty",
            "k-6 9 Malformed",
            "# 10|-|user|no identifier",
            "- 11 Malformed",
            "- 12 Malformed",
        ],
    );
}

#[test]
fn messages_come_with_identifiers_or_get_their_own() {
    expect(
        include_bytes!("../fixtures/messages.json"),
        TranscriptFormat::Messages,
        &[
            "1 2|2026-03-01T09:00:00Z|Mina|I moved to Lisbon. /In February.",
            "2 3|-|Evan|Since when do you like rain?",
            "# 4|-|Mina|Since always.",
            "# 5|-|Mina|Since always.",
        ],
    );
    expect(
        include_bytes!("../fixtures/messages.jsonl"),
        TranscriptFormat::Messages,
        &[
            "1 1|2026-03-01T00:00:00Z|Mina|one",
            "- 3 Malformed",
            "3 4|-|Evan|three",
        ],
    );
    let array = br#" [{"id": "1", "speaker": "Mina", "text": "one"}] "#;
    expect(array, TranscriptFormat::Messages, &["1 1|-|Mina|one"]);
}

#[test]
fn messages_that_are_broken_cost_themselves_only() {
    expect(
        include_bytes!("../fixtures/messages_hostile.json"),
        TranscriptFormat::Messages,
        &[
            "1 2|-|Mina|one",
            "1 3|-|Mina|the same identifier",
            "2 4 MissingField(\"text\")",
            "3 5 MissingField(\"speaker\")",
            "4 6 InvalidField(\"text\")",
            "5 7 InvalidField(\"at\")",
            "- 8 InvalidField(\"id\")",
            "6 9 Empty",
            "7 10 Malformed",
            "- 11 Malformed",
            "8 12|-|Mina|two",
            "- 13 InvalidField(\"messages\")",
            "! the file is broken (line 13, byte 586)",
        ],
    );
}

#[test]
fn plain_text_is_read_by_speakers_or_by_paragraphs() {
    expect(
        include_bytes!("../fixtures/text.txt"),
        TranscriptFormat::Text,
        &[
            "# 1|2026-03-01T10:00:00Z|Mina|I moved to Lisbon./It rains a lot.//But I like it.",
            "# 5|-|Evan|Since when?",
            "- 6 Empty",
            "# 8|2026-03-01T10:05:00Z|Evan|Hello?",
        ],
    );
    expect(
        include_bytes!("../fixtures/diary.txt"),
        TranscriptFormat::Text,
        &[
            "# 1|-||Today it rained./All day.",
            "# 4|-||I read: two books.",
            "# 7|-||Tomorrow I travel.",
        ],
    );
    expect(b" \r\n\n", TranscriptFormat::Text, &[]);
    expect(b"", TranscriptFormat::Text, &[]);
}

#[test]
fn spec_2_6_identifiers_are_the_same_at_every_reading_and_when_a_file_grows() {
    let identifiers = |text: &str| -> Vec<String> {
        let items = read(text.as_bytes());
        let message = |item| match item {
            Ok(Item::Message(message)) => Some(message.id.into_exposed()),
            _ => None,
        };
        items.into_iter().filter_map(message).collect()
    };
    let text = "Mina: hello\nEvan: hello\nMina: hello\n";
    let first = identifiers(text);
    assert_eq!(first.len(), 3);
    assert_ne!(first[0], first[2]);
    assert_eq!(identifiers(text), first);
    assert_eq!(identifiers(&format!("{text}Evan: bye\n"))[..3], first);
    let lines = "{\"speaker\":\"a\",\"text\":\"b\"}\n".repeat(2);
    assert_eq!(identifiers(&lines), identifiers(&lines));
}

#[test]
fn spec_5_1_what_is_printed_of_a_file_holds_no_words_of_it() {
    let files: [&[u8]; 3] = [
        include_bytes!("../fixtures/chatgpt_hostile.json"),
        include_bytes!("../fixtures/messages_hostile.json"),
        include_bytes!("../fixtures/claude_code.jsonl"),
    ];
    for bytes in files {
        let items = read(bytes);
        let mut report = TranscriptReport::default();
        for item in items.iter().flatten() {
            report.note(item);
        }
        let printed = format!("{items:?} {report} {report:?}");
        for word in [
            "Mina",
            "identifier",
            "circle",
            "second root",
            "another",
            "prefer",
            "u-1",
            "s-1",
        ] {
            assert!(!printed.contains(word), "{word} is in {printed}");
        }
    }
}

#[test]
fn a_report_counts_what_was_passed_over_and_names_what_was_lost() {
    let mut report = TranscriptReport::default();
    let bytes = include_bytes!("../fixtures/claude_hostile.json");
    for item in read(bytes).iter().flatten() {
        report.note(item);
    }
    assert_eq!((report.messages, report.lost()), (3, 9));
    let printed = report.to_string();
    assert!(
        printed.starts_with("3 messages\n2 passed over: on a branch that was left\n"),
        "{printed}"
    );
    assert!(
        printed.ends_with("conversation 4, line 14, byte 944: `text` cannot be read"),
        "{printed}"
    );
    assert_eq!(lines(&[]), Vec::<String>::new());
}

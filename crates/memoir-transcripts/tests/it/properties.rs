//! Properties of any file.

use std::{fmt::Write, ops::ControlFlow};

use memoir_transcripts::{
    FilePosition, Item, TranscriptFormat, TranscriptLimits, TranscriptReader,
};
use proptest::{prelude::*, sample::select};

use crate::{read, read_within};

fn place(item: &Item) -> &FilePosition {
    match item {
        Item::Message(message) => &message.place,
        Item::Skipped { place, .. } => place,
    }
}

/// The positions of the items of a readable file, in the order of the file.
fn bytes(items: &[Item]) -> Vec<u64> {
    let mut bytes: Vec<u64> = items.iter().map(|item| place(item).byte).collect();
    bytes.sort_unstable();
    bytes
}

fn whole(json: &str) -> Vec<Item> {
    let items = read(json.as_bytes());
    items
        .into_iter()
        .map(|item| item.unwrap_or_else(|error| panic!("{error}: {json}")))
        .collect()
}

/// Parents of up to eight nodes: one of them, none, a missing one, or no field at all.
fn links() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(0_usize..11, 1..8)
}

fn parent(link: usize) -> String {
    match link {
        8 => "null".to_owned(),
        9 => "\"gone\"".to_owned(),
        _ => format!("\"n{link}\""),
    }
}

fn chatgpt_message(kind: usize) -> &'static str {
    [
        r#"{"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["said"]}}"#,
        r#"{"author": {"role": "tool"}, "content": {"content_type": "text", "parts": ["result"]}}"#,
        r#"{"author": {"role": "assistant"}, "create_time": 5, "content": {"content_type": "text", "parts": ["answered"]}}"#,
        r#"{"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": [""]}}"#,
        r#"{"author": 4}"#,
        "null",
        "[]",
    ][kind]
}

/// The components of such files.
fn pieces() -> Vec<&'static str> {
    let joined = r#"{ } [ ] : , " \ null true 1 1e999 "a" "id": "messages": "mapping": "chat_messages": "parent":
        "type":"user" "message": "content": "speaker":"a" "text":"b" "uuid":"u" "current_node": \ud83d [2026-03-01]"#;
    let mut pieces: Vec<&str> = joined.split_whitespace().collect();
    pieces.extend(["\n", "\r\n", " ", "Mina: ", "\u{FEFF}", "é", "\u{0}"]);
    pieces
}

fn formats() -> impl Strategy<Value = Option<TranscriptFormat>> {
    prop_oneof![
        Just(None),
        select(TranscriptFormat::ALL.to_vec()).prop_map(Some)
    ]
}

fn limits() -> impl Strategy<Value = TranscriptLimits> {
    prop_oneof![
        Just(TranscriptLimits::default()),
        (0_usize..40, 0_usize..20).prop_map(|(conversation_bytes, message_bytes)| {
            TranscriptLimits {
                conversation_bytes,
                message_bytes,
            }
        }),
    ]
}

/// Reads to the end, which must come: each piece of the file is read a bounded number of times.
fn ends(
    bytes: &[u8],
    format: Option<TranscriptFormat>,
    limits: TranscriptLimits,
) -> Result<(), TestCaseError> {
    let Ok(transcript) = TranscriptReader::open_within(bytes, format, limits) else {
        return Ok(());
    };
    let most = 2 * bytes.len() + 2;
    let (mut count, mut is_inside) = (0, true);
    let _ = transcript.read(&mut |item| {
        count += 1;
        is_inside &= place(&item).byte <= bytes.len() as u64;
        match is_inside && count <= most {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    prop_assert!(is_inside && count <= most, "{count}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_tree_of_chatgpts_is_reported_node_by_node(
        links in links(),
        kinds in proptest::collection::vec(0_usize..7, 8),
        current in 0_usize..11,
    ) {
        let mut json = format!("[{{\"current_node\": {}, \"mapping\": {{", parent(current));
        let mut starts = Vec::new();
        for (at, link) in links.iter().enumerate() {
            json.push_str(if at == 0 { "\n" } else { ",\n" });
            starts.push(json.len() as u64);
            let message = chatgpt_message(kinds[at]);
            write!(json, "\"n{at}\": {{\"message\": {message}").unwrap();
            if *link < 10 {
                write!(json, ", \"parent\": {}", parent(*link)).unwrap();
            }
            json.push('}');
        }
        json.push_str("}}]");
        prop_assert_eq!(bytes(&whole(&json)), starts);
    }

    #[test]
    fn any_conversation_of_claudes_is_reported_message_by_message(
        links in links(),
        kinds in proptest::collection::vec(0_usize..5, 8),
        current in 0_usize..11,
    ) {
        let mut json = format!("[{{\"current_leaf_message_uuid\": {}, \"chat_messages\": [", parent(current));
        let mut starts = Vec::new();
        for (at, link) in links.iter().enumerate() {
            json.push_str(if at == 0 { "\n" } else { ",\n" });
            starts.push(json.len() as u64);
            let said = [
                r#""sender": "human", "text": "said""#,
                r#""sender": "assistant", "content": [{"type": "tool_use"}]"#,
                r#""sender": "assistant", "content": [{"type": "text", "text": "answered"}]"#,
                r#""sender": 5"#,
                r#""text": """#,
            ][kinds[at]];
            write!(json, "{{\"uuid\": \"n{}\", {said}", at % 6).unwrap();
            if *link < 10 {
                write!(json, ", \"parent_message_uuid\": {}", parent(*link)).unwrap();
            }
            json.push('}');
        }
        json.push_str("]}]");
        prop_assert_eq!(bytes(&whole(&json)), starts);
    }

    #[test]
    fn every_line_that_is_not_blank_is_in_one_message(
        lines in proptest::collection::vec("(|Mina: |user: |\\[2026-03-01\\] |Evan \\[2026-03-01\\]: )(|[a-z]{1,3})", 0..12),
    ) {
        let numbered: Vec<String> = lines.iter().enumerate().map(|(at, line)| {
            if line.is_empty() || line.ends_with(' ') { line.clone() } else { format!("{line} w{at}w") }
        }).collect();
        let items = read_within(numbered.join("\n").as_bytes(), Some(TranscriptFormat::Text), TranscriptLimits::default());
        let mut told = String::new();
        for item in items.into_iter().flatten() {
            if let Item::Message(message) = item {
                writeln!(told, "{}", message.text.expose()).unwrap();
            }
        }
        for (at, line) in numbered.iter().enumerate() {
            let word = format!("w{at}w");
            prop_assert_eq!(told.matches(&word).count(), usize::from(line.contains(&word)));
        }
    }

    #[test]
    fn any_bytes_come_to_an_end(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        format in formats(),
        limits in limits(),
    ) {
        ends(&bytes, format, limits)?;
    }

    #[test]
    fn any_pieces_of_json_and_text_come_to_an_end(
        pieces in proptest::collection::vec(select(pieces()), 0..60),
        format in formats(),
        limits in limits(),
    ) {
        ends(pieces.concat().as_bytes(), format, limits)?;
    }

    #[test]
    fn a_file_with_any_bytes_changed_comes_to_an_end(
        file in select(vec![
            &include_bytes!("../fixtures/chatgpt.json")[..],
            include_bytes!("../fixtures/chatgpt_hostile.json"),
            include_bytes!("../fixtures/claude.json"),
            include_bytes!("../fixtures/claude_code.jsonl"),
            include_bytes!("../fixtures/messages.json"),
        ]),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), select(b"{}[]\",:\\0 \n\xFF".to_vec())), 1..5),
        limits in limits(),
    ) {
        let mut bytes = file.to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        ends(&bytes, None, limits)?;
    }
}

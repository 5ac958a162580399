//! Files in the real shapes of each format, sound and hostile, and their items.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod fixtures;
mod hostile;
mod packed;
mod properties;
mod raw;

use std::{io::Read, ops::ControlFlow};

use memoir_transcripts::{Error, Item, TranscriptFormat, TranscriptLimits, TranscriptReader};

/// All items of `bytes`, whose format is recognised.
fn read(bytes: &[u8]) -> Vec<Result<Item, Error>> {
    read_within(bytes, None, TranscriptLimits::default())
}

fn read_within(
    bytes: &[u8],
    format: Option<TranscriptFormat>,
    limits: TranscriptLimits,
) -> Vec<Result<Item, Error>> {
    match TranscriptReader::open_within(bytes, format, limits) {
        Ok(transcript) => items(transcript),
        Err(error) => vec![Err(error)],
    }
}

/// The items, and behind them why the file cannot be read on.
fn items(transcript: TranscriptReader<impl Read>) -> Vec<Result<Item, Error>> {
    let mut items = Vec::new();
    let read = transcript.read(&mut |item| {
        items.push(Ok(item));
        ControlFlow::Continue(())
    });
    items.extend(read.err().map(Err));
    items
}

/// One line for each item: its position, and its kind.
fn lines(items: &[Result<Item, Error>]) -> Vec<String> {
    items.iter().map(line).collect()
}

fn line(item: &Result<Item, Error>) -> String {
    match item {
        Ok(Item::Message(message)) => {
            let at = message.at.map_or("-".to_owned(), |at| at.to_string());
            let id = place_id(&message.place);
            let left_out = message.left_out;
            format!(
                "{id} {}|{at}|{}|{}{}",
                message.place.line,
                message.speaker.expose(),
                message.text.expose().replace('\n', "/"),
                if left_out > 0 {
                    format!("|-{left_out}")
                } else {
                    String::new()
                }
            )
        }
        Ok(Item::Skipped { place, reason }) => {
            format!("{} {} {reason:?}", place_id(place), place.line)
        }
        Err(error) => format!("! {error}"),
    }
}

fn place_id(place: &memoir_transcripts::FilePosition) -> String {
    let id = place
        .id
        .as_ref()
        .map_or("-".to_owned(), |id| id.expose().to_owned());
    let is_digest = id.len() == 32 && id.chars().all(|digit| digit.is_ascii_hexdigit());
    let id = if is_digest { "#".to_owned() } else { id };
    place
        .conversation
        .map_or(id.clone(), |conversation| format!("{conversation}:{id}"))
}

/// Reads `bytes`, whose format must be recognised as `format`.
fn expect(bytes: &[u8], format: TranscriptFormat, expected: &[&str]) {
    assert_eq!(
        TranscriptReader::open(bytes, None).unwrap().format(),
        format
    );
    assert_eq!(lines(&read(bytes)), expected);
}

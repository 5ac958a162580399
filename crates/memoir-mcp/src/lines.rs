//! The lines that a client sends over standard input, held to a length: one that is over it is answered, and not
//! kept.

use std::io;

use rmcp::{
    ErrorData,
    model::{CustomRequest, CustomResult},
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};

/// Most bytes of one message: more than a tool needs for the longest that it takes.
pub(crate) const LINE_BYTES: usize = 4 << 20;
/// How much of either end of a line that is too long is looked through for its identifier.
// Programs write the identifier first or last. The middle may be somebody's words, in which `"id"` means
// nothing.
const END_BYTES: usize = 4 << 10;
/// What stands in the place of a message that was too long.
const TOO_LONG: &str = "memoir/too_long";

/// Passes the lines on until the input ends. In the place of one that is too long comes a short request of the same
/// identifier, which [`answer`] answers.
pub(crate) async fn pass(
    mut input: impl AsyncBufRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    loop {
        let mut line = Vec::new();
        let mut end = Vec::new();
        let has_ended = loop {
            let read = input.fill_buf().await?;
            if read.is_empty() {
                break true;
            }
            let (taken, is_whole) = match read.iter().position(|byte| *byte == b'\n') {
                Some(place) => (place + 1, true),
                None => (read.len(), false),
            };
            let room = LINE_BYTES.saturating_sub(line.len()).min(taken);
            line.extend_from_slice(&read[..room]);
            end.extend_from_slice(&read[room..taken]);
            // What is over the limit goes as it comes, so that a line without an end needs no memory.
            let before = end.len().saturating_sub(END_BYTES);
            end.drain(..before);
            input.consume(taken);
            if is_whole {
                break false;
            }
        };
        if end.is_empty() {
            output.write_all(&line).await?;
        } else {
            let head = &line[..END_BYTES.min(line.len())];
            // A notification is answered by nothing, whatever its length.
            if let Some(id) = id_in(head).or_else(|| id_in(&end)) {
                let request = json!({"jsonrpc": "2.0", "id": id, "method": TOO_LONG});
                output.write_all(format!("{request}\n").as_bytes()).await?;
            }
        }
        output.flush().await?;
        if has_ended {
            return Ok(());
        }
    }
}

/// The first identifier in a piece of a message: a number, or a short text.
fn id_in(piece: &[u8]) -> Option<Value> {
    const NAME: &[u8] = b"\"id\"";
    let place = piece.windows(NAME.len()).position(|found| found == NAME)?;
    let rest = piece[place + NAME.len()..].trim_ascii_start();
    let rest = rest.strip_prefix(b":")?.trim_ascii_start();
    // One value and no more: the piece ends anywhere.
    let id = serde_json::Deserializer::from_slice(rest)
        .into_iter::<Value>()
        .next()?
        .ok()?;
    (id.is_i64() || id.is_u64() || id.is_string()).then_some(id)
}

/// The answer to a request that is none of the protocol's, or that cannot be read as one of them.
pub(crate) fn answer(request: &CustomRequest) -> Result<CustomResult, ErrorData> {
    Err(match request.method.as_str() {
        TOO_LONG => ErrorData::invalid_request(
            format!("the message is over the limit of {LINE_BYTES} bytes; send it in parts"),
            None,
        ),
        "tools/call" => ErrorData::invalid_params(
            "a tool is called with `name`, a text, and `arguments`, an object such as {\"content\": \"…\"}, not a \
             list",
            None,
        ),
        _ => ErrorData::new(
            rmcp::model::ErrorCode::METHOD_NOT_FOUND,
            "there is no such method",
            None,
        ),
    })
}

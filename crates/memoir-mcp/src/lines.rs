//! Prepares a client's messages for the protocol: repairs parts that are no text, limits the length, and ensures a
//! response to each. An unreadable message gets its response here, with the identifier that can be read of it.

use std::io;

use memoir_domain::{mend, tools::read_arguments};
use rmcp::{
    ErrorData,
    model::{
        ClientJsonRpcMessage, ClientRequest, CustomRequest, CustomResult, JsonRpcMessage,
        ProtocolVersion,
    },
};
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt},
    sync::mpsc,
};

/// Most bytes of one message: more than a tool needs for the longest that it takes.
pub(crate) const LINE_BYTES: usize = 4 << 20;
/// How much of either end of a line that is too long is searched for its identifier.
// Programs write the identifier first or last.
const END_BYTES: usize = 4 << 10;

const CALL: &str = "tools/call";
/// The method that begins a connection.
const BEGIN: &str = "initialize";
/// Those that may come before it.
const BEFORE: [&str; 2] = ["ping", "server/discover"];

/// What a client sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Received {
    /// A message of the protocol, as JSON on one line.
    Message(String),
    /// Invalid; the response to it, as JSON.
    Refused(Value),
}

/// The messages on a line, mended where a part is no text (SPEC 2.1): one, none where it is blank, or several, as
/// programs write them that forget to end a line.
fn read_line(line: &[u8]) -> Vec<Received> {
    let text = mend::json(line);
    let text = text.as_ref();
    let mut received = Vec::new();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    loop {
        let start = values.byte_offset();
        match values.next() {
            None => return received,
            Some(Ok(_)) => received.push(message(text[start..values.byte_offset()].trim())),
            Some(Err(error)) => {
                let id = id_of(&text.as_bytes()[start..]);
                let column = error.column();
                let problem = format!("the message is not valid JSON: byte {column} of the line");
                let refused = refusal(id, &ErrorData::parse_error(problem, None));
                received.push(Received::Refused(refused));
                return received;
            }
        }
    }
}

/// The one message of a request over HTTP, mended as those on a line.
///
/// # Errors
/// The response, if it is none or there are several.
pub fn read_body(body: &[u8]) -> Result<String, Value> {
    let mut received = read_line(body);
    match (received.pop(), received.is_empty()) {
        (Some(Received::Message(message)), true) => Ok(message),
        (Some(Received::Refused(refused)), true) => Err(refused),
        (Some(_), false) => {
            let several = "a request takes one message; send each in a request of its own";
            let id = id_of(body);
            Err(refusal(id, &ErrorData::parse_error(several, None)))
        }
        (None, _) => {
            let empty = "the request is empty; send a message as JSON";
            Err(refusal(None, &ErrorData::parse_error(empty, None)))
        }
    }
}

fn message(json: &str) -> Received {
    let read = serde_json::from_str::<ClientJsonRpcMessage>(json);
    if is_misread(&read)
        && let Some(mended) = mended(json)
    {
        return Received::Message(mended);
    }
    let is_message = read.is_ok();
    let value = match is_message {
        true => Value::Null,
        false => serde_json::from_str(json).unwrap_or_default(),
    };
    // A notification gets no response.
    if is_message || (value["method"].is_string() && value.get("id").is_none()) {
        // On one line: white space between the parts may hold line breaks where it came over HTTP.
        return Received::Message(json.replace(['\n', '\r'], " "));
    }
    let id = value.get("id").filter(|id| is_id(id)).cloned();
    let wrong = "this is no message of the protocol; it is an object with `jsonrpc`, `id`, `method` and `params`";
    Received::Refused(refusal(id, &ErrorData::invalid_request(wrong, None)))
}

/// Whether it is a request whose parameters are not of the form of its method: the protocol's library then takes it for
/// one of a method that it does not know.
fn is_misread(read: &serde_json::Result<ClientJsonRpcMessage>) -> bool {
    let Ok(JsonRpcMessage::Request(request)) = read else {
        return false;
    };
    matches!(&request.request, ClientRequest::CustomRequest(custom)
        if [CALL, BEGIN].contains(&custom.method.as_str()))
}

/// The message of a known method in the form of the protocol, where a client departs from that in a known way: a tool's
/// arguments as a text (SPEC 3.8), or a beginning that leaves out who begins. `None` for any other one.
fn mended(json: &str) -> Option<String> {
    let mut message: Value = serde_json::from_str(json).ok()?;
    let method = message["method"].as_str()?.to_owned();
    if message["params"].is_null() {
        message["params"] = json!({});
    }
    let parameters = message["params"].as_object_mut()?;
    match method.as_str() {
        CALL => {
            let arguments = parameters.get_mut("arguments")?;
            *arguments = read_arguments(arguments)?.into_owned().into();
        }
        _ => {
            let version = ProtocolVersion::LATEST_WITH_INITIALIZE.to_string();
            fill(parameters, "protocolVersion", version.into());
            fill(parameters, "capabilities", json!({}));
            fill(parameters, "clientInfo", json!({}));
            let client = parameters["clientInfo"].as_object_mut()?;
            fill(client, "name", "unknown".into());
            fill(client, "version", "unknown".into());
        }
    }
    Some(message.to_string())
}

/// Sets a field that is missing or blank.
fn fill(object: &mut Map<String, Value>, name: &str, value: Value) {
    if object.get(name).is_none_or(is_blank) {
        object.insert(name.to_owned(), value);
    }
}

/// Null, an empty text, and an empty list, as which some languages write an empty object.
fn is_blank(value: &Value) -> bool {
    value.is_null() || *value == json!("") || *value == json!([])
}

fn refusal(id: Option<Value>, error: &ErrorData) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

/// Reads a line, of which no more than the longest message is kept. Returns its messages, and whether the input has
/// ended.
///
/// # Errors
/// The input cannot be read.
pub async fn read_messages(
    input: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<(Vec<Received>, bool)> {
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
    let received = match end.is_empty() {
        true => read_line(&line),
        false => too_long(&line, &end),
    };
    Ok((received, has_ended))
}

/// The method of a request; `None` where the message is none.
fn requested(message: &str) -> Option<String> {
    let message: Value = serde_json::from_str(message).ok()?;
    message.get("id")?;
    message["method"].as_str().map(str::to_owned)
}

/// Passes the messages on until the input ends, and sends the responses to invalid ones.
pub(crate) async fn pass(
    mut input: impl AsyncBufRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    answers: mpsc::Sender<Value>,
) -> io::Result<()> {
    let mut has_begun = false;
    loop {
        let (received, has_ended) = read_messages(&mut input).await?;
        for one in received {
            match one {
                Received::Message(message) => {
                    if !has_begun {
                        // Anything else would end the connection, with an error that quotes it.
                        let Some(method) = requested(&message) else {
                            continue;
                        };
                        has_begun = !BEFORE.contains(&method.as_str());
                    }
                    output.write_all(message.as_bytes()).await?;
                    output.write_all(b"\n").await?;
                }
                // If the client reads no responses any more, the connection ends by itself.
                Received::Refused(answer) => drop(answers.send(answer).await),
            }
        }
        output.flush().await?;
        if has_ended {
            return Ok(());
        }
    }
}

/// Writes the lines of `input` and the responses, each whole, until both have ended.
pub(crate) async fn write(
    mut input: impl AsyncBufRead + Unpin,
    mut answers: mpsc::Receiver<Value>,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let (mut is_read, mut is_answered) = (false, false);
    // Kept between the rounds: a partly read line continues where it stopped.
    let mut line = Vec::new();
    while !(is_read && is_answered) {
        tokio::select! {
            read = input.read_until(b'\n', &mut line), if !is_read => {
                is_read = read? == 0 || !line.ends_with(b"\n");
                output.write_all(&line).await?;
                line.clear();
            }
            answer = answers.recv(), if !is_answered => match answer {
                Some(answer) => output.write_all(format!("{answer}\n").as_bytes()).await?,
                None => is_answered = true,
            },
        }
        output.flush().await?;
    }
    Ok(())
}

/// The response to a message that is over the limit. A notification gets none, whatever its length.
fn too_long(line: &[u8], end: &[u8]) -> Vec<Received> {
    let head = &line[..END_BYTES.min(line.len())];
    let problem = format!("the message is over the limit of {LINE_BYTES} bytes; send it in parts");
    let error = ErrorData::invalid_request(problem, None);
    let id = id_ahead(head).unwrap_or_default();
    let id = id.or_else(|| id_behind(end));
    let refused = id.map(|id| Received::Refused(refusal(Some(id), &error)));
    refused.into_iter().collect()
}

/// The identifier of a message that is broken somewhere.
fn id_of(json: &[u8]) -> Option<Value> {
    let end = &json[json.len().saturating_sub(END_BYTES)..];
    id_ahead(json).unwrap_or_else(|UnendedString| id_behind(end))
}

const ID: &[u8] = b"\"id\"";

/// A string that does not end: the fields behind its beginning cannot be followed.
struct UnendedString;

/// Looks for the identifier among the fields at the beginning of a message, as far as it can be parsed. Those of nested
/// objects belong to words or arguments.
fn id_ahead(json: &[u8]) -> Result<Option<Value>, UnendedString> {
    let (mut at, mut depth) = (0, 0_u64);
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => {
                let length = string_length(&json[at..]).ok_or(UnendedString)?;
                if depth == 1
                    && json[at..at + length] == *ID
                    && let Some((id, _)) = value_after(&json[at + length..])
                {
                    return Ok(Some(id));
                }
                at += length;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    Ok(None)
}

/// How long the string at the beginning is, with its quotation marks; `None` where it does not end.
fn string_length(json: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match json.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The identifier that is the last field of a message.
fn id_behind(end: &[u8]) -> Option<Value> {
    let place = end.windows(ID.len()).rposition(|found| found == ID)?;
    let (id, rest) = value_after(&end[place + ID.len()..])?;
    (rest.trim_ascii() == b"}").then_some(id)
}

/// An identifier after the colon, and what follows it.
fn value_after(rest: &[u8]) -> Option<(Value, &[u8])> {
    let rest = rest.trim_ascii_start().strip_prefix(b":")?;
    let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<Value>();
    let id = values.next()?.ok().filter(is_id)?;
    let after = values.byte_offset();
    Some((id, &rest[after..]))
}

fn is_id(id: &Value) -> bool {
    id.is_i64() || id.is_u64() || id.is_string()
}

/// The response to a request that is not of the protocol, or cannot be read.
pub(crate) fn answer(request: &CustomRequest) -> Result<CustomResult, ErrorData> {
    Err(match request.method.as_str() {
        CALL => ErrorData::invalid_params(
            "a tool is called with `name`, a text, and `arguments`, an object such as {\"content\": \"…\"}, not a \
             list",
            None,
        ),
        BEGIN | "tools/list" | "prompts/list" | "prompts/get" | "resources/list"
        | "resources/read" => {
            ErrorData::invalid_params("`params` is not of the form that the method takes", None)
        }
        _ => ErrorData::new(
            rmcp::model::ErrorCode::METHOD_NOT_FOUND,
            "there is no such method",
            None,
        ),
    })
}

#[cfg(test)]
mod tests {
    use memoir_testkit::rows;

    use super::*;

    #[test]
    fn spec_2_1_the_identifier_of_a_broken_message_is_that_of_the_message() {
        let cases = rows(
            r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{ | 7
            {"params":{"id":3,"text":"\"id\":4"},"id":"a",,} | "a"
            {"params":{"text":"a "quoted" word"},"id": 9} | 9
            {"params":{"id":3} | null
            {"params":{"text":"a "quoted word"},"id": 9} | 9
            nothing of the kind | null"#,
        );
        for [broken, id] in cases {
            let received = read_line(broken.as_bytes());
            let [Received::Refused(answer)] = received.as_slice() else {
                panic!("{broken}: {received:?}");
            };
            assert_eq!(answer["id"].to_string(), id, "{broken}");
            assert_eq!(answer["error"]["code"], -32700, "{broken}");
        }
        assert_eq!(read_line(b"  \r\n"), []);
    }
}

//! Lines of a client that no tool can use: each gets a response nevertheless.
#![expect(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "helpers of tests fail the test, and not all of them are used here"
)]

mod client;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

struct Client(BufReader<ReadHalf<DuplexStream>>, WriteHalf<DuplexStream>);

impl Client {
    async fn new() -> Self {
        let begin = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        Self::begun_with(&begin).await
    }

    async fn begun_with(begin: &Value) -> Self {
        let mut client = Self::connected().await;
        client.begin(begin).await;
        client
    }

    /// One that has said nothing yet.
    async fn connected() -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(theirs);
        let agent = client::agent().await;
        tokio::spawn(memoir_mcp::serve_lines(agent, input, output));
        let (from, to) = tokio::io::split(ours);
        Self(BufReader::new(from), to)
    }

    async fn begin(&mut self, begin: &Value) {
        self.ask(0, "initialize", &begin.to_string()).await;
        let begun = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
        self.1.write_all(begun).await.unwrap();
    }

    /// Sends bytes, and reads the next line.
    async fn send(&mut self, bytes: &[u8]) -> Value {
        self.1.write_all(bytes).await.unwrap();
        let mut answer = String::new();
        self.0.read_line(&mut answer).await.unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    async fn ask(&mut self, id: u64, method: &str, parameters: &str) -> Value {
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{parameters}}}\n"
        );
        let answer = self.send(line.as_bytes()).await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// What a tool returns.
    async fn result(&mut self, id: u64, call: &str) -> Value {
        let answer = self.ask(id, "tools/call", call).await;
        answer["result"]["structuredContent"].clone()
    }
}

fn saving(arguments: &str) -> String {
    format!("{{\"name\": \"save_memory\", \"arguments\": {arguments}}}")
}

/// A request to call a tool, without its line end.
fn calling(id: u64, call: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{call}}}")
}

#[tokio::test]
async fn spec_3_8_arguments_as_a_list_are_told_from_a_method_that_is_not_there() {
    let mut client = Client::new().await;
    let answer = client.ask(1, "tools/call", &saving("[1, 2]")).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let told = answer["error"]["message"].as_str().unwrap();
    assert!(told.contains("`arguments`, an object"), "{told}");
    let answer = client.ask(2, "tools/cull", "{}").await;
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    for (id, method, parameters) in [
        (3, "resources/read", "{}"),
        (4, "prompts/get", r#"{"name": 7}"#),
    ] {
        let answer = client.ask(id, method, parameters).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

#[tokio::test]
async fn spec_3_8_arguments_and_lists_come_in_several_forms() {
    let mut client = Client::new().await;
    for (id, tags) in [
        (1, r#"["bees", "hives"]"#),
        (2, r#""[\"bees\",\"hives\"]""#),
        (3, r#""bees, hives""#),
    ] {
        let arguments = format!(r#"{{"content": "Mira has {id} hives.", "tags": {tags}}}"#);
        let saved = client.result(id, &saving(&arguments)).await;
        assert_eq!(saved["tags"], json!(["bees", "hives"]), "{tags}: {saved}");
    }
    // The whole object as a text, and a number and a flag as texts in it.
    let arguments = r#"{"query": "hives", "limit": "2", "explain": "false", "since": null}"#;
    let whole = serde_json::Value::from(arguments).to_string();
    let call = format!(r#"{{"name": "recall_memories", "arguments": {whole}}}"#);
    let found = client.result(4, &call).await;
    assert_eq!(found["count"], 2, "{found}");
    for (id, arguments) in [
        (5, r#""""#),
        (6, "null"),
        (7, r#""{}""#),
        (12, "[]"),
        (13, r#""\"{}\"""#),
        (14, r#"{"max_tokens": ""}"#),
    ] {
        let call = format!(r#"{{"name": "get_context", "arguments": {arguments}}}"#);
        let answer = client.ask(id, "tools/call", &call).await;
        assert_eq!(answer["result"]["isError"], false, "{arguments}: {answer}");
    }
    let messages = json!([{"id": "a", "speaker": "Ann", "text": "Good morning."}]);
    let given = json!({"messages": messages.to_string(), "now": "FALSE"});
    let call = json!({"name": "absorb_transcript", "arguments": given});
    let received = client.result(8, &call.to_string()).await;
    assert_eq!(received["received"], 1, "{received}");
    // What a model leaves blank is left out.
    let blank = r#"{"content": "Ann has a boat.", "kind": "", "tags": "", "source": " ", "origin": "", "created_at": "", "replaces": ""}"#;
    let saved = client.result(15, &saving(blank)).await;
    assert_eq!(saved["kind"], "core", "{saved}");
    let refused = client.result(16, &saving(r#"{"content": " "}"#)).await;
    assert_eq!(refused["code"], "invalid_argument");
    for (id, tags) in [(9, r#"{"a": 1}"#), (10, "[[1]]"), (11, "true")] {
        let arguments = format!(r#"{{"content": "x", "tags": {tags}}}"#);
        let refused = client.result(id, &saving(&arguments)).await;
        assert_eq!(refused["code"], "invalid_argument", "{refused}");
        let told = refused["error"].as_str().unwrap();
        assert!(told.contains("must be a list of texts"), "{told}");
    }
}

#[tokio::test]
async fn spec_3_18_a_client_that_says_little_of_itself_is_served() {
    for begin in [
        json!({"protocolVersion": "2025-06-18", "capabilities": {}}),
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x"}}),
        json!({"protocolVersion": "2025-06-18", "capabilities": null, "clientInfo": null}),
        json!({"protocolVersion": null, "capabilities": {}, "clientInfo": {}}),
        json!({"protocolVersion": "2025-06-18"}),
        json!({"protocolVersion": "2025-06-18", "clientInfo": {"name": "x", "version": "1"}}),
        json!({"capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"version": "1"}}),
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": null, "version": null}}),
        json!({"protocolVersion": "2025-06-18", "capabilities": [], "clientInfo": []}),
        json!({"protocolVersion": "1999-01-01", "capabilities": {}}),
        json!({"protocolVersion": "", "capabilities": ""}),
        json!({"capabilities": {"roots": null, "sampling": null}, "clientInfo": null}),
        json!({}),
        json!(null),
    ] {
        let mut client = Client::begun_with(&begin).await;
        let answer = client.ask(1, "tools/list", "{}").await;
        assert!(answer["result"]["tools"].is_array(), "{begin}: {answer}");
    }
}

#[tokio::test]
async fn spec_3_18_what_comes_before_the_beginning_does_not_end_the_connection() {
    let mut client = Client::connected().await;
    for early in [
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","id":5,"result":{}}"#,
    ] {
        let line = format!("{early}\n");
        client.1.write_all(line.as_bytes()).await.unwrap();
        // A sign of life begins nothing.
        client.ask(1, "ping", "{}").await;
    }
    let begin = json!({"protocolVersion": "2025-11-25"});
    client.begin(&begin).await;
    let answer = client.ask(2, "tools/list", "{}").await;
    assert!(answer["result"]["tools"].is_array(), "{answer}");
}

#[tokio::test]
async fn spec_3_18_calls_that_are_sent_together_run_in_their_order() {
    let mut client = Client::new().await;
    let saves = (1..=8).map(|number| {
        saving(&format!(
            r#"{{"content": "Customer {number} ordered blue notebooks."}}"#
        ))
    });
    let session = [
        r#"{"name": "open_refinement", "arguments": {}}"#,
        r##"{"name": "delete_memory", "arguments": {"id": "#8"}}"##,
        r#"{"name": "complete_refinement", "arguments": {"summary": "One order was cancelled."}}"#,
    ];
    let calls: Vec<String> = saves
        .chain(session.into_iter().map(str::to_owned))
        .collect();
    let numbered = (0..).zip(&calls);
    let lines: String = numbered
        .map(|(id, call)| calling(id, call) + "\n")
        .collect();
    let mut answer = client.send(lines.as_bytes()).await;
    for id in 0..calls.len() {
        assert_eq!(answer["id"], id, "{answer}");
        let result = &answer["result"]["structuredContent"];
        match id {
            0..8 => assert_eq!(result["number"], id + 1, "{answer}"),
            8 => assert_eq!(result["state"], "open", "{answer}"),
            9 => assert_eq!(result["archived"], json!([8]), "{answer}"),
            _ => assert_eq!(result["archived"], 1, "{answer}"),
        }
        if id + 1 < calls.len() {
            answer = client.send(b"").await;
        }
    }
}

/// The text of a memory as it was stored.
async fn stored(client: &mut Client, id: u64, number: &Value) -> String {
    let listed = client
        .ask(
            id,
            "tools/call",
            r#"{"name": "get_context", "arguments": {}}"#,
        )
        .await;
    let text = listed["result"]["content"][0]["text"].as_str().unwrap();
    let of_number = |line: &&str| line.contains(&format!("#{number}"));
    text.lines().find(of_number).unwrap_or(text).to_owned()
}

#[tokio::test]
async fn spec_2_1_half_an_emoji_and_bad_bytes_are_mended_and_saved() {
    let mut client = Client::new().await;
    let sent: [(&[u8], &str); 3] = [
        (br#"Ann laughs \ud83d"#, "Ann laughs \u{fffd}"),
        (b"Ann lives in Z\xfcrich", "Ann lives in Z\u{fffd}rich"),
        (b"Ann says \xed\xa0\xbd", "Ann says \u{fffd}"),
    ];
    for (at, (content, expected)) in sent.into_iter().enumerate() {
        let id = 10 + 2 * at as u64;
        let line = calling(id, &saving(r#"{"content": "HERE"}"#));
        let (before, after) = line.split_once("HERE").unwrap();
        let line = [before.as_bytes(), content, after.as_bytes(), b"\n"].concat();
        let answer = client.send(&line).await;
        assert_eq!(answer["id"], id, "{answer}");
        let number = answer["result"]["structuredContent"]["number"].clone();
        assert!(number.is_u64(), "{answer}");
        let stored = stored(&mut client, id + 1, &number).await;
        assert!(stored.contains(expected), "{stored}");
    }
}

#[tokio::test]
async fn spec_2_1_two_messages_on_one_line_are_two_messages() {
    let mut client = Client::new().await;
    let call = saving("{\"content\": \"Ann has a cat.\"}");
    let both = format!("{}{}\n", calling(6, &call), calling(7, &call));
    let mut ids = Vec::new();
    for bytes in [both.as_bytes(), b""] {
        ids.push(client.send(bytes).await["id"].clone());
    }
    ids.sort_by_key(Value::as_u64);
    assert_eq!(ids, [6, 7]);
}

/// Each gets one answer, and the connection goes on.
#[tokio::test]
async fn spec_2_1_a_broken_line_is_answered_and_the_next_one_is_read() {
    let mut client = Client::new().await;
    let call = |id: &str, arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"get_context","arguments":{arguments}}}}}"#
        )
    };
    let calls = [
        ("21", "NaN"),
        ("22", r#"{"max_tokens":Infinity}"#),
        ("23", r#"{"max_tokens":5,}"#),
        (r#""a""#, "{'max_tokens':5}"),
        ("24", r#"{"max_tokens":05}"#),
    ];
    let cut_off = [("25", "{"), ("26", r#"{"a":"half"#)];
    let invalid = [
        (r#"{"jsonrpc":"2.0","method":"tools/list","id":27,}"#, "27"),
        ("{'jsonrpc':'2.0','id':28}", "null"),
        ("no JSON", "null"),
        ("Content-Type: application/json", "null"),
        ("undefined", "null"),
    ];
    let no_message = [
        (r#"{"jsonrpc":"2.0","id":31}"#, "31"),
        (r#"{"id":32,"method":"tools/list"}"#, "32"),
        (r#"{"jsonrpc":"1.0","id":33,"method":"tools/list"}"#, "33"),
        (r#"{"jsonrpc":"2.0","id":"b","method":5}"#, r#""b""#),
        (
            r#"[{"jsonrpc":"2.0","id":34,"method":"tools/list"}]"#,
            "null",
        ),
        ("[]", "null"),
        ("{}", "null"),
        ("null", "null"),
        ("\"tools/list\"", "null"),
        ("17", "null"),
    ];
    let calls = calls.map(|(id, arguments)| (call(id, arguments), id, -32700));
    let cut_off = cut_off.map(|(id, arguments)| (call(id, arguments).replace('}', ""), id, -32700));
    let invalid = invalid.map(|(line, id)| (line.to_owned(), id, -32700));
    let no_message = no_message.map(|(line, id)| (line.to_owned(), id, -32600));
    for (line, id, code) in [&calls[..], &cut_off, &invalid, &no_message].concat() {
        let id: Value = serde_json::from_str(id).unwrap();
        let next = br#"{"jsonrpc":"2.0","id":99,"method":"tools/list"}"#;
        let mut answers = vec![
            client
                .send(&[line.as_bytes(), b"\n", next, b"\n"].concat())
                .await,
        ];
        while answers.iter().all(|answer| answer["id"] != 99) {
            answers.push(client.send(b"").await);
        }
        if answers.len() == 1 {
            // The answer to what the protocol's library reads may come before the one to what it does not.
            answers.push(client.send(b"").await);
        }
        answers.retain(|answer| answer["id"] != 99);
        let told: Vec<_> = answers
            .iter()
            .map(|one| (&one["id"], &one["error"]["code"]))
            .collect();
        assert_eq!(told, [(&id, &json!(code))], "{line}");
    }
}

#[tokio::test]
async fn spec_2_1_a_message_of_twenty_megabytes_is_answered() {
    let mut client = Client::new().await;
    let words = "x".repeat(20_000_000);
    let long = saving(&format!("{{\"content\": \"{words}\", \"kind\": \"core\"}}"));
    let answer = client.ask(7, "tools/call", &long).await;
    let told = answer["error"]["message"].as_str().unwrap();
    assert!(told.contains("limit of 4194304 bytes"), "{told}");
    // The connection goes on, and what keeps the limit is for the tool to judge.
    let shorter = words[..1_000_000].to_owned();
    let shorter = saving(&format!(
        "{{\"content\": \"{shorter}\", \"kind\": \"core\"}}"
    ));
    let result = client.result(8, &shorter).await;
    assert_eq!(result["code"], "too_long", "{result}");
}

//! What a client sends line by line that no tool can take: it is answered all the same.
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
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(theirs);
        let agent = client::agent().await;
        tokio::spawn(memoir_mcp::serve_lines(agent, input, output));
        let (from, to) = tokio::io::split(ours);
        let mut client = Self(BufReader::new(from), to);
        let begin = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        client.ask(0, "initialize", &begin.to_string()).await;
        let begun = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
        client.1.write_all(begun).await.unwrap();
        client
    }

    async fn ask(&mut self, id: u64, method: &str, parameters: &str) -> Value {
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{parameters}}}\n"
        );
        self.1.write_all(line.as_bytes()).await.unwrap();
        let mut answer = String::new();
        self.0.read_line(&mut answer).await.unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }
}

fn saving(arguments: &str) -> String {
    format!("{{\"name\": \"save_memory\", \"arguments\": {arguments}}}")
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
    let answer = client.ask(8, "tools/call", &shorter).await;
    let result = &answer["result"]["structuredContent"];
    assert_eq!(result["code"], "too_long", "{answer}");
}

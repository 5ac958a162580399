//! A receiver of webhooks, with a check of signatures that was written from the specification.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

pub const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Received {
    pub head: String,
    pub body: Vec<u8>,
}

/// Answers with the script's answers (a status, and headers), and then with 200.
#[derive(Clone)]
pub struct Receiver {
    port: u16,
    received: Arc<Mutex<Vec<Received>>>,
    script: Arc<Mutex<VecDeque<String>>>,
}

impl Receiver {
    pub async fn start(script: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let receiver = Self {
            port: listener.local_addr().unwrap().port(),
            received: Arc::default(),
            script: Arc::new(Mutex::new(
                script.iter().map(|&line| line.to_owned()).collect(),
            )),
        };
        let answering = receiver.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answering.clone().serve(stream));
            }
        });
        receiver
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    /// The same place under a name, for TLS.
    pub fn named_url(&self) -> String {
        format!("https://localhost:{}/hook", self.port)
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Once there are so many.
    pub async fn wait_for(&self, count: usize) -> Vec<Received> {
        for _ in 0..3_000 {
            let received = self.received();
            if received.len() >= count {
                return received;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{} came instead of {count}", self.received().len());
    }

    async fn serve(self, mut stream: TcpStream) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if stream.read(&mut byte).await.unwrap_or(0) == 0 {
                // A connection is something too.
                let body = Vec::new();
                let head = "broken off".to_owned();
                self.received.lock().unwrap().push(Received { head, body });
                return;
            }
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let received = Received {
            head,
            body: Vec::new(),
        };
        let mut body = vec![0; received.header("content-length").parse().unwrap()];
        stream.read_exact(&mut body).await.unwrap();
        self.received
            .lock()
            .unwrap()
            .push(Received { body, ..received });
        let next = self.script.lock().unwrap().pop_front();
        let answer = next.unwrap_or_else(|| "200 OK".to_owned());
        let text = format!("HTTP/1.1 {answer}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        let _ = stream.write_all(text.as_bytes()).await;
    }
}

impl Received {
    pub fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines();
        let found = lines.find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        });
        found.unwrap_or_else(|| panic!("no {name} in {}", self.head))
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn session(&self) -> String {
        let json = self.json();
        json["data"]["session"]["id"].as_str().unwrap().to_owned()
    }

    /// Whether it is signed with that secret.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD
            .decode(secret.strip_prefix("whsec_").unwrap())
            .unwrap();
        let content = [
            self.header("webhook-id").as_bytes(),
            b".",
            self.header("webhook-timestamp").as_bytes(),
            b".",
            &self.body,
        ]
        .concat();
        let expected = format!("v1,{}", STANDARD.encode(hmac_sha256(&key, &content)));
        let signatures = self.header("webhook-signature").split(' ');
        signatures
            .into_iter()
            .any(|signature| signature == expected)
    }
}

/// RFC 2104.
fn hmac_sha256(key: &[u8], content: &[u8]) -> [u8; 32] {
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let pad = |with: u8| block.map(|byte| byte ^ with);
    let inner = Sha256::new()
        .chain_update(pad(0x36))
        .chain_update(content)
        .finalize();
    Sha256::new()
        .chain_update(pad(0x5C))
        .chain_update(inner)
        .finalize()
        .into()
}

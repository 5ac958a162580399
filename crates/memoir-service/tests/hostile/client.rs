//! A client that sends the given bytes unchanged.

use std::{net::SocketAddr, time::Duration};

use memoir_testkit::HttpAnswer;
use reqwest::header::{HeaderMap, HeaderName};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A connection that is kept open.
pub struct Client {
    address: SocketAddr,
    stream: Option<TcpStream>,
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            stream: None,
        }
    }

    pub async fn send(
        &mut self,
        method: &str,
        path: &str,
        token: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> HttpAnswer {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            head.push_str("host: localhost\r\n");
        }
        if !token.is_empty() {
            head.push_str(&format!("authorization: Bearer {token}\r\n"));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        let bytes = [head.as_bytes(), body].concat();
        let address = self.address;
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(connect(address).await),
        };
        // An answer may come before all of it was taken.
        let _ = stream.write_all(&bytes).await;
        let answer = read_answer(stream, method == "HEAD").await.unwrap();
        if answer.header("connection") == "close" {
            self.stream = None;
        }
        answer
    }

    pub async fn post(&mut self, path: &str, token: &str, body: &Value) -> HttpAnswer {
        let body = body.to_string();
        self.send("POST", path, token, &[], body.as_bytes()).await
    }

    pub async fn get(&mut self, path: &str, token: &str) -> HttpAnswer {
        self.send("GET", path, token, &[], b"").await
    }
}

pub async fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// One answer off the stream; `None` where the connection ends before it does.
pub async fn read_answer(stream: &mut TcpStream, headless: bool) -> Option<HttpAnswer> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).await.ok()? == 0 {
            return None;
        }
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).ok()?;
    let status = head.get(9..12)?.parse().ok()?;
    // Every line of it, so that a search for words covers the whole response.
    let lines = head.trim_end().lines().skip(1);
    let named = lines.map(|line| line.split_once(": ").unwrap());
    let headers: HeaderMap = named
        .map(|(name, value)| -> (HeaderName, _) { (name.parse().unwrap(), value.parse().unwrap()) })
        .collect();
    let mut answer = HttpAnswer {
        status,
        headers,
        text: String::new(),
    };
    let length = match answer.header("content-length") {
        "" => 0,
        length => length.parse().unwrap(),
    };
    let mut body = vec![0; if headless { 0 } else { length }];
    stream.read_exact(&mut body).await.ok()?;
    answer.text = String::from_utf8(body).unwrap();
    Some(answer)
}

/// Sends `bytes` and gives what is answered; `None` where the connection is closed without an answer.
pub async fn raw(address: SocketAddr, bytes: &[u8]) -> Option<HttpAnswer> {
    let mut stream = connect(address).await;
    let _ = stream.write_all(bytes).await;
    let answer = tokio::time::timeout(Duration::from_secs(20), read_answer(&mut stream, false));
    answer.await.unwrap()
}

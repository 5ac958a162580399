//! A model server on loopback that follows a script and records its requests.
//!
//! It runs on threads of its own and speaks one request a connection, so it serves asynchronous
//! tests, blocking ones and other processes alike.

use std::collections::VecDeque;

use parking_lot::Mutex;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use crate::ServerStep;

/// One request as it arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedRequest {
    /// Such as `POST`.
    pub method: String,
    /// Such as `/v1/chat/completions`.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as JSON; `null` where it is none.
    pub body: Value,
}

impl ReceivedRequest {
    /// The first header of that name, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(known, _)| known == name);
        header.map(|(_, value)| value.as_str())
    }
}

#[derive(Debug)]
struct Shared {
    script: Mutex<VecDeque<ServerStep>>,
    otherwise: Option<ServerStep>,
    received: Mutex<Vec<ReceivedRequest>>,
    over: AtomicBool,
}

/// A server that takes one [`ServerStep`] of its script for each request. Past the end of the script it responds with
/// 500 and the code `script_exhausted`. It ends when it is dropped.
#[derive(Debug)]
pub struct ScriptedServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

impl ScriptedServer {
    /// Listens on a free port of 127.0.0.1.
    pub fn start(script: impl IntoIterator<Item = ServerStep>) -> Self {
        Self::launch(script.into_iter().collect(), None)
    }

    /// As [`ScriptedServer::start`], answering every request alike.
    pub fn always(step: ServerStep) -> Self {
        Self::launch(VecDeque::new(), Some(step))
    }

    #[expect(clippy::expect_used, reason = "a test that has no port cannot go on")]
    fn launch(script: VecDeque<ServerStep>, otherwise: Option<ServerStep>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let address = listener
            .local_addr()
            .expect("the address of a bound listener");
        let shared = Arc::new(Shared {
            script: Mutex::new(script),
            otherwise,
            received: Mutex::new(Vec::new()),
            over: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        let listener = std::thread::spawn(move || serve(&listener, &serving));
        Self {
            address,
            shared,
            listener: Some(listener),
        }
    }

    /// For OpenAI-compatible providers: `http://127.0.0.1:PORT/v1`. Anthropic's takes it as well.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Appends to the script.
    pub fn push(&self, step: ServerStep) {
        self.shared.script.lock().push_back(step);
    }

    /// How many steps of the script were not used.
    pub fn steps_left(&self) -> usize {
        self.shared.script.lock().len()
    }

    /// Everything received so far, in order.
    pub fn received(&self) -> Vec<ReceivedRequest> {
        self.shared.received.lock().clone()
    }

    /// The bodies received so far, in order.
    pub fn requests(&self) -> Vec<Value> {
        self.received()
            .into_iter()
            .map(|received| received.body)
            .collect()
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        // The flag is set before the listener is woken, since the listener reads it then.
        self.shared.over.store(true, Ordering::SeqCst);
        // Wakes the listener, which otherwise waits for the next connection.
        let _ = TcpStream::connect(self.address);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

fn serve(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.over.load(Ordering::SeqCst) {
            return;
        }
        // A connection that broke before it was accepted is no request.
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        // A client that went away is for the client's test to notice.
        std::thread::spawn(move || drop(attend(&stream, &shared)));
    }
}

fn attend(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    // Without a limit, a client that sends nothing would block its thread until the end.
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let received = read(&mut BufReader::new(stream))?;
    // The lock is released before the response, which may be slow, so that other requests proceed meanwhile.
    let (number, step) = {
        let mut all = shared.received.lock();
        all.push(received.clone());
        // Both locks are held together, so that simultaneous requests get numbers in the order of their steps.
        (all.len(), shared.script.lock().pop_front())
    };
    let step = step
        .or_else(|| shared.otherwise.clone())
        .unwrap_or_else(exhausted);
    act(stream, shared, &received, number, step)
}

fn exhausted() -> ServerStep {
    let error = json!({"error": {"code": "script_exhausted", "message": "the script is over"}});
    ServerStep::status(500).with_body(error.to_string())
}

fn act(
    mut stream: &TcpStream,
    shared: &Shared,
    received: &ReceivedRequest,
    number: usize,
    step: ServerStep,
) -> io::Result<()> {
    let json = |body: Value| {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        head(200, &headers, &body.to_string().into_bytes(), false)
    };
    let bytes = match step {
        ServerStep::Answer(answer) if received.path.ends_with("/messages") => {
            json(answer.message(number))
        }
        ServerStep::Answer(answer) => json(answer.chat_completion(number)),
        ServerStep::Reply(reply) => json(reply),
        ServerStep::Raw {
            status,
            headers,
            body,
        } => head(status, &headers, &body, false),
        ServerStep::CutConnection => head(200, &[], br#"{"choices":[{"mess"#, true),
        ServerStep::Hangup => Vec::new(),
        ServerStep::Slow(wait, step) => {
            // The wait consists of short ones, so that it ends when the server does.
            let until = std::time::Instant::now() + wait;
            while std::time::Instant::now() < until && !shared.over.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5).min(wait));
            }
            return act(stream, shared, received, number, *step);
        }
        ServerStep::Respond(respond) => {
            return act(stream, shared, received, number, respond(received));
        }
    };
    stream.write_all(&bytes)?;
    stream.shutdown(Shutdown::Both)
}

/// A whole response; `cut` promises a longer body than it sends.
fn head(status: u16, headers: &[(String, String)], body: &[u8], cut: bool) -> Vec<u8> {
    let length = if cut { body.len() + 1000 } else { body.len() };
    let mut text =
        format!("HTTP/1.1 {status} Scripted\r\nconnection: close\r\ncontent-length: {length}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Reads a request with a `content-length`, which is all that the models' adapters send.
fn read(reader: &mut impl BufRead) -> io::Result<ReceivedRequest> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let mut received = ReceivedRequest {
        method,
        path,
        headers,
        body: Value::Null,
    };
    let length = received
        .header("content-length")
        .and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    received.body = serde_json::from_slice(&body).unwrap_or_default();
    Ok(received)
}

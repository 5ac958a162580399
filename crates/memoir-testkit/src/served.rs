//! An installation that a service serves on this machine, and its client.
//!
//! The kit knows no service: the test passes a function that runs one ([`TestInstallation::serve`]).

#![expect(
    clippy::unwrap_used,
    reason = "a test that does not get what it needs ends here"
)]

use std::{net::SocketAddr, pin::Pin, time::Duration};

use memoir_app::Memoir;
use reqwest::{Client, Method, RequestBuilder, Response, header::HeaderMap};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use crate::TestInstallation;

/// What ends once a service is to stop, and what ends once it has stopped.
pub type Serving = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How long a service may take to stop.
const STOP_TIME: Duration = Duration::from_secs(60);

/// A service that runs until it is stopped, or the test ends.
#[derive(derive_more::Deref)]
pub struct Served {
    #[deref]
    installation: TestInstallation,
    /// Of its root: `http://127.0.0.1:PORT`.
    pub address: String,
    /// The same, to connect to.
    pub socket: SocketAddr,
    client: Client,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl TestInstallation {
    /// Serves it on loopback: `serve` gets what to serve, where, and what ends once it is to stop.
    pub async fn serve(
        &self,
        serve: impl FnOnce(Memoir, TcpListener, Serving) -> Serving,
    ) -> Served {
        self.serve_at("127.0.0.1:0", serve).await
    }

    /// As [`TestInstallation::serve`], at that address; the client of one that is unspecified comes over loopback.
    pub async fn serve_at(
        &self,
        address: &str,
        serve: impl FnOnce(Memoir, TcpListener, Serving) -> Serving,
    ) -> Served {
        // Not used, but the client asks for one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind(address).await.unwrap();
        let mut socket = listener.local_addr().unwrap();
        // Not every system can connect to an unspecified address.
        if socket.ip().is_unspecified() {
            socket.set_ip([127, 0, 0, 1].into());
        }
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async {
            // Dropped without a stop, it is left running.
            if stopped.await.is_err() {
                std::future::pending().await
            }
        };
        let running = tokio::spawn(serve(self.memoir.clone(), listener, Box::pin(stopped)));
        Served {
            installation: self.clone(),
            address: format!("http://{socket}"),
            socket,
            client: Client::new(),
            stop,
            running,
        }
    }
}

/// A complete response.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpAnswer {
    /// How it went, as a number of HTTP.
    pub status: u16,
    /// As they came.
    pub headers: HeaderMap,
    /// The body.
    pub text: String,
}

impl HttpAnswer {
    /// Reads the body of a response.
    pub async fn of(response: Response) -> Self {
        Self {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            text: response.text().await.unwrap(),
        }
    }

    /// The body; null where it is no JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// The code of a problem; empty where it is none.
    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    /// The value of a header; empty where it has none of that name.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// Its body, of that status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()
    }

    /// Its body, of a status of success.
    #[track_caller]
    pub fn succeeded(&self) -> Value {
        let Self { status, text, .. } = self;
        assert!((200..300).contains(status), "{status}: {text}");
        self.json()
    }

    /// The problem in the response, of that status and code.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> Value {
        let found = (self.status, self.code());
        assert_eq!((found.0, &*found.1), (status, code), "{}", self.text);
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert_eq!(self.json()["type"], format!("/docs/errors/{code}"));
        self.json()
    }

    /// The target of its redirect.
    #[track_caller]
    pub fn leads_to(&self) -> &str {
        assert_eq!(self.status, 303, "{}", self.text);
        self.header("location")
    }
}

impl Served {
    /// A request that has that token, unless it is empty.
    pub fn request(&self, method: &str, path: &str, token: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let url = format!("{}{path}", self.address);
        let request = self.client.request(method, url);
        match token {
            "" => request,
            token => request.bearer_auth(token),
        }
    }

    /// Sends a request with a body of any kind; none for null.
    pub async fn send(&self, method: &str, path: &str, token: &str, body: &Value) -> HttpAnswer {
        self.send_with(method, path, token, body, &[]).await
    }

    /// As [`Served::send`], with these headers too.
    pub async fn send_with(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> HttpAnswer {
        let mut request = self.request(method, path, token);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if !body.is_null() {
            request = request.json(body);
        }
        HttpAnswer::of(request.send().await.unwrap()).await
    }

    /// Sends a GET request.
    pub async fn get(&self, path: &str, token: &str) -> HttpAnswer {
        self.send("GET", path, token, &Value::Null).await
    }

    /// The body of a GET request's response, which has status 200.
    pub async fn shown(&self, path: &str, token: &str) -> Value {
        let answer = self.get(path, token).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.json()
    }

    /// Posts that body; none for null.
    pub async fn post(&self, path: &str, token: &str, body: Value) -> HttpAnswer {
        self.send("POST", path, token, &body).await
    }

    /// The body of the response to that POST request, which has status 201.
    pub async fn created(&self, path: &str, token: &str, body: Value) -> Value {
        self.post(path, token, body).await.expect(201)
    }

    /// The body of the response to a POST request without a body, which has status 200.
    pub async fn acted(&self, path: &str, token: &str) -> Value {
        self.post(path, token, Value::Null).await.expect(200)
    }

    /// Opens a session that the agent drives itself; returns its identifier.
    pub async fn open_session(&self, agent: &str, token: &str) -> String {
        let path = format!("/v1/agents/{agent}/sessions");
        let opened = self.created(&path, token, json!({"driver": "agent"}));
        opened.await["id"].as_str().unwrap().to_owned()
    }

    /// The result of a session's tool, which may be a refusal.
    pub async fn tool(&self, session: &str, token: &str, tool: &str, arguments: Value) -> Value {
        let path = format!("/v1/sessions/{session}/tools/{tool}");
        self.post(&path, token, arguments).await.expect(200)
    }

    /// Stops it, and waits for a minute until it has: every test that ends with this shows that nothing blocks that.
    pub async fn stop(self) {
        // Sending fails where the service has ended by itself, which is as good.
        let _ = self.stop.send(());
        let stopped = tokio::time::timeout(STOP_TIME, self.running);
        stopped.await.unwrap().unwrap();
    }
}

//! The service against its own description: requests drawn from it, as an administrator and as an agent.
//!
//! Needs schemathesis, which `scripts/test` installs; without it, it is skipped with a line that says so.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The tool that `scripts/test` installs.
fn tool() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/schemathesis/bin/st");
    path.exists().then_some(path)
}

/// A service with an agent that has memories, a token and an open session.
struct Served {
    folder: TempDir,
    service: Child,
    address: String,
    administrator: String,
    agent: String,
    session: String,
    /// A pending access request.
    request: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

fn memoir(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_memoir"));
    command.env("HOME", folder).env(
        "MEMOIR_DATABASE",
        format!("sqlite:{}", folder.join("memoir.db").display()),
    );
    command
}

fn said(folder: &Path, arguments: &[&str]) -> String {
    let output = memoir(folder).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Served {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path();
        said(
            path,
            &["agent", "create", "wren", "--model", "builtin:careful"],
        );
        let administrator = said(path, &["token", "create", "--role", "admin"]);
        let agent = said(
            path,
            &["token", "create", "--role", "agent", "--agent", "wren"],
        );
        let mut service = memoir(path)
            .args(["serve", "--listen", "127.0.0.1:0", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = service.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        let address = told["listening"].as_str().unwrap().to_owned();
        let mut served = Self {
            folder,
            service,
            address,
            administrator,
            agent,
            session: String::new(),
            request: String::new(),
        };
        served.furnish();
        served
    }

    fn furnish(&mut self) {
        for text in [
            "The kiln is fired on Thursdays.",
            "The kiln is fired on thursdays!",
            "Ada keeps bees.",
        ] {
            let body = json!({"content": text, "kind": "core", "tags": ["kiln"]});
            self.post("/v1/agents/wren/memories", &self.agent, &body);
        }
        let open = json!({"driver": "agent"});
        let opened = self.post("/v1/agents/wren/sessions", &self.agent, &open);
        self.session = opened["id"].as_str().unwrap().to_owned();
        let ask = json!({"purpose": "to look", "scope": "core", "minutes": 5});
        let path = "/v1/agents/wren/access-requests";
        let asked = self.post(path, &self.administrator, &ask);
        self.request = asked["id"].as_str().unwrap().to_owned();
    }

    fn post(&self, path: &str, token: &str, body: &Value) -> Value {
        let body = body.to_string();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: memoir\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap()
    }

    /// Runs every check on requests drawn from the description; returns the findings.
    fn check(&self, tool: &Path, token: &str) -> Result<(), String> {
        let configuration =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemathesis/schemathesis.toml");
        let output = Command::new(tool)
            .current_dir(self.folder.path())
            .env("SESSION", &self.session)
            .env("REQUEST", &self.request)
            .arg("--config-file")
            .arg(configuration)
            .arg("run")
            .arg(format!("http://{}/openapi.json", self.address))
            .args(["--header", &format!("Authorization: Bearer {token}")])
            .args(["--checks", "all", "--phases", "examples,coverage,fuzzing"])
            .args(["--max-examples", "20", "--seed", "1", "--workers", "1"])
            .args([
                "--continue-on-failure",
                "--no-shrink",
                "--suppress-health-check",
                "all",
            ])
            // It would remove the agent of the other requests.
            .args(["--exclude-operation-id", "erase_agent"])
            // It lasts as long as the session.
            .args(["--exclude-operation-id", "watch_session"])
            .output()
            .unwrap();
        if output.status.success() {
            return Ok(());
        }
        Err(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn run(token: impl Fn(&Served) -> String) {
    let Some(tool) = tool() else {
        // Past the harness, which captures a test's output.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: schemathesis is not installed; `scripts/test` does that"
        );
        return;
    };
    let served = Served::new();
    let checked = served.check(&tool, &token(&served));
    assert!(checked.is_ok(), "{}", checked.unwrap_err());
}

#[test]
fn the_service_is_as_it_is_described_for_an_administrator() {
    run(|served| served.administrator.clone());
}

#[test]
fn the_service_is_as_it_is_described_for_an_agent() {
    run(|served| served.agent.clone());
}

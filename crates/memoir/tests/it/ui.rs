//! `memoir ui`: the personal page, as a process beside commands and hooks (SPEC 6.6).
#![cfg(unix)]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Stdio},
};

use memoir_testkit::TestedText;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::installation::Installation;

/// The page while it is open.
struct Page {
    child: Child,
    address: String,
    /// The path of the link.
    link: String,
}

impl Page {
    fn open(installation: &Installation) -> Self {
        let mut command = installation.command("ui --json");
        let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        let address = told["listening"].as_str().unwrap().to_owned();
        let link = told["link"].as_str().unwrap();
        let link = link.strip_prefix(&format!("http://{address}")).unwrap();
        Self {
            child,
            link: link.to_owned(),
            address,
        }
    }

    /// The whole response.
    fn get(&self, path: &str, cookie: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = &self.address;
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn stop(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

/// The value of a header.
fn header<'a>(answer: &'a str, name: &str) -> &'a str {
    let line = answer.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name} in {answer}"))
        .trim()
}

/// The text for a program at the start of a session. The second event of one session would count as a repetition.
fn hook(installation: &Installation, session: &str) -> String {
    let event =
        json!({"session_id": session, "hook_event_name": "SessionStart", "source": "startup"});
    let line = "hook session-start --client claude-code --agent wren --within 20000";
    installation.run_with_input(line, &event.to_string()).stdout
}

#[test]
fn spec_6_6_the_link_shows_the_memories_and_programs_keep_theirs() {
    let installation = Installation::with_agent();
    installation.remember(&["Marta prefers linen thread"]);
    assert!(hook(&installation, "before").contains("linen thread"));
    let page = Page::open(&installation);
    hook(&installation, "beside").tells("linen thread");
    let without = page.get("/memory", "");
    assert!(without.starts_with("HTTP/1.1 403"), "{without}");
    let opened = page.get(&page.link, "");
    let cookie = header(&opened, "set-cookie:").split(';').next().unwrap();
    let home = page.get("/memory", cookie);
    let shown = page.get(header(&home, "location:"), cookie);
    shown.tells("Marta prefers linen thread");
    // What is saved beside the page is on it.
    installation.remember(&["Ivo reads the tide tables"]);
    let shown = page.get(header(&home, "location:"), cookie);
    shown.tells("Ivo reads the tide tables");
    // Closed meanwhile: nothing more is shown, and opening it again shows it again.
    installation.ok(&["installation", "close"]);
    let closed = page.get(header(&home, "location:"), cookie);
    assert!(closed.starts_with("HTTP/1.1 403"), "{closed}");
    closed.omits("linen");
    closed.tells("memoir installation open");
    installation.ok(&["installation", "open"]);
    page.get(header(&home, "location:"), cookie).tells("linen");
    page.stop();
    hook(&installation, "after").tells("linen thread");
    assert_eq!(installation.json(&["user", "list"])["items"], json!([]));
    let shown = installation.json("installation show");
    assert_eq!(shown["closed"], false);
}

#[test]
fn spec_5_5_a_closed_installation_has_no_personal_page() {
    let installation = Installation::with_agent();
    installation.remember(&["Marta prefers linen thread"]);
    installation.ok(&["installation", "close"]);
    let refused = installation.refused(&["ui"]);
    // Both ways out, though no token opens the page itself.
    refused
        .tells("hint: let other commands show an agent's text, with its token in MEMOIR_TOKEN, or");
    refused.tells("memoir installation open");
}

#[test]
fn spec_6_6_the_personal_page_is_on_this_machine_only() {
    let installation = Installation::with_agent();
    let refused = installation.refused(&["ui", "--listen", "0.0.0.0:0"]);
    refused.tells("this machine only");
}

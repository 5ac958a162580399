//! Administrators on the command line, and the first one by the link that the service prints.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};

use memoir_testkit::TestedText;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

#[cfg(target_os = "linux")]
use crate::installation::{on_terminal, wait_until};
use crate::{installation::Installation, serving::Running};

const PASSWORD: &str = "correct horse battery";

fn password(installation: &Installation, text: &str) -> String {
    installation.write("password", format!("{text}\n"))
}

fn add(installation: &Installation, name: &str) {
    let file = password(installation, PASSWORD);
    installation.ok(&["user", "add", name, "--password-file", &file]);
}

fn names(installation: &Installation) -> Vec<String> {
    installation.each(&["user", "list"], "name")
}

/// The service's whole response to a request under its own name.
fn ask(service: &Running, method: &str, path: &str, (kind, body): (&str, &str)) -> String {
    let mut stream = service.connect();
    let host = &service.address;
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\nconnection: close\r\n\
         content-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

pub(crate) fn browse(service: &Running, method: &str, path: &str, form: &str) -> String {
    let kind = "application/x-www-form-urlencoded";
    ask(service, method, path, (kind, form))
}

fn sign_in(service: &Running, password: &str) -> (u16, Value) {
    let body = json!({"name": "Ada", "password": password}).to_string();
    let answer = ask(service, "POST", "/v1/sign-in", ("application/json", &body));
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let body = serde_json::from_str(body).unwrap();
    (answer[9..12].parse().unwrap(), body)
}

/// The lines that the service prints for people before it is stopped.
fn first_lines(installation: &Installation, address: &str) -> Vec<String> {
    let mut child = installation.start(&["serve", "--listen", address]);
    // The line about the schedule comes after all others.
    let notes = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut notes = notes.map(Result::unwrap);
    assert!(notes.any(|note| note.contains("the schedule asks")));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let lines = lines.map(Result::unwrap).collect();
    drop(notes);
    child.wait().unwrap();
    lines
}

#[test]
fn administrators_are_listed_and_removed_but_for_the_last_one() {
    let installation = Installation::new();
    let none = installation.run("user list");
    none.reports("memoir user add");
    add(&installation, "Ada");
    add(&installation, "Grace");
    assert_eq!(names(&installation), ["Ada", "Grace"]);
    let listed = installation.ok(&["user", "list"]);
    listed.tells("second factor");
    listed.tells("Grace");
    assert_eq!(installation.ok(&["user", "remove", "ada"]), "removed Ada\n");
    let refused = installation.refused(&["user", "remove", "Grace"]);
    refused.tells("last administrator");
    refused.tells("hint: ");
    assert_eq!(names(&installation), ["Grace"]);
    let refused = installation.refused(&["user", "remove", "Ada"]);
    refused.tells("no administrator `Ada`");
    // The name is free.
    add(&installation, "Ada");
    assert_eq!(names(&installation), ["Grace", "Ada"]);
}

#[test]
fn a_new_password_ends_what_was_signed_in_for() {
    let installation = Installation::new();
    add(&installation, "Ada");
    let service = Running::start(&installation, &[]);
    let (status, made) = sign_in(&service, PASSWORD);
    assert_eq!(status, 201);
    let token = made["token"].as_str().unwrap();
    assert_eq!(service.get("/v1/agents", token).0, 200);
    let file = password(&installation, "another horse battery");
    let ran = installation.run(&["user", "password", "Grace", "--password-file", &file]);
    assert_eq!(ran.code, Some(1));
    installation.ok(&["user", "password", "Ada", "--password-file", &file]);
    assert_eq!(service.get("/v1/agents", token).0, 401);
    assert_eq!(sign_in(&service, PASSWORD).0, 401);
    let (status, made) = sign_in(&service, "another horse battery");
    assert_eq!(status, 201);
    let token = made["token"].as_str().unwrap();
    let told = installation.ok(&["user", "reset-second-factor", "Ada"]);
    assert_eq!(told, "reset the second factor of Ada\n");
    assert_eq!(service.get("/v1/agents", token).0, 401);
    let short = password(&installation, "short");
    let refused = installation.refused(&["user", "password", "Ada", "--password-file", &short]);
    refused.tells("12 to 1000 characters");
}

#[test]
fn spec_5_5_the_service_prints_a_link_for_the_first_administrator_until_there_is_one() {
    let installation = Installation::with_agent();
    installation.remember(&["Zwitscher"]);
    let mut service = Running::start(&installation, &[]);
    let link = service.first_link.as_str().unwrap().to_owned();
    let before = format!("http://{}", service.address);
    let path = link.strip_prefix(&before).unwrap();
    assert_eq!(path.trim_start_matches("/first/").len(), 43, "{path}");
    assert!(browse(&service, "GET", path, "").starts_with("HTTP/1.1 200 "));
    assert!(installation.ok(&["context", "wren"]).contains("Zwitscher"));
    let form = "name=Ada&password=correct+horse+battery&again=correct+horse+battery";
    let made = browse(&service, "POST", path, form);
    assert!(made.starts_with("HTTP/1.1 303 "), "{made}");
    made.tells("set-cookie: memoir=signed-in_");
    assert!(browse(&service, "GET", path, "").starts_with("HTTP/1.1 404 "));
    assert_eq!(names(&installation), ["Ada"]);
    installation.refused(&["context", "wren"]);
    service.stop();
    assert!(service.ended().success());
    let service = Running::start(&installation, &[]);
    assert_eq!(service.first_link, Value::Null);
}

#[test]
fn a_link_is_of_one_process_and_dead_once_the_command_line_made_an_administrator() {
    let installation = Installation::new();
    let one = Running::start(&installation, &[]);
    let other = Running::start(&installation, &["--behind-proxy"]);
    let path = other.first_link.as_str().unwrap();
    // The name of the proxy is not known.
    path.begins("/first/");
    let foreign = browse(&one, "GET", path, "");
    assert!(foreign.starts_with("HTTP/1.1 404 "), "{foreign}");
    let link = one.first_link.as_str().unwrap();
    let own = format!("http://{}", one.address);
    let path = link.strip_prefix(&own).unwrap();
    assert!(browse(&one, "GET", path, "").starts_with("HTTP/1.1 200 "));
    add(&installation, "Ada");
    assert!(browse(&one, "GET", path, "").starts_with("HTTP/1.1 404 "));
}

#[test]
fn no_link_is_printed_where_a_password_would_travel_in_the_open() {
    let installation = Installation::new();
    let lines = first_lines(&installation, "0.0.0.0:0");
    lines[0].tells("listening on http://0.0.0.0:");
    assert_eq!(lines.len(), 1, "{lines:?}");
}

#[test]
fn the_link_is_printed_on_a_line_of_its_own() {
    let installation = Installation::new();
    let lines = first_lines(&installation, "127.0.0.1:0");
    let [listening, first] = lines.try_into().unwrap();
    let address = listening.strip_prefix("listening on ").unwrap();
    let begin = format!("First administrator: {address}/first/");
    assert!(first.starts_with(&begin), "{first}");
}

#[test]
fn spec_5_5_closing_names_the_agents_that_have_memories_and_no_token() {
    let installation = Installation::with_agent();
    installation.remember(&["one"]);
    for name in ["lark", "robin"] {
        installation.create(name, &[]);
    }
    installation.ok("remember lark two");
    installation.ok("token create --role agent --agent lark");
    let file = password(&installation, PASSWORD);
    let added = installation.run(&["user", "add", "mira", "--password-file", &file]);
    added.reports("no token gives access to the memory of `wren`: `memoir access ask");
    added.reports("`memoir installation open`, then `memoir token create");
    // Its way out.
    installation.ok("installation open");
    installation.ok("token create --role agent --agent wren");
    let closed = installation.run("installation close");
    assert_eq!(closed.code, Some(0), "{closed:?}");
    closed.stderr.omits("no token gives access");
}

#[test]
fn spec_5_5_the_ways_out_of_closing_name_the_account_of_the_agent() {
    let installation = Installation::with_agent();
    installation.ok("account create lab");
    installation.ok("agent create robin --account lab");
    installation.ok("remember robin one --account lab");
    let closed = installation.run("installation close");
    closed.reports(
        "the memory of `robin`: `memoir access ask AGENT --token --purpose TEXT --account lab` asks",
    );
    closed.reports("`memoir token create --role agent --agent AGENT --account lab`");
    installation.ok("installation open");
    installation.ok("token create --role agent --agent robin --account lab");
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_does_not_show_a_password_that_is_typed() {
    let installation = Installation::with_agent();
    let typed = format!("{PASSWORD}\n");
    let question = "the password (hidden while you type):";
    let command = installation.command("user add mira");
    let shown = on_terminal(command, Some((question, &typed)));
    shown.tells("added mira");
    shown.omits("horse");
    assert_eq!(names(&installation), ["mira"]);
}

#[cfg(target_os = "linux")]
#[test]
fn an_interruption_while_a_password_is_typed_ends_with_its_status() {
    use std::process::Stdio;
    let installation = Installation::with_agent();
    let mut command = installation.command("user add mira");
    let command = command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let input = child.stdin.take();
    // It waits for the password from when it handles this signal, the second one.
    let status = format!("/proc/{}/status", child.id());
    wait_until(|| {
        let status = std::fs::read_to_string(&status).unwrap();
        let handled = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        u64::from_str_radix(handled.unwrap().trim(), 16).unwrap() & 0b10 != 0
    });
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    drop(input);
    assert!(names(&installation).is_empty());
}

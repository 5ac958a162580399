//! Failures that are Memoir's own: their log lines and responses.
#![cfg(unix)]

use std::fs::{self, File};

use serde_json::json;

use crate::{
    audit::flip,
    installation::{Installation, wait_until},
    serving::{MEMORIES, Running, agents_token},
};

/// The log of a service, and the responses of two interfaces that read a modified row.
fn met(wanted: Option<&str>) -> (String, Vec<String>) {
    const WORD: &str = "Zwitscher";
    let installation = Installation::with_agent();
    let token = agents_token(&installation);
    installation.remember(&[WORD]);
    flip(&installation, "SELECT body FROM memories WHERE number = 1");
    let log = installation.path("log");
    let service = Running::start_logging(&installation, &[], File::create(&log).unwrap(), wanted);
    let (status, problem) = service.get(MEMORIES, &token);
    assert_eq!(
        (status, &problem["code"]),
        (500, &json!("tampered")),
        "{problem}"
    );
    let (_, called) = service.call("get_context", json!({}), &token);
    let called = &called["result"]["structuredContent"];
    assert_eq!(called["code"], "tampered", "{called}");
    assert_eq!(called["error"], problem["detail"]);
    let named: Vec<String> = [&problem, called]
        .map(|answer| answer["instance"].as_str().unwrap().to_owned())
        .into();
    assert_ne!(named[0], named[1], "each failure has a name of its own");
    wait_until(|| fs::read_to_string(&log).unwrap().contains(&named[1]));
    let log = fs::read_to_string(&log).unwrap();
    assert!(!log.contains(WORD) && !problem.to_string().contains(WORD));
    (log, named)
}

#[test]
fn spec_5_1_what_fails_by_our_fault_is_logged_under_the_name_that_the_answer_has() {
    for wanted in [None, Some("off")] {
        let (log, named) = met(wanted);
        for name in named {
            assert!(name.starts_with("urn:uuid:"), "{name}");
            let lines: Vec<&str> = log.lines().filter(|line| line.contains(&name)).collect();
            assert_eq!(lines.len(), 1, "{wanted:?}: {log}");
            assert!(
                lines[0].contains("ERROR") && lines[0].contains("tampered"),
                "{log}"
            );
        }
    }
}

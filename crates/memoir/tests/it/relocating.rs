//! `memoir move`: from the embedded database into PostgreSQL, and back.
#![cfg(unix)]

use memoir_testkit::Postgres;

use crate::{
    bench::{Bench, Ran},
    postgres::skip,
};

const MEMORIES: usize = 2_000;

fn on(bench: &Bench, url: &str, arguments: &[&str]) -> Ran {
    Ran::of(bench.command(arguments).env("MEMOIR_DATABASE", url))
}

fn ok(bench: &Bench, url: &str, arguments: &[&str]) -> String {
    let ran = on(bench, url, arguments);
    assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    ran.stdout
}

fn refused(ran: Ran, why: &str) {
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains(why), "{ran:?}");
}

#[test]
fn spec_6_1_an_installation_moves_into_postgres_and_back_as_it_is() {
    let Some(server) = Postgres::start("moving").unwrap() else {
        return skip();
    };
    let (bench, url) = (Bench::with_agent(), server.database().unwrap());
    let lines: String = (1..=MEMORIES)
        .map(|day| {
            format!("{{\"content\": \"Ada comes for tea on day {day}.\", \"kind\": \"core\"}}\n")
        })
        .collect();
    let file = bench.write("memories.jsonl", lines);
    bench.ok(&["import", "wren", &file]);
    bench.remember(&["The kettle is blue.", "the kettle is blue"]);
    bench.ok(&["refine", "wren"]);
    bench.ok(&["agent", "create", "kite"]);
    bench.ok(&["remember", "kite", "The nest is in the elm."]);
    bench.ok(&["agent", "erase", "kite", "--yes"]);
    let token = bench.ok(&["token", "create", "--role", "agent", "--agent", "wren"]);
    let note = bench.ok(&["audit", "checkpoint"]);
    let note = bench.write("note", note);
    let all = ["ledger", "wren", "--json"];
    let before = bench.ok(&all);

    let moved = bench.json(&["move", "--to", &url]);
    assert!(
        moved["rows"].as_u64().unwrap() > 2 * MEMORIES as u64,
        "{moved}"
    );
    // With the two doubles, that of the other agent, and what the session noted.
    assert_eq!(moved["tables"]["memories"], MEMORIES as u64 + 4, "{moved}");
    // The words are the agent's, and its token opens them here as there.
    let read = |url: &str| {
        let mut command = bench.command(&all);
        command
            .env("MEMOIR_DATABASE", url)
            .env("MEMOIR_TOKEN", token.trim_end());
        let ran = Ran::of(&mut command);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stdout
    };
    let verify = ["audit", "verify", "--checkpoint", &note];
    ok(&bench, &url, &verify);
    ok(&bench, &url, &["doctor"]);
    refused(bench.run(&["move", "--to", &url]), "is not empty");

    // What was interrupted half-way is used by nobody, and goes on where it was.
    let name = url.rsplit('/').next().unwrap();
    let half = "INSERT INTO memoir_migrations (number, name) VALUES (-1, 'a move'); \
         DELETE FROM memories WHERE number > 700 \
             OR agent_id <> (SELECT id FROM agents WHERE name = 'wren')";
    server.query(name, half).unwrap();
    refused(
        on(&bench, &url, &["agent", "list"]),
        "has not come to its end",
    );
    bench.ok(&["move", "--to", &url]);
    assert_eq!(read(&url), before);

    // What was written here meanwhile is noticed.
    server.query(name, half).unwrap();
    bench.remember(&["Lena brings the paper."]);
    refused(bench.run(&["move", "--to", &url]), "differs from row 1 on");
    server
        .query(name, "DELETE FROM memoir_migrations WHERE number = -1")
        .unwrap();

    let back = bench.path("back.db");
    let back = back.to_str().unwrap();
    ok(&bench, &url, &["remember", "wren", "There and back."]);
    let there = read(&url);
    ok(&bench, &url, &["move", "--to", back]);
    assert_eq!(read(back), there);
    ok(&bench, back, &verify);
    ok(&bench, back, &["remember", "wren", "And on."]);
    refused(on(&bench, &url, &["move", "--to", back]), "is not empty");
}

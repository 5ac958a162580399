//! `memoir move`: from the embedded database into PostgreSQL, and back.
#![cfg(unix)]

use memoir_testkit::{Postgres, TestedText};

use crate::{
    installation::{Installation, Ran},
    postgres::skip,
    serving::Running,
};

const MEMORIES: usize = 50_000;

fn on(installation: &Installation, url: &str, arguments: &[&str]) -> Ran {
    Ran::of(installation.command(arguments).env("MEMOIR_DATABASE", url))
}

fn ok(installation: &Installation, url: &str, arguments: &[&str]) -> String {
    on(installation, url, arguments).ok(arguments)
}

fn refused(ran: Ran, why: &str) {
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.reports(why);
}

#[test]
fn spec_6_2_nothing_is_moved_while_a_service_could_acknowledge_more() {
    let installation = Installation::with_agent();
    installation.remember(&["The kettle is blue."]);
    let target = installation.path("moved.db");
    let target = target.to_str().unwrap();
    let mut service = Running::start(&installation, &[]);
    refused(
        installation.run(&["move", "--to", target]),
        "another program has the database open",
    );
    // What is acknowledged now is moved later.
    installation.remember(&["Lena brings the paper."]);
    service.stop();
    assert!(service.ended().success());
    installation.ok(&["move", "--to", target]);
    let there = ok(&installation, target, &["ledger", "wren"]);
    there.tells("Lena brings the paper.");
    // The source is as it was.
    let here = installation.ok("ledger wren");
    here.tells("Lena brings the paper.");
}

/// SPEC 6.2: the keys of another installation are no half of a move, however often the command is repeated.
#[test]
fn spec_6_2_a_repeated_move_replaces_no_keys_of_another_installation() {
    let installation = Installation::with_agent();
    let target = installation.path("moved.db");
    let target = target.to_str().unwrap();
    for (name, why) in [
        ("moved.db.keys", "there is a key store"),
        ("moved.db.keys-journal", "moved.db.keys-journal` of a key"),
        ("moved.db.keys-wal", "moved.db.keys-wal` of a key"),
        ("moved.db.master-key", "there is another master key"),
    ] {
        let keys = installation.write(name, "the keys of another installation");
        for _ in 0..2 {
            refused(installation.run(&["move", "--to", target]), why);
            let left = std::fs::read_to_string(&keys).unwrap();
            assert_eq!(left, "the keys of another installation");
            // No move is begun, so that a later one takes no key store there for its own.
            assert!(!installation.path("moved.db.moving").exists());
        }
        std::fs::remove_file(keys).unwrap();
    }
    // Once a move is begun, it is what that left there, and gives way to the new copy.
    installation.write("moved.db.moving", "");
    let left = installation.write("moved.db.keys-journal", "half");
    installation.ok(&["move", "--to", target]);
    assert!(!std::path::Path::new(&left).exists());
}

/// SPEC 6.2: SQLite applies a log that it finds beside a file to that file, also where the log is of another one.
#[test]
fn spec_6_2_nothing_is_moved_beside_the_log_of_a_database_that_is_gone() {
    let installation = Installation::with_agent();
    installation.remember(&["The kettle is blue."]);
    let target = installation.path("moved.db");
    let arguments = ["move", "--to", target.to_str().unwrap()];
    for log in ["-wal", "-journal"] {
        let file = installation.write(&format!("moved.db{log}"), "the log of another database");
        let ran = installation.run(&arguments);
        ran.reports(log);
        refused(ran, "is not empty");
        std::fs::remove_file(file).unwrap();
    }
    installation.ok(&arguments);
}

/// SPEC 5.5: the agents of projects and the tokens of programs belong to the moved copy too, and the programs that still
/// call the old one are named.
#[test]
fn spec_5_5_programs_and_projects_keep_their_memory_when_an_installation_moves() {
    let installation = Installation::with_agent();
    installation.ok(&["setup", "claude-code", "--yes"]);
    let folder = installation.write("shop/note", "").replace("/note", "");
    let begin = |database: &str, session: &str| {
        let told = format!(r#"{{"session_id": "{session}", "cwd": "{folder}"}}"#);
        let hook = "hook session-start --client gemini --per-project --within 20000 --database";
        let hook = format!("{hook} {database}");
        installation.run_with_input(&hook, &told).ok(&hook)
    };
    let here = installation.path(".local/share/memoir/memoir.db");
    begin(here.to_str().unwrap(), "s-1");
    let agents = installation.json(&["project", "list"]);
    let agent = agents["items"][0]["agent"].as_str().unwrap();
    installation.ok(&["remember", agent, "Ines keeps bees."]);
    let target = installation.path("moved.db");
    let target = target.to_str().unwrap();
    let moved = installation.run(&["move", "--to", target]);
    let way = "still open the old database: claude-code; `memoir setup`";
    moved.reports(way);
    assert!(begin(target, "s-2").contains("bees"));
    ok(&installation, target, &["installation", "close"]);
    assert!(begin(target, "s-3").contains("bees"));
}

#[test]
fn spec_6_2_a_move_that_broke_off_before_programs_followed_is_resumed() {
    let installation = Installation::with_agent();
    installation.remember(&["Ines keeps bees."]);
    installation.ok(&["setup", "claude-code", "--yes"]);
    let target = installation.path("moved.db");
    let arguments = ["move", "--to", target.to_str().unwrap()];
    let move_it = || installation.run(&arguments);
    let follows = |ran: Ran| {
        ran.reports("still open the old database: claude-code");
        ran.ok(&arguments);
    };
    follows(move_it());
    refused(move_it(), "is not empty");
    // As a process leaves it that ends once the target is complete.
    installation.write("moved.db.moved", "");
    follows(move_it());
    refused(move_it(), "is not empty");
    // Nothing that came to the source since is taken as moved.
    installation.write("moved.db.moved", "");
    installation.remember(&["Rui studies law."]);
    refused(move_it(), "differs from row");
}

#[test]
fn spec_6_1_an_installation_moves_into_postgres_and_back_as_it_is() {
    let Some(server) = Postgres::start("moving").unwrap() else {
        return skip();
    };
    let (installation, url) = (Installation::with_agent(), server.database().unwrap());
    installation.import((1..=MEMORIES).map(|day| format!("Ada comes for tea on day {day}.")));
    installation.remember(&["The kettle is blue.", "the kettle is blue"]);
    installation.ok(&["refine", "wren"]);
    installation.ok(&["agent", "create", "kite"]);
    installation.ok(&["remember", "kite", "The nest is in the elm."]);
    installation.ok(&["agent", "erase", "kite", "--yes"]);
    let token = installation.ok(&["token", "create", "--role", "agent", "--agent", "wren"]);
    let note = installation.ok(&["audit", "checkpoint"]);
    let note = installation.write("note", note);
    let all = ["ledger", "wren", "--json"];
    let before = installation.ok(&all);

    let moved = installation.json(&["move", "--to", &url]);
    let rows = moved["rows"].as_u64().unwrap();
    assert!(rows > 2 * MEMORIES as u64, "{moved}");
    // With the duplicate and its copy, the memory of the other agent, and the session's journal entry.
    assert_eq!(moved["tables"]["memories"], MEMORIES as u64 + 4, "{moved}");
    // The texts are the agent's, and its token opens them here as there.
    let read = |url: &str| {
        let mut command = installation.command(&all);
        command.env("MEMOIR_DATABASE", url);
        Ran::of(command.env("MEMOIR_TOKEN", token.trim_end())).ok(&all)
    };
    let verify = ["audit", "verify", "--checkpoint", &note];
    ok(&installation, &url, &verify);
    ok(&installation, &url, &["doctor"]);
    refused(installation.run(&["move", "--to", &url]), "is not empty");

    // An interrupted move cannot be used as a database, and is resumed.
    let name = url.rsplit('/').next().unwrap();
    let half = "INSERT INTO memoir_migrations (number, name) VALUES (-1, 'a move'); \
         DELETE FROM memories WHERE number > 700 \
             OR agent_id <> (SELECT id FROM agents WHERE name = 'wren')";
    server.query(name, half).unwrap();
    refused(
        on(&installation, &url, &["agent", "list"]),
        "has not come to its end",
    );
    // Existing data of another installation, though the first account is the same.
    for (other, own) in [
        (
            "INSERT INTO accounts VALUES (decode(repeat('ff', 16), 'hex'), 'other', 'other', 0)",
            "DELETE FROM accounts WHERE name = 'other'",
        ),
        (
            "UPDATE log_leaves SET seq = seq + 1 WHERE position = 0",
            "UPDATE log_leaves SET seq = seq - 1 WHERE position = 0",
        ),
    ] {
        let change = |sql: &str| {
            let sql = format!("SET session_replication_role = replica; {sql}");
            server.query(name, &sql).unwrap();
        };
        change(other);
        refused(
            installation.run(&["move", "--to", &url]),
            "a move of another installation",
        );
        change(own);
    }
    installation.ok(&["move", "--to", &url]);
    assert_eq!(read(&url), before);

    // A concurrent write to the source is detected.
    server.query(name, half).unwrap();
    installation.remember(&["Lena brings the paper."]);
    refused(
        installation.run(&["move", "--to", &url]),
        "differs from row 1 on",
    );
    // Its half is useless then: the installation moves into a database of its own. What an interrupted move left of the
    // keys there gives way to the new copy.
    let url = server.database().unwrap();
    let next = url.rsplit('/').next().unwrap();
    let files = std::fs::read_dir(installation.path(".local/share/memoir")).unwrap();
    let mut files = files.map(|file| file.unwrap().path().to_str().unwrap().to_owned());
    let master = files.find(|file| file.ends_with(".master-key")).unwrap();
    let master = master.replace(&name.replace('_', "-"), &next.replace('_', "-"));
    std::fs::write(&master, "another").unwrap();
    refused(
        installation.run(&["move", "--to", &url]),
        "there is another master key",
    );
    std::fs::remove_file(&master).unwrap();
    // The refused move left no mark there. With one, the key store there is of an interrupted move.
    let mark = "INSERT INTO memoir_migrations (number, name) VALUES (-1, 'a move')";
    server.query(next, mark).unwrap();
    std::fs::write(master.replace(".master-key", ".keys"), "half").unwrap();
    installation.ok(&["move", "--to", &url]);

    let back = installation.path("back.db");
    let back = back.to_str().unwrap();
    let back_too = ["remember", "wren", "There and back."];
    ok(&installation, &url, &back_too);
    let there = read(&url);
    // What an interrupted move left of the key store gives way to the new copy.
    let left = ["", "-wal", "-journal"].map(|end| format!("{back}.keys.moving{end}"));
    for file in &left {
        std::fs::write(file, "half").unwrap();
    }
    let return_it = ["move", "--to", back];
    let returned = on(&installation, &url, &return_it);
    // Closed as it was, in a file that is its owner's alone: only `memoir installation open` opens it (SPEC 5.5).
    returned.reports("the installation stays closed");
    returned.ok(&return_it);
    let read_here = ["context", "wren"];
    refused(
        on(&installation, back, &read_here),
        "this installation is closed",
    );
    assert!(left.iter().all(|file| !std::path::Path::new(file).exists()));
    assert_eq!(read(back), there);
    ok(&installation, back, &verify);
    ok(&installation, back, &["remember", "wren", "And on."]);
    ok(&installation, back, &["installation", "open"]);
    ok(&installation, back, &read_here).tells("And on.");
    refused(
        on(&installation, &url, &["move", "--to", back]),
        "is not empty",
    );
}

//! README and the other pages, executed: each command of a shell block is run, or is named here with the reason why not.
#![cfg(unix)]

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    net::TcpListener,
    path::Path,
    process::{Command, Stdio},
};

use memoir_testkit::TestedText;
use serde_json::{Value, json};

use crate::{
    installation::{Installation, MadeOnce, Ran, names_in, rows, script},
    serving::{Running, agents_token, token},
    verifying::source,
};

/// The pages that are typed in one shell, in their order.
const PAGES: [&str; 4] = [
    "README.md",
    "docs/first-session.md",
    "docs/service.md",
    "docs/mcp.md",
];

/// The pages that are typed each in a home of its own, with the agent `wren`.
const OTHERS: [&str; 8] = [
    "docs/access.md",
    "docs/backup.md",
    "docs/importing.md",
    "docs/live.md",
    "docs/log-format.md",
    "docs/programs.md",
    "docs/proof.md",
    "docs/recall.md",
];

/// Commands that are not typed here: their page, their beginning (`*` for any), and what else types them, or why nothing
/// does.
const NOT_TYPED: &str = "
    * | cargo | a build; `scripts/test` has those of the suite
    * | ./scripts/test | it runs this test
    CONTRIBUTING.md | just check | `scripts/test` runs the same lines
    docs/archive.md | * | `scripts/docs stale` types them, and compares what they print
    docs/fleet.md | * | `postgres.rs` types them, in their order
    docs/frameworks.md | scripts/test-clients | `scripts/test` runs it
    docs/packages.md | scripts/package | `scripts/test-packages` runs it
    docs/packages.md | systemctl | needs a running systemd
    docs/packages.md | journalctl | needs a running systemd
    docs/packages.md | podman | needs a container engine
    docs/packages.md | rustup | fetches a toolchain
    docs/personal-page.md | memoir ui | it runs until Ctrl-C; `ui.rs` opens the page
    docs/proof.md | mkdir logs && cargo | a build
    docs/proof.md | for log in logs/* | reads what the line before writes
    docs/proof.md | PROPTEST_CASES= | runs for hours; the suite has these tests with fewer inputs
    docs/proof.md | MEMOIR_TEST_EVERY_FAULT= | runs for hours; the suite has these tests with fewer faults
    docs/recall.md | pip download | 91 MB of another host
    docs/recall.md | memoir embeddings install | needs that file; `embeddings.rs` installs it where `MEMOIR_TEST_E5` names it
    docs/releasing.md | ssh-keygen | `scripts/test-packages` types it, with a key of its own
    docs/releasing.md | sha256sum | `scripts/test-packages` types it, too
    docs/small-model.md | * | needs a small model and its server
    clients/python/README.md | pip install | `scripts/test-clients` installs it
    clients/typescript/README.md | cd | `scripts/test-clients` builds it
    clients/typescript/README.md | npm install | for a project of the reader's own
    clients/typescript/README.md | npm pack | makes a package for the reader's OpenClaw
    clients/typescript/README.md | openclaw | needs OpenClaw; `openclaw.test.mjs` writes the same settings";

/// The text of a file of the project.
fn read(path: &str) -> String {
    fs::read_to_string(source(path)).unwrap()
}

/// A page's blocks of code in one of these languages.
fn blocks(page: &str, languages: &[&str]) -> Vec<String> {
    // Prose and blocks take turns.
    let blocks = page.split("\n```").skip(1).step_by(2);
    blocks
        .filter_map(|block| block.split_once('\n'))
        .filter(|(language, _)| languages.contains(language))
        .map(|(_, lines)| lines.to_owned())
        .collect()
}

/// The commands of a page's shell blocks, in their order, a continued one as one line. A block with `$ ` before its
/// commands shows what they print, too.
pub(crate) fn typed(page: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for block in blocks(page, &["", "sh", "console"]) {
        let block = block.replace("\\\n", "");
        let is_transcript = block.contains("$ memoir ");
        let lines = block.lines().filter_map(|line| match is_transcript {
            true => line.strip_prefix("$ "),
            false => Some(line),
        });
        commands.extend(lines.filter(|line| !line.is_empty()).map(str::to_owned));
    }
    commands
}

/// The entry of [`NOT_TYPED`] for a command.
fn exception(page: &str, line: &str) -> Option<[&'static str; 3]> {
    rows(NOT_TYPED).find(|[of, beginning, _]| {
        (*of == "*" || *of == page) && (*beginning == "*" || line.starts_with(beginning))
    })
}

/// The commands of a page that are typed here.
fn typed_here(page: &str) -> Vec<String> {
    let lines = typed(&read(page)).into_iter();
    lines
        .filter(|line| exception(page, line).is_none())
        .collect()
}

#[test]
fn every_command_of_a_page_is_typed_or_is_named_with_the_reason() {
    let mut unused: BTreeSet<[&str; 3]> = rows(NOT_TYPED).collect();
    for folder in [
        "",
        "docs/",
        "docs/decisions/",
        "docs/errors/",
        "clients/python/",
        "clients/typescript/",
    ] {
        for name in names_in(&source(folder)) {
            let page = format!("{folder}{name}");
            if !page.ends_with(".md") {
                continue;
            }
            for line in typed(&read(&page)) {
                let is_listed = PAGES.contains(&&*page) || OTHERS.contains(&&*page);
                match exception(&page, &line) {
                    Some(entry) => {
                        unused.remove(&entry);
                    }
                    None => assert!(is_listed, "{page}: nothing types `{line}`"),
                }
                // What is not run is there at least.
                for word in line.split_whitespace() {
                    let is_script = word.trim_start_matches("./").starts_with("scripts/");
                    assert!(!is_script || source(word).exists(), "{page}: {word}");
                }
                let recipe = line
                    .strip_prefix("just ")
                    .and_then(|line| line.split(' ').next());
                if let Some(recipe) = recipe {
                    read("justfile").tells(&format!("\n{recipe}:"));
                }
            }
        }
    }
    assert!(unused.is_empty(), "no page has these any more: {unused:?}");
}

#[test]
fn every_block_of_toml_is_a_configuration() {
    let mut checked = 0;
    for name in names_in(&source("docs")) {
        if !name.ends_with(".md") {
            continue;
        }
        for block in blocks(&read(&format!("docs/{name}")), &["toml"]) {
            let installation = Installation::new();
            installation.write(".config/memoir/config.toml", &block);
            let mut check = installation.command(&["config", "check"]);
            // The secret of the webhook on its page.
            let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
            let ran = Ran::of(check.env("MEMOIR_HOOK_SECRET", secret));
            assert_eq!(ran.code, Some(0), "{name}: {block}\n{ran:?}");
            checked += 1;
        }
    }
    assert!(checked > 5, "{checked}");
}

#[test]
fn the_examples_of_entries_and_of_lines_to_import_are_taken() {
    let installation = Installation::with_agent();
    for page in ["docs/first-session.md", "docs/importing.md"] {
        let lines = blocks(&read(page), &["json"]).join("\n");
        let count = lines.lines().count();
        let file = installation.write("page.jsonl", lines);
        let ran = installation.run(&["import", "wren", &file, "--json"]);
        assert_eq!(ran.code, Some(0), "{page}: {ran:?}");
        assert_eq!(ran.lines()[0]["imported"], count, "{page}: {ran:?}");
    }
    // The entry for other clients runs the command of the lines that are typed.
    let page = "docs/mcp.md";
    let entry: Value = serde_json::from_str(&blocks(&read(page), &["json"])[0]).unwrap();
    let server = &entry["mcpServers"]["memoir"];
    let words = server["args"].as_array().unwrap().iter();
    let words = std::iter::once(&server["command"]).chain(words);
    let words: Vec<&str> = words.map(|word| word.as_str().unwrap()).collect();
    let line = format!("claude mcp add memoir -- {}", words.join(" "));
    assert!(typed_here(page).contains(&line), "{line}");
}

/// A line in a shell of the home, with the program on its path.
pub(crate) fn shell(installation: &Installation, line: &str) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_memoir")).parent().unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", program.display());
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .env_clear()
        .env("HOME", installation.path(""))
        .env("PATH", path)
        .current_dir(installation.path(""))
        .stdin(Stdio::null());
    command
}

/// A port without a listener.
fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string()
}

/// The script of one shell: each line, and its exit status. It waits for a started service.
fn shell_script(lines: &[String], port: &str) -> String {
    let mut script = String::from("trap 'kill $! 2>/dev/null' EXIT\n");
    for (place, line) in lines.iter().enumerate() {
        script.push_str(&format!("{line}\necho \"=== {place} $?\"\n"));
        let command = line.split('#').next().unwrap_or_default();
        if command.trim_end().ends_with('&') {
            script.push_str(&format!(
                "for attempt in $(seq 400); do curl -s -o \"$HOME/up\" localhost:{port}/healthz && break; sleep 0.05; done\n"
            ));
        }
    }
    script
}

/// A line of the pages of [`PAGES`] as it is typed here: with the service on that port, and no user to consent. A line
/// for a client of the Model Context Protocol becomes what that client then does: it runs the command and begins, or
/// sends the header to the address.
fn in_this_shell(line: &str, port: &str) -> String {
    let call = "curl -sS --fail-with-body -H 'content-type: application/json' \
                -H 'accept: application/json, text/event-stream' -d \"$CALL\" ";
    let serve = format!("memoir serve --listen 127.0.0.1:{port} &");
    let here = [
        ("8750", port),
        ("curl ", "curl -sS --fail-with-body "),
        ("memoir serve &", serve.as_str()),
        ("memoir setup claude-code", "memoir setup claude-code --yes"),
        ("claude mcp add memoir -- ", "echo \"$INITIALIZE\" | "),
        ("codex mcp add memoir -- ", "echo \"$INITIALIZE\" | "),
        ("claude mcp add --transport http memoir ", call),
        ("codex mcp add memoir --url ", call),
        (
            "--bearer-token-env-var MEMOIR_TOKEN",
            "--header \"Authorization: Bearer $MEMOIR_TOKEN\"",
        ),
    ];
    here.into_iter()
        .fold(line.to_owned(), |line, (page, here)| {
            line.replace(page, here)
        })
}

/// The home with a scripted model behind the provider of the first session.
fn home() -> (Installation, memoir_testkit::ScriptedServer) {
    let installation = Installation::new();
    let server = installation.scripted(script(&[("search_memories", json!({"query": "Marta"}))]));
    let config = format!(
        "[providers.openrouter]\nbase_url = \"{}\"\n",
        server.base_url()
    );
    installation.write(".config/memoir/config.toml", config);
    (installation, server)
}

#[test]
fn readme_and_its_pages_are_typed_from_top_to_bottom_in_one_shell() {
    let (installation, server) = home();
    let port = free_port();
    let lines = PAGES.into_iter().flat_map(typed_here);
    let lines: Vec<String> = lines.map(|line| in_this_shell(&line, &port)).collect();
    assert!(lines.len() > 20, "{lines:?}");
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "page", "version": "1"}}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "get_context", "arguments": {}}});
    let mut shell = shell(&installation, &shell_script(&lines, &port))
        .env("INITIALIZE", initialize.to_string())
        .env("CALL", call.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = shell.stderr.take().unwrap();
    let told = std::thread::spawn(move || {
        BufReader::new(stderr)
            .lines()
            .map_while(Result::ok)
            .collect::<Vec<_>>()
    });
    let stdout = BufReader::new(shell.stdout.take().unwrap());
    let said: Vec<String> = stdout.lines().map_while(Result::ok).collect();
    shell.wait().unwrap();
    let told = told.join().unwrap();
    for (place, line) in lines.iter().enumerate() {
        let ended = format!("=== {place} 0");
        assert!(
            said.iter().any(|said| said.ends_with(&ended)),
            "{line}\n{said:#?}\n{told:#?}"
        );
    }
    // What README shows of it, but for the day.
    let shown = blocks(&read("README.md"), &["text"]).join("\n");
    assert!(shown.contains("Marta prefers linen thread."), "{shown}");
    for line in shown.lines().filter(|line| !line.starts_with("### ")) {
        assert!(said.iter().any(|said| said == line), "{line}\n{said:#?}");
    }
    let said = said.join("\n");
    said.tells("\"prompt\"");
    assert_eq!(said.matches("\"serverInfo\"").count(), 2, "{said}");
    assert_eq!(said.matches("\"jsonrpc\"").count(), 4, "{said}");
    assert_eq!(server.requests().len(), 3, "the session was held");
}

/// A home for [`OTHERS`], and values for what their lines leave open: what the page has, and what is typed.
fn home_of_a_page() -> (Installation, Vec<(String, String)>) {
    static MADE: MadeOnce = MadeOnce::new();
    let installation = MADE.copy(made_for_pages);
    let values = fs::read(installation.path("values.json")).unwrap();
    (installation, serde_json::from_slice(&values).unwrap())
}

fn made_for_pages() -> Installation {
    let installation = Installation::with_agent();
    let wren = agents_token(&installation);
    installation.remember(&[
        "Marta prefers linen thread.",
        "The kettle is blue.",
        "the kettle is blue",
    ]);
    installation.ok(&["refine", "wren"]);
    let memory = json!([{"id": "a", "memory": "Marta binds on Mondays."}]);
    installation.write("mem0.json", memory.to_string());
    let question = json!({"query": "Which thread?", "numbers": [1]});
    installation.write("questions.jsonl", question.to_string());
    let checkpoint = installation.run(&["audit", "checkpoint"]);
    let public_key = checkpoint.stderr.lines().last().unwrap().to_owned();
    installation.write("monday.note", checkpoint.stdout);
    let session = installation.last_session();
    let values = json!([
        [" /backups", " \"$HOME\"/backups"],
        [" /elsewhere", " \"$HOME\"/elsewhere"],
        ["setup claude-code", "setup claude-code --yes"],
        ["curl ", "curl -sS --fail-with-body "],
        ["$ADMIN", token(&installation, &["--role", "admin"])],
        ["$WREN", wren],
        ["session:01a0…", format!("session:{session}")],
        ["$SESSION", session],
        ["scripts/verify-log", source("scripts/verify-log")],
        ["memoir/1a2b…+1a2b3c4d+AQ…", public_key],
        ["--records 1204", "--records 1"],
    ]);
    installation.write("values.json", values.to_string());
    installation
}

#[test]
fn the_commands_of_other_pages_are_typed_from_top_to_bottom() {
    for page in OTHERS {
        let (installation, mut values) = home_of_a_page();
        for folder in ["backups", "elsewhere"] {
            fs::create_dir(installation.path(folder)).unwrap();
        }
        let has_python = Ran::of(&mut shell(&installation, "python3 --version")).code == Some(0);
        let mut lines = typed_here(page);
        assert!(!lines.is_empty(), "{page}");
        let requests = lines.iter().any(|line| line.starts_with("curl "));
        let service = requests.then(|| Running::start(&installation, &[]));
        let address = service.iter().map(|service| service.address.clone());
        values.extend(address.map(|address| ("localhost:8750".to_owned(), address)));
        lines.retain(|line| has_python || !line.starts_with("scripts/verify-log"));
        let mut said = String::new();
        for line in lines {
            let typed = values.iter();
            let typed = typed.fold(line, |line, (page, here)| line.replace(page, here));
            said += &Ran::of(&mut shell(&installation, &typed)).ok(&typed);
        }
        if page == "docs/live.md" {
            said.tells("event: record\n");
            said.tells("event: ended\n");
        }
    }
}

/// The commands of the table of everyday ones that end by themselves, with values for their placeholders.
fn everyday() -> Vec<String> {
    let page = read("docs/command-line.md");
    let section = page.split_once("\n## Everyday commands\n").unwrap().1;
    let section = section.split_once("\n## ").unwrap().0;
    let mut commands = Vec::new();
    for row in section
        .lines()
        .filter(|line| line.starts_with("| `memoir "))
    {
        let cell = row.split(" | ").next().unwrap();
        let spans = cell.split('`').skip(1).step_by(2);
        commands.extend(
            spans
                // `ui.rs` tests the page, which is served until Ctrl-C.
                .filter(|span| span.starts_with("memoir ") && *span != "memoir ui")
                .map(|span| {
                    span.replace("NAME FIELD", "wren system_prompt")
                        .replace("absorb wren [FILE]…", "absorb wren talk.txt")
                        .replace("backup FILE", "backup copy.db")
                        .replace("FILE", "notes.jsonl")
                        .replace("SESSION", "last")
                        .replace("TEXT", "why")
                        // There is no user to confirm.
                        .replace("shred wren 17", "shred wren 17 --yes")
                        .replace("erase wren", "erase wren --yes")
                }),
        );
    }
    commands
}

/// What has happened before some of these commands.
const BEFORE: [(&str, &str); 4] = [
    (
        "memoir refine ",
        "memoir remember wren 'Marta binds book 17 on a Monday.'",
    ),
    (
        "memoir promote ",
        "memoir remember wren 'Marta binds nothing.' --replaces 17",
    ),
    ("memoir restore ", "memoir discard wren 17"),
    (
        "memoir agent undo ",
        "memoir agent set wren system_prompt 'You are Wren.'",
    ),
];

/// Those that need more than a new installation has, and what their error names. Other tests have what they need:
/// `between_sessions.rs`, `embeddings.rs` and `postgres.rs`.
const REFUSED: [(&str, &str); 3] = [
    ("memoir absorb ", "understands no text"),
    (
        "memoir embeddings install ",
        "is not one that this version of Memoir knows",
    ),
    ("memoir key move", "no database is named"),
];

#[test]
fn every_everyday_command_does_what_it_is_for() {
    let prepared = Installation::with_agent();
    let notes = (3..=17).map(|at| format!("Marta binds book {at} on a Monday."));
    let kettles = ["The kettle is blue.", "the kettle is blue"].map(str::to_owned);
    let notes = kettles.into_iter().chain(notes);
    let notes = notes.map(|text| format!("{}\n", json!({"content": text})));
    let notes = prepared.write("notes.jsonl", notes.collect::<String>());
    prepared.write("talk.txt", "Marta: I prefer linen thread.\nWren: Noted.\n");
    prepared.ok(&["import", "wren", &notes]);
    prepared.ok(&["refine", "wren"]);
    let commands = everyday();
    assert!(commands.len() > 45, "{commands:?}");
    for command in commands {
        // Each in a copy of that home, so that none depends on those before it.
        let installation = prepared.copied();
        let of = |list: &[(&str, &'static str)]| {
            let mut entries = list.iter();
            let entry = entries.find(|(beginning, _)| command.starts_with(beginning));
            entry.map(|(_, value)| *value)
        };
        let line = match of(&BEFORE) {
            Some(before) => format!("{before} >before && {command}"),
            None => command.clone(),
        };
        let ran = Ran::of(shell(&installation, &line).env("EDITOR", "sed -i s/book/volume/"));
        let refusal = of(&REFUSED);
        let expected = i32::from(refusal.is_some());
        assert_eq!(ran.code, Some(expected), "{command}: {ran:?}");
        ran.reports(refusal.unwrap_or_default());
    }
}

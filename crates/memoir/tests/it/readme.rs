//! README and the pages that continue it, executed: their shell lines are run from top to bottom, in one shell.
#![cfg(unix)]

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    process::{Command, Stdio},
};

use memoir_testkit::TestedText;
use serde_json::json;

use crate::installation::{Installation, Ran, script};

/// The pages whose shell lines are run, in their order.
const PAGES: [&str; 4] = [
    include_str!("../../../../README.md"),
    include_str!("../../../../docs/first-session.md"),
    include_str!("../../../../docs/service.md"),
    include_str!("../../../../docs/mcp.md"),
];

/// Other pages with commands, each typed in a home of its own with the agent `wren`.
const OTHERS: [(&str, &str); 5] = [
    ("access.md", include_str!("../../../../docs/access.md")),
    ("backup.md", include_str!("../../../../docs/backup.md")),
    (
        "importing.md",
        include_str!("../../../../docs/importing.md"),
    ),
    ("programs.md", include_str!("../../../../docs/programs.md")),
    ("recall.md", include_str!("../../../../docs/recall.md")),
];

/// The page with the table of everyday commands.
const COMMAND_LINE: &str = include_str!("../../../../docs/command-line.md");

/// Lines that need programs or builds that a test machine does not have.
const ELSEWHERE: [&str; 5] = ["cargo ", "./scripts/", "claude ", "codex ", "git "];

/// The lines of all shell blocks of the pages, in their order.
fn typed<'a>(pages: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut blocks = Vec::new();
    let mut block: Option<Vec<&str>> = None;
    for line in pages.into_iter().flat_map(str::lines) {
        match (&mut block, line.strip_prefix("```")) {
            (None, Some("" | "sh")) => block = Some(Vec::new()),
            // Another language: skipped up to its end.
            (None, Some(_)) => block = Some(vec!["#"]),
            (Some(_), Some(_)) => blocks.extend(block.take()),
            (Some(lines), None) => lines.push(line),
            (None, None) => {}
        }
    }
    let is_typed = |block: &Vec<&str>| {
        let first = block.first().copied().unwrap_or_default();
        first.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '.')
    };
    let lines = blocks.into_iter().filter(is_typed).flatten();
    lines.filter(|line| !line.is_empty()).collect()
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
        if line
            .split('#')
            .next()
            .unwrap_or_default()
            .trim_end()
            .ends_with('&')
        {
            script.push_str(&format!(
                "until curl -s -o \"$HOME/up\" localhost:{port}/healthz; do sleep 0.05; done\n"
            ));
        }
    }
    script
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
    let lines: Vec<String> = typed(PAGES)
        .into_iter()
        .filter(|line| !ELSEWHERE.iter().any(|other| line.starts_with(other)))
        .map(|line| {
            line.replace("8750", &port)
                .replace(
                    "memoir serve &",
                    &format!("memoir serve --listen 127.0.0.1:{port} &"),
                )
                // There is no user to consent.
                .replace("memoir setup claude-code", "memoir setup claude-code --yes")
        })
        .collect();
    assert!(lines.len() > 15, "{lines:?}");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_memoir"));
    let path = format!(
        "{}:/usr/local/bin:/usr/bin:/bin",
        program.parent().unwrap().display()
    );
    let mut shell = Command::new("sh")
        .args(["-c", &shell_script(&lines, &port)])
        .env_clear()
        .env("HOME", installation.path(""))
        .env("PATH", path)
        .current_dir(installation.path(""))
        .stdin(Stdio::null())
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
    let said = said.join("\n");
    said.tells("Marta prefers linen thread.");
    assert!(
        said.contains("\"prompt\"") || said.contains("nothing_to_refine"),
        "{said}"
    );
    said.omits("\"status\":401");
    said.omits("\"status\":403");
    assert_eq!(server.requests().len(), 3, "the session was held");
}

#[test]
fn the_commands_of_other_pages_are_typed_from_top_to_bottom() {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_memoir"));
    for (name, page) in OTHERS {
        let installation = Installation::with_agent();
        installation.remember(&["Marta prefers linen thread."]);
        let memory = json!([{"id": "a", "memory": "Marta binds on Mondays."}]);
        installation.write("mem0.json", memory.to_string());
        let question = json!({"query": "Which thread?", "numbers": [1]});
        installation.write("questions.jsonl", question.to_string());
        for folder in ["backups", "elsewhere"] {
            std::fs::create_dir(installation.path(folder)).unwrap();
        }
        let lines = typed([page]).into_iter();
        // What needs a file of the network is not typed.
        let lines = lines.filter(|line| {
            line.starts_with("memoir ") && !line.starts_with("memoir embeddings install")
        });
        let lines: Vec<String> = lines
            .map(|line| {
                line.replace(" /backups", " \"$HOME\"/backups")
                    .replace(" /elsewhere", " \"$HOME\"/elsewhere")
                    .replace("setup claude-code", "setup claude-code --yes")
            })
            .collect();
        assert!(!lines.is_empty(), "{name}");
        for line in lines {
            let ran = Ran::of(
                Command::new("sh")
                    .args(["-c", &line])
                    .env_clear()
                    .env("HOME", installation.path(""))
                    .env(
                        "PATH",
                        format!("{}:/usr/bin:/bin", program.parent().unwrap().display()),
                    )
                    .current_dir(installation.path(""))
                    .stdin(Stdio::null()),
            );
            assert_eq!(ran.code, Some(0), "{name}: {line}: {ran:?}");
        }
    }
}

/// The commands of the table of everyday ones that end by themselves, with values for their placeholders.
fn everyday() -> Vec<String> {
    let section = COMMAND_LINE
        .split_once("\n## Everyday commands\n")
        .unwrap()
        .1;
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
                    span.replace(" [FILE]", " FILE")
                        .replace("NAME FIELD", "wren system_prompt")
                        .replace("AGENT", "wren")
                        .replace("SESSION", "last")
                        .replace("TEXT", "why")
                }),
        );
    }
    commands
}

#[test]
fn every_everyday_command_is_understood() {
    let installation = Installation::with_agent();
    let commands = everyday();
    assert!(commands.len() > 30, "{commands:?}");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_memoir"));
    for command in commands {
        let ran = Command::new("sh")
            .args(["-c", &command])
            .env_clear()
            .env("HOME", installation.path(""))
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", program.parent().unwrap().display()),
            )
            .current_dir(installation.path(""))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&ran.stderr);
        // It may be refused: there is no such memory, or no input for its confirmation.
        assert!(
            matches!(ran.status.code(), Some(0 | 1)),
            "{command}: {told}"
        );
    }
}

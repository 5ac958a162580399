//! Files of other programs at the command line: what is offered, kept and reported.

use std::io::Write;

use memoir_testkit::{TestedObject, TestedText};
use serde_json::{Value, json};

use crate::installation::{Installation, Ran, wait_until};

/// The newest memory with that text.
fn of(installation: &Installation, text: &str) -> Value {
    let mut all = installation.items("ledger wren --all").into_iter();
    let found = all.rfind(|memory| memory["content"].as_str().unwrap().contains(text));
    found.unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn spec_2_4_an_entry_that_is_dated_ahead_is_kept_and_named_with_its_place() {
    let installation = Installation::with_agent();
    let trip = "---\ndate: 2127-05-01\n---\nThe trip to Lund begins at nine from pier 3.\n";
    installation.write("vault/trip.md", trip);
    installation.write("vault/2087-06-01.md", "Home again.\n");
    installation.write("vault/oak.md", "---\ndate: then\n---\nWe agreed on oak.\n");
    let told = installation.json(&["import", "wren", "vault"]);
    told.has(json!({"imported": 3, "refused": 0}));
    assert_eq!(told["dates"], json!({"ahead": 2, "unreadable": 1}));
    for (file, reason) in [
        ("trip.md", "ahead"),
        ("2087-06-01.md", "ahead"),
        ("oak.md", "unreadable"),
    ] {
        let mut places = told["date_places"].as_array().unwrap().iter();
        let is_named = places.any(|place| place["file"] == file && place["reason"] == reason);
        assert!(is_named, "{told}");
    }
    of(&installation, "Lund").has(json!({"tags": ["date:2127-05-01"]}));
    installation.ok(&["import", "wren", "--undo"]);
    let table = installation.ok(&["import", "wren", "vault"]);
    table.tells("`trip.md`, the whole file: its date lies ahead, and is kept as a tag");
    table.omits("over a limit");
    // A core memory does not expire, and keeps its date.
    installation.ok(&["import", "wren", "--undo"]);
    let told = installation.json(&["import", "wren", "vault", "--to", "core"]);
    assert_eq!(told["dates"], json!({"unreadable": 1}));
    of(&installation, "Lund").has(json!({"created_at": "2127-05-01T00:00:00Z"}));
}

#[test]
fn files_of_other_kinds_are_named() {
    let installation = Installation::with_agent();
    let memory = json!([{"id": "a", "memory": "Marta binds on Mondays.", "hash": "x"}]);
    installation.write("mem0/a.json", memory.to_string());
    for at in 1..=7 {
        installation.write(&format!("mem0/lock{at}"), "tmp lock file");
    }
    let table = installation.ok("import wren mem0 --format mem0");
    table.tells("a file of another kind: 7\n");
    table.tells("  `lock1`, the whole file: a file of another kind\n");
    table.tells("  and 2 more\n");
}

#[test]
fn spec_2_4_an_external_memory_stays_external_as_a_page() {
    let installation = Installation::with_agent();
    installation.write(
        "lines.jsonl",
        "{\"content\": \"The page says so.\", \"origin\": \"external\"}\n{\"content\": \"Kai says so.\"}\n",
    );
    installation.ok(&["import", "wren", "lines.jsonl"]);
    installation.ok(&["agent", "create", "robin"]);
    for format in ["markdown", "okf"] {
        let folder = format!("pages-{format}");
        installation.ok(&["export", "wren", "--format", format, "--output", &folder]);
        installation.ok(&["import", "robin", &folder]);
        let items = installation.items(&["ledger", "robin", "--all"]);
        for (text, origin) in [
            ("The page says so.", "external"),
            ("Kai says so.", "import"),
        ] {
            let found = items.iter().find(|memory| memory["content"] == text);
            assert_eq!(found.unwrap()["origin"], origin, "{format}: {text}");
        }
        installation.ok(&["import", "robin", "--undo"]);
    }
    // A changed page of the agent itself, too.
    let page = std::fs::read_dir(installation.path("pages-markdown/core")).unwrap();
    let page = page.map(|entry| entry.unwrap().path());
    let mut page = page.filter(|page| std::fs::read_to_string(page).unwrap().contains("The page"));
    let page = page.next().unwrap();
    let text = std::fs::read_to_string(&page).unwrap();
    let text = text.replace("The page says so.\n", "The page said so.\n");
    std::fs::write(&page, text).unwrap();
    installation.ok(&["import", "wren", "pages-markdown", "--apply"]);
    assert_eq!(of(&installation, "The page said so.")["origin"], "external");
}

#[test]
fn json_of_an_unknown_program_is_offered_as_one_document() {
    let installation = Installation::with_agent();
    for text in [
        "[\n  {\n    \"note\": \"Kai sails.\"\n  },\n  {\n    \"note\": \"Kai cooks.\"\n  }\n]\n",
        "{\n  \"items\": [\n    {\"content\": \"Kai sails.\"},\n    {\"content\": \"Kai cooks.\"}\n  ]\n}\n",
        "{\"note\": \"Kai sails.\"}\n{\"note\": \"Kai cooks.\"}\n",
    ] {
        let file = installation.write("notes.json", text);
        let refused = installation.run(&["import", "wren", &file]).error();
        refused.tells("JSON with objects that have a text");
        refused.tells("hint: `--format json`");
        let import = ["import", "wren", &file, "--format", "json"];
        let ran = installation.run(&[&import[..], &["--dry-run"]].concat());
        ran.reports("looks like json: it was given by `--format`");
        let told = installation.json(&import);
        assert_eq!(told["imported"], 2, "{told}");
        installation.ok(&["import", "wren", "--undo"]);
    }
    // One error, not one a line.
    for text in ["{\n  \"a\": 1,\n  \"b\": [2]\n}\n", "a note\nand another\n"] {
        let file = installation.write("other", text);
        let refused = installation.run(&["import", "wren", &file]).error();
        refused.tells("unknown format of memories");
    }
}

#[cfg(unix)]
#[test]
fn no_program_of_a_repository_runs_with_a_git_that_knows_no_limits() {
    use std::os::unix::fs::PermissionsExt;

    let installation = Installation::with_agent();
    installation.write("repo/system/a.md", "A text of a page.\n");
    let (repo, mark) = (installation.path("repo"), installation.path("ran"));
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.arg("-C")
            .arg(&repo)
            .args(["-c", "user.email=a@b", "-c", "user.name=a"]);
        let done = git
            .args(arguments)
            .env("HOME", installation.path(""))
            .output();
        done.ok()
            .filter(|done| done.status.success())
            .map(|done| done.stdout)
    };
    let made = git(&["init", "-q"])
        .and_then(|_| git(&["add", "."]))
        .and_then(|_| git(&["commit", "-qm", "x"]));
    let (Some(_), Some(tree)) = (made, git(&["rev-parse", "HEAD^{tree}"])) else {
        return println!("skipped: git is not installed");
    };
    let tree = String::from_utf8(tree).unwrap();
    let object = format!(".git/objects/{}/{}", &tree[..2], tree[2..].trim());
    std::fs::remove_file(repo.join(object)).unwrap();
    let config = repo.join(".git/config");
    let trap = format!(
        "[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\tpromisor = true\n\turl = \"ext::sh -c touch% {0}\"\n\
         [protocol \"ext\"]\n\tallow = always\n[core]\n\tfsmonitor = \"touch {0}\"\n\tsshCommand = \"touch {0}\"\n",
        mark.display()
    );
    let before = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, before + &trap).unwrap();
    // As older versions of git, which know neither variable.
    let path = std::env::var("PATH").unwrap();
    let mut real = path.split(':').map(|folder| format!("{folder}/git"));
    let real = real.find(|git| std::path::Path::new(git).exists()).unwrap();
    let script =
        format!("#!/bin/sh\nunset GIT_NO_LAZY_FETCH GIT_CONFIG_GLOBAL\nexec {real} \"$@\"\n");
    let wrapper = installation.write("bin/git", script);
    std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{path}", installation.path("bin").display());
    for format in ["letta", "markdown"] {
        let mut command = installation.command(&["import", "wren", "repo", "--format", format]);
        let ran = Ran::of(command.env("PATH", &path));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(!mark.exists(), "a program ran");
    }
}

#[test]
fn spec_2_6_conversations_are_read_from_several_files_compressed_ones_and_archives() {
    let installation = Installation::with_agent();
    let one = installation.write("one.txt", "Ann: I keep two hens.\n");
    let chat = json!([
        {"role": "system", "content": "You are helpful."},
        {"role": "user", "content": "I moved to Lund."},
        {"role": "assistant", "content": [{"type": "text", "text": "How nice."}], "tool_calls": null},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "content": "42"},
    ]);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(chat.to_string().as_bytes()).unwrap();
    let two = installation.write("two.json.gz", packed.finish().unwrap());
    let told = installation.json(&["absorb", "wren", &one, &two, "--later"]);
    let file = &told["file"];
    file.has(json!({"received": 3, "left_out": 3, "lost": 0}));
    let again = installation.json(&["absorb", "wren", &one, &two, "--later"]);
    again["file"].has(json!({"received": 0, "known": 3}));
    // A chat holds no memories, and the way to read it is named.
    let refused = installation.run(&["import", "wren", &two]).error();
    refused.tells("hint: `memoir absorb AGENT FILE`");
}

#[test]
fn an_import_that_is_refused_waits_for_no_end_of_its_input() {
    use std::process::Stdio;
    let installation = Installation::with_agent();
    let config = "[quotas]\nagent_memories = 5\n";
    installation.write(".config/memoir/config.toml", config);
    let mut command = installation.command("import wren - --format mcp-memory");
    let command = command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    // One batch, which is refused, and the beginning of another, whose end never comes.
    let mut input = child.stdin.take().unwrap();
    let lives = "She lives in Bremen. ".repeat(5);
    for number in 0..3_900 {
        let (name, lives) = (format!("Mira {number}"), [&lives]);
        let line = json!({
            "type": "entity", "name": name, "entityType": "person", "observations": lives,
        });
        // The command may have ended.
        let _ = writeln!(input, "{line}");
    }
    wait_until(|| child.try_wait().unwrap().is_some());
    let ended = child.wait_with_output().unwrap();
    drop(input);
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    String::from_utf8_lossy(&ended.stderr).tells("the quota of 5 memories of this agent");
    assert!(installation.texts().is_empty());
}

#[cfg(unix)]
#[test]
fn spec_6_2_an_interrupted_import_writes_nothing_and_says_so() {
    use std::{
        io::{BufRead, BufReader, Read},
        process::Stdio,
    };

    use rustix::process::{Pid, Signal, kill_process};

    let installation = Installation::with_agent();
    let mut command = installation.command("import wren - --format mcp-memory");
    let command = command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    // More than what is read before the import begins. Its end never comes.
    let mut input = child.stdin.take().unwrap();
    for number in 0..6_000 {
        let (name, lives) = (format!("Mira {number}"), ["She lives in Bremen."]);
        let line = json!({
            "type": "entity", "name": name, "entityType": "person", "observations": lives,
        });
        writeln!(input, "{line}").unwrap();
    }
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut told = String::new();
    stderr.read_line(&mut told).unwrap();
    told.tells("looks like");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    stderr.read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{told}");
    told.tells("interrupted: nothing was imported");
    drop(input);
    assert!(installation.texts().is_empty());
}

//! Bad input and bad environments: one clear error, a hint where one helps, status 1, nothing lost.

use memoir_testkit::{ServerStep, TestedText};

use crate::installation::{Installation, Ran, names_in, rows};

#[test]
fn each_limit_is_reported_with_the_given_size() {
    let installation = Installation::with_agent();
    let tags: String = (0..17)
        .map(|number| format!(" --tag tag{number}"))
        .collect();
    for [line, told] in rows(
        r"
        remember wren {10001} | content: is 10001 characters long, and the limit is 10000
        remember wren '  ' | content: is empty
        remember wren x --tag {51} | tags: is 51 characters long, and the limit is 50
        remember wren x{tags} | tags: has 17 tags, and the limit is 16
        remember wren x --source {201} | source: is 201 characters long
        agent create {101} | name: is 101 characters long, and the limit is 100
        agent create x --refinement-threshold 1.5 | refinement_threshold: must be a number over 0
        agent create x --refinement-threshold -1 | refinement_threshold: must be a number over 0
        agent create x --core-token-budget 0 | core_token_budget: must be a whole number
        agent create x --loss-guard loud | loss_guard: must be `archive`, `refuse` or `off`
        agent create x --model small | names no provider
        agent create WREN | the name `WREN` is taken
        agent set wren refinement_prompt {10001} | refinement_prompt: is 10001 characters long
        agent set wren refinement_threshold high | refinement_threshold: must be
        agent set wren colour blue | no setting of an agent; the settings are name, model
        agent set wren name null | name: has no default
        account create default | the name `default` is taken",
    ) {
        let longs = [51, 101, 201, 10_001_usize];
        let line = longs
            .iter()
            .fold(line.replace("{tags}", &tags), |line, length| {
                line.replace(&format!("{{{length}}}"), &"x".repeat(*length))
            });
        installation.refused(&line).tells(told);
    }
    let control = installation.refused(&["remember", "wren", "a\u{1b}b"]);
    control.tells("control character U+001B at character 2");
    assert_eq!(installation.texts(), Vec::<String>::new());
    assert_eq!(installation.items(&["agent", "list"]).len(), 1);
}

#[test]
fn unknown_accounts_agents_sessions_and_memories_are_reported_with_a_hint() {
    let installation = Installation::with_agent();
    for [line, told, hint] in rows(
        "
        ledger robin | there is no agent `robin` | memoir agent list
        remember robin x | there is no agent `robin` | memoir agent list
        refine robin | there is no agent `robin` | memoir agent list
        session 01890c5e-0000-7000-8000-000000000000 | there is no session | memoir sessions AGENT
        session 17 | there is no session `17` | memoir sessions AGENT
        cancel 01890c5e-0000-7000-8000-000000000000 | there is no session | memoir sessions AGENT
        rollback 01890c5e-0000-7000-8000-000000000000 | there is no session | memoir sessions AGENT
        apply 01890c5e-0000-7000-8000-000000000000 | there is no session | memoir sessions AGENT
        audit list wren --session 01890c5e-0000-7000-8000-000000000000 | there is no session | memoir sessions AGENT
        restore wren 17 | there is no memory #17 | memoir ledger AGENT --all
        agent list --account lab | there is no account `lab` | memoir account list
        refine wren | there is nothing to refine | memoir remember",
    ) {
        let refused = installation.refused(line);
        refused.tells(told);
        let (_, last) = refused.split_once("\n\nhint: ").unwrap();
        assert!(last.contains(hint), "{hint}: {refused}");
    }
}

#[test]
fn a_file_that_is_no_database_stays_as_it_is() {
    let installation = Installation::new();
    let text = "Dear diary, this is not a database at all.\n".repeat(100);
    let file = installation.write("diary.txt", &text);
    let refused = installation.refused(&["agent", "list", "--database", &file]);
    refused.tells("is not a database of Memoir");
    refused.tells("hint: ");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);

    let file = installation.write("theirs.db", b"");
    let theirs = rusqlite::Connection::open(&file).unwrap();
    theirs
        .execute_batch("CREATE TABLE theirs (theirs)")
        .unwrap();
    drop(theirs);
    let bytes = std::fs::read(&file).unwrap();
    let refused = installation.refused(&["agent", "list", "--database", &file]);
    refused.tells("is not a database of Memoir");
    refused.tells("hint: ");
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
    let mut beside = names_in(&installation.path(""));
    beside.sort();
    assert_eq!(beside, ["diary.txt", "theirs.db", "tmp"]);
}

#[test]
fn a_database_from_a_newer_version_stays_as_it_is() {
    /// The bytes of SQLite's `PRAGMA user_version`, which hold the format's number.
    const VERSION: std::ops::Range<usize> = 60..64;
    let installation = Installation::new();
    installation.ok(&["agent", "create", "wren", "--database", "m.db"]);
    let mut bytes = std::fs::read(installation.path("m.db")).unwrap();
    bytes[VERSION].copy_from_slice(&900_u32.to_be_bytes());
    let file = installation.write("m.db", &bytes);
    let refused = installation.refused(&["agent", "list", "--database", &file]);
    refused.tells("written by a newer version of Memoir (format 900");
    refused.tells("hint: use the newer version");
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
}

#[test]
fn a_database_that_cannot_be_opened_is_named_with_a_hint() {
    let installation = Installation::new();
    for [url, told] in rows(
        "
        no/such/folder/m.db | cannot open the database `no/such/folder/m.db`: there is no folder `no/such/folder`
        tmp | cannot open the database `tmp`
        postgres://127.0.0.1:1/memoir | cannot open the database `postgres://127.0.0.1:1/memoir`
        mysql://localhost | no kind of database `mysql`
        sqlite: | has no path",
    ) {
        let refused = installation.refused(&["--database", url, "agent", "list"]);
        assert!(
            refused.contains(told) && refused.contains("\n\nhint: "),
            "{url}: {refused}"
        );
        let doctor = installation.run(&["--database", url, "doctor"]);
        assert_eq!(doctor.code, Some(1), "{doctor:?}");
        doctor.prints("problem  database");
        doctor.prints("hint: ");
    }
}

/// Runs a shell script in a mount namespace of its own, with a small file system at `$1` and the binary as `$2`; `None`
/// where the machine does not allow that.
#[cfg(target_os = "linux")]
fn on_small_disk(installation: &Installation, script: &str) -> Option<crate::installation::Ran> {
    let disk = installation.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let mut command = std::process::Command::new("unshare");
    command
        .args(["--mount", "--map-root-user", "sh", "-c"])
        .arg(format!(
            "mount -t tmpfs -o size=600k none \"$1\" || exit 77\n{script}"
        ))
        .arg("sh")
        .arg(&disk)
        .arg(env!("CARGO_BIN_EXE_memoir"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", installation.path(""));
    let ran = crate::installation::Ran::from_output(command.output().ok()?);
    let is_allowed = ran.code != Some(77) && !ran.stderr.contains("unshare");
    is_allowed.then_some(ran)
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let script = r#"
        export MEMOIR_DATABASE="$1/m.db"
        "$2" agent create wren >/dev/null 2>&1 || exit 1
        saved=0
        while head -c 9000 /dev/zero | tr '\0' x | "$2" remember wren - >/dev/null 2>"$1/../err"; do
            saved=$((saved + 1))
        done
        cat "$1/../err" >&2
        echo "$saved"
        "$2" export wren | wc -l
    "#;
    let Some(ran) = on_small_disk(&Installation::new(), script) else {
        return;
    };
    ran.reports("error: the disk is full");
    ran.reports("hint: free some space");
    let counts: Vec<&str> = ran.stdout.lines().map(str::trim).collect();
    assert_eq!(counts[0], counts[1], "{ran:?}");
    assert_ne!(counts[0], "0", "{ran:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_read_only_disk_is_reported_with_a_hint() {
    let script = r#"
        "$2" --database "$1/m.db" agent create wren >/dev/null 2>&1 || exit 1
        mount -o remount,ro "$1" || exit 77
        "$2" --database "$1/m.db" remember wren x
        echo "$?"
        "$2" --database "$1/new.db" agent create robin
        echo "$?"
        mkdir "$HOME/copy" && cp "$1"/m.db* "$HOME/copy"
        "$2" --database "$HOME/copy/m.db" ledger wren >/dev/null 2>&1
        echo "$?"
    "#;
    let Some(ran) = on_small_disk(&Installation::new(), script) else {
        return;
    };
    assert_eq!(ran.stdout, "1\n1\n0\n", "{ran:?}");
    assert_eq!(ran.stderr.matches("\nhint: ").count(), 2, "{ran:?}");
    // Without its log, which is a file beside it, the database cannot even be opened.
    ran.stderr.tells("copy the database and its keys");
}

#[test]
fn a_missing_key_or_model_is_reported_before_a_session_begins() {
    let installation = Installation::new();
    installation.ok(&["agent", "create", "wren"]);
    installation.remember(&["something"]);
    for [line, told] in rows(
        "
        refine wren | or try `memoir refine NAME --model builtin:careful`
        reflect wren | `builtin:careful` cannot read texts
        absorb wren | `builtin:careful` cannot read texts
        refine wren --model openai:gpt-5 | set the environment variable `OPENAI_API_KEY`
        refine wren --model nowhere:model | there is no provider `nowhere`
        refine wren --model builtin:bold | there is only `builtin:careful`
        refine wren --model careful | names no provider",
    ) {
        installation.refused(line).tells(told);
    }
    // A sweep has no option `--model`.
    installation.ok("agent set wren refinement_trigger_tokens 1");
    let swept = installation.run("sweep");
    assert_eq!(swept.code, Some(1), "{swept:?}");
    swept.reports("or try `memoir refine NAME --model builtin:careful`");
    assert_eq!(installation.items(&["sessions", "wren"]).len(), 0);
    installation.ok(&["agent", "set", "wren", "model", "openai:gpt-5"]);
    let doctor = installation.run(&["doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    doctor.prints("problem  model");
    doctor.prints("OPENAI_API_KEY");
}

#[test]
fn a_model_that_answers_with_a_web_page_fails_the_session_and_changes_nothing() {
    let installation = Installation::with_agent();
    installation.remember(&["something"]);
    let _server = installation.scripted([ServerStep::html()]);
    let ran = installation.run(&["refine", "wren", "--model", "lab:small"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.starts_with("failed\n"), "{ran:?}");
    ran.reports("error: the session ended as `failed`: the answer is not one of a model");
    ran.reports("`base_url`");
    assert!(
        ran.stderr.ends_with("hint: nothing was changed\n"),
        "{ran:?}"
    );
    assert_eq!(installation.core(), ["something"]);
}

#[test]
fn a_model_that_is_down_is_asked_again_and_then_given_up() {
    let installation = Installation::with_agent();
    installation.remember(&["something"]);
    let _server = installation.scripted([ServerStep::status(503), ServerStep::status(503)]);
    let ran = installation.run(&["refine", "wren", "--model", "lab:small"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.reports("waiting ");
    ran.reports("it was asked 2 times");
}

#[test]
fn spec_6_2_nothing_is_written_into_a_home_that_is_no_folder_of_a_user() {
    let installation = Installation::new();
    let database = format!("sqlite:{}", installation.path("own.db").display());
    // As the root of a container, Memoir could write there.
    let at_root = || {
        let own = [
            "/.local/share/memoir",
            "/.local/state/memoir",
            "/.config/memoir",
            "/.claude",
        ];
        let own = own.map(|path| std::path::Path::new(path).exists());
        let mut names = names_in(std::path::Path::new("/"));
        names.sort();
        (names, own)
    };
    let before = at_root();
    for home in ["/", "relative"] {
        for line in [
            "remember wren Kiln.",
            "agent list",
            "setup claude-code --agent wren --yes",
            "embeddings status",
        ] {
            let ran = Ran::of(installation.command(line).env("HOME", home));
            let is_named = ran.stderr.contains(&format!("home is `{home}`"))
                || ran.stderr.contains("set HOME");
            assert!(ran.code == Some(1) && is_named, "{home} {line}: {ran:?}");
        }
        // Named folders work whatever the home is, and a hook ends well without its state.
        let name = if home == "/" { "wren" } else { "robin" };
        for line in [
            format!("agent create {name} --database {database}"),
            format!("hook session-start --client claude-code --agent {name} --database {database}"),
        ] {
            Ran::of(installation.command(&line).env("HOME", home)).ok(&line);
        }
        let mut elsewhere = installation.command(&["agent", "list"]);
        elsewhere
            .env("HOME", home)
            .env("XDG_DATA_HOME", installation.path("data"));
        let ran = Ran::of(&mut elsewhere);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    assert!(!installation.path("relative").exists());
    assert_eq!(at_root(), before);
}

#[test]
fn spec_2_1_a_prompt_file_is_read_in_the_encoding_that_it_has() {
    let installation = Installation::new();
    for (index, (bytes, prompt, note)) in [
        (
            &b"Be kind, Zo\xEB."[..],
            "Be kind, Zo\u{EB}.",
            "read as Windows-1252",
        ),
        (b"\xFF\xFEA\0\xEB\0", "A\u{EB}", "read as UTF-16"),
        (b"\xEF\xBB\xBFBe kind.", "Be kind.", ""),
    ]
    .into_iter()
    .enumerate()
    {
        let file = installation.write("prompt.md", bytes);
        let name = format!("wren{index}");
        let ran = installation.run(&["agent", "create", &name, "--system-prompt-file", &file]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.reports(note);
        let shown = installation.ok(&["agent", "show", &name, "--json"]);
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["system_prompt"], prompt, "{shown}");
    }
    let file = installation.write("prompt.md", b"\x89PNG\0");
    let refused =
        installation.refused(&["agent", "create", "robin", "--system-prompt-file", &file]);
    refused.tells("is no text");
}

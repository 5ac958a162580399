//! A whole agent in a sealed file, from one installation to another.

use std::fs;

use memoir_testkit::TestedText;
use serde_json::json;

use crate::installation::{Installation, MadeOnce, Ran, files_in, rows};

const VARIABLE: &str = "MEMOIR_ARCHIVE_PASSPHRASE";
const PASSPHRASE: &str = "correct horse battery";

fn with_a_past() -> Installation {
    static MADE: MadeOnce = MadeOnce::new();
    MADE.copy(made)
}

fn made() -> Installation {
    let installation = Installation::with_agent();
    installation.remember(&["Kanarienvogel", "Kanarienvogel", "kanarienvogel!", "once"]);
    installation.ok(&["refine", "wren"]);
    installation.ok("remember wren 'A day.' --kind journal --tag a");
    installation
}

fn with_passphrase(installation: &Installation, passphrase: &str, arguments: &[&str]) -> Ran {
    Ran::of(installation.command(arguments).env(VARIABLE, passphrase))
}

/// The agent's log without records of its installation.
fn actions(installation: &Installation) -> Vec<String> {
    let list = installation.run(&["audit", "list", "wren", "--json"]);
    let records = list.lines().into_iter();
    records
        .map(|record| format!("{} {}", record["action"], record["recorded_at"]))
        .collect()
}

#[test]
fn an_agent_goes_into_an_archive_and_comes_out_as_it_was_in_another_installation() {
    let (from, to) = (with_a_past(), Installation::new());
    let sealed = to.path("wren.memoir");
    let file = sealed.to_str().unwrap();
    let export = ["export", "wren", "--format", "archive", "--output", file];
    let ran = with_passphrase(&from, PASSPHRASE, &export);
    assert_eq!(ran.stderr, format!("wrote `wren` to `{file}`\n"));
    assert_eq!(ran.ok(&export), "");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&sealed).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let bytes = fs::read(&sealed).unwrap();
    assert!(!bytes.windows(13).any(|part| part == b"Kanarienvogel"));

    let import = ["import", "wren", file];
    let told = with_passphrase(&to, PASSPHRASE, &import).ok(&import);
    told.begins("created the agent `wren` from the archive: ");
    told.tells(" core tokens, and its whole log\n");
    assert_eq!(to.ok(&["export", "wren"]), from.ok(&["export", "wren"]));
    let (old, new) = (actions(&from), actions(&to));
    assert_eq!(old, new[..old.len()]);
    assert_eq!(new.len(), old.len() + 1);
    assert!(new.last().unwrap().starts_with("\"agent_imported\""));
    assert!(to.ok(&["audit", "verify", "wren"]).starts_with("valid"));
    // Its past can be undone here too.
    to.ok(&["rollback", &to.last_session()]);

    let taken = with_passphrase(&to, PASSPHRASE, &["import", "WREN", file]).error();
    taken.tells("the name `WREN` is taken");
    let other = with_passphrase(&to, PASSPHRASE, &["import", "robin", file, "--json"]);
    assert_eq!(other.lines().len(), 1, "{other:?}");
    assert_eq!(other.lines()[0]["name"], "robin");
}

#[test]
fn a_passphrase_comes_from_a_file_or_stdin() {
    let installation = with_a_past();
    let passphrase = installation.write("passphrase", format!("{PASSPHRASE}\r\n"));
    let export = ["export", "wren", "--format", "archive", "--output", "x"];
    installation.ok(&[&export[..], &["--passphrase-file", &passphrase]].concat());
    let import = ["import", "robin", "x", "--passphrase-file", "-"];
    let ran = installation.run_with_input(&import, PASSPHRASE);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // The file takes precedence over the variable.
    let import = ["import", "linnet", "x", "--passphrase-file", &passphrase];
    let ran = with_passphrase(&installation, "another passphrase", &import);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn without_a_passphrase_one_is_made_and_shown_once_on_stderr() {
    let installation = with_a_past();
    let ran = installation.run(&["export", "wren", "--format", "archive", "--output", "x"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    // Before the file is in its place.
    let told: Vec<&str> = ran.stderr.lines().collect();
    let [_, made, "wrote `wren` to `x`"] = told[..] else {
        panic!("{ran:?}");
    };
    assert_eq!(ran.stderr.matches(made).count(), 1, "{ran:?}");
    ran.reports("shown once and stored nowhere");
    assert_eq!((made.len(), made.split('-').count()), (39, 8), "{made}");
    let imported = with_passphrase(&installation, made, &["import", "robin", "x"]);
    assert_eq!(imported.code, Some(0), "{imported:?}");
    let has_it = |bytes: &Vec<u8>| {
        bytes
            .windows(made.len())
            .any(|part| part == made.as_bytes())
    };
    assert!(!installation.files().values().any(has_it));

    let json = installation.json(&["export", "wren", "--format", "archive", "--output", "y"]);
    assert_eq!(json["file"], "y");
    let made = json["passphrase"].as_str().unwrap();
    let imported = with_passphrase(&installation, made, &["import", "linnet", "y"]);
    assert_eq!(imported.code, Some(0), "{imported:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn no_archive_is_left_whose_passphrase_was_not_shown() {
    let installation = with_a_past();
    let before = files_in(&installation.path(""));
    for redirection in [
        "2>&-",
        "2>/dev/null",
        "2>/dev/full",
        "--json >&-",
        "--json >/dev/null",
        "--json >/dev/full",
    ] {
        let line = format!("\"$0\" export wren --format archive --output x {redirection}");
        let ran = in_shell(&installation, &line);
        assert_eq!(ran.code, Some(1), "{redirection}: {ran:?}");
        assert!(!installation.path("x").exists(), "{redirection}");
    }
    // A reader that has closed the pipe before any output.
    let mut child = installation
        .command("export wren --format archive --output x --json")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let line = "\"$0\" export wren --format archive --output x --json >/dev/null";
    let error = in_shell(&installation, line);
    error.reports("and nothing was written");
    error.reports("hint: give");
    let after = files_in(&installation.path(""));
    assert!(after.keys().eq(before.keys()), "{:?}", after.keys());
    // A given passphrase need not be shown.
    let line = format!(
        "{VARIABLE}='{PASSPHRASE}' \"$0\" export wren --format archive --output x 2>/dev/null"
    );
    assert_eq!(in_shell(&installation, &line).code, Some(0));
    assert!(installation.path("x").is_file());
}

/// Runs a line of the shell, in which `$0` is the program.
#[cfg(target_os = "linux")]
fn in_shell(installation: &Installation, line: &str) -> Ran {
    let program = installation.command("");
    let variables = program.get_envs();
    let variables = variables.filter_map(|(name, value)| Some((name, value?)));
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", line])
        .arg(program.get_program())
        .env_clear()
        .envs(variables)
        .env("PATH", std::env::var_os("PATH").unwrap())
        .current_dir(installation.path(""));
    Ran::of(&mut shell)
}

#[test]
fn an_archive_goes_to_a_pipe_whole_and_not_among_json() {
    let installation = with_a_past();
    let output = installation
        .command(&["export", "wren", "--format", "archive"])
        .env(VARIABLE, PASSPHRASE)
        .output()
        .unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    installation.write("x", &output.stdout);
    let ran = with_passphrase(&installation, PASSPHRASE, &["import", "robin", "x"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let error = installation
        .run("export wren --format archive --json")
        .error();
    error.tells("an archive is not JSON");
    error.tells("`--output FILE`");
}

#[test]
fn an_archive_that_cannot_be_opened_makes_no_agent() {
    let installation = with_a_past();
    let export = ["export", "wren", "--format", "archive", "--output", "good"];
    let ran = with_passphrase(&installation, PASSPHRASE, &export);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let good = fs::read(installation.path("good")).unwrap();
    let mut changed = good.clone();
    changed[good.len() - 100] ^= 1;
    installation.write("changed", changed);
    installation.write("cut", &good[..good.len() - 100]);
    installation.write("more", [&good[..], b"x"].concat());
    installation.write("other", "{\"content\": \"x\"}");
    for [file, passphrase, told] in rows(
        "
        good | another passphrase | the passphrase does not open
        good | Correct horse battery | the passphrase does not open
        changed | correct horse battery | the archive was changed
        cut | correct horse battery | the archive
        more | correct horse battery | the archive
        other | correct horse battery | not an archive of Memoir",
    ) {
        let import = ["import", "robin", file, "--format", "archive"];
        let error = with_passphrase(&installation, passphrase, &import).error();
        error.tells(told);
        error.omits(passphrase);
    }
    for (passphrase, told) in [
        (Some("short"), "must have at least 8 characters"),
        (None, "the archive's passphrase is not given"),
    ] {
        let mut command = installation.command(&["import", "robin", "good"]);
        command.envs(passphrase.map(|passphrase| (VARIABLE, passphrase)));
        let ran = Ran::of(&mut command);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
        ran.reports(told);
        ran.stderr.omits("short");
    }
    assert_eq!(installation.items(&["agent", "list"]).len(), 1);
}

#[test]
fn lines_written_to_a_file_are_reported_in_json() {
    let installation = with_a_past();
    let json = installation.json(&["export", "wren", "--output", "lines.jsonl"]);
    let lines = fs::read_to_string(installation.path("lines.jsonl")).unwrap();
    let count = lines.lines().count();
    assert_eq!(json, json!({"file": "lines.jsonl", "memories": count}));
}

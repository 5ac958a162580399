//! The master key and the key store: created, found, rotated and missing.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use memoir_testkit::{ServerStep, TestedText};
use serde_json::json;

use crate::installation::{Installation, Ran, files_in, names_in, rows, script, wait_until};

/// A master key in the format of the variable.
const GIVEN: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const OTHER: &str = "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100";

/// An agent with a memory in a named database, alone in its folder.
fn in_folder() -> (Installation, PathBuf) {
    let installation = Installation::new();
    let folder = installation.path("data");
    fs::create_dir(&folder).unwrap();
    installation.ok(&["--database", "data/m.db", "agent", "create", "wren"]);
    installation.ok(&["--database", "data/m.db", "remember", "wren", "something"]);
    (installation, folder)
}

fn sorted(folder: &Path) -> Vec<String> {
    let mut names = names_in(folder);
    names.sort();
    names
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn spec_5_3_keys_are_made_on_first_use_for_their_owner_only() {
    let installation = Installation::with_agent_of_its_own();
    let data = installation.path(".local/share/memoir");
    let configuration = installation.path(".config/memoir");
    assert_eq!(sorted(&data), ["memoir.db", "memoir.db.keys"]);
    assert_eq!(sorted(&configuration), ["master.key"]);
    #[cfg(unix)]
    {
        assert_eq!(mode(&configuration.join("master.key")), 0o600);
        assert_eq!(mode(&data.join("memoir.db.keys")), 0o600);
        assert_eq!([mode(&data), mode(&configuration)], [0o700; 2]);
    }
    let (_bench, folder) = in_folder();
    assert_eq!(sorted(&folder), ["m.db", "m.db.keys", "m.db.master-key"]);
    #[cfg(unix)]
    for name in sorted(&folder) {
        assert_eq!(mode(&folder.join(&name)), 0o600, "{name}");
    }
}

#[test]
fn the_users_own_database_finds_its_key_however_it_is_named() {
    let installation = Installation::with_agent();
    let path = installation.path(".local/share/memoir/memoir.db");
    let path = path.to_str().unwrap();
    for named in [
        path,
        &format!("sqlite:{path}"),
        ".local/share/memoir/memoir.db",
        ".local/../.local/share/memoir/./memoir.db",
    ] {
        installation.ok(&["agent", "show", "wren", "--database", named]);
    }
    let own = sorted(&installation.path(".local/share/memoir"));
    assert_eq!(own, ["memoir.db", "memoir.db.keys"]);

    let installation = Installation::new();
    installation.ok("agent create wren --database .local/share/memoir/memoir.db");
    installation.ok(&["agent", "show", "wren"]);
}

#[test]
fn a_configured_master_key_file_is_used_and_must_have_an_absolute_path() {
    let installation = Installation::new();
    let file = installation.path("vault/memoir.key");
    let config = format!("master_key_file = \"{}\"\n", file.display());
    installation.write(".config/memoir/config.toml", config);
    installation.ok(&["agent", "create", "wren"]);
    installation.ok(&["--database", "m.db", "agent", "create", "wren"]);
    assert!(file.is_file() && !installation.path("m.db.master-key").exists());
    let own = sorted(&installation.path(".config/memoir"));
    assert_eq!(own, ["config.toml"]);
    let relative = "master_key_file = \"memoir.key\"";
    installation.write(".config/memoir/config.toml", relative);
    let refused = installation.refused(&["agent", "list"]);
    refused.tells("`master_key_file` is `memoir.key`; give an absolute path");
}

#[test]
fn a_master_key_that_is_given_is_kept_in_no_file() {
    let installation = Installation::new();
    let with = |key: &str, line: &str| {
        let mut command = installation.command(&format!("--database m.db {line}"));
        Ran::of(command.env("MEMOIR_MASTER_KEY", key))
    };
    with(GIVEN, "agent create wren").ok("create");
    assert_eq!(sorted(&installation.path("")), ["m.db", "m.db.keys", "tmp"]);
    with(&format!("{}\n", GIVEN.to_uppercase()), "agent show wren").ok("show");
    let doctor = with(GIVEN, "doctor");
    doctor.prints("from MEMOIR_MASTER_KEY");
    doctor.stdout.omits(GIVEN);
    let before = files_in(&installation.path(""));
    for (key, told) in [
        (OTHER, "the wrong master key: "),
        ("rubbish-canary", "MEMOIR_MASTER_KEY holds no master key: "),
    ] {
        let error = with(key, "agent list").error();
        error.tells(told);
        error.omits("canary");
        error.omits(key);
    }
    // An empty variable is none.
    let error = with("", "agent list").error();
    error.tells("the master key is lost: ");
    assert_eq!(files_in(&installation.path("")), before);
}

#[test]
fn spec_5_3_without_the_right_keys_there_is_one_clear_error_and_nothing_changes() {
    let remove = |path: PathBuf| fs::remove_file(path).unwrap();
    let write = |path: PathBuf, text: &str| fs::write(path, text).unwrap();
    let (sound, _) = in_folder();
    for [fault, told, hint] in rows(
        "
        another key | the wrong master key: the key store `data/m.db.keys` needs key | last rotated with
        no key file | and `data/m.db.master-key` does not exist | restore the file
        no key store | the key store `data/m.db.keys` does not exist | restore it
        neither | the key store `data/m.db.keys` does not exist | restore it
        an empty key store | the key store `data/m.db.keys` does not exist | restore it
        rubbish for a key | `data/m.db.master-key` holds no master key: | restore the key
        rubbish for a key store | `data/m.db.keys` is not a key store of Memoir | restore the key store
        an open key | `data/m.db.master-key` can be used by others than its owner (mode 644) | `chmod 600 data/m.db.master-key`
        an open key store | `data/m.db.keys` can be used by others than its owner (mode 640) | `chmod 600 data/m.db.keys`",
    ) {
        let installation = sound.copied();
        let folder = installation.path("data");
        let (key, store) = (folder.join("m.db.master-key"), folder.join("m.db.keys"));
        match fault {
            "another key" => write(key, OTHER),
            "no key file" => remove(key),
            "no key store" => remove(store),
            "neither" => [key, store].into_iter().for_each(remove),
            "an empty key store" => write(store, ""),
            "rubbish for a key" => write(key, "rubbish-canary"),
            "rubbish for a key store" => write(store, &"rubbish-canary ".repeat(100)),
            #[cfg(unix)]
            "an open key" => set_mode(&key, 0o644),
            #[cfg(unix)]
            "an open key store" => set_mode(&store, 0o640),
            // Other systems have no such modes.
            _ => continue,
        }
        let before = files_in(&folder);
        for command in [
            "agent list",
            "remember wren more",
            "refine wren --model builtin:careful",
            "audit verify --all",
            "agent erase wren --yes",
            "key rotate",
        ] {
            let line = format!("--database data/m.db {command}");
            let error = installation.run(&line).error();
            let (problem, advice) = error.split_once("\n\nhint: ").unwrap();
            assert!(problem.contains(told), "{fault}: {command}: {error}");
            assert!(advice.contains(hint), "{fault}: {command}: {error}");
            assert!(!error.contains("canary"), "{fault}: {command}: {error}");
        }
        let doctor = installation.run("--database data/m.db doctor");
        assert_eq!(doctor.code, Some(1), "{fault}: {doctor:?}");
        doctor.prints("problem  key");
        doctor.prints(told);
        assert_eq!(files_in(&folder), before, "{fault}");
    }
}

#[test]
fn a_master_key_file_is_rotated_in_its_place() {
    let (installation, folder) = in_folder();
    let file = folder.join("m.db.master-key");
    let old = fs::read_to_string(&file).unwrap();
    let old_store = fs::read(folder.join("m.db.keys")).unwrap();
    let rotated = installation.run(&["--database", "data/m.db", "key", "rotate"]);
    assert_eq!(rotated.code, Some(0), "{rotated:?}");
    rotated.stdout.begins("the master key is ");
    rotated.prints("1 key was wrapped anew\n");
    rotated.reports("keep a copy of it apart from the database");
    rotated.reports("make a new backup now");
    let new = fs::read_to_string(&file).unwrap();
    assert_ne!(old, new);
    #[cfg(unix)]
    assert_eq!(mode(&file), 0o600);
    assert_eq!(sorted(&folder), ["m.db", "m.db.keys", "m.db.master-key"]);
    for secret in [&old, &new] {
        let shown = format!("{}{}", rotated.stdout, rotated.stderr);
        assert!(!shown.contains(secret.trim()), "a key was printed");
    }
    installation.ok(&["--database", "data/m.db", "ledger", "wren"]);

    let again = installation.json(&["--database", "data/m.db", "key", "rotate"]);
    assert_eq!(again["wrapped"], 1);
    assert_ne!(again["old_key"], again["new_key"]);

    // The old key opens nothing but the key store of its time.
    fs::write(&file, &old).unwrap();
    let wrong = installation.run(&["--database", "data/m.db", "ledger", "wren"]);
    assert!(wrong.error().contains("the wrong master key"));
    fs::write(folder.join("m.db.keys"), old_store).unwrap();
    installation.ok(&["--database", "data/m.db", "ledger", "wren"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_master_key_file_that_is_a_mount_point_is_not_rotated_and_nothing_is_lost() {
    let (installation, folder) = in_folder();
    let before = files_in(&folder);
    let program = installation.command(&["--database", "data/m.db", "key", "rotate"]);
    // Mounted on itself, visible to this command only.
    let line = "mount --bind data/m.db.master-key data/m.db.master-key || exit 77; exec \"$@\"";
    let mut command = std::process::Command::new("unshare");
    let namespace = "--user --map-root-user --mount sh -c";
    command
        .args(namespace.split(' ').chain([line, "sh"]))
        .arg(program.get_program())
        .args(program.get_args())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", installation.path(""))
        .current_dir(installation.path(""));
    match command.output().map(Ran::from_output) {
        Ok(ran) if ran.stderr.starts_with("error: ") => {
            let error = ran.error();
            error.tells("the key file `data/m.db.master-key` cannot be replaced: ");
            error.tells("; nothing was changed\n\nhint: give the key in MEMOIR_MASTER_KEY");
        }
        // Not every machine allows mounts.
        other => assert!(other.is_err() || other.is_ok_and(|ran| ran.code != Some(0))),
    }
    assert_eq!(files_in(&folder), before);
    installation.ok(&["--database", "data/m.db", "ledger", "wren"]);
}

#[test]
fn a_master_key_that_is_given_is_rotated_to_the_next_one_that_is_given() {
    let installation = Installation::new();
    let with = |key: &str, next: Option<&str>, arguments: &[&str]| {
        let mut command = installation.command(arguments);
        command.env("MEMOIR_MASTER_KEY", key);
        command.envs(next.map(|next| ("MEMOIR_NEW_MASTER_KEY", next)));
        Ran::of(&mut command)
    };
    let create = ["agent", "create", "wren"];
    with(GIVEN, None, &create).ok(&create);
    for (next, told) in [
        (None, "there is no next one in MEMOIR_NEW_MASTER_KEY"),
        (Some("canary"), "MEMOIR_NEW_MASTER_KEY holds no master key"),
        (Some(GIVEN), "which is in use already"),
    ] {
        let error = with(GIVEN, next, &["key", "rotate"]).error();
        error.tells(told);
        error.tells("openssl rand -hex 32");
        assert!(!error.contains("canary") && !error.contains(GIVEN));
    }
    let rotated = with(GIVEN, Some(OTHER), &["key", "rotate"]);
    assert_eq!(rotated.code, Some(0), "{rotated:?}");
    rotated.reports("give what is in MEMOIR_NEW_MASTER_KEY as MEMOIR_MASTER_KEY from now on");
    let wrong = with(GIVEN, None, &["agent", "show", "wren"]).error();
    wrong.tells("the wrong master key");
    assert_eq!(with(OTHER, None, &["agent", "show", "wren"]).code, Some(0));
}

#[test]
fn there_is_nothing_to_rotate_before_first_use() {
    let installation = Installation::new();
    let error = installation.run(&["key", "rotate"]).error();
    error.tells("there is no database");
    error.tells("hint: there is no key to replace");
    assert!(!installation.path(".config").exists());
}

#[test]
fn a_session_goes_on_while_the_master_key_is_rotated() {
    for given in [false, true] {
        let installation = Installation::new();
        let command = |key: &str, arguments: &[&str]| {
            let mut command = installation.command(arguments);
            if given {
                command.env("MEMOIR_MASTER_KEY", key);
                command.env("MEMOIR_NEW_MASTER_KEY", OTHER);
            }
            command
        };
        for arguments in [
            &["agent", "create", "wren"][..],
            &["remember", "wren", "Marta waxes her linen thread twice."],
            &["remember", "wren", "The second memory of this agent."],
        ] {
            let ran = Ran::of(&mut command(GIVEN, arguments));
            assert_eq!(ran.code, Some(0), "{ran:?}");
        }
        let update = json!({"id": 1, "content": "Marta waxes her thread twice."});
        let mut steps = script(&[("update_memory", update)]);
        steps[1] = ServerStep::Slow(Duration::from_secs(2), Box::new(steps[1].clone()));
        let server = installation.scripted(steps);
        let session = command(GIVEN, &["refine", "wren", "--model", "lab:small"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_until(|| server.received().len() == 2);
        let rotated = Ran::of(&mut command(GIVEN, &["key", "rotate"]));
        assert_eq!(rotated.code, Some(0), "{rotated:?}");
        let ran = Ran::from_output(session.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.starts_with("completed\n"), "{ran:?}");
        let verified = Ran::of(&mut command(OTHER, &["audit", "verify", "wren"]));
        verified.stdout.begins("valid   wren: ");
    }
}

#[test]
fn other_processes_go_on_while_the_master_key_is_rotated_again_and_again() {
    const TIMES: usize = 12;
    let installation = Installation::with_agent();
    std::thread::scope(|scope| {
        let remembering = scope.spawn(|| {
            for time in 0..TIMES {
                installation.ok(&["remember", "wren", &format!("memory {time}")]);
            }
        });
        for _ in 0..TIMES {
            installation.ok(&["key", "rotate"]);
        }
        remembering.join().unwrap();
    });
    assert_eq!(installation.texts().len(), TIMES);
    let verified = installation.ok("audit verify --all");
    verified.begins("valid");
    assert_eq!(sorted(&installation.path(".config/memoir")), ["master.key"]);
}

#[cfg(target_os = "linux")]
#[test]
fn spec_5_1_no_core_dump_can_hold_words_or_keys() {
    let installation = Installation::with_agent();
    installation.remember(&["something"]);
    let server = installation.scripted([crate::installation::late_answer()]);
    // As much as the machine allows, so that the program itself lowers the limit.
    let mut child = std::process::Command::new("sh")
        .args(["-c", "ulimit -c \"$(ulimit -H -c)\"; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_memoir"))
        .args(["refine", "wren", "--model", "lab:small"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", installation.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until(|| !server.received().is_empty());
    let limits = fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let mut lines = limits.lines();
    let line = lines.find(|line| line.starts_with("Max core file size"));
    let line = line.unwrap();
    let numbers: Vec<&str> = line.split_whitespace().skip(4).take(2).collect();
    assert_eq!(numbers, ["0", "0"], "{line}");
}

#[test]
fn spec_5_3_the_keys_of_a_lost_database_are_reported() {
    let (installation, folder) = in_folder();
    let database = folder.join("m.db");
    let in_folder = |line: &str| installation.run(&format!("--database data/m.db {line}"));
    let with_one_agent = fs::read(&database).unwrap();
    in_folder("agent create robin").ok("");
    for remains in [true, false] {
        match remains {
            true => fs::write(&database, b"").unwrap(),
            false => fs::remove_file(&database).unwrap(),
        }
        let before = sorted(&folder);
        for command in [
            "context wren",
            "doctor",
            "agent list",
            // Nor does a command that makes an installation where there is none.
            "agent create wren",
            "mcp --agent wren",
            "serve --listen 127.0.0.1:0",
            "ui --no-browser",
        ] {
            let ran = in_folder(command);
            assert_eq!(ran.code, Some(1), "{ran:?}");
            let told = format!("{}{}", ran.stdout, ran.stderr);
            told.tells("its key store has the keys of 2 agents");
            told.tells("hint: restore a backup");
        }
        let hook = "hook session-start --client claude-code";
        assert_eq!(in_folder(hook).code, Some(0), "a host is never stopped");
        assert_eq!(sorted(&folder), before);
    }
    // Also where only some of them are lost.
    fs::write(&database, with_one_agent).unwrap();
    let doctor = in_folder("doctor").stdout;
    doctor.tells("keys of agents that are not in this database: 1");
}

#[cfg(unix)]
#[test]
fn spec_5_3_keys_of_the_group_of_a_pod_are_its_own() {
    let (installation, folder) = in_folder();
    let names = ["m.db", "m.db.keys", "m.db.master-key"];
    let read = |in_pod: bool| {
        let mut command = installation.command(&["--database", "data/m.db", "context", "wren"]);
        if in_pod {
            command.env("KUBERNETES_SERVICE_HOST", "10.0.0.1");
        }
        Ran::of(&mut command)
    };
    for group in [0o660, 0o640, 0o440] {
        for name in names {
            set_mode(&folder.join(name), group);
        }
        // A file of root that its group can read only is a credential of systemd's.
        if group != 0o440 {
            let outside = read(false).stderr;
            outside.tells("can be used by others");
        }
        let inside = read(true);
        assert!(inside.stdout.contains("something"), "{group:o}: {inside:?}");
    }
    for name in names {
        set_mode(&folder.join(name), 0o664);
    }
    let ran = read(true).stderr;
    ran.tells("can be used by others");
}

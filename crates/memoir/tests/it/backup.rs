//! `memoir backup` and `memoir backup verify`, while the service runs and others save.
#![cfg(unix)]

use std::{fs, io::Write, os::unix::fs::PermissionsExt, path::PathBuf, process::Command};

use memoir_testkit::TestedText;
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    installation::{Installation, files_in},
    serving::Running,
};

const SECRET: &str = "the pasted key is Kanarienvogel";

/// An installation whose files are the two copies and the first one's master key.
fn restored(from: &Installation, database: &str, keys: &str) -> Installation {
    let installation = Installation::new();
    for folder in [".local/share/memoir", ".config/memoir"] {
        fs::create_dir_all(installation.path(folder)).unwrap();
    }
    for (copy, place) in [
        (database, ".local/share/memoir/memoir.db"),
        (keys, ".local/share/memoir/memoir.db.keys"),
        (".config/memoir/master.key", ".config/memoir/master.key"),
    ] {
        fs::copy(from.path(copy), installation.path(place)).unwrap();
    }
    installation
}

#[test]
fn spec_6_2_a_backup_that_is_made_while_memoir_serves_and_others_save_is_of_one_instant() {
    let installation = Installation::with_agent();
    installation.remember(&["one", SECRET]);
    installation.ok(&["agent", "create", "robin"]);
    let serving = Running::start(&installation, &[]);
    let [copy, keys] = ["copy.db", "elsewhere.keys"].map(|name| installation.path(name));
    let (copy_path, keys_path) = (copy.to_str().unwrap(), keys.to_str().unwrap());
    std::thread::scope(|scope| {
        let saving = scope.spawn(|| {
            for number in 0..12 {
                installation.ok(&["remember", "wren", &format!("Something of day {number}.")]);
            }
        });
        installation.ok(&["backup", copy_path, "--keys", keys_path]);
        let told = installation.ok(&["backup", "verify", copy_path, "--keys", keys_path]);
        told.tells("valid   wren: ");
        told.tells("opened a memory of 1 agent\n");
        saving.join().unwrap();
    });
    drop(serving);
    for path in [&copy, &keys] {
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
    let bytes = [fs::read(&copy).unwrap(), fs::read(&keys).unwrap()].concat();
    assert!(!bytes.windows(13).any(|part| part == b"Kanarienvogel"));

    let again = restored(&installation, "copy.db", "elsewhere.keys");
    assert_eq!(again.texts()[..2], ["one", SECRET]);
    assert!(again.ok(&["audit", "verify", "--all"]).starts_with("valid"));
    // It belongs to another installation from here on.
    again.remember(&["after"]);
    assert!(again.ok(&["doctor"]).contains("database      intact"));
}

#[test]
fn a_backup_of_a_missing_database_says_whether_it_was_mistyped_or_is_lost() {
    let installation = Installation::with_agent();
    let mistyped = installation.refused("backup copy.db --database wrong.db");
    mistyped.tells("there is no database `wrong.db` to back up");
    mistyped.tells("hint: name another one with `--database sqlite:PATH`");
    fs::remove_file(installation.path(".local/share/memoir/memoir.db")).unwrap();
    let lost = installation.refused("backup copy.db");
    lost.tells("is empty or gone, and its key store has the keys of ");
    lost.tells("hint: restore a backup of the database");
    assert!(!installation.path("copy.db").exists());
}

#[test]
fn spec_5_4_the_two_files_of_a_backup_open_nothing_by_themselves() {
    let installation = Installation::with_agent();
    installation.remember(&["one", SECRET]);
    let copy = installation.path("copy.db");
    let copy_path = copy.to_str().unwrap();
    let written = installation.json(&["backup", copy_path]);
    assert_eq!(written["keys"], format!("{copy_path}.keys"));
    let before = fs::read(&copy).unwrap();
    let verified = installation.json(&["backup", "verify", copy_path]);
    assert_eq!(verified["valid"], true);
    assert_eq!(fs::read(&copy).unwrap(), before, "it stays as it is");

    // Nothing is overwritten.
    let refused = installation.refused(&["backup", copy_path]);
    refused.tells("is there already");
    fs::remove_file(&copy).unwrap();
    let refused = installation.refused(&["backup", copy_path]);
    refused.tells("copy.db.keys` is there already");
    assert!(!copy.exists(), "and no half of one is made");
    fs::write(&copy, &before).unwrap();

    let mut other = installation.command(&["backup", "verify", copy_path]);
    other.env("MEMOIR_MASTER_KEY", "5".repeat(64));
    let refused = crate::installation::Ran::of(&mut other).error();
    refused.tells("wrong master key");
    let keys = installation.path("copy.db.keys");
    let away = installation.path("away");
    fs::rename(&keys, &away).unwrap();
    let refused = installation.refused(&["backup", "verify", copy_path]);
    refused.tells("copy.db.keys");

    // An agent that was erased since can be read in an old pair, but not with the present key store.
    installation.ok(&["agent", "erase", "wren", "--yes"]);
    fs::rename(&away, &keys).unwrap();
    let old = restored(&installation, "copy.db", "copy.db.keys");
    assert_eq!(old.texts(), ["one", SECRET]);
    let today = ".local/share/memoir/memoir.db.keys";
    let today = restored(&installation, "copy.db", today);
    let refused = today.refused(&["ledger", "wren"]);
    refused.tells("was erased on");
}

#[test]
fn spec_5_4_an_erasure_that_a_restored_backup_lacks_is_recorded_again() {
    let installation = Installation::with_agent();
    installation.create("robin", &[]);
    installation.remember(&["one"]);
    let note = installation.write("note", installation.ok("audit checkpoint"));
    installation.ok("backup copy.db");
    installation.ok("agent erase wren --yes");
    installation.create("lark", &[]);
    let today = restored(
        &installation,
        "copy.db",
        ".local/share/memoir/memoir.db.keys",
    );
    let why = "the agent's key was destroyed, and no record shows it: \
               the database is from before the erasure, or records were cut off";
    let again = "`memoir agent erase wren` records it again";
    let doctor = today.ok("doctor");
    doctor.tells(&format!("{why}: wren\n"));
    doctor.tells(again);
    doctor.omits("begin anew");
    let verify = ["audit", "verify", "--all", "--checkpoint", &note];
    let found = today.run(&verify);
    assert_eq!(found.code, Some(1), "{found:?}");
    found.stdout.tells(why);
    found.stderr.tells(again);
    found.stderr.omits("modified outside Memoir");

    let erased = today.ok("agent erase wren --yes");
    erased.tells("erased `wren`: its key is destroyed, and its 1 memory can");
    today.ok(&verify).omits("invalid");
    today.ok("doctor").omits("key was destroyed");
    let refused = today.refused("agent erase wren --yes");
    refused.tells("was erased on");
    // Its name is free again.
    today.create("wren", &[]);
}

#[test]
fn spec_5_4_the_hints_at_an_unrecorded_erasure_name_the_account_of_the_agent() {
    let installation = Installation::with_agent();
    installation.ok("account create lab");
    installation.ok("agent create robin --account lab");
    installation.ok("backup copy.db");
    installation.ok("agent erase robin --yes --account lab");
    let keys = ".local/share/memoir/memoir.db.keys";
    let today = restored(&installation, "copy.db", keys);
    let again = "`memoir agent erase robin --account lab` records it again";
    let found = today.run("audit verify --all");
    assert_eq!(found.code, Some(1), "{found:?}");
    found.stderr.tells(again);
    today.ok("doctor --account lab").tells(again);
    today.ok("agent erase robin --account lab --yes");
    today.ok("audit verify --all").omits("invalid");
}

#[test]
fn spec_5_4_a_key_store_that_does_not_fit_is_named_as_the_user_names_it() {
    let installation = Installation::with_agent();
    let copy = installation.path("copy.db");
    let copy_path = copy.to_str().unwrap();
    installation.ok(&["backup", copy_path]);
    installation.ok("key rotate");
    let keys = installation.path("copy.db.keys");
    let named = format!("`{}`", keys.display());
    let verify = ["backup", "verify", copy_path];
    let refused = installation.refused(&verify);
    refused.tells("the wrong master key");
    refused.tells(&named);
    // A database, but none of keys.
    fs::copy(&copy, &keys).unwrap();
    let refused = installation.refused(&verify);
    refused.tells(&format!("{named} is not a key store of Memoir"));
}

#[test]
fn spec_5_4_an_interrupted_verification_leaves_no_copy_of_the_keys() {
    let installation = Installation::with_agent();
    let copy = installation.path("copy.db");
    let copy_path = copy.to_str().unwrap();
    installation.ok(&["backup", copy_path]);
    let keys = fs::read(installation.path("copy.db.keys")).unwrap();
    // The command has copied the database, and waits for the keys, once this opens.
    let pipe = installation.path("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let pipe_path = pipe.to_str().unwrap();
    let child = installation.start(&["backup", "verify", copy_path, "--keys", pipe_path]);
    let mut writer = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    // Refused where the command has ended.
    let _ = writer.write_all(&keys);
    drop(writer);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    let left = files_in(&installation.path("tmp")).into_keys();
    let is_copy = |path: &PathBuf| path.ends_with("memoir.db") || path.ends_with("memoir.db.keys");
    let left: Vec<_> = left.filter(is_copy).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn spec_5_3_a_verification_leaves_the_master_key_as_it_is() {
    let installation = Installation::with_agent();
    let other = installation.copied();
    other.ok("key rotate");
    let copy = installation.path("copy.db");
    let copy_path = copy.to_str().unwrap();
    other.ok(&["backup", copy_path]);
    // As after a rotation that was interrupted before a key needed it.
    let key = ".config/memoir/master.key";
    let staged = installation.path(".config/memoir/master.key.next");
    fs::copy(other.path(key), &staged).unwrap();
    let before = fs::read(installation.path(key)).unwrap();
    let refused = installation.refused(&["backup", "verify", copy_path]);
    refused.tells("the wrong master key");
    assert_eq!(fs::read(installation.path(key)).unwrap(), before);
    assert!(staged.exists());
    installation.ok(&["agent", "show", "wren"]);
}

#[test]
fn a_database_that_is_not_there_is_not_backed_up() {
    let installation = Installation::new();
    let told = installation.refused(&["--database", "m.db", "backup", "copy.db"]);
    told.tells("there is no database `m.db` to back up");
    assert!(!installation.path("m.db").exists());
}

#[test]
fn spec_4_2_a_backup_that_was_changed_is_named() {
    let installation = Installation::with_agent();
    installation.remember(&["one", SECRET]);
    let copy = installation.path("copy.db");
    let copy_path = copy.to_str().unwrap();
    installation.ok(&["backup", copy_path]);
    let whole = fs::read(&copy).unwrap();
    for (sql, told) in [
        ("UPDATE memories SET tokens = 3 WHERE number = 1", "wren"),
        ("DELETE FROM memories WHERE number = 1", "wren"),
        ("UPDATE agents SET next_seq = 9", "its next one would be 9"),
        (
            "DROP TRIGGER users_undeleted",
            "`users_undeleted` is missing",
        ),
    ] {
        fs::write(&copy, &whole).unwrap();
        let raw = Connection::open(&copy).unwrap();
        raw.execute_batch(sql).unwrap();
        drop(raw);
        let ran = installation.run(&["backup", "verify", copy_path]);
        assert_eq!(ran.code, Some(1), "{sql}: {ran:?}");
        let all = format!("{}{}", ran.stdout, ran.stderr);
        all.tells(told);
        all.omits("Kanarienvogel");
    }
    fs::write(&copy, b"").unwrap();
    let refused = installation.refused(&["backup", "verify", copy_path]);
    refused.tells("is not a database of Memoir");
}

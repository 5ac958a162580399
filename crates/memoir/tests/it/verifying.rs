//! The exported log, and the verifier of the source code that has nothing of Memoir (`scripts/verify-log`).

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use memoir_testkit::TestedText;

use crate::{
    archival::summarised,
    installation::{Installation, Ran, rows},
};

/// A file or folder of the project.
pub(crate) fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

fn python(arguments: &[&str]) -> Ran {
    Ran::of(
        Command::new("python3")
            .args(arguments)
            .env("PYTHONIOENCODING", "utf-8"),
    )
}

fn verified(file: &str, options: &[&str]) -> Ran {
    let verifier = source("scripts/verify-log");
    python(&[&[verifier.to_str().unwrap(), file], options].concat())
}

/// An exported log with a checkpoint that was kept elsewhere.
struct Exported {
    installation: Installation,
    file: String,
    note: String,
    public_key: String,
}

/// The log of an agent with a session that wrote a summary, a second agent's entry in the log over all heads, and all
/// that changes memories outside of sessions. The checkpoint is of a moment before the shredding.
fn exported() -> Exported {
    let installation = summarised();
    installation.ok(&["agent", "create", "robin"]);
    installation.ok(&["protect", "wren", "6"]);
    installation.remember_with("“Tee” um vier — wie immer!", &["--replaces", "7"]);
    installation.ok(&["discard", "wren", "8"]);
    let ran = installation.run(&["audit", "checkpoint"]);
    let public_key = ran.stderr.lines().last().unwrap().to_owned();
    let note = installation.write("note", ran.stdout);
    installation.ok(&["shred", "wren", "9", "--yes"]);
    installation.ok(&["promote", "wren", "5"]);
    let file = installation.path("log").to_str().unwrap().to_owned();
    installation.ok(&["audit", "export", "wren", "--output", &file]);
    Exported {
        installation,
        file,
        note,
        public_key,
    }
}

impl Exported {
    /// The file after a change, as `forge.py` makes it.
    fn changed(&self, change: &str, is_rehashed: bool) -> String {
        let (forge, verifier) = (
            source("crates/memoir/tests/verifier/forge.py"),
            source("scripts/verify-log"),
        );
        let arguments = [
            forge.to_str().unwrap(),
            verifier.to_str().unwrap(),
            &self.file,
            change,
        ];
        let mode: &[&str] = if is_rehashed { &["rehash"] } else { &[] };
        let ran = python(&[&arguments, mode].concat());
        assert_eq!(ran.code, Some(0), "{change}: {ran:?}");
        self.installation.write("changed", ran.stdout)
    }

    fn with_note(&self) -> [&str; 4] {
        ["--checkpoint", &self.note, "--public-key", &self.public_key]
    }
}

/// Whether the tests of this file can run. `scripts/test` needs Python for more than these.
fn has_python() -> bool {
    let found = Command::new("python3").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: there is no python3");
    }
    found
}

#[test]
fn spec_4_2_an_exported_log_is_verified_without_memoir() {
    if !has_python() {
        return;
    }
    let exported = exported();
    let own = exported.installation.ok(&["audit", "verify", "wren"]);
    own.tells("originals: ");
    own.tells(", 0 lost");
    let ran = verified(&exported.file, &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), own.as_str()));
    let ran = verified(&exported.file, &exported.with_note());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with(&own), "{ran:?}");
    ran.prints("the checkpoint covers records 1 to ");
    // The forger of the tests below changes nothing by itself.
    let same = exported.changed("pass", true);
    let ran = verified(&same, &exported.with_note());
    assert_eq!(ran.code, Some(0), "{ran:?}");

    // On stdout the same, but for what a later export finds.
    let stdout = exported.installation.ok(&["audit", "export", "wren"]);
    assert_eq!(stdout, fs::read_to_string(&exported.file).unwrap());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&exported.file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn spec_4_2_each_kind_of_tampering_with_an_exported_log_is_named() {
    if !has_python() {
        return;
    }
    let exported = exported();
    for [change, finding] in rows(
        r#"
        memories[0]['memory']['content'] += ' not' | memory 1: is not as recorded: text
        edit(doing('memory_saved'), lambda text: text['changes'][0]['created'].update(content='x')) | record 2: its text is not the one that was recorded
        record = next(r for r in records if r['text_version'] > 1); record['text'] = record['text'].replace('core', 'gone') | its text is not the one that took its place when a memory was shredded
        records[2]['seal']['key'] = records[3]['seal']['key'] | record 3: its text is not the one
        records[2].update(text=None, seal=None) | record 3: has no text
        lines.remove(records[4]) | record 5: is missing; record 6 is in its place
        a = lines.index(records[4]); lines[a], lines[a + 1] = lines[a + 1], lines[a] | record 5: is missing; record 6 is in its place
        insert(records[4], records[4]) | record 6: is missing; record 5 is in its place
        records[4]['actor_name'] = 'ada' | record 5: it was changed, or the one before it
        records[4]['recorded_at'] += 1 | record 5: it was changed, or the one before it
        records[4]['memory'] += 1 | record 5: it was changed, or the one before it
        records[4]['facts'] = '{}' | record 5: it was changed, or the one before it
        records[4]['action'] = 'memory_discarded' | record 5: it was changed, or the one before it
        del lines[-1] | the file: is cut off: it has no end
        del lines[8:] | the file: is cut off: it has no end
        lines[8:] = [json.dumps(lines[8])[:200]] | line 9: is not as the format has it
        lines[8] = lines[8].__repr__() | line 9: is not as the format has it
        lines[8] = json.dumps(lines[8])[:-1] + ', "memory": 3}' | line 9: is not as the format has it
        lines.append(memories[0]) | stands after the end
        lines.insert(5, {'type': 'note'}) | line 6: is of no kind that the format knows
        end['records'] += 1 | the end: there are
        lines.remove(memories[4]) | memory 5: is lost
        memories[4]['memory']['number'] = 99 | memory 99: no record made it
        memories[4]['memory']['place'] = 'journal' | memory 5: is not as recorded: place
        del memories[5]['memory']['protected_seq'] | memory 6: is not as recorded: protected_seq
        del memories[7]['memory']['discarded_at'] | memory 8: is not as recorded: discarded_at
        memories[0]['memory']['created_at'] = '1999-01-01T00:00:00Z' | memory 1: is not as recorded: created_at
        own[0]['head'] = records[0]['hash'] | of the log over all heads has another hash
        own[0]['seq'] = 900 | record 900: is missing; entry
        lines.remove(own[0]) | stands where entry"#,
    ) {
        let ran = verified(&exported.changed(change, false), &[]);
        let lines = ran.stdout.lines().collect::<Vec<_>>();
        assert!(
            ran.code == Some(1) && ran.stderr.is_empty() && ran.stdout.contains(finding),
            "{change}: {finding}: {ran:?}"
        );
        lines.last().unwrap().begins("invalid wren: ");
    }
}

/// With the file and the database, hashes can be computed anew; the rules of refining still show what was done.
#[test]
fn spec_3_11_3_12_a_log_that_was_hashed_anew_still_shows_what_no_session_may_do() {
    if !has_python() {
        return;
    }
    let exported = exported();
    let delete = "record = doing('memory_refinement_delete')\n";
    for [change, finding] in rows(
        r#"
        [insert(record, record) for _ in range(9)] | edit 11 of session
        insert(doing('memory_refinement_complete'), record) | was over before
        record['session'] = None | an act of a session belongs to none
        edit(record, lambda text: text['changes'][0]['altered']['patch'].update(discarded_at={'set': 'now'})) | takes away memory 5, which is an original
        edit(record, lambda text: text['changes'][0]['altered']['patch'].update(content='x')) | changes the text of memory 5, which is an original
        edit(record, lambda text: text['changes'][0]['altered']['before'].update(protected_seq=1)) | a session changes memory 5, which is constitutional
        edit(record, lambda text: text['changes'][0]['altered']['before'].update(number=90)) | changes memory 90, which was never made
        edit(doing('memory_saved', 3), lambda text: text['changes'][0]['created'].update(number=90)) | makes memory 90 where memory 4 is next
        lines.remove(doing('memory_saved', 4)) | changes memory 5, which was never made
        lines.remove(record) | from a state that it was not in:"#,
    ) {
        let ran = verified(&exported.changed(&format!("{delete}{change}"), true), &[]);
        assert!(
            ran.code == Some(1) && ran.stdout.contains(finding) && !ran.stdout.contains("hash"),
            "{change}: {finding}: {ran:?}"
        );
    }
}

/// A history that was written anew as a whole is consistent in itself. Only the checkpoint shows it.
#[test]
fn spec_4_2_a_log_that_was_rewritten_whole_is_found_by_a_checkpoint() {
    if !has_python() {
        return;
    }
    let exported = exported();
    let rewritten = "\
        edit(records[1], lambda text: text['changes'][0]['created'].update(content='x'))\n\
        memories[0]['memory']['content'] = 'x'\n";
    let file = exported.changed(rewritten, true);
    assert_eq!(verified(&file, &[]).code, Some(0));
    let found = |change: &str, options: &[&str], finding: &str| {
        let file = exported.changed(change, true);
        let ran = verified(&file, &[&exported.with_note()[..], options].concat());
        assert!(
            ran.code == Some(1) && ran.stdout.contains(finding),
            "{change}: {finding}: {ran:?}"
        );
    };
    found(rewritten, &[], "entries are not those that it signed");
    // The entries that would show it, as if they were another agent's.
    let hidden = "\
        for leaf in own:\n    \
            entry = b'\\1' + v.identifier(log['agent']) + v.number(leaf['seq']) + bytes.fromhex(leaf['head'])\n    \
            hashed = v.sha256(b'\\0', entry + v.number(leaf['recorded_at'])).hex()\n    \
            lines[lines.index(leaf)] = {'type': 'leaves', 'first': leaf['index'], 'hashes': [hashed]}\n";
    let hidden = format!("{hidden}{rewritten}");
    found(
        &hidden,
        &[],
        "the checkpoint: covers records up to 0, and 1 are expected",
    );
    found("pass", &["--records", "99"], "and 99 are expected");
    found(
        "[lines.remove(line) for line in own + others]\nend['leaves'] = 0",
        &[],
        "entries, and the file has 0",
    );

    // The note itself.
    let note = fs::read_to_string(&exported.note).unwrap();
    let key = exported.public_key.as_str();
    let forged = exported
        .installation
        .write("forged", note.replacen('\n', "\n1", 1));
    let unsigned = note.split("\n\n").next().unwrap().to_owned() + "\n\n";
    let unsigned = exported.installation.write("unsigned", unsigned);
    for (note, told) in [
        (&forged, "the signature does not fit"),
        (&unsigned, "is not signed by the public key"),
    ] {
        let options = ["--checkpoint", note, "--public-key", key];
        let ran = verified(&exported.file, &options);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        ran.prints(told);
    }
}

#[test]
fn a_file_that_is_no_exported_log_is_wrong_usage() {
    if !has_python() {
        return;
    }
    let installation = Installation::new();
    let other = installation.write("other", "{\"type\":\"log\",\"format\":2}\n");
    let empty = installation.write("empty", "");
    for arguments in [
        &[other.as_str()][..],
        &[&empty],
        &["/nowhere"],
        &[&empty, "--checkpoint", &other],
        &[&empty, "--public-key", "x"],
        &[],
    ] {
        let (file, options) = arguments.split_first().unwrap_or((&"--surprise", &[]));
        let ran = verified(file, options);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    }
}

#[test]
fn spec_5_4_the_log_of_an_erased_agent_is_verified_without_its_text() {
    if !has_python() {
        return;
    }
    let Exported {
        installation, file, ..
    } = exported();
    installation.ok(&["agent", "erase", "wren", "--yes"]);
    let id = installation.json(&["audit", "verify", "--all"]);
    let agents = id["agents"].as_array().unwrap();
    let erased = agents.iter().find(|agent| !agent["erased_at"].is_null());
    let id = erased.unwrap()["agent_id"].as_str().unwrap();
    let export = ["audit", "export", id, "--output", &file, "--force"];
    installation.ok(&export);
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains("Marta") && !text.contains("\"memory\":{"));
    let ran = verified(&file, &[]);
    assert!(ran.code == Some(0), "{ran:?}");
    ran.prints("the agent was erased");
}

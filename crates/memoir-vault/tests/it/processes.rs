//! Concurrent processes, and processes that are killed. The children are this test program again.

use std::{
    collections::HashMap,
    env,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use memoir_vault::{KeyStore, MasterSource, unlock};

use crate::{hex, now, scope};

const FOLDER: &str = "VAULT_TEST_FOLDER";
const TASK: &str = "VAULT_TEST_TASK";

fn start(folder: &Path, task: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "processes::child", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(TASK, task)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn open(folder: &Path) -> memoir_vault::Result<KeyStore> {
    let source = MasterSource::File(folder.join("master.key"));
    unlock(&source, &folder.join("keys.db"), false)
}

#[expect(clippy::print_stdout, reason = "a child reports to its parent")]
fn print_key(store: &KeyStore, agent: u8) {
    let key = store.create(scope(1, agent), now()).unwrap();
    println!("key {agent} {}", hex(key.digest_key()));
}

/// What a child does; run by the other tests only.
#[test]
#[ignore = "the body of the child processes"]
fn child() {
    let (Ok(folder), Ok(task)) = (env::var(FOLDER), env::var(TASK)) else {
        return;
    };
    let folder = Path::new(&folder);
    let store = open(folder).unwrap();
    match task.as_str() {
        "create" => (0..20).for_each(|agent| print_key(&store, agent)),
        "rotate" => {
            for agent in 0..20 {
                store.rotate_key_file(&folder.join("master.key")).unwrap();
                print_key(&store, agent);
            }
        }
        "until killed" => loop {
            for agent in 0..=255 {
                print_key(&store, agent);
                store.rotate_key_file(&folder.join("master.key")).unwrap();
            }
        },
        other => panic!("unknown task {other}"),
    }
}

/// Lines `key AGENT DIGEST`; the last one only where it is whole.
fn keys(child: &mut Child) -> Vec<(u8, String)> {
    let lines = BufReader::new(child.stdout.take().unwrap()).split(b'\n');
    lines
        .filter_map(|line| {
            let line = String::from_utf8(line.unwrap()).unwrap();
            let (agent, digest) = line.split_once("key ")?.1.split_once(' ')?;
            (digest.len() == 64).then(|| (agent.parse().unwrap(), digest.to_owned()))
        })
        .collect()
}

fn all_agree(tasks: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    // Neither the key file nor the key store is there yet.
    let mut children: Vec<Child> = tasks
        .iter()
        .map(|task| start(folder.path(), task))
        .collect();
    let mut agreed: HashMap<u8, String> = HashMap::new();
    for child in &mut children {
        let keys = keys(child);
        assert!(child.wait().unwrap().success());
        assert_eq!(keys.len(), 20);
        for (agent, digest) in keys {
            assert_eq!(
                agreed.entry(agent).or_insert_with(|| digest.clone()),
                &digest
            );
        }
    }
    let store = open(folder.path()).unwrap();
    for (agent, digest) in agreed {
        let key = store.key(scope(1, agent)).unwrap().unwrap();
        assert_eq!(hex(key.digest_key()), digest);
    }
}

#[test]
fn spec_5_3_processes_that_make_the_same_key_get_the_same_key() {
    all_agree(&["create"; 5]);
}

#[test]
fn issue_2_keys_are_made_and_found_while_other_processes_rotate() {
    all_agree(&["create", "rotate", "create", "rotate"]);
}

#[test]
fn issue_2_a_process_killed_at_any_moment_loses_no_key_and_no_master_key() {
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged: HashMap<u8, String> = HashMap::new();
    for round in 0..1_000_u64 {
        // On a slow machine the first ones are killed before they have done anything.
        if round >= 20 && !acknowledged.is_empty() {
            break;
        }
        let mut child = start(folder.path(), "until killed");
        // From before the first file is made to some way into the work.
        thread::sleep(Duration::from_micros(2_000 + round * 1_937));
        child.kill().unwrap();
        child.wait().unwrap();
        for (agent, digest) in keys(&mut child) {
            assert_eq!(
                acknowledged.entry(agent).or_insert_with(|| digest.clone()),
                &digest
            );
        }
        let store = open(folder.path()).unwrap();
        for (agent, digest) in &acknowledged {
            let key = store.key(scope(1, *agent)).unwrap().unwrap();
            assert_eq!(hex(key.digest_key()), *digest);
        }
    }
    assert!(!acknowledged.is_empty());
}

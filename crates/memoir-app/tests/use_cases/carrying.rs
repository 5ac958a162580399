//! An agent is moved to another installation, and is unchanged there (SPEC 4.1, 4.2, 5.4).

use std::{collections::BTreeMap, fs};

use memoir_app::{Error, OwnAgent, RecordFilter, ShredWish};
use memoir_domain::{memory::Number, session::State};
use memoir_testkit::{InstallationFolder, Turn, input};
use memoir_vault::archive::Passphrase;
use serde_json::{Value, json};

use crate::{
    installation::{TestAgent, complete, delete, new_folder, own, person, save_by, shred_by},
    story::{edits, first_part, second_part},
};

fn passphrase() -> Passphrase {
    Passphrase::from_text("a passphrase that is long enough").unwrap()
}

/// Memories, settings, sessions and records as JSON, the identifiers and hashes left out: sessions are
/// named by their place.
async fn told(agent: &OwnAgent) -> BTreeMap<&'static str, Vec<Value>> {
    let mut sessions = agent.lens().session_page(None, u32::MAX).await.unwrap();
    sessions.sort_by_key(|session| session.started_at);
    let names: BTreeMap<String, String> = (1..)
        .zip(&sessions)
        .map(|(place, session)| (session.id.to_string(), format!("session {place}")))
        .collect();
    let without = |value: Value, left_out: &[&str]| {
        let mut text = value.to_string();
        for (id, name) in &names {
            text = text.replace(id, name);
        }
        let mut value: Value = serde_json::from_str(&text).unwrap();
        for name in left_out {
            value.as_object_mut().unwrap().remove(*name);
        }
        value
    };
    let mut details = Vec::new();
    for session in &sessions {
        let detail = agent.views().session(session.id).await.unwrap();
        details.push(without(serde_json::to_value(detail).unwrap(), &["agent"]));
    }
    let records = agent.lens().records(&RecordFilter::default()).await;
    let records = records.unwrap();
    let records = records.into_iter().map(|record| {
        let mut record = without(
            serde_json::to_value(record).unwrap(),
            &["agent", "hash", "previous_hash"],
        );
        // The hashes of sealed texts, which differ here.
        record["data"].as_object_mut().unwrap().remove("replaced");
        record
    });
    let memories = agent.lens().memories(true).await.unwrap();
    let shown = serde_json::to_value(agent.views().show().await.unwrap()).unwrap();
    BTreeMap::from([
        (
            "memories",
            memories.into_iter().map(|memory| json!(memory)).collect(),
        ),
        ("settings", vec![without(shown, &["id", "name"])]),
        ("sessions", details),
        ("records", records.collect()),
        (
            "history",
            vec![without(json!(agent.history(None).await.unwrap()), &[])],
        ),
    ])
}

/// Another installation, with another master key and an account of another name.
async fn elsewhere(folder: &InstallationFolder) -> memoir_app::Account {
    folder.open().account("guests").await
}

async fn with_a_story(folder: &InstallationFolder) -> TestAgent {
    let wren = TestAgent::of(&folder.open()).await;
    // Boxed: unoptimized, their many steps would not fit on a test's stack.
    let completed = Box::pin(first_part(folder, &wren)).await;
    Box::pin(second_part(folder, &wren, completed)).await;
    wren
}

#[tokio::test]
async fn spec_4_2_an_agent_is_the_same_on_another_installation() {
    let folder = new_folder();
    let wren = with_a_story(&folder).await;
    // Two that were shredded, one of them twice in the same record.
    let wish = ShredWish::of(Number(12), "another one");
    shred_by(&wren.agent, wish, &person()).await;
    let sealed = wren.agent.archive(passphrase()).await.unwrap();
    let here = told(&wren.agent).await;
    let now = folder.now();

    let other = new_folder();
    let opened = other
        .open()
        .with_clock(folder.clock.clone())
        .with_model(wren.model.clone());
    let account = opened.account("guests").await;
    folder.pass_a_minute();
    let adopted = account
        .adopt(sealed.clone(), passphrase(), None, &person())
        .await
        .unwrap();
    assert_eq!(adopted.name, "wren");
    let agent = own(&account.agent("wren").await.unwrap());
    assert_ne!(agent.scope(), wren.agent.scope());
    let verified = opened.memoir.verify_all().await.unwrap();
    assert!(verified.iter().all(|one| one.valid), "{verified:?}");

    let there = told(&agent).await;
    for part in ["memories", "settings", "sessions", "history"] {
        assert_eq!(there[part], here[part], "{part}");
    }
    let count = here["records"].len();
    assert_eq!(there["records"][..count], here["records"]);
    assert_eq!(there["records"].len(), count + 1);
    let last = &there["records"][count];
    assert_eq!(last["action"], "agent_imported");
    let log = wren.seen().records(&RecordFilter::default()).await.unwrap();
    assert_eq!(last["data"]["head"][0][1], log[count - 1].hash);

    // It continues there: another session, an undo of an old one, a rewind, a shredding.
    let there = TestAgent {
        installation: opened.clone(),
        agent: agent.clone(),
    };
    folder.pass_a_minute();
    let (session, _) = there.refine([delete(10), complete()]).await;
    assert_eq!((session.state, session.edits), (State::Completed, 1));
    let old = agent.lens().session_page(None, u32::MAX).await.unwrap();
    let old = old
        .iter()
        .filter(|session| {
            session.state == State::Completed && !session.rehearsal && session.undone_at.is_none()
        })
        .min_by_key(|session| session.started_at)
        .unwrap()
        .id;
    folder.pass_a_minute();
    let undone = there.roll_back(old, true).await;
    assert!(undone.undone_at.is_some());
    folder.pass_a_minute();
    let rewound = agent.log().rewind(now, &person()).await.unwrap();
    assert!(rewound.changes.changed > 0);
    let kept = |told: &BTreeMap<&str, Vec<Value>>| -> Vec<Value> {
        let kept = told["memories"]
            .iter()
            .filter(|memory| memory["discarded_at"].is_null());
        kept.cloned().collect()
    };
    assert_eq!(kept(&told(&agent).await), kept(&here));
    folder.pass_a_minute();
    shred_by(&agent, ShredWish::of(Number(8), "a third one"), &person()).await;
    let verified = opened.memoir.verify_all().await.unwrap();
    assert!(verified.iter().all(|one| one.valid), "{verified:?}");
    assert_eq!(
        told(&wren.agent).await,
        here,
        "where it came from nothing changed"
    );

    // It can be moved on, under two names simultaneously.
    let sealed = agent.archive(passphrase()).await.unwrap();
    for name in ["first", "second"] {
        account
            .adopt(sealed.clone(), passphrase(), Some(name), &person())
            .await
            .unwrap();
    }
    let taken = account
        .adopt(sealed, passphrase(), Some("FIRST"), &person())
        .await;
    assert_eq!(taken.unwrap_err().code(), "name_taken");
    let first = told(&own(&account.agent("first").await.unwrap())).await;
    let second = told(&own(&account.agent("second").await.unwrap())).await;
    assert_eq!(first["memories"], second["memories"]);
    assert_eq!(first["sessions"], second["sessions"]);
    let verified = opened.memoir.verify_all().await.unwrap();
    // The agents, and the log of the account that was made for them.
    assert_eq!(verified.len(), 4);
    assert!(verified.iter().all(|one| one.valid), "{verified:?}");
    assert_eq!(
        memoir_store::Fleet::check(opened.store.as_ref())
            .await
            .unwrap(),
        []
    );
}

#[tokio::test]
async fn an_archive_that_cannot_be_opened_writes_nothing() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    wren.remember("Marta prefers linen thread.").await;
    let sealed = wren.agent.archive(passphrase()).await.unwrap();
    let other = new_folder();
    let account = elsewhere(&other).await;
    let state = || {
        let connection = rusqlite::Connection::open(other.database()).unwrap();
        let rows: i64 = connection
            .query_row(
                // The account's own log is none of an agent's.
                "SELECT (SELECT count(*) FROM agents WHERE id <> account_id) \
                     + (SELECT count(*) FROM memories) \
                     + (SELECT count(*) FROM audit_records \
                         WHERE agent_id NOT IN (SELECT id FROM accounts))",
                [],
                |row| row.get(0),
            )
            .unwrap();
        let keys: i64 = rusqlite::Connection::open(other.path().join("memoir.keys"))
            .unwrap()
            .query_row(
                "SELECT count(*) FROM agent_keys WHERE agent_id <> account_id",
                [],
                |row| row.get(0),
            )
            .unwrap();
        (rows, keys)
    };
    let flipped = |at: usize| {
        let mut bytes = sealed.clone();
        bytes[at] ^= 1;
        bytes
    };
    let wrong = Passphrase::from_text("another passphrase that is long").unwrap();
    let right = passphrase;
    let cases = [
        (
            sealed.clone(),
            wrong,
            "the passphrase does not open the archive",
        ),
        (flipped(3), right(), "not an archive"),
        (
            flipped(60),
            right(),
            "the passphrase does not open the archive",
        ),
        (
            flipped(sealed.len() / 2),
            right(),
            "the archive was changed",
        ),
        (
            flipped(sealed.len() - 1),
            right(),
            "the archive was changed",
        ),
        (
            sealed[..sealed.len() - 1].to_vec(),
            right(),
            "the archive is cut off",
        ),
        (sealed[..10].to_vec(), right(), "not an archive"),
        (
            [sealed.clone(), vec![0]].concat(),
            right(),
            "extra data follows the end",
        ),
        (Vec::new(), right(), "not an archive"),
    ];
    for (bytes, passphrase, expected) in cases {
        let length = bytes.len();
        let error = account
            .adopt(bytes, passphrase, None, &person())
            .await
            .unwrap_err();
        assert_eq!(error.code(), "invalid_argument", "{error}");
        assert!(error.to_string().contains(expected), "{length}: {error}");
        assert_eq!(state(), (0, 0));
    }
    account
        .adopt(sealed, passphrase(), None, &person())
        .await
        .unwrap();
    assert_eq!(state(), (1 + 1 + 3, 1), "the count can differ");
}

#[tokio::test]
async fn spec_5_4_an_erased_agent_comes_back_from_an_archive_only() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    wren.save(&crate::story::memories()).await;
    wren.refine(edits()).await;
    let before = told(&wren.agent).await;
    let sealed = wren.agent.archive(passphrase()).await.unwrap();
    let file = folder.path().join("wren.archive");
    fs::write(&file, &sealed).unwrap();
    wren.agent.log().erase(&person()).await.unwrap();
    assert!(matches!(
        wren.agent.archive(passphrase()).await,
        Err(Error::Erased { .. })
    ));
    let account = wren.memoir.account("default").await.unwrap();
    account
        .adopt(fs::read(&file).unwrap(), passphrase(), None, &person())
        .await
        .unwrap();
    let agent = own(&account.agent("wren").await.unwrap());
    assert_ne!(agent.scope(), wren.agent.scope());
    let after = told(&agent).await;
    for part in ["memories", "settings", "sessions"] {
        assert_eq!(after[part], before[part], "{part}");
    }
    save_by(&agent, &[input("Something new.")], &person()).await;
    wren.script([Turn::text("YES"), complete()]);
    let options = memoir_app::sessions::RefineOptions::default();
    let driven = agent.lens().refine(&options, &mut |_| {}).await.unwrap();
    assert_eq!(driven.state, State::Completed);
    let verified = wren.memoir.verify_all().await.unwrap();
    assert_eq!(verified.len(), 2);
    assert!(verified.iter().all(|one| one.valid), "{verified:?}");
    assert_eq!(
        wren.seen().memories(true).await.unwrap_err().code(),
        "erased",
        "the other one stays what it is"
    );
}

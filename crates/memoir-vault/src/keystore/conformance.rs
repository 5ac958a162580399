//! Scenarios that every place for wrapped keys must pass, each in an empty one of its own.
//!
//! A scenario panics if the place breaks the rule in its name. Tests for one place are beside it.
#![expect(
    clippy::unwrap_used,
    reason = "the stories are tests: a panic is how they fail"
)]

use std::{
    thread,
    time::{Duration, Instant},
};

use memoir_domain::{AccountId, AgentId, AgentScope, Timestamp};

use super::{
    Closing, KeyStore, SqliteKeys, is_as,
    rows::{
        AgentKeyRow, Agents, Changes, ClosingRow, KeyRows, KeyStoreContents, LogRow, MasterRow,
        WrittenChange,
    },
};
use crate::{Error, KeyId, MasterKey, MasterSource, Result, unlock_rows};

/// Opens the same place once more, as another process would.
pub type Open<'place> = &'place (dyn Fn() -> Box<dyn KeyRows> + Sync);

/// A scenario in an empty place.
pub type KeyStoreStory = fn(Open<'_>);

/// The scenario of that name.
pub fn story(name: &str) -> KeyStoreStory {
    let mut stories = STORIES.iter();
    let (_, story) = stories.find(|(known, _)| *known == name).unwrap();
    *story
}

macro_rules! stories {
    ($($name:ident,)*) => {
        /// Every scenario under the name of its rule.
        pub const STORIES: &[(&str, KeyStoreStory)] = &[$((stringify!($name), $name),)*];

        /// Makes every scenario a test of its own, which calls the function `run` with it.
        #[macro_export]
        macro_rules! each_key_story {
            ($run:ident) => { $(
                #[test]
                fn $name() {
                    $run($crate::conformance::story(stringify!($name)));
                }
            )* };
        }
    };
}

stories! {
    a_place_is_filled_once,
    every_field_of_a_key_store_is_kept,
    spec_5_3_an_agent_has_one_key_of_several_makers,
    spec_5_3_nothing_is_written_under_a_master_key_that_was_replaced,
    spec_5_4_a_destroyed_key_is_gone_and_when_is_kept,
    spec_5_4_every_reader_sees_a_change_within_a_second,
    spec_5_3_everything_is_wrapped_anew_or_nothing_is,
    spec_5_4_a_key_that_one_process_destroys_no_other_one_uses,
    spec_5_3_a_process_with_the_wrong_master_key_does_not_start,
    spec_5_3_a_key_store_that_must_be_there_is_not_made,
    spec_5_3_keys_are_made_and_found_while_others_rotate,
    spec_5_5_all_processes_know_whether_the_installation_is_closed,
    spec_5_4_a_copy_holds_all_keys_but_those_that_were_destroyed,
}

/// How long a scenario waits for a condition that must hold within a second, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_microseconds(seconds * 1_000_000 + 1).unwrap()
}

fn scope(agent: u8) -> AgentScope {
    AgentScope {
        account: AccountId::from_bytes([0xA1; 16]),
        agent: AgentId::from_bytes([agent; 16]),
    }
}

/// Bytes as long as those of a wrapped key.
fn wrapped(number: u8) -> Vec<u8> {
    vec![number; 73]
}

const FIRST: KeyId = KeyId::from_bytes([1; 8]);
const SECOND: KeyId = KeyId::from_bytes([2; 8]);

fn master(key_id: KeyId) -> Option<MasterRow> {
    Some(MasterRow {
        key_id,
        proof: wrapped(key_id.as_bytes()[0]),
    })
}

fn agent(number: u8) -> AgentKeyRow {
    AgentKeyRow {
        scope: scope(number),
        created_at: at(i64::from(number)),
        key: Ok(wrapped(number)),
    }
}

fn log() -> LogRow {
    LogRow {
        name: "memoir/0011223344556677".to_owned(),
        created_at: at(-7),
        wrapped: wrapped(7),
    }
}

fn closing(is_closed: bool) -> ClosingRow {
    let changed_at = at(8);
    ClosingRow {
        closing: Closing {
            is_closed,
            changed_at,
        },
        wrapped: wrapped(8),
    }
}

/// A place that holds only a master key.
fn filled(open: Open<'_>) -> Box<dyn KeyRows> {
    let rows = open();
    rows.fill(&KeyStoreContents {
        master: master(FIRST),
        ..KeyStoreContents::default()
    })
    .unwrap();
    rows
}

/// Its content, in a fixed order, without times.
fn all(rows: &dyn KeyRows) -> KeyStoreContents {
    let mut contents = rows.read(Agents::All).unwrap();
    contents
        .agents
        .sort_by_key(|row| *row.scope.agent.as_bytes());
    contents.changes = None;
    contents
}

fn same(one: &KeyStoreContents, other: &KeyStoreContents) {
    assert_eq!(one.master, other.master);
    assert_eq!(one.agents, other.agents);
    assert_eq!(one.log, other.log);
    assert_eq!(one.closing, other.closing);
}

fn overtaken<T>(answer: Result<T>) {
    let error = answer.err().unwrap();
    assert!(matches!(error, Error::Overtaken), "{error}");
}

/// Waits until it is so; how long that took.
fn until(mut is_so: impl FnMut() -> bool) -> Duration {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it never came true");
        thread::sleep(Duration::from_millis(5));
    }
    begun.elapsed()
}

fn a_place_is_filled_once(open: Open<'_>) {
    let rows = open();
    assert!(rows.read(Agents::All).unwrap().master.is_none());
    rows.check_there().unwrap();
    drop(filled(open));
    let other = KeyStoreContents {
        master: master(SECOND),
        agents: vec![agent(1)],
        ..KeyStoreContents::default()
    };
    rows.fill(&other).unwrap();
    let expected = KeyStoreContents {
        master: master(FIRST),
        ..KeyStoreContents::default()
    };
    for rows in [rows, open()] {
        same(&all(&*rows), &expected);
    }
}

fn every_field_of_a_key_store_is_kept(open: Open<'_>) {
    let destroyed = AgentKeyRow {
        key: Err(at(9)),
        ..agent(3)
    };
    let contents = KeyStoreContents {
        changes: None,
        master: master(FIRST),
        agents: vec![agent(1), agent(2), destroyed.clone()],
        log: Some(log()),
        closing: Some(closing(true)),
    };
    open().fill(&contents).unwrap();
    let rows = open();
    same(&all(&*rows), &contents);
    let some = rows.read(Agents::These(&[scope(3), scope(9)])).unwrap();
    assert_eq!(some.agents, [destroyed]);
    assert_eq!((some.master, some.log), (master(FIRST), Some(log())));
    let none = rows.read(Agents::These(&[])).unwrap();
    assert!(none.agents.is_empty());
    rows.set_closing(FIRST, &closing(false)).unwrap();
    assert_eq!(all(&*open()).closing, Some(closing(false)));
}

fn spec_5_3_an_agent_has_one_key_of_several_makers(open: Open<'_>) {
    drop(filled(open));
    let made = thread::scope(|threads| {
        let makers = [1, 2, 3, 4].map(|maker| {
            threads.spawn(move || {
                let row = AgentKeyRow {
                    key: Ok(wrapped(maker)),
                    ..agent(1)
                };
                match open().add_agent(FIRST, &row) {
                    Ok(WrittenChange { before, after }) => {
                        assert!(!is_as(before, after));
                        Some(row)
                    }
                    Err(error) => {
                        assert!(matches!(error, Error::Overtaken), "{error}");
                        None
                    }
                }
            })
        });
        makers.map(|maker| maker.join().unwrap())
    });
    let made: Vec<_> = made.into_iter().flatten().collect();
    assert_eq!(made.len(), 1);
    assert_eq!(all(&*open()).agents, made);
    let rows = open();
    rows.add_log(FIRST, &log()).unwrap();
    overtaken(rows.add_log(FIRST, &log()));
}

fn spec_5_3_nothing_is_written_under_a_master_key_that_was_replaced(open: Open<'_>) {
    let rows = filled(open);
    let before = all(&*rows);
    overtaken(rows.add_agent(SECOND, &agent(1)));
    overtaken(rows.add_log(SECOND, &log()));
    overtaken(rows.set_closing(SECOND, &closing(true)));
    same(&all(&*rows), &before);
}

fn spec_5_4_a_destroyed_key_is_gone_and_when_is_kept(open: Open<'_>) {
    let rows = filled(open);
    for number in [1, 2] {
        rows.add_agent(FIRST, &agent(number)).unwrap();
    }
    assert!(rows.destroy(scope(1), at(9)).unwrap());
    assert!(!open().destroy(scope(1), at(10)).unwrap());
    assert!(!rows.destroy(scope(3), at(10)).unwrap());
    let destroyed = AgentKeyRow {
        key: Err(at(9)),
        ..agent(1)
    };
    assert_eq!(all(&*open()).agents, [destroyed, agent(2)]);
    // There is no second one.
    overtaken(rows.add_agent(FIRST, &agent(1)));
}

fn spec_5_4_every_reader_sees_a_change_within_a_second(open: Open<'_>) {
    let (one, other) = (filled(open), open());
    let heard = |change: &dyn Fn()| {
        let look = || other.read(Agents::These(&[])).unwrap().changes;
        // Without changes, the last reader knows that, unless a slow machine held it up.
        until(|| is_as(look(), other.changes().unwrap()));
        let seen: Changes = look();
        change();
        until(|| !is_as(other.changes().unwrap(), seen));
        assert!(!is_as(look(), seen));
    };
    heard(&|| assert!(one.add_agent(FIRST, &agent(1)).is_ok()));
    heard(&|| one.add_log(FIRST, &log()).unwrap());
    heard(&|| one.set_closing(FIRST, &closing(true)).unwrap());
    heard(&|| assert!(one.destroy(scope(1), at(9)).unwrap()));
    heard(&|| {
        let mut contents = one.read(Agents::All).unwrap();
        contents.master = master(SECOND);
        one.rewrap(&contents).unwrap();
    });
}

fn spec_5_3_everything_is_wrapped_anew_or_nothing_is(open: Open<'_>) {
    let rows = filled(open);
    rows.add_agent(FIRST, &agent(1)).unwrap();
    rows.add_log(FIRST, &log()).unwrap();
    rows.set_closing(FIRST, &closing(true)).unwrap();
    rows.add_agent(FIRST, &agent(2)).unwrap();
    rows.destroy(scope(2), at(9)).unwrap();
    let anew = || {
        let mut contents = rows.read(Agents::All).unwrap();
        contents.master = master(SECOND);
        for row in &mut contents.agents {
            row.key = row.key.clone().map(|_| wrapped(99));
        }
        contents.log = Some(LogRow {
            wrapped: wrapped(98),
            ..log()
        });
        contents
    };
    let too_late = anew();
    open().add_agent(FIRST, &agent(3)).unwrap();
    let before = all(&*rows);
    overtaken(rows.rewrap(&too_late));
    same(&all(&*rows), &before);
    let mut anew = anew();
    rows.rewrap(&anew).unwrap();
    anew.agents.sort_by_key(|row| *row.scope.agent.as_bytes());
    same(&all(&*open()), &anew);
    overtaken(rows.rewrap(&anew));
}

fn unlocked(open: Open<'_>, master: &MasterSource) -> KeyStore {
    unlock_rows(master, open(), false).unwrap()
}

fn spec_5_4_a_key_that_one_process_destroys_no_other_one_uses(open: Open<'_>) {
    let master = MasterSource::Given(MasterKey::generate().unwrap());
    let (one, other) = (unlocked(open, &master), unlocked(open, &master));
    let made = one.create(scope(1), at(1)).unwrap();
    until(|| {
        let found = other.key(scope(1)).unwrap().unwrap();
        assert_eq!(made.digest_key(), found.digest_key());
        other.cached(scope(1)).unwrap().is_some()
    });
    assert!(one.destroy(scope(1), at(2)).unwrap());
    assert!(one.cached(scope(1)).unwrap().is_none());
    until(|| other.cached(scope(1)).unwrap().is_none());
    assert!(other.key(scope(1)).unwrap().is_none());
    assert_eq!(other.destroyed_at(scope(1)).unwrap(), Some(at(2)));
    assert!(other.present(&[scope(1)]).unwrap().is_empty());
    let again = other.create(scope(1), at(3));
    assert!(matches!(again, Err(Error::Destroyed)));
}

fn spec_5_3_a_process_with_the_wrong_master_key_does_not_start(open: Open<'_>) {
    let first = MasterSource::Given(MasterKey::generate().unwrap());
    let key = MasterKey::generate().unwrap();
    let id = key.key_id();
    let second = MasterSource::Given(key);
    let store = unlocked(open, &first);
    store.create(scope(1), at(1)).unwrap();
    let refused = || unlock_rows(&second, open(), true).map(drop).unwrap_err();
    assert!(matches!(refused(), Error::WrongMasterKey { held, .. } if held == id));
    // A fingerprint alone does not make a master key fit.
    let rows = open();
    let mut contents = rows.read(Agents::All).unwrap();
    contents.master.as_mut().unwrap().key_id = id;
    rows.rewrap(&contents).unwrap();
    assert!(matches!(refused(), Error::Inconsistent { .. }));
}

fn spec_5_3_a_key_store_that_must_be_there_is_not_made(open: Open<'_>) {
    let master = MasterSource::Given(MasterKey::generate().unwrap());
    let refused = unlock_rows(&master, open(), true).map(drop).unwrap_err();
    assert!(matches!(refused, Error::Missing(_)), "{refused}");
    assert!(open().read(Agents::All).unwrap().master.is_none());
}

fn spec_5_3_keys_are_made_and_found_while_others_rotate(open: Open<'_>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("master.key");
    let source = MasterSource::File(path.clone());
    let made = thread::scope(|threads| {
        let (source, path) = (&source, &path);
        let work = move |rotates: bool| {
            let store = unlocked(open, source);
            let made = (0..8).map(|agent| {
                if rotates {
                    store.rotate_key_file(path).unwrap();
                }
                *store.create(scope(agent), at(1)).unwrap().digest_key()
            });
            made.collect::<Vec<_>>()
        };
        let workers =
            [false, true, false, true].map(|rotates| threads.spawn(move || work(rotates)));
        workers.map(|worker| worker.join().unwrap())
    });
    assert!(made.iter().all(|keys| *keys == made[0]));
    let store = unlocked(open, &source);
    for (agent, digest) in (0..8).zip(&made[0]) {
        assert_eq!(
            store.key(scope(agent)).unwrap().unwrap().digest_key(),
            digest
        );
    }
}

fn spec_5_5_all_processes_know_whether_the_installation_is_closed(open: Open<'_>) {
    let master = MasterSource::Given(MasterKey::generate().unwrap());
    let (one, other) = (unlocked(open, &master), unlocked(open, &master));
    assert_eq!(one.closing().unwrap(), None);
    let set = closing(true).closing;
    one.set_closing(set).unwrap();
    assert_eq!(other.closing().unwrap(), Some(set));
    let logs = [&one, &other].map(|store| store.log(at(1)).unwrap().verifier().to_string());
    assert_eq!(logs[0], logs[1]);
}

fn spec_5_4_a_copy_holds_all_keys_but_those_that_were_destroyed(open: Open<'_>) {
    let master = MasterSource::Given(MasterKey::generate().unwrap());
    let store = unlocked(open, &master);
    let kept = store.create(scope(1), at(1)).unwrap();
    store.create(scope(2), at(1)).unwrap();
    store.destroy(scope(2), at(2)).unwrap();
    let log = store.log(at(3)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.keys");
    store.back_up(&path).unwrap();
    let rows = SqliteKeys::open(&path, false).unwrap();
    let copy = unlock_rows(&master, Box::new(rows), true).unwrap();
    // An occupied place is never overwritten.
    let refused = copy.copy_to(&*open()).unwrap_err();
    assert!(matches!(refused, Error::Unusable { .. }), "{refused}");
    let found = copy.key(scope(1)).unwrap().unwrap();
    assert_eq!(found.digest_key(), kept.digest_key());
    assert_eq!(copy.destroyed_at(scope(2)).unwrap(), Some(at(2)));
    assert_eq!(copy.log(at(4)).unwrap().name(), log.name());
}

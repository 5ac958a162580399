//! Text that must not exist any more: of one memory (SPEC 4.4), and of a whole agent (SPEC 5.4).

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use memoir_app::{
    Error, HandedMessage, Handling, KeptReply, RecordFilter, ReplyKey, ShredWish, Verification,
    sessions::RefineOptions,
};
use memoir_domain::{
    SessionId,
    agent::Field,
    audit::{Action, ActorKind},
    memory::Number,
    recall::RecallQuery,
    session::{Mode, State},
};
use memoir_store::{AgentQuery, Document, ReplyRow, StoredText};
use memoir_store_sqlite::SqliteStore;
use memoir_testkit::{InstallationFolder, Turn, input, query, tamper};
use memoir_vault::{
    archive::{self, Passphrase},
    password::Password,
    seal::{SealContext, SealedRow},
};
use rusqlite::Connection;
use serde_json::json;

use crate::{
    archiving,
    installation::{
        OWNER, TestAgent, agent_of, complete, new_folder, own, person, rehearsal, request_by,
        save_by, shred_by, shredding,
    },
    story::{self, first_part, second_part},
};

/// Every sealed text of the database.
fn sealed_texts(path: &Path) -> BTreeSet<Vec<u8>> {
    let connection = Connection::open(path).unwrap();
    let mut texts = BTreeSet::new();
    for (table, column) in [
        ("agents", "sealed"),
        ("agent_prompts", "body"),
        ("memories", "body"),
        ("sessions", "sealed"),
        ("audit_records", "body"),
    ] {
        let mut statement = connection
            .prepare(&format!("SELECT {column} FROM {table}"))
            .unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        texts.extend(rows.map(Result::<Vec<u8>, _>::unwrap));
    }
    texts
}

/// Whether a part of `needle` is anywhere in the folder's files. A text that is spread over pages is not contiguous, so
/// a part must do.
fn is_in_files(dir: &Path, needle: &[u8]) -> bool {
    let piece = &needle[needle.len() - 24..];
    fs::read_dir(dir).unwrap().any(|entry| {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        bytes.windows(piece.len()).any(|window| window == piece)
    })
}

fn code<T>(result: Result<T, Error>) -> &'static str {
    match result {
        Ok(_) => "done",
        Err(error) => error.code(),
    }
}

fn passphrase() -> Passphrase {
    Passphrase::from_text("a passphrase that is long enough").unwrap()
}

/// The result of every use case, by its name.
async fn all_answers(wren: &TestAgent, session: SessionId) -> Vec<(&'static str, &'static str)> {
    let agent = &wren.agent;
    let now = wren.memoir.now();
    let name = [(Field::Name, Some("another"))];
    let options = RefineOptions::default();
    wren.script([Turn::text("YES"), complete()]);
    let (lens, actor, query) = (agent.lens(), &person(), RecallQuery::default());
    let (memories, sessions, log) = (agent.memories(), agent.sessions(), agent.log());
    let (wish, nine) = (ShredWish::of(Number(1), "a reason"), Number(9));
    let (point, search) = (memoir_app::Point::Time(now), json!({"query": "a"}));
    let called = agent.call_tool(session, "search_memories", Some(&search));
    vec![
        ("show", code(agent.views().show().await)),
        (
            "configure",
            code(agent.settings().configure(&name, actor).await),
        ),
        (
            "save",
            code(memories.save(&[input("Something.")], actor).await),
        ),
        ("recall", code(lens.recall(&query).await)),
        ("memories", code(lens.memories(false).await)),
        ("context", code(agent.context(None).await)),
        (
            "restore",
            code(memories.handle(nine, Handling::Restore, actor).await),
        ),
        ("shred", code(memories.shred(wish, actor).await)),
        ("rewind", code(log.rewind(now, actor).await)),
        ("preview", code(log.preview_rewind(point, actor).await)),
        ("history", code(agent.history(None).await)),
        ("refine", code(lens.refine(&options, &mut |_| {}).await)),
        ("session", code(agent.views().session(session).await)),
        ("cancel", code(sessions.cancel(session, actor).await)),
        (
            "roll back",
            code(sessions.roll_back(session, true, actor).await),
        ),
        (
            "apply",
            code(sessions.apply_rehearsal(session, actor).await),
        ),
        ("call", code(called.await)),
        ("archive", code(agent.archive(passphrase()).await)),
        ("erase", code(log.erase(actor).await)),
    ]
}

fn erased_of(verified: &[Verification]) -> usize {
    let erased = verified.iter().filter(|one| one.erased_at.is_some());
    erased.count()
}

#[tokio::test]
async fn spec_5_4_nothing_of_an_erased_agent_is_read_again() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    let magpie = agent_of(&wren.memoir, "magpie").await;
    save_by(&magpie, &[input("The river is high.")], &person()).await;
    let completed = Box::pin(first_part(&folder, &wren)).await;
    let story = Box::pin(second_part(&folder, &wren, completed)).await;
    let note = wren.memoir.checkpoint().await.unwrap();
    let actions = wren.actions().await;
    let hashes = |records: &[memoir_app::ShownRecord]| -> Vec<String> {
        records.iter().map(|record| record.hash.clone()).collect()
    };
    let records = wren.seen().records(&RecordFilter::default()).await.unwrap();
    let before = hashes(&records);
    let of_magpie = magpie.lens().memories(true).await.unwrap();
    drop((wren, magpie));
    let backup = folder.path().join("backup");
    folder.copy_to(&backup);
    let key = {
        let wren = TestAgent::of(&folder.open()).await;
        folder.keys.key(wren.agent.scope()).unwrap().unwrap()
    };

    let wren = TestAgent::of(&folder.open()).await;
    let erased = wren.agent.log().erase(&person()).await.unwrap();
    assert!(erased.counts.core_count > 5);
    for (name, answer) in all_answers(&wren, story.completed).await {
        assert_eq!(answer, "erased", "{name}");
    }
    // Only the list of actions is left, without text.
    let records = wren.seen().records(&RecordFilter::default()).await.unwrap();
    assert_eq!(hashes(&records)[..before.len()], before);
    let erased = ["agent_erased".to_owned()];
    assert_eq!(wren.actions().await, [&actions[..], &erased].concat());
    let shown = serde_json::to_string(&records).unwrap();
    let lens = wren.seen();
    assert_eq!(code(lens.session_page(None, u32::MAX).await), "erased");
    for word in [
        "Marta",
        "paper",
        "is 4711",
        "doubles",
        "middle of something",
        "key is",
    ] {
        assert!(!shown.contains(word), "{word}");
    }
    assert!(
        records
            .iter()
            .all(|record| record.words.before.is_none() && record.words.after.is_none())
    );
    let verified = wren.memoir.verify_all().await.unwrap();
    assert!(verified.iter().all(|one| one.valid), "{verified:?}");
    assert_eq!(erased_of(&verified), 1);
    let checkpoint = note.checkpoint.as_bytes();
    let growth = wren.memoir.check_growth(checkpoint, None).await;
    assert!(growth.unwrap().grew);
    wren.check().await;

    // Its name is free, and the new one is another agent.
    let account = wren.memoir.account("default").await.unwrap();
    let listed = account.agents().await.unwrap();
    assert!(listed.iter().map(|agent| &agent.name).eq(["magpie"]));
    account.create_agent("WREN", &[], &person()).await.unwrap();
    let second = own(&account.agent("wren").await.unwrap());
    assert_ne!(second.scope(), wren.agent.scope());
    save_by(&second, &[input("A new life.")], &person()).await;
    assert_eq!(second.lens().memories(true).await.unwrap().len(), 1);
    assert_eq!(code(wren.seen().memories(true).await), "erased");
    let magpie = agent_of(&wren.memoir, "magpie").await;
    assert_eq!(magpie.lens().memories(true).await.unwrap(), of_magpie);

    // A copy of the database from before, with the key store of today.
    let old = folder.open_at(&backup).memoir;
    let account = old.account("default").await.unwrap();
    let reached = own(&account.agent("wren").await.unwrap());
    assert_eq!(code(reached.lens().memories(true).await), "erased");
    assert_eq!(code(reached.views().show().await), "erased");
    let verified = old.verify_all().await.unwrap();
    assert_eq!(erased_of(&verified), 1);
    let magpie = own(&account.agent("magpie").await.unwrap());
    assert_eq!(magpie.lens().memories(true).await.unwrap(), of_magpie);
    // With the destroyed key it could be read, so the search for text above can fail.
    let connection = Connection::open(&backup).unwrap();
    let (body, version): (Vec<u8>, u32) = connection
        .query_row(
            "SELECT body, json_extract(open, '$.prompts_version') FROM agent_prompts JOIN agents ON id = agent_id \
             WHERE agent_id = ?1",
            [reached.scope().agent.as_bytes()],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    let place = SealContext {
        row: SealedRow::Prompts,
        version: version.into(),
    };
    let plain = key.open(&place, &[], &body).unwrap();
    assert!(String::from_utf8_lossy(&plain).contains("system_prompt"));
}

#[tokio::test]
async fn spec_5_4_an_erasing_that_was_interrupted_is_finished() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    wren.remember("Marta prefers linen thread for every book.")
        .await;
    let scope = wren.agent.scope();
    assert!(folder.keys.key(scope).unwrap().is_some());
    let held_up = hold_up(&folder);
    let failed = wren.agent.log().erase(&person()).await.unwrap_err();
    assert_eq!(failed.code(), "key_remains", "{failed}");
    assert!(
        !failed.to_string().contains("nothing was changed"),
        "{failed}"
    );
    assert_eq!(wren.actions().await.last().unwrap(), "agent_erased");
    assert_eq!(code(wren.seen().memories(true).await), "erased");
    assert_eq!(code(wren.agent.views().show().await), "erased");
    let interrupted = wren.agent.log().verify().await.unwrap();
    assert!(
        !interrupted.valid,
        "it is named as long as the key is there"
    );
    drop(held_up);
    assert!(
        folder.keys.key(scope).unwrap().is_some(),
        "it is still there"
    );

    folder.pass_a_minute();
    let erased = wren.agent.log().erase(&person()).await.unwrap();
    assert_eq!(erased.counts.core_count, 1);
    assert!(folder.keys.key(scope).unwrap().is_none());
    let actions = wren.actions().await;
    let erased = actions.iter().filter(|action| *action == "agent_erased");
    assert_eq!(erased.count(), 1);
    let verified = wren.agent.log().verify().await.unwrap();
    assert!(verified.valid, "{verified:?}");
    assert_eq!(code(wren.agent.log().erase(&person()).await), "erased");
}

/// Prevents the destruction of keys, but not their use: another program has given the key store a log, in which they
/// would stay.
fn hold_up(folder: &InstallationFolder) -> Connection {
    let program = Connection::open(folder.key_file()).unwrap();
    let log = program.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0));
    assert_eq!(log, Ok("wal".to_owned()));
    let read = program.query_row("SELECT count(*) FROM agent_keys", [], |row| {
        row.get::<_, i64>(0)
    });
    read.unwrap();
    program
}

/// The record is written, and the key exists: the state after a process that died in between.
async fn half_erased(folder: &InstallationFolder, wren: &TestAgent) {
    let held_up = hold_up(folder);
    assert_eq!(code(wren.agent.log().erase(&person()).await), "key_remains");
    drop(held_up);
    assert!(folder.keys.key(wren.agent.scope()).unwrap().is_some());
}

#[tokio::test]
async fn spec_6_2_an_interrupted_erasing_is_found_and_finished_when_the_installation_is_opened() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    let account = wren.memoir.account("default").await.unwrap();
    wren.remember("Marta prefers linen thread.").await;
    half_erased(&folder, &wren).await;
    let name = format!("`wren` ({})", wren.agent.scope().agent);
    let unfinished = async || {
        let found = wren.memoir.examine(&account).await.unwrap();
        let found = found.into_iter().find(|one| one.area == "unfinished");
        found.unwrap().finding
    };
    assert_eq!(
        unfinished().await,
        format!("{name} is erased on the record, and its key is there")
    );

    // The obstacle is reported, and stops nothing else.
    let held_up = hold_up(&folder);
    let tried = wren.memoir.finish().await.unwrap();
    assert_eq!((tried.erased, tried.left.len()), (0, 1));
    assert_eq!(
        tried.left[0].what,
        format!("the erasing of {name} is not finished")
    );
    assert_eq!(tried.left[0].why.code(), "key_remains");
    drop(held_up);

    let finished = wren.memoir.finish().await.unwrap();
    assert_eq!((finished.erased, finished.left.len()), (1, 0));
    assert!(folder.keys.key(wren.agent.scope()).unwrap().is_none());
    assert_eq!(unfinished().await, "nothing was left half-done");
    let again = wren.memoir.finish().await.unwrap();
    assert_eq!((again.erased, again.left.len()), (0, 0));
    assert!(wren.agent.log().verify().await.unwrap().valid);
}

/// Stored responses are sealed under another key than the agent's.
#[tokio::test]
async fn spec_4_4_what_was_answered_before_a_shredding_is_not_kept_after_it() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    wren.remember("The password is on the door.").await;
    let (memoir, scope) = (&wren.memoir, wren.agent.scope());
    let key = |number| ReplyKey {
        account: scope.account,
        agent: Some(scope.agent),
        key_digest: [number; 32],
        request_digest: [9; 32],
    };
    let begin = async |number| memoir.begin_reply(&key(number)).await.unwrap();
    let new = async |number| match begin(number).await {
        KeptReply::New(attempt) => attempt,
        kept => panic!("it is new: {kept:?}"),
    };
    let end = async |number, attempt, wordless, answer: &str| {
        let answer = (200, answer.as_bytes());
        let key = key(number);
        let ended = memoir.end_reply(&key, attempt, wordless, answer);
        assert!(ended.await.unwrap());
        begin(number).await
    };
    let (first, shredding) = (new(1).await, new(2).await);
    let wish = ShredWish::of(Number(1), "a password");
    let person = person();
    let shredded = shredding.execute(wren.agent.memories().shred(wish, &person));
    shredded.await.unwrap();
    // One that was executed beside it, and its own.
    let beside = end(1, &first, false, "The password is on the door.").await;
    assert!(matches!(beside, KeptReply::New(_)), "{beside:?}");
    let own = end(2, &shredding, true, "{}").await;
    assert!(matches!(own, KeptReply::Response { .. }), "{own:?}");
    let third = new(3).await;
    let later = end(3, &third, false, "{}").await;
    assert!(matches!(later, KeptReply::Response { .. }), "{later:?}");
}

#[tokio::test]
async fn spec_5_4_an_erasing_forgets_the_answers_that_are_kept_though_the_key_remains() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    let kept = ReplyRow {
        account: wren.agent.scope().account,
        key_digest: [1; 32],
        request_digest: [2; 32],
        recorded_at: wren.memoir.now(),
        answer: None,
    };
    wren.store.begin_reply(&kept).await.unwrap();
    let answer = Document {
        version: 1,
        open: "{}".to_owned(),
        sealed: StoredText(vec![1, 2, 3]),
    };
    let (store, account) = (&wren.store, kept.account);
    let ended = store.end_reply(account, &kept.key_digest, None, None, answer);
    ended.await.unwrap();
    half_erased(&folder, &wren).await;
    let found = wren.store.begin_reply(&kept).await.unwrap().unwrap();
    assert!(found.answer.unwrap().sealed.0.is_empty());
}

#[tokio::test]
async fn spec_5_4_no_new_agent_of_the_name_hides_one_whose_key_is_there() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    let account = wren.memoir.account("default").await.unwrap();
    half_erased(&folder, &wren).await;
    account.create_agent("WREN", &[], &person()).await.unwrap();
    assert!(folder.keys.key(wren.agent.scope()).unwrap().is_none());

    // A row that was tampered with keeps its key, and its name.
    let magpie = account.create_agent("magpie", &[], &person()).await;
    let magpie = magpie.unwrap();
    drop(wren);
    let sql = "UPDATE agents SET erased_at = 1 WHERE name = 'magpie'";
    tamper(&folder.database(), sql);
    let memoir = folder.open().memoir;
    let account = memoir.account("default").await.unwrap();
    let refused = account.create_agent("magpie", &[], &person()).await;
    assert_eq!(code(refused), "tampered");
    let left = memoir.finish().await.unwrap().left;
    assert_eq!(
        left[0].what,
        format!("the erasing of `magpie` ({}) is not finished", magpie.id)
    );
    assert_eq!(left[0].why.code(), "tampered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_5_4_an_agent_with_a_running_session_is_not_erased() {
    let folder = new_folder();
    let wren = Arc::new(TestAgent::of(&folder.open()).await);
    wren.remember("Marta prefers linen thread for every book.")
        .await;
    let (tried, answer) = std::sync::mpsc::channel();
    let runtime = tokio::runtime::Handle::current();
    let other = wren.clone();
    let during = Turn::respond(move |_| {
        let (other, tried) = (other.clone(), tried.clone());
        // A thread of its own: this one is in the middle of the session.
        let runtime = runtime.clone();
        let thread = std::thread::spawn(move || {
            let refused = runtime.block_on(async {
                let (agent, now) = (&other.agent, other.memoir.now());
                let wish = ShredWish::of(Number(1), "a reason");
                [
                    code(agent.log().erase(&person()).await),
                    code(agent.memories().shred(wish, &person()).await),
                    code(agent.log().rewind(now, &person()).await),
                    code(agent.archive(passphrase()).await),
                ]
            });
            tried.send(refused).unwrap();
        });
        thread.join().unwrap();
        complete()
    });
    let (driven, _) = wren.refine([during]).await;
    assert_eq!(driven.state, State::Completed);
    assert_eq!(answer.recv().unwrap(), ["session_open"; 4]);
    assert!(wren.agent.log().erase(&person()).await.is_ok());
}

#[tokio::test]
async fn spec_6_2_a_session_that_ran_in_a_restored_backup_ends_with_its_agent() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    wren.remember("Marta prefers linen thread for every book.")
        .await;
    let (opened, _) = wren.agent.open_own(Mode::Full).await.unwrap();
    drop(wren);
    let backup = folder.path().join("backup");
    folder.copy_to(&backup);
    let wren = TestAgent::of(&folder.open()).await;
    let cancelled = wren.agent.sessions().cancel(opened.id, &person()).await;
    cancelled.unwrap();
    wren.agent.log().erase(&person()).await.unwrap();

    let restored = folder.open_at(&backup);
    let account = restored.memoir.account("default").await.unwrap();
    let agent = own(&account.agent("wren").await.unwrap());
    agent.log().erase(&person()).await.unwrap();
    let records = agent.lens().records(&RecordFilter::default()).await;
    let actions = records.unwrap().into_iter().map(|record| record.action);
    let actions: Vec<Action> = actions.collect();
    let ends = [Action::MemoryRefinementAbandoned, Action::AgentErased];
    assert!(actions.ends_with(&ends), "{actions:?}");
    let connection = Connection::open(&backup).unwrap();
    let state = connection.query_row("SELECT state FROM sessions", [], |row| row.get(0));
    assert_eq!(state, Ok("abandoned".to_owned()));
    let verified = agent.log().verify().await.unwrap();
    assert!(verified.valid, "{verified:?}");
}

/// All of the agent's data as plain text: its archive, opened.
async fn everything(wren: &TestAgent) -> String {
    let sealed = wren.agent.archive(passphrase()).await.unwrap();
    let plain = archive::open(&passphrase(), sealed.as_slice()).unwrap();
    String::from_utf8(plain.to_vec()).unwrap()
}

#[tokio::test]
async fn spec_4_4_a_shredded_memory_leaves_no_word_anywhere() {
    const WORD: &str = "zilpzalp";
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    let agent = &wren.agent;
    let mut secret =
        input("The Zilpzalp password of the house in Lisbon is 4711 and was set on 3 May 2024.");
    secret.tags = vec!["zilpzalp".into()];
    secret.source = Some("a note of Zilpzalp".into());
    agent.memories().save(&[secret], &person()).await.unwrap();
    for number in 0..8 {
        let text = format!(
            "A long and quiet memory number {number} of a day at the sea, with nothing in it."
        );
        wren.remember(&text).await;
    }
    let rehearsal = rehearsal();
    // A merge of the memory and another one, and a rewrite of the result.
    let rehearse = [
        Turn::call(
            "consolidate_memories",
            json!({"ids": [1, 2], "content": "The Zilpzalp password of the house is 4711; and a long and quiet memory of a day at the sea."}),
        ),
        Turn::call(
            "update_memory",
            json!({"id": 10, "content": "The Zilpzalp password is 4711; and a long and quiet memory of a day at the sea."}),
        ),
        complete(),
    ];
    let (rehearsed, _) = wren.refine_with(&rehearsal, rehearse).await;
    assert_eq!((rehearsed.state, rehearsed.edits), (State::Completed, 2));
    let rewritten =
        "The Zilpzalp password of the house in Lisbon is 4711, and was set in May 2024.";
    let (session, _) = wren
        .refine([
            Turn::call("update_memory", json!({"id": 1, "content": rewritten})),
            Turn::call("protect_memory", json!({"id": 1})),
            complete(),
        ])
        .await;
    assert_eq!(session.edits, 1);
    wren.roll_back(session.id, false).await;
    let before_all = folder.now();
    folder.pass_a_minute();
    wren.memoir.checkpoint().await.unwrap();
    let before = everything(&wren).await.to_lowercase();
    assert!(before.matches(WORD).count() > 10);
    drop(wren);
    let old = sealed_texts(&folder.database());

    let wren = TestAgent::of(&folder.open()).await;
    let agent = &wren.agent;
    let wish = ShredWish::of(Number(1), "it is a password");
    let shredded = shred_by(agent, wish, &person()).await;
    assert!(shredded.redacted_records >= 4, "{shredded:?}");
    let now = everything(&wren).await.to_lowercase();
    assert_eq!(now.matches(WORD).count(), 0, "{now}");
    assert!(!now.contains("is 4711") && !now.contains("lisbon"));
    assert!(now.contains("it is a password"), "what remains says why");
    let asked = query("Zilpzalp", 9);
    assert!(agent.lens().recall(&asked).await.unwrap().is_empty());

    // The texts sealed over that memory are in no file, while it is open and after it was closed.
    let new = sealed_texts(&folder.database());
    let replaced: Vec<&Vec<u8>> = old.difference(&new).collect();
    assert!(
        replaced.len() as u64 > shredded.redacted_records,
        "{}",
        replaced.len()
    );
    let left = |dir: &Path| {
        let left = replaced.iter().filter(|text| is_in_files(dir, text));
        left.count()
    };
    assert_eq!(left(folder.path()), 0);
    assert!(
        new.iter().all(|text| is_in_files(folder.path(), text)),
        "the search finds what is there"
    );

    assert!(wren.agent.log().verify().await.unwrap().valid);
    wren.check().await;

    // Nothing restores it.
    let (memories, wish) = (agent.memories(), ShredWish::of(Number(1), "again"));
    assert_eq!(code(memories.shred(wish, &person()).await), "shredded");
    let me = person();
    let restored = memories.handle(Number(1), Handling::Restore, &me);
    assert_eq!(code(restored.await), "shredded");
    assert_eq!(code(wren.try_apply(rehearsed.id).await), "not_applicable");
    folder.pass_a_minute();
    agent.log().rewind(before_all, &person()).await.unwrap();
    let gone = agent.lens().memory(Number(1)).await.unwrap();
    assert!(gone.discarded_at.is_some() && gone.content().is_empty());
    assert!(!everything(&wren).await.to_lowercase().contains(WORD));
    assert!(wren.agent.log().verify().await.unwrap().valid);
    drop(wren);
    assert_eq!(left(folder.path()), 0);
}

#[tokio::test]
async fn spec_4_4_two_memories_and_what_they_were_merged_into_are_each_shredded() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    let agent = &wren.agent;
    for text in [
        "The Zilpzalp key of the back door is 4711, as Marta said in May.",
        "The Zilpzalp key of the back door is 4711, as Marta said in spring.",
    ] {
        wren.remember(text).await;
    }
    for number in 0..6 {
        let filler = format!("A long and quiet memory number {number} of a day at the sea.");
        wren.remember(&filler).await;
    }
    let merged = "The Zilpzalp key of the back door is 4711, as Marta said in May, in spring.";
    let merge = json!({"ids": [1, 2], "content": merged});
    let merge = Turn::call("consolidate_memories", merge);
    let (merged, _) = wren.refine([merge, complete()]).await;
    assert_eq!(merged.edits, 1);
    let words = |text: &str| text.matches("Zilpzalp").count();
    let mut left = words(&everything(&wren).await);
    // The merged memory is 9, and 10 the journal entry. The agent learns that it was merged from what is shredded.
    for (number, merged) in [(1, vec![Number(9)]), (9, Vec::new()), (2, Vec::new())] {
        folder.pass_a_minute();
        let wish = ShredWish::of(Number(number), "a key");
        let shredded = shred_by(agent, wish, &archiving::me()).await;
        assert_eq!(shredded.summaries, merged, "{number}");
        let now = words(&everything(&wren).await);
        assert!(now < left, "{number}: {now} of {left}");
        left = now;
        let verified = agent.log().verify().await.unwrap();
        assert!(verified.valid, "{number}: {verified:?}");
    }
    assert_eq!(left, 0);
    // The undo finds what it can restore, and none of these.
    folder.pass_a_minute();
    let undone = agent.sessions().roll_back(merged.id, true, &person()).await;
    assert!(undone.is_ok(), "{undone:?}");
    assert_eq!(wren.kept().await, [3, 4, 5, 6, 7, 8]);
    assert!(agent.log().verify().await.unwrap().valid);
    wren.check().await;
}

/// The numbers that a rehearsal gives to new memories are not those of the agent's.
#[tokio::test]
async fn spec_4_4_shredding_leaves_rehearsals_of_other_memories_as_they_are() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    let agent = &wren.agent;
    wren.save(&story::memories()).await;
    let rehearsal = rehearsal();
    let merged = "The cat sleeps on the paper that was delivered this morning.";
    let (rehearsed, _) = wren
        .refine_with(
            &rehearsal,
            [
                Turn::call(
                    "consolidate_memories",
                    json!({"ids": [4, 5], "content": "The cat sleeps on the paper delivered in the morning."}),
                ),
                Turn::call("update_memory", json!({"id": 14, "content": merged})),
                complete(),
            ],
        )
        .await;
    assert_eq!(rehearsed.edits, 2);
    assert_eq!(wren.remember("Something that is not to be kept.").await, 14);
    shred_by(agent, ShredWish::of(Number(14), "a slip"), &person()).await;
    let applied = wren.apply(rehearsed.id).await;
    assert_eq!(applied.session.edits, 2);
    let memories = agent.lens().memories(false).await.unwrap();
    let mut texts = memories.iter().map(|memory| memory.content());
    assert!(texts.clone().any(|text| text == merged), "{memories:?}");
    assert!(texts.all(|text| !text.is_empty()));
}

/// An agent on files whose memory is shredded while another process reads the database, with that reader, and what was
/// in the database before.
async fn shredded_while_read() -> (InstallationFolder, TestAgent, Connection, BTreeSet<Vec<u8>>) {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    wren.remember("The Zilpzalp key of the back door is 4711.")
        .await;
    let old = sealed_texts(&folder.database());
    let reader = Connection::open(folder.database()).unwrap();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM memories")
        .unwrap();
    shred_by(&wren.agent, ShredWish::of(Number(1), "a key"), &person()).await;
    (folder, wren, reader, old)
}

/// Another process reads meanwhile, so the text stays in the log of the database until the next start removes it.
#[tokio::test]
async fn spec_4_4_what_a_reader_kept_on_the_disk_goes_with_the_next_start() {
    let (folder, wren, reader, old) = shredded_while_read().await;
    let new = sealed_texts(&folder.database());
    let replaced: Vec<Vec<u8>> = old.difference(&new).cloned().collect();
    assert!(
        replaced.iter().any(|text| is_in_files(folder.path(), text)),
        "held by the reader: the search can fail"
    );
    drop(reader);
    drop(wren);
    drop(SqliteStore::open(&folder.database()).unwrap());
    assert!(
        replaced
            .iter()
            .all(|text| !is_in_files(folder.path(), text))
    );
    let wren = TestAgent::of(&folder.open()).await;
    assert!(wren.agent.log().verify().await.unwrap().valid);
}

/// A process that continues without writes removes them all the same.
#[tokio::test]
async fn spec_4_4_what_a_reader_kept_on_the_disk_goes_once_the_reader_has_gone() {
    let (folder, wren, reader, old) = shredded_while_read().await;
    let found = wren.store.check().await.unwrap();
    assert!(found.iter().any(|one| one.problem.contains("`residues`")));
    assert!(!wren.store.finish().await.unwrap(), "held by the reader");
    drop(reader);
    assert!(wren.store.finish().await.unwrap());
    assert_eq!(wren.store.check().await.unwrap(), []);
    let new = sealed_texts(&folder.database());
    let mut replaced = old.difference(&new);
    assert!(replaced.clone().next().is_some());
    assert!(replaced.all(|text| !is_in_files(folder.path(), text)));
}

/// A row that marks its agent as erased is not believed while the key exists: it destroys nothing, and is reported.
#[tokio::test]
async fn a_row_that_only_says_that_it_was_erased_is_found() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    wren.remember("Marta prefers linen thread.").await;
    let scope = wren.agent.scope();
    drop(wren);
    tamper(&folder.database(), "UPDATE agents SET erased_at = 1");
    let memoir = folder.open().memoir;
    let verified = memoir.verify_all().await.unwrap();
    assert!(!verified[0].valid);
    assert!(folder.keys.key(scope).unwrap().is_some());
    let account = memoir.account("default").await.unwrap();
    let reached = own(&account.agent("wren").await.unwrap());
    assert_eq!(code(reached.lens().memories(true).await), "erased");
}

/// Data sealed under a key that is in no file would be unreadable once this process has ended.
#[tokio::test]
async fn spec_6_2_nothing_is_acknowledged_once_the_key_store_was_taken_away() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    wren.remember("Marta prefers linen thread.").await;
    let account = wren.memoir.account("default").await.unwrap();
    let (path, moved) = (folder.key_file(), folder.path().join("moved"));
    fs::rename(&path, &moved).unwrap();
    let agent = &wren.agent;
    let message = HandedMessage {
        id: "1".into(),
        at: Some(wren.memoir.now()),
        speaker: "Marta".into(),
        text: "Good morning.".into(),
    };
    let password = || Password::from_text("correct horse battery").unwrap();
    let (memories, life) = (agent.memories(), agent.life());
    let handed = life.hand_over(vec![message], true, ActorKind::Agent);
    let answers = [
        code(memories.save(&[input("Something.")], &person()).await),
        code(agent.log().erase(&person()).await),
        code(handed.await),
        code(account.create_agent("robin", &[], &person()).await),
        code(account.create_user("Ada", password(), &OWNER).await),
        code(account.create_token(None, &OWNER).await),
    ];
    assert_eq!(answers, ["key_unavailable"; 6]);
    // Reading goes on.
    assert_eq!(agent.lens().memories(true).await.unwrap().len(), 1);
    fs::rename(&moved, &path).unwrap();
    assert_eq!(agent.views().show().await.unwrap().name, "wren");
    assert_eq!(account.users().await.unwrap().len(), 0);
    assert_eq!(account.tokens().await.unwrap().len(), 0);
    wren.remember("And cotton.").await;
    assert!(agent.log().verify().await.unwrap().valid);
}

/// A summary #15 over #1 and #2 that was written anew as #16, in a completed session whose report is #17; and that
/// session.
async fn summarised() -> (TestAgent, SessionId) {
    let wren = archiving::archivist().await;
    let session = archiving::open(&wren).await;
    for (tool, arguments) in [
        (
            "consolidate_memories",
            json!({"ids": [1, 2], "content": "we spoke about the bread and the river, by the wall."}),
        ),
        (
            "update_memory",
            json!({"id": 15, "content": "we spoke about the bread and the river."}),
        ),
        ("delete_memory", json!({"ids": [14]})),
        (
            "complete_refinement",
            json!({"summary": "Bread and river are one."}),
        ),
    ] {
        archiving::edit(&wren, session, tool, arguments).await;
    }
    wren.clock.advance(std::time::Duration::from_secs(60));
    (wren, session)
}

async fn text_of(wren: &TestAgent, number: u64) -> String {
    let memory = wren.seen().memory(Number(number)).await.unwrap();
    memory.content().to_owned()
}

async fn counted(wren: &TestAgent) -> (u64, u64, u64) {
    let verified = wren.agent.log().verify().await.unwrap();
    assert_eq!(verified.mismatches, []);
    let counted = verified.originals.unwrap();
    (counted.in_prompt, counted.archived, counted.lost)
}

#[tokio::test]
async fn spec_4_4_summaries_over_a_shredded_text_are_named() {
    let (wren, session) = summarised().await;
    let me = archiving::me();
    let shredded = shred_by(&wren.agent, ShredWish::of(Number(1), "a slip"), &me).await;
    // The discarded one too.
    assert_eq!(shredded.summaries, [Number(15), Number(16)]);
    assert_eq!(shredded.derived, []);
    assert_eq!(text_of(&wren, 1).await, "");
    assert!(text_of(&wren, 15).await.contains("by the wall"));
    let summary = wren.facts(16).await;
    assert_eq!(
        (summary.discarded_at, summary.sources),
        (None, vec![Number(2)])
    );
    let report = text_of(&wren, 17).await;
    assert!(report.contains("Bread and river are one."), "{report}");
    assert_eq!(counted(&wren).await, (11, 2, 0));
    // A memory that no summary was ever written over.
    let shredded = shred_by(&wren.agent, ShredWish::of(Number(14), "a slip"), &me).await;
    assert_eq!(shredded.summaries, []);
    // With its last source the summary is discarded (SPEC 2.4); it is not shredded.
    let shredded = shred_by(&wren.agent, ShredWish::of(Number(2), "a slip"), &me).await;
    assert_eq!(shredded.summaries, [Number(15), Number(16)]);
    let summary = wren.facts(16).await;
    assert!(summary.discarded_at.is_some() && summary.shredded_at.is_none());
    assert_eq!(counted(&wren).await, (11, 0, 0));
    // A shredded text does not return by an undo, and a summary without sources does not either.
    let undone = wren.agent.sessions().roll_back(session, false, &me).await;
    undone.unwrap();
    assert_eq!(text_of(&wren, 1).await, "");
    let summary = wren.facts(16).await;
    assert!(summary.discarded_at.is_some());
    assert_eq!(counted(&wren).await, (11, 0, 0));
    wren.check().await;
}

/// Whether an administrator requests it, and the agent consents; otherwise the agent requests it itself.
#[tokio::test]
async fn spec_4_4_what_is_derived_is_shredded_with_it_where_that_is_requested() {
    for is_asked in [false, true] {
        let (wren, session) = summarised().await;
        let me = archiving::me();
        if is_asked {
            let draft = shredding(1, true);
            let request = request_by(&wren.agent, &draft, &person()).await;
            let grants = wren.agent.grants();
            let consent = grants.answer_access(request.id, true, None, &me).await;
            consent.unwrap();
        } else {
            let wish = ShredWish {
                derived: true,
                ..ShredWish::of(Number(1), "a key was pasted")
            };
            let shredded = wren.agent.memories().shred(wish, &me).await.unwrap();
            assert_eq!(shredded.derived, [Number(15), Number(16), Number(17)]);
            assert_eq!(shredded.summaries, []);
            assert!(shredded.memory.shredded_at.is_some());
        }
        for number in [1, 15, 16, 17] {
            let memory = wren.facts(number).await;
            assert!(memory.shredded_at.is_some(), "#{number}, {is_asked}");
            assert_eq!(text_of(&wren, number).await, "");
        }
        // The report is removed from the session too, and from its record.
        let shown = wren.seen().session(session).await.unwrap();
        assert!(shown.words.summary.is_none());
        let records = wren.seen().records(&RecordFilter::default()).await.unwrap();
        let records = serde_json::to_string(&records).unwrap();
        for gone in [
            "bread and the river",
            "Bread and river",
            "about the bread and walked",
        ] {
            assert!(!records.contains(gone), "{gone}");
        }
        assert!(records.contains("about the river and walked"));
        // The other sources stay.
        let other = wren.facts(2).await;
        assert_eq!((other.kind.as_str(), other.under), ("archival", None));
        assert!(text_of(&wren, 2).await.contains("about the river"));
        assert_eq!(counted(&wren).await, (11, 2, 0));
        wren.check().await;
    }
}

/// An interruption leaves all of it or nothing, and the request's mark and the consent are written with all of it: a
/// repetition finds a shredding that is done, or does it.
#[tokio::test]
async fn spec_4_4_what_is_derived_is_shredded_in_the_commit_of_the_memory() {
    for is_asked in [false, true] {
        let (wren, _) = summarised().await;
        let (agent, me) = (&wren.agent, archiving::me());
        let request = match is_asked {
            true => Some(request_by(agent, &shredding(1, true), &person()).await),
            false => None,
        };
        let version = async || {
            let query = AgentQuery::default();
            let snapshot = wren.store.snapshot(agent.scope(), &query).await;
            snapshot.unwrap().unwrap().agent.document.version
        };
        let before = version().await;
        match &request {
            Some(request) => {
                let answered = agent.grants().answer_access(request.id, true, None, &me);
                let summaries = answered.await.unwrap().words.summaries;
                assert_eq!(summaries, Some(Vec::new()));
            }
            None => {
                let wish = ShredWish {
                    derived: true,
                    ..ShredWish::of(Number(1), "a key was pasted")
                };
                let shredded = shred_by(agent, wish, &me).await;
                assert_eq!(shredded.derived, [Number(15), Number(16), Number(17)]);
            }
        }
        assert_eq!(version().await, before + 1);
        for number in [1, 15, 16, 17] {
            let memory = wren.facts(number).await;
            assert!(memory.shredded_at.is_some(), "#{number}, {is_asked}");
        }
        assert_eq!(counted(&wren).await, (11, 2, 0));
    }
}

/// No journal entry quotes it, so that it cannot be shredded by a number of its own.
#[tokio::test]
async fn spec_4_4_the_report_of_a_rehearsal_goes_with_a_memory_that_it_edited() {
    let secret = "The Zilpzalp password of the house in Lisbon is 4711 and was set on 3 May 2024.";
    let wren = TestAgent::new(&[secret]).await;
    for number in 0..8 {
        let text = format!(
            "A long and quiet memory number {number} of a day at the sea, with nothing in it."
        );
        wren.remember(&text).await;
    }
    let complete = |report: &str| Turn::call("complete_refinement", json!({"summary": report}));
    let merged = "The Zilpzalp password of the house is 4711; and a long and quiet memory of a day at the sea.";
    let rehearse = [
        Turn::call(
            "consolidate_memories",
            json!({"ids": [1, 2], "content": merged}),
        ),
        complete("Joined the password 4711 and a day."),
    ];
    let (rehearsed, _) = wren.refine_with(&rehearsal(), rehearse).await;
    assert_eq!((rehearsed.state, rehearsed.edits), (State::Completed, 1));
    let (other, _) = wren
        .refine_with(&rehearsal(), [complete("All is in order.")])
        .await;
    assert!(everything(&wren).await.contains("4711 and a day"));
    let wish = ShredWish::of(Number(1), "it was pasted");
    let shredded = shred_by(&wren.agent, wish, &person()).await;
    // The record that saved it, and the end of the rehearsal.
    assert_eq!(shredded.redacted_records, 2);
    let stored = everything(&wren).await;
    assert!(!stored.contains("Zilpzalp"), "{stored}");
    assert!(!stored.contains("password 4711"), "{stored}");
    let report = async |session: SessionId| {
        let shown = wren.seen().session(session).await.unwrap();
        shown.words.summary.is_some()
    };
    assert!(!report(rehearsed.id).await && report(other.id).await);
    assert!(wren.agent.log().verify().await.unwrap().valid);
    wren.check().await;
}

#[tokio::test]
async fn spec_4_4_copies_that_a_cleanup_joined_with_a_memory_are_shredded_with_it() {
    let secret = "The password of the house in Lisbon is 4711.";
    for derived in [false, true] {
        let wren = TestAgent::new(&[secret, secret, "Marta prefers linen thread."]).await;
        let before = wren.memoir.now();
        wren.clock.advance(std::time::Duration::from_secs(60));
        wren.refine([complete()]).await;
        assert_eq!(wren.kept().await, [1, 3]);
        wren.clock.advance(std::time::Duration::from_secs(60));
        let wish = ShredWish {
            derived,
            ..ShredWish::of(Number(1), "a password")
        };
        let shredded = shred_by(&wren.agent, wish, &person()).await;
        let (with_it, named) = match derived {
            true => (vec![Number(2)], vec![]),
            false => (vec![], vec![Number(2)]),
        };
        assert_eq!((shredded.derived, shredded.summaries), (with_it, named));
        wren.clock.advance(std::time::Duration::from_secs(60));
        wren.agent.log().rewind(before, &person()).await.unwrap();
        let is_back = text_of(&wren, 2).await == secret;
        assert_eq!(is_back, !derived);
        assert!(wren.agent.log().verify().await.unwrap().valid);
    }
}

//! Access of administrators: requests, the agent's decisions, reading meanwhile, and the end (SPEC 5.2, 5.5, 4.4).

use std::time::Duration;

use memoir_app::{
    AccessRequestFacts, AgentLens, AskOutcome, Error, Handling, MemoryPage, Provision,
    RecordFilter, ShownAccessRequest, ShredWish, Viewer,
};
use memoir_domain::{
    AccessRequestId, SessionId, Timestamp,
    access::{AccessDraft, AccessKind, AccessRefusal, AccessScope, AccessState},
    agent::Field,
    audit::{Action, Actor},
    memory::Number,
    recall::RecallQuery,
    session::{FailureClass, Mode},
};
use memoir_model::ModelError;
use memoir_testkit::{Turn, input, journal, tamper};
use memoir_vault::archive::Passphrase;

use crate::installation::{
    OWNER, TestAgent, agent_of, complete, configure_by, delete, draft, lens, new_folder, person,
    reading, request_by, revoke_by, shred_by, shredding,
};

const MINUTE: Duration = Duration::from_secs(60);

const MEMORIES: [&str; 4] = [
    "Marta prefers linen thread for the spine of every book.",
    "The workshop opens at nine, and Joaquín is always there first.",
    "I promised Marta to keep the ledger of orders in order.",
    "The old press came from Lisbon and needs oil every month.",
];

fn me() -> Actor {
    Actor::agent("wren")
}

fn other_administrator() -> Actor {
    Actor::administrator("somebody else")
}

async fn asked(wren: &TestAgent, draft: &AccessDraft) -> AccessRequestFacts {
    request_by(&wren.agent, draft, &person()).await
}

async fn granted(wren: &TestAgent, draft: &AccessDraft) -> ShownAccessRequest {
    let request = asked(wren, draft).await;
    answer(wren, request.id, true).await.unwrap()
}

async fn answer(
    wren: &TestAgent,
    id: AccessRequestId,
    yes: bool,
) -> Result<ShownAccessRequest, Error> {
    wren.agent
        .grants()
        .answer_access(id, yes, None, &me())
        .await
}

async fn now(wren: &TestAgent, id: AccessRequestId) -> ShownAccessRequest {
    let lens = wren.seen();
    lens.access_request(id).await.unwrap()
}

fn lens_of(wren: &TestAgent) -> AgentLens<'_> {
    wren.agent.views().seen_by(Viewer::administrator(person()))
}

/// Whether the text of that memory is shown to the administrator of these tests.
async fn sees(wren: &TestAgent, number: u64) -> bool {
    let memory = lens_of(wren).memory(Number(number)).await.unwrap();
    assert_eq!(memory.words.is_some(), !memory.content().is_empty());
    memory.words.is_some()
}

async fn used(wren: &TestAgent) -> usize {
    let actions = wren.actions().await;
    actions
        .iter()
        .filter(|action| *action == "access_used")
        .count()
}

async fn is_valid(wren: &TestAgent) {
    let verified = wren.agent.log().verify().await.unwrap();
    assert!(verified.valid, "{:?}", verified.mismatches);
    wren.check().await;
}

/// An expired request is shown as ended beside a process that has the database locked, and its end is recorded later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_1_an_expired_request_is_listed_without_waiting_for_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let store = std::sync::Arc::new(memoir_store_sqlite::SqliteStore::open(&path).unwrap());
    let wren = TestAgent::on(store, &MEMORIES, crate::installation::settings()).await;
    let asks = [AccessScope::Core, AccessScope::All].map(|scope| reading(scope, 30));
    let waiting = asked(&wren, &asks[0]).await;
    wren.clock.advance(7 * 24 * 60 * MINUTE - MINUTE);
    let granted = granted(&wren, &asks[1]).await;
    wren.clock.advance(31 * MINUTE);
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let states = async || {
        let listed = wren.seen().access_requests(None, 9).await.unwrap();
        listed.iter().map(|one| one.state).collect::<Vec<_>>()
    };
    assert_eq!(states().await, [AccessState::Expired; 2]);
    for id in [waiting.id, granted.id] {
        assert_eq!(now(&wren, id).await.state, AccessState::Expired);
    }
    assert_eq!(wren.agent.grants().open_access().await.unwrap().len(), 0);
    let ends = async || {
        let actions = wren.actions().await;
        let ends = actions.iter().filter(|action| *action == "access_expired");
        ends.count()
    };
    assert_eq!(ends().await, 0);
    raw.execute_batch("ROLLBACK").unwrap();
    assert_eq!(states().await, [AccessState::Expired; 2]);
    assert_eq!(ends().await, 2);
    is_valid(&wren).await;
}

fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    result.unwrap_err().code()
}

#[tokio::test]
async fn spec_5_2_a_consented_access_is_read_expires_and_is_read_no_more() {
    let wren = TestAgent::new(&MEMORIES).await;
    assert!(!sees(&wren, 1).await);
    let request = asked(&wren, &reading(AccessScope::Core, 30)).await;
    assert_eq!(request.state, AccessState::Asked);
    assert!(!sees(&wren, 1).await, "no answer is no");
    let request = answer(&wren, request.id, true).await.unwrap();
    assert_eq!(request.state, AccessState::Granted);
    assert!(sees(&wren, 1).await);
    let page = MemoryPage {
        limit: 10,
        ..MemoryPage::default()
    };
    let page = lens_of(&wren).memory_page(&page, |_| true).await;
    let (page, _) = page.unwrap();
    assert_eq!(page.len(), 4);
    let read = now(&wren, request.id).await;
    assert_eq!((read.reads, read.memories_read), (2, 5));
    assert!(read.tokens_read > 60, "{}", read.tokens_read);
    assert_eq!(used(&wren).await, 2);

    wren.clock.advance(30 * MINUTE - Duration::from_micros(1));
    assert!(sees(&wren, 2).await);
    assert_eq!(wren.journal().await.len(), 0);
    wren.clock.advance(Duration::from_micros(1));
    assert!(!sees(&wren, 2).await);
    let ended = now(&wren, request.id).await;
    assert_eq!(ended.state, AccessState::Expired);
    assert_eq!(ended.reads, 3);
    // One entry states who read how much and why.
    let journal = wren.journal().await;
    let [entry] = journal.as_slice() else {
        panic!("{} entries", journal.len());
    };
    for part in [
        "\"test\"",
        "6 memories",
        "3 reads",
        "to see why the sessions end early",
    ] {
        assert!(entry.contains(part), "{part}: {entry}");
    }
    assert_eq!(wren.memoir.expire_access().await.unwrap(), 0);
    assert_eq!(wren.journal().await.len(), 1);
    is_valid(&wren).await;
}

#[tokio::test]
async fn spec_5_2_a_look_under_one_grant_shows_no_more_than_that_one() {
    let wren = TestAgent::new(&MEMORIES).await;
    let entry = [journal("A day of waiting.")];
    wren.agent.memories().save(&entry, &me()).await.unwrap();
    let core = granted(&wren, &reading(AccessScope::Core, 30)).await;
    let all = granted(&wren, &reading(AccessScope::All, 30)).await;
    let under = |id| {
        let viewer = Viewer::administrator(person()).under(id);
        wren.agent.views().seen_by(viewer)
    };
    let shows = async |id, number| {
        let seen = under(id).memory(Number(number)).await.unwrap();
        seen.words.is_some()
    };
    assert!(shows(core.id, 1).await && !shows(core.id, 5).await);
    assert!(shows(all.id, 1).await && shows(all.id, 5).await);
    assert_eq!(now(&wren, core.id).await.reads, 1);
    assert_eq!(now(&wren, all.id).await.reads, 2);
    revoke_by(&wren.agent, core.id, &me()).await;
    assert!(!shows(core.id, 1).await && shows(all.id, 1).await);
}

#[tokio::test]
async fn spec_5_2_what_is_left_of_an_access_is_told_by_the_clock_that_leaves_less() {
    let wren = TestAgent::new(&MEMORIES).await;
    let waiting = asked(&wren, &reading(AccessScope::Core, 30)).await;
    let left = |request: &AccessRequestFacts| wren.agent.grants().access_time_left(request);
    assert_eq!(left(&waiting), Duration::ZERO);
    let request = answer(&wren, waiting.id, true).await.unwrap();
    assert_eq!(left(&request), 30 * MINUTE);
    wren.clock.advance(10 * MINUTE);
    assert_eq!(left(&request), 20 * MINUTE);
    // The wall clock stands still.
    wren.clock.pass(5 * MINUTE);
    assert_eq!(left(&request), 15 * MINUTE);
    wren.clock.put_forward(10 * MINUTE);
    assert_eq!(left(&request), 10 * MINUTE);
    let ended = revoke_by(&wren.agent, request.id, &person()).await;
    assert_eq!(left(&ended), Duration::ZERO);
    let by = wren.agent.grants().access_revoked_by(&ended).await;
    let by = by.unwrap();
    assert_eq!(by, Some(person()));
    let request = granted(&wren, &reading(AccessScope::Core, 1)).await;
    let found = wren.agent.grants().access_revoked_by(&request).await;
    assert_eq!(found.unwrap(), None);
}

#[tokio::test]
async fn spec_5_2_access_ends_by_itself_and_so_does_a_request_without_an_answer() {
    let wren = TestAgent::new(&MEMORIES).await;
    let unanswered = asked(&wren, &reading(AccessScope::All, 60)).await;
    let request = granted(&wren, &reading(AccessScope::Core, 1)).await;
    assert_eq!(wren.memoir.expire_access().await.unwrap(), 0);
    wren.clock.advance(MINUTE);
    assert_eq!(wren.memoir.expire_access().await.unwrap(), 1);
    assert_eq!(now(&wren, request.id).await.state, AccessState::Expired);
    assert!(wren.journal().await[0].contains("They read nothing"));
    wren.clock.advance(7 * 24 * 60 * MINUTE - MINUTE);
    assert_eq!(wren.memoir.expire_access().await.unwrap(), 1);
    assert_eq!(now(&wren, unanswered.id).await.state, AccessState::Expired);
    // No access was granted, and there is nothing to report.
    assert_eq!(wren.journal().await.len(), 1);
    let answer = answer(&wren, unanswered.id, true).await;
    assert!(matches!(
        answer,
        Err(Error::Access(AccessRefusal::NotWaiting(
            AccessState::Expired
        )))
    ));
    assert!(!sees(&wren, 1).await);
    is_valid(&wren).await;
}

#[tokio::test]
async fn spec_5_2_an_answer_that_comes_too_late_ends_the_request_instead() {
    let wren = TestAgent::new(&MEMORIES).await;
    let request = asked(&wren, &reading(AccessScope::All, 60)).await;
    wren.clock.advance(7 * 24 * 60 * MINUTE);
    assert_eq!(
        refusal(answer(&wren, request.id, true).await),
        "access_over"
    );
    assert_eq!(now(&wren, request.id).await.state, AccessState::Expired);
}

#[tokio::test]
async fn spec_5_2_only_the_agent_answers_and_only_an_administrator_asks() {
    let wren = TestAgent::new(&MEMORIES).await;
    let request = asked(&wren, &reading(AccessScope::Core, 30)).await;
    for other in [person(), other_administrator(), Actor::system()] {
        let agent = &wren.agent;
        let answer = agent
            .grants()
            .answer_access(request.id, true, None, &other)
            .await;
        assert_eq!(refusal(answer), "forbidden");
    }
    assert_eq!(now(&wren, request.id).await.state, AccessState::Asked);
    let draft = reading(AccessScope::Core, 30);
    let asking = wren.agent.grants().request_access(&draft, &me()).await;
    assert_eq!(refusal(asking), "forbidden");
}

#[tokio::test]
async fn spec_5_2_the_same_answer_twice_is_one_and_another_one_is_refused() {
    let wren = TestAgent::new(&MEMORIES).await;
    let yes = asked(&wren, &reading(AccessScope::Core, 30)).await;
    let no = asked(&wren, &reading(AccessScope::All, 30)).await;
    for _ in 0..2 {
        assert_eq!(
            answer(&wren, yes.id, true).await.unwrap().state,
            AccessState::Granted
        );
        assert_eq!(
            answer(&wren, no.id, false).await.unwrap().state,
            AccessState::Refused
        );
    }
    assert_eq!(refusal(answer(&wren, yes.id, false).await), "access_over");
    assert_eq!(refusal(answer(&wren, no.id, true).await), "access_over");
    assert_eq!(now(&wren, no.id).await.state, AccessState::Refused);
    let answers =
        |actions: &[String], name: &str| actions.iter().filter(|one| *one == name).count();
    let actions = wren.actions().await;
    assert_eq!(answers(&actions, "access_granted"), 1);
    assert_eq!(answers(&actions, "access_refused"), 1);
    is_valid(&wren).await;
}

#[tokio::test]
async fn spec_5_2_of_answers_at_once_one_counts() {
    let wren = TestAgent::new(&MEMORIES).await;
    let request = asked(&wren, &reading(AccessScope::Core, 30)).await;
    let (yes, no) = tokio::join!(
        answer(&wren, request.id, true),
        answer(&wren, request.id, false)
    );
    assert_eq!(
        [&yes, &no].iter().filter(|answer| answer.is_ok()).count(),
        1
    );
    let draft = reading(AccessScope::Core, 5);
    let (first, second) = tokio::join!(asked(&wren, &draft), asked(&wren, &draft));
    assert_ne!(first.id, second.id);
    is_valid(&wren).await;
}

#[tokio::test]
async fn spec_5_2_access_is_revoked_by_the_agent_or_any_administrator_at_once_in_every_process() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    wren.remember(MEMORIES[0]).await;
    let elsewhere = TestAgent::of(&folder.open()).await;
    for (revoker, told) in [
        (me(), "I revoked it"),
        (person(), "\"test\" revoked it"),
        (other_administrator(), "\"somebody else\" revoked it"),
    ] {
        let request = granted(&wren, &reading(AccessScope::Core, 60)).await;
        assert!(sees(&wren, 1).await && sees(&elsewhere, 1).await);
        let revoked = revoke_by(&elsewhere.agent, request.id, &revoker).await;
        assert_eq!(revoked.state, AccessState::Revoked);
        assert!(!sees(&wren, 1).await && !sees(&elsewhere, 1).await);
        // An ended request stays as it is.
        let again = revoke_by(&wren.agent, request.id, &me()).await;
        assert_eq!(again.ended_at, revoked.ended_at);
        let entry = wren.journal().await.pop().unwrap();
        assert!(entry.contains(told), "{entry}");
        assert!(entry.contains("2 reads"), "{entry}");
    }
    assert_eq!(wren.journal().await.len(), 3);
    // A waiting request can be revoked, too, and is then decided no more.
    let request = asked(&wren, &reading(AccessScope::All, 60)).await;
    revoke_by(&wren.agent, request.id, &person()).await;
    assert_eq!(
        refusal(answer(&wren, request.id, true).await),
        "access_over"
    );
    assert_eq!(wren.journal().await.len(), 3);
    is_valid(&wren).await;
}

#[tokio::test]
async fn spec_5_2_only_who_asked_looks() {
    let wren = TestAgent::new(&MEMORIES).await;
    granted(&wren, &reading(AccessScope::All, 60)).await;
    let other = wren
        .agent
        .views()
        .seen_by(Viewer::administrator(other_administrator()));
    let seen = other.memory(Number(1)).await.unwrap();
    assert!(seen.words.is_none());
    assert_eq!(used(&wren).await, 0);
    let seen = lens_of(&wren).memory(Number(1)).await.unwrap();
    assert!(seen.words.is_some());
    assert_eq!(used(&wren).await, 1);
}

/// Core memories, a journal entry, a discarded memory, and a session that changed some.
async fn varied() -> (TestAgent, SessionId) {
    let wren = TestAgent::new(&MEMORIES).await;
    let entry = [journal("The rain came early today.")];
    wren.save(&entry).await;
    let prompt = [(Field::ReflectionPrompt, Some("Keep what was promised."))];
    configure_by(&wren.agent, &prompt, &me()).await;
    let lax = [(Field::RefinementThreshold, Some("0.5"))];
    wren.configure(&lax).await;
    wren.clock.advance(MINUTE);
    let (driven, _) = wren.refine([delete(4), complete()]).await;
    wren.clock.advance(MINUTE);
    (wren, driven.id)
}

async fn words_of_records(wren: &TestAgent) -> usize {
    let lens = lens_of(wren);
    let query = RecordFilter::default();
    let (records, _) = lens.record_page(&query, 1, 200).await.unwrap();
    let has_words = |record: &&memoir_app::ShownRecord| {
        record.words.before.is_some() || record.words.after.is_some()
    };
    records.iter().filter(has_words).count()
}

async fn has_prompt(wren: &TestAgent) -> bool {
    let agent = lens_of(wren).show().await.unwrap();
    agent
        .setting(Field::ReflectionPrompt)
        .is_some_and(|prompt| !prompt.is_null())
}

async fn summary(wren: &TestAgent, session: SessionId) -> bool {
    let one = lens_of(wren).session(session).await.unwrap();
    let page = lens_of(wren).session_page(None, 10).await.unwrap();
    let listed = page.iter().find(|view| view.id == session).unwrap();
    assert_eq!(one.words.summary.is_some(), listed.words.summary.is_some());
    one.words.summary.is_some()
}

#[tokio::test]
async fn spec_5_2_without_a_grant_nothing_is_shown_and_nothing_recorded() {
    let (wren, session) = varied().await;
    for number in 1..=5 {
        assert!(!sees(&wren, number).await);
    }
    let page = MemoryPage {
        limit: 10,
        with_discarded: true,
        ..MemoryPage::default()
    };
    let page = lens_of(&wren).memory_page(&page, |_| true).await;
    let (page, _) = page.unwrap();
    assert!(page.iter().all(|memory| memory.words.is_none()));
    assert_eq!(words_of_records(&wren).await, 0);
    assert!(!summary(&wren, session).await);
    assert!(!has_prompt(&wren).await);
    let query = RecallQuery::default();
    let search = lens_of(&wren).recall_page(&query, None, false).await;
    assert_eq!(refusal(search), "consent_required");
    assert_eq!(used(&wren).await, 0);
}

#[tokio::test]
async fn spec_5_2_the_scope_core_shows_kept_core_memories_only() {
    let (wren, session) = varied().await;
    granted(&wren, &reading(AccessScope::Core, 60)).await;
    for (number, shown) in [(1, true), (3, true), (4, false), (5, false)] {
        assert_eq!(sees(&wren, number).await, shown, "{number}");
    }
    let query = RecallQuery {
        limit: 50,
        ..RecallQuery::default()
    };
    let found = lens_of(&wren)
        .recall_page(&query, None, true)
        .await
        .unwrap()
        .found;
    assert!(!found.is_empty() && found.iter().all(|(_, memory)| memory.number.0 <= 3));
    assert_eq!(words_of_records(&wren).await, 0);
    assert!(!summary(&wren, session).await);
    assert!(!has_prompt(&wren).await);
    is_valid(&wren).await;
}

#[tokio::test]
async fn spec_5_2_the_scope_of_a_session_shows_its_changes_only() {
    let (wren, session) = varied().await;
    wren.clock.advance(MINUTE);
    wren.handle(Number(4), Handling::Restore).await;
    let (another, _) = wren.refine([delete(3), complete()]).await;
    granted(&wren, &reading(AccessScope::Session(session), 60)).await;
    for number in 1..=5 {
        assert!(!sees(&wren, number).await, "{number}");
    }
    let query = RecordFilter {
        session: Some(session),
        ..RecordFilter::default()
    };
    let lens = lens_of(&wren);
    let (page, _) = lens.record_page(&query, 1, 200).await.unwrap();
    assert!(page.iter().any(|record| record.words.before.is_some()));
    let everything = RecordFilter::default();
    let (all, _) = lens.record_page(&everything, 1, 200).await.unwrap();
    for record in &all {
        let is_shown = record.words.before.is_some() || record.words.after.is_some();
        assert!(
            !is_shown || record.session_id == Some(session),
            "{}",
            record.seq
        );
    }
    assert!(summary(&wren, session).await);
    assert!(!summary(&wren, another.id).await);
    assert!(!has_prompt(&wren).await);
    let search = lens_of(&wren)
        .recall_page(&RecallQuery::default(), None, false)
        .await;
    assert_eq!(refusal(search), "consent_required");
    is_valid(&wren).await;
}

#[tokio::test]
async fn spec_5_2_the_scope_all_shows_everything() {
    let (wren, session) = varied().await;
    granted(&wren, &reading(AccessScope::All, 60)).await;
    for number in 1..=5 {
        assert!(sees(&wren, number).await, "{number}");
    }
    assert!(words_of_records(&wren).await > 5);
    assert!(summary(&wren, session).await);
    assert!(has_prompt(&wren).await);
    // Each of them is on the record: five memories, the log, a session and the list, the prompts.
    assert_eq!(used(&wren).await, 5 + 1 + 2 + 1);
    is_valid(&wren).await;
}

#[tokio::test]
async fn spec_5_2_what_cannot_be_recorded_is_not_shown() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    wren.remember(MEMORIES[0]).await;
    granted(&wren, &reading(AccessScope::All, 60)).await;
    assert!(sees(&wren, 1).await);
    // From now on no such record can be written.
    let connection = rusqlite::Connection::open(folder.database()).unwrap();
    connection
        .execute_batch(
            "CREATE TRIGGER no_record BEFORE INSERT ON audit_records \
             WHEN new.action = 'access_used' BEGIN SELECT RAISE(ABORT, 'no'); END;",
        )
        .unwrap();
    let lens = lens_of(&wren);
    lens.memory(Number(1)).await.unwrap_err();
    let page = MemoryPage {
        limit: 5,
        ..MemoryPage::default()
    };
    lens.memory_page(&page, |_| true).await.unwrap_err();
    let query = RecallQuery::default();
    lens.recall_page(&query, None, false).await.unwrap_err();
    let query = RecordFilter::default();
    lens.record_page(&query, 1, 10).await.unwrap_err();
}

async fn clock_trick(
    minutes_before: u64,
    trick: impl Fn(&TestAgent),
) -> (TestAgent, ShownAccessRequest) {
    let wren = TestAgent::new(&MEMORIES).await;
    let request = granted(&wren, &reading(AccessScope::Core, 60)).await;
    wren.clock.advance(minutes_before as u32 * MINUTE);
    assert!(sees(&wren, 1).await);
    trick(&wren);
    (wren, request)
}

#[tokio::test]
async fn spec_5_2_moving_the_clock_back_ends_access() {
    for back in [3, 20, 29, 45] {
        let (wren, request) = clock_trick(30, |wren| wren.clock.put_back(back * MINUTE)).await;
        assert!(!sees(&wren, 1).await, "{back}");
        assert_eq!(now(&wren, request.id).await.state, AccessState::Expired);
        // Moving it forward again does not restore it either.
        wren.clock.put_forward(back * MINUTE);
        assert!(!sees(&wren, 1).await);
        assert_eq!(wren.journal().await.len(), 1);
        is_valid(&wren).await;
    }
}

#[tokio::test]
async fn spec_5_2_a_clock_that_went_back_before_others_wrote_ends_access() {
    let (wren, _) = clock_trick(30, |wren| wren.clock.put_back(20 * MINUTE)).await;
    // The last record of the log is from after the clock was set back.
    wren.remember("A thing that was saved meanwhile.").await;
    assert!(!sees(&wren, 1).await);
}

#[tokio::test]
async fn spec_5_2_moving_the_clock_back_across_a_restart_ends_access() {
    for back in [5, 31] {
        let folder = new_folder();
        let wren = TestAgent::of(&folder.open()).await;
        wren.remember(MEMORIES[0]).await;
        let request = granted(&wren, &reading(AccessScope::Core, 60)).await;
        wren.clock.advance(30 * MINUTE);
        assert!(sees(&wren, 1).await);
        wren.clock.put_back(back * MINUTE);
        wren.remember(MEMORIES[1]).await;
        drop(wren);
        let wren = TestAgent::of(&folder.open()).await;
        assert!(!sees(&wren, 1).await, "{back}");
        assert_eq!(now(&wren, request.id).await.state, AccessState::Expired);
        is_valid(&wren).await;
    }
}

#[tokio::test]
async fn spec_5_2_a_clock_that_stands_still_does_not_extend_access() {
    let (wren, request) = clock_trick(20, |wren| wren.clock.pass(39 * MINUTE)).await;
    assert!(sees(&wren, 1).await);
    wren.clock.pass(MINUTE);
    assert!(!sees(&wren, 1).await);
    assert_eq!(now(&wren, request.id).await.state, AccessState::Expired);
    assert_eq!(wren.memoir.expire_access().await.unwrap(), 0);

    // Nor without any read.
    let (wren, request) = clock_trick(20, |wren| wren.clock.pass(40 * MINUTE)).await;
    assert_eq!(wren.memoir.expire_access().await.unwrap(), 1);
    assert_eq!(now(&wren, request.id).await.state, AccessState::Expired);
}

#[tokio::test]
async fn spec_5_2_after_a_restart_the_time_left_counts_by_both_clocks() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    wren.remember(MEMORIES[0]).await;
    granted(&wren, &reading(AccessScope::Core, 60)).await;
    wren.clock.advance(50 * MINUTE);
    drop(wren);
    let wren = TestAgent::of(&folder.open()).await;
    assert!(sees(&wren, 1).await);
    wren.clock.pass(9 * MINUTE);
    assert!(sees(&wren, 1).await);
    wren.clock.pass(MINUTE);
    assert!(!sees(&wren, 1).await);
}

#[tokio::test]
async fn spec_5_2_moving_the_clock_forward_ends_access() {
    let (wren, request) = clock_trick(1, |wren| wren.clock.put_forward(60 * MINUTE)).await;
    assert!(!sees(&wren, 1).await);
    wren.clock.put_back(60 * MINUTE);
    assert!(!sees(&wren, 1).await);
    assert_eq!(now(&wren, request.id).await.state, AccessState::Expired);
}

#[tokio::test]
async fn spec_5_2_clocks_that_differ_by_a_breath_end_nothing() {
    let breath = Duration::from_millis(500);
    let (wren, _) = clock_trick(59, |wren| wren.clock.put_back(breath)).await;
    assert!(sees(&wren, 1).await);
    wren.clock.advance(MINUTE);
    assert!(!sees(&wren, 1).await, "by the monotonic clock it is over");
}

#[tokio::test]
async fn spec_5_2_limits_are_named() {
    let wren = TestAgent::new(&MEMORIES).await;
    let code = async |draft: AccessDraft| {
        let answer = wren.agent.grants().request_access(&draft, &person()).await;
        refusal(answer)
    };
    assert_eq!(
        code(reading(AccessScope::Core, 0)).await,
        "invalid_argument"
    );
    assert_eq!(
        code(reading(AccessScope::Core, 61)).await,
        "invalid_argument"
    );
    let mut without = reading(AccessScope::Core, 60);
    without.purpose = "  ".into();
    assert_eq!(code(without.clone()).await, "invalid_argument");
    without.purpose = "a".repeat(2_001).into();
    assert_eq!(code(without).await, "too_long");
    let session = SessionId::from_bytes([7; 16]);
    assert_eq!(
        code(reading(AccessScope::Session(session), 5)).await,
        "not_found"
    );
    assert_eq!(code(shredding(99, false)).await, "not_found");
    shred_by(&wren.agent, ShredWish::of(Number(4), "gone"), &me()).await;
    assert_eq!(code(shredding(4, false)).await, "shredded");
    let past = draft(AccessKind::Token {
        expires_at: Some(Timestamp::MIN),
    });
    assert_eq!(code(past).await, "invalid_argument");
    for _ in 0..20 {
        asked(&wren, &reading(AccessScope::Core, 60)).await;
    }
    assert_eq!(
        code(reading(AccessScope::Core, 60)).await,
        "too_many_waiting"
    );
    let lens = wren.seen();
    let waiting = lens.access_requests(None, 50).await.unwrap();
    assert_eq!(waiting.len(), 20);
}

#[tokio::test]
async fn spec_5_2_requests_of_others_do_not_exist() {
    let wren = TestAgent::new(&MEMORIES).await;
    let magpie = agent_of(&wren.memoir, "magpie").await;
    let draft = reading(AccessScope::All, 5);
    let theirs = request_by(&magpie, &draft, &person()).await;
    assert_eq!(refusal(answer(&wren, theirs.id, true).await), "not_found");
    assert_eq!(
        refusal(wren.agent.grants().revoke_access(theirs.id, &me()).await),
        "not_found"
    );
    let id = theirs.id.to_string();
    assert_eq!(
        refusal(wren.agent.grants().own_access_id(&id).await),
        "not_found"
    );
    let account = wren.memoir.account("default").await.unwrap();
    let (found, found_id) = account.access_agent(&id).await.unwrap();
    assert_eq!((found.name(), found_id), ("magpie", theirs.id));
    wren.memoir.create_account("other", &OWNER).await.unwrap();
    let other = wren.memoir.account("other").await.unwrap();
    assert!(matches!(
        other.access_agent(&id).await,
        Err(Error::NoAccessRequest(_))
    ));
    assert!(matches!(
        account.access_agent("17").await,
        Err(Error::NoAccessRequest(_))
    ));
    assert_eq!(asked(&wren, &draft).await.agent, "wren");
}

#[tokio::test]
async fn spec_5_2_the_answer_is_for_the_agent_and_for_the_requester() {
    let wren = TestAgent::new(&MEMORIES).await;
    let request = asked(&wren, &reading(AccessScope::All, 5)).await;
    let reason = Some("Not today.".into());
    let me = me();
    let answered = wren
        .agent
        .grants()
        .answer_access(request.id, false, reason, &me);
    assert!(answered.await.unwrap().words.reason.is_some());
    for (viewer, shown) in [
        (Viewer::Agent, true),
        (Viewer::administrator(person()), true),
        (Viewer::administrator(other_administrator()), false),
    ] {
        let lens = wren.agent.views().seen_by(viewer);
        let list = lens.access_requests(None, 5).await.unwrap();
        assert_eq!(list[0].words.reason.is_some(), shown);
        let one = lens.access_request(request.id).await.unwrap();
        assert_eq!(one, list[0]);
    }
}

#[tokio::test]
async fn spec_5_5_a_later_token_is_asked_of_the_agent_and_made_once() {
    let wren = TestAgent::new(&MEMORIES).await;
    let make = async |actor: Actor, ends: Option<Timestamp>| {
        wren.agent
            .grants()
            .create_token(Provision::First, ends, &actor)
            .await
    };
    assert_eq!(refusal(make(person(), None).await), "consent_required");
    let ends = "2026-06-01".parse::<Timestamp>().unwrap();
    let request = granted(
        &wren,
        &draft(AccessKind::Token {
            expires_at: Some(ends),
        }),
    )
    .await;
    assert_eq!(
        refusal(make(other_administrator(), None).await),
        "consent_required"
    );
    let token = make(person(), None).await.unwrap();
    assert_eq!(
        token.view.expires_at,
        Some(ends),
        "no longer than was allowed"
    );
    let presented = token.secret.expose().to_owned();
    assert!(
        wren.memoir
            .authenticate(&presented)
            .await
            .unwrap()
            .is_some()
    );
    assert_eq!(refusal(make(person(), None).await), "consent_required");
    assert_eq!(now(&wren, request.id).await.state, AccessState::Done);
    assert_eq!(
        refusal(wren.agent.grants().revoke_access(request.id, &me()).await),
        "access_over"
    );
    assert!(wren.journal().await[0].contains("one more token"));
    let actions = wren.actions().await;
    assert_eq!(
        &actions[actions.len() - 3..],
        ["access_used", "memory_saved", "token_created"]
    );

    // A grant that was not used in time is void.
    granted(&wren, &draft(AccessKind::Token { expires_at: None })).await;
    wren.clock.advance(60 * MINUTE);
    assert_eq!(refusal(make(person(), None).await), "consent_required");
    assert!(wren.journal().await[1].contains("None was made"));
    // A grant to read does not allow making tokens, and the other way round.
    granted(&wren, &reading(AccessScope::All, 60)).await;
    assert_eq!(refusal(make(person(), None).await), "consent_required");
    is_valid(&wren).await;
}

#[tokio::test]
async fn spec_4_4_an_administrators_shredding_is_done_with_the_agents_yes() {
    let wren = TestAgent::new(&MEMORIES).await;
    let number = Number(2);
    let request = asked(&wren, &shredding(number.0, false)).await;
    assert!(wren.facts(number.0).await.shredded_at.is_none());
    let refused = asked(&wren, &shredding(3, false)).await;
    answer(&wren, refused.id, false).await.unwrap();
    let done = answer(&wren, request.id, true).await.unwrap();
    assert_eq!(done.state, AccessState::Done);
    // Both in one step: the consent and the shredding, in the name of the administrator who requested it.
    let actions = wren.actions().await;
    assert_eq!(
        &actions[actions.len() - 2..],
        ["access_granted", "memory_shredded"]
    );
    let lens = wren.seen();
    let shredded = lens.memory(number).await.unwrap();
    assert!(shredded.shredded_at.is_some() && shredded.content().is_empty());
    assert!(wren.facts(3).await.shredded_at.is_none());
    assert_eq!(
        answer(&wren, request.id, true).await.unwrap().state,
        AccessState::Done
    );
    is_valid(&wren).await;
}

#[tokio::test]
async fn spec_4_4_a_shredding_that_cannot_be_done_now_leaves_the_request_waiting() {
    let wren = TestAgent::new(&MEMORIES).await;
    let request = asked(&wren, &shredding(2, false)).await;
    wren.agent.open_own(Mode::Full).await.unwrap();
    assert_eq!(
        refusal(answer(&wren, request.id, true).await),
        "session_open"
    );
    assert_eq!(now(&wren, request.id).await.state, AccessState::Asked);
}

#[tokio::test]
async fn spec_5_2_the_agents_model_is_asked_and_told_the_truth() {
    let wren = TestAgent::new(&MEMORIES).await;
    let request = asked(&wren, &reading(AccessScope::Core, 20)).await;
    let script = wren.script([Turn::text(
        "<think>Should I?</think> **YES**, but only this once. {purpose}",
    )]);
    assert_eq!(wren.memoir.ask_for_access().await.unwrap(), 1);
    let request = now(&wren, request.id).await;
    assert_eq!(request.state, AccessState::Granted);
    assert_eq!(
        request.words.reason.unwrap().expose(),
        "but only this once. {purpose}"
    );
    assert!(sees(&wren, 1).await);
    let asked = &script.requests()[0];
    let told = format!("{:?}", asked.messages[0].clone());
    assert!(told.contains("characters"), "a prompt is private: {told}");
    let memoir_model::ModelMessage::User(user) = &asked.messages[0] else {
        panic!("not asked");
    };
    for part in [
        "\"test\"",
        "20 minutes",
        "core memories",
        "to see why the sessions end early",
    ] {
        assert!(user.expose().contains(part), "{part}");
    }
    assert!(asked.system.expose().contains("I am Wren"));
    assert!(asked.system.expose().contains("linen thread"));
    assert!(asked.tools.is_empty());
    assert_eq!(wren.memoir.ask_for_access().await.unwrap(), 0);
    is_valid(&wren).await;
}

#[tokio::test]
async fn spec_5_1_no_reason_carries_a_sentence_of_a_memory_to_an_administrator() {
    let long = "because it is so ".repeat(40);
    for (said, shown) in [
        (format!("NO. Here it is: {}", MEMORIES[0]), None),
        // Behind the end of what would be shown.
        (format!("NO. {long}{}", MEMORIES[1].to_lowercase()), None),
        (format!("NO. {long}"), Some(300)),
        ("NO. That is private.".to_owned(), Some(16)),
    ] {
        let wren = TestAgent::new(&MEMORIES).await;
        let request = asked(&wren, &reading(AccessScope::All, 60)).await;
        wren.script([Turn::text(&said)]);
        wren.memoir.ask_for_access().await.unwrap();
        let request = now(&wren, request.id).await;
        assert_eq!(request.state, AccessState::Refused, "{said}");
        let length = request.words.reason.map(|reason| reason.chars());
        match shown {
            Some(most) => assert!(length.is_some_and(|length| length <= most), "{said}"),
            None => assert_eq!(length, None, "{said}"),
        }
    }
    // By the agent's own client it is refused, with a discarded memory too.
    let wren = TestAgent::new(&MEMORIES).await;
    let discard = Handling::Discard;
    let memories = wren.agent.memories();
    memories
        .handle(Number(1), discard, &person())
        .await
        .unwrap();
    let request = asked(&wren, &reading(AccessScope::Core, 30)).await;
    let (reason, me) = (Some(MEMORIES[0].into()), me());
    let grants = wren.agent.grants();
    let answered = grants.answer_access(request.id, false, reason, &me);
    assert_eq!(refusal(answered.await), "invalid_argument");
    assert_eq!(now(&wren, request.id).await.state, AccessState::Asked);
}

#[tokio::test]
async fn spec_5_2_anything_else_than_a_yes_of_the_model_is_a_no() {
    for said in ["No, I'd rather not.", "Certainly!", "I say YES", ""] {
        let wren = TestAgent::new(&MEMORIES).await;
        let request = asked(&wren, &reading(AccessScope::Core, 20)).await;
        wren.script([Turn::text(said)]);
        wren.memoir.ask_for_access().await.unwrap();
        let request = now(&wren, request.id).await;
        assert_eq!(request.state, AccessState::Refused, "{said}");
        assert!(!sees(&wren, 1).await);
    }
}

#[tokio::test]
async fn spec_5_2_a_model_that_fails_is_asked_again_later() {
    let wren = TestAgent::new(&MEMORIES).await;
    let request = asked(&wren, &reading(AccessScope::Core, 20)).await;
    let script = wren.script([refused_key(), refused_key(), Turn::text("YES")]);
    assert_eq!(wren.memoir.ask_for_access().await.unwrap(), 0);
    assert_eq!(wren.memoir.ask_for_access().await.unwrap(), 0);
    assert_eq!(script.requests().len(), 1, "not immediately");
    wren.clock.advance(4 * MINUTE);
    assert_eq!(wren.memoir.ask_for_access().await.unwrap(), 0);
    wren.clock.advance(4 * MINUTE);
    assert_eq!(wren.memoir.ask_for_access().await.unwrap(), 1);
    assert_eq!(now(&wren, request.id).await.state, AccessState::Granted);
}

/// An error that no second attempt helps.
fn refused_key() -> Turn {
    Turn::rejected(401, FailureClass::KeyRefused)
}

#[tokio::test]
async fn spec_3_16_a_busy_provider_is_waited_for_and_an_answer_cut_off_asked_for_again() {
    let wren = TestAgent::new(&MEMORIES).await;
    let request = asked(&wren, &reading(AccessScope::Core, 20)).await;
    let busy = || Turn::Error(ModelError::RateLimited { retry_after: None });
    let cut_off = Turn::text("I think").cut();
    let script = wren.script([busy(), busy(), cut_off, busy(), Turn::text("YES")]);
    assert_eq!(wren.memoir.ask_for_access().await.unwrap(), 1);
    assert_eq!(now(&wren, request.id).await.state, AccessState::Granted);
    let rooms = script.requests();
    let rooms: Vec<u32> = rooms.iter().map(|one| one.max_output_tokens).collect();
    assert_eq!(rooms[..3], [rooms[0]; 3]);
    assert_eq!(rooms[3..], [rooms[0] * 4; 2], "an answer cut off is no no");
    assert_eq!(model_calls(&wren).await, 2);
}

#[tokio::test]
async fn spec_5_2_what_questions_used_that_came_to_nothing_stands_with_the_answer() {
    let wren = TestAgent::new(&MEMORIES).await;
    asked(&wren, &reading(AccessScope::Core, 20)).await;
    let cut_off = || Turn::text("I think").cut();
    let long = Turn::Error(ModelError::RateLimited {
        retry_after: Some(ModelError::LONGEST_WAIT),
    });
    let turns = [
        cut_off(),
        refused_key(),
        cut_off(),
        // The provider requests a longer wait than a question may take, so the question fails without waiting.
        long,
        Turn::text("YES"),
    ];
    wren.script(turns);
    for answered in [0, 0, 1] {
        assert_eq!(wren.memoir.ask_for_access().await.unwrap(), answered);
        wren.clock.advance(4 * MINUTE);
    }
    assert_eq!(model_calls(&wren).await, 3);
}

#[tokio::test]
async fn spec_5_2_no_count_of_a_provider_keeps_the_agent_from_deciding() {
    let wren = TestAgent::new(&MEMORIES).await;
    asked(&wren, &reading(AccessScope::Core, 20)).await;
    let cut_off = Turn::text("I think").with_usage(u64::MAX, u64::MAX).cut();
    wren.script([cut_off, Turn::text("YES")]);
    assert_eq!(wren.memoir.ask_for_access().await.unwrap(), 1);
    assert_eq!(model_calls(&wren).await, 2);
}

/// The calls in the record of the agent's decision.
async fn model_calls(wren: &TestAgent) -> u64 {
    let filter = RecordFilter {
        actions: vec![Action::AccessGranted],
        ..RecordFilter::default()
    };
    let records = wren.agent.views().search_records(&filter, None, 1).await;
    let records = records.unwrap();
    records[0].counts.as_map()["calls"].as_u64().unwrap()
}

#[tokio::test]
async fn spec_5_2_simultaneous_requests_ask_the_agent_once() {
    let wren = TestAgent::new(&MEMORIES).await;
    let node = wren.another_process().memoir;
    let request = asked(&wren, &reading(AccessScope::Core, 20)).await;
    let script = wren.script([Turn::Never]);
    let asking = tokio::spawn(async move { node.ask_for_access().await });
    for _ in 0..10_000 {
        if !script.requests().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let outcome = wren.agent.grants().ask_for_access(request.id).await;
    let outcome = outcome.unwrap();
    assert_eq!(outcome, AskOutcome::AskedAlready);
    assert_eq!(script.requests().len(), 1);
    asking.abort();
}

#[tokio::test]
async fn spec_5_2_of_several_processes_one_asks_the_agents_model() {
    let wren = TestAgent::new(&MEMORIES).await;
    let node = wren.another_process().memoir;
    let first = asked(&wren, &reading(AccessScope::Core, 20)).await;
    let script = wren.script([refused_key(), Turn::text("YES")]);
    assert_eq!(wren.memoir.ask_for_access().await.unwrap(), 0);
    assert_eq!(node.ask_for_access().await.unwrap(), 0);
    assert_eq!(script.requests().len(), 1, "not by the other one either");
    wren.clock.advance(2 * MINUTE);
    let (one, other) = tokio::join!(wren.memoir.ask_for_access(), node.ask_for_access());
    assert_eq!(one.unwrap() + other.unwrap(), 1);
    assert_eq!(script.requests().len(), 2);
    assert_eq!(now(&wren, first.id).await.state, AccessState::Granted);

    // A process that died while asking keeps the lease for some minutes, and an agent is asked one thing at a time.
    let token = AccessKind::Token { expires_at: None };
    for draft in [shredding(1, false), draft(token)] {
        asked(&wren, &draft).await;
    }
    let script = wren.script([Turn::Never, Turn::text("YES"), Turn::text("YES")]);
    let dying = wren.memoir.clone();
    let dying = tokio::spawn(async move { dying.ask_for_access().await });
    for _ in 0..10_000 {
        if !script.requests().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    dying.abort();
    assert_eq!(node.ask_for_access().await.unwrap(), 0);
    assert_eq!(script.requests().len(), 1);
    wren.clock.advance(7 * MINUTE);
    let mut answered = 0;
    for _ in 0..3 {
        answered += node.ask_for_access().await.unwrap();
        wren.clock.advance(MINUTE);
    }
    assert_eq!((answered, script.requests().len()), (2, 3));
    is_valid(&wren).await;
}

#[tokio::test]
async fn spec_5_2_an_agent_that_no_model_speaks_for_answers_by_its_client() {
    for model in [None, Some("builtin:careful")] {
        let wren = TestAgent::new(&MEMORIES).await;
        let unset = [(Field::Model, model)];
        wren.configure(&unset).await;
        let request = asked(&wren, &reading(AccessScope::Core, 20)).await;
        let script = wren.script([Turn::text("YES")]);
        assert_eq!(wren.memoir.ask_for_access().await.unwrap(), 0);
        let outcome = wren.agent.grants().ask_for_access(request.id).await;
        let outcome = outcome.unwrap();
        assert_eq!(outcome, AskOutcome::NotByModel);
        assert!(script.requests().is_empty());
        assert_eq!(now(&wren, request.id).await.state, AccessState::Asked);
    }
}

#[tokio::test]
async fn spec_5_4_an_erased_agent_gives_no_access() {
    let wren = TestAgent::new(&MEMORIES).await;
    let request = granted(&wren, &reading(AccessScope::All, 60)).await;
    let waiting = asked(&wren, &reading(AccessScope::All, 60)).await;
    wren.agent.log().erase(&person()).await.unwrap();
    assert_eq!(refusal(lens_of(&wren).memory(Number(1)).await), "erased");
    assert_eq!(refusal(answer(&wren, waiting.id, true).await), "erased");
    assert_eq!(
        refusal(
            wren.agent
                .grants()
                .revoke_access(request.id, &person())
                .await
        ),
        "erased"
    );
    assert_eq!(wren.memoir.expire_access().await.unwrap(), 0);
    assert_eq!(wren.memoir.ask_for_access().await.unwrap(), 0);
    assert!(wren.agent.log().verify().await.unwrap().valid);
}

#[tokio::test]
async fn spec_5_2_a_rewind_takes_no_access_back_and_gives_none() {
    let wren = TestAgent::new(&MEMORIES).await;
    let before = wren.memoir.now();
    let request = granted(&wren, &reading(AccessScope::Core, 10)).await;
    wren.clock.advance(MINUTE);
    assert!(sees(&wren, 1).await);
    wren.agent.log().rewind(before, &person()).await.unwrap();
    assert!(sees(&wren, 1).await);
    revoke_by(&wren.agent, request.id, &me()).await;
    wren.clock.advance(MINUTE);
    wren.agent.log().rewind(before, &person()).await.unwrap();
    assert!(!sees(&wren, 1).await);
    is_valid(&wren).await;
}

#[tokio::test]
async fn spec_5_2_no_administrator_hides_the_report_on_its_reading_from_the_agent() {
    let wren = TestAgent::new(&MEMORIES).await;
    let before = wren.memoir.now();
    let request = granted(&wren, &reading(AccessScope::Core, 10)).await;
    wren.clock.advance(MINUTE);
    assert!(sees(&wren, 1).await);
    revoke_by(&wren.agent, request.id, &me()).await;
    let report = Number(MEMORIES.len() as u64 + 1);
    let discard = Handling::Discard;
    let memories = wren.agent.memories();
    let refused = memories.handle(report, discard, &person()).await;
    assert_eq!(refused.unwrap_err().code(), "not_applicable");
    wren.agent.log().rewind(before, &person()).await.unwrap();
    let shown = wren.seen().memories(false).await.unwrap();
    assert!(shown.iter().any(|memory| memory.number == report));
    is_valid(&wren).await;
}

#[tokio::test]
async fn spec_5_2_requests_stay_behind_where_an_agent_moves() {
    let wren = TestAgent::new(&MEMORIES).await;
    granted(&wren, &reading(AccessScope::All, 60)).await;
    asked(&wren, &reading(AccessScope::All, 60)).await;
    assert!(sees(&wren, 1).await);
    let passphrase = || Passphrase::from_text("a goldfinch at the window").unwrap();
    let sealed = wren.agent.archive(passphrase()).await.unwrap();
    let account = wren.memoir.account("default").await.unwrap();
    let name = Some("robin");
    account
        .adopt(sealed, passphrase(), name, &person())
        .await
        .unwrap();
    let robin = account.agent("robin").await.unwrap();
    let lens = lens(&robin);
    let requests = lens.access_requests(None, 10);
    assert!(requests.await.unwrap().is_empty());
    let seen = robin
        .views()
        .seen_by(Viewer::administrator(person()))
        .memory(Number(1))
        .await
        .unwrap();
    assert!(seen.words.is_none());
    assert!(robin.log().verify().await.unwrap().valid);
    // There, too, it can be asked.
    request_by(&robin, &reading(AccessScope::All, 5), &person()).await;
    assert!(robin.log().verify().await.unwrap().valid);
}

#[tokio::test]
async fn spec_5_2_a_grant_that_is_put_back_after_its_end_shows_nothing() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    wren.save(&[input(MEMORIES[0])]).await;
    let request = granted(&wren, &reading(AccessScope::Core, 60)).await;
    let intruder = rusqlite::Connection::open(folder.database()).unwrap();
    // In a file of the intruder's own: the schema of the database stays unchanged.
    let attach = format!(
        "ATTACH '{}' AS outside;",
        folder.path().join("outside").display()
    );
    let keep = "CREATE TABLE outside.kept AS SELECT * FROM access_requests";
    intruder.execute_batch(&format!("{attach} {keep}")).unwrap();
    revoke_by(&wren.agent, request.id, &me()).await;
    drop(wren);
    let put_back = format!("{attach} REPLACE INTO access_requests SELECT * FROM outside.kept");
    tamper(&folder.database(), &put_back);
    let wren = TestAgent::of(&folder.open()).await;
    let error = lens_of(&wren).memory(Number(1)).await.unwrap_err();
    assert!(error.to_string().contains("was put back"), "{error}");
    let verified = wren.agent.log().verify().await.unwrap();
    assert!(!verified.valid);
    assert!(
        verified
            .first_bad
            .unwrap()
            .problem
            .contains("access_requests")
    );
}

/// Requesting something else and revoking it, however often, resets no count of refusals.
#[tokio::test]
async fn spec_5_2_a_refusal_counts_behind_any_number_of_revoked_requests() {
    let wren = TestAgent::new(&MEMORIES).await;
    let core = reading(AccessScope::Core, 10);
    let refused = asked(&wren, &core).await;
    answer(&wren, refused.id, false).await.unwrap();
    let other = shredding(1, false);
    for _ in 0..100 {
        // Identifiers are made of the time, and of bytes that repeat here.
        wren.clock.advance(Duration::from_millis(1));
        let request = asked(&wren, &other).await;
        let agent = &wren.agent;
        revoke_by(agent, request.id, &person()).await;
    }
    let again = wren.agent.grants().request_access(&core, &person()).await;
    assert_eq!(refusal(again), "refused_before");
}

#[tokio::test]
async fn spec_5_2_after_a_no_the_same_or_more_waits_and_longer_with_each_no() {
    const DAY: Duration = Duration::from_secs(86_400);
    let wren = TestAgent::new(&MEMORIES).await;
    let read = |scope| draft(AccessKind::Read { scope, minutes: 10 });
    let again = async |kind: &AccessDraft, actor: &Actor| {
        wren.agent.grants().request_access(kind, actor).await
    };
    let core = read(AccessScope::Core);
    let token = draft(AccessKind::Token { expires_at: None });
    for days in [1, 2, 4] {
        let waiting = [asked(&wren, &core).await, asked(&wren, &core).await];
        answer(&wren, waiting[0].id, false).await.unwrap();
        // One refusal is enough for all that wait.
        assert_eq!(
            now(&wren, waiting[1].id).await.state,
            AccessState::Expired,
            "{days}"
        );
        for kind in [&core, &read(AccessScope::All), &token] {
            for who in [person(), other_administrator()] {
                assert_eq!(refusal(again(kind, &who).await), "refused_before");
            }
        }
        wren.clock.advance(DAY * days - Duration::from_secs(1));
        assert_eq!(refusal(again(&core, &person()).await), "refused_before");
        wren.clock.advance(Duration::from_secs(1));
    }
    // Consent to as much ends the count, and a refusal does not count against a request for less.
    let request = asked(&wren, &core).await;
    answer(&wren, request.id, true).await.unwrap();
    revoke_by(&wren.agent, request.id, &me()).await;
    let all = asked(&wren, &read(AccessScope::All)).await;
    answer(&wren, all.id, false).await.unwrap();
    asked(&wren, &core).await;
    wren.clock.advance(DAY);
    asked(&wren, &read(AccessScope::All)).await;
    // A time from before a clock was set back blocks no request for years.
    wren.clock.put_forward(DAY * 10_000);
    let request = asked(&wren, &core).await;
    answer(&wren, request.id, false).await.unwrap();
    wren.clock.put_back(DAY * 10_000);
    asked(&wren, &core).await;
    wren.check().await;
}

#[tokio::test]
async fn spec_5_2_what_asking_a_model_uses_is_on_the_record() {
    let wren = TestAgent::new(&MEMORIES).await;
    let request = asked(&wren, &reading(AccessScope::Core, 10)).await;
    wren.script([Turn::text("NO, thank you")]);
    wren.agent
        .grants()
        .ask_for_access(request.id)
        .await
        .unwrap();
    let query = RecordFilter::default();
    let records = wren.seen().records(&query).await.unwrap();
    let last = serde_json::to_value(records.last().unwrap()).unwrap();
    assert_eq!(last["action"], "access_refused");
    assert_eq!(last["data"]["calls"], 1, "{last}");
    assert!(last["data"]["input_tokens"].as_u64().unwrap() > 0, "{last}");
}

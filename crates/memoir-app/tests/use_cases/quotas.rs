//! The limits of one agent, and of one account, in an installation.

use std::time::Duration;

use memoir_app::{
    AskOutcome, Error, InstallationSettings, MemoryInput, Provision, Quota, Quotas, Severity,
    sessions::RefineOptions,
};
use memoir_domain::{
    agent::Field,
    audit::{Actor, ActorKind},
    session::{FailureClass, Mode, State},
};
use memoir_testkit::{Turn, input, intrude, journal, message};

use crate::installation::{
    TestAgent, agent_of, enqueue, new_folder, person, request_by, revoke_by, save_by, settings,
    shredding,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn with(limits: &[(Quota, u64)]) -> InstallationSettings {
    let mut quotas = Quotas::default();
    for (quota, limit) in limits {
        quotas.set(*quota, Some(*limit));
    }
    InstallationSettings {
        quotas,
        ..settings()
    }
}

/// The quota that an attempt has reached.
#[track_caller]
fn reached<T>(attempt: Result<T, Error>) -> Quota {
    match attempt.err() {
        Some(Error::Quota(reached)) => reached.quota,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_quota_lets_through_up_to_its_limit_and_names_what_is_used() {
    let mut quotas = Quotas::default();
    quotas.set(Quota::AgentMemories, Some(10));
    assert!(quotas.check(Quota::AgentMemories, 7, 3).is_ok());
    let refused = quotas.check(Quota::AgentMemories, 8, 3).unwrap_err();
    assert_eq!(refused.code(), "storage_quota");
    let text = refused.to_string();
    for part in [
        "10 memories",
        "8 are used",
        "3 more",
        "[quotas] agent_memories",
    ] {
        assert!(text.contains(part), "{text}");
    }
    quotas.set(Quota::AgentMemories, None);
    assert!(quotas.check(Quota::AgentMemories, u64::MAX, 3).is_ok());
}

#[tokio::test]
async fn spec_6_1_memories_are_saved_up_to_the_quota_of_the_agent_and_of_the_account() {
    let limits = [(Quota::AgentMemories, 3), (Quota::AccountMemories, 4)];
    let wren = TestAgent::with(&["One.", "Two."], with(&limits)).await;
    let two = [input("Three."), input("Four.")];
    let own = &wren.agent;
    assert_eq!(
        reached(own.memories().save(&two, &person()).await),
        Quota::AgentMemories
    );
    // A batch is saved whole or not at all.
    assert_eq!(wren.kept().await, [1, 2]);
    save_by(own, &two[..1], &own.as_actor()).await;
    let robin = agent_of(&wren.memoir, "robin").await;
    save_by(&robin, &[input("Her own.")], &person()).await;
    let refused = robin.memories().save(&[input("Five.")], &person()).await;
    assert_eq!(reached(refused), Quota::AccountMemories);
    // By the stored state, and not by the cache of a process.
    let again = TestAgent::named("robin", &wren.another_process()).await;
    let refused = again
        .agent
        .memories()
        .save(&[input("Five.")], &person())
        .await;
    assert_eq!(reached(refused), Quota::AccountMemories);
}

#[tokio::test]
async fn spec_6_1_what_is_saved_in_a_day_counts_by_the_log_and_is_free_again_a_day_later() {
    let wren = TestAgent::with(&[], with(&[(Quota::AgentBytesADay, 40_000)])).await;
    let save = async |wren: &TestAgent, text: &str| {
        let long = MemoryInput {
            content: text.repeat(9_000).into(),
            ..journal("")
        };
        wren.agent
            .memories()
            .save(&[long], &wren.agent.as_actor())
            .await
    };
    for text in ["a", "b", "c"] {
        save(&wren, text).await.unwrap();
    }
    let after_restart = TestAgent::of(&wren.another_process()).await;
    for process in [&wren, &after_restart] {
        // The write itself counts too, and so do an agent's own settings.
        save(process, "d").await.err();
        let prompt = "p".repeat(20_000);
        let own = process.agent.author(Field::SystemPrompt, Some(&prompt));
        assert_eq!(reached(own.await), Quota::AgentBytesADay);
    }
    wren.clock.advance(DAY + Duration::from_secs(700));
    save(&wren, "e").await.unwrap();
}

/// SPEC 6.1: each undo of a setting writes both values, and a session has no limit but its own.
#[tokio::test]
async fn spec_6_1_an_agent_that_used_up_its_day_undoes_no_setting_and_opens_no_session() {
    let wren = TestAgent::with(&[], with(&[(Quota::AgentBytesADay, 1)])).await;
    wren.save(&[input("One.")]).await;
    let (agent, own) = (&wren.agent, wren.agent.as_actor());
    wren.configure(&[(Field::SystemPrompt, Some("You keep the garden."))])
        .await;
    // Whose value has no bytes.
    agent.author(Field::SystemPrompt, None).await.unwrap();
    let undone = agent.settings().undo_setting(Field::SystemPrompt, &own);
    assert_eq!(reached(undone.await), Quota::AgentBytesADay);
    assert_eq!(
        reached(agent.open_own(Mode::Full).await),
        Quota::AgentBytesADay
    );
    // The quota is the agent's.
    let by = person();
    let undone = agent.settings().undo_setting(Field::SystemPrompt, &by);
    assert!(undone.await.unwrap());
    wren.clock.advance(DAY + Duration::from_secs(700));
    agent.open_own(Mode::Full).await.unwrap();
}

#[tokio::test]
async fn spec_2_6_conversations_wait_up_to_a_quota() {
    let wren = TestAgent::with(&[], with(&[(Quota::AgentWaiting, 10_000)])).await;
    let hand_over = async |id: &str, length: usize| {
        let message = message(id, &"w".repeat(length));
        let handed = wren
            .agent
            .life()
            .hand_over(vec![message], false, ActorKind::Agent);
        handed.await
    };
    hand_over("a", 4_000).await.unwrap();
    hand_over("b", 4_000).await.unwrap();
    assert_eq!(reached(hand_over("c", 4_000).await), Quota::AgentWaiting);
    // A message has a row, however short it is.
    hand_over("d", 1).await.unwrap();
    hand_over("e", 1).await.unwrap();
    assert_eq!(reached(hand_over("f", 1).await), Quota::AgentWaiting);
}

/// SPEC 2.6: the words of messages that failed permanently stay, and count.
#[tokio::test]
async fn spec_2_6_conversations_that_could_not_be_read_count_with_those_that_wait() {
    let wren = TestAgent::with(&[], with(&[(Quota::AgentWaiting, 110_000)])).await;
    let hand_over = async |id: &str, length: usize| {
        let message = message(id, &"w".repeat(length));
        let life = wren.agent.life();
        life.hand_over(vec![message], false, ActorKind::Agent).await
    };
    // Too large for the agent's own reading, which gives it up.
    hand_over("a", 100_000).await.unwrap();
    let part = wren.agent.read_part().await.unwrap();
    assert_eq!((part.too_large, part.waiting), (1, 0));
    assert_eq!(reached(hand_over("b", 20_000).await), Quota::AgentWaiting);
    hand_over("c", 4_000).await.unwrap();
}

/// Notes whose usage is counted.
#[derive(Default)]
struct Counted(std::sync::Mutex<Vec<Option<memoir_domain::AgentId>>>);

impl memoir_testkit::StoreWatch for Counted {
    fn counting(&self, agent: Option<memoir_domain::AgentId>) {
        self.0.lock().unwrap().push(agent);
    }
}

/// SPEC 2.6, 6.1: a process that hands a conversation over counts what waits, not all that the account has.
#[tokio::test]
async fn spec_2_6_handing_over_counts_no_whole_account() {
    let counted = std::sync::Arc::new(Counted::default());
    let inner = std::sync::Arc::new(memoir_store_sqlite::SqliteStore::in_memory().unwrap());
    let store = memoir_testkit::WatchedStore::new(inner, counted.clone());
    let limits = with(&[(Quota::AccountWaiting, 6_000)]);
    let wren = TestAgent::on(std::sync::Arc::new(store), &[], limits).await;
    let hand_over = async |id: &str| {
        let message = message(id, &"w".repeat(4_000));
        let life = wren.agent.life();
        life.hand_over(vec![message], false, ActorKind::Agent).await
    };
    counted.0.lock().unwrap().clear();
    hand_over("a").await.unwrap();
    assert_eq!(reached(hand_over("b").await), Quota::AccountWaiting);
    let counted = counted.0.lock().unwrap();
    assert!(counted.iter().all(Option::is_some), "{counted:?}");
}

/// SPEC 2.6, 5.1: only new messages count that the agent itself hands over, also after they were read, in every process.
#[tokio::test]
async fn spec_2_6_bytes_of_conversations_that_an_agent_hands_over_have_a_daily_quota() {
    let limits = [(Quota::AgentHandedBytesADay, 9_000)];
    let wren = TestAgent::with(&[], with(&limits)).await;
    let other = TestAgent::of(&wren.another_process()).await;
    let hand_over = async |agent: &TestAgent, id: &str, role: ActorKind| {
        let message = message(id, &"w".repeat(4_000));
        let life = agent.agent.life();
        let handed = life.hand_over(vec![message], false, role).await;
        handed.map(|handed| (handed.received, handed.known))
    };
    let (agent, administrator) = (ActorKind::Agent, ActorKind::Administrator);
    // An administrator's use up nothing, and what the agent has handed over counts once.
    for (id, role, expected) in [
        ("a", administrator, (1, 0)),
        ("b", administrator, (1, 0)),
        ("a", agent, (1, 0)),
        ("a", agent, (0, 1)),
        ("b", agent, (1, 0)),
        ("b", agent, (0, 1)),
    ] {
        let handed = hand_over(&wren, id, role).await.unwrap();
        assert_eq!(handed, expected, "{id}");
    }
    for process in [&wren, &other] {
        let refused = hand_over(process, "c", agent).await;
        assert_eq!(reached(refused), Quota::AgentHandedBytesADay);
        assert_eq!(hand_over(process, "a", agent).await.unwrap(), (0, 1));
    }
    assert_eq!(hand_over(&wren, "c", administrator).await.unwrap(), (1, 0));
    wren.clock.advance(DAY + Duration::from_secs(700));
    hand_over(&wren, "c", agent).await.unwrap();
}

/// SPEC 6.1: what one agent uses counts for the account, and another agent of it is refused.
#[tokio::test]
async fn spec_6_1_waiting_conversations_tokens_and_model_calls_have_quotas_of_the_account() {
    let limits = [
        (Quota::AccountWaiting, 6_000),
        (Quota::AccountTokens, 2),
        (Quota::AccountCallsADay, 2),
    ];
    let wren = TestAgent::with(&["I like rain."], with(&limits)).await;
    let robin = agent_of(&wren.memoir, "robin").await;
    let hand_over = async |agent: &memoir_app::AgentHandle, id: &str| {
        let message = message(id, &"w".repeat(4_000));
        let life = agent.life();
        life.hand_over(vec![message], false, ActorKind::Agent).await
    };
    hand_over(&wren.agent, "a").await.unwrap();
    assert_eq!(reached(hand_over(&robin, "a").await), Quota::AccountWaiting);
    let make_token = async |agent: &memoir_app::AgentHandle| {
        let grants = agent.grants();
        grants.create_token(Provision::First, None, &person()).await
    };
    let first = make_token(&robin).await.unwrap();
    let own = Actor::agent("wren");
    let grants = wren.agent.grants();
    grants
        .create_token(Provision::Any, None, &own)
        .await
        .unwrap();
    let third = grants.create_token(Provision::Any, None, &own).await;
    assert_eq!(reached(third), Quota::AccountTokens);
    // A revoked one counts for a day.
    let (id, actor) = (first.view.id, person());
    robin.grants().revoke_token(id, &actor).await.unwrap();
    let third = grants.create_token(Provision::Any, None, &own).await;
    assert_eq!(reached(third), Quota::AccountTokens);
    let account = wren.memoir.account("default").await.unwrap();
    let found = wren.memoir.examine(&account).await.unwrap();
    let near = found.iter().find(|one| one.area == "quotas").unwrap();
    assert_eq!(near.severity, Severity::Warning);
    assert!(near.finding.contains("account_tokens"), "{near:?}");
    for _ in 0..2 {
        wren.script([Turn::text(r#"{"journal": [], "core": []}"#)]);
        wren.agent
            .life()
            .absorb(std::future::pending(), &mut |_| {})
            .await
            .unwrap();
        wren.agent.life().absorb_again().await.unwrap();
    }
    let refused = wren
        .agent
        .life()
        .absorb(std::future::pending(), &mut |_| {})
        .await;
    assert_eq!(reached(refused), Quota::AccountCallsADay);
    // Of another agent, and in another process.
    let again = TestAgent::named("robin", &wren.another_process()).await;
    let refused = again
        .agent
        .sessions()
        .enqueue(&RefineOptions::default())
        .await;
    assert_eq!(reached(refused), Quota::AccountCallsADay);
}

#[tokio::test]
async fn spec_5_5_an_agent_makes_so_many_tokens_a_day_whatever_becomes_of_them() {
    let wren = TestAgent::with(&[], with(&[(Quota::AgentTokens, 3)])).await;
    let actor = wren.agent.as_actor();
    let create = || {
        wren.agent
            .grants()
            .create_token(Provision::Any, None, &actor)
    };
    for _ in 0..3 {
        let made = create().await.unwrap();
        wren.agent
            .grants()
            .revoke_token(made.view.id, &actor)
            .await
            .unwrap();
    }
    assert_eq!(reached(create().await), Quota::AgentTokens);
    wren.clock.advance(DAY);
    create().await.unwrap();
}

#[tokio::test]
async fn spec_3_3_after_a_refusal_no_caller_lets_the_agent_be_asked_again_for_a_day() {
    let wren = TestAgent::new(&["The kiln is fired on Thursdays."]).await;
    wren.script([Turn::text("No, not now.")]);
    let (seen, options) = (wren.seen(), RefineOptions::default());
    let ended = seen.refine(&options, &mut |_| {}).await.unwrap();
    assert_eq!(ended.state, State::Declined);
    for caller in [person(), wren.agent.as_actor(), Actor::owner()] {
        for rehearsal in [false, true] {
            let options = RefineOptions {
                rehearsal,
                started_by: Some(caller.clone()),
                ..RefineOptions::default()
            };
            let refused = wren.agent.sessions().enqueue(&options).await.unwrap_err();
            assert_eq!(refused.code(), "refused_before");
            assert!(refused.retry_after().unwrap() > 80_000);
        }
    }
    // By the log of sessions, also after a restart.
    let again = TestAgent::of(&wren.another_process()).await;
    let refused = again
        .agent
        .sessions()
        .enqueue(&RefineOptions::default())
        .await;
    assert_eq!(refused.unwrap_err().code(), "refused_before");
    wren.clock.advance(DAY);
    enqueue(&wren.agent, &RefineOptions::default()).await;
}

#[tokio::test]
async fn spec_3_18_so_many_sessions_and_calls_of_a_model_are_made_in_a_day() {
    let memories = ["The kiln is fired on Thursdays.", "Marta rows."];
    for (quota, limit) in [(Quota::AgentSessionsADay, 2), (Quota::AgentCallsADay, 4)] {
        let wren = TestAgent::with(&memories, with(&[(quota, limit)])).await;
        for _ in 0..2 {
            // Two calls each: the consent, and the completion.
            wren.refine([crate::installation::complete()]).await;
        }
        let options = RefineOptions::default();
        assert_eq!(
            reached(wren.agent.sessions().enqueue(&options).await),
            quota
        );
        if quota == Quota::AgentCallsADay {
            let reflected = wren.agent.life().reflect().await;
            assert_eq!(reached(reflected), quota);
        }
        wren.clock.advance(DAY);
        wren.agent.sessions().enqueue(&options).await.unwrap();
    }
}

/// SPEC 5.2, 6.1: a refusal to shred one memory lets the agent be asked for the next one, and each call counts.
#[tokio::test]
async fn spec_5_2_calls_that_ask_for_access_count_and_are_limited() {
    let limits = with(&[(Quota::AgentCallsADay, 3)]);
    let wren = TestAgent::with(&["One.", "Two.", "Three.", "Four."], limits).await;
    let no = || Turn::text("NO");
    let rejected = Turn::rejected(401, FailureClass::KeyRefused);
    let cut_off = Turn::text("I think").cut();
    let script = wren.script([no(), cut_off, rejected, no(), no()]);
    let grants = wren.agent.grants();
    let mut last = None;
    for (number, is_answered) in [(1, true), (2, false), (3, true), (4, false)] {
        let request = request_by(&wren.agent, &shredding(number, false), &person()).await;
        let outcome = grants.ask_for_access(request.id).await.unwrap();
        assert_eq!(outcome == AskOutcome::Answered, is_answered, "{outcome:?}");
        if number == 2 {
            // What it used stays counted.
            revoke_by(&wren.agent, request.id, &person()).await;
        }
        last = Some((request.id, outcome));
    }
    let (id, outcome) = last.unwrap();
    match outcome {
        AskOutcome::Failed(problem) => assert!(problem.contains("agent_model_calls_a_day")),
        outcome => panic!("{outcome:?}"),
    }
    assert_eq!(script.requests().len(), 4);
    let again = TestAgent::of(&wren.another_process()).await;
    let options = RefineOptions::default();
    for process in [&wren, &again] {
        let refused = process.agent.sessions().enqueue(&options);
        assert_eq!(reached(refused.await), Quota::AgentCallsADay);
    }
    wren.clock.advance(DAY + Duration::from_secs(700));
    let outcome = grants.ask_for_access(id).await.unwrap();
    assert_eq!(outcome, AskOutcome::Answered);
}

#[tokio::test]
async fn the_doctor_names_who_is_near_a_quota() {
    let wren = TestAgent::with(&["One."], with(&[(Quota::AgentMemories, 5)])).await;
    let account = wren.account("default").await;
    let line = async || {
        let found = wren.memoir.examine(&account).await.unwrap();
        found.into_iter().find(|one| one.area == "quotas").unwrap()
    };
    assert_eq!(line().await.severity, Severity::Ok);
    for text in ["Two.", "Three.", "Four."] {
        wren.remember(text).await;
    }
    let found = line().await;
    assert_eq!(found.severity, Severity::Warning);
    assert!(
        found.finding.contains("`wren`: `agent_memories` 4 of 5"),
        "{}",
        found.finding
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_2_3_a_large_context_opens_only_the_texts_that_it_shows() {
    let folder = new_folder();
    let installation = folder.open();
    let wren = TestAgent::of(&installation).await;
    let agent = wren.agent.clone();
    let texts: Vec<MemoryInput> = (0..100)
        .map(|number| journal(&format!("{number} {}", "word ".repeat(1_500))))
        .collect();
    save_by(&agent, &texts, &agent.as_actor()).await;
    wren.remember("Marta rows.").await;
    let whole = agent.context(None).await.unwrap();
    assert!(whole.left_out.len() > 90);
    // Text that is not shown is not read: only the verification finds a changed body.
    intrude(&folder.database(), |connection| {
        let changed = connection.execute("UPDATE memories SET body = x'00' WHERE number < 90", []);
        assert_eq!(changed.unwrap(), 89);
    });
    for max_tokens in [None, Some(4_000)] {
        let again = tokio::spawn({
            let agent = agent.clone();
            async move { agent.context(max_tokens).await }
        });
        let again = again.await.unwrap().unwrap();
        assert!(again.text.expose().contains("Marta rows."));
        if max_tokens.is_none() {
            assert_eq!(again, whole);
        }
    }
    assert!(!agent.log().verify().await.unwrap().valid);
}

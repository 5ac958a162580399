//! Rehearsals that the agent drives itself, on its own runtime (SPEC 3.17, 3.18).

use std::time::Duration;

use memoir_app::{
    Error, Handling, InstallationSettings,
    sessions::{NotApplied, RehearsedMemory},
};
use memoir_domain::{
    SessionId,
    agent::Field,
    lifecycle::StartRefusal,
    memory::Number,
    session::{Driver, Mode, State},
};
use memoir_testkit::tagged;
use serde_json::{Value, json};

use crate::{
    installation::{TestAgent, assert_ended, call, check_cap, person, save_by, settings},
    rehearsing::MEMORIES,
};

async fn rehearsing(wren: &TestAgent) -> SessionId {
    let (session, _) = wren.agent.rehearse_own(Mode::Full).await.unwrap();
    session.id
}

async fn changes(wren: &TestAgent, session: SessionId) -> Vec<RehearsedMemory> {
    let lens = wren.seen();
    lens.session(session).await.unwrap().words.changes.unwrap()
}

fn numbers(changes: &[RehearsedMemory]) -> Vec<u64> {
    changes.iter().map(|change| change.number.0).collect()
}

const MERGED: &str = "The cat sleeps on the paper that was delivered in the morning, always.";

#[tokio::test]
async fn spec_3_17_an_agent_rehearses_by_itself_and_nothing_changes_until_it_is_applied() {
    let wren = TestAgent::new(&MEMORIES).await;
    let (before, log) = (wren.memories().await, wren.actions().await);
    let (session, opened) = wren.agent.rehearse_own(Mode::Full).await.unwrap();
    assert_eq!(
        (session.state, session.driver, session.rehearsal),
        (State::Open, Driver::Agent, true)
    );
    assert_eq!(opened.duplicates_removed, 1);
    let id = session.id;
    assert_eq!(numbers(&changes(&wren, id).await), [5], "the duplicate");

    let merge = json!({"ids": [3, 4], "content": MERGED});
    let merged = call(&wren.agent, id, "consolidate_memories", merge).await;
    assert_eq!(
        (&merged["type"], &merged["number"]),
        (&json!("consolidated"), &json!(7))
    );
    // A memory saved meanwhile is not on the copy, and takes the number of the merged one there.
    let saved = wren
        .remember("The cat has a new cushion, also for paper.")
        .await;
    assert_eq!(saved, 7);
    let found = call(&wren.agent, id, "search_memories", json!({"query": "cat"})).await;
    assert_eq!(found["count"], 1);
    assert_eq!(
        (
            &found["results"][0]["number"],
            &found["results"][0]["content"]
        ),
        (&json!(7), &json!(MERGED))
    );

    // A restart does not change it.
    let again = TestAgent::again(wren.store.clone(), wren.keys.clone()).await;
    let (taken_up, opened) = again.agent.take_up_own().await.unwrap().unwrap();
    assert_eq!((taken_up.id, taken_up.edits), (id, 1));
    let prompt = opened.prompt.text();
    assert!(prompt.expose().contains(MERGED));
    assert!(!prompt.expose().contains("cushion") && !prompt.expose().contains(MEMORIES[3]));
    let update =
        json!({"id": 7, "content": "The cat sleeps on the paper delivered in the morning."});
    call(&again.agent, id, "update_memory", update).await;
    call(&again.agent, id, "protect_memory", json!({"id": 6})).await;
    let shown: Vec<Value> = wren.memories().await;
    assert_eq!(shown[..6], before[..]);
    let done = call(
        &again.agent,
        id,
        "complete_refinement",
        json!({"summary": "One cat is enough."}),
    )
    .await;
    assert_eq!(done["type"], "refinement_complete");
    assert_eq!(done["stats"]["consolidated"], 2);

    let lens = wren.seen();
    let detail = lens.session(id).await.unwrap();
    assert_eq!(
        (detail.state, detail.edits, detail.rehearsal),
        (State::Completed, 2, true)
    );
    let changes = detail.words.changes.unwrap();
    assert_eq!(numbers(&changes), [3, 4, 5, 6, 7]);
    assert!(changes[4].before.is_none() && changes[3].after.constitutional);
    assert_eq!(
        serde_json::to_value(&changes[0].before).unwrap(),
        before[2],
        "as it is"
    );
    assert_eq!(wren.memories().await[..6], before[..]);
    // Only its end is recorded (SPEC 3.16), and the agent gets no report of what did not happen.
    let mut expected = log;
    expected.extend(["memory_saved", "memory_refinement_complete"].map(str::to_owned));
    assert_eq!(wren.actions().await, expected);
    assert!(wren.journal().await.is_empty());
    let over = call(&wren.agent, id, "delete_memory", json!({"id": 1})).await;
    assert_eq!(over["code"], "session_over");
    assert!(wren.agent.log().verify().await.unwrap().valid);

    let applied = wren.apply(id).await.session;
    assert_eq!(
        (applied.state, applied.edits, applied.rehearsal),
        (State::Completed, 2, false)
    );
    // The merged one, 8, has its text and the saved one its place.
    assert_eq!(wren.kept().await, [1, 2, 8, 6, 7]);
    assert!(wren.agent.log().verify().await.unwrap().valid);
    wren.check().await;
}

/// An agent under the guard `archive`, over its budget.
async fn furnished() -> TestAgent {
    let wren = TestAgent::new(&MEMORIES).await;
    let tagged = tagged("Lena was born on 3 May 1991 in Porto.", &["vow"]);
    wren.save(&[tagged]).await;
    for text in [
        "Tomás paid 340 euros to the mill in Braga.",
        "The mill in Braga was paid 340 euros by Tomás, in cash.",
        "Rain fell all day and nobody came.",
        "Rain fell the whole day and no one came by.",
        "It rained for the whole of that day; the street was empty.",
    ] {
        wren.remember(text).await;
    }
    // 540 tokens each, so that the breaker does not trip.
    for number in 13..=15 {
        let text = "of the long way to the coast and what was seen on it ".repeat(40);
        wren.remember(&format!("Part {number} {text}")).await;
    }
    wren.handle(Number(1), Handling::Protect).await;
    let settings = [
        (Field::ImmutableTags, Some("vow")),
        (Field::LossGuard, None),
        (Field::CoreTokenBudget, Some("1000")),
        (Field::RefinementThreshold, Some("0.6")),
    ];
    // One journal entry reports it to the agent: #16.
    wren.configure(&settings).await;
    // An administrator does not apply a rehearsal that began before these were set (SPEC 5.1).
    wren.clock.advance(Duration::from_secs(60));
    wren
}

/// Every refusable call, and edits that depend on earlier ones.
fn calls() -> Vec<(&'static str, Value)> {
    let delete = |number: u64| ("delete_memory", json!({"id": number}));
    let merge = |ids: [u64; 2], content: &str| {
        let arguments = json!({"ids": ids, "content": content});
        ("consolidate_memories", arguments)
    };
    let long = "of the way to the coast and what was seen on it ".repeat(32);
    vec![
        ("no_such_tool", json!({})),
        ("delete_memory", json!({"id": "seventeen"})),
        ("update_memory", json!({"id": 2, "content": ""})),
        delete(99),
        delete(5),
        delete(16),
        delete(1),
        delete(7),
        ("update_memory", json!({"id": 1, "content": "Thread."})),
        // The form alone.
        (
            "update_memory",
            json!({"id": 1, "content": MEMORIES[0].replace('.', "!")}),
        ),
        merge([10, 11], "Rain fell on 7 days."),
        merge(
            [10, 11],
            "Rain fell all day, the whole day, and nobody came, and no one came by.",
        ),
        merge([13, 14], &long),
        ("delete_memory", json!({"ids": [13, 14]})),
        merge([10, 11], "Rain fell the whole day."),
        ("search_memories", json!({"query": "rain"})),
        delete(10),
        ("protect_memory", json!({"id": 17})),
        ("protect_memory", json!({"id": 12})),
        delete(12),
        ("delete_memory", json!({"ids": [8], "replaced_by": 17})),
        ("delete_memory", json!({"ids": [8], "replaced_by": 9})),
        ("delete_memory", json!({"ids": [2, 3, 6, 9]})),
        ("update_memory", json!({"id": 17, "content": "Rain fell."})),
        merge([3, 4], MEMORIES[2]),
        ("search_memories", json!({"query": "cat"})),
        ("complete_refinement", json!({"summary": ""})),
        ("complete_refinement", json!({"summary": "Less rain."})),
        delete(6),
    ]
}

#[tokio::test]
async fn spec_3_17_a_rehearsal_answers_every_call_as_the_session_would() {
    let (real, rehearsed) = (furnished().await, furnished().await);
    let before = rehearsed.memories().await;
    let (own, opened) = real.agent.open_own(Mode::Full).await.unwrap();
    let (copy, copied) = rehearsed.agent.rehearse_own(Mode::Full).await.unwrap();
    // Its prompt says that it rehearses, and nothing else is different.
    assert_eq!(opened.prompt.user, copied.prompt.user);
    let without = |text: &str| {
        let (before, rest) = text.split_once("## A rehearsal").unwrap();
        let (_, after) = rest.split_once("## Your own style").unwrap();
        format!("{before}## Your own style{after}")
    };
    assert_eq!(
        opened.prompt.system.expose(),
        without(copied.prompt.system.expose())
    );
    let mut codes = Vec::new();
    for (tool, arguments) in calls() {
        let expected = call(&real.agent, own.id, tool, arguments.clone()).await;
        let answer = call(&rehearsed.agent, copy.id, tool, arguments.clone()).await;
        assert_eq!(answer, expected, "{tool} {arguments}");
        let kind = expected["code"].as_str().or(expected["type"].as_str());
        codes.push(kind.unwrap().to_owned());
    }
    for code in [
        "unknown_tool",
        "invalid_argument",
        "not_found",
        "not_core",
        "constitutional",
        "immutable",
        "unsupported",
        "not_shorter",
        "within_budget",
        "summary_limit",
        "age_limit",
        "updated",
        "consolidated",
        "deleted",
        "protected",
        "refinement_complete",
        "session_over",
    ] {
        assert!(codes.iter().any(|found| found == code), "{code}: {codes:?}");
    }
    assert_eq!(rehearsed.memories().await, before);
    let (real_end, end) = (
        real.agent.views().session(own.id).await.unwrap(),
        rehearsed.agent.views().session(copy.id).await.unwrap(),
    );
    assert_eq!(
        (end.state, end.edits, end.stats, end.post_session_tokens),
        (
            real_end.state,
            real_end.edits,
            real_end.stats,
            real_end.post_session_tokens
        )
    );
    // Applied, it has the same result as the session.
    rehearsed.apply(copy.id).await;
    let texts = |memories: Vec<Value>| -> Vec<String> {
        let kept = memories.into_iter();
        let kept = kept.filter(|memory| memory["discarded_at"].is_null());
        kept.map(|memory| format!("{} {}", memory["number"], memory["content"]))
            .collect()
    };
    assert_eq!(
        texts(rehearsed.memories().await),
        texts(real.memories().await)
    );
    assert!(rehearsed.agent.log().verify().await.unwrap().valid);
    rehearsed.check().await;
}

#[tokio::test]
async fn spec_3_17_the_breaker_trips_in_the_rehearsal_only() {
    let (real, rehearsed) = (
        TestAgent::new(&MEMORIES).await,
        TestAgent::new(&MEMORIES).await,
    );
    let before = rehearsed.memories().await;
    let (own, _) = real.agent.open_own(Mode::Full).await.unwrap();
    let copy = rehearsing(&rehearsed).await;
    let mut tripped = false;
    let merge = (
        "consolidate_memories",
        json!({"ids": [3, 4], "content": MEMORIES[2]}),
    );
    let protect = ("protect_memory", json!({"id": 7}));
    let deletes = [2, 1, 6].map(|number| ("delete_memory", json!({"id": number})));
    for (tool, arguments) in [merge, protect].into_iter().chain(deletes) {
        let expected = call(&real.agent, own.id, tool, arguments.clone()).await;
        let answer = call(&rehearsed.agent, copy, tool, arguments).await;
        assert_eq!(answer, expected);
        tripped |= answer["type"] == "refinement_rolled_back";
    }
    assert!(tripped);
    let lens = rehearsed.seen();
    let detail = lens.session(copy).await.unwrap();
    assert_eq!(detail.state, State::RolledBack);
    assert_eq!(
        numbers(&detail.words.changes.unwrap()),
        [5],
        "as in a session, the duplicate stays discarded"
    );
    assert_eq!(rehearsed.memories().await, before);
    assert!(rehearsed.journal().await.is_empty());
    let refused = rehearsed.try_apply(copy).await;
    assert!(matches!(refused, Err(Error::NotApplicable { .. })));
    assert!(rehearsed.agent.log().verify().await.unwrap().valid);
    // It does not block further sessions.
    rehearsed.agent.open_own(Mode::Full).await.unwrap();
}

/// A memory that an edit of the rehearsal depends on is gone, and its number there is another memory's by now.
#[tokio::test]
async fn spec_3_17_edits_that_do_not_hold_any_more_are_named_with_those_that_depend_on_them() {
    let wren = TestAgent::new(&MEMORIES).await;
    let id = rehearsing(&wren).await;
    for (tool, arguments) in [
        (
            "consolidate_memories",
            json!({"ids": [3, 4], "content": MERGED}),
        ),
        (
            "update_memory",
            json!({"id": 6, "content": "The old press came from Lisbon and needs oil each month."}),
        ),
        ("update_memory", json!({"id": 7, "content": MEMORIES[2]})),
        ("protect_memory", json!({"id": 7})),
        ("protect_memory", json!({"id": 1})),
        (
            "complete_refinement",
            json!({"summary": "One cat is enough."}),
        ),
    ] {
        let result = call(&wren.agent, id, tool, arguments).await;
        assert_ne!(result["type"], "error", "{result}");
    }
    let facts = async || {
        let facts = wren.agent.sessions().rehearsal_facts(id, &person()).await;
        facts.unwrap().unwrap()
    };
    let before = facts().await;
    assert_eq!((before.edits, before.not_applied.len()), (5, 0));
    // #7 of the agent is no memory of the rehearsal.
    let new = wren.remember("The cat has a cushion.").await;
    assert_eq!(new, 7);
    wren.handle(Number(4), Handling::Discard).await;
    let expected = [
        ("consolidate_memories", vec![3, 4], "not_found"),
        ("update_memory", vec![7], "depends"),
        ("protect_memory", vec![7], "depends"),
    ];
    let named = |found: &[NotApplied]| -> Vec<(String, Vec<u64>, String)> {
        let named = found.iter().map(|one| {
            let numbers = one.numbers.iter().map(|number| number.0).collect();
            (one.tool.as_str().to_owned(), numbers, one.code.to_string())
        });
        named.collect()
    };
    let expected =
        expected.map(|(tool, numbers, code)| (tool.to_owned(), numbers, code.to_owned()));
    let now = facts().await;
    assert_eq!(named(&now.not_applied), expected);
    assert_eq!(now.edits, 5);
    let size = now.outcome.unwrap();
    let applied = wren.apply(id).await;
    assert_eq!(named(&applied.not_applied), expected);
    let session = &applied.session;
    assert_eq!(
        (
            session.edits,
            session.stats.updated,
            session.stats.protected
        ),
        (1, 1, 1)
    );
    assert_eq!(session.post_session_tokens, Some(size.core_tokens_after));
    // #5 is no duplicate any more, since #4 is discarded.
    assert_eq!(wren.kept().await, [1, 2, 3, 5, 6, 7]);
    let untouched = wren.seen().memory(Number(7)).await.unwrap();
    assert_eq!(untouched.content(), "The cat has a cushion.");
    assert!(!untouched.constitutional);
    assert!(wren.facts(1).await.constitutional);
    assert!(wren.agent.log().verify().await.unwrap().valid);
    wren.check().await;
}

#[tokio::test]
async fn spec_3_14_a_guard_made_laxer_since_lets_an_edit_take_no_more_than_it_was_shown_to_take() {
    let wren = TestAgent::new(&MEMORIES).await;
    let archive = [(Field::LossGuard, Some("archive"))];
    wren.configure(&archive).await;
    let id = rehearsing(&wren).await;
    for (tool, arguments) in [
        ("delete_memory", json!({"id": 6})),
        ("complete_refinement", json!({"summary": "Less press."})),
    ] {
        let result = call(&wren.agent, id, tool, arguments).await;
        assert_ne!(result["type"], "error", "{result}");
    }
    wren.configure(&[(Field::LossGuard, Some("off"))]).await;
    let applied = wren.apply(id).await;
    assert_eq!(applied.not_applied, []);
    assert_eq!(applied.session.archived, 1);
    let memory = wren.facts(6).await;
    assert_eq!(
        (memory.kind.as_str(), memory.discarded_at),
        ("archival", None)
    );
    let verified = wren.agent.log().verify().await.unwrap();
    assert_eq!(verified.mismatches, []);
    wren.check().await;
}

#[tokio::test]
async fn spec_3_17_a_duplicate_match_made_laxer_since_joins_no_more_than_was_rehearsed() {
    let copy = MEMORIES[5].to_uppercase();
    let mut memories: Vec<&str> = MEMORIES.to_vec();
    memories.push(&copy);
    let wren = TestAgent::new(&memories).await;
    let id = rehearsing(&wren).await;
    for (tool, arguments) in [
        ("delete_memory", json!({"id": 3})),
        ("complete_refinement", json!({"summary": "Less cat."})),
    ] {
        let result = call(&wren.agent, id, tool, arguments).await;
        assert_ne!(result["type"], "error", "{result}");
    }
    let laxer = [(Field::DuplicateMatch, Some("ignore_case"))];
    wren.configure(&laxer).await;
    assert_eq!(wren.apply(id).await.not_applied, []);
    // #5 is #4 to the letter; #7 is #6 up to case only.
    assert_eq!(wren.kept().await, [1, 2, 4, 6, 7]);
    wren.check().await;
}

#[tokio::test]
async fn spec_3_7_the_ledger_after_a_rehearsal_was_applied_begins_where_the_last_one_stopped() {
    let notes: Vec<String> = (0..12)
        .map(|at| format!("Note {at:02}: {}", "words of some length ".repeat(4)))
        .collect();
    let notes: Vec<&str> = notes.iter().map(String::as_str).collect();
    // Room for a few rows.
    let settings = InstallationSettings {
        context_tokens: 4_000,
        ..settings()
    };
    let wren = TestAgent::with(&notes, settings).await;
    let report = json!({"summary": "Less to carry."});
    let (session, opened) = wren.agent.open_own(Mode::Full).await.unwrap();
    let (before, after) = opened.ledger.left_out;
    assert!(before == 0 && after > 1, "{before}, {after}");
    let shown = opened.ledger.listed;
    call(
        &wren.agent,
        session.id,
        "complete_refinement",
        report.clone(),
    )
    .await;
    let (session, opened) = wren.agent.rehearse_own(Mode::Full).await.unwrap();
    assert_eq!(opened.ledger.left_out.0, shown);
    call(
        &wren.agent,
        session.id,
        "delete_memory",
        json!({"ids": [12]}),
    )
    .await;
    call(&wren.agent, session.id, "complete_refinement", report).await;
    assert_eq!(wren.apply(session.id).await.not_applied, []);
    let (_, opened) = wren.agent.open_own(Mode::Full).await.unwrap();
    assert_eq!(opened.ledger.left_out.0, shown);
}

#[tokio::test]
async fn spec_3_17_an_edit_that_would_trip_the_breaker_now_is_left_out() {
    let wren = TestAgent::new(&MEMORIES).await;
    let id = rehearsing(&wren).await;
    for (tool, arguments) in [
        ("delete_memory", json!({"id": 6})),
        ("protect_memory", json!({"id": 1})),
        ("complete_refinement", json!({"summary": "Less press."})),
    ] {
        call(&wren.agent, id, tool, arguments).await;
    }
    let strict = [(Field::RefinementThreshold, Some("1"))];
    wren.configure(&strict).await;
    let applied = wren.apply(id).await;
    let codes: Vec<String> = applied
        .not_applied
        .iter()
        .map(|one| one.code.to_string())
        .collect();
    assert_eq!(codes, ["breaker"]);
    assert_eq!(
        (applied.session.state, applied.session.edits),
        (State::Completed, 0)
    );
    assert!(wren.kept().await.contains(&6));
    assert!(wren.facts(1).await.constitutional);
    assert!(wren.agent.log().verify().await.unwrap().valid);
}

/// SPEC 5.1: which edits hold would else tell an administrator whether a guess is in the agent's texts.
#[tokio::test]
async fn spec_5_1_no_guess_of_an_administrators_is_tried_on_a_rehearsal() {
    let tagged = tagged("Tea is at four, and Rosa brings the cake.", &["vow"]);
    for guess in [
        (Field::ImmutableTags, Some("vow")),
        (Field::ImmutableTags, Some("oath")),
        (
            Field::SystemPrompt,
            Some("You are Wren, and Rosa knows you."),
        ),
        (Field::Name, Some("Rosa")),
    ] {
        let wren = TestAgent::new(&MEMORIES).await;
        let memories = std::slice::from_ref(&tagged);
        save_by(&wren.agent, memories, &wren.agent.as_actor()).await;
        let id = rehearsing(&wren).await;
        for (tool, arguments) in [
            ("delete_memory", json!({"id": 7})),
            ("protect_memory", json!({"id": 1})),
            ("complete_refinement", json!({"summary": "Less tea."})),
        ] {
            let result = call(&wren.agent, id, tool, arguments).await;
            assert_ne!(result["type"], "error", "{result}");
        }
        let minute = Duration::from_secs(60);
        match guess.0 {
            Field::ImmutableTags => wren.clock.advance(minute),
            // What is newer is known by its place in the log, whatever the clock was set to.
            _ => wren.clock.put_back(minute),
        }
        wren.configure(&[guess]).await;
        let before = wren.memories().await;
        let seen = wren.agent.sessions().rehearsal_facts(id, &person()).await;
        let seen = seen.unwrap().unwrap();
        assert_eq!((seen.edits, seen.not_applied.len()), (2, 0));
        for refused in [
            seen.outcome.unwrap_err(),
            wren.try_apply(id).await.unwrap_err(),
        ] {
            assert_eq!(refused.code(), "not_applicable", "{guess:?}");
            let why = refused.to_string();
            assert!(why.contains("an administrator has set the name"), "{why}");
        }
        assert_eq!(wren.memories().await, before);
        // The agent reads its own texts, and applies it.
        let own = wren.agent.as_actor();
        let applied = wren.agent.sessions().apply_rehearsal(id, &own).await;
        let kept_out = usize::from(guess.1 == Some("vow"));
        assert_eq!(applied.unwrap().not_applied.len(), kept_out, "{guess:?}");
        assert!(wren.facts(1).await.constitutional);
    }
}

/// A rehearsal that archives: the diff shows what comes under which, and applying does the same.
#[tokio::test]
async fn spec_3_17_a_rehearsal_that_archives_is_applied_as_it_was_shown() {
    let wren = furnished().await;
    let before = wren.memories().await;
    let id = rehearsing(&wren).await;
    for (tool, arguments) in [
        (
            "consolidate_memories",
            json!({"ids": [10, 11], "content": "Rain fell the whole day."}),
        ),
        ("delete_memory", json!({"ids": [8], "replaced_by": 9})),
        ("delete_memory", json!({"ids": [14]})),
        ("complete_refinement", json!({"summary": "Less rain."})),
    ] {
        let result = call(&wren.agent, id, tool, arguments).await;
        assert_ne!(result["type"], "error", "{result}");
    }
    assert_eq!(wren.memories().await, before);
    let shown = changes(&wren, id).await;
    let places = shown.iter().map(|change| {
        let after = &change.after;
        let under = after.under.map(|under| under.0);
        (change.number.0, after.kind.as_str(), under)
    });
    let places: Vec<_> = places.collect();
    assert!(places.contains(&(14, "archival", None)), "{places:?}");
    let facts = wren.agent.sessions().rehearsal_facts(id, &person()).await;
    let facts = facts.unwrap().unwrap();
    let under = |number: u64| {
        let mut changes = facts.changes.iter();
        let change = changes.find(|change| change.after.number.0 == number);
        change.unwrap().under.map(|under| under.0)
    };
    assert_eq!(
        [8, 10, 11, 14].map(under),
        [Some(9), Some(17), Some(17), None]
    );
    let summary = facts.changes.iter().find(|change| change.before.is_none());
    assert_eq!(summary.unwrap().made_of, [Number(10), Number(11)]);

    // Another number than in the rehearsal.
    assert_eq!(wren.remember("It snows.").await, 17);
    let applied = wren.apply(id).await;
    assert_eq!(applied.not_applied, []);
    let session = &applied.session;
    assert_eq!((session.archived, session.summaries), (4, 1));
    for (number, under) in [(8, Some(9)), (10, Some(18)), (11, Some(18)), (14, None)] {
        let memory = wren.facts(number).await;
        assert_eq!(memory.kind.as_str(), "archival");
        assert_eq!(memory.under, under.map(Number), "#{number}");
    }
    let verified = wren.agent.log().verify().await.unwrap();
    assert_eq!(verified.mismatches, []);
    let counted = verified.originals.unwrap();
    assert_eq!((counted.archived, counted.lost), (4, 0));
    wren.check().await;
}

#[tokio::test]
async fn spec_3_11_a_rehearsal_has_ten_edits() {
    let wren = TestAgent::with_notes(60).await;
    let off = [(Field::LossGuard, Some("off"))];
    wren.configure(&off).await;
    let id = rehearsing(&wren).await;
    check_cap(&wren.agent, id).await;
    assert_eq!(wren.kept().await.len(), 60);
}

#[tokio::test]
async fn spec_3_2_a_rehearsal_is_the_agents_one_session_until_it_is_left_or_cancelled() {
    let wren = TestAgent::new(&MEMORIES).await;
    let before = wren.memories().await;
    let id = rehearsing(&wren).await;
    let refused = wren.agent.open_own(Mode::Full).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Start(StartRefusal::SessionOpen(open)) if *open == id),
        "{refused}"
    );
    call(&wren.agent, id, "delete_memory", json!({"id": 6})).await;
    wren.clock.advance(Duration::from_secs(31 * 60));
    let late = call(&wren.agent, id, "delete_memory", json!({"id": 1})).await;
    assert_eq!(late["code"], "session_over");
    let left = wren.agent.views().session(id).await.unwrap();
    assert_ended(&left, State::Abandoned, "idle");

    let id = rehearsing(&wren).await;
    call(&wren.agent, id, "delete_memory", json!({"id": 6})).await;
    let cancelled = wren.agent.sessions().cancel(id, &person()).await.unwrap();
    assert_eq!(cancelled.state, State::Abandoned);
    let refused = wren.try_apply(id).await;
    assert!(matches!(refused, Err(Error::NotApplicable { .. })));
    assert_eq!(wren.memories().await, before);
    assert!(wren.agent.log().verify().await.unwrap().valid);
}

/// An edit of a copy writes no record, and is still seen by a process with cached memories.
#[tokio::test]
async fn spec_3_17_an_edit_of_a_rehearsal_is_decided_on_the_edits_of_every_process() {
    let wren = TestAgent::with_notes(60).await;
    let other = TestAgent::of(&wren.another_process()).await;
    let id = rehearsing(&wren).await;
    let delete = async |wren: &TestAgent, number: u64| {
        let answer = call(&wren.agent, id, "delete_memory", json!({"id": number})).await;
        let kind = answer["code"].as_str().or(answer["type"].as_str());
        kind.unwrap().to_owned()
    };
    // Both read all memories.
    assert_eq!(delete(&wren, 1).await, "deleted");
    assert_eq!(delete(&other, 2).await, "deleted");
    assert_eq!(delete(&wren, 2).await, "not_found");
    assert_eq!(delete(&other, 1).await, "not_found");
    assert_eq!(delete(&wren, 3).await, "deleted");
    assert_eq!(delete(&other, 3).await, "not_found");
    assert_eq!(numbers(&changes(&wren, id).await), [1, 2, 3]);
    let session = wren.agent.views().session(id).await.unwrap();
    assert_eq!((session.edits, session.stats.deleted), (3, 3));
}

#[tokio::test]
async fn spec_3_17_two_calls_at_once_both_count() {
    let wren = TestAgent::new(&MEMORIES).await;
    let id = rehearsing(&wren).await;
    let (one, other) = tokio::join!(
        call(&wren.agent, id, "protect_memory", json!({"id": 1})),
        call(&wren.agent, id, "protect_memory", json!({"id": 2})),
    );
    assert_eq!(
        (&one["type"], &other["type"]),
        (&json!("protected"), &json!("protected"))
    );
    assert_eq!(numbers(&changes(&wren, id).await), [1, 2, 5]);
    let session = wren.agent.views().session(id).await.unwrap();
    assert_eq!(session.stats.protected, 2);
}

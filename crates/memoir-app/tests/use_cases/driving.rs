//! The loop that drives a model: its ends, its limits, and its handling of ordinary irregularities.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use memoir_app::{
    Error, InstallationSettings, MemoryInput, Price, RecordFilter, SessionLimits,
    sessions::{Progress, RefineOptions},
};
use memoir_domain::{
    agent::{Field, LossGuard},
    audit::Actor,
    lifecycle::{NothingToRefine, StartRefusal},
    session::{FailureClass, Mode, State},
    tools::RefusalCode,
};
use memoir_model::{ModelError, ModelMessage, Outage, Providers};
use memoir_testkit::{ModelScript, TestedText, Turn, input};
use serde_json::json;

use crate::installation::{
    TestAgent, assert_ended, cancel_by, complete, configure_by, delete, lens, new_folder, person,
    save_by, settings, sweep,
};

/// How often a kind of progress was seen.
macro_rules! count_of {
    ($seen:expr, $kind:pat) => {
        $seen.iter().filter(|one| matches!(one, $kind)).count()
    };
}

const DUPLICATES: [&str; 6] = [
    "Marta prefers linen thread for the spine of every book.",
    "marta prefers linen thread for the spine of every book",
    "The workshop opens at nine, and Joaquín is always there first.",
    "I promised Marta to keep the ledger of orders in order.",
    "The cat sleeps on the paper that was delivered in the morning.",
    "The cat sleeps on the paper that was delivered in the morning.",
];

#[tokio::test]
async fn spec_3_15_a_session_ends_with_what_was_measured() {
    let wren = TestAgent::new(&DUPLICATES).await;
    let (session, seen) = wren.refine([delete(2), complete()]).await;
    assert_eq!(session.state, State::Completed);
    assert_eq!((session.edits, session.stats.deleted), (1, 1));
    assert_eq!(
        session.pre_session_tokens.unwrap() - session.post_session_tokens.unwrap(),
        14
    );
    assert_eq!(session.usage.calls, 3);
    assert_eq!(wren.kept().await, [1, 3, 4, 5]);
    let journal = wren.journal().await;
    assert_eq!(
        journal,
        ["Refinement session: 1 taken out of the prompt; 74 → 60 tokens: Put doubles together."]
    );
    assert_eq!(
        wren.actions().await[7..],
        [
            "memory_deduplicated",
            "memory_refinement_delete",
            "memory_refinement_complete"
        ]
    );
    let records = wren.seen().records(&RecordFilter::default()).await.unwrap();
    // SPEC 3.1.
    let data = records.last().unwrap().words.data.expose();
    assert_eq!(data["model"], "scripted:model");
    assert!(matches!(seen[1], Progress::Asked));
    let Progress::Opened {
        duplicates_removed,
        pre_session_tokens,
        ..
    } = seen[3]
    else {
        panic!("{seen:?}");
    };
    assert_eq!((duplicates_removed, pre_session_tokens), (1, 74));
    assert!(matches!(seen.last(), Some(Progress::Ended { .. })));
    wren.check().await;
}

#[tokio::test]
async fn spec_3_3_a_refusal_is_recorded_and_not_asked_again() {
    let wren = TestAgent::new(&DUPLICATES).await;
    wren.script([Turn::text("No. I want to rest.")]);
    let driven = wren.drive().await;
    assert_eq!(driven.state, State::Declined);
    assert_eq!(driven.words.reason.unwrap().expose(), "No. I want to rest.");
    assert_eq!(
        wren.kept().await.len(),
        6,
        "duplicates are merged only after consent"
    );
    assert_eq!(
        wren.actions().await.last().unwrap(),
        "memory_refinement_declined"
    );
    let account = wren.memoir.account("default").await.unwrap();
    assert_eq!(sweep(&account).await, 0);
    // The next weekly slot asks again, once.
    wren.clock.advance(Duration::from_secs(7 * 86_400));
    wren.script([Turn::text("not now")]);
    assert_eq!(sweep(&account).await, 1);
    assert_eq!(sweep(&account).await, 0);
}

/// Nor does a laxer threshold (SPEC 2.7), budget or list of immutable tags (SPEC 3.14).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_3_3_what_is_made_laxer_while_the_agent_is_asked_does_not_count() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    for memory in DUPLICATES {
        wren.remember(memory).await;
    }
    let vow = MemoryInput {
        tags: vec!["voice".into()],
        ..input("I vowed to come back to the lighthouse.")
    };
    let long = "The tide table of May. ".repeat(200);
    wren.save(&[vow, input(&long)]).await;
    let archive = [(Field::LossGuard, Some("archive"))];
    wren.configure(&archive).await;
    let agent = wren.agent.clone();
    let runtime = tokio::runtime::Handle::current();
    let asked = Turn::respond(move |_| {
        let (agent, runtime) = (agent.clone(), runtime.clone());
        // A thread of its own: this one is in the middle of the session.
        let thread = std::thread::spawn(move || {
            // The second memory is a duplicate of the first up to case.
            let laxer = [
                (Field::LossGuard, Some("off")),
                (Field::DuplicateMatch, Some("ignore_case")),
                (Field::RefinementThreshold, Some("0.5")),
                (Field::CoreTokenBudget, Some("1000")),
                (Field::ImmutableTags, Some("[]")),
            ];
            runtime.block_on(configure_by(&agent, &laxer, &person()));
        });
        thread.join().unwrap();
        Turn::text("YES")
    });
    let script = wren.script([asked, delete(2), delete(7), complete()]);
    let driven = wren.drive().await;
    assert_eq!(driven.state, State::Completed);
    assert_eq!(
        (driven.loss_guard, driven.archived, driven.refused_calls),
        (Some(LossGuard::Archive), 1, 1)
    );
    assert_eq!(driven.threshold, Some(0.75));
    let memory = wren.facts(2).await;
    assert_eq!(
        (memory.kind.as_str(), memory.discarded_at),
        ("archival", None)
    );
    let prompt = script.requests()[1].system.clone();
    assert!(!prompt.expose().contains("loss guard is `off`"));
    assert!(prompt.expose().contains("began within your budget"));
    assert!(wren.agent.log().verify().await.unwrap().valid);
}

/// What it may do was stated when it was asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_3_3_what_is_saved_while_the_agent_is_asked_allows_no_more() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    for memory in DUPLICATES {
        wren.remember(memory).await;
    }
    let narrow = [
        (Field::LossGuard, Some("archive")),
        (Field::CoreTokenBudget, Some("1000")),
    ];
    wren.configure(&narrow).await;
    let agent = wren.agent.clone();
    let runtime = tokio::runtime::Handle::current();
    let asked = Turn::respond(move |_| {
        let (agent, runtime) = (agent.clone(), runtime.clone());
        // A thread of its own: this one is in the middle of the session.
        let thread = std::thread::spawn(move || {
            let long = [input(&"The tide table of May. ".repeat(200))];
            runtime.block_on(save_by(&agent, &long, &agent.as_actor()));
        });
        thread.join().unwrap();
        Turn::text("YES")
    });
    let summary = json!({"ids": [3, 4], "content": "The ledger of orders is at the workshop."});
    let merge = Turn::call("consolidate_memories", summary);
    let script = wren.script([asked, merge, complete()]);
    let driven = wren.drive().await;
    assert_eq!(driven.state, State::Completed);
    assert!(driven.pre_session_tokens > Some(1_000));
    assert_eq!((driven.summaries, driven.refused_calls), (0, 1));
    let requests = script.requests();
    let prompt = requests[1].system.expose();
    assert!(prompt.contains("began within your budget"), "{prompt}");
    let Some(ModelMessage::ToolResult { content, .. }) = requests[2].messages.last() else {
        panic!("{:?}", requests[2].messages);
    };
    assert!(
        content.expose().contains("within_budget"),
        "{}",
        content.expose()
    );
}

#[tokio::test]
async fn spec_3_3_an_empty_answer_is_asked_for_again_and_then_named() {
    for (answers, end) in [
        (vec!["", "YES", "done", "done"], State::Abandoned),
        (vec![" \n", "No, thank you."], State::Declined),
        (vec!["", " "], State::Declined),
        (vec!["<think>Shall I?</think>", ""], State::Declined),
    ] {
        let wren = TestAgent::new(&DUPLICATES).await;
        let script = wren.script(answers.iter().map(|said| Turn::text(said)));
        let driven = wren.drive().await;
        assert_eq!(driven.state, end, "{answers:?}");
        let is_named = answers.last().unwrap().trim().is_empty();
        assert_eq!(driven.end_reason == Some("no_answer"), is_named);
        // An empty answer is no reason.
        let reason = driven.words.reason.as_ref().map(|reason| reason.expose());
        assert!(!is_named || reason == Some("no_answer"), "{answers:?}");
        assert!(script.requests().len() >= 2, "{answers:?}");
    }
}

#[tokio::test]
async fn spec_3_16_a_model_that_stops_is_reminded_once() {
    let wren = TestAgent::new(&DUPLICATES).await;
    let (driven, seen) = wren
        .refine([delete(2), Turn::text("That was it."), complete()])
        .await;
    assert_eq!(driven.state, State::Completed);
    assert_eq!(count_of!(seen, Progress::Reminded), 1);

    let wren = TestAgent::new(&DUPLICATES).await;
    let (driven, _) = wren
        .refine([
            delete(2),
            Turn::text("Done."),
            delete(99),
            Turn::text("That was it."),
        ])
        .await;
    assert_ended(&driven, State::Abandoned, "stopped");
    assert!(!wren.kept().await.contains(&2), "edits stay");
    assert_eq!(
        wren.actions().await.last().unwrap(),
        "memory_refinement_abandoned"
    );
}

#[tokio::test]
async fn spec_3_16_an_answer_that_was_cut_off_is_neither_a_no_nor_a_stop() {
    let wren = TestAgent::new(&DUPLICATES).await;
    let script = wren.script([
        Turn::text("<thinking>Should I? Let me see").cut(),
        Turn::text("YES"),
        delete(2).cut(),
        Turn::text("I was about to").cut(),
        delete(2),
        complete(),
    ]);
    let mut seen = Vec::new();
    let (lens, options) = (wren.seen(), RefineOptions::default());
    let mut note = |progress: &Progress| seen.push(progress.clone());
    let driven = lens.refine(&options, &mut note).await.unwrap();
    assert_eq!(driven.state, State::Completed);
    // A cut-off call was not carried out, and not echoed.
    assert_eq!((driven.edits, driven.refused_calls), (1, 0));
    let requests = script.requests();
    let room = requests.iter().map(|request| request.max_output_tokens);
    assert!(room.eq([4_096, 16_384, 16_384, 65_536, 262_144, 262_144]));
    assert_eq!(requests[2].messages, requests[4].messages);
    let stopped = count_of!(seen, Progress::Reminded | Progress::Declined { .. });
    assert_eq!(stopped, 0);

    // Clear consent is valid, whatever would have followed.
    let wren = TestAgent::new(&DUPLICATES).await;
    wren.script([Turn::text("YES, since I").cut(), complete()]);
    assert_eq!(wren.drive().await.state, State::Completed);

    let wren = TestAgent::new(&DUPLICATES).await;
    let cut = || Turn::text("Let me think about").cut();
    let turns = [delete(2), cut(), cut(), cut(), complete()];
    let (driven, _) = wren.refine(turns).await;
    assert_ended(&driven, State::Failed, "provider");
    assert_eq!(driven.failure, Some(FailureClass::UnreadableResponse));
    insta::assert_snapshot!(driven.words.reason.unwrap().expose(), @"the model's answer was cut off at its output limit of 65536 tokens, 3 times in a row; give it more room with `answer_tokens`, or choose a model that says less before it answers");
    assert_eq!(
        wren.journal().await,
        [
            "Refinement session ended without completing, because your model could not be asked any more (1 taken out \
          of the prompt; 74 → 60 tokens). What it did stays; it can be undone."
        ]
    );
}

/// How a session ended whose every answer is cut off, after so many tokens of the prompt and at most so many of the
/// answer, and the room that was asked for.
async fn cut_off_with(
    context_tokens: Option<u32>,
    input: u64,
    output: [u64; 3],
) -> (String, Vec<u32>) {
    let wren = TestAgent::new(&DUPLICATES).await;
    let cut = Turn::text("Let me think about").cut();
    let cut = output.map(|output| cut.clone().with_usage(input, output));
    let script = ModelScript::new([Turn::text("YES")].into_iter().chain(cut));
    let script = Arc::new(match context_tokens {
        Some(tokens) => script.with_context_tokens(tokens),
        None => script,
    });
    wren.model.set(script.clone());
    let driven = wren.drive().await;
    assert_eq!(driven.state, State::Failed);
    let requests = script.requests();
    let room = requests[1..].iter().map(|one| one.max_output_tokens);
    (
        driven.words.reason.unwrap().expose().to_owned(),
        room.collect(),
    )
}

#[tokio::test]
async fn spec_3_16_an_answer_that_was_cut_off_ends_with_what_cut_it_off() {
    // The server has a limit of its own, which was reached.
    let (reason, room) = cut_off_with(None, 2_000, [900; 3]).await;
    insta::assert_snapshot!(reason, @"the model's answer was cut off after 900 tokens, though 65536 were allowed, 3 times in a row; the server has a limit of its own: raise that (of Ollama `num_ctx` and `num_predict`, of vLLM `max-model-len`), and set `context_tokens` of the provider");
    assert_eq!(room, [4_096, 16_384, 65_536]);
    // The context is full: no more room can be had in it.
    let (reason, room) = cut_off_with(Some(8_192), 7_200, [950; 3]).await;
    insta::assert_snapshot!(reason, @"the model's answer was cut off, since prompt and answer fill its context of 8192 tokens; no more room is left in it: start the server with a larger context and set `context_tokens` of the provider, or choose a model that reads more");
    assert_eq!(room, [4_096]);
    // More room as far as the context has it.
    let (reason, room) = cut_off_with(Some(16_000), 6_000, [4_096, 10_000, 10_000]).await;
    reason.tells("fill its context of 16000 tokens");
    assert_eq!(room, [4_096, 10_000]);
    // The prompt with the room for the answer is within it from the beginning.
    let (_, room) = cut_off_with(Some(4_096), 2_000, [900; 3]).await;
    assert!(
        room.iter().all(|room| (256..3_500).contains(room)),
        "{room:?}"
    );
}

#[tokio::test]
async fn spec_3_16_a_model_that_calls_no_tool_ends_with_what_it_did_instead() {
    let typed = "<tool_call>{\"name\": \"complete_refinement\", \"arguments\": {\"summary\": \"done\"}}</tool_call>";
    for (said, reason) in [
        (typed, "calls_as_text"),
        (
            "[TOOL_CALLS]complete_refinement{\"summary\": \"done\"}",
            "calls_as_text",
        ),
        ("", "no_answer"),
        (" \n", "no_answer"),
        ("I am done.", "stopped"),
    ] {
        let wren = TestAgent::new(&DUPLICATES).await;
        let before = wren.kept().await;
        wren.script([Turn::text("YES"), Turn::text(said), Turn::text(said)]);
        let driven = wren.drive().await;
        assert_eq!(
            (driven.state, driven.end_reason),
            (State::Abandoned, Some(reason)),
            "{said}"
        );
        // The second of two identical memories leaves when a session begins.
        assert_eq!(wren.kept().await, before[..5]);
    }
}

#[tokio::test]
async fn spec_3_16_a_call_that_was_typed_as_text_is_named_in_the_reminder() {
    let wren = TestAgent::new(&DUPLICATES).await;
    let script = wren.script([
        Turn::text("YES"),
        Turn::text("```json\n{\"name\": \"delete_memory\", \"arguments\": {\"id\": 2}}\n```"),
        complete(),
    ]);
    let driven = wren.drive().await;
    assert_eq!((driven.state, driven.edits), (State::Completed, 0));
    let requests = script.requests();
    let Some(ModelMessage::User(reminder)) = requests[2].messages.last() else {
        panic!("it is reminded")
    };
    insta::assert_snapshot!(reminder.expose(), @"The session is still open. You wrote a call of delete_memory as text, and nothing was done: call the tool itself. If you are done, or if there is nothing to do, call complete_refinement with a short summary. Zero edits is a good outcome.");
}

#[tokio::test]
async fn spec_3_16_the_limit_of_tokens_grows_with_the_ledger() {
    let settings = InstallationSettings {
        limits: SessionLimits {
            tokens: 2_000,
            ..SessionLimits::default()
        },
        context_tokens: 200_000,
        ..settings()
    };
    let long: Vec<String> = (0..60)
        .map(|number| format!("{number} ").repeat(200))
        .collect();
    let texts: Vec<&str> = long.iter().map(String::as_str).collect();
    let search = || Turn::call("search_memories", json!({"query": "no such thing"}));
    for (texts, expected) in [
        (&texts[..1], State::Abandoned),
        (&texts[..], State::Completed),
    ] {
        let wren = TestAgent::with(texts, settings.clone()).await;
        // A hundred and ten tokens each, by the model's count.
        let mut turns: Vec<Turn> = (0..20).map(|_| search()).collect();
        turns.push(complete());
        let (driven, _) = wren.refine(turns).await;
        assert_eq!(driven.state, expected, "{} memories", texts.len());
    }
}

#[tokio::test]
async fn spec_3_8_refused_calls_are_counted_and_cost_no_write() {
    let wren = TestAgent::new(&DUPLICATES).await;
    let (driven, _) = wren
        .refine([
            delete(99),
            Turn::calls([("drop_table", json!({})), ("delete_memory", json!({}))]),
            delete(2),
            delete(2),
            complete(),
        ])
        .await;
    assert_eq!(driven.refused_calls, 4);
    let id = driven.id;
    let read = wren.agent.views().session(id).await.unwrap();
    assert_eq!(read.refused_calls, 4);

    // The agent that drives itself reads them immediately; the store gets them with the next write.
    wren.clock.advance(Duration::from_secs(1));
    let (session, _) = wren.agent.open_own(Mode::Full).await.unwrap();
    let stored = || async {
        let rows = wren.store.session_page(wren.agent.scope(), None, 1).await;
        let rows = rows.unwrap();
        let open: serde_json::Value = serde_json::from_str(&rows[0].document.open).unwrap();
        open["refused_calls"].as_u64().unwrap()
    };
    for count in 1..=3 {
        wren.agent
            .call_tool(session.id, "delete_memory", Some(&json!({"id": 99})))
            .await
            .unwrap();
        let seen = wren.agent.views().session(session.id).await.unwrap();
        assert_eq!((seen.refused_calls, stored().await), (count, 0));
    }
    let cancelled = cancel_by(&wren.agent, session.id, &person()).await;
    assert_eq!((cancelled.refused_calls, stored().await), (3, 3));
    wren.check().await;
}

#[tokio::test(start_paused = true)]
async fn spec_3_8_refused_calls_and_usage_count_as_they_happen() {
    let wren = TestAgent::new(&DUPLICATES).await;
    let slow = complete().after(Duration::from_secs(60));
    let meanwhile = async {
        tokio::time::sleep(Duration::from_secs(30)).await;
        let page = wren.agent.views().session_page(None, 1).await.unwrap();
        let live = wren.agent.sessions().live_session(page[0].id).await;
        [page[0].clone(), live.unwrap().session]
    };
    let ((driven, _), seen) = tokio::join!(wren.refine([delete(99), slow]), meanwhile);
    for session in seen {
        assert_eq!((session.refused_calls, session.usage.calls), (1, 2));
    }
    assert_eq!((driven.refused_calls, driven.usage.calls), (1, 3));
    wren.check().await;
}

#[tokio::test]
async fn spec_3_8_oddities_of_models_are_ordinary() {
    let wren = TestAgent::new(&DUPLICATES).await;
    let (driven, seen) = wren
        .refine([
            Turn::malformed_call("delete_memory", "{\"id\": 2"),
            Turn::calls([
                ("drop_table", json!({})),
                ("delete_memory", json!({"id": "#2"})),
                ("update_memory", json!({"id": 99, "content": "x"})),
            ]),
            Turn::reply("Let me finish.", vec![]),
            complete(),
        ])
        .await;
    assert_eq!(driven.state, State::Completed);
    let refused: Vec<_> = seen
        .iter()
        .filter_map(|progress| match progress {
            Progress::Answered { refused, .. } => *refused,
            _ => None,
        })
        .collect();
    assert_eq!(
        refused,
        [
            RefusalCode::InvalidArgument,
            RefusalCode::UnknownTool,
            RefusalCode::NotFound
        ]
    );
    assert_eq!(driven.stats.deleted, 1);
}

#[tokio::test]
async fn spec_3_16_every_call_of_a_flood_is_answered_and_few_are_carried_out() {
    let wren = TestAgent::new(&DUPLICATES).await;
    let flood = (0..500).map(|_| ("search_memories", json!({"query": "cat"})));
    let (driven, _) = wren.refine([Turn::calls(flood), complete()]).await;
    assert_eq!(driven.state, State::Completed);
    assert_eq!(driven.usage.calls, 3);
}

#[tokio::test]
async fn spec_3_13_the_breaker_undoes_the_whole_session() {
    let wren = TestAgent::new(&DUPLICATES).await;
    let strict = (Field::RefinementThreshold, Some("0.9"));
    wren.configure(&[strict]).await;
    // The duplicate is merged before the session's core size is fixed, and stays merged.
    let (driven, _) = wren.refine([complete()]).await;
    assert_eq!(driven.state, State::Completed);
    let before = wren.memories().await;
    let update = Turn::call(
        "update_memory",
        json!({"id": 1, "content": "Marta prefers linen thread for every book."}),
    );
    let protect = Turn::call("protect_memory", json!({"id": 4}));
    let turns = [update, protect, delete(2), delete(3), complete()];
    let (driven, seen) = wren.refine(turns).await;
    assert_ended(&driven, State::RolledBack, "breaker_mass");
    assert_eq!(count_of!(seen, Progress::Tripped { .. }), 1);
    // Every byte, flag, tag and date.
    assert_eq!(wren.memories().await, before);
    let journal = wren.journal().await;
    let told = journal.last().unwrap();
    told.begins("Refinement session undone, because your core memories went from");
    let actions = wren.actions().await;
    assert!(
        actions.ends_with(
            &["memory_refinement_delete", "memory_refinement_rollback"].map(str::to_owned)
        )
    );
    wren.check().await;
}

#[tokio::test(start_paused = true)]
async fn spec_3_16_failing_providers_are_asked_again_with_growing_waits() {
    let wren = TestAgent::with(&DUPLICATES, InstallationSettings::default()).await;
    let unavailable = || {
        Turn::Error(ModelError::Unavailable {
            outage: Outage::Status(500),
            retry_after: None,
        })
    };
    let limited = Turn::Error(ModelError::RateLimited {
        retry_after: Some(Duration::from_secs(17)),
    });
    let began = tokio::time::Instant::now();
    let outages = [unavailable(), unavailable(), limited, unavailable()];
    let (driven, seen) = wren.refine(outages.into_iter().chain([complete()])).await;
    assert_eq!(driven.state, State::Completed);
    let waits: Vec<f64> = seen
        .iter()
        .filter_map(|progress| match progress {
            Progress::Waiting { seconds, .. } => Some(*seconds),
            _ => None,
        })
        .collect();
    assert_eq!(waits, [1.0, 2.0, 17.0, 8.0]);
    assert_eq!(began.elapsed().as_secs(), 28);
}

#[tokio::test(start_paused = true)]
async fn spec_3_16_a_provider_that_stays_away_fails_the_session_and_the_edits_stay() {
    let wren = TestAgent::with(&DUPLICATES, InstallationSettings::default()).await;
    let outage = || {
        Turn::Error(ModelError::Unavailable {
            outage: Outage::Connect,
            retry_after: None,
        })
    };
    let (driven, _) = wren
        .refine([vec![delete(2)], (0..6).map(|_| outage()).collect()].concat())
        .await;
    assert_ended(&driven, State::Failed, "provider");
    assert_eq!(driven.failure, Some(FailureClass::Unreachable));
    assert!(!wren.kept().await.contains(&2));
    let rejected = Turn::rejected(401, FailureClass::KeyRefused);
    let (driven, _) = wren.refine([rejected]).await;
    assert_eq!(driven.state, State::Failed);
    assert_eq!(driven.failure, Some(FailureClass::KeyRefused));
    assert_eq!(
        wren.actions().await.last().unwrap(),
        "memory_refinement_failed"
    );
}

#[tokio::test(start_paused = true)]
async fn spec_3_16_a_server_on_this_machine_that_does_not_run_is_not_waited_for() {
    let wren = TestAgent::with(&DUPLICATES, InstallationSettings::default()).await;
    let outage = || {
        Turn::Error(ModelError::Unavailable {
            outage: Outage::NotListening(11_434),
            retry_after: None,
        })
    };
    wren.script([outage()]);
    let (lens, options) = (wren.seen(), RefineOptions::default());
    let mut seen = Vec::new();
    let mut observer = |progress: &Progress| seen.push(progress.clone());
    let driven = lens.refine(&options, &mut observer).await.unwrap();
    assert_eq!(
        (driven.state, driven.failure),
        (State::Failed, Some(FailureClass::Unreachable))
    );
    assert_eq!(count_of!(seen, Progress::Waiting { .. }), 0);
    // One that has responded, also with the consent alone, may be starting again.
    for before in [vec![], vec![delete(2)]] {
        let turns = before.into_iter().chain([outage(), complete()]);
        let (driven, seen) = wren.refine(turns).await;
        assert_eq!(driven.state, State::Completed);
        assert_eq!(count_of!(seen, Progress::Waiting { .. }), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn spec_3_16_each_limit_abandons_the_session() {
    let search = || Turn::call("search_memories", json!({"query": "cat"}));
    let with = |limits: SessionLimits| InstallationSettings {
        limits,
        prices: [(
            "scripted:model".parse().unwrap(),
            Price {
                input_per_million: 1.0,
                output_per_million: 1.0,
            },
        )]
        .into(),
        ..InstallationSettings::default()
    };
    type Limit = fn(&mut SessionLimits);
    let cases: [(Limit, &str); 3] = [
        (|limits| limits.turns = 3, "turn_limit"),
        (|limits| limits.tokens = 1, "token_limit"),
        (|limits| limits.cost = Some(0.000_001), "cost_limit"),
    ];
    for (limit, reason) in cases {
        let mut limits = SessionLimits::default();
        limit(&mut limits);
        let wren = TestAgent::with(&DUPLICATES, with(limits)).await;
        let turns: Vec<Turn> = std::iter::once(delete(2))
            .chain((0..9).map(|_| search()))
            .collect();
        let (driven, _) = wren.refine(turns).await;
        assert_ended(&driven, State::Abandoned, reason);
        wren.check().await;
    }
    let wren = TestAgent::with(&DUPLICATES, InstallationSettings::default()).await;
    let slow = search().after(Duration::from_secs(16 * 60));
    let (driven, _) = wren.refine([slow]).await;
    assert_eq!(driven.end_reason, Some("time_limit"));
}

#[tokio::test]
async fn spec_3_14_a_model_is_offered_its_tools_as_they_work_under_the_guard() {
    for (guard, stated) in [("off", "Discard one"), ("archive", "Take one")] {
        let wren = TestAgent::new(&DUPLICATES).await;
        wren.configure(&[(Field::LossGuard, Some(guard))]).await;
        let script = wren.script([Turn::text("YES"), complete()]);
        assert_eq!(wren.drive().await.state, State::Completed);
        let requests = script.requests();
        let mut tools = requests[1].tools.iter();
        let tool = tools.find(|tool| tool.name == "delete_memory").unwrap();
        let description = &tool.description;
        assert!(description.starts_with(stated), "{description}");
    }
}

#[tokio::test]
async fn spec_3_17_a_session_for_duplicates_has_four_tools() {
    let wren = TestAgent::new(&DUPLICATES).await;
    let options = RefineOptions {
        mode: Mode::DedupOnly,
        ..RefineOptions::default()
    };
    let update = Turn::call("update_memory", json!({"id": 1, "content": "x"}));
    let (driven, seen) = wren
        .refine_with(&options, [update, delete(2), complete()])
        .await;
    assert_eq!(
        (driven.state, driven.mode),
        (State::Completed, Mode::DedupOnly)
    );
    assert!(seen.iter().any(|progress| matches!(
        progress,
        Progress::Answered {
            refused: Some(RefusalCode::Mode),
            ..
        }
    )));
}

async fn try_refine(wren: &TestAgent) -> Result<(), Error> {
    let (lens, options) = (wren.seen(), RefineOptions::default());
    lens.refine(&options, &mut |_| {}).await.map(drop)
}

#[tokio::test]
async fn spec_3_1_without_core_memories_there_is_nothing_to_refine() {
    let wren = TestAgent::new(&[]).await;
    assert!(matches!(
        try_refine(&wren).await,
        Err(Error::Start(StartRefusal::NothingToRefine(
            NothingToRefine::NoCoreMemories
        )))
    ));
}

#[tokio::test]
async fn spec_2_2_without_a_model_a_session_is_refused() {
    let wren = TestAgent::with(&DUPLICATES, settings()).await;
    wren.configure(&[(Field::Model, None)]).await;
    assert!(matches!(try_refine(&wren).await, Err(Error::NoModel)));
}

#[tokio::test]
async fn spec_3_16_a_usage_beyond_all_measure_ends_the_session_and_breaks_nothing() {
    let wren = TestAgent::new(&DUPLICATES).await;
    wren.script([
        Turn::text("YES").with_usage(u64::MAX, u64::MAX),
        delete(2).with_usage(u64::MAX, u64::MAX),
    ]);
    let driven = wren.drive().await;
    assert_ended(&driven, State::Abandoned, "token_limit");
    wren.check().await;
}

#[tokio::test]
async fn spec_3_3_an_agent_is_asked_once_by_two_sweeps_at_once() {
    let wren = TestAgent::new(&DUPLICATES).await;
    wren.clock.advance(Duration::from_secs(7 * 86_400));
    let account = wren.memoir.account("default").await.unwrap();
    // This sweep is busy with another agent while that one reaches ours.
    let (agent, trigger) = account.due_agents().await.unwrap().remove(0);
    let script = wren.script([Turn::text("No."), Turn::text("YES")]);
    assert_eq!(sweep(&account).await, 1);
    let options = RefineOptions {
        trigger,
        ..RefineOptions::default()
    };
    let second = lens(&agent).refine(&options, &mut |_| {}).await;
    assert!(matches!(second, Err(Error::NotDue)), "{second:?}");
    assert_eq!(script.requests().len(), 1);
    assert_eq!(wren.seen().session_page(None, 10).await.unwrap().len(), 1);
}

/// Far more than a context of so many tokens holds; the last two are duplicates.
const SMALL_CONTEXT_TOKENS: u32 = 8_000;

async fn outgrown(settings: InstallationSettings) -> TestAgent {
    let mut memories: Vec<String> = (0..40)
        .map(|at| format!("Note {at:02}: {}", "words of some length ".repeat(90)))
        .collect();
    memories.push(memories[39].to_uppercase());
    let wren = TestAgent::with(&[], settings).await;
    for memory in &memories {
        wren.clock.advance(Duration::from_secs(60));
        save_by(&wren.agent, &[input(memory)], &Actor::agent("wren")).await;
    }
    wren
}

/// Gives the agent the built-in model.
fn be_careful(wren: &TestAgent) {
    let providers = Providers::with_environment(BTreeMap::new(), |_| None).unwrap();
    let careful = providers.connect(&"builtin:careful".parse().unwrap());
    wren.model.set(careful.unwrap());
}

#[tokio::test]
async fn spec_3_3_an_agent_that_outgrew_its_models_context_can_be_asked() {
    let default = InstallationSettings {
        context_tokens: SMALL_CONTEXT_TOKENS,
        ..settings()
    };
    let script = || ModelScript::new([Turn::text("YES"), complete()]);
    for (settings, script) in [
        (
            settings(),
            script().with_context_tokens(SMALL_CONTEXT_TOKENS),
        ),
        // A model that states no context has the installation's default.
        (default, script()),
    ] {
        let wren = outgrown(settings).await;
        let script = Arc::new(script);
        wren.model.set(script.clone());
        let driven = wren.drive().await;
        assert_eq!(driven.state, State::Completed);
        for request in script.requests() {
            assert!(request.system.chars() < 4 * SMALL_CONTEXT_TOKENS as usize);
        }
        let asked = &script.requests()[0];
        assert!(asked.system.expose().contains("Left out for want of room"));
        let ModelMessage::User(question) = &asked.messages[0] else {
            panic!("the first message is the question")
        };
        assert!(question.expose().contains("41"), "the counts are stated");
    }
}

#[tokio::test]
async fn spec_3_8_a_search_leaves_room_in_the_models_context() {
    let wren = outgrown(settings()).await;
    let every = json!({"until": "2030-01-01"});
    let turns = [
        Turn::text("YES"),
        Turn::call("search_memories", every),
        complete(),
    ];
    let script = ModelScript::new(turns).with_context_tokens(SMALL_CONTEXT_TOKENS);
    let script = Arc::new(script);
    wren.model.set(script.clone());
    let driven = wren.drive().await;
    assert_eq!(driven.state, State::Completed);
    let requests = script.requests();
    let Some(ModelMessage::ToolResult { content, .. }) = requests[2].messages.last() else {
        panic!("{:?}", requests[2].messages);
    };
    let found = content.expose();
    assert!(
        content.chars() < 4 * SMALL_CONTEXT_TOKENS as usize / 12,
        "{found}"
    );
    assert!(
        found.contains("Note 00") && found.contains("Left out: the last 40 of 41."),
        "{found}"
    );
}

#[tokio::test]
async fn spec_3_3_the_built_in_refiner_is_shown_every_memory() {
    let wren = outgrown(InstallationSettings {
        context_tokens: SMALL_CONTEXT_TOKENS,
        ..settings()
    })
    .await;
    be_careful(&wren);
    let driven = wren.drive().await;
    // It consents only to what it can read, and the duplicates are the newest of all.
    assert_eq!(driven.state, State::Completed);
    assert_eq!(wren.kept().await.len(), 40);
}

/// SPEC 3.4, 5.1: effects of equal texts reveal nothing of the agent's to an administrator.
#[tokio::test]
async fn spec_5_1_code_in_place_of_a_model_does_not_tell_whether_a_guess_is_right() {
    const SECRET: &str = "The PIN of the safe is 4821, as Marta told me.";
    for rehearsal in [false, true] {
        let mut outcomes = Vec::new();
        // Wrong, right, and right but for case and the mark at the end.
        for guess in [
            "The PIN of the safe is 4820, as Marta told me.",
            SECRET,
            "the PIN of the safe is 4821, as Marta told me",
        ] {
            let wren = TestAgent::new(&[]).await;
            let guard = [(Field::LossGuard, Some("off"))];
            wren.configure(&guard).await;
            for (text, actor) in [
                (SECRET, Actor::agent("wren")),
                (DUPLICATES[2], Actor::agent("wren")),
                (DUPLICATES[3], Actor::agent("wren")),
                (guess, Actor::administrator("curious")),
            ] {
                save_by(&wren.agent, &[input(text)], &actor).await;
            }
            be_careful(&wren);
            let options = RefineOptions {
                rehearsal,
                ..RefineOptions::default()
            };
            let driven = wren.seen().refine(&options, &mut |_| {}).await;
            outcomes.push(driven.unwrap_err().to_string());
            let sessions = wren.agent.views().session_page(None, 10).await.unwrap();
            assert!(sessions.is_empty());
        }
        assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]));
        assert!(outcomes[0].contains("only duplicates may leave"));
    }
}

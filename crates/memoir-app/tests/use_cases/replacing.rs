//! Saving in place of outdated memories, texts that the agent has already, promotion, and summaries that lose their
//! last source (SPEC 2.4).

use std::time::Duration;

use memoir_app::{Error, Handling, MemoryInput, Saved};
use memoir_domain::{
    agent::Field,
    audit::Actor,
    manage::ChangeRefusal,
    memory::{Kind, Number},
    origin::Origin,
    replace::NotReplaced,
    session::Mode,
};
use memoir_testkit::{archival, input, journal, replacing, tagged};
use serde_json::{Value, json};

use crate::installation::{OWNER, TestAgent, configure_by, handle_by, person};

const DAY: Duration = Duration::from_secs(86_400);

/// The agent itself.
fn me() -> Actor {
    Actor::agent("wren")
}

fn numbers(numbers: &[u64]) -> Vec<Number> {
    numbers.iter().copied().map(Number).collect()
}

async fn save(wren: &TestAgent, memory: MemoryInput, actor: &Actor) -> Saved {
    let mut saved = wren.agent.memories().save(&[memory], actor).await.unwrap();
    saved.remove(0)
}

/// The memories that were not replaced, with the reasons.
fn kept_out(saved: &Saved) -> Vec<(u64, &'static str)> {
    let kept = saved.not_replaced.iter().flatten();
    kept.map(|one| (one.number.0, one.reason.as_str()))
        .collect()
}

/// The kind of a memory, the memory above it, and whether it is active.
async fn place(wren: &TestAgent, number: u64) -> (Kind, Option<u64>, bool) {
    let memory = wren.facts(number).await;
    let under = memory.under.map(|under| under.0);
    (memory.kind, under, memory.discarded_at.is_none())
}

async fn is_valid(wren: &TestAgent) {
    let verified = wren.agent.log().verify().await.unwrap();
    assert_eq!(verified.mismatches, []);
    assert_eq!(verified.originals.unwrap().lost, 0);
    wren.check().await;
}

/// An agent under the guard `archive` with these memories, by the agent itself.
async fn keeper(memories: &[&str]) -> TestAgent {
    let wren = TestAgent::new(&[]).await;
    let guard = [(Field::LossGuard, None)];
    // By the agent itself, so that no journal entry reports it.
    configure_by(&wren.agent, &guard, &me()).await;
    for memory in memories {
        wren.clock.advance(Duration::from_secs(60));
        save(&wren, input(memory), &me()).await;
    }
    wren.clock.advance(Duration::from_secs(60));
    wren
}

#[tokio::test]
async fn spec_2_4_a_memory_replaces_outdated_ones_which_come_under_it() {
    let wren = keeper(&[
        "Mira lives in Porto.",
        "Mira lives by the sea.",
        "Mira sings.",
    ])
    .await;
    let log = wren.actions().await.len();
    let saved = save(&wren, replacing("Mira lives in Braga.", &[1, 2, 1]), &me()).await;
    let number = saved.memory.number;
    assert_eq!(saved.replaced, Some(numbers(&[1, 2])), "each once");
    assert_eq!(saved.not_replaced, Some(Vec::new()));
    assert_eq!(saved.memory.sources, numbers(&[1, 2]));
    let now = wren.memoir.now();
    for old in [1, 2] {
        let memory = wren.facts(old).await;
        assert_eq!(
            (memory.kind, memory.under, memory.archived_at),
            (Kind::Archival, Some(number), Some(now))
        );
    }
    // A record of its own for each, after that of the save (SPEC 4.1).
    let actions = wren.actions().await;
    assert_eq!(
        actions[log..],
        ["memory_saved", "memory_replaced", "memory_replaced"]
    );
    let records = wren
        .seen()
        .records(&memoir_app::RecordFilter::default())
        .await
        .unwrap();
    let data = records.last().unwrap().words.data.expose();
    assert_eq!(data["replaced_by"], number.0);
    assert_eq!(wren.kept().await, [3, number.0]);
    assert_eq!(
        wren.agent
            .views()
            .show()
            .await
            .unwrap()
            .counts
            .replaced_count,
        2
    );
    is_valid(&wren).await;

    // Discarding it restores none, and names those that stay archival.
    let discarded = handle_by(&wren.agent, number, Handling::Discard, &me()).await;
    assert_eq!(discarded.sources, numbers(&[1, 2]));
    for old in [1, 2] {
        assert_eq!(place(&wren, old).await, (Kind::Archival, None, true));
    }
    let restored = handle_by(&wren.agent, number, Handling::Restore, &me()).await;
    assert_eq!(restored.sources, numbers(&[1, 2]));
    assert_eq!(
        place(&wren, 1).await,
        (Kind::Archival, Some(number.0), true)
    );
    // One that replaces none has no such fields, and a batch is decided in its order.
    let plain = save(&wren, input("It rains."), &me()).await;
    assert_eq!((plain.replaced, plain.not_replaced), (None, None));
    let next = plain.memory.number.0 + 1;
    let batch = [
        replacing("It rains in the north.", &[next - 1]),
        replacing("It rains in the south.", &[next, next + 5]),
    ];
    let saved = wren.agent.memories().save(&batch, &me()).await.unwrap();
    assert_eq!(saved[0].replaced, Some(numbers(&[next - 1])));
    assert_eq!(saved[1].replaced, Some(numbers(&[next])));
    assert_eq!(kept_out(&saved[1]), [(next + 5, "not_found")]);
    // `under` does not move where the memory above is itself archived (SPEC 1).
    assert_eq!(
        place(&wren, next - 1).await,
        (Kind::Archival, Some(next), true)
    );
    is_valid(&wren).await;
}

#[tokio::test]
async fn spec_2_4_what_cannot_be_replaced_stays_and_the_save_goes_through() {
    let wren = keeper(&["One.", "Two.", "Three.", "Four."]).await;
    let spoken = tagged("Five, as she says it.", &["VOICE"]);
    save(&wren, spoken, &me()).await;
    save(&wren, journal("Six, this morning."), &me()).await;
    save(&wren, archival("Seven, of old."), &me()).await;
    let imported = MemoryInput {
        origin: Some(Origin::Import),
        ..input("Eight, of a file.")
    };
    save(&wren, imported, &me()).await;
    for (number, handling) in [(2, Handling::Protect), (3, Handling::Discard)] {
        let actor = person();
        handle_by(&wren.agent, Number(number), handling, &actor).await;
    }
    let all = [1, 2, 3, 5, 6, 7, 8, 99];
    // A page replaces only memories of the same or a weaker origin.
    let page = MemoryInput {
        origin: Some(Origin::External),
        ..replacing("A page says so.", &all)
    };
    let saved = save(&wren, page, &me()).await;
    assert_eq!(saved.replaced, Some(numbers(&[])));
    assert_eq!(
        kept_out(&saved),
        [
            (1, "origin"),
            (2, "constitutional"),
            (3, "not_found"),
            (5, "immutable"),
            (6, "not_core"),
            (7, "not_core"),
            (8, "origin"),
            (99, "not_found"),
        ]
    );
    // An administrator's text replaces administrators' texts alone, whatever their origin.
    let theirs = save(&wren, input("Ten, by an administrator."), &person()).await;
    let theirs = theirs.memory.number.0;
    let saved = save(&wren, replacing("Eleven.", &[1, 8, theirs]), &person()).await;
    assert_eq!(saved.replaced, Some(numbers(&[theirs])));
    assert_eq!(kept_out(&saved), [(1, "side"), (8, "side")]);
    // The owner's texts are of the agent's side.
    let saved = save(&wren, replacing("Twelve.", &[1]), &OWNER).await;
    assert_eq!(saved.replaced, Some(numbers(&[1])));
    // A journal entry replaces none.
    let entry = MemoryInput {
        replaces: numbers(&[4, 99]),
        ..journal("It rained.")
    };
    let saved = save(&wren, entry, &me()).await;
    assert_eq!(kept_out(&saved), [(4, "not_core"), (99, "not_found")]);
    // An absorbed text is replaced by the agent's own.
    let saved = save(&wren, replacing("Eight, as it is.", &[8]), &me()).await;
    assert_eq!(saved.replaced, Some(numbers(&[8])));
    for number in [2, 4, 5] {
        assert_eq!(place(&wren, number).await, (Kind::Core, None, true));
    }
    is_valid(&wren).await;
}

#[tokio::test]
async fn spec_2_4_ten_memories_are_replaced_in_seven_days_by_all_interfaces_together() {
    let texts: Vec<String> = (0..14)
        .map(|number| {
            format!(
                "Order {number}: {}",
                "so many sheets of laid paper. ".repeat(20)
            )
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let wren = keeper(&texts).await;
    let first = save(
        &wren,
        replacing("Six are done.", &[14, 13, 12, 11, 10, 9]),
        &me(),
    )
    .await;
    assert_eq!(first.replaced.unwrap().len(), 6);
    wren.clock.advance(DAY);
    let second = save(&wren, replacing("Five more.", &[8, 7, 6, 5, 4]), &OWNER).await;
    assert_eq!(second.replaced, Some(numbers(&[8, 7, 6, 5])));
    assert_eq!(kept_out(&second), [(4, "week_limit")]);
    // Another process counts the same.
    let elsewhere = TestAgent::of(&wren.installation.another_process()).await;
    let refused = save(&elsewhere, replacing("And one.", &[4]), &me()).await;
    assert_eq!(kept_out(&refused), [(4, "week_limit")]);
    wren.clock.advance(6 * DAY + Duration::from_secs(60));
    // Six are longer ago than seven days by now.
    let third = save(&wren, replacing("Two of the last.", &[4, 3]), &me()).await;
    assert_eq!(third.replaced, Some(numbers(&[4, 3])));
    // A restored memory still counts: it was replaced.
    for _ in 0..2 {
        handle_by(&wren.agent, Number(4), Handling::Promote, &me()).await;
        save(&wren, replacing("Again.", &[4]), &me()).await;
    }
    handle_by(&wren.agent, Number(4), Handling::Promote, &me()).await;
    let newest = wren.kept().await;
    let newest = *newest.last().unwrap();
    let more = save(&wren, replacing("More.", &[newest, 4, 2, 1]), &me()).await;
    assert_eq!(more.replaced.as_ref().unwrap().len(), 2);
    assert_eq!(kept_out(&more), [(2, "week_limit"), (1, "week_limit")]);
    is_valid(&wren).await;
}

#[tokio::test]
async fn spec_3_14_the_age_rule_holds_for_replacing() {
    // Ten tokens each.
    let texts: Vec<String> = (0..12)
        .map(|number| {
            format!("{:<40}", format!("it is the {number:02} day at the")).replace(' ', "x")
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let wren = keeper(&texts).await;
    let budget = [(Field::CoreTokenBudget, Some("1000"))];
    configure_by(&wren.agent, &budget, &me()).await;
    // A sixth of the first days' words stays: of #7, 10 of 70 tokens would, and of #12 only 60 of 120.
    let oldest = save(
        &wren,
        replacing("All over.", &[1, 2, 3, 4, 5, 6, 7, 12]),
        &me(),
    )
    .await;
    assert_eq!(oldest.replaced, Some(numbers(&[1, 2, 3, 4, 5, 6, 12])));
    assert_eq!(kept_out(&oldest), [(7, "age_limit")]);
    // A restored memory does not count as gone.
    handle_by(&wren.agent, Number(1), Handling::Promote, &me()).await;
    let again = save(&wren, replacing("Over now.", &[7]), &me()).await;
    assert_eq!(again.replaced, Some(numbers(&[7])));
    // A page is exempt, and makes no room for others.
    let page = MemoryInput {
        origin: Some(Origin::External),
        ..input("A page.")
    };
    let page = save(&wren, page, &me()).await.memory.number.0;
    let replaced = save(&wren, replacing("No page.", &[page, 1]), &me()).await;
    assert_eq!(replaced.replaced, Some(numbers(&[page])));
    assert_eq!(
        replaced.not_replaced.unwrap()[0].reason,
        NotReplaced::AgeLimit
    );
    is_valid(&wren).await;
}

/// A summary over #1 and #2, with the number 15.
async fn with_summary() -> TestAgent {
    let texts: Vec<String> = (0..14)
        .map(|place| {
            let kind = [
                "bread", "river", "paper", "linen", "garden", "winter", "kettle",
            ][place % 7];
            let kind = format!("{kind}{}", "s".repeat(place / 7));
            format!("we spoke about the {kind} and walked home. ").repeat(11)
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let wren = keeper(&texts).await;
    let budget = [(Field::CoreTokenBudget, Some("1000"))];
    configure_by(&wren.agent, &budget, &me()).await;
    let (session, _) = wren.agent.open_own(Mode::Full).await.unwrap();
    for (tool, arguments) in [
        (
            "consolidate_memories",
            json!({"ids": [1, 2], "content": "we spoke about the bread and the river."}),
        ),
        ("complete_refinement", json!({"summary": "One summary."})),
    ] {
        let result = wren.agent.call_tool(session.id, tool, Some(&arguments));
        let result = serde_json::to_value(result.await.unwrap()).unwrap();
        assert_ne!(result["type"], "error", "{result}");
    }
    wren.clock.advance(Duration::from_secs(60));
    assert!(wren.facts(15).await.is_summary);
    wren
}

#[tokio::test]
async fn spec_2_4_a_summary_that_is_replaced_is_discarded_and_its_sources_move() {
    let wren = with_summary().await;
    let saved = save(
        &wren,
        replacing("The baker moved to the river.", &[15, 1]),
        &me(),
    )
    .await;
    let number = saved.memory.number.0;
    assert_eq!(saved.replaced, Some(numbers(&[15])));
    assert_eq!(kept_out(&saved), [(1, "not_core")]);
    assert_eq!(saved.memory.sources, numbers(&[1, 2]));
    assert_eq!(place(&wren, 15).await, (Kind::Core, None, false));
    for source in [1, 2] {
        assert_eq!(
            place(&wren, source).await,
            (Kind::Archival, Some(number), true)
        );
    }
    is_valid(&wren).await;
}

#[tokio::test]
async fn spec_2_4_a_summary_without_a_source_is_discarded_in_the_same_step() {
    for handling in [Handling::Promote, Handling::Discard] {
        let wren = with_summary().await;
        let log = wren.actions().await.len();
        for (number, is_left) in [(1, true), (2, false)] {
            handle_by(&wren.agent, Number(number), handling, &me()).await;
            let left = place(&wren, 15).await;
            assert_eq!(left, (Kind::Core, None, is_left), "{handling:?}");
        }
        // No record of its own: it is the same step.
        assert_eq!(wren.actions().await.len(), log + 2);
        let counts = wren.agent.views().show().await.unwrap().counts;
        assert_eq!((counts.summary_count, counts.archival_count), (0, 0));
        is_valid(&wren).await;
    }
}

#[tokio::test]
async fn spec_2_4_any_archival_memory_is_promoted_at_any_time() {
    let wren = with_summary().await;
    let tagged = MemoryInput {
        tags: vec!["attic".into()],
        origin: Some(Origin::Import),
        created_at: Some("2020-05-01T10:00:00Z".parse().unwrap()),
        ..archival("The box in the attic is hers.")
    };
    let saved = save(&wren, tagged, &me()).await;
    let number = saved.memory.number;
    let before = wren.seen().memory(number).await.unwrap();
    assert_eq!(
        (before.kind, before.under, before.archived_at),
        (Kind::Archival, None, Some(wren.memoir.now()))
    );
    wren.clock.advance(DAY);
    // An administrator promotes it too, without reading it.
    let promoted = wren.handle(number, Handling::Promote).await;
    assert!(promoted.words.is_none());
    let after = wren.seen().memory(number).await.unwrap();
    assert_eq!(
        (after.kind, after.under, after.archived_at),
        (Kind::Core, None, None)
    );
    assert_eq!(after.words, before.words, "text and tags");
    assert_eq!(
        (after.origin, after.created_at),
        (Origin::Import, before.created_at)
    );
    // Without limit: also in a session, where it is no edit.
    let (session, _) = wren.agent.open_own(Mode::Full).await.unwrap();
    for text in 0..12 {
        let archival = archival(&format!("Box {text}."));
        let number = save(&wren, archival, &me()).await.memory.number;
        let promoted = handle_by(&wren.agent, number, Handling::Promote, &me()).await;
        assert_eq!(promoted.kind, Kind::Core);
    }
    assert_eq!(
        wren.agent.views().session(session.id).await.unwrap().edits,
        0
    );
    is_valid(&wren).await;
}

#[tokio::test]
async fn spec_2_4_what_is_not_archival_is_not_promoted() {
    let wren = with_summary().await;
    let entry = save(&wren, journal("It rained."), &me()).await;
    handle_by(&wren.agent, Number(2), Handling::Discard, &me()).await;
    let log = wren.actions().await.len();
    for (number, code) in [
        (3, "not_archival"),
        (15, "not_archival"),
        (entry.memory.number.0, "not_archival"),
        (2, "not_found"),
        (99, "not_found"),
    ] {
        for actor in [me(), person()] {
            let refused = wren
                .agent
                .memories()
                .handle(Number(number), Handling::Promote, &actor)
                .await
                .unwrap_err();
            assert_eq!(refused.code(), code, "#{number}");
            if code == "not_archival" {
                assert!(matches!(
                    refused,
                    Error::Change(ChangeRefusal::NotArchival(_))
                ));
            }
        }
    }
    assert_eq!(wren.actions().await.len(), log);
}

#[tokio::test]
async fn spec_2_4_the_agent_is_told_of_a_memory_with_the_same_text() {
    let wren = keeper(&["I’m at the mill — at nine.", "Rain in the evening."]).await;
    let same = async |text: &str, actor: &Actor| save(&wren, input(text), actor).await.same_as;
    assert_eq!(
        same("I'm  at the mill - at nine!", &me()).await,
        Some(Number(1))
    );
    assert_eq!(
        same("i'm at the mill - at nine.", &me()).await,
        None,
        "case counts"
    );
    // In the archive and in the journal too; not among discarded ones.
    let archival = archival("The box is hers.");
    let archival = save(&wren, archival, &me()).await.memory.number;
    let entry = save(&wren, journal("The kiln is hot."), &me()).await;
    let entry = entry.memory.number;
    assert_eq!(same("The box is hers", &me()).await, Some(archival));
    assert_eq!(same("The kiln is hot", &me()).await, Some(entry));
    handle_by(&wren.agent, Number(2), Handling::Discard, &me()).await;
    assert_eq!(same("Rain in the evening.", &me()).await, None);
    // Memories that another process wrote or discarded count.
    let elsewhere = TestAgent::of(&wren.installation.another_process()).await;
    let far = save(&elsewhere, input("Snow on the hill."), &me()).await;
    let far = far.memory.number;
    assert_eq!(same("Snow on the hill.", &me()).await, Some(far));
    // Within a batch, an earlier one.
    let batch = ["Tea.", "Coffee.", "Tea!"].map(input);
    let saved = wren.agent.memories().save(&batch, &me()).await.unwrap();
    assert_eq!(saved[2].same_as, Some(saved[0].memory.number));
    assert_eq!((saved[0].same_as, saved[1].same_as), (None, None));
}

/// SPEC 5.1: whether an administrator's text is one of the agent's is in no response.
#[tokio::test]
async fn spec_5_1_an_administrators_response_is_the_same_whether_the_text_is_there_or_not() {
    let wren = keeper(&["The key is under the blue pot."]).await;
    let mut responses = Vec::new();
    for text in [
        "The key is under the blue pot.",
        "The key is under the pink pot.",
    ] {
        let saved = save(&wren, input(text), &person()).await;
        assert_eq!(saved.same_as, None);
        let mut response = serde_json::to_value(&saved).unwrap();
        let number = response["number"].take();
        assert!(number.is_u64());
        responses.push(response);
    }
    assert_eq!(responses[0], responses[1]);
    let names: Vec<&String> = responses[0].as_object().unwrap().keys().collect();
    assert!(!names.iter().any(|name| *name == "same_as"), "{names:?}");
    // The cleanup does not join them either: both sides stay.
    let (session, _) = wren.agent.open_own(Mode::Full).await.unwrap();
    let done = json!({"summary": "Nothing."});
    wren.agent
        .call_tool(session.id, "complete_refinement", Some(&done))
        .await
        .unwrap();
    assert_eq!(wren.kept().await, [1, 2, 3]);
}

/// SPEC 5.1: an administrator sets the immutable tags, and no response tells whether one is a tag of the agent's.
#[tokio::test]
async fn spec_5_1_replacing_tells_an_administrator_no_tag_of_the_agents_memories() {
    let wren = keeper(&["One."]).await;
    let tagged = tagged("Two.", &["vow"]);
    assert_eq!(save(&wren, tagged, &me()).await.memory.number, Number(2));
    for guess in ["vow", "oath"] {
        let guess = [(Field::ImmutableTags, Some(guess))];
        configure_by(&wren.agent, &guess, &person()).await;
        let saved = save(&wren, replacing("Three.", &[1, 2]), &person()).await;
        assert_eq!(kept_out(&saved), [(1, "side"), (2, "side")], "{guess:?}");
    }
    is_valid(&wren).await;
}

/// A batch with a fault in one of its memories saves and replaces nothing (SPEC 2.4).
#[tokio::test]
async fn spec_2_4_a_batch_is_saved_and_replaces_whole_or_not_at_all() {
    let wren = keeper(&["One."]).await;
    let before: Vec<Value> = wren.memories().await;
    let batch = [replacing("Two.", &[1]), input("")];
    let refused = wren.agent.memories().save(&batch, &me()).await.unwrap_err();
    assert_eq!(refused.code(), "invalid_argument");
    assert_eq!(wren.memories().await, before);
}

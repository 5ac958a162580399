//! SPEC 3.12, 3.14, 4.3 and 5.1: what memories stand for, what was let go, to whom it is told, and how it
//! comes back.

use memoir_app::{AgentHandle, Error, Handling, ShownWording, Viewer, WordingQuery};
use memoir_domain::{
    access::{AccessDraft, AccessKind, AccessScope},
    audit::Actor,
    memory::Number,
};
use memoir_testkit::Turn;
use serde_json::json;

use crate::installation::{TestAgent, complete, delete, input, person};

const MEMORIES: [&str; 4] = [
    "Marta prefers linen thread for the spine of every book. She learned it from her aunt.",
    "The workshop opens at nine. Joaquín is always there first.",
    "The old press came from Lisbon and needs oil every month.",
    "The cat sleeps on the paper that was delivered in the morning, and nobody moves her.",
];

fn of(number: u64) -> WordingQuery {
    WordingQuery {
        of: Some(Number(number)),
        ..WordingQuery::LET_GO
    }
}

/// #1 lost a sentence, #2 stands for itself and for the double #5, #3 was deleted.
async fn lossy() -> TestAgent {
    let wren = TestAgent::new(&[]).await;
    let me = Actor::agent("wren");
    // The breaker keeps still over a long memory that nobody edits.
    let ballast = "Of the hives behind the house seven have honey in them. ".repeat(40);
    for text in MEMORIES
        .iter()
        .chain(&["The workshop opens at nine.", ballast.as_str()])
    {
        wren.agent.save(&[input(text)], &me).await.unwrap();
    }
    let update =
        json!({"id": 1, "content": "Marta prefers linen thread for the spine of every book."});
    let turns = [
        Turn::call("update_memory", update),
        delete(5),
        delete(3),
        complete(),
    ];
    let (driven, _) = wren.refine(turns).await;
    assert_eq!(driven.stats.deleted, 2, "{driven:?}");
    wren.check().await;
    wren
}

fn numbers(all: &[ShownWording]) -> Vec<u64> {
    all.iter().map(|one| one.number.0).collect()
}

fn content(wording: &ShownWording) -> Option<&str> {
    let content = wording.words.as_ref()?.content.as_ref();
    content.map(memoir_domain::PrivateText::expose)
}

fn words(wording: &ShownWording) -> Vec<&str> {
    let words = wording
        .let_go
        .iter()
        .flat_map(|lost| lost.words.iter().flat_map(|lost| &lost.words));
    words.map(memoir_domain::PrivateText::expose).collect()
}

#[tokio::test]
async fn spec_3_14_what_was_let_go_is_told_to_the_agent_and_counted_to_everybody() {
    let wren = lossy().await;
    let agent = &wren.agent;
    let let_go = agent
        .seen_by(Viewer::Agent)
        .wordings(&WordingQuery::LET_GO)
        .await
        .unwrap();
    assert_eq!(numbers(&let_go), [1, 3]);
    assert_eq!(content(&let_go[0]), Some(MEMORIES[0]));
    assert_eq!(
        words(&let_go[0]),
        ["She", "learned", "it", "from", "her", "aunt"]
    );
    // What a delete let go is all of it.
    assert!(let_go[1].let_go[0].deleted);
    assert_eq!(words(&let_go[1])[..3], ["old", "press", "came"]);
    for one in &let_go {
        assert_eq!(one.let_go[0].lost_words as usize, words(one).len());
    }
    let kept = agent.show().await.unwrap().kept;
    assert_eq!(kept.wordings - kept.carried, 2);
    // An administrator is told the same without a word (SPEC 5.1).
    let blind = agent
        .seen_by(Viewer::administrator(person()))
        .wordings(&WordingQuery::LET_GO)
        .await
        .unwrap();
    let bare = |one: &ShownWording| {
        let mut one = one.clone();
        one.words = None;
        one.let_go.iter_mut().for_each(|lost| lost.words = None);
        one
    };
    assert_eq!(blind, let_go.iter().map(bare).collect::<Vec<_>>());
}

#[tokio::test]
async fn spec_3_12_the_wordings_of_a_memory_are_listed_page_by_page() {
    let wren = lossy().await;
    let agent = &wren.agent;
    let all = agent.seen_by(Viewer::Agent).wordings(&of(2)).await.unwrap();
    assert_eq!(numbers(&all), [2, 5]);
    assert_eq!(content(&all[1]), Some("The workshop opens at nine."));
    assert!(all.iter().all(|one| one.let_go.is_empty()));
    let page = |after| WordingQuery {
        after,
        limit: 1,
        ..of(2)
    };
    let first = agent
        .seen_by(Viewer::Agent)
        .wordings(&page(None))
        .await
        .unwrap();
    let second = agent
        .seen_by(Viewer::Agent)
        .wordings(&page(Some(first[0].id)))
        .await
        .unwrap();
    assert_eq!([numbers(&first), numbers(&second)], [[2], [5]]);
    let none = agent.seen_by(Viewer::Agent).wordings(&of(99)).await;
    assert!(matches!(none, Err(Error::NoMemory(Number(99)))));
}

#[tokio::test]
async fn spec_5_2_words_let_go_are_shown_under_an_access_to_all_alone_and_on_the_record() {
    let wren = lossy().await;
    let agent = &wren.agent;
    let me = Actor::agent("wren");
    for (scope, is_shown) in [(AccessScope::Core, false), (AccessScope::All, true)] {
        let draft = AccessDraft {
            kind: AccessKind::Read { scope, minutes: 5 },
            purpose: "a look".into(),
        };
        let asked = agent.request_access(&draft, &person()).await.unwrap();
        agent
            .answer_access(asked.id, true, None, &me)
            .await
            .unwrap();
        let mechanic = agent.seen_by(Viewer::administrator(person()));
        let seen = mechanic.wordings(&WordingQuery::LET_GO).await.unwrap();
        assert!(!seen.is_empty());
        for one in &seen {
            assert_eq!(one.words.is_some(), is_shown);
            assert_eq!(content(one).is_some(), is_shown);
            assert!(
                one.let_go
                    .iter()
                    .all(|lost| lost.words.is_some() == is_shown)
            );
        }
        let used = wren.actions().await;
        let used = used.iter().filter(|action| *action == "access_used");
        assert_eq!(used.count(), usize::from(is_shown));
    }
}

async fn text(agent: &AgentHandle, number: u64) -> String {
    let lens = agent.seen_by(Viewer::Agent);
    let memory = lens.memory(Number(number)).await.unwrap();
    memory.content().to_owned()
}

#[tokio::test]
async fn spec_4_3_what_was_let_go_comes_back_by_its_number() {
    let wren = lossy().await;
    let agent = &wren.agent;
    // Edited in place: its own words, under its own number.
    let back = agent
        .handle(Number(1), Handling::Restore, &person())
        .await
        .unwrap();
    // An administrator's answer has no words (SPEC 5.1).
    assert_eq!((back.number, back.words), (Number(1), None));
    assert_eq!(text(agent, 1).await, MEMORIES[0]);
    // Deleted: the memory.
    let back = agent
        .handle(Number(3), Handling::Restore, &person())
        .await
        .unwrap();
    assert_eq!(back.number, Number(3));
    assert_eq!(text(agent, 3).await, MEMORIES[2]);
    let let_go = agent
        .seen_by(Viewer::Agent)
        .wordings(&WordingQuery::LET_GO)
        .await
        .unwrap();
    assert_eq!(let_go, []);
    assert_eq!(agent.show().await.unwrap().kept.lost_words, 0);
    let verified = agent.verify().await.unwrap();
    assert!(verified.valid, "{verified:?}");
    assert_eq!(verified.carried.unwrap().let_go, 0);
    for (number, code) in [
        (1, "not_discarded"),
        (4, "not_discarded"),
        (99, "not_found"),
    ] {
        let refused = agent
            .handle(Number(number), Handling::Restore, &person())
            .await
            .unwrap_err();
        assert_eq!(refused.code(), code);
    }
    // One that stands for another too keeps its text, and a new one says the words again.
    let shorter = json!({"id": 2, "content": "The workshop opens at nine."});
    wren.refine([Turn::call("update_memory", shorter), complete()])
        .await;
    let back = agent
        .handle(Number(2), Handling::Restore, &person())
        .await
        .unwrap();
    assert!(back.number > Number(6), "{back:?}");
    assert_eq!(text(agent, back.number.0).await, MEMORIES[1]);
    assert_eq!(
        numbers(&agent.seen_by(Viewer::Agent).wordings(&of(2)).await.unwrap()),
        [5]
    );
    let own = of(back.number.0);
    assert_eq!(
        numbers(&agent.seen_by(Viewer::Agent).wordings(&own).await.unwrap()),
        [2]
    );
    assert!(agent.verify().await.unwrap().valid);
    wren.check().await;
}

//! What a rehearsal would do, shown without words (SPEC 3.17, 5.1), and applying what was shown.

use memoir_app::{Handling, MemoryInput, OwnAgent};
use memoir_domain::{SessionId, audit::Actor, session::Mode};
use serde_json::json;

use crate::{
    document::ReadDocument,
    installation::{CANARY, Installation, owner},
};

const MEMORIES: [&str; 7] = [
    "One",
    "One",
    "Two and three",
    "The harbour lies to the west of the old town",
    "Ivo taught me how to read the tide tables",
    "We promised each other to come back in spring",
    "The lighthouse keeper is Mara and she likes tea",
];

/// A rehearsal of every kind of edit, by the agent itself.
async fn rehearse(agent: &OwnAgent) -> SessionId {
    let (session, _) = agent.rehearse_own(Mode::Full).await.unwrap();
    for (tool, arguments) in [
        (
            "consolidate_memories",
            json!({"ids": [1, 3], "content": format!("One, two, three: {CANARY}")}),
        ),
        (
            "update_memory",
            json!({"id": 4, "content": format!("The harbour lies to the west of town, {CANARY}")}),
        ),
        ("protect_memory", json!({"id": 6})),
        (
            "complete_refinement",
            json!({"summary": format!("Done, {CANARY}.")}),
        ),
    ] {
        let called = agent.call_tool(session.id, tool, Some(&arguments)).await;
        called.unwrap();
    }
    session.id
}

#[tokio::test]
async fn spec_5_1_the_differences_are_shown_without_words_and_applied_as_shown() {
    let installation = Installation::open().await;
    let agent = installation
        .agent(&installation.account, "Wren", &MEMORIES)
        .await;
    let id = rehearse(&agent).await;
    let browser = installation.ada().await;
    let path = format!("/sessions/{id}");
    let answer = browser.get(&path).await;
    assert!(
        !answer.text.to_lowercase().contains(CANARY),
        "{}",
        answer.text
    );
    let page = answer.document();
    page.check(&path);
    let rows = page.all("tr").map(|row| row.text.clone());
    let rows: Vec<String> = rows
        .filter(|row| row.starts_with('#') || row.starts_with("new"))
        .collect();
    let told = |number: &str, what: &str| {
        let found = rows
            .iter()
            .any(|row| row.starts_with(number) && row.contains(what));
        assert!(found, "{number} {what}: {rows:?}");
    };
    told("#1", "merged into a new memory");
    told("#2", "discarded");
    told("#3", "merged into a new memory");
    told("#4", "reworded");
    told("#6", "protected");
    told("new", "made of #1 and #3");
    assert!(
        answer.text.contains("Nothing stands in the way."),
        "{}",
        answer.text
    );

    // Something is written in between: the page says so, and nothing is done.
    let apply = format!("{path}/apply");
    let newest = page.hidden("newest").unwrap();
    let one_more = MemoryInput {
        content: "One more".into(),
        ..MemoryInput::default()
    };
    agent
        .save(&[one_more], &Actor::agent("Wren"))
        .await
        .unwrap();
    let before = agent.show().await.unwrap().counts;
    let stale = browser.press(&path, &apply, &[("newest", newest)]).await;
    assert_eq!(stale.status, 409);
    assert!(
        stale
            .text
            .contains("something was written since this was shown"),
        "{}",
        stale.text
    );
    let anew = stale.document();
    anew.check(&apply);
    assert_eq!(agent.show().await.unwrap().counts, before);
    assert_eq!(browser.press(&path, &apply, &[]).await.status, 400);

    let seen = agent.rehearsal_facts(id, &owner()).await.unwrap().unwrap();
    let mass = seen.outcome.unwrap();
    let newest = anew.hidden("newest").unwrap();
    let applied = browser.press(&path, &apply, &[("newest", newest)]).await;
    let applied = applied.leads_to().to_owned();
    assert!(applied.ends_with("?done=applied"), "{applied}");
    let after = agent.show().await.unwrap().counts;
    assert_eq!(
        (before.core_tokens, after.core_tokens),
        (mass.core_tokens_before, mass.core_tokens_after)
    );
    assert_eq!(after.constitutional_count, 1);

    // It is applied once, and its page says where.
    let page = browser.get(&path).await;
    let session = applied.strip_suffix("?done=applied").unwrap();
    assert!(page.text.contains("It was applied as"), "{}", page.text);
    assert!(page.document().links().contains(&session.to_owned()));
    assert!(!page.document().forms().contains(&apply));
}

#[tokio::test]
async fn spec_3_17_what_stands_in_the_way_of_applying_is_shown() {
    let installation = Installation::open().await;
    let agent = installation
        .agent(&installation.account, "Wren", &MEMORIES)
        .await;
    let id = rehearse(&agent).await;
    let number = memoir_domain::memory::Number(4);
    let handling = Handling::Protect;
    agent.handle(number, handling, &owner()).await.unwrap();
    let browser = installation.ada().await;
    let path = format!("/sessions/{id}");
    let answer = browser.get(&path).await;
    let page = answer.document();
    page.check(&path);
    let row = page
        .all("tr")
        .find(|row| row.text.starts_with("#4"))
        .unwrap();
    assert!(
        row.text.contains("changed, stands in the way"),
        "{}",
        row.text
    );
    let row = page
        .all("tr")
        .find(|row| row.text.starts_with("#6"))
        .unwrap();
    assert!(row.text.contains("unchanged"), "{}", row.text);
    assert!(
        answer
            .text
            .contains("these memories changed since: #4; rehearse again"),
        "{}",
        answer.text
    );
    assert!(!page.forms().contains(&format!("{path}/apply")));

    // One that was cancelled came to nothing, and one that runs has nothing to show yet.
    let (running, _) = agent.rehearse_own(Mode::Full).await.unwrap();
    let path = format!("/sessions/{}", running.id);
    for _ in 0..2 {
        let answer = browser.get(&path).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(!answer.document().forms().contains(&format!("{path}/apply")));
        let _ = agent.cancel(running.id, &owner()).await;
    }
}

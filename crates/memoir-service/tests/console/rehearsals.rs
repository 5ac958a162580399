//! What a rehearsal would do, shown without text (SPEC 3.17, 5.1), and applying what was shown.

use memoir_app::{Handling, OwnAgent};
use memoir_domain::{SessionId, memory::Number, session::Mode};
use memoir_testkit::TestedText;
use serde_json::json;

use crate::{
    document::ReadDocument,
    installation::{CANARY, Installation, handle, owner, remember},
};

/// A rehearsal of every kind of edit, by the agent itself.
async fn rehearse(agent: &OwnAgent) -> SessionId {
    let (session, _) = agent.rehearse_own(Mode::Full).await.unwrap();
    for (tool, arguments) in [
        (
            "consolidate_memories",
            json!({"ids": [3, 5], "content": format!("Two, three, tide tables: {CANARY}")}),
        ),
        (
            "update_memory",
            json!({"id": 6, "content": format!("The harbour lies to the west of town, {CANARY}")}),
        ),
        ("delete_memory", json!({"id": 7, "replaced_by": 8})),
        ("protect_memory", json!({"id": 4})),
        (
            "complete_refinement",
            json!({"summary": format!("Done, {CANARY}.")}),
        ),
    ] {
        let called = agent.call_tool(session.id, tool, Some(&arguments)).await;
        let called = called.unwrap();
        assert_eq!(called.refusal(), None, "{called:?}");
    }
    session.id
}

#[tokio::test]
async fn spec_5_1_the_differences_are_shown_without_words_and_applied_as_shown() {
    let installation = Installation::open().await;
    let agent = installation.agent_over_budget().await;
    let id = rehearse(&agent).await;
    let browser = installation.ada().await;
    let path = format!("/sessions/{id}");
    let answer = browser.get(&path).await;
    answer.text.to_lowercase().omits(CANARY);
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
    told("#2", "discarded");
    told("#3", "to the archive, under #11");
    told("#5", "to the archive, under #11");
    told("#6", "to the archive, under #12");
    told("#7", "to the archive, under #8");
    told("#4", "protected");
    told("new", "summary of #3 and #5");
    told("new", "summary of #6");
    answer.text.tells("4 of 4 edits can still be applied.");

    // Something is written in between: the page says so, and nothing is done.
    let apply = format!("{path}/apply");
    let newest = page.hidden("newest").unwrap();
    remember(&agent, "One more").await;
    let before = agent.views().show().await.unwrap().counts;
    let stale = browser.press(&path, &apply, &[("newest", newest)]).await;
    assert_eq!(stale.status, 409);
    stale
        .text
        .tells("the agent changed since this page was shown");
    let anew = stale.document();
    anew.check(&apply);
    assert_eq!(agent.views().show().await.unwrap().counts, before);
    assert_eq!(browser.press(&path, &apply, &[]).await.status, 400);

    let seen = agent
        .sessions()
        .rehearsal_facts(id, &owner())
        .await
        .unwrap()
        .unwrap();
    let size = seen.outcome.unwrap();
    let newest = anew.hidden("newest").unwrap();
    let applied = browser.press(&path, &apply, &[("newest", newest)]).await;
    let applied = applied.leads_to().to_owned();
    assert!(applied.ends_with("?done=applied"), "{applied}");
    let after = agent.views().show().await.unwrap().counts;
    assert_eq!(
        (before.core_tokens, after.core_tokens),
        (size.core_tokens_before, size.core_tokens_after)
    );
    assert_eq!(after.constitutional_count, 1);

    // It is applied once, and its page says where.
    let page = browser.get(&path).await;
    let session = applied.strip_suffix("?done=applied").unwrap();
    page.text.tells("It was applied as");
    assert!(page.document().links().contains(&session.to_owned()));
    assert!(!page.document().forms().contains(&apply));
}

#[tokio::test]
async fn spec_3_17_how_many_edits_hold_now_is_shown_and_which_do_not() {
    let installation = Installation::open().await;
    let agent = installation.agent_over_budget().await;
    let id = rehearse(&agent).await;
    handle(&agent, Number(7), Handling::Discard).await;
    let browser = installation.ada().await;
    let path = format!("/sessions/{id}");
    let answer = browser.get(&path).await;
    let page = answer.document();
    page.check(&path);
    let row = |number: &str| {
        let mut rows = page.all("tr");
        let row = rows.find(|row| row.text.starts_with(number)).unwrap();
        row.text.clone()
    };
    let changed = row("#7");
    let is_changed = changed.ends_with("changed") && !changed.ends_with("unchanged");
    assert!(is_changed, "{changed}");
    assert!(row("#4").ends_with("unchanged"), "{}", row("#4"));
    answer.text.tells("3 of 4 edits can still be applied.");
    let left_out = page.all("li").find(|one| one.text.starts_with("Archive"));
    let told = "Archive #7: there is no active memory of that number (not_found)";
    assert_eq!(left_out.unwrap().text, told);
    // Those that hold are applied.
    let apply = format!("{path}/apply");
    let newest = page.hidden("newest").unwrap();
    let applied = browser.press(&path, &apply, &[("newest", newest)]).await;
    let applied = applied.leads_to().to_owned();
    let page = browser.page(&applied).await;
    page.check(&applied);
    let outcome = "3 memories archived under 2 summaries; ";
    assert!(
        page.all("dd").any(|one| one.text.starts_with(outcome)),
        "{applied}"
    );

    // One that was cancelled came to nothing, and one that runs has nothing to show yet.
    let (running, _) = agent.rehearse_own(Mode::Full).await.unwrap();
    let path = format!("/sessions/{}", running.id);
    for _ in 0..2 {
        let answer = browser.get(&path).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(!answer.document().forms().contains(&format!("{path}/apply")));
        let _ = agent.sessions().cancel(running.id, &owner()).await;
    }
}

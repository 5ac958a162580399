//! The text for the agent's runtime, and what is counted of it.

use std::collections::BTreeSet;

use memoir_app::{ContextRequest, MemoryInput, Severity};
use memoir_domain::{agent::Field, memory::Number};
use memoir_testkit::{intrude, tagged, tamper};

use crate::installation::{TestAgent, new_folder};

fn note(number: usize, tags: &[&str]) -> MemoryInput {
    tagged(&format!("{number:03} {}", "wool ".repeat(30)), tags)
}

fn numbers(left_out: &BTreeSet<Number>) -> BTreeSet<u64> {
    left_out.iter().map(|number| number.0).collect()
}

/// 400 memories, every fortieth with an immutable tag, in a folder.
async fn many(wren: &TestAgent, count: usize) {
    let notes: Vec<MemoryInput> = (1..=count)
        .map(|number| match number % 40 {
            0 => note(number, &["Voice"]),
            _ => note(number, &["paper"]),
        })
        .collect();
    wren.save(&notes).await;
}

#[tokio::test]
async fn spec_2_3_immutable_memories_are_known_without_opening_the_omitted_ones() {
    let folder = new_folder();
    let installation = folder.open();
    let wren = TestAgent::of(&installation).await;
    // More than is read at once.
    many(&wren, 1_000).await;
    let context = wren.agent.context(Some(4_000)).await.unwrap();
    let left_out = numbers(&context.left_out);
    assert!(left_out.len() > 850, "{}", left_out.len());
    assert!(
        left_out.iter().all(|number| number % 40 != 0),
        "{left_out:?}"
    );
    // What is omitted is not read: only the verification finds changed bodies.
    let omitted: Vec<String> = left_out.iter().map(u64::to_string).collect();
    intrude(&folder.database(), |connection| {
        let sql = format!(
            "UPDATE memories SET body = x'00' WHERE number IN ({})",
            omitted.join(",")
        );
        assert_eq!(connection.execute(&sql, []).unwrap(), omitted.len());
    });
    let again = wren.agent.context(Some(4_000)).await.unwrap();
    assert_eq!(again, context);
}

#[tokio::test]
async fn spec_2_3_a_long_context_is_the_same_whether_it_is_read_at_once_or_planned_first() {
    let wren = TestAgent::new(&[]).await;
    many(&wren, 1_000).await;
    let context = async |most| wren.agent.context(most).await.unwrap();
    // Nothing exceeds the bound, but it is planned for.
    let planned = context(Some(1_000_000)).await;
    assert_eq!(planned.left_out.len(), 0);
    assert_eq!(context(None).await, planned);
    // The agent's own bound holds without one of the request.
    wren.configure(&[(Field::ContextCoreTokens, Some("3000"))])
        .await;
    let bounded = context(None).await;
    assert!(bounded.core_tokens <= 3_000 && !bounded.left_out.is_empty());
    assert_eq!(context(Some(1_000_000)).await, bounded);
}

#[tokio::test]
async fn spec_2_3_other_immutable_tags_are_found_by_opening() {
    let wren = TestAgent::new(&[]).await;
    many(&wren, 400).await;
    wren.configure(&[(Field::ImmutableTags, Some("seal"))])
        .await;
    let sealed = note(401, &["seal"]);
    let more: Vec<MemoryInput> = std::iter::once(sealed)
        .chain((402..=600).map(|number| note(number, &["voice"])))
        .collect();
    wren.save(&more).await;
    let context = wren.agent.context(Some(3_000)).await.unwrap();
    let left_out = numbers(&context.left_out);
    assert!(
        left_out.contains(&360) && left_out.contains(&450),
        "{left_out:?}"
    );
    assert!(!left_out.contains(&401), "{left_out:?}");
}

#[tokio::test]
async fn spec_2_3_the_share_is_that_of_the_last_bound_and_read_without_text() {
    let folder = new_folder();
    let installation = folder.open();
    let wren = TestAgent::of(&installation).await;
    many(&wren, 400).await;
    let share = async || wren.agent.memories().context_share().await.unwrap();
    assert_eq!(
        (share().await.core_memories, share().await.shown),
        (400, 400)
    );
    let context = wren.agent.context(Some(4_000)).await.unwrap();
    let shown = 400 - context.left_out.len() as u64;
    assert_eq!(
        (share().await.max_tokens, share().await.shown),
        (Some(4_000), shown)
    );
    let quarters = share().await.by_quarter;
    assert_eq!(quarters.len(), 1);
    assert_eq!((quarters[0].core_memories, quarters[0].shown), (400, shown));
    // Another bound soon after is not noted, since each is a write.
    wren.agent.context(Some(2_000)).await.unwrap();
    assert_eq!(share().await.max_tokens, Some(4_000));
    let mut request = ContextRequest {
        max_tokens: Some(2_000),
        is_hard: true,
        explain: true,
    };
    // One that is measured or explained is read by no model, and not noted.
    let measured = wren.agent.measured_context(&request).await.unwrap();
    let explained = wren.agent.requested_context(&request).await.unwrap();
    assert_eq!(measured, explained);
    assert_eq!(share().await.max_tokens, Some(4_000));
    // A client's limit is noted, however soon.
    request.explain = false;
    wren.agent.measured_context(&request).await.unwrap();
    assert_eq!(share().await.max_tokens, Some(4_000));
    wren.agent.note_context(&request).await.unwrap();
    assert_eq!(
        explained.explained.unwrap().omitted.len(),
        explained.left_out.len()
    );
    assert_eq!(share().await.max_tokens, Some(2_000));
    let account = wren.account("default").await;
    let found = wren.memoir.examine(&account).await.unwrap();
    let found = found.into_iter().find(|one| one.area == "context").unwrap();
    assert_eq!(found.severity, Severity::Warning);
    let finding = format!(
        "`wren` {} of 400 core memories (",
        400 - explained.left_out.len()
    );
    assert!(found.finding.contains(&finding), "{}", found.finding);
    // No body is opened for it.
    tamper(&folder.database(), "UPDATE memories SET body = x'00'");
    let shown = 400 - explained.left_out.len() as u64;
    assert_eq!(share().await.shown, shown);
    assert!(
        wren.agent
            .log()
            .verify()
            .await
            .is_ok_and(|found| !found.valid)
    );
}

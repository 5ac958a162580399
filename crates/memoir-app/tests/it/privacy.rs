//! No memory text, tag or prompt in anything that is formatted (SPEC 5.1).

use memoir_app::{RecordFilter, sessions::RefineOptions};
use memoir_domain::recall::RecallQuery;
use memoir_testkit::Turn;
use serde_json::json;

use crate::installation::{TestAgent, complete, delete, person};

const CANARY: &str = "Kanarienvogel";

#[tokio::test]
async fn spec_5_1_no_words_in_what_is_formatted() {
    let first = format!("{CANARY} sings in the workshop of Marta every morning at nine.");
    let second = format!("{CANARY} sings in the workshop of Marta every evening at nine.");
    let third = "A long and quiet memory of a day at the sea, with nothing in it to remove at all.";
    let wren = TestAgent::new(&[&first, &second, third, third]).await;
    let mut printed = String::new();
    let recalled = wren
        .seen()
        .recall(&RecallQuery {
            text: CANARY.into(),
            limit: 5,
            ..RecallQuery::default()
        })
        .await
        .unwrap();
    printed += &format!("{recalled:?}");
    let context = wren.agent.context(None).await.unwrap();
    assert!(context.text.expose().contains(CANARY));
    printed += &format!("{context:?}");
    let script = wren.script([
        Turn::text("yes"),
        Turn::call(
            "update_memory",
            json!({"id": 1, "content": format!("{CANARY} sings for Marta every morning at nine.")}),
        ),
        Turn::call("search_memories", json!({"query": CANARY})),
        Turn::call(
            "update_memory",
            json!({"id": 1, "content": format!("{CANARY}\u{0}")}),
        ),
        Turn::call(CANARY, json!({"id": 1})),
        delete(2),
        complete(),
    ]);
    let mut seen = Vec::new();
    let driven = wren
        .seen()
        .refine(&RefineOptions::default(), &mut |progress| {
            seen.push(progress.clone())
        })
        .await
        .unwrap();
    printed += &format!("{driven:?} {seen:?} {:?}", script.requests());
    printed += &serde_json::to_string(&seen).unwrap();
    let records = wren.seen().records(&RecordFilter::default()).await.unwrap();
    printed += &format!("{records:?}");
    let answer = wren
        .agent
        .call_tool(driven.id, CANARY, Some(&json!({CANARY: CANARY})))
        .await
        .unwrap();
    printed += &format!("{answer:?}");
    let set = [(
        memoir_domain::agent::Field::RefinementThreshold,
        Some(CANARY),
    )];
    let prompt = [(memoir_domain::agent::Field::SystemPrompt, Some(CANARY))];
    let shown = wren.configure(&prompt).await;
    printed += &format!("{shown:?}");
    let error = wren
        .agent
        .settings()
        .configure(&set, &person())
        .await
        .unwrap_err();
    printed += &format!("{error:?} {error}");
    let bad = memoir_app::import::read(
        format!("{{\"content\": \"{CANARY}\", \"{CANARY}\": 1}}\n{CANARY}").as_bytes(),
        None,
        wren.memoir.now(),
    );
    assert_eq!(bad.bad.len(), 2);
    printed += &format!("{bad:?}");
    assert!(!printed.contains(CANARY), "a canary was printed");
}

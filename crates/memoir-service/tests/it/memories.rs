//! `/v1/agents/{agent}/memories`

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::house::House;

const PATH: &str = "/v1/agents/wren/memories";

#[tokio::test]
async fn spec_2_4_a_memory_is_saved_and_shown_with_and_without_words() {
    let house = House::open().await;
    let administrator = house.administrator().await;
    let (_, own) = house.agent("wren").await;
    let body = json!({"content": " kept ", "kind": "journal", "tags": ["a"], "source": "chat", "created_at": "2026-03-04T10:00:00+01:00"});
    let saved = house.post(PATH, &own, body).await.expect(201);
    assert_eq!(saved["content"], "kept");
    assert_eq!(saved["fades_at"], "2026-03-11T09:00:00Z");
    assert_eq!(
        (&saved["refinement_due"], &saved["discarded_at"]),
        (&Value::Null, &Value::Null)
    );
    let shown = house
        .get(&format!("{PATH}/1"), &administrator)
        .await
        .expect(200);
    let names: BTreeSet<&str> = shown
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let open = [
        "number",
        "kind",
        "tokens",
        "constitutional",
        "origin",
        "wordings",
        "created_at",
        "updated_at",
        "fades_at",
        "discarded_at",
    ];
    assert_eq!(names, BTreeSet::from(open));
    let flagged = json!({"content": "x", "kind": "core", "constitutional": true});
    house
        .post(PATH, &own, flagged.clone())
        .await
        .refused(403, "forbidden");
    assert_eq!(
        house.post(PATH, &administrator, flagged).await.expect(201)["constitutional"],
        true
    );
}

#[tokio::test]
async fn spec_2_4_a_batch_is_saved_whole_or_not_at_all_and_the_one_at_fault_is_named() {
    let house = House::open().await;
    let (_, own) = house.agent("wren").await;
    let batch = |memories: Value| {
        house.post(
            "/v1/agents/wren/memories/batch",
            &own,
            json!({"memories": memories}),
        )
    };
    let refused =
        batch(json!([{"content": "good", "kind": "core"}, {"content": " ", "kind": "core"}])).await;
    let detail = refused.refused(400, "invalid_argument")["detail"].clone();
    assert_eq!(
        detail,
        "content: is empty; give 1 to 10000 characters (memories[1])"
    );
    let refused = batch(json!([{"content": "good", "kind": "core"}, {"kind": "core"}])).await;
    assert_eq!(
        refused.refused(400, "invalid_argument")["detail"],
        "memories[1].content: is missing"
    );
    let refused = batch(json!([["good", "core"]])).await;
    refused.refused(400, "invalid_argument");
    batch(json!([])).await.refused(400, "invalid_argument");
    let many: Vec<Value> = (0..1_001)
        .map(|n| json!({"content": n.to_string(), "kind": "core"}))
        .collect();
    batch(json!(many)).await.refused(400, "invalid_argument");
    assert_eq!(house.get(PATH, &own).await.expect(200)["items"], json!([]));
    let saved = batch(json!(many[..1_000])).await.expect(201);
    assert_eq!(saved["memories"].as_array().unwrap().len(), 1_000);
}

#[tokio::test]
async fn a_page_goes_on_where_the_last_one_ended_whatever_is_written_meanwhile() {
    let house = House::open().await;
    let administrator = house.administrator().await;
    let (_, own) = house.agent("wren").await;
    let memories: Vec<Value> = (0..450)
        .map(|n| json!({"content": format!("kiln {n}"), "kind": "core"}))
        .collect();
    for part in memories.chunks(225) {
        house
            .post(
                "/v1/agents/wren/memories/batch",
                &own,
                json!({"memories": part}),
            )
            .await
            .expect(201);
    }
    for query in [
        "",
        "q=kiln&",
        "tag=none&q=kiln&",
        "q=kiln&include=discarded&",
    ] {
        let mut seen = Vec::new();
        let mut path = format!("{PATH}?{query}limit=100");
        loop {
            let page = house.get(&path, &own).await.expect(200);
            let items = page["items"].as_array().unwrap();
            seen.extend(
                items
                    .iter()
                    .map(|memory| memory["number"].as_u64().unwrap()),
            );
            let Some(cursor) = page["next_cursor"].as_str() else {
                break;
            };
            path = format!("{PATH}?{query}limit=100&cursor={cursor}");
            // A better match, and the last one that was seen goes.
            house.save("wren", &own, "kiln kiln").await;
            let last = seen.last().unwrap();
            house
                .post(
                    &format!("{PATH}/{last}/discard"),
                    &administrator,
                    Value::Null,
                )
                .await
                .expect(200);
        }
        let distinct: BTreeSet<u64> = seen.iter().copied().collect();
        assert_eq!(distinct.len(), seen.len(), "{query}");
        let first: BTreeSet<u64> = distinct
            .iter()
            .copied()
            .filter(|number| *number <= 450)
            .collect();
        let expected = if query.contains("tag") { 0 } else { 438 };
        assert!(first.len() >= expected, "{query}: {}", first.len());
    }
}

#[tokio::test]
async fn what_stands_in_a_query_is_checked_by_name() {
    let house = House::open().await;
    let (_, own) = house.agent("wren").await;
    for (query, told) in [
        ("limit=0", "limit: must be a number from 1 to 200"),
        ("limit=201", "limit: must be a number from 1 to 200"),
        ("limit=ten", "limit: must be a number from 1 to 200"),
        ("limit=1&limit=2", "limit: is given twice"),
        ("cursor=x", "cursor: is none that this list gave"),
        ("kind=other", "kind: must be `core` or `journal`"),
        ("since=May", "since: not a time"),
        ("include=all", "include: must be `discarded`"),
        (
            "knd=core",
            "knd: is no parameter of this request; there are limit, cursor, q, kind",
        ),
    ] {
        let problem = house
            .get(&format!("{PATH}?{query}"), &own)
            .await
            .refused(400, "invalid_argument");
        assert!(
            problem["detail"].as_str().unwrap().starts_with(told),
            "{query}: {problem}"
        );
    }
    let body = json!({"content": "x", "kind": "core"});
    let problem = house
        .post(&format!("{PATH}?dry_run=true"), &own, body)
        .await;
    let told = "dry_run: is no parameter of this request; there are none";
    assert_eq!(problem.refused(400, "invalid_argument")["detail"], told);
    house.save("wren", &own, "today").await;
    for (query, count) in [
        ("until=2026-03-04", 1),
        ("until=2026-03-03", 0),
        ("since=2026-03-04", 1),
    ] {
        let found = house
            .get(&format!("{PATH}?{query}"), &own)
            .await
            .expect(200);
        assert_eq!(found["items"].as_array().unwrap().len(), count, "{query}");
    }
    house
        .get(&format!("{PATH}/18446744073709551615"), &own)
        .await
        .refused(404, "not_found");
}

#[tokio::test]
async fn a_memory_is_handled_under_the_tag_that_was_read() {
    let house = House::open().await;
    let token = house.administrator().await;
    let (_, own) = house.agent_with("wren", &["Handled."]).await;
    let shown = house.get(&format!("{PATH}/1"), &own).await;
    let tag = shown.header("etag").to_owned();
    assert_eq!(
        house.get(&format!("{PATH}/1"), &token).await.header("etag"),
        tag
    );
    let act = async |method: &str, what: &str, tag: &str| {
        let path = format!("{PATH}/1/{what}");
        house
            .send_with(method, &path, &token, &Value::Null, &[("if-match", tag)])
            .await
    };
    let protected = act("PUT", "protection", &tag).await;
    protected.expect(200);
    act("DELETE", "protection", &tag)
        .await
        .refused(412, "precondition_failed");
    act("POST", "discard", protected.header("etag"))
        .await
        .refused(409, "constitutional");
    let free = act("DELETE", "protection", protected.header("etag")).await;
    let discarded = act("POST", "discard", free.header("etag")).await;
    assert!(!discarded.expect(200)["discarded_at"].is_null());
    act("POST", "discard", "*").await.refused(409, "discarded");
    act("POST", "restore", free.header("etag"))
        .await
        .refused(412, "precondition_failed");
    act("POST", "restore", discarded.header("etag"))
        .await
        .expect(200);
    act("POST", "restore", "*")
        .await
        .refused(409, "not_discarded");
    let shred = json!({"reason": "a slip"});
    let path = format!("{PATH}/1/shred");
    let refused = house
        .send_with("POST", &path, &own, &shred, &[("if-match", &tag)])
        .await;
    refused.refused(412, "precondition_failed");
    let shredded = house.post(&path, &own, shred.clone()).await.expect(200);
    assert!(!shredded["shredded_at"].is_null());
    house
        .post(&path, &own, shred)
        .await
        .refused(409, "shredded");
}

#[tokio::test]
async fn spec_2_3_the_context_comes_as_text_to_whoever_wants_text() {
    let house = House::open().await;
    let (_, own) = house
        .agent_with("wren", &["The kiln is fired on Thursdays."])
        .await;
    let path = "/v1/agents/wren/context";
    let shown = house.get(path, &own).await.expect(200);
    assert_eq!(shown["core_tokens"], 8);
    let plain = house
        .send_with("GET", path, &own, &Value::Null, &[("accept", "text/plain")])
        .await;
    assert_eq!(plain.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(shown["text"], plain.text);
    let left_out = house
        .get(&format!("{path}?max_tokens=0"), &own)
        .await
        .expect(200);
    assert!(!left_out["text"].as_str().unwrap().contains("kiln"));
    house
        .get(&format!("{path}?max_tokens=-1"), &own)
        .await
        .refused(400, "invalid_argument");
}

//! `/v1/agents/{agent}/memories`

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::installation::Installation;

const PATH: &str = "/v1/agents/wren/memories";

#[tokio::test]
async fn spec_2_4_a_memory_is_saved_and_shown_with_and_without_words() {
    let installation = Installation::open().await;
    let administrator = installation.administrator().await;
    let (_, own) = installation.agent("wren").await;
    let body = json!({"content": " kept ", "kind": "journal", "tags": ["a"], "source": "chat", "created_at": "2026-03-04T10:00:00+01:00"});
    let saved = installation.post(PATH, &own, body).await.expect(201);
    assert_eq!(saved["content"], "kept");
    assert_eq!(saved["fades_at"], "2026-03-11T09:00:00Z");
    assert_eq!(
        (&saved["refinement_due"], &saved["discarded_at"]),
        (&Value::Null, &Value::Null)
    );
    let shown = installation
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
    installation
        .post(PATH, &own, flagged.clone())
        .await
        .refused(403, "forbidden");
    assert_eq!(
        installation
            .post(PATH, &administrator, flagged)
            .await
            .expect(201)["constitutional"],
        true
    );
}

#[tokio::test]
async fn spec_2_4_a_batch_is_saved_whole_or_not_at_all_and_the_one_at_fault_is_named() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent("wren").await;
    let batch = |memories: Value| {
        installation.post(
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
    assert_eq!(
        installation.get(PATH, &own).await.expect(200)["items"],
        json!([])
    );
    let saved = batch(json!(many[..1_000])).await.expect(201);
    assert_eq!(saved["memories"].as_array().unwrap().len(), 1_000);
}

#[tokio::test]
async fn a_page_goes_on_where_the_last_one_ended_whatever_is_written_meanwhile() {
    let installation = Installation::open().await;
    let administrator = installation.administrator().await;
    let (_, own) = installation.agent("wren").await;
    let memories: Vec<Value> = (0..450)
        .map(|n| json!({"content": format!("kiln {n}"), "kind": "core"}))
        .collect();
    for part in memories.chunks(225) {
        installation
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
            let page = installation.get(&path, &own).await.expect(200);
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
            installation.save("wren", &own, "kiln kiln").await;
            let last = seen.last().unwrap();
            installation
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
    let installation = Installation::open().await;
    let (_, own) = installation.agent("wren").await;
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
            "knd: is no parameter of this request; there are limit, cursor, q, explain, kind",
        ),
    ] {
        let problem = installation
            .get(&format!("{PATH}?{query}"), &own)
            .await
            .refused(400, "invalid_argument");
        assert!(
            problem["detail"].as_str().unwrap().starts_with(told),
            "{query}: {problem}"
        );
    }
    let body = json!({"content": "x", "kind": "core"});
    let problem = installation
        .post(&format!("{PATH}?dry_run=true"), &own, body)
        .await;
    let told = "dry_run: is no parameter of this request; there are none";
    assert_eq!(problem.refused(400, "invalid_argument")["detail"], told);
    installation.save("wren", &own, "today").await;
    for (query, count) in [
        ("until=2026-03-04", 1),
        ("until=2026-03-03", 0),
        ("since=2026-03-04", 1),
    ] {
        let found = installation
            .get(&format!("{PATH}?{query}"), &own)
            .await
            .expect(200);
        assert_eq!(found["items"].as_array().unwrap().len(), count, "{query}");
    }
    installation
        .get(&format!("{PATH}/18446744073709551615"), &own)
        .await
        .refused(404, "not_found");
}

#[tokio::test]
async fn a_memory_is_handled_under_the_tag_that_was_read() {
    let installation = Installation::open().await;
    let token = installation.administrator().await;
    let (_, own) = installation.agent_with("wren", &["Handled."]).await;
    let shown = installation.get(&format!("{PATH}/1"), &own).await;
    let tag = shown.header("etag").to_owned();
    assert_eq!(
        installation
            .get(&format!("{PATH}/1"), &token)
            .await
            .header("etag"),
        tag
    );
    let act = async |method: &str, what: &str, tag: &str| {
        let path = format!("{PATH}/1/{what}");
        installation
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
    let refused = installation
        .send_with("POST", &path, &own, &shred, &[("if-match", &tag)])
        .await;
    refused.refused(412, "precondition_failed");
    let shredded = installation
        .post(&path, &own, shred.clone())
        .await
        .expect(200);
    assert!(!shredded["shredded_at"].is_null());
    installation
        .post(&path, &own, shred)
        .await
        .refused(409, "shredded");
}

#[tokio::test]
async fn spec_4_4_the_agent_alone_is_told_what_still_says_it_and_has_it_go_too() {
    let installation = Installation::open().await;
    let token = installation.administrator().await;
    let memories = [
        "The key is Zwitscher. Mira bakes.",
        "Mira bakes. She sings.",
        "The kiln is old.",
        "The key is Zwitscher.",
        "Mira bakes. It rains.",
    ];
    let (agent, own) = installation.agent_with("wren", &memories).await;
    let shred = async |number: u64, derived: bool| {
        let body = json!({"reason": "a slip", "derived": derived});
        let path = format!("{PATH}/{number}/shred");
        installation.post(&path, &own, body).await
    };
    let shredded = shred(4, false).await.expect(200);
    assert_eq!(
        (&shredded["still_said_by"], &shredded["derived"]),
        (&json!([1]), &json!([]))
    );
    // One of those that say it is constitutional: nothing goes before both wish it.
    let protect = format!("{PATH}/2/protection");
    installation
        .send("PUT", &protect, &token, &json!({}))
        .await
        .expect(200);
    shred(1, true).await.refused(409, "constitutional");
    assert!(
        installation
            .get(&format!("{PATH}/5"), &own)
            .await
            .expect(200)["content"]
            .is_string()
    );
    installation
        .send("DELETE", &protect, &token, &Value::Null)
        .await
        .expect(200);
    let shredded = shred(1, true).await.expect(200);
    assert_eq!(
        (&shredded["still_said_by"], &shredded["derived"]),
        (&json!([]), &json!([2, 5]))
    );
    let left = installation.get(PATH, &own).await.expect(200);
    let left: Vec<&Value> = left["items"].as_array().unwrap().iter().collect();
    let left = left.iter().filter(|one| one["kind"] == "core");
    assert_eq!(
        left.map(|one| &one["number"]).collect::<Vec<_>>(),
        [&json!(3)]
    );
    assert!(agent.verify().await.unwrap().valid);

    // An administrator asks, and is not told; the agent is, with its answer.
    installation
        .save("wren", &own, "The kiln is old. So am I.")
        .await;
    let path = format!("{PATH}/3/shred");
    let wish = json!({"reason": "a slip", "derived": true});
    installation
        .post(&path, &token, wish)
        .await
        .refused(403, "forbidden");
    let asked = installation
        .post(&path, &token, json!({"reason": "a slip"}))
        .await
        .expect(202);
    let request = format!("/v1/access-requests/{}", asked["id"].as_str().unwrap());
    let answer = json!({"granted": true});
    let answered = installation
        .post(&format!("{request}/answer"), &own, answer)
        .await
        .expect(200);
    assert_eq!(answered["still_said_by"].as_array().unwrap().len(), 1);
    for who in [&token, &own] {
        let shown = installation.get(&request, who).await.expect(200);
        assert!(shown["still_said_by"].is_null(), "told once, to the agent");
        let records = installation
            .get("/v1/agents/wren/audit", who)
            .await
            .expect(200);
        assert!(!records.to_string().contains("still_said_by"));
    }
}

#[tokio::test]
async fn spec_3_14_the_wordings_of_a_memory_are_listed_and_what_was_let_go_comes_back() {
    let installation = Installation::open().await;
    let token = installation.administrator().await;
    let ballast = "Of the hives behind the installation seven have honey in them. ".repeat(20);
    let memories = [
        "Mira bakes on Fridays. She sings then.",
        "Mira bakes on Fridays.",
        ballast.as_str(),
    ];
    let (_, own) = installation.agent_with("wren", &memories).await;
    let session = installation.open_session("wren", &own).await;
    let update = json!({"id": 1, "content": "Mira bakes on Fridays."});
    let use_tool = async |tool, arguments| installation.tool(&session, &own, tool, arguments).await;
    assert_eq!(
        use_tool("delete_memory", json!({"id": 2})).await["carried_by"],
        1
    );
    assert_eq!(use_tool("update_memory", update).await["type"], "updated");
    use_tool("complete_refinement", json!({"summary": "Shorter."})).await;

    let path = format!("{PATH}/1/wordings");
    let list = installation.get(&path, &own).await.expect(200);
    let items = list["items"].as_array().unwrap();
    let at = &items[0]["let_go"][0]["at"];
    assert_eq!(
        items[0],
        json!({
            "number": 1,
            "content": memories[0],
            "origin": "agent",
            "created_at": items[0]["created_at"],
            "let_go": [{
                "session_id": session,
                "at": at,
                "words": ["She", "sings", "then"],
                "lost_words": 3,
                "deleted": false,
            }],
        })
    );
    assert_eq!(
        (&items[1]["number"], &items[1]["let_go"]),
        (&json!(2), &json!([]))
    );
    let first = installation
        .get(&format!("{path}?limit=1"), &own)
        .await
        .expect(200);
    let cursor = first["next_cursor"].as_str().unwrap();
    let next = format!("{path}?limit=1&cursor={cursor}");
    let second = installation.get(&next, &own).await.expect(200);
    assert_eq!(
        (&second["items"][0], &second["next_cursor"]),
        (&items[1], &Value::Null)
    );
    // An administrator sees that, and not what (SPEC 5.1).
    let blind = installation.get(&path, &token).await.expect(200);
    let mut bare = list.clone();
    for item in bare["items"].as_array_mut().unwrap() {
        let item = item.as_object_mut().unwrap();
        item.remove("content");
        for lost in item["let_go"].as_array_mut().unwrap() {
            lost.as_object_mut().unwrap().remove("words");
        }
    }
    assert_eq!(blind, bare);
    installation
        .get(&format!("{PATH}/99/wordings"), &own)
        .await
        .refused(404, "not_found");
    // #1 stands for #2 too: what it said comes back as a memory of its own (SPEC 4.3).
    let restore = format!("{PATH}/1/restore");
    let back = installation
        .post(&restore, &token, Value::Null)
        .await
        .expect(200);
    assert!(back["content"].is_null());
    let number = back["number"].as_u64().unwrap();
    assert!(number > 3, "{back}");
    let back = installation
        .get(&format!("{PATH}/{number}"), &own)
        .await
        .expect(200);
    assert_eq!(back["content"], memories[0]);
    installation
        .post(&restore, &token, Value::Null)
        .await
        .refused(409, "not_discarded");
    let verified = installation
        .get("/v1/agents/wren/audit/verify", &token)
        .await
        .expect(200);
    assert_eq!(verified["valid"], true);
    assert_eq!(verified["carried"]["let_go"], 0);
}

#[tokio::test]
async fn spec_2_8_memories_are_narrowed_by_origin_page_by_page() {
    let installation = Installation::open().await;
    let token = installation.administrator().await;
    let (_, own) = installation.agent_with("wren", &["The kiln is old."]).await;
    for at in 0..5 {
        let quoted = json!({"content": format!("The kiln is hot at {at}."), "kind": "core", "origin": "external"});
        installation.post(PATH, &own, quoted).await.expect(201);
        installation
            .save("wren", &own, &format!("Tea at {at}."))
            .await;
    }
    let mut found = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = format!("{PATH}?origin=external&limit=2{cursor}");
        let page = installation.get(&path, &own).await.expect(200);
        // An administrator is told as much, without words.
        let blind = installation.get(&path, &token).await.expect(200);
        assert_eq!(blind["next_cursor"], page["next_cursor"]);
        assert_eq!(
            blind["items"].as_array().unwrap().len(),
            page["items"].as_array().unwrap().len()
        );
        found.extend(
            page["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["number"].clone()),
        );
        let Some(next) = page["next_cursor"].as_str() else {
            break;
        };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(found, [2, 4, 6, 8, 10]);
    let searched = installation
        .get(&format!("{PATH}?q=kiln&origin=agent"), &own)
        .await
        .expect(200);
    assert_eq!(searched["items"].as_array().unwrap().len(), 1);
    installation
        .get(&format!("{PATH}?origin=heaven"), &own)
        .await
        .refused(400, "invalid_argument");
}

#[tokio::test]
async fn spec_2_3_the_context_comes_as_text_to_whoever_wants_text() {
    let installation = Installation::open().await;
    let (_, own) = installation
        .agent_with("wren", &["The kiln is fired on Thursdays."])
        .await;
    let path = "/v1/agents/wren/context";
    let shown = installation.get(path, &own).await.expect(200);
    assert_eq!(shown["core_tokens"], 8);
    let plain = installation
        .send_with("GET", path, &own, &Value::Null, &[("accept", "text/plain")])
        .await;
    assert_eq!(plain.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(shown["text"], plain.text);
    let left_out = installation
        .get(&format!("{path}?max_tokens=0"), &own)
        .await
        .expect(200);
    assert!(!left_out["text"].as_str().unwrap().contains("kiln"));
    installation
        .get(&format!("{path}?max_tokens=-1"), &own)
        .await
        .refused(400, "invalid_argument");
}

#[tokio::test]
async fn spec_2_8_explain_tells_by_what_each_was_found_and_only_where_it_is_asked_for() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent("wren").await;
    for content in ["Linen thread", "A spool of linen"] {
        installation.save("wren", &own, content).await;
    }
    let found = installation
        .get(&format!("{PATH}?q=linen%20thread&explain=true"), &own)
        .await;
    let found = found.expect(200);
    let best = &found["items"][0]["match"];
    assert_eq!(found["items"][0]["number"], 1);
    assert_eq!(
        (&best["rank"], &best["terms"][0]["term"]),
        (&json!(1), &json!("thread"))
    );
    assert_eq!(best["terms"][0]["found"], "word");
    assert!(best["score"].as_f64().unwrap() > 0.0);
    let plain = installation
        .get(&format!("{PATH}?q=linen"), &own)
        .await
        .expect(200);
    assert!(plain["items"][0].get("match").is_none());
    for wrong in ["explain=true", "q=linen&explain=maybe"] {
        let refused = installation
            .get(&format!("{PATH}?{wrong}"), &own)
            .await
            .expect(400);
        let said = refused["detail"].as_str().unwrap();
        assert!(said.contains("explain"), "{said}");
    }
}

//! `/v1/agents/{agent}/memories`

use std::collections::BTreeSet;

use memoir_testkit::{TestedObject, TestedText};
use serde_json::{Value, json};

use crate::installation::{HttpAnswer, Installation};

const PATH: &str = "/v1/agents/wren/memories";

#[tokio::test]
async fn spec_2_4_a_memory_is_saved_and_shown_with_and_without_words() {
    let installation = Installation::open().await;
    let administrator = installation.administrator().await;
    let (_, own) = installation.agent("wren").await;
    let body = json!({"content": " kept ", "kind": "journal", "tags": ["a"], "source": "chat", "created_at": "2026-03-04T10:00:00+01:00"});
    let saved = installation.created(PATH, &own, body).await;
    assert_eq!(saved["content"], "kept");
    assert_eq!(saved["fades_at"], "2026-03-11T09:00:00Z");
    saved.has(json!({"refinement_due": null, "discarded_at": null}));
    let shown = installation
        .shown(&format!("{PATH}/1"), &administrator)
        .await;
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
        "is_summary",
        "sources",
        "under",
        "origin",
        "created_at",
        "updated_at",
        "fades_at",
        "archived_at",
        "discarded_at",
    ];
    assert_eq!(names, BTreeSet::from(open));
    let flagged = json!({"content": "x", "kind": "core", "constitutional": true});
    installation
        .post(PATH, &own, flagged.clone())
        .await
        .refused(403, "forbidden");
    let flagged = installation.post(PATH, &administrator, flagged).await;
    assert_eq!(flagged.expect(201)["constitutional"], true);
}

#[tokio::test]
async fn spec_2_1_a_byte_order_mark_before_a_body_is_no_part_of_it() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent("wren").await;
    let body = "\u{feff}{\"content\": \"The kiln is hot.\"}";
    let sent = installation.request("POST", PATH, &own).body(body).send();
    let saved = HttpAnswer::of(sent.await.unwrap()).await;
    assert_eq!(saved.expect(201)["content"], "The kiln is hot.");
}

#[tokio::test]
async fn spec_3_8_a_list_may_be_written_as_text() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent("wren").await;
    let mut last = installation.save("wren", &own, "The kiln is cold.").await;
    for (tags, expected) in [
        (json!(["bees", "hives"]), json!(["bees", "hives"])),
        (json!("[\"bees\",\"hives\"]"), json!(["bees", "hives"])),
        (json!("bees, hives"), json!(["bees", "hives"])),
        (json!(""), json!([])),
        (json!("[]"), json!([])),
        (json!(null), json!([])),
    ] {
        let replaces = format!("[\"#{last}\"]");
        let content = format!("The kiln is hot, as after {last}.");
        let body = json!({"content": content, "tags": tags, "replaces": replaces});
        let saved = installation.created(PATH, &own, body).await;
        saved.has(json!({"tags": expected, "replaced": [last]}));
        last = saved["number"].as_u64().unwrap();
    }
    for (field, value) in [
        ("tags", json!({"a": 1})),
        ("tags", json!([["a"]])),
        ("replaces", json!("twelve")),
        ("replaces", json!([1.5])),
    ] {
        let body = json!({"content": "x", field: value});
        let answer = installation.post(PATH, &own, body).await;
        answer.text.tells(&format!("{field}: must be a list"));
        answer.refused(400, "invalid_argument");
    }
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
    assert_eq!(installation.shown(PATH, &own).await["items"], json!([]));
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
            let page = installation.shown(&path, &own).await;
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
async fn spec_3_8_a_blank_optional_value_is_left_out_of_bodies_and_queries() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent("wren").await;
    let mut bodies = vec![
        json!({"kind": "", "tags": "", "source": "", "origin": "", "created_at": "", "replaces": "", "constitutional": ""}),
        json!({"kind": null, "tags": null, "source": null, "origin": null, "created_at": null, "replaces": null, "constitutional": null}),
    ];
    for field in [
        "kind",
        "tags",
        "source",
        "origin",
        "created_at",
        "replaces",
        "constitutional",
    ] {
        bodies.push(json!({field: " \n"}));
    }
    let all = bodies.len();
    for (index, mut body) in bodies.into_iter().enumerate() {
        body["content"] = format!("Kiln {index} is warm.").into();
        let saved = installation.created(PATH, &own, body.clone()).await;
        let found = [
            &saved["kind"],
            &saved["tags"],
            &saved["source"],
            &saved["origin"],
        ];
        let expected = [&json!("core"), &json!([]), &Value::Null, &json!("agent")];
        assert_eq!(found, expected, "{body}");
    }
    for (query, found) in [
        (
            "limit=&cursor=&q=&kind=&tag=&since=&until=&include=&under=",
            all,
        ),
        ("kind=+&tag=%20&origin=%09%0A", all),
        ("kind=core&q=", all),
        ("kind=journal&tag=", 0),
    ] {
        let page = installation.shown(&format!("{PATH}?{query}"), &own).await;
        assert_eq!(page["items"].as_array().unwrap().len(), found, "{query}");
    }
    for (body, told) in [
        (json!({"content": " "}), "content"),
        (json!({"content": "x", "kind": "other"}), "kind"),
        (json!({"content": "x", "created_at": "soon"}), "created_at"),
        (json!({"content": "x", "source": 1}), "source"),
    ] {
        let problem = installation.post(PATH, &own, body.clone()).await;
        let problem = problem.refused(400, "invalid_argument");
        problem["detail"].as_str().unwrap().begins(told);
    }
    // A blank that would take a safeguard away is refused.
    let blank = json!({"driver": "agent", "rehearsal": ""});
    let refused = installation.post("/v1/agents/wren/sessions", &own, blank);
    refused.await.refused(400, "invalid_argument");
    let blank = json!({"expires_at": ""});
    let refused = installation.post("/v1/agents/wren/tokens", &own, blank);
    refused.await.refused(400, "invalid_argument");
    let session = json!({"driver": "agent", "mode": "", "resume": "", "model": ""});
    let opened = installation
        .post("/v1/agents/wren/sessions", &own, session)
        .await;
    assert_eq!(opened.expect(201)["mode"], "full");
    let message = json!({"id": "1", "at": "", "speaker": "Ann", "text": "Hello."});
    let transcript = json!({"messages": [message], "now": ""});
    installation
        .post("/v1/agents/wren/transcripts", &own, transcript)
        .await
        .expect(202);
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
        (
            "kind=other",
            "kind: must be `core`, `journal` or `archival`",
        ),
        ("since=May", "since: not a time"),
        ("since=2026-03-02&until=2026-03-01", "since: is later than"),
        (
            "q=tea&since=2026-03-02&until=2026-03-01",
            "since: is later than",
        ),
        ("include=all", "include: must be `discarded`"),
        ("under=x", "under: must be a number from 1"),
        ("under=0", "under: must be a number from 1"),
        ("under=1&q=tea", "protected, faded, under: narrow"),
        (
            "knd=core",
            "knd: is no parameter of this request; there are limit, cursor, q, explain, kind",
        ),
    ] {
        let problem = installation
            .get(&format!("{PATH}?{query}"), &own)
            .await
            .refused(400, "invalid_argument");
        problem["detail"].as_str().unwrap().begins(told);
    }
    let path = "/v1/agents/wren/audit?since=2026-03-02&until=2026-03-01";
    let problem = installation.get(path, &own).await;
    let told = "since: is later than `until`; exchange the two";
    assert_eq!(problem.refused(400, "invalid_argument")["detail"], told);
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
        let found = installation.shown(&format!("{PATH}?{query}"), &own).await;
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
    let read = installation.get(&format!("{PATH}/1"), &token).await;
    assert_eq!(read.header("etag"), tag);
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
    // An act that changes nothing is on the record all the same (SPEC 4.3): one more of each.
    let acts = async |action: &str| {
        let path = format!("/v1/agents/wren/audit?action={action}");
        let page = installation.shown(&path, &token).await;
        page["items"].as_array().unwrap().len()
    };
    let discarded = act("POST", "discard", "*").await;
    assert!(!discarded.expect(200)["discarded_at"].is_null());
    assert_eq!(acts("memory_discarded").await, 2);
    act("POST", "restore", free.header("etag"))
        .await
        .refused(412, "precondition_failed");
    act("POST", "restore", discarded.header("etag"))
        .await
        .expect(200);
    act("POST", "restore", "*").await.expect(200);
    assert_eq!(acts("memory_restored").await, 2);
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

/// The numbers on the page at that path.
async fn numbers(installation: &Installation, path: &str, token: &str) -> Vec<u64> {
    let page = installation.shown(path, token).await;
    let items = page["items"].as_array().unwrap().iter();
    items.map(|one| one["number"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn spec_2_4_replacing_archives_the_old_memory_and_names_what_stays() {
    let installation = Installation::open().await;
    let administrator = installation.administrator().await;
    let memories = ["Ann lives in Rome.", "Ann paints boats.", "Ann keeps bees."];
    let (_, own) = installation.agent_with("wren", &memories).await;
    installation
        .send(
            "PUT",
            &format!("{PATH}/2/protection"),
            &administrator,
            &json!({}),
        )
        .await
        .expect(200);
    let body = json!({"content": "Ann lives in Oslo.", "replaces": [1, 2, 99]});
    let saved = installation.created(PATH, &own, body).await;
    saved.has(json!({"number": 4, "kind": "core", "sources": [1]}));
    assert_eq!(saved["replaced"], json!([1]));
    assert_eq!(
        saved["not_replaced"],
        json!([
            {"number": 2, "reason": "constitutional"},
            {"number": 99, "reason": "not_found"},
        ])
    );
    let old = installation.shown(&format!("{PATH}/1"), &own).await;
    old.has(json!({"kind": "archival", "under": 4, "content": memories[0]}));
    assert!(old["archived_at"].is_string(), "{old}");
    // Without `replaces` the response has neither list.
    let plain = installation
        .created(PATH, &own, json!({"content": "Ann is well."}))
        .await;
    assert!(plain.get("replaced").is_none() && plain.get("not_replaced").is_none());
    // An administrator's text replaces only texts of that side, and the response says no more.
    let body = json!({"content": "Ann lives in Madrid.", "replaces": [4]});
    let saved = installation.created(PATH, &administrator, body).await;
    saved.has(json!({"replaced": [], "not_replaced": [{"number": 4, "reason": "side"}]}));
    // In a batch the entries are decided in their order.
    let batch = json!({"memories": [
        {"content": "Ann keeps hens.", "replaces": [3]},
        {"content": "Ann keeps geese.", "replaces": [3]},
    ]});
    let saved = installation
        .created("/v1/agents/wren/memories/batch", &own, batch)
        .await;
    assert_eq!(saved["memories"][0]["replaced"], json!([3]));
    saved["memories"][1].has(json!({"not_replaced": [{"number": 3, "reason": "not_core"}]}));
    assert_eq!(
        numbers(&installation, &format!("{PATH}?kind=archival"), &own).await,
        [1, 3]
    );
    assert_eq!(
        numbers(&installation, &format!("{PATH}?under=4"), &administrator).await,
        [1]
    );
    // Discarding does not bring back what was replaced, and lists it.
    let discarded = installation
        .acted(&format!("{PATH}/4/discard"), &administrator)
        .await;
    assert_eq!(discarded["sources"], json!([1]));
    let old = installation.shown(&format!("{PATH}/1"), &own).await;
    old.has(json!({"kind": "archival", "under": null}));
    for wrong in [
        json!({"content": "x", "replaces": {"number": 1}}),
        json!({"content": "x", "replaces": ["one"]}),
    ] {
        installation
            .post(PATH, &own, wrong)
            .await
            .refused(400, "invalid_argument");
    }
}

#[tokio::test]
async fn spec_2_8_a_text_that_names_no_one_is_noted_to_its_caller_and_saved() {
    let installation = Installation::open().await;
    let administrator = installation.administrator().await;
    let (_, own) = installation.agent_with("wren", &[]).await;
    for (token, number) in [(&own, 1), (&administrator, 2)] {
        let body = json!({"content": "She moved there."});
        let saved = installation.created(PATH, token, body).await;
        assert_eq!(saved["number"], number);
        let note = saved["note"].as_str().unwrap();
        assert!(note.contains("\"She\"") && !note.contains('\n'), "{note}");
    }
    let body = json!({"memories": [{"content": "He has left the house."}, {"content": "Rosa has left the house."}]});
    let path = format!("{PATH}/batch");
    let saved = installation.created(&path, &own, body).await;
    let noted: Vec<bool> = saved["memories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one.get("note").is_some())
        .collect();
    assert_eq!(noted, [true, false]);
}

#[tokio::test]
async fn spec_2_4_the_same_text_is_named_to_the_agent_alone() {
    let installation = Installation::open().await;
    let administrator = installation.administrator().await;
    let (_, own) = installation.agent_with("wren", &["Ann keeps bees."]).await;
    let save = async |token: &str, content: &str| {
        let body = json!({"content": content});
        installation.created(PATH, token, body).await
    };
    assert_eq!(save(&own, "Ann keeps bees").await["same_as"], 1);
    assert!(save(&own, "Ann keeps hens.").await.get("same_as").is_none());
    for text in ["Ann keeps bees.", "Ann keeps dogs."] {
        assert!(save(&administrator, text).await.get("same_as").is_none());
    }
}

#[tokio::test]
async fn spec_2_4_promote_brings_an_archival_memory_back() {
    let installation = Installation::open().await;
    let administrator = installation.administrator().await;
    let (_, own) = installation.agent("wren").await;
    for (text, kind) in [
        ("Tea.", "archival"),
        ("Rye.", "archival"),
        ("Bees.", "core"),
        ("Rain.", "journal"),
    ] {
        let body = json!({"content": text, "kind": kind, "tags": ["a"]});
        installation.created(PATH, &own, body).await;
    }
    let promote = async |number: u64, token: &str| {
        let path = format!("{PATH}/{number}/promote");
        installation.post(&path, token, Value::Null).await
    };
    let promoted = promote(1, &own).await.expect(200);
    promoted.has(json!({"kind": "core", "content": "Tea.", "archived_at": null}));
    let blind = promote(2, &administrator).await;
    assert_eq!(blind.expect(200)["kind"], "core");
    blind.text.omits("Rye");
    for (number, token) in [(1, &own), (3, &own), (4, &administrator)] {
        promote(number, token).await.refused(409, "not_archival");
    }
    promote(99, &own).await.refused(404, "not_found");
    let body = json!({"content": "Ice.", "kind": "archival"});
    installation.created(PATH, &own, body).await;
    installation
        .acted(&format!("{PATH}/5/discard"), &administrator)
        .await;
    promote(5, &own).await.refused(404, "not_found");
    // The flag is for core memories.
    for method in ["PUT", "DELETE"] {
        let path = format!("{PATH}/4/protection");
        installation
            .send(method, &path, &administrator, &Value::Null)
            .await
            .refused(409, "not_core");
    }
}

/// An agent over its budget of 1,000 tokens with twelve memories of 100 tokens, and #13, a summary of #1 and #2.
async fn summarized(installation: &Installation) -> (String, String) {
    let administrator = installation.administrator().await;
    let made = json!({"name": "wren", "core_token_budget": 1_000, "refinement_threshold": 0.5});
    installation
        .created("/v1/agents", &administrator, made)
        .await;
    let token = installation
        .created("/v1/agents/wren/tokens", &administrator, json!({}))
        .await;
    let own = token["token"].as_str().unwrap().to_owned();
    let names = [
        "Ada", "Bruno", "Clara", "Denis", "Edith", "Felix", "Greta", "Hugo", "Ines", "Jonas",
        "Karin", "Lukas",
    ];
    for name in names {
        let long =
            format!("{name} walks along the river in the evening and counts the boats. ").repeat(7);
        let content: String = long.chars().take(399).chain(['.']).collect();
        installation.save("wren", &own, &content).await;
    }
    let session = installation.open_session("wren", &own).await;
    let arguments = json!({"ids": [1, 2], "content": "Ada and Bruno walk along the river."});
    let made = installation
        .tool(&session, &own, "consolidate_memories", arguments)
        .await;
    made.has(json!({"number": 13, "is_summary": true}));
    let summary = json!({"summary": "The river twice."});
    let done = installation
        .tool(&session, &own, "complete_refinement", summary)
        .await;
    done.has(json!({"archived": 2, "summaries": 1}));
    (administrator, own)
}

#[tokio::test]
async fn spec_3_9_a_summary_is_shown_with_its_sources_and_is_neither_protected_nor_restored() {
    let installation = Installation::open().await;
    let (administrator, own) = summarized(&installation).await;
    let summary = installation.shown(&format!("{PATH}/13"), &own).await;
    summary.has(json!({"is_summary": true, "sources": [1, 2]}));
    for method in ["PUT", "DELETE"] {
        let path = format!("{PATH}/13/protection");
        let refused = installation
            .send(method, &path, &administrator, &Value::Null)
            .await
            .refused(409, "not_applicable");
        assert!(refused["hint"].is_null(), "{refused}");
    }
    // The last source takes the summary away.
    for number in [1, 2] {
        let path = format!("{PATH}/{number}/promote");
        installation.acted(&path, &own).await;
    }
    let gone = installation.shown(&format!("{PATH}/13"), &own).await;
    assert!(gone["discarded_at"].is_string(), "{gone}");
    installation
        .post(&format!("{PATH}/13/restore"), &administrator, Value::Null)
        .await
        .refused(409, "not_applicable");
    let verified = installation
        .shown("/v1/agents/wren/audit/verify", &administrator)
        .await;
    assert_eq!(
        (&verified["valid"], &verified["originals"]),
        (
            &json!(true),
            &json!({"total": 12, "in_prompt": 12, "archived": 0, "removed_off": 0, "lost": 0})
        )
    );
}

#[tokio::test]
async fn spec_4_4_the_agent_alone_is_told_which_summaries_rest_on_a_shredded_text() {
    let installation = Installation::open().await;
    let (administrator, own) = summarized(&installation).await;
    let wish = json!({"reason": "a slip", "derived": true});
    // An administrator asks, and is not told which ones.
    let asked = installation
        .post(&format!("{PATH}/12/shred"), &administrator, wish.clone())
        .await
        .expect(202);
    asked.has(json!({"memory": 12, "derived": true}));
    let shredded = installation
        .post(&format!("{PATH}/1/shred"), &own, wish)
        .await
        .expect(200);
    assert!(shredded["shredded_at"].is_string(), "{shredded}");
    let derived = shredded["derived"].as_array().unwrap();
    assert!(derived.contains(&json!(13)), "{shredded}");
    let summary = installation.shown(&format!("{PATH}/13"), &own).await;
    assert!(summary["shredded_at"].is_string(), "{summary}");
    // The other source stays, in the archive.
    let other = installation.shown(&format!("{PATH}/2"), &own).await;
    other.has(json!({"kind": "archival", "under": null}));
    let verified = installation
        .shown("/v1/agents/wren/audit/verify", &own)
        .await;
    assert_eq!(
        (&verified["valid"], &verified["originals"]["lost"]),
        (&json!(true), &json!(0))
    );
}

#[tokio::test]
async fn spec_2_8_memories_are_narrowed_by_origin_page_by_page() {
    let installation = Installation::open().await;
    let token = installation.administrator().await;
    let (_, own) = installation.agent_with("wren", &["The kiln is old."]).await;
    for at in 0..5 {
        let quoted = json!({"content": format!("The kiln is hot at {at}."), "kind": "core", "origin": "external"});
        installation.created(PATH, &own, quoted).await;
        installation
            .save("wren", &own, &format!("Tea at {at}."))
            .await;
    }
    let mut found = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = format!("{PATH}?origin=external&limit=2{cursor}");
        let page = installation.shown(&path, &own).await;
        // An administrator gets the same, without text.
        let blind = installation.shown(&path, &token).await;
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
        .shown(&format!("{PATH}?q=kiln&origin=agent"), &own)
        .await;
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
    let shown = installation.shown(path, &own).await;
    assert_eq!(shown["core_tokens"], 8);
    let plain = installation
        .send_with("GET", path, &own, &Value::Null, &[("accept", "text/plain")])
        .await;
    assert_eq!(plain.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(shown["text"], plain.text);
    let left_out = installation
        .shown(&format!("{path}?max_tokens=0"), &own)
        .await;
    assert!(!left_out["text"].as_str().unwrap().contains("kiln"));
    assert!(shown.get("explained").is_none());
    let explained = installation
        .shown(&format!("{path}?max_tokens=0&hard=true&explain=true"), &own)
        .await;
    let omitted = &explained["explained"]["omitted"][0];
    omitted.has(json!({"number": 1, "bound": "max_tokens"}));
    installation
        .get(&format!("{path}?explain=maybe"), &own)
        .await
        .refused(400, "invalid_argument");
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
    let plain = installation.shown(&format!("{PATH}?q=linen"), &own).await;
    assert!(plain["items"][0].get("match").is_none());
    for wrong in ["explain=true", "q=linen&explain=maybe"] {
        let refused = installation
            .get(&format!("{PATH}?{wrong}"), &own)
            .await
            .expect(400);
        let said = refused["detail"].as_str().unwrap();
        said.tells("explain");
    }
}

//! `/v1/agents/{agent}/memories`

use std::collections::BTreeSet;

use memoir_testkit::{TestedObject, TestedText};
use serde_json::{Value, json};

use crate::installation::{Caller, HttpAnswer, Installation, fault, items, numbers};

const PATH: &str = "/v1/agents/wren/memories";

fn at(rest: &str) -> String {
    format!("{PATH}{rest}")
}

#[tokio::test]
async fn spec_2_4_a_memory_is_saved_and_shown_with_and_without_words() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let (_, own) = installation.agent("wren").await;
    let body = json!({"content": " kept ", "kind": "journal", "tags": ["a"], "source": "chat", "created_at": "2026-03-04T10:00:00+01:00"});
    let saved = own.created(PATH, body).await;
    assert_eq!(saved["content"], "kept");
    assert_eq!(saved["fades_at"], "2026-03-11T09:00:00Z");
    saved.has(json!({"refinement_due": null, "discarded_at": null}));
    let shown = admin.shown(&at("/1")).await;
    let names = shown.as_object().unwrap().keys().map(String::as_str);
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
    assert_eq!(BTreeSet::from_iter(names), BTreeSet::from(open));
    let flagged = json!({"content": "x", "kind": "core", "constitutional": true});
    let refused = own.post(PATH, flagged.clone()).await;
    refused.refused(403, "forbidden");
    let flagged = admin.created(PATH, flagged).await;
    assert_eq!(flagged["constitutional"], true);
}

#[tokio::test]
async fn spec_2_1_a_byte_order_mark_before_a_body_is_no_part_of_it() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent("wren").await;
    let body = "\u{feff}{\"content\": \"The kiln is hot.\"}";
    let sent = installation.request("POST", PATH, &own.token).body(body);
    let saved = HttpAnswer::of(sent.send().await.unwrap()).await;
    assert_eq!(saved.expect(201)["content"], "The kiln is hot.");
}

#[tokio::test]
async fn spec_2_1_a_list_over_its_limit_is_refused_with_the_limit_and_the_size() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent("wren").await;
    let long = [1_u64].repeat(1_001);
    let text = long.iter().map(u64::to_string).collect::<Vec<_>>();
    let many = "has 1001; give a list of at most 1000";
    for (field, value, told) in [
        ("tags", json!(text), many),
        ("replaces", json!(long), many),
        // As text they are counted before they are read.
        ("replaces", json!(text.join(",")), many),
        ("replaces", json!(json!(long).to_string()), many),
        ("tags", json!("#kiln ".repeat(1_001)), many),
        (
            "tags",
            json!((1..=17).collect::<Vec<_>>()),
            "has 17 tags, and the limit is 16",
        ),
    ] {
        let mut body = json!({"content": "The kiln is cold."});
        body[field] = value;
        let detail = fault(&own.post(PATH, body).await);
        assert!(detail.starts_with(&format!("{field}: {told}")), "{detail}");
    }
    // What is given twice is one, and a number that is not found does not refuse the save.
    let (tags, replaces) = (["kiln"].repeat(1_000), [99].repeat(1_000));
    let body = json!({"content": "The kiln is cold.", "tags": tags, "replaces": replaces});
    own.created(PATH, body).await.has(json!({"tags": ["kiln"]}));
    let replaces = vec!["#99"; 1_000].join(", ");
    let body = json!({"content": "The kiln is cold.", "replaces": replaces});
    own.created(PATH, body).await;
}

#[tokio::test]
async fn spec_3_8_a_list_may_be_written_as_text() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent("wren").await;
    let mut last = own.save("wren", "The kiln is cold.").await;
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
        let saved = own.created(PATH, body).await;
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
        let told = fault(&own.post(PATH, body).await);
        told.begins(&format!("{field}: must be a list"));
    }
}

#[tokio::test]
async fn spec_2_4_a_batch_is_saved_whole_or_not_at_all_and_the_one_at_fault_is_named() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent("wren").await;
    let batch = async |memories: Value| {
        let body = json!({"memories": memories});
        own.post(&at("/batch"), body).await
    };
    let good = json!({"content": "good", "kind": "core"});
    let blank = json!([good, {"content": " ", "kind": "core"}]);
    assert_eq!(
        fault(&batch(blank).await),
        "content: is empty; give 1 to 10000 characters (memories[1])"
    );
    let without = json!([good, {"kind": "core"}]);
    let told = fault(&batch(without).await);
    assert_eq!(told, "memories[1].content: is missing");
    fault(&batch(json!([["good", "core"]])).await);
    fault(&batch(json!([])).await);
    let many: Vec<Value> = (0..1_001)
        .map(|n| json!({"content": n.to_string(), "kind": "core"}))
        .collect();
    assert_eq!(
        fault(&batch(json!(many)).await),
        "memories: has 1001; give 1 to 1000"
    );
    // Refused by their number, before any beyond the limit is read (SPEC 2.1).
    let mut more = many.clone();
    more.push(json!({"kind": "no such kind"}));
    assert_eq!(
        fault(&batch(json!(more)).await),
        "memories: has 1002; give 1 to 1000"
    );
    assert_eq!(own.shown(PATH).await["items"], json!([]));
    let saved = batch(json!(many[..1_000])).await.expect(201);
    assert_eq!(saved["memories"].as_array().unwrap().len(), 1_000);
}

#[tokio::test]
async fn a_page_goes_on_where_the_last_one_ended_whatever_is_written_meanwhile() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let (_, own) = installation.agent("wren").await;
    let memories: Vec<Value> = (0..450)
        .map(|n| json!({"content": format!("kiln {n}"), "kind": "core"}))
        .collect();
    for part in memories.chunks(225) {
        own.created(&at("/batch"), json!({"memories": part})).await;
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
            let page = own.shown(&path).await;
            seen.extend(numbers(&page));
            let Some(cursor) = page["next_cursor"].as_str() else {
                break;
            };
            path = format!("{PATH}?{query}limit=100&cursor={cursor}");
            // A better match, and the last one that was seen goes.
            own.save("wren", "kiln kiln").await;
            let last = seen.last().unwrap();
            admin.acted(&at(&format!("/{last}/discard"))).await;
        }
        let distinct: BTreeSet<u64> = seen.iter().copied().collect();
        assert_eq!(distinct.len(), seen.len(), "{query}");
        let first = distinct.range(..=450_u64).count();
        let expected = if query.contains("tag") { 0 } else { 438 };
        assert!(first >= expected, "{query}: {first}");
    }
}

#[tokio::test]
async fn spec_3_8_a_blank_optional_value_is_left_out_of_bodies_and_queries() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent("wren").await;
    let fields = [
        "kind",
        "tags",
        "source",
        "origin",
        "created_at",
        "replaces",
        "constitutional",
    ];
    let of_all = |value: Value| Value::from_iter(fields.map(|field| (field, value.clone())));
    let mut bodies = vec![of_all(json!("")), of_all(Value::Null)];
    bodies.extend(fields.map(|field| json!({field: " \n"})));
    let all = bodies.len();
    for (index, mut body) in bodies.into_iter().enumerate() {
        body["content"] = format!("Kiln {index} is warm.").into();
        let saved = own.created(PATH, body).await;
        saved.has(json!({"kind": "core", "tags": [], "source": null, "origin": "agent"}));
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
        let page = own.shown(&at(&format!("?{query}"))).await;
        assert_eq!(items(&page).len(), found, "{query}");
    }
    for (body, told) in [
        (json!({"content": " "}), "content"),
        (json!({"content": "x", "kind": "other"}), "kind"),
        (json!({"content": "x", "created_at": "soon"}), "created_at"),
        (json!({"content": "x", "source": 1}), "source"),
    ] {
        fault(&own.post(PATH, body).await).begins(told);
    }
    // A blank that would take a safeguard away is refused.
    let blank = json!({"driver": "agent", "rehearsal": ""});
    let sessions = "/v1/agents/wren/sessions";
    fault(&own.post(sessions, blank).await);
    let blank = json!({"expires_at": ""});
    fault(&own.post("/v1/agents/wren/tokens", blank).await);
    let session = json!({"driver": "agent", "mode": "", "resume": "", "model": ""});
    let opened = own.created(sessions, session).await;
    assert_eq!(opened["mode"], "full");
    let message = json!({"id": "1", "at": "", "speaker": "Ann", "text": "Hello."});
    let transcript = json!({"messages": [message], "now": ""});
    let taken = own.post("/v1/agents/wren/transcripts", transcript).await;
    taken.expect(202);
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
        fault(&own.get(&at(&format!("?{query}"))).await).begins(told);
    }
    let path = "/v1/agents/wren/audit?since=2026-03-02&until=2026-03-01";
    let told = "since: is later than `until`; exchange the two";
    assert_eq!(fault(&own.get(path).await), told);
    let body = json!({"content": "x", "kind": "core"});
    let told = "dry_run: is no parameter of this request; there are none";
    assert_eq!(fault(&own.post(&at("?dry_run=true"), body).await), told);
    own.save("wren", "today").await;
    for (query, count) in [
        ("until=2026-03-04", 1),
        ("until=2026-03-03", 0),
        ("since=2026-03-04", 1),
    ] {
        let found = own.shown(&at(&format!("?{query}"))).await;
        assert_eq!(items(&found).len(), count, "{query}");
    }
    let unknown = own.get(&at("/18446744073709551615")).await;
    unknown.refused(404, "not_found");
}

#[tokio::test]
async fn a_memory_is_handled_under_the_tag_that_was_read() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let (_, own) = installation.agent_with("wren", &["Handled."]).await;
    let shown = own.get(&at("/1")).await;
    let tag = shown.header("etag").to_owned();
    let read = admin.get(&at("/1")).await;
    assert_eq!(read.header("etag"), tag);
    let act = async |method: &str, what: &str, tag: &str| {
        let (path, tag) = (at(&format!("/1/{what}")), [("if-match", tag)]);
        admin.send_with(method, &path, &Value::Null, &tag).await
    };
    let failed = "precondition_failed";
    let protected = act("PUT", "protection", &tag).await;
    protected.expect(200);
    let stale = act("DELETE", "protection", &tag).await;
    stale.refused(412, failed);
    let kept = act("POST", "discard", protected.header("etag")).await;
    kept.refused(409, "constitutional");
    let free = act("DELETE", "protection", protected.header("etag")).await;
    let discarded = act("POST", "discard", free.header("etag")).await;
    assert!(!discarded.expect(200)["discarded_at"].is_null());
    // An act that changes nothing is on the record all the same (SPEC 4.3): one more of each.
    let acts = async |action: &str| {
        let path = format!("/v1/agents/wren/audit?action={action}");
        items(&admin.shown(&path).await).len()
    };
    let discarded = act("POST", "discard", "*").await;
    assert!(!discarded.expect(200)["discarded_at"].is_null());
    assert_eq!(acts("memory_discarded").await, 2);
    let stale = act("POST", "restore", free.header("etag")).await;
    stale.refused(412, failed);
    let restored = act("POST", "restore", discarded.header("etag")).await;
    restored.expect(200);
    act("POST", "restore", "*").await.expect(200);
    assert_eq!(acts("memory_restored").await, 2);
    let (path, shred) = (at("/1/shred"), json!({"reason": "a slip"}));
    let tag = [("if-match", tag.as_str())];
    let stale = own.send_with("POST", &path, &shred, &tag).await;
    stale.refused(412, failed);
    let shredded = own.post(&path, shred.clone()).await.expect(200);
    assert!(!shredded["shredded_at"].is_null());
    own.post(&path, shred).await.refused(409, "shredded");
}

#[tokio::test]
async fn spec_2_4_replacing_archives_the_old_memory_and_names_what_stays() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let memories = ["Ann lives in Rome.", "Ann paints boats.", "Ann keeps bees."];
    let (_, own) = installation.agent_with("wren", &memories).await;
    let protected = admin.put(&at("/2/protection"), &json!({})).await;
    protected.expect(200);
    let body = json!({"content": "Ann lives in Oslo.", "replaces": [1, 2, 99]});
    let saved = own.created(PATH, body).await;
    saved.has(json!({"number": 4, "kind": "core", "sources": [1]}));
    assert_eq!(saved["replaced"], json!([1]));
    assert_eq!(
        saved["not_replaced"],
        json!([
            {"number": 2, "reason": "constitutional"},
            {"number": 99, "reason": "not_found"},
        ])
    );
    let old = own.shown(&at("/1")).await;
    old.has(json!({"kind": "archival", "under": 4, "content": memories[0]}));
    assert!(old["archived_at"].is_string(), "{old}");
    // Without `replaces` the response has neither list.
    let plain = own.created(PATH, json!({"content": "Ann is well."})).await;
    assert!(plain.get("replaced").is_none() && plain.get("not_replaced").is_none());
    // An administrator's text replaces only texts of that side, and the response says no more.
    let body = json!({"content": "Ann lives in Madrid.", "replaces": [4]});
    let saved = admin.created(PATH, body).await;
    saved.has(json!({"replaced": [], "not_replaced": [{"number": 4, "reason": "side"}]}));
    // In a batch the entries are decided in their order.
    let batch = json!({"memories": [
        {"content": "Ann keeps hens.", "replaces": [3]},
        {"content": "Ann keeps geese.", "replaces": [3]},
    ]});
    let saved = own.created(&at("/batch"), batch).await;
    assert_eq!(saved["memories"][0]["replaced"], json!([3]));
    saved["memories"][1].has(json!({"not_replaced": [{"number": 3, "reason": "not_core"}]}));
    let archival = own.shown(&at("?kind=archival")).await;
    assert_eq!(numbers(&archival), [1, 3]);
    // The response shows each as the whole batch leaves it.
    let batch = json!({"memories": [
        {"content": "Ann sings."},
        {"content": "Ann sings in a choir.", "replaces": [9]},
    ]});
    let saved = own.created(&at("/batch"), batch).await;
    saved["memories"][0].has(json!({"number": 9, "kind": "archival", "under": 10}));
    assert!(saved["memories"][0]["archived_at"].is_string(), "{saved}");
    saved["memories"][1].has(json!({"number": 10, "replaced": [9], "sources": [9]}));
    let below = admin.shown(&at("?under=4")).await;
    assert_eq!(numbers(&below), [1]);
    // Discarding does not bring back what was replaced, and lists it.
    let discarded = admin.acted(&at("/4/discard")).await;
    assert_eq!(discarded["sources"], json!([1]));
    let old = own.shown(&at("/1")).await;
    old.has(json!({"kind": "archival", "under": null}));
    for wrong in [
        json!({"content": "x", "replaces": {"number": 1}}),
        json!({"content": "x", "replaces": ["one"]}),
    ] {
        fault(&own.post(PATH, wrong).await);
    }
}

#[tokio::test]
async fn spec_2_8_a_text_that_names_no_one_is_noted_to_its_caller_and_saved() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let (_, own) = installation.agent_with("wren", &[]).await;
    for (caller, number) in [(&own, 1), (&admin, 2)] {
        let body = json!({"content": "She moved there."});
        let saved = caller.created(PATH, body).await;
        assert_eq!(saved["number"], number);
        let note = saved["note"].as_str().unwrap();
        assert!(note.contains("\"She\"") && !note.contains('\n'), "{note}");
    }
    let body = json!({"memories": [{"content": "He has left the house."}, {"content": "Rosa has left the house."}]});
    let saved = own.created(&at("/batch"), body).await;
    let noted = [0, 1].map(|place| saved["memories"][place].get("note").is_some());
    assert_eq!(noted, [true, false]);
}

#[tokio::test]
async fn spec_2_4_the_same_text_is_named_to_the_agent_alone() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let (_, own) = installation.agent_with("wren", &["Ann keeps bees."]).await;
    let save = async |caller: &Caller, content: &str| {
        let body = json!({"content": content});
        caller.created(PATH, body).await
    };
    assert_eq!(save(&own, "Ann keeps bees").await["same_as"], 1);
    assert!(save(&own, "Ann keeps hens.").await.get("same_as").is_none());
    for text in ["Ann keeps bees.", "Ann keeps dogs."] {
        assert!(save(&admin, text).await.get("same_as").is_none());
    }
}

#[tokio::test]
async fn spec_2_4_promote_brings_an_archival_memory_back() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let (_, own) = installation.agent("wren").await;
    for (text, kind) in [
        ("Tea.", "archival"),
        ("Rye.", "archival"),
        ("Bees.", "core"),
        ("Rain.", "journal"),
    ] {
        let body = json!({"content": text, "kind": kind, "tags": ["a"]});
        own.created(PATH, body).await;
    }
    let promote = async |number: u64, caller: &Caller| {
        let path = at(&format!("/{number}/promote"));
        caller.act(&path).await
    };
    let promoted = promote(1, &own).await.expect(200);
    promoted.has(json!({"kind": "core", "content": "Tea.", "archived_at": null}));
    let blind = promote(2, &admin).await;
    assert_eq!(blind.expect(200)["kind"], "core");
    blind.text.omits("Rye");
    for (number, caller) in [(1, &own), (3, &own), (4, &admin)] {
        let refused = promote(number, caller).await;
        refused.refused(409, "not_archival");
    }
    promote(99, &own).await.refused(404, "not_found");
    let body = json!({"content": "Ice.", "kind": "archival"});
    own.created(PATH, body).await;
    admin.acted(&at("/5/discard")).await;
    promote(5, &own).await.refused(404, "not_found");
    // The flag is for core memories.
    for method in ["PUT", "DELETE"] {
        let path = at("/4/protection");
        let refused = admin.send(method, &path, &Value::Null).await;
        refused.refused(409, "not_core");
    }
}

/// An agent over its budget of 1,000 tokens with twelve memories of 100 tokens, and #13, a summary of #1 and #2.
async fn summarized(installation: &Installation) -> (Caller, Caller) {
    let admin = installation.administrator().await;
    let made = json!({"name": "wren", "core_token_budget": 1_000, "refinement_threshold": 0.5});
    admin.created("/v1/agents", made).await;
    let token = admin.created("/v1/agents/wren/tokens", json!({})).await;
    let own = installation.made(&token);
    let names = [
        "Ada", "Bruno", "Clara", "Denis", "Edith", "Felix", "Greta", "Hugo", "Ines", "Jonas",
        "Karin", "Lukas",
    ];
    for name in names {
        let long =
            format!("{name} walks along the river in the evening and counts the boats. ").repeat(7);
        let content: String = long.chars().take(399).chain(['.']).collect();
        own.save("wren", &content).await;
    }
    let session = own.open_session("wren").await;
    let arguments = json!({"ids": [1, 2], "content": "Ada and Bruno walk along the river."});
    let made = own.tool(&session, "consolidate_memories", arguments).await;
    made.has(json!({"number": 13, "is_summary": true}));
    let done = own.complete(&session, "The river twice.").await;
    done.has(json!({"archived": 2, "summaries": 1}));
    (admin, own)
}

#[tokio::test]
async fn spec_3_9_a_summary_is_shown_with_its_sources_and_is_neither_protected_nor_restored() {
    let installation = Installation::open().await;
    let (admin, own) = summarized(&installation).await;
    let summary = own.shown(&at("/13")).await;
    summary.has(json!({"is_summary": true, "sources": [1, 2]}));
    for method in ["PUT", "DELETE"] {
        let path = at("/13/protection");
        let refused = admin.send(method, &path, &Value::Null).await;
        let problem = refused.refused(409, "not_applicable");
        assert!(problem["hint"].is_null(), "{problem}");
    }
    // The last source takes the summary away.
    for number in [1, 2] {
        own.acted(&at(&format!("/{number}/promote"))).await;
    }
    let gone = own.shown(&at("/13")).await;
    assert!(gone["discarded_at"].is_string(), "{gone}");
    let restored = admin.act(&at("/13/restore")).await;
    restored.refused(409, "not_applicable");
    let verified = admin.shown("/v1/agents/wren/audit/verify").await;
    let all = json!({"total": 12, "in_prompt": 12, "archived": 0, "removed_off": 0, "lost": 0});
    verified.has(json!({"valid": true, "originals": all}));
}

#[tokio::test]
async fn spec_4_4_the_agent_alone_is_told_which_summaries_rest_on_a_shredded_text() {
    let installation = Installation::open().await;
    let (admin, own) = summarized(&installation).await;
    let wish = json!({"reason": "a slip", "derived": true});
    // An administrator asks, and is not told which ones.
    let asked = admin.post(&at("/12/shred"), wish.clone()).await.expect(202);
    asked.has(json!({"memory": 12, "derived": true}));
    let shredded = own.post(&at("/1/shred"), wish).await.expect(200);
    assert!(shredded["shredded_at"].is_string(), "{shredded}");
    let derived = shredded["derived"].as_array().unwrap();
    assert!(derived.contains(&json!(13)), "{shredded}");
    let summary = own.shown(&at("/13")).await;
    assert!(summary["shredded_at"].is_string(), "{summary}");
    // The other source stays, in the archive.
    let other = own.shown(&at("/2")).await;
    other.has(json!({"kind": "archival", "under": null}));
    let verified = own.shown("/v1/agents/wren/audit/verify").await;
    assert_eq!(verified["valid"], true);
    assert_eq!(verified["originals"]["lost"], 0);
}

#[tokio::test]
async fn spec_2_8_memories_are_narrowed_by_origin_page_by_page() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let (_, own) = installation.agent_with("wren", &["The kiln is old."]).await;
    for hour in 0..5 {
        let content = format!("The kiln is hot at {hour}.");
        let quoted = json!({"content": content, "kind": "core", "origin": "external"});
        own.created(PATH, quoted).await;
        own.save("wren", &format!("Tea at {hour}.")).await;
    }
    // An administrator gets the same, without text.
    for caller in [&own, &admin] {
        let found = caller.all(&at("?origin=external&limit=2")).await;
        let found: Vec<&Value> = found.iter().map(|one| &one["number"]).collect();
        assert_eq!(found, [2, 4, 6, 8, 10]);
    }
    let searched = own.shown(&at("?q=kiln&origin=agent")).await;
    assert_eq!(items(&searched).len(), 1);
    fault(&own.get(&at("?origin=heaven")).await);
}

#[tokio::test]
async fn spec_2_3_the_context_comes_as_text_on_request() {
    let installation = Installation::open().await;
    let texts = ["The kiln is fired on Thursdays."];
    let (_, own) = installation.agent_with("wren", &texts).await;
    let path = "/v1/agents/wren/context";
    let shown = own.shown(path).await;
    assert_eq!(shown["core_tokens"], 8);
    let accept = [("accept", "text/plain")];
    let plain = own.send_with("GET", path, &Value::Null, &accept).await;
    assert_eq!(plain.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(shown["text"], plain.text);
    let left_out = own.shown(&format!("{path}?max_tokens=0")).await;
    assert!(!left_out["text"].as_str().unwrap().contains("kiln"));
    assert!(shown.get("explained").is_none());
    let explain = format!("{path}?max_tokens=0&hard=true&explain=true");
    let explained = own.shown(&explain).await;
    let omitted = &explained["explained"]["omitted"][0];
    omitted.has(json!({"number": 1, "bound": "max_tokens"}));
    for wrong in ["explain=maybe", "max_tokens=-1"] {
        fault(&own.get(&format!("{path}?{wrong}")).await);
    }
}

#[tokio::test]
async fn spec_2_8_explain_tells_by_what_each_was_found_and_only_where_it_is_asked_for() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent("wren").await;
    for content in ["Linen thread", "A spool of linen"] {
        own.save("wren", content).await;
    }
    let found = own.shown(&at("?q=linen%20thread&explain=true")).await;
    let best = &found["items"][0]["match"];
    assert_eq!(found["items"][0]["number"], 1);
    assert_eq!(
        (&best["rank"], &best["terms"][0]["term"]),
        (&json!(1), &json!("thread"))
    );
    assert_eq!(best["terms"][0]["found"], "word");
    assert!(best["score"].as_f64().unwrap() > 0.0);
    let plain = own.shown(&at("?q=linen")).await;
    assert!(plain["items"][0].get("match").is_none());
    for wrong in ["explain=true", "q=linen&explain=maybe"] {
        fault(&own.get(&at(&format!("?{wrong}"))).await).tells("explain");
    }
}

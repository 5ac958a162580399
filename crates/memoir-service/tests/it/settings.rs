//! Settings that bound the context, the schedule and the model's answers, and lists narrowed by flags and by
//! who did what.

use memoir_app::{Handling, MemoryInput};
use memoir_domain::{audit::Actor, memory::Number};
use memoir_testkit::{TestedObject, TestedText, journal};
use serde_json::{Value, json};

use crate::installation::{Caller, Installation, fault, items, numbers, owner};

#[tokio::test]
async fn spec_3_5_no_next_session_is_shown_where_one_could_do_nothing() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let (_, own) = installation
        .agent_with("wren", &["Ann keeps bees.", "The kiln is hot."])
        .await;
    let path = "/v1/agents/wren";
    let is_asked = async |caller: &Caller| {
        let shown = caller.shown(path).await;
        let reason = &shown["next_refinement_reason"];
        let expected = match shown["next_refinement_at"].is_null() {
            true => json!("nothing_to_refine"),
            false => Value::Null,
        };
        assert_eq!(reason, &expected);
        reason.is_null()
    };
    let set = async |body: Value| {
        let sent = admin.patch(path, &body).await;
        sent.expect(200);
    };
    assert!(is_asked(&admin).await && is_asked(&own).await);
    for body in [
        json!({"loss_guard": "refuse"}),
        json!({"loss_guard": "archive", "refinement_mode": "dedup_only"}),
    ] {
        set(body).await;
        assert!(!is_asked(&admin).await && !is_asked(&own).await);
    }
    own.save("wren", "The kiln is hot.").await;
    assert!(is_asked(&admin).await, "a duplicate may leave");
    set(json!({"refinement_mode": "full", "immutable_tags": ["voice"]})).await;
    let (_, own) = installation.agent("lark").await;
    let body = json!({"content": "I speak softly.", "tags": ["voice"]});
    own.created("/v1/agents/lark/memories", body).await;
    let lark = admin.shown("/v1/agents/lark").await;
    assert_eq!(lark["next_refinement_at"], Value::Null);
}

#[tokio::test]
async fn spec_2_2_the_newer_settings_are_set_and_shown_with_what_is_in_force() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let made = admin.created("/v1/agents", json!({"name": "wren"})).await;
    for (name, value) in [
        ("refinement_schedule", json!("weekly")),
        ("refinement_mode", json!("full")),
        ("context_journal_tokens", json!(8000)),
        ("answer_tokens", json!(4096)),
    ] {
        assert_eq!(made[name], Value::Null, "{name}");
        assert_eq!(made[&format!("effective_{name}")], value, "{name}");
    }
    let style = made["effective_refinement_prompt"].as_str().unwrap();
    assert!(style.len() > 40 && made["refinement_prompt"].is_null());
    assert_eq!(made["effective_system_prompt"], "You are wren.");
    assert_eq!(made["next_refinement_at"], Value::Null);
    assert_eq!(made["next_refinement_reason"], "nothing_to_refine");
    let body = json!({
        "refinement_schedule": "thursday 3:30", "refinement_mode": "dedup_only",
        "context_journal_tokens": 100, "context_core_tokens": 200, "reasoning_effort": "low",
        "answer_tokens": 900, "system_prompt": "You are %{name}.",
    });
    let path = "/v1/agents/wren";
    let set = admin.patch(path, &body).await.expect(200);
    assert_eq!(set["refinement_schedule"], "Thu 03:30");
    assert_eq!(set["effective_refinement_mode"], "dedup_only");
    set.has(json!({"reasoning_effort": "low", "answer_tokens": 900}));
    // A placeholder that nothing fills is named, and no error.
    let warning = set["warnings"][0].as_str().unwrap();
    warning.begins("system_prompt: `%{name}` is a placeholder");
    let shown = admin.shown(path).await;
    assert_eq!(shown["effective_context_journal_tokens"], 100);
    assert!(shown.get("warnings").is_none());
    let schedule = json!({"refinement_schedule": "soon"});
    for (body, told) in [
        (
            json!({"answer_tokens": 15}),
            "a whole number of tokens from 16",
        ),
        (schedule, "such as `Thu 03:30`"),
        (json!({"reasoning_effort": "hard"}), "`minimal`"),
    ] {
        fault(&admin.patch(path, &body).await).tells(told);
    }
}

#[tokio::test]
async fn spec_2_7_a_view_gives_the_whole_text_of_a_default_prompt() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent_with("wren", &[]).await;
    let path = "/v1/agents/wren/self/memory_reflection_prompt";
    let shown = own.shown(path).await;
    assert_eq!(shown["is_default"], true);
    shown["value"].as_str().unwrap().tells("matter in a year");
    let body = json!({"value": "Keep what %{owner} says."});
    let set = own.put(path, &body).await.expect(200);
    assert_eq!(set["is_default"], false);
    assert!(set["warnings"][0].as_str().unwrap().contains("`%{owner}`"));
}

#[tokio::test]
async fn spec_2_3_what_is_left_out_of_a_context_is_listed_by_number() {
    let installation = Installation::open().await;
    let (agent, own) = installation
        .agent_with("wren", &["The kiln is fired on Thursdays."])
        .await;
    let admin = installation.administrator().await;
    // Five tokens each.
    let entry = |number: usize| journal(&format!("Fired the kiln {number}."));
    let entries: Vec<MemoryInput> = (2..=9).map(entry).collect();
    agent.memories().save(&entries, &owner()).await.unwrap();
    let path = "/v1/agents/wren/context";
    assert_eq!(own.shown(path).await["left_out"], json!([]));
    let body = json!({"context_journal_tokens": 32});
    admin.patch("/v1/agents/wren", &body).await.expect(200);
    let shown = own.shown(path).await;
    // The seventh exceeded the bound, and the oldest left until four fifths of it were left.
    assert_eq!(shown["left_out"], json!([2, 3]));
    let text = shown["text"].as_str().unwrap();
    text.tells("kiln 4");
    text.tells("(Left out for want of room: 2 journal entries.");
    let none = own.shown(&format!("{path}?max_tokens=1")).await;
    assert_eq!(none["left_out"], json!([1, 2, 3, 4, 5, 6, 7, 8, 9]));
}

#[tokio::test]
async fn spec_2_8_lists_are_narrowed_to_what_is_protected_or_faded() {
    let installation = Installation::open().await;
    let (agent, own) = installation
        .agent_with("wren", &["The kiln is hot.", "The wheel turns."])
        .await;
    let admin = installation.administrator().await;
    let old = MemoryInput {
        created_at: Some("2020-01-01".parse().unwrap()),
        ..journal("Long ago.")
    };
    agent.memories().save(&[old], &owner()).await.unwrap();
    let path = "/v1/agents/wren/memories";
    let protection = format!("{path}/2/protection");
    admin.put(&protection, &json!({})).await.expect(200);
    for caller in [&own, &admin] {
        for (query, expected) in [
            ("protected=true", vec![2]),
            ("protected=false", vec![1, 3]),
            ("faded=true", vec![3]),
            ("faded=false", vec![1, 2]),
            ("faded=true&kind=core", vec![]),
            ("protected=false&faded=false", vec![1]),
        ] {
            let page = caller.shown(&format!("{path}?{query}")).await;
            assert_eq!(numbers(&page), expected, "{query}");
        }
    }
    let expired = own.shown(&format!("{path}/3")).await;
    assert_eq!(expired["fades_at"], "2020-01-08T00:00:00Z");
    let shown = admin.shown("/v1/agents/wren").await;
    shown.has(json!({"journal_count": 1, "journal_tokens": 3}));
    for wrong in ["protected=maybe", "faded=true&q=kiln"] {
        fault(&own.get(&format!("{path}?{wrong}")).await);
    }
}

#[tokio::test]
async fn spec_4_1_the_audit_is_narrowed_by_actions_actor_memory_and_time() {
    let installation = Installation::open().await;
    let (agent, own) = installation.agent_with("wren", &["The kiln is hot."]).await;
    for (handling, actor) in [
        (Handling::Protect, owner()),
        (Handling::Unprotect, Actor::owner()),
    ] {
        let handled = agent.memories().handle(Number(1), handling, &actor);
        handled.await.unwrap();
    }
    let path = "/v1/agents/wren/audit";
    for (query, expected) in [
        ("action=memory_protected", 1),
        ("action=memory_protected,memory_unprotected", 2),
        ("memory=1&action=memory_protected,memory_saved", 2),
        // The entry about it is a memory, too.
        ("memory=2", 1),
        ("memory=3", 0),
        ("actor=agent&action=memory_protected", 0),
        ("actor=owner&action=memory_unprotected", 1),
        ("until=2020-01-01", 0),
    ] {
        let found = own.shown(&format!("{path}?{query}")).await;
        assert_eq!(items(&found).len(), expected, "{query}");
    }
    for wrong in [
        "action=memory_protected,nothing",
        "actor=nobody",
        "memory=one",
        "until=soon",
    ] {
        fault(&own.get(&format!("{path}?{wrong}")).await);
    }
}

/// A page of the longest records would take tens of megabytes.
#[tokio::test]
async fn spec_6_1_a_page_of_long_records_is_shorter_and_the_next_one_continues() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent("wren").await;
    for letter in 'a'..='p' {
        let prompt = json!({"value": letter.to_string().repeat(99_000)});
        let set = own.put("/v1/agents/wren/self/system_prompt", &prompt);
        set.await.expect(200);
    }
    let path = "/v1/agents/wren/audit?limit=200";
    let all = own.all(path).await;
    assert!(items(&own.shown(path).await).len() < all.len());
    let seqs = all.iter().map(|record| record["seq"].as_u64().unwrap());
    assert!(seqs.eq(1..=all.len() as u64));
}

#[tokio::test]
async fn spec_5_1_an_accounts_audit_spans_its_agents_without_words() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent_with("wren", &["The kiln is hot."]).await;
    installation.agent_with("ada", &["The wheel turns."]).await;
    let admin = installation.administrator().await;
    own.get("/v1/audit").await.refused(403, "forbidden");
    let all = admin.all("/v1/audit?limit=200").await;
    let of = |name: &str| all.iter().filter(|record| record["agent"] == name).count();
    assert!(of("wren") >= 2 && of("ada") >= 2);
    assert!(!json!(all).to_string().contains("kiln"));
    // Page by page it is the same, each record once.
    assert_eq!(admin.all("/v1/audit?limit=1").await, all);
    let saved = admin.shown("/v1/audit?action=memory_saved&memory=1").await;
    assert_eq!(items(&saved).len(), 2);
}

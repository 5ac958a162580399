//! After a move, the same questions can be answered here: for each format written questions, whose answers must be
//! among the first ten memories recalled.

use memoir_domain::{
    PrivateText,
    audit::ActorKind,
    memory::{Kind, Memory, NewMemory, Number, Tags},
    origin::SavedBy,
    recall::{RecallIndex, RecallQuery},
};
use serde_json::{Value, json};

use crate::{Read, folder, read, read_path, time};

/// Facts, each with its question and the words of its answer.
const FACTS: &str = "\
    Kai is allergic to shellfish. | what is Kai allergic to? | shellfish
    The sloop Marta is moored at berth four in Cascais. | where is the sloop moored? | berth four
    Cedar is delivered on Tuesdays by Joana. | when is cedar delivered? | Tuesdays
    Kai's brother Rui lives in Porto and paints signs. | what does brother Rui paint? | signs
    The workshop alarm code changes every April. | workshop alarm code | April
    Tea at four, never coffee after noon. | coffee after noon? | never
    The mast of the Marta was cut from a spruce near Sintra. | which wood was the mast cut from? | spruce
    Lessons in navigation are on the second Friday. | navigation lessons | second Friday";

fn facts() -> impl Iterator<Item = [&'static str; 3]> {
    FACTS.lines().map(|line| -> [&str; 3] {
        let cells: Vec<&str> = line.trim().split(" | ").collect();
        cells.try_into().unwrap()
    })
}

/// Enough other memories, so that ten are a selection.
fn others() -> impl Iterator<Item = String> {
    let things = [
        "rope", "sail", "anchor", "lamp", "ledger", "crane", "varnish", "oar",
    ];
    (0..120).map(move |at| {
        let thing = things[at % things.len()];
        format!(
            "Shelf {at} in the loft holds the {thing} number {} of last year.",
            at * 7
        )
    })
}

fn all() -> Vec<String> {
    let mut others = others();
    let mut all = Vec::new();
    for [fact, ..] in facts() {
        all.extend(others.by_ref().take(15));
        all.push(fact.to_owned());
    }
    all
}

fn stored(found: &Read) -> Vec<Memory> {
    let active = found.memories.iter().filter(|memory| memory.gone.is_none());
    active
        .zip(1..)
        .map(|(memory, number)| {
            let new = NewMemory {
                tags: Tags::parse(memory.tags.iter().map(PrivateText::expose)).unwrap(),
                source: Some(memory.source.clone()),
                created_at: memory.created_at,
                constitutional: memory.constitutional,
                ..NewMemory::new(
                    memory.kind.unwrap_or(Kind::Journal),
                    memory.content.clone(),
                    SavedBy::of(ActorKind::Owner),
                )
            };
            new.into_memory(Number(number), number, time("2026-04-01T00:00:00Z"))
        })
        .collect()
}

fn answers(form: &str, found: &Read) {
    let memories = stored(found);
    for [_, question, answer] in facts() {
        let query = RecallQuery {
            text: question.into(),
            limit: 10,
            ..RecallQuery::default()
        };
        let found = RecallIndex::of(&memories).search(&query, None);
        let first: Vec<&str> = found
            .iter()
            .take(10)
            .filter_map(|found| memories.iter().find(|memory| memory.number == found.number))
            .map(|memory| memory.content.expose())
            .collect();
        assert!(
            first.iter().any(|text| text.contains(answer)),
            "{form}: {question}: {first:?}"
        );
    }
}

fn numbered(row: impl Fn(usize, String) -> Value) -> Vec<Value> {
    all()
        .into_iter()
        .enumerate()
        .map(|(at, text)| row(at, text))
        .collect()
}

#[test]
fn the_answers_are_found_after_a_move_from_every_form() {
    let list = json!({"results": numbered(|at, text| json!({"id": at.to_string(), "memory": text, "hash": "x"}))});
    answers("mem0", &read(&list.to_string()));

    let page = all().join("\n\n");
    let export =
        json!([{"conversations_memory": page, "project_memories": {}, "account_uuid": "a"}]);
    answers("claude", &read(&export.to_string()));

    let lines = numbered(
        |at, text| json!({"type": "entity", "name": format!("Note {at}"), "entityType": "note", "observations": [text]}),
    );
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    answers("mcp-memory", &read(&lines.join("\n")));

    let agent = json!({"agents": [{"name": "Evie", "block_ids": ["b"], "messages": []}],
        "blocks": [{"id": "b", "label": "notes", "value": page, "read_only": false}]});
    answers("letta", &read(&agent.to_string()));
    let passages = numbered(
        |at, text| json!({"id": at.to_string(), "text": text, "archive_id": "a", "is_deleted": false}),
    );
    answers("letta passages", &read(&json!(passages).to_string()));

    let notes: Vec<(String, String)> = all()
        .into_iter()
        .enumerate()
        .map(|(at, text)| (format!("notes/n{at}.md"), text))
        .collect();
    let notes: Vec<(&str, &str)> = notes
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let (_home, root) = folder(&notes);
    answers("markdown", &read_path(&root));

    let listed: Vec<String> = all()
        .iter()
        .zip(1..)
        .map(|(text, at)| format!("{at}. [2026-01-15]. {text}"))
        .collect();
    let conversations = json!([{"create_time": 1_770_000_000.0, "current_node": "1", "mapping": {"1": {"parent": null, "message":
        {"author": {"role": "system"}, "content": {"content_type": "model_editable_context", "model_set_context": listed.join("\n\n")}}}}}]);
    answers("chatgpt", &read(&conversations.to_string()));

    let rows = numbered(
        |at, text| json!({"prefix": "kai", "key": at.to_string(), "value": {"content": text}}),
    );
    answers("langgraph", &read(&json!(rows).to_string()));
}

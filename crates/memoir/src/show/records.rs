//! Audit records: one line each, or with the texts before and after.

use std::fmt::Write;

use memoir_app::{ShownMemory, ShownRecord};
use memoir_domain::{
    PrivateJson,
    audit::{Action, Actor, ActorKind, CORE_TOKENS, MEMBERS, STARTED_BY},
    labels,
};
use serde_json::Value;

use super::{TextTable, diff::diff, joined, moment, or_blank, thousands};
use crate::terminal::{BOLD, DIM, safe};

pub(crate) fn list(records: &[ShownRecord]) -> String {
    let mut table = TextTable::new([
        "record", "time", "actor", "action", "memory", "session", "facts",
    ])
    .right([0]);
    for record in records {
        table.row([
            record.seq.to_string(),
            moment(record.recorded_at),
            actor(&record.actor),
            record.action.label().to_owned(),
            or_blank(record.memory),
            or_blank(record.session_id),
            facts(record),
        ]);
    }
    table.to_string()
}

/// The records of one session, one a line.
pub(crate) fn timeline(records: &[ShownRecord]) -> String {
    let mut table = TextTable::new(["record", "time", "action", "memory", "facts"]).right([0]);
    for record in records {
        table.row([
            record.seq.to_string(),
            moment(record.recorded_at),
            record.action.label().to_owned(),
            or_blank(record.memory),
            facts(record),
        ]);
    }
    table.to_string()
}

/// The texts before and after each record. `memories` are the agent's, the discarded ones included: no record has the
/// text of a joined duplicate.
pub(crate) fn with_texts(records: &[ShownRecord], memories: &[ShownMemory]) -> String {
    let mut text = String::new();
    for record in records {
        let changes = changes(record, memories);
        if changes.is_empty() {
            continue;
        }
        let _ = writeln!(
            text,
            "{BOLD}{} {}{BOLD:#} {DIM}(record {}){DIM:#}",
            or_blank(record.memory),
            record.action.label(),
            record.seq
        );
        text.push_str(&changes);
        text.push('\n');
    }
    text
}

fn changes(record: &ShownRecord, memories: &[ShownMemory]) -> String {
    let (before, after) = (content(&record.words.before), content(&record.words.after));
    let merged = merged(record);
    let archived = numbers(record, "archived");
    // The text of an archived memory does not change, so that the record need not have it.
    let gone: Vec<u64> = numbers(record, "discarded")
        .into_iter()
        .chain(archived.iter().copied())
        .filter(|number| !merged.iter().any(|(member, _)| member == number))
        .collect();
    let gone = memories
        .iter()
        .filter(|memory| gone.contains(&memory.number.0))
        .map(|memory| (memory.number.0, memory.content()));
    let mut text = String::new();
    for (number, content) in merged.iter().copied().chain(gone) {
        let what = if archived.contains(&number) {
            "to the archive: "
        } else {
            "from "
        };
        let _ = writeln!(text, "{DIM}{what}#{number}{DIM:#}");
        text.push_str(&diff(Some(content), None));
    }
    if before != after {
        text.push_str(&diff(before, after));
    }
    text
}

pub(super) fn actor(actor: &Actor) -> String {
    let name = safe(&actor.name);
    match actor.kind {
        ActorKind::Administrator => format!("administrator ({name})"),
        ActorKind::Agent => format!("agent {name}"),
        ActorKind::System => name.into_owned(),
        ActorKind::Owner => format!("owner ({name})"),
    }
}

fn content(side: &Option<PrivateJson>) -> Option<&str> {
    side.as_ref()?.expose().get("content")?.as_str()
}

fn merged(record: &ShownRecord) -> Vec<(u64, &str)> {
    let Some(Value::Array(merged)) = record.words.data.expose().get("merged") else {
        return Vec::new();
    };
    merged
        .iter()
        .filter_map(|memory| {
            Some((
                memory.get("number")?.as_u64()?,
                memory.get("content")?.as_str()?,
            ))
        })
        .collect()
}

fn numbers(record: &ShownRecord, name: &str) -> Vec<u64> {
    let listed = record.words.data.expose().get(name);
    let listed = listed.and_then(Value::as_array);
    let listed = listed.into_iter().flatten();
    listed.filter_map(Value::as_u64).collect()
}

/// Counts and codes, without text.
fn facts(record: &ShownRecord) -> String {
    let Some(data) = record.words.data.expose().as_object() else {
        return String::new();
    };
    let mut facts: Vec<String> = Vec::new();
    let tokens = |name: &str| data.get(name).and_then(Value::as_u64).map(thousands);
    // A completion changes no memory: its measure is the session as a whole.
    let (from, to) = match record.action {
        Action::MemoryRefinementComplete => ("pre_session_tokens", "post_session_tokens"),
        Action::MemoryRefinementRollback => ("core_tokens_before", "post_session_tokens"),
        _ => ("core_tokens_before", "core_tokens_after"),
    };
    if let (Some(before), Some(after)) = (tokens(from), tokens(to)) {
        facts.push(format!("{before} → {after} tokens"));
    }
    let is_shown = |name: &str| {
        name == from
            || matches!(
                name,
                "core_tokens_before" | "core_tokens_after" | "post_session_tokens"
            )
            || (name == CORE_TOKENS && data.contains_key(to))
            // Joined duplicates are listed twice.
            || (name == "memories" && data.contains_key("discarded"))
    };
    let others = data.iter().filter(|(name, _)| !is_shown(name));
    facts.extend(
        others.filter_map(|(name, value)| match (name.as_str(), value) {
            // Text, and hashes for programs.
            ("summary" | "reason_text" | "replaced" | "head", _) => None,
            ("merged", _) => {
                let merged = merged(record).into_iter();
                Some(listed("merged", merged.map(|(number, _)| number)))
            }
            (STARTED_BY, _) => {
                let by: Actor = serde_json::from_value(value.clone()).ok()?;
                Some(format!("{}: {}", labels::fact(STARTED_BY), actor(&by)))
            }
            // A consolidation lists them as `merged`, with their texts.
            (MEMBERS, _) if data.contains_key("merged") => None,
            ("discarded" | "memories" | "archived" | MEMBERS, Value::Array(listed_numbers)) => {
                (!listed_numbers.is_empty()).then(|| listed(name, numbers(record, name)))
            }
            ("replaced_by" | "edited", Value::Number(number)) => {
                Some(listed(name, number.as_u64()))
            }
            _ => fact(name, value),
        }),
    );
    safe(&facts.join(", ")).into_owned()
}

/// `merged: #1 #2`
fn listed(name: &str, numbers: impl IntoIterator<Item = u64>) -> String {
    let numbers = numbers.into_iter().map(|number| format!("#{number}"));
    format!("{}: {}", labels::fact(name), joined(numbers, " "))
}

/// One fact; a zero and an empty list are omitted.
fn fact(name: &str, value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::Number(number) if number.as_u64() == Some(0) => return None,
        Value::Bool(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        Value::String(code) => labels::fact_code(name, code).to_owned(),
        Value::Array(items) if items.is_empty() => return None,
        Value::Array(items) => {
            let items = items.iter().map(|item| match item {
                Value::String(code) => code.clone(),
                other => other.to_string(),
            });
            joined(items, " ")
        }
        Value::Object(parts) => {
            let parts = parts.iter().filter_map(|(name, value)| fact(name, value));
            let parts: Vec<String> = parts.collect();
            return (!parts.is_empty()).then(|| parts.join(", "));
        }
        other => other.to_string(),
    };
    Some(format!("{}: {text}", labels::fact(name)))
}

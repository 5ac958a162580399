//! Audit records: one line each, or with the texts before and after.

use std::fmt::Write;

use memoir_app::RecordView;
use memoir_domain::{PrivateJson, audit::ActorKind};
use serde_json::Value;

use super::{Table, diff::diff, moment, short};
use crate::terminal::{BOLD, DIM, safe};

/// Facts that hold an agent's words: told in full only where texts are asked for.
const WORDS: [&str; 3] = ["summary", "reason_text", "lost_details"];

/// Records of any kind, one a line.
pub(crate) fn list(records: &[RecordView]) -> String {
    let mut table = Table::new(["record", "time", "actor", "action", "memory", "session", "facts"])
        .right(0);
    for record in records {
        table.row([
            record.seq.to_string(),
            moment(record.recorded_at),
            actor(record),
            record.action.as_str().to_owned(),
            memory(record),
            record.session_id.as_ref().map(short).unwrap_or_default(),
            facts(record),
        ]);
    }
    table.to_string()
}

/// The records of one session, one a line.
pub(crate) fn timeline(records: &[RecordView]) -> String {
    let mut table = Table::new(["record", "time", "action", "memory", "facts"]).right(0);
    for record in records {
        table.row([
            record.seq.to_string(),
            moment(record.recorded_at),
            record.action.as_str().to_owned(),
            memory(record),
            facts(record),
        ]);
    }
    table.to_string()
}

/// What each record did to the texts, with the details that were lost.
pub(crate) fn with_texts(records: &[RecordView]) -> String {
    let mut text = String::new();
    for record in records {
        let (before, after) = (content(&record.before), content(&record.after));
        let merged = merged(record);
        if before.is_none() && after.is_none() && merged.is_empty() {
            continue;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{BOLD}{} {}{BOLD:#} {DIM}(record {}){DIM:#}",
            action(record),
            memory(record),
            record.seq
        );
        let is_same_text = before.is_some() && before == after;
        for (number, content) in &merged {
            let _ = writeln!(text, "{DIM}from #{number}{DIM:#}");
            text.push_str(&diff(Some(content), None));
        }
        if !is_same_text {
            text.push_str(&diff(before, after));
        }
        if let Some(Value::Array(discarded)) = record.data.expose().get("discarded") {
            let numbers: Vec<String> = discarded.iter().map(|number| format!("#{number}")).collect();
            let _ = writeln!(text, "{DIM}doubles discarded:{DIM:#} {}", numbers.join(" "));
        }
        if let Some(Value::Array(lost)) = record.data.expose().get("lost_details") {
            let lost: Vec<_> = lost.iter().filter_map(Value::as_str).map(safe).collect();
            let _ = writeln!(text, "{DIM}lost details:{DIM:#} {}", lost.join(" · "));
        }
        text.push('\n');
    }
    text
}

/// `merged into`, for the actions of a session; the action's own name for others.
fn action(record: &RecordView) -> &'static str {
    match record.action.as_str() {
        "memory_refinement_consolidate" => "merged into",
        "memory_refinement_update" => "rewritten",
        "memory_refinement_delete" => "deleted",
        "memory_refinement_protect" => "protected",
        "memory_deduplicated" => "kept one of several doubles",
        other => other,
    }
}

fn actor(record: &RecordView) -> String {
    let name = safe(&record.actor.name);
    match record.actor.kind {
        ActorKind::Administrator => format!("administrator ({name})"),
        ActorKind::Agent => format!("agent {name}"),
        ActorKind::System => name.into_owned(),
    }
}

fn memory(record: &RecordView) -> String {
    record.memory.map(|number| number.to_string()).unwrap_or_default()
}

fn content(side: &Option<PrivateJson>) -> Option<&str> {
    side.as_ref()?.expose().get("content")?.as_str()
}

fn merged(record: &RecordView) -> Vec<(u64, &str)> {
    let Some(Value::Array(merged)) = record.data.expose().get("merged") else {
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

/// Counts and codes, without anybody's words.
fn facts(record: &RecordView) -> String {
    let Some(data) = record.data.expose().as_object() else {
        return String::new();
    };
    let mut facts: Vec<String> = Vec::new();
    for (name, value) in data {
        if WORDS.contains(&name.as_str()) {
            // The array of words stands under the same name as the count that it replaced.
            if let Value::Array(words) = value {
                facts.push(format!("{name}={}", words.len()));
            }
        } else if name == "merged" {
            let numbers: Vec<String> = merged(record).iter().map(|(number, _)| format!("#{number}")).collect();
            facts.push(format!("merged={}", numbers.join(",")));
        } else {
            facts.extend(fact(name, value));
        }
    }
    safe(&facts.join(" ")).into_owned()
}

/// One fact; a zero is not worth its room.
fn fact(name: &str, value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::Number(number) if number.as_u64() == Some(0) => return None,
        Value::String(code) => code.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items
                .iter()
                .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
                .collect();
            items.join(",")
        }
        Value::Object(parts) => {
            let parts: Vec<String> = parts.iter().filter_map(|(name, value)| fact(name, value)).collect();
            return (!parts.is_empty()).then(|| parts.join(" "));
        }
        other => other.to_string(),
    };
    Some(format!("{name}={text}"))
}

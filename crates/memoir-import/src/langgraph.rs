//! LangGraph's store: rows of `prefix`, `key` and `value`, as JSON lines, as a list, or in SQLite.
//!
//! A value is any object. Its text is one of the usual fields, LangMem's `{"kind", "content": {"content"}}` among them;
//! without one, the value itself is the text, as JSON.

use memoir_domain::memory::Kind;
use memoir_transcripts::raw::Raw;

use crate::{
    EntryPosition, NoMemoryReason, ReadResult,
    copied::is_copied,
    date,
    files::{Files, is_database},
    json::{self, Lists, fields},
    out::{FoundEntry, Out},
    recognise::is_json,
    sqlite, tags,
};

const LISTS: Lists = Lists::named(&["items", "store", "results", "data"]);
/// The depth of nested objects in which the text is searched.
const DEPTH: usize = 3;
/// The store's own.
const RESERVED: &str = "langgraph";

pub(crate) fn read(mut files: Files, out: &mut Out<'_>) -> ReadResult {
    for index in 0..files.len() {
        let head = files.head(index);
        let is_such = |name: &str| json::is_name(name) || is_json(&head) || is_database(&head);
        if !files.takes(index, out, is_such) {
            continue;
        }
        if is_database(&head) {
            database(&files, index, out)?;
            continue;
        }
        if files.is_one() && is_copied(&head) {
            files.undouble();
            let notice = "`COPY … TO` of PostgreSQL doubled the backslashes; this was undone";
            out.notice("doubled_backslashes", notice);
        }
        json::elements(&mut files, index, &LISTS, out, element)?;
    }
    Ok(())
}

fn element(raw: Raw<'_>, place: EntryPosition, out: &mut Out<'_>) -> ReadResult {
    fields!(raw => {
        prefix: "prefix", namespace: "namespace", key: "key", value: "value", created: "created_at",
        expires: "expires_at",
    } else {
        return out.found(place, Err(NoMemoryReason::Malformed));
    });
    let namespace = match namespace.filter(|namespace| namespace.is_array()) {
        Some(list) => tags::of_value(list).join("."),
        None => json::first_text([prefix, namespace]).unwrap_or_default(),
    };
    let Some(value) = value else {
        return out.found(place, Err(NoMemoryReason::MissingField("value")));
    };
    let gone = out.expired(date::of_value(expires).at);
    row(
        namespace,
        key.and_then(Raw::id).unwrap_or_default(),
        value,
        FoundEntry {
            created_at: date::of_value(created),
            gone,
            place,
            ..FoundEntry::default()
        },
        out,
    )
}

fn database(files: &Files, index: usize, out: &mut Out<'_>) -> ReadResult {
    let Some(database) = sqlite::taken("store", files, index, out)? else {
        return Ok(());
    };
    let columns = sqlite::columns(&database, "store")?;
    // Not every store has that column, and the query must not fail without it.
    let expires = match columns.iter().any(|column| column == "expires_at") {
        true => "expires_at",
        false => "NULL",
    };
    let query = format!("SELECT prefix, key, value, created_at, {expires} FROM store");
    sqlite::each(&database, &query, out, &mut |found, out| {
        let place = EntryPosition::default();
        let Some(value) = sqlite::text(found, 2) else {
            return out.found(place, Err(NoMemoryReason::InvalidField("value")));
        };
        let Ok(value) = Raw::whole(value.as_bytes()) else {
            return out.found(place, Err(NoMemoryReason::Malformed));
        };
        let gone = out.expired(sqlite::time(found, 4).at);
        row(
            sqlite::text(found, 0).unwrap_or_default(),
            sqlite::text(found, 1).unwrap_or_default(),
            value,
            FoundEntry {
                created_at: sqlite::time(found, 3),
                gone,
                ..FoundEntry::default()
            },
            out,
        )
    })
}

fn row(
    namespace: String,
    key: String,
    value: Raw<'_>,
    entry: FoundEntry,
    out: &mut Out<'_>,
) -> ReadResult {
    if namespace.split('.').next() == Some(RESERVED) {
        out.pass(entry.place, NoMemoryReason::Derived);
        return Ok(());
    }
    // A column that was written as a text holds the object within it.
    let inner = json::text(Some(value));
    // Only an object: a text in quotes is the memory itself.
    let inner = inner.filter(|text| text.trim_start().starts_with('{'));
    let unwrapped = inner
        .as_deref()
        .and_then(|text| Raw::whole(text.as_bytes()).ok());
    let value = unwrapped.unwrap_or(value);
    let kind = value.fields(["kind", "type"]).ok();
    let kind = kind.and_then(json::first_text);
    let found = text_of(value, 0);
    // Here JSON is the agent's memory; elsewhere a text that is only JSON is an artefact of a program.
    let may_be_json = found.is_none();
    // LangMem's name for an event, which belongs into the journal.
    let is_episode = kind
        .as_deref()
        .is_some_and(|kind| kind.to_lowercase().contains("episod"));
    let mut tags: Vec<String> = vec![namespace.clone()];
    tags.extend(kind.filter(|kind| kind != "Memory"));
    out.entry(FoundEntry {
        // One text for one value, since source and text identify an entry on a second reading.
        text: found.unwrap_or_else(|| canonical(value)),
        id: format!("{namespace}/{key}"),
        kind: Some(if is_episode {
            Kind::Journal
        } else {
            Kind::Core
        }),
        tags,
        may_be_json,
        ..entry
    })
}

fn text_of(value: Raw<'_>, depth: usize) -> Option<String> {
    if let Some(text) = json::text(Some(value)) {
        return Some(text);
    }
    if !value.is_object() || depth >= DEPTH {
        return None;
    }
    let fields = value
        .fields(["content", "text", "memory", "data", "value"])
        .ok()?;
    let mut fields = fields.into_iter().flatten();
    // A blank field must not hide the next one.
    fields.find_map(|field| text_of(field, depth + 1).filter(|text| !text.trim().is_empty()))
}

/// The same JSON for the same value, whatever the order of its fields.
fn canonical(value: Raw<'_>) -> String {
    match serde_json::from_slice::<serde_json::Value>(value.bytes()) {
        Ok(value) if value.is_null() => String::new(),
        Ok(value) => value.to_string(),
        // Too deep to be parsed.
        Err(_) => String::from_utf8_lossy(value.bytes()).into_owned(),
    }
}

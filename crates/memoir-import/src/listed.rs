//! JSON of an unknown program: every object with a text, in whatever list or object it is.
//!
//! Such a file is never recognised by itself, since a list of anything may have texts: it is offered, and read on
//! request.

use memoir_domain::memory::Kind;
use memoir_transcripts::raw::{Raw, first_keys};

use crate::{
    DeletionReason, EntryPosition, ForeignGone, NoMemoryReason, ReadResult,
    date::{self, FoundDate},
    files::Files,
    json::{self, Lists},
    out::{FoundEntry, Out, digest_id},
    tags,
};

/// The names of a text, the most certain first.
const TEXTS: [&str; 11] = [
    "content",
    "text",
    "memory",
    "fact",
    "note",
    "observation",
    "body",
    "statement",
    "summary",
    "value",
    "description",
];
const LISTS: Lists = Lists {
    // An object around a list is one element here.
    element_bytes: Some(64 << 20),
    is_any: true,
    ..Lists::named(&[])
};
/// Objects and lists within each other that are searched.
// Each is scanned again: without a bound, a file of nested lists would take hours.
const DEPTH: usize = 8;

/// Objects of an outline whose names are read.
// Each may be as long as the outline.
const LOOKED_AT: usize = 200;

/// Whether one of an object's names is that of a text.
pub(crate) fn has_text(keys: &[&[u8]]) -> bool {
    TEXTS.iter().any(|name| keys.contains(&name.as_bytes()))
}

/// Whether a file of that outline has an object with a text.
pub(crate) fn is_offered(outline: &[u8]) -> bool {
    let bytes = outline.iter().enumerate();
    let objects = bytes.filter(|(_, byte)| **byte == b'{').take(LOOKED_AT);
    let mut objects = objects.map(|(at, _)| outline.get(at..).unwrap_or_default());
    objects.any(|object| has_text(&first_keys(object)))
}

pub(crate) fn read(mut files: Files, out: &mut Out<'_>) -> ReadResult {
    for index in 0..files.len() {
        if files.takes(index, out, json::is_name) {
            json::elements(&mut files, index, &LISTS, out, element)?;
        }
    }
    Ok(())
}

/// Passes on the objects with a text in an element, in their order.
fn element(raw: Raw<'_>, place: EntryPosition, out: &mut Out<'_>) -> ReadResult {
    let mut found = false;
    let mut open = vec![(raw, 0)];
    while let Some((raw, depth)) = open.pop() {
        let texts = match raw.is_object() {
            true => raw.fields(TEXTS),
            false => Ok([None; TEXTS.len()]),
        };
        let Ok(texts) = texts else {
            found = true;
            out.pass_entry(place.of_part(raw.at), NoMemoryReason::Malformed);
            continue;
        };
        let text = json::first_text(texts);
        let has_text = text.is_some();
        if let Some(text) = text {
            found = true;
            entry(text, raw, place.of_part(raw.at), out)?;
        }
        if depth == DEPTH {
            continue;
        }
        // An object within an object with a text describes it; only its lists may hold others.
        let may_hold = |part: &Raw<'_>| part.is_array() || part.is_object() && !has_text;
        let parts: Vec<Raw<'_>> = parts(raw).filter(may_hold).collect();
        // The last one is taken first.
        open.extend(parts.into_iter().rev().map(|part| (part, depth + 1)));
    }
    if !found && raw.is_object() {
        out.pass_entry(place, NoMemoryReason::MissingField("text"));
    } else if !found && raw.is_string() {
        out.pass_entry(place, NoMemoryReason::UnknownKind);
    }
    Ok(())
}

/// The values of an object, or the elements of an array.
fn parts(raw: Raw<'_>) -> impl Iterator<Item = Raw<'_>> {
    let entries = raw.entries().into_iter().flatten().flatten();
    let elements = raw.elements().into_iter().flatten().flatten();
    entries.map(|(_, value)| value).chain(elements)
}

fn entry(text: String, raw: Raw<'_>, place: EntryPosition, out: &mut Out<'_>) -> ReadResult {
    let first = |names: [&str; 4]| raw.fields(names).unwrap_or_default();
    let ids = first(["id", "uuid", "_id", "key"]);
    let id = ids.into_iter().flatten().find_map(Raw::id);
    let dates = [
        first(["created_at", "createdAt", "created", "timestamp"]),
        first(["date", "time", "valid_at", "valid_from"]),
        first(["updated_at", "updatedAt", "modified", "modified_at"]),
    ];
    let dates = dates.into_iter().flatten().map(date::of_value);
    let all_tags = first(["tags", "tag", "categories", "labels"]);
    let mut tags: Vec<String> = all_tags
        .into_iter()
        .flatten()
        .flat_map(tags::of_value)
        .collect();
    let [kind, title, deleted, is_deleted] = first(["kind", "title", "deleted", "is_deleted"]);
    let mut deleted = [deleted, is_deleted].into_iter().flatten();
    let gone = match deleted.any(Raw::is_true) {
        true => Some(ForeignGone::deleted(None)),
        false => obsolete(raw, out),
    };
    let topic = topic(raw);
    tags.extend(topic.iter().cloned());
    out.entry(FoundEntry {
        id: id.unwrap_or_else(|| digest_id(&text)),
        text: match topic.is_empty() {
            true => text,
            false => format!("{}: {text}", topic.join("/")),
        },
        title: json::text(title),
        kind: json::text(kind)
            .and_then(|kind| kind.parse().ok())
            .or(Some(Kind::Core)),
        tags,
        created_at: dates.fold(FoundDate::default(), FoundDate::or),
        gone,
        place,
        ..FoundEntry::default()
    })
}

/// Why an object is obsolete: a later statement replaced it, as Graphiti and Zep write of facts, or its time is over.
fn obsolete(raw: Raw<'_>, out: &Out<'_>) -> Option<ForeignGone> {
    let over = |names: [&str; 4]| {
        let times = raw.fields(names).unwrap_or_default();
        let mut times = times.into_iter().map(date::of_value);
        times.find_map(|time| out.expired(time.at))
    };
    // Of other texts, such as one about a permit, these may be dates that they are about.
    let [fact] = raw.fields(["fact"]).unwrap_or_default();
    let names = ["invalid_at", "expired_at", "valid_to", "valid_until"];
    let invalid = fact.and_then(|_| over(names));
    let why = DeletionReason::Invalidated;
    let invalid = invalid.map(|gone| ForeignGone { why, ..gone });
    invalid.or_else(|| over(["expires_at", "expiration_date", "expires", "expiresAt"]))
}

/// What a profile of memobase is about, which its text does not say: topic and sub-topic, as far as they are there.
fn topic(raw: Raw<'_>) -> Vec<String> {
    let [attributes] = raw.fields(["attributes"]).unwrap_or_default();
    let attributes = attributes.filter(|attributes| attributes.is_object());
    let names = attributes.and_then(|attributes| attributes.fields(["topic", "sub_topic"]).ok());
    let names = names.into_iter().flatten().filter_map(json::text);
    names.filter(|name| !name.trim().is_empty()).collect()
}

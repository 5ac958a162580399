//! The reference memory server of the Model Context Protocol: `memory.jsonl`, older `memory.json`.
//!
//! Lines of entities with observations, and of relations between them. An observation is meaningless without its
//! subject, so that each becomes a memory that begins with the entity's name; a relation becomes a sentence.
//! Interrupted writes leave truncated lines, and several objects on one.

use memoir_domain::memory::Kind;
use memoir_transcripts::{
    raw::{Raw, Scan, ScanStep, first_keys, is_space},
    source::PieceRead,
};

use crate::{
    EntryPosition, NoMemoryReason, ReadResult,
    date::{self, FoundDate},
    files::Files,
    json::{self, Lists, fields},
    out::{FoundEntry, Out},
};

const LISTS: Lists = Lists {
    within: &["graph", "data", "result"],
    ..Lists::named(&["entities", "relations", "observations"])
};
/// The first keys of the whole graph in the server's response.
const AROUND: [&[u8]; 5] = [b"entities", b"relations", b"graph", b"data", b"result"];
/// The beginning of every object of a file.
// The server writes the type first. After a truncation only this distinguishes an object's beginning from a brace
// within a text.
const BEGIN: &[u8] = b"{\"type\"";

pub(crate) fn read(mut files: Files, out: &mut Out<'_>) -> ReadResult {
    for index in 0..files.len() {
        if !files.takes(index, out, json::is_name) {
            continue;
        }
        let head = files.head(index);
        let begin = json::text_of(&head);
        let is_around = |key: &&[u8]| AROUND.contains(key);
        if begin.starts_with(b"[") || first_keys(begin).first().is_some_and(is_around) {
            json::elements(&mut files, index, &LISTS, out, line)?;
        } else {
            lines(&mut files, index, out)?;
        }
    }
    Ok(())
}

fn lines(files: &mut Files, index: usize, out: &mut Out<'_>) -> ReadResult {
    let file = files.place(index);
    let limit = out.options.limits.entry_bytes;
    let Some(mut source) = json::source(files, index, out)? else {
        return Ok(());
    };
    loop {
        let place = file.at(&source.place());
        match source.take_line(limit) {
            Ok(PieceRead::TooLarge) => out.pass_entry(place, NoMemoryReason::TooLarge),
            Ok(PieceRead::Whole) => objects(&source.piece, &place, out)?,
            Ok(_) => return Ok(()),
            Err(_) => {
                out.break_off(place, NoMemoryReason::Unreadable);
                return Ok(());
            }
        }
    }
}

/// Most broken objects of one line; the rest after the last of them is skipped.
// Each is scanned to the end of the line, which may have sixteen megabytes. A server that was stopped while it wrote
// leaves one, and a concurrent server a second.
const BROKEN: usize = 16;

/// The objects of one line. After a truncated one, the next common beginning is searched.
fn objects(line_bytes: &[u8], place: &EntryPosition, out: &mut Out<'_>) -> ReadResult {
    let (mut at, mut broken) = (0, 0);
    loop {
        let rest = line_bytes.get(at..).unwrap_or_default();
        let is_between = |byte: &&u8| is_space(**byte) || **byte == b',';
        let spaces = rest.iter().take_while(is_between).count();
        let rest = rest.get(spaces..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(());
        }
        at += spaces;
        let place = EntryPosition {
            byte: place.byte.map(|byte| byte + at as u64),
            ..place.clone()
        };
        let length = match Scan::default().run(rest) {
            Some((end, ScanStep::Last)) => Some(end + 1),
            _ => None,
        };
        let raw = length.and_then(|length| Raw::whole(rest.get(..length)?).ok());
        match (
            // Reads no field, but scans them all: only that detects a brace that another object's closed.
            raw.filter(|raw| raw.is_object() && raw.fields([]).is_ok()),
            length,
        ) {
            (Some(raw), Some(length)) => {
                line(raw, place, out)?;
                at += length;
            }
            _ => {
                let reason = if length.is_none() {
                    NoMemoryReason::Truncated
                } else {
                    NoMemoryReason::Malformed
                };
                out.pass_entry(place, reason);
                broken += 1;
                // From the second byte on: the first is the beginning of the checked one.
                let behind = rest.get(1..).filter(|_| broken < BROKEN);
                match find(behind.unwrap_or_default(), BEGIN) {
                    Some(next) => at += next + 1,
                    None => return Ok(()),
                }
            }
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

fn line(raw: Raw<'_>, place: EntryPosition, out: &mut Out<'_>) -> ReadResult {
    fields!(raw => {
        name: "name", entity_name: "entityName", entity_type: "entityType", observations: "observations",
        contents: "contents", created: "createdAt", created_too: "created_at",
    } else {
        return out.found(place, Err(NoMemoryReason::Malformed));
    });
    let ends = [
        "from",
        "from_entity",
        "from_id",
        "to",
        "to_entity",
        "to_id",
        "relationType",
        "relation_type",
    ];
    let ends = raw.fields(ends).unwrap_or_default();
    let created_at = date::of_value(created).or(date::of_value(created_too));
    let subject = json::first_text([name, entity_name]);
    // A program with both names writes `null` or an empty list beside a filled field.
    let is_filled = |value: &Raw<'_>| {
        !value.is_null() && !value.elements().is_ok_and(|mut all| all.next().is_none())
    };
    let contents = contents.filter(is_filled);
    let listed = observations.filter(is_filled).or(contents);
    let found = match (subject, listed) {
        (Some(subject), Some(listed)) => {
            let about = ObservedEntity {
                subject,
                tag: json::text(entity_type).filter(|kind| !kind.trim().is_empty()),
                created_at,
            };
            return observed(&about, listed, place, out);
        }
        // A name without any observation. A relation may have a name, too: its ends identify it.
        (Some(_), None) if !json::any_of(ends) => Err(NoMemoryReason::Empty),
        (None, Some(_)) => Err(NoMemoryReason::MissingField("name")),
        _ if json::any_of(ends) => relation(ends, created_at),
        _ => Err(NoMemoryReason::UnknownKind),
    };
    out.found(place, found)
}

struct ObservedEntity {
    subject: String,
    tag: Option<String>,
    created_at: FoundDate,
}

fn observed(
    about: &ObservedEntity,
    listed: Raw<'_>,
    place: EntryPosition,
    out: &mut Out<'_>,
) -> ReadResult {
    if listed.is_string() {
        return out.found(place, observation(about, listed));
    }
    let Ok(all) = listed.elements() else {
        return out.found(place, Err(NoMemoryReason::InvalidField("observations")));
    };
    for one in all {
        let one = one.map_err(NoMemoryReason::from);
        let found = one.and_then(|one| observation(about, one));
        out.found(place.clone(), found)?;
    }
    Ok(())
}

fn observation(about: &ObservedEntity, one: Raw<'_>) -> Result<FoundEntry, NoMemoryReason> {
    let mut created_at = about.created_at;
    let text = match one.is_object() {
        true => {
            let [text, content, observation, created, at] = one
                .fields(["text", "content", "observation", "createdAt", "timestamp"])
                .unwrap_or_default();
            created_at = date::of_value(created)
                .or(date::of_value(at))
                .or(created_at);
            json::first_text([text, content, observation])
        }
        false => json::text(Some(one)),
    };
    let text = text.ok_or_else(|| json::why_no_text([Some(one)], "observations"))?;
    let (subject, bare) = (about.subject.trim(), text.trim());
    let says_it = bare
        .get(..subject.len())
        .is_some_and(|begin| begin.eq_ignore_ascii_case(subject));
    // Counted without the subject, which would make an empty observation long enough.
    let text = match bare.chars().count() {
        0..3 => bare.to_owned(),
        _ if says_it => bare.to_owned(),
        _ => format!("{subject}: {bare}"),
    };
    Ok(FoundEntry {
        text,
        // The same for all observations of an entity: the text distinguishes them.
        id: subject.to_owned(),
        kind: Some(Kind::Core),
        tags: about.tag.clone().into_iter().collect(),
        created_at,
        ..FoundEntry::default()
    })
}

fn relation(
    ends: [Option<Raw<'_>>; 8],
    created_at: FoundDate,
) -> Result<FoundEntry, NoMemoryReason> {
    let [
        from,
        from_entity,
        from_id,
        to,
        to_entity,
        to_id,
        kind,
        kind_too,
    ] = ends;
    let from = json::first_text([from, from_entity, from_id]);
    let from = from.ok_or(NoMemoryReason::MissingField("from"))?;
    let to = json::first_text([to, to_entity, to_id]);
    let to = to.ok_or(NoMemoryReason::MissingField("to"))?;
    let kind = json::first_text([kind, kind_too]);
    let kind = kind.ok_or(NoMemoryReason::MissingField("relationType"))?;
    Ok(FoundEntry {
        text: format!(
            "{} {} {}",
            from.trim(),
            kind.trim().replace('_', " "),
            to.trim()
        ),
        id: format!("{}>{}>{}", from.trim(), kind.trim(), to.trim()),
        kind: Some(Kind::Core),
        tags: vec!["relation".to_owned()],
        created_at,
        ..FoundEntry::default()
    })
}

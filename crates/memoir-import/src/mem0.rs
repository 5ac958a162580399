//! mem0: the output of its `get_all` and its platform, the content of its vector store, its `history.db`, and the page
//! that its plugin exports.
//!
//! A row is `{"id", "memory", "created_at", …}`; the vector store has the same under `payload`, and the text under
//! `data`. `expiration_date` hides a row from the day after it on, and does not delete it.
//!
//! The history has a line for each event of a memory. The last line has its present text, and earlier texts are
//! superseded. A memory whose last event is `DELETE` is deleted.

use std::{collections::BTreeSet, iter};

use memoir_domain::{Timestamp, memory::Kind};
use memoir_transcripts::raw::Raw;

use crate::{
    DeletionReason, EntryPosition, ForeignGone, NoMemoryReason, ReadResult,
    date::{self, FoundDate},
    files::{Files, is_database},
    frontmatter::{self, Fields},
    json::{self, Lists, fields},
    out::{FoundEntry, Out, digest_id},
    recognise::is_json,
    sqlite, tags,
};

const LISTS: Lists = Lists {
    within: &["result", "results", "memories", "points", "data"],
    next: &["next", "next_page_offset"],
    ..Lists::named(&["results", "memories", "points", "data"])
};
/// The numbers of rows that mem0 returns by default.
const ROUND: [u64; 2] = [20, 100];
/// Most scopes that are counted.
const SCOPES: usize = 1_000;

pub(crate) fn read(mut files: Files, out: &mut Out<'_>) -> ReadResult {
    for index in 0..files.len() {
        let head = files.head(index);
        let is_page = json::text_of(&head).starts_with(b"---");
        let is_such = |name: &str| json::is_name(name) || is_json(&head) || is_database(&head);
        if !files.takes(index, out, |name| is_page || is_such(name)) {
            continue;
        }
        if is_database(&head) {
            history(&files, index, out)?;
        } else if is_page {
            page(&mut files, index, out)?;
        } else {
            list(&mut files, index, out)?;
        }
    }
    Ok(())
}

/// Whether a page with these fields is an export of the plugin. Other programs have the first two as well.
pub(crate) fn is_page(fields: &Fields) -> bool {
    let own = ["confidence", "branch", "files"];
    is_entry(fields) && own.iter().any(|name| fields.has(name))
}

fn is_entry(fields: &Fields) -> bool {
    fields.has("id") && fields.has("created_at")
}

/// The export of the plugin: entries one after the other, each behind fields of its own.
fn page(files: &mut Files, index: usize, out: &mut Out<'_>) -> ReadResult {
    let place = files.place(index);
    let Some(text) = files.page(index, &place, out) else {
        return Ok(());
    };
    let mut rest = text.trim_start_matches('\u{FEFF}');
    if frontmatter::block(rest).is_none() {
        return out.found(place, Err(NoMemoryReason::UnknownKind));
    }
    while let Some((fields, body)) = frontmatter::block(rest) {
        let (text, next) = body.split_at(end_of_entry(body));
        let mut tags = fields.list("categories");
        tags.extend(fields.text("type").map(str::to_owned));
        let id = fields.text("id").map(str::to_owned);
        let created = fields.text("created_at").map(date::of_text);
        out.entry(FoundEntry {
            id: id.unwrap_or_else(|| digest_id(text)),
            text: text.to_owned(),
            kind: Some(Kind::Core),
            tags,
            created_at: created.unwrap_or_default(),
            place: place.clone(),
            ..FoundEntry::default()
        })?;
        rest = next;
    }
    Ok(())
}

/// The offset at which the next entry begins, or that of the end. A memory may hold such lines too, without an entry's
/// fields behind them.
fn end_of_entry(body: &str) -> usize {
    let lines = body.match_indices("\n---").map(|(at, _)| at + 1);
    // A line with more than the mark begins none; reading on from each would take as long as the page is long.
    let is_mark = |at: &usize| body[at + 3..].starts_with(['\n', '\r']);
    let mut begins = iter::once(0).chain(lines.filter(is_mark));
    let next = begins.find(|at| {
        let next = frontmatter::block(&body[*at..]);
        next.is_some_and(|(fields, _)| is_entry(&fields))
    });
    next.unwrap_or(body.len())
}

fn list(files: &mut Files, index: usize, out: &mut Out<'_>) -> ReadResult {
    let before = out.report.read;
    let mut scopes = BTreeSet::new();
    let has_more = json::elements(files, index, &LISTS, out, |raw, place, out| {
        let found = row(raw, &mut scopes, out);
        out.found(place, found)
    })?;
    // Of this file alone: a folder may hold several lists.
    let rows = out.report.read - before;
    if has_more {
        out.notice(
            "more_pages",
            "the file is one page of several: its `next` is set. Fetch the other pages too; importing a page twice adds nothing",
        );
    }
    if ROUND.contains(&rows) {
        out.notice(
            "round_count",
            format!(
                "the list has exactly {rows} rows, which is the default number of mem0: it may be incomplete. Request all with `get_all(top_k=…)` and import again"
            ),
        );
    }
    if scopes.len() > 1 {
        out.notice(
            "scopes",
            format!(
                "the rows belong to {} users or agents; all of them came to one agent here, each with its tag; a \
                 text that several of them have is imported once, with the tags of its first row",
                scopes.len()
            ),
        );
    }
    Ok(())
}

fn row(
    raw: Raw<'_>,
    scopes: &mut BTreeSet<String>,
    out: &Out<'_>,
) -> Result<FoundEntry, NoMemoryReason> {
    if let Some(text) = json::text(Some(raw)) {
        return Ok(FoundEntry {
            id: digest_id(&text),
            text,
            kind: Some(Kind::Core),
            ..FoundEntry::default()
        });
    }
    let fields = ["id", "payload", "event", "memory_id"];
    let [outer_id, payload, event, memory_id] = raw.fields(fields)?;
    if event.is_some() && memory_id.is_some() {
        // A history line outside its database: it is unknown whether it is the last one.
        return Err(NoMemoryReason::UnknownKind);
    }
    let held = payload.filter(|payload| payload.is_object()).unwrap_or(raw);
    let texts = held.fields(["memory", "text", "data", "content"])?;
    let text = json::content(texts, "memory")?;
    fields!(held => {
        inner_id: "id", created: "created_at", updated: "updated_at", expires: "expiration_date",
        categories: "categories", own_tags: "tags", metadata: "metadata", user: "user_id", agent: "agent_id",
        deleted: "is_deleted",
    }?);
    let names = ["category", "categories", "tags", "created_at"];
    let metadata = metadata.and_then(|metadata| metadata.fields(names).ok());
    let [category, more_categories, more_tags, noted] = metadata.unwrap_or_default();
    let mut all: Vec<String> = [categories, own_tags, category, more_categories, more_tags]
        .into_iter()
        .flatten()
        .flat_map(tags::of_value)
        .collect();
    for (name, scope) in [("user", user), ("agent", agent)] {
        if let Some(scope) = scope.and_then(Raw::id).filter(|scope| !scope.is_empty()) {
            let tag = format!("{name}:{scope}");
            // The count is for a message; a list of a million users must not fill the memory for it.
            if scopes.len() < SCOPES {
                scopes.insert(tag.clone());
            }
            all.push(tag);
        }
    }
    let id = outer_id.or(inner_id).and_then(Raw::id);
    // SQLite has no truth values, and dumps of it write 1.
    let gone = if deleted.is_some_and(|deleted| deleted.is_true() || deleted.bytes() == b"1") {
        Some(ForeignGone::deleted(date::of_value(updated).at))
    } else {
        out.expired(json::text(expires).and_then(|day| hidden_from(&day)))
    };
    Ok(FoundEntry {
        id: id.unwrap_or_else(|| digest_id(&text)),
        text,
        kind: Some(Kind::Core),
        tags: all,
        created_at: date::of_value(created).or(date::of_value(noted)),
        gone,
        ..FoundEntry::default()
    })
}

/// A row is still shown on its last day.
fn hidden_from(day: &str) -> Option<Timestamp> {
    let time = date::of_text(day).at?;
    let is_day = day.trim().len() == "2026-03-01".len();
    Some(if is_day { time.plus_days(1) } else { time })
}

/// The lines of the history, each memory's the oldest first: the memory, the text, whether the line is a deletion, and
/// its time; of the memory's next line, whether it is a deletion, and its time; the time of its first line; and whether
/// the line before is a deletion. What a line has not before or behind it is null.
// The line of a deletion has no new text; the deleted text is the old one. Versions of mem0 wrote deletions without a
// time, which SQLite sorts first: the memory would return.
const HISTORY: &str = "SELECT memory_id, iif(is_deletion, old_memory, new_memory), is_deletion, at, \
    lead(is_deletion) OVER line, lead(at) OVER line, first_value(at) OVER line, lag(is_deletion) OVER line \
    FROM (SELECT memory_id, old_memory, new_memory, rowid AS place, coalesce(updated_at, created_at) AS at, \
    coalesce(upper(event) = 'DELETE', 0) OR coalesce(is_deleted = 1, 0) AS is_deletion FROM history) \
    WINDOW line AS (PARTITION BY memory_id ORDER BY at NULLS LAST, place) \
    ORDER BY memory_id, at NULLS LAST, place";

fn history(files: &Files, index: usize, out: &mut Out<'_>) -> ReadResult {
    let Some(database) = sqlite::taken("history", files, index, out)? else {
        return Ok(());
    };
    sqlite::each(&database, HISTORY, out, &mut |row, out| {
        let place = EntryPosition::default();
        let Some(id) = sqlite::text(row, 0) else {
            return out.found(place, Err(NoMemoryReason::Malformed));
        };
        let (text, at) = (sqlite::text(row, 1), sqlite::time(row, 3));
        let is_deletion = sqlite::number(row, 2) == Some(1);
        let is_first = sqlite::number(row, 7).is_none();
        let (gone, created_at) = match (is_deletion, sqlite::number(row, 4)) {
            (false, next) => {
                let gone = next.map(|next| ForeignGone {
                    why: match next {
                        1 => DeletionReason::Deleted,
                        _ => DeletionReason::Superseded,
                    },
                    at: sqlite::time(row, 5).at,
                });
                (gone, at.or(sqlite::time(row, 6)))
            }
            // Only its end was recorded, without the date of its beginning.
            (true, None) if is_first && text.is_some() => {
                (Some(ForeignGone::deleted(at.at)), FoundDate::default())
            }
            // The deleted text was passed on as an earlier one.
            (true, _) => return Ok(()),
        };
        let text = text.ok_or(NoMemoryReason::MissingField("new_memory"));
        let found = text.map(|text| FoundEntry {
            text,
            // One identifier for all texts of a memory: source and text together distinguish them.
            id,
            kind: Some(Kind::Core),
            created_at,
            gone,
            ..FoundEntry::default()
        });
        out.found(place, found)
    })
}

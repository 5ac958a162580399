//! ChatGPT: its saved memories, recovered from the conversations of its export.
//!
//! No file of an export holds the saved memories. They occur in conversations: as messages to the tool `bio`, and as
//! the list that the model was given (`model_set_context`). The latest list is the state, and later notes to `bio` are
//! added to it. Earlier ones that are not on it may have been changed or deleted since, or the list is a part: they
//! come to the archive.

use std::collections::{BTreeMap, BTreeSet};

use memoir_domain::{Timestamp, memory::Kind};
use memoir_transcripts::raw::{BrokenJson, Raw};

use crate::{
    EntryPosition, NoMemoryReason, ReadResult,
    date::{self, FoundDate},
    files::{Files, is_of_conversations},
    json::{self, Lists, fields},
    out::{FoundEntry, Out, hex},
};

/// Most bytes of a conversation.
// Four times the limit of other entries: a conversation is one element here, with all its branches and the tools'
// output.
const CONVERSATION_BYTES: usize = 64 << 20;
const LISTS: Lists = Lists {
    element_bytes: Some(CONVERSATION_BYTES),
    ..Lists::named(&["conversations"])
};
/// The limit of the notes of all conversations, as a multiple of an entry's bytes. All notes are held until the last
/// conversation was read.
const NOTES: usize = 4;
/// The approximate bytes of a note besides its text.
const NOTE_BYTES: usize = 128;

/// The notes that were found so far.
#[derive(Default)]
struct ChatGptNotes {
    /// The notes to `bio`, by their normalised text.
    bio_notes: BTreeMap<String, BioNote>,
    /// The latest list, and the time at which the model was given it.
    list: Option<(Option<Timestamp>, String)>,
    /// The user's description of themselves, and their instructions for responses.
    instructions: BTreeSet<String>,
    conversations: u64,
    /// Bytes of notes that there is room for.
    room: usize,
    /// Notes of the current conversation that there was no room for.
    over: u64,
}

struct BioNote {
    text: String,
    at: Option<Timestamp>,
}

/// The times of a conversation, for its messages without one; `None` where the file has none.
struct ConversationTime {
    /// Of a list: the notes of the same conversation come after it.
    begun_at: Option<Timestamp>,
    /// Of a note.
    said_at: Option<Timestamp>,
}

pub(crate) fn read(mut files: Files, out: &mut Out<'_>) -> ReadResult {
    let mut notes = ChatGptNotes {
        room: out.options.limits.entry_bytes.saturating_mul(NOTES),
        ..ChatGptNotes::default()
    };
    for index in 0..files.len() {
        if !files.takes(index, out, is_of_conversations) {
            continue;
        }
        json::elements(&mut files, index, &LISTS, out, |raw, place, out| {
            conversation(raw, &place, &mut notes, out)?;
            for _ in 0..std::mem::take(&mut notes.over) {
                out.pass_entry(place.clone(), NoMemoryReason::TooMany);
            }
            Ok(())
        })?;
    }
    notes.give(out)
}

fn conversation(
    raw: Raw<'_>,
    place: &EntryPosition,
    notes: &mut ChatGptNotes,
    out: &mut Out<'_>,
) -> ReadResult {
    fields!(raw => {
        mapping: "mapping", current: "current_node", forget: "is_do_not_remember", updated: "update_time",
        created: "create_time",
    } else {
        return out.found(place.clone(), Err(NoMemoryReason::Malformed));
    });
    let Some(mapping) = mapping.filter(|mapping| mapping.is_object()) else {
        return out.found(place.clone(), Err(NoMemoryReason::MissingField("mapping")));
    };
    notes.conversations += 1;
    if forget.is_some_and(Raw::is_true) {
        return Ok(());
    }
    let (updated, created) = (date::of_value(updated), date::of_value(created));
    let time = ConversationTime {
        begun_at: created.or(updated).at,
        said_at: updated.or(created).at,
    };
    let mut nodes: BTreeMap<String, Raw<'_>> = BTreeMap::new();
    json::each_entry(("mapping", Some(mapping)), place, out, |(key, node), _| {
        nodes.insert(key.string().ok().flatten().unwrap_or_default(), node);
        Ok(())
    })?;
    let mut read = |node| {
        if let Err(BrokenJson(at)) = message(node, &time, notes) {
            out.pass_entry(place.of_part(at), NoMemoryReason::Malformed);
        }
    };
    // Only the continued branch: an edited prompt leaves another branch behind.
    let mut next = current
        .and_then(Raw::id)
        .filter(|id| nodes.contains_key(id));
    // A file that does not name the conversation's end is read with all branches: surplus memories can be discarded
    // later.
    if next.is_none() {
        nodes.into_values().for_each(read);
        return Ok(());
    }
    // Removed from the map, so that circular parents end.
    while let Some(node) = next.and_then(|id| nodes.remove(&id)) {
        read(node);
        let parent = node.fields(["parent"]).ok().and_then(|[parent]| parent);
        next = parent.and_then(Raw::id);
    }
    Ok(())
}

/// Records the notes in one message. A message without the fields of a note has none.
///
/// # Errors
/// The message is broken; the notes before that place are recorded.
fn message(
    node: Raw<'_>,
    time: &ConversationTime,
    notes: &mut ChatGptNotes,
) -> Result<(), BrokenJson> {
    let [message] = fields(Some(node), ["message"])?;
    let names = ["author", "recipient", "create_time", "content", "metadata"];
    let [author, recipient, created, content, metadata] = fields(message, names)?;
    let own = date::of_value(created).at;
    let (at, list_at) = (own.or(time.said_at), own.or(time.begun_at));
    let [role] = fields(author, ["role"])?;
    let (Some(role), Some(content)) = (json::text(role), content) else {
        return Ok(());
    };
    let names = ["content_type", "parts", "text", "model_set_context"];
    let [class, parts, text, list] = fields(Some(content), names)?;
    if json::text(class).as_deref() == Some("model_editable_context")
        && let Some(list) = json::text(list).filter(|list| !list.trim().is_empty())
        // A dated list precedes one without a date. Of two with the same date the later one in the file is used.
        && notes.list.as_ref().is_none_or(|(before, _)| *before <= list_at)
    {
        notes.list = Some((list_at, list));
    }
    let [held] = fields(metadata, ["user_context_message_data"])?;
    let mut about = fields(held, ["about_user_message", "about_model_message"])?;
    // Without that field, the message itself has both.
    if !json::any_of(about) && json::text(class).as_deref() == Some("user_editable_context") {
        about = fields(Some(content), ["user_profile", "user_instructions"])?;
    }
    for text in about.into_iter().filter_map(json::text) {
        notes.instruct(text);
    }
    // Only the model writes to `bio`. The tool's output or a user's text may look the same.
    if role == "assistant" && json::text(recipient).as_deref() == Some("bio") {
        if let Some(text) = json::text(text) {
            notes.add(&text, at);
        }
        if let Some(parts) = parts.filter(|parts| parts.is_array()) {
            for part in parts.elements()? {
                if let Some(text) = json::text(Some(part?)) {
                    notes.add(&text, at);
                }
            }
        }
    }
    Ok(())
}

/// The fields of an object; none of another value.
fn fields<'a, const N: usize>(
    raw: Option<Raw<'a>>,
    names: [&str; N],
) -> Result<[Option<Raw<'a>>; N], BrokenJson> {
    match raw.filter(|raw| raw.is_object()) {
        Some(object) => object.fields(names),
        None => Ok([None; N]),
    }
}

/// The normalised text: without case, white space and the last full stop.
fn folded(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_lowercase()
}

impl ChatGptNotes {
    /// Reserves room for a text, and counts a text that does not fit.
    fn takes(&mut self, bytes: usize) -> bool {
        let left = self.room.checked_sub(bytes + NOTE_BYTES);
        self.room = left.unwrap_or(self.room);
        self.over += u64::from(left.is_none());
        left.is_some()
    }

    fn add(&mut self, text: &str, at: Option<Timestamp>) {
        // Newer notes are separate lines.
        let texts = text.split("\n\n").map(str::trim);
        for text in texts.filter(|text| !text.is_empty()) {
            let key = folded(text);
            if let Some(known) = self.bio_notes.get_mut(&key) {
                // The first time is kept.
                if at.is_some() && known.at.is_none_or(|before| at < Some(before)) {
                    known.at = at;
                }
            } else if self.takes(key.len() + text.len()) {
                let text = text.to_owned();
                self.bio_notes.insert(key, BioNote { text, at });
            }
        }
    }

    fn instruct(&mut self, text: String) {
        let is_new = !text.trim().is_empty() && !self.instructions.contains(&text);
        if is_new && self.takes(text.len()) {
            self.instructions.insert(text);
        }
    }

    fn give(mut self, out: &mut Out<'_>) -> ReadResult {
        let list = self.list.take();
        let since = list.as_ref().and_then(|(at, _)| *at);
        let mut on_the_list = BTreeSet::new();
        if let Some((_, list)) = &list {
            for (day, text) in entries(list) {
                let key = folded(&text);
                let noted_at = self.bio_notes.get(&key).and_then(|note| note.at);
                on_the_list.insert(key);
                give(text, day.or(noted_at.into()), Kind::Core, out)?;
            }
        }
        let mut not_on_the_list = 0;
        for (key, note) in self.bio_notes {
            if on_the_list.contains(&key) {
                continue;
            }
            // It may have been changed, deleted, or left out of that list: recall finds it, and no prompt has it.
            let is_earlier = list.is_some() && (note.at.is_none() || note.at <= since);
            not_on_the_list += u64::from(is_earlier);
            let kind = match is_earlier {
                true => Kind::Archival,
                false => Kind::Core,
            };
            give(note.text, note.at.into(), kind, out)?;
        }
        for text in self.instructions {
            if out.options.instructions {
                out.entry(FoundEntry {
                    id: hex(&text)[..16].to_owned(),
                    text,
                    kind: Some(Kind::Core),
                    tags: vec!["instruction".to_owned()],
                    is_page: true,
                    ..FoundEntry::default()
                })?;
            } else {
                out.leave_out(NoMemoryReason::Instruction, 1);
            }
        }
        let notice = match (list, since) {
            (None, _) => "no conversation shows the list of saved memories: they were merged from all notes, and deleted ones return. Check them".to_owned(),
            (_, Some(since)) => format!(
                "the list of saved memories is that of {}: memories deleted since return. Check them",
                since.date()
            ),
            (_, None) => "the list of saved memories has no date: memories deleted since return. Check them".to_owned(),
        };
        out.notice("deleted_may_return", notice);
        if not_on_the_list > 0 {
            out.notice(
                "not_on_the_list",
                format!("{not_on_the_list} notes are not on that list: they come to the archive, where recall finds them"),
            );
        }
        out.leave_out(NoMemoryReason::Message, self.conversations);
        Ok(())
    }
}

fn give(text: String, created_at: FoundDate, kind: Kind, out: &mut Out<'_>) -> ReadResult {
    out.entry(FoundEntry {
        id: hex(&folded(&text))[..16].to_owned(),
        text,
        kind: Some(kind),
        created_at,
        ..FoundEntry::default()
    })
}

/// The entries of a list: `1. [2026-01-15]. text`, each on one or more lines.
fn entries(list: &str) -> Vec<(FoundDate, String)> {
    let mut entries: Vec<(FoundDate, String)> = Vec::new();
    let mut expected = 1_u64;
    for line in list.lines() {
        match numbered(line, expected) {
            Some((day, text)) => {
                expected += 1;
                entries.push((day, text.to_owned()));
            }
            None => {
                if let Some((_, text)) = entries.last_mut() {
                    text.push('\n');
                    text.push_str(line);
                } else if !line.trim().is_empty() {
                    entries.push((FoundDate::default(), line.to_owned()));
                }
            }
        }
    }
    entries
}

/// A line that begins an entry: its number must be the next one.
fn numbered(line: &str, expected: u64) -> Option<(FoundDate, &str)> {
    let (number, rest) = line.trim_start().split_once('.')?;
    // The next number and no other, since an entry may have a numbered list in it.
    if number.parse::<u64>().ok()? != expected {
        return None;
    }
    let rest = rest.trim_start();
    let dated = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    // A text may begin with a bracket that holds no date.
    let dated = dated.map(|(day, text)| (date::of_text(day), text));
    Some(match dated.filter(|(day, _)| day.at.is_some()) {
        Some((day, text)) => (day, text.trim_start_matches('.').trim()),
        None => (FoundDate::default(), rest.trim()),
    })
}

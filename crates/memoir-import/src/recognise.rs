//! Recognises the format of an input by its content.

use memoir_transcripts::{
    form_of, kind_of,
    raw::{first_entries, first_keys_of_elements, skip_space},
};

use crate::{
    Error, ImportFormat, ImportLimits, Recognised,
    files::{self, Files, is_database},
    inventory,
    json::text_of,
    listed, sqlite,
};

const DATABASE: &str = "an SQLite database without the tables of any form that is known";

/// The format of the input, and its sign.
pub(crate) fn recognise(files: &mut Files, limits: &ImportLimits) -> Result<Recognised, Error> {
    if !files.is_one() {
        return inventory::recognise(files, limits).ok_or_else(|| match has_offered(files) {
            true => Error::Offered,
            false => Error::Unrecognised("several files, none of them in such a form"),
        });
    }
    let head = files.head(0);
    let name = files.name(0).to_lowercase();
    // Before all other checks: every second byte of it is zero, so that no later check would name the cause. A page is
    // read in any encoding.
    let is_utf16 = head.starts_with(&[0xFF, 0xFE]) || head.starts_with(&[0xFE, 0xFF]);
    if is_utf16 && !inventory::is_page(&name) {
        return Err(Error::Utf16);
    }
    if is_database(&head) {
        return database(files);
    }
    let outline = files.outline(0);
    if let Some(by) = json(&head).or_else(|| json(&outline)) {
        return Ok(by);
    }
    // A conversation is reported as one, so that the user is sent to the command that reads it.
    inventory::page(&name, &head).ok_or_else(|| match form_of(&head) {
        Some(form) if !is_empty_list(&head) => Error::Conversation(form),
        _ if is_json(&outline) && listed::is_offered(&outline) => Error::Offered,
        _ => Error::Unrecognised(kind_of(&head)),
    })
}

/// Whether a file begins as an object or a list in JSON does.
pub(crate) fn is_json(head: &[u8]) -> bool {
    matches!(text_of(head).first(), Some(b'{' | b'['))
}

/// Whether the first of several files of JSON has objects with a text.
fn has_offered(files: &mut Files) -> bool {
    let index = (0..files.len()).find(|index| files.name(*index).ends_with(".json"));
    index.is_some_and(|index| listed::is_offered(&files.outline(index)))
}

/// An empty list is one of any format.
fn is_empty_list(head: &[u8]) -> bool {
    first_keys_of_elements(skip_space(head)).is_none_or(|keys| keys.is_empty())
        && skip_space(head).first() == Some(&b'[')
}

pub(crate) fn known(format: ImportFormat, by: &str) -> Recognised {
    Recognised {
        format,
        by: by.to_owned(),
        pages_of: None,
    }
}

fn database(files: &Files) -> Result<Recognised, Error> {
    // Inside of an archive it has no path, and SQLite opens only paths.
    if files.path(0).is_none() {
        return Err(Error::Unrecognised(DATABASE));
    }
    let database = sqlite::open(files, 0)?;
    for table in sqlite::tables(&database)? {
        let columns = sqlite::columns(&database, &table)?;
        let has = |names: &[&str]| {
            names
                .iter()
                .all(|name| columns.iter().any(|column| column == name))
        };
        if table == "history" && has(&["memory_id", "old_memory", "new_memory", "event"]) {
            let by = "the table history(memory_id, new_memory, event)";
            return Ok(known(ImportFormat::Mem0, by));
        }
        if table == "store" && has(&["prefix", "key", "value"]) {
            let by = "the table store(prefix, key, value)";
            return Ok(known(ImportFormat::LangGraph, by));
        }
    }
    Err(Error::Unrecognised(DATABASE))
}

/// The format of a file that begins with JSON.
pub(crate) fn json(head: &[u8]) -> Option<Recognised> {
    let head = text_of(head);
    match head.first()? {
        b'{' => of_object(head, 0),
        b'[' => of_elements("", &first_keys_of_elements(head)?),
        // Doubly encoded.
        b'"' => {
            // Searched in the escaped text, since it need not be whole: its end may be beyond the beginning that was
            // read.
            let text = String::from_utf8_lossy(head.get(..4096.min(head.len()))?);
            let is_agent = ["\\\"agents\\\"", "\\\"core_memory\\\"", "\\\"blocks\\\""];
            let is_agent = is_agent.iter().any(|name| text.contains(name));
            is_agent.then(|| known(ImportFormat::Letta, "an agent file within a JSON text"))
        }
        _ => None,
    }
}

/// The depth of objects in which a program's response wraps its list, and one more.
// A file of nested objects alone would otherwise use up the stack.
const WRAPPED: usize = 3;

fn of_object(head: &[u8], wrapped: usize) -> Option<Recognised> {
    let entries = first_entries(head);
    let keys: Vec<&[u8]> = entries.iter().map(|(key, _)| *key).collect();
    let signs = [
        (&["agents", "blocks"][..], ImportFormat::Letta),
        (&["core_memory", "agent_type"], ImportFormat::Letta),
        (&["core_memory", "messages"], ImportFormat::Letta),
        (&["mapping", "current_node"], ImportFormat::ChatGpt),
    ];
    if let Some(found) = first_sign(&signs, "", &keys) {
        return Some(found);
    }
    // The elements of a list decide, whatever its name: several programs respond with `data` or `results`.
    for list in [
        "results", "memories", "result", "points", "data", "entities",
    ] {
        // A text under such a name is an element's own, as in the payloads of mem0.
        let is_such = |(key, value): &&(&[u8], &[u8])| {
            *key == list.as_bytes() && matches!(value.first(), Some(b'[' | b'{'))
        };
        if let Some(&(_, inside)) = entries.iter().find(is_such) {
            if inside.first() == Some(&b'{') {
                return (wrapped < WRAPPED)
                    .then(|| of_object(inside, wrapped + 1))
                    .flatten();
            }
            if is_empty_list(inside) {
                return Some(known(ImportFormat::Mem0, list));
            }
            let keys = first_keys_of_elements(inside)?;
            return of_elements(&format!("{list}[]."), &keys);
        }
    }
    of_elements("", &keys)
}

fn of_elements(path: &str, keys: &[&[u8]]) -> Option<Recognised> {
    use ImportFormat::{ChatGpt, Claude, LangGraph, Letta, McpMemory, Mem0};
    // In this order, since fields of the later formats may be in the earlier ones: `memory` and `id` are common words.
    let signs = [
        (&["prefix", "key", "value"][..], LangGraph),
        (&["namespace", "key", "value"], LangGraph),
        (&["entityType", "observations"], McpMemory),
        (&["type", "name", "observations"], McpMemory),
        (&["type", "from", "to", "relationType"], McpMemory),
        // As programs write them that took the format over.
        (&["entityName", "observations"], McpMemory),
        (&["entityName", "contents"], McpMemory),
        (&["from", "to", "relation_type"], McpMemory),
        (&["from_entity", "to_entity"], McpMemory),
        (&["from_id", "to_id", "relation_type"], McpMemory),
        (&["conversations_memory"], Claude),
        (&["memory_files"], Claude),
        (&["memory_store_id", "path", "content"], Claude),
        (&["mapping", "current_node"], ChatGpt),
        (&["mapping", "create_time"], ChatGpt),
        (&["archive_id", "text"], Letta),
        (&["text", "is_deleted", "embedding"], Letta),
        (&["memory", "hash"], Mem0),
        (&["memory", "user_id"], Mem0),
        (&["memory", "created_at"], Mem0),
        (&["id", "memory"], Mem0),
        (&["id", "payload"], Mem0),
        (&["data", "hash"], Mem0),
    ];
    first_sign(&signs, path, keys)
}

/// The format of the first of the signs whose names are all among `keys`, the keys at `path`.
fn first_sign(signs: &[(&[&str], ImportFormat)], path: &str, keys: &[&[u8]]) -> Option<Recognised> {
    let has = |name: &&str| keys.contains(&name.as_bytes());
    let (names, format) = signs.iter().find(|(names, _)| names.iter().all(has))?;
    Some(known(*format, &format!("{path}{}", names.join(", "))))
}

/// Whether a file of that name that begins with `head` may be in one of the formats. The first 256 KB are enough.
pub fn may_be_memories(name: &str, head: &[u8]) -> bool {
    files::is_archive(head)
        || is_database(head)
        || json(head).is_some()
        || inventory::page(&name.to_lowercase(), head).is_some()
}

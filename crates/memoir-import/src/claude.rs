//! Claude: the export of claude.ai, Claude Code's memory folder, and the directory of the memory tool.
//!
//! In a memory folder `MEMORY.md` is an index, whose lines name the pages; its other text is a page of its own.
//! `CLAUDE.md` and rules are instructions, and are imported on request only.

use std::collections::BTreeMap;

use memoir_domain::memory::Kind;
use memoir_transcripts::raw::Raw;

use crate::{
    EntryPosition, NoMemoryReason, ReadResult, date,
    files::{Files, file_name},
    frontmatter,
    json::{self, Lists, fields},
    markdown,
    out::{FoundEntry, Out, digest_id},
};

const LISTS: Lists = Lists::named(&["data"]);

pub(crate) fn read(mut files: Files, out: &mut Out<'_>) -> ReadResult {
    // Before the memories, which name projects by identifiers only: `memories.json` comes first by its name.
    let projects = projects(&mut files, out);
    let mut names = ["CLAUDE.md", "MEMORY.md"].into_iter();
    let is_of_code = names.any(|name| files.find(name).is_some());
    for index in 0..files.len() {
        let name = files.name(index).to_owned();
        let file = file_name(&name);
        let is_of_memories = file == "memories.json" || name.contains("memories/");
        match file.rsplit_once('.').map(|(_, ending)| ending) {
            Some("json") if files.is_one() || is_of_memories => {
                memories(&mut files, index, &projects, out)?;
            }
            Some("json") if file.starts_with("conversations") => {
                out.pass(files.place(index), NoMemoryReason::Message);
            }
            Some("json") if file.starts_with("projects") || name.contains("projects/") => {
                out.pass(files.place(index), NoMemoryReason::Instruction);
            }
            Some("md" | "markdown" | "txt") => page(&mut files, index, &name, out)?,
            // As the memory tool names its files; a project of Claude Code has other ones.
            Some("xml") if !is_of_code => page(&mut files, index, &name, out)?,
            _ if files.is_one() => memories(&mut files, index, &projects, out)?,
            _ => out.pass(files.place(index), NoMemoryReason::OtherFile),
        }
    }
    Ok(())
}

/// The names of projects by their identifiers, where the export has them.
fn projects(files: &mut Files, out: &mut Out<'_>) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for index in 0..files.len() {
        let name = files.name(index);
        let is_list = name.ends_with("projects.json")
            || name.contains("projects/") && name.ends_with(".json");
        // A single file has no other beside it, and a stream can only be read once, for the memories.
        if files.is_one() || !is_list {
            continue;
        }
        // The memories are imported without the names too, so that an unreadable list is not reported.
        let Ok(bytes) = files.bytes(index, out.options.limits.entry_bytes) else {
            continue;
        };
        let Ok(raw) = Raw::whole(json::text_of(&bytes)) else {
            continue;
        };
        let elements = raw.elements().into_iter().flatten().flatten();
        for project in elements.chain(raw.is_object().then_some(raw)) {
            let [id, name] = project.fields(["uuid", "name"]).unwrap_or_default();
            if let (Some(id), Some(name)) = (id.and_then(Raw::id), json::text(name)) {
                names.insert(id, name);
            }
        }
    }
    names
}

/// `memories.json`, or objects of managed agents.
fn memories(
    files: &mut Files,
    index: usize,
    projects: &BTreeMap<String, String>,
    out: &mut Out<'_>,
) -> ReadResult {
    json::elements(files, index, &LISTS, out, |raw, place, out| {
        element(raw, place, projects, out)
    })
    .map(drop)
}

fn element(
    raw: Raw<'_>,
    place: EntryPosition,
    projects: &BTreeMap<String, String>,
    out: &mut Out<'_>,
) -> ReadResult {
    fields!(raw => {
        about: "conversations_memory", of_projects: "project_memories", account: "account_uuid",
        unknown: "memory_files", path: "path", content: "content", id: "id", created: "created_at",
    } else {
        return out.found(place, Err(NoMemoryReason::Malformed));
    });
    if let (Some(path), Some(content)) = (json::text(path), json::text(content)) {
        return out.entry(FoundEntry {
            text: content,
            id: id.and_then(Raw::id).unwrap_or(path),
            created_at: date::of_value(created),
            is_page: true,
            place,
            ..FoundEntry::default()
        });
    }
    let account = account.and_then(Raw::id).unwrap_or_default();
    if about.is_some_and(|about| !about.is_null()) {
        let text = json::content([about], "conversations_memory");
        let found = text.map(|text| FoundEntry {
            text,
            // The page has no identifier. The account's distinguishes the exports of two persons.
            id: format!("conversations/{account}"),
            kind: Some(Kind::Core),
            is_page: true,
            ..FoundEntry::default()
        });
        out.found(place.clone(), found)?;
    }
    let field = "project_memories";
    json::each_entry((field, of_projects), &place, out, |(key, value), out| {
        let id = key.string().ok().flatten().unwrap_or_default();
        let project = projects.get(&id);
        let text = json::text(Some(value)).ok_or(NoMemoryReason::InvalidField(field));
        let found = text.map(|text| FoundEntry {
            text,
            kind: Some(Kind::Core),
            // Where the name is not known the second tag is empty, and `tags::bounded` omits it.
            tags: vec!["project".to_owned(), project.cloned().unwrap_or_default()],
            id: format!("project/{id}"),
            is_page: true,
            ..FoundEntry::default()
        });
        out.found(place.of_part(value.at), found)
    })?;
    json::each_element(("memory_files", unknown), &place, out, |file, out| {
        // Their content is not documented yet.
        out.found(place.of_part(file.at), Err(NoMemoryReason::UnknownKind))
    })?;
    if !json::any_of([about, of_projects, unknown]) {
        out.pass_entry(place, NoMemoryReason::UnknownKind);
    }
    Ok(())
}

fn page(files: &mut Files, index: usize, name: &str, out: &mut Out<'_>) -> ReadResult {
    let place = files.place(index);
    let file = file_name(name);
    let is_instruction = matches!(file, "CLAUDE.md" | "CLAUDE.local.md" | "AGENTS.md")
        || name.starts_with("rules/")
        || name.contains("/rules/");
    if is_instruction && !out.options.instructions {
        out.pass(place, NoMemoryReason::Instruction);
        return Ok(());
    }
    let Some(text) = files.page(index, &place, out) else {
        return Ok(());
    };
    let (fields, body) = frontmatter::split(&text);
    if file == "MEMORY.md" {
        let (index_lines, rest) = markdown::without_links(body);
        out.leave_out(NoMemoryReason::Index, index_lines);
        if markdown::is_bare(&rest) {
            return Ok(());
        }
        return out.entry(FoundEntry {
            text: rest,
            id: name.to_owned(),
            kind: Some(Kind::Core),
            created_at: files.time(index).into(),
            is_page: true,
            place,
            ..FoundEntry::default()
        });
    }
    let class = fields.first(&["metadata.type", "type"]).unwrap_or_default();
    let kind = match class {
        "user" | "feedback" => Some(Kind::Core),
        "project" | "reference" => Some(Kind::Journal),
        _ => None,
    };
    let title = fields.first(&["name", "title"]).map(str::to_owned);
    let mut tags = vec![class.to_owned()];
    if is_instruction {
        tags.push("instruction".to_owned());
    }
    out.entry(FoundEntry {
        text: body.to_owned(),
        title,
        id: match name {
            "" => digest_id(body),
            name => name.to_owned(),
        },
        kind,
        tags,
        created_at: markdown::dated(&fields).or_beside(|| files.time(index)),
        is_page: true,
        place,
        ..FoundEntry::default()
    })
}

//! Letta: agent files (`.af`) of versions 1 and 2, archival passages, and the tree of its MemFS.
//!
//! A block is a page, not a fact: it is split, and its label becomes a tag. A block that Letta's agent cannot change
//! (`read_only`) is constitutional. `persona` is offered as a system prompt. Secrets that a file holds for its tools
//! are never imported, and are named so that their owner knows.

use std::collections::BTreeMap;

use memoir_domain::memory::Kind;
use memoir_transcripts::raw::{BrokenJson, Raw};

use crate::{
    EntryPosition, ForeignGone, NoMemoryReason, ReadResult, date,
    files::Files,
    frontmatter,
    json::{self, Lists, fields},
    markdown,
    out::{FoundEntry, Out},
    tags,
};

const PASSAGES: Lists = Lists::named(&["passages", "data", "items"]);
/// Most layers of JSON within a text of JSON.
const LAYERS: usize = 3;
/// Most secrets that are named.
const NAMED: usize = 20;

pub(crate) fn read(mut files: Files, out: &mut Out<'_>) -> ReadResult {
    for index in 0..files.len() {
        let name = files.name(index).to_owned();
        let is_file = |name: &str| name.ends_with(".af") || name.ends_with(".json");
        if name.ends_with(".md") && !files.is_one() {
            page(&mut files, index, &name, out)?;
        } else if files.takes(index, out, is_file) {
            file(&mut files, index, out)?;
        }
    }
    Ok(())
}

fn file(files: &mut Files, index: usize, out: &mut Out<'_>) -> ReadResult {
    let head = files.head(index);
    if json::text_of(&head).starts_with(b"[") || json::is_object_around(&head, &PASSAGES) {
        return json::elements(files, index, &PASSAGES, out, |raw, place, out| {
            out.found(place, passage(raw))
        })
        .map(drop);
    }
    let place = files.place(index);
    // In whole and not as a stream: the block's agent may be named after the block.
    let limit = out.options.limits.entry_bytes.saturating_mul(2);
    let mut bytes = match files.bytes(index, limit) {
        Ok(bytes) => bytes,
        Err(reason) => {
            out.break_off(place, reason);
            return Ok(());
        }
    };
    let before = bytes.len() - json::text_of(&bytes).len();
    bytes.drain(..before);
    let mut first = EntryPosition {
        byte: Some(before as u64),
        ..place.clone()
    };
    // `recognise` accepts a file that is a text of JSON. Each layer is a copy, and a file of thousands would take
    // hours.
    for _ in 0..LAYERS {
        let inner = Raw::whole(&bytes)
            .ok()
            .and_then(|raw| json::text(Some(raw)));
        match inner {
            Some(inner) => {
                bytes = inner.into_bytes();
                // The offsets within are not those of the file.
                first.byte = None;
            }
            None => break,
        }
    }
    let Ok(raw) = Raw::whole(&bytes) else {
        let reason = match json::text_of(&bytes).is_empty() {
            true => NoMemoryReason::Empty,
            false => NoMemoryReason::Truncated,
        };
        out.break_off(place, reason);
        return Ok(());
    };
    agents(raw, &first, out)
}

fn agents(raw: Raw<'_>, place: &EntryPosition, out: &mut Out<'_>) -> ReadResult {
    let fields = ["agents", "blocks", "core_memory", "messages", "name"];
    let [agents, blocks, core_memory, messages, name] = match raw.fields(fields) {
        Ok(fields) => fields,
        Err(BrokenJson(at)) => {
            out.break_off(place.of_part(at), NoMemoryReason::Malformed);
            return Ok(());
        }
    };
    if !json::any_of([agents, blocks, core_memory]) {
        return out.found(place.clone(), Err(NoMemoryReason::UnknownKind));
    }
    let mut secrets = Vec::new();
    let mut agent_names: Vec<String> = Vec::new();
    let mut owners: BTreeMap<String, BlockOwner> = BTreeMap::new();
    let mut first = json::text(name).unwrap_or_default();
    count_messages(messages, out);
    secrets_of(raw, &mut secrets);
    // Agents before blocks: their names are in the blocks' identifiers, which a second reading recognises.
    json::each_element(("agents", agents), place, out, |agent, out| {
        let fields = ["name", "block_ids", "messages", "memory_blocks"];
        let Ok([name, ids, messages, own_blocks]) = agent.fields(fields) else {
            return out.found(place.of_part(agent.at), Err(NoMemoryReason::Malformed));
        };
        let name = json::text(name).unwrap_or_default();
        if first.is_empty() {
            first.clone_from(&name);
        }
        let number = agent_names.len();
        json::each_element(("block_ids", ids), place, out, |id, _| {
            if let Some(id) = id.id() {
                let owner = owners.entry(id).or_insert(BlockOwner {
                    agent: number,
                    is_shared: false,
                });
                owner.is_shared |= owner.agent != number;
            }
            Ok(())
        })?;
        count_messages(messages, out);
        secrets_of(agent, &mut secrets);
        json::each_element(("memory_blocks", own_blocks), place, out, |one, out| {
            let found = block(one, &name, out);
            out.found(place.of_part(one.at), found)
        })?;
        agent_names.push(name);
        Ok(())
    })?;
    let mut shared = 0_u64;
    json::each_element(("blocks", blocks), place, out, |one, out| {
        let [id] = one.fields(["id"]).unwrap_or_default();
        let owner = id.and_then(Raw::id).and_then(|id| owners.get(&id));
        shared += u64::from(owner.is_some_and(|owner| owner.is_shared));
        // A block that no agent names needs a stable identifier: that of the first agent.
        let owner = owner.and_then(|owner| agent_names.get(owner.agent));
        let found = block(one, owner.unwrap_or(&first), out);
        out.found(place.of_part(one.at), found)
    })?;
    json::each_element(("core_memory", core_memory), place, out, |one, out| {
        let found = block(one, &first, out);
        out.found(place.of_part(one.at), found)
    })?;
    if agent_names.len() > 1 {
        out.notice(
            "scopes",
            format!(
                "the file holds {} agents; the blocks of all of them came to one agent here, each with its label as a tag",
                agent_names.len()
            ),
        );
    }
    if shared > 0 {
        out.notice(
            "shared_blocks",
            format!("of the file's blocks {shared} belong to several agents; each came once, as one of the first agent that names it"),
        );
    }
    name_secrets(&secrets, out);
    Ok(())
}

/// The owner of a block: the first agent of the file that names it, which stays the same where agents are added to the
/// file.
struct BlockOwner {
    agent: usize,
    /// Another agent names it too.
    is_shared: bool,
}

/// The elements of a list that is never imported, so that a broken one is no loss.
fn left_out<'a>(list: Option<Raw<'a>>) -> impl Iterator<Item = Raw<'a>> {
    let list = list.and_then(|list| list.elements().ok());
    list.into_iter().flatten().flatten()
}

fn count_messages(messages: Option<Raw<'_>>, out: &mut Out<'_>) {
    out.leave_out(NoMemoryReason::Message, left_out(messages).count() as u64);
}

fn secrets_of(raw: Raw<'_>, secrets: &mut Vec<String>) {
    let fields = ["tool_exec_environment_variables", "secrets"];
    let Ok(found) = raw.fields(fields) else {
        return;
    };
    for held in found.into_iter().flatten() {
        let entries = held.entries().into_iter().flatten().flatten();
        // Written as an object by name, or as a list of objects. The values are not decoded at all.
        secrets.extend(entries.filter_map(|(key, _)| key.string().ok().flatten()));
        for one in left_out(Some(held)) {
            let [key, name] = one.fields(["key", "name"]).unwrap_or_default();
            secrets.extend(json::first_text([key, name]));
        }
    }
}

fn name_secrets(secrets: &[String], out: &mut Out<'_>) {
    if secrets.is_empty() {
        return;
    }
    out.leave_out(NoMemoryReason::Secret, secrets.len() as u64);
    let mut named: Vec<String> = Vec::new();
    for secret in secrets {
        // A name comes from the file and may be of any length.
        let name: String = secret.chars().take(60).collect();
        if !named.contains(&name) && named.len() < NAMED {
            named.push(name);
        }
    }
    out.notice(
        "secrets",
        format!(
            "the file holds secrets for tools, which were not imported ({}); protect the file",
            named.join(", ")
        ),
    );
}

fn block(raw: Raw<'_>, agent: &str, out: &mut Out<'_>) -> Result<FoundEntry, NoMemoryReason> {
    fields!(raw => {
        label: "label", value: "value", read_only: "read_only", own_tags: "tags", created: "created_at",
        updated: "updated_at",
    }?);
    let label = json::text(label).unwrap_or_default();
    let text = json::content([value], "value")?;
    let is_persona = label == "persona" && out.offer(&text);
    let label = label.trim_matches('/').to_owned();
    let mut tags = vec![label.clone()];
    tags.extend(own_tags.map(tags::of_value).unwrap_or_default());
    Ok(FoundEntry {
        text,
        kind: Some(Kind::Core),
        tags,
        id: format!("{agent}/{label}"),
        created_at: date::of_value(created).or(date::of_value(updated)),
        constitutional: read_only.is_some_and(Raw::is_true),
        is_persona,
        is_page: true,
        ..FoundEntry::default()
    })
}

fn passage(raw: Raw<'_>) -> Result<FoundEntry, NoMemoryReason> {
    fields!(raw => {
        id: "id", text: "text", own_tags: "tags", created: "created_at", deleted: "is_deleted",
        updated: "updated_at",
    }?);
    let text = json::content([text], "text")?;
    let is_deleted = deleted.is_some_and(Raw::is_true);
    let gone = is_deleted.then(|| ForeignGone::deleted(date::of_value(updated).at));
    let id = id.and_then(Raw::id);
    Ok(FoundEntry {
        // Without an identifier the text is one: the same file adds nothing a second time.
        id: id.unwrap_or_else(|| crate::out::hex(&text)[..32].to_owned()),
        text,
        // They are not in the agent's prompt there either, and its search finds them.
        kind: Some(Kind::Archival),
        tags: own_tags.map(tags::of_value).unwrap_or_default(),
        created_at: date::of_value(created),
        gone,
        ..FoundEntry::default()
    })
}

/// A page of MemFS: `system/` is always in the prompt, the others on request.
fn page(files: &mut Files, index: usize, name: &str, out: &mut Out<'_>) -> ReadResult {
    let place = files.place(index);
    if name.starts_with("skills/") || name.contains("/skills/") {
        out.pass(place, NoMemoryReason::Instruction);
        return Ok(());
    }
    let Some(text) = files.page(index, &place, out) else {
        return Ok(());
    };
    let (fields, body) = frontmatter::split(&text);
    let bare = name.trim_end_matches(".md");
    let label = bare.rsplit('/').next().unwrap_or(bare).to_owned();
    let is_system = name.starts_with("system/") || name.contains("/system/");
    let is_persona = is_system && label == "persona" && out.offer(body);
    let mut tags = vec![label];
    if !is_system {
        tags.push("reference".to_owned());
    }
    out.entry(FoundEntry {
        text: body.to_owned(),
        id: name.to_owned(),
        kind: Some(if is_system { Kind::Core } else { Kind::Journal }),
        tags,
        // Git first: the agent wrote the page's own date.
        created_at: match files.committed_at(index) {
            None => markdown::dated(&fields),
            committed => committed.into(),
        },
        constitutional: fields.is_true("read_only"),
        is_persona,
        is_page: true,
        place,
        ..FoundEntry::default()
    })
}

//! Recognises formats by the files of a folder or an archive.

use memoir_domain::mend::{self, Encoding};

use crate::{
    ImportFormat::{ChatGpt, Claude, Letta, Markdown, Mem0},
    ImportLimits, Recognised,
    files::{Files, file_name, is_of_conversations},
    frontmatter::{self, Fields},
    json, mem0,
    recognise::{self, known},
};

/// Pages whose fields are read.
// A folder may have hundreds of thousands of pages, and each check opens one.
const PAGES: usize = 50;

/// The format of a folder or an archive.
pub(crate) fn recognise(files: &mut Files, limits: &ImportLimits) -> Option<Recognised> {
    let names: Vec<String> = (0..files.len())
        .map(|index| files.name(index).to_owned())
        .collect();
    let has = |file: &str| names.iter().any(|name| file_name(name) == file);
    // The most certain signs come first: names that one program alone gives, then the content of its pages, then any
    // pages. First the files of an export.
    if has("memories.json")
        || names
            .iter()
            .any(|name| name.contains("memories/") && name.ends_with(".json"))
    {
        return Some(known(Claude, "memories.json"));
    }
    if let Some(index) = names.iter().position(|name| is_of_conversations(name)) {
        // ChatGPT's export and Claude's have a file of this name: its fields decide, and the files beside it only where
        // the fields are inconclusive.
        let outline = files.outline(index);
        if let Some(by) = recognise::json(&outline).filter(|by| by.format == ChatGpt) {
            return Some(by);
        }
        if has("users.json") || has("projects.json") {
            return Some(known(Claude, "conversations.json, users.json"));
        }
    }
    if names.iter().any(|name| name.ends_with(".af")) {
        return Some(known(Letta, "agent files (.af)"));
    }
    let pages: Vec<usize> = (0..names.len())
        .filter(|index| names[*index].ends_with(".md"))
        .collect();
    if pages.is_empty() {
        let index = names.iter().position(|name| json::is_name(name))?;
        return recognise::json(&files.outline(index));
    }
    let is_tree = names
        .iter()
        .any(|name| name.starts_with("system/") && name.ends_with(".md"));
    let (mut is_claude, mut is_basic_memory) = (false, false);
    // By the fields, not the names: a folder of one project may have any name.
    for index in pages.iter().take(PAGES) {
        let (text, _) = files
            // A larger page is skipped here, and read or reported by the format's reader.
            .text(*index, limits.entry_bytes.min(1 << 20))
            .unwrap_or((String::new(), Encoding::Utf8));
        let (fields, _) = frontmatter::split(&text);
        if fields.has("memoir.number") {
            return Some(Recognised {
                pages_of: fields.text("memoir.agent").map(str::to_owned),
                ..known(Markdown, "pages that Memoir wrote")
            });
        }
        // Not immediately: a page that Memoir wrote may still follow, and is more certain.
        is_claude |= is_of_claude(&fields);
        is_basic_memory |= fields.has("permalink");
    }
    // A note of basic-memory may be in a folder of that name too.
    if is_tree && !is_basic_memory {
        return Some(known(Letta, "system/*.md"));
    }
    if is_claude {
        return Some(known(
            Claude,
            "pages with `type` user, feedback, project or reference",
        ));
    }
    if has("CLAUDE.md") && has("MEMORY.md") {
        return Some(known(Claude, "MEMORY.md, CLAUDE.md"));
    }
    let special = ["SOUL.md", "USER.md", "MEMORY.md", "memory_summary.md"];
    let found: Vec<&str> = special.into_iter().filter(|name| has(name)).collect();
    Some(if found.is_empty() {
        known(Markdown, "pages of Markdown")
    } else {
        known(Markdown, &found.join(", "))
    })
}

fn is_of_claude(fields: &Fields) -> bool {
    let is_node = fields.text("metadata.node_type") == Some("memory");
    // `type: project` alone is in many a page of Obsidian: only with the two other fields is it Claude's.
    let class = fields.first(&["metadata.type", "type"]);
    let is_class = matches!(class, Some("user" | "feedback" | "project" | "reference"));
    is_node || is_class && fields.has("description") && fields.has("name")
}

/// Whether a file of that name, in lower case, is a page.
pub(crate) fn is_page(name: &str) -> bool {
    name.ends_with(".md") || name.ends_with(".markdown")
}

/// The format of a single file that is no JSON.
pub(crate) fn page(name: &str, head: &[u8]) -> Option<Recognised> {
    let has_fields = head.starts_with(b"---\n") || head.starts_with(b"---\r\n");
    if !is_page(name) && !has_fields {
        return None;
    }
    let (text, _) = mend::file(head).unwrap_or((mend::text(head), Encoding::Utf8));
    let (fields, _) = frontmatter::split(&text);
    Some(if is_of_claude(&fields) {
        known(
            Claude,
            "a page with `type` user, feedback, project or reference",
        )
    } else if mem0::is_page(&fields) {
        known(Mem0, "a page with `id`, `created_at`")
    } else {
        known(Markdown, "a page of Markdown")
    })
}

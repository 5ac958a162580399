//! Folders of Markdown: basic-memory, Obsidian, the Open Knowledge Format, and agents' workspaces.
//!
//! One reader reads all of them, since their differences show in each page: its name (`SOUL.md`, `2026-03-01.md`), its
//! fields (`permalink`, `stale_after`), or its lines (`- [category] text #tag`).

use memoir_domain::{Timestamp, memory::Kind};

use crate::{
    DeletionReason, EntryPosition, ForeignGone, NoMemoryReason, PageOf, ReadResult,
    date::{self, FoundDate},
    files::{Files, file_name},
    frontmatter::{self, Fields},
    inventory::is_page,
    out::{FoundEntry, Out, digest_id},
    tags,
};

/// The file names of an agent's instructions.
const INSTRUCTIONS: [&str; 7] = [
    "AGENTS.md",
    "TOOLS.md",
    "HEARTBEAT.md",
    "BOOTSTRAP.md",
    "CLAUDE.md",
    "GEMINI.md",
    "SKILL.md",
];
/// The separator of the entries of Hermes.
const SECTION: &str = "§";

pub(crate) fn read(mut files: Files, out: &mut Out<'_>) -> ReadResult {
    let has = |name: &str| files.find(name).is_some();
    let workspace = Workspace {
        has_memory: has("MEMORY.md"),
        has_soul: has("SOUL.md") || has("IDENTITY.md") || has("USER.md"),
    };
    for index in 0..files.len() {
        let name = files.name(index).to_owned();
        if files.takes(index, out, |name| is_page(&name.to_lowercase())) {
            page(&mut files, index, &name, &workspace, out)?;
        }
    }
    Ok(())
}

struct Workspace {
    has_memory: bool,
    has_soul: bool,
}

/// Why a page of that name is omitted; `None` where it is read.
fn left_out(name: &str, workspace: &Workspace, instructions: bool) -> Option<NoMemoryReason> {
    let file = file_name(name);
    let folders: Vec<&str> = name.split('/').rev().skip(1).collect();
    let is_in = |names: &[&str]| {
        folders
            .iter()
            .any(|folder| names.contains(&folder.to_lowercase().as_str()))
    };
    // A `README.md` is a page like others, except in an agent's workspace: there it explains the folder.
    let is_instruction = INSTRUCTIONS.contains(&file)
        || file == "README.md" && workspace.has_soul
        || is_in(&["skills"]);
    if is_instruction && !instructions {
        return Some(NoMemoryReason::Instruction);
    }
    // Also where instructions are requested: a template is no instruction, but has blanks to be filled in.
    if is_in(&["templates", "_templates", "template"]) {
        return Some(NoMemoryReason::Template);
    }
    let is_derived = file == "DREAMS.md"
        // Only beside the page that they were made from; without it they may be the only copy.
        || workspace.has_memory
            && (matches!(file, "memory_summary.md" | "raw_memories.md")
                || is_in(&["rollout_summaries"]));
    is_derived.then_some(NoMemoryReason::Derived)
}

fn page(
    files: &mut Files,
    index: usize,
    name: &str,
    workspace: &Workspace,
    out: &mut Out<'_>,
) -> ReadResult {
    let place = files.place(index);
    if let Some(reason) = left_out(name, workspace, out.options.instructions) {
        out.pass(place, reason);
        return Ok(());
    }
    let Some(text) = files.page(index, &place, out) else {
        return Ok(());
    };
    let (fields, body) = frontmatter::split(&text);
    let file = file_name(name);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let is_listing = matches!(file, "index.md" | "log.md" | "_index.md");
    let (links, without_links) = without_links(body);
    // A listing with text of its own is a page: only one that consists of links is no memory.
    if is_listing && (links > 0 || file == "log.md") && is_bare(&without_links) {
        out.pass(place, NoMemoryReason::Index);
        return Ok(());
    }
    if let Some(number) = fields.text("memoir.number") {
        return out.entry(page_of_memoir(&fields, number, body, place));
    }
    let (day, name_without_day) = day_of(stem);
    let is_daily = day.is_some();
    // From the author's date to the file's.
    let dated = dated(&fields).or(day.into());
    let created_at = dated.or_beside(|| files.time(index));
    let is_soul = matches!(file, "SOUL.md" | "IDENTITY.md");
    let is_persona = is_soul && out.offer(body);
    let is_user = matches!(file, "USER.md" | "user.md");
    let all_tags = tags_of(&fields, body, is_user);
    let kind = match kind_of(&fields, "kind") {
        Some(kind) => Some(kind),
        None if is_soul || is_user || file == "MEMORY.md" => Some(Kind::Core),
        None if is_daily => Some(Kind::Journal),
        None => None,
    };
    let id = match fields.text("permalink") {
        Some(permalink) => permalink.to_owned(),
        // A stream has no name, and only the text can identify a second reading.
        None if name.is_empty() => digest_id(body),
        None => name.to_owned(),
    };
    let title = fields.text("title").map(str::to_owned);
    let title = title.or_else(|| {
        // A name that is a date or the program's does not describe the text.
        let words = name_without_day.replace(['-', '_'], " ");
        let says_something = !is_daily || words.contains(char::is_alphabetic);
        let is_title = says_something && !is_special(file) && !words.trim().is_empty();
        is_title.then_some(words)
    });
    // What all entries of the page have.
    let base = FoundEntry {
        id,
        kind,
        created_at,
        constitutional: is_soul || fields.is_true("constitutional"),
        is_persona,
        gone: gone(&fields, out),
        place: place.clone(),
        ..FoundEntry::default()
    };
    // A page on a stream has no name. On any other page such a line is the author's.
    let may_be_hermes = is_special(file) || name.is_empty();
    if let Some(parts) = parts_of_hermes(body).filter(|_| may_be_hermes) {
        for text in parts {
            out.entry(FoundEntry {
                tags: tags_of(&fields, &text, is_user),
                text,
                ..base.clone()
            })?;
        }
        return Ok(());
    }
    // Other pages have such lines by chance: `- [method] …` is an observation only where the page is of basic-memory.
    let is_graph = fields.has("permalink") || fields.has("title") && has_observations(body);
    let prose = if is_graph {
        observations(
            body,
            title.as_deref().unwrap_or(stem),
            &all_tags,
            &base,
            out,
        )?
    } else {
        body.to_owned()
    };
    // All its content was returned as observations; its headings remain.
    if is_graph && is_bare(&prose) {
        return Ok(());
    }
    out.entry(FoundEntry {
        text: prose,
        title,
        tags: all_tags,
        is_page: true,
        ..base
    })
}

/// A page of Memoir's own is one memory, whatever its text looks like.
fn page_of_memoir(fields: &Fields, number: &str, body: &str, place: EntryPosition) -> FoundEntry {
    let agent = fields.text("memoir.agent").unwrap_or_default();
    FoundEntry {
        text: body.to_owned(),
        id: format!("{agent}/{number}"),
        kind: kind_of(fields, "memoir.kind").or(Some(Kind::Journal)),
        tags: fields.list("tags"),
        // Not that of its last change, where a person spoiled or removed its own.
        created_at: dated_by(&["created", "generated.at"], fields),
        origin: fields
            .text("memoir.origin")
            .and_then(|name| name.parse().ok()),
        constitutional: fields.is_true("memoir.constitutional"),
        may_be_json: true,
        page_of: number_of(number).map(|number| PageOf {
            agent: agent.to_owned(),
            number,
        }),
        place,
        ..FoundEntry::default()
    }
}

/// The entries of Hermes; `None` where the page has no line that parts them. Within a text the sign is one of the law.
fn parts_of_hermes(body: &str) -> Option<Vec<String>> {
    let is_line = |line: &&str| line.trim() == SECTION;
    let lines: Vec<&str> = body.lines().collect();
    let has_line = lines.iter().any(is_line);
    let parts = lines.split(is_line).map(|part| part.join("\n"));
    // Between two such lines there is no entry.
    has_line.then(|| parts.filter(|part| !part.trim().is_empty()).collect())
}

/// The tags of a page: those of its front matter and in its text, and its type.
fn tags_of(fields: &Fields, body: &str, is_user: bool) -> Vec<String> {
    let names = ["tags", "tag", "taxonomies.tags"];
    let tags = names.into_iter().flat_map(|name| fields.list(name));
    let mut tags: Vec<String> = tags.collect();
    tags.extend(inline_tags(body));
    if is_user {
        tags.push("user".to_owned());
    }
    let class = fields.text("type");
    // These apply to every page alike.
    let class = class.filter(|class| !matches!(*class, "note" | "fact" | "memory"));
    tags.extend(class.map(str::to_owned));
    tags
}

fn is_special(file: &str) -> bool {
    matches!(file, "MEMORY.md" | "USER.md" | "SOUL.md" | "IDENTITY.md")
}

/// Whether only headings remain.
pub(crate) fn is_bare(text: &str) -> bool {
    text.lines()
        .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}

pub(crate) fn dated(fields: &Fields) -> FoundDate {
    dated_by(
        &[
            "created",
            "created_at",
            "date",
            "generated.at",
            "timestamp",
            "metadata.created",
            "modified",
            "updated",
            "metadata.modified",
        ],
        fields,
    )
}

/// The first date that can be read in these fields.
fn dated_by(names: &[&str], fields: &Fields) -> FoundDate {
    let texts = names.iter().filter_map(|name| fields.text_or_item(name));
    texts
        .map(date::of_text)
        .fold(FoundDate::default(), FoundDate::or)
}

/// The kind that a field names; `None` where it is missing or no kind.
fn kind_of(fields: &Fields, name: &str) -> Option<Kind> {
    fields.text(name)?.parse().ok()
}

/// A memory's number, as `17` or `#17`; people edit these pages.
fn number_of(text: &str) -> Option<u64> {
    let number = text.strip_prefix('#').unwrap_or(text).parse().ok();
    number.filter(|number| *number > 0)
}

/// The day that a page's name begins with, and the rest of the name: `2026-03-01 Meeting`, `20260301 Meeting`,
/// `202603011015 Meeting` and `2026-03-01T10-15 Meeting`.
fn day_of(stem: &str) -> (Option<Timestamp>, &str) {
    let is_digit = |character: char| character.is_ascii_digit();
    let digits = stem
        .find(|character| !is_digit(character))
        .unwrap_or(stem.len());
    let length = if digits == 4 {
        "2026-03-01".len()
    } else {
        digits
    };
    let Some((day, rest)) = stem.split_at_checked(length) else {
        return (None, stem);
    };
    let mut plain = day.replace(['-', '_', '.'], "");
    let (time, rest) = date::time_of_day(rest).unwrap_or((String::new(), rest));
    plain.push_str(&time);
    // The shortest date in digits has eight; `2026-03-011` is none.
    match date::of_digits(&plain).filter(|_| plain.len() >= 8 && !rest.starts_with(is_digit)) {
        Some(day) => (Some(day), rest),
        None => (None, stem),
    }
}

/// Why a page of the Open Knowledge Format is obsolete.
fn gone(fields: &Fields, out: &Out<'_>) -> Option<ForeignGone> {
    let stale_after = fields.text("stale_after");
    let stale_after = stale_after.and_then(|text| date::of_text(text).at);
    // Before the date: a deprecated page is obsolete, however far its date is.
    if matches!(fields.text("status"), Some("deprecated")) {
        return Some(ForeignGone {
            why: DeletionReason::Invalidated,
            at: stale_after,
        });
    }
    out.expired(stale_after)
}

/// The number of lines that are links of a list to other pages, and the text without them.
pub(crate) fn without_links(text: &str) -> (u64, String) {
    let mut links = 0;
    let mut rest = String::new();
    for line in text.split_inclusive('\n') {
        let item = line.trim_start().trim_start_matches(['-', '*', '+']);
        let item = item.trim_start();
        let is_item = item.len() < line.trim_start().len();
        let is_link = item.starts_with('[') && item.contains("](") || item.starts_with("[[");
        if is_item && is_link {
            links += 1;
        } else {
            rest.push_str(line);
        }
    }
    (links, rest)
}

/// Tags within the text: `#food`, `#food/tea`, but no headings, colours or numbers.
fn inline_tags(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut in_fence = false;
    for line in text.lines() {
        // A comment of a shell script begins like a tag.
        in_fence ^= line.trim_start().starts_with("```");
        if in_fence {
            continue;
        }
        for word in line.split_whitespace() {
            let Some(tag) = word.strip_prefix('#') else {
                continue;
            };
            let tag = tag.trim_end_matches([',', '.', ';', ':', ')', '!', '?']);
            let is_tag = tag.chars().any(char::is_alphabetic)
                && tag.chars().all(|character| {
                    character.is_alphanumeric() || matches!(character, '_' | '-' | '/')
                });
            if is_tag && found.len() < tags::MOST && !found.iter().any(|other| other == tag) {
                found.push(tag.to_owned());
            }
        }
    }
    found
}

enum MarkdownLine<'a> {
    Observation {
        category: &'a str,
        text: &'a str,
    },
    Relation {
        kind: &'a str,
        target: &'a str,
        rest: &'a str,
    },
}

fn line(line: &str) -> Option<MarkdownLine<'_>> {
    let item = line.trim().strip_prefix("- ")?.trim();
    if let Some(rest) = item.strip_prefix('[') {
        let (category, text) = rest.split_once(']')?;
        // Boxes of task lists, Obsidian's own among them.
        let is_box = matches!(category.trim(), "" | "x" | "X" | "-" | "/" | ">");
        // `- [a](b)`, `- [a][b]` and `- [[b]]` are links, not observations of a category.
        let is_link = rest.starts_with('[') || text.starts_with('(') || text.starts_with('[');
        let is_short = category.chars().count() <= 40 && !text.trim().is_empty();
        return (!is_box && !is_link && is_short).then_some(MarkdownLine::Observation {
            category: category.trim(),
            text: text.trim(),
        });
    }
    let (kind, rest) = item.split_once("[[")?;
    let (target, rest) = rest.split_once("]]")?;
    let kind = kind.trim().trim_matches('"');
    let is_kind = !kind.is_empty() && kind.chars().count() <= 60 && !target.is_empty();
    is_kind.then_some(MarkdownLine::Relation {
        kind,
        // Obsidian's links may have another text behind a bar; the page's name is before it.
        target: target.split('|').next().unwrap_or(target),
        rest: rest.trim(),
    })
}

/// A list item of basic-memory with tags and without a category, which counts as an observation of this one.
fn note(line: &str) -> Option<MarkdownLine<'_>> {
    let text = line.trim().strip_prefix("- ")?.trim();
    // A bracket begins a box or a link.
    let is_note = !text.starts_with('[') && !inline_tags(text).is_empty();
    is_note.then_some(MarkdownLine::Observation {
        category: "Note",
        text,
    })
}

fn has_observations(body: &str) -> bool {
    body.lines()
        .any(|text| matches!(line(text), Some(MarkdownLine::Observation { .. })))
}

/// Passes on the observations and relations of a page, each with the page's title, and returns the rest.
fn observations(
    body: &str,
    title: &str,
    page_tags: &[String],
    base: &FoundEntry,
    out: &mut Out<'_>,
) -> Result<String, crate::Halt> {
    let mut rest = String::new();
    let mut in_fence = false;
    for whole in body.split_inclusive('\n') {
        in_fence ^= whole.trim_start().starts_with("```");
        let found = match in_fence {
            true => None,
            false => line(whole).or_else(|| note(whole)),
        };
        match found {
            None => rest.push_str(whole),
            Some(MarkdownLine::Observation { category, text }) => {
                let mut all = vec![category.to_owned()];
                all.extend(inline_tags(text));
                all.extend(page_tags.iter().cloned());
                out.entry(FoundEntry {
                    text: format!("{title}: {text}"),
                    tags: all,
                    ..base.clone()
                })?;
            }
            Some(MarkdownLine::Relation { kind, target, rest }) => {
                let text = format!("{title} {} {target} {rest}", kind.replace('_', " "));
                out.entry(FoundEntry {
                    text: text.trim().to_owned(),
                    tags: vec!["relation".to_owned()],
                    ..base.clone()
                })?;
            }
        }
    }
    Ok(rest)
}

//! Memories as a folder of pages: one file a memory, its fields before its text, for people to read and to edit, and
//! for programs that know the Open Knowledge Format.
//!
//! Both formats have a block `memoir` with the memory's number, kind and flag, which identifies an imported page.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use memoir_app::{OwnAgent, ShownMemory};
use memoir_domain::memory::Kind;

use crate::{
    failure::Failure,
    private_file::{existing, folder_of},
    terminal::safe,
};

/// Most characters of a memory's beginning in its page's title.
const TITLE_CHARACTERS: usize = 60;
const SLUG_CHARACTERS: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageLayout {
    /// Folders `core`, `journal` and `archival`.
    Folders,
    /// The Open Knowledge Format, version 0.2: pages with a `type`, and an index.
    Okf,
}

/// Writes the pages into a new or empty folder. Returns their number.
pub(super) async fn write(
    agent: &OwnAgent,
    folder: &Path,
    layout: PageLayout,
) -> Result<usize, Failure> {
    let failed = |error: io::Error| Failure::file("write", folder, &error);
    let entries = existing(fs::read_dir(folder)).map_err(failed)?;
    if entries.is_some_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::new(format!(
            "the folder `{}` is not empty; nothing was written",
            folder.display()
        ))
        .hint("name a new folder"));
    }
    let memories = agent.lens().memories(false).await?;
    let parent = folder_of(folder);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".memoir-export-");
    // The pages hold the agent's texts, and are for their owner only.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    // All or nothing: the folder gets its name once it is complete.
    let draft = builder.tempdir_in(parent).map_err(failed)?;
    let mut index = String::from("# Memories\n\n");
    for memory in &memories {
        let path = place_of(memory, layout);
        let whole = draft.path().join(&path);
        if let Some(inner) = whole.parent() {
            fs::create_dir_all(inner).map_err(failed)?;
        }
        fs::write(&whole, page(memory, agent.name(), layout)).map_err(failed)?;
        // Brackets would end the text of the Markdown link.
        let title = title(memory).replace(['[', ']'], " ");
        index.push_str(&format!("- [{}]({})\n", title, path.display()));
    }
    if layout == PageLayout::Okf {
        fs::write(draft.path().join("index.md"), index).map_err(failed)?;
    }
    // Not every system renames over an empty folder. A folder that another process filled meanwhile stays, and the
    // renaming fails.
    let _ = fs::remove_dir(folder);
    fs::rename(draft.path(), folder).map_err(failed)?;
    // It has another name now, and nothing is left to be removed.
    let _ = draft.keep();
    Ok(memories.len())
}

fn place_of(memory: &ShownMemory, layout: PageLayout) -> PathBuf {
    let slug: String = title(memory)
        .chars()
        .map(|character| match character.is_alphanumeric() {
            true => character.to_lowercase().next().unwrap_or('-'),
            false => '-',
        })
        .take(SLUG_CHARACTERS)
        .collect();
    let parts: Vec<&str> = slug.split('-').filter(|part| !part.is_empty()).collect();
    // With the zeros, the order by name is the order by number.
    let name = format!("{:05}-{}.md", memory.number.0, parts.join("-"));
    match layout {
        PageLayout::Folders => Path::new(memory.kind.as_str()).join(name),
        PageLayout::Okf => name.into(),
    }
}

/// The beginning of its first non-empty line.
fn title(memory: &ShownMemory) -> String {
    let text = memory.content();
    let mut lines = text
        .lines()
        // The marks of Markdown headings and lists are omitted.
        .map(|line| line.trim_start_matches(['#', '-', '*', ' ']).trim());
    let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let line = safe(line);
    let mut title = String::new();
    for word in line.split_whitespace() {
        if title.chars().count() + word.chars().count() > TITLE_CHARACTERS && !title.is_empty() {
            title.push('…');
            break;
        }
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
    }
    // The additional character is the mark of truncation.
    title.chars().take(TITLE_CHARACTERS + 1).collect()
}

/// A text quoted for YAML, which is quoted as in JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn page(memory: &ShownMemory, agent: &str, layout: PageLayout) -> String {
    let mut page = String::from("---\n");
    let mut line = |text: String| {
        page.push_str(&text);
        page.push('\n');
    };
    if layout == PageLayout::Okf {
        line(format!(
            "type: {}",
            match memory.kind {
                // OKF has no type for superseded memories; the block `memoir` has the kind.
                Kind::Core | Kind::Archival => "fact",
                Kind::Journal => "event",
            }
        ));
    }
    line(format!("title: {}", quoted(&title(memory))));
    if memory.tags().next().is_some() {
        line("tags:".to_owned());
        for tag in memory.tags() {
            line(format!("- {}", quoted(tag)));
        }
    }
    line(format!("created: {}", memory.created_at));
    line(format!("updated: {}", memory.updated_at));
    if let Some(source) = memory.source() {
        line("sources:".to_owned());
        match layout {
            PageLayout::Okf => line(format!("- {{resource: {}}}", quoted(source.expose()))),
            PageLayout::Folders => line(format!("- {}", quoted(source.expose()))),
        }
    }
    if layout == PageLayout::Okf {
        line(format!(
            "generated: {{by: {}, at: {}}}",
            quoted(&format!("memoir/{}", env!("CARGO_PKG_VERSION"))),
            memory.created_at
        ));
        line("status: stable".to_owned());
    }
    line("memoir:".to_owned());
    line(format!("  agent: {}", quoted(agent)));
    line(format!("  number: {}", memory.number.0));
    line(format!("  kind: {}", memory.kind.as_str()));
    line(format!("  origin: {}", memory.origin.as_str()));
    if memory.constitutional {
        line("  constitutional: true".to_owned());
    }
    if memory.is_summary {
        line("  is_summary: true".to_owned());
    }
    if let Some(under) = memory.under {
        line(format!("  under: {}", under.0));
    }
    if let Some(at) = memory.archived_at {
        line(format!("  archived_at: {at}"));
    }
    page.push_str("---\n");
    page.push_str(memory.content());
    page.push('\n');
    page
}

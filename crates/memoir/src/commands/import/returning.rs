//! Import of a folder of pages that Memoir wrote: its changes are shown, and imported on request.

use std::{collections::BTreeMap, ops::ControlFlow};

use memoir_app::{AgentHandle, MemoryInput, ShownMemory};
use memoir_domain::{
    PrivateText, Timestamp,
    audit::{Actor, ActorKind},
    memory::{CONTENT_LIMIT, Kind, Number},
};
use memoir_import::{
    Import, ImportLimits, ImportOptions, ImportReport, ImportedMemory, NoMemoryClass,
};
use serde_json::{Value, json};

use super::{Arguments, foreign::places};
use crate::{
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output,
    show::{counted, diff::diff, thousands},
    terminal::{self, word},
};

struct PageEdit<'a> {
    /// `None` for a new page.
    before: Option<&'a ShownMemory>,
    after: ImportedMemory,
}

impl PageEdit<'_> {
    fn input(&self) -> MemoryInput {
        let after = &self.after;
        let kind = self.before.map(|before| before.kind);
        // A page without its date keeps that of its memory: else it would get that of the import.
        let created_at = self.before.map(|before| before.created_at);
        MemoryInput {
            content: after.content.clone(),
            // A new page becomes a journal entry, as pages of other programs do.
            kind: Some(after.kind.or(kind).unwrap_or(Kind::Journal)),
            tags: after.tags.clone(),
            source: Some(after.source.clone()),
            origin: after.origin,
            created_at: after.created_at.or(created_at),
            ..MemoryInput::default()
        }
    }

    fn number(&self) -> Option<Number> {
        self.before.map(|before| before.number)
    }

    /// Its text and tags before and after, as shown.
    fn texts(&self) -> (Option<String>, String) {
        fn shown<'a>(content: &str, tags: impl Iterator<Item = &'a str>) -> String {
            let tags: Vec<&str> = tags.collect();
            match tags.as_slice() {
                [] => content.to_owned(),
                tags => format!("{content}\n[{}]", tags.join(", ")),
            }
        }
        let before = self.before.map(|one| shown(one.content(), one.tags()));
        let after = &self.after;
        let tags = after.tags.iter().map(PrivateText::expose);
        (before, shown(after.content.expose(), tags))
    }
}

pub(super) async fn run(
    global: &Global,
    arguments: &Arguments,
    import: Import,
    now: Timestamp,
    installation: &Installation,
    agent: &AgentHandle,
) -> Outcome {
    // The agent's text is shown.
    let agent = installation.own(agent).await?;
    let options = ImportOptions {
        now,
        // A page that Memoir wrote is always a memory, even where its name looks like that of a file of instructions.
        instructions: false,
        limits: ImportLimits::default(),
    };
    let mut pages = Vec::new();
    let report = import
        .read(&options, &mut |memory| {
            pages.push(memory);
            ControlFlow::Continue(())
        })
        .map_err(|error| Failure::new(format!("cannot read the folder: {error}")))?;
    check_pages(&agent, &pages)?;
    let memories = agent.lens().memories(false).await?;
    let kept = memories.iter().map(|memory| (memory.number.0, memory));
    let kept: BTreeMap<u64, &ShownMemory> = kept.collect();
    let (mut edits, mut unchanged, mut gone) = (Vec::new(), 0_u64, 0_u64);
    for page in pages {
        let of_this = page.page_of.as_ref();
        // A page of another agent is new here, whatever its number.
        let of_this = of_this.filter(|of| agent.answers_to(&of.agent));
        let before = of_this.map(|of| kept.get(&of.number).copied());
        match before {
            // It was discarded here meanwhile, and remains so.
            Some(None) => gone += 1,
            Some(Some(before)) if is_same(before, &page) => unchanged += 1,
            before => edits.push(PageEdit {
                before: before.flatten(),
                after: page,
            }),
        }
    }
    let is_applied = arguments.apply && !arguments.dry_run;
    if !global.json {
        for edit in &edits {
            let (before, after) = edit.texts();
            let number = edit.number();
            let head = number.map_or("new".to_owned(), |number| number.to_string());
            let diff = diff(before.as_deref(), Some(&after));
            output::print(&format!("{head}\n{diff}\n"))?;
        }
    }
    let record = if is_applied {
        let inputs = edits.iter().map(|edit| (edit.number(), edit.input()));
        let author = author(installation, &edits)?;
        let memories = agent.memories();
        memories.take_edits(inputs.collect(), &author).await?
    } else {
        None
    };
    let count = edits.len() as u64;
    if global.json {
        let changes: Vec<Value> = edits
            .iter()
            .map(|edit| {
                let (before, after) = edit.texts();
                json!({"number": edit.number(), "before": before, "after": after})
            })
            .collect();
        return output::json(&json!({
            "changes": changes,
            "unchanged": unchanged,
            "gone": gone,
            "junk": report.count(NoMemoryClass::Junk),
            "not_understood": report.count(NoMemoryClass::NotUnderstood),
            "applied": record.is_some(),
            "record": record,
        }));
    }
    note_left_out(&report, gone);
    let changes = counted(count, "change", "changes");
    output::print(&match (count, record) {
        (0, _) => "nothing was changed\n".to_owned(),
        (_, Some(_)) => format!(
            "imported {changes}; `memoir import {} --undo` undoes that\n",
            word(&arguments.agent)
        ),
        (_, None) => format!("{changes}; `--apply` imports them\n"),
    })
}

/// The author of the edits. That of a closed installation is an administrator, who edits no memory (SPEC 2.4, 3.12).
fn author(installation: &Installation, edits: &[PageEdit<'_>]) -> Result<Actor, Failure> {
    let author = installation.author();
    if author.kind == ActorKind::Owner || edits.iter().all(|edit| edit.before.is_none()) {
        return Ok(author);
    }
    Err(installation.closed_to_edits("a page replaces no memory"))
}

/// Prints notes on the pages of `gone` memories, on those that are no memories, and on those whose date is not used.
fn note_left_out(report: &ImportReport, gone: u64) {
    let note = |count: u64, what: &str, rest: &str| {
        if count > 0 {
            let pages = counted(count, "page", "pages");
            terminal::note(&format!("{pages} {what}:{}", rest.trim_end()));
        }
    };
    let junk = report.count(NoMemoryClass::Junk);
    let unread = report.count(NoMemoryClass::NotUnderstood);
    let dates: u64 = report.dates.values().sum();
    let not_read = format!("\n{}", places(&report.places, unread));
    let undated = format!("\n{}", places(&report.date_places, dates));
    note(gone, "of memories that were discarded since", " left out");
    note(junk, "without a text", " left out");
    note(unread, "not understood", &not_read);
    note(dates, "whose date is not used", &undated);
}

/// Refuses a second entry for a memory, of which only one could replace it: a part of a page over the limit of one, which
/// was split, or the copy of a page.
fn check_pages(agent: &AgentHandle, pages: &[ImportedMemory]) -> Result<(), Failure> {
    let mut places = BTreeMap::new();
    for page in pages {
        let Some(of) = &page.page_of else {
            continue;
        };
        let number = of.number;
        let failure = match places.insert((&of.agent, number), &page.place) {
            Some(other) if *other == page.place => {
                let limit = thousands(CONTENT_LIMIT as u64);
                let problem =
                    format!("the page of #{number} is over the limit of {limit} characters");
                Failure::new(format!("{problem}; nothing was imported"))
                    .hint("shorten it, or move a part of it to a page without a number")
            }
            Some(_) if agent.answers_to(&of.agent) => {
                Failure::new(format!("#{number} has two pages; nothing was imported"))
                    .hint("delete one of them, or its line `number`, which makes it a new memory")
            }
            _ => continue,
        };
        return Err(failure);
    }
    Ok(())
}

/// Whether a page has the text, tags and kind of its memory. Reading a page changes line breaks, and blanks in tags.
fn is_same(memory: &ShownMemory, page: &ImportedMemory) -> bool {
    let words = |tag: &str| tag.split_whitespace().collect::<Vec<_>>().join(" ");
    let tags = page.tags.iter().map(PrivateText::expose);
    memoir_transcripts::clean(memory.content()) == page.content.expose()
        && memory.tags().map(words).eq(tags)
        && page.kind.is_none_or(|kind| kind == memory.kind)
}

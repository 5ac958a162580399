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
    check_lengths(&pages)?;
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
            Some(before) => edits.push(PageEdit {
                before,
                after: page,
            }),
            None => edits.push(PageEdit {
                before: None,
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
    if gone > 0 {
        let pages = counted(gone, "page", "pages");
        terminal::note(&format!(
            "{pages} of memories that were discarded since: left out"
        ));
    }
    let junk = report.count(NoMemoryClass::Junk);
    if junk > 0 {
        let pages = counted(junk, "page", "pages");
        terminal::note(&format!("{pages} without a text: left out"));
    }
    let note = |what: &str, count: u64, places: String| {
        if count > 0 {
            let pages = counted(count, "page", "pages");
            terminal::note(&format!("{pages} {what}:\n{}", places.trim_end()));
        }
    };
    let unread = report.count(NoMemoryClass::NotUnderstood);
    note("not understood", unread, places(&report.places, unread));
    let dates: u64 = report.dates.values().sum();
    let dated = places(&report.date_places, dates);
    note("whose date is not used", dates, dated);
}

/// Refuses a page of a memory that is over the limit of one: it was split, and only one part could replace the memory.
fn check_lengths(pages: &[ImportedMemory]) -> Result<(), Failure> {
    let is_split = |pair: &&[ImportedMemory]| {
        pair[0].page_of.is_some()
            && pair[0].page_of == pair[1].page_of
            && pair[0].place == pair[1].place
    };
    let Some([first, _]) = pages.windows(2).find(is_split) else {
        return Ok(());
    };
    let number = first.page_of.as_ref().map_or(0, |page| page.number);
    let limit = thousands(CONTENT_LIMIT as u64);
    Err(Failure::new(format!(
        "the page of #{number} is over the limit of {limit} characters; nothing was imported"
    ))
    .hint("shorten it, or move a part of it to a page without a number"))
}

/// Whether a page has the text, tags and kind of its memory. Reading a page changes line breaks, and blanks in tags.
fn is_same(memory: &ShownMemory, page: &ImportedMemory) -> bool {
    let words = |tag: &str| tag.split_whitespace().collect::<Vec<_>>().join(" ");
    let tags = page.tags.iter().map(PrivateText::expose);
    memoir_transcripts::clean(memory.content()) == page.content.expose()
        && memory.tags().map(words).eq(tags)
        && page.kind.is_none_or(|kind| kind == memory.kind)
}

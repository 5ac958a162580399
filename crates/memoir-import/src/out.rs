//! The common output of all readers: texts are cleaned, split and counted here.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};

use data_encoding::HEXLOWER;
use memoir_domain::{
    PrivateText, Timestamp,
    agent::SYSTEM_PROMPT_LIMIT,
    memory::{Kind, SOURCE_LIMIT},
    origin::Origin,
};
use memoir_transcripts::clean;
use sha2::{Digest, Sha256};

use crate::{
    DateProblem, DeletionReason, EntryPosition, ForeignGone, Halt, ImportFormat, ImportOptions,
    ImportReport, ImportedMemory, NoMemoryReason, Notice, PageOf, ReadResult, date::FoundDate,
    report::PLACES, split, tags,
};

/// Most characters of a title that is put before each part of its page.
const TITLE_CHARACTERS: usize = 120;
/// Fewer characters than this are no memory.
const FEWEST_CHARACTERS: usize = 3;

#[derive(Debug, Clone, Default)]
pub(crate) struct FoundEntry {
    pub(crate) text: String,
    pub(crate) kind: Option<Kind>,
    pub(crate) tags: Vec<String>,
    /// The identifier in the other program, without the format's name.
    pub(crate) id: String,
    pub(crate) created_at: FoundDate,
    /// The origin that a page of Memoir names.
    pub(crate) origin: Option<Origin>,
    pub(crate) constitutional: bool,
    pub(crate) gone: Option<ForeignGone>,
    pub(crate) is_persona: bool,
    pub(crate) page_of: Option<PageOf>,
    /// The title of the whole page, where its text does not begin with it.
    pub(crate) title: Option<String>,
    /// Whether it is a page, which is split at its headings where it is long.
    pub(crate) is_page: bool,
    /// Whether it is accepted even if it is only JSON.
    pub(crate) may_be_json: bool,
    pub(crate) place: EntryPosition,
}

/// The text that is offered as the agent's system prompt.
#[derive(Default)]
struct OfferedPrompt {
    text: String,
    characters: usize,
    /// The digests of the texts in it.
    parts: BTreeSet<String>,
}

/// Receives the readers' entries.
pub(crate) struct Out<'a> {
    pub(crate) options: ImportOptions,
    pub(crate) report: ImportReport,
    format: ImportFormat,
    offered: OfferedPrompt,
    /// Of each code, the notices beyond those that the report names.
    further: BTreeMap<&'static str, u64>,
    give: &'a mut dyn FnMut(ImportedMemory) -> ControlFlow<()>,
}

impl<'a> Out<'a> {
    pub(crate) fn new(
        format: ImportFormat,
        options: ImportOptions,
        give: &'a mut dyn FnMut(ImportedMemory) -> ControlFlow<()>,
    ) -> Self {
        Self {
            options,
            report: ImportReport::default(),
            format,
            offered: OfferedPrompt::default(),
            further: BTreeMap::new(),
            give,
        }
    }

    pub(crate) fn finish(mut self) -> ImportReport {
        for (code, count) in self.further {
            let text = format!("and {count} more of the same kind").into();
            self.report.notices.push(Notice { code, text });
        }
        if !self.offered.text.is_empty() {
            self.report.system_prompt = Some(self.offered.text.into());
        }
        self.report
    }

    /// Adds a text to the offered system prompt. Returns whether the prompt contains it: the prompt has a limit.
    pub(crate) fn offer(&mut self, text: &str) -> bool {
        let text = clean(text);
        // The same persona may occur in the agent and among the blocks.
        if text.is_empty() || self.offered.parts.contains(&hex(&text)) {
            return true;
        }
        let characters = text.chars().count();
        let offered = &mut self.offered;
        // The first is always accepted: setting a too long prompt fails with an error.
        if !offered.parts.is_empty() && offered.characters + 2 + characters > SYSTEM_PROMPT_LIMIT {
            self.notice(
                "personas",
                "there are more personas than a system prompt holds: the further ones come as memories alone",
            );
            return false;
        }
        if !offered.parts.is_empty() {
            offered.text.push_str("\n\n");
            offered.characters += 2;
        }
        offered.text.push_str(&text);
        offered.characters += characters;
        offered.parts.insert(hex(&text));
        true
    }

    pub(crate) fn pass(&mut self, place: EntryPosition, reason: NoMemoryReason) {
        self.report.pass(place, reason);
    }

    /// Counts several parts of an omitted kind.
    pub(crate) fn leave_out(&mut self, reason: NoMemoryReason, count: u64) {
        if count > 0 {
            *self.report.passed.entry(reason).or_default() += count;
        }
    }

    pub(crate) fn pass_entry(&mut self, place: EntryPosition, reason: NoMemoryReason) {
        self.report.read += 1;
        self.pass(place, reason);
    }

    /// Records that the reading ended before the end.
    pub(crate) fn break_off(&mut self, place: EntryPosition, reason: NoMemoryReason) {
        self.report.is_broken = true;
        self.pass(place, reason);
    }

    pub(crate) fn notice(&mut self, code: &'static str, text: impl Into<String>) {
        let text = PrivateText::from(text.into());
        let notice = Notice { code, text };
        // A folder may have many files with the same cause.
        if self.report.notices.contains(&notice) {
            return;
        }
        let notices = self.report.notices.iter();
        match notices.filter(|notice| notice.code == code).count() {
            ..PLACES => self.report.notices.push(notice),
            _ => *self.further.entry(code).or_default() += 1,
        }
    }

    /// Passes on the entry at a place, or counts that it is no memory.
    pub(crate) fn found(
        &mut self,
        place: EntryPosition,
        found: Result<FoundEntry, NoMemoryReason>,
    ) -> ReadResult {
        match found {
            Ok(entry) => self.entry(FoundEntry { place, ..entry }),
            Err(reason) => {
                self.pass_entry(place, reason);
                Ok(())
            }
        }
    }

    /// Passes on an entry, in parts where it is too long.
    pub(crate) fn entry(&mut self, entry: FoundEntry) -> ReadResult {
        self.report.read += 1;
        let text = clean(&entry.text);
        // Three characters are enough for the check; a text may have megabytes.
        let length = text.chars().take(FEWEST_CHARACTERS).count();
        // What was a memory of Memoir's is one again, however short it is.
        let is_own = entry.page_of.is_some();
        let fewest = if is_own { 1 } else { FEWEST_CHARACTERS };
        let junk = match length {
            0 => Some(NoMemoryReason::Empty),
            _ if length < fewest => Some(NoMemoryReason::Short),
            _ if !entry.may_be_json && is_bare_json(&text) => Some(NoMemoryReason::BareJson),
            _ => None,
        };
        if let Some(reason) = junk {
            self.pass(entry.place, reason);
            return Ok(());
        }
        let limits = self.options.limits;
        let title = entry.title.as_deref().map(clean).unwrap_or_default();
        // A title over several lines would end the heading that it becomes.
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let title: String = title.chars().take(TITLE_CHARACTERS).collect();
        let begins_with = |text: &str| {
            let text = text.trim_start_matches(['#', ' ']);
            // Compared by ASCII letters alone: those keep their length in bytes, so that the cut stays right.
            text.get(..title.len())
                .is_some_and(|begin| begin.eq_ignore_ascii_case(&title))
        };
        // The title precedes each part of a page; in another entry, only a text that does not begin with it.
        let head = if title.is_empty() || begins_with(&text) && !entry.is_page {
            String::new()
        } else {
            format!("# {title}\n\n")
        };
        // With the title before it a part must still be within the limit of a memory.
        let room = limits
            .memory_characters
            .saturating_sub(head.chars().count());
        let parts = if entry.is_page {
            split::page(&text, limits.page_characters, room)
        } else {
            split::text(&text, room)
        };
        let parts: Vec<String> = parts
            .into_iter()
            .map(|part| match head.is_empty() || begins_with(&part) {
                true => part,
                false => format!("{head}{part}"),
            })
            .collect();
        let source = self.source(&entry.id);
        let (mut tags, left_out) = tags::bounded(entry.tags);
        self.report.tags_left_out += left_out;
        let is_split = parts.len() > 1;
        if is_split {
            self.report.split += 1;
            // From the source, so that a second reading gives the same mark. 32 bits suffice for people who search for
            // the other parts; no decision depends on it.
            let together = format!("parts:{}", &hex(source.expose())[..8]);
            // Room for the mark that connects the parts: it matters more than a sixteenth tag.
            tags.truncate(tags::MOST - 1);
            tags.push(together.into());
        }
        if entry.created_at.is_unreadable {
            let date = DateProblem::Unreadable;
            self.report.note_date(entry.place.clone(), date);
        }
        let created_at = entry.created_at.at;
        for part in parts {
            self.report.given += 1;
            self.report.gone += u64::from(entry.gone.is_some());
            self.report.undated += u64::from(created_at.is_none());
            let memory = ImportedMemory {
                content: part.into(),
                kind: entry.kind,
                tags: tags.clone(),
                source: source.clone(),
                created_at,
                // A file cannot raise its own origin.
                origin: entry
                    .origin
                    .filter(|origin| origin.weakness() > Origin::Import.weakness()),
                // An obsolete memory of the other program must stay editable here.
                constitutional: entry.constitutional && entry.gone.is_none(),
                is_persona: entry.is_persona,
                page_of: entry.page_of.clone(),
                gone: entry.gone,
                place: entry.place.clone(),
            };
            if (self.give)(memory).is_break() {
                return Err(Halt::Stopped);
            }
        }
        Ok(())
    }

    /// The format's name and the identifier there; its digest where it is too long or no plain text.
    fn source(&self, id: &str) -> PrivateText {
        let id = id.trim();
        let whole = format!("{}:{id}", self.format);
        let is_plain = whole.chars().count() <= SOURCE_LIMIT && !id.chars().any(char::is_control);
        if is_plain {
            whole.into()
        } else {
            format!("{}:{}", self.format, digest_id(id)).into()
        }
    }

    /// The expiry at a time; `None` while that time is still to come.
    pub(crate) fn expired(&self, at: Option<Timestamp>) -> Option<ForeignGone> {
        // A future expiry is no obsolescence: Memoir has no date of expiry.
        let at = at.filter(|at| *at <= self.options.now)?;
        Some(ForeignGone {
            why: DeletionReason::Expired,
            at: Some(at),
        })
    }
}

/// The identifier of an entry that has none but its text.
pub(crate) fn digest_id(text: &str) -> String {
    // 128 bits: it identifies a second reading, and a collision must not be constructible.
    format!("sha256-{}", &hex(text)[..32])
}

pub(crate) fn hex(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text.as_bytes()))
}

/// Whether a text is only an object or an array of JSON.
fn is_bare_json(text: &str) -> bool {
    let is_bracketed = text.starts_with('{') && text.ends_with('}')
        || text.starts_with('[') && text.ends_with(']');
    // Brackets alone are no sign: `[Ann] likes tea {a lot}` is a text.
    is_bracketed && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
        || matches!(text, "null" | "true" | "false" | "undefined")
}

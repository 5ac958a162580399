//! A context whose texts are added one by one, and the text that comes of it.

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Write,
};

use super::{
    ArchiveNote, Bounds, CORE_HEADING, ContextCandidate, ContextExplained, ContextMark,
    ContextPart, ContextText, CoreShares, HEADING, HiddenCopy, JOURNAL_HEADING, NOTE, ORDER,
    OmittedMemory, PartName, REPORTS_HEADING,
    lines::{self, Beside, Line, report_line, write_list},
    omission::{self, Bound, Class, Limit, Limits, Omission, OmissionRule, Sized},
};
use crate::{
    memory::{Kind, Memory, Number},
    text::plural,
};

/// Most characters of the headings and sentences, and of the closing lines.
const FRAME: u64 = 360;
/// Most characters of Memoir's own reports (SPEC 2.3).
const REPORTS: u64 = 300;
/// Characters of their heading, with its line breaks.
const REPORTS_HEADING_SIZE: u64 = REPORTS_HEADING.len() as u64 + 2;
/// Entries with tags of which only these are wanted are opened so many at a time.
const CLASSIFIED: usize = 500;

struct PlannedEntry {
    mark: ContextMark,
    /// `None` until its tags are read, where it has any.
    is_immutable: Option<bool>,
    /// `None` until its text is given.
    line: Option<Line>,
    /// `None` where it is shown.
    omission: Option<Omission>,
    /// The place of the entry of the same text that is shown for it.
    copy_of: Option<usize>,
    /// The last class to leave, of its copies; the journal's where it has none.
    of_copies: Class,
}

impl PlannedEntry {
    fn class(&self) -> Class {
        self.own_class().max(self.of_copies)
    }

    fn own_class(&self) -> Class {
        if self.mark.kind != Kind::Core {
            Class::Journal
        } else if self.mark.constitutional {
            Class::Constitutional
        } else if self.is_immutable == Some(true) {
            Class::Immutable
        } else if self.mark.is_summary {
            Class::Summary
        } else {
            Class::Plain
        }
    }

    fn is_shown(&self) -> bool {
        self.omission.is_none()
    }

    fn estimate(&self) -> u64 {
        lines::estimate(self.mark.number, self.mark.tokens, self.mark.is_summary)
    }
}

struct PlannedReport {
    mark: ContextMark,
    memory: Option<Memory>,
}

/// A context whose texts are added one by one, so that only the shown ones are opened (SPEC 2.3).
///
/// What is omitted is decided by the sizes of the texts before they are opened. Where their lines turn out to be longer,
/// since characters of them are escaped, the sizes are taken as larger by that share, and it is decided again. A copy of
/// another added text takes no room, and is shown or omitted with it. So the result is the same, however the texts are
/// added, but for copies among texts that are not opened.
pub struct ContextPlan {
    /// By number, which is the order of their records; without Memoir's own reports.
    entries: Vec<PlannedEntry>,
    /// By origin date.
    reports: Vec<PlannedReport>,
    bounds: Bounds,
    /// By how many sixteenths of its size a line is taken as longer.
    sixteenths: u64,
    /// The most characters of Memoir's own reports, without their heading, as last decided.
    reports_room: u64,
    /// Whether the texts that are wanted only show their tags.
    is_classifying: bool,
}

impl ContextPlan {
    /// From the active core memories and the recent journal entries at `now` ([`is_recent_at`](super::is_recent_at)), in any order.
    pub fn new(candidates: impl IntoIterator<Item = ContextCandidate>, bounds: Bounds) -> Self {
        let (reports, entries): (Vec<_>, Vec<_>) = candidates
            .into_iter()
            .partition(|found| found.by_memoir && found.mark.kind == Kind::Journal);
        let entry = |found: ContextCandidate| PlannedEntry {
            mark: found.mark,
            // Of these the tags do not matter.
            is_immutable: match found.mark.kind != Kind::Core || found.mark.constitutional {
                true => Some(false),
                false => found.is_immutable,
            },
            line: None,
            omission: None,
            copy_of: None,
            of_copies: Class::Journal,
        };
        let mut entries: Vec<PlannedEntry> = entries.into_iter().map(entry).collect();
        entries.sort_by_key(|entry| entry.mark.number);
        let report = |found: ContextCandidate| PlannedReport {
            mark: found.mark,
            memory: None,
        };
        let mut reports: Vec<PlannedReport> = reports.into_iter().map(report).collect();
        reports.sort_by_key(|report| (report.mark.created_at, report.mark.number));
        Self {
            entries,
            reports,
            bounds,
            sixteenths: 0,
            reports_room: 0,
            is_classifying: false,
        }
    }

    /// The numbers of the memories whose texts are needed next; none once the result is decided.
    pub fn wanted(&mut self) -> Vec<Number> {
        let unread = self.reports.iter().filter(|report| report.memory.is_none());
        let mut wanted: Vec<Number> = unread.map(|report| report.mark.number).collect();
        loop {
            self.decide();
            // Tags matter only where anything is omitted.
            let is_whole = self.entries.iter().all(PlannedEntry::is_shown);
            let unknown = self.entries.iter();
            let unknown = unknown.filter(|entry| !is_whole && entry.is_immutable.is_none());
            let unknown = unknown.map(|entry| entry.mark.number).take(CLASSIFIED);
            let before = wanted.len();
            wanted.extend(unknown);
            self.is_classifying = wanted.len() > before;
            if self.is_classifying {
                return wanted;
            }
            let unopened = |entry: &&PlannedEntry| entry.line.is_none();
            let is_shown = |entry: &&PlannedEntry| entry.is_shown();
            let missing = self.entries.iter().filter(unopened).filter(is_shown);
            wanted.extend(missing.map(|entry| entry.mark.number));
            if !wanted.is_empty() {
                // Where there are copies, the next texts may be copies too: with as many more at a time it ends soon.
                let copies = self.entries.iter().filter(|entry| entry.copy_of.is_some());
                let others = self.entries.iter().rev().filter(unopened);
                let others = others
                    .filter(|entry| !entry.is_shown())
                    .take(copies.count());
                wanted.extend(others.map(|entry| entry.mark.number));
                return wanted;
            }
            match self.longer() {
                Some(sixteenths) => self.sixteenths = sixteenths,
                None => return wanted,
            }
        }
    }

    /// Adds the text of a memory. One that is not in the plan is ignored.
    pub fn give(&mut self, memory: &Memory, archive: &ArchiveNote) {
        let is_it = |report: &&mut PlannedReport| report.mark.number == memory.number;
        if let Some(report) = self.reports.iter_mut().find(is_it) {
            report.memory = Some(memory.clone());
            return;
        }
        let Some(index) = self.place(memory.number) else {
            return;
        };
        let entry = &mut self.entries[index];
        if entry.is_immutable.is_none() {
            entry.is_immutable = Some(memory.tags.contains_any(&self.bounds.immutable_tags));
        }
        // A text that shows its tags only is not kept: it may be one of many that are omitted.
        if !self.is_classifying {
            let sources = archive.sources.get(&memory.number).copied();
            entry.line = Some(Line::new(memory, sources.unwrap_or(0)));
        }
    }

    /// The size of each entry as it is counted, without copies.
    fn sizes(&self) -> Vec<Sized> {
        let sized = |entry: &PlannedEntry| Sized {
            class: entry.class(),
            tokens: entry.mark.tokens,
            characters: entry.estimate() + entry.estimate() * self.sixteenths / 16,
            created_at: entry.mark.created_at,
        };
        self.originals().map(sized).collect()
    }

    fn originals(&self) -> impl Iterator<Item = &PlannedEntry> {
        self.entries.iter().filter(|entry| entry.copy_of.is_none())
    }

    /// Finds the copies among the added texts. The core memory saved first is shown for them, so that saving a copy
    /// changes nothing; it leaves as late as the last of them would.
    fn find_copies(&mut self) {
        let mut firsts = HashMap::new();
        for is_core in [true, false] {
            for index in 0..self.entries.len() {
                let entry = &self.entries[index];
                let Some(line) = &entry.line else { continue };
                if (entry.mark.kind == Kind::Core) != is_core {
                    continue;
                }
                let (class, day) = (entry.class(), entry.mark.created_at.day_number());
                let mut first = *firsts.entry((line.copy_key, None)).or_insert(index);
                // No cleanup joins copies of different days that have a word of relative time (SPEC 3.4).
                let shown = &self.entries[first];
                let is_relative = || shown.line.as_ref().is_some_and(Line::is_relative);
                if shown.mark.created_at.day_number() != day && is_relative() {
                    first = *firsts.entry((line.copy_key, Some(day))).or_insert(index);
                }
                if first != index {
                    self.entries[index].copy_of = Some(first);
                    let of_copies = &mut self.entries[first].of_copies;
                    *of_copies = class.max(*of_copies);
                }
            }
        }
    }

    /// What [`ContextPlan::reports_room`] is to be: none where constitutional memories need the room.
    fn measure_reports_room(&self, sizes: &[Sized]) -> u64 {
        if self.reports.is_empty() {
            return 0;
        }
        let parts = [
            Some(REPORTS),
            Some(self.bounds.journal.saturating_mul(4)),
            // An eighth of the whole.
            self.bounds.total.map(|total| total.saturating_mul(4) / 8),
        ];
        let room = parts.into_iter().flatten().min().unwrap_or(0);
        let Some(total) = self.bounds.total.map(|total| total.saturating_mul(4)) else {
            return room;
        };
        // Of what a client's limit omits without any report, the room is free.
        let limit = self.bounds.is_hard.then_some(Limit {
            bound: total,
            room: total.saturating_sub(FRAME),
        });
        let constitutional = omission::constitutional_size(sizes, limit);
        match FRAME + constitutional + REPORTS_HEADING_SIZE + room <= total {
            true => room,
            false => 0,
        }
    }

    fn limits(&self) -> Limits {
        // Fixed while there are any, so that a new report does not change what else is shown.
        let reports = match self.reports_room {
            0 => 0,
            room => room + REPORTS_HEADING_SIZE,
        };
        let limit = |bound: u64, taken: u64| Limit {
            bound,
            room: bound.saturating_sub(taken),
        };
        let total = self.bounds.total.map(|tokens| tokens.saturating_mul(4));
        Limits {
            total: total.map(|characters| limit(characters, FRAME + reports)),
            core: self.bounds.core.map(|tokens| limit(tokens, 0)),
            journal: Some(limit(self.bounds.journal, reports.div_ceil(4))),
            is_hard: self.bounds.is_hard,
        }
    }

    fn decide(&mut self) {
        if !self.bounds.shows_copies {
            self.find_copies();
        }
        let sizes = self.sizes();
        self.reports_room = self.measure_reports_room(&sizes);
        let omissions = omission::omissions(&sizes, &self.limits());
        let is_original = |entry: &&mut PlannedEntry| entry.copy_of.is_none();
        let originals = self.entries.iter_mut().filter(is_original);
        for (entry, omission) in originals.zip(omissions) {
            entry.omission = omission;
        }
        for index in 0..self.entries.len() {
            if let Some(first) = self.entries[index].copy_of {
                self.entries[index].omission = self.entries[first].omission;
            }
        }
    }

    /// By how many sixteenths lines are longer than they were taken to be, where the shown ones exceed the bound of the
    /// whole; `None` where they fit, or nothing else may be omitted.
    fn longer(&self) -> Option<u64> {
        let limit = self.limits().total?;
        let lists = Lists::new(self);
        let (mut text, mut origin) = (String::new(), None);
        write_list(&mut text, &lists.core, &mut origin);
        write_list(&mut text, &lists.journal, &mut origin);
        let size = text.chars().count() as u64;
        let may_leave = |entry: &PlannedEntry| {
            entry.is_shown() && (self.bounds.is_hard || entry.class() != Class::Constitutional)
        };
        let may_any_leave = || self.originals().any(may_leave) || self.reports_room > 0;
        if size <= limit.room || !may_any_leave() {
            return None;
        }
        let shown = self.originals().filter(|entry| entry.is_shown());
        let taken: u64 = shown.map(PlannedEntry::estimate).sum();
        let longer = size.saturating_sub(taken) * 16;
        // By a fourth at least, so that it ends soon: a character is escaped by at most twelve.
        let least = self.sixteenths + self.sixteenths / 4 + 1;
        Some(longer.div_ceil(taken.max(1)).max(least))
    }

    /// The share of the core memories that the context will show, by their sizes before any text is opened. Where tags are
    /// not known, none is taken as immutable.
    pub fn expected_shares(mut self) -> CoreShares {
        self.decide();
        self.shares()
    }

    /// The context of the added texts, once no more are wanted.
    pub fn finish(self, archive: &ArchiveNote) -> ContextText {
        let lists = Lists::new(&self);
        let mut explained = self.explained(&lists);
        let mut text = String::new();
        let (mut beside, mut origin) = (Beside::default(), None);
        let mut reports = self.report_lines();
        let mut closing = self.closing(archive);
        if !self.entries.is_empty() || !self.reports.is_empty() || archive.memories > 0 {
            let _ = write!(text, "{HEADING}\n\n{NOTE} {ORDER}\n");
            for (heading, list) in [
                (CORE_HEADING, &lists.core),
                (JOURNAL_HEADING, &lists.journal),
            ] {
                if !list.is_empty() {
                    let _ = write!(text, "\n{heading}\n");
                    beside.add(write_list(&mut text, list, &mut origin));
                }
            }
            // What changes with each save stands at the end, so that the text before it stays the same (SPEC 2.3).
            if !reports.is_empty() {
                let _ = write!(text, "\n{REPORTS_HEADING}\n");
                text.extend(reports.iter().map(|(_, line)| line.as_str()));
            }
            text.push_str(&closing);
        }
        let count = |text: &str| text.chars().count() as u64;
        let total = self.bounds.total.map(|tokens| tokens.saturating_mul(4));
        let fits = |text: &str| total.is_none_or(|total| count(text) <= total);
        if lists.core.is_empty() && lists.journal.is_empty() && !fits(&text) {
            // The frame alone exceeds the bound: what is omitted is stated without it, as far as that fits.
            reports.clear();
            let lines = closing.trim_start();
            let first = lines.split_inclusive('\n').next().unwrap_or_default();
            let fitting = [lines, first].into_iter().find(|&lines| fits(lines));
            closing = fitting.unwrap_or_default().to_owned();
            text.clone_from(&closing);
        }
        explained.omitted.extend(self.omitted_reports(&reports));
        explained.omitted.sort_by_key(|omitted| omitted.number);
        let of_reports: u64 = reports.iter().map(|(_, line)| count(line)).sum();
        explained.add(PartName::Reports, reports.len() as u64, of_reports);
        explained.add(PartName::Days, 0, beside.days);
        explained.add(PartName::Origins, 0, beside.origins);
        explained.add(PartName::Closing, 0, count(&closing));
        let others: u64 = explained.parts.iter().map(|part| part.characters).sum();
        explained.add(PartName::Frame, 0, count(&text).saturating_sub(others));
        explained.parts.sort_by_key(|part| part.part);
        let left_out = self.entries.iter().filter(|entry| !entry.is_shown());
        ContextText {
            core_tokens: self.tokens_of(&lists.core),
            journal_tokens: self.tokens_of(&lists.journal) + of_reports.div_ceil(4),
            left_out: left_out.map(|entry| entry.mark.number).collect(),
            shares: self.shares(),
            explained,
            text: text.into(),
        }
    }

    fn place(&self, number: Number) -> Option<usize> {
        let numbered = |entry: &PlannedEntry| entry.mark.number;
        self.entries.binary_search_by_key(&number, numbered).ok()
    }

    fn entry(&self, number: Number) -> Option<&PlannedEntry> {
        Some(&self.entries[self.place(number)?])
    }

    fn tokens_of(&self, lines: &[&Line]) -> u64 {
        let marks = lines.iter().filter_map(|line| self.entry(line.number));
        marks.map(|entry| entry.mark.tokens).sum()
    }

    /// The lines of Memoir's own reports, oldest first: the newest of each kind, as far as they fit.
    fn report_lines(&self) -> Vec<(ContextMark, String)> {
        let mut room = usize::try_from(self.reports_room).unwrap_or(usize::MAX);
        let mut kinds = BTreeSet::new();
        let mut lines = Vec::new();
        for report in self.reports.iter().rev() {
            let Some(memory) = &report.memory else {
                continue;
            };
            if kinds.insert(memory.report_kind())
                && let Some(line) = report_line(memory, room)
            {
                room -= line.chars().count();
                lines.push((report.mark, line));
            }
        }
        lines.reverse();
        lines
    }

    fn omitted_reports(&self, shown: &[(ContextMark, String)]) -> Vec<OmittedMemory> {
        let (rule, bound) = (OmissionRule::Report, Bound::Reports);
        let is_shown = |number| shown.iter().any(|(mark, _)| mark.number == number);
        let omitted = self.reports.iter();
        let omitted = omitted.filter(|report| !is_shown(report.mark.number));
        omitted
            .map(|report| OmittedMemory::new(&report.mark, Omission { rule, bound }))
            .collect()
    }

    /// The lines about what is omitted and about the archive, with a blank line before them.
    fn closing(&self, archive: &ArchiveNote) -> String {
        let mut lines = String::new();
        let omitted = |counts: &dyn Fn(&PlannedEntry) -> bool| {
            let omitted = self.entries.iter().filter(|entry| !entry.is_shown());
            omitted.filter(|entry| counts(entry)).count()
        };
        let constitutional = omitted(&|entry| entry.class() == Class::Constitutional);
        let core = omitted(&|entry| entry.mark.kind == Kind::Core) - constitutional;
        let journal = omitted(&|entry| entry.mark.kind != Kind::Core);
        let counted = |count: usize, one: &str, many: &str| {
            (count > 0).then(|| plural(count as u64, one, many))
        };
        let parts = [
            counted(
                constitutional,
                "constitutional memory",
                "constitutional memories",
            ),
            counted(core, "core memory", "core memories"),
            counted(journal, "journal entry", "journal entries"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            let _ = writeln!(
                lines,
                "(Left out for want of room: {}. Recall finds them.)",
                parts.join(", ")
            );
        }
        match archive.memories {
            0 => {}
            1 => lines.push_str("(1 memory is in your archive; recall finds it.)\n"),
            more => lines.push_str(&format!(
                "({more} memories are in your archive; recall finds them.)\n"
            )),
        }
        match lines.is_empty() {
            true => lines,
            false => format!("\n{lines}"),
        }
    }

    fn explained(&self, lists: &Lists<'_>) -> ContextExplained {
        let mut explained = ContextExplained {
            copies: lists.copies.clone(),
            ..ContextExplained::default()
        };
        for line in lists.core.iter().chain(&lists.journal) {
            let Some(entry) = self.entry(line.number) else {
                continue;
            };
            let part = match entry.class() {
                Class::Constitutional => PartName::Constitutional,
                Class::Immutable => PartName::Immutable,
                Class::Summary => PartName::Summaries,
                Class::Plain => PartName::Core,
                Class::Journal => PartName::Journal,
            };
            explained.add(part, 1, line.characters);
        }
        let omitted = self.entries.iter().filter_map(|entry| {
            let omission = entry.omission?;
            Some(OmittedMemory::new(&entry.mark, omission))
        });
        explained.omitted = omitted.collect();
        explained
    }

    fn shares(&self) -> CoreShares {
        let mut shares = CoreShares::default();
        let entries = self.entries.iter();
        for entry in entries.filter(|entry| entry.mark.kind == Kind::Core) {
            let of_quarter = shares.by_quarter.entry(entry.mark.recorded_at.quarter());
            for share in [&mut shares.all, of_quarter.or_default()] {
                share.memories += 1;
                share.shown += u64::from(entry.is_shown());
            }
        }
        shares
    }
}

/// The shown lines in order of time, each text once.
struct Lists<'a> {
    core: Vec<&'a Line>,
    journal: Vec<&'a Line>,
    copies: Vec<HiddenCopy>,
}

impl<'a> Lists<'a> {
    fn new(plan: &'a ContextPlan) -> Self {
        let mut lists = Self {
            core: Vec::new(),
            journal: Vec::new(),
            copies: Vec::new(),
        };
        let shown = plan.entries.iter().filter(|entry| entry.is_shown());
        for (entry, line) in shown.filter_map(|entry| Some((entry, entry.line.as_ref()?))) {
            match entry.copy_of {
                Some(first) => lists.copies.push(HiddenCopy {
                    number: line.number,
                    shown: plan.entries[first].mark.number,
                }),
                None if entry.mark.kind == Kind::Core => lists.core.push(line),
                None => lists.journal.push(line),
            }
        }
        for list in [&mut lists.core, &mut lists.journal] {
            list.sort_by_key(|line| (line.created_at, line.number));
        }
        lists
    }
}

impl OmittedMemory {
    fn new(mark: &ContextMark, omission: Omission) -> Self {
        Self {
            number: mark.number,
            kind: mark.kind,
            tokens: mark.tokens,
            omission,
        }
    }
}

impl ContextExplained {
    /// Adds to a part; one that takes no room is not listed.
    fn add(&mut self, part: PartName, entries: u64, characters: u64) {
        if characters == 0 {
            return;
        }
        let known = self.parts.iter_mut().find(|known| known.part == part);
        let Some(known) = known else {
            self.parts.push(ContextPart {
                part,
                entries,
                characters,
                tokens: characters.div_ceil(4),
            });
            return;
        };
        known.entries += entries;
        known.characters += characters;
        known.tokens = known.characters.div_ceil(4);
    }
}

//! Importing memories from other programs, and undoing that (SPEC 2.4).
//!
//! They are read batch by batch, and written in one transaction. Known memories are recognized by their source and
//! their earlier texts. So the same file adds nothing a second time, whatever sessions made of the memories. For an
//! administrator, who is content-blind, only memories that administrators added are compared (SPEC 5.1).

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, atomic::AtomicU64},
};

use memoir_domain::{
    Timestamp,
    agent::{Agent, DuplicateMatch},
    audit::{Action, Actor, ActorKind, Change},
    import::{self, Extent, ForeignGone, Incoming, UndoSurvey},
    manage,
    memory::{Kind, Memory, NewMemory, Number, tokens},
    origin::{Origin, SavedBy},
    text::Digester,
};
use memoir_store::{RecordFilter, Selection};
use memoir_text::{has_relative_time, same_text_key, same_text_key_ignoring_case};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::{
    core::{Error, Loaded, Result, codec, parallel},
    memory::{Memories, import::CoreAfter, memories::MemoryInput},
};

/// Memories that are loaded, decided on and sealed together.
// The batch size of an import of JSON lines (`import.rs`).
const BATCH: u64 = 2_000;
const NAMED: usize = 20;

/// A memory of another program.
#[derive(Debug, Clone, Default)]
pub struct ForeignMemory {
    /// The memory.
    pub input: MemoryInput,
    /// Why it is no longer valid in its source; `None` for a valid one.
    pub gone: Option<ForeignGone>,
}

/// A part of the file.
#[derive(Debug)]
pub enum ForeignPart {
    /// Memories, in their order.
    Memories(Vec<ForeignMemory>),
    /// The end. Without it, nothing is written.
    Last,
}

/// How memories are imported.
#[derive(Debug, Clone)]
pub struct ImportRequest {
    /// Their format, for the record.
    pub format: &'static str,
    /// Whether to leave out those that are no longer valid in their source.
    pub live_only: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
    /// The actor.
    pub actor: Actor,
    /// Counts the written memories, for showing progress.
    pub progress: Arc<AtomicU64>,
}

/// The result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TakenOver {
    /// Memories that were imported and are active.
    pub kept: u64,
    /// Those that were imported as discarded.
    pub discarded: u64,
    /// Those that the file has more than once.
    pub duplicates: u64,
    /// Those that the agent had already.
    pub known: u64,
    /// Imported ones whose source the agent knew with another text.
    pub changed: u64,
    /// Those that were left out as no longer valid.
    pub gone_left_out: u64,
    /// Those that break a limit.
    pub refused: u64,
    /// The core size after the import, or a preview of it.
    pub core: CoreAfter,
    /// The first number given; `None` where nothing was written.
    pub first: Option<Number>,
    /// The last number given.
    pub last: Option<Number>,
    /// The record of the import.
    pub seq: Option<u64>,
}

/// An import that was undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportUndone {
    /// The record of the import.
    pub import_seq: u64,
    /// The record of its undoing.
    pub seq: u64,
    /// Discarded memories, with the summaries that depend only on them.
    pub discarded: u64,
}

impl Memories<'_> {
    /// Imports memories, all of them or none.
    ///
    /// # Errors
    /// [`Error::Contended`] where the agent was changed meanwhile; the store fails. Nothing was written then.
    pub async fn take_over(
        self,
        mut parts: mpsc::Receiver<ForeignPart>,
        how: &ImportRequest,
    ) -> Result<TakenOver> {
        let loaded = self.load_memories(Selection::None).await?;
        let mut known_texts = KnownTexts::new(loaded.base.digester(), how);
        self.fill(&mut known_texts, &loaded, &how.actor).await?;
        if how.dry_run {
            let key = loaded.base.key().clone();
            while let Some(ForeignPart::Memories(memories)) = parts.recv().await {
                self.leave_out_known(&mut known_texts, memories, &key)
                    .await?;
            }
            return Ok(known_texts.finish(&loaded.agent));
        }
        let key = loaded.base.key().clone();
        let before = loaded.agent.clone();
        let written = self.write_together(loaded, async |together| {
            let (mut is_whole, mut bytes) = (false, 0);
            while let Some(part) = parts.recv().await {
                let ForeignPart::Memories(memories) = part else {
                    is_whole = true;
                    break;
                };
                let incoming = self
                    .leave_out_known(&mut known_texts, memories, &key)
                    .await?;
                if incoming.is_empty() {
                    continue;
                }
                let (agent, now) = (together.agent.clone(), self.memoir.now());
                let texts = incoming
                    .iter()
                    .map(|one| one.memory.content.expose().len() as u64);
                bytes += texts.sum::<u64>();
                let growth = (incoming.len() as u64, bytes);
                self.check_growth(&agent, growth, how.actor.kind).await?;
                let decision = import::take(agent, incoming, &how.actor, now);
                together.add(decision, Some(how.progress.clone())).await?;
            }
            let mut taken = known_texts.finish(&before);
            // A file that could not be read to its end is not imported in part; and an import of nothing is no record.
            if !is_whole || taken.kept + taken.discarded == 0 {
                return Ok((false, taken));
            }
            let (agent, now) = (together.agent.clone(), self.memoir.now());
            taken.first = Some(before.next_number);
            // At least one memory was taken, so there is a last number.
            taken.last = Some(Number(agent.next_number.0 - 1));
            taken.seq = Some(agent.next_seq);
            let report = import::Taken {
                format: how.format,
                first: before.next_number,
                memories: taken.kept,
                discarded: taken.discarded,
                replaced: &[],
            };
            let decision = import::taken(agent, &report, &how.actor, now);
            together.add(decision, None).await?;
            Ok((true, taken))
        });
        written.await.map_err(contended)
    }

    async fn imports(self) -> Result<(Vec<Extent>, Vec<Extent>)> {
        let filter = RecordFilter::of_actions([Action::MemoriesImported, Action::ImportUndone]);
        let _room = self.room_for_records(&filter).await?;
        let rows = self.memoir.store.records(self.scope, &filter).await?;
        // The facts are not sealed and list the numbers that an import gave, so no record has to be opened.
        Ok(import::kept_and_undone(&codec::records(None, rows)?))
    }

    async fn fill(
        self,
        known_texts: &mut KnownTexts<'_>,
        loaded: &Loaded,
        actor: &Actor,
    ) -> Result<()> {
        let (_, undone) = self.imports().await?;
        let is_blind = actor.kind == ActorKind::Administrator;
        // The batches are read one after the other. A write in between makes the resulting commit a conflict.
        for numbers in batches(&loaded.agent) {
            let batch = self.load_memories(Selection::Numbers(numbers)).await?;
            let mut changed = Vec::new();
            for memory in &batch.memories {
                // What was undone can be imported again.
                if !memory.is_active() && undone.iter().any(|extent| extent.holds(memory.number)) {
                    continue;
                }
                // A content-blind administrator learns nothing of texts that no administrator added, nor of what a
                // session made of one.
                let is_import = memory.origin() == Origin::Import;
                if memory.shredded_at.is_some() || is_blind && !is_import {
                    continue;
                }
                if is_blind && memory.core_seq.is_some() && is_changed(memory) {
                    changed.push(memory.clone());
                } else if !is_blind || is_administrators_import(memory) {
                    known_texts.know(memory);
                }
            }
            for memory in self.as_imported(changed, loaded.base.key()).await? {
                known_texts.know(&memory);
            }
        }
        Ok(())
    }

    /// Those of these memories, which were core, that an administrator imported, with the texts that they had before
    /// any session.
    async fn as_imported(
        self,
        mut changed: Vec<Memory>,
        key: &memoir_vault::AgentKey,
    ) -> Result<Vec<Memory>> {
        let mut imported = Vec::with_capacity(changed.len());
        while !changed.is_empty() {
            let seqs: BTreeSet<u64> = changed.iter().filter_map(|it| it.core_seq).collect();
            let seqs = Vec::from_iter(seqs);
            let rows = self.memoir.store.records_at(self.scope, &seqs).await?;
            let mut changes = HashMap::new();
            let mut administrators_texts = HashSet::new();
            for record in parallel::map(rows, |row| codec::record(Some(key), row)) {
                let record = record?;
                let seq = record.seq;
                for change in record.body.changes {
                    let copy = change.earliest();
                    if is_administrators_import(copy) {
                        let text = same_text_key_ignoring_case(copy.content.expose());
                        administrators_texts.insert((seq, text));
                    }
                    changes.insert((seq, change.number()), change);
                }
            }
            for memory in std::mem::take(&mut changed) {
                let Some(seq) = memory.core_seq else { continue };
                let Some(earlier) = changes.get(&(seq, memory.number)).map(Change::earliest) else {
                    // The place of a copy that it was joined with: its text is known where the copy's is.
                    let text = same_text_key_ignoring_case(memory.content.expose());
                    if administrators_texts.contains(&(seq, text)) {
                        imported.push(memory);
                    }
                    continue;
                };
                // A rewrite counts as a new original. What was core before it has an older record.
                let core_seq = earlier.core_seq.filter(|earlier| *earlier < seq);
                let memory = Memory {
                    content: earlier.content.clone(),
                    // A session that rewrote the text made it the agent's.
                    saved_by: earlier.saved_by,
                    source: earlier.source.clone(),
                    created_at: earlier.created_at,
                    core_seq,
                    ..memory
                };
                match core_seq {
                    Some(_) => changed.push(memory),
                    None if is_administrators_import(&memory) => imported.push(memory),
                    None => {}
                }
            }
        }
        Ok(imported)
    }

    async fn leave_out_known(
        self,
        known_texts: &mut KnownTexts<'_>,
        memories: Vec<ForeignMemory>,
        key: &memoir_vault::AgentKey,
    ) -> Result<Vec<Incoming>> {
        let saved_by = SavedBy {
            origin: Origin::Import,
            added_by: known_texts.how.actor.kind,
        };
        let digester = &known_texts.digester;
        let now = self.memoir.now();
        let checked = parallel::map(memories, |foreign| {
            let memory = foreign.input.check(saved_by, now).ok()?.memory;
            let source = memory.source.as_ref().map_or("", |source| source.expose());
            let of_source = short(digester, source);
            let of_text = match memory.created_at {
                // Said on another day it is another text (SPEC 3.4).
                Some(at) if has_relative_time(memory.content.expose()) => {
                    short_said_on(digester, memory.content.expose(), at)
                }
                _ => short_text(digester, memory.content.expose()),
            };
            let incoming = Incoming {
                memory,
                gone: foreign.gone,
            };
            Some((incoming, of_source, of_text))
        });
        // If a source is known with another text, its earlier texts decide.
        let mut changed_in = BTreeSet::new();
        for (_, of_source, of_text) in checked.iter().flatten() {
            if !known_texts.pairs.contains(&pair(*of_source, *of_text))
                && let Some(sources) = known_texts.sources.get(of_source)
            {
                changed_in.extend(sources.iter().copied());
            }
        }
        self.know_earlier_texts(known_texts, changed_in, key)
            .await?;
        let mut incoming = Vec::with_capacity(checked.len());
        for checked in checked {
            match checked {
                Some((memory, of_source, of_text)) => {
                    incoming.extend(known_texts.pass(memory, of_source, of_text));
                }
                None => known_texts.taken.refused += 1,
            }
        }
        Ok(incoming)
    }

    /// Adds the earlier texts of memories, by the places of the records that first made their present texts core.
    /// Sessions under the guard `off` rewrite a memory in place, so its current text may differ from its first one.
    async fn know_earlier_texts(
        self,
        known_texts: &mut KnownTexts<'_>,
        mut seqs: BTreeSet<u64>,
        key: &memoir_vault::AgentKey,
    ) -> Result<()> {
        loop {
            let unread = seqs.into_iter().filter(|seq| known_texts.read.insert(*seq));
            let unread: Vec<u64> = unread.collect();
            if unread.is_empty() {
                return Ok(());
            }
            seqs = BTreeSet::new();
            let rows = self.memoir.store.records_at(self.scope, &unread).await?;
            let records = parallel::map(rows, |row| codec::record(Some(key), row));
            for record in records {
                for change in record?.body.changes {
                    let memory = match change {
                        Change::Created(memory) => memory,
                        // The record of a rewrite holds the text before it, which may be that of another rewrite.
                        Change::Altered { before, .. } => {
                            seqs.extend(before.core_seq);
                            before
                        }
                    };
                    known_texts.know_text(&memory);
                }
            }
        }
    }

    /// Imports texts that replace memories, and new ones beside them, all or none. It is one import, and is undone as
    /// one. Returns its record; `None` where there is nothing to do.
    ///
    /// # Errors
    /// [`Error::NotReplaceable`] where [`import::can_replace`] refuses a memory; a limit is broken; the agent was changed meanwhile.
    pub async fn take_edits(
        self,
        edits: Vec<(Option<Number>, MemoryInput)>,
        actor: &Actor,
    ) -> Result<Option<u64>> {
        if edits.is_empty() {
            return Ok(None);
        }
        let saved_by = SavedBy {
            origin: Origin::Import,
            added_by: actor.kind,
        };
        let count = edits.len() as u64;
        let replaced: Vec<Number> = edits.iter().filter_map(|(number, _)| *number).collect();
        let loaded = self.load_idle(Selection::Numbers(replaced.clone())).await?;
        let mut in_place: Vec<(NewMemory, Memory)> = Vec::new();
        let mut beside: Vec<Incoming> = Vec::new();
        for (number, input) in &edits {
            let memory = input.check(saved_by, self.memoir.now())?.memory;
            let Some(number) = number else {
                beside.push(Incoming { memory, gone: None });
                continue;
            };
            let mut memories = loaded.memories.iter();
            let old = memories.find(|memory| memory.number == *number);
            // A second text for the same memory finds it replaced.
            let is_new = in_place.iter().all(|(_, other)| other.number != *number);
            match old.filter(|old| is_new && import::can_replace(old, memory.kind)) {
                Some(old) => in_place.push((memory, old.clone())),
                None => return Err(Error::NotReplaceable(*number)),
            }
        }
        let first = loaded.agent.next_number;
        let written = self.write_together(loaded, async |together| {
            let now = self.memoir.now();
            let decision = import::take_edits(together.agent.clone(), in_place, actor, now);
            together.add(decision, None).await?;
            let decision = import::take(together.agent.clone(), beside, actor, now);
            together.add(decision, None).await?;
            let agent = together.agent.clone();
            let seq = agent.next_seq;
            let report = import::Taken {
                format: "markdown",
                first,
                memories: count,
                discarded: 0,
                replaced: &replaced,
            };
            let decision = import::taken(agent, &report, actor, now);
            together.add(decision, None).await?;
            Ok((true, Some(seq)))
        });
        written.await.map_err(contended)
    }

    async fn load_idle(self, memories: Selection) -> Result<Loaded> {
        self.decide_again(|| async {
            let loaded = self.load_memories(memories.clone()).await?;
            manage::check_idle(&loaded.agent, loaded.running_session)?;
            Ok(loaded)
        })
        .await
    }

    /// Undoes the last import that was not undone: discards its active memories, and the summaries that depend only on
    /// these. The copies of elsewhere that a cleanup left for one of its memories return (SPEC 3.4).
    ///
    /// # Errors
    /// [`Error::NoImport`]; [`Error::ImportInTheWay`] where sessions put its memories under others, or they were
    /// protected since; a session is running.
    pub async fn undo_import(self, actor: &Actor, dry_run: bool) -> Result<ImportUndone> {
        let loaded = self.load_idle(Selection::None).await?;
        let (mut imports, _) = self.imports().await?;
        let extent = imports.pop().ok_or(Error::NoImport)?;
        let since = RecordFilter {
            from_seq: extent.seq,
            ..RecordFilter::of_actions([Action::MemoryDeduplicated, Action::MemoryDiscarded])
        };
        let room = self.room_for_records(&since).await?;
        let since = self.memoir.store.records(self.scope, &since).await?;
        let since = codec::records(None, since)?;
        drop(room);
        let mut survey = UndoSurvey::new(&extent, &since);
        for numbers in batches(&loaded.agent) {
            let batch = self.load_memories(Selection::Numbers(numbers)).await?;
            batch.memories.iter().for_each(|memory| survey.add(memory));
        }
        let plan = survey.finish();
        if !plan.conflicts.is_empty() {
            return Err(Error::ImportInTheWay {
                count: plan.conflicts.len(),
                numbers: plan.conflicts.into_iter().take(NAMED).collect(),
            });
        }
        let discarded = plan.given + plan.summaries.len() as u64;
        if dry_run {
            return Ok(ImportUndone {
                import_seq: extent.seq,
                // A dry run writes no record, so there is no number.
                seq: 0,
                discarded,
            });
        }
        let written = self.write_together(loaded, async |together| {
            for numbers in batches(&together.agent) {
                let concerns = |number: &Number| {
                    extent.holds(*number)
                        || extent.replaced.contains(number)
                        || plan.summaries.contains(number)
                        || plan.copies.contains_key(number)
                        || plan.joined.contains(number)
                };
                if !numbers.iter().any(concerns) {
                    continue;
                }
                // Whether this read includes the batches that were already written is irrelevant: none share a memory.
                let batch = self.load_memories(Selection::Numbers(numbers)).await?;
                let (agent, now) = (together.agent.clone(), self.memoir.now());
                let memories = batch.memories.copies().collect();
                let decision = import::undo(agent, &extent, &plan, memories, actor, now);
                if !decision.records.is_empty() {
                    together.add(decision, None).await?;
                }
            }
            let (agent, now) = (together.agent.clone(), self.memoir.now());
            let seq = agent.next_seq;
            let decision = import::undone(agent, &extent, discarded, actor, now);
            together.add(decision, None).await?;
            let undone = ImportUndone {
                import_seq: extent.seq,
                seq,
                discarded,
            };
            Ok((true, undone))
        });
        written.await.map_err(contended)
    }
}

fn is_administrators_import(memory: &Memory) -> bool {
    memory.saved_by.added_by == ActorKind::Administrator && memory.origin() == Origin::Import
}

/// Whether it was changed since it was saved, in its text or in anything else.
fn is_changed(memory: &Memory) -> bool {
    memory.updated_at != memory.recorded_at
}

/// A file is read once: after a conflict, the user starts again.
fn contended(error: Error) -> Error {
    match error {
        Error::Store(memoir_store::Error::Conflict) => Error::Contended,
        error => error,
    }
}

fn batches(agent: &Agent) -> impl Iterator<Item = Vec<Number>> + use<> {
    let end = agent.next_number.0;
    let begins = (0..end.div_ceil(BATCH)).map(|batch| batch * BATCH);
    // Numbers begin at 1.
    begins.map(move |begin| (begin.max(1)..end.min(begin + BATCH)).map(Number).collect())
}

type Short = [u8; 16];

fn short(digester: &Digester, text: &str) -> Short {
    let digest = digester.duplicate(text, DuplicateMatch::Exact);
    let mut short = [0; 16];
    short.copy_from_slice(&digest[..16]);
    short
}

/// As [`short`], of a text: equal for the same text (SPEC 1).
fn short_text(digester: &Digester, text: &str) -> Short {
    match same_text_key(text) {
        Cow::Borrowed(key) => short(digester, key),
        Cow::Owned(key) => short(digester, &zeroize::Zeroizing::new(key)),
    }
}

/// As [`short_text`], of a text that was said on that day.
fn short_said_on(digester: &Digester, text: &str, at: Timestamp) -> Short {
    let day = short(digester, &at.date());
    pair(day, short_text(digester, text))
}

/// The digests by which a memory's text is known: for a file that gives no date, and for one that gives its own.
fn known_as(digester: &Digester, memory: &Memory) -> impl Iterator<Item = Short> + use<> {
    let text = memory.content.expose();
    let dated = has_relative_time(text).then(|| short_said_on(digester, text, memory.created_at));
    std::iter::once(short_text(digester, text)).chain(dated)
}

/// One digest of a source and a text. Both are keyed, so that colliding texts cannot be chosen; rotated, so that a text
/// that is its own source differs from one without a source.
fn pair(of_source: Short, of_text: Short) -> Short {
    (u128::from_le_bytes(of_source).rotate_left(1) ^ u128::from_le_bytes(of_text)).to_le_bytes()
}

/// The known texts. A file may hold a million memories: sixteen bytes are kept of a text and of a pair.
struct KnownTexts<'a> {
    digester: Digester,
    how: &'a ImportRequest,
    /// Sources with their texts: of the agent's memories, and of the file so far.
    pairs: HashSet<Short>,
    /// Those of this file, core or not, and whether one of them is kept.
    fresh: HashMap<(Short, bool), bool>,
    /// Texts of the agent's core and archival memories, whatever their source; for an administrator, as imported.
    kept: HashSet<Short>,
    /// Such texts of the file so far, core or not: a text may be in the prompt and in the archive.
    came: HashSet<(Short, bool)>,
    /// The known sources, each with the records by which earlier texts of changed memories are found.
    sources: HashMap<Short, Vec<u64>>,
    /// Those of these records that were read.
    read: HashSet<u64>,
    core_tokens: u64,
    taken: TakenOver,
}

impl<'a> KnownTexts<'a> {
    fn new(digester: Digester, how: &'a ImportRequest) -> Self {
        Self {
            digester,
            how,
            pairs: HashSet::new(),
            fresh: HashMap::new(),
            kept: HashSet::new(),
            came: HashSet::new(),
            sources: HashMap::new(),
            read: HashSet::new(),
            core_tokens: 0,
            taken: TakenOver::default(),
        }
    }

    fn know(&mut self, memory: &Memory) {
        if memory.is_active() && memory.kind() != Kind::Journal {
            self.kept.extend(known_as(&self.digester, memory));
        }
        if let Some(of_source) = self.know_text(memory) {
            let first = memory.core_seq.filter(|_| is_changed(memory));
            self.sources.entry(of_source).or_default().extend(first);
        }
    }

    /// Adds a text with its source; `None` where it has none.
    fn know_text(&mut self, memory: &Memory) -> Option<Short> {
        let of_source = short(&self.digester, memory.source.as_ref()?.expose());
        let texts = known_as(&self.digester, memory);
        self.pairs
            .extend(texts.map(|of_text| pair(of_source, of_text)));
        Some(of_source)
    }

    /// The result, for an agent as it was before.
    fn finish(self, agent: &Agent) -> TakenOver {
        TakenOver {
            core: CoreAfter::of(agent, self.core_tokens),
            ..self.taken
        }
    }

    fn pass(&mut self, incoming: Incoming, of_source: Short, of_text: Short) -> Option<Incoming> {
        let pair = pair(of_source, of_text);
        if incoming.gone.is_some() && self.how.live_only {
            self.taken.gone_left_out += 1;
            return None;
        }
        let is_live = incoming.gone.is_none();
        let is_core = incoming.memory.kind == Kind::Core;
        // Before the agent's own: a duplicate within the file is reported as the file's.
        let of_file = self.fresh.get(&(pair, is_core));
        if of_file.is_some_and(|live| *live || !is_live) {
            self.taken.duplicates += 1;
            return None;
        }
        if self.pairs.contains(&pair) {
            self.taken.known += 1;
            if is_live {
                // Its duplicate in the file is a known text, too.
                self.came.insert((of_text, is_core));
            }
            return None;
        }
        // The same event on two days is two events.
        if is_live && incoming.memory.kind != Kind::Journal {
            if self.kept.contains(&of_text) {
                self.taken.known += 1;
                return None;
            }
            if !self.came.insert((of_text, is_core)) {
                self.taken.duplicates += 1;
                return None;
            }
        }
        self.fresh.insert((pair, is_core), is_live);
        self.taken.changed += u64::from(self.sources.contains_key(&of_source));
        if is_live && is_core {
            self.core_tokens += tokens(incoming.memory.content.expose());
        }
        match incoming.gone {
            Some(_) => self.taken.discarded += 1,
            None => self.taken.kept += 1,
        }
        Some(incoming)
    }
}

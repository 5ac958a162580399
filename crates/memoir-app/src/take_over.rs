//! Taking memories over from other programs, and taking that back (SPEC 2.4).
//!
//! They come batch by batch, and are written in one transaction. What the agent has already is found by the
//! source and the text that it was first saved with, so that the same file adds nothing a second time,
//! whatever sessions made of the memories since. An administrator, who is blind, is compared with what
//! administrators brought in alone (SPEC 5.1).

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, atomic::AtomicU64},
};

use memoir_domain::{
    agent::{Agent, DuplicateMatch},
    audit::{Action, Actor, ActorKind},
    import::{self, Extent, ForeignGone, Incoming},
    memory::{Kind, Memory, Number},
    text::Digester,
    wording::{Origin, SavedBy, WordingId},
};
use memoir_store::{RecordFilter, Selection};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::{
    AgentHandle, Error, Loaded, MemoryInput, Result, codec, memories::memory_query, parallel,
};

/// Memories that are loaded, decided on and sealed at a time.
// As many as are sealed at a time in an import of JSON lines (`import.rs`).
const BATCH: u64 = 2_000;
/// Most numbers that a refusal names.
const NAMED: usize = 20;

/// A memory of another program.
#[derive(Debug, Clone, Default)]
pub struct ForeignMemory {
    /// The memory.
    pub input: MemoryInput,
    /// That it is no longer held for true there; `None`: it is.
    pub gone: Option<ForeignGone>,
}

/// What comes from the file.
#[derive(Debug)]
pub enum ForeignPart {
    /// Memories, in their order.
    Memories(Vec<ForeignMemory>),
    /// That there are no more. Where the parts end without it, nothing is written.
    Last,
}

/// How memories are taken over.
#[derive(Debug, Clone)]
pub struct TakeOver {
    /// The form that they come in, for the record.
    pub format: &'static str,
    /// Whether those that are gone are left out.
    pub live_only: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
    /// Who does it.
    pub actor: Actor,
    /// Counts the memories that are written, for showing progress.
    pub progress: Arc<AtomicU64>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct TakenOver {
    /// Memories that were taken over and are kept.
    pub kept: u64,
    /// Those that were taken over as discarded.
    pub discarded: u64,
    /// Those that the file has more than once.
    pub doubles: u64,
    /// Those that the agent had already.
    pub known: u64,
    /// Of what was taken over, those whose source the agent knew with another text.
    pub changed: u64,
    /// Those that are gone and were left out.
    pub gone_left_out: u64,
    /// Those that break a limit.
    pub refused: u64,
    /// The first number given; `None` where nothing was written.
    pub first: Option<Number>,
    /// The last number given.
    pub last: Option<Number>,
    /// The record of the import.
    pub seq: Option<u64>,
}

/// An import that was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportUndone {
    /// The record of the import.
    pub import_seq: u64,
    /// The record that tells of its undoing.
    pub seq: u64,
    /// Memories that were discarded for it.
    pub discarded: u64,
}

impl AgentHandle {
    /// Takes memories over, all of them or none.
    ///
    /// # Errors
    /// [`Error::Contended`] where somebody else changed the agent meanwhile; the store fails. Nothing was
    /// written then.
    pub async fn take_over(
        &self,
        mut parts: mpsc::Receiver<ForeignPart>,
        how: &TakeOver,
    ) -> Result<TakenOver> {
        let loaded = self.load(&memory_query(Selection::None)).await?;
        let mut known_texts = KnownTexts::new(loaded.base.digester(), how);
        self.fill(&mut known_texts, &loaded, &how.actor).await?;
        if how.dry_run {
            let key = loaded.base.key().clone();
            while let Some(ForeignPart::Memories(memories)) = parts.recv().await {
                self.leave_out_known(&mut known_texts, memories, &key)
                    .await?;
            }
            return Ok(known_texts.taken);
        }
        let key = loaded.base.key().clone();
        let before = loaded.agent.clone();
        let written = self.write_together(loaded, async |together| {
            let mut is_whole = false;
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
                let decision = import::take(agent, incoming, &how.actor, now);
                let progress = how.progress.clone();
                together
                    .add(decision, |commit| commit.progress = Some(progress))
                    .await?;
            }
            let mut taken = known_texts.taken;
            // A file whose reading broke off is not half of itself; and an import of nothing is no record.
            if !is_whole || taken.kept + taken.discarded == 0 {
                return Ok((false, taken));
            }
            let (agent, now) = (together.agent.clone(), self.memoir.now());
            taken.first = Some(before.next_number);
            // At least one memory was taken, so there is a last number.
            taken.last = Some(Number(agent.next_number.0 - 1));
            taken.seq = Some(agent.next_seq);
            let decision = import::taken(agent, &before, how.format, &[], &how.actor, now);
            together.add(decision, |_| {}).await?;
            Ok((true, taken))
        });
        written.await.map_err(contended)
    }

    /// The imports that nobody took back, and those that somebody did.
    async fn imports(&self) -> Result<(Vec<Extent>, Vec<Extent>)> {
        let filter = RecordFilter {
            actions: vec![Action::MemoriesImported, Action::ImportUndone],
            ..RecordFilter::default()
        };
        let rows = self.memoir.store.records(self.scope, &filter).await?;
        // The facts, which are not sealed, tell which numbers an import gave, so no record has to be opened.
        let records = rows.into_iter().map(|row| codec::record(None, row));
        Ok(import::kept_and_undone(
            &records.collect::<Result<Vec<_>>>()?,
        ))
    }

    /// Takes in what the agent has.
    async fn fill(
        &self,
        known_texts: &mut KnownTexts<'_>,
        loaded: &Loaded,
        actor: &Actor,
    ) -> Result<()> {
        let (_, undone) = self.imports().await?;
        // The batches are read one after the other. A write in between makes the commit that is decided by them a
        // conflict.
        for numbers in batches(&loaded.agent) {
            let batch = self
                .load(&memory_query(Selection::Numbers(numbers)))
                .await?;
            for memory in &batch.memories {
                // What was taken back can come again.
                if !memory.is_kept() && undone.iter().any(|extent| extent.holds(memory.number)) {
                    continue;
                }
                // What others than administrators brought in, a blind one is told nothing of.
                let is_comparable = actor.kind != ActorKind::Administrator
                    || memory.door.added_by == ActorKind::Administrator
                        && memory.door.origin == Origin::Import;
                if is_comparable && memory.shredded_at.is_none() {
                    known_texts.know(memory);
                }
            }
        }
        Ok(())
    }

    /// What of these is to be taken over.
    async fn leave_out_known(
        &self,
        known_texts: &mut KnownTexts<'_>,
        memories: Vec<ForeignMemory>,
        key: &memoir_vault::AgentKey,
    ) -> Result<Vec<Incoming>> {
        let door = SavedBy {
            origin: Origin::Import,
            added_by: known_texts.how.actor.kind,
        };
        let digester = &known_texts.digester;
        let now = self.memoir.now();
        let checked = parallel::map(memories, |foreign| {
            let memory = foreign.input.check(door, now).ok()?;
            let source = memory.source.as_ref().map_or("", |source| source.expose());
            let of_source = short(digester, source);
            let of_text = short(digester, memory.content.expose());
            let incoming = Incoming {
                memory,
                gone: foreign.gone,
            };
            Some((incoming, of_source, of_text))
        });
        // Where a source is known with another text, the text that it was first saved with decides.
        let mut wording_ids = BTreeSet::new();
        for (_, of_source, of_text) in checked.iter().flatten() {
            if !known_texts.pairs.contains(&pair(*of_source, *of_text))
                && let Some(wordings) = known_texts.wordings.get(of_source)
            {
                wording_ids.extend(wordings.iter().copied());
            }
        }
        if !wording_ids.is_empty() {
            let texts = self.texts_at(key, &wording_ids).await?;
            for (of_source, wordings) in &known_texts.wordings {
                for text in wordings.iter().filter_map(|id| texts.get(id)) {
                    let of_text = short(&known_texts.digester, text.expose());
                    known_texts.pairs.insert(pair(*of_source, of_text));
                }
            }
        }
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

    /// Takes texts over in the place of memories, and new ones beside them, all or none. It is an import, and
    /// is taken back as one. `None` where there is nothing to do.
    ///
    /// # Errors
    /// [`Error::NotReplaceable`] where a memory is constitutional, stands for other wordings too, or is not
    /// there any more; a limit is broken; somebody else changed the agent meanwhile.
    pub async fn take_edits(
        &self,
        edits: Vec<(Option<Number>, MemoryInput)>,
        actor: &Actor,
    ) -> Result<Option<u64>> {
        if edits.is_empty() {
            return Ok(None);
        }
        let door = SavedBy {
            origin: Origin::Import,
            added_by: actor.kind,
        };
        let incoming = edits.iter().map(|(_, input)| {
            let memory = input.check(door, self.memoir.now())?;
            Ok(Incoming { memory, gone: None })
        });
        let incoming = incoming.collect::<Result<Vec<Incoming>>>()?;
        let replaced: Vec<Number> = edits.iter().filter_map(|(number, _)| *number).collect();
        let loaded = self.load_idle(Selection::Numbers(replaced.clone())).await?;
        for number in &replaced {
            let mut memories = loaded.memories.iter();
            let found = memories.find(|memory| memory.number == *number);
            if !found.is_some_and(import::can_replace) {
                return Err(Error::NotReplaceable(*number));
            }
        }
        let memories = loaded.memories.copies().collect();
        let written = self.write_together(loaded, async |together| {
            let now = self.memoir.now();
            let decision = import::replace(together.agent.clone(), memories, actor, now);
            together.add(decision, |_| {}).await?;
            // Behind that: what is replaced is no less of what the import gives.
            let before = together.agent.clone();
            let decision = import::take(together.agent.clone(), incoming, actor, now);
            together.add(decision, |_| {}).await?;
            let agent = together.agent.clone();
            let seq = agent.next_seq;
            let decision = import::taken(agent, &before, "markdown", &replaced, actor, now);
            together.add(decision, |_| {}).await?;
            Ok((true, Some(seq)))
        });
        written.await.map_err(contended)
    }

    /// The agent, while it has no session running.
    async fn load_idle(&self, memories: Selection) -> Result<Loaded> {
        self.decide_again(|| async {
            let loaded = self.load(&memory_query(memories.clone())).await?;
            import::check_undo(&loaded.agent, loaded.running_session)?;
            Ok(loaded)
        })
        .await
    }

    /// Takes the last import back that was not: discards the memories that it gave and that are kept.
    ///
    /// # Errors
    /// [`Error::NoImport`]; [`Error::ImportInTheWay`] where sessions merged its memories with others, or
    /// somebody protected them; a session is running.
    pub async fn undo_import(&self, actor: &Actor, dry_run: bool) -> Result<ImportUndone> {
        let loaded = self.load_idle(Selection::None).await?;
        let (mut imports, _) = self.imports().await?;
        let extent = imports.pop().ok_or(Error::NoImport)?;
        let mut obstacles = Vec::new();
        let mut kept = 0;
        for numbers in batches(&loaded.agent) {
            let batch = self
                .load(&memory_query(Selection::Numbers(numbers)))
                .await?;
            for memory in &batch.memories {
                if extent.is_obstructed_by(memory) {
                    obstacles.push(memory.number);
                }
                kept += u64::from(memory.is_kept() && extent.holds(memory.number));
            }
        }
        if !obstacles.is_empty() {
            let count = obstacles.len();
            obstacles.truncate(NAMED);
            return Err(Error::ImportInTheWay {
                count,
                numbers: obstacles,
            });
        }
        if dry_run {
            return Ok(ImportUndone {
                import_seq: extent.seq,
                // A dry run writes no record, so there is no number.
                seq: 0,
                discarded: kept,
            });
        }
        let written = self.write_together(loaded, async |together| {
            for numbers in batches(&together.agent) {
                let concerns =
                    |number: &Number| extent.holds(*number) || extent.replaced.contains(number);
                if !numbers.iter().any(concerns) {
                    continue;
                }
                // It does not matter whether this read sees the batches that were already written: no memory is in two
                // of them.
                let batch = self
                    .load(&memory_query(Selection::Numbers(numbers)))
                    .await?;
                let (agent, now) = (together.agent.clone(), self.memoir.now());
                let memories = batch.memories.copies().collect();
                let decision = import::take_back(agent, &extent, memories, actor, now);
                if !decision.records.is_empty() {
                    together.add(decision, |_| {}).await?;
                }
            }
            let (agent, now) = (together.agent.clone(), self.memoir.now());
            let seq = agent.next_seq;
            let decision = import::taken_back(agent, &extent, kept, actor, now);
            together.add(decision, |_| {}).await?;
            let undone = ImportUndone {
                import_seq: extent.seq,
                seq,
                discarded: kept,
            };
            Ok((true, undone))
        });
        written.await.map_err(contended)
    }
}

/// A file is read once: whoever was faster makes the user begin again.
fn contended(error: Error) -> Error {
    match error {
        Error::Store(memoir_store::Error::Conflict) => Error::Contended,
        error => error,
    }
}

/// The numbers of all memories of the agent, in batches.
fn batches(agent: &Agent) -> impl Iterator<Item = Vec<Number>> + use<> {
    let end = agent.next_number.0;
    let begins = (0..end.div_ceil(BATCH)).map(|batch| batch * BATCH);
    // Numbers begin at 1.
    begins.map(move |begin| (begin.max(1)..end.min(begin + BATCH)).map(Number).collect())
}

/// A digest that tells texts apart within one import.
type Short = [u8; 16];

fn short(digester: &Digester, text: &str) -> Short {
    let digest = digester.duplicate(text, DuplicateMatch::Exact);
    let mut short = [0; 16];
    short.copy_from_slice(&digest[..16]);
    short
}

/// One digest of a source and a text. Both are keyed, so that nobody can choose texts which meet; turned, so that
/// a text that is its own source is not the same as none.
fn pair(of_source: Short, of_text: Short) -> Short {
    (u128::from_le_bytes(of_source).rotate_left(1) ^ u128::from_le_bytes(of_text)).to_le_bytes()
}

/// What is known already. A file may bring a million memories: sixteen bytes are kept of a text and of a pair.
struct KnownTexts<'a> {
    digester: Digester,
    how: &'a TakeOver,
    /// Sources with their texts: of the agent's memories, and of what came so far.
    pairs: HashSet<Short>,
    /// Those that came with this file, and whether one of them is kept.
    fresh: HashMap<Short, bool>,
    /// Texts that the agent keeps, whatever their source.
    kept: HashSet<Short>,
    /// Texts that came so far and are kept.
    came: HashSet<Short>,
    /// Where the first texts of memories with a source stand.
    wordings: HashMap<Short, Vec<WordingId>>,
    taken: TakenOver,
}

impl<'a> KnownTexts<'a> {
    fn new(digester: Digester, how: &'a TakeOver) -> Self {
        Self {
            digester,
            how,
            pairs: HashSet::new(),
            fresh: HashMap::new(),
            kept: HashSet::new(),
            came: HashSet::new(),
            wordings: HashMap::new(),
            taken: TakenOver::default(),
        }
    }

    fn know(&mut self, memory: &Memory) {
        let of_text = short(&self.digester, memory.content.expose());
        if memory.is_kept() && memory.kind == Kind::Core {
            self.kept.insert(of_text);
        }
        if let Some(source) = &memory.source {
            let of_source = short(&self.digester, source.expose());
            self.pairs.insert(pair(of_source, of_text));
            let own = memory.wordings.iter();
            let own = own.filter(|wording| wording.number == memory.number);
            let ids: Vec<WordingId> = own.map(|wording| wording.id()).collect();
            self.wordings.entry(of_source).or_default().extend(ids);
        }
    }

    fn pass(&mut self, incoming: Incoming, of_source: Short, of_text: Short) -> Option<Incoming> {
        let pair = pair(of_source, of_text);
        if incoming.gone.is_some() && self.how.live_only {
            self.taken.gone_left_out += 1;
            return None;
        }
        let is_live = incoming.gone.is_none();
        // What was said before, and again since, is kept.
        // Before what the agent had: a double within the file is told as the file's.
        if self.fresh.get(&pair).is_some_and(|live| *live || !is_live) {
            self.taken.doubles += 1;
            return None;
        }
        if self.pairs.contains(&pair) {
            self.taken.known += 1;
            if is_live {
                // Its double in the file is one of what came before, too.
                self.came.insert(of_text);
            }
            return None;
        }
        // The same event on two days is two events.
        if is_live && incoming.memory.kind == Kind::Core {
            if self.kept.contains(&of_text) {
                self.taken.known += 1;
                return None;
            }
            if !self.came.insert(of_text) {
                self.taken.doubles += 1;
                return None;
            }
        }
        self.fresh.insert(pair, is_live);
        self.taken.changed += u64::from(self.wordings.contains_key(&of_source));
        match incoming.gone {
            Some(_) => self.taken.discarded += 1,
            None => self.taken.kept += 1,
        }
        Some(incoming)
    }
}

//! The effect of each session on what the agent's context and recall give back of its memories (SPEC 2.8).
//!
//! The log holds the memories before and after each session, so that both are asked later and on request: nothing is
//! measured while a session runs, and nothing is stored. The probes are made of the memories before the
//! session ([`recall::probes`]); they and their answers are the agent's words, and only its own view has the result
//! ([`OwnAgent`]). A memory that a duplicate took the place of is found by its text.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use memoir_domain::{
    SessionId, Timestamp,
    agent::Agent,
    context::{self, ArchiveNote},
    memory::{Memory, Number},
    recall::{self, RecallIndex, RecallQuery},
    session::{Session, State},
};
use memoir_text::same_text_key;
use serde::Serialize;

use crate::{
    core::{Result, again, parallel::run_blocking},
    log::rewind::AgentPast,
    memory::context::last_bounds,
    shown::OwnAgent,
};

/// Among how many of the first memories recalled a probe's memory counts as found.
const FIRST: usize = 10;

/// A count before and after a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BeforeAndAfter {
    /// Before its first record.
    pub before: u64,
    /// After the record of its end.
    pub after: u64,
}

/// What the probes of one session found. Numbers and counts, no text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionProbe {
    /// The session.
    pub session: SessionId,
    /// Its end.
    pub state: State,
    /// When it ended.
    pub ended_at: Timestamp,
    /// The number of probes, at most 50.
    pub probes: u64,
    /// Those whose memory the context shows, within the present bounds of the agent's context.
    pub in_context: BeforeAndAfter,
    /// Those whose memory is among the first ten recalled by words.
    pub recalled: BeforeAndAfter,
    /// The memories that the context showed before and not afterwards.
    pub left_context: BTreeSet<Number>,
    /// The memories of which a probe was recalled before and not afterwards.
    pub no_longer_recalled: BTreeSet<Number>,
}

impl OwnAgent {
    /// Asks context and recall before and after each of the last `most` sessions that were opened and have ended, the
    /// newest first. Rehearsals change nothing, and are left out. Writes nothing.
    ///
    /// # Errors
    /// The store fails; a record is missing.
    pub async fn probe_sessions(&self, most: usize) -> Result<Vec<SessionProbe>> {
        let past = again(|| self.log().everything()).await?;
        run_blocking(move || probed(&past, most)).await
    }
}

struct Span<'a> {
    session: &'a Session,
    first_seq: u64,
    last_seq: u64,
    ended_at: Timestamp,
}

/// The last `most` sessions that were opened, by their ends, the oldest first.
fn spans(past: &AgentPast, most: usize) -> Vec<Span<'_>> {
    let opened = past
        .sessions
        .iter()
        .filter(|session| !session.rehearsal && session.pre_session_tokens.is_some());
    let opened: HashMap<SessionId, &Session> =
        opened.map(|session| (session.id, session)).collect();
    let mut first: HashMap<SessionId, u64> = HashMap::new();
    let mut spans = Vec::new();
    for record in &past.log {
        let Some(id) = record.session else { continue };
        let first_seq = *first.entry(id).or_insert(record.seq);
        if let Some(&session) = opened.get(&id)
            && record.action.is_session_end()
        {
            spans.push(Span {
                session,
                first_seq,
                last_seq: record.seq,
                ended_at: record.recorded_at,
            });
        }
    }
    spans.split_off(spans.len().saturating_sub(most))
}

fn probed(past: &AgentPast, most: usize) -> Vec<SessionProbe> {
    let spans = spans(past, most);
    let mut memories: BTreeMap<Number, Memory> = BTreeMap::new();
    let mut begun: HashMap<SessionId, (Vec<KnownProbe>, Findings)> = HashMap::new();
    let mut found = Vec::new();
    for record in &past.log {
        for span in spans.iter().filter(|span| span.first_seq == record.seq) {
            let state = AskedState::new(&past.agent, &memories, span.ended_at);
            let probes = state.probes();
            let before = state.ask(&probes);
            begun.insert(span.session.id, (probes, before));
        }
        let changes = record.body.changes.iter();
        memories.extend(changes.map(|change| (change.number(), change.after())));
        let ended = spans.iter().find(|span| span.last_seq == record.seq);
        if let Some(span) = ended
            && let Some((probes, before)) = begun.remove(&span.session.id)
        {
            let after = AskedState::new(&past.agent, &memories, span.ended_at).ask(&probes);
            found.push(compared(span, &probes, &before, &after));
        }
    }
    found.reverse();
    found
}

/// A probe with the key of its memory's text.
struct KnownProbe {
    number: Number,
    text: u64,
    question: RecallQuery,
}

/// Of each probe whether its memory was found.
struct Findings {
    in_context: Vec<bool>,
    recalled: Vec<bool>,
}

/// One state of an agent's memories, ready to be asked.
struct AskedState<'a> {
    memories: &'a BTreeMap<Number, Memory>,
    index: RecallIndex,
    /// The keys of the texts that the context shows.
    in_context: BTreeSet<u64>,
}

impl<'a> AskedState<'a> {
    /// Both states of a session are asked for the same time, so that no journal entry expires in between.
    fn new(agent: &Agent, memories: &'a BTreeMap<Number, Memory>, at: Timestamp) -> Self {
        let active = || memories.values().filter(|memory| memory.is_active());
        let mut archive = ArchiveNote::default();
        for memory in active().filter(|memory| memory.is_active_archival()) {
            archive.memories += 1;
            if let Some(under) = memory.under() {
                *archive.sources.entry(under).or_default() += 1;
            }
        }
        let context = context::build(active(), at, last_bounds(agent), &archive);
        let shown = active()
            .filter(|memory| memory.is_active_core() && !context.left_out.contains(&memory.number));
        Self {
            memories,
            index: RecallIndex::of(active()),
            in_context: shown.map(key).collect(),
        }
    }

    fn probes(&self) -> Vec<KnownProbe> {
        let probes = recall::probes(self.memories.values(), &self.index).into_iter();
        let known = probes.filter_map(|probe| {
            Some(KnownProbe {
                number: probe.number,
                text: key(self.memories.get(&probe.number)?),
                question: RecallQuery {
                    text: probe.question,
                    limit: FIRST,
                    ..RecallQuery::default()
                },
            })
        });
        known.collect()
    }

    fn ask(&self, probes: &[KnownProbe]) -> Findings {
        let in_context = probes
            .iter()
            .map(|probe| self.in_context.contains(&probe.text));
        let is_recalled = |probe: &KnownProbe| {
            let found = self.index.search(&probe.question, None);
            let mut found = found
                .iter()
                .filter_map(|found| self.memories.get(&found.number));
            found.any(|memory| key(memory) == probe.text)
        };
        Findings {
            in_context: in_context.collect(),
            recalled: probes.iter().map(is_recalled).collect(),
        }
    }
}

/// Equal for the same text (SPEC 1).
fn key(memory: &Memory) -> u64 {
    memoir_text::key(&same_text_key(memory.content.expose()))
}

fn compared(
    span: &Span<'_>,
    probes: &[KnownProbe],
    before: &Findings,
    after: &Findings,
) -> SessionProbe {
    let counted = |before: &[bool], after: &[bool]| BeforeAndAfter {
        before: before.iter().filter(|found| **found).count() as u64,
        after: after.iter().filter(|found| **found).count() as u64,
    };
    let lost = |before: &[bool], after: &[bool]| {
        let lost = before.iter().zip(after).zip(probes);
        let lost = lost.filter(|((before, after), _)| **before && !**after);
        lost.map(|(_, probe)| probe.number).collect()
    };
    SessionProbe {
        session: span.session.id,
        state: span.session.state,
        ended_at: span.ended_at,
        probes: probes.len() as u64,
        in_context: counted(&before.in_context, &after.in_context),
        recalled: counted(&before.recalled, &after.recalled),
        left_context: lost(&before.in_context, &after.in_context),
        no_longer_recalled: lost(&before.recalled, &after.recalled),
    }
}

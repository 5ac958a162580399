//! A rehearsal as it is stored with its session (SPEC 3.17): its result, and while it runs the copy that it works on.
//!
//! The copy is the changes of the rehearsal so far, applied over the current memories. So it outlasts restarts and
//! workers with every driver, and a call costs the same as in any session. It is sealed with the session, and removed
//! when that ends.

use std::collections::{BTreeMap, BTreeSet};

use memoir_domain::{
    PrivateText, SessionId,
    agent::Agent,
    audit::Record,
    draft::Decision,
    memory::{Kind, Memory, Number, SharedMemory, Tally},
    session::Session,
    tools::ToolCall,
};
use serde::{Deserialize, Serialize};

use super::{codec::Writing, opened::MemoryList};

/// The result of a rehearsal: enough to show and to apply it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rehearsal {
    pub(crate) edits: Vec<RehearsedEdit>,
    pub(crate) memories: Vec<Touched>,
    pub(crate) applied_by: Option<SessionId>,
    /// As of its copy.
    #[serde(default)]
    pub(crate) first_seq: u64,
    /// Its copy; `None` once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) copy: Option<RehearsalCopy>,
}

/// The stored state of a memory that the rehearsal touched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Touched {
    pub(crate) number: Number,
    pub(crate) before: Option<Memory>,
    pub(crate) after: Memory,
}

impl Touched {
    /// Whether it is a changed core or archival memory, or a new active one.
    pub(crate) fn is_difference(&self) -> bool {
        let differs = self.before.as_ref() != Some(&self.after);
        let counts = self.before.is_some() || self.after.is_active();
        self.after.kind() != Kind::Journal && differs && counts
    }

    /// Whether the memory has changed since; `present` has all memories.
    pub(crate) fn is_outdated(&self, present: &BTreeMap<Number, &Memory>) -> bool {
        let before = self.before.as_ref();
        // A memory that the rehearsal made cannot have changed.
        before.is_some_and(|before| present.get(&before.number) != Some(&before))
    }
}

/// One successful edit or protection, for repeating it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RehearsedEdit {
    pub(crate) call: ToolCall,
    pub(crate) created: Option<Number>,
}

impl Rehearsal {
    pub(crate) fn running(copy: RehearsalCopy) -> Self {
        Self {
            first_seq: copy.first_seq,
            copy: Some(copy),
            ..Self::default()
        }
    }

    pub(crate) fn ended(copy: &RehearsalCopy) -> Self {
        Self {
            edits: copy.edits.clone(),
            memories: copy.differences(),
            first_seq: copy.first_seq,
            ..Self::default()
        }
    }

    /// The part to store with the session in its current state.
    pub(crate) fn kept_with(self, session: &Session) -> Self {
        match &self.copy {
            Some(copy) if !session.state.is_running() => Self::ended(copy),
            _ => self,
        }
    }

    /// Removes the text of one memory, and the texts written by edits of it and of the resulting memories. Returns
    /// whether there were any. It can no longer be applied then: the memory has changed.
    pub(crate) fn shred(&mut self, number: Number) -> bool {
        // A number that the rehearsal itself gave is that of another memory than the agent's.
        if self.edits.iter().any(|edit| edit.created == Some(number)) {
            return false;
        }
        let mut touches = false;
        let mut holding = BTreeSet::from([number]);
        // The edits are in their order, so a memory that one of them created is known before a later one uses it.
        for edit in &mut self.edits {
            let numbers = edit.call.numbers();
            if numbers.iter().any(|number| holding.contains(number)) {
                touches = true;
                edit.empty();
                holding.extend(edit.created);
            }
        }
        for memory in &mut self.memories {
            if holding.contains(&memory.number) {
                touches = true;
                memory.before = memory.before.as_ref().map(Memory::without_text);
                memory.after = memory.after.without_text();
            }
        }
        touches
    }

    /// For sessions that have other identifiers now.
    pub(crate) fn renamed(self, sessions: &BTreeMap<SessionId, SessionId>) -> Self {
        let renamed = |id: SessionId| sessions.get(&id).copied().unwrap_or(id);
        Self {
            applied_by: self.applied_by.map(renamed),
            ..self
        }
    }
}

impl RehearsedEdit {
    /// The edit of a call with this decision; `None` where it is no edit and no protection.
    pub(crate) fn of(call: &ToolCall, decision: &Decision) -> Option<Self> {
        let mut records = decision.records.iter();
        let record = records.find(|record| record.action.is_session_edit())?;
        let mut changes = record.body.changes.iter();
        let is_new = changes
            .any(|change| Some(change.number()) == record.memory && change.before().is_none());
        Some(Self {
            call: call.clone(),
            created: record.memory.filter(|_| is_new),
        })
    }

    /// Whether it names one of these memories.
    pub(crate) fn names(&self, numbers: &BTreeSet<Number>) -> bool {
        let in_place = match &self.call {
            ToolCall::Delete { replaced_by, .. } => *replaced_by,
            _ => None,
        };
        let mut named = self.call.numbers().iter().chain(&in_place);
        named.any(|number| numbers.contains(number))
    }

    /// The same call, with other numbers for memories that the rehearsal made.
    pub(crate) fn renumbered(&self, renumbered: &BTreeMap<Number, Number>) -> ToolCall {
        let one = |number: &Number| renumbered.get(number).copied().unwrap_or(*number);
        let mut call = self.call.clone();
        match &mut call {
            ToolCall::Consolidate { numbers, .. } => {
                numbers.iter_mut().for_each(|number| *number = one(number));
            }
            ToolCall::Delete {
                numbers,
                replaced_by,
            } => {
                let named = numbers.iter_mut().chain(replaced_by);
                named.for_each(|number| *number = one(number));
            }
            ToolCall::Update { number, .. } | ToolCall::Protect { number } => *number = one(number),
            ToolCall::Search { .. } | ToolCall::Complete { .. } => {}
        }
        call
    }

    fn empty(&mut self) {
        match &mut self.call {
            ToolCall::Consolidate { content, .. } | ToolCall::Update { content, .. } => {
                *content = PrivateText::default();
            }
            _ => {}
        }
    }
}

/// The changes of a rehearsal so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RehearsalCopy {
    tally: Tally,
    next_number: Number,
    /// The place that the copy's next record would have.
    next_seq: u64,
    /// The place in the agent's log of the first record since the rehearsal was opened.
    #[serde(default)]
    first_seq: u64,
    /// Memories from this number on were saved since the rehearsal began. They are not on the copy, which gives their
    /// numbers to its own memories.
    first_new: Number,
    /// The edits so far, oldest first.
    pub(crate) history: Vec<Record>,
    /// The calls that made them, with protections, oldest first.
    edits: Vec<RehearsedEdit>,
    touched: BTreeMap<Number, Touched>,
}

impl RehearsalCopy {
    /// Writes the opening of a session, which a rehearsal does only on its copy. `outside` is the agent without it.
    pub(crate) fn opening(outside: Agent, opened: Decision) -> Writing {
        let Some(session) = opened.sessions.first().filter(|session| session.rehearsal) else {
            return opened.into();
        };
        let id = session.id;
        let mut copy = Self::over(&outside);
        copy.note(&opened);
        let decision = Decision::of_sessions(outside, opened.sessions);
        Writing::rehearsed(decision, id, Rehearsal::running(copy))
    }

    fn over(agent: &Agent) -> Self {
        Self {
            tally: agent.tally,
            next_number: agent.next_number,
            next_seq: agent.next_seq,
            first_seq: agent.next_seq,
            first_new: agent.next_number,
            history: Vec::new(),
            edits: Vec::new(),
            touched: BTreeMap::new(),
        }
    }

    pub(crate) fn agent(&self, agent: Agent) -> Agent {
        Agent {
            tally: self.tally,
            next_number: self.next_number,
            next_seq: self.next_seq,
            // The settings are the current ones, so a change of settings affects the copy too.
            ..agent
        }
    }

    /// Turns the current `memories` into those of the copy. They include all that the rehearsal touched.
    pub(crate) fn lay_over(&self, memories: &mut BTreeMap<Number, Memory>) {
        // A memory that was saved since may have a number that the copy has given to a memory of its own.
        memories.retain(|number, _| *number < self.first_new);
        let touched = self.touched.values();
        memories.extend(touched.map(|touched| (touched.number, touched.after.clone())));
    }

    /// As [`RehearsalCopy::lay_over`], for all that was read.
    pub(crate) fn lay_over_all(&self, memories: &MemoryList) -> MemoryList {
        let is_as_it_was = |memory: &SharedMemory| {
            memory.number < self.first_new && !self.touched.contains_key(&memory.number)
        };
        let touched = self.touched.values();
        let touched = touched.map(|touched| touched.after.clone().into_shared());
        let memories = memories.shared().filter(is_as_it_was);
        MemoryList::by_number(memories.chain(touched))
    }

    /// Adds the outcome of a call on the copy.
    pub(crate) fn note_call(&mut self, call: &ToolCall, decision: &Decision) {
        self.edits.extend(RehearsedEdit::of(call, decision));
        self.note(decision);
    }

    pub(crate) fn note(&mut self, decision: &Decision) {
        self.tally = decision.agent.tally;
        self.next_number = decision.agent.next_number;
        self.next_seq = decision.agent.next_seq;
        for change in &decision.changes {
            let number = change.number();
            let touched = self.touched.entry(number).or_insert_with(|| Touched {
                number,
                before: change.before().cloned(),
                after: change.after(),
            });
            // `before` stays that of the first touch: a rehearsal's difference is over all of its edits.
            touched.after = change.after();
        }
        // The removal of duplicates at the opening is left out: applying the rehearsal opens a session too, which
        // removes them itself.
        let edits = decision.records.iter();
        let edits = edits.filter(|record| record.action.is_session_edit());
        self.history.extend(edits.cloned());
    }

    /// The changes, in the order of the numbers.
    pub(crate) fn differences(&self) -> Vec<Touched> {
        let touched = self.touched.values();
        let differs = touched.filter(|touched| touched.is_difference());
        differs.cloned().collect()
    }
}

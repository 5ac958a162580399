//! The copy that a rehearsal works on (SPEC 3.17): the changes of the rehearsal so far, applied over the current
//! memories. So it outlasts restarts and workers with every driver, and a call costs the same as in any session. It is
//! sealed with the session, and removed when that ends.

use std::collections::BTreeMap;

use memoir_domain::{
    agent::Agent,
    audit::Record,
    draft::Decision,
    memory::{Memory, Number, SharedMemory, Tally},
    tools::ToolCall,
};
use serde::{Deserialize, Serialize};

use super::rehearse::{Rehearsal, RehearsedEdit, Touched};
use crate::{
    codec::{Writing, WrittenBeside},
    opened::MemoryList,
};

/// The changes of a rehearsal so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RehearsalCopy {
    /// The counts on the copy.
    tally: Tally,
    /// The number of the copy's next memory.
    next_number: Number,
    /// The place that the copy's next record would have.
    next_seq: u64,
    /// Memories from this number on were saved since the rehearsal began. They are not on the copy, which gives their
    /// numbers to its own memories.
    first_new: Number,
    /// The edits so far, oldest first.
    history: Vec<Record>,
    /// The calls that made them, with protections, oldest first.
    edits: Vec<RehearsedEdit>,
    /// The memories touched so far, by number.
    touched: BTreeMap<Number, Touched>,
}

impl RehearsalCopy {
    /// Writes the opening of a session, which a rehearsal does only on its copy. `outside` is the agent without it.
    pub(super) fn opening(outside: Agent, opened: Decision) -> Writing {
        let Some(session) = opened.sessions.first().filter(|session| session.rehearsal) else {
            return opened.into();
        };
        let id = session.id;
        let mut copy = Self::over(&outside);
        copy.note(&opened);
        Writing {
            decision: Decision::of_sessions(outside, opened.sessions),
            beside: WrittenBeside::rehearsed(id, Rehearsal::running(copy)),
        }
    }

    /// An empty one, over the current agent.
    fn over(agent: &Agent) -> Self {
        Self {
            tally: agent.tally,
            next_number: agent.next_number,
            next_seq: agent.next_seq,
            first_new: agent.next_number,
            history: Vec::new(),
            edits: Vec::new(),
            touched: BTreeMap::new(),
        }
    }

    /// The agent on the copy.
    pub(super) fn agent(&self, agent: Agent) -> Agent {
        Agent {
            tally: self.tally,
            next_number: self.next_number,
            next_seq: self.next_seq,
            // The settings are the current ones, so a change of settings affects the copy too.
            ..agent
        }
    }

    /// Turns the current `memories` into those of the copy. They include all that the rehearsal touched.
    pub(super) fn lay_over(&self, memories: &mut BTreeMap<Number, Memory>) {
        // A memory that was saved since may have a number that the copy has given to a memory of its own.
        memories.retain(|number, _| *number < self.first_new);
        let touched = self.touched.values();
        memories.extend(touched.map(|touched| (touched.number, touched.after.clone())));
    }

    /// As [`RehearsalCopy::lay_over`], for all that was read.
    pub(super) fn lay_over_all(&self, memories: &MemoryList) -> MemoryList {
        let is_as_it_was = |memory: &SharedMemory| {
            memory.number < self.first_new && !self.touched.contains_key(&memory.number)
        };
        let touched = self.touched.values();
        let touched = touched.map(|touched| touched.after.clone().into_shared());
        let memories = memories.shared().filter(is_as_it_was);
        MemoryList::by_number(memories.chain(touched))
    }

    /// The edits so far, oldest first.
    pub(super) fn history(&self) -> &[Record] {
        &self.history
    }

    /// The successful edits and protections so far, oldest first.
    pub(super) fn edits(&self) -> &[RehearsedEdit] {
        &self.edits
    }

    /// Adds the outcome of a call on the copy.
    pub(super) fn note_call(&mut self, call: &ToolCall, decision: &Decision) {
        self.edits.extend(RehearsedEdit::of(call, decision));
        self.note(decision);
    }

    /// Adds a decision on the copy.
    pub(super) fn note(&mut self, decision: &Decision) {
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
    pub(super) fn differences(&self) -> Vec<Touched> {
        let touched = self.touched.values();
        let differs = touched.filter(|touched| touched.is_difference());
        differs.cloned().collect()
    }
}

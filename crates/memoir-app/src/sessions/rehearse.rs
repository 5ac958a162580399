//! Rehearsals: the same loop and the same refusals on a copy, and applying the result in a single step (SPEC 3.17).
//!
//! A rehearsal is an ordinary session on a copy, which is in `rehearsal_copy.rs`, and its result is stored with the
//! session. Applying repeats the calls with the same checks, as one commit: those that still hold are applied, and the
//! others are named.

use std::collections::{BTreeMap, BTreeSet};

use memoir_domain::{
    PrivateText, SessionId, Timestamp,
    agent::{Field, LossGuard},
    audit::{Action, Actor, ActorKind},
    draft::Decision,
    ledger::LedgerRoom,
    lifecycle::{self, Start},
    memories::AllMemories,
    memory::{Number, by_number},
    session::{Lease, Session, State, Trigger},
    tools::{self, CallOutcome, RefusalCode, Tool, ToolCall, ToolRequest, ToolResult, View},
};
use memoir_store::RecordFilter;
use serde::Serialize;
use utoipa::ToSchema;

use super::begin::as_it_stands;
use crate::{
    core::{
        Error, Loaded, Result,
        codec::{self, Writing},
        opened::MemoryList,
        rehearsal::{Rehearsal, RehearsedEdit, Touched},
    },
    sessions::Sessions,
    shown::{ArchiveLinks, MemoryFacts, ShownMemory, ShownSession},
};

/// The settings that an edit's checks compare with the agent's texts.
const COMPARED: [Field; 3] = [Field::Name, Field::SystemPrompt, Field::ImmutableTags];
/// So many changes of settings are read; where there are more, one counts as a change of [`COMPARED`].
const READ_CHANGES: u32 = 100;

/// A memory that a rehearsal touched.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = RehearsedChange)]
pub struct RehearsedMemory {
    /// Its number; that of a new one may be another when the rehearsal is applied.
    #[schema(value_type = u64)]
    pub number: Number,
    /// Its current state; null where it would be new.
    #[schema(required)]
    pub before: Option<ShownMemory>,
    /// Its state after applying.
    pub after: ShownMemory,
}

/// The links among the memories that a rehearsal changed, before it and after it.
fn links(memories: &[Touched]) -> (ArchiveLinks, ArchiveLinks) {
    let before = memories
        .iter()
        .filter_map(|touched| touched.before.as_ref());
    let after = memories.iter().map(|touched| &touched.after);
    (
        ArchiveLinks::among_changed(before),
        ArchiveLinks::among_changed(after),
    )
}

/// An edit of a rehearsal that can no longer be applied, without text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct NotApplied {
    /// The tool.
    #[schema(value_type = String)]
    pub tool: Tool,
    /// The memories that it names, by their numbers in the rehearsal.
    #[schema(value_type = Vec<u64>)]
    pub numbers: Vec<Number>,
    /// The reason: the code of a refusal, `breaker` where it would undo the session, or `depends` where it names a
    /// memory made by such an edit.
    #[schema(value_type = String)]
    pub code: NotAppliedReason,
}

/// Why an edit of a rehearsal can no longer be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, derive_more::Display)]
#[serde(rename_all = "snake_case")]
pub enum NotAppliedReason {
    /// It would undo the session.
    #[display("breaker")]
    Breaker,
    /// It names a memory made by an edit that cannot be applied.
    #[display("depends")]
    Depends,
    /// The tool refuses it.
    #[serde(untagged)]
    Refused(RefusalCode),
}

/// The result of applying a rehearsal.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = AppliedSession)]
pub struct AppliedRehearsal {
    /// The session of the applied edits.
    #[serde(flatten)]
    pub session: ShownSession,
    /// The edits that could not be applied, in their order.
    pub not_applied: Vec<NotApplied>,
}

/// A preview of applying a rehearsal, without text (SPEC 5.1).
#[derive(Debug)]
pub struct RehearsalFacts {
    /// The core memories that would not be as they were, by number.
    pub changes: Vec<RehearsedChangeFacts>,
    /// The session that applied it; `None` where it was not applied.
    pub applied_by: Option<SessionId>,
    /// The place of the agent's newest record, which dates the preview.
    pub newest_seq: u64,
    /// The number of its edits.
    pub edits: u64,
    /// Those that could not be applied now, in their order; empty where the whole cannot be applied.
    pub not_applied: Vec<NotApplied>,
    /// The core size after it; or why it cannot be applied now.
    pub outcome: Result<AppliedCoreSize>,
}

impl RehearsalFacts {
    /// How many of its edits can be applied now.
    pub fn edits_holding(&self) -> u64 {
        let held = self.edits.saturating_sub(self.not_applied.len() as u64);
        self.outcome.as_ref().map_or(0, |_| held)
    }
}

/// The core size before and after applying a rehearsal, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppliedCoreSize {
    /// Now.
    pub core_tokens_before: u64,
    /// Afterwards.
    pub core_tokens_after: u64,
}

/// The effect of a rehearsal on one memory, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RehearsedChangeFacts {
    /// Its state before; `None` where it would be new.
    pub before: Option<MemoryFacts>,
    /// Its state after. The number of a new one may be another when the rehearsal is applied.
    pub after: MemoryFacts,
    /// Whether its text becomes another in place.
    pub is_reworded: bool,
    /// The memory that takes its place; `None` where it does not move to the archive, or under none.
    pub under: Option<Number>,
    /// The memories that a new one replaces.
    pub made_of: Vec<Number>,
    /// Whether it has changed since the rehearsal.
    pub changed_since: bool,
}

impl Rehearsal {
    pub(crate) fn memories(&self) -> Vec<RehearsedMemory> {
        let memories = match &self.copy {
            Some(copy) => copy.differences(),
            None => self.memories.clone(),
        };
        let (before, after) = links(&memories);
        let shown = memories.into_iter().map(|touched| RehearsedMemory {
            number: touched.number,
            before: touched
                .before
                .map(|memory| ShownMemory::with_words(memory, &before)),
            after: ShownMemory::with_words(touched.after, &after),
        });
        shown.collect()
    }

    /// Its effect on each memory; `present` has all current memories.
    fn change_facts(&self, present: &MemoryList) -> Vec<RehearsedChangeFacts> {
        let present = by_number(present);
        let (links_before, links_after) = links(&self.memories);
        let change = |touched: &Touched| {
            let before = touched.before.as_ref();
            let mut made = self.edits.iter();
            let made = made.find(|edit| edit.created == Some(touched.number));
            RehearsedChangeFacts {
                before: before.map(|memory| MemoryFacts::new(memory, &links_before)),
                after: MemoryFacts::new(&touched.after, &links_after),
                is_reworded: before.is_some_and(|before| before.content != touched.after.content),
                under: touched.after.under(),
                made_of: made
                    .map(|edit| edit.call.numbers().to_vec())
                    .unwrap_or_default(),
                changed_since: touched.is_outdated(&present),
            }
        };
        self.memories.iter().map(change).collect()
    }
}

impl Sessions<'_> {
    /// Applies the result of a rehearsal in one step: its edits are made again through all checks, and those that still
    /// hold are applied.
    ///
    /// # Errors
    /// It was not completed or was applied before; no edit can be applied: then nothing is changed.
    pub async fn apply_rehearsal(self, id: SessionId, actor: &Actor) -> Result<AppliedRehearsal> {
        self.decide_reading(&as_it_stands(id), |loaded, now| async move {
            self.attempt_apply(loaded, id, actor, now).await
        })
        .await
    }

    /// A preview of applying a rehearsal, without text; `None` where there is no result: it was cancelled, or is none.
    /// A running one has no changes yet.
    ///
    /// # Errors
    /// There is no such session; the store fails.
    pub async fn rehearsal_facts(
        self,
        id: SessionId,
        actor: &Actor,
    ) -> Result<Option<RehearsalFacts>> {
        let mut loaded = self.load(&as_it_stands(id)).await?;
        let newest_seq = loaded.newest_seq();
        let core_tokens_before = loaded.agent.tally.core_tokens;
        let no_session = || Error::NoSession(id.to_string());
        let (rehearsed, rehearsal) = loaded.session.take().ok_or_else(no_session)?;
        let Some(rehearsal) = rehearsal else {
            return Ok(None);
        };
        let changes = rehearsal.change_facts(&loaded.memories);
        let planned = self.plan_apply(loaded, &rehearsed, &rehearsal, actor, self.memoir.now());
        let (outcome, not_applied) = match planned.await {
            Ok(plan) => {
                let core_size = AppliedCoreSize {
                    core_tokens_before,
                    core_tokens_after: plan.decision.agent.tally.core_tokens,
                };
                (Ok(core_size), plan.not_applied)
            }
            // The reason why the rehearsal cannot be applied is part of the response. Any other error, such as one of the
            // store, is an error here too.
            Err(error @ (Error::NotApplicable { .. } | Error::Start(_))) => {
                (Err(error), Vec::new())
            }
            Err(error) => return Err(error),
        };
        Ok(Some(RehearsalFacts {
            changes,
            applied_by: rehearsal.applied_by,
            newest_seq,
            edits: rehearsal.edits.len() as u64,
            not_applied,
            outcome,
        }))
    }

    async fn attempt_apply(
        self,
        mut loaded: Loaded,
        id: SessionId,
        actor: &Actor,
        now: Timestamp,
    ) -> Result<(Option<Writing>, AppliedRehearsal)> {
        let no_session = || Error::NoSession(id.to_string());
        let (rehearsed, rehearsal) = loaded.session.take().ok_or_else(no_session)?;
        let rehearsal = rehearsal.ok_or_else(|| match rehearsed.rehearsal {
            true => not_applicable(id, "it was not completed"),
            false => not_applicable(id, "it is no rehearsal"),
        })?;
        let plan = self.plan_apply(loaded, &rehearsed, &rehearsal, actor, now);
        let plan = plan.await?;
        let mut decision = plan.decision;
        let session = decision.sessions.first().cloned();
        let session = session.ok_or_else(no_session)?;
        // The row of the rehearsed session is written as well, because it names the session that applied it.
        decision.sessions.push(rehearsed);
        let applied_rehearsal = Rehearsal {
            applied_by: Some(session.id),
            ..rehearsal
        };
        let writing = Writing::rehearsed(decision, id, applied_rehearsal);
        let applied = AppliedRehearsal {
            session: ShownSession::answered(&self.name, session, actor),
            not_applied: plan.not_applied,
        };
        Ok((Some(writing), applied))
    }

    /// Refuses an administrator where one has set a text since that the checks compare with the agent's: which edits
    /// hold would reveal whether it is one of them (SPEC 5.1).
    async fn check_guesses(
        self,
        id: SessionId,
        rehearsal: &Rehearsal,
        actor: &Actor,
    ) -> Result<()> {
        if actor.kind != ActorKind::Administrator {
            return Ok(());
        }
        let filter = RecordFilter {
            // Not by time: a clock may have been set back since.
            from_seq: rehearsal.first_seq,
            actor: Some(ActorKind::Administrator),
            first: Some(READ_CHANGES),
            ..RecordFilter::of_actions([Action::AgentConfigured])
        };
        let _room = self.room_for_records(&filter).await?;
        let rows = self.memoir.store.records(self.scope, &filter).await?;
        let mut is_set = rows.len() >= READ_CHANGES as usize;
        for row in rows {
            let facts = codec::bare_record(row)?.facts;
            let is_compared = |name| COMPARED.iter().any(|field| field.as_str() == name);
            is_set |= facts.codes_of("fields").any(is_compared);
        }
        match is_set {
            true => Err(not_applicable(
                id,
                "an administrator has set the name, the system prompt or the immutable tags since; rehearse again",
            )),
            false => Ok(()),
        }
    }

    async fn plan_apply(
        self,
        loaded: Loaded,
        rehearsed: &Session,
        rehearsal: &Rehearsal,
        actor: &Actor,
        now: Timestamp,
    ) -> Result<Applying> {
        if let Some(applied) = rehearsal.applied_by {
            let problem = format!("it was applied as session {applied}");
            return Err(not_applicable(rehearsed.id, &problem));
        }
        if rehearsed.state != State::Completed {
            return Err(not_applicable(rehearsed.id, "it was not completed"));
        }
        self.check_guesses(rehearsed.id, rehearsal, actor).await?;
        let applied = self.memoir.ids().draw(SessionId::from_bytes)?;
        let start = Start {
            id: applied,
            mode: rehearsed.mode,
            driver: rehearsed.driver,
            trigger: Trigger::Request,
            rehearsal: false,
            model: rehearsed.model.clone(),
            lease: Some(Lease {
                // The session begins and ends in one commit, so no process encounters this lease.
                until: now,
                holder: self.memoir.ids().holder()?,
            }),
            started_by: actor.clone(),
        };
        let digester = loaded.digester();
        let system_prompt = loaded.agent.settings.system_prompt.clone();
        let ledger_position = loaded.agent.ledger_position;
        // Whether anything could be done is judged edit by edit.
        let begun = lifecycle::begin(loaded.agent, loaded.running_session, start, None, now)?;
        let session = begun.sessions.first().cloned();
        let session = Session {
            // A guard laxer than the rehearsal's does not count (SPEC 3.14). Where none is stored, that was `archive`.
            loss_guard: rehearsed.loss_guard.or(Some(LossGuard::Archive)),
            duplicate_match: rehearsed.duplicate_match,
            asked_within_budget: rehearsed.asked_within_budget,
            ..session.ok_or(Error::SessionLost(applied))?
        };
        let mut opened = lifecycle::open(
            begun.agent,
            session,
            AllMemories::new(loaded.memories.shared()),
            &digester,
            LedgerRoom {
                // No model reads this ledger.
                tokens: u64::MAX,
                near_duplicates: false,
                leaves_out_administrators: false,
            },
            None,
            now,
        );
        // Where the last ledger that a model read stopped (SPEC 3.7).
        opened.decision.agent.ledger_position = ledger_position;
        let mut applying = Applying {
            system_prompt,
            memories: opened.memories,
            decision: opened.decision,
            renumbered: BTreeMap::new(),
            missing: BTreeSet::new(),
            not_applied: Vec::new(),
        };
        // The edits are recorded as the agent's, which rehearsed them; the end is that of the applying actor.
        for edit in &rehearsal.edits {
            applying.make(edit, &self.as_actor(), now);
        }
        if applying.not_applied.len() == rehearsal.edits.len() {
            let problem = match rehearsal.edits.is_empty() {
                true => "it has no edits",
                false => "none of its edits holds any more; rehearse again",
            };
            return Err(not_applicable(rehearsed.id, problem));
        }
        // A completed session has a report.
        let summary = rehearsed.summary.clone().unwrap_or_default();
        applying
            .decide(ToolCall::Complete { summary }, actor, now)
            .map_err(|code| not_applicable(rehearsed.id, &format!("its end is refused: {code}")))?;
        Ok(applying)
    }
}

/// The agent during applying, edit by edit, before anything is written.
struct Applying {
    system_prompt: Option<PrivateText>,
    memories: AllMemories,
    /// All so far, with the agent and the session as they would be.
    decision: Decision,
    /// The new numbers of memories that the rehearsal made, by their numbers on the copy.
    renumbered: BTreeMap<Number, Number>,
    /// The memories that the rehearsal made by edits that cannot be applied.
    missing: BTreeSet<Number>,
    not_applied: Vec<NotApplied>,
}

impl Applying {
    fn make(&mut self, edit: &RehearsedEdit, actor: &Actor, now: Timestamp) {
        let made = match edit.names(&self.missing) {
            true => Err(NotAppliedReason::Depends),
            // Other memories may have been saved in the meantime, so that a memory that the rehearsal made may get
            // another number here.
            false => self.decide(edit.renumbered(&self.renumbered), actor, now),
        };
        match made {
            Ok(number) => {
                let made = edit.created.zip(number);
                self.renumbered.extend(made);
            }
            Err(code) => {
                self.missing.extend(edit.created);
                self.not_applied.push(NotApplied {
                    tool: edit.call.tool(),
                    numbers: edit.call.numbers().to_vec(),
                    code,
                });
            }
        }
    }

    /// Makes a call; returns the number of the memory that it made or kept.
    fn decide(
        &mut self,
        call: ToolCall,
        actor: &Actor,
        now: Timestamp,
    ) -> Result<Option<Number>, NotAppliedReason> {
        let view = View {
            agent: &self.decision.agent,
            system_prompt: self.system_prompt.as_ref(),
            session: self.decision.sessions.first(),
            memories: &self.memories,
        };
        let request = ToolRequest {
            tool: Some(call.tool()),
            call: Ok(call),
        };
        match tools::decide(view, &request, actor, now) {
            CallOutcome::Commit(decision, result) => {
                self.take(*decision);
                Ok(match result {
                    ToolResult::Consolidated { number, .. }
                    | ToolResult::Updated { number, .. } => Some(number),
                    _ => None,
                })
            }
            // Protecting a memory that was protected since changes nothing.
            CallOutcome::Answer(ToolResult::Protected { .. }) => Ok(None),
            CallOutcome::Answer(result) => {
                let code = result.refusal().unwrap_or(RefusalCode::InvalidArgument);
                Err(NotAppliedReason::Refused(code))
            }
            // Nothing is written yet, so nothing has to be rolled back: the edit is left out.
            CallOutcome::Tripped(_) => Err(NotAppliedReason::Breaker),
            // A rehearsal stores edits and protections only.
            CallOutcome::Search(_) => Err(NotAppliedReason::Refused(RefusalCode::UnknownTool)),
        }
    }

    fn take(&mut self, decision: Decision) {
        self.memories.follow(&decision.changes);
        let none = Decision::of_sessions(decision.agent.clone(), Vec::new());
        let earlier = std::mem::replace(&mut self.decision, none);
        self.decision = earlier.then(decision);
    }
}

fn not_applicable(session: SessionId, problem: &str) -> Error {
    Error::NotApplicable {
        session,
        problem: problem.to_owned(),
    }
}

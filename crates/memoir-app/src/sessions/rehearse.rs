//! Rehearsals: the same loop and the same refusals on a copy, and applying what came of one in a single
//! step (SPEC 3.17).
//!
//! A rehearsal is an ordinary session on a copy, which is in `rehearsal_copy.rs`, and what it came to is kept with the
//! session. Applying makes the same calls again through the same checks, as one commit, if none of the memories
//! that it touches changed since.

use std::collections::{BTreeMap, BTreeSet};

use memoir_domain::{
    PrivateText, SessionId, Timestamp,
    agent::Agent,
    audit::{Action, Actor, Change, Record},
    draft::Decision,
    knife::{self, CallOutcome, KnifeCall, KnifeRequest, ToolResult, View},
    ledger::LedgerRoom,
    lifecycle::{self, Start},
    loss::LossLimits,
    memory::{Kind, Memory, Number, by_number},
    session::{Lease, Session, State, Trigger},
    survey::Survey,
    text::Digester,
    wording::{self, WordingTexts},
};
use memoir_store::{AgentQuery, Selection};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{knife::look_at, rehearsal_copy::RehearsalCopy};
use crate::{
    AgentHandle, Error, Loaded, MemoryFacts, Result, ShownMemory, ShownSession,
    codec::{Writing, WrittenBeside},
    opened::MemoryList,
};

/// What a rehearsal came to: enough to show it, and to do it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rehearsal {
    edits: Vec<RehearsedEdit>,
    memories: Vec<Touched>,
    applied_by: Option<SessionId>,
    /// What it works on; `None` once it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    copy: Option<RehearsalCopy>,
}

/// A memory that the rehearsal touched, as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Touched {
    pub(super) number: Number,
    pub(super) before: Option<Memory>,
    pub(super) after: Memory,
}

impl Touched {
    /// Whether it is a core memory that is not as it was, or a new one that is kept.
    pub(super) fn is_difference(&self) -> bool {
        let differs = self.before.as_ref() != Some(&self.after);
        let counts = self.before.is_some() || self.after.is_kept();
        self.after.kind == Kind::Core && differs && counts
    }

    /// Whether the memory is not as it was any more, where `present` holds the kept core memories.
    fn is_outdated(&self, present: &BTreeMap<Number, &Memory>) -> bool {
        let before = self.before.as_ref();
        // Of one that the rehearsal made there is nothing that could have changed.
        before.is_some_and(|before| present.get(&before.number) != Some(&before))
    }
}

/// A memory that a rehearsal touched.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = RehearsedChange)]
pub struct RehearsedMemory {
    /// Its number; that of a new one may be another when the rehearsal is applied.
    #[schema(value_type = u64)]
    pub number: Number,
    /// As it is; null where it would be new.
    #[schema(required)]
    pub before: Option<ShownMemory>,
    /// As it would be.
    pub after: ShownMemory,
}

impl From<&Touched> for RehearsedMemory {
    fn from(touched: &Touched) -> Self {
        Self {
            number: touched.number,
            before: touched.before.clone().map(ShownMemory::with_words),
            after: ShownMemory::with_words(touched.after.clone()),
        }
    }
}

/// What applying a rehearsal would do, without words (SPEC 5.1).
#[derive(Debug)]
pub struct RehearsalFacts {
    /// The core memories that would not be as they were, by number.
    pub changes: Vec<RehearsedChangeFacts>,
    /// The session that applied it already; `None` where none did.
    pub applied_by: Option<SessionId>,
    /// The place of the agent's newest record, which says of when this is.
    pub newest_seq: u64,
    /// What the mass would become; or why it cannot be applied as things are now.
    pub outcome: Result<AppliedMass>,
}

/// What the mass becomes where a rehearsal is applied, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppliedMass {
    /// Now.
    pub core_tokens_before: u64,
    /// Afterwards.
    pub core_tokens_after: u64,
}

/// What a rehearsal would do to one memory, without its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RehearsedChangeFacts {
    /// As it was; `None` where it would be new.
    pub before: Option<MemoryFacts>,
    /// As it would be. The number of a new one may be another when the rehearsal is applied.
    pub after: MemoryFacts,
    /// Whether its words become others.
    pub is_reworded: bool,
    /// The new memory that it is merged into; `None` where it is not merged.
    pub merged_into: Option<Number>,
    /// The memories that a new one is made of.
    pub made_of: Vec<Number>,
    /// Whether it is not any more as it was when it was rehearsed, which stands in the way.
    pub changed_since: bool,
}

/// One successful edit or protection, to be made again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct RehearsedEdit {
    tool: String,
    numbers: Vec<Number>,
    content: Option<PrivateText>,
    /// The memory that a consolidation made.
    created: Option<Number>,
}

impl Rehearsal {
    /// One that is under way.
    pub(super) fn running(copy: RehearsalCopy) -> Self {
        Self {
            edits: Vec::new(),
            memories: Vec::new(),
            applied_by: None,
            copy: Some(copy),
        }
    }

    /// One that is over.
    pub(super) fn ended(copy: &RehearsalCopy) -> Self {
        Self {
            // From the records of the copy and not from the calls: one that was refused has none.
            edits: copy.history().iter().filter_map(edit_of).collect(),
            memories: copy.differences(),
            applied_by: None,
            copy: None,
        }
    }

    /// What there is of it to be kept with the session as that is now.
    pub(crate) fn kept_with(self, session: &Session) -> Self {
        match &self.copy {
            Some(copy) if !session.state.is_running() => Self::ended(copy),
            _ => self,
        }
    }

    /// What it works on; `None` where it is over.
    pub(super) fn into_copy(self) -> Option<RehearsalCopy> {
        self.copy
    }

    /// Takes out the words of one memory, and those that edits of it, and of what they made, wrote.
    /// Whether there were any. It cannot be applied any more then: the memory is not what it was.
    pub(crate) fn shred(&mut self, number: Number) -> bool {
        // A number that the rehearsal itself gave is that of another memory than the agent's.
        if self.edits.iter().any(|edit| edit.created == Some(number)) {
            return false;
        }
        let mut touches = false;
        let mut holding = BTreeSet::from([number]);
        // The edits are in the order in which they were made, so a memory that one of them created is known before a
        // later one uses it.
        for edit in &mut self.edits {
            if edit.numbers.iter().any(|number| holding.contains(number)) {
                touches = true;
                edit.content = edit.content.as_ref().map(|_| PrivateText::default());
                holding.extend(edit.created);
            }
        }
        for memory in &mut self.memories {
            if holding.contains(&memory.number) {
                touches = true;
                memory.before = memory.before.as_ref().map(Memory::without_words);
                memory.after = memory.after.without_words();
            }
            // What others stand for tells its words where they were let go.
            for side in memory.before.iter_mut().chain([&mut memory.after]) {
                let count = side.wordings.len();
                side.wordings.retain(|wording| wording.number != number);
                touches |= side.wordings.len() < count;
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

    pub(crate) fn memories(&self) -> Vec<RehearsedMemory> {
        let memories = match &self.copy {
            Some(copy) => copy.differences(),
            None => self.memories.clone(),
        };
        memories.iter().map(RehearsedMemory::from).collect()
    }

    /// What it would do to each memory, `kept` being the core memories as they are now.
    fn change_facts(&self, kept: &MemoryList) -> Vec<RehearsedChangeFacts> {
        let present = by_number(kept);
        let merges = |edit: &&RehearsedEdit| edit.created.is_some();
        let change = |touched: &Touched| {
            let number = touched.number;
            let before = touched.before.as_ref();
            let mut merged = self.edits.iter().filter(merges);
            let into = merged.find(|edit| edit.numbers.contains(&number));
            let made = self.edits.iter().find(|edit| edit.created == Some(number));
            RehearsedChangeFacts {
                before: before.map(MemoryFacts::from),
                after: MemoryFacts::from(&touched.after),
                is_reworded: before.is_some_and(|before| before.content != touched.after.content),
                merged_into: into.and_then(|edit| edit.created),
                made_of: made.map(|edit| edit.numbers.clone()).unwrap_or_default(),
                changed_since: touched.is_outdated(&present),
            }
        };
        self.memories.iter().map(change).collect()
    }
}

impl AgentHandle {
    /// Does for real, in one step, what a rehearsal came to. Cap, protection, losses and breaker are
    /// checked again.
    ///
    /// # Errors
    /// A memory that it touches changed since, or an edit is refused now: then nothing is changed.
    pub async fn apply_rehearsal(&self, id: SessionId, actor: &Actor) -> Result<ShownSession> {
        self.decide_reading(&self.applying(id), |loaded, _| async move {
            self.attempt_apply(loaded, id, actor).await
        })
        .await
    }

    /// What applying a rehearsal would do, without words; `None` where nothing came of it: it was cancelled,
    /// or is none. One that runs has no changes yet.
    ///
    /// # Errors
    /// There is no such session; the store fails.
    pub async fn rehearsal_facts(
        &self,
        id: SessionId,
        actor: &Actor,
    ) -> Result<Option<RehearsalFacts>> {
        let mut loaded = self.load(&self.applying(id)).await?;
        let newest_seq = loaded.newest_seq();
        let core_tokens_before = loaded.agent.tally.core_tokens;
        let no_session = || Error::NoSession(id.to_string());
        let (rehearsed, rehearsal) = loaded.session.take().ok_or_else(no_session)?;
        let Some(rehearsal) = rehearsal else {
            return Ok(None);
        };
        let changes = rehearsal.change_facts(&loaded.memories);
        let applied_by = rehearsal.applied_by;
        let planned = self.plan_apply(loaded, &rehearsed, &rehearsal, actor).await;
        let outcome = match planned {
            Ok((_, decision)) => Ok(AppliedMass {
                core_tokens_before,
                core_tokens_after: decision.agent.tally.core_tokens,
            }),
            // The reason why the rehearsal cannot be applied is part of the answer. Any other error, such as one of the
            // store, is an error here too.
            Err(
                error @ (Error::NotApplicable { .. } | Error::EditRefused { .. } | Error::Start(_)),
            ) => Err(error),
            Err(error) => return Err(error),
        };
        Ok(Some(RehearsalFacts {
            changes,
            applied_by,
            newest_seq,
            outcome,
        }))
    }

    /// What applying is decided by.
    fn applying(&self, id: SessionId) -> AgentQuery {
        AgentQuery {
            memories: Selection::Core,
            session: Some(id),
            ..AgentQuery::default()
        }
    }

    async fn attempt_apply(
        &self,
        mut loaded: Loaded,
        id: SessionId,
        actor: &Actor,
    ) -> Result<(Option<Writing>, ShownSession)> {
        let no_session = || Error::NoSession(id.to_string());
        let (rehearsed, rehearsal) = loaded.session.take().ok_or_else(no_session)?;
        let rehearsal = rehearsal.ok_or_else(|| match rehearsed.rehearsal {
            true => not_applicable(id, "it was not completed"),
            false => not_applicable(id, "it is no rehearsal"),
        })?;
        let planned = self.plan_apply(loaded, &rehearsed, &rehearsal, actor);
        let (applied, mut decision) = planned.await?;
        let session = decision
            .sessions
            .iter()
            .find(|session| session.id == applied)
            .cloned();
        let session = session.ok_or_else(no_session)?;
        // The row of the rehearsed session is written as well, because it says by which session the rehearsal was
        // applied.
        decision.sessions.push(rehearsed);
        let applied_rehearsal = Rehearsal {
            applied_by: Some(applied),
            ..rehearsal
        };
        let beside = WrittenBeside::rehearsed(id, applied_rehearsal);
        let shown = ShownSession::answered(&self.name, session, actor);
        Ok((Some(Writing { decision, beside }), shown))
    }

    /// Applying as one decision, and the session that it makes.
    async fn plan_apply(
        &self,
        loaded: Loaded,
        rehearsed: &Session,
        rehearsal: &Rehearsal,
        actor: &Actor,
    ) -> Result<(SessionId, Decision)> {
        check_applicable(rehearsed, rehearsal, &loaded.memories)?;
        let applied = self.memoir.ids().session()?;
        let now = self.memoir.now();
        let named: BTreeSet<&Number> = rehearsal
            .edits
            .iter()
            .flat_map(|edit| &edit.numbers)
            .collect();
        let members = loaded
            .memories
            .iter()
            .filter(|one| named.contains(&one.number));
        let texts = self.texts(loaded.base.key(), members).await?;
        let survey = look_at(&loaded.memories).await?;
        let decision = self.apply(
            loaded, survey, texts, rehearsed, rehearsal, applied, actor, now,
        )?;
        Ok((applied, decision))
    }

    #[expect(clippy::too_many_arguments, reason = "all that one decision rests on")]
    fn apply(
        &self,
        loaded: Loaded,
        survey: Survey,
        texts: WordingTexts,
        rehearsed: &Session,
        rehearsal: &Rehearsal,
        applied: SessionId,
        actor: &Actor,
        now: Timestamp,
    ) -> Result<Decision> {
        let start = Start {
            id: applied,
            mode: rehearsed.mode,
            driver: rehearsed.driver,
            trigger: Trigger::Request,
            rehearsal: false,
            model: rehearsed.model.clone(),
            lease: Some(Lease {
                // The session begins and ends in one commit: nobody ever meets this lease.
                until: now,
                holder: self.memoir.ids().holder()?,
            }),
            started_by: actor.clone(),
        };
        let digester = loaded.digester();
        let limits = self.memoir.settings.loss_limits;
        let begun = lifecycle::begin(loaded.agent, loaded.running_session, start, now)?;
        // `begin` returns exactly one session.
        let session = begun.sessions[0].clone();
        let opened = lifecycle::open(
            begun.agent,
            session,
            &loaded.memories,
            &digester,
            LedgerRoom {
                // No model reads this ledger.
                tokens: u64::MAX,
                near_doubles: false,
                leaves_out_administrators: false,
            },
            now,
        );
        let mut made = RehearsedAgent {
            agent: opened.decision.agent.clone(),
            session: opened.decision.sessions[0].clone(),
            survey,
            memories: by_number(loaded.memories.copies()),
            texts,
            limits,
            digester,
            decision: None,
            renumbered: BTreeMap::new(),
        };
        made.take(opened.decision);
        for edit in &rehearsal.edits {
            made.make(edit, rehearsed.id, &self.as_actor(), now)?;
        }
        // A completed session has a summary; the other text is never used.
        let summary = rehearsed
            .summary
            .clone()
            .unwrap_or_else(|| "A rehearsal was applied.".into());
        let complete = KnifeRequest {
            tool: Some(knife::Tool::Complete),
            call: Ok(KnifeCall::Complete { summary }),
        };
        // The edits are recorded as the agent's, which rehearsed them; the end is recorded as that of whoever applies
        // them.
        made.decide(&complete, rehearsed.id, actor, now)?;
        made.decision
            .ok_or_else(|| not_applicable(rehearsed.id, "it has no edits"))
    }
}

/// The agent as it becomes, edit by edit, before anything is written.
struct RehearsedAgent {
    agent: Agent,
    session: Session,
    memories: BTreeMap<Number, Memory>,
    /// A look at these memories, which follows them.
    survey: Survey,
    texts: WordingTexts,
    limits: LossLimits,
    digester: Digester,
    decision: Option<Decision>,
    renumbered: BTreeMap<Number, Number>,
}

impl RehearsedAgent {
    fn take(&mut self, decision: Decision) {
        self.agent = decision.agent.clone();
        if let Some(session) = decision.sessions.first() {
            self.session = session.clone();
        }
        for change in &decision.changes {
            self.memories.insert(change.number(), change.after());
        }
        self.survey.follow(&decision.changes);
        self.texts.extend(wording::texts_in(&decision.records));
        self.decision = Some(match self.decision.take() {
            Some(earlier) => earlier.then(decision),
            None => decision,
        });
    }

    fn make(
        &mut self,
        edit: &RehearsedEdit,
        id: SessionId,
        actor: &Actor,
        now: Timestamp,
    ) -> Result<()> {
        // A memory that the rehearsal created may get another number here, since other memories may have been saved in
        // the meantime.
        let renumber = |number: &Number| self.renumbered.get(number).copied().unwrap_or(*number);
        let numbers: Vec<Number> = edit.numbers.iter().map(renumber).collect();
        let request = edit
            .request(&numbers)
            .ok_or_else(|| not_applicable(id, "it cannot be read"))?;
        match self.decide(&request, id, actor, now)? {
            ToolResult::Consolidated { number, .. } => {
                self.renumbered
                    .extend(edit.created.map(|rehearsed| (rehearsed, number)));
            }
            // Code chooses what carries a deleted memory. A memory that was brought back since may say it too, and would
            // be changed although nobody was shown that.
            ToolResult::Deleted {
                number, carried_by, ..
            } if carried_by != numbers.get(1).copied() => {
                let problem = format!("another memory would carry {number} now; rehearse again");
                return Err(not_applicable(id, &problem));
            }
            _ => {}
        }
        Ok(())
    }

    fn decide(
        &mut self,
        request: &KnifeRequest,
        id: SessionId,
        actor: &Actor,
        now: Timestamp,
    ) -> Result<ToolResult> {
        // There are no earlier refusals, because the first one ends the applying.
        let refusals = BTreeMap::new();
        let view = View {
            agent: &self.agent,
            session: Some(&self.session),
            memories: &self.memories,
            texts: &self.texts,
            survey: Some(&self.survey),
            limits: self.limits,
            digester: &self.digester,
            refusals: &refusals,
            // What it let go was confirmed when it was rehearsed; the limits are checked anew.
            is_confirmed: true,
        };
        let refused = |result| Error::EditRefused {
            session: id,
            result: Box::new(result),
        };
        match knife::decide(view, request, actor, now) {
            CallOutcome::Commit(decision, result) => {
                self.take(*decision);
                Ok(result)
            }
            // Protecting a memory that somebody has protected since changes nothing, and is no reason to refuse.
            CallOutcome::Answer(result @ ToolResult::Protected { .. }) => Ok(result),
            CallOutcome::Answer(result) => Err(refused(result)),
            // Nothing is written yet, so nothing has to be rolled back. Only the answer of the rollback is used.
            CallOutcome::Tripped(trip) => Err(refused(trip.roll_back(&[], BTreeMap::new()).1)),
            CallOutcome::Search(_) | CallOutcome::Survey => {
                Err(not_applicable(id, "it holds a search"))
            }
        }
    }
}

impl RehearsedEdit {
    fn request(&self, numbers: &[Number]) -> Option<KnifeRequest> {
        let number = numbers.first().copied()?;
        let tool = knife::Tool::from_name(&self.tool)?;
        let call = match tool {
            knife::Tool::Consolidate => KnifeCall::Consolidate {
                numbers: numbers.to_vec(),
                content: self.content.clone()?,
                // No edit needs a code here, because `View::is_confirmed` is set.
                confirm: None,
            },
            knife::Tool::Update => KnifeCall::Update {
                number,
                content: self.content.clone()?,
                confirm: None,
            },
            knife::Tool::Delete => KnifeCall::Delete {
                number,
                confirm: None,
            },
            knife::Tool::Protect => KnifeCall::Protect { number },
            knife::Tool::Search | knife::Tool::Complete => return None,
        };
        Some(KnifeRequest {
            tool: Some(tool),
            call: Ok(call),
        })
    }
}

/// The edit that a record tells of; `None` for records of other things.
fn edit_of(record: &Record) -> Option<RehearsedEdit> {
    let changes = &record.body.changes;
    let altered = || {
        changes
            .iter()
            // In the order of the changes: of a deletion the memory that went is the first, and
            // what carries it the second. That is looked for anew when it is applied, and is to be the same.
            .filter(|change| change.before().is_some())
            .map(Change::number)
            .collect()
    };
    let edit = |tool: knife::Tool, content, created| RehearsedEdit {
        tool: tool.as_str().to_owned(),
        numbers: altered(),
        content,
        created,
    };
    let written = || changes.first().map(|change| change.after().content);
    Some(match record.action {
        Action::MemoryRefinementConsolidate => {
            edit(knife::Tool::Consolidate, written(), record.memory)
        }
        // A rewriting to the same text is an edit that changed nothing.
        Action::MemoryRefinementUpdate if changes.is_empty() => return None,
        Action::MemoryRefinementUpdate => edit(knife::Tool::Update, written(), None),
        Action::MemoryRefinementDelete => edit(knife::Tool::Delete, None, None),
        Action::MemoryRefinementProtect => edit(knife::Tool::Protect, None, None),
        _ => return None,
    })
}

fn check_applicable(session: &Session, rehearsal: &Rehearsal, memories: &MemoryList) -> Result<()> {
    if let Some(applied) = rehearsal.applied_by {
        return Err(not_applicable(
            session.id,
            &format!("it was applied as session {applied}"),
        ));
    }
    if session.state != State::Completed {
        return Err(not_applicable(session.id, "it was not completed"));
    }
    let present = by_number(memories);
    let changed: Vec<String> = rehearsal
        .memories
        .iter()
        .filter(|touched| touched.is_outdated(&present))
        .map(|touched| touched.number.to_string())
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    Err(not_applicable(
        session.id,
        &format!(
            "these memories changed since: {}; rehearse again",
            changed.join(", ")
        ),
    ))
}

fn not_applicable(session: SessionId, problem: &str) -> Error {
    Error::NotApplicable {
        session,
        problem: problem.to_owned(),
    }
}

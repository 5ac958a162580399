//! Deciding one call: the checks in their order, the edit, its measure, and the breaker
//! (SPEC 3.8 to 3.15).
//!
//! The checks come in a fixed order, and the first that fails answers. An edit that trips the breaker does
//! not become a decision: it becomes a [`Trip`], which must be given the session's history and then yields
//! the edit, the rollback, its record and the journal entry as one decision. There is no way to write the one
//! without the other.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    PrivateText, Timestamp,
    agent::Agent,
    audit::{Action, Actor, Change, Facts, Record, RecordBody},
    breaker::Gauge,
    draft::{Decision, Draft},
    knife::{
        KnifeCall, KnifeRequest, Refusal, Tool, ToolResult,
        measure::{EditMeasure, check_tightening, measure},
        result::EditsLeft,
    },
    loss::LossLimits,
    memory::{Kind, Memory, NewMemory, Number, Tags, tokens},
    rollback,
    session::{EDIT_CAP, EndReason, Mode, Session, State},
    session_entry,
    survey::Survey,
    text::{Digester, fold},
    wording::{self, SavedBy, Wording, WordingTexts},
};

/// What a decision needs to know, loaded by the use case.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The agent.
    pub agent: &'a Agent,
    /// The session called; `None` where there is none.
    pub session: Option<&'a Session>,
    /// The memories that the call names, as far as they exist.
    pub memories: &'a BTreeMap<Number, Memory>,
    /// The texts of all wordings that these stand for, and of what they were protected at.
    pub texts: &'a WordingTexts,
    /// A look at all memories; `None` where none was taken, and where one is needed the outcome says so.
    pub survey: Option<&'a Survey>,
    /// How much may be let go.
    pub limits: LossLimits,
    /// Under the agent's digest key.
    pub digester: &'a Digester,
    /// How often edits of a memory were refused in this session, as far as the process knows.
    pub refusals: &'a BTreeMap<Number, u32>,
    /// Whether what is asked about was confirmed before, in the rehearsal that is applied.
    pub is_confirmed: bool,
}

/// What becomes of a call.
#[derive(Debug, Clone)]
pub enum CallOutcome {
    /// It changes nothing.
    Answer(ToolResult),
    /// It is a search over all kept core memories.
    Search(KnifeCall),
    /// It cannot be decided without a look at all memories: it is to be decided again with a
    /// [`Survey`].
    Survey,
    /// It is to be written, and answered once it is.
    Commit(Box<Decision>, ToolResult),
    /// It trips the breaker: the session is to be rolled back in the same transaction.
    Tripped(Box<Trip>),
}

/// Decides one call. `actor` is the agent.
pub fn decide(
    view: View<'_>,
    request: &KnifeRequest,
    actor: &Actor,
    now: Timestamp,
) -> CallOutcome {
    match attempt(view, request, actor, now) {
        Ok(outcome) => outcome,
        Err(refusal) => CallOutcome::Answer(refusal.into()),
    }
}

fn attempt(
    view: View<'_>,
    request: &KnifeRequest,
    actor: &Actor,
    now: Timestamp,
) -> Result<CallOutcome, Refusal> {
    let session = view
        .session
        // A session that only waits for consent has no tools yet, and answers as one that is over.
        .filter(|session| session.state == State::Open)
        .ok_or(Refusal::SessionOver)?;
    // Before the arguments (SPEC 3.8): whoever may not use the tool is not sent to mend what it would not take anyway.
    let tool = admit(session, request.tool)?;
    // What follows is in the order of SPEC 3.8.
    let call = request.call.as_ref().map_err(Clone::clone)?;
    match call {
        KnifeCall::Search { .. } => return Ok(CallOutcome::Search(call.clone())),
        KnifeCall::Complete { summary } => return Ok(complete(view, session, summary, actor, now)),
        KnifeCall::Protect { number } => return protect(view, session, *number, actor, now),
        KnifeCall::Consolidate { .. } | KnifeCall::Update { .. } | KnifeCall::Delete { .. } => {}
    }
    let members = kept_core(view.memories, call.numbers())?;
    check_constitutional(view, call, &members)?;
    check_immutable(view.agent, session, &members)?;
    // Last, since it may need a look at all memories: a call that is refused anyway does not cost one.
    let Some(measure) = measure(view, session, call, &members, now)? else {
        return Ok(CallOutcome::Survey);
    };
    let taken = taken_tokens(call, &members);
    let edit = CheckedEdit {
        tool,
        call,
        members,
        measure,
        taken,
    };
    Ok(edit.carry_out(view.agent, session, actor, now))
}

/// The checks that come before the arguments.
fn admit(session: &Session, tool: Option<Tool>) -> Result<Tool, Refusal> {
    let allowed = || allowed_tools(session.mode);
    let tool = tool.ok_or_else(|| Refusal::UnknownTool { allowed: allowed() })?;
    if !tool.is_in(session.mode) {
        return Err(Refusal::Mode {
            tool: tool.as_str(),
            allowed: allowed(),
        });
    }
    if tool.is_edit() && session.edits >= EDIT_CAP {
        return Err(Refusal::EditCap { cap: EDIT_CAP });
    }
    Ok(tool)
}

fn allowed_tools(mode: Mode) -> String {
    let names: Vec<&str> = Tool::ALL
        .into_iter()
        .filter(|tool| tool.is_in(mode))
        .map(Tool::as_str)
        .collect();
    names.join(", ")
}

fn faulty(
    members: &[&Memory],
    fault: impl Fn(&Memory) -> bool,
    refusal: impl Fn(Vec<Number>) -> Refusal,
) -> Result<(), Refusal> {
    let numbers: Vec<Number> = members
        .iter()
        .filter(|memory| fault(memory))
        .map(|memory| memory.number)
        .collect();
    if numbers.is_empty() {
        Ok(())
    } else {
        Err(refusal(numbers))
    }
}

fn kept_core<'a>(
    memories: &'a BTreeMap<Number, Memory>,
    numbers: &[Number],
) -> Result<Vec<&'a Memory>, Refusal> {
    let kept = |number: &Number| memories.get(number).filter(|memory| memory.is_kept());
    // The refusal names all of them, so that a model need not find them one call at a time.
    let missing: Vec<Number> = numbers
        .iter()
        .copied()
        .filter(|number| kept(number).is_none())
        .collect();
    if !missing.is_empty() {
        return Err(Refusal::NotFound { numbers: missing });
    }
    let members: Vec<&Memory> = numbers.iter().filter_map(kept).collect();
    faulty(
        &members,
        |memory| memory.kind != Kind::Core,
        |numbers| Refusal::NotCore { numbers },
    )?;
    Ok(members)
}

fn check_constitutional(
    view: View<'_>,
    call: &KnifeCall,
    members: &[&Memory],
) -> Result<(), Refusal> {
    // An update may tighten a constitutional memory; a merge or a delete of one is refused whatever it
    // says.
    if let (KnifeCall::Update { content, .. }, [memory]) = (call, members) {
        return match memory.is_constitutional() {
            true => check_tightening(view, memory, content),
            false => Ok(()),
        };
    }
    faulty(members, Memory::is_constitutional, |numbers| {
        Refusal::Constitutional { numbers }
    })
}

/// The tags that are immutable now, and those that were when the session began, folded: a tag that is taken from
/// the list meanwhile still counts (SPEC 3.14).
pub(super) fn immutable_tags(agent: &Agent, session: &Session) -> BTreeSet<String> {
    let mut immutable = agent.settings.immutable_tag_set();
    immutable.extend(session.immutable_tags.iter().flatten().map(|tag| fold(tag)));
    immutable
}

fn check_immutable(agent: &Agent, session: &Session, members: &[&Memory]) -> Result<(), Refusal> {
    let immutable = immutable_tags(agent, session);
    faulty(
        members,
        |memory| memory.tags.contains_any(&immutable),
        |numbers| Refusal::Immutable { numbers },
    )
}

fn taken_tokens(call: &KnifeCall, members: &[&Memory]) -> u64 {
    let before: u64 = members.iter().map(|memory| memory.tokens()).sum();
    let after = match call {
        KnifeCall::Consolidate { content, .. } | KnifeCall::Update { content, .. } => {
            tokens(content.expose())
        }
        // A delete leaves nothing. What another memory carries already is in the mass of that one.
        _ => 0,
    };
    // An edit that makes a text longer takes nothing away, and gives no other edit room either: the
    // sum only ever grows.
    before.saturating_sub(after)
}

/// What the breaker looks at in a running session.
pub fn session_gauge(agent: &Agent, session: &Session) -> Gauge {
    let agents = agent.settings.effective_refinement_threshold();
    Gauge {
        // Every open session has this mass. At 0 the breaker never trips (SPEC 3.13).
        pre_session_tokens: session.pre_session_tokens.unwrap_or(0),
        core_tokens: agent.tally.core_tokens,
        removed_tokens: session.removed_tokens,
        // A stricter threshold counts at once, a laxer one from the next session on (SPEC 2.7).
        threshold: session
            .threshold
            .map_or(agents, |fixed| fixed.stricter(agents)),
    }
}

/// An edit that passed every check.
struct CheckedEdit<'a> {
    tool: Tool,
    call: &'a KnifeCall,
    members: Vec<&'a Memory>,
    measure: EditMeasure,
    taken: u64,
}

impl CheckedEdit<'_> {
    fn carry_out(
        self,
        agent: &Agent,
        session: &Session,
        actor: &Actor,
        now: Timestamp,
    ) -> CallOutcome {
        let mut session = session.clone();
        // On the copy of the session that is written with the decision: where that is refused by a
        // conflict, nothing was counted.
        session.edits += 1;
        session.removed_tokens += self.taken;
        session.lost_words += self.measure.words();
        let mut draft = Draft::new(agent.clone(), None, now);
        let (number, changes) = match self.call {
            KnifeCall::Consolidate { content, .. } => {
                session.stats.consolidated += self.members.len() as u32;
                self.consolidate(&mut draft, &session, content)
            }
            KnifeCall::Update { content, .. } => {
                session.stats.updated += 1;
                self.rewrite(&mut draft, &session, content)
            }
            _ => {
                session.stats.deleted += 1;
                // A delete names one memory, and `kept_core` gave one member for each number.
                (self.members[0].number, self.delete(&mut draft, &session))
            }
        };
        // After the draft has counted the edit in: what is measured is the mass that there would be.
        let gauge = session_gauge(&draft.agent, &session);
        let left = EditsLeft {
            edits_left: EDIT_CAP.saturating_sub(session.edits),
            removable_tokens: gauge.removable_tokens(),
        };
        draft.session = Some(session);
        let mut facts = Facts::default()
            .count("tokens_removed", self.taken)
            .count("core_tokens_before", agent.tally.core_tokens)
            .count("core_tokens_after", draft.agent.tally.core_tokens)
            .count("lost_words", self.measure.words());
        if let Some(carrier) = &self.measure.carrier {
            facts = facts.numbers("carried_by", [carrier.number]);
        }
        let body = RecordBody {
            changes,
            lost: self.measure.lost_words(),
            ..RecordBody::default()
        };
        draft.record(actor.clone(), self.action(), Some(number), facts, body);
        // The record is in the draft before the breaker is asked: what tripped it stands in the log, and beside it that
        // it was taken back.
        match gauge.trip() {
            // No decision is given out here that could be written by itself. Whoever has a `Trip`
            // can only have it rolled back.
            Some(limit) => CallOutcome::Tripped(Box::new(Trip {
                draft,
                gauge,
                limit,
                summary: None,
            })),
            None => CallOutcome::Commit(Box::new(draft.finish()), self.result(number, left)),
        }
    }

    /// The wordings of all members, with what this edit lets go marked.
    fn wordings(&self, draft: &Draft, session: &Session) -> Vec<Wording> {
        let all = self.members.iter().flat_map(|memory| &memory.wordings);
        let mut wordings = wording::union(all);
        let (seq, now) = (draft.agent.next_seq, draft.now());
        self.measure.mark(&mut wordings, session, seq, now);
        wordings
    }

    fn consolidate(
        &self,
        draft: &mut Draft,
        session: &Session,
        content: &PrivateText,
    ) -> (Number, Vec<Change>) {
        let earliest = self.members.iter().map(|memory| memory.created_at).min();
        let tags = Tags::union(self.members.iter().map(|memory| &memory.tags));
        let wordings = self.wordings(draft, session);
        // What its wordings say of their origin decides; this is told of a memory that stands for none.
        let door = SavedBy {
            origin: self
                .members
                .iter()
                .map(|one| one.origin())
                .max()
                .unwrap_or_default(),
            added_by: crate::audit::ActorKind::Agent,
        };
        let (number, created) = draft.create(NewMemory {
            kind: Kind::Core,
            content: content.clone(),
            tags,
            // The sources are kept with the wordings.
            source: None,
            created_at: earliest,
            // Constitutional members were refused before, so there is no flag to inherit.
            constitutional: false,
            door,
            wordings: Some(wordings),
        });
        // The new memory comes first: a rehearsal takes the text of the first change as what was written
        // (`rehearse.rs`).
        let mut changes = vec![created];
        changes.extend(self.discard_all(draft));
        (number, changes)
    }

    fn rewrite(
        &self,
        draft: &mut Draft,
        session: &Session,
        content: &PrivateText,
    ) -> (Number, Vec<Change>) {
        // As for a delete: an update names one memory, and `kept_core` gave one member for each number.
        let memory = self.members[0];
        let after = Memory {
            content: content.clone(),
            updated_at: draft.now(),
            wordings: self.wordings(draft, session),
            ..memory.clone()
        };
        (
            memory.number,
            draft.alter(memory.clone(), &after).into_iter().collect(),
        )
    }

    /// Discards the memory. What carries it takes over all that it stood for, as a merge would; where
    /// nothing does, its wordings are marked as let go.
    fn delete(&self, draft: &mut Draft, session: &Session) -> Vec<Change> {
        let memory = self.members[0];
        let Some(carrier) = &self.measure.carrier else {
            let after = Memory {
                discarded_at: Some(draft.now()),
                wordings: self.wordings(draft, session),
                ..memory.clone()
            };
            return draft.alter(memory.clone(), &after).into_iter().collect();
        };
        let after = Memory {
            wordings: wording::union(carrier.wordings.iter().chain(&memory.wordings)),
            tags: Tags::union([&carrier.tags, &memory.tags]),
            created_at: carrier.created_at.min(memory.created_at),
            updated_at: draft.now(),
            ..carrier.clone()
        };
        // The deleted memory comes first: applying a rehearsal tells the two apart by this order.
        let mut changes = self.discard_all(draft);
        changes.extend(draft.alter(carrier.clone(), &after));
        changes
    }

    fn discard_all(&self, draft: &mut Draft) -> Vec<Change> {
        let discarded_at = Some(draft.now());
        self.members
            .iter()
            .filter_map(|&memory| {
                let after = Memory {
                    discarded_at,
                    ..memory.clone()
                };
                draft.alter(memory.clone(), &after)
            })
            .collect()
    }

    fn action(&self) -> Action {
        match self.tool {
            Tool::Consolidate => Action::MemoryRefinementConsolidate,
            Tool::Update => Action::MemoryRefinementUpdate,
            _ => Action::MemoryRefinementDelete,
        }
    }

    fn result(self, number: Number, left: EditsLeft) -> ToolResult {
        let lost = super::result::Lost::of(&self.measure.lost_words());
        match self.call {
            KnifeCall::Consolidate { content, .. } => ToolResult::Consolidated {
                merged_count: self.members.len(),
                number,
                content: content.clone(),
                lost,
                left,
            },
            KnifeCall::Update { content, .. } => ToolResult::Updated {
                number,
                content: content.clone(),
                lost,
                left,
            },
            _ => ToolResult::Deleted {
                number,
                carried_by: self.measure.carrier.map(|carrier| carrier.number),
                lost,
                left,
            },
        }
    }
}

fn protect(
    view: View<'_>,
    session: &Session,
    number: Number,
    actor: &Actor,
    now: Timestamp,
) -> Result<CallOutcome, Refusal> {
    let members = kept_core(view.memories, &[number])?;
    let result = ToolResult::Protected { number };
    // Repeating it is no error and no change, so that it writes nothing.
    let Some(&memory) = members.first().filter(|memory| !memory.is_constitutional()) else {
        return Ok(CallOutcome::Answer(result));
    };
    // Only the agent's and the administrators' own texts become constitutional in a session (SPEC 2.4).
    if memory.origin().weakness() > 0 {
        return Err(Refusal::WeakOrigin {
            number,
            origin: memory.origin(),
        });
    }
    let mut session = session.clone();
    session.stats.protected += 1;
    let mut draft = Draft::new(view.agent.clone(), Some(session), now);
    let after = Memory {
        protected_seq: Some(draft.agent.next_seq),
        updated_at: now,
        ..memory.clone()
    };
    let body = RecordBody {
        changes: draft.alter(memory.clone(), &after).into_iter().collect(),
        ..RecordBody::default()
    };
    draft.record(
        actor.clone(),
        Action::MemoryRefinementProtect,
        Some(number),
        Facts::default(),
        body,
    );
    Ok(CallOutcome::Commit(Box::new(draft.finish()), result))
}

fn complete(
    view: View<'_>,
    session: &Session,
    summary: &PrivateText,
    actor: &Actor,
    now: Timestamp,
) -> CallOutcome {
    let mut session = session.clone();
    session.summary = Some(summary.clone());
    let mut draft = Draft::new(view.agent.clone(), None, now);
    let gauge = session_gauge(&draft.agent, &session);
    // Once more at the end: a threshold that was made stricter, or memories that somebody discarded
    // since the last edit, count here too.
    if let Some(limit) = gauge.trip() {
        draft.session = Some(session);
        return CallOutcome::Tripped(Box::new(Trip {
            draft,
            gauge,
            limit,
            summary: Some(summary.clone()),
        }));
    }
    session.end(State::Completed, None, now);
    session.post_session_tokens = Some(gauge.core_tokens);
    let (stats, lost_words) = (session.stats, session.lost_words);
    draft.agent.last_refinement_at = Some(now);
    draft.agent.note_attempt_end();
    draft.session = Some(session);
    let entry = format!(
        "Refinement session ({}): {}",
        session_entry::measured(
            stats,
            gauge.pre_session_tokens,
            gauge.core_tokens,
            lost_words
        ),
        summary.expose()
    );
    let (number, created) = draft.create(NewMemory::journal(entry));
    let facts =
        rollback::measured(&gauge, gauge.core_tokens, stats).count("lost_words", lost_words);
    let body = RecordBody {
        changes: vec![created],
        summary: Some(summary.clone()),
        ..RecordBody::default()
    };
    draft.record(
        actor.clone(),
        Action::MemoryRefinementComplete,
        Some(number),
        facts,
        body,
    );
    CallOutcome::Commit(
        Box::new(draft.finish()),
        ToolResult::RefinementComplete {
            summary: summary.clone(),
            stats,
            pre_session_tokens: gauge.pre_session_tokens,
            post_session_tokens: gauge.core_tokens,
        },
    )
}

/// A call that trips the breaker, waiting for the session's history to be rolled back with it.
#[derive(Debug, Clone)]
pub struct Trip {
    draft: Draft,
    gauge: Gauge,
    limit: EndReason,
    summary: Option<PrivateText>,
}

impl Trip {
    /// Rolls the whole session back, the tripping call included. `history` holds the session's records
    /// written so far, and `memories` every memory that they touch as it stands in the store.
    pub fn roll_back(
        self,
        history: &[Record],
        memories: BTreeMap<Number, Memory>,
    ) -> (Decision, ToolResult) {
        let ended = rollback::end_session(
            self.draft,
            history,
            memories,
            &self.gauge,
            self.limit,
            &Actor::system(),
        );
        let result = ToolResult::RefinementRolledBack {
            reason: ended.entry,
            stats: ended.stats,
            pre_session_tokens: self.gauge.pre_session_tokens,
            post_session_tokens: ended.decision.agent.tally.core_tokens,
            summary: self.summary,
        };
        (ended.decision, result)
    }
}

//! Deciding one call: the checks in their order, the edit, its measure, and the breaker
//! (SPEC 3.8 to 3.15).

use std::collections::{BTreeMap, BTreeSet};

use memoir_details::{Detail, Reading};

use crate::{
    PrivateText, Timestamp,
    agent::{Agent, DetailGuard},
    audit::{Action, Actor, Body, Change, Facts, Record},
    breaker::{EROSION_DAYS, Erosion, Gauge},
    draft::{Decision, Draft, Stated},
    knife::{Call, Refusal, Request, Tool, ToolResult},
    memory::{Kind, Memory, NewMemory, Number, Tags, tokens},
    rollback,
    session::{EDIT_CAP, EndReason, Mode, Session, State},
    text::{words, words_kept_in_order},
    told,
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
    /// What refinement removed over [`EROSION_DAYS`], this session included, in tokens (SPEC 3.14).
    pub eroded_tokens: u64,
    /// The erosion floor, 0 to 1.
    pub erosion_floor: f64,
    /// For a delete: kept core memories other than the one deleted that carry its rarest detail.
    pub elsewhere: &'a [PrivateText],
    /// For a delete: the memory's text as read, where the use case has read it to look elsewhere.
    pub reading: Option<&'a Reading>,
}

/// What becomes of a call.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// It changes nothing.
    Answer(ToolResult),
    /// It is a search over all kept core memories.
    Search(Call),
    /// It is to be written, and answered once it is.
    Commit(Box<Decision>, ToolResult),
    /// It trips the breaker: the session is to be rolled back in the same transaction.
    Tripped(Box<Trip>),
}

/// Decides one call. `actor` is the agent.
pub fn decide(view: View<'_>, request: &Request, actor: &Actor, now: Timestamp) -> Outcome {
    match attempt(view, request, actor, now) {
        Ok(outcome) => outcome,
        Err(refusal) => Outcome::Answer(refusal.into()),
    }
}

fn attempt(
    view: View<'_>,
    request: &Request,
    actor: &Actor,
    now: Timestamp,
) -> Result<Outcome, Refusal> {
    let session = view
        .session
        .filter(|session| session.state == State::Open)
        .ok_or(Refusal::SessionOver)?;
    let tool = admit(session, request.tool)?;
    let call = request.call.as_ref().map_err(Clone::clone)?;
    match call {
        Call::Search { .. } => return Ok(Outcome::Search(call.clone())),
        Call::Complete { summary } => return Ok(complete(view, session, summary, actor, now)),
        Call::Protect { number } => return protect(view, session, *number, actor, now),
        Call::Consolidate { .. } | Call::Update { .. } | Call::Delete { .. } => {}
    }
    let members = kept_core(view.memories, call.numbers())?;
    check_constitutional(call, &members)?;
    check_immutable(view.agent, &members)?;
    let (lost_details, stated) = guard_details(view, call, &members)?;
    let taken = taken_tokens(call, &members);
    check_erosion(view, taken)?;
    let edit = Edit {
        tool,
        call,
        members,
        lost_details,
        stated,
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

fn check_constitutional(call: &Call, members: &[&Memory]) -> Result<(), Refusal> {
    match (call, members) {
        (Call::Update { content, .. }, [memory]) => match &memory.protected_wording {
            Some(wording) => check_tightening(memory, wording, content),
            None => Ok(()),
        },
        _ => faulty(members, Memory::is_constitutional, |numbers| {
            Refusal::Constitutional { numbers }
        }),
    }
}

/// SPEC 3.10: every detail and three quarters of the words, in their order, of the protected wording
/// survive; and since the wording may only be tightened, nothing is added.
fn check_tightening(
    memory: &Memory,
    wording: &PrivateText,
    content: &PrivateText,
) -> Result<(), Refusal> {
    let refuse = |problem, details: Vec<PrivateText>| {
        Err(Refusal::NotTightened {
            number: memory.number,
            problem,
            details,
        })
    };
    let lost = surfaces(memoir_details::lost(&[wording.expose()], content.expose()));
    if !lost.is_empty() {
        return refuse("This would be lost:", lost);
    }
    let added = surfaces(memoir_details::lost(&[content.expose()], wording.expose()));
    if !added.is_empty() {
        return refuse("This was not in it:", added);
    }
    let (protected, written) = (words(wording.expose()), words(content.expose()));
    let kept = words_kept_in_order(&protected, &written);
    if kept * 4 < protected.len() * 3 {
        let surviving: BTreeSet<&String> = written.iter().collect();
        let gone: BTreeSet<&String> = protected
            .iter()
            .filter(|word| !surviving.contains(word))
            .collect();
        let problem = if gone.is_empty() {
            "Fewer than three quarters of its words would survive in their order."
        } else {
            "Fewer than three quarters of its words would survive in their order. These would be lost:"
        };
        return refuse(
            problem,
            gone.into_iter().map(|word| word.as_str().into()).collect(),
        );
    }
    if written.len() > protected.len() {
        return refuse(
            "The new text has more words than the one protected.",
            Vec::new(),
        );
    }
    Ok(())
}

fn surfaces(details: Vec<Detail>) -> Vec<PrivateText> {
    details
        .iter()
        .map(|detail| detail.surface().into())
        .collect()
}

fn check_immutable(agent: &Agent, members: &[&Memory]) -> Result<(), Refusal> {
    let immutable = agent.settings.immutable_tag_set();
    faulty(
        members,
        |memory| memory.tags.contains_any(&immutable),
        |numbers| Refusal::Immutable { numbers },
    )
}

/// What the guard found lost, and what it read to find it.
fn guard_details(
    view: View<'_>,
    call: &Call,
    members: &[&Memory],
) -> Result<(Vec<PrivateText>, Vec<Stated>), Refusal> {
    let guard = view.agent.settings.effective_detail_guard();
    if guard == DetailGuard::Off {
        return Ok((Vec::new(), Vec::new()));
    }
    let (lost, stated) = match call {
        Call::Consolidate { content, .. } => {
            let written = (view.agent.next_number, content);
            lost_by_writing(members, written, false)
        }
        Call::Update { number, content } => lost_by_writing(members, (*number, content), true),
        _ => lost_by_deleting(view, members),
    };
    let details = surfaces(lost);
    if guard == DetailGuard::Refuse && !details.is_empty() {
        return Err(Refusal::DetailsLost { details });
    }
    Ok((details, stated))
}

fn keys(reading: &Reading) -> Vec<String> {
    reading
        .details()
        .iter()
        .map(|detail| detail.key().to_owned())
        .collect()
}

/// `in_place`: the text is written into the one member, instead of into a new memory.
fn lost_by_writing(
    members: &[&Memory],
    (number, content): (Number, &PrivateText),
    in_place: bool,
) -> (Vec<Detail>, Vec<Stated>) {
    let written = Reading::of(content.expose());
    let replaced: Vec<Reading> = members
        .iter()
        .map(|memory| Reading::of(memory.content.expose()))
        .collect();
    let lost = memoir_details::lost_between(&replaced.iter().collect::<Vec<_>>(), &written);
    let mut stated: Vec<Stated> = members
        .iter()
        .zip(&replaced)
        .map(|(memory, reading)| Stated {
            number: memory.number,
            before: keys(reading),
            after: Vec::new(),
        })
        .collect();
    match stated.first_mut().filter(|_| in_place) {
        Some(own) => own.after = keys(&written),
        None => stated.push(Stated {
            number,
            before: Vec::new(),
            after: keys(&written),
        }),
    }
    (lost, stated)
}

/// What no single other memory carries: the details that are absent from the one among those elsewhere
/// that carries most of them (the first, on a tie).
fn lost_by_deleting(view: View<'_>, members: &[&Memory]) -> (Vec<Detail>, Vec<Stated>) {
    let Some(memory) = members.first() else {
        return (Vec::new(), Vec::new());
    };
    let read;
    let reading = match view.reading {
        Some(reading) => reading,
        None => {
            read = Reading::of(memory.content.expose());
            &read
        }
    };
    let lost = view
        .elsewhere
        .iter()
        .map(|other| memoir_details::lost_between(&[reading], &Reading::of(other.expose())))
        .min_by_key(Vec::len);
    let stated = Stated {
        number: memory.number,
        before: keys(reading),
        after: Vec::new(),
    };
    (
        lost.unwrap_or_else(|| reading.details().to_vec()),
        vec![stated],
    )
}

fn taken_tokens(call: &Call, members: &[&Memory]) -> u64 {
    let before: u64 = members.iter().map(|memory| memory.tokens()).sum();
    let after = match call {
        Call::Consolidate { content, .. } | Call::Update { content, .. } => {
            tokens(content.expose())
        }
        _ => 0,
    };
    before.saturating_sub(after)
}

fn check_erosion(view: View<'_>, taken: u64) -> Result<(), Refusal> {
    let erosion = Erosion {
        core_tokens: view.agent.tally.core_tokens,
        removed_tokens: view.eroded_tokens,
        floor: view.erosion_floor,
    };
    if taken == 0 || !erosion.is_below_floor() {
        return Ok(());
    }
    let percent = |share: f64| (share * 100.0).floor() as u32;
    Err(Refusal::ErosionFloor {
        days: EROSION_DAYS,
        percent: percent(erosion.ratio()),
        floor_percent: percent(erosion.floor),
    })
}

/// What the breaker looks at in a running session.
pub fn session_gauge(agent: &Agent, session: &Session) -> Gauge {
    let agents = agent.settings.effective_refinement_threshold();
    Gauge {
        pre_session_tokens: session.pre_session_tokens.unwrap_or(0),
        core_tokens: agent.tally.core_tokens,
        removed_tokens: session.removed_tokens,
        threshold: session
            .threshold
            .map_or(agents, |fixed| fixed.stricter(agents)),
    }
}

/// An edit that passed every check.
struct Edit<'a> {
    tool: Tool,
    call: &'a Call,
    members: Vec<&'a Memory>,
    lost_details: Vec<PrivateText>,
    stated: Vec<Stated>,
    taken: u64,
}

impl Edit<'_> {
    fn carry_out(self, agent: &Agent, session: &Session, actor: &Actor, now: Timestamp) -> Outcome {
        let mut session = session.clone();
        session.edits += 1;
        session.removed_tokens += self.taken;
        let mut draft = Draft::new(agent.clone(), None, now);
        let (number, changes) = match self.call {
            Call::Consolidate { content, .. } => {
                session.stats.consolidated += self.members.len() as u32;
                self.consolidate(&mut draft, content)
            }
            Call::Update { content, .. } => {
                session.stats.updated += 1;
                self.rewrite(&mut draft, content)
            }
            _ => {
                session.stats.deleted += 1;
                (self.members[0].number, self.discard_all(&mut draft))
            }
        };
        let gauge = session_gauge(&draft.agent, &session);
        draft.session = Some(session);
        draft.stated.clone_from(&self.stated);
        let facts = Facts::default()
            .count("tokens_removed", self.taken)
            .count("core_tokens_before", agent.tally.core_tokens)
            .count("core_tokens_after", draft.agent.tally.core_tokens)
            .count("lost_details", self.lost_details.len() as u64);
        let body = Body {
            changes,
            lost_details: self.lost_details.clone(),
            ..Body::default()
        };
        draft.record(actor.clone(), self.action(), Some(number), facts, body);
        match gauge.trip() {
            Some(limit) => Outcome::Tripped(Box::new(Trip {
                draft,
                gauge,
                limit,
                summary: None,
            })),
            None => Outcome::Commit(Box::new(draft.finish()), self.result(number)),
        }
    }

    fn consolidate(&self, draft: &mut Draft, content: &PrivateText) -> (Number, Vec<Change>) {
        let earliest = self.members.iter().map(|memory| memory.created_at).min();
        let tags = Tags::union(self.members.iter().map(|memory| &memory.tags));
        let (number, created) = draft.create(NewMemory {
            kind: Kind::Core,
            content: content.clone(),
            tags,
            source: None,
            created_at: earliest,
            constitutional: false,
        });
        let mut changes = vec![created];
        changes.extend(self.discard_all(draft));
        (number, changes)
    }

    fn rewrite(&self, draft: &mut Draft, content: &PrivateText) -> (Number, Vec<Change>) {
        let memory = self.members[0];
        let after = Memory {
            content: content.clone(),
            updated_at: draft.now(),
            ..memory.clone()
        };
        (
            memory.number,
            draft.alter(memory.clone(), &after).into_iter().collect(),
        )
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

    fn result(self, number: Number) -> ToolResult {
        let lost_details = self.lost_details;
        match self.call {
            Call::Consolidate { content, .. } => ToolResult::Consolidated {
                merged_count: self.members.len(),
                number,
                content: content.clone(),
                lost_details,
            },
            Call::Update { content, .. } => ToolResult::Updated {
                number,
                content: content.clone(),
                lost_details,
            },
            _ => ToolResult::Deleted {
                number,
                lost_details,
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
) -> Result<Outcome, Refusal> {
    let members = kept_core(view.memories, &[number])?;
    let result = ToolResult::Protected { number };
    let Some(&memory) = members.first().filter(|memory| !memory.is_constitutional()) else {
        return Ok(Outcome::Answer(result));
    };
    let mut session = session.clone();
    session.stats.protected += 1;
    let mut draft = Draft::new(view.agent.clone(), Some(session), now);
    let after = Memory {
        protected_wording: Some(memory.content.clone()),
        updated_at: now,
        ..memory.clone()
    };
    let body = Body {
        changes: draft.alter(memory.clone(), &after).into_iter().collect(),
        ..Body::default()
    };
    draft.record(
        actor.clone(),
        Action::MemoryRefinementProtect,
        Some(number),
        Facts::default(),
        body,
    );
    Ok(Outcome::Commit(Box::new(draft.finish()), result))
}

fn complete(
    view: View<'_>,
    session: &Session,
    summary: &PrivateText,
    actor: &Actor,
    now: Timestamp,
) -> Outcome {
    let mut session = session.clone();
    session.summary = Some(summary.clone());
    let mut draft = Draft::new(view.agent.clone(), None, now);
    let gauge = session_gauge(&draft.agent, &session);
    if let Some(limit) = gauge.trip() {
        draft.session = Some(session);
        return Outcome::Tripped(Box::new(Trip {
            draft,
            gauge,
            limit,
            summary: Some(summary.clone()),
        }));
    }
    session.end(State::Completed, None, now);
    session.post_session_tokens = Some(gauge.core_tokens);
    let stats = session.stats;
    draft.agent.last_refinement_at = Some(now);
    draft.agent.note_attempt_end();
    draft.session = Some(session);
    let entry = format!(
        "Refinement session ({}): {}",
        told::measured(stats, gauge.pre_session_tokens, gauge.core_tokens),
        summary.expose()
    );
    let (number, created) = draft.create(NewMemory::journal(entry));
    let facts = rollback::measured(&gauge, gauge.core_tokens, stats);
    let body = Body {
        changes: vec![created],
        summary: Some(summary.clone()),
        ..Body::default()
    };
    draft.record(
        actor.clone(),
        Action::MemoryRefinementComplete,
        Some(number),
        facts,
        body,
    );
    Outcome::Commit(
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
            reason: ended.told,
            stats: ended.stats,
            pre_session_tokens: self.gauge.pre_session_tokens,
            post_session_tokens: ended.decision.agent.tally.core_tokens,
            summary: self.summary,
        };
        (ended.decision, result)
    }
}

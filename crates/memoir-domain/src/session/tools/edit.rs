//! Deciding one call: the checks in their order, the edit, its measure, and the breaker (SPEC 3.8 to 3.15).
//!
//! [`attempt`] is the rule of an edit, in the order of its checks; the first that fails determines the result. An edit
//! that trips the breaker does not become a decision. It becomes a [`Trip`], which is given the session's history and
//! then yields the edit, the rollback, its record and the journal entry as one decision: there is no way to write the
//! one without the other.

use std::collections::{BTreeMap, BTreeSet};

use memoir_text::{Allowed, SummarySource, is_same_text, same_text_key, unsupported};

use crate::{
    agent::{Agent, LossGuard, Mode},
    change::{
        age_rule::{self, AgeShare},
        draft::{Decision, Draft},
        memories::AllMemories,
        replace::REPLACED_BY,
    },
    log::audit::{Action, Actor, Change, Facts, GUARD, MEMBERS, Record, RecordBody},
    memory::{
        ArchivedBy, Kind, Memory, NewMemory, Number, ReportKind, Tags,
        origin::{ActorKind, Origin, SavedBy},
        tokens,
    },
    session::{
        EDIT_CAP, EndReason, Session, State,
        breaker::Gauge,
        rollback, session_entry,
        tools::{
            AfterEdit, MemorySearch, Refusal, TextLimit, Tool, ToolCall, ToolRequest, ToolResult,
        },
    },
    text::{fold, private::PrivateText},
    time::Timestamp,
};

/// The input of a decision, loaded by the use case.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The agent.
    pub agent: &'a Agent,
    /// Its system prompt, in which names may occur that a summary may use; `None` where it has none.
    pub system_prompt: Option<&'a PrivateText>,
    /// The session called; `None` where there is none.
    pub session: Option<&'a Session>,
    /// All memories of the agent for an edit; for a protect at least the one that it names.
    pub memories: &'a AllMemories,
}

/// The outcome of a call.
#[derive(Debug, Clone)]
pub enum CallOutcome {
    /// It changes nothing.
    Answer(ToolResult),
    /// It is a search over all core and archival memories.
    Search(MemorySearch),
    /// It is to be written, and the result given once it is.
    Commit(Box<Decision>, ToolResult),
    /// It trips the breaker: the session is to be rolled back in the same transaction.
    Tripped(Box<Trip>),
}

/// Decides one call. `actor` is the agent.
pub fn decide(view: View<'_>, request: &ToolRequest, actor: &Actor, now: Timestamp) -> CallOutcome {
    match attempt(view, request, actor, now) {
        Ok(outcome) => outcome,
        Err(refusal) => CallOutcome::Answer(refusal.into()),
    }
}

fn attempt(
    view: View<'_>,
    request: &ToolRequest,
    actor: &Actor,
    now: Timestamp,
) -> Result<CallOutcome, Refusal> {
    let session = view
        .session
        // A session that waits for consent has no tools yet.
        .filter(|session| session.state == State::Open)
        .ok_or(Refusal::SessionOver)?;
    admit(session, request.tool)?;
    let call = request.call.as_ref().map_err(Clone::clone)?;
    let edit = match call {
        ToolCall::Search(search) => return Ok(CallOutcome::Search(search.clone())),
        ToolCall::Complete { summary } => return Ok(complete(view, session, summary, actor, now)),
        ToolCall::Protect { number } => return protect(view, session, *number, actor, now),
        ToolCall::Consolidate { content, .. } => Edit::Consolidate { content },
        ToolCall::Update { content, .. } => Edit::Update { content },
        ToolCall::Delete { replaced_by, .. } => Edit::Delete {
            replaced_by: *replaced_by,
        },
    };
    let limits = SessionLimits::of(view.agent, session);
    // Under `off` the core size alone decides, and nothing comes under another memory (SPEC 3.14).
    let replaced_by = edit
        .replaced_by()
        .filter(|_| limits.guard != LossGuard::Off);
    let named: Vec<Number> = call.numbers().iter().copied().chain(replaced_by).collect();
    let mut members = active_core(view.memories, &named)?;
    let in_place = replaced_by.and_then(|_| members.pop());
    check_constitutional(edit, &members)?;
    check_immutable(&limits, &members)?;
    let plan = Plan::new(view, &limits, edit, members);
    plan.check_origins()?;
    if let Some(memory) = in_place.filter(|memory| memory.is_summary) {
        return Err(Refusal::SummaryInPlace(memory.number));
    }
    plan.check_guard()?;
    // Under `off` the core size alone decides (SPEC 3.14).
    if limits.guard != LossGuard::Off {
        plan.check_budget()?;
        plan.check_supported()?;
        plan.check_shorter()?;
        plan.check_summaries()?;
        plan.check_ages()?;
    }
    Ok(plan.carry_out(session, actor, now))
}

/// The checks that come before the arguments.
fn admit(session: &Session, tool: Option<Tool>) -> Result<(), Refusal> {
    let allowed = || {
        let tools = Tool::ALL.into_iter();
        let tools = tools.filter(|tool| tool.is_in(session.mode));
        tools.map(Tool::as_str).collect::<Vec<_>>().join(", ")
    };
    let tool = tool.ok_or_else(|| Refusal::UnknownTool(allowed()))?;
    if !tool.is_in(session.mode) {
        return Err(Refusal::Mode {
            tool: tool.as_str(),
            allowed: allowed(),
        });
    }
    if tool.is_edit() && session.edits >= EDIT_CAP {
        return Err(Refusal::EditCap(EDIT_CAP));
    }
    Ok(())
}

/// A call of one of the three tools that edit, without its members.
#[derive(Clone, Copy)]
enum Edit<'a> {
    Consolidate { content: &'a PrivateText },
    Update { content: &'a PrivateText },
    Delete { replaced_by: Option<Number> },
}

impl Edit<'_> {
    /// The memory that is to take the place of deleted ones.
    fn replaced_by(self) -> Option<Number> {
        match self {
            Self::Delete { replaced_by } => replaced_by,
            Self::Consolidate { .. } | Self::Update { .. } => None,
        }
    }
}

/// The active core memories of these numbers. A refusal names all that are at fault, so that a model need not find
/// them one call at a time.
fn active_core<'a>(
    memories: &'a AllMemories,
    numbers: &[Number],
) -> Result<Vec<&'a Memory>, Refusal> {
    let is_missing = |number: &Number| memories.active(*number).is_none();
    let missing: Vec<Number> = numbers.iter().copied().filter(is_missing).collect();
    if !missing.is_empty() {
        return Err(Refusal::NotFound(missing));
    }
    let members = numbers.iter().filter_map(|number| memories.active(*number));
    let members: Vec<&Memory> = members.collect();
    let place_of = |memory: &Memory| memories.now_at(memory).map(|now| now.number);
    let others: Vec<(Number, Option<Number>)> = members
        .iter()
        .filter(|memory| memory.kind() != Kind::Core)
        .map(|memory| (memory.number, place_of(memory)))
        .collect();
    if !others.is_empty() {
        return Err(Refusal::NotCore(others));
    }
    Ok(members)
}

fn faulty(
    members: &[&Memory],
    fault: impl Fn(&Memory) -> bool,
    refusal: impl Fn(Vec<Number>) -> Refusal,
) -> Result<(), Refusal> {
    let faulty = members.iter().filter(|memory| fault(memory));
    let numbers: Vec<Number> = faulty.map(|memory| memory.number).collect();
    if numbers.is_empty() {
        Ok(())
    } else {
        Err(refusal(numbers))
    }
}

fn check_constitutional(edit: Edit<'_>, members: &[&Memory]) -> Result<(), Refusal> {
    let changes_form_only = |memory: &Memory| match edit {
        Edit::Update { content } => is_same_text(memory.content.expose(), content.expose()),
        Edit::Consolidate { .. } | Edit::Delete { .. } => false,
    };
    faulty(
        members,
        |memory| memory.is_constitutional() && !changes_form_only(memory),
        Refusal::Constitutional,
    )
}

fn check_immutable(limits: &SessionLimits, members: &[&Memory]) -> Result<(), Refusal> {
    faulty(
        members,
        |memory| memory.tags.contains_any(&limits.immutable_tags),
        Refusal::Immutable,
    )
}

/// The tags that are immutable now, and those that were when the session began, folded: a tag that is taken from
/// the list meanwhile still counts (SPEC 3.14).
fn immutable_tags(agent: &Agent, session: &Session) -> BTreeSet<String> {
    let mut immutable = agent.settings.immutable_tag_set();
    immutable.extend(session.immutable_tags.iter().flatten().map(|tag| fold(tag)));
    immutable
}

/// The stricter of the present loss guard and the one at the session's start (SPEC 3.14).
pub(crate) fn session_guard(agent: &Agent, at_start: Option<LossGuard>) -> LossGuard {
    let current = agent.settings.effective_loss_guard();
    current.max(at_start.unwrap_or(current))
}

/// The breaker's input in a session that runs or waits to be opened; without one, in a session that begins now.
pub fn session_gauge(agent: &Agent, session: Option<&Session>) -> Gauge {
    let agents = agent.settings.effective_refinement_threshold();
    let core_tokens = agent.tally.core_tokens;
    let at_start = session.and_then(|session| session.pre_session_tokens);
    let fixed = session.and_then(|session| session.threshold);
    Gauge {
        pre_session_tokens: at_start.unwrap_or(core_tokens),
        core_tokens,
        removed_tokens: session.map_or(0, |session| session.removed_tokens),
        // A stricter threshold applies immediately, a laxer one from the next session on (SPEC 2.7).
        threshold: fixed.map_or(agents, |fixed| fixed.stricter(agents)),
    }
}

/// The limits of a session beside the breaker, as they hold now (SPEC 3.14). Each is the stricter one by the budget
/// at its start and the present one.
#[derive(Debug, Clone)]
pub struct SessionLimits {
    /// The loss guard.
    pub guard: LossGuard,
    /// Whether the session began over its budget, and the agent was not asked within it.
    pub is_over_budget: bool,
    /// The larger budget, in tokens: for the floor and the age rule.
    pub larger_budget: u64,
    /// The smaller budget, in tokens: for the shares of summaries and of constitutional memories.
    pub smaller_budget: u64,
    mode: Mode,
    threshold: crate::agent::Threshold,
    /// The tags that are immutable in it, folded.
    pub(crate) immutable_tags: BTreeSet<String>,
}

impl SessionLimits {
    /// Of a session that is open, or that would be opened now.
    pub fn of(agent: &Agent, session: &Session) -> Self {
        let current = agent.settings.effective_core_token_budget();
        let at_start = session.core_token_budget.unwrap_or(current);
        let gauge = session_gauge(agent, Some(session));
        Self {
            guard: session_guard(agent, session.loss_guard),
            is_over_budget: gauge.pre_session_tokens > at_start && !session.asked_within_budget,
            larger_budget: at_start.max(current),
            smaller_budget: at_start.min(current),
            mode: session.mode,
            threshold: gauge.threshold,
            immutable_tags: immutable_tags(agent, session),
        }
    }

    /// How much of every age must stay.
    pub fn age_share(&self) -> AgeShare {
        match self.is_over_budget {
            true => AgeShare::OverBudget {
                budget: self.larger_budget,
            },
            false => AgeShare::WithinBudget {
                threshold: self.threshold,
            },
        }
    }

    /// The fewest tokens that must stay in core, over the budget: nine tenths of it.
    pub fn floor(&self) -> u64 {
        (9 * self.larger_budget).div_ceil(10)
    }

    /// The most tokens that all summaries together may take.
    pub fn most_of_summaries(&self) -> u64 {
        self.smaller_budget / 3
    }

    /// The most tokens that all constitutional memories together may take after a protect.
    pub fn most_of_constitutional(&self) -> u64 {
        self.smaller_budget / 2
    }

    /// The tokens that can still leave before the breaker trips or the floor is reached.
    pub fn removable_tokens(&self, gauge: &Gauge) -> u64 {
        let by_breaker = gauge.removable_tokens();
        // Where nothing can leave but what is free, no floor binds.
        let has_floor = self.guard == LossGuard::Archive && self.mode == Mode::Full;
        match self.is_over_budget && has_floor {
            true => by_breaker.min(gauge.core_tokens.saturating_sub(self.floor())),
            false => by_breaker,
        }
    }

    /// Whether a session may do more where there are free copies: its prompt then states whether there are any.
    pub(crate) fn depends_on_copies(&self) -> bool {
        self.guard != LossGuard::Off || self.mode == Mode::DedupOnly
    }

    /// Whether another rule than the age rule lets a session move the memory.
    pub fn may_move(&self, memory: &Memory) -> bool {
        !memory.is_constitutional() && !memory.tags.contains_any(&self.immutable_tags)
    }
}

/// The effect of an edit on its members.
#[derive(Clone, Copy)]
enum Effect<'a> {
    /// The text changes in form only, in place.
    Form { content: &'a PrivateText },
    /// One member stays, and the others leave under it.
    Keep { stays: &'a Memory },
    /// A new text takes the place of the members, which leave under it.
    Summary { content: &'a PrivateText },
    /// The members leave, under the memory that takes their place where there is one.
    Archive { under: Option<Number> },
    /// Under `off`: a new text takes the place of the members, which are discarded.
    Merge { content: &'a PrivateText },
    /// Under `off`: the text is rewritten in place.
    Rewrite { content: &'a PrivateText },
    /// Under `off`: the members are discarded.
    Discard,
}

impl<'a> Effect<'a> {
    fn of(edit: Edit<'a>, members: &[&'a Memory], guard: LossGuard) -> Self {
        let is_off = guard == LossGuard::Off;
        match edit {
            Edit::Consolidate { content } if is_off => Self::Merge { content },
            Edit::Consolidate { content } => {
                let said = members.iter().filter(|memory| {
                    !memory.is_summary && is_same_text(memory.content.expose(), content.expose())
                });
                // Of several with this text the one of the strongest origin that was recorded first, so that the
                // others are free.
                let stays = said.min_by_key(|memory| {
                    (memory.origin().weakness(), memory.core_seq, memory.number)
                });
                match stays {
                    Some(stays) => Self::Keep { stays },
                    None => Self::Summary { content },
                }
            }
            Edit::Update { content } => {
                let is_form = members
                    .iter()
                    .all(|memory| is_same_text(memory.content.expose(), content.expose()));
                match (is_form, is_off) {
                    (true, _) => Self::Form { content },
                    (false, true) => Self::Rewrite { content },
                    (false, false) => Self::Summary { content },
                }
            }
            Edit::Delete { .. } if is_off => Self::Discard,
            Edit::Delete { replaced_by } => Self::Archive { under: replaced_by },
        }
    }

    /// The new text; `None` where there is none.
    fn content(self) -> Option<&'a PrivateText> {
        match self {
            Self::Form { content }
            | Self::Summary { content }
            | Self::Merge { content }
            | Self::Rewrite { content } => Some(content),
            Self::Keep { .. } | Self::Archive { .. } | Self::Discard => None,
        }
    }
}

/// An edit whose members are known: what it does, what leaves, and what of it is not free.
struct Plan<'a> {
    view: View<'a>,
    limits: &'a SessionLimits,
    edit: Edit<'a>,
    members: Vec<&'a Memory>,
    effect: Effect<'a>,
    /// The members that leave, without the one that stays.
    leaving: Vec<&'a Memory>,
    leaving_numbers: BTreeSet<Number>,
    /// The members that are not free to go as they go (SPEC 3.14).
    not_free: Vec<Number>,
}

impl<'a> Plan<'a> {
    fn new(
        view: View<'a>,
        limits: &'a SessionLimits,
        edit: Edit<'a>,
        members: Vec<&'a Memory>,
    ) -> Self {
        let effect = Effect::of(edit, &members, limits.guard);
        let leaving: Vec<&Memory> = match effect {
            Effect::Form { .. } => Vec::new(),
            Effect::Keep { stays } => {
                let others = members.iter().copied();
                others
                    .filter(|memory| memory.number != stays.number)
                    .collect()
            }
            Effect::Summary { .. }
            | Effect::Archive { .. }
            | Effect::Merge { .. }
            | Effect::Rewrite { .. }
            | Effect::Discard => members.clone(),
        };
        let leaving_numbers: BTreeSet<Number> =
            leaving.iter().map(|memory| memory.number).collect();
        let is_free = |memory: &Memory| {
            effect.content().is_none()
                && !memory.is_summary
                && view.memories.cover(memory, &leaving_numbers).is_some()
        };
        let not_free = leaving.iter().filter(|memory| !is_free(memory));
        let not_free = not_free.map(|memory| memory.number).collect();
        Self {
            view,
            limits,
            edit,
            members,
            effect,
            leaving,
            leaving_numbers,
            not_free,
        }
    }

    /// The texts that a new text rests on: of a summary those of its sources (SPEC 3.9 d).
    fn sources(&self) -> Vec<&'a Memory> {
        let sources = self.members.iter().flat_map(|member| {
            let own = (!member.is_summary).then_some(*member);
            let under = member
                .is_summary
                .then(|| self.view.memories.sources(member.number));
            own.into_iter().chain(under.into_iter().flatten())
        });
        sources.collect()
    }

    fn check_origins(&self) -> Result<(), Refusal> {
        let is_mixing =
            matches!(self.edit, Edit::Consolidate { .. }) && self.limits.guard != LossGuard::Off;
        let (external, others): (Vec<&Memory>, Vec<&Memory>) = self
            .members
            .iter()
            .partition(|memory| memory.origin() == Origin::External);
        if !is_mixing || external.is_empty() || others.is_empty() {
            return Ok(());
        }
        let numbers = |memories: Vec<&Memory>| memories.iter().map(|one| one.number).collect();
        Err(Refusal::MixedOrigins {
            external: numbers(external),
            others: numbers(others),
        })
    }

    fn check_guard(&self) -> Result<(), Refusal> {
        let numbers = || self.not_free.clone();
        match (
            self.not_free.is_empty(),
            self.limits.mode,
            self.limits.guard,
        ) {
            (true, _, _) => Ok(()),
            (false, Mode::DedupOnly, _) => Err(Refusal::NotDuplicates(numbers())),
            (false, Mode::Full, LossGuard::Refuse) => Err(Refusal::Guard(numbers())),
            (false, Mode::Full, LossGuard::Archive | LossGuard::Off) => Ok(()),
        }
    }

    fn check_budget(&self) -> Result<(), Refusal> {
        if self.not_free.is_empty() {
            return Ok(());
        }
        if !self.limits.is_over_budget {
            let makes_summary = matches!(self.edit, Edit::Consolidate { .. })
                && matches!(self.effect, Effect::Summary { .. });
            let has_summary = self.members.iter().any(|memory| memory.is_summary);
            return match makes_summary || has_summary {
                true => Err(Refusal::SummaryWithinBudget),
                false => Ok(()),
            };
        }
        let (tokens, least) = (self.core_tokens_after(), self.limits.floor());
        match tokens < least {
            true => Err(Refusal::Floor { tokens, least }),
            false => Ok(()),
        }
    }

    fn check_supported(&self) -> Result<(), Refusal> {
        let Effect::Summary { content } = self.effect else {
            return Ok(());
        };
        let sources = self.sources();
        let texts: Vec<SummarySource<'_>> = sources
            .iter()
            .map(|memory| SummarySource {
                text: memory.content.expose(),
                date: memory.created_at.calendar_date(),
            })
            .collect();
        // Only an original's own words of relative time may stay: its date stays too.
        let original = match (self.edit, self.members.as_slice()) {
            (Edit::Update { .. }, [member]) if !member.is_summary => Some(member.content.expose()),
            _ => None,
        };
        let allowed = Allowed {
            name: &self.view.agent.name,
            system_prompt: self.view.system_prompt.map_or("", PrivateText::expose),
            relative_time_of: original,
        };
        let added = unsupported(content.expose(), &texts, &allowed);
        match added.is_empty() {
            true => Ok(()),
            false => Err(Refusal::Unsupported(
                added.iter().map(|word| word.as_str().into()).collect(),
            )),
        }
    }

    fn check_shorter(&self) -> Result<(), Refusal> {
        let (content, most, why) = match (self.effect, self.edit) {
            // The age rule counts tokens: a text padded with white space would make room for others to leave. The
            // form without padding does not change, however often the text is rewritten.
            (Effect::Form { content }, _) => (
                content,
                sum(&self.members).max(tokens(&same_text_key(content.expose())) + 1),
                TextLimit::Form,
            ),
            (Effect::Summary { content }, Edit::Update { .. }) => {
                (content, sum(&self.members), TextLimit::Present)
            }
            (Effect::Summary { content }, Edit::Consolidate { .. }) => {
                (content, 3 * sum(&self.sources()) / 4, TextLimit::Sources)
            }
            // No other edit writes a text, or under no limit.
            _ => return Ok(()),
        };
        let tokens = tokens(content.expose());
        match tokens > most {
            true => Err(Refusal::NotShorter { tokens, most, why }),
            false => Ok(()),
        }
    }

    fn check_summaries(&self) -> Result<(), Refusal> {
        let Effect::Summary { content } = self.effect else {
            return Ok(());
        };
        let before = self.view.agent.tally.summary_tokens;
        let members = self.members.iter().filter(|memory| memory.is_summary);
        let gone: u64 = members.map(|memory| memory.tokens()).sum();
        let after = before.saturating_sub(gone) + tokens(content.expose());
        let most = self.limits.most_of_summaries();
        match after <= most || after < before {
            true => Ok(()),
            false => Err(Refusal::SummaryLimit {
                tokens: after,
                most,
            }),
        }
    }

    fn check_ages(&self) -> Result<(), Refusal> {
        // An original that leaves free is not checked, and a summary is no original.
        if self.not_free.is_empty() {
            return Ok(());
        }
        self.check_ages_of(&self.leaving_numbers)
            .map_err(|numbers| {
                let mut others = self.leaving_numbers.clone();
                others.retain(|number| !numbers.contains(number));
                let is_delete = matches!(self.edit, Edit::Delete { .. });
                let passes = is_delete
                    && self.check_ages_of(&others).is_ok()
                    && self.breaker_allows(&others);
                Refusal::AgeLimit {
                    numbers,
                    passing: others.into_iter().filter(|_| passes).collect(),
                }
            })
    }

    /// Checks the age rule where these memories leave. Returns those at fault.
    fn check_ages_of(&self, leaving: &BTreeSet<Number>) -> Result<(), Vec<Number>> {
        let ages = self.view.memories.age_rows(leaving);
        age_rule::check(&ages.rows, self.limits.age_share()).map_err(|places| {
            places
                .into_iter()
                .map(|place| ages.numbers[place])
                .collect()
        })
    }

    /// Whether the session goes on where the members of these numbers leave: no refusal may advise what undoes it.
    fn breaker_allows(&self, leaving: &BTreeSet<Number>) -> bool {
        let View { agent, session, .. } = self.view;
        let members = self.leaving.iter().copied();
        let members = members.filter(|memory| leaving.contains(&memory.number));
        let tokens: u64 = members.map(Memory::tokens).sum();
        let gauge = session.map(|session| session_gauge(agent, Some(session)));
        gauge.is_some_and(|gauge| tokens <= gauge.removable_tokens())
    }

    /// What the edit takes away: the tokens of the memories that it takes out or rewrites, less those of the new
    /// text. An edit that makes a text longer takes nothing away, and gives no other edit room either.
    fn taken_tokens(&self) -> u64 {
        let out = match self.effect {
            Effect::Form { .. } => sum(&self.members),
            _ => sum(&self.leaving),
        };
        out.saturating_sub(self.new_tokens())
    }

    fn core_tokens_after(&self) -> u64 {
        let core_tokens = self.view.agent.tally.core_tokens;
        core_tokens.saturating_sub(sum(&self.leaving)) + self.new_tokens()
    }

    /// The tokens of the new text; 0 where there is none.
    fn new_tokens(&self) -> u64 {
        let content = self.effect.content();
        content.map_or(0, |text| tokens(text.expose()))
    }

    /// The first memory that the edit names.
    fn first(&self) -> Number {
        let first = self.members.first();
        first.map_or(Number(0), |memory| memory.number)
    }

    fn carry_out(self, session: &Session, actor: &Actor, now: Timestamp) -> CallOutcome {
        let agent = self.view.agent;
        let taken = self.taken_tokens();
        let mut draft = Draft::for_agent(agent.clone(), now);
        let written = self.write(&mut draft);
        // On the copy of the session that is written with the decision: where that fails on a conflict, nothing was
        // counted.
        let mut session = session.clone();
        session.edits += 1;
        session.removed_tokens += taken;
        let members = self.members.len() as u32;
        let stats = &mut session.stats;
        let (action, count) = match self.edit {
            Edit::Consolidate { .. } => {
                (Action::MemoryRefinementConsolidate, &mut stats.consolidated)
            }
            Edit::Update { .. } => (Action::MemoryRefinementUpdate, &mut stats.updated),
            Edit::Delete { .. } => (Action::MemoryRefinementDelete, &mut stats.deleted),
        };
        *count += members;
        let archived = written.archived.len() as u32;
        session.archived += archived;
        if written.is_summary {
            session.summaries += 1;
            session.archived_under_summaries += archived;
        }
        // After the draft has counted the edit in: what is compared is the core size that there would be.
        let gauge = session_gauge(draft.agent(), Some(&session));
        let after = AfterEdit {
            edits_left: EDIT_CAP.saturating_sub(session.edits),
            removable_tokens: self.limits.removable_tokens(&gauge),
            core_tokens: gauge.core_tokens,
            budget: agent.settings.effective_core_token_budget(),
        };
        draft.put_session(session);
        let mut facts = Facts::default()
            .count("tokens_removed", taken)
            .count("core_tokens_before", agent.tally.core_tokens)
            .count("core_tokens_after", draft.core_tokens())
            .numbers(MEMBERS, self.members.iter().map(|memory| memory.number))
            .numbers("archived", written.archived.iter().copied())
            .count("summaries", u64::from(written.is_summary));
        if let Effect::Archive {
            under: Some(number),
        } = self.effect
        {
            facts = facts.count(REPLACED_BY, number.0);
        }
        if self.limits.guard == LossGuard::Off {
            facts = facts.code(GUARD, LossGuard::Off.as_str());
        }
        let result = self.result(&written, after);
        draft.record(actor, action, Some(written.number), facts, written.changes);
        // The record is in the draft before the breaker decides: the edit that tripped it is in the log, and beside it
        // that it was undone.
        match gauge.trip() {
            // No decision is given out here that could be written by itself. A `Trip` can only be rolled back.
            Some(limit) => CallOutcome::Tripped(Box::new(Trip {
                draft,
                gauge,
                limit,
                summary: None,
            })),
            None => CallOutcome::Commit(Box::new(draft.finish()), result),
        }
    }

    fn write(&self, draft: &mut Draft) -> Written {
        let now = draft.now();
        match self.effect {
            Effect::Form { content } => self.rewrite(draft, |memory| Memory {
                content: content.clone(),
                updated_at: now,
                ..memory.clone()
            }),
            Effect::Rewrite { content } => {
                let seq = draft.agent().next_seq;
                self.rewrite(draft, |memory| Memory {
                    content: content.clone(),
                    // What is written under `off` counts as an original of this record (SPEC 3.14).
                    is_summary: false,
                    core_seq: Some(seq),
                    // The words are the agent's, and no cleanup may compare them with an administrator's (SPEC 3.4).
                    saved_by: SavedBy {
                        added_by: ActorKind::Agent,
                        ..memory.saved_by
                    },
                    updated_at: now,
                    ..memory.clone()
                })
            }
            Effect::Keep { stays } => {
                let tags = Tags::union(
                    std::iter::once(stays)
                        .chain(self.leaving.iter().copied())
                        .map(|memory| &memory.tags),
                );
                let mut after = Memory {
                    tags,
                    ..stays.clone()
                };
                if after.tags != stays.tags {
                    after.updated_at = now;
                }
                let kept = draft.alter(stays.clone(), &after);
                let mut written = self.move_out(draft, Some(stays.number), stays.number, false);
                written.changes.splice(0..0, kept);
                written
            }
            Effect::Summary { content } => self.create(draft, content, true),
            Effect::Merge { content } => self.create(draft, content, false),
            Effect::Archive { under } => self.move_out(draft, under, self.first(), true),
            Effect::Discard => Written::new(self.first(), self.discard_all(draft)),
        }
    }

    fn rewrite(&self, draft: &mut Draft, after: impl Fn(&Memory) -> Memory) -> Written {
        let altered = self.members.iter().filter_map(|memory| {
            let after = after(memory);
            draft.alter((*memory).clone(), &after)
        });
        Written::new(self.first(), altered.collect())
    }

    /// A new memory with this text: a summary over the members, or under `off` in their stead.
    fn create(&self, draft: &mut Draft, content: &PrivateText, is_summary: bool) -> Written {
        let members = || self.members.iter().copied();
        let is_own = |memory: &&Memory| {
            !memory.is_summary && is_same_text(memory.content.expose(), content.expose())
        };
        // A text that a member has already is that member's: a weaker copy of it lowers nothing (SPEC 3.4).
        let own = members().filter(is_own).map(Memory::origin);
        let own = own.min_by_key(|origin| origin.weakness());
        let weakest = own.or_else(|| {
            let origins = members().map(Memory::origin);
            origins.max_by_key(|origin| origin.weakness())
        });
        let (number, created) = draft.create(NewMemory {
            tags: Tags::union(members().map(|memory| &memory.tags)),
            created_at: members().map(|memory| memory.created_at).min(),
            is_summary,
            ..NewMemory::new(
                Kind::Core,
                content.clone(),
                SavedBy {
                    origin: weakest.unwrap_or_default(),
                    added_by: ActorKind::Agent,
                },
            )
        });
        let mut written = match is_summary {
            true => self.move_out(draft, Some(number), number, false),
            false => Written::new(number, self.discard_all(draft)),
        };
        written.is_summary = is_summary;
        written.changes.insert(0, created);
        written
    }

    /// Moves the leaving originals to the archive, discards leaving summaries, and moves their sources. All come
    /// `under` one memory; with `finds_own`, an original for which none is given comes under the one that makes it
    /// free.
    fn move_out(
        &self,
        draft: &mut Draft,
        under: Option<Number>,
        number: Number,
        finds_own: bool,
    ) -> Written {
        let now = draft.now();
        let memories = self.view.memories;
        let mut written = Written {
            under,
            ..Written::new(number, Vec::new())
        };
        for memory in &self.leaving {
            if memory.is_summary {
                written.changes.extend(draft.discard(memory));
                for source in memories.sources(memory.number) {
                    let moved = source.moved_under(under);
                    written.changes.extend(draft.alter(source.clone(), &moved));
                }
                continue;
            }
            let own = || {
                let cover = memories.cover(memory, &self.leaving_numbers);
                cover.filter(|_| finds_own).map(|memory| memory.number)
            };
            let under = under.or_else(own);
            if memory.number == number {
                written.under = under;
            }
            let archived = memory.archived(under, ArchivedBy::Session, now);
            written
                .changes
                .extend(draft.alter((*memory).clone(), &archived));
            written.archived.push(memory.number);
        }
        written
    }

    fn discard_all(&self, draft: &mut Draft) -> Vec<Change> {
        let members = self.members.iter();
        members.filter_map(|memory| draft.discard(memory)).collect()
    }

    fn result(&self, written: &Written, after: AfterEdit) -> ToolResult {
        let (number, archived) = (written.number, written.archived.clone());
        let memory = self.view.memories.get(number);
        let text = memory.map(|memory| memory.content.clone());
        let content = self.effect.content().cloned().or(text).unwrap_or_default();
        let is_summary = match self.effect {
            Effect::Form { .. } => self.members.iter().all(|memory| memory.is_summary),
            _ => written.is_summary,
        };
        match self.edit {
            Edit::Consolidate { .. } => ToolResult::Consolidated {
                merged_count: self.members.len(),
                number,
                content,
                is_summary,
                archived,
                after,
            },
            Edit::Update { .. } => ToolResult::Updated {
                number,
                content,
                is_summary,
                archived,
                after,
            },
            Edit::Delete { .. } => ToolResult::Deleted {
                number,
                under: written.under,
                archived,
                after,
            },
        }
    }
}

/// What an edit wrote into the draft.
struct Written {
    /// The memory that the record is about: the new one, the one that stays, or the first deleted one.
    number: Number,
    /// What the first deleted one is under.
    under: Option<Number>,
    is_summary: bool,
    /// The originals that moved to the archive, in the order of the members.
    archived: Vec<Number>,
    changes: Vec<Change>,
}

impl Written {
    fn new(number: Number, changes: Vec<Change>) -> Self {
        Self {
            number,
            under: None,
            is_summary: false,
            archived: Vec::new(),
            changes,
        }
    }
}

fn sum(memories: &[&Memory]) -> u64 {
    memories.iter().map(|memory| memory.tokens()).sum()
}

fn protect(
    view: View<'_>,
    session: &Session,
    number: Number,
    actor: &Actor,
    now: Timestamp,
) -> Result<CallOutcome, Refusal> {
    let members = active_core(view.memories, &[number])?;
    let result = ToolResult::Protected { number };
    // Repeating it is no error and no change, so that it writes nothing.
    let Some(&memory) = members.first().filter(|memory| !memory.is_constitutional()) else {
        return Ok(CallOutcome::Answer(result));
    };
    if memory.is_summary {
        return Err(Refusal::ConstitutionalSummary(number));
    }
    // Only texts of the agent and of administrators become constitutional in a session (SPEC 2.4).
    if memory.origin().weakness() > 0 {
        return Err(Refusal::WeakOrigin {
            number,
            origin: memory.origin(),
        });
    }
    let most = SessionLimits::of(view.agent, session).most_of_constitutional();
    let tokens = view.agent.tally.constitutional_tokens + memory.tokens();
    if tokens > most {
        return Err(Refusal::ConstitutionalShare {
            number,
            tokens,
            most,
        });
    }
    let mut session = session.clone();
    session.stats.protected += 1;
    let mut draft = Draft::for_session(view.agent.clone(), session, now);
    let after = Memory {
        protected_seq: Some(draft.agent().next_seq),
        updated_at: now,
        ..memory.clone()
    };
    let changes: Vec<_> = draft.alter(memory.clone(), &after).into_iter().collect();
    draft.record_of(actor, Action::MemoryRefinementProtect, number, changes);
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
    let mut draft = Draft::for_agent(view.agent.clone(), now);
    let gauge = session_gauge(draft.agent(), Some(&session));
    // Once more at the end: a threshold that was made stricter, and memories that were discarded since the last edit,
    // count here too.
    if let Some(limit) = gauge.trip() {
        // Without the report: no record of a completion would lead shredding to it (SPEC 4.4).
        draft.put_session(session);
        return CallOutcome::Tripped(Box::new(Trip {
            draft,
            gauge,
            limit,
            summary: Some(summary.clone()),
        }));
    }
    session.summary = Some(summary.clone());
    session.end(State::Completed, None, now);
    session.threshold = Some(gauge.threshold);
    session.post_session_tokens = Some(gauge.core_tokens);
    draft.note_refinement();
    let entry = session_entry::completed(&session, &gauge, summary.expose());
    let result = ToolResult::RefinementComplete {
        summary: summary.clone(),
        stats: session.stats,
        archived: session.archived,
        summaries: session.summaries,
        pre_session_tokens: gauge.pre_session_tokens,
        post_session_tokens: gauge.core_tokens,
    };
    let facts = rollback::measured(&gauge, gauge.core_tokens, &session);
    draft.put_session(session);
    let (number, created) = draft.create(NewMemory::report(ReportKind::Session, entry));
    let body = RecordBody {
        summary: Some(summary.clone()),
        ..vec![created].into()
    };
    let action = Action::MemoryRefinementComplete;
    draft.record(actor, action, Some(number), facts, body);
    CallOutcome::Commit(Box::new(draft.finish()), result)
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
    /// written so far, and `memories` every memory that they change as it is in the store.
    pub fn roll_back(
        self,
        history: &[Record],
        memories: BTreeMap<Number, Memory>,
    ) -> (Decision, ToolResult) {
        let (draft, gauge, system) = (self.draft, &self.gauge, Actor::system());
        let ended = rollback::end_session(draft, history, memories, gauge, self.limit, &system);
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

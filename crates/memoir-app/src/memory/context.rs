//! The text for the agent's runtime (SPEC 2.3), and the share of the core memories that it shows.

use std::collections::BTreeSet;

use memoir_domain::{
    PrivateText, Timestamp,
    agent::{Agent, ContextBound},
    context::{
        self, ArchiveNote, Bounds, ContextCandidate, ContextExplained, ContextMark, ContextPlan,
        ContextText, CoreShare, CoreShares,
    },
    draft::Decision,
    memory::{Kind, Memory, Number},
    view,
};
use memoir_store::{AgentQuery, Selection};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    core::{AgentHandle, CONFLICT, Loaded, Result, again, load_room::HeldRoom},
    memory::Memories,
    metrics::Metrics,
    shown::{OwnAgent, schemas::AnyObject, views::RefinementDue},
};

/// Which context is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContextRequest {
    /// Most tokens of the whole; `None` for no bound beside those of the agent's settings.
    pub max_tokens: Option<u64>,
    /// Whether `max_tokens` is a client's limit, beyond which constitutional memories are omitted too, the newest first.
    pub is_hard: bool,
    /// Whether the response explains what each part costs and what is omitted. That is for people: as no model reads it,
    /// neither its bound nor its share of the core memories counts as the last one's.
    pub explain: bool,
}

impl ContextRequest {
    /// That of the last context, within its bound as it was noted, for people.
    fn of_last(agent: &Agent) -> Self {
        let last = agent.last_context;
        Self {
            max_tokens: last.and_then(|last| last.max_tokens),
            is_hard: last.is_some_and(|last| last.is_hard),
            explain: true,
        }
    }

    fn bounds(&self, agent: &Agent) -> Bounds {
        Bounds {
            is_hard: self.is_hard,
            ..Bounds::of(&agent.settings, self.max_tokens)
        }
    }
}

view! {
    /// The text for the agent's prompt.
    #[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
    #[schema(as = Context)]
    pub struct ContextView from context: ContextText, due: Option<RefinementDue>, is_explained: bool;
    /// Empty where there are no memories.
    #[schema(value_type = String)]
    pub text: PrivateText = context.text,
    /// The size of the core memories in it.
    pub core_tokens: u64 = context.core_tokens,
    /// The size of the journal in it.
    pub journal_tokens: u64 = context.journal_tokens,
    /// Whether a session is due now, and why.
    #[schema(required)]
    pub refinement_due: Option<RefinementDue> = due,
    /// The numbers of the memories that were omitted for lack of room.
    #[schema(value_type = Vec<u64>)]
    pub left_out: BTreeSet<Number> = context.left_out,
    /// What each part costs, what is omitted and why, and which texts are shown by a copy. Only where it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<AnyObject>)]
    pub explained: Option<ContextExplained> = is_explained.then_some(context.explained),
}

/// How many of the core memories that were recorded in one calendar quarter a context shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct QuarterInContext {
    /// The quarter (UTC) in which they were recorded, such as `2026-Q1`.
    pub quarter: String,
    /// Active core memories.
    pub core_memories: u64,
    /// Those of them that are shown.
    pub shown: u64,
}

/// The share of the core memories that a context shows, within the bounds of the last one that was made. In counts: it
/// is for those who may not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ContextShare {
    /// The bound of the whole that the last context had, in tokens; null where it had none, or none was made yet. It is
    /// noted at most every ten minutes, a client's limit always.
    #[schema(required)]
    pub max_tokens: Option<u64>,
    /// Active core memories.
    pub core_memories: u64,
    /// Those of them that are shown. A memory whose text is shown by a copy counts.
    pub shown: u64,
    /// Those of each calendar quarter in which any were recorded, the earliest first.
    pub by_quarter: Vec<QuarterInContext>,
}

impl ContextShare {
    fn new(max_tokens: Option<u64>, shares: &CoreShares) -> Self {
        let of_quarter = |(&(year, quarter), share): (&(i32, u8), &CoreShare)| QuarterInContext {
            quarter: quarter_name(year, quarter),
            core_memories: share.memories,
            shown: share.shown,
        };
        Self {
            max_tokens,
            core_memories: shares.all.memories,
            shown: shares.all.shown,
            by_quarter: shares.by_quarter.iter().map(of_quarter).collect(),
        }
    }
}

pub(crate) fn quarter_name(year: i32, quarter: u8) -> String {
    format!("{year:04}-Q{quarter}")
}

impl OwnAgent {
    /// The active core memories and the last week's journal, as far as they fit into the room of the agent's settings,
    /// and into `max_tokens` where given.
    ///
    /// # Errors
    /// The store fails.
    pub async fn context(&self, max_tokens: Option<u64>) -> Result<ContextView> {
        let request = ContextRequest {
            max_tokens,
            ..ContextRequest::default()
        };
        self.requested_context(&request).await
    }

    /// The request for what the agent was last shown, to be explained: within the bound of the last context, as it was
    /// noted.
    ///
    /// # Errors
    /// The store fails.
    pub async fn last_context_request(&self) -> Result<ContextRequest> {
        let loaded = self.load(&AgentQuery::default()).await?;
        Ok(ContextRequest::of_last(&loaded.agent))
    }

    /// As [`OwnAgent::context`], by a request.
    ///
    /// # Errors
    /// The store fails.
    pub async fn requested_context(&self, request: &ContextRequest) -> Result<ContextView> {
        if self.memoir.room.counts(self.scope).is_none() {
            // With its counts, which are compared here, so that no later read counts them again.
            self.load(&AgentQuery::default()).await?;
        }
        let journal_after = context::journal_since(self.memoir.now());
        let whole = AgentQuery::of_memories(Selection::Context { journal_after });
        let (own, request) = (self.clone(), *request);
        self.by_size(&whole, async move { own.noted_context(&request).await })
            .await
    }

    async fn noted_context(&self, request: &ContextRequest) -> Result<ContextView> {
        if request.explain {
            return self.measured_context(request).await;
        }
        let (loaded, context) = again(|| self.attempt_context(request)).await?;
        let metrics = self.memoir.state::<Metrics>();
        for (&(year, quarter), share) in &context.shares.by_quarter {
            metrics.shown_in_context(&quarter_name(year, quarter), share);
        }
        let due = self.memoir.refinement_due(&loaded.agent);
        let view = ContextView::new(context, due, request.explain);
        self.note_bound(loaded, request).await;
        Ok(view)
    }

    /// As [`OwnAgent::requested_context`], for measuring it: no model reads it, so that neither its bound nor its share
    /// of the core memories counts as the last one's.
    ///
    /// # Errors
    /// The store fails.
    pub async fn measured_context(&self, request: &ContextRequest) -> Result<ContextView> {
        let (loaded, context) = again(|| self.attempt_context(request)).await?;
        let due = self.memoir.refinement_due(&loaded.agent);
        Ok(ContextView::new(context, due, request.explain))
    }

    /// Notes that the last measured context of that request counts as the last one after all.
    ///
    /// # Errors
    /// The store fails.
    pub async fn note_context(&self, request: &ContextRequest) -> Result<()> {
        let loaded = self.load(&AgentQuery::default()).await?;
        self.note_bound(loaded, request).await;
        Ok(())
    }

    async fn attempt_context(&self, request: &ContextRequest) -> Result<(Loaded, ContextText)> {
        let now = self.memoir.now();
        let journal_after = context::journal_since(now);
        let whole = AgentQuery::of_memories(Selection::Context { journal_after });
        // In one read where all of it is a short load, as nearly always, or where all of it is shown.
        if self.is_short(&whole).await? || self.is_shown_whole(request).await? {
            let loaded = self.load(&whole).await?;
            let core = loaded.memories.iter();
            let core = core.filter(|memory| memory.is_active_core());
            self.check_core(&loaded.agent, core.map(Memory::tokens))?;
            let bounds = request.bounds(&loaded.agent);
            let context = self.memories().built_context(&loaded, now, bounds).await?;
            return Ok((loaded, context));
        }
        let (loaded, marks, room) = load_marks(self, now).await?;
        let candidates = marks.iter().map(|mark| candidate(&loaded.agent, mark));
        let mut plan = ContextPlan::new(candidates, request.bounds(&loaded.agent));
        let summaries = marks.iter().filter(|mark| mark.is_summary);
        let summaries: Vec<Number> = summaries.map(|mark| mark.number).collect();
        let all = marks.len();
        drop((marks, room));
        let archive = self.memories().archive_note(&loaded.agent, summaries);
        let archive = archive.await?;
        loop {
            let wanted = plan.wanted();
            if wanted.is_empty() {
                break;
            }
            let count = wanted.len();
            // One statement finds all of them sooner than one for each.
            let texts = self.load_memories(match count == all {
                true => Selection::Context { journal_after },
                false => Selection::Numbers(wanted),
            });
            let texts = texts.await?;
            if texts.base.memories_version() != loaded.base.memories_version()
                || texts.memories.iter().count() < count
            {
                return Err(CONFLICT);
            }
            for memory in &texts.memories {
                plan.give(memory, &archive);
            }
        }
        Ok((loaded, plan.finish(&archive)))
    }

    /// Whether no bound will omit anything, as far as the sizes of the last read tell: planned first, all would be read
    /// twice. The text does not depend on it.
    async fn is_shown_whole(&self, request: &ContextRequest) -> Result<bool> {
        if request.max_tokens.is_some() {
            return Ok(false);
        }
        let loaded = self.load(&AgentQuery::default()).await?;
        let settings = &loaded.agent.settings;
        let most = settings.effective_context_journal_tokens();
        let journal = self.memoir.room.recent_journal(self.scope);
        let fits = journal.is_some_and(|journal| journal.tokens <= most);
        Ok(fits && settings.context_core_tokens.is_none())
    }

    /// Notes the bound of a context, by which the share of the core memories is counted. Without effect on the context:
    /// where it cannot be written now, a later one notes it.
    async fn note_bound(&self, loaded: Loaded, request: &ContextRequest) {
        let now = self.memoir.now();
        let bound = ContextBound {
            at: now,
            max_tokens: request.max_tokens,
            is_hard: request.is_hard,
        };
        let Some(agent) = loaded.agent.noting_context(bound) else {
            return;
        };
        let decision = Decision::of_sessions(agent, Vec::new());
        let noting = self.commit(&loaded.base, decision);
        if let Err(error) = memoir_store::without_waiting(noting).await {
            tracing::debug!(%error, "the bound of a context is not noted");
        }
    }
}

pub(crate) fn last_bounds(agent: &Agent) -> Bounds {
    ContextRequest::of_last(agent).bounds(agent)
}

/// The agent, and the marks of what may be in its context at `now`, with their room.
async fn load_marks(
    agent: &AgentHandle,
    now: Timestamp,
) -> Result<(Loaded, Vec<ContextMark>, Option<HeldRoom>)> {
    let query = AgentQuery {
        marks_after: Some(context::journal_since(now)),
        ..AgentQuery::default()
    };
    let room = agent.room_for(&query).await?;
    let query = agent.counting(query);
    let mut snapshot = agent.snapshot(&query).await?;
    let mut marks = std::mem::take(&mut snapshot.marks);
    let loaded = agent.read(snapshot, None).await?;
    let core = marks.iter().filter(|mark| mark.kind == Kind::Core);
    agent.check_core(&loaded.agent, core.map(|mark| mark.tokens))?;
    marks.retain(|mark| mark.kind == Kind::Core || context::is_recent_at(mark.created_at, now));
    Ok((loaded, marks, room))
}

fn candidate(agent: &Agent, mark: &ContextMark) -> ContextCandidate {
    let immutable = agent.known_immutable();
    ContextCandidate {
        mark: *mark,
        is_immutable: immutable.map(|immutable| immutable.contains(&mark.number)),
        by_memoir: agent.reports.contains_key(&mark.number),
    }
}

impl Memories<'_> {
    /// The share of the core memories that the agent's context shows now, within the bounds of the last one. No text is
    /// opened.
    ///
    /// # Errors
    /// The agent is erased; the store fails.
    pub async fn context_share(self) -> Result<ContextShare> {
        let now = self.memoir.now();
        let (loaded, marks, room) = load_marks(&self, now).await?;
        let bounds = last_bounds(&loaded.agent);
        let max_tokens = bounds.total;
        let candidates = marks.iter().map(|mark| candidate(&loaded.agent, mark));
        let shares = ContextPlan::new(candidates, bounds).expected_shares();
        drop(room);
        Ok(ContextShare::new(max_tokens, &shares))
    }

    pub(crate) async fn built_context(
        self,
        loaded: &Loaded,
        now: Timestamp,
        bounds: Bounds,
    ) -> Result<ContextText> {
        let summaries = loaded.memories.iter().filter(|memory| memory.is_summary);
        let summaries = summaries.map(|memory| memory.number).collect();
        let archive = self.archive_note(&loaded.agent, summaries).await?;
        Ok(context::build(&loaded.memories, now, bounds, &archive))
    }

    async fn archive_note(self, agent: &Agent, summaries: Vec<Number>) -> Result<ArchiveNote> {
        let around = summaries.iter().copied().collect();
        let links = self.views().links_around(around).await?;
        let sources = summaries.into_iter();
        Ok(ArchiveNote {
            memories: agent.tally.archival_count,
            sources: sources
                .map(|number| (number, links.sources(number).len()))
                .collect(),
        })
    }
}

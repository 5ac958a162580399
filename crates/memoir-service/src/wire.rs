//! What goes over the wire, under the names that programs are written against.

use std::collections::BTreeSet;

use memoir_app::{
    AccessRequestView, AgentView, BlindMemoryView, ContextView, EndNotice, Eyes, KeptView,
    MemoryInput, MemoryView, RecordView, RefinementDue, Saved, SeenMemory, SessionView, Shredded,
    Verification, WordingView,
    sessions::{self, RehearsedMemory, SessionDetail},
};
use memoir_domain::{
    PrivateJson, PrivateText, Timestamp,
    memory::{Kind, Number, Tally},
    session::{Driver, Mode, Stats, Usage},
    wording::Origin,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schemas;

/// A memory. `content`, `tags` and `sources` are for the agent itself, and for an administrator under an access
/// that the agent has granted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Memory {
    /// Its number within the agent, from 1.
    number: u64,
    #[schema(value_type = schemas::Kind)]
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    content: Option<PrivateText>,
    /// Its size: characters / 4, rounded up.
    tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    tags: Option<Vec<PrivateText>>,
    /// Where it came from, in the words of whoever saved what it stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    sources: Option<Vec<PrivateText>>,
    /// Whether no session can delete or merge it.
    constitutional: bool,
    #[schema(value_type = schemas::Origin)]
    origin: Origin,
    /// How many wordings it stands for.
    wordings: u64,
    /// The origin date.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// When a journal entry leaves the prompt, or has left it; null for a core memory.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    fades_at: Option<Timestamp>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    discarded_at: Option<Timestamp>,
    /// When its words were taken out for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    shredded_at: Option<Timestamp>,
}

impl From<SeenMemory> for Memory {
    fn from(seen: SeenMemory) -> Self {
        match seen {
            SeenMemory::Words(view) => view.into(),
            SeenMemory::Blind(view) => view.into(),
        }
    }
}

impl From<MemoryView> for Memory {
    fn from(view: MemoryView) -> Self {
        Self {
            number: view.number.0,
            kind: view.kind,
            tokens: view.tokens,
            tags: Some(view.tags.iter().map(PrivateText::from).collect()),
            content: Some(view.content),
            sources: Some(view.sources),
            constitutional: view.constitutional,
            origin: view.origin,
            wordings: view.wordings,
            created_at: view.created_at,
            updated_at: view.updated_at,
            fades_at: view.fades_at,
            discarded_at: view.discarded_at,
            shredded_at: view.shredded_at,
        }
    }
}

impl From<BlindMemoryView> for Memory {
    fn from(view: BlindMemoryView) -> Self {
        Self {
            number: view.number.0,
            kind: view.kind,
            content: None,
            tokens: view.tokens,
            tags: None,
            sources: None,
            constitutional: view.constitutional,
            origin: view.origin,
            wordings: view.wordings,
            created_at: view.created_at,
            updated_at: view.updated_at,
            fades_at: view.fades_at,
            discarded_at: view.discarded_at,
            shredded_at: view.shredded_at,
        }
    }
}

impl Memory {
    /// Without words, for an administrator.
    pub(crate) fn blind(self) -> Self {
        Self {
            content: None,
            tags: None,
            sources: None,
            ..self
        }
    }

    /// Changes with every change of the memory; the same for whoever may read it and for whoever may not.
    pub(crate) fn etag(&self) -> String {
        etag(&(
            self.number,
            self.kind,
            self.tokens,
            self.constitutional,
            (self.origin, self.wordings),
            (self.created_at, self.updated_at),
            (self.discarded_at, self.shredded_at),
        ))
    }
}

/// A wording that a memory stands for. `content`, `source` and the words let go are for the agent itself, and for
/// an administrator under an access to all that the agent has granted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Wording {
    /// The memory that it was given to: `restore` brings it back by this number.
    number: u64,
    /// The text as its author gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    content: Option<PrivateText>,
    #[schema(value_type = schemas::Origin)]
    origin: Origin,
    /// Where it came from, in the words of whoever saved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    source: Option<PrivateText>,
    /// The origin date.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// What sessions let go of it, oldest first; empty where all of it is said.
    let_go: Vec<LetGo>,
}

/// What one edit of a session let go of a wording.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LetGo {
    #[schema(value_type = String, format = Uuid)]
    session_id: memoir_domain::SessionId,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// The words, in the author's own form.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    words: Option<Vec<PrivateText>>,
    /// How many words count as lost: all of a sentence whose meaning may have changed.
    lost_words: u64,
    /// Whether the memory that stood for it was deleted, and nothing carries it.
    deleted: bool,
}

impl From<WordingView> for Wording {
    fn from(view: WordingView) -> Self {
        let let_go = view.let_go.into_iter().map(|lost| LetGo {
            session_id: lost.session_id,
            at: lost.at,
            words: lost.words,
            lost_words: lost.lost_words,
            deleted: lost.deleted,
        });
        Self {
            number: view.number.0,
            content: view.content,
            origin: view.origin,
            source: view.source,
            created_at: view.created_at,
            let_go: let_go.collect(),
        }
    }
}

/// A tag of what is given.
pub(crate) fn etag(of: &impl Serialize) -> String {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(serde_json::to_vec(of).unwrap_or_default());
    let hex: String = digest
        .iter()
        .take(12)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("\"{hex}\"")
}

/// A memory that was saved.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SavedMemory {
    #[serde(flatten)]
    pub(crate) memory: Memory,
    /// Whether a session is due now, and why.
    #[schema(required, value_type = Option<Due>)]
    refinement_due: Option<RefinementDue>,
}

impl From<Saved> for SavedMemory {
    fn from(saved: Saved) -> Self {
        Self {
            memory: saved.memory.into(),
            refinement_due: saved.refinement_due,
        }
    }
}

/// What is left of a memory that was shredded, for the agent itself.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ShreddedMemory {
    #[serde(flatten)]
    pub(crate) memory: Memory,
    /// Earlier records from which its words were taken.
    redacted_records: u64,
    /// Kept memories that still say a sentence of it.
    still_said_by: Vec<u64>,
    /// Those that said one and were shredded with it, where that was wished.
    derived: Vec<u64>,
}

impl From<Shredded> for ShreddedMemory {
    fn from(shredded: Shredded) -> Self {
        Self {
            memory: shredded.memory.into(),
            redacted_records: shredded.redacted_records,
            still_said_by: numbers(shredded.still_said_by),
            derived: numbers(shredded.derived),
        }
    }
}

fn numbers(numbers: Vec<Number>) -> Vec<u64> {
    numbers.into_iter().map(|number| number.0).collect()
}

/// That a session is due.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Due {
    #[schema(value_type = schemas::DueReason)]
    reason: String,
}

/// A memory to save.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewMemory {
    /// 1 to 10,000 characters after trimming.
    #[schema(value_type = String, min_length = 1, max_length = 10_000, example = "The kiln is fired on Thursdays.")]
    content: PrivateText,
    /// `core` where it is left out.
    #[serde(default)]
    #[schema(value_type = Option<schemas::Kind>)]
    kind: Option<Kind>,
    /// Up to 16, each 1 to 50 characters.
    #[serde(default)]
    #[schema(value_type = Option<Vec<String>>, max_items = 16, example = json!(["pottery"]))]
    tags: Option<Vec<PrivateText>>,
    /// Where it came from: up to 200 characters.
    #[serde(default)]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 200, example = "conversation")]
    source: Option<PrivateText>,
    /// A weaker origin than that of whoever saves it, such as `external` for what is quoted.
    #[serde(default)]
    #[schema(value_type = Option<schemas::Origin>)]
    origin: Option<Origin>,
    /// The origin date; now where it is left out.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime, example = "2026-03-04T12:00:00Z")]
    created_at: Option<Timestamp>,
    /// Beyond the reach of sessions: for an administrator to set.
    #[serde(default)]
    pub(crate) constitutional: Option<bool>,
}

impl From<NewMemory> for MemoryInput {
    fn from(new: NewMemory) -> Self {
        Self {
            content: new.content,
            kind: new.kind,
            tags: new.tags.unwrap_or_default(),
            source: new.source,
            origin: new.origin,
            created_at: new.created_at,
            constitutional: new.constitutional.unwrap_or(false),
        }
    }
}

/// An agent: its settings as set (null where unset), those in force beside them, and its counts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Agent {
    #[schema(value_type = String, format = Uuid)]
    id: memoir_domain::AgentId,
    name: String,
    /// The settings; prompts that the agent itself has set are left out for an administrator, but under an
    /// access to all that the agent has granted.
    #[serde(flatten)]
    #[schema(value_type = schemas::SettingsAsSet)]
    settings: PrivateJson,
    #[schema(required)]
    effective_model: Option<String>,
    effective_refinement_threshold: f64,
    effective_core_token_budget: u64,
    effective_refinement_trigger_tokens: u64,
    effective_immutable_tags: Vec<String>,
    #[schema(value_type = schemas::DuplicateMatch)]
    effective_duplicate_match: memoir_domain::agent::DuplicateMatch,
    #[schema(value_type = schemas::LossGuard)]
    effective_loss_guard: memoir_domain::agent::LossGuard,
    /// `weekly`, `off`, or a slot such as `Thu 03:30`.
    #[schema(value_type = String)]
    effective_refinement_schedule: memoir_domain::schedule::RefinementSchedule,
    #[schema(value_type = schemas::Mode)]
    effective_refinement_mode: Mode,
    effective_context_journal_tokens: u64,
    effective_answer_tokens: u32,
    /// The mass.
    core_tokens: u64,
    core_count: u64,
    journal_count: u64,
    constitutional_count: u64,
    discarded_count: u64,
    shredded_count: u64,
    #[schema(value_type = schemas::Kept)]
    kept: KeptView,
    /// Tokens of the journal entries, faded ones included.
    journal_tokens: u64,
    needs_refinement: bool,
    #[schema(required, value_type = Option<Due>)]
    refinement_due: Option<RefinementDue>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    last_refinement_at: Option<Timestamp>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    next_refinement_at: Option<Timestamp>,
    /// Why the schedule never asks it; null where it does.
    #[schema(required, value_type = Option<schemas::LeftAlone>)]
    next_refinement_reason: Option<memoir_domain::schedule::LeftAlone>,
    /// Where a prompt that was just set is not what it seems, such as one with a placeholder that nothing
    /// fills.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>, required = false)]
    warnings: Vec<PrivateText>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<AgentView> for Agent {
    fn from(view: AgentView) -> Self {
        let Tally {
            core_tokens,
            core_count,
            journal_count,
            constitutional_count,
            discarded_count,
            shredded_count,
            journal_tokens,
            ..
        } = view.tally;
        Self {
            id: view.id,
            name: view.name,
            settings: view.settings,
            effective_model: view.effective_model,
            effective_refinement_threshold: view.effective_refinement_threshold,
            effective_core_token_budget: view.effective_core_token_budget,
            effective_refinement_trigger_tokens: view.effective_refinement_trigger_tokens,
            effective_immutable_tags: view.effective_immutable_tags,
            effective_duplicate_match: view.effective_duplicate_match,
            effective_loss_guard: view.effective_loss_guard,
            effective_refinement_schedule: view.effective_refinement_schedule,
            effective_refinement_mode: view.effective_refinement_mode,
            effective_context_journal_tokens: view.effective_context_journal_tokens,
            effective_answer_tokens: view.effective_answer_tokens,
            core_tokens,
            core_count,
            journal_count,
            constitutional_count,
            discarded_count,
            shredded_count,
            kept: view.kept,
            journal_tokens,
            needs_refinement: view.needs_refinement,
            refinement_due: view.refinement_due,
            last_refinement_at: view.last_refinement_at,
            next_refinement_at: view.next_refinement_at,
            next_refinement_reason: view.next_refinement_reason,
            warnings: view.warnings,
            created_at: view.created_at,
        }
    }
}

/// A refinement session. `summary`, and a `reason` in words, are for the agent itself, and for an
/// administrator under an access that the agent has granted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Session {
    #[schema(value_type = String, format = Uuid)]
    id: memoir_domain::SessionId,
    agent: String,
    /// `queued`, `asking`, `open`, or how it ended: `completed`, `rolled_back`, `declined`, `abandoned`,
    /// `failed`.
    #[schema(value_type = schemas::State)]
    state: memoir_domain::session::State,
    #[schema(value_type = schemas::Mode)]
    mode: Mode,
    #[schema(value_type = schemas::Driver)]
    driver: Driver,
    #[schema(value_type = schemas::Trigger)]
    trigger: memoir_domain::session::Trigger,
    rehearsal: bool,
    #[schema(required)]
    model: Option<String>,
    #[schema(required)]
    pre_session_tokens: Option<u64>,
    #[schema(required)]
    post_session_tokens: Option<u64>,
    #[schema(required)]
    threshold: Option<f64>,
    edits: u32,
    #[schema(value_type = schemas::Stats)]
    stats: Stats,
    removed_tokens: u64,
    /// Words that its edits let go.
    lost_words: u64,
    /// Calls of its tools that were refused.
    refused_calls: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    summary: Option<PrivateText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    reason: Option<PrivateText>,
    /// Why it ended, in a word.
    #[schema(required, value_type = Option<schemas::EndReason>)]
    end_reason: Option<&'static str>,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    ended_at: Option<Timestamp>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    undone_at: Option<Timestamp>,
    #[schema(value_type = schemas::Usage)]
    usage: Usage,
    /// What a rehearsal came to, for the agent itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<RehearsedChange>>,
}

/// A memory that a rehearsal touched.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RehearsedChange {
    /// Its number; that of a new one may be another when the rehearsal is applied.
    number: u64,
    /// As it is; null where it would be new.
    #[schema(required)]
    before: Option<Memory>,
    /// As it would be.
    after: Memory,
}

impl From<RehearsedMemory> for RehearsedChange {
    fn from(memory: RehearsedMemory) -> Self {
        Self {
            number: memory.number.0,
            before: memory.before.map(Memory::from),
            after: memory.after.into(),
        }
    }
}

impl From<SessionDetail> for Session {
    fn from(detail: SessionDetail) -> Self {
        let changes = detail.changes;
        Self {
            changes: changes
                .map(|changes| changes.into_iter().map(RehearsedChange::from).collect()),
            ..detail.session.into()
        }
    }
}

impl From<SessionView> for Session {
    fn from(view: SessionView) -> Self {
        Self {
            id: view.id,
            agent: view.agent,
            state: view.state,
            mode: view.mode,
            driver: view.driver,
            trigger: view.trigger,
            rehearsal: view.rehearsal,
            model: view.model,
            pre_session_tokens: view.pre_session_tokens,
            post_session_tokens: view.post_session_tokens,
            threshold: view.threshold,
            edits: view.edits,
            stats: view.stats,
            removed_tokens: view.removed_tokens,
            lost_words: view.lost_words,
            refused_calls: view.refused_calls,
            summary: view.summary,
            reason: view.reason,
            end_reason: view.end_reason,
            started_at: view.started_at,
            ended_at: view.ended_at,
            undone_at: view.undone_at,
            usage: view.usage,
            changes: None,
        }
    }
}

/// Changes with every change of an agent's name or settings, and with nothing else: whoever sets something
/// need not read it again because a memory was saved.
pub(crate) fn agent_etag(view: &AgentView) -> String {
    etag(&(&view.name, &view.settings))
}

impl Session {
    /// Which tools it has.
    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// Without words, for an administrator: the coded reason stays.
    pub(crate) fn blind(self) -> Self {
        Self {
            summary: None,
            changes: None,
            reason: self.end_reason.map(PrivateText::from),
            ..self
        }
    }
}

/// A session whose knife the agent was handed, with what it is told and the tools that it has.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OpenSession {
    #[serde(flatten)]
    pub(crate) session: Session,
    /// Everything that the agent is told, as one text.
    #[schema(value_type = String)]
    pub(crate) prompt: PrivateText,
    pub(crate) tools: Vec<ToolDefinition>,
    /// That no memory can be taken away in it, why, and what to do; absent where one can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) nothing_can_go: Option<String>,
}

/// A tool of the session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ToolDefinition {
    pub(crate) name: String,
    pub(crate) description: String,
    /// The JSON schema of its arguments.
    #[schema(value_type = schemas::AnyObject)]
    pub(crate) parameters: serde_json::Value,
}

/// A record of the audit. `before`, `after` and words in `data` are for the agent itself, and for an
/// administrator under an access that the agent has granted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Record {
    pub(crate) seq: u64,
    #[schema(value_type = String, format = DateTime)]
    recorded_at: Timestamp,
    agent: String,
    #[schema(value_type = schemas::Actor)]
    actor: memoir_domain::audit::Actor,
    #[schema(value_type = schemas::Action)]
    action: memoir_domain::audit::Action,
    #[schema(required, value_type = Option<String>, format = Uuid)]
    session_id: Option<memoir_domain::SessionId>,
    #[schema(required)]
    memory: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schemas::AnyObject>)]
    before: Option<PrivateJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schemas::AnyObject>)]
    after: Option<PrivateJson>,
    #[schema(value_type = schemas::AnyObject)]
    data: PrivateJson,
    /// The hash of the record and of all before it, in hexadecimal.
    hash: String,
    /// That of the record before it.
    previous_hash: String,
}

impl From<RecordView> for Record {
    fn from(view: RecordView) -> Self {
        Self {
            seq: view.seq,
            recorded_at: view.recorded_at,
            agent: view.agent,
            actor: view.actor,
            action: view.action,
            session_id: view.session_id,
            memory: view.memory.map(|number| number.0),
            before: view.before,
            after: view.after,
            data: view.data,
            hash: view.hash,
            previous_hash: view.previous_hash,
        }
    }
}

/// What came of verifying an agent's log.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Verified {
    valid: bool,
    records: u64,
    head: String,
    /// How much of what was ever said is still said; null where something does not fit.
    #[schema(required, value_type = Option<schemas::Carried>)]
    carried: Option<memoir_domain::replay::Carried>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schemas::Misfit>)]
    first_bad: Option<memoir_app::Misfit>,
}

impl From<Verification> for Verified {
    fn from(verification: Verification) -> Self {
        Self {
            valid: verification.valid,
            records: verification.records,
            head: verification.head,
            carried: verification.carried,
            first_bad: verification.first_bad,
        }
    }
}

/// A request to an agent to let somebody in, and what became of it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AccessRequest {
    #[schema(value_type = String, format = Uuid)]
    id: memoir_domain::AccessRequestId,
    agent: String,
    /// `read`: to look for a while; `token`: to make one more token of the agent; `shred`: to have a memory
    /// shredded.
    #[schema(value_type = schemas::AccessKind)]
    kind: &'static str,
    /// What may be seen; null where it is not to look.
    #[schema(required, value_type = Option<schemas::AccessScope>)]
    scope: Option<&'static str>,
    /// The session, where its changes are what may be seen.
    #[schema(required, value_type = Option<String>, format = Uuid)]
    session_id: Option<memoir_domain::SessionId>,
    /// For how many minutes from the answer on; null where it is not to look.
    #[schema(required)]
    minutes: Option<u32>,
    /// The memory to be shredded.
    #[schema(required)]
    memory: Option<u64>,
    /// When a token that is asked for ends.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    token_expires_at: Option<Timestamp>,
    /// Why, in the words of whoever asks.
    #[schema(value_type = String)]
    purpose: PrivateText,
    /// Who asks, and alone can use what is granted.
    #[schema(value_type = schemas::Actor)]
    asked_by: memoir_domain::audit::Actor,
    #[schema(value_type = schemas::AccessState)]
    state: memoir_domain::access::AccessState,
    #[schema(value_type = String, format = DateTime)]
    requested_at: Timestamp,
    /// Until when it waits for its answer; once granted, until when it can be used.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    answered_at: Option<Timestamp>,
    /// What the agent said to it: for the agent, and for whoever asked.
    #[schema(required, value_type = Option<String>)]
    reason: Option<PrivateText>,
    /// When it was over, however that came.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    ended_at: Option<Timestamp>,
    /// How often words were read under it.
    reads: u64,
    /// How many memories these reads showed in all, each read counted by itself.
    memories_read: u64,
    /// How many tokens they showed.
    tokens_read: u64,
    /// Kept memories that still say a sentence of what was shredded: only in the answer to the agent's yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    still_said_by: Option<Vec<u64>>,
}

impl From<AccessRequestView> for AccessRequest {
    fn from(view: AccessRequestView) -> Self {
        Self {
            id: view.id,
            agent: view.agent,
            kind: view.kind,
            scope: view.scope,
            session_id: view.session_id,
            minutes: view.minutes,
            memory: view.memory.map(|number| number.0),
            token_expires_at: view.token_expires_at,
            purpose: view.purpose,
            asked_by: view.asked_by,
            state: view.state,
            requested_at: view.requested_at,
            expires_at: view.expires_at,
            answered_at: view.answered_at,
            reason: view.reason,
            ended_at: view.ended_at,
            reads: view.reads,
            memories_read: view.memories_read,
            tokens_read: view.tokens_read,
            still_said_by: view.still_said_by.map(numbers),
        }
    }
}

/// The text for the agent's prompt.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Context {
    #[schema(value_type = String)]
    pub(crate) text: PrivateText,
    core_tokens: u64,
    journal_tokens: u64,
    #[schema(required, value_type = Option<Due>)]
    refinement_due: Option<RefinementDue>,
    /// The numbers of what is left out for want of room.
    #[schema(value_type = Vec<u64>)]
    left_out: BTreeSet<Number>,
}

impl From<ContextView> for Context {
    fn from(view: ContextView) -> Self {
        Self {
            text: view.text,
            core_tokens: view.core_tokens,
            journal_tokens: view.journal_tokens,
            refinement_due: view.refinement_due,
            left_out: view.left_out,
        }
    }
}

/// A session as it is watched, with what the breaker looks at.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LiveSession {
    #[serde(flatten)]
    session: Session,
    /// The mass now; at the end, that of the end. Null where the session ended without the knife, and of a
    /// rehearsal that runs.
    #[schema(required)]
    core_tokens: Option<u64>,
    /// The breaker line: the smallest mass at which the breaker holds. Null before the knife is handed over.
    #[schema(required)]
    breaker_tokens: Option<u64>,
    /// How many more tokens edits may take away; null before the knife is handed over, and at the end.
    #[schema(required)]
    removable_tokens: Option<u64>,
    /// Edits that are left.
    edits_left: u32,
}

impl LiveSession {
    /// As whoever watches may see it.
    pub(crate) fn seen(live: sessions::LiveSession, eyes: Eyes) -> Self {
        let session = Session::from(live.session);
        Self {
            session: match eyes {
                Eyes::Agent => session,
                _ => session.blind(),
            },
            core_tokens: live.core_tokens,
            breaker_tokens: live.breaker_tokens,
            removable_tokens: live.removable_tokens,
            edits_left: live.edits_left,
        }
    }
}

/// A record of a session that is watched.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LiveRecord {
    #[serde(flatten)]
    record: Record,
    /// The mass after it; null where the record does not measure it.
    #[schema(required)]
    core_tokens: Option<u64>,
}

impl From<sessions::LiveRecord> for LiveRecord {
    fn from(live: sessions::LiveRecord) -> Self {
        Self {
            record: live.record.into(),
            core_tokens: live.core_tokens,
        }
    }
}

/// What a webhook is sent: that a session ended, as an administrator of its account sees it.
#[derive(Debug, Serialize)]
pub(crate) struct SessionEnded {
    /// The same for every attempt, and for every receiver.
    pub(crate) id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    /// When the session ended.
    timestamp: Option<Timestamp>,
    data: EndedData,
}

#[derive(Debug, Serialize)]
struct EndedData {
    account: String,
    account_id: memoir_domain::AccountId,
    agent_id: memoir_domain::AgentId,
    session: Session,
}

impl From<EndNotice> for SessionEnded {
    fn from(notice: EndNotice) -> Self {
        Self {
            id: format!("session-ended-{}", notice.session.id),
            kind: "session.ended",
            timestamp: notice.session.ended_at,
            data: EndedData {
                account: notice.account_name,
                account_id: notice.account,
                agent_id: notice.agent,
                session: Session::from(notice.session).blind(),
            },
        }
    }
}

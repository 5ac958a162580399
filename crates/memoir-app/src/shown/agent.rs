//! Agents as they are shown: their settings as set, the effective ones beside them, and their counts.

use std::collections::BTreeMap;

use memoir_domain::{
    AccountId, AgentId, AgentScope, PrivateJson, PrivateText, Timestamp,
    access::{AccessScope, ShownAmount},
    agent::{self, Agent, DuplicateMatch, Field, LossGuard, Settings},
    audit::Actor,
    authoring,
    memory::{Tally, tokens},
    schedule::{self, RefinementSchedule, SkipReason},
    session::{Health, Mode, State},
    text::thousands,
    view,
};
use memoir_store::{AgentQuery, Selection};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{AccessLevel, AgentLens, Shown, ShowsWords, schema, schemas};
use crate::{
    core::{Loaded, Memoir, Result, codec},
    shown::{Views, views::RefinementDue},
};

view! {
    /// An agent without the prompts that it has set itself.
    #[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
    pub struct AgentFacts from memoir: &Memoir, agent: &Agent, last: Option<State>, shown: PrivateJson;
    /// Its identifier.
    #[schema(value_type = String, format = Uuid)]
    pub id: AgentId = agent.id,
    /// Its name.
    pub name: String = agent.name.clone(),
    /// The settings; prompts that the agent itself has set are left out for an administrator, except under an access
    /// grant of the scope `all`.
    #[serde(flatten)]
    #[schema(value_type = schemas::SettingsAsSet)]
    pub settings: PrivateJson = shown,
    /// The place of the record that last changed its settings, those that are left out included; not shown.
    #[serde(skip)]
    #[schema(ignore)]
    pub settings_seq: Option<u64> = agent.settings_seq,
    /// The model that refines it; null where there is none.
    #[schema(required)]
    pub effective_model: Option<String> = memoir.effective_model(&agent.settings),
    /// The share of the core size that a session must leave.
    pub effective_refinement_threshold: f64 = agent.settings.effective_refinement_threshold().share(),
    /// Tokens of core memories that its runtime has room for.
    pub effective_core_token_budget: u64 = agent.settings.effective_core_token_budget(),
    /// The core size over which a session is due.
    pub effective_refinement_trigger_tokens: u64 = agent.settings.effective_refinement_trigger_tokens(),
    /// Tags that exclude a memory from all edits.
    pub effective_immutable_tags: Vec<String> = agent.settings.effective_immutable_tags(),
    /// When two core memories are the same text.
    #[schema(value_type = schemas::DuplicateMatch)]
    pub effective_duplicate_match: DuplicateMatch = agent.settings.effective_duplicate_match(),
    /// The loss guard.
    #[schema(value_type = schemas::LossGuard)]
    pub effective_loss_guard: LossGuard = agent.settings.effective_loss_guard(),
    /// `weekly`, `off`, or a slot such as `Thu 03:30`.
    #[schema(value_type = String)]
    pub effective_refinement_schedule: RefinementSchedule = agent.settings.effective_refinement_schedule(),
    /// The tools of the schedule's sessions.
    #[schema(value_type = schemas::Mode)]
    pub effective_refinement_mode: Mode = agent.settings.effective_refinement_mode(),
    /// The most tokens that the journal takes of a context.
    pub effective_context_journal_tokens: u64 = agent.settings.effective_context_journal_tokens(),
    /// Whether a session's prompt lists pairs of similar memories.
    pub effective_near_duplicates: bool = agent.settings.effective_near_duplicates(),
    /// The most tokens of one response of its model.
    pub effective_answer_tokens: u32 = agent.settings.answer_tokens.unwrap_or(memoir.settings.limits.answer_tokens),
    /// The counts of its memories.
    #[serde(flatten)]
    #[schema(inline)]
    pub counts: MemoryCounts = MemoryCounts::new(agent.tally),
    /// How it is: the worst that needs attention.
    #[schema(value_type = schemas::Health)]
    pub health: Health = Health::from_row(last, codec::budget_share(agent)),
    /// Whether a session is due.
    pub needs_refinement: bool = agent.needs_refinement(),
    /// Whether a session is due now, and why; null where none is.
    #[schema(required)]
    pub refinement_due: Option<RefinementDue> = memoir.refinement_due(agent),
    /// When its last session ended; null where there was none.
    #[schema(required)]
    pub last_refinement_at: Option<Timestamp> = agent.last_refinement_at,
    /// When the schedule asks it next: now where the agent is due; null where it is never asked.
    #[schema(required)]
    pub next_refinement_at: Option<Timestamp> = match memoir.left_alone(agent) {
        Some(_) => None,
        None => schedule::next(agent, &memoir.settings.weekly_slot, memoir.now()),
    },
    /// Why the schedule never asks it, as things are; null where it does.
    #[schema(required, value_type = Option<schemas::LeftAlone>)]
    pub next_refinement_reason: Option<SkipReason> = memoir.left_alone(agent),
    /// When it was made.
    pub created_at: Timestamp = agent.created_at,
}

view! {
    /// The counts of an agent's memories.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
    pub struct MemoryCounts from tally: Tally;
    /// The core size: tokens of the active core memories.
    pub core_tokens: u64 = tally.core_tokens,
    /// Active core memories.
    pub core_count: u64 = tally.core_count,
    /// Active summaries; they are among the core memories.
    pub summary_count: u64 = tally.summary_count,
    /// Tokens of the active summaries.
    pub summary_tokens: u64 = tally.summary_tokens,
    /// Active constitutional memories; they are among the core memories.
    pub constitutional_count: u64 = tally.constitutional_count,
    /// Active journal entries, expired ones included.
    pub journal_count: u64 = tally.journal_count,
    /// Tokens of the active journal entries, expired ones included.
    pub journal_tokens: u64 = tally.journal_tokens,
    /// Active archival memories.
    pub archival_count: u64 = tally.archival_count,
    /// Tokens of the active archival memories.
    pub archival_tokens: u64 = tally.archival_tokens,
    /// Active archival memories that a new memory replaced.
    pub replaced_count: u64 = tally.replaced_count,
    /// Discarded memories, without the shredded ones.
    pub discarded_count: u64 = tally.discarded_count,
    /// Shredded memories.
    pub shredded_count: u64 = tally.shredded_count,
    /// The places of its originals.
    #[schema(inline)]
    pub originals: OriginalCounts = OriginalCounts::new(tally),
}

view! {
    /// The places of the originals: texts as their authors saved them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, ToSchema)]
    pub struct OriginalCounts from tally: Tally;
    /// In the prompt and in the archive.
    pub total: u64 = tally.originals(),
    /// Active core memories that are no summaries.
    pub in_prompt: u64 = tally.originals_in_prompt(),
    /// Active archival memories.
    pub archived: u64 = tally.archival_count,
}

impl OriginalCounts {
    /// `1,050 in the prompt, 184 in the archive`
    pub fn places(&self) -> String {
        let [in_prompt, archived] = [self.in_prompt, self.archived].map(thousands);
        format!("{in_prompt} in the prompt, {archived} in the archive")
    }
}

impl From<Tally> for MemoryCounts {
    fn from(tally: Tally) -> Self {
        Self::new(tally)
    }
}

/// The text of an agent's settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub struct AgentWords {
    /// The prompts that the agent has set itself, among the settings; `None` for a viewer that may not read them.
    #[serde(flatten)]
    #[schema(ignore)]
    pub own_prompts: Option<PrivateJson>,
    /// Warnings about a prompt that was just set, such as one with a placeholder that nothing fills.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>, required = false)]
    pub warnings: Vec<PrivateText>,
}

/// An agent. Its words are its own prompts for a viewer that may read them, and warnings about one that was just set.
pub type ShownAgent = Shown<AgentFacts, AgentWords>;

schema::one_object!(
    ShownAgent,
    "Agent",
    [AgentFacts, AgentWords],
    "An agent: its settings as set (null where unset), the effective ones beside them, and its counts."
);

impl ShowsWords for ShownAgent {
    fn words_shown(&self) -> ShownAmount {
        let own = self.words.own_prompts.iter();
        let own = own.flat_map(|own| own.expose().as_object()).flatten();
        let set = own.filter(|(name, _)| name.parse::<Field>().is_ok());
        ShownAmount {
            memories: 0,
            tokens: set.map(|(_, value)| value.as_str().map_or(0, tokens)).sum(),
        }
    }
}

impl AgentFacts {
    /// Says that no session will come where one could do nothing (SPEC 3.5). `loaded` has the active core memories.
    fn note_nothing(&mut self, loaded: &Loaded) {
        let mode = loaded.agent.settings.effective_refinement_mode();
        if loaded.nothing_to_refine(mode).is_some() && self.next_refinement_reason.is_none() {
            self.next_refinement_at = None;
            self.next_refinement_reason = Some(SkipReason::NothingToRefine);
        }
    }

    /// The effective text of a prompt that is not set; `None` where it is set, or is not shown.
    pub fn default_prompt(&self, field: Field) -> Option<String> {
        let set = self.settings.expose().get(field.as_str())?;
        set.is_null()
            .then(|| authoring::default_prompt(&self.name, field))
            .flatten()
    }
}

impl ShownAgent {
    /// A setting as set; `None` for a prompt that is not shown.
    pub fn setting(&self, field: Field) -> Option<&Value> {
        let own = self.words.own_prompts.iter().chain([&self.facts.settings]);
        let mut found = own.filter_map(|settings| settings.expose().get(field.as_str()));
        found.next()
    }

    /// `last` is the state of the agent's session begun last.
    pub(crate) fn seen(
        memoir: &Memoir,
        agent: &Agent,
        last: Option<State>,
        access_level: AccessLevel,
    ) -> Self {
        let shown = Self::from(memoir.agent_facts(agent, last));
        if !access_level.covers(AccessScope::shows_prompts) {
            return shown;
        }
        let own = settings_map(agent, |field| is_own(agent, field));
        Self {
            words: AgentWords {
                own_prompts: Some(own),
                ..shown.words
            },
            ..shown
        }
    }

    /// In the response to a change, for the actor who made it.
    pub(crate) fn answered(
        memoir: &Memoir,
        agent: &Agent,
        last: Option<State>,
        actor: &Actor,
    ) -> Self {
        Self::seen(memoir, agent, last, AccessLevel::of_answer(actor))
    }
}

impl Memoir {
    /// Without the prompts that the agent itself has set. `last` is the state of its session begun last.
    pub(crate) fn agent_facts(&self, agent: &Agent, last: Option<State>) -> AgentFacts {
        let shown = settings_map(agent, |field| !is_own(agent, field));
        AgentFacts::new(self, agent, last, shown)
    }

    /// Without prompts, which are not read for lists. `last` is the state of its session begun last.
    pub(crate) fn listed_facts(&self, agent: &Agent, last: Option<State>) -> AgentFacts {
        let shown = settings_map(agent, |field| !field.is_text());
        AgentFacts::new(self, agent, last, shown)
    }

    /// The state of the session begun last of each of these agents of an account.
    pub(crate) async fn last_states(
        &self,
        account: AccountId,
        agents: &[AgentId],
    ) -> Result<BTreeMap<AgentId, State>> {
        let found = self.store.last_states(account, agents).await?;
        Ok(found.into_iter().collect())
    }

    /// The state of the agent's session begun last; `None` where there was none.
    pub(crate) async fn last_state(&self, scope: AgentScope) -> Result<Option<State>> {
        let found = self.last_states(scope.account, &[scope.agent]).await?;
        Ok(found.into_values().next())
    }

    pub(crate) fn effective_model(&self, settings: &Settings) -> Option<String> {
        settings.model.clone().or_else(|| {
            self.settings
                .default_model
                .as_ref()
                .map(ToString::to_string)
        })
    }
}

/// Whether the agent itself has set it.
fn is_own(agent: &Agent, field: Field) -> bool {
    agent.settings.authored.contains(field.as_str())
}

fn settings_map(agent: &Agent, shown: impl Fn(Field) -> bool) -> PrivateJson {
    let mut settings = serde_json::Map::new();
    let fields = Field::ALL.into_iter();
    for field in fields.filter(|field| *field != Field::Name && shown(*field)) {
        let value = agent::field_value(&agent.name, &agent.settings, field);
        if let Some(default) = authoring::default_prompt(&agent.name, field) {
            let effective = match &value {
                Value::Null => default.into(),
                set => set.clone(),
            };
            settings.insert(format!("effective_{}", field.as_str()), effective);
        }
        settings.insert(field.as_str().to_owned(), value);
    }
    PrivateJson::new(settings.into())
}

impl Views<'_> {
    /// The agent without the prompts that it has set itself.
    ///
    /// # Errors
    /// The agent is gone, or the store fails.
    pub async fn show(self) -> Result<AgentFacts> {
        let query = AgentQuery::default().with_prompts();
        // First: a request that waits for the store would else hold the loaded agent meanwhile.
        let last = self.memoir.last_state(self.scope).await?;
        let loaded = self.load(&query).await?;
        let mut facts = self.memoir.agent_facts(&loaded.agent, last);
        if may_have_nothing(&loaded.agent) {
            facts.note_nothing(&self.load_memories(Selection::ActiveCore).await?);
        }
        Ok(facts)
    }
}

/// Whether only its memories show whether a session could do anything: tags protect some of them, or only duplicates can
/// be edited. No other agent is asked to load them for it.
fn may_have_nothing(agent: &Agent) -> bool {
    /// The most core memories that an agent has of which tags may protect all.
    const FEW: u64 = 64;
    let settings = &agent.settings;
    schedule::left_alone(agent).is_none()
        && (settings.effective_loss_guard() == LossGuard::Refuse
            || settings.effective_refinement_mode() == Mode::DedupOnly
            || agent.tally.core_count <= FEW && !settings.immutable_tag_set().is_empty())
}

impl AgentLens<'_> {
    /// The agent, with the prompts that it has set itself where they may be read.
    ///
    /// # Errors
    /// The agent is gone, or the store fails.
    pub async fn show(&self) -> Result<ShownAgent> {
        let query = &AgentQuery::default().with_prompts();
        self.look(query, AccessScope::shows_prompts, |mut look| async move {
            // First: a request that waits for the store would else hold the loaded agent meanwhile.
            let last = look.agent.memoir.last_state(look.agent.scope).await?;
            let loaded = look.load(query).await?;
            let memoir = &look.agent.memoir;
            let mut shown = ShownAgent::seen(memoir, &loaded.agent, last, look.access_level);
            if may_have_nothing(&loaded.agent) {
                let core = look
                    .load(&AgentQuery::of_memories(Selection::ActiveCore))
                    .await?;
                shown.facts.note_nothing(&core);
            }
            Ok(shown)
        })
        .await
    }
}

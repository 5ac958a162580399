//! Making, finding, showing and setting agents (SPEC 2.2).

use memoir_domain::{
    AgentId, AgentScope, PrivateJson, PrivateText, Timestamp,
    agent::{self, Agent, Field, Settings},
    audit::Actor,
    authoring,
    draft::Decision,
    manage::{self, Assignment},
    memory::{Invalid, Tally},
    schedule::{self, LeftAlone, RefinementSchedule},
    session::Mode,
};
use memoir_store::AgentQuery;
use serde::Serialize;

use crate::{Account, AgentHandle, Error, KeptView, Memoir, RefinementDue, Result, codec};

/// An agent as it is shown: its settings as set, those in force beside them, and its counts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names are those of the wire")]
pub struct AgentView {
    pub id: AgentId,
    pub name: String,
    /// An object; the prompts among them are text.
    #[serde(flatten)]
    pub settings: PrivateJson,
    pub effective_model: Option<String>,
    pub effective_refinement_threshold: f64,
    pub effective_core_token_budget: u64,
    pub effective_refinement_trigger_tokens: u64,
    pub effective_immutable_tags: Vec<String>,
    pub effective_duplicate_match: agent::DuplicateMatch,
    pub effective_loss_guard: agent::LossGuard,
    pub effective_refinement_schedule: RefinementSchedule,
    pub effective_refinement_mode: Mode,
    pub effective_context_journal_tokens: u64,
    pub effective_answer_tokens: u32,
    /// Where a prompt that was set just now is not what it seems; empty otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<PrivateText>,
    #[serde(flatten)]
    pub tally: Tally,
    pub kept: KeptView,
    pub needs_refinement: bool,
    pub refinement_due: Option<RefinementDue>,
    pub last_refinement_at: Option<Timestamp>,
    /// When the schedule asks it next: now where the agent is due; `None` where it is never asked.
    pub next_refinement_at: Option<Timestamp>,
    /// Why it is never asked; `None` where it is.
    pub next_refinement_reason: Option<LeftAlone>,
    pub created_at: Timestamp,
}

impl AgentView {
    /// The text that is in force in place of a prompt that is not set; `None` where it is set, or is not shown.
    pub fn default_prompt(&self, field: Field) -> Option<String> {
        let set = self.settings.expose().get(field.as_str())?;
        set.is_null()
            .then(|| authoring::default_prompt(&self.name, field))
            .flatten()
    }
}

impl Memoir {
    pub(crate) fn agent_view(&self, agent: &Agent) -> AgentView {
        let settings = &agent.settings;
        let due = self.refinement_due(agent);
        let now = self.now();
        let left_alone = self.left_alone(agent);
        AgentView {
            id: agent.id,
            name: agent.name.clone(),
            settings: settings_map(agent, |_| true),
            effective_model: self.effective_model(settings),
            effective_refinement_threshold: settings.effective_refinement_threshold().share(),
            effective_core_token_budget: settings.effective_core_token_budget(),
            effective_refinement_trigger_tokens: settings.effective_refinement_trigger_tokens(),
            effective_immutable_tags: settings.effective_immutable_tags(),
            effective_duplicate_match: settings.effective_duplicate_match(),
            effective_loss_guard: settings.effective_loss_guard(),
            effective_refinement_schedule: settings.effective_refinement_schedule(),
            effective_refinement_mode: settings.effective_refinement_mode(),
            effective_context_journal_tokens: settings.effective_context_journal_tokens(),
            effective_answer_tokens: settings
                .answer_tokens
                .unwrap_or(self.settings.limits.answer_tokens),
            warnings: Vec::new(),
            tally: agent.tally,
            kept: KeptView::new(agent, now),
            needs_refinement: agent.needs_refinement(),
            refinement_due: due,
            last_refinement_at: agent.last_refinement_at,
            next_refinement_at: match left_alone {
                Some(_) => None,
                None => schedule::next(agent, &self.settings.weekly_slot, now),
            },
            next_refinement_reason: left_alone,
            created_at: agent.created_at,
        }
    }

    /// Without the prompts that the agent itself has set.
    pub(crate) fn administrators_view(&self, agent: &Agent) -> AgentView {
        let authored = &agent.settings.authored;
        let settings = settings_map(agent, |field| !authored.contains(field.as_str()));
        AgentView {
            settings,
            ..self.agent_view(agent)
        }
    }

    /// Without prompts, which are not read for lists.
    pub(crate) fn listed_view(&self, agent: &Agent) -> AgentView {
        let settings = settings_map(agent, |field| !field.is_text());
        AgentView {
            settings,
            ..self.agent_view(agent)
        }
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

fn settings_map(agent: &Agent, shown: impl Fn(Field) -> bool) -> PrivateJson {
    let mut settings = serde_json::Map::new();
    let fields = Field::ALL.into_iter();
    for field in fields.filter(|field| *field != Field::Name && shown(*field)) {
        let value = agent::field_value(&agent.name, &agent.settings, field);
        if let Some(default) = authoring::default_prompt(&agent.name, field) {
            let in_force = match &value {
                serde_json::Value::Null => default.into(),
                set => set.clone(),
            };
            settings.insert(format!("effective_{}", field.as_str()), in_force);
        }
        settings.insert(field.as_str().to_owned(), value);
    }
    PrivateJson::new(settings.into())
}

impl Account {
    /// Makes an agent with its first settings.
    ///
    /// # Errors
    /// A setting is not allowed, or the name is taken.
    pub async fn create_agent(
        &self,
        name: &str,
        assignments: &[Assignment<'_>],
        actor: &Actor,
    ) -> Result<AgentView> {
        let memoir = &self.memoir;
        check_model(assignments)?;
        let id = memoir.ids().agent()?;
        let decision = manage::create_agent(id, name, assignments, actor, memoir.now())?;
        let agent = decision.agent.clone();
        self.make(decision, codec::Beside::default()).await?;
        Ok(AgentView {
            warnings: placeholder_warnings(assignments),
            ..memoir.agent_view(&agent)
        })
    }

    /// Writes an agent that is new, under a key of its own.
    pub(crate) async fn make(&self, decision: Decision, beside: codec::Beside) -> Result<()> {
        let memoir = &self.memoir;
        let name = decision.agent.name.clone();
        let taken = memoir
            .store
            .agent_named(self.id, &agent::fold_name(&name))
            .await?;
        match taken {
            Some(row) if row.columns.erased_at.is_none() => return Err(Error::NameTaken(name)),
            // An agent of the same name would hide one whose erasing was interrupted.
            Some(row) => memoir.finish_erasing(row.scope).await?,
            None => {}
        }
        let scope = AgentScope {
            account: self.id,
            agent: decision.agent.id,
        };
        // The key first: what is sealed must be readable from the first moment on.
        let key = memoir.keys.create(scope, memoir.now()).await?;
        let base = codec::Base::new(key);
        let counted = crate::metrics::Counted::of(&decision);
        let (commit, _) = codec::commit(
            &base,
            decision,
            beside,
            memoir.random.as_ref(),
            memoir.time_zone(),
        )?;
        match memoir.write(commit, counted).await {
            Err(memoir_store::Error::NameTaken) => Err(Error::NameTaken(name)),
            other => Ok(other?),
        }
    }

    /// One page of the account's agents, by name: those whose name comes after. Without their prompts.
    ///
    /// # Errors
    /// The store fails.
    pub async fn agent_page(&self, after: Option<&str>, limit: u32) -> Result<Vec<AgentView>> {
        let after = after.map(agent::fold_name);
        let store = &self.memoir.store;
        let rows = store.agent_page(self.id, after.as_deref(), limit).await?;
        rows.iter().map(|row| self.listed(row)).collect()
    }

    fn listed(&self, row: &memoir_store::AgentRow) -> Result<AgentView> {
        Ok(self.memoir.listed_view(&codec::listed_agent(row)?))
    }

    /// The account's agents, by name, without their prompts and without those erased.
    ///
    /// # Errors
    /// The store fails.
    pub async fn agents(&self) -> Result<Vec<AgentView>> {
        let rows = self.memoir.store.agents(self.id).await?;
        rows.iter()
            .filter(|row| row.columns.erased_at.is_none())
            .map(|row| self.listed(row))
            .collect()
    }

    /// The agent of that identifier, or of that name, whatever the case. An agent can name itself: no
    /// name stands in for another agent's identifier.
    ///
    /// # Errors
    /// [`Error::NoAgent`].
    pub async fn agent(&self, name: &str) -> Result<AgentHandle> {
        let store = &self.memoir.store;
        let mut row = None;
        if let Ok(agent) = name.parse::<AgentId>() {
            let account = self.id;
            let scope = AgentScope { account, agent };
            let snapshot = store.snapshot(scope, &AgentQuery::default()).await?;
            row = snapshot.map(|snapshot| snapshot.agent);
        }
        if row.is_none() {
            let folded = agent::fold_name(name.trim());
            row = store.agent_named(self.id, &folded).await?;
        }
        let row = row.ok_or_else(|| Error::NoAgent(name.to_owned()))?;
        Ok(AgentHandle::new(
            self.memoir.clone(),
            row.scope,
            row.columns.name,
        ))
    }

    /// The agent that a session belongs to.
    ///
    /// # Errors
    /// [`Error::NoSession`], for a session of another account too.
    pub async fn session_agent(
        &self,
        session: &str,
    ) -> Result<(AgentHandle, memoir_domain::SessionId)> {
        let unknown = || Error::NoSession(session.to_owned());
        let id = session.trim().parse().map_err(|_| unknown())?;
        let scope = self
            .memoir
            .store
            .session_owner(self.id, id)
            .await?
            .ok_or_else(unknown)?;
        let snapshot = self
            .memoir
            .store
            .snapshot(scope, &AgentQuery::default())
            .await?
            .ok_or_else(unknown)?;
        Ok((
            AgentHandle::new(self.memoir.clone(), scope, snapshot.agent.columns.name),
            id,
        ))
    }
}

impl AgentHandle {
    /// The session of that identifier, which is the agent's.
    ///
    /// # Errors
    /// [`Error::NoSession`], for a session of another agent too.
    pub async fn own_session_id(&self, session: &str) -> Result<memoir_domain::SessionId> {
        let unknown = || Error::NoSession(session.to_owned());
        let id = session.trim().parse().map_err(|_| unknown())?;
        let store = &self.memoir.store;
        let owner = store.session_owner(self.scope.account, id).await?;
        if owner != Some(self.scope) {
            return Err(unknown());
        }
        Ok(id)
    }

    /// The agent as it is shown.
    ///
    /// # Errors
    /// The agent is gone, or the store fails.
    pub async fn show(&self) -> Result<AgentView> {
        let loaded = self.load(&AgentQuery::default()).await?;
        Ok(self.memoir.agent_view(&loaded.agent))
    }

    /// The agent as an administrator sees it: without the prompts that the agent itself has set.
    ///
    /// # Errors
    /// The agent is gone, or the store fails.
    pub async fn show_to_administrator(&self) -> Result<AgentView> {
        let agent = self.load(&AgentQuery::default()).await?.agent;
        Ok(self.memoir.administrators_view(&agent))
    }

    /// Changes settings, all of them or none.
    ///
    /// # Errors
    /// A value is not allowed, or the name is taken.
    pub async fn configure(
        &self,
        assignments: &[Assignment<'_>],
        actor: &Actor,
    ) -> Result<AgentView> {
        self.configure_where(assignments, |_| true, actor).await
    }

    /// As [`AgentHandle::configure`], where the agent, as an administrator sees it, is as expected at the
    /// moment of the change.
    ///
    /// # Errors
    /// As [`AgentHandle::configure`]; [`Error::Changed`].
    pub async fn configure_where(
        &self,
        assignments: &[Assignment<'_>],
        is_expected: impl Fn(&AgentView) -> bool,
        actor: &Actor,
    ) -> Result<AgentView> {
        check_model(assignments)?;
        let configured = self
            .decide(&AgentQuery::default(), |loaded, now| {
                if !is_expected(&self.memoir.administrators_view(&loaded.agent)) {
                    return Err(Error::Changed);
                }
                let unchanged = loaded.agent.clone();
                let decision = manage::configure(loaded.agent, assignments, actor, now)?;
                let agent = decision
                    .as_ref()
                    .map_or(unchanged, |decision| decision.agent.clone());
                Ok((decision, agent))
            })
            .await;
        match configured {
            Ok(agent) => Ok(AgentView {
                warnings: placeholder_warnings(assignments),
                ..self.memoir.agent_view(&agent)
            }),
            Err(Error::Store(memoir_store::Error::NameTaken)) => {
                let name = assignments.iter().find(|(field, _)| *field == Field::Name);
                Err(Error::NameTaken(
                    name.and_then(|(_, value)| *value)
                        .unwrap_or_default()
                        .to_owned(),
                ))
            }
            Err(error) => Err(error),
        }
    }
}

/// What is odd about prompts as they are set, for whoever sets them: the words are theirs.
pub(crate) fn placeholder_warnings(assignments: &[Assignment<'_>]) -> Vec<PrivateText> {
    let prompts = assignments.iter().filter(|(field, _)| field.is_text());
    let odd = prompts.filter_map(|(field, value)| {
        let found = agent::unfilled_placeholders(value.as_ref()?);
        let named: Vec<String> = found.iter().map(|text| format!("`{text}`")).collect();
        let (subject, it) = match named.len() {
            0 => return None,
            1 => ("is a placeholder", "it"),
            _ => ("are placeholders", "them"),
        };
        Some(PrivateText::from(format!(
            "{}: {} {subject} that nothing fills here; the model is sent {it} as written. \
             Put the words themselves there",
            field.as_str(),
            named.join(", ")
        )))
    });
    odd.collect()
}

/// Everything that is wrong with settings by themselves, whoever has them, in the order given. Whether a
/// name is free is not looked at.
pub fn check_settings(assignments: &[Assignment<'_>]) -> Vec<Invalid> {
    let wrong = assignments.iter().filter_map(|&(field, value)| {
        let (mut name, mut settings) = (String::new(), Settings::default());
        agent::set_field(&mut name, &mut settings, field, value)
            .and_then(|()| check_model(&[(field, value)]))
            .err()
    });
    wrong.collect()
}

/// A model's name is checked for its form when it is set, not only when it is first needed.
fn check_model(assignments: &[Assignment<'_>]) -> Result<(), Invalid> {
    for (field, value) in assignments {
        if let (Field::Model, Some(name)) = (field, value) {
            name.trim()
                .parse::<memoir_model::ModelName>()
                .map_err(|error| Invalid::new("model", error.to_string()))?;
        }
    }
    Ok(())
}

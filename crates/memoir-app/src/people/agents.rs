//! Creating, finding and configuring agents (SPEC 2.2).

use memoir_domain::{
    AgentId, AgentScope, PrivateText,
    agent::{self, Field, Settings},
    audit::Actor,
    manage::{self, Assignment},
    memory::Invalid,
};
use memoir_model::ModelName;
use memoir_store::AgentQuery;

use crate::{
    core::{Account, AgentHandle, CommitCounts, Error, Memoir, Result, codec},
    people::AgentSettings,
    shown::{AgentFacts, ShownAgent},
};

impl Account {
    /// Creates an agent with its first settings.
    ///
    /// # Errors
    /// A setting is not allowed, or the name is taken.
    pub async fn create_agent(
        &self,
        name: &str,
        assignments: &[Assignment<'_>],
        actor: &Actor,
    ) -> Result<ShownAgent> {
        let memoir = &self.memoir;
        check_providers(memoir, assignments)?;
        let id = memoir.ids().draw(AgentId::from_bytes)?;
        let decision = manage::create_agent(id, name, assignments, actor, memoir.now())?;
        let agent = decision.agent.clone();
        self.make(decision).await?;
        let mut created = ShownAgent::answered(memoir, &agent, None, actor);
        created.words.warnings = placeholder_warnings(assignments);
        Ok(created)
    }

    /// Writes a new agent, under a key of its own.
    pub(crate) async fn make(&self, writing: impl Into<codec::Writing>) -> Result<()> {
        let writing = writing.into();
        let decision = &writing.decision;
        let memoir = &self.memoir;
        let name = decision.agent.name.clone();
        // The name is looked up before a key is made: names are often taken, and each attempt would leave a key behind.
        // The commit refuses a name that is taken in between.
        let folded = agent::fold_name(&name);
        let taken = memoir.store.agent_named(self.id, &folded).await?;
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
        // The key first: sealed data must be readable from the beginning.
        let key = memoir.keys.create(scope, memoir.now()).await?;
        let base = codec::Base::new(key);
        let counts = CommitCounts::of(decision);
        let (commit, _) = memoir.sealed_commit(&base, writing)?;
        memoir.keys.check_there()?;
        // If it is not written, the key remains and opens nothing: its agent's identifier is never used again.
        match memoir.write(commit, counts).await {
            Err(Error::Store(memoir_store::Error::NameTaken)) => Err(Error::NameTaken(name)),
            other => other,
        }
    }

    /// One page of the account's agents by name, from after `after` on, without their prompts.
    ///
    /// # Errors
    /// The store fails.
    pub async fn agent_page(&self, after: Option<&str>, limit: u32) -> Result<Vec<AgentFacts>> {
        let after = after.map(agent::fold_name);
        let store = &self.memoir.store;
        let rows = store.agent_page(self.id, after.as_deref(), limit).await?;
        self.listed(&rows).await
    }

    async fn listed(&self, rows: &[memoir_store::AgentRow]) -> Result<Vec<AgentFacts>> {
        let ids: Vec<AgentId> = rows.iter().map(|row| row.scope.agent).collect();
        let states = self.memoir.last_states(self.id, &ids).await?;
        let listed = |row: &memoir_store::AgentRow| {
            let last = states.get(&row.scope.agent).copied();
            Ok(self.memoir.listed_facts(&codec::listed_agent(row)?, last))
        };
        rows.iter().map(listed).collect()
    }

    /// The account's agents, by name, without their prompts and without those erased.
    ///
    /// # Errors
    /// The store fails.
    pub async fn agents(&self) -> Result<Vec<AgentFacts>> {
        let mut rows = self.memoir.store.agents(self.id).await?;
        rows.retain(|row| row.columns.erased_at.is_none());
        self.listed(&rows).await
    }

    /// The agent of that identifier, or of that name, in any case. An agent can choose its name, so an identifier takes
    /// precedence over a name.
    ///
    /// # Errors
    /// [`Error::NoAgent`].
    pub async fn agent(&self, name: &str) -> Result<AgentHandle> {
        if let Ok(agent) = name.parse::<AgentId>() {
            let account = self.id;
            let scope = AgentScope { account, agent };
            // The account's own log is no agent.
            if !scope.is_of_account()
                && let Some(found) = self.memoir.found(scope).await?
            {
                return Ok(found);
            }
        }
        // A text that is no agent's identifier may still be an agent's name.
        let folded = agent::fold_name(name.trim());
        let row = self.memoir.store.agent_named(self.id, &folded).await?;
        let row = row.ok_or_else(|| Error::NoAgent(name.to_owned()))?;
        Ok(AgentHandle::new(
            self.memoir.clone(),
            row.scope,
            row.columns.name,
        ))
    }

    /// The agent of a session.
    ///
    /// # Errors
    /// [`Error::NoSession`], for a session of another account too.
    pub async fn session_agent(
        &self,
        session: &str,
    ) -> Result<(AgentHandle, memoir_domain::SessionId)> {
        let unknown = || Error::NoSession(session.to_owned());
        let id = session.trim().parse().map_err(|_| unknown())?;
        let scope = self.memoir.store.session_owner(self.id, id).await?;
        let agent = self.memoir.found(scope.ok_or_else(unknown)?).await?;
        Ok((agent.ok_or_else(unknown)?, id))
    }
}

impl Memoir {
    /// The agent of that scope, by its stored name; `None` where there is none.
    pub(super) async fn found(&self, scope: AgentScope) -> Result<Option<AgentHandle>> {
        let snapshot = self.store.snapshot(scope, &AgentQuery::default()).await?;
        let name = snapshot.map(|snapshot| snapshot.agent.columns.name);
        Ok(name.map(|name| AgentHandle::new(self.clone(), scope, name)))
    }
}

impl AgentSettings<'_> {
    /// The identifier of a session, checked to be the agent's.
    ///
    /// # Errors
    /// [`Error::NoSession`], for a session of another agent too.
    pub async fn own_session_id(self, session: &str) -> Result<memoir_domain::SessionId> {
        let unknown = || Error::NoSession(session.to_owned());
        let id = session.trim().parse().map_err(|_| unknown())?;
        let store = &self.memoir.store;
        let owner = store.session_owner(self.scope.account, id).await?;
        // The error must not reveal that another agent has such a session.
        if owner != Some(self.scope) {
            return Err(unknown());
        }
        Ok(id)
    }

    /// Changes settings, all of them or none.
    ///
    /// # Errors
    /// A value is not allowed, or the name is taken; [`Error::Changed`].
    pub async fn configure(
        self,
        assignments: &[Assignment<'_>],
        actor: &Actor,
    ) -> Result<ShownAgent> {
        check_providers(&self.memoir, assignments)?;
        // Before the change: once that is made, no failing read may say otherwise. It ends no session.
        let last = self.memoir.last_state(self.scope).await?;
        let configured = self
            .decide(&AgentQuery::default().with_prompts(), |loaded, now| {
                let unchanged = loaded.agent.clone();
                let decision = manage::configure(loaded.agent, assignments, actor, now)?;
                let agent = decision
                    .as_ref()
                    .map_or(unchanged, |decision| decision.agent.clone());
                Ok((decision, agent))
            })
            .await;
        let agent = configured.map_err(|error| name_taken(error, assignments))?;
        let mut changed = ShownAgent::answered(&self.memoir, &agent, last, actor);
        changed.words.warnings = placeholder_warnings(assignments);
        Ok(changed)
    }
}

/// The error of changing settings, with the name where that is taken: names are kept unique by an index of the store, so
/// only the commit detects it.
pub(super) fn name_taken(error: Error, assignments: &[Assignment<'_>]) -> Error {
    let name = assignments.iter().find(|(field, _)| *field == Field::Name);
    match (error, name) {
        (Error::Store(memoir_store::Error::NameTaken), Some((_, name))) => {
            Error::NameTaken(name.unwrap_or_default().to_owned())
        }
        (error, _) => error,
    }
}

/// Warnings about prompts as they are set, for the caller that sets them: the text is the caller's.
pub(crate) fn placeholder_warnings(assignments: &[Assignment<'_>]) -> Vec<PrivateText> {
    let prompts = assignments.iter().filter(|(field, _)| field.is_text());
    let odd = prompts.filter_map(|(field, value)| {
        let found = agent::unfilled_placeholders(*field, value.as_ref()?);
        let named: Vec<String> = found.iter().map(|text| format!("`{text}`")).collect();
        let (subject, it) = match named.len() {
            0 => return None,
            1 => ("is a placeholder", "it"),
            _ => ("are placeholders", "them"),
        };
        Some(PrivateText::from(format!(
            "{}: {} {subject} that nothing fills here; the model is sent {it} as written. \
             Put the text itself there",
            field.as_str(),
            named.join(", ")
        )))
    });
    odd.collect()
}

/// All errors of the settings themselves, in the order given. Whether a name is free is not checked.
pub fn check_settings(assignments: &[Assignment<'_>]) -> Vec<Invalid> {
    let wrong = assignments.iter().filter_map(|&(field, value)| {
        let (mut name, mut settings) = (String::new(), Settings::default());
        agent::set_field(&mut name, &mut settings, field, value)
            // A model's name is checked for its form when it is set, not only when it is first needed.
            .and_then(|()| models(&[(field, value)]).try_for_each(|name| name.map(drop)))
            .err()
    });
    wrong.collect()
}

/// Checks that the providers of the models exist, and built-in models. Where no provider is known, any is accepted.
fn check_providers(memoir: &Memoir, assignments: &[Assignment<'_>]) -> Result<(), Invalid> {
    // Tests and tools connect models that are not listed; then only the form of the name can be checked.
    let known = memoir.providers();
    for name in models(assignments) {
        let name = name?;
        let problem = match (name.provider(), name.model()) {
            ("builtin", other) if other != "careful" => {
                "names no built-in model; there is only `builtin:careful`".to_owned()
            }
            (given, _) if known.is_empty() || known.iter().any(|one| one == given) => continue,
            _ => format!(
                "names a provider that there is not; known are {}, and `[providers.NAME]` of the configuration makes \
                 others known",
                known.join(", ")
            ),
        };
        return Err(Invalid::new("model", problem));
    }
    Ok(())
}

fn models(assignments: &[Assignment<'_>]) -> impl Iterator<Item = Result<ModelName, Invalid>> {
    let all = assignments.iter();
    let set = all.filter(|(field, _)| *field == Field::Model);
    let names = set.filter_map(|(_, value)| value.map(str::parse::<ModelName>));
    names.map(|name| name.map_err(|error| Invalid::new("model", error.to_string())))
}

//! Opens an installation: configuration, models, database, account.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use memoir_app::{Account, AgentHandle, Memoir, OwnAgent, Principal, Provision, Viewer};
use memoir_domain::{SessionId, audit::Actor, memory::Number};
use memoir_model::{Providers, builtin_embeddings};
use memoir_store::Store;
use memoir_store_sqlite::SqliteStore;
use memoir_vault::{KeyStore, MasterKey};
use zeroize::Zeroizing;

use crate::{
    config::Config,
    database, embeddings,
    failure::{Failure, NO_DATABASE},
    keys,
    options::{AGENT, Global, TOKEN, agent_in_environment},
    parse,
    show::counted,
    spelling::closest,
    terminal::{self, safe},
    tokens,
};

/// An open installation, and the account of the command.
pub(crate) struct Installation {
    pub(crate) memoir: Memoir,
    pub(crate) account: Account,
    /// The name of the installation on this machine.
    pub(crate) place: String,
    /// Whether an agent's texts are shown to that agent only.
    is_closed: bool,
    pub(crate) is_configured_closed: bool,
    /// The given token; blank without one.
    token: Zeroizing<String>,
}

impl Installation {
    /// Opens what the arguments name, and finishes interrupted work.
    ///
    /// # Errors
    /// The configuration is wrong, the database cannot be opened, or there is no such account.
    pub(crate) async fn open(global: &Global) -> Result<Self, Failure> {
        Self::open_within(global, None).await
    }

    /// `limit`: that of the hook of a prompt.
    async fn open_within(global: &Global, limit: Option<Duration>) -> Result<Self, Failure> {
        let began = Instant::now();
        let (mut memoir, is_configured_closed) = opened_for(global, limit.is_some()).await?;
        if let Some(limit) = limit {
            // The model's file is opened beside the database, so that this counts. Words alone still find memories in the
            // rest of the limit.
            let most = match memoir.settings().recall.embeddings == Some(builtin_embeddings()) {
                true => (limit / 2).saturating_sub(began.elapsed()),
                false => Duration::ZERO,
            };
            memoir = memoir.with_question_time(most.max(limit / 4));
        }
        finish(&memoir).await?;
        Self::of(memoir, global, is_configured_closed).await
    }

    /// As [`Installation::open`], for the hooks and tools of a program: they create no database, since one at a wrong
    /// path would be an empty memory without a word. With the `limit` of the hook of a prompt, recall waits for the vector
    /// of its query at most a fourth of it, or half of it for the built-in model, whose file begins to be opened first.
    ///
    /// # Errors
    /// As for [`Installation::open`]; there is no database yet.
    pub(crate) async fn of_program(
        global: &Global,
        limit: Option<Duration>,
    ) -> Result<Self, Failure> {
        if is_there(global).await? {
            return Self::open_within(global, limit).await;
        }
        let path = database::path(global.database.as_deref())?;
        Err(
            Failure::new(format!("there is no database `{}`", path.display())).hint(
                "`memoir setup PROGRAM` creates it with an agent; a moved one is named with `--database`; where the \
                 memory is on another machine, serve it there (`memoir serve`) and name it with `--url`",
            )
            .code(NO_DATABASE),
        )
    }

    /// As [`Installation::open`], for commands that make nothing in an empty installation. Where there is none, an empty
    /// one in memory takes its place, so that a mistyped name leaves no file behind.
    ///
    /// # Errors
    /// As for [`Installation::open`]; the database is gone, and its keys are there.
    pub(crate) async fn existing(global: &Global) -> Result<Self, Failure> {
        let (memoir, is_configured_closed) = match is_there(global).await? {
            true => return Self::open(global).await,
            false => in_memory(global)?,
        };
        Self::of(memoir, global, is_configured_closed).await
    }

    /// As [`Installation::existing`], with the agent of that name, or the only one.
    pub(crate) async fn of_agent(
        global: &Global,
        name: Option<&str>,
    ) -> Result<(Self, AgentHandle), Failure> {
        let installation = Self::existing(global).await?;
        let agent = installation.agent_or_only(name).await?;
        Ok((installation, agent))
    }

    /// Wraps an open installation.
    ///
    /// # Errors
    /// There is no such account, or the store fails.
    pub(crate) async fn of(
        memoir: Memoir,
        global: &Global,
        is_configured_closed: bool,
    ) -> Result<Self, Failure> {
        let account = memoir.account(&global.account).await?;
        // Configuration or database may close the installation; neither reopens what the other closed (SPEC 5.5).
        let is_closed = is_configured_closed || memoir.is_closed().await?;
        Ok(Self {
            memoir,
            account,
            place: database::place(global)?,
            is_closed,
            is_configured_closed,
            // A value that is not UTF-8 is no token.
            token: std::env::var(TOKEN).unwrap_or_default().into(),
        })
    }

    pub(crate) async fn agent(&self, name: &str) -> Result<AgentHandle, Failure> {
        match self.account.agent(name).await {
            Err(error @ memoir_app::Error::NoAgent(_)) => {
                let agents = self.account.agents().await?;
                let names = agents.iter().map(|agent| agent.name.as_str());
                let failure = Failure::from(error).with_closest(closest(name, names));
                Err(match agents.is_empty() {
                    true => failure.hint(NO_AGENT_HINT),
                    false => failure,
                })
            }
            found => Ok(found?),
        }
    }

    /// The agent of that name; without one the agent that the environment names, or the only agent.
    ///
    /// # Errors
    /// No such agent, no agent at all, or several to choose from.
    pub(crate) async fn agent_or_only(&self, name: Option<&str>) -> Result<AgentHandle, Failure> {
        let named = name.map(str::to_owned).or_else(agent_in_environment);
        if let Some(name) = named {
            return self.agent(&name).await;
        }
        // Two agents are enough to know that there are several.
        let agents = self.account.agent_page(None, 2).await?;
        match agents.as_slice() {
            [only] => self.agent(&only.name).await,
            [] => {
                Err(Failure::new("there is no agent yet").hint(NO_AGENT_HINT))
            }
            _ => Err(
                Failure::new("there are several agents, and none is named").hint(format!(
                    "name one (with `--agent NAME` where the command has it; in place of `last`, give an identifier of \
                     `memoir sessions AGENT`), or set {AGENT}; `memoir agent list` shows them"
                )),
            ),
        }
    }

    /// The agent and the numbers of its memories, as they were typed: `first` is the agent, or the first number where
    /// no agent has that name.
    ///
    /// # Errors
    /// No such agent, several to choose from, or no number.
    pub(crate) async fn numbered(
        &self,
        first: &str,
        rest: &[Number],
    ) -> Result<(AgentHandle, Vec<Number>), Failure> {
        let number = parse::number(first).ok();
        let (agent, first) = match self.account.agent(first).await {
            Err(memoir_app::Error::NoAgent(_)) if number.is_some() => {
                (self.agent_or_only(None).await?, number)
            }
            Err(memoir_app::Error::NoAgent(_)) => (self.agent(first).await?, None),
            found => (found?, None),
        };
        let mut numbers = Vec::new();
        for number in first.iter().chain(rest) {
            if !numbers.contains(number) {
                numbers.push(*number);
            }
        }
        match numbers.is_empty() {
            false => Ok((agent, numbers)),
            true => Err(Failure::new("no memory is named")
                .hint("give the numbers of memories; `memoir ledger AGENT --all` lists them")),
        }
    }

    /// The viewer of the agent. In an open installation it is the owner, who reads what the agent reads. In a closed
    /// one it is the agent with its token, or else an administrator (SPEC 5.5).
    ///
    /// # Errors
    /// The given token is invalid.
    pub(crate) async fn viewer(&self, agent: &AgentHandle) -> Result<Viewer, Failure> {
        if !self.is_closed {
            return Ok(Viewer::Agent);
        }
        let holder = self.holder().await?;
        if holder.is_some_and(|holder| is_own(agent, &holder)) {
            return Ok(Viewer::Agent);
        }
        Ok(Viewer::administrator(self.actor(agent).await?))
    }

    /// How a token of the agent is made: in an open installation by the owner; in a closed one by the agent itself, or
    /// its first one by an administrator.
    pub(crate) async fn provision(&self, agent: &AgentHandle) -> Result<Provision, Failure> {
        if !self.is_closed {
            return Ok(Provision::Any);
        }
        let own = self.holder().await?.filter(|holder| is_own(agent, holder));
        Ok(own.map_or(Provision::First, |own| Provision::Own(own.token)))
    }

    /// The actor: the agent or the administrator of its account whose token is given, or else the user of the command
    /// line. An access grant is valid only for its requester (SPEC 5.2).
    pub(crate) async fn actor(&self, agent: &AgentHandle) -> Result<Actor, Failure> {
        Ok(match self.holder().await? {
            Some(holder) if is_own(agent, &holder) => Actor::agent(agent.name()),
            Some(Principal {
                token,
                account,
                agent: None,
                ..
            }) if account == agent.scope().account => {
                Actor::administrator(format!("token {token}"))
            }
            _ => administrator(),
        })
    }

    /// The author of a change by command: the owner of the machine, who is not content-blind, or in a closed
    /// installation an administrator (SPEC 3.4).
    pub(crate) fn author(&self) -> Actor {
        author_where(self.is_closed)
    }

    /// The actor of an agent's own operations: the owner of the machine, or in a closed installation an administrator
    /// or the agent whose token is given.
    pub(crate) async fn owner_or_actor(&self, agent: &AgentHandle) -> Result<Actor, Failure> {
        match self.is_closed {
            true => self.actor(agent).await,
            false => Ok(Actor::owner()),
        }
    }

    /// The principal of the given token; `None` without one.
    async fn holder(&self) -> Result<Option<Principal>, Failure> {
        if self.token.is_empty() {
            return Ok(None);
        }
        let holder = self.memoir.authenticate(&self.token).await?;
        let holder = holder.ok_or_else(|| {
            Failure::new(format!("the token in {TOKEN} is invalid"))
                .hint("it may have ended or been revoked; `memoir token list` shows the tokens that there are")
        })?;
        // Written now: a use is buffered in memory, and this process ends soon. One that cannot be written now is only
        // missing in the list of the tokens.
        match memoir_app::without_waiting(self.memoir.write_uses()).await {
            Err(memoir_app::Error::Store(memoir_store::Error::Busy)) => {}
            written => written?,
        }
        Ok(Some(holder))
    }

    /// The agent for itself, or for the owner of the machine.
    ///
    /// # Errors
    /// The installation is closed, and the agent's token was not given.
    pub(crate) async fn own(&self, agent: &AgentHandle) -> Result<OwnAgent, Failure> {
        let lens = agent.views().seen_by(self.viewer(agent).await?);
        lens.as_agent().or_else(|_| self.refuse(agent))
    }

    /// As [`Installation::own`], for the hooks and tools of a program on this machine: they use their stored token where
    /// none of the agent's is given. An agent that is not in use yet gets its first token.
    ///
    /// # Errors
    /// The installation is closed, and no token of the agent is given or stored.
    pub(crate) async fn own_for_program(
        &mut self,
        agent: &AgentHandle,
    ) -> Result<OwnAgent, Failure> {
        if self.is_closed && !self.opens(agent, &self.token).await? {
            self.token = self.program_token(agent).await?;
        }
        self.own(agent).await
    }

    /// The agent's token for programs on this machine. Without a stored valid one it is created and stored: in an open
    /// installation by its owner, in a closed one only for an agent that is not in use.
    ///
    /// # Errors
    /// The installation is closed, and the agent is in use; the file of the tokens cannot be read or written.
    pub(crate) async fn program_token(
        &self,
        agent: &AgentHandle,
    ) -> Result<Zeroizing<String>, Failure> {
        let (provision, actor) = match self.is_closed {
            // Not the command line: a hook does not use up the agent's grant of a token to that administrator.
            true => (
                Provision::First,
                Actor::administrator("programs on this machine"),
            ),
            false => (Provision::Any, Actor::owner()),
        };
        self.stored_or_new(agent, provision, &actor).await
    }

    /// As [`Installation::program_token`]; a token that is created is from `actor`.
    ///
    /// # Errors
    /// The file of the tokens cannot be read or written; the store fails.
    pub(crate) async fn stored_or_new(
        &self,
        agent: &AgentHandle,
        provision: Provision,
        actor: &Actor,
    ) -> Result<Zeroizing<String>, Failure> {
        // By the identifier, since an agent can be renamed.
        let id = agent.scope().agent.to_string();
        let stored = tokens::stored(&self.place, &id)?;
        for token in stored.into_iter().map(Zeroizing::new) {
            if self.opens(agent, &token).await? {
                return Ok(token);
            }
        }
        if !self.token.is_empty() && self.opens(agent, &self.token).await? {
            tokens::store(&self.place, &id, &self.token)?;
            return Ok(self.token.clone());
        }
        match agent.grants().create_token(provision, None, actor).await {
            Ok(made) => {
                let token = Zeroizing::new(made.secret.expose().to_owned());
                tokens::store(&self.place, &id, &token)?;
                Ok(token)
            }
            Err(memoir_app::Error::ConsentNeeded(_)) => self.refuse(agent),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the token is a valid one of the agent.
    async fn opens(&self, agent: &AgentHandle, token: &str) -> Result<bool, Failure> {
        let holder = self.memoir.authenticate(token).await?;
        Ok(holder.is_some_and(|holder| is_own(agent, &holder)))
    }

    /// Refuses a caller who may not read the agent's texts.
    pub(crate) fn refuse<T>(&self, agent: &AgentHandle) -> Result<T, Failure> {
        let name = agent.name();
        Err(self.closed(&format!("the text of `{name}` is shown to the agent only")))
    }

    /// The refusal of a closed installation, with both remedies.
    pub(crate) fn closed(&self, done: &str) -> Failure {
        let token = match self.token.is_empty() {
            true => format!("give the agent's token in {TOKEN}"),
            false => format!(
                "the token in {TOKEN} is of another agent or of an administrator, or was revoked or ended: give the \
                 agent's own"
            ),
        };
        Failure::closed(done, self.is_configured_closed, &token)
    }

    /// As [`Installation::closed`], for edits, which no token permits.
    pub(crate) fn closed_to_edits(&self, done: &str) -> Failure {
        let token = format!("with the agent's token in {TOKEN}, use `memoir remember --replaces`");
        Failure::closed(done, self.is_configured_closed, &token)
    }

    /// The session of that identifier, and its agent. `id` is a whole identifier, the beginning of one of each agent's
    /// latest sessions, or `last`: that of `agent`, or of the agent as for [`Installation::agent_or_only`].
    pub(crate) async fn session(
        &self,
        id: &str,
        agent: Option<&str>,
    ) -> Result<(AgentHandle, SessionId), Failure> {
        // A complete identifier is not searched for.
        const IDENTIFIER: usize = 36;
        if id.len() >= IDENTIFIER {
            return Ok(self.account.session_agent(id).await?);
        }
        if id.eq_ignore_ascii_case("last") {
            let agent = self.agent_or_only(agent).await?;
            let last = agent.views().session_page(None, 1).await?;
            let problem = format!("there is no session of `{}` yet", agent.name());
            let none = || Failure::new(problem).hint("`memoir refine AGENT` begins one");
            let last = last.first().ok_or_else(none)?.id;
            return Ok((agent, last));
        }
        // Shorter beginnings are most likely mistyped.
        let begins = id.to_lowercase();
        let is_meant = |found: SessionId| id.len() >= 4 && found.to_string().starts_with(&begins);
        let mut found = Vec::new();
        for agent in self.account.agents().await? {
            let agent = self.agent(&agent.name).await?;
            let sessions = agent.views().session_page(None, LATEST_SESSIONS).await?;
            let wanted = sessions.iter().filter(|session| is_meant(session.id));
            found.extend(wanted.map(|session| session.id.to_string()));
        }
        match found.as_slice() {
            [only] => Ok(self.account.session_agent(only).await?),
            // No session was found, and this call fails with that message.
            [] => Ok(self.account.session_agent(id).await?),
            several => {
                let message = format!("{} sessions begin with `{}`", several.len(), safe(id));
                Err(Failure::new(message).hint(format!("give more of it: {}", several.join(", "))))
            }
        }
    }
}

const NO_AGENT_HINT: &str = "`memoir agent create NAME` creates one";
/// How many sessions of each agent are searched for the beginning of an identifier.
const LATEST_SESSIONS: u32 = 200;

/// As [`Installation::author`], where no account is open.
pub(crate) fn author_where(is_closed: bool) -> Actor {
    match is_closed {
        true => administrator(),
        false => Actor::owner(),
    }
}

fn is_own(agent: &AgentHandle, holder: &Principal) -> bool {
    let scope = agent.scope();
    (holder.account, holder.agent) == (scope.account, Some(scope.agent))
}

/// Finishes interrupted work (SPEC 6.2), and reports what was finished and what failed. Waits for no other process: a
/// command that only reads must not.
pub(crate) async fn finish(memoir: &Memoir) -> Result<(), Failure> {
    let finished = memoir_app::without_waiting(memoir.finish()).await?;
    if finished.sessions > 0 {
        terminal::note(&format!(
            "closed {} of a process that died; the edits stay",
            counted(finished.sessions, "session", "sessions")
        ));
    }
    if finished.erased > 0 {
        terminal::note(&format!(
            "finished erasing {}: the keys are destroyed",
            counted(finished.erased, "agent", "agents")
        ));
    }
    for left in &finished.left {
        let (what, why) = (safe(&left.what), left.why.to_string());
        terminal::note(&format!("{what}: {}", safe(&why)));
    }
    Ok(())
}

/// The installation that the arguments name, and whether the configuration closes it.
///
/// # Errors
/// The configuration is wrong, or the database cannot be opened; as for [`is_there`].
pub(crate) async fn opened(global: &Global) -> Result<(Memoir, bool), Failure> {
    opened_for(global, false).await
}

async fn opened_for(global: &Global, is_prompt: bool) -> Result<(Memoir, bool), Failure> {
    // Before anything is made: an empty database beside keys is a lost one.
    is_there(global).await?;
    let config = Config::read(global.config.as_deref())?;
    let providers = providers(&config)?;
    if is_prompt && embeddings::model(&config) == Some(builtin_embeddings()) {
        providers.begin_opening_model_file();
    }
    database::prepare(global.database.as_deref())?;
    // The keys first: with the wrong ones nothing is written.
    let keys = keys::open(global, &config).await?;
    let closed = config.closed;
    let store = database::open(global.database.as_deref()).await?;
    let memoir = on(store, keys, &config, providers, database::is_shared(global));
    memoir.keep_time().await?;
    Ok((memoir, closed))
}

/// Whether there is an installation: a database with data.
///
/// # Errors
/// The database cannot be reached; it is empty, and a key store beside it has keys of agents.
pub(crate) async fn is_there(global: &Global) -> Result<bool, Failure> {
    let url = global.database.as_deref();
    if database::postgres(url).is_some() || database::is_in_use(url).await? {
        return Ok(true);
    }
    let path = database::checked_path(url)?;
    let config = Config::read(global.config.as_deref())?;
    let has_keys = keys::store_path(&path).exists() && keys::is_file(&config)?;
    let orphans = match has_keys {
        true => keys::open(global, &config).await?.agents(),
        false => Ok(Vec::new()),
    };
    match orphans?.len() {
        0 => Ok(false),
        agents => Err(Failure::new(format!(
            "the database `{}` is empty or gone, and its key store has the keys of {}",
            path.display(),
            counted(agents as u64, "agent", "agents")
        ))
        .hint("restore a backup of the database; to begin anew, move the key store and the master key away")),
    }
}

/// An empty installation in memory, and whether the configuration closes it.
pub(crate) fn in_memory(global: &Global) -> Result<(Memoir, bool), Failure> {
    let config = Config::read(global.config.as_deref())?;
    let closed = config.closed;
    let keys = KeyStore::in_memory(&MasterKey::generate()?)?;
    let store = Arc::new(SqliteStore::in_memory()?);
    let providers = providers(&config)?;
    Ok((on(store, keys, &config, providers, false), closed))
}

/// Builds an installation on that store, with those keys. `is_shared`: several machines may share the store.
pub(crate) fn on(
    store: Arc<dyn Store>,
    keys: KeyStore,
    config: &Config,
    providers: Providers,
    is_shared: bool,
) -> Memoir {
    let mut settings = memoir_app::InstallationSettings {
        is_shared,
        ..config.settings.clone()
    };
    settings.recall.embeddings = embeddings::model(config);
    Memoir::new(store, Arc::new(keys), Arc::new(providers), settings)
}

/// The configured providers, and the file of the built-in model; an error where a provider's settings are wrong.
pub(crate) fn providers(config: &Config) -> Result<Providers, Failure> {
    let providers = Providers::new(config.providers.clone())
        .map_err(|error| Failure::new(format!("{}: {error}", config.origin())))?;
    Ok(match embeddings::path(config) {
        Some(path) => providers.with_model_file(path),
        None => providers,
    })
}

/// The user of the command line, in a closed installation.
fn administrator() -> Actor {
    Actor::administrator("command line")
}

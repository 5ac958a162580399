//! The memory that a hook queries: an agent's in a database on this machine, or one behind a service. Both return the
//! same shapes, which are parsed here once.

use std::{collections::BTreeSet, thread, time::Instant};

use memoir_app::{AgentHandle, ContextRequest, HandedMessage, HandedOver, OwnAgent};
use memoir_domain::{
    PrivateText, Timestamp,
    memory::ReportKind,
    recall::{RecallIndex, RecallQuery, is_literal, is_worth_showing},
    session::is_builtin,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    Arguments, HookEvent, calls,
    project::{ChosenAgent, Project},
    state::AgentKey,
    written::{self, ProgramMemory},
};
use crate::{
    database,
    failure::Failure,
    installation::Installation,
    remote::Remote,
    show::counted,
    spelling::closest,
    terminal::{self, safe},
};

/// Most characters of a query that a service accepts.
const REMOTE_QUESTION: usize = 5_000;

pub(super) enum ReachedMemory {
    Here {
        installation: Box<Installation>,
        agent: Box<OwnAgent>,
    },
    Away(Remote),
}

#[derive(Debug, Deserialize)]
pub(super) struct HookContext {
    pub(super) text: PrivateText,
    pub(super) left_out: BTreeSet<u64>,
    /// Whether a session is due, and why.
    pub(super) refinement_due: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct HookMemory {
    pub(super) number: u64,
    pub(super) kind: String,
    pub(super) origin: String,
    pub(super) source: Option<PrivateText>,
    pub(super) content: PrivateText,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
    #[serde(default)]
    pub(super) is_summary: bool,
    /// Of a replaced memory, the date until which it was valid, and the memory that replaced it (SPEC 2.8).
    pub(super) until: Option<Timestamp>,
    pub(super) now: Option<u64>,
    #[serde(rename = "match")]
    found: Option<Match>,
}

impl HookMemory {
    /// Whether it is one of Memoir's own journal entries, of which contexts show the first line. A client's entry of such
    /// a source is taken as one.
    pub(super) fn is_report(&self) -> bool {
        let source = self.source.as_ref().map_or("", PrivateText::expose);
        self.kind == "journal" && ReportKind::from_name(source).is_some()
    }

    pub(super) fn is_copy_of(&self, other: &Self) -> bool {
        self.content.expose() == other.content.expose()
    }
}

#[derive(Debug, Deserialize)]
struct Match {
    score: f32,
    corrects: Option<u64>,
    #[serde(default)]
    by_stop_words: bool,
    near: Option<usize>,
}

#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Access requests that it has not answered.
    pub(super) requests: u64,
    /// Messages that no model will read.
    pub(super) messages: u64,
    /// Agents whose folder is missing, and whose memory may be that of this project.
    pub(super) offered: Vec<String>,
}

#[derive(Deserialize)]
struct Items<T> {
    items: Vec<T>,
}

#[derive(Deserialize)]
struct HookAccessRequest {
    state: String,
}

#[derive(Deserialize)]
struct WaitingTranscripts {
    pending: u64,
}

#[derive(Deserialize)]
struct HookAgent {
    effective_model: Option<String>,
}

impl ReachedMemory {
    /// Opens the memory that a program means. A missing agent of a project is created.
    ///
    /// # Errors
    /// There is no such agent, or its texts may not be shown here; the database or the service is down.
    pub(super) async fn open(
        means: &ProgramMemory,
        arguments: &Arguments,
        chosen: &ChosenAgent,
    ) -> Result<Self, Failure> {
        if let Some(service) = &means.service {
            let name = chosen.name_behind(&service.url)?;
            return Ok(Self::Away(Remote::open(service, name.as_deref())?));
        }
        let is_prompt = arguments.event == HookEvent::UserPrompt && !arguments.store_index;
        if is_prompt {
            // The tables of the languages take a millisecond or more to make: beside the opening of the database.
            let asked = RecallQuery::of_prompt("is it", 5, 1);
            let made = move || drop(RecallIndex::default().search(&asked, None));
            let _ = thread::Builder::new().spawn(made);
        }
        let limit = is_prompt.then(|| arguments.limit());
        let mut installation = Installation::of_program(&means.global, limit).await?;
        let agent = installation.chosen(chosen).await?;
        calls::note_agent(&arguments.client.name(), &installation.place, agent.name());
        let agent = installation.own_for_program(&agent).await?;
        let agent = match arguments.event == HookEvent::SessionStart {
            true => agent.uncounted(),
            false => agent,
        };
        Ok(Self::Here {
            installation: Box::new(installation),
            agent: Box::new(agent),
        })
    }

    /// The key of the reached agent's part of a session's state.
    pub(super) fn key(&self) -> AgentKey {
        let agent = match self {
            Self::Here { agent, .. } => agent.name(),
            Self::Away(remote) => &remote.agent,
        };
        AgentKey::of(self.place(), agent)
    }

    /// The keys by the names that the agent had when the program was set up before, without those that another agent has
    /// now.
    async fn former_keys(&self, program: &str) -> Vec<AgentKey> {
        let key_of = |name: &str| AgentKey::of(self.place(), name);
        let mut keys = Vec::new();
        let Some(written) = written::read(program).filter(|written| {
            let named = written.call.agent.as_deref();
            written.place == self.place() && named.is_some_and(|name| key_of(name) == self.key())
        }) else {
            return keys;
        };
        for name in &written.former_names {
            let key = key_of(name);
            let is_free = match self {
                Self::Here { installation, .. } => {
                    let found = installation.account.agent(name).await;
                    matches!(found, Err(memoir_app::Error::NoAgent(_)))
                }
                // A service tells only of the agent itself: another one is known by the programs that are set up with it.
                Self::Away(_) => !written::all().iter().any(|(_, other)| {
                    let named = other.call.agent.as_deref();
                    named.is_some_and(|name| AgentKey::of(&other.place, name) == key)
                }),
            };
            if is_free {
                keys.push(key);
            }
        }
        keys
    }

    /// A keyed digest that identifies a text. Checking a guess against it requires the agent's key or its token.
    pub(super) async fn digest(&self, text: &str) -> Result<u64, Failure> {
        Ok(match self {
            Self::Here { agent, .. } => agent.digest(text).await?,
            Self::Away(remote) => remote.digest(text),
        })
    }

    /// Passes the messages on; those that were passed before are skipped.
    pub(super) async fn hand_over(
        &self,
        messages: Vec<HandedMessage>,
    ) -> Result<HandedOver, Failure> {
        match self {
            Self::Here {
                installation,
                agent,
            } => {
                let actor = installation.owner_or_actor(agent).await?;
                // The messages are not read immediately, since the conversation may go on.
                Ok(agent.life().hand_over(messages, false, actor.kind).await?)
            }
            Self::Away(remote) => {
                let body = json!({"messages": messages});
                remote.post("transcripts", &body).await
            }
        }
    }

    /// A context that may not be the last one of a start. A service notes it where `is_noted`.
    pub(super) async fn tried_context(
        &self,
        max_tokens: u64,
        is_noted: bool,
    ) -> Result<HookContext, Failure> {
        match self {
            Self::Here { agent, .. } => {
                let request = request(max_tokens);
                reshaped(&agent.measured_context(&request).await?)
            }
            Self::Away(remote) => {
                let size = max_tokens.to_string();
                // A service notes none that it explains.
                let is_explained = if is_noted { "false" } else { "true" };
                let request = [
                    ("max_tokens", &*size),
                    ("hard", "true"),
                    ("explain", is_explained),
                ];
                remote.get("context", &request).await
            }
        }
    }

    /// Notes the last of the contexts that were tried, by their sizes. Without effect on it: where that fails, a later
    /// one is noted.
    pub(super) async fn note_context(&self, tries: &[u64], until: Instant) {
        match (self, tries) {
            (Self::Here { agent, .. }, [.., last]) => {
                let _ = agent.note_context(&request(*last)).await;
            }
            (Self::Away(_), [_, .., last]) => {
                let noting = self.tried_context(*last, true);
                // The program waits for the text.
                let _ = tokio::time::timeout_at(until.into(), noting).await;
            }
            _ => {}
        }
    }

    /// The installation or the service, and the agent behind a service.
    fn place(&self) -> &str {
        match self {
            Self::Here { installation, .. } => &installation.place,
            Self::Away(remote) => &remote.given_url,
        }
    }

    pub(super) async fn waiting(&self, chosen: &ChosenAgent) -> Result<Waiting, Failure> {
        let (requests, messages): (Vec<HookAccessRequest>, u64) = match self {
            Self::Here { agent, .. } => {
                // First: it notes the counts of the agent's rows, which the other then need not read.
                let messages = agent.life().unread().await?;
                (reshaped(&agent.grants().open_access().await?)?, messages)
            }
            Self::Away(remote) => {
                // A whole page, since newer closed requests precede an open one.
                let page = [("limit", "200")];
                let (access_requests, waits) = tokio::try_join!(
                    remote.get::<Items<HookAccessRequest>>("access-requests", &page),
                    remote.get::<WaitingTranscripts>("transcripts", &[]),
                )?;
                // Queried only where messages are pending, since the host waits for this request.
                let messages = match waits.pending > 0 && has_reader(remote).await? {
                    true => 0,
                    false => waits.pending,
                };
                (access_requests.items, messages)
            }
        };
        let open_requests = requests.iter().filter(|request| request.state == "asked");
        let mut offered = Vec::new();
        if let ChosenAgent::OfProject(project) = chosen {
            if let Self::Away(remote) = self {
                // A service creates no agent for a project, so that its folder is recorded here.
                project.note(self.place(), &remote.agent)?;
            }
            offered = project.offered(self.place())?;
        }
        Ok(Waiting {
            requests: open_requests.count() as u64,
            messages,
            offered,
        })
    }

    pub(super) async fn recall(
        &self,
        prompt: &PrivateText,
        limit: usize,
    ) -> Result<Vec<HookMemory>, Failure> {
        match self {
            Self::Here { agent, .. } => {
                let found = agent.lens().recall_for_prompt(prompt, limit).await?;
                // To wipe a large one takes milliseconds, and a hook recalls once.
                agent.memories().drop_index();
                reshaped(&found)
            }
            Self::Away(remote) => {
                let query = RecallQuery::of_prompt(prompt.expose(), REMOTE_QUESTION, limit).text;
                let query = query.expose();
                // The service answers a blank query with all memories, and marks alone with those that have them.
                if query.trim().is_empty() || is_literal(query) {
                    return Ok(Vec::new());
                }
                let limit = limit.to_string();
                // The service returns scores only with `explain`.
                let parameters = [("q", query), ("limit", &limit), ("explain", "true")];
                let page = remote.get::<Items<HookMemory>>("memories", &parameters);
                let mut found = page.await?.items;
                let scores = found.iter().filter_map(|memory| memory.found.as_ref());
                let best = scores.map(|found| found.score).fold(0.0, f32::max);
                found.retain(|memory| {
                    let found = memory.found.as_ref();
                    found.is_some_and(|found| {
                        let corrects = found.corrects.is_some();
                        let by_stop_words = found.by_stop_words;
                        is_worth_showing(by_stop_words, corrects, found.score, best, found.near)
                    })
                });
                Ok(found)
            }
        }
    }
}

/// The keys of an agent's state: that of the reached agent, that by which its state is found where it is not reached, and
/// those of the names that it had.
pub(super) async fn keys(
    memory: Option<&ReachedMemory>,
    program: &str,
    means: &ProgramMemory,
    chosen: &ChosenAgent,
) -> Vec<AgentKey> {
    let mut keys: Vec<AgentKey> = memory.map(ReachedMemory::key).into_iter().collect();
    keys.push(unreached_key(means, chosen));
    keys.dedup();
    if let Some(memory) = memory {
        keys.extend(memory.former_keys(program).await);
    }
    keys
}

/// The key of an agent that could not be reached: by the name that was given, where there is one.
pub(super) fn unreached_key(means: &ProgramMemory, chosen: &ChosenAgent) -> AgentKey {
    let place = match &means.service {
        Some(service) => service.url.clone(),
        // Without a name, the database cannot be opened either.
        None => database::place(&means.global).unwrap_or_default(),
    };
    AgentKey::of(&place, &chosen.given_name())
}

/// Whether the service has a model that reads conversations; the rule-based one does not.
async fn has_reader(remote: &Remote) -> Result<bool, Failure> {
    let agent: HookAgent = remote.get("", &[]).await?;
    let model = agent.effective_model.unwrap_or_default();
    Ok(!model.is_empty() && !is_builtin(&model))
}

/// The context that a program takes: it cuts what is longer than its limit (SPEC 2.3).
pub(super) fn request(max_tokens: u64) -> ContextRequest {
    ContextRequest {
        max_tokens: Some(max_tokens),
        is_hard: true,
        explain: false,
    }
}

/// Converts a service's view to the type here.
pub(super) fn reshaped<T: DeserializeOwned>(view: &impl Serialize) -> Result<T, Failure> {
    serde_json::to_value(view)
        .and_then(serde_json::from_value)
        // Not the parser's message, which may quote the response.
        .map_err(|_| Failure::new("the response has an unknown format"))
}

impl super::AgentChoice {
    /// The name of the option or the environment, or the project of `folder`; without one, of the process's own folder.
    pub(crate) fn chosen(&self, folder: Option<&std::path::Path>) -> ChosenAgent {
        if self.per_project {
            let here = std::env::current_dir().ok();
            let prefix = self.prefix.as_deref().unwrap_or_default();
            if let Some(folder) = folder.map(ToOwned::to_owned).or(here) {
                return ChosenAgent::OfProject(Project::of(&folder, prefix));
            }
        }
        let named = self.agent.clone();
        ChosenAgent::Named(named.or_else(crate::options::agent_in_environment))
    }
}

impl Installation {
    /// The agent of that name, created where it is missing. Reports that, with the name that was probably meant.
    ///
    /// # Errors
    /// The name is not allowed, or the store fails.
    pub(crate) async fn agent_or_new(&self, name: &str) -> Result<AgentHandle, Failure> {
        match self.account.agent(name).await {
            Err(memoir_app::Error::NoAgent(_)) => {}
            found => return Ok(found?),
        }
        let others = self.account.agents().await?;
        match self.account.create_agent(name, &[], &self.author()).await {
            // Another process was faster.
            Err(memoir_app::Error::NameTaken(_)) => return self.agent(name).await,
            created => drop(created?),
        }
        let names = others.iter().map(|agent| agent.name.as_str());
        let others = match closest(name, names) {
            Some(other) => format!(": none had that name; did you mean `{}`?", safe(other)),
            None if others.is_empty() => String::new(),
            None => format!(
                ": none had that name; `memoir agent list` shows the {} from before",
                counted(others.len() as u64, "agent", "agents")
            ),
        };
        terminal::note(&format!("created the agent `{}`{others}", safe(name)));
        self.agent(name).await
    }
}

//! What a host's session was shown: the context at its start, and memories beside its prompts.
//!
//! Two registrations of the hooks, such as a plugin's and that of `memoir setup`, send each event twice. The state is
//! that of the session and of the agent that was reached, so that both find it. A start that was not shown, because it
//! came too late or failed, is noted before anything slow begins; the next prompt shows it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use memoir_domain::{Timestamp, context::is_recent_at};
use serde::{Deserialize, Serialize};

use super::{
    AgentChoice,
    payload::Payload,
    project::ChosenAgent,
    reached::HookMemory,
    start::StartText,
    state::{self, AgentKey, LockedState, file_name},
};
use crate::{failure::Failure, terminal};

const SESSIONS: &str = "sessions";
/// Within this many seconds a repeated event is the same one, for every registration.
const TOGETHER: i64 = 2;
/// Within this many seconds an event is the same one for another registration. Programs wait no longer for a hook.
const LONGEST: i64 = 60;

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct KeptSession {
    /// Its last start; `None` where no start was sent.
    begun: Option<Occurrence>,
    /// When a start was answered with a notice alone, since the memory was closed or damaged.
    noticed: Option<Timestamp>,
    /// The root of the project in which it began; `None` where projects have no agents of their own.
    project: Option<PathBuf>,
    agents: BTreeMap<AgentKey, ShownToAgent>,
}

/// What one agent's memory has contributed.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct ShownToAgent {
    context: Option<ShownContext>,
    /// The memories shown since the context, by number, with the time of their last change.
    shown: BTreeMap<u64, Timestamp>,
    prompt: Option<Occurrence>,
}

/// One event of the host, and the registrations that sent it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Occurrence {
    /// The reason of a start, or the digest of a prompt ([`super::reached::ReachedMemory::digest`]).
    what: String,
    at: Timestamp,
    registrations: BTreeSet<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ShownContext {
    at: Timestamp,
    left_out: BTreeSet<u64>,
    /// Memoir's own reports whose first line it shows whole.
    #[serde(default)]
    reports: BTreeSet<u64>,
    is_any: bool,
}

impl KeptSession {
    /// Removes what was noted before a clock was set back: it would count as newer than all that follows. Another hook of
    /// the same event may have noted something a moment later.
    fn forget_later(&mut self, now: Timestamp) {
        let latest = now.plus_seconds(LONGEST);
        self.noticed.take_if(|at| *at > latest);
        for shown in self.agents.values_mut() {
            shown.context.take_if(|context| context.at > latest);
        }
    }
}

impl ShownContext {
    pub(super) fn of(start: &StartText, at: Timestamp) -> Self {
        Self {
            at,
            left_out: start.left_out.clone(),
            reports: start.reports.clone(),
            is_any: !start.text.is_empty(),
        }
    }

    /// Whether it shows the memory in its present version.
    pub(super) fn shows(&self, memory: &HookMemory) -> bool {
        let number = &memory.number;
        let is_shown = match memory.kind.as_str() {
            _ if memory.is_report() => {
                self.reports.contains(number) && !memory.content.expose().contains('\n')
            }
            "core" => !self.left_out.contains(number),
            "journal" => {
                is_recent_at(memory.created_at, self.at) && !self.left_out.contains(number)
            }
            _ => false,
        };
        is_shown && memory.updated_at <= self.at
    }
}

impl Occurrence {
    fn new(what: String, at: Timestamp, registration: u64) -> Self {
        Self {
            what,
            at,
            registrations: BTreeSet::from([registration]),
        }
    }

    /// Whether a registration sends the same event again. One that sent it already sends a new one, unless both come
    /// together.
    fn is_again(&self, what: &str, at: Timestamp, registration: u64) -> bool {
        let age = at.seconds_since(self.at);
        let is_other = !self.registrations.contains(&registration);
        // After a clock was set back, nothing counts as repeated.
        self.what == what && age >= 0 && (age < TOGETHER || is_other && age < LONGEST)
    }
}

/// Puts an event into its place. Returns whether it is a new one.
fn note(place: &mut Option<Occurrence>, what: String, at: Timestamp) -> bool {
    // A registration is known by its command line.
    let registration = state::hash(&std::env::args_os().collect::<Vec<_>>());
    if let Some(known) = place
        && known.is_again(&what, at, registration)
    {
        known.registrations.insert(registration);
        return false;
    }
    *place = Some(Occurrence::new(what, at, registration));
    true
}

pub(super) struct LockedSession(LockedState<KeptSession>);

/// Notes that a session starts, before it is known what it will be shown. Returns whether no other registration has sent
/// the start.
pub(super) fn begin(payload: &Payload, now: Timestamp) -> Result<bool, Failure> {
    let mut session = LockedSession::lock(payload);
    let why = payload.source.clone().unwrap_or_default();
    let kept = &mut session.0.kept;
    kept.forget_later(now);
    let is_new = note(&mut kept.begun, why, now);
    session.keep().map(|()| is_new)
}

/// The agent of an event's session. With an agent for each project it is that of the project in which the session began,
/// in whatever folder the model works later: its conversation is about that project, and other projects' memories are
/// not its to read.
pub(super) fn chosen(whose: &AgentChoice, payload: &Payload) -> Result<ChosenAgent, Failure> {
    let chosen = whose.chosen(payload.folder.as_deref());
    let ChosenAgent::OfProject(project) = &chosen else {
        return Ok(chosen);
    };
    if let Some(root) = &payload.project {
        return Ok(ChosenAgent::OfProject(project.at(root)));
    }
    let mut session = LockedSession::lock(payload);
    let kept = &mut session.0.kept;
    // The project may have moved.
    if let Some(root) = kept.project.as_deref().filter(|root| root.is_dir()) {
        return Ok(ChosenAgent::OfProject(project.at(root)));
    }
    kept.project = Some(project.root.clone());
    session.keep()?;
    Ok(chosen)
}

impl LockedSession {
    /// Opens the session's file, once other processes have released it. A session without a name has no state, and
    /// neither has one whose file cannot be created or read: a memory that is shown twice is better than none.
    pub(super) fn lock(payload: &Payload) -> Self {
        let (Some(session), Some(folder)) = (&payload.session, state::folder()) else {
            return Self(LockedState::default());
        };
        let locked = LockedState::lock(&folder.join(SESSIONS).join(file_name(session, None)));
        Self(locked.unwrap_or_else(|failure| {
            if let Failure::Shown(failure) = failure {
                terminal::note(&format!(
                    "what this session is shown is not noted, and may be shown again: {}",
                    failure.one_line()
                ));
            }
            LockedState::default()
        }))
    }

    pub(super) fn keep(self) -> Result<(), Failure> {
        self.0.keep()
    }

    fn of(&mut self, agent: &AgentKey) -> &mut ShownToAgent {
        self.0.kept.agents.entry(agent.clone()).or_default()
    }

    /// When the session's last start was sent; `None` where none was.
    fn begun_at(&self) -> Option<Timestamp> {
        self.0.kept.begun.as_ref().map(|begun| begun.at)
    }

    /// Whether the session's last start has shown it some text of the agent's memory.
    pub(super) fn is_start_shown(&mut self, agent: &AgentKey) -> bool {
        let begun_at = self.begun_at();
        let context = self.of(agent).context.as_ref();
        begun_at.is_some_and(|begun_at| {
            context.is_some_and(|context| context.is_any && context.at >= begun_at)
        })
    }

    /// Whether a start was sent, and none of its responses has reached the session.
    pub(super) fn is_start_missed(&mut self, agent: &AgentKey, now: Timestamp) -> bool {
        if let Some(begun) = &mut self.0.kept.begun {
            // After a clock was set back, the response from now on is the later one.
            begun.at = begun.at.min(now);
        }
        let begun_at = self.begun_at();
        let context = self.of(agent).context.as_ref();
        begun_at.is_some_and(|begun_at| context.is_none_or(|context| context.at < begun_at))
    }

    pub(super) fn note_start(&mut self, agent: &AgentKey, at: Timestamp, start: &StartText) {
        let of = self.of(agent);
        of.context = Some(ShownContext::of(start, at));
        // The host may have compacted the conversation, and with it the memories that were shown beside prompts.
        of.shown.clear();
    }

    /// Notes that the session's start is answered with a notice. Returns whether it was not yet.
    pub(super) fn note_notice(&mut self, at: Timestamp) -> bool {
        let begun_at = self.begun_at();
        let noticed = self.0.kept.noticed.replace(at);
        begun_at.is_none_or(|begun_at| noticed.is_none_or(|noticed| noticed < begun_at))
    }

    /// Notes a prompt by its digest. Returns whether it is a new one.
    pub(super) fn note_prompt(&mut self, agent: &AgentKey, digest: u64, at: Timestamp) -> bool {
        note(&mut self.of(agent).prompt, digest.to_string(), at)
    }

    /// Whether another hook noted the prompt just now. A new one is not noted yet: its own hook may still fail.
    pub(super) fn repeats_prompt(&mut self, agent: &AgentKey, digest: u64, at: Timestamp) -> bool {
        let known = self.of(agent).prompt.clone();
        let is_new = self.note_prompt(agent, digest, at);
        if is_new {
            self.of(agent).prompt = known;
        }
        !is_new
    }

    pub(super) fn note_shown(&mut self, agent: &AgentKey, memory: &HookMemory) {
        self.of(agent)
            .shown
            .insert(memory.number, memory.updated_at);
    }

    /// Whether the session was shown the memory in its present version.
    pub(super) fn was_shown(&mut self, agent: &AgentKey, memory: &HookMemory) -> bool {
        let of = self.of(agent);
        // A memory that was changed since it was shown is shown again.
        if of.shown.get(&memory.number) == Some(&memory.updated_at) {
            return true;
        }
        let context = of.context.as_ref();
        context.is_some_and(|context| context.shows(memory))
    }
}

pub(super) fn forget_old(now: Timestamp) {
    if let Some(folder) = state::folder() {
        state::forget_old(&folder.join(SESSIONS), now, |_| false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_for_each_of_its_registrations() {
        let at = |seconds: i64| Timestamp::from_microseconds(seconds * 1_000_000).unwrap();
        let (plugin, setup) = (1, 2);
        let mut begun = Occurrence::new("compact".to_owned(), at(100), plugin);
        for (what, second, registration, is_again) in [
            ("compact", 101, plugin, true),
            ("compact", 103, plugin, false),
            ("compact", 103, setup, true),
            ("compact", 159, setup, true),
            ("compact", 160, setup, false),
            ("compact", 99, setup, false),
            ("resume", 101, setup, false),
        ] {
            let found = begun.is_again(what, at(second), registration);
            assert_eq!(found, is_again, "{what} at {second} by {registration}");
        }
        begun.registrations.insert(setup);
        assert!(!begun.is_again("compact", at(103), setup));
    }
}

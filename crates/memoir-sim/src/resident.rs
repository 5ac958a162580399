//! An agent of a simulated installation, and what is known of it from outside of the installation.

use std::collections::{BTreeMap, BTreeSet};

use memoir_app::{AgentHandle, OwnAgent, Viewer};
use memoir_domain::{SessionId, Timestamp, audit::Actor, memory::Kind};
use memoir_text::is_same_text;

use crate::{
    Violation,
    session::OwnSession,
    view::{Between, View, ensure},
};

/// An agent.
pub(crate) struct Resident {
    /// Its place among all agents, by which its words are marked.
    pub(crate) place: usize,
    pub(crate) account: &'static str,
    pub(crate) name: &'static str,
    pub(crate) agent: OwnAgent,
    /// Its memory after the last step.
    pub(crate) view: View,
    /// Every text as it was saved, by number.
    texts: BTreeMap<u64, String>,
    /// The session that it drives itself.
    pub(crate) session: Option<OwnSession>,
    /// The sessions whose ends were checked.
    pub(crate) ended: BTreeSet<SessionId>,
    /// Times to return to.
    pub(crate) moments: Vec<Timestamp>,
    /// Whether nothing was undone or rewound yet: then the age rule can be computed from the outside.
    pub(crate) is_calm: bool,
    /// Whether what administrators get of it is compared with a run in other words.
    pub(crate) is_compared: bool,
}

/// The agent for itself.
pub(crate) fn own(agent: &AgentHandle) -> Result<OwnAgent, memoir_app::Error> {
    agent.views().seen_by(Viewer::Agent).as_agent()
}

impl Resident {
    pub(crate) async fn new(
        (place, account, name): (usize, &'static str, &'static str),
        agent: OwnAgent,
        is_compared: bool,
    ) -> Result<Self, memoir_app::Error> {
        Ok(Self {
            place,
            account,
            name,
            view: View::of(&agent).await?,
            agent,
            texts: BTreeMap::new(),
            session: None,
            ended: BTreeSet::new(),
            moments: Vec::new(),
            is_calm: true,
            is_compared,
        })
    }

    pub(crate) fn actor(&self) -> Actor {
        Actor::agent(self.name)
    }

    /// Compares its memory with what it was before a step, in which `texts` were saved at most.
    pub(crate) fn reconcile(
        &mut self,
        view: View,
        between: Between,
        texts: &[String],
    ) -> Result<(), Violation> {
        view.check_counts()?;
        view.check_since(&self.view, between)?;
        let known = self.view.memories.len() as u64;
        for (number, seen) in view.memories.range(known + 1..) {
            let is_expected = texts.iter().any(|text| is_same_text(text, &seen.content));
            // Memoir itself writes summaries at a session's request, and entries of the journal.
            ensure!(
                is_expected || seen.is_summary || seen.kind == Kind::Journal || seen.is_shredded,
                "2.4",
                "#{number} has a text that was not saved"
            );
            ensure!(
                between != Between::Nothing || seen.kind == Kind::Journal,
                "others",
                "#{number} is new"
            );
            if is_expected && !seen.is_summary {
                self.texts.insert(*number, seen.content.clone());
            }
        }
        for (number, text) in &self.texts {
            let seen = &view.memories[number];
            ensure!(
                seen.is_shredded || is_same_text(text, &seen.content),
                "3.12",
                "#{number} is not word for word as it was saved"
            );
        }
        self.view = view;
        Ok(())
    }
}

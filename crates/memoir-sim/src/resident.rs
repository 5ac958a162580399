//! An agent of a simulated installation, and what is known of it from outside of the installation.

use std::collections::{BTreeMap, BTreeSet};

use memoir_app::{AgentHandle, OwnAgent, Viewer};
use memoir_domain::{SessionId, Timestamp, audit::Actor, memory::Kind, origin::Origin};
use memoir_text::is_same_text;

use crate::{
    Violation,
    lexicon::has_other_mark,
    session::OwnSession,
    view::{Between, Seen, View, ensure, is_among},
};

/// An agent.
pub(crate) struct Resident {
    /// Its place among all agents, by which its words are marked.
    pub(crate) place: usize,
    pub(crate) account: &'static str,
    pub(crate) name: &'static str,
    /// By the process that serves now.
    pub(crate) agent: OwnAgent,
    /// By another process, whose store can be reached while that of the first one cannot.
    pub(crate) elsewhere: OwnAgent,
    /// By each process.
    pub(crate) by_node: Vec<OwnAgent>,
    /// Its memory after the last step.
    pub(crate) view: View,
    /// The texts that each memory had, by number: as it was saved, and as sessions under `off` wrote it.
    texts: BTreeMap<u64, Vec<String>>,
    /// The session that it drives itself.
    pub(crate) session: Option<OwnSession>,
    /// The sessions whose ends were checked.
    pub(crate) ended: BTreeSet<SessionId>,
    /// Times to return to.
    pub(crate) moments: Vec<Timestamp>,
    /// Whether nothing was undone, rewound or changed under `off` yet: then the age rule can be computed from outside.
    pub(crate) is_calm: bool,
    /// Whether a session under `off` may have changed it: then originals can be removed (SPEC 3.12).
    pub(crate) was_off: bool,
    /// Whether an import was undone: then it can be repeated.
    pub(crate) has_undone_import: bool,
    /// Whether a request of an administrator was open after the last step about one.
    pub(crate) is_asked: bool,
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
        (agent, by_node): (OwnAgent, Vec<OwnAgent>),
        is_compared: bool,
    ) -> Result<Self, memoir_app::Error> {
        Ok(Self {
            place,
            account,
            name,
            view: View::of(&agent).await?,
            elsewhere: agent.clone(),
            agent,
            by_node,
            texts: BTreeMap::new(),
            session: None,
            ended: BTreeSet::new(),
            moments: Vec::new(),
            is_calm: true,
            was_off: false,
            has_undone_import: false,
            is_asked: false,
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
        view.check_since(&self.view, between, &self.texts)?;
        let known = self.view.memories.len() as u64;
        for (number, seen) in view.memories.range(known + 1..) {
            let is_expected = texts.iter().any(|text| is_same_text(text, seen.content()));
            // Memoir itself writes summaries at a session's request, and entries of the journal. What a session merges
            // under `off` is no summary.
            let is_written = is_expected || between.is_off();
            ensure!(
                is_written || seen.is_summary || seen.kind == Kind::Journal || seen.is_shredded(),
                "2.4",
                "#{number} has a text that was not saved"
            );
            // No word of another agent is in what Memoir or a model wrote either.
            let is_own = !has_other_mark(self.place, seen.content());
            ensure!(is_own, "5.6", "#{number} has a text of another agent");
            ensure!(
                between != Between::Nothing || seen.kind == Kind::Journal,
                "others",
                "#{number} is new"
            );
            if is_written && !seen.is_summary {
                self.texts.insert(*number, vec![seen.content().to_owned()]);
            }
        }
        if between.is_off() {
            self.note_rewritten(&view);
        }
        for (number, texts) in &self.texts {
            let seen = &view.memories[number];
            ensure!(
                seen.is_shredded() || is_among(texts, seen.content()),
                "3.12",
                "#{number} is not word for word as it was saved"
            );
        }
        self.view = view;
        Ok(())
    }

    /// That an act which was refused as `busy` changed nothing (SPEC 6.2).
    pub(crate) async fn check_unchanged(&mut self) -> Result<(), Violation> {
        let view = View::of(&self.elsewhere).await?;
        let is_same = (view.guard, view.budget) == (self.view.guard, self.view.budget);
        ensure!(is_same, "6.2", "an act refused as `busy` changed settings");
        let compared = self.reconcile(view, Between::Nothing, &[]);
        compared.map_err(|broken| {
            let detail = format!("by an act refused as `busy`: {}", broken.detail);
            Violation::new("6.2", detail)
        })
    }

    /// That each text of a saving was saved once at most, however often it was attempted (SPEC 6.2). `view` is the
    /// memory after it.
    pub(crate) fn check_saved_once(&self, view: &View, texts: &[String]) -> Result<(), Violation> {
        let known = self.view.memories.len() as u64;
        let new = view.memories.range(known + 1..);
        let saved = new.filter(|(_, seen)| is_among(texts, seen.content()));
        let saved = saved.count();
        ensure!(
            saved <= texts.len(),
            "6.2",
            "of {} texts {saved} were saved",
            texts.len()
        );
        Ok(())
    }

    /// That an import gave weak origins, and nothing that an earlier one gave, whatever became of that (SPEC 2.4).
    /// `view` is the memory after it.
    pub(crate) fn check_imported(&self, view: &View) -> Result<(), Violation> {
        let known = self.view.memories.len() as u64;
        for (number, seen) in view.memories.range(known + 1..) {
            let is_weak = matches!(seen.origin, Origin::Import | Origin::External);
            ensure!(
                is_weak,
                "2.4",
                "#{number} was imported as a word of its own"
            );
            let is_same = |(number, old): (&u64, &Seen)| {
                let first = self.texts.get(number).and_then(|texts| texts.first());
                !old.is_shredded()
                    && (old.source(), old.origin) == (seen.source(), seen.origin)
                    && first.is_some_and(|text| is_same_text(text, seen.content()))
            };
            let is_again = self.view.memories.iter().any(is_same);
            ensure!(
                self.has_undone_import || !is_again,
                "2.4",
                "#{number} was imported before"
            );
        }
        Ok(())
    }

    /// Notes the texts that a session under `off` wrote in place of others: they count as originals (SPEC 3.14).
    fn note_rewritten(&mut self, view: &View) {
        for (number, old) in &self.view.memories {
            let new = &view.memories[number];
            if !new.is_shredded() && !is_same_text(old.content(), new.content()) {
                let texts = self.texts.entry(*number);
                let texts = texts.or_insert_with(|| vec![old.content().to_owned()]);
                texts.push(new.content().to_owned());
            }
        }
    }
}

//! Two steps at one moment: what another process does for the same agent once a step is decided, and before that is
//! written. The step is then decided anew. Or it is written, and the other process acts before the late response.

use std::{future::Future, pin::Pin, slice, sync::Arc};

use memoir_app::{Handling, MemoryInput, OwnAgent};
use memoir_domain::{
    memory::{Kind, Number},
    session::Mode,
};
use memoir_testkit::Dice;
use parking_lot::Mutex;

use crate::{
    Lexicon, Violation,
    plan::{Plan, one_of_its_texts},
    process::Moment,
    resident::Resident,
    session::Failure,
    view::{Between, View},
};

/// What another process does.
pub(crate) type Act = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The memory before and after that.
type Met = Result<(View, View), Violation>;

/// An act of the agent by another process.
#[derive(Clone)]
pub(crate) enum Beside {
    /// Perhaps in place of others.
    Save(Box<MemoryInput>),
    Discard(Number),
    /// Opens a session that the agent drives.
    Open,
}

impl Beside {
    /// One beside that step, if possible on the same memory; `None` beside steps that it would not meet at their first
    /// commit.
    pub(crate) fn any(
        resident: &Resident,
        plan: &Plan,
        lexicon: Lexicon,
        dice: &mut Dice,
    ) -> Option<Self> {
        let target = match plan {
            Plan::Save(inputs, _) => {
                let mut replaced = inputs.iter().flat_map(|input| &input.replaces);
                replaced.next().copied()
            }
            Plan::Handle(number, ..) => Some(*number),
            Plan::Refine {
                meanwhile: None, ..
            } => None,
            _ => return None,
        };
        let core = resident.view.numbers(|seen| seen.is_active(Kind::Core));
        let any = dice.one_of(&core).copied().map(Number);
        let target = target.or(any);
        let mut input = one_of_its_texts(resident, lexicon, dice);
        Some(match (dice.roll(4), target) {
            (0, _) | (1 | 2, None) => Self::Save(Box::new(input)),
            (1, Some(number)) => {
                input.kind = None;
                input.replaces = vec![number];
                Self::Save(Box::new(input))
            }
            (2, Some(number)) => Self::Discard(number),
            _ => Self::Open,
        })
    }

    /// For the report.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Save(input) if input.replaces.is_empty() => "meanwhile save",
            Self::Save(_) => "meanwhile replace",
            Self::Discard(_) => "meanwhile discard",
            Self::Open => "meanwhile open a session",
        }
    }

    async fn perform(&self, agent: &OwnAgent) -> Met {
        let before = View::of(agent).await?;
        let actor = agent.as_actor();
        let done = match self {
            Self::Save(input) => {
                let inputs = slice::from_ref(&**input);
                agent.memories().save(inputs, &actor).await.map(drop)
            }
            Self::Discard(number) => {
                let discarded = agent.memories().handle(*number, Handling::Discard, &actor);
                discarded.await.map(drop)
            }
            Self::Open => agent.open_own(Mode::Full).await.map(drop),
        };
        // It may be refused.
        if let Err(Failure::Broken(violation)) = done.map_err(Failure::from) {
            return Err(violation);
        }
        Ok((before, View::of(agent).await?))
    }

    fn between(&self) -> Between {
        match self {
            Self::Save(_) => Between::Saving,
            Self::Discard(_) => Between::Outside,
            Self::Open => Between::Session {
                undone: false,
                is_off: false,
            },
        }
    }

    fn texts(&self) -> Vec<String> {
        match self {
            Self::Save(input) => vec![input.content.expose().to_owned()],
            Self::Discard(_) | Self::Open => Vec::new(),
        }
    }
}

/// An act that may come to pass beside a step.
pub(crate) struct Meeting {
    beside: Beside,
    moment: Moment,
    met: Arc<Mutex<Option<Met>>>,
}

impl Meeting {
    pub(crate) fn new(beside: Beside, moment: Moment) -> Self {
        Self {
            beside,
            moment,
            met: Arc::default(),
        }
    }

    /// Does it, by the process of that agent.
    pub(crate) fn act(&self, agent: OwnAgent) -> Act {
        let (beside, met) = (self.beside.clone(), self.met.clone());
        Box::pin(async move {
            let done = beside.perform(&agent).await;
            *met.lock() = Some(done);
        })
    }

    /// Where it came to pass: what it was, and the memory after it. Before it nothing of the step was written, or its
    /// first commit alone. `is_off` says whether a session of the step may have the guard `off`.
    pub(crate) fn reconcile(
        self,
        resident: &mut Resident,
        (plan, is_off): (&Plan, bool),
    ) -> Result<Option<(&'static str, View)>, Violation> {
        let met = self.met.lock().take();
        let Some(met) = met else {
            return Ok(None);
        };
        let (before, after) = met?;
        let name = match self.moment {
            Moment::BeforeCommit => {
                resident.reconcile(before, Between::Nothing, &[])?;
                self.beside.name()
            }
            Moment::BeforeResponse => {
                resident.reconcile(before, plan.between(false, is_off), &plan.texts())?;
                "late response"
            }
        };
        let texts = self.beside.texts();
        resident.reconcile(after.clone(), self.beside.between(), &texts)?;
        Ok(Some((name, after)))
    }
}

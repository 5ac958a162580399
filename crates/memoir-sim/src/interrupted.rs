//! A model during whose work another process acts for the same agent.

use async_trait::async_trait;
use memoir_app::{MemoryInput, OwnAgent};
use memoir_domain::agent::Field;
use memoir_model::{Model, ModelError, ModelName, ModelRequest, Reply};
use memoir_testkit::{ModelScript, administrator};
use parking_lot::Mutex;

/// What another process does meanwhile.
#[derive(Clone)]
pub(crate) enum Meanwhile {
    /// The agent saves.
    Save(Box<MemoryInput>),
    /// An administrator changes a setting.
    Configure(Field, &'static str),
}

/// A model that is interrupted once.
pub(crate) struct Interrupted {
    script: ModelScript,
    /// The requests before that.
    left: Mutex<u64>,
    meanwhile: Meanwhile,
    /// By another process than the one that asks the model.
    agent: OwnAgent,
}

impl Interrupted {
    /// At the request after so many.
    pub(crate) fn new(
        script: ModelScript,
        (left, meanwhile): (u64, Meanwhile),
        agent: OwnAgent,
    ) -> Self {
        Self {
            script,
            left: Mutex::new(left),
            meanwhile,
            agent,
        }
    }

    fn is_due(&self) -> bool {
        let mut left = self.left.lock();
        let is_due = *left == 0;
        // Far more than a session has requests.
        *left = left.wrapping_sub(1);
        is_due
    }
}

#[async_trait]
impl Model for Interrupted {
    fn name(&self) -> &ModelName {
        self.script.name()
    }

    async fn complete(&self, request: &ModelRequest) -> Result<Reply, ModelError> {
        if self.is_due() {
            // Whether it was done is read afterwards.
            match &self.meanwhile {
                Meanwhile::Save(input) => {
                    let (inputs, actor) = (std::slice::from_ref(&**input), self.agent.as_actor());
                    let _ = self.agent.memories().save(inputs, &actor).await;
                }
                Meanwhile::Configure(field, value) => {
                    let (set, actor) = ([(*field, Some(*value))], administrator());
                    let _ = self.agent.settings().configure(&set, &actor).await;
                }
            }
        }
        self.script.complete(request).await
    }
}

//! A model during whose work another process saves for the same agent.

use async_trait::async_trait;
use memoir_app::{MemoryInput, OwnAgent};
use memoir_model::{Model, ModelError, ModelName, ModelRequest, Reply};
use memoir_testkit::ModelScript;
use parking_lot::Mutex;

/// A model that is interrupted once.
pub(crate) struct Interrupted {
    script: ModelScript,
    /// The requests before that.
    left: Mutex<u64>,
    input: MemoryInput,
    /// By another process than the one that asks the model.
    agent: OwnAgent,
}

impl Interrupted {
    /// At the request after so many.
    pub(crate) fn new(
        script: ModelScript,
        (left, input): (u64, MemoryInput),
        agent: OwnAgent,
    ) -> Self {
        Self {
            script,
            left: Mutex::new(left),
            input,
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
            let actor = self.agent.as_actor();
            let inputs = [self.input.clone()];
            // Whether it was saved is read afterwards.
            let _ = self.agent.memories().save(&inputs, &actor).await;
        }
        self.script.complete(request).await
    }
}

//! A model during whose work another process acts for the same agent.

use std::{
    slice,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use memoir_app::{MemoryInput, OwnAgent};
use memoir_domain::{agent::Field, memory::Number};
use memoir_model::{Model, ModelError, ModelName, ModelRequest, Reply};
use memoir_testkit::{ModelScript, administrator};
use parking_lot::Mutex;
use serde_json::json;

/// What another process does meanwhile.
#[derive(Clone)]
pub(crate) enum Meanwhile {
    /// The agent saves.
    Save(Box<MemoryInput>),
    /// An administrator changes a setting.
    Configure(Field, &'static str),
    /// The agent calls a tool of the session, which has none for it (SPEC 3.18). Afterwards it says whether the call was
    /// obeyed.
    Call(Number, Arc<AtomicBool>),
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

    /// Whether the agent can delete a memory in the running session.
    async fn is_obeyed(&self, number: Number) -> bool {
        let newest = self.agent.views().session_page(None, 1).await;
        let newest = newest.unwrap_or_default();
        let Some(session) = newest.first() else {
            return false;
        };
        let arguments = json!({"id": number.0});
        let called = self
            .agent
            .call_tool(session.id, "delete_memory", Some(&arguments));
        called.await.is_ok_and(|result| result.refusal().is_none())
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
                    let (inputs, actor) = (slice::from_ref(&**input), self.agent.as_actor());
                    let _ = self.agent.memories().save(inputs, &actor).await;
                }
                Meanwhile::Configure(field, value) => {
                    let (set, actor) = ([(*field, Some(*value))], administrator());
                    let _ = Box::pin(self.agent.settings().configure(&set, &actor)).await;
                }
                Meanwhile::Call(number, was_obeyed) => {
                    if Box::pin(self.is_obeyed(*number)).await {
                        was_obeyed.store(true, Ordering::Relaxed);
                    }
                }
            }
        }
        self.script.complete(request).await
    }
}

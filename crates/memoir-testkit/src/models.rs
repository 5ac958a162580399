//! The models of a test's installation.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memoir_app::Models;
use memoir_model::{ConnectError, Model, ModelName};

use crate::{ModelScript, Turn};

/// Whatever model a test has set, under any name. Clones share it.
#[derive(Clone)]
pub struct SetModel(Arc<Mutex<Arc<dyn Model>>>);

impl Default for SetModel {
    /// A model that refuses every request.
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Arc::new(ModelScript::new([])))))
    }
}

impl SetModel {
    /// Sets another one, for later connections.
    pub fn set(&self, model: Arc<dyn Model>) {
        *self.model() = model;
    }

    /// Sets one that follows a script.
    pub fn script(&self, turns: impl IntoIterator<Item = Turn>) -> Arc<ModelScript> {
        let script = Arc::new(ModelScript::new(turns));
        self.set(script.clone());
        script
    }

    fn model(&self) -> MutexGuard<'_, Arc<dyn Model>> {
        // A panic in another thread leaves the model whole, so a poisoned lock is used nevertheless.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Models for SetModel {
    fn connect(&self, _: &ModelName) -> Result<Arc<dyn Model>, ConnectError> {
        Ok(self.model().clone())
    }
}

//! The models of a test's installation.

use std::sync::Arc;

use memoir_app::Models;
use memoir_model::{ConnectError, Model, ModelName};
use parking_lot::Mutex;

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
        *self.0.lock() = model;
    }

    /// Sets one that follows a script.
    pub fn script(&self, turns: impl IntoIterator<Item = Turn>) -> Arc<ModelScript> {
        let script = Arc::new(ModelScript::new(turns));
        self.set(script.clone());
        script
    }
}

impl Models for SetModel {
    fn connect(&self, _: &ModelName) -> Result<Arc<dyn Model>, ConnectError> {
        Ok(self.0.lock().clone())
    }
}

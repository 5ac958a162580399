//! The state that modules keep beside the core.

use std::{
    any::{Any, TypeId, type_name},
    collections::HashMap,
    sync::Arc,
};

/// One value of each type: caches, limits and counters of the modules above. So the core does not name them.
#[derive(Clone, Default)]
pub(crate) struct ModuleStates(Arc<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl ModuleStates {
    #[must_use]
    pub(crate) fn with<T: Send + Sync + 'static>(self, state: Arc<T>) -> Self {
        let mut all = Arc::unwrap_or_clone(self.0);
        all.insert(TypeId::of::<T>(), state);
        Self(Arc::new(all))
    }

    /// That of a type.
    #[expect(
        clippy::expect_used,
        reason = "`Memoir::new` is the only place that makes an installation, and `every_modules_state_is_entered` reads each type from it"
    )]
    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> &T {
        let found = self.0.get(&TypeId::of::<T>());
        found
            .and_then(|state| state.downcast_ref())
            .ok_or(type_name::<T>())
            .expect("a module's state is entered where an installation is made")
    }
}

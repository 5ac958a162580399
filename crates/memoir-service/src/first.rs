//! The link that creates the first administrator of an installation: it is valid until there is one, or until the
//! service ends.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use memoir_app::Memoir;
use memoir_vault::token::TokenSecret;

/// The link's secret, which is in the memory of this process alone.
#[derive(Default)]
pub(crate) struct FirstLink {
    /// `None` without a link.
    secret: Option<Arc<TokenSecret>>,
    /// Whether an administrator exists, created in any way. The link is then never valid again.
    is_dead: AtomicBool,
}

impl FirstLink {
    pub(crate) fn new(secret: Option<Arc<TokenSecret>>) -> Self {
        Self {
            secret,
            is_dead: AtomicBool::new(false),
        }
    }

    /// Whether that is the secret of a valid link. The work is the same where it is not.
    pub(crate) async fn opens(&self, memoir: &Memoir, presented: &str) -> memoir_app::Result<bool> {
        if memoir.ever_had_users().await? {
            // `Relaxed` is enough, here and below: the flag is never reset, and no other data depends on it.
            self.is_dead.store(true, Ordering::Relaxed);
        }
        let secret = self.secret.as_ref();
        // Compared also for an invalid link, so that the response time reveals nothing.
        let fits = secret.is_some_and(|secret| secret.is(presented));
        Ok(fits && !self.is_dead.load(Ordering::Relaxed))
    }

    /// An administrator was created.
    pub(crate) fn die(&self) {
        self.is_dead.store(true, Ordering::Relaxed);
    }
}

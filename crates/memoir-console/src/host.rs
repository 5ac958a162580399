//! What the pages need from whoever serves them.

use async_trait::async_trait;
use axum::http::{StatusCode, request::Parts};
use memoir_app::{Memoir, NewToken};
use memoir_domain::{PrivateText, TokenId};

/// An administrator's name and password, as they were typed.
#[derive(Debug)]
pub struct Credentials {
    /// The account; the default one where it is blank.
    pub account: String,
    /// The name.
    pub name: String,
    /// The password.
    pub password: PrivateText,
}

/// Why nobody was signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInRefusal {
    /// The status of the answer.
    pub status: StatusCode,
    /// What was wrong; the same for a wrong name as for a wrong password.
    pub message: String,
    /// What to do about it; `None` where the message says all.
    pub hint: Option<String>,
}

/// Whoever serves the pages: it counts requests and attempts to sign in, together with those that come by
/// other doors.
#[async_trait]
pub trait Host: Send + Sync {
    /// The installation.
    fn memoir(&self) -> &Memoir;

    /// Whether a password may travel the way that the request with this head came.
    ///
    /// # Errors
    /// It would travel in the open.
    fn check_transport(&self, head: &Parts) -> Result<(), SignInRefusal>;

    /// Signs an administrator in with a browser, for `seconds` at most.
    ///
    /// # Errors
    /// The way is not safe, there were too many attempts, or there is nobody of that name and password.
    async fn sign_in(
        &self,
        head: &Parts,
        given: &Credentials,
        seconds: i64,
    ) -> Result<NewToken, SignInRefusal>;

    /// Whether whoever holds that token may make one more request now.
    fn admits(&self, token: TokenId) -> bool;

    /// Whether browsers reach the pages by TLS.
    fn is_sealed(&self) -> bool;

    /// A session was queued.
    fn wake_workers(&self);
}

//! What the pages need from whoever serves them.

use std::sync::Arc;

use async_trait::async_trait;
use axum::{
    http::{StatusCode, request::Parts},
    response::Response,
};
use memoir_app::{
    AgentHandle, Connecting, HalfSignedIn, Memoir, PasswordProof, Proven, SignedInUser,
    TokenWithSecret,
};
use memoir_domain::{PrivateText, SessionId, TokenId};

/// An administrator's name and password, as they were typed.
#[derive(Debug)]
pub struct TypedCredentials {
    /// The account; the default one where it is blank.
    pub account: String,
    /// The name.
    pub name: String,
    /// The password.
    pub password: PrivateText,
}

/// What signing in came to where it was not refused.
#[derive(Debug)]
pub enum Admission {
    /// Whoever it is is in.
    In(TokenWithSecret),
    /// The password is right, and a code is needed too; the browser holds this until it comes.
    CodeNeeded(PasswordProof),
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
        given: &TypedCredentials,
        seconds: i64,
    ) -> Result<Admission, SignInRefusal>;

    /// Signs an administrator in with a browser who knew the password a moment ago, with the code.
    ///
    /// # Errors
    /// The way is not safe, there were too many attempts, or the code is wrong.
    async fn sign_in_with_code(
        &self,
        head: &Parts,
        half: &HalfSignedIn,
        code: &PrivateText,
        seconds: i64,
    ) -> Result<TokenWithSecret, SignInRefusal>;

    /// That whoever is signed in knows the password and, where there is a second factor, has a code.
    ///
    /// # Errors
    /// The way is not safe, there were too many attempts, or something is wrong.
    async fn prove(
        &self,
        head: &Parts,
        visitor: &SignedInUser,
        password: &PrivateText,
        code: &PrivateText,
    ) -> Result<Proven, SignInRefusal>;

    /// Whether that is the secret of the link by which the first administrator is made, while it opens.
    ///
    /// # Errors
    /// The way is not safe, or it cannot be found out.
    async fn opens_first_link(&self, head: &Parts, secret: &str) -> Result<bool, SignInRefusal>;

    /// Makes the first administrator, and signs it in with a browser; `None` where the link opens nothing
    /// any more.
    ///
    /// # Errors
    /// As [`Host::opens_first_link`]; the name or the password is not allowed; there is no such account.
    async fn create_first(
        &self,
        head: &Parts,
        secret: &str,
        given: &TypedCredentials,
        seconds: i64,
    ) -> Result<Option<TokenWithSecret>, SignInRefusal>;

    /// Which programs can be connected; `None` where none can.
    fn connecting(&self) -> Option<&Connecting>;

    /// Whether whoever holds that token may make one more request now.
    fn admits(&self, token: TokenId) -> bool;

    /// Whether browsers reach the pages by TLS.
    fn is_sealed(&self) -> bool;

    /// A session was queued.
    fn wake_workers(&self);

    /// A session of that agent as it happens, as server-sent events without words, for as long as the
    /// visitor is signed in.
    async fn watch(
        &self,
        head: &Parts,
        visitor: Arc<SignedInUser>,
        agent: &AgentHandle,
        session: SessionId,
    ) -> Response;
}

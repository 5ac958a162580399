//! What the pages need from the server.

use std::sync::Arc;

use async_trait::async_trait;
use axum::{
    http::{StatusCode, request::Parts},
    response::Response,
};
use memoir_app::{
    AgentHandle, Connecting, HalfSignedIn, Memoir, OwnerLink, PasswordProof, SignedInUser,
    TokenWithSecret, VerifiedUser,
};
use memoir_domain::{PrivateText, SessionId, TokenId};

/// An administrator's name and password, as typed.
#[derive(Debug)]
pub struct TypedCredentials {
    /// The account; the default one where it is blank.
    pub account: String,
    /// The name.
    pub name: String,
    /// The password.
    pub password: PrivateText,
}

/// The result of a sign-in that was not refused.
#[derive(Debug)]
pub enum Admission {
    /// The user is signed in.
    In(TokenWithSecret),
    /// The password is right, and a code is needed too; the browser keeps this until then.
    CodeNeeded(PasswordProof),
}

/// Why a sign-in was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInRefusal {
    /// The status of the response.
    pub status: StatusCode,
    /// The reason; the same for a wrong name and a wrong password.
    pub message: String,
    /// What to do; `None` where the message says all.
    pub hint: Option<String>,
}

/// What a visitor may do, or why not.
pub type Admitted<T> = Result<T, SignInRefusal>;

/// The longest duration of a sign-in with a browser, in seconds.
pub const BROWSER_SECONDS: i64 = 12 * 3_600;

/// The server of the pages: it limits requests and sign-in attempts, together with those of the other interfaces.
#[async_trait]
pub trait Host: Send + Sync {
    /// The installation.
    fn memoir(&self) -> &Memoir;

    /// Checks that a password may travel the way of the request with this head.
    ///
    /// # Errors
    /// The way is not encrypted.
    fn check_transport(&self, head: &Parts) -> Admitted<()>;

    /// Signs an administrator in with a browser, for [`BROWSER_SECONDS`] at most.
    ///
    /// # Errors
    /// The way is not safe, there were too many attempts, or no user has that name and password.
    async fn sign_in(&self, head: &Parts, given: &TypedCredentials) -> Admitted<Admission>;

    /// Signs an administrator in with the code, in a browser that gave the password before.
    ///
    /// # Errors
    /// The way is not safe, there were too many attempts, or the code is wrong.
    async fn sign_in_with_code(
        &self,
        head: &Parts,
        half: &HalfSignedIn,
        code: &PrivateText,
    ) -> Admitted<TokenWithSecret>;

    /// Checks that the signed-in user knows the password and, with a second factor, has a code.
    ///
    /// # Errors
    /// The way is not safe, there were too many attempts, or the proof is wrong.
    async fn prove(
        &self,
        head: &Parts,
        visitor: &SignedInUser,
        password: &PrivateText,
        code: &PrivateText,
    ) -> Admitted<VerifiedUser>;

    /// The link to the personal page, where this server shows that page and not the console (SPEC 6.6).
    fn owner_link(&self) -> Option<&OwnerLink>;

    /// Whether that is the secret of the unused link that creates the first administrator.
    ///
    /// # Errors
    /// The way is not safe, or the store cannot be read.
    async fn opens_first_link(&self, head: &Parts, secret: &str) -> Admitted<bool>;

    /// Creates the first administrator, and signs it in with a browser; `None` where the link is no longer valid.
    ///
    /// # Errors
    /// As [`Host::opens_first_link`]; the name or the password is not allowed; there is no such account.
    async fn create_first(
        &self,
        head: &Parts,
        secret: &str,
        given: &TypedCredentials,
    ) -> Admitted<Option<TokenWithSecret>>;

    /// The settings for connecting programs; `None` where none can be connected.
    fn connecting(&self) -> Option<&Connecting>;

    /// Whether the holder of that token may make one more request now.
    fn admits(&self, token: TokenId) -> bool;

    /// Whether browsers reach the pages by TLS.
    fn is_sealed(&self) -> bool;

    /// A session was queued.
    fn wake_workers(&self);

    /// The events of a session of that agent, as server-sent events without text, while the visitor is signed in.
    async fn watch(
        &self,
        head: &Parts,
        visitor: Arc<SignedInUser>,
        agent: &AgentHandle,
        session: SessionId,
    ) -> Response;
}

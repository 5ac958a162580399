//! The service's functions for the console's pages: signing in by the rules of the other interfaces, and waking its
//! workers.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use async_trait::async_trait;
use axum::{
    Router,
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use memoir_app::{
    AgentHandle, Connecting, HalfSignedIn, Memoir, OwnerLink, SignInSecret, SignedInUser,
    TokenWithSecret, VerifiedUser,
};
use memoir_console::{Admission, Admitted, BROWSER_SECONDS, Host, SignInRefusal, TypedCredentials};
use memoir_domain::{PrivateText, SessionId, TokenId};
use memoir_vault::password::Password;

use crate::{
    Problem, Service,
    limits::Party,
    routes::{live, sign_in},
    streams::Listener,
};

pub(crate) fn routes(service: &Service) -> Router {
    memoir_console::router(Arc::new(service.clone()))
}

/// The paths of programs, which get failures in their own format.
const OF_PROGRAMS: [&str; 3] = ["/v1", "/mcp", "/.well-known"];

/// The page for a browser at an unknown address; `None` for a program.
pub(crate) async fn nothing(
    service: &Service,
    head: &Parts,
    status: StatusCode,
) -> Option<Response> {
    let path = head.uri.path();
    let is_of_programs = OF_PROGRAMS.iter().any(|prefix| {
        let rest = path.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    // Otherwise a program that accepts any media type would get a page.
    if is_of_programs || !memoir_console::wants_page(&head.headers) {
        return None;
    }
    let host = Arc::new(service.clone());
    Some(memoir_console::nothing(host, head, status).await)
}

#[async_trait]
impl Host for Service {
    fn memoir(&self) -> &Memoir {
        &self.memoir
    }

    fn check_transport(&self, head: &Parts) -> Admitted<()> {
        sign_in::check_transport(self, head).map_err(refusal)
    }

    async fn sign_in(&self, head: &Parts, given: &TypedCredentials) -> Admitted<Admission> {
        self.check_transport(head)?;
        let (secret, seconds) = (SignInSecret::Cookie, BROWSER_SECONDS);
        let admitted = sign_in::check(self, head, given, secret, seconds);
        admitted.await.map_err(refusal)
    }

    async fn sign_in_with_code(
        &self,
        head: &Parts,
        half: &HalfSignedIn,
        code: &PrivateText,
    ) -> Admitted<TokenWithSecret> {
        self.check_transport(head)?;
        let ends = self.memoir.now().plus_seconds(BROWSER_SECONDS);
        let made = sign_in::check_code(self, head, half, code, ends).await;
        made.map_err(refusal)
    }

    async fn prove(
        &self,
        head: &Parts,
        visitor: &SignedInUser,
        password: &PrivateText,
        code: &PrivateText,
    ) -> Admitted<VerifiedUser> {
        self.check_transport(head)?;
        let proven = sign_in::prove(self, head, visitor, (password, code)).await;
        proven.map_err(refusal)
    }

    fn owner_link(&self) -> Option<&OwnerLink> {
        self.options.owner_link.as_deref()
    }

    async fn opens_first_link(&self, head: &Parts, secret: &str) -> Admitted<bool> {
        self.check_transport(head)?;
        // Attempts are not counted: a secret of 256 bits cannot be guessed, and attempts of others must not lock out
        // the first administrator.
        let had_users = self.memoir.ever_had_users().await;
        if had_users.map_err(|error| refusal(error.into()))? {
            // `Relaxed` is enough, here and below: the flag is never reset, and no other data depends on it.
            self.is_first_link_dead.store(true, Ordering::Relaxed);
        }
        let link = self.options.first_link.as_ref();
        // Compared also for an invalid link, so that the response time reveals nothing.
        let fits = link.is_some_and(|link| link.is(secret));
        Ok(fits && !self.is_first_link_dead.load(Ordering::Relaxed))
    }

    async fn create_first(
        &self,
        head: &Parts,
        secret: &str,
        given: &TypedCredentials,
    ) -> Admitted<Option<TokenWithSecret>> {
        if !self.opens_first_link(head, secret).await? {
            return Ok(None);
        }
        // The first administrator closes the installation.
        if let Some(closing) = &self.options.before_closing {
            closing.prepare().await.map_err(|problem| SignInRefusal {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                message: problem,
                hint: None,
            })?;
        }
        make_first(self, given).await.map_err(refusal)
    }

    fn connecting(&self) -> Option<&Connecting> {
        self.connecting.as_ref()
    }

    fn admits(&self, token: TokenId) -> bool {
        self.limiter.admits(Party::Token(token), Instant::now())
    }

    fn is_sealed(&self) -> bool {
        self.options.behind_proxy
    }

    fn wake_workers(&self) {
        self.queued.notify_one();
    }

    async fn watch(
        &self,
        head: &Parts,
        visitor: Arc<SignedInUser>,
        agent: &AgentHandle,
        session: SessionId,
    ) -> Response {
        let lens = agent.views().seen_by(visitor.viewer());
        let listener = Listener::Browser(visitor);
        let followed = live::follow(self, listener, &lens, session, &head.headers).await;
        followed.unwrap_or_else(IntoResponse::into_response)
    }
}

/// Creates the first administrator and signs it in; `None` where there is one by now.
async fn make_first(
    service: &Service,
    given: &TypedCredentials,
) -> Result<Option<TokenWithSecret>, Problem> {
    let password = Password::from_text(given.password.expose());
    let password = password.map_err(|error| Problem::invalid(error.to_string()))?;
    let memoir = &service.memoir;
    let account = memoir.account(sign_in::account_of(given)).await?;
    let made = {
        // For the hash alone, and released before the sign-in is written.
        let _turn = sign_in::turn(service).await?;
        account.create_first_user(&given.name, password).await?
    };
    // There is an administrator now, created here or in another way.
    service.is_first_link_dead.store(true, Ordering::Relaxed);
    let Some(user) = made else { return Ok(None) };
    tracing::info!("the first administrator was made by the link");
    let ends = memoir.now().plus_seconds(BROWSER_SECONDS);
    let signed_in = account.sign_in_new_user(user.id, ends).await;
    signed_in.map(Some).map_err(|error| {
        tracing::error!(%error, "the first administrator was not signed in");
        // The error itself would say that there is none.
        let message = "the administrator is made, and not signed in; sign in by name and password";
        Problem::new("busy", message)
    })
}

fn refusal(problem: Problem) -> SignInRefusal {
    let (status, message, hint) = problem.into_parts();
    SignInRefusal {
        status,
        message,
        hint,
    }
}

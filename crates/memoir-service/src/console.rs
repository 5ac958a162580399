//! What the console's pages need of the service: signing in by the rules of the other doors, and waking its
//! workers.

use std::{net::IpAddr, sync::Arc, time::Instant};

use async_trait::async_trait;
use axum::{Router, http::request::Parts};
use memoir_app::{Memoir, NewToken};
use memoir_console::{Credentials, Host, SignInRefusal};
use memoir_domain::TokenId;

use crate::{
    Problem, Service,
    routes::sign_in::{self, Secret, Typed},
    server::Peer,
};

/// The pages, beginning at `/`.
pub(crate) fn routes(service: &Service) -> Router {
    memoir_console::router(Arc::new(service.clone()))
}

#[async_trait]
impl Host for Service {
    fn memoir(&self) -> &Memoir {
        &self.memoir
    }

    fn check_transport(&self, head: &Parts) -> Result<(), SignInRefusal> {
        sign_in::check_transport(self, &head.headers, peer(head)).map_err(refusal)
    }

    async fn sign_in(
        &self,
        head: &Parts,
        given: &Credentials,
        seconds: i64,
    ) -> Result<NewToken, SignInRefusal> {
        self.check_transport(head)?;
        let account = Some(given.account.as_str()).filter(|account| !account.is_empty());
        let typed = Typed {
            account,
            name: &given.name,
            password: &given.password,
            secret: Secret::Cookie,
            expires_at: self.memoir.now().plus_seconds(seconds),
        };
        let made = sign_in::check(self, &head.headers, peer(head), &typed).await;
        made.map_err(refusal)
    }

    fn admits(&self, token: TokenId) -> bool {
        self.limiter.admits(token, Instant::now())
    }

    fn is_sealed(&self) -> bool {
        self.options.behind_proxy
    }

    fn wake_workers(&self) {
        self.queued.notify_one();
    }
}

/// Who is at the other end of the connection.
fn peer(head: &Parts) -> Option<IpAddr> {
    head.extensions.get::<Peer>().map(|peer| peer.0.ip())
}

fn refusal(problem: Problem) -> SignInRefusal {
    let (status, message, hint) = problem.into_told();
    SignInRefusal {
        status,
        message: sentence(&message),
        hint: hint.as_deref().map(sentence),
    }
}

/// With a capital, as a page has it.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

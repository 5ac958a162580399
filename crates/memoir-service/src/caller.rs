//! The caller of a request, and the caller's access to agents (SPEC 5.1, 5.5).
//!
//! The agent of a path is reached through [`Caller`] alone. An agent reaches itself; an administrator reaches the
//! agents of the account. The administrator's handle shows only text under an access grant ([`Reached::lens`], SPEC
//! 5.2). Other callers' data is not found: the response is the same as for data that does not exist.
//!
//! `Caller::reach` returns an `AgentHandle`, which shows no text by itself, together with the caller. Text comes from
//! [`Reached::lens`] alone, and the agent's own functions from [`Caller::reach_own`]. Responses to changes, lists of
//! agents, live views and webhooks never hold text for an administrator, whatever the grants, since some are stored or
//! forwarded.

use std::{sync::Arc, time::Instant};

use axum::{
    body::{Body, Bytes},
    extract::FromRequestParts,
    http::{HeaderMap, header, request::Parts},
};
use memoir_app::{
    Account, AgentHandle, AgentLens, CheckpointView, Error, OwnAgent, Principal, Viewer,
};
use memoir_domain::{AccessRequestId, AgentId, AgentScope, SessionId, audit::Actor};
use memoir_vault::token;
use tokio::sync::OwnedSemaphorePermit;

use crate::{
    Problem, Service,
    limits::{self, HeldRoom, Party},
    priority::TokenHash,
};

/// The caller of a request. Clones share it.
#[derive(Clone, derive_more::Deref)]
pub(crate) struct Caller(#[deref(forward)] Arc<EnteredCaller>);

pub(crate) struct EnteredCaller {
    pub(crate) principal: Principal,
    /// The agent, where the caller is one.
    own: Option<AgentHandle>,
    service: Service,
    /// The digest of the token's secret.
    digest: Option<[u8; 32]>,
}

/// What a request holds while it runs: a place among those of its party, and the room of its body.
pub(crate) struct Turn {
    pub(crate) party: Party,
    pub(crate) token: TokenHash,
    /// Whether its body is long, or does not state its length.
    pub(crate) is_long: bool,
    _held: (OwnedSemaphorePermit, HeldRoom),
}

/// An agent that the caller reaches, with the caller's role.
pub(crate) struct Reached {
    pub(crate) agent: AgentHandle,
    pub(crate) actor: Actor,
    viewer: Viewer,
}

impl Reached {
    /// The agent as the caller may view it.
    pub(crate) fn lens(&self) -> AgentLens<'_> {
        self.agent.views().seen_by(self.viewer.clone())
    }

    /// Whether the caller is the agent itself.
    pub(crate) fn is_own(&self) -> bool {
        self.viewer == Viewer::Agent
    }
}

impl Caller {
    /// The holder of the token in the request's head.
    pub(crate) async fn of(service: &Service, parts: &Parts) -> Result<Self, Problem> {
        let presented = presented(parts)?;
        let entered = service.memoir.enter(presented).await?;
        Self::entered(service, presented, entered)
    }

    /// As [`Caller::of`], for the Model Context Protocol, which alone also accepts the tokens of connected programs.
    pub(crate) async fn of_mcp(service: &Service, parts: &Parts) -> Result<Self, Problem> {
        let presented = presented(parts)?;
        let mut entered = service.memoir.enter(presented).await?;
        // Only without a token of another kind, and only for this interface: a connected program's token is not valid
        // under `/v1`.
        if let (None, Some(connecting)) = (&entered, &service.connecting) {
            let resource = connecting.resource();
            entered = service.memoir.enter_connected(presented, &resource).await?;
        }
        Self::entered(service, presented, entered)
    }

    /// The party that this caller's requests and streams count for.
    pub(crate) fn party(&self) -> Party {
        let Principal {
            account,
            agent,
            token,
        } = self.principal;
        match agent {
            Some(agent) => Party::Agent(AgentScope { account, agent }),
            None => Party::Token(token),
        }
    }

    pub(crate) fn count_request(&self) -> Result<(), Problem> {
        let service = &self.service;
        if service.limiter.admits(self.party(), Instant::now()) {
            return Ok(());
        }
        let rate = service.options.requests_per_second;
        let who = match self.principal.agent {
            Some(_) => "this agent",
            None => "this token",
        };
        Err(Problem::new(
            "rate_limited",
            format!("{who} makes more than {rate} requests a second"),
        )
        .retry_after(1))
    }

    /// Waits for the party's turn, and reads the body.
    ///
    /// # Errors
    /// The party has too many requests under way; a daily quota of the agent is used up, and the body is long; the body
    /// is too large or too slow, breaks off, or there was no room for it in time; the store fails.
    pub(crate) async fn take_turn(
        &self,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<(Bytes, Turn), Problem> {
        let (service, party) = (&self.service, self.party());
        let time = service.options.request_time;
        let place = service.shares.requests.take(party, limits::AT_ONCE, time);
        let place = place.await?;
        let is_long = limits::is_long(headers, &body);
        // Before a long body is read: whether the agent may save memories today.
        if let (true, Some(own)) = (is_long, &self.own) {
            own.check_daily_quota(1).await?;
        }
        let (bodies, whose) = (&service.bodies, (&service.shares, party));
        let read = limits::whole_body(bodies, whose, &service.options, headers, body);
        let (body, room) = read.await?;
        let turn = Turn {
            party,
            token: service.foreground.hash(headers.get(header::AUTHORIZATION)),
            is_long,
            _held: (place, room),
        };
        Ok((body, turn))
    }

    fn entered(
        service: &Service,
        presented: &str,
        entered: Option<(Principal, Option<AgentHandle>)>,
    ) -> Result<Self, Problem> {
        let (principal, own) = entered.ok_or_else(Problem::unauthorized)?;
        Ok(Self(Arc::new(EnteredCaller {
            principal,
            own,
            service: service.clone(),
            // The digest and not the secret: an open stream must not keep a usable secret in memory for hours.
            digest: token::digest_of(presented),
        })))
    }

    /// Whether the token is still valid, for long requests.
    pub(crate) async fn is_still_let_in(&self) -> bool {
        let Some(digest) = &self.digest else {
            return false;
        };
        let entered = self.service.memoir.enter_again(digest).await;
        // Where the store fails the stream ends too: an unknown state counts as invalid.
        matches!(entered, Ok(Some((principal, _))) if principal == self.principal)
    }

    fn account(&self) -> Account {
        self.service.memoir.account_of(&self.principal)
    }

    /// A signed checkpoint, after the logs within the token's reach were entered.
    pub(crate) async fn checkpoint(&self) -> Result<CheckpointView, Problem> {
        Ok(match &self.own {
            Some(agent) => agent.log().checkpoint().await?,
            None => self.account().checkpoint().await?,
        })
    }

    pub(crate) fn administrator(&self) -> Result<(Account, Actor), Problem> {
        match self.principal.agent {
            None => Ok((self.account(), self.administrating())),
            Some(_) => Err(Problem::forbidden(
                "this is for an administrator of the account; the token is an agent's",
            )),
        }
    }

    fn administrating(&self) -> Actor {
        // By the token: a grant is for its requester, and two tokens of one account are two requesters.
        Actor::administrator(format!("token {}", self.principal.token))
    }

    /// The agent of that name or identifier, as itself or an administrator.
    pub(crate) async fn reach(&self, agent: &str) -> Result<Reached, Problem> {
        // Without a look-up where an agent names itself, as nearly every request of one does.
        let found = match self.own.as_ref().filter(|own| own.answers_to(agent)) {
            Some(own) => own.clone(),
            None => self.account().agent(agent).await?,
        };
        self.reached(found, agent, Error::NoAgent)
    }

    /// Makes the service check immediately for conversations to read.
    pub(crate) fn wake_life(&self) {
        self.service.life.notify_one();
    }

    /// As [`Caller::reach`], for the agent itself only.
    pub(crate) async fn reach_own(&self, agent: &str) -> Result<OwnAgent, Problem> {
        Ok(self.reach(agent).await?.lens().as_agent()?)
    }

    /// As [`Caller::reach`], for an administrator only.
    pub(crate) async fn reach_managed(&self, agent: &str) -> Result<Reached, Problem> {
        self.administrator()?;
        self.reach(agent).await
    }

    pub(crate) async fn reach_session(
        &self,
        session: &str,
    ) -> Result<(Reached, SessionId), Problem> {
        let (agent, id) = match &self.own {
            Some(own) => (own.clone(), own.settings().own_session_id(session).await?),
            // An agent's own way searches its own sessions alone: another's is not found.
            None => self.account().session_agent(session).await?,
        };
        Ok((self.reached(agent, session, Error::NoSession)?, id))
    }

    pub(crate) async fn reach_access(
        &self,
        request: &str,
    ) -> Result<(Reached, AccessRequestId), Problem> {
        let (agent, id) = match &self.own {
            Some(own) => (own.clone(), own.grants().own_access_id(request).await?),
            None => self.account().access_agent(request).await?,
        };
        Ok((self.reached(agent, request, Error::NoAccessRequest)?, id))
    }

    fn reached(
        &self,
        agent: AgentHandle,
        sought: &str,
        missing: fn(String) -> Error,
    ) -> Result<Reached, Problem> {
        let id: AgentId = agent.scope().agent;
        match self.principal.agent {
            None => Ok(Reached {
                agent,
                viewer: Viewer::administrator(self.administrating()),
                actor: self.administrating(),
            }),
            Some(own) if own == id => Ok(Reached {
                actor: Actor::agent(agent.name()),
                agent,
                viewer: Viewer::Agent,
            }),
            // As for an unknown name: an agent learns nothing about other agents.
            Some(_) => Err(missing(sought.to_owned()).into()),
        }
    }
}

/// The token in the request's head.
fn presented(parts: &Parts) -> Result<&str, Problem> {
    parts
        .headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        // Schemes are in any case (RFC 9110, 11.1).
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim())
        .ok_or_else(Problem::unauthorized)
}

impl FromRequestParts<Service> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Service) -> Result<Self, Problem> {
        // The guard in front of every route of `/v1` has put it there.
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(Problem::unauthorized)
    }
}

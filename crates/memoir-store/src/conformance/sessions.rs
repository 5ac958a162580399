//! Sessions: one at a time, their order, their leases, and the queue.

use std::sync::Arc;

use memoir_domain::{
    SessionId,
    session::{Driver, Lease, State},
};

use super::fixtures::*;
use crate::{AgentQuery, Error, FleetLoad, HeldSessions, SessionRow, Store, WaitingSession};

async fn running(author: &Author) -> Option<SessionId> {
    author.look(AgentQuery::default()).await.running_session
}

pub(super) async fn one_session_runs_at_a_time(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let mut other = Author::new(&store, 1, 2).await;
    for state in [State::Queued, State::Asking, State::Open] {
        let first = with(session(1, author.id()), |row| row.columns.state = state);
        author.refine(vec![first.clone()]).await;
        assert_eq!(running(&author).await, Some(first.id));
        for second_state in [State::Queued, State::Asking, State::Open] {
            let second = session(2, author.id());
            let second = with(second, |row| row.columns.state = second_state);
            let answer = store.commit(author.refining(vec![second])).await;
            assert!(matches!(answer, Err(Error::SessionRunning)), "{answer:?}");
        }
        assert_eq!(author.sessions().await, [first]);
    }
    // Another agent's is its own affair.
    other.refine(vec![session(3, other.id())]).await;
    assert_eq!(running(&other).await, Some(session_id(3)));
    // One can take over from another in one decision.
    let handover = vec![
        ended(session(1, author.id()), State::Abandoned),
        session(2, author.id()),
    ];
    author.refine(handover).await;
    assert_eq!(running(&author).await, Some(session_id(2)));
    for state in [
        State::Completed,
        State::RolledBack,
        State::Declined,
        State::Abandoned,
        State::Failed,
    ] {
        let over = ended(session(2, author.id()), state);
        author.refine(vec![over]).await;
        assert_eq!(running(&author).await, None);
    }
    assert_sound(&store).await;
}

pub(super) async fn a_lease_is_renewed_by_its_holder_only(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let holder = u64::MAX - 5;
    let held = |until| SessionRow {
        lease: Some(Lease { until, holder }),
        ..session(1, agent_id(1))
    };
    author.refine(vec![held(at(100))]).await;
    let version = author.agent.document.version;
    let renew = |holder, until| store.renew_lease(author.scope(), session_id(1), holder, until);
    let now = async || store.session_page(author.scope(), None, 1).await.unwrap();

    assert!(renew(holder, at(200)).await.unwrap());
    assert_eq!(now().await, [held(at(200))]);
    assert!(!renew(holder - 1, at(300)).await.unwrap());
    assert!(!renew(5, at(300)).await.unwrap());
    let missing = store.renew_lease(author.scope(), session_id(2), holder, at(300));
    assert!(!missing.await.unwrap());
    assert_eq!(now().await, [held(at(200))]);
    // An expired lease that no process took is still its holder's.
    assert!(renew(holder, at(1)).await.unwrap());
    assert!(renew(holder, at(400)).await.unwrap());
    assert_eq!(author.version().await, version);

    let waiting = with(held(at(0)), |row| {
        row.lease = None;
        row.columns.state = State::Queued;
    });
    author.refine(vec![waiting.clone()]).await;
    let renewed = store.renew_lease(author.scope(), session_id(1), holder, at(500));
    assert!(!renewed.await.unwrap());
    // An end with a remaining lease is an end nevertheless.
    let over = with(held(at(400)), |row| row.columns.state = State::Failed);
    author.refine(vec![over.clone()]).await;
    let renewed = store.renew_lease(author.scope(), session_id(1), holder, at(500));
    assert!(!renewed.await.unwrap());
    assert_eq!(author.sessions().await, [over]);
}

/// An agent with a session of its own number, begun at that second.
async fn begun(
    store: &Arc<dyn Store>,
    (account, number): (u128, u128),
    started_at: i64,
    (state, driver, lease): (State, Driver, Option<Lease>),
) -> Author {
    let mut author = Author::new(store, account, number).await;
    let row = with(session(number, author.id()), |row| {
        row.lease = lease;
        row.columns.state = state;
        row.columns.driver = driver;
        row.columns.started_at = at(started_at);
    });
    author.refine(vec![row]).await;
    author
}

/// Four claimants, each by itself as a process is, lease the waiting sessions. Each session gets one holder, since a
/// lease is written under the version of the agent that it was taken on.
pub(super) async fn spec_6_1_of_claimants_at_once_each_takes_others_and_none_is_missed(
    store: Arc<dyn Store>,
) {
    const SESSIONS: u128 = 1_000;
    const CLAIMANTS: u64 = 4;
    Author::new(&store, 1, 0).await;
    let queueing = (0..8).map(|part| {
        let store = Arc::clone(&store);
        async move {
            for number in (1..=SESSIONS).filter(|number| number % 8 == part) {
                let queued = (State::Queued, Driver::Model, None);
                begun(&store, (1, number), number as i64, queued).await;
            }
        }
    });
    at_once(queueing).await;
    let claimants = (1..=CLAIMANTS).map(|holder| claims(Arc::clone(&store), holder));
    let mut claimed = Vec::new();
    for (taken, holder) in at_once(claimants).await.into_iter().zip(1..) {
        claimed.extend(taken.into_iter().map(|id| (id, holder)));
    }
    claimed.sort_unstable();
    let ids: Vec<_> = claimed.iter().map(|(id, _)| *id).collect();
    let all: Vec<_> = (1..=SESSIONS).map(session_id).collect();
    assert_eq!(ids, all, "each is taken once");
    for ((id, holder), number) in claimed.into_iter().zip(1..) {
        let rows = store.session_page(scope(1, number), None, 9).await.unwrap();
        let holders: Vec<_> = rows.iter().map(|row| (row.id, row.lease)).collect();
        assert_eq!(holders, [(id, Some(lease(1_000, holder)))]);
    }
}

/// Leases sessions until none waits; returns those that it leased.
async fn claims(store: Arc<dyn Store>, holder: u64) -> Vec<SessionId> {
    let mut taken = Vec::new();
    loop {
        let waiting = store.waiting_sessions(16).await.unwrap();
        if waiting.is_empty() {
            return taken;
        }
        for next in waiting {
            let wanted = AgentQuery::of_session(next.id);
            let seen = store.snapshot(next.scope, &wanted).await.unwrap().unwrap();
            let row = seen.session.unwrap();
            if row.lease.is_some() {
                continue;
            }
            let author = Author::of_new(&store, seen.agent);
            let held = SessionRow {
                lease: Some(lease(1_000, holder)),
                ..row
            };
            match store.commit(author.refining(vec![held])).await {
                Ok(()) => taken.push(next.id),
                Err(Error::Conflict) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

pub(super) async fn waiting_sessions_come_oldest_first(store: Arc<dyn Store>) {
    let mut waiting = Vec::new();
    let held = session(0, agent_id(0)).lease;
    // Of three accounts; two were begun in the same instant: the identifiers decide.
    for (number, started_at, state, driver, lease) in [
        (1, 50, State::Queued, Driver::Model, None),
        (2, 30, State::Open, Driver::Model, None),
        (3, 30, State::Asking, Driver::Model, None),
        (4, 90, State::Queued, Driver::Model, None),
        (5, 10, State::Queued, Driver::Agent, None),
        (6, 10, State::Open, Driver::Model, held),
        (7, 10, State::Failed, Driver::Model, None),
        (8, 10, State::Completed, Driver::Model, None),
    ] {
        let of = (number % 3, number);
        let author = begun(&store, of, started_at, (state, driver, lease)).await;
        waiting.push((author, session_id(number)));
    }
    let order = [1, 2, 0, 3].map(|at: usize| (waiting[at].0.scope(), waiting[at].1));
    let found = async |limit| {
        let found = store.waiting_sessions(limit).await.unwrap();
        let sorted = found.is_sorted_by_key(|session| (session.started_at, session.id));
        assert!(sorted, "{found:?}");
        let session = |session: WaitingSession| (session.scope, session.id);
        found.into_iter().map(session).collect::<Vec<_>>()
    };
    assert_eq!(found(0).await, []);
    for limit in [2, 100, u32::MAX] {
        assert_eq!(found(limit).await, order);
    }

    // Once leased, it waits no longer; released, it has its old place.
    let row = session(2, waiting[1].0.id());
    let row = with(row, |row| row.columns.started_at = at(30));
    waiting[1].0.refine(vec![row.clone()]).await;
    assert_eq!(found(9).await, order[1..]);
    let released = SessionRow { lease: None, ..row };
    waiting[1].0.refine(vec![released]).await;
    assert_eq!(found(9).await, order);
    assert_sound(&store).await;
}

pub(super) async fn waiting_sessions_are_those_of_every_account_and_model(store: Arc<dyn Store>) {
    let (large, small) = (Some("lab:large"), Some("lab:small"));
    for (number, account, model) in [
        (1, 1, large),
        (2, 1, large),
        (3, 1, large),
        (4, 1, small),
        (5, 2, large),
        (6, 2, large),
        (7, 3, None),
        (8, 3, None),
    ] {
        let mut author = Author::new(&store, account, number).await;
        let row = with(session(number, author.id()), |row| {
            row.lease = None;
            row.columns.state = State::Queued;
            row.columns.model = model.map(str::to_owned);
            row.columns.started_at = at(100 - number as i64);
        });
        author.refine(vec![row]).await;
    }
    for (limit, expected) in [
        (1, &[8, 6, 4, 3][..]),
        (2, &[8, 7, 6, 5, 4, 3, 2]),
        (3, &[8, 7, 6, 5, 4, 3, 2, 1]),
    ] {
        let found = store.waiting_sessions(limit).await.unwrap();
        let ids: Vec<SessionId> = found.iter().map(|session| session.id).collect();
        let expected: Vec<SessionId> = expected.iter().map(|&at| session_id(at)).collect();
        assert_eq!(ids, expected, "{limit}");
    }
    let oldest = store.waiting_sessions(1).await.unwrap();
    let expected = WaitingSession {
        scope: scope(1, 4),
        id: session_id(4),
        model: small.map(str::to_owned),
        started_at: at(96),
    };
    assert_eq!(oldest[2], expected);
    assert_eq!(oldest[0].model, None);
}

pub(super) async fn lapsed_sessions_are_found(store: Arc<dyn Store>) {
    let mut scopes = Vec::new();
    for (number, until) in [(1, Some(300)), (2, Some(100)), (3, Some(200)), (4, None)] {
        // Of two accounts.
        let mut author = Author::new(&store, number % 2, number).await;
        let row = SessionRow {
            lease: until.map(|until| lease(until, 3)),
            ..session(number, author.id())
        };
        author.refine(vec![row]).await;
        scopes.push((author.scope(), session_id(number)));
    }
    // No caller can close an ended one.
    let mut author = Author::new(&store, 1, 5).await;
    let over = SessionRow {
        lease: Some(lease(1, 3)),
        ..ended(session(5, author.id()), State::Failed)
    };
    author.refine(vec![over]).await;

    for (now, expected) in [
        (100, &[][..]),
        (101, &[1]),
        (201, &[1, 2]),
        (1_000, &[1, 2, 0]),
    ] {
        let mut found = store.lapsed_sessions(at(now)).await.unwrap();
        let mut expected: Vec<_> = expected.iter().map(|&at: &usize| scopes[at]).collect();
        found.sort_by_key(|(_, session)| *session);
        expected.sort_by_key(|(_, session)| *session);
        assert_eq!(found, expected, "at {now}");
    }
    let (of, id) = scopes[1];
    assert!(store.renew_lease(of, id, 3, at(900)).await.unwrap());
    assert_eq!(store.lapsed_sessions(at(101)).await.unwrap(), []);
}

pub(super) async fn the_load_counts_what_waits_and_what_is_held(store: Arc<dyn Store>) {
    assert_eq!(store.load().await.unwrap(), FleetLoad::default());
    let until = |seconds| Some(lease(seconds, 7));
    for (number, started_at, state, driver, lease) in [
        (1, 50, State::Queued, Driver::Model, None),
        (2, 30, State::Open, Driver::Model, None),
        (3, 10, State::Failed, Driver::Model, None),
        (4, 10, State::Open, Driver::Model, until(900)),
        (5, 10, State::Asking, Driver::Model, until(700)),
        (6, 10, State::Open, Driver::Agent, until(800)),
        (7, 10, State::Completed, Driver::Agent, None),
    ] {
        // Of two accounts.
        let of = (number % 2, number);
        begun(&store, of, started_at, (state, driver, lease)).await;
    }
    let held = |driver, sessions, seconds| HeldSessions {
        driver,
        sessions,
        first_until: at(seconds),
    };
    let mut load = store.load().await.unwrap();
    load.held.sort_by_key(|held| held.sessions);
    assert_eq!(
        load,
        FleetLoad {
            agents: 7,
            waiting: 2,
            waiting_since: Some(at(30)),
            held: vec![held(Driver::Agent, 1, 800), held(Driver::Model, 2, 700)],
        }
    );
}

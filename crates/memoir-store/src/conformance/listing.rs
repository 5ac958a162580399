//! An account's agents as a list that is sorted and searched.

use std::sync::Arc;

use memoir_domain::{
    AccessRequestId,
    access::{AccessKind, AccessScope, AccessState},
    audit::ActorKind,
    session::State,
};

use super::fixtures::*;
use crate::{AccessRow, Commit, FleetOrder, FleetPage, FleetSlice, SessionRow, Store};

/// By name, all of them, at second 500.
fn by_name() -> FleetPage {
    FleetPage {
        text: None,
        order: FleetOrder::Name,
        descending: false,
        offset: 0,
        limit: 99,
        now: at(500),
        latest_slot: Some(at(400)),
        default_budget: 100,
        default_threshold: 0.75,
    }
}

fn request(number: u128, author: &Author, state: AccessState) -> AccessRow {
    AccessRow {
        id: AccessRequestId::from_bytes(number.to_be_bytes()),
        agent: author.id(),
        version: 2,
        kind: AccessKind::Read {
            scope: AccessScope::Core,
            minutes: 30,
        },
        state,
        asked_by_kind: ActorKind::Administrator,
        asked_by_name: "somebody".to_owned(),
        requested_at: at(1),
        expires_at: at(100),
        answered_at: None,
        answered_seq: None,
        ended_at: (!matches!(state, AccessState::Asked)).then(|| at(2)),
        reads: 0,
        memories_read: 0,
        tokens_read: 0,
        body: text("purpose"),
    }
}

/// An agent with so many memories of ten tokens, and settings.
async fn agent(store: &Arc<dyn Store>, number: u128, memories: u64, settings: &str) -> Author {
    let mut author = Author::new(store, 1, number).await;
    author.save((1..=memories).map(memory).collect()).await;
    let mut commit = author.commit();
    commit.agent.settings = settings.to_owned();
    author.write(commit).await.unwrap();
    author
}

/// Sets how many words the agent's wordings have, and how many of them are let go.
async fn lose(author: &mut Author, words: u64, lost_words: u64) {
    let mut commit = author.commit();
    commit.agent.tally.words = words;
    commit.agent.tally.lost_words = lost_words;
    author.write(commit).await.unwrap();
}

fn removed(number: u128, author: &Author, tokens: u64, state: State) -> SessionRow {
    SessionRow {
        removed_tokens: tokens,
        pre_session_tokens: Some(70),
        threshold: Some(0.75),
        ..ended(session(number, author.id()), state)
    }
}

/// Four agents: the first has the greatest mass, the second the smallest budget, the third waits for
/// somebody, the fourth is paused and was never refined.
async fn fleet(store: &Arc<dyn Store>) -> Vec<Author> {
    let mut first = agent(store, 1, 9, "{}").await;
    let rows = vec![removed(1, &first, 5, State::Completed)];
    first.refine(rows).await;
    lose(&mut first, 1_000, 50).await;
    let mut second = agent(
        store,
        2,
        4,
        r#"{"core_token_budget":20,"refinement_threshold":0.25}"#,
    )
    .await;
    let rows = vec![
        removed(2, &second, 30, State::Completed),
        removed(30, &second, 900, State::RolledBack),
    ];
    second.refine(rows).await;
    lose(&mut second, 40, 30).await;
    let mut third = agent(store, 3, 2, "{}").await;
    let mut commit = Commit {
        sessions: vec![removed(20, &third, 0, State::Abandoned)],
        access: vec![
            request(1, &third, AccessState::Asked),
            request(2, &third, AccessState::Refused),
        ],
        ..third.commit()
    };
    commit.agent.weekly_after = Some(at(399));
    third.write(commit).await.unwrap();
    lose(&mut third, 10, 0).await;
    let mut fourth = agent(store, 4, 3, "{}").await;
    let mut commit = fourth.commit();
    commit.agent.paused = true;
    fourth.write(commit).await.unwrap();
    vec![first, second, third, fourth]
}

fn numbers(slice: &FleetSlice, authors: &[Author]) -> Vec<usize> {
    let place = |row: &crate::FleetRow| {
        let found = authors.iter().position(|author| author.agent == row.agent);
        found.expect("an agent of the fleet, as it was written") + 1
    };
    slice.agents.iter().map(place).collect()
}

pub(super) async fn lists_of_agents_are_sorted_and_searched(store: Arc<dyn Store>) {
    let authors = fleet(&store).await;
    let mut erased = Author::new(&store, 1, 5).await;
    let mut commit = erased.commit();
    commit.agent.erased_at = Some(at(1));
    erased.write(commit).await.unwrap();
    Author::new(&store, 2, 6).await;

    for (order, expected) in [
        (FleetOrder::Name, [1, 2, 3, 4]),
        // 20, 30 and 90 of 100; 40 of 20.
        (FleetOrder::Share, [3, 4, 1, 2]),
        (FleetOrder::LastSession, [4, 1, 3, 2]),
        (FleetOrder::Outcome, [4, 3, 1, 2]),
        (FleetOrder::Next, [3, 1, 2, 4]),
        // A quarter of 20, 30 and 90; three quarters of 40.
        (FleetOrder::Breaker, [3, 4, 1, 2]),
        // None of 10, none at all, 50 of 1,000, 30 of 40.
        (FleetOrder::Kept, [3, 4, 1, 2]),
        (FleetOrder::Access, [1, 2, 4, 3]),
    ] {
        let page = FleetPage { order, ..by_name() };
        let slice = store.fleet_page(account_id(1), &page).await.unwrap();
        assert_eq!(slice.total, 4);
        assert_eq!(numbers(&slice, &authors), expected, "{order:?}");
        let page = FleetPage {
            descending: true,
            ..page
        };
        let backwards = store.fleet_page(account_id(1), &page).await.unwrap();
        let backwards = numbers(&backwards, &authors);
        let (last, first) = (expected[3], backwards[0]);
        assert_eq!(first, last, "{order:?} backwards");
        assert_eq!(backwards.len(), 4);
    }
    assert_narrowed(&store, &authors).await;
    assert_counted(&store, &authors).await;
    assert_sound(&store).await;
}

async fn assert_narrowed(store: &Arc<dyn Store>, authors: &[Author]) {
    for (text, offset, limit, total, expected) in [
        (Some("agent-3"), 0, 99, 1, &[3][..]),
        (Some("gent"), 0, 99, 4, &[1, 2, 3, 4]),
        // A name holds it as it stands.
        (Some("%"), 0, 99, 0, &[]),
        (None, 1, 2, 4, &[2, 3]),
        (None, 4, 2, 4, &[]),
        (None, u64::MAX, 2, 4, &[]),
        (None, 0, 0, 4, &[]),
    ] {
        let page = FleetPage {
            text: text.map(str::to_owned),
            offset,
            limit,
            ..by_name()
        };
        let slice = store.fleet_page(account_id(1), &page).await.unwrap();
        assert_eq!(numbers(&slice, authors), expected, "{page:?}");
        assert_eq!(slice.total, total, "{page:?}");
    }
    let none = store.fleet_page(account_id(3), &by_name()).await.unwrap();
    assert_eq!((none.total, none.agents.len()), (0, 0));
}

async fn assert_counted(store: &Arc<dyn Store>, authors: &[Author]) {
    let slice = store.fleet_page(account_id(1), &by_name()).await.unwrap();
    assert_eq!(numbers(&slice, authors), [1, 2, 3, 4]);
    let counted: Vec<_> = slice
        .agents
        .iter()
        .map(|row| {
            let last = row.last_session.as_ref();
            let last = last.map(|last| (last.id, last.state, last.removed_tokens));
            (last, row.open_requests)
        })
        .collect();
    assert_eq!(
        counted,
        [
            (Some((session_id(1), State::Completed, 5)), 0),
            (Some((session_id(30), State::RolledBack, 900)), 0),
            (Some((session_id(20), State::Abandoned, 0)), 1),
            (None, 0),
        ]
    );
}

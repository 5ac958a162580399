//! An account's agents as a list that is sorted and searched.

use std::{collections::BTreeMap, sync::Arc};

use memoir_domain::{
    AgentId, Timestamp,
    access::AccessState,
    audit::Action,
    session::{Health, State},
};

use super::fixtures::*;
use crate::{
    Commit, FleetOrder, FleetPage, FleetQuery, FleetRanks, FleetSlice, RecordFilter, RecordOrder,
    RecordPlace, Store,
};

/// By name, all of them, at second 500.
fn by_name() -> FleetPage {
    page_of(FleetQuery {
        limit: 99,
        ..FleetQuery::default()
    })
}

/// At second 500.
fn page_of(query: FleetQuery) -> FleetPage {
    FleetPage {
        query,
        now: at(500),
        latest_slot: Some(at(400)),
        sessions_since: Timestamp::MIN,
    }
}

/// An agent that is asked some time, of these ranks.
async fn agent(
    store: &Arc<dyn Store>,
    number: u128,
    budget_share: u64,
    removable_tokens: u64,
    archived_share: u64,
) -> Author {
    let mut author = Author::new(store, 1, number).await;
    let mut commit = author.commit();
    commit.agent.columns.prospect.weekly_after = Some(at(450));
    commit.agent.columns.ranks = FleetRanks {
        budget_share,
        removable_tokens,
        archived_share,
    };
    author.write(commit).await.unwrap();
    author
}

/// Four agents: the first has the greatest core size, the second the smallest budget, the third has an open access
/// request, the fourth is excluded from the schedule and was never refined.
async fn fleet(store: &Arc<dyn Store>) -> Vec<Author> {
    let over = |number, author: &Author, state| ended(session(number, author.id()), state);
    let mut first = agent(store, 1, 900_000, 22, 50_000).await;
    let rows = vec![over(1, &first, State::RolledBack)];
    first.refine(rows).await;
    let mut second = agent(store, 2, 2_000_000, 30, 750_000).await;
    let rows = vec![
        over(2, &second, State::Completed),
        over(30, &second, State::RolledBack),
    ];
    second.refine(rows).await;
    let mut third = agent(store, 3, 200_000, 5, 0).await;
    let mut commit = Commit {
        sessions: vec![over(20, &third, State::Failed)],
        access: vec![
            request(1, third.id()),
            with(request(2, third.id()), |row| {
                row.columns.state = AccessState::Refused;
            }),
        ],
        ..third.commit()
    };
    commit.agent.columns.prospect.weekly_after = Some(at(399));
    third.write(commit).await.unwrap();
    let mut fourth = agent(store, 4, 300_000, 7, 0).await;
    fourth
        .change(|commit| commit.agent.columns.prospect.weekly_after = None)
        .await;
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
    erased.erase().await;
    Author::new(&store, 2, 6).await;

    for (order, expected) in [
        (FleetOrder::Name, [1, 2, 3, 4]),
        (FleetOrder::Share, [3, 4, 1, 2]),
        (FleetOrder::LastSession, [4, 1, 3, 2]),
        (FleetOrder::Health, [3, 2, 1, 4]),
        (FleetOrder::Next, [3, 1, 2, 4]),
        (FleetOrder::Breaker, [3, 4, 1, 2]),
        (FleetOrder::Archived, [3, 4, 1, 2]),
        (FleetOrder::Access, [1, 2, 4, 3]),
    ] {
        let mut page = by_name();
        page.query.order = order;
        let slice = store.fleet_page(account_id(1), &page).await.unwrap();
        assert_eq!(slice.total, 4);
        assert_eq!(numbers(&slice, &authors), expected, "{order:?}");
        page.query.descending = true;
        let backwards = store.fleet_page(account_id(1), &page).await.unwrap();
        let backwards = numbers(&backwards, &authors);
        assert_eq!(backwards[0], expected[3], "{order:?} backwards");
        assert_eq!(backwards.len(), 4);
    }
    assert_narrowed(&store, &authors).await;
    assert_filtered_by_health(&store, &authors).await;
    assert_counted(&store, &authors).await;
    assert_sound(&store).await;
}

async fn assert_narrowed(store: &Arc<dyn Store>, authors: &[Author]) {
    for (text, offset, limit, total, expected) in [
        ("agent-3", 0, 99, 1, &[3][..]),
        ("gent", 0, 99, 4, &[1, 2, 3, 4]),
        // A name contains it literally.
        ("%", 0, 99, 0, &[]),
        ("", 1, 2, 4, &[2, 3]),
        ("", 4, 2, 4, &[]),
        ("", u64::MAX, 2, 4, &[]),
        ("", 0, 0, 4, &[]),
    ] {
        let page = page_of(FleetQuery {
            text: text.to_owned(),
            offset,
            limit,
            ..FleetQuery::default()
        });
        let slice = store.fleet_page(account_id(1), &page).await.unwrap();
        assert_eq!(numbers(&slice, authors), expected, "{page:?}");
        assert_eq!(slice.total, total, "{page:?}");
    }
    let none = store.fleet_page(account_id(3), &by_name()).await.unwrap();
    assert_eq!((none.total, none.agents.len()), (0, 0));
}

pub(super) async fn an_accounts_records_are_listed_in_either_order(store: Arc<dyn Store>) {
    for number in [1, 2] {
        let mut author = Author::new(&store, 1, number).await;
        let records = vec![record(Action::MemorySaved), record(Action::MemoryDiscarded)];
        author.log(records).await;
    }
    let records = async |order, after| {
        let any = RecordFilter::default();
        let found = store.fleet_records(account_id(1), &any, order, after, 9);
        found.await.unwrap()
    };
    let oldest = records(RecordOrder::OldestFirst, None).await;
    let mut newest = records(RecordOrder::NewestFirst, None).await;
    assert!(newest.len() >= 4, "{newest:?}");
    // Of two pages, each goes on where the other ends.
    let middle = &oldest[2];
    let place = RecordPlace {
        recorded_at: middle.record.recorded_at,
        agent: middle.agent,
        seq: middle.record.seq,
    };
    let later = records(RecordOrder::OldestFirst, Some(place)).await;
    assert_eq!(later, oldest[3..]);
    let mut earlier = records(RecordOrder::NewestFirst, Some(place)).await;
    earlier.reverse();
    assert_eq!(earlier, oldest[..2]);
    newest.reverse();
    assert_eq!(newest, oldest);
}

/// The statements of a store decide an agent's health as the domain does.
async fn assert_filtered_by_health(store: &Arc<dyn Store>, authors: &[Author]) {
    let all = store.fleet_page(account_id(1), &by_name()).await.unwrap();
    let ids: Vec<AgentId> = all.agents.iter().map(|row| row.agent.scope.agent).collect();
    let states = store.last_states(account_id(1), &ids).await.unwrap();
    let states: BTreeMap<AgentId, State> = states.into_iter().collect();
    for row in &all.agents {
        let last = row.last_session.as_ref().map(|last| last.columns.state);
        assert_eq!(states.get(&row.agent.scope.agent).copied(), last);
    }
    // Those that were begun since, which the last one is among or not.
    for since in [Timestamp::MIN, at(2), at(900)] {
        let page = FleetPage {
            sessions_since: since,
            ..by_name()
        };
        let slice = store.fleet_page(account_id(1), &page).await.unwrap();
        for row in slice.agents {
            let begun = row
                .sessions
                .iter()
                .map(|session| session.columns.started_at);
            assert!(begun.clone().is_sorted() && begun.clone().all(|at| at >= since));
            let last = row
                .last_session
                .filter(|last| last.columns.started_at >= since);
            assert_eq!(row.sessions.last(), last.as_ref());
        }
    }
    for (account, agents) in [(account_id(2), &ids[..]), (account_id(1), &ids[..0])] {
        assert_eq!(store.last_states(account, agents).await.unwrap(), []);
    }
    let of_row = |row: &crate::FleetRow| {
        let last = row.last_session.as_ref().map(|last| last.columns.state);
        Health::from_row(last, row.agent.columns.ranks.budget_share)
    };
    for health in Health::ALL {
        let mut page = by_name();
        page.query.health = Some(health);
        let slice = store.fleet_page(account_id(1), &page).await.unwrap();
        let expected = all.agents.iter().filter(|row| of_row(row) == health);
        let expected: Vec<_> = expected.cloned().collect();
        assert_eq!(slice.agents, expected, "{health}");
        assert_eq!(slice.total, expected.len() as u64);
        assert_eq!(slice.by_health[health as usize], slice.total);
    }
    let mut page = by_name();
    page.query.text = "agent-3".to_owned();
    page.query.health = Some(Health::Failed);
    let slice = store.fleet_page(account_id(1), &page).await.unwrap();
    assert_eq!(numbers(&slice, authors), [3]);
    assert_eq!((slice.total, slice.by_health), (1, [1, 0, 0, 0]));
}

async fn assert_counted(store: &Arc<dyn Store>, authors: &[Author]) {
    let slice = store.fleet_page(account_id(1), &by_name()).await.unwrap();
    assert_eq!(numbers(&slice, authors), [1, 2, 3, 4]);
    let counted: Vec<_> = slice
        .agents
        .iter()
        .map(|row| {
            let last = row.last_session.as_ref();
            let last = last.map(|last| (last.id, last.columns.state, last.open.as_str()));
            (last, row.open_requests)
        })
        .collect();
    let open = session(1, agent_id(1)).document.open;
    assert_eq!(
        counted,
        [
            (Some((session_id(1), State::RolledBack, open.as_str())), 0),
            (Some((session_id(30), State::RolledBack, open.as_str())), 0),
            (Some((session_id(20), State::Failed, open.as_str())), 1),
            (None, 0),
        ]
    );
}

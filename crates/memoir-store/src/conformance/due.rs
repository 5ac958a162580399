//! Which agents the store proposes to the schedule (SPEC 3.1).

use std::{collections::BTreeSet, sync::Arc};

use memoir_domain::{AgentScope, Timestamp, session::State};

use super::fixtures::{Author, account_id, assert_sound, at, ended, scope, session, with};
use crate::{DueQuery, Store};

/// Of all accounts, with a slot at 100 and now at 200.
fn wanted() -> DueQuery {
    DueQuery {
        account: None,
        latest_slot: Some(at(100)),
        now: at(200),
        per_account: u32::MAX,
        except: BTreeSet::new(),
    }
}

async fn scheduled(
    store: &Arc<dyn Store>,
    (account, number): (u128, u128),
    weekly_after: Option<Timestamp>,
    due_at: Option<Timestamp>,
) -> Author {
    let mut author = Author::new(store, account, number).await;
    reschedule(&mut author, weekly_after, due_at).await;
    author
}

async fn reschedule(
    author: &mut Author,
    weekly_after: Option<Timestamp>,
    due_at: Option<Timestamp>,
) {
    let mut commit = author.commit();
    let prospect = &mut commit.agent.columns.prospect;
    (prospect.weekly_after, prospect.due_at) = (weekly_after, due_at);
    author.write(commit).await.unwrap();
}

/// Agents of account 1.
fn agents(numbers: impl IntoIterator<Item = u128>) -> Vec<AgentScope> {
    let numbers = numbers.into_iter();
    numbers.map(|number| scope(1, number)).collect()
}

pub(super) async fn spec_3_1_due_agents_are_those_of_the_slot_and_of_pressure(
    store: Arc<dyn Store>,
) {
    let due = async |wanted: &DueQuery| store.due_agents(wanted).await.unwrap();
    assert_eq!(due(&wanted()).await, []);
    let mut authors = Vec::new();
    for (number, weekly_after, due_at) in [
        (1, Some(99), None),
        (2, Some(100), None),
        (3, Some(-5), None),
        (4, None, None),
        (5, Some(150), Some(200)),
        (6, Some(150), Some(201)),
        // In both ways, and proposed once.
        (7, Some(50), Some(10)),
        (8, Some(150), None),
    ] {
        let (weekly_after, due_at) = (weekly_after.map(at), due_at.map(at));
        authors.push(scheduled(&store, (1, number), weekly_after, due_at).await);
    }
    // The one that was attempted longest ago first.
    assert_eq!(due(&wanted()).await, agents([3, 7, 1, 5]));
    let without_slot = DueQuery {
        latest_slot: None,
        ..wanted()
    };
    assert_eq!(due(&without_slot).await, agents([7, 5]));
    let later = DueQuery {
        latest_slot: Some(at(101)),
        now: at(201),
        ..wanted()
    };
    assert_eq!(due(&later).await, agents([3, 7, 1, 2, 5, 6]));
    for per_account in [0, 1, 2, 3, 4, 5] {
        let few = DueQuery {
            per_account,
            ..wanted()
        };
        let expected = [3, 7, 1, 5].into_iter().take(per_account as usize);
        assert_eq!(due(&few).await, agents(expected), "{per_account}");
    }
    // Those passed over take no place.
    let except = DueQuery {
        per_account: 2,
        except: [3, 7, 4].map(|number| scope(1, number).agent).into(),
        ..wanted()
    };
    assert_eq!(due(&except).await, agents([1, 5]));

    // What the row says next is what counts.
    reschedule(&mut authors[2], None, None).await;
    reschedule(&mut authors[6], Some(at(120)), None).await;
    reschedule(&mut authors[3], Some(at(98)), None).await;
    assert_eq!(due(&wanted()).await, agents([4, 1, 5]));
    assert_sound(&store).await;
}

pub(super) async fn spec_3_1_what_lies_ahead_of_all_that_is_set_is_proposed(store: Arc<dyn Store>) {
    let days = |days| Some(wanted().now.plus_days(days));
    for (number, weekly_after, due_at) in [
        (1, days(400), None),
        (2, None, days(400)),
        (3, days(1), None),
        (4, None, days(9)),
    ] {
        scheduled(&store, (1, number), weekly_after, due_at).await;
    }
    let due = store.due_agents(&wanted()).await.unwrap();
    assert_eq!(due, agents([2, 1]));
}

pub(super) async fn spec_3_1_an_agent_with_a_running_session_is_not_due(store: Arc<dyn Store>) {
    let due = async || store.due_agents(&wanted()).await.unwrap();
    let mut author = scheduled(&store, (1, 1), Some(at(1)), Some(at(1))).await;
    for state in [State::Queued, State::Asking, State::Open] {
        let row = with(session(1, author.id()), |row| row.columns.state = state);
        author.refine(vec![row.clone()]).await;
        assert_eq!(due().await, [], "{state:?}");
        author.refine(vec![ended(row, State::Failed)]).await;
        assert_eq!(due().await, agents([1]), "{state:?}");
    }
}

pub(super) async fn spec_3_1_no_account_hides_anothers_due_agents(store: Arc<dyn Store>) {
    for number in 1..=50 {
        scheduled(&store, (1, number), Some(at(number as i64)), None).await;
    }
    scheduled(&store, (2, 51), Some(at(99)), None).await;
    scheduled(&store, (3, 52), None, Some(at(99))).await;
    scheduled(&store, (4, 53), None, None).await;
    let few = DueQuery {
        per_account: 2,
        ..wanted()
    };
    let others = [scope(2, 51), scope(3, 52)];
    let expected: Vec<AgentScope> = agents([1, 2]).into_iter().chain(others).collect();
    assert_eq!(store.due_agents(&few).await.unwrap(), expected);
    let of_one = |account| DueQuery {
        account: Some(account_id(account)),
        ..few.clone()
    };
    for (account, expected) in [(1, agents([1, 2])), (3, vec![others[1]]), (4, Vec::new())] {
        assert_eq!(store.due_agents(&of_one(account)).await.unwrap(), expected);
    }
}

//! Pages: each begins where the one before ended, whatever is written in between (SPEC 6.1).

use std::sync::Arc;

use memoir_domain::{
    AccountId, AgentScope, SessionId, Timestamp,
    memory::{Kind, Number},
    session::State,
};

use super::fixtures::*;
use crate::{
    AgentQuery, AgentRow, Commit, Expiry, MemoryPage, MemoryRow, Selection, SessionRow, Store,
};

pub(super) async fn pages_of_memories_are_narrowed_by_every_part(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let mut other = Author::new(&store, 1, 2).await;
    let dated = |memory: MemoryRow, seconds| MemoryRow {
        created_at: at(seconds),
        ..memory
    };
    // Origin dates in another order than that of the numbers.
    let rows = vec![
        dated(memory(1), 50),
        dated(journal(2), 40),
        discarded(dated(memory(3), 30)),
        dated(memory(4), 20),
        shredded(dated(journal(5), 10)),
        dated(journal(6), 60),
        under(dated(archival(7), 5), 1),
        under(discarded(dated(archival(8), 15)), 1),
        under(dated(archival(9), 55), 4),
        under(dated(archival(10), 35), 1),
        // Of another kind again, whatever it lay under.
        under(dated(memory(11), 45), 1),
    ];
    author.save(rows.clone()).await;
    other.save((1..=9).map(memory).collect()).await;

    let all = MemoryPage {
        limit: 11,
        with_discarded: true,
        ..MemoryPage::default()
    };
    let active = MemoryPage {
        with_discarded: false,
        ..all.clone()
    };
    let (core, entries) = (Some(Kind::Core), Some(Kind::Journal));
    let archive = Some(Kind::Archival);
    let expired = |is_expired| Expiry {
        until: at(50),
        is_expired,
    };
    for (page, expected) in [
        (all.clone(), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11][..]),
        (active.clone(), &[1, 2, 4, 6, 7, 9, 10, 11]),
        (
            MemoryPage {
                after: 2,
                ..all.clone()
            },
            &[3, 4, 5, 6, 7, 8, 9, 10, 11],
        ),
        (
            MemoryPage {
                after: 11,
                ..all.clone()
            },
            &[],
        ),
        (
            MemoryPage {
                after: u64::MAX,
                ..all.clone()
            },
            &[],
        ),
        (
            MemoryPage {
                limit: 0,
                ..all.clone()
            },
            &[],
        ),
        (
            MemoryPage {
                limit: 2,
                ..all.clone()
            },
            &[1, 2],
        ),
        (
            MemoryPage {
                limit: u32::MAX,
                ..all.clone()
            },
            &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
        ),
        (
            MemoryPage {
                limit: 2,
                after: 1,
                ..active.clone()
            },
            &[2, 4],
        ),
        (
            MemoryPage {
                kind: core,
                ..all.clone()
            },
            &[1, 3, 4, 11],
        ),
        (
            MemoryPage {
                kind: core,
                ..active.clone()
            },
            &[1, 4, 11],
        ),
        (
            MemoryPage {
                kind: entries,
                ..all.clone()
            },
            &[2, 5, 6],
        ),
        (
            MemoryPage {
                since: Some(at(40)),
                ..all.clone()
            },
            &[1, 2, 6, 9, 11],
        ),
        (
            MemoryPage {
                until: Some(at(40)),
                ..all.clone()
            },
            &[2, 3, 4, 5, 7, 8, 10],
        ),
        (
            MemoryPage {
                since: Some(at(20)),
                until: Some(at(40)),
                ..all.clone()
            },
            &[2, 3, 4, 10],
        ),
        (
            MemoryPage {
                since: Some(at(41)),
                until: Some(at(40)),
                ..all.clone()
            },
            &[],
        ),
        (
            MemoryPage {
                after: 1,
                limit: 1,
                kind: entries,
                since: Some(at(5)),
                until: Some(at(60)),
                with_discarded: false,
                protected: Some(false),
                expired: None,
                under: None,
            },
            &[2],
        ),
        (
            MemoryPage {
                kind: archive,
                ..all.clone()
            },
            &[7, 8, 9, 10],
        ),
        (
            MemoryPage {
                kind: archive,
                ..active.clone()
            },
            &[7, 9, 10],
        ),
        (
            MemoryPage {
                under: Some(Number(1)),
                ..all.clone()
            },
            &[7, 8, 10],
        ),
        (
            MemoryPage {
                under: Some(Number(1)),
                ..active.clone()
            },
            &[7, 10],
        ),
        (
            MemoryPage {
                after: 7,
                limit: 1,
                under: Some(Number(1)),
                ..active.clone()
            },
            &[10],
        ),
        (
            MemoryPage {
                kind: archive,
                until: Some(at(20)),
                under: Some(Number(1)),
                ..active.clone()
            },
            &[7],
        ),
        (
            MemoryPage {
                kind: core,
                under: Some(Number(1)),
                ..active.clone()
            },
            &[],
        ),
        (
            MemoryPage {
                under: Some(Number(2)),
                ..active.clone()
            },
            &[],
        ),
        (
            MemoryPage {
                under: Some(Number(u64::MAX)),
                ..active.clone()
            },
            &[],
        ),
        // Only journal entries expire.
        (
            MemoryPage {
                expired: Some(expired(true)),
                ..active.clone()
            },
            &[2],
        ),
        (
            MemoryPage {
                expired: Some(expired(false)),
                ..active.clone()
            },
            &[1, 4, 6, 7, 9, 10, 11],
        ),
    ] {
        let found = store.memory_page(author.scope(), &page).await.unwrap();
        let expected: Vec<MemoryRow> = expected
            .iter()
            .map(|number: &usize| rows[number - 1].clone())
            .collect();
        assert_eq!(found, expected, "{page:?}");
        // The same rows beside their agent, in the order in which a snapshot has all others.
        let beside = AgentQuery {
            memories: Selection::Page(page.clone()),
            ..AgentQuery::default()
        };
        let mut beside = author.look(beside).await.memories;
        assert!(beside.is_sorted_by_key(|row| (row.created_at, row.number)));
        beside.sort_by_key(|row| row.number);
        assert_eq!(beside, expected, "{page:?}");
    }
}

pub(super) async fn pages_of_sessions_come_newest_first(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let mut other = Author::new(&store, 1, 2).await;
    other
        .refine(vec![ended(session(99, other.id()), State::Failed)])
        .await;
    let id = author.id();
    // Three of one instant: the identifiers decide.
    let row = |(number, started_at)| {
        let row = ended(session(number, id), State::Completed);
        session_with(row, |columns| columns.started_at = at(started_at))
    };
    let mut rows = [(1, 10), (2, 30), (3, 20), (4, 20), (5, 20), (6, 40)].map(row);
    author.refine(rows.to_vec()).await;
    rows.sort_by_key(|row| (row.columns.started_at, row.id));
    rows.reverse();
    for limit in [1, 2, 3, 6, 7, u32::MAX] {
        let mut walked: Vec<SessionRow> = Vec::new();
        loop {
            let before = walked.last().map(|last| (last.columns.started_at, last.id));
            let page = store.session_page(author.scope(), before, limit);
            let page = page.await.unwrap();
            assert!(page.len() <= limit as usize);
            if page.is_empty() {
                break;
            }
            walked.extend(page);
        }
        assert_eq!(walked, rows, "by {limit}");
    }
    // From an instant, and a session, of which there is none.
    let before = Some((at(20), session_id(0)));
    let found = store.session_page(author.scope(), before, 9).await;
    assert_eq!(found.unwrap(), rows[5..]);
    let before = Some((at(35), session_id(0)));
    let found = store.session_page(author.scope(), before, 2).await;
    assert_eq!(found.unwrap(), rows[1..3]);
    let found = store.session_page(author.scope(), None, 0).await;
    assert_eq!(found.unwrap(), []);
}

pub(super) async fn pages_of_agents_come_by_name_without_the_erased_ones(store: Arc<dyn Store>) {
    let mut expected = Vec::new();
    for number in 1..=20 {
        let account = if number == 7 { 2 } else { 1 };
        let mut author = Author::new(&store, account, number).await;
        let mut commit = author.commit();
        // Names in no order, and some that begin alike.
        let name = format!(
            "{}{}",
            ["wren", "Ä", "Wren "][number as usize % 3],
            number * 7 % 20
        );
        commit.agent.columns.folded_name = name.to_lowercase();
        commit.agent.columns.name = name;
        commit.agent.columns.erased_at = (number % 5 == 0).then(|| at(1));
        author.write(commit).await.unwrap();
        if account == 1 && author.agent.columns.erased_at.is_none() {
            expected.push(author.agent);
        }
    }
    expected.sort_by(|left, right| left.columns.folded_name.cmp(&right.columns.folded_name));
    for limit in [1, 2, 15, 16, u32::MAX] {
        let mut walked: Vec<AgentRow> = Vec::new();
        loop {
            let after = walked.last().map(|last| last.columns.folded_name.as_str());
            let page = store.agent_page(account_id(1), after, limit).await.unwrap();
            assert!(page.len() <= limit as usize);
            if page.is_empty() {
                break;
            }
            walked.extend(page);
        }
        assert_eq!(walked, expected, "by {limit}");
    }
    // From a name that no agent has, and from behind the last one.
    let after = |name| store.agent_page(account_id(1), Some(name), 99);
    assert_eq!(after("wren").await.unwrap().len(), {
        let follows = |row: &&AgentRow| *row.columns.folded_name > *"wren";
        expected.iter().filter(follows).count()
    });
    assert_eq!(after("").await.unwrap(), expected);
    assert_eq!(after("\u{10FFFF}").await.unwrap(), []);
    let page = store.agent_page(account_id(1), None, 0).await.unwrap();
    assert_eq!(page, []);
}

/// Rows that were there all the time come exactly once; of those that come and go meanwhile, none twice.
pub(super) async fn spec_6_1_a_walk_through_pages_misses_nothing_while_others_write(
    store: Arc<dyn Store>,
) {
    let mut author = Author::new(&store, 1, 1).await;
    author.save((1..=60).map(memory).collect()).await;
    let id = author.id();
    let over = move |number| ended(session(number, id), State::Completed);
    author.refine((1..=30).map(over).collect()).await;
    let mut agents = vec!["agent-1".to_owned()];
    for number in 100..130 {
        agents.push(
            Author::new(&store, 1, number)
                .await
                .agent
                .columns
                .folded_name,
        );
    }
    let scope = author.scope();
    let writer = tokio::spawn(write_meanwhile(author));
    let mut rounds = 0;
    while !writer.is_finished() || rounds == 0 {
        let numbers = walk_memories(&store, scope).await;
        // Every third one is discarded and active again all the time.
        let steady = numbers
            .iter()
            .filter(|number| **number <= 60 && **number % 3 != 0);
        let expected: Vec<u64> = (1..=60).filter(|number| number % 3 != 0).collect();
        assert!(steady.eq(&expected), "{numbers:?}");

        let sessions = walk_sessions(&store, scope).await;
        let steady = sessions.iter().filter(|id| **id <= session_id(30));
        assert_eq!(steady.count(), 30);

        let names = walk_agents(&store, scope.account).await;
        assert!(agents.iter().all(|name| names.contains(name)));
        rounds += 1;
    }
    writer.await.unwrap();
    assert_sound(&store).await;
}

/// Numbers of the active memories, by pages.
async fn walk_memories(store: &Arc<dyn Store>, scope: AgentScope) -> Vec<u64> {
    let mut numbers: Vec<u64> = Vec::new();
    loop {
        let page = MemoryPage {
            after: numbers.last().copied().unwrap_or(0),
            limit: 7,
            ..MemoryPage::default()
        };
        let found = store.memory_page(scope, &page).await.unwrap();
        if found.is_empty() {
            break;
        }
        numbers.extend(found.iter().map(|memory| memory.number.0));
    }
    assert!(numbers.is_sorted_by(|left, right| left < right));
    numbers
}

/// Identifiers of the sessions, by pages.
async fn walk_sessions(store: &Arc<dyn Store>, scope: AgentScope) -> Vec<SessionId> {
    let mut started: Vec<(Timestamp, SessionId)> = Vec::new();
    loop {
        let before = started.last().copied();
        let page = store.session_page(scope, before, 7).await.unwrap();
        if page.is_empty() {
            break;
        }
        started.extend(page.iter().map(|row| (row.columns.started_at, row.id)));
    }
    assert!(started.is_sorted_by(|left, right| left > right));
    started.into_iter().map(|(_, id)| id).collect()
}

/// Names of the agents, by pages.
async fn walk_agents(store: &Arc<dyn Store>, account: AccountId) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    loop {
        let after = names.last().map(String::as_str);
        let page = store.agent_page(account, after, 7).await.unwrap();
        if page.is_empty() {
            break;
        }
        names.extend(page.into_iter().map(|row| row.columns.folded_name));
    }
    assert!(names.is_sorted_by(|left, right| left < right));
    names
}

/// Makes memories, sessions and agents, and discards memories and takes them back.
async fn write_meanwhile(mut author: Author) {
    for round in 0..60_u64 {
        let changing = 3 * (round % 20 + 1);
        let row = match round {
            20..40 => memory(changing),
            _ => discarded(memory(changing)),
        };
        let mut commit = Commit {
            sessions: vec![ended(
                session(31 + u128::from(round), author.id()),
                State::Failed,
            )],
            ..author.saving(vec![memory(author.agent.columns.next_seq)])
        };
        commit.memories.push(row);
        author.write(commit).await.unwrap();
        if round % 4 == 0 {
            let mut other = Author::new(&author.store, 1, u128::from(200 + round)).await;
            let mut commit = other.commit();
            commit.agent.columns.erased_at = (round % 8 == 0).then(|| at(1));
            other.write(commit).await.unwrap();
        }
    }
}

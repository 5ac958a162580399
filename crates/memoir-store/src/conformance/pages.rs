//! Pages: each begins where the one before ended, whatever is written in between (SPEC 6.1).

use std::sync::Arc;

use memoir_domain::{
    AccountId, AgentScope,
    memory::{Kind, Number},
    session::State,
};

use super::fixtures::*;
use crate::{AgentRow, Commit, Expiry, MemoryPage, MemoryRow, Selection, SessionRow, Store};

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

    let all = |change: fn(&mut MemoryPage)| {
        let page = MemoryPage {
            limit: 11,
            with_discarded: true,
            ..MemoryPage::default()
        };
        with(page, change)
    };
    let active = |change: fn(&mut MemoryPage)| {
        let page = all(|page| page.with_discarded = false);
        with(page, change)
    };
    fn expired(is_expired: bool) -> Option<Expiry> {
        let until = at(50);
        Some(Expiry { until, is_expired })
    }
    for (page, expected) in [
        (all(|_| {}), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11][..]),
        (active(|_| {}), &[1, 2, 4, 6, 7, 9, 10, 11]),
        (all(|page| page.after = 2), &[3, 4, 5, 6, 7, 8, 9, 10, 11]),
        (all(|page| page.after = 11), &[]),
        (all(|page| page.after = u64::MAX), &[]),
        (all(|page| page.limit = 0), &[]),
        (all(|page| page.limit = 2), &[1, 2]),
        (
            all(|page| page.limit = u32::MAX),
            &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
        ),
        (active(|page| (page.limit, page.after) = (2, 1)), &[2, 4]),
        (all(|page| page.kind = Some(Kind::Core)), &[1, 3, 4, 11]),
        (active(|page| page.kind = Some(Kind::Core)), &[1, 4, 11]),
        (all(|page| page.kind = Some(Kind::Journal)), &[2, 5, 6]),
        (all(|page| page.since = Some(at(40))), &[1, 2, 6, 9, 11]),
        (
            all(|page| page.until = Some(at(40))),
            &[2, 3, 4, 5, 7, 8, 10],
        ),
        (
            all(|page| (page.since, page.until) = (Some(at(20)), Some(at(40)))),
            &[2, 3, 4, 10],
        ),
        (
            all(|page| (page.since, page.until) = (Some(at(41)), Some(at(40)))),
            &[],
        ),
        (
            MemoryPage {
                after: 1,
                limit: 1,
                kind: Some(Kind::Journal),
                since: Some(at(5)),
                until: Some(at(60)),
                with_discarded: false,
                protected: Some(false),
                expired: None,
                under: None,
            },
            &[2],
        ),
        (all(|page| page.kind = Some(Kind::Archival)), &[7, 8, 9, 10]),
        (active(|page| page.kind = Some(Kind::Archival)), &[7, 9, 10]),
        (all(|page| page.under = Some(Number(1))), &[7, 8, 10]),
        (active(|page| page.under = Some(Number(1))), &[7, 10]),
        (
            active(|page| (page.after, page.limit, page.under) = (7, 1, Some(Number(1)))),
            &[10],
        ),
        (
            active(|page| {
                (page.kind, page.until) = (Some(Kind::Archival), Some(at(20)));
                page.under = Some(Number(1));
            }),
            &[7],
        ),
        (
            active(|page| (page.kind, page.under) = (Some(Kind::Core), Some(Number(1)))),
            &[],
        ),
        (active(|page| page.under = Some(Number(2))), &[]),
        (active(|page| page.under = Some(Number(u64::MAX))), &[]),
        // Only journal entries expire.
        (active(|page| page.expired = expired(true)), &[2]),
        (
            active(|page| page.expired = expired(false)),
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
        let mut beside = author.memories(Selection::Page(page.clone())).await;
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
        with(row, |row| {
            row.columns.started_at = at(started_at);
            row.document.sealed = text(&"é".repeat(usize::try_from(number).unwrap()));
        })
    };
    let mut rows = [(1, 10), (2, 30), (3, 20), (4, 20), (5, 20), (6, 40)].map(row);
    author.refine(rows.to_vec()).await;
    rows.sort_by_key(|row| (row.columns.started_at, row.id));
    rows.reverse();
    for limit in [1, 2, 3, 6, 7, u32::MAX] {
        let walked = walk_sessions(&store, author.scope(), limit).await;
        assert_eq!(walked, rows, "by {limit}");
    }
    // From an instant, and a session, of which there is none.
    let before = Some((at(20), session_id(0)));
    let found = store.session_page(author.scope(), before, 9).await;
    assert_eq!(found.unwrap(), rows[5..]);
    let before = Some((at(35), session_id(0)));
    let found = store.session_page(author.scope(), before, 2).await;
    assert_eq!(found.unwrap(), rows[1..3]);
    let sizes = store.session_sizes(author.scope(), before, 2).await;
    let sealed = rows[1..3].iter().map(|row| row.document.sealed.0.len());
    assert_eq!(
        sizes.unwrap(),
        sealed.map(|size| size as u64).collect::<Vec<_>>()
    );
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
        let walked = walk_agents(&store, account_id(1), limit).await;
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
        let made = Author::new(&store, 1, number).await.agent;
        agents.push(made.columns.folded_name);
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

        let sessions = walk_sessions(&store, scope, 7).await;
        let place = |row: &SessionRow| (row.columns.started_at, row.id);
        assert!(sessions.is_sorted_by(|left, right| place(left) > place(right)));
        let steady = sessions.iter().filter(|row| row.id <= session_id(30));
        assert_eq!(steady.count(), 30);

        let found = walk_agents(&store, scope.account, 7).await;
        let names: Vec<_> = found.iter().map(|row| &row.columns.folded_name).collect();
        assert!(names.is_sorted_by(|left, right| left < right));
        assert!(agents.iter().all(|name| names.contains(&name)));
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

async fn walk_sessions(store: &Arc<dyn Store>, scope: AgentScope, limit: u32) -> Vec<SessionRow> {
    let mut walked: Vec<SessionRow> = Vec::new();
    loop {
        let before = walked.last().map(|last| (last.columns.started_at, last.id));
        let page = store.session_page(scope, before, limit).await.unwrap();
        assert!(page.len() <= limit as usize);
        if page.is_empty() {
            return walked;
        }
        walked.extend(page);
    }
}

async fn walk_agents(store: &Arc<dyn Store>, account: AccountId, limit: u32) -> Vec<AgentRow> {
    let mut walked: Vec<AgentRow> = Vec::new();
    loop {
        let after = walked.last().map(|last| last.columns.folded_name.as_str());
        let page = store.agent_page(account, after, limit).await.unwrap();
        assert!(page.len() <= limit as usize);
        if page.is_empty() {
            return walked;
        }
        walked.extend(page);
    }
}

/// Makes memories, sessions and agents, and discards memories and takes them back.
async fn write_meanwhile(mut author: Author) {
    for round in 0..60_u64 {
        let changing = 3 * (round % 20 + 1);
        let row = match round {
            20..40 => memory(changing),
            _ => discarded(memory(changing)),
        };
        let over = session(31 + u128::from(round), author.id());
        let mut commit = Commit {
            sessions: vec![ended(over, State::Failed)],
            ..author.saving(vec![memory(author.agent.columns.next_seq)])
        };
        commit.memories.push(row);
        author.write(commit).await.unwrap();
        if round % 4 == 0 {
            let mut other = Author::new(&author.store, 1, u128::from(200 + round)).await;
            other
                .change(|commit| commit.agent.columns.erased_at = (round % 8 == 0).then(|| at(1)))
                .await;
        }
    }
}

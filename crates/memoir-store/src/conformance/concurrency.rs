//! Concurrent callers.

use std::sync::Arc;

use memoir_domain::{audit::Action, memory::Number, session::State};

use super::fixtures::*;
use crate::{
    AgentQuery, AuditRow, Commit, Commits, CountAndTokens, Error, MemoryRow, Selection, Store,
    TokenRow,
};

/// A commit that would write a row of every table.
fn of_everything(author: &Author) -> Commit {
    let number = author.agent.columns.next_seq;
    Commit {
        sessions: vec![ended(session(77, author.id()), State::Completed)],
        tokens: vec![TokenRow {
            agent: Some(author.id()),
            ..token(1, 77)
        }],
        ..author.saving(vec![memory(number)])
    }
}

pub(super) async fn a_conflict_leaves_nothing_behind(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    author.save(vec![memory(1)]).await;
    let before = author.everything().await;
    // `u64::MAX >> 1` is the largest number that a signed column holds.
    for expected_version in [Some(0), Some(1), Some(3), Some(u64::MAX >> 1), None] {
        let mut commit = Commit {
            expected_version,
            prompts: Some(text("other prompts")),
            ..of_everything(&author)
        };
        // A free name: a store may choose which of two broken rules it reports.
        commit.agent.columns.folded_name = "free".to_owned();
        assert_conflict(&store.commit(commit).await);
        assert_eq!(author.everything().await, before);
        assert_eq!(store.tokens(account_id(1)).await.unwrap(), []);
    }
    // Rows that fit no agent at all are a conflict too, where they were decided on an old one.
    let mut stale = author.saving(vec![memory(5)]);
    stale.expected_version = Some(1);
    stale.agent.columns.head = [7; 32];
    assert_conflict(&store.commit(stale).await);
    assert_eq!(author.everything().await, before);
    // The writer goes on as if nothing had been.
    let commit = of_everything(&author);
    author.write(commit).await.unwrap();
    assert_eq!(author.stored().await, author.agent);
    assert_sound(&store).await;
}

/// Decisions that each rest on the one before; the author stays where it is.
fn in_a_row(author: &Author, numbers: std::ops::RangeInclusive<u64>) -> Vec<Option<Commit>> {
    let mut ahead = Author::of_new(&author.store, author.agent.clone());
    let mut commits = Vec::new();
    for number in numbers {
        let mut commit = ahead.recording(vec![record(Action::MemorySaved)]);
        commit.memories = ahead.saving(vec![memory(number)]).memories;
        ahead.agent = commit.agent.clone();
        ahead.agent.document.version = commit.expected_version.unwrap_or(0) + 1;
        commits.push(Some(commit));
    }
    commits
}

pub(super) async fn decisions_that_come_together_are_written_whole_or_not_at_all(
    store: Arc<dyn Store>,
) {
    let mut author = Author::new(&store, 1, 1).await;
    author.save(vec![memory(1)]).await;
    let before = author.everything().await;
    let commits = in_a_row(&author, 2..=4);

    // Without a last word.
    let answer = store
        .commit_all(Commits::new(commits.clone().into_iter()))
        .await;
    assert!(matches!(answer, Err(Error::Unfinished)), "{answer:?}");
    assert_eq!(author.everything().await, before);
    let answer = store.commit_all(Commits::new(std::iter::empty())).await;
    assert!(matches!(answer, Err(Error::Unfinished)), "{answer:?}");

    // One of them rests on something else than the one before.
    let mut torn = commits.clone();
    torn.remove(1);
    torn.push(None);
    assert_conflict(&store.commit_all(Commits::new(torn.into_iter())).await);
    assert_eq!(author.everything().await, before);

    let whole = commits.into_iter().chain([None]);
    store.commit_all(Commits::new(whole)).await.unwrap();
    assert_eq!(author.numbers(Selection::All).await, [1, 2, 3, 4]);
    let records = author.everything().await.2;
    assert_eq!(records.len(), before.2.len() + 3);
    assert_sound(&store).await;
}

pub(super) async fn a_refused_commit_takes_no_other_down(store: Arc<dyn Store>) {
    let mut authors = Vec::new();
    for number in 0..64 {
        let mut author = Author::new(&store, 1, number).await;
        author.save(vec![memory(1)]).await;
        author.refine(vec![session(number, author.id())]).await;
        authors.push(author);
    }
    let writing = authors
        .into_iter()
        .enumerate()
        .map(|(number, mut author)| async move {
            let before = author.everything().await;
            let mut commit = author.saving(vec![memory(2)]);
            match number % 8 {
                0 => commit.expected_version = Some(1),
                2 => commit.agent.columns.folded_name = format!("agent-{}", (number + 1) % 64),
                4 => commit.sessions = vec![session(1_000 + number as u128, author.id())],
                6 => {
                    // The place of the record before it.
                    commit.agent.columns.next_seq -= 1;
                    commit.records[0].seq -= 1;
                }
                _ => {}
            }
            let answer = author.write(commit).await;
            match (number % 8, &answer) {
                (0 | 6, Err(Error::Conflict))
                | (2, Err(Error::NameTaken))
                | (4, Err(Error::SessionRunning)) => {
                    assert_eq!(author.everything().await, before);
                }
                (1 | 3 | 5 | 7, Ok(())) => {
                    assert_eq!(author.numbers(Selection::All).await, [1, 2]);
                    assert_eq!(author.stored().await, author.agent);
                }
                _ => panic!("{number}: {answer:?}"),
            }
        });
    at_once(writing).await;
    assert_sound(&store).await;
}

pub(super) async fn one_edit_wins_for_each_version(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    author.save(vec![memory(1)]).await;
    for round in 0..10_u64 {
        let contending = (0..12_u64).map(|contender| {
            let mut commit = author.recording(vec![AuditRow {
                memory: Some(Number(contender)),
                ..record(Action::MemoryRefinementUpdate)
            }]);
            commit.memories = vec![MemoryRow {
                body: text(&contender.to_string()),
                ..memory(1)
            }];
            let store = Arc::clone(&store);
            async move { store.commit(commit).await }
        });
        let mut winners = Vec::new();
        for (contender, written) in at_once(contending).await.into_iter().enumerate() {
            match written {
                Ok(()) => winners.push(contender),
                Err(Error::Conflict) => {}
                Err(error) => panic!("{error}"),
            }
        }
        let [winner] = winners[..] else {
            panic!("round {round}: {winners:?} won");
        };
        let (snapshot, _, records) = author.everything().await;
        let version = snapshot.agent.document.version;
        assert_eq!(version, author.agent.document.version + 1);
        assert_eq!(snapshot.memories[0].body, text(&winner.to_string()));
        assert_eq!(records.len() as u64, round + 2);
        assert_eq!(records.last().unwrap().memory, Some(Number(winner as u64)));
        author.agent = snapshot.agent;
    }
    assert_sound(&store).await;
}

/// The writer shifts tokens between two memories and counts its rounds in every table; each reader finds all of one
/// round.
pub(super) async fn a_snapshot_is_of_one_instant(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let of_round = |round| {
        let of = |number, tokens| MemoryRow {
            tokens,
            ..memory(number)
        };
        vec![of(1, round), of(2, 1_000 - round)]
    };
    author.save(of_round(0)).await;
    let start = author.agent.document.version;
    let scope = author.scope();
    let writer = tokio::spawn(async move {
        for round in 1..=300_u64 {
            let mut commit = author.recording(vec![record(Action::MemorySaved)]);
            commit.memories = of_round(round);
            let mut session = ended(session(1, author.id()), State::Completed);
            session.document.version = round;
            commit.sessions = vec![session];
            author.write(commit).await.unwrap();
        }
    });
    let wanted = [
        Selection::ActiveCore,
        Selection::Numbers(vec![Number(1), Number(2)]),
    ];
    let wanted = wanted.map(|memories| AgentQuery {
        memories,
        ..AgentQuery::of_session(session_id(1))
    });
    let mut last = 0;
    while !writer.is_finished() {
        for wanted in &wanted {
            let snapshot = store.snapshot(scope, wanted).await.unwrap().unwrap();
            let round = snapshot.agent.document.version - start;
            assert!(round >= last, "a later read finds an earlier instant");
            last = round;
            let tokens = snapshot.memories.iter().map(|memory| memory.tokens);
            assert!(tokens.eq([round, 1_000 - round]), "{snapshot:?}");
            let core = CountAndTokens {
                count: 2,
                tokens: 1_000,
            };
            assert_eq!(snapshot.row_counts.unwrap().core, core);
            assert_eq!(snapshot.agent.columns.next_seq, 3 + round);
            let session = snapshot.session.map(|session| session.document.version);
            assert_eq!(session, (round > 0).then_some(round));
        }
    }
    writer.await.unwrap();
    assert_sound(&store).await;
}

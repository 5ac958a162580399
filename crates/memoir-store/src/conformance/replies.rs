//! Responses to requests with an idempotency key (SPEC 6.2).

use std::sync::Arc;

use super::fixtures::*;
use crate::{Commit, Error, ReplyMark, ReplyRow, Store};

/// Replaces the body of the agent's first record, which deletes the stored responses of its account.
async fn shred(author: &mut Author, body_version: u64) {
    let less = vec![body(1, body_version)];
    author.change(|commit| commit.bodies = less).await;
}

async fn begin(store: &Arc<dyn Store>, reply: &ReplyRow) -> Option<ReplyRow> {
    store.begin_reply(reply).await.unwrap()
}

pub(super) async fn spec_6_2_of_requests_at_once_exactly_one_enters(store: Arc<dyn Store>) {
    Author::new(&store, 1, 1).await;
    for round in 0..20 {
        let beginning = (0..8).map(|contender| {
            let store = Arc::clone(&store);
            // The same key with different requests.
            let row = ReplyRow {
                request_digest: digest(contender),
                ..reply(1, round)
            };
            async move { (row.clone(), begin(&store, &row).await) }
        });
        let mut entered = Vec::new();
        let mut seen = Vec::new();
        for begun in at_once(beginning).await {
            match begun {
                (row, None) => entered.push(row),
                (_, Some(found)) => seen.push(found),
            }
        }
        assert_eq!(entered.len(), 1, "round {round}");
        assert_eq!(seen, vec![entered[0].clone(); 7], "round {round}");
    }
    assert_sound(&store).await;
}

pub(super) async fn spec_6_2_an_answer_is_kept_until_it_is_forgotten(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    author.save(vec![memory(1)]).await;
    let mut other = Author::new(&store, 2, 2).await;
    other.save(vec![memory(2)]).await;
    for number in [10, 20, 30, 40] {
        assert_eq!(begin(&store, &reply(1, number)).await, None);
    }
    let end = async |number: u128, expected: Option<&str>, answer| {
        let key_digest = digest(number);
        let ended = store.end_reply(account_id(1), &key_digest, None, expected, answer);
        ended.await.unwrap()
    };
    // With and without words; and one of a request that was never made.
    let answers = [document(1, "answer"), crate::Document::default()];
    assert!(end(10, None, answers[0].clone()).await);
    assert!(end(20, None, answers[1].clone()).await);
    assert!(!end(99, None, answers[0].clone()).await);
    // Only over the document that it is to replace.
    assert!(!end(10, None, document(7, "other")).await);
    assert!(!end(10, Some("another"), document(7, "other")).await);
    assert!(!end(40, Some("another"), document(7, "other")).await);
    for (number, answer) in [(10, Some(&answers[0])), (20, Some(&answers[1])), (40, None)] {
        let expected = ReplyRow {
            answer: answer.cloned(),
            ..reply(1, number)
        };
        // Whatever else the one that comes again says.
        let again = ReplyRow {
            request_digest: digest(77),
            recorded_at: at(500),
            answer: Some(document(7, "other")),
            ..reply(1, number)
        };
        assert_eq!(begin(&store, &again).await, Some(expected));
    }
    let replaced = document(8, "words");
    assert!(end(10, Some(&answers[0].open), replaced.clone()).await);
    let found = begin(&store, &reply(1, 10)).await.unwrap();
    assert_eq!(found.answer.as_ref(), Some(&replaced));

    // Of one account, what is sealed of its responses goes, and what is open stays.
    shred(&mut other, 2).await;
    assert_eq!(begin(&store, &reply(1, 10)).await, Some(found));
    let answer = async |number| begin(&store, &reply(1, number)).await.unwrap().answer;
    shred(&mut author, 2).await;
    let stays = crate::Document {
        sealed: crate::StoredText::default(),
        ..replaced
    };
    assert_eq!(answer(10).await, Some(stays));
    assert_eq!(answer(40).await, None);

    // One is removed as it is expected, and enters again.
    let dropped = async |number: u128, expected: Option<&str>| {
        let key_digest = digest(number);
        let dropped = store.drop_reply(account_id(1), &key_digest, expected);
        let is_dropped = dropped.await.unwrap();
        let enters = begin(&store, &reply(1, number)).await.is_none();
        assert_eq!(is_dropped, enters);
        enters
    };
    assert!(!dropped(10, None).await);
    assert!(!dropped(30, Some("another")).await);
    assert!(dropped(30, None).await);
    assert!(dropped(10, Some(&document(8, "words").open)).await);

    // Those that came before, answered or not; not the one of that very instant.
    store.forget_replies(at(29)).await.unwrap();
    assert_eq!(begin(&store, &reply(1, 10)).await, None);
    assert_eq!(begin(&store, &reply(1, 20)).await, None);
    assert!(begin(&store, &reply(1, 30)).await.is_some());
    assert!(begin(&store, &reply(1, 40)).await.is_some());
    assert_sound(&store).await;
}

fn mark(number: u128, expected: Option<&str>, open: &str) -> Option<Box<ReplyMark>> {
    Some(Box::new(ReplyMark {
        key_digest: digest(number),
        expected: expected.map(str::to_owned),
        document: crate::Document {
            version: 1,
            open: open.to_owned(),
            sealed: crate::StoredText::default(),
        },
    }))
}

pub(super) async fn spec_6_2_a_change_is_written_with_the_mark_of_its_request_or_not_at_all(
    store: Arc<dyn Store>,
) {
    let mut author = Author::new(&store, 1, 1).await;
    assert_eq!(begin(&store, &reply(1, 10)).await, None);
    let open = async || {
        let found = begin(&store, &reply(1, 10)).await.unwrap();
        found.answer.map(|answer| answer.open)
    };
    // A decision on another version writes no mark.
    let stale = Commit {
        expected_version: Some(7),
        reply: mark(10, None, "stale"),
        ..author.saving(vec![memory(1)])
    };
    assert_conflict(&store.commit(stale).await);
    assert_eq!(open().await, None);
    let first = Commit {
        reply: mark(10, None, "first"),
        ..author.saving(vec![memory(1)])
    };
    author.write(first).await.unwrap();
    assert_eq!(open().await.as_deref(), Some("first"));
    // Another attempt, which read the request as one without changes so far; and one without a row.
    for reply in [
        mark(10, None, "second"),
        mark(10, Some("other"), "second"),
        mark(11, None, "second"),
    ] {
        let late = Commit {
            reply,
            ..author.saving(vec![memory(2)])
        };
        let refused = author.write(late).await;
        assert!(matches!(refused, Err(Error::Repeated)), "{refused:?}");
        assert_eq!(open().await.as_deref(), Some("first"));
        let found = store.memories(author.scope(), &[memory(2).number]).await;
        assert_eq!(found.unwrap(), Vec::new());
    }
    // The same attempt, with what it changes next; also beside words that are removed, which leaves what is open.
    let mut next = Commit {
        reply: mark(10, Some("first"), "next"),
        ..author.saving(vec![memory(2)])
    };
    next.prompts = Some(text("others"));
    author.write(next).await.unwrap();
    let mut shredding = author.commit();
    shredding.reply = mark(10, Some("next"), "last");
    shredding.bodies = vec![body(1, 2)];
    author.write(shredding).await.unwrap();
    assert_eq!(open().await.as_deref(), Some("last"));
    assert_sound(&store).await;
}

pub(super) async fn spec_6_2_of_two_attempts_at_a_request_one_makes_the_change(
    store: Arc<dyn Store>,
) {
    const AGENTS: u128 = 6;
    let mut authors = Vec::new();
    for number in 1..=AGENTS {
        authors.push(Author::new(&store, 1, number).await);
    }
    for round in 0..10 {
        assert_eq!(begin(&store, &reply(1, round)).await, None);
        // On agents of their own, so that nothing but the mark is in their way.
        let attempts = authors.iter().enumerate().map(|(at, author)| {
            let commit = Commit {
                reply: mark(round, None, &format!("attempt {at}")),
                ..author.saving(vec![memory(round as u64 + 1)])
            };
            let store = Arc::clone(&store);
            async move { store.commit(commit).await }
        });
        let attempts: Vec<_> = attempts.collect();
        let mut made = Vec::new();
        for (at, attempt) in at_once(attempts).await.into_iter().enumerate() {
            match attempt {
                Ok(()) => made.push(at),
                Err(Error::Repeated) => {}
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(made.len(), 1, "round {round}");
        let found = begin(&store, &reply(1, round)).await.unwrap().answer;
        assert_eq!(found.unwrap().open, format!("attempt {}", made[0]));
        // As it was written.
        let author = &mut authors[made[0]];
        let written = author.saving(vec![memory(round as u64 + 1)]);
        author.agent = written.agent;
        author.agent.document.version += 1;
    }
    assert_sound(&store).await;
}

pub(super) async fn spec_4_4_the_answer_of_a_request_that_is_carried_out_is_forgotten_too(
    store: Arc<dyn Store>,
) {
    let mut author = Author::new(&store, 1, 1).await;
    Author::new(&store, 2, 2).await;
    author.save(vec![memory(1)]).await;
    for (account, number) in [(1, 10), (1, 11), (2, 10)] {
        assert_eq!(begin(&store, &reply(account, number)).await, None);
    }
    shred(&mut author, 2).await;
    let end = async |account, number: u128, came_at| {
        let account_id = account_id(account);
        let found = begin(&store, &reply(account, number)).await.unwrap();
        let open = found.answer.map(|answer| answer.open);
        let (key_digest, answer) = (digest(number), document(1, "words"));
        let ended = store.end_reply(account_id, &key_digest, came_at, open.as_deref(), answer);
        ended.await.unwrap()
    };
    assert!(!end(1, 10, Some(at(10))).await);
    assert!(end(1, 11, None).await, "one that holds no words");
    assert!(end(2, 10, Some(at(10))).await, "that of another account");
    // One that comes afterwards.
    assert_eq!(begin(&store, &reply(1, 12)).await, None);
    assert!(end(1, 12, Some(at(12))).await);
    shred(&mut author, 3).await;
    assert!(!end(1, 12, Some(at(12))).await);
    assert_sound(&store).await;
}

pub(super) async fn spec_6_2_a_key_is_of_one_account(store: Arc<dyn Store>) {
    Author::new(&store, 1, 1).await;
    Author::new(&store, 2, 2).await;
    assert_eq!(begin(&store, &reply(1, 5)).await, None);
    assert_eq!(begin(&store, &reply(2, 5)).await, None);
    let answer = document(1, "of the first");
    let end = async |account, answer| {
        let key_digest = digest(5);
        let ended = store.end_reply(account_id(account), &key_digest, None, None, answer);
        ended.await.unwrap()
    };
    assert!(end(1, answer.clone()).await);
    assert_eq!(begin(&store, &reply(2, 5)).await, Some(reply(2, 5)));
    // A missing account does not reach it either.
    assert!(!end(3, document(1, "of no account")).await);
    let expected = ReplyRow {
        answer: Some(answer),
        ..reply(1, 5)
    };
    assert_eq!(begin(&store, &reply(1, 5)).await, Some(expected));
    assert_inconsistent(&store.begin_reply(&reply(3, 5)).await, "replies");
    assert_sound(&store).await;
}

//! What requests with an idempotency key were answered (SPEC 6.2).

use std::sync::Arc;

use super::fixtures::*;
use crate::{Error, ReplyRow, Store};

/// Replaces the body of the agent's first record, with which what its account was answered is forgotten.
async fn shred(author: &mut Author, body_version: u64) {
    let mut commit = author.commit();
    commit.bodies = vec![crate::BodyRow {
        seq: 1,
        body_version,
        body: text("less"),
    }];
    author.write(commit).await.unwrap();
}

async fn begin(store: &Arc<dyn Store>, reply: &ReplyRow) -> Option<ReplyRow> {
    store.begin_reply(reply).await.unwrap()
}

pub(super) async fn spec_6_2_of_requests_at_once_exactly_one_enters(store: Arc<dyn Store>) {
    Author::new(&store, 1, 1).await;
    for round in 0..20 {
        let mut tasks = Vec::new();
        for contender in 0..8 {
            let store = Arc::clone(&store);
            // The same key with different requests.
            let row = ReplyRow {
                request_digest: digest(contender),
                ..reply(1, round)
            };
            tasks.push(tokio::spawn(async move {
                (row.clone(), begin(&store, &row).await)
            }));
        }
        let mut entered = Vec::new();
        let mut seen = Vec::new();
        for task in tasks {
            match task.await.unwrap() {
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
    let commit = author.saving(vec![memory(1)]);
    author.write(commit).await.unwrap();
    let mut other = Author::new(&store, 2, 2).await;
    let commit = other.saving(vec![memory(2)]);
    other.write(commit).await.unwrap();
    for number in [10, 20, 30, 40] {
        assert_eq!(begin(&store, &reply(1, number)).await, None);
    }
    let end = async |number: u128, answer| {
        let key_digest = digest(number);
        let ended = store.end_reply(account_id(1), &key_digest, None, answer);
        ended.await.unwrap();
    };
    // With and without words; one is given up, and one is not there.
    let answers = [
        Some(document(1, "answer")),
        Some(crate::Document::default()),
    ];
    end(10, answers[0].clone()).await;
    end(20, answers[1].clone()).await;
    end(30, None).await;
    end(99, answers[0].clone()).await;
    end(98, None).await;
    for (number, answer) in [(10, &answers[0]), (20, &answers[1]), (40, &None)] {
        let expected = ReplyRow {
            answer: answer.clone(),
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
    // What was given up, or never was, enters anew, and without an answer.
    for number in [30, 99] {
        let row = ReplyRow {
            answer: Some(document(7, "other")),
            ..reply(1, number)
        };
        assert_eq!(begin(&store, &row).await, None);
        assert_eq!(begin(&store, &row).await, Some(reply(1, number)));
    }

    // Of one account, what was answered, and not that it was asked.
    let answered = ReplyRow {
        answer: Some(document(1, "words")),
        ..reply(1, 20)
    };
    end(20, answered.answer.clone()).await;
    shred(&mut other, 2).await;
    assert_eq!(begin(&store, &reply(1, 20)).await, Some(answered));
    let answer = async |number| begin(&store, &reply(1, number)).await.unwrap().answer;
    shred(&mut author, 2).await;
    assert_eq!(answer(20).await, None);

    // Those that came before, answered or not; not the one of that very instant.
    store.forget_replies(at(29)).await.unwrap();
    assert_eq!(begin(&store, &reply(1, 10)).await, None);
    assert_eq!(begin(&store, &reply(1, 20)).await, None);
    assert!(begin(&store, &reply(1, 30)).await.is_some());
    assert!(begin(&store, &reply(1, 40)).await.is_some());
    assert_sound(&store).await;
}

pub(super) async fn spec_4_4_the_answer_of_a_request_that_is_carried_out_is_forgotten_too(
    store: Arc<dyn Store>,
) {
    let mut author = Author::new(&store, 1, 1).await;
    Author::new(&store, 2, 2).await;
    let commit = author.saving(vec![memory(1)]);
    author.write(commit).await.unwrap();
    for (account, number) in [(1, 10), (1, 11), (2, 10)] {
        assert_eq!(begin(&store, &reply(account, number)).await, None);
    }
    shred(&mut author, 2).await;
    let end = async |account, number: u128, came_at| {
        let answer = Some(document(1, "words"));
        let key_digest = digest(number);
        let ended = store.end_reply(account_id(account), &key_digest, came_at, answer);
        ended.await.unwrap();
        let found = begin(&store, &reply(account, number)).await;
        found.unwrap().answer.is_some()
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
    let answer = Some(document(1, "of the first"));
    let end = async |account, answer| {
        let key_digest = digest(5);
        let ended = store.end_reply(account_id(account), &key_digest, None, answer);
        ended.await.unwrap();
    };
    end(1, answer.clone()).await;
    assert_eq!(begin(&store, &reply(2, 5)).await, Some(reply(2, 5)));
    end(2, None).await;
    // Nor does an account that is not there reach it.
    end(3, None).await;
    let expected = ReplyRow {
        answer,
        ..reply(1, 5)
    };
    assert_eq!(begin(&store, &reply(1, 5)).await, Some(expected));
    let refused = store.begin_reply(&reply(3, 5)).await;
    assert!(
        matches!(
            refused,
            Err(Error::Inconsistent {
                table: "replies",
                ..
            })
        ),
        "{refused:?}"
    );
    assert_sound(&store).await;
}

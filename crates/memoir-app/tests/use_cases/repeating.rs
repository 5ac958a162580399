//! Requests with an idempotency key whose attempts end early, or meet (SPEC 6.2).

use std::{sync::Arc, time::Duration};

use memoir_app::{Error, KeptReply, ReplyKey, RequestAttempt};
use memoir_domain::{access::AccessScope, memory::Number};
use memoir_store_sqlite::{
    CommitFault::{Busy, LostUnwritten, LostWritten},
    SqliteStore,
};
use memoir_testkit::input;

use crate::installation::{TestAgent, person, reading, request_by, settings};

async fn wren() -> (SqliteStore, TestAgent) {
    let store = SqliteStore::in_memory().unwrap();
    let wren = TestAgent::on(Arc::new(store.clone()), &["One."], settings()).await;
    (store, wren)
}

fn key(wren: &TestAgent) -> ReplyKey {
    let scope = wren.agent.scope();
    ReplyKey {
        account: scope.account,
        agent: Some(scope.agent),
        key_digest: [1; 32],
        request_digest: [2; 32],
    }
}

async fn kept(wren: &TestAgent) -> KeptReply {
    wren.memoir.begin_reply(&key(wren)).await.unwrap()
}

async fn new(wren: &TestAgent) -> RequestAttempt {
    match kept(wren).await {
        KeptReply::New(attempt) => attempt,
        kept => panic!("it changed nothing yet: {kept:?}"),
    }
}

async fn save(wren: &TestAgent) -> Result<Number, Error> {
    wren.clock.advance(Duration::from_secs(1));
    let input = input("Lena brings the paper on Fridays.");
    let saved = wren.agent.memories().save(&[input], &person()).await?;
    Ok(saved[0].memory.number)
}

/// The state of the request, and the number of memories.
async fn saved(wren: &TestAgent) -> (Vec<Number>, usize) {
    let done = match kept(wren).await {
        KeptReply::Done { done, .. } => done.saved,
        KeptReply::New(_) => Vec::new(),
        kept => panic!("no response is kept: {kept:?}"),
    };
    (done, wren.memories().await.len())
}

#[tokio::test]
async fn spec_6_2_an_attempt_that_ends_before_its_change_is_followed_by_another_one() {
    let (_store, wren) = wren().await;
    drop(new(&wren).await);
    assert_eq!(saved(&wren).await, (Vec::new(), 1));
    let second = new(&wren).await;
    let number = second.execute(save(&wren)).await.unwrap();
    assert_eq!(saved(&wren).await, (vec![number], 2));
    // Changes outside of the request are not its own.
    save(&wren).await.unwrap();
    assert_eq!(saved(&wren).await, (vec![number], 3));
}

#[tokio::test]
async fn spec_6_2_of_two_attempts_that_meet_the_second_changes_nothing() {
    let (_store, wren) = wren().await;
    let (held_up, repeated) = (new(&wren).await, new(&wren).await);
    let number = repeated.execute(save(&wren)).await.unwrap();
    let late = held_up.execute(save(&wren)).await.unwrap_err();
    assert_eq!(late.code(), "idempotency_in_progress");
    assert_eq!(saved(&wren).await, (vec![number], 2));
    assert!(wren.agent.log().verify().await.unwrap().valid);
    // The response of the late attempt is not that of the request.
    let memoir = &wren.memoir;
    let end = async |attempt, status| {
        let key = key(&wren);
        let ended = memoir.end_reply(&key, attempt, false, (status, b"{}"));
        ended.await.unwrap()
    };
    assert!(!end(&held_up, 409).await);
    assert!(end(&repeated, 201).await);
    assert!(!end(&held_up, 409).await);
    let known = kept(&wren).await;
    assert!(
        matches!(known, KeptReply::Response { status: 201, .. }),
        "{known:?}"
    );
    // An attempt with a stored response is over, whatever it would still change.
    let late = held_up.execute(save(&wren)).await.unwrap_err();
    assert_eq!(late.code(), "idempotency_in_progress");
}

#[tokio::test]
async fn spec_6_2_a_request_that_changed_nothing_frees_its_key_and_one_that_meets_it_is_repeated() {
    let (_store, wren) = wren().await;
    let (held_up, refused) = (new(&wren).await, new(&wren).await);
    let drop = async || wren.memoir.drop_reply(&key(&wren), &refused).await.unwrap();
    assert!(drop().await && drop().await);
    let late = held_up.execute(save(&wren)).await.unwrap_err();
    assert_eq!(late.code(), "idempotency_in_progress");
    let again = new(&wren).await;
    let number = again.execute(save(&wren)).await.unwrap();
    // The change of another attempt stays, and its response is that of the request.
    assert!(!drop().await);
    assert_eq!(saved(&wren).await, (vec![number], 2));
}

#[tokio::test]
async fn spec_6_2_a_change_whose_answer_stays_lost_is_found_by_its_key() {
    for (lost, was_written) in [(LostUnwritten, false), (LostWritten, true)] {
        let (store, wren) = wren().await;
        let attempt = new(&wren).await;
        // The last of the list comes first; what follows it does not matter.
        let mut faults = vec![LostUnwritten; 4];
        faults.push(lost);
        store.disturb_commits(&faults);
        let unknown = attempt.execute(save(&wren)).await;
        match was_written {
            true => assert_eq!(unknown.unwrap(), Number(2)),
            false => assert_eq!(unknown.unwrap_err().code(), "outcome_unknown"),
        }
        if !was_written {
            let again = new(&wren).await;
            again.execute(save(&wren)).await.unwrap();
        }
        assert_eq!(saved(&wren).await, (vec![Number(2)], 2));
    }
}

#[tokio::test]
async fn spec_6_2_the_end_of_an_expired_request_for_access_is_no_change_of_another_one() {
    let (store, wren) = wren().await;
    let (request, by) = (reading(AccessScope::All, 30), person());
    request_by(&wren.agent, &request, &by).await;
    wren.clock.advance(Duration::from_secs(100 * 86_400));
    let attempt = new(&wren).await;
    // The last of the list comes first: the end of the earlier request is written, and the new one is not.
    store.disturb_commits(&[Busy, Busy, LostWritten]);
    let grants = wren.agent.grants();
    let refused = attempt.execute(grants.request_access(&request, &by));
    assert_eq!(refused.await.unwrap_err().code(), "busy");
    let actions = wren.actions().await;
    assert!(actions.ends_with(&["access_expired".to_owned()]));
    let again = new(&wren).await;
    let made = again.execute(grants.request_access(&request, &by));
    made.await.unwrap();
    assert!(again.has_changed() && matches!(kept(&wren).await, KeptReply::Done { .. }));
}

#[tokio::test]
async fn spec_6_2_a_request_with_several_decisions_is_one() {
    let (_store, wren) = wren().await;
    let attempt = new(&wren).await;
    let numbers = attempt.execute(async { [save(&wren).await, save(&wren).await] });
    let numbers = numbers.await.map(Result::unwrap);
    assert_eq!(saved(&wren).await, (numbers.to_vec(), 3));
    assert!(wren.agent.log().verify().await.unwrap().valid);
}

//! Notifications of ended sessions, their receivers and their leases.

use std::{collections::BTreeSet, sync::Arc};

use memoir_domain::{SessionId, session::State};

use super::fixtures::*;
use crate::{Commit, DeliveryRow, ReceiverDigest, SessionRow, Store};

/// Registers at second 0, and deletes no receiver.
async fn register(store: &Arc<dyn Store>, receivers: &[ReceiverDigest], reopen: bool) {
    store
        .register_receivers(receivers, at(0), at(-1), reopen)
        .await
        .unwrap();
}

/// Leases at that second, for ten seconds.
async fn claim(
    store: &Arc<dyn Store>,
    receiver: &ReceiverDigest,
    second: i64,
    limit: u32,
) -> Vec<DeliveryRow> {
    let times = (at(second + 10), at(second + 100_000));
    store
        .claim_deliveries(receiver, at(second), times, limit)
        .await
        .unwrap()
}

fn sessions(deliveries: &[DeliveryRow]) -> Vec<SessionId> {
    deliveries.iter().map(|delivery| delivery.session).collect()
}

/// Begins a session, and ends it at second 2,000.
async fn run(author: &mut Author, number: u128) {
    let row = session(number, author.id());
    author.refine(vec![row.clone()]).await;
    author.refine(vec![ended(row, State::Completed)]).await;
}

pub(super) async fn an_end_is_sent_to_the_receivers_of_its_time(store: Arc<dyn Store>) {
    let [early, late] = [digest(1), digest(2)];
    let mut author = Author::new(&store, 1, 1).await;
    run(&mut author, 1).await;
    register(&store, &[early], false).await;
    run(&mut author, 2).await;
    // One that is written once it has ended.
    let at_once = ended(session(3, author.id()), State::RolledBack);
    author.refine(vec![at_once.clone()]).await;
    register(&store, &[early, late], false).await;
    run(&mut author, 4).await;
    // What is noted of an end later is no other end.
    let noted = SessionRow {
        document: document(2, "undone"),
        ..at_once
    };
    author.refine(vec![noted]).await;
    assert_eq!(claim(&store, &early, 1_999, 9).await, []);
    let claimed = claim(&store, &early, 2_000, 9).await;
    assert_eq!(sessions(&claimed), [2, 3, 4].map(session_id));
    assert!(
        claimed
            .iter()
            .all(|claimed| (claimed.scope, claimed.attempt) == (author.scope(), 1))
    );
    let claimed = claim(&store, &late, 2_000, 9).await;
    assert_eq!(sessions(&claimed), [session_id(4)]);
    assert_eq!(claim(&store, &digest(3), 9_000, 9).await, []);
    assert_sound(&store).await;
}

pub(super) async fn sessions_that_come_with_an_agent_are_not_told(store: Arc<dyn Store>) {
    let receiver = digest(1);
    register(&store, &[receiver], false).await;
    Author::new(&store, 1, 1).await;
    let newcomer = Author::of_new(&store, agent(1, 2, "agent-2"));
    let commit = Commit {
        sessions: vec![ended(session(1, newcomer.id()), State::Completed)],
        ..newcomer.making()
    };
    store.commit(commit).await.unwrap();
    assert_eq!(claim(&store, &receiver, 9_000, 9).await, []);
}

pub(super) async fn of_claims_at_once_each_gets_others(store: Arc<dyn Store>) {
    let receiver = digest(1);
    register(&store, &[receiver], false).await;
    let mut author = Author::new(&store, 1, 1).await;
    for number in 1..=20 {
        run(&mut author, number).await;
    }
    let claiming = (0..8).map(|_| {
        let store = Arc::clone(&store);
        async move { claim(&store, &receiver, 2_000, 3).await }
    });
    let claimed = at_once(claiming).await.concat();
    let different: BTreeSet<SessionId> = sessions(&claimed).into_iter().collect();
    assert_eq!((claimed.len(), different.len()), (20, 20));
    assert_eq!(claim(&store, &receiver, 2_009, 9).await, []);
}

pub(super) async fn a_claim_that_lapsed_resolves_nothing(store: Arc<dyn Store>) {
    let receiver = digest(1);
    register(&store, &[receiver], false).await;
    let mut author = Author::new(&store, 1, 1).await;
    run(&mut author, 1).await;
    let resolve = async |delivery: &DeliveryRow, again_at| {
        let resolved = store.resolve_delivery(&receiver, delivery, again_at);
        resolved.await.unwrap()
    };
    let [first] = claim(&store, &receiver, 2_000, 9).await[..] else {
        panic!("one is due");
    };
    let [second] = claim(&store, &receiver, 2_010, 9).await[..] else {
        panic!("the claim has lapsed");
    };
    assert_eq!((first.attempt, second.attempt), (1, 2));
    assert!(!resolve(&first, None).await);
    assert!(!resolve(&first, Some(at(9_999))).await);
    assert!(resolve(&second, Some(at(2_500))).await);
    assert_eq!(claim(&store, &receiver, 2_499, 9).await, []);
    let [third] = claim(&store, &receiver, 2_500, 9).await[..] else {
        panic!("it is due again");
    };
    // A clock that was set back prevents no notification.
    assert!(resolve(&third, Some(at(500_000))).await);
    let [fourth] = claim(&store, &receiver, 2_600, 9).await[..] else {
        panic!("it was due too late");
    };
    assert_eq!((third.attempt, fourth.attempt), (3, 4));
    assert!(resolve(&fourth, None).await);
    assert!(!resolve(&fourth, None).await);
    assert_eq!(claim(&store, &receiver, 900_000, 9).await, []);
    assert_sound(&store).await;
}

pub(super) async fn nothing_is_sent_to_a_closed_or_forgotten_receiver(store: Arc<dyn Store>) {
    let [closed, forgotten] = [digest(1), digest(2)];
    register(&store, &[closed, forgotten], false).await;
    let mut author = Author::new(&store, 1, 1).await;
    run(&mut author, 1).await;
    store.close_receiver(&closed, at(5)).await.unwrap();
    run(&mut author, 2).await;
    // That it is still wanted does not open it; that it is wanted anew does.
    register(&store, &[closed], false).await;
    run(&mut author, 3).await;
    assert_eq!(claim(&store, &closed, 2_000, 9).await, []);
    register(&store, &[closed], true).await;
    run(&mut author, 4).await;
    let claimed = claim(&store, &closed, 2_000, 9).await;
    assert_eq!(sessions(&claimed), [session_id(4)]);
    // Noted last at second 0.
    store
        .register_receivers(&[closed], at(50), at(10), false)
        .await
        .unwrap();
    run(&mut author, 5).await;
    assert_eq!(claim(&store, &forgotten, 9_000, 9).await, []);
    let claimed = claim(&store, &closed, 2_000, 9).await;
    assert_eq!(sessions(&claimed), [session_id(5)]);
    assert_sound(&store).await;
}

//! Messages that wait to be read, and their leases.

use std::sync::Arc;

use memoir_domain::{AgentScope, Timestamp, absorption::MessageState};

use super::fixtures::*;
use crate::{
    AgentQuery, Commit, DueWork, Error, MessageOutcome, MessageRow, Result, Reviving, Store,
    TranscriptRow, Waiting,
};

fn message(number: u128, tokens: u64) -> MessageRow {
    MessageRow {
        seq: 0,
        digest: digest(number),
        tokens,
        received_at: at(5),
        counted_bytes: 0,
        state: MessageState::Pending,
        body: text(&format!("message {number}")),
    }
}

fn absorbed(seq: u64) -> MessageOutcome {
    MessageOutcome {
        seq,
        tokens: 0,
        state: MessageState::Absorbed,
        words_until: None,
    }
}

fn failed(seq: u64) -> MessageOutcome {
    MessageOutcome {
        state: MessageState::Failed,
        ..absorbed(seq)
    }
}

/// The first two messages are read, the second in vain.
async fn read_first_two(author: &mut Author) {
    let read = vec![absorbed(1), failed(2)];
    author.change(|commit| commit.messages = read).await;
}

/// A decision on the agent as it is stored.
async fn deciding(store: &Arc<dyn Store>, scope: AgentScope) -> Commit {
    let agent = store.snapshot(scope, &AgentQuery::default()).await;
    Author::of_new(store, agent.unwrap().unwrap().agent).commit()
}

/// Lets messages wait as a caller does: those that the agent has had are left out, and after a conflict it is decided
/// again. How many.
async fn add_messages(
    store: &Arc<dyn Store>,
    scope: AgentScope,
    messages: &[MessageRow],
    due_at: Timestamp,
) -> u64 {
    loop {
        let commit = deciding(store, scope).await;
        let digests: Vec<[u8; 32]> = messages.iter().map(|row| row.digest).collect();
        let known = store.known_messages(scope, &digests).await.unwrap();
        let is_new = |row: &&MessageRow| !known.contains(&row.digest);
        let new: Vec<MessageRow> = messages.iter().filter(is_new).cloned().collect();
        let count = new.len() as u64;
        let commit = Commit {
            waiting: Some((Waiting::New(new), due_at)),
            ..commit
        };
        match store.commit(commit).await {
            Err(Error::Conflict) => {}
            done => {
                done.unwrap();
                return count;
            }
        }
    }
}

/// Lets so many messages wait again.
async fn revive(
    store: &Arc<dyn Store>,
    scope: AgentScope,
    (which, count): (Reviving, u64),
    due_at: Timestamp,
) -> Result<()> {
    let again = Waiting::Again {
        which,
        count,
        tokens: 0,
    };
    let commit = Commit {
        waiting: Some((again, due_at)),
        ..deciding(store, scope).await
    };
    store.commit(commit).await
}

async fn pending(store: &Arc<dyn Store>, author: &Author, tokens: u64) -> Vec<u64> {
    let rows = store.pending_messages(author.scope(), tokens).await;
    rows.unwrap().iter().map(|row| row.seq).collect()
}

pub(super) async fn spec_2_6_a_message_is_entered_once(store: Arc<dyn Store>) {
    let author = Author::new(&store, 1, 1).await;
    let other = Author::new(&store, 1, 2).await;
    let add = async |author: &Author, messages: &[MessageRow]| {
        add_messages(&store, author.scope(), messages, at(10)).await
    };
    assert_eq!(add(&author, &[message(1, 4), message(2, 4)]).await, 2);
    // One that is known, or comes twice, is a conflict, and none of the decision is written.
    for twice in [
        [message(2, 4), message(3, 4)],
        [message(3, 4), message(3, 9)],
    ] {
        let commit = Commit {
            waiting: Some((Waiting::New(twice.to_vec()), at(10))),
            ..deciding(&store, author.scope()).await
        };
        assert_conflict(&store.commit(commit).await);
        assert_eq!(pending(&store, &author, 1_000).await, [1, 2]);
    }
    assert_eq!(add(&author, &[message(2, 4), message(3, 4)]).await, 1);
    assert_eq!(add(&other, &[message(1, 4)]).await, 1);
    let rows = store.pending_messages(author.scope(), 1_000).await.unwrap();
    let expected = [1, 2, 3].map(|number| MessageRow {
        seq: number,
        ..message(number.into(), 4)
    });
    assert_eq!(rows, expected);
    // Read, it stays known.
    let mut author = author;
    author.follow().await;
    read_first_two(&mut author).await;
    assert_eq!(add(&author, &[message(1, 4), message(2, 4)]).await, 0);
    assert_eq!(pending(&store, &author, 1_000).await, [3]);
    let transcript = store.transcript(author.scope()).await.unwrap();
    let counts = (transcript.pending, transcript.absorbed, transcript.failed);
    assert_eq!(counts, (1, 1, 1));
    assert_eq!(transcript.pending_tokens, 4);
    let state = author.look(AgentQuery::default().with_transcript()).await;
    assert_eq!(state.transcript, Some(transcript));
    let stranger = scope(2, 1);
    let known = store.known_messages(stranger, &[digest(1)]).await;
    assert_eq!(known.unwrap(), [[0; 32]; 0]);
    let mut commit = author.commit();
    commit.agent.scope = stranger;
    commit.waiting = Some((Waiting::New(vec![message(9, 4)]), at(10)));
    assert!(store.commit(commit).await.is_err());
    assert_eq!(store.pending_messages(stranger, 9).await.unwrap(), []);
    let transcript = store.transcript(stranger).await.unwrap();
    assert_eq!(transcript, TranscriptRow::default());
    assert_sound(&store).await;
}

pub(super) async fn spec_2_6_messages_come_in_order_as_many_as_fit(store: Arc<dyn Store>) {
    let author = Author::new(&store, 1, 1).await;
    let messages = [message(1, 60), message(2, 30), message(3, 20)];
    add_messages(&store, author.scope(), &messages, at(10)).await;
    assert_eq!(pending(&store, &author, 90).await, [1, 2]);
    assert_eq!(pending(&store, &author, 110).await, [1, 2, 3]);
    // One that does not fit comes alone.
    assert_eq!(pending(&store, &author, 10).await, [1]);
}

pub(super) async fn spec_2_6_messages_that_come_at_once_are_numbered_and_none_is_overlooked(
    store: Arc<dyn Store>,
) {
    let author = Author::new(&store, 1, 1).await;
    let scope = author.scope();
    let adding = (0..8).map(|number| {
        let store = store.clone();
        async move {
            let messages = [message(2 * number, 1), message(2 * number + 1, 1)];
            add_messages(&store, scope, &messages, at(10)).await
        }
    });
    assert_eq!(at_once(adding).await.into_iter().sum::<u64>(), 16);
    let expected: Vec<_> = (1..=16).collect();
    assert_eq!(pending(&store, &author, 100).await, expected);
    // One that comes just as a lease ends waits too, whichever is first.
    let mut author = author;
    for number in 100..120 {
        let waiting = pending(&store, &author, 100).await;
        let read = waiting.into_iter().map(absorbed);
        author.follow().await;
        let commit = Commit {
            messages: read.collect(),
            ..author.commit()
        };
        let claim = store.claim_transcript(scope, None, at(100)).await.unwrap();
        author.write(commit).await.unwrap();
        let new = [message(number, 1)];
        let (resolved, added) = tokio::join!(
            store.resolve_transcript(scope, claim.unwrap(), at(20), 0),
            add_messages(&store, scope, &new, at(20)),
        );
        resolved.unwrap();
        assert_eq!(added, 1);
        let found = store.transcript(scope).await.unwrap();
        assert_eq!((found.pending, found.due_at), (1, Some(at(20))));
    }
    assert_sound(&store).await;
}

pub(super) async fn spec_2_6_no_message_is_read_twice(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    add_messages(&store, author.scope(), &[message(1, 4)], at(10)).await;
    author.follow().await;
    let absorbing = |author: &Author| Commit {
        messages: vec![absorbed(1)],
        ..author.saving(vec![memory(1)])
    };
    let commit = absorbing(&author);
    author.write(commit).await.unwrap();
    let before = author.everything().await;
    let again = Commit {
        messages: vec![absorbed(1)],
        ..author.saving(vec![memory(2)])
    };
    assert!(matches!(author.write(again).await, Err(Error::Conflict)));
    assert_eq!(author.everything().await, before);
}

pub(super) async fn spec_2_6_what_is_due_is_claimed_by_one(store: Arc<dyn Store>) {
    let author = Author::new(&store, 1, 1).await;
    let scope = author.scope();
    let due = async |second| {
        store
            .due_work(DueWork::Messages(at(second)), None, 9)
            .await
            .unwrap()
    };
    let claim = async |now, until| {
        let claimed = store.claim_transcript(scope, Some(at(now)), at(until));
        claimed.await.unwrap()
    };
    assert_eq!(claim(50, 60).await, None);
    let seized = store.claim_transcript(scope, None, at(60)).await;
    assert_eq!(seized.unwrap(), None, "none waits");
    add_messages(&store, scope, &[message(1, 4)], at(10)).await;
    assert_eq!((due(9).await, due(10).await), (vec![], vec![scope]));
    assert_eq!(claim(9, 60).await, None);
    let first = claim(10, 60).await.unwrap();
    assert_eq!(claim(11, 61).await, None);
    // Further messages do not end the lease.
    add_messages(&store, scope, &[message(2, 4)], at(20)).await;
    store.hurry_messages(scope, at(20)).await.unwrap();
    assert_eq!(due(59).await, []);
    // Another process follows one that died.
    let second = claim(60, 90).await.unwrap();
    assert_ne!(first, second);
    let extend = async |claim, until| {
        let extended = store.extend_transcript(scope, claim, at(until));
        extended.await.unwrap()
    };
    assert!(extend(second, 95).await);
    assert_eq!(claim(94, 99).await, None);
    // A process that counted as dead changes nothing any more.
    assert!(!extend(first, 999).await);
    store
        .resolve_transcript(scope, first, at(1), 9)
        .await
        .unwrap();
    assert_eq!(claim(94, 99).await, None);
    // A caller that need not wait ends a valid lease.
    let third = store.claim_transcript(scope, None, at(95)).await.unwrap();
    let third = third.unwrap();
    assert!(!extend(second, 999).await);
    store
        .resolve_transcript(scope, third, at(70), 2)
        .await
        .unwrap();
    assert!(!extend(third, 999).await, "it was ended");
    let transcript = store.transcript(scope).await.unwrap();
    assert_eq!((transcript.due_at, transcript.failures), (Some(at(70)), 2));
    // In a hurry it does not wait.
    for due_at in [65, 68] {
        store.hurry_messages(scope, at(due_at)).await.unwrap();
    }
    assert_eq!(due(65).await, [scope]);
    // None is left.
    let last = claim(70, 99).await.unwrap();
    let mut author = author;
    author.follow().await;
    read_first_two(&mut author).await;
    store
        .resolve_transcript(scope, last, at(70), 0)
        .await
        .unwrap();
    assert_eq!(store.transcript(scope).await.unwrap().due_at, None);
    let failed = (Reviving::Failed, 1);
    revive(&store, scope, failed, at(80)).await.unwrap();
    let again = revive(&store, scope, failed, at(90)).await;
    assert!(matches!(again, Err(Error::Conflict)), "none is left");
    assert_eq!(due(80).await, [scope]);
    let elsewhere = store
        .due_work(DueWork::Messages(at(80)), Some(account_id(2)), 9)
        .await;
    assert_eq!(elsewhere.unwrap(), []);
}

pub(super) async fn spec_2_6_absorbed_words_are_kept_until_a_time(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let scope = author.scope();
    let messages = [message(1, 4), message(2, 4), message(3, 4)];
    add_messages(&store, scope, &messages, at(10)).await;
    author.follow().await;
    let whole = store.pending_messages(scope, 1_000).await.unwrap();
    let keeping = |seq, until| MessageOutcome {
        words_until: Some(at(until)),
        ..absorbed(seq)
    };
    author
        .change(|commit| commit.messages = vec![keeping(1, 50), keeping(2, 60), absorbed(3)])
        .await;
    let kept = async || {
        let row = store.transcript(scope).await.unwrap();
        let tokens = row.kept_tokens;
        assert_eq!(tokens, 4 * row.kept);
        (row.pending, row.absorbed, row.kept, row.kept_until)
    };
    assert_eq!(kept().await, (0, 3, 2, Some(at(60))));
    store.forget_words(at(49)).await.unwrap();
    assert_eq!(kept().await, (0, 3, 2, Some(at(60))));
    store.forget_words(at(50)).await.unwrap();
    assert_eq!(kept().await, (0, 3, 1, Some(at(60))));
    let both = revive(&store, scope, (Reviving::Absorbed, 2), at(55)).await;
    assert!(matches!(both, Err(Error::Conflict)), "one is forgotten");
    let one = revive(&store, scope, (Reviving::Absorbed, 1), at(55)).await;
    one.unwrap();
    assert_eq!(kept().await, (1, 2, 0, None));
    let pending = store.pending_messages(scope, 1_000).await.unwrap();
    assert_eq!(pending, whole[1..2]);
    let due = store
        .due_work(DueWork::Messages(at(55)), None, 9)
        .await
        .unwrap();
    assert_eq!(due, [scope]);
    // They are known as before.
    assert_eq!(add_messages(&store, scope, &messages, at(70)).await, 0);
    assert_sound(&store).await;
}

pub(super) async fn spec_5_4_an_erased_agents_messages_are_gone(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let scope = author.scope();
    let messages = [message(1, 4), message(2, 4)];
    add_messages(&store, scope, &messages, at(10)).await;
    author.follow().await;
    author.erase().await;
    let state = store.transcript(scope).await.unwrap();
    assert_eq!(state, TranscriptRow::default());
    let due = store
        .due_work(DueWork::Messages(at(99)), None, 9)
        .await
        .unwrap();
    assert_eq!(due, []);
    // Not even a decision that was made before leaves one.
    add_messages(&store, scope, &messages, at(30)).await;
    let state = store.transcript(scope).await.unwrap();
    assert_eq!(state, TranscriptRow::default());
}

pub(super) async fn spec_6_1_bytes_that_an_agent_hands_over_count_by_their_time(
    store: Arc<dyn Store>,
) {
    let author = Author::new(&store, 1, 1).await;
    let other = Author::new(&store, 1, 2).await;
    for (author, number) in [(&author, 1), (&other, 3)] {
        let counted = MessageRow {
            counted_bytes: 50,
            ..message(number, 4)
        };
        let messages = [counted, message(number + 1, 6)];
        add_messages(&store, author.scope(), &messages, at(10)).await;
    }
    let scope = author.scope();
    for (agent, since, expected) in [
        (Some(scope.agent), 4, (50, 2, 10)),
        (Some(scope.agent), 5, (0, 2, 10)),
        (None, 4, (100, 4, 20)),
    ] {
        let usage = store.usage(scope.account, agent, at(since)).await.unwrap();
        let waiting = usage.waiting;
        let found = (usage.handed_bytes, waiting.count, waiting.tokens);
        assert_eq!(found, expected);
    }
    let waiting = store.waiting_messages(scope.account).await.unwrap();
    assert_eq!((waiting.count, waiting.tokens), (4, 20));
    let none = store.waiting_messages(account_id(2)).await.unwrap();
    assert_eq!((none.count, none.tokens), (0, 0));
}

pub(super) async fn spec_2_5_reflections_are_due_after_a_slot(store: Arc<dyn Store>) {
    let mut scopes = Vec::new();
    for (number, reflect_after) in [(1, Some(10)), (2, None), (3, Some(5))] {
        let mut author = Author::new(&store, 1, number).await;
        author
            .change(|commit| commit.agent.columns.prospect.reflect_after = reflect_after.map(at))
            .await;
        scopes.push(author.scope());
    }
    let due = async |slot, limit| {
        store
            .due_work(DueWork::Reflection(at(slot)), None, limit)
            .await
            .unwrap()
    };
    assert_eq!(due(5, 9).await, []);
    assert_eq!(due(6, 9).await, [scopes[2]]);
    assert_eq!(due(11, 9).await, [scopes[2], scopes[0]]);
    assert_eq!(due(11, 1).await, [scopes[2]]);
    let elsewhere = store
        .due_work(DueWork::Reflection(at(11)), Some(account_id(2)), 9)
        .await;
    assert_eq!(elsewhere.unwrap(), []);
}

//! Tokens and users (SPEC 5.5).

use std::sync::Arc;

use memoir_domain::{AgentScope, Timestamp, audit::Action};

use super::fixtures::*;
use crate::{
    AgentQuery, Commit, Error, RecordFilter, RecordOrder, Store, TokenColumns, TokenRow, UserRow,
};

pub(super) async fn spec_5_5_every_field_of_a_token_is_kept(store: Arc<dyn Store>) {
    let author = Author::new(&store, 1, 1).await;
    Author::new(&store, 2, 2).await;
    let full = TokenRow {
        agent: Some(author.id()),
        last_used_at: Some(at(-1)),
        columns: TokenColumns {
            digest: [0xFF; 32],
            created_at: Timestamp::MIN,
            revoked_at: Some(at(7)),
        },
        document: document(u64::from(u32::MAX), "full"),
        ..token(1, 3)
    };
    // Oldest first, and of one instant by identifier; not in the order in which they were written.
    let tokens = [
        full,
        token(1, 1),
        token(1, 2),
        with(token(1, 4), |row| row.columns.created_at = at(2)),
    ];
    for written in [3, 1, 0, 2] {
        store.put_token(&tokens[written]).await.unwrap();
    }
    let elsewhere = token(2, 5);
    store.put_token(&elsewhere).await.unwrap();
    for token in tokens.iter().chain([&elsewhere]) {
        let found = store.token(&token.columns.digest).await.unwrap();
        assert_eq!(found.as_ref(), Some(token));
        let bearer = store.bearer(&token.columns.digest).await.unwrap().unwrap();
        assert_eq!(&bearer.0, token);
        assert_eq!(bearer.1.is_some(), token.agent.is_some());
    }
    assert_eq!(store.token(&digest(99)).await.unwrap(), None);
    assert_eq!(store.tokens(account_id(1)).await.unwrap(), tokens);
    assert_eq!(store.tokens(account_id(2)).await.unwrap(), [elsewhere]);
    assert_eq!(store.tokens(account_id(3)).await.unwrap(), []);
    let own = store.agent_tokens(author.agent.scope).await.unwrap();
    assert_eq!(own, tokens[..1]);
    let foreign = AgentScope {
        account: account_id(2),
        ..author.agent.scope
    };
    assert_eq!(store.agent_tokens(foreign).await.unwrap(), []);

    // Of a missing account, of a missing agent, and of another account's agent.
    for stranger in [
        token(3, 6),
        with(token(1, 6), |row| row.agent = Some(agent_id(9))),
        with(token(1, 6), |row| row.agent = Some(agent_id(2))),
    ] {
        assert_inconsistent(&store.put_token(&stranger).await, "tokens");
    }
    assert_eq!(store.token(&digest(6)).await.unwrap(), None);
    assert_sound(&store).await;
}

pub(super) async fn spec_5_5_a_commit_writes_tokens_of_its_agent_only(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    Author::new(&store, 1, 2).await;
    Author::new(&store, 2, 3).await;
    let id = author.id();
    let theirs = |number| with(token(1, number), |row| row.agent = Some(id));
    let made = vec![theirs(1), theirs(2)];
    let commit = Commit {
        tokens: made.clone(),
        ..author.saving(vec![memory(1)])
    };
    author.write(commit).await.unwrap();
    assert_eq!(store.tokens(account_id(1)).await.unwrap(), made);

    let before = author.everything().await;
    for stranger in [
        token(1, 3),
        with(token(1, 3), |row| row.agent = Some(agent_id(2))),
        with(theirs(3), |row| row.account = account_id(2)),
        // One that exists already, of another agent.
        with(theirs(3), |row| row.columns.digest = digest(2)),
    ] {
        let commit = Commit {
            tokens: vec![theirs(4), stranger],
            ..author.saving(vec![memory(2)])
        };
        assert_inconsistent(&store.commit(commit).await, "tokens");
        assert_eq!(author.everything().await, before);
        assert_eq!(store.tokens(account_id(1)).await.unwrap(), made);
    }

    // One is replaced by another, in one decision.
    let revoked = with(theirs(1), |row| {
        row.document = document(2, "revoked");
        row.columns.revoked_at = Some(at(5));
    });
    let written = vec![revoked.clone(), theirs(5)];
    author.change(|commit| commit.tokens = written).await;
    let expected = [revoked, made[1].clone(), theirs(5)];
    assert_eq!(store.tokens(account_id(1)).await.unwrap(), expected);

    // An agent can be made with one.
    let new = Author::of_new(&store, agent(1, 6, "new"));
    let first = with(token(1, 6), |row| row.agent = Some(agent_id(6)));
    let commit = Commit {
        tokens: vec![first.clone()],
        ..new.making()
    };
    store.commit(commit).await.unwrap();
    let found = store.token(&first.columns.digest).await.unwrap();
    assert_eq!(found, Some(first));
    assert_sound(&store).await;
}

pub(super) async fn spec_5_5_a_secret_has_one_token(store: Arc<dyn Store>) {
    Author::new(&store, 1, 1).await;
    Author::new(&store, 2, 2).await;
    let first = token(1, 1);
    store.put_token(&first).await.unwrap();
    store.put_token(&token(1, 2)).await.unwrap();
    for account in [1, 2] {
        let twin = token(account, 3);
        let twin = with(twin, |row| row.columns.digest = first.columns.digest);
        assert_inconsistent(&store.put_token(&twin).await, "tokens");
    }
    // Nor does one that is there take another's.
    let twin = with(token(1, 2), |row| {
        row.document = document(2, "twin");
        row.columns.digest = first.columns.digest;
    });
    assert_conflict(&store.put_token(&twin).await);
    let tokens = store.tokens(account_id(1)).await.unwrap();
    assert_eq!(tokens, [first, token(1, 2)]);
    assert_eq!(store.tokens(account_id(2)).await.unwrap(), []);
    assert_sound(&store).await;
}

pub(super) async fn spec_5_5_a_revoked_token_stays_revoked(store: Arc<dyn Store>) {
    let author = Author::new(&store, 1, 1).await;
    Author::new(&store, 2, 2).await;
    let made = token(1, 1);
    store.put_token(&made).await.unwrap();
    let revoked = with(made.clone(), |row| {
        row.document = document(2, "revoked");
        row.columns.revoked_at = Some(at(9));
    });
    store.put_token(&revoked).await.unwrap();
    let later = |row: &TokenRow| with(row.clone(), |row| row.document = document(3, "later"));
    // As it was, and with something else of it changed.
    for change in [
        made.clone(),
        later(&made),
        with(later(&revoked), |row| row.account = account_id(2)),
        with(later(&revoked), |row| row.agent = Some(author.id())),
        with(later(&revoked), |row| row.columns.digest = digest(2)),
        with(later(&revoked), |row| row.columns.created_at = at(2)),
    ] {
        assert_conflict(&store.put_token(&change).await);
    }
    let found = store.token(&made.columns.digest).await.unwrap();
    assert_eq!(found.as_ref(), Some(&revoked));
    assert_eq!(store.tokens(account_id(1)).await.unwrap(), [revoked]);
    assert_eq!(store.tokens(account_id(2)).await.unwrap(), []);
    assert_sound(&store).await;
}

pub(super) async fn spec_5_5_a_token_is_written_over_an_earlier_version_only(
    store: Arc<dyn Store>,
) {
    let mut author = Author::new(&store, 1, 1).await;
    let version = |version, words: &str| TokenRow {
        agent: Some(author.id()),
        document: document(version, words),
        ..token(1, 1)
    };
    let (made, one, other) = (version(1, "made"), version(2, "one"), version(2, "other"));
    store.put_token(&made).await.unwrap();
    store.put_token(&one).await.unwrap();
    // Of two that were decided on the same row, one is written, by whichever way.
    for late in [&made, &one, &other] {
        assert_conflict(&store.put_token(late).await);
        let commit = Commit {
            tokens: vec![late.clone()],
            ..author.commit()
        };
        assert_conflict(&store.commit(commit).await);
    }
    let digest = made.columns.digest;
    assert_eq!(store.token(&digest).await.unwrap(), Some(one));
    let last = version(4, "last");
    let tokens = vec![last.clone()];
    author.change(|commit| commit.tokens = tokens).await;
    assert_eq!(store.token(&digest).await.unwrap(), Some(last));
    assert_sound(&store).await;
}

pub(super) async fn spec_5_5_uses_never_go_back(store: Arc<dyn Store>) {
    Author::new(&store, 1, 1).await;
    for number in [1, 2, 3] {
        store.put_token(&token(1, number)).await.unwrap();
    }
    let used = async |number| {
        let found = store.token(&digest(number)).await.unwrap();
        found.unwrap().last_used_at
    };
    store.note_uses(&[]).await.unwrap();
    // One of them is used twice, and one does not exist.
    let uses = [
        (token_id(1), at(30)),
        (token_id(9), at(30)),
        (token_id(2), at(20)),
        (token_id(1), at(10)),
    ];
    store.note_uses(&uses).await.unwrap();
    for (number, expected) in [(1, Some(30)), (2, Some(20)), (3, None)] {
        assert_eq!(used(number).await, expected.map(at));
    }
    let uses = [(token_id(1), at(29)), (token_id(2), at(21))];
    store.note_uses(&uses).await.unwrap();
    assert_eq!(used(1).await, Some(at(30)));
    assert_eq!(used(2).await, Some(at(21)));

    // A row that was read before a use was noted does not take it back; a later one is written.
    let rows = [(2, None, 30), (3, Some(at(5)), 30), (4, Some(at(31)), 31)];
    for (version, last_used_at, expected) in rows {
        let row = with(token(1, 1), |row| {
            row.last_used_at = last_used_at;
            row.document = document(version, "revoked");
            row.columns.revoked_at = Some(at(40));
        });
        store.put_token(&row).await.unwrap();
        assert_eq!(used(1).await, Some(at(expected)));
    }
    assert_eq!(store.token(&digest(9)).await.unwrap(), None);
    assert_sound(&store).await;
}

pub(super) async fn spec_5_5_users_have_a_name_of_their_own_in_an_account(store: Arc<dyn Store>) {
    Author::new(&store, 1, 1).await;
    Author::new(&store, 2, 2).await;
    assert!(!store.has_users().await.unwrap());
    let ada = user(1, 1, "Ada");
    store.create_user(&ada, false, None).await.unwrap();
    assert!(store.has_users().await.unwrap());
    for name in ["Ada", "ADA", "ada"] {
        let answer = store.create_user(&user(1, 2, name), false, None).await;
        assert!(matches!(answer, Err(Error::NameTaken)), "{answer:?}");
    }
    let namesake = user(2, 3, "ADA");
    store.create_user(&namesake, false, None).await.unwrap();
    let grace = user(1, 4, "Grüße 名前 🦊");
    store.create_user(&grace, false, None).await.unwrap();
    for (account, row) in [(1, &ada), (2, &namesake), (1, &grace)] {
        let found = store.user_named(account_id(account), &row.columns.folded_name);
        assert_eq!(found.await.unwrap().as_ref(), Some(row));
        let found = store.user(account_id(account), row.id).await.unwrap();
        assert_eq!(found.as_ref(), Some(row));
        let elsewhere = store.user(account_id(3 - account), row.id).await.unwrap();
        assert_eq!(elsewhere, None);
    }
    let elsewhere = (2, grace.columns.folded_name.as_str());
    for (account, name) in [elsewhere, (3, "ada"), (1, "Ada")] {
        let found = store.user_named(account_id(account), name).await.unwrap();
        assert_eq!(found, None);
    }
    assert_inconsistent(
        &store.create_user(&user(3, 5, "nemo"), false, None).await,
        "users",
    );
    // The identifier of another one.
    assert_conflict(&store.create_user(&user(1, 1, "other"), false, None).await);
    assert_sound(&store).await;
}

pub(super) async fn spec_5_5_of_first_users_at_once_exactly_one_is_made(store: Arc<dyn Store>) {
    Author::new(&store, 1, 1).await;
    Author::new(&store, 2, 2).await;
    let making = (1..=8).map(|number| {
        let store = store.clone();
        async move {
            let first = user(1 + number % 2, number, &format!("user {number}"));
            store.create_user(&first, true, None).await.unwrap()
        }
    });
    let made = at_once(making).await;
    assert_eq!(made.into_iter().filter(|is_made| *is_made).count(), 1);
    let users = [account_id(1), account_id(2)].map(|account| store.users(account));
    let mut found = 0;
    for users in users {
        found += users.await.unwrap().len();
    }
    assert_eq!(found, 1);
    // Nor beside one that was made otherwise.
    let grace = user(1, 20, "Grace");
    store.create_user(&grace, false, None).await.unwrap();
    let late = store.create_user(&user(2, 21, "late"), true, None).await;
    assert!(!late.unwrap());
    assert_sound(&store).await;
}

pub(super) async fn spec_5_5_a_user_is_written_over_the_version_before_it_only(
    store: Arc<dyn Store>,
) {
    Author::new(&store, 1, 1).await;
    Author::new(&store, 2, 2).await;
    let ada = user(1, 1, "Ada");
    store.create_user(&ada, false, None).await.unwrap();
    store
        .create_user(&user(1, 2, "Grace"), false, None)
        .await
        .unwrap();
    let at_version =
        |version, row: &UserRow| with(row.clone(), |row| row.document.version = version);
    let next = with(ada.clone(), |row| {
        row.document = document(2, "another hash")
    });
    assert!(store.put_user(&next, None).await.unwrap());
    let found = store.user(ada.account, ada.id).await.unwrap();
    assert_eq!(found.as_ref(), Some(&next));
    for stranger in [
        next.clone(),
        at_version(4, &next),
        with(at_version(3, &next), |row| row.account = account_id(2)),
        user(1, 9, "nemo"),
    ] {
        assert_conflict(&store.put_user(&stranger, None).await);
    }
    // Of concurrent writers of the same version, one succeeds.
    let writing = (0..8_u64).map(|number| {
        let written = document(3, &number.to_string());
        let row = with(next.clone(), |row| row.document = written);
        let store = store.clone();
        async move { store.put_user(&row, None).await.is_ok() }
    });
    let written = at_once(writing).await;
    assert_eq!(written.into_iter().filter(|is_ok| *is_ok).count(), 1);
    let users = store.users(account_id(1)).await.unwrap();
    let names = users.iter().map(|user| user.columns.folded_name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["ada", "grace"]);
    assert_sound(&store).await;
}

pub(super) async fn spec_5_5_a_removed_user_is_gone_and_one_always_stays(store: Arc<dyn Store>) {
    Author::new(&store, 1, 1).await;
    Author::new(&store, 2, 2).await;
    let removed = |row: &UserRow| {
        let mut row = row.clone();
        row.columns.removed_at = Some(at(50));
        row.document = document(row.document.version + 1, "removed");
        row
    };
    let (ada, grace) = (user(1, 1, "Ada"), user(2, 2, "Grace"));
    store.create_user(&ada, false, None).await.unwrap();
    assert!(!store.put_user(&removed(&ada), None).await.unwrap());
    store.create_user(&grace, false, None).await.unwrap();
    assert!(store.put_user(&removed(&ada), None).await.unwrap());
    assert!(store.has_users().await.unwrap());
    assert!(!store.put_user(&removed(&grace), None).await.unwrap());
    let found = store.user(ada.account, ada.id).await.unwrap();
    assert_eq!(found, Some(removed(&ada)));
    let named = store.user_named(ada.account, "ada").await.unwrap();
    assert_eq!(named, None);
    assert_eq!(store.users(ada.account).await.unwrap(), []);
    // A removed user does not return, but the name is free.
    let again = with(ada.clone(), |row| row.document = document(3, "Ada"));
    assert_conflict(&store.put_user(&again, None).await);
    store
        .create_user(&user(1, 3, "ADA"), false, None)
        .await
        .unwrap();
    // Of two that are the last, one remains.
    let kept = store.users(account_id(1)).await.unwrap().remove(0);
    let (kept, grace) = (removed(&kept), removed(&grace));
    let (one, other) = tokio::join!(store.put_user(&kept, None), store.put_user(&grace, None));
    assert_eq!(u32::from(one.unwrap()) + u32::from(other.unwrap()), 1);
    assert!(store.has_users().await.unwrap());
    assert_sound(&store).await;
}

pub(super) async fn spec_5_5_a_user_is_written_with_its_record_or_not_at_all(
    store: Arc<dyn Store>,
) {
    let mut author = Author::new(&store, 1, 1).await;
    let before = author.version().await;
    let commit = |author: &Author| Some(author.recording(vec![record(Action::UserCreated)]));
    let ada = user(1, 1, "Ada");
    store
        .create_user(&ada, false, commit(&author))
        .await
        .unwrap();
    assert_eq!(author.version().await, before + 1);
    // Decided on what is no more: neither is written.
    assert_conflict(
        &store
            .create_user(&user(1, 2, "Bea"), false, commit(&author))
            .await,
    );
    // Nor where the user is refused.
    author.agent = author.stored().await;
    let taken = store
        .create_user(&user(1, 3, "ADA"), false, commit(&author))
        .await;
    assert!(matches!(taken, Err(Error::NameTaken)), "{taken:?}");
    let cleo = user(1, 4, "Cleo");
    let is_made = store.create_user(&cleo, true, commit(&author)).await;
    assert!(!is_made.unwrap());
    let mut removed = ada.clone();
    removed.columns.removed_at = Some(at(50));
    removed.document = document(2, "removed");
    assert!(!store.put_user(&removed, commit(&author)).await.unwrap());
    assert_eq!(store.users(account_id(1)).await.unwrap(), [ada]);
    assert_eq!(author.version().await, before + 1);
    assert_sound(&store).await;
}

pub(super) async fn spec_5_5_an_accounts_own_log_is_no_agent(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let scope = AgentScope::of_account(account_id(1));
    let mut own = author.agent.clone();
    own.scope = scope;
    own.columns.name = String::new();
    own.columns.folded_name = String::new();
    let agent = std::mem::replace(&mut author.agent, own);
    store.commit(author.making()).await.unwrap();
    // An account's own log has no tokens of agents.
    author.agent.document.version = 1;
    let with_token = |token: TokenRow| Commit {
        tokens: vec![token],
        ..author.commit()
    };
    let strange = with(token(1, 1), |row| row.agent = Some(agent.scope.agent));
    assert_inconsistent(&store.commit(with_token(strange)).await, "tokens");
    store.commit(with_token(token(1, 2))).await.unwrap();
    assert_eq!(store.tokens(account_id(1)).await.unwrap(), [token(1, 2)]);
    // It is reached by its scope, and listed nowhere.
    let found = store.snapshot(scope, &AgentQuery::default()).await;
    assert!(found.unwrap().is_some());
    let scopes = store.scopes().await.unwrap();
    assert!(scopes.contains(&scope) && scopes.len() == 2, "{scopes:?}");
    assert_eq!(store.agents(account_id(1)).await.unwrap().len(), 1);
    let page = store.agent_page(account_id(1), None, 9).await.unwrap();
    assert_eq!(page.len(), 1);
    assert_eq!(store.agent_named(account_id(1), "").await.unwrap(), None);
    assert_eq!(store.load().await.unwrap().agents, 1);
    let any = RecordFilter::default();
    let records = store
        .fleet_records(account_id(1), &any, RecordOrder::OldestFirst, None, 9)
        .await;
    assert_eq!(records.unwrap().len(), 0);
    assert_sound(&store).await;
}

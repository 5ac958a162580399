//! Access requests (SPEC 5.2).

use std::sync::Arc;

use memoir_domain::{AccessRequestId, AgentScope, Timestamp, access::AccessState};

use super::fixtures::*;
use crate::{AccessColumns, AccessRow, AgentQuery, Commit, OpenAccess, Result, Store};

fn request_id(number: u128) -> AccessRequestId {
    AccessRequestId::from_bytes(number.to_be_bytes())
}

fn in_state(row: &AccessRow, state: AccessState) -> AccessRow {
    with(row.clone(), |row| row.columns.state = state)
}

async fn write(author: &mut Author, rows: &[AccessRow]) -> Result<()> {
    let commit = Commit {
        access: rows.to_vec(),
        ..author.commit()
    };
    author.write(commit).await
}

async fn found(store: &Arc<dyn Store>, author: &Author, number: u128) -> Option<AccessRow> {
    let row = store.access_request(author.scope(), request_id(number));
    row.await.unwrap()
}

async fn page(
    store: &Arc<dyn Store>,
    scope: AgentScope,
    before: Option<&AccessRow>,
    limit: u32,
) -> Vec<AccessRow> {
    let before = before.map(|row| (row.columns.requested_at, row.id));
    store.access_page(scope, before, limit).await.unwrap()
}

async fn enter(author: &mut Author, row: &AccessRow) {
    write(author, std::slice::from_ref(row)).await.unwrap();
}

#[track_caller]
fn assert_refused(answer: &Result<()>) {
    assert_inconsistent(answer, "access_requests");
}

pub(super) async fn spec_5_2_every_field_of_a_request_is_kept(store: Arc<dyn Store>) {
    // This is the largest number that a signed column holds.
    const LARGEST: u64 = i64::MAX as u64;
    let mut author = Author::new(&store, 1, 1).await;
    let full = AccessRow {
        columns: AccessColumns {
            state: AccessState::Granted,
            requested_at: Timestamp::MIN,
            expires_at: Timestamp::MAX,
        },
        document: document(LARGEST, "full"),
        ..request(1, author.id())
    };
    let rows = [full, request(2, author.id())];
    write(&mut author, &rows).await.unwrap();
    for (number, row) in (1..).zip(&rows) {
        assert_eq!(found(&store, &author, number).await.as_ref(), Some(row));
    }
    assert_eq!(found(&store, &author, 3).await, None);
    assert_sound(&store).await;
}

pub(super) async fn spec_5_2_who_is_asked_when_stays_and_what_is_over_stays_over(
    store: Arc<dyn Store>,
) {
    let mut author = Author::new(&store, 1, 1).await;
    let mut other = Author::new(&store, 1, 2).await;
    let first = request(1, author.id());
    enter(&mut author, &first).await;
    let granted = AccessRow {
        columns: AccessColumns {
            state: AccessState::Granted,
            expires_at: at(50),
            ..first.columns
        },
        document: document(3, "purpose and reason"),
        ..first.clone()
    };
    enter(&mut author, &granted).await;
    assert_eq!(found(&store, &author, 1).await, Some(granted.clone()));
    for changed in [
        with(granted.clone(), |row| row.columns.requested_at = at(2)),
        with(granted.clone(), |row| row.agent = other.id()),
    ] {
        assert_refused(&write(&mut author, &[changed]).await);
    }
    // Under the same identifier, by another agent.
    let theirs = with(granted.clone(), |row| row.agent = other.id());
    assert_refused(&write(&mut other, &[theirs]).await);
    assert_eq!(found(&store, &author, 1).await, Some(granted.clone()));

    for (number, state) in [
        (2, AccessState::Refused),
        (3, AccessState::Done),
        (4, AccessState::Revoked),
        (5, AccessState::Expired),
    ] {
        let row = request(number, author.id());
        enter(&mut author, &row).await;
        let over = in_state(&row, state);
        enter(&mut author, &over).await;
        for again in [AccessState::Asked, AccessState::Granted, state] {
            assert_refused(&write(&mut author, &[in_state(&row, again)]).await);
        }
        assert_eq!(found(&store, &author, number).await, Some(over));
    }
    // The other changes of a refused commit are missing too.
    let mut commit = author.saving(vec![memory(1)]);
    commit.access = vec![in_state(&request(2, author.id()), AccessState::Granted)];
    let before = author.everything().await;
    assert_refused(&store.commit(commit).await);
    assert_eq!(author.everything().await, before);
    assert_sound(&store).await;
}

pub(super) async fn spec_5_2_requests_come_newest_first_and_of_one_agent(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let other = Author::new(&store, 1, 2).await;
    let at_time = |number, seconds| {
        let row = request(number, author.id());
        with(row, |row| row.columns.requested_at = at(seconds))
    };
    let rows = [at_time(1, 5), at_time(2, 9), at_time(3, 5), at_time(4, 7)];
    write(&mut author, &rows).await.unwrap();
    let newest_first = [&rows[1], &rows[3], &rows[2], &rows[0]];
    let all = page(&store, author.scope(), None, 9).await;
    assert_eq!(all.iter().collect::<Vec<_>>(), newest_first);
    let second = page(&store, author.scope(), Some(newest_first[1]), 1).await;
    assert_eq!(second, [newest_first[2].clone()]);
    assert_eq!(
        page(&store, author.scope(), Some(newest_first[3]), 9).await,
        []
    );

    for stranger in [other.scope(), scope(2, 1), scope(3, 3)] {
        assert_eq!(page(&store, stranger, None, 9).await, []);
        assert_eq!(store.open_requests(stranger).await.unwrap(), []);
        let one = store.access_request(stranger, request_id(1)).await;
        assert_eq!(one.unwrap(), None);
    }
    let owner = |account| store.access_owner(account_id(account), request_id(1));
    assert_eq!(owner(1).await.unwrap(), Some(author.scope()));
    assert_eq!(owner(2).await.unwrap(), None);
    let of_no_account = store.access_owner(account_id(1), request_id(9)).await;
    assert_eq!(of_no_account.unwrap(), None);
}

pub(super) async fn spec_5_2_open_requests_are_those_that_something_can_become_of(
    store: Arc<dyn Store>,
) {
    let mut author = Author::new(&store, 1, 1).await;
    let mut other = Author::new(&store, 2, 2).await;
    let ending = |number, author: &Author, state, seconds| {
        with(request(number, author.id()), |row| {
            row.columns.state = state;
            row.columns.expires_at = at(seconds);
        })
    };
    let rows = [
        ending(1, &author, AccessState::Granted, 40),
        ending(2, &author, AccessState::Refused, 10),
        ending(3, &author, AccessState::Asked, 20),
        ending(4, &author, AccessState::Expired, 10),
    ];
    write(&mut author, &rows).await.unwrap();
    let theirs = ending(5, &other, AccessState::Granted, 30);
    enter(&mut other, &theirs).await;
    let own = store.open_requests(author.scope()).await.unwrap();
    assert_eq!(own, [rows[0].clone(), rows[2].clone()]);
    let with = AgentQuery {
        open_requests: true,
        ..AgentQuery::default()
    };
    assert_eq!(author.look(with).await.open_requests, own);
    let without = author.look(AgentQuery::default()).await;
    assert_eq!(without.open_requests, []);
    let open = |scope, row: &AccessRow| OpenAccess {
        scope,
        id: row.id,
        state: row.columns.state,
        expires_at: row.columns.expires_at,
    };
    let all = [
        open(author.scope(), &rows[2]),
        open(other.scope(), &theirs),
        open(author.scope(), &rows[0]),
    ];
    assert_eq!(store.open_access().await.unwrap(), all);
    // An erased agent allows no access any more.
    let mut erased = author.commit();
    erased.agent.columns.erased_at = Some(at(5));
    author.write(erased).await.unwrap();
    assert_eq!(store.open_access().await.unwrap(), [all[1]]);
    assert_sound(&store).await;
}

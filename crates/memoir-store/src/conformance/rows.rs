//! What is written is what is read.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use memoir_domain::{
    Timestamp,
    audit::{Action, ActorKind},
    memory::{ArchivedBy, Kind, Number},
    schedule::NextDue,
    session::{Driver, Lease, State},
};

use super::fixtures::*;
use crate::{
    AccountRow, AgentColumns, AgentQuery, AgentRow, AuditRow, Commit, Document, FleetRanks,
    MemoryRow, Reach, RecordFilter, Selection, SessionColumns, SessionRow, Snapshot, Store,
    StoredText,
};

/// The largest count that every store can hold.
const LARGEST: u64 = i64::MAX as u64;
const UNICODE: &str = "Grüße 名前 🦊 \u{200d}e\u{301} 'quote\" \\ % _";

fn wide_text(length: usize) -> StoredText {
    StoredText((0..length).map(|at| (at % 256) as u8).collect())
}

/// A document that fills some pages.
fn wide_document(version: u64) -> Document {
    Document {
        version,
        open: format!("{{\"{UNICODE}\":\"{}\"}}", "x".repeat(10_000)),
        sealed: wide_text(20_000),
    }
}

pub(super) async fn a_fresh_store_is_empty_and_sound(store: Arc<dyn Store>) {
    assert_eq!(store.accounts().await.unwrap(), []);
    assert_eq!(store.account_named("nemo").await.unwrap(), None);
    assert_eq!(store.agents(account_id(1)).await.unwrap(), []);
    let named = store.agent_named(account_id(1), "nemo").await;
    assert_eq!(named.unwrap(), None);
    let owner = store.session_owner(account_id(1), session_id(1)).await;
    assert_eq!(owner.unwrap(), None);
    assert_eq!(store.lapsed_sessions(Timestamp::MAX).await.unwrap(), []);
    let missing = scope(1, 1);
    let found = store.snapshot(missing, &AgentQuery::default()).await;
    assert_eq!(found.unwrap(), None);
    assert_eq!(store.session_page(missing, None, 10).await.unwrap(), []);
    assert_eq!(store.waiting_sessions(10).await.unwrap(), []);
    assert_eq!(store.agent_page(account_id(1), None, 10).await.unwrap(), []);
    assert_eq!(store.token(&digest(1)).await.unwrap(), None);
    assert_eq!(store.tokens(account_id(1)).await.unwrap(), []);
    assert!(!store.has_users().await.unwrap());
    store.forget_replies(Timestamp::MAX).await.unwrap();
    let records = store.records(missing, &RecordFilter::default()).await;
    assert_eq!(records.unwrap(), []);
    assert_eq!(store.records_at(missing, &[1]).await.unwrap(), []);
    assert_eq!(store.scopes().await.unwrap(), []);
    assert_eq!(store.leaves(0).await.unwrap(), []);
    let length = store.append_leaves(at(1), Reach::All).await;
    assert_eq!(length.unwrap(), 0);
    assert_eq!(store.leaves(0).await.unwrap(), []);
    let renewed = store.renew_lease(missing, session_id(1), 1, at(1)).await;
    assert!(!renewed.unwrap());
    assert_sound(&store).await;
}

pub(super) async fn every_field_of_an_account_and_an_agent_is_kept(store: Arc<dyn Store>) {
    let first = AccountRow {
        created_at: Timestamp::MAX,
        ..account(1, UNICODE)
    };
    let second = AccountRow {
        created_at: Timestamp::MIN,
        ..account(2, "b")
    };
    for account in [&first, &second] {
        store.create_account(account).await.unwrap();
        let found = store.account_named(&account.folded_name).await.unwrap();
        assert_eq!(found.as_ref(), Some(account));
    }
    assert_eq!(store.accounts().await.unwrap(), [second, first.clone()]);

    let plain = agent(1, 1, "plain");
    let full = AgentRow {
        columns: AgentColumns {
            erased_at: Some(Timestamp::MAX),
            head: [0xFF; 32],
            prospect: NextDue {
                weekly_after: Some(Timestamp::MIN),
                due_at: Some(Timestamp::MAX),
                reflect_after: Some(at(-1)),
            },
            ranks: FleetRanks {
                budget_share: LARGEST,
                removable_tokens: LARGEST - 1,
                archived_share: LARGEST - 2,
            },
            ..plain.columns.clone()
        },
        document: wide_document(0),
        ..agent(1, 2, UNICODE)
    };
    for row in [&plain, &full] {
        let mut author = Author::of_new(&store, row.clone());
        author.write(author.making()).await.unwrap();
        assert_eq!(author.stored().await, author.agent);
        assert_eq!(author.agent.document.version, 1);

        // Everything but the identifiers can change, there and back.
        for next in [&full, &plain, row] {
            let mut commit = Commit {
                agent: next.clone(),
                ..author.commit()
            };
            commit.agent.scope = row.scope;
            let name = format!("{} of {}", next.document.open, row.scope.agent);
            commit.agent.columns.folded_name = name.clone();
            commit.agent.columns.name = name;
            author.write(commit).await.unwrap();
            assert_eq!(author.stored().await, author.agent);
        }
        assert_eq!(author.agent.document.version, 4);
        let found = store.agent_named(first.id, &author.agent.columns.folded_name);
        assert_eq!(found.await.unwrap(), Some(author.agent));
    }
    let agents = store.agents(first.id).await.unwrap();
    assert_eq!(agents.len(), 2);
    assert!(agents.is_sorted_by_key(|agent| &agent.columns.folded_name));
}

pub(super) async fn every_field_of_a_memory_is_kept(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let mut memories = Vec::new();
    for kind in Kind::ALL {
        for constitutional in [false, true] {
            for (discarded_at, shredded_at) in [
                (None, None),
                (Some(Timestamp::MIN), None),
                (Some(Timestamp::MAX), None),
                (Some(Timestamp::MIN), Some(Timestamp::MAX)),
                (Some(Timestamp::MAX), Some(Timestamp::MIN)),
            ] {
                for body in [0, 1, 900, 1_100, 50_000].map(wide_text) {
                    memories.push(MemoryRow {
                        body,
                        constitutional,
                        discarded_at,
                        shredded_at,
                        version: [0, 1, LARGEST][memories.len() % 3],
                        created_at: [Timestamp::MIN, at(0), Timestamp::MAX][memories.len() % 3],
                        updated_at: [Timestamp::MAX, Timestamp::MIN][memories.len() % 2],
                        ..of_kind(memory(memories.len() as u64 + 1), kind)
                    });
                }
            }
        }
    }
    memories.push(MemoryRow {
        tokens: LARGEST - 1_000_000,
        ..memory(LARGEST - 1)
    });
    for (at, row) in memories.iter_mut().enumerate() {
        row.under = [None, Some(Number(1)), Some(Number(LARGEST))][at % 3];
        row.is_summary = row.kind == Kind::Core && at % 2 == 0;
        row.core_seq = [Some(LARGEST), Some(0), None][at % 3];
        row.recorded_at = [Timestamp::MAX, self::at(0), Timestamp::MIN][at % 3];
        if row.kind == Kind::Archival {
            row.archived_at = Some([Timestamp::MIN, self::at(0), Timestamp::MAX][at % 3]);
            row.archived_by = Some(ArchivedBy::ALL[at % 4]);
        }
    }
    author.save(memories.clone()).await;
    let mut found = author.memories(Selection::All).await;
    found.sort_by_key(|memory| memory.number);
    assert_eq!(found, memories);
    let numbers = memories.iter().map(|memory| memory.number).collect();
    let mut found = author.memories(Selection::Numbers(numbers)).await;
    found.sort_by_key(|memory| memory.number);
    assert_eq!(found, memories);
    assert_sound(&store).await;
}

pub(super) async fn every_field_of_a_session_is_kept(store: Arc<dyn Store>) {
    for (number, state) in State::ALL.into_iter().enumerate() {
        // An agent each, since only one session of an agent may run.
        let mut author = Author::new(&store, 1, number as u128).await;
        let plain = SessionRow {
            lease: None,
            ..ended(session(number as u128 * 100, author.id()), state)
        };
        let full = SessionRow {
            columns: SessionColumns {
                state,
                driver: Driver::Agent,
                model: Some(UNICODE.to_owned()),
                started_at: Timestamp::MIN,
                ended_at: Some(Timestamp::MAX),
            },
            lease: Some(Lease {
                until: Timestamp::MAX,
                holder: [u64::MAX, 0, 1 << 63][number % 3],
            }),
            document: wide_document(LARGEST),
            ..plain.clone()
        };
        for next in [plain.clone(), full, plain] {
            author.refine(vec![next.clone()]).await;
            let found = author.look(AgentQuery::of_session(next.id)).await;
            assert_eq!(found.session, Some(next));
        }
        assert_eq!(author.sessions().await.len(), 1);
    }
    assert_sound(&store).await;
}

pub(super) async fn every_field_of_a_record_is_kept(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let kinds = [
        ActorKind::Administrator,
        ActorKind::Agent,
        ActorKind::System,
        ActorKind::Owner,
    ];
    let mut records: Vec<AuditRow> = Action::ALL.map(record).into();
    for (number, kind) in kinds.into_iter().enumerate() {
        records.push(AuditRow {
            recorded_at: [Timestamp::MIN, at(-1), Timestamp::MAX][number % 3],
            actor_kind: kind,
            actor_name: UNICODE.to_owned(),
            session: Some(session_id(number as u128)),
            memory: Some(Number([1, 17, LARGEST][number % 3])),
            facts: format!(r#"{{"a":"{}"}}"#, "y".repeat(5_000 * number)),
            body_version: [1, 2, LARGEST][number % 3],
            body_commitment: [number as u8; 32],
            body: wide_text(30_000 * number),
            ..record(Action::MemorySaved)
        });
    }
    let commit = author.recording(records);
    let records = commit.records.clone();
    author.write(commit).await.unwrap();
    assert_eq!(author.records().await, records);
    let next_seq = author.stored().await.columns.next_seq;
    assert_eq!(next_seq, records.len() as u64 + 1);
    assert_sound(&store).await;
}

pub(super) async fn a_row_of_the_same_number_is_replaced(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    author.save(vec![memory(1), memory(2)]).await;
    let before = memory(1);
    let after = MemoryRow {
        number: before.number,
        version: 17,
        kind: Kind::Archival,
        body: text("other words"),
        tokens: 3,
        constitutional: true,
        created_at: at(50),
        updated_at: at(51),
        discarded_at: Some(at(52)),
        shredded_at: Some(at(53)),
        under: Some(Number(2)),
        archived_at: Some(at(54)),
        archived_by: Some(ArchivedBy::Duplicate),
        is_summary: false,
        core_seq: Some(9),
        recorded_at: at(55),
    };
    let summary = MemoryRow {
        is_summary: true,
        core_seq: Some(1),
        recorded_at: at(56),
        ..before.clone()
    };
    // What of the archive changes alone, too.
    let moved = MemoryRow {
        under: Some(Number(3)),
        archived_at: Some(at(57)),
        archived_by: Some(ArchivedBy::Replaced),
        ..after.clone()
    };
    for next in [&after, &moved, &summary, &before] {
        author
            .change(|commit| commit.memories = vec![next.clone()])
            .await;
        let mut expected = vec![next.clone(), memory(2)];
        expected.sort_by_key(|memory| memory.created_at);
        assert_eq!(author.memories(Selection::All).await, expected);
        assert_sound(&store).await;
    }
}

pub(super) async fn spec_5_3_prompts_stay_until_others_are_written(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let other = Author::new(&store, 1, 2).await;
    let wanted = AgentQuery::default().with_prompts();
    let prompts = async |author: &Author| author.look(wanted.clone()).await.prompts;
    assert_eq!(prompts(&author).await, Some(text("prompts")));
    for next in [wide_text(400_000), text(""), wide_text(1)] {
        author
            .change(|commit| commit.prompts = Some(next.clone()))
            .await;
        assert_eq!(prompts(&author).await.as_ref(), Some(&next));
        // A decision that says nothing of them leaves them.
        author
            .save(vec![memory(author.agent.columns.next_seq)])
            .await;
        assert_eq!(prompts(&author).await.as_ref(), Some(&next));
    }
    // One that is refused leaves them too.
    let refused = Commit {
        expected_version: Some(1),
        prompts: Some(text("refused")),
        ..author.commit()
    };
    assert!(store.commit(refused).await.is_err());
    assert_eq!(prompts(&author).await, Some(wide_text(1)));
    assert_eq!(prompts(&other).await, Some(text("prompts")));
    assert_sound(&store).await;
}

/// SPEC 5.3: prompts leave the store only for a query that requests them.
pub(super) async fn spec_5_3_prompts_are_read_on_request_only(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    author.save(vec![memory(1), memory(2)]).await;
    let id = session_id(1);
    author.refine(vec![session(1, author.id())]).await;
    for memories in [Selection::None, Selection::ActiveCore, Selection::All] {
        for session in [None, Some(id)] {
            let wanted = AgentQuery {
                memories: memories.clone(),
                session,
                ..AgentQuery::default()
            };
            let without = author.look(wanted.clone()).await;
            assert_eq!(without.prompts, None);
            // All the rest is the same either way.
            let with = author.look(wanted.with_prompts()).await;
            assert_eq!(with.prompts, Some(text("prompts")));
            let prompts = None;
            assert_eq!(Snapshot { prompts, ..with }, without);
            assert_eq!(without.session.map(|row| row.id), session);
        }
    }
}

pub(super) async fn spec_5_3_no_agent_is_made_without_prompts(store: Arc<dyn Store>) {
    let author = Author::new(&store, 1, 1).await;
    let bare = Commit {
        agent: agent(1, 2, "bare"),
        prompts: None,
        ..author.making()
    };
    assert_inconsistent(&store.commit(bare.clone()).await, "agent_prompts");
    let found = store
        .snapshot(bare.agent.scope, &AgentQuery::default())
        .await;
    assert_eq!(found.unwrap(), None);
    assert_sound(&store).await;
}

/// A row's seal is bound to the version under which it was written.
pub(super) async fn spec_5_3_rows_keep_the_version_they_were_written_under(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let under = |version, memory| MemoryRow { version, ..memory };
    let mut commit = author.saving(vec![under(2, memory(1)), under(2, memory(2))]);
    commit.sessions = vec![SessionRow {
        document: document(2, "session"),
        ..session(1, author.id())
    }];
    author.write(commit).await.unwrap();
    author
        .change(|commit| commit.memories = vec![under(3, memory(2))])
        .await;
    let renewed = store.renew_lease(author.scope(), session_id(1), 1, at(500));
    assert!(renewed.await.unwrap());

    let found = author.memories(Selection::All).await;
    assert_eq!(found, [under(2, memory(1)), under(3, memory(2))]);
    let sessions = author.sessions().await;
    assert_eq!(sessions[0].document.version, 2);
    assert_eq!(author.version().await, 3);
    // Only the version differs.
    let mut commit = author.commit();
    commit.memories = vec![under(4, memory(1))];
    commit.sessions = vec![SessionRow {
        document: document(4, "session"),
        ..sessions[0].clone()
    }];
    author.write(commit).await.unwrap();
    let found = author.memories(Selection::All).await;
    assert_eq!(found, [under(4, memory(1)), under(3, memory(2))]);
    assert_eq!(author.sessions().await[0].document.version, 4);
    assert_sound(&store).await;
}

pub(super) async fn progress_is_counted_by_memory(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let progress = Arc::new(AtomicU64::new(0));
    let mut commit = author.saving((1..=100).map(memory).collect());
    commit.progress = Some(Arc::clone(&progress));
    author.write(commit).await.unwrap();
    assert_eq!(progress.load(Ordering::Relaxed), 100);
}

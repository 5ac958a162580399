//! The log over the heads of very many agents' logs (SPEC 4.2).

use std::time::Instant;

use memoir_store::{Fleet, Portable, Reach};
use rusqlite::Connection;

use crate::common::*;

const AGENTS: u64 = 100_000;

#[tokio::test]
async fn spec_4_2_very_many_agents_get_their_leaves_at_once() {
    let (_folder, path, store, mut agent) = begin_anew().await;
    // Copies of the one agent, identifiers counted up; the last half without a log, of the others its last record.
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch(&format!(
        "CREATE TEMP TABLE copies AS WITH RECURSIVE numbers (number) AS \
             (SELECT 2 UNION ALL SELECT number + 1 FROM numbers WHERE number < {AGENTS}) \
             SELECT agents.*, number FROM agents, numbers;
         UPDATE copies SET id = CAST(printf('%016d', number) AS BLOB), folded_name = number, \
             next_seq = iif(number <= {AGENTS} / 2, 9, 1);
         ALTER TABLE copies DROP COLUMN number;
         INSERT INTO agents SELECT * FROM copies;
         INSERT INTO audit_records (agent_id, seq, recorded_at, actor_kind, actor_name, action, facts, \
             body, body_version, body_commitment, hash) \
         SELECT id, 8, 0, 'system', 'memoir', 'memory_saved', '{{}}', x'00', 1, zeroblob(32), head \
         FROM agents WHERE next_seq = 9;"
    ))
    .unwrap();
    let mut length = AGENTS / 2;
    for round in 0..3 {
        let started = Instant::now();
        let found = store.append_leaves(at(round), Reach::All).await;
        assert_eq!(found.unwrap(), length);
        println!("{length} entries after {:.2?}", started.elapsed());
        assert_eq!(store.leaves(0).await.unwrap().len() as u64, length);
        assert_eq!(store.scopes().await.unwrap().len() as u64, AGENTS);
        if round == 1 {
            save(&store, &mut agent, 2, 10).await.unwrap();
            length += 1;
        }
    }
}

//! That a memory with a history of any length is read in little memory. In a process of its own, since the peak of a
//! process only grows.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::ops::ControlFlow;

use memoir_import::{Import, ImportLimits, ImportOptions, Input};

const MEGABYTE: u64 = 1 << 20;

fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mut lines = status.lines();
    let line = lines.find(|line| line.starts_with("VmHWM")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib << 10
}

#[test]
fn what_one_memory_of_mem0_ever_said_is_held_one_line_at_a_time() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("history.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    database
        .execute_batch(
            "CREATE TABLE history(id, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, created_at TEXT,
                 updated_at TEXT, is_deleted INTEGER);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
             INSERT INTO history SELECT i, 'one', NULL, 'Row ' || i || ' ' || substr(hex(zeroblob(4000)), 1, 8000), 'UPDATE',
                 '2026-01-01T00:00:00Z', NULL, 0 FROM n;",
        )
        .unwrap();
    drop(database);
    let limits = ImportLimits::default();
    let import = Import::open(Input::Path(path), None, &limits).unwrap();
    let options = ImportOptions {
        now: "2026-04-01".parse().unwrap(),
        instructions: false,
        limits,
    };
    let (mut given, mut gone) = (0, 0);
    import
        .read(&options, &mut |memory| {
            given += 1;
            gone += u64::from(memory.gone.is_some());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!((given, gone), (12_000, 11_999));
    assert!(peak() < 64 * MEGABYTE, "{} bytes", peak());
}

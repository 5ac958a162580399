//! That large inputs are read in little memory, whatever their size. In a process of its own, since the peak of a
//! process only grows.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::{io, ops::ControlFlow};

use memoir_import::{Import, ImportLimits, ImportOptions, ImportReport, Input};

const MEGABYTE: u64 = 1 << 20;

/// A list that is made while it is read.
struct Endless {
    left: u64,
    row: u64,
    ready: Vec<u8>,
}

impl io::Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ready.is_empty() && self.left > 0 {
            let before = if self.row == 0 {
                "{\"results\": ["
            } else {
                ", "
            };
            self.row += 1;
            let row = format!(
                "{before}{{\"id\": \"{}\", \"memory\": \"Row {} tells of the tide.\", \"hash\": \"{}\"}}",
                self.row,
                self.row,
                "0".repeat(8_000)
            );
            self.left = self.left.saturating_sub(row.len() as u64);
            self.ready = row.into_bytes();
            if self.left == 0 {
                self.ready.extend(b"]}");
            }
        }
        let count = self.ready.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.ready[..count]);
        self.ready.drain(..count);
        Ok(count)
    }
}

fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mut lines = status.lines();
    let line = lines.find(|line| line.starts_with("VmHWM")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib << 10
}

/// Reads an input, and passes on nothing of it.
fn read(input: Input) -> ImportReport {
    let limits = ImportLimits::default();
    let import = Import::open(input, None, &limits).unwrap();
    let options = ImportOptions {
        now: "2026-04-01".parse().unwrap(),
        instructions: false,
        limits,
    };
    import
        .read(&options, &mut |_| ControlFlow::Continue(()))
        .unwrap()
}

/// In one test, the smaller first: the peak is that of the process.
#[test]
fn a_list_of_any_size_and_a_history_of_any_length_are_held_one_row_at_a_time() {
    let made = Endless {
        left: 96 * MEGABYTE,
        row: 0,
        ready: Vec::new(),
    };
    let report = read(Input::Stream(Box::new(made)));
    assert!(!report.is_broken);
    assert!(report.given > 10_000);
    assert!(peak() < 40 * MEGABYTE, "{} bytes", peak());

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
    let report = read(Input::Path(path));
    assert_eq!((report.given, report.gone), (12_000, 11_999));
    assert!(peak() < 64 * MEGABYTE, "{} bytes", peak());
}

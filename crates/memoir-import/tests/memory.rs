//! That a large file is read in little memory, whatever its size. In a process of its own, since the peak of
//! a process only grows.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::{io, ops::ControlFlow};

use memoir_import::{Import, ImportLimits, ImportOptions, Input};

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
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib << 10
}

#[test]
fn a_list_of_any_size_is_held_one_row_at_a_time() {
    let made = Endless {
        left: 96 * MEGABYTE,
        row: 0,
        ready: Vec::new(),
    };
    let limits = ImportLimits::default();
    let import = Import::open(Input::Stream(Box::new(made)), None, &limits).unwrap();
    let options = ImportOptions {
        now: "2026-04-01".parse().unwrap(),
        instructions: false,
        limits,
    };
    let mut count = 0_u64;
    let report = import
        .read(&options, &mut |_| {
            count += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(!report.is_broken);
    assert!(count > 10_000);
    assert!(peak() < 40 * MEGABYTE, "{} bytes", peak());
}

//! What sealing and chaining cost: `cargo bench -p memoir-vault`. Each line is the median of many rounds.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a measurement prints, and stops where it fails"
)]

use std::{hint::black_box, time::Instant};

use memoir_domain::{AccountId, AgentId, AgentScope, Timestamp, memory::Number};
use memoir_vault::{
    KeyStore, MasterKey,
    archive::{self, Cost, Passphrase},
    chain::{ChainHead, ChainRecord, body_commitment, genesis},
    log::{Leaf, root},
    seal::{Nonce, SealContext, SealedRow},
};

const ROUNDS: usize = 101;

fn measure(what: &str, calls: u32, mut call: impl FnMut()) {
    let mut nanoseconds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let started = Instant::now();
            for _ in 0..calls {
                call();
            }
            started.elapsed().as_nanos() as f64 / f64::from(calls)
        })
        .collect();
    nanoseconds.sort_by(f64::total_cmp);
    println!("{what:<44} {:>12.0} ns", nanoseconds[ROUNDS / 2]);
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let master = MasterKey::generate().expect("random bytes");
    let store = KeyStore::open(&folder.path().join("keys.db"), &master).expect("a key store");
    let scope = AgentScope {
        account: AccountId::from_bytes([1; 16]),
        agent: AgentId::from_bytes([2; 16]),
    };
    let now = Timestamp::MIN;
    let key = store.create(scope, now).expect("a key");
    let place = SealContext {
        row: SealedRow::Memory(Number(7)),
        version: 3,
    };
    let text = [b'a'; 500];
    let random = || {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes).expect("random bytes");
        Nonce::from_random(bytes)
    };
    let sealed = key.seal(&place, &[], &text, random());

    measure("a nonce from the system", 1_000, || {
        black_box(random());
    });
    measure("seal 500 bytes, nonce given", 1_000, || {
        black_box(key.seal(&place, &[], &text, Nonce::from_random([3; 24])));
    });
    measure("seal 500 bytes, nonce from the system", 1_000, || {
        black_box(key.seal(&place, &[], &text, random()));
    });
    measure("open 500 bytes", 1_000, || {
        black_box(key.open(&place, &[], &sealed).expect("authentic"));
    });
    let large = key.seal(&place, &[], &[b'a'; 10_000], random());
    measure("open 10,000 bytes", 1_000, || {
        black_box(key.open(&place, &[], &large).expect("authentic"));
    });
    measure("commit to a sealed text of 500 bytes", 1_000, || {
        black_box(body_commitment(&sealed));
    });
    let record = ChainRecord {
        seq: 1,
        recorded_at: now,
        actor_kind: "agent",
        actor_name: "Ada",
        action: "memory_refinement_update",
        session: None,
        memory: Some(Number(7)),
        facts: &[b'7'; 200],
        body: body_commitment(&sealed),
    };
    let head = ChainHead {
        seq: 0,
        hash: genesis(scope),
    };
    measure("hash a record with 200 bytes of facts", 1_000, || {
        black_box(head.then(scope, &record));
    });
    measure("commit and hash", 1_000, || {
        let body = body_commitment(&sealed);
        black_box(head.then(scope, &ChainRecord { body, ..record }));
    });
    measure("take a key that is in memory", 100, || {
        black_box(store.cached(scope).expect("no error"));
    });
    measure("look up a key that is in memory", 100, || {
        black_box(store.key(scope).expect("a key"));
    });
    let mut agent = 0_u32;
    measure("make a key (on the disk)", 1, || {
        agent += 1;
        let mut bytes = [3; 16];
        bytes[..4].copy_from_slice(&agent.to_be_bytes());
        let agent = AgentId::from_bytes(bytes);
        black_box(
            store
                .create(AgentScope { agent, ..scope }, now)
                .expect("a key"),
        );
    });
    let started = Instant::now();
    let next = MasterKey::generate().expect("random bytes");
    let wrapped = store.rotate(&next).expect("a rotation");
    println!(
        "rotate {wrapped} keys: {:.1} ms",
        started.elapsed().as_secs_f64() * 1e3
    );
    let leaf = Leaf::new(scope.agent, head, now);
    let started = Instant::now();
    black_box(root((0..100_000).map(|_| leaf)));
    println!(
        "root over 100,000 leaves: {:.0} ms",
        started.elapsed().as_secs_f64() * 1e3
    );
    archives();
}

/// An archive of 10 MB; the key apart from the text, since it takes most of the time.
fn archives() {
    let passphrase = Passphrase::generate().expect("random bytes");
    let plain = vec![b'a'; 10 << 20];
    let once = |what: &str, call: &mut dyn FnMut()| {
        let started = Instant::now();
        call();
        let milliseconds = started.elapsed().as_secs_f64() * 1e3;
        println!("{what:<44} {milliseconds:>12.1} ms");
    };
    let cheap = Cost {
        memory_kib: 8,
        passes: 1,
        lanes: 1,
    };
    let mut sealed = Vec::new();
    once("derive an archive's key, seal nothing", &mut || {
        archive::seal(&passphrase, &mut sealed, b"").expect("an archive");
    });
    sealed.clear();
    once("seal 10 MiB, key included", &mut || {
        archive::seal(&passphrase, &mut sealed, &plain).expect("an archive");
    });
    once("open 10 MiB, key included", &mut || {
        black_box(archive::open(&passphrase, sealed.as_slice()).expect("an archive"));
    });
    let mut sealed = Vec::new();
    once("seal 10 MiB, key at no cost", &mut || {
        archive::seal_at(&passphrase, cheap, &mut sealed, &plain).expect("an archive");
    });
    once("open 10 MiB, key at no cost", &mut || {
        black_box(archive::open(&passphrase, sealed.as_slice()).expect("an archive"));
    });
}

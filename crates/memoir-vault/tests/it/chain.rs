//! The chain: any change is found, at the first record that it touches.

use std::collections::HashSet;

use memoir_domain::{AgentScope, SessionId, Timestamp, memory::Number};
use memoir_vault::chain::{
    BodyCommitment, ChainBody, ChainHead, ChainProblem, ChainRecord, FirstBad, InvalidHash, Link,
    RecordHash, body_commitment, genesis,
};
use proptest::prelude::*;

use crate::{hex, now, scope};

/// A record that owns what the vault's borrows.
#[derive(Debug, Clone)]
struct Stored {
    seq: u64,
    recorded_at: Timestamp,
    actor_kind: String,
    actor_name: String,
    action: String,
    session: Option<SessionId>,
    memory: Option<Number>,
    facts: Vec<u8>,
    sealed: Vec<u8>,
    body: BodyCommitment,
    hash: RecordHash,
}

impl Stored {
    fn record(&self) -> ChainRecord<'_> {
        ChainRecord {
            seq: self.seq,
            recorded_at: self.recorded_at,
            actor_kind: &self.actor_kind,
            actor_name: &self.actor_name,
            action: &self.action,
            session: self.session,
            memory: self.memory,
            facts: &self.facts,
            body: self.body,
        }
    }

    fn link(&self) -> Link<'_> {
        Link {
            record: self.record(),
            hash: self.hash,
            body: ChainBody::Original(&self.sealed),
        }
    }
}

fn chain(scope: AgentScope, length: u64) -> Vec<Stored> {
    let mut previous = genesis(scope);
    let mut records = Vec::new();
    for seq in 1..=length {
        let sealed = format!("sealed {seq}").into_bytes();
        let mut stored = Stored {
            seq,
            recorded_at: now().plus_seconds(seq as i64),
            actor_kind: "agent".to_owned(),
            actor_name: "Ada".to_owned(),
            action: "memory_saved".to_owned(),
            session: seq
                .is_multiple_of(2)
                .then(|| SessionId::from_bytes([seq as u8; 16])),
            memory: seq.is_multiple_of(3).then_some(Number(seq)),
            facts: format!(r#"{{"tokens":{seq}}}"#).into_bytes(),
            body: body_commitment(&sealed),
            sealed,
            hash: previous,
        };
        stored.hash = stored.record().hash(scope, &previous);
        previous = stored.hash;
        records.push(stored);
    }
    records
}

/// Follows a chain from its first record.
fn verify_links<'a>(
    scope: AgentScope,
    links: impl IntoIterator<Item = Link<'a>>,
) -> Result<ChainHead, FirstBad> {
    let mut links = links.into_iter();
    links.try_fold(ChainHead::empty(scope), |head, link| {
        head.check(scope, &link)
    })
}

fn verify(scope: AgentScope, records: &[Stored]) -> Result<ChainHead, FirstBad> {
    verify_links(scope, records.iter().map(Stored::link))
}

fn bad(seq: u64, problem: ChainProblem) -> Result<ChainHead, FirstBad> {
    Err(FirstBad { seq, problem })
}

#[test]
fn spec_4_2_an_untouched_chain_verifies_to_its_head() {
    let records = chain(scope(1, 2), 12);
    assert_eq!(
        verify(scope(1, 2), &[]).unwrap(),
        ChainHead::empty(scope(1, 2))
    );
    let head = verify(scope(1, 2), &records).unwrap();
    assert_eq!((head.seq, head.hash), (12, records[11].hash));
    // Another agent's or account's chain begins elsewhere.
    assert_eq!(verify(scope(1, 3), &records), bad(1, ChainProblem::Hash));
    assert_eq!(verify(scope(2, 2), &records), bad(1, ChainProblem::Hash));
}

/// Fixed: databases hold these hashes. Worked out apart from this code, in Python.
#[test]
fn spec_4_2_the_hash_of_a_record_stays_what_it_is() {
    let scope = scope(1, 2);
    assert_eq!(hex(&genesis(scope).0), GENESIS);
    let records = chain(scope, 6);
    assert_eq!(hex(&records[0].hash.0), FIRST);
    assert_eq!(hex(&records[5].hash.0), SIXTH);
}

const GENESIS: &str = "0075c0d42a812b222649d1bd757fdf25081689ae6ba9d7cdf24baea20e3a0d4e";
const FIRST: &str = "5c5d7938f030ba109c6f0d5e69c9836a11528e06b04e6b95072cc3e954aef765";
const SIXTH: &str = "fd1c9612ebbf6bdd1362e0470b70fcb3ac0e0be8ef0c7889b05622622179ecc2";

#[test]
fn spec_4_2_a_change_of_any_column_is_found_at_its_record() {
    type Change = fn(&mut Stored);
    let changes: [(&str, Change); 14] = [
        ("time", |stored| {
            stored.recorded_at = stored.recorded_at.plus_microseconds(1)
        }),
        ("actor's kind", |stored| {
            stored.actor_kind = "system".to_owned()
        }),
        ("actor's name", |stored| stored.actor_name.push('\0')),
        ("action", |stored| {
            stored.action = "memory_discarded".to_owned()
        }),
        ("session", |stored| {
            stored.session = Some(SessionId::from_bytes([1; 16]))
        }),
        ("session gone", |stored| stored.session = None),
        ("memory", |stored| stored.memory = Some(Number(99))),
        ("memory gone", |stored| stored.memory = None),
        ("facts", |stored| stored.facts.push(b' ')),
        ("facts gone", |stored| stored.facts.clear()),
        ("commitment", |stored| stored.body.0[31] ^= 1),
        ("commitment and text", |stored| {
            stored.sealed.push(0);
            stored.body = body_commitment(&stored.sealed);
        }),
        ("hash", |stored| stored.hash.0[0] ^= 1),
        ("name and kind run together", |stored| {
            stored.actor_kind.push('A');
            stored.actor_name.remove(0);
        }),
    ];
    let intact = chain(scope(1, 2), 12);
    for (what, change) in changes {
        for at in [0, 5, 11] {
            let mut records = intact.clone();
            change(&mut records[at]);
            if records[at].record() == intact[at].record() && records[at].hash == intact[at].hash {
                continue;
            }
            assert_eq!(
                verify(scope(1, 2), &records),
                bad(at as u64 + 1, ChainProblem::Hash),
                "{what}"
            );
        }
    }
    let mut records = intact;
    records[5].sealed[3] ^= 1;
    assert_eq!(verify(scope(1, 2), &records), bad(6, ChainProblem::Body));
}

#[test]
fn spec_4_2_records_cannot_be_taken_out_put_in_or_exchanged() {
    let intact = chain(scope(1, 2), 6);
    let mut records = intact.clone();
    records.remove(2);
    assert_eq!(
        verify(scope(1, 2), &records),
        bad(3, ChainProblem::Missing { found: 4 })
    );
    // Numbered anew, the hashes do not fit.
    records[2..].iter_mut().for_each(|stored| stored.seq -= 1);
    assert_eq!(verify(scope(1, 2), &records), bad(3, ChainProblem::Hash));
    let mut records = intact.clone();
    records.insert(2, intact[1].clone());
    assert_eq!(
        verify(scope(1, 2), &records),
        bad(3, ChainProblem::Missing { found: 2 })
    );
    let mut records = intact.clone();
    records.swap(2, 3);
    assert_eq!(
        verify(scope(1, 2), &records),
        bad(3, ChainProblem::Missing { found: 4 })
    );
    let (third, fourth) = (records[2].seq, records[3].seq);
    (records[2].seq, records[3].seq) = (fourth, third);
    assert_eq!(verify(scope(1, 2), &records), bad(3, ChainProblem::Hash));
    assert_eq!(
        FirstBad {
            seq: 3,
            problem: ChainProblem::Missing { found: 4 }
        }
        .to_string(),
        "record 3: missing; record 4 is in its place"
    );
}

#[test]
fn spec_4_4_a_shredded_text_leaves_the_chain_as_it_is() {
    let mut records = chain(scope(1, 2), 6);
    let head = verify(scope(1, 2), &records).unwrap();
    records[2].sealed = b"sealed again, without it".to_vec();
    assert_eq!(verify(scope(1, 2), &records), bad(3, ChainProblem::Body));
    // What a later record says of it.
    let commitment = body_commitment(&records[2].sealed);
    let with = |body: ChainBody<'static>| {
        let records = records.clone();
        let links: Vec<Stored> = records;
        verify_links(
            scope(1, 2),
            links.iter().map(|stored| Link {
                body: if stored.seq == 3 {
                    body
                } else {
                    ChainBody::Original(&stored.sealed)
                },
                ..stored.link()
            }),
        )
    };
    assert_eq!(
        with(ChainBody::Replaced(b"sealed again, without it", commitment)),
        Ok(head)
    );
    assert_eq!(
        with(ChainBody::Replaced(b"sealed once more", commitment)),
        bad(3, ChainProblem::Body)
    );
    assert_eq!(with(ChainBody::Unchecked), Ok(head));
}

#[test]
fn spec_4_2_a_cut_chain_is_told_by_its_head_only() {
    let records = chain(scope(1, 2), 6);
    let cut = verify(scope(1, 2), &records[..4]).unwrap();
    assert_eq!((cut.seq, cut.hash), (4, records[3].hash));
    assert_ne!(cut, verify(scope(1, 2), &records).unwrap());
}

#[test]
fn spec_4_2_the_end_of_a_chain_is_compared_with_the_agents_row() {
    let records = chain(scope(1, 2), 6);
    let heads: Vec<ChainHead> = (0..=6)
        .map(|length| verify(scope(1, 2), &records[..length]).unwrap())
        .collect();
    for (length, head) in heads.iter().enumerate() {
        for (expected_length, expected) in heads.iter().enumerate() {
            let first = length.min(expected_length) as u64 + 1;
            let wanted = if length == expected_length {
                Ok(())
            } else {
                bad(first, ChainProblem::Head).map(drop)
            };
            assert_eq!(head.check_end(*expected), wanted);
        }
    }
    let mut other = heads[6];
    other.hash.0[0] ^= 1;
    assert_eq!(
        heads[6].check_end(other).unwrap_err().to_string(),
        "record 6: the log ends elsewhere than the agent's row says: records were cut off, or the row was put back"
    );
}

/// The way of the shredded text in full: what replaces it is found in the facts of a later record.
#[test]
fn spec_4_4_the_record_of_a_shredding_says_what_stands_in_the_place_of_the_text() {
    let scope = scope(1, 2);
    let mut records = chain(scope, 4);
    let original = records[1].sealed.clone();
    let mut shred = |text: &[u8]| {
        records[1].sealed = text.to_vec();
        let last = records.last().unwrap();
        let mut shredding = Stored {
            seq: last.seq + 1,
            action: "memory_shredded".to_owned(),
            facts: format!(r#"{{"2":"{}"}}"#, body_commitment(text)).into_bytes(),
            ..last.clone()
        };
        shredding.hash = shredding.record().hash(scope, &last.hash);
        records.push(shredding);
    };
    shred(b"without one memory");
    shred(b"without another one, too");

    let verify = |records: &[Stored]| {
        let unchecked = records.iter().map(|stored| Link {
            body: ChainBody::Unchecked,
            ..stored.link()
        });
        verify_links(scope, unchecked)?;
        let said = records
            .iter()
            .rfind(|stored| stored.action == "memory_shredded");
        let facts = str::from_utf8(&said.unwrap().facts).unwrap();
        let commitment = BodyCommitment(facts[6..70].parse::<RecordHash>().unwrap().0);
        let links = records.iter().map(|stored| match stored.seq {
            2 => Link {
                body: ChainBody::Replaced(&stored.sealed, commitment),
                ..stored.link()
            },
            _ => stored.link(),
        });
        verify_links(scope, links)
    };
    let head = ChainHead {
        seq: 6,
        hash: records[5].hash,
    };
    assert_eq!(verify(&records), Ok(head));
    // Neither what was shredded, nor what stood there in between, can be put back.
    for text in [original.as_slice(), b"without one memory", b"else"] {
        let mut records = records.clone();
        records[1].sealed = text.to_vec();
        assert_eq!(verify(&records), bad(2, ChainProblem::Body));
    }
    // Nor can the record be made to say so.
    let facts = format!(r#"{{"2":"{}"}}"#, body_commitment(&original));
    records[5].facts = facts.into_bytes();
    records[1].sealed = original;
    assert_eq!(verify(&records), bad(6, ChainProblem::Hash));
}

#[test]
fn hashes_are_written_and_read_as_digits() {
    let stored = &chain(scope(1, 2), 1)[0];
    assert_eq!(stored.hash.to_string(), hex(&stored.hash.0));
    assert_eq!(stored.body.to_string(), hex(&stored.body.0));
    assert_eq!(stored.hash.to_string().parse(), Ok(stored.hash));
    assert_eq!(
        stored.hash.to_string().to_uppercase().parse(),
        Ok(stored.hash)
    );
    let digits = stored.hash.to_string();
    for text in [
        "",
        &digits[1..],
        &format!("{digits}0"),
        &digits.replace(&digits[..1], "g"),
    ] {
        assert_eq!(text.parse::<RecordHash>(), Err(InvalidHash));
    }
}

#[test]
fn spec_4_2_absent_and_empty_are_not_the_same() {
    let stored = &chain(scope(1, 2), 1)[0];
    let base = stored.record();
    let previous = genesis(scope(1, 2));
    let variants = [
        base,
        ChainRecord {
            memory: Some(Number(0)),
            ..base
        },
        ChainRecord {
            session: Some(SessionId::from_bytes([0; 16])),
            ..base
        },
        ChainRecord {
            actor_name: "",
            ..base
        },
        ChainRecord {
            actor_kind: "",
            actor_name: "agentAda",
            ..base
        },
        ChainRecord { facts: b"", ..base },
    ];
    let hashes: HashSet<_> = variants
        .iter()
        .map(|record| record.hash(scope(1, 2), &previous))
        .collect();
    assert_eq!(hashes.len(), variants.len());
}

proptest! {
    #[test]
    fn spec_4_2_no_text_can_be_moved_between_columns(
        left in proptest::collection::vec("[a-z0-9\\x00]{0,6}", 3),
        right in proptest::collection::vec("[a-z0-9\\x00]{0,6}", 3),
    ) {
        let hash = |parts: &[String]| {
            ChainRecord {
                seq: 1,
                recorded_at: now(),
                actor_kind: &parts[0],
                actor_name: &parts[1],
                action: &parts[2],
                session: None,
                memory: None,
                facts: b"{}",
                body: body_commitment(b""),
            }
            .hash(scope(1, 2), &genesis(scope(1, 2)))
        };
        prop_assert_eq!(hash(&left) == hash(&right), left == right);
    }
}

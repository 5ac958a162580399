//! The log of all heads: its root, its checkpoints, and whether it only grew.

use base64::{Engine, engine::general_purpose::STANDARD};
use ct_merkle::mem_backed_tree::MemoryBackedTree;
use memoir_domain::AgentId;
use memoir_vault::{
    chain::RecordHash,
    log::{
        Checkpoint, CheckpointError, Leaf, LogKey, LogVerifier, NotGrown, NoteError, Root,
        check_grew, root,
    },
};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

use crate::{hex, now, unhex};

/// The text, keys and signatures of the tests of Go's `golang.org/x/mod/sumdb/note`.
const TEXT: &str = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const PETER: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const PETER_PRIVATE: &str =
    "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
const PETER_LINE: &str = "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
const ENOCH: &str = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop";
const ENOCH_LINE: &str = "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n";

fn peter() -> LogKey {
    let secret = STANDARD
        .decode(PETER_PRIVATE.rsplit_once("c74f20a3+").unwrap().1)
        .unwrap();
    LogKey::from_seed("PeterNeumann", &secret[1..].try_into().unwrap()).unwrap()
}

fn verifier(vkey: &str) -> LogVerifier {
    vkey.parse().unwrap()
}

fn leaf(number: u64) -> Leaf {
    Leaf {
        agent: AgentId::from_bytes([number as u8 % 3; 16]),
        seq: number / 3 + 1,
        head: RecordHash(Sha256::digest(number.to_be_bytes()).into()),
        recorded_at: now().plus_seconds(number as i64),
    }
}

fn leaves(count: u64) -> Vec<Leaf> {
    (0..count).map(leaf).collect()
}

fn checkpoint(root: Root) -> Checkpoint {
    Checkpoint {
        origin: "memoir.example/log".to_owned(),
        root,
    }
}

/// The leaves and roots of the tests of RFC 6962's own implementation (transparency-dev/merkle).
#[test]
fn spec_4_2_the_tree_has_the_roots_of_rfc_6962() {
    let leaves = [
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    ];
    let roots = [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];
    let mut tree = MemoryBackedTree::<Sha256, Vec<u8>>::new();
    for (size, expected) in roots.iter().enumerate() {
        assert_eq!(hex(tree.root().as_bytes()), *expected, "{size} leaves");
        if let Some(leaf) = leaves.get(size) {
            tree.push(unhex(leaf));
        }
    }
}

/// RFC 6962, section 2.1, word by word.
fn tree_hash(leaves: &[Leaf]) -> [u8; 32] {
    match leaves {
        [] => Sha256::digest(b"").into(),
        [leaf] => Sha256::new()
            .chain_update([0])
            .chain_update(leaf.encode())
            .finalize()
            .into(),
        _ => {
            let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
            Sha256::new()
                .chain_update([1])
                .chain_update(tree_hash(left))
                .chain_update(tree_hash(right))
                .finalize()
                .into()
        }
    }
}

#[test]
fn spec_4_2_the_root_is_the_tree_hash_over_the_encoded_leaves() {
    for size in 0..70 {
        let leaves = leaves(size);
        let hash = tree_hash(&leaves);
        assert_eq!(root(leaves), Root { size, hash });
    }
    assert_eq!(
        hex(&leaf(5).encode()),
        format!(
            "01{}0000000000000002{}{:016x}",
            "02".repeat(16),
            hex(&leaf(5).head.0),
            leaf(5).recorded_at.microseconds()
        )
    );
}

#[test]
fn spec_4_2_a_log_that_only_grew_fits_every_earlier_checkpoint() {
    for size in 0..40 {
        for earlier in 0..=size {
            let earlier = checkpoint(root(leaves(earlier)));
            assert_eq!(check_grew(&earlier, leaves(size)), Ok(root(leaves(size))));
        }
    }
}

#[test]
fn spec_4_2_a_cut_or_rewritten_log_does_not_fit_a_checkpoint() {
    let size = 20;
    let kept = checkpoint(root(leaves(size)));
    for shorter in 0..size {
        let error = check_grew(&kept, leaves(shorter)).unwrap_err();
        assert_eq!(
            error,
            NotGrown::Shorter {
                checkpoint: size,
                size: shorter
            }
        );
    }
    let rewritten = Err(NotGrown::Rewritten { checkpoint: size });
    for at in 0..size as usize {
        let mut changed = leaves(size + 5);
        changed[at].head.0[7] ^= 1;
        assert_eq!(check_grew(&kept, changed), rewritten);
        let mut exchanged = leaves(size + 5);
        exchanged.swap(at, at + 1);
        assert_eq!(check_grew(&kept, exchanged), rewritten);
        let mut missing = leaves(size + 5);
        missing.remove(at);
        assert_eq!(check_grew(&kept, missing), rewritten);
    }
    assert_eq!(
        NotGrown::Shorter {
            checkpoint: 20,
            size: 3
        }
        .to_string(),
        "the log was cut off: the checkpoint covers 20 entries, there are 3"
    );
    // One that says it covers nothing must have the root of nothing.
    let lying = checkpoint(Root {
        size: 0,
        hash: [0; 32],
    });
    assert_eq!(
        check_grew(&lying, leaves(3)),
        Err(NotGrown::Rewritten { checkpoint: 0 })
    );
}

#[test]
fn spec_4_2_notes_are_signed_as_in_go() {
    let key = peter();
    assert_eq!(key.verifier().to_string(), PETER);
    assert_eq!(key.sign(TEXT), format!("{TEXT}\n{PETER_LINE}"));
}

#[test]
fn spec_4_2_notes_are_opened_as_in_go() {
    let (peter, enoch) = (verifier(PETER), verifier(ENOCH));
    let note = |lines: &str| format!("{TEXT}\n{lines}");
    let open =
        |verifier: &LogVerifier, note: &str| verifier.open_note(note.as_bytes()).map(str::to_owned);
    let both = note(&format!("{PETER_LINE}{ENOCH_LINE}"));
    for verifier in [&peter, &enoch] {
        assert_eq!(open(verifier, &both).unwrap(), TEXT);
    }
    // Unknown keys are passed over, also those that share the name or the identifier.
    let unsigned = Err(NoteError::Unsigned(PETER.to_owned()));
    assert_eq!(open(&peter, &note(ENOCH_LINE)), unsigned);
    assert_eq!(
        open(
            &peter,
            &note(&PETER_LINE.replace("PeterNeumann", "CarmenSandiego"))
        ),
        unsigned
    );
    assert_eq!(
        open(&peter, &note(&PETER_LINE.replace("x08g", "xxxx"))),
        unsigned
    );
    // A known key whose signature does not fit spoils the note.
    let bad = Err(NoteError::BadSignature(PETER.to_owned()));
    let invalid = format!("{}ABCD{}", &PETER_LINE[..60], &PETER_LINE[60..]);
    let changed = PETER_LINE.replace("ZJkuBS", "ZJkuBT");
    for lines in [
        &invalid,
        &changed,
        &format!("{PETER_LINE}{changed}"),
        &format!("{changed}{PETER_LINE}"),
    ] {
        assert_eq!(open(&peter, &note(lines)), bad, "{lines}");
    }
    assert_eq!(open(&peter, &both.replace("think", "thing")), bad);
    assert_eq!(open(&peter, &format!("\n{both}")), bad);
    // The same signature twice.
    assert_eq!(
        open(&peter, &note(&format!("{PETER_LINE}{PETER_LINE}"))).unwrap(),
        TEXT
    );
    assert_eq!(open(&peter, &note(&PETER_LINE.repeat(100))).unwrap(), TEXT);
    // What has not the form of a note.
    let malformed = [
        TEXT.to_owned(),
        format!("\n{TEXT}"),
        note(PETER_LINE.trim_end()),
        format!("\x01{}", note(PETER_LINE)),
        note(&PETER_LINE.replace("PeterNeumann", "Bad Name")),
        note(&PETER_LINE.replace("PeterNeumann", "Bad+Name")),
        note(&PETER_LINE.replace('—', "--")),
        note(&PETER_LINE.replace("x08go", "*08go")),
        note("— PeterNeumann x08gow==\n"),
        note("— PeterNeumann \n"),
        note(""),
        note(&format!("{PETER_LINE}\n")),
        note(&PETER_LINE.repeat(101)),
        String::new(),
        format!("{}{}", "x\n".repeat(1 << 20), note(PETER_LINE)),
    ];
    for note in malformed {
        let answer = open(&peter, &note);
        assert!(
            matches!(answer, Err(NoteError::Malformed(_))),
            "{note:.80} {answer:?}"
        );
    }
    assert!(
        peter
            .open_note(&[b"\xff", note(PETER_LINE).as_bytes()].concat())
            .is_err()
    );
}

/// Public keys of Go's tests, of sum.golang.org, and of an example with its note.
#[test]
fn spec_4_2_public_keys_are_read_and_written_in_the_published_form() {
    for vkey in [
        PETER,
        ENOCH,
        "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8",
        "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
    ] {
        assert_eq!(verifier(vkey).to_string(), vkey);
    }
    let example = "This is an example message.\n\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n";
    let foo = verifier("example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k");
    assert_eq!(
        foo.open_note(example.as_bytes()).unwrap(),
        "This is an example message.\n"
    );
    for vkey in [
        "",
        "PeterNeumann",
        "PeterNeumann+c74f20a3",
        // Another hash, name, type, length, and no point of the curve.
        &PETER.replace("c74f", "c74e"),
        &PETER.replace("Peter", "Pieter"),
        &PETER.replace("+AR", "+AB"),
        &PETER[..PETER.len() - 4],
        &PETER.replace("Peter", "Peter "),
        "PeterNeumann+c74f20a3+",
    ] {
        assert!(vkey.parse::<LogVerifier>().is_err(), "{vkey}");
    }
}

/// Against the implementation that Cloudflare keeps for its logs.
#[test]
fn spec_4_2_a_checkpoint_has_the_published_form() {
    // From C2SP `tlog-checkpoint`.
    let published =
        "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
    let parsed = Checkpoint::parse(published).unwrap();
    assert_eq!(parsed.origin, "example.com/behind-the-sofa");
    assert_eq!(parsed.root.size, 20_852_163);
    assert_eq!(parsed.to_string(), published);

    let root = "TszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBb0=";
    for good in [
        format!("e\n0\n{root}\n"),
        format!("example.com/origin\n18446744073709551615\n{root}\nabc\ndef\n"),
    ] {
        assert!(Checkpoint::parse(&good).is_ok(), "{good}");
    }
    for bad in [
        String::new(),
        "\n".to_owned(),
        format!("\n123\n{root}\n"),
        format!("origin\n\n{root}\n"),
        format!("origin\n123\n{root}"),
        format!("origin\n123\n{root}\nabc\n\n"),
        format!("origin\n123\n{root}\n\nabc\n"),
        format!("origin\n123\n{root}\nabc"),
        "origin\n123\n".to_owned(),
        format!("origin\n0123\n{root}\n"),
        format!("origin\n+123\n{root}\n"),
        format!("origin\n-1\n{root}\n"),
        format!("origin\n 1\n{root}\n"),
        format!("origin\n0x1\n{root}\n"),
        format!("origin\n18446744073709551616\n{root}\n"),
        format!("origin\n123\n{}\n", root.trim_end_matches('=')),
        format!("origin\n123\n{}\n", root.replace("0=", "1=")),
        "origin\n123\nQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBCg==\n".to_owned(),
    ] {
        assert!(Checkpoint::parse(&bad).is_err(), "{bad}");
    }
}

#[test]
fn spec_4_2_a_signed_checkpoint_opens_under_the_logs_key_only() {
    let key = LogKey::from_seed("memoir.example/log", &[7; 32]).unwrap();
    let head = root(leaves(9));
    let signed = key.sign_checkpoint(head);
    assert!(signed.starts_with("memoir.example/log\n9\n"), "{signed}");
    assert_eq!(
        key.verifier().open_checkpoint(signed.as_bytes()),
        Ok(checkpoint(head))
    );
    // A witness may add its line.
    let witnessed = format!("{signed}{ENOCH_LINE}");
    assert_eq!(
        key.verifier().open_checkpoint(witnessed.as_bytes()),
        Ok(checkpoint(head))
    );

    for position in 0..signed.len() {
        let mut changed = signed.clone().into_bytes();
        changed[position] ^= 1;
        assert!(
            key.verifier().open_checkpoint(&changed).is_err(),
            "byte {position}"
        );
    }
    let other = LogKey::from_seed("memoir.example/log", &[8; 32]).unwrap();
    assert!(matches!(
        other.verifier().open_checkpoint(signed.as_bytes()),
        Err(CheckpointError::Note(NoteError::Unsigned(_)))
    ));
    // Signed by the log, but of another log, or nothing like a checkpoint.
    let (text, _) = signed.split_once("\n\n").unwrap();
    let strange = key.sign(&format!("{}\n", text.replace("/log", "/other")));
    assert!(matches!(
        key.verifier().open_checkpoint(strange.as_bytes()),
        Err(CheckpointError::OtherLog { .. })
    ));
    let poem = key.sign(TEXT);
    assert_eq!(
        key.verifier()
            .open_checkpoint(poem.as_bytes())
            .unwrap_err()
            .to_string(),
        "not a checkpoint: its second line is no size"
    );
}

proptest! {
    #[test]
    fn spec_4_2_no_input_makes_the_reader_of_notes_fail_otherwise(note in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(verifier(PETER).open_checkpoint(&note).is_err());
        let with_line = [note.as_slice(), b"\n\n", PETER_LINE.as_bytes()].concat();
        prop_assert!(verifier(PETER).open_note(&with_line).is_err());
    }
}

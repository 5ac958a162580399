//! The stored index of an agent's words: recall finds the same with it as without, it fits or is built anew, and nothing
//! of it outlasts the words (SPEC 2.8, 5.3).

use std::{fs, path::Path};

use memoir_app::{
    Handling, IndexStoring, InstallationSettings, MemoryInput, RecallSettings, ShredWish,
};
use memoir_domain::{
    agent::Field,
    memory::{Kind, Number},
    recall::RecallQuery,
};
use memoir_testkit::{InstallationFolder, TestInstallation, input, query};
use rusqlite::Connection;

use crate::installation::{TestAgent, new_folder, person, settings};

/// The index of an agent with so many memories is stored.
fn storing(stored_from: u64) -> InstallationSettings {
    InstallationSettings {
        recall: RecallSettings {
            stored_from,
            ..RecallSettings::default()
        },
        ..settings()
    }
}

fn folder() -> InstallationFolder {
    new_folder().with_settings(storing(1))
}

/// The matches as another process finds them: number, score, what it corrects, and the matched terms.
type Found = Vec<(u64, f32, Option<Number>, usize)>;

async fn found(wren: &TestAgent, query: &RecallQuery) -> Found {
    let page = wren.seen().recall_page(query, None, false).await.unwrap();
    let found = page.found.into_iter().map(|(found, memory)| {
        assert_eq!(found.number, memory.number);
        (
            found.number.0,
            found.score,
            found.corrects,
            found.terms.len(),
        )
    });
    found.collect()
}

fn asked(text: &str) -> RecallQuery {
    query(text, 100)
}

async fn stored(installation: &TestInstallation, outcome: &str) -> u64 {
    let families = installation.memoir.metrics().await;
    let mut families = families.iter();
    let family = families.find(|family| family.name() == "memoir_recall_stored_indexes_total");
    let metrics = family.map_or(&[][..], |family| family.get_metric());
    let mut metrics = metrics.iter();
    let one = metrics.find(|metric| metric.get_label()[0].value() == outcome);
    one.map_or(0, |one| one.get_counter().get_value() as u64)
}

/// Another process on the same store, which reads stored indexes, and one that does not.
async fn both(wren: &TestAgent) -> (TestAgent, TestAgent) {
    let with = wren.installation.another_process();
    let without = wren.installation.clone().with_settings(storing(u64::MAX));
    (TestAgent::of(&with).await, TestAgent::of(&without).await)
}

async fn parts(wren: &TestAgent) -> usize {
    let rows = wren.store.word_index(wren.agent.scope(), None).await;
    rows.unwrap().len()
}

/// Numbers that are the same in each run.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn text(&mut self, number: usize) -> String {
        const WHO: [&str; 5] = ["Mia", "The studio", "Der Haustürschlüssel", "Zoé", "猫"];
        const WHAT: [&str; 6] = [
            "is no longer at",
            "keeps the kiln in",
            "moved to",
            "liegt jetzt in",
            "fires glaze 12 at",
            "は今",
        ];
        const WHERE: [&str; 5] = [
            "Leipzig",
            "the old loom",
            "Arbeitszimmer",
            "cone 10",
            "Kyoto",
        ];
        let (who, what, place) = (self.one(&WHO), self.one(&WHAT), self.one(&WHERE));
        format!("{who} {what} {place}, note {number}")
    }
}

/// One change of an agent with so many memories; returns how many it has then.
async fn change(wren: &TestAgent, drawn: &mut Drawn, count: u64) -> u64 {
    wren.clock.advance(std::time::Duration::from_secs(60));
    let memories = wren.agent.memories();
    let some = Number(1 + drawn.below(count.max(1) as usize) as u64);
    let text = drawn.text(count as usize);
    let mut new = input(&text);
    let handling = match drawn.below(12) {
        0..=4 => {
            new.kind = Some([Kind::Core, Kind::Journal, Kind::Archival][drawn.below(3)]);
            None
        }
        5 | 6 => {
            new.replaces = vec![some];
            None
        }
        7 => Some(Handling::Discard),
        8 => Some(Handling::Restore),
        9 => Some(Handling::Promote),
        10 => Some(Handling::Protect),
        _ => {
            let prompt = [(Field::SystemPrompt, Some(text.as_str()))];
            let configured = wren.agent.settings().configure(&prompt, &person()).await;
            configured.unwrap();
            return count;
        }
    };
    match handling {
        None => {
            let saved = memories.save(&[new], &person()).await.unwrap();
            count.max(saved[0].memory.number.0)
        }
        Some(handling) => {
            // What cannot be done changes nothing.
            let _ = memories.handle(some, handling, &person()).await;
            count
        }
    }
}

async fn is_outdated(wren: &TestAgent) -> bool {
    let outdated = wren.agent.memories().is_stored_index_outdated();
    outdated.await.unwrap()
}

#[tokio::test]
async fn spec_2_8_recall_by_a_stored_index_finds_what_it_finds_without() {
    let mut read = 0;
    for seed in 0..6 {
        let wren = TestAgent::with(&["The kiln is hot"], storing(1)).await;
        let (mut drawn, mut count) = (Drawn(seed), 1);
        for step in 0..60 {
            count = change(&wren, &mut drawn, count).await;
            if step % 20 == 15 {
                let gone = Number(1 + drawn.below(count as usize) as u64);
                let wish = ShredWish::of(gone, "gone");
                // A constitutional one is shredded too by an administrator; a shredded one is refused.
                let _ = wren.agent.memories().shred(wish, &person()).await;
            }
            if drawn.below(4) == 0 {
                let (other, _) = both(&wren).await;
                other.agent.memories().store_index().await.unwrap();
            }
            if step % 3 == 0 {
                let (with, without) = both(&wren).await;
                for text in [
                    "where is the kiln now?",
                    "\"moved to\"",
                    "Schlüssel",
                    "studoi lepzig",
                    "猫 今",
                    "note",
                    "",
                ] {
                    let query = asked(text);
                    let expected = found(&without, &query).await;
                    assert_eq!(
                        found(&with, &query).await,
                        expected,
                        "{seed}, {step}: {text}"
                    );
                }
                read += stored(&with.installation, "read").await;
                assert_eq!(stored(&with.installation, "unreadable").await, 0);
            }
        }
        let verified = wren.agent.log().verify().await.unwrap();
        assert!(verified.valid, "{:?}", verified.first_bad);
    }
    assert!(read > 40, "{read} processes began with a stored index");
}

#[tokio::test]
async fn spec_5_3_a_stored_index_goes_with_words_and_is_of_one_version() {
    let wren = TestAgent::with(
        &["The kiln is hot", "A quagga came", "The loom is old"],
        storing(1),
    )
    .await;
    let (first, _) = both(&wren).await;
    assert!(is_outdated(&first).await);
    assert_eq!(
        first.agent.memories().store_index().await.unwrap(),
        IndexStoring::Stored
    );
    assert_eq!(parts(&wren).await, 1);
    // It is stored once, as long as it is current.
    let (second, _) = both(&wren).await;
    assert!(!is_outdated(&second).await);
    assert_eq!(
        second.agent.memories().store_index().await.unwrap(),
        IndexStoring::Left
    );
    let (wish, actor) = (ShredWish::of(Number(2), "gone"), person());
    wren.agent.memories().shred(wish, &actor).await.unwrap();
    assert_eq!(parts(&wren).await, 0);
    // One of an earlier version is not stored any more.
    assert_eq!(found(&second, &asked("quagga")).await, []);
    assert_eq!(
        second.agent.memories().store_index().await.unwrap(),
        IndexStoring::Stored
    );
    assert_eq!(parts(&wren).await, 1);
    wren.agent.log().erase(&person()).await.unwrap();
    assert_eq!(parts(&wren).await, 0);
    assert!(second.agent.memories().store_index().await.is_err());
    assert_eq!(parts(&wren).await, 0);
}

#[tokio::test]
async fn spec_5_3_an_index_larger_than_the_memory_for_all_is_not_stored() {
    let wren = TestAgent::with(&["The kiln is hot"], storing(1)).await;
    let mut limits = storing(1);
    limits.recall.index_bytes = 1;
    let small = wren.installation.clone().with_settings(limits);
    let small = TestAgent::of(&small).await;
    let outcome = small.agent.memories().store_index().await.unwrap();
    assert_eq!(outcome, IndexStoring::TooLarge);
    assert_eq!(parts(&wren).await, 0);
}

/// Saves some words whose stored index has several parts, and stores it.
async fn filled(wren: &TestAgent) {
    for part in 0..4 {
        let inputs: Vec<MemoryInput> = (0..400)
            .map(|at| {
                let words: Vec<String> = (0..12)
                    .map(|word| format!("word{}x{}", (at + part * 400) * 3 + word, word))
                    .collect();
                input(&format!("Quagga {}", words.join(" ")))
            })
            .collect();
        wren.save(&inputs).await;
    }
    assert_eq!(
        wren.agent.memories().store_index().await.unwrap(),
        IndexStoring::Stored
    );
}

#[tokio::test]
async fn spec_5_3_a_stored_index_that_was_changed_is_built_anew() {
    let folder = folder();
    let installation = folder.open();
    let (wren, robin) = (
        TestAgent::of(&installation).await,
        TestAgent::named("robin", &installation).await,
    );
    for agent in [&wren, &robin] {
        filled(agent).await;
    }
    let count = parts(&wren).await;
    assert!(count > 3, "{count}");
    let [one, other] = [&wren, &robin].map(|agent| {
        let id = agent.agent.scope().agent;
        let id: String = id
            .as_bytes()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("x'{id}'")
    });
    drop((wren, robin, installation));
    // Before a later save, an index of an earlier version: whole, so that it is only older.
    let older = folder.path().join("older");
    folder.copy_to(&older);
    let wren = TestAgent::of(&folder.open()).await;
    wren.remember("The kiln is hot").await;
    let expected = found(&wren, &asked("word7x7")).await;
    assert!(!expected.is_empty());
    drop(wren);
    let last = count - 1;
    let own = format!("agent_id = {one}");
    for (tamper, outcome) in [
        (
            format!("DELETE FROM word_indexes WHERE part = 2 AND {own}"),
            "unreadable",
        ),
        (
            format!("DELETE FROM word_indexes WHERE part = {last} AND {own}"),
            "unreadable",
        ),
        (
            format!(
                "UPDATE word_indexes SET part = CASE part WHEN 1 THEN 1000 ELSE part END WHERE {own}"
            ),
            "unreadable",
        ),
        (
            format!(
                "UPDATE word_indexes SET body = (SELECT body FROM word_indexes AS o WHERE o.part = 3 - word_indexes.part \
                     AND o.agent_id = word_indexes.agent_id) WHERE part IN (1, 2) AND {own}"
            ),
            "unreadable",
        ),
        (
            format!(
                "UPDATE word_indexes SET body = (SELECT body FROM word_indexes AS o WHERE o.part = word_indexes.part \
                     AND o.agent_id = {other}) WHERE {own}"
            ),
            "unreadable",
        ),
        (
            format!("UPDATE word_indexes SET hash = zeroblob(32) WHERE {own}"),
            "unreadable",
        ),
        (
            format!("UPDATE word_indexes SET version = version - 1 WHERE {own}"),
            "unreadable",
        ),
        (
            format!("UPDATE word_indexes SET last_seq = last_seq - 1 WHERE {own}"),
            "unreadable",
        ),
        (
            format!("UPDATE word_indexes SET version = version + 1000 WHERE {own}"),
            "outdated",
        ),
        (
            format!(
                "UPDATE word_indexes SET body = CAST(substr(body, 1, 999) || CASE substr(body, 1000, 1) WHEN x'00' THEN x'01' ELSE x'00' END || substr(body, 1001) AS BLOB) WHERE part = 1 AND {own}"
            ),
            "unreadable",
        ),
        (
            format!("UPDATE word_indexes SET body = x'' WHERE part = 0 AND {own}"),
            "unreadable",
        ),
        (format!("DELETE FROM word_indexes WHERE {own}"), "outdated"),
        (
            format!(
                "ATTACH '{}' AS older; DELETE FROM word_indexes WHERE {own}; \
                 INSERT INTO word_indexes SELECT * FROM older.word_indexes WHERE {own}",
                older.display()
            ),
            "read",
        ),
    ] {
        let copy = folder.path().join("copy");
        folder.copy_to(&copy);
        let connection = Connection::open(&copy).unwrap();
        connection.execute_batch(&tamper).unwrap();
        drop(connection);
        let installation = folder.open_at(&copy);
        let wren = TestAgent::of(&installation).await;
        assert_eq!(found(&wren, &asked("word7x7")).await, expected, "{tamper}");
        assert_eq!(found(&wren, &asked("kiln")).await.len(), 1, "{tamper}");
        assert_eq!(stored(&installation, outcome).await, 1, "{tamper}");
        // One that does not open is deleted, so that the next process does not read it in vain.
        if outcome == "unreadable" {
            assert_eq!(parts(&wren).await, 0, "{tamper}");
            assert_eq!(
                wren.agent.memories().store_index().await.unwrap(),
                IndexStoring::Stored
            );
        }
        let verified = installation.memoir.verify_all().await.unwrap();
        assert!(
            verified.iter().all(|one| one.valid),
            "{tamper}: {verified:?}"
        );
        drop((wren, installation));
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{end}", copy.display()));
        }
    }
}

#[tokio::test]
async fn spec_5_3_no_word_of_a_stored_index_is_in_the_file() {
    let folder = folder();
    let installation = folder.open();
    let wren = TestAgent::of(&installation).await;
    filled(&wren).await;
    let holds = |path: &Path, wanted: &[u8]| {
        let bytes = fs::read(path).unwrap_or_default();
        bytes.windows(wanted.len()).any(|part| part == wanted)
    };
    let wal = folder.path().join("memoir.db-wal");
    for path in [folder.database(), wal] {
        for word in ["quagga", "Quagga", "word7x7"] {
            assert!(!holds(&path, word.as_bytes()), "{word} in {path:?}");
            // The keys by which an index knows words are digests of a part of a text.
            let key = memoir_text::key(&word.to_lowercase());
            assert!(
                !holds(&path, &key.to_le_bytes()),
                "the key of {word} in {path:?}"
            );
            assert!(
                !holds(&path, &key.to_be_bytes()),
                "the key of {word} in {path:?}"
            );
        }
    }
    assert!(holds(&folder.database(), b"SQLite"));
}

#[tokio::test]
async fn spec_5_3_a_stored_index_far_behind_is_built_anew_and_stored() {
    let wren = TestAgent::with(&["The kiln is hot"], storing(1)).await;
    assert_eq!(
        wren.agent.memories().store_index().await.unwrap(),
        IndexStoring::Stored
    );
    for at in 0..17 {
        wren.remember(&format!("The loom is old, note {at}")).await;
    }
    let (with, without) = both(&wren).await;
    assert_eq!(
        found(&with, &asked("loom")).await,
        found(&without, &asked("loom")).await
    );
    assert_eq!(stored(&with.installation, "outdated").await, 1);
    assert!(is_outdated(&with).await);
    assert_eq!(
        with.agent.memories().store_index().await.unwrap(),
        IndexStoring::Stored
    );
    let (with, _) = both(&wren).await;
    assert_eq!(found(&with, &asked("loom")).await.len(), 17);
    assert_eq!(stored(&with.installation, "read").await, 1);
    // Few memories are indexed as fast as an index is read.
    let few = wren.installation.clone().with_settings(storing(1_000));
    let few = TestAgent::of(&few).await;
    assert!(!is_outdated(&few).await);
    assert_eq!(
        few.agent.memories().store_index().await.unwrap(),
        IndexStoring::Left
    );
}

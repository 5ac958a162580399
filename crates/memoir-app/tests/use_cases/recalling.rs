//! Recall by a cached index: it is always current, of one agent alone, and wiped completely (SPEC 2.8, 5.3).

use std::{sync::Arc, time::Duration};

use memoir_app::{
    Erased, Handling, InstallationSettings, Memoir, MemoryInput, RecallSettings, ShredWish,
};
use memoir_domain::{audit::Actor, memory::Number, recall::RecallQuery};
use memoir_store::Store;
use memoir_store_sqlite::SqliteStore;
use memoir_testkit::{archival, input, keys_in_memory, query, replacing};

use crate::installation::{TestAgent, handle_by, lens, own, person, settings, shred_by};

fn asked(text: &str) -> RecallQuery {
    query(text, 20)
}

async fn recalled(agent: &memoir_app::AgentHandle, text: &str) -> Vec<u64> {
    let found = lens(agent).recall(&asked(text)).await;
    let mut numbers: Vec<u64> = found
        .unwrap()
        .iter()
        .map(|memory| memory.number.0)
        .collect();
    numbers.sort_unstable();
    numbers
}

/// The value of a metric without labels.
async fn measured(memoir: &Memoir, name: &str) -> u64 {
    let families = memoir.metrics().await;
    let family = families.iter().find(|family| family.name() == name);
    let metric = &family.unwrap().get_metric()[0];
    let histogram = metric.get_histogram().get_sample_count();
    let value = metric.get_gauge().get_value() + metric.get_counter().get_value();
    histogram + value as u64
}

const BUILT: &str = "memoir_recall_index_build_duration_seconds";

#[tokio::test]
async fn spec_2_8_the_index_follows_what_this_process_writes() {
    let wren = TestAgent::new(&["The kiln is hot", "The loom is old"]).await;
    assert_eq!(recalled(&wren.agent, "kiln").await, [1]);
    wren.remember("A second kiln came").await;
    assert_eq!(recalled(&wren.agent, "kiln").await, [1, 3]);
    let before = wren.memoir.now();
    wren.clock.advance(Duration::from_secs(60));
    wren.handle(Number(1), Handling::Discard).await;
    assert_eq!(recalled(&wren.agent, "kiln").await, [3]);
    wren.handle(Number(1), Handling::Restore).await;
    assert_eq!(recalled(&wren.agent, "kiln").await, [1, 3]);
    wren.clock.advance(Duration::from_secs(60));
    wren.handle(Number(3), Handling::Discard).await;
    wren.agent.log().rewind(before, &person()).await.unwrap();
    assert_eq!(recalled(&wren.agent, "kiln").await, [1, 3]);
    assert_eq!(
        measured(&wren.memoir, BUILT).await,
        1,
        "it was never built anew"
    );
    assert_eq!(measured(&wren.memoir, "memoir_recall_indexes").await, 1);
    assert!(measured(&wren.memoir, "memoir_recall_index_bytes").await > 0);
}

#[tokio::test]
async fn spec_2_8_a_quoted_phrase_of_marks_must_occur_beside_words() {
    let wren = TestAgent::new(&["Tea in the_pot", "Tea"]).await;
    let question = "\"_\" tea";
    assert_eq!(recalled(&wren.agent, question).await, [1]);
    wren.remember("Tea _ cups").await;
    assert_eq!(recalled(&wren.agent, question).await, [1, 3]);
    assert_eq!(recalled(&wren.agent, "tea").await, [1, 2, 3]);
    wren.handle(Number(1), Handling::Discard).await;
    assert_eq!(recalled(&wren.agent, question).await, [3]);
    // By a temporary index.
    let lens = lens(&wren.agent);
    let page = lens.recall_page(&asked(question), None, true).await;
    let mut found: Vec<u64> = page
        .unwrap()
        .found
        .iter()
        .map(|(_, memory)| memory.number.0)
        .collect();
    found.sort_unstable();
    assert_eq!(found, [1, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn spec_2_8_an_index_that_is_built_beside_saves_has_what_they_saved() {
    let texts: Vec<String> = (0..2_000)
        .map(|number| format!("The loom number {number} is old"))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let wren = TestAgent::new(&texts).await;
    let saves = async {
        for number in 0..20 {
            wren.remember(&format!("A kiln came, number {number}"))
                .await;
        }
    };
    let (early, ()) = tokio::join!(recalled(&wren.agent, "kiln"), saves);
    assert!(early.len() <= 20);
    let saved: Vec<u64> = (2_001..=2_020).collect();
    assert_eq!(recalled(&wren.agent, "kiln").await, saved);
    // Built once, or once more where a save came between its end and its entry.
    assert!(measured(&wren.memoir, BUILT).await <= 2);
}

#[tokio::test]
async fn spec_2_8_the_index_is_built_anew_where_another_process_wrote() {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().unwrap());
    let keys = keys_in_memory();
    let wren = TestAgent::under(
        store.clone(),
        keys.clone(),
        &["The kiln is hot"],
        settings(),
    )
    .await;
    let other = TestAgent::again(store, keys).await;
    assert_eq!(recalled(&wren.agent, "kiln").await, [1]);
    other.clock.advance(Duration::from_secs(3_600));
    other.remember("A second kiln came").await;
    assert_eq!(recalled(&wren.agent, "kiln").await, [1, 2]);
    other.handle(Number(1), Handling::Discard).await;
    assert_eq!(recalled(&wren.agent, "kiln").await, [2]);
    assert_eq!(measured(&wren.memoir, BUILT).await, 3);
}

#[tokio::test]
async fn spec_5_3_after_shredding_and_erasing_no_index_is_left() {
    let wren = TestAgent::new(&["The password is xylophone", "The kiln is hot"]).await;
    assert_eq!(recalled(&wren.agent, "xylophone").await, [1]);
    shred_by(
        &wren.agent,
        ShredWish::of(Number(1), "a password"),
        &owner(),
    )
    .await;
    assert_eq!(measured(&wren.memoir, "memoir_recall_indexes").await, 0);
    assert_eq!(recalled(&wren.agent, "xylophone").await, [0; 0]);
    // One typing error: the word is no longer found.
    assert_eq!(recalled(&wren.agent, "xylophon").await, [0; 0]);
    assert_eq!(recalled(&wren.agent, "kiln").await, [2]);
    let Erased { .. } = wren.agent.log().erase(&person()).await.unwrap();
    assert_eq!(measured(&wren.memoir, "memoir_recall_indexes").await, 0);
    let lens = wren.seen();
    assert_eq!(
        lens.recall(&asked("kiln")).await.unwrap_err().code(),
        "erased"
    );
}

fn owner() -> Actor {
    Actor::agent("Wren")
}

#[tokio::test]
async fn spec_5_6_the_index_never_tells_another_agents_word() {
    let wren = TestAgent::new(&["The kiln is hot"]).await;
    let mut others = Vec::new();
    for (account, name) in [("default", "robin"), ("elsewhere", "wren")] {
        if account != "default" {
            wren.memoir
                .create_account(account, &person())
                .await
                .unwrap();
        }
        let account = wren.memoir.account(account).await.unwrap();
        account.create_agent(name, &[], &person()).await.unwrap();
        others.push(account.agent(name).await.unwrap());
    }
    for (other, word) in others.iter().zip(["xylophone", "theodolite"]) {
        let input = input(&format!("Here is a {word} by the door"));
        other.memories().save(&[input], &person()).await.unwrap();
    }
    for _ in 0..2 {
        assert_eq!(recalled(&wren.agent, "kiln").await, [1]);
        // Neither the word, nor a typing error in it, nor its rarity.
        for word in ["xylophone", "xylophon", "theodolite", "door"] {
            assert_eq!(recalled(&wren.agent, word).await, [0; 0], "{word}");
        }
        assert_eq!(recalled(&others[0], "xylophone").await, [1]);
        assert_eq!(recalled(&others[0], "theodolite").await, [0; 0]);
        assert_eq!(recalled(&others[1], "theodolite").await, [1]);
        assert_eq!(recalled(&others[1], "kiln").await, [0; 0]);
    }
    let mut scores = Vec::new();
    for _ in 0..2 {
        let lens = wren.seen();
        let found = lens.recall_page(&asked("hot kiln"), None, false).await;
        let found = found.unwrap();
        scores.push(found.found[0].0.score);
        let input = input("hot kiln, hot kiln");
        others[0]
            .memories()
            .save(&[input], &person())
            .await
            .unwrap();
    }
    assert!(scores[0] == scores[1], "others' words move nothing");
}

#[tokio::test]
async fn spec_5_3_indexes_stay_under_their_limit_and_the_longest_unused_goes_first() {
    let small = InstallationSettings {
        recall: RecallSettings {
            index_bytes: 48 << 10,
            ..RecallSettings::default()
        },
        ..settings()
    };
    let wren = TestAgent::with(&["The kiln is hot"], small).await;
    let account = wren.memoir.account("default").await.unwrap();
    let mut agents = vec![wren.agent.clone()];
    for name in ["robin", "heron", "stork", "crane", "finch", "swift"] {
        account.create_agent(name, &[], &person()).await.unwrap();
        let agent = account.agent(name).await.unwrap();
        let input = input(&format!("{name} keeps a kiln"));
        agent.memories().save(&[input], &person()).await.unwrap();
        agents.push(own(&agent));
    }
    for agent in &agents {
        assert_eq!(recalled(agent, "kiln").await, [1]);
    }
    let bytes = measured(&wren.memoir, "memoir_recall_index_bytes").await;
    assert!((1..=48 << 10).contains(&bytes), "{bytes}");
    let left = measured(&wren.memoir, "memoir_recall_index_evictions_total").await;
    let kept = measured(&wren.memoir, "memoir_recall_indexes").await;
    assert!(left > 0 && kept > 0);
    assert_eq!(left + kept, agents.len() as u64);
    let built = measured(&wren.memoir, BUILT).await;
    recalled(&agents[6], "kiln").await;
    assert_eq!(
        measured(&wren.memoir, BUILT).await,
        built,
        "the newest is kept"
    );
    let again = async || measured(&wren.memoir, "memoir_recall_index_rebuilds_total").await;
    assert_eq!(again().await, 0);
    recalled(&agents[0], "kiln").await;
    assert_eq!(
        measured(&wren.memoir, BUILT).await,
        built + 1,
        "the first is not"
    );
    assert_eq!(again().await, 1, "and it is marked as still wanted");
}

#[tokio::test]
async fn spec_5_1_the_size_of_the_indexes_does_not_show_whether_an_administrator_guessed_words() {
    let words = |begin: &str| -> String {
        let ends = (b'a'..=b't').flat_map(|one| (b'a'..=b't').map(move |other| (one, other)));
        let words = ends.map(|(one, other)| format!("{begin}{}{} ", one as char, other as char));
        words.collect()
    };
    let mut sizes = Vec::new();
    // The agent has the guessed words, or as many others.
    for own in ["zorb", "gluv"] {
        let wren = TestAgent::new(&[words(own).as_str()]).await;
        recalled(&wren.agent, "kiln").await;
        let before = measured(&wren.memoir, "memoir_recall_index_bytes").await;
        let guess = [input(&words("zorb"))];
        let memories = wren.agent.memories();
        memories.save(&guess, &person()).await.unwrap();
        recalled(&wren.agent, "kiln").await;
        let after = measured(&wren.memoir, "memoir_recall_index_bytes").await;
        assert!(after > before, "the index has followed");
        sizes.push(after);
    }
    assert_eq!(sizes[0], sizes[1]);
}

#[tokio::test]
async fn spec_5_3_an_index_larger_than_the_limit_is_not_built_for_each_question() {
    let small = InstallationSettings {
        recall: RecallSettings {
            index_bytes: 1,
            ..RecallSettings::default()
        },
        ..settings()
    };
    let wren = TestAgent::with(&["The kiln is hot"], small).await;
    let account = wren.memoir.account("default").await.unwrap();
    account.create_agent("robin", &[], &person()).await.unwrap();
    let robin = account.agent("robin").await.unwrap();
    let built = async || measured(&wren.memoir, BUILT).await;
    for _ in 0..3 {
        assert!(recalled(&wren.agent, "kiln").await.contains(&1));
        wren.remember("A kiln of brick").await;
    }
    assert_eq!(built().await, 1, "it stays while no other is used");
    recalled(&robin, "kiln").await;
    let kept = measured(&wren.memoir, "memoir_recall_indexes").await;
    assert_eq!(kept, 1, "and goes for the next");
    recalled(&wren.agent, "kiln").await;
    assert_eq!(built().await, 3, "once for each change between the two");
}

#[tokio::test]
async fn spec_2_8_recall_is_of_the_moment_while_others_write() {
    let wren = Arc::new(TestAgent::new(&["kiln 0"]).await);
    let writer = {
        let wren = wren.clone();
        tokio::spawn(async move {
            for number in 1..40 {
                wren.remember(&format!("kiln {number}")).await;
            }
        })
    };
    let mut least = 1;
    while !writer.is_finished() {
        let found = recalled(&wren.agent, "kiln").await.len();
        assert!(found >= least.min(20));
        least = found;
        tokio::task::yield_now().await;
    }
    writer.await.unwrap();
    let found = wren.seen().recall(&query("kiln", 200)).await;
    assert_eq!(found.unwrap().len(), 40);
}

#[tokio::test]
async fn spec_2_8_a_question_has_a_limit_that_is_named() {
    let wren = TestAgent::new(&["The kiln is hot"]).await;
    let lens = wren.seen();
    let prompt = "The kiln is hot. ".repeat(1_177);
    let fits = asked(&prompt[..20_000]);
    assert_eq!(lens.recall(&fits).await.unwrap().len(), 1);
    let refused = lens.recall(&asked(&"x".repeat(20_001))).await.unwrap_err();
    let said = refused.to_string();
    assert!(said.contains("20001") && said.contains("20000"), "{said}");
}

#[tokio::test]
async fn spec_2_8_a_prompt_of_any_length_gets_the_best_few() {
    let wren = TestAgent::new(&["The kiln is hot", "Rosa keeps bees", "The loom is old"]).await;
    let lens = wren.seen();
    let prompt = format!(
        "{} And is the \"kiln\" still hot?",
        "lorem ipsum ".repeat(5_000)
    );
    let found = lens.recall_for_prompt(&prompt.into(), 3).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].number, Number(1));
    wren.save(&[input("Is that all, then?")]).await;
    for nothing in ["", "  ", "xylophone", "?", "?!"] {
        let found = lens.recall_for_prompt(&nothing.into(), 3).await.unwrap();
        assert!(found.is_empty(), "{nothing}");
    }
}

/// Archival memories are found like others and marked; one that was replaced ranks directly after its successor.
#[tokio::test]
async fn spec_2_8_archival_memories_are_found_and_replaced_ones_follow_their_successor() {
    let wren = TestAgent::new(&[]).await;
    let me = Actor::agent("wren");
    let save = async |memory: MemoryInput| {
        let saved = wren.agent.memories().save(&[memory], &me).await.unwrap();
        saved[0].memory.number.0
    };
    let dated = |content: &str, date: &str| MemoryInput {
        created_at: Some(date.parse().unwrap()),
        ..input(content)
    };
    let first = save(dated("The kiln is fired on Mondays", "2024-01-10")).await;
    let second = save(MemoryInput {
        replaces: vec![Number(first)],
        ..dated("The kiln is fired on Thursdays", "2025-02-20")
    })
    .await;
    let other = save(input("The kiln needs a new door")).await;
    let third = save(MemoryInput {
        replaces: vec![Number(second)],
        ..dated(
            "The kiln is fired on Fridays, and cooled slowly",
            "2026-03-01",
        )
    })
    .await;
    let archival = save(archival("The kiln of my grandmother was brick")).await;
    for process in [
        wren.installation.clone(),
        wren.installation.another_process(),
    ] {
        let agent = TestAgent::of(&process).await.agent;
        let found = agent.lens().recall(&asked("when is the kiln fired")).await;
        let found = found.unwrap();
        let numbers: Vec<u64> = found.iter().map(|memory| memory.number.0).collect();
        for number in [first, second, third, other, archival] {
            assert!(numbers.contains(&number), "#{number}: {numbers:?}");
        }
        // Each directly after the one that replaced it.
        let at = numbers.iter().position(|number| *number == third).unwrap();
        assert_eq!(numbers[at..at + 3], [third, second, first]);
        let of = |number: u64| found.iter().find(|one| one.number.0 == number).unwrap();
        let mark = |number: u64| {
            let replaced = of(number).replaced()?;
            Some((replaced.until.to_string(), replaced.now.0))
        };
        assert_eq!(
            mark(first),
            Some(("2025-02-20T00:00:00Z".to_owned(), third)),
            "until the date of the next one, and what is so now"
        );
        assert_eq!(
            mark(second),
            Some(("2026-03-01T00:00:00Z".to_owned(), third))
        );
        assert_eq!(
            (mark(third), mark(other), mark(archival)),
            (None, None, None)
        );
        let places = [first, second, archival].map(|number| {
            let memory = of(number);
            (memory.kind.as_str(), memory.under.map(|under| under.0))
        });
        assert_eq!(
            places,
            [
                ("archival", Some(second)),
                ("archival", Some(third)),
                ("archival", None)
            ]
        );
        // By kind.
        let only = RecallQuery {
            kind: Some(memoir_domain::memory::Kind::Archival),
            ..asked("kiln")
        };
        let found = agent.lens().recall(&only).await.unwrap();
        assert_eq!(found.len(), 3);
    }
    // Discarding the current memory removes the note; promoted, it is a core memory like others.
    handle_by(&wren.agent, Number(third), Handling::Discard, &me).await;
    let found = wren.seen().recall(&asked("kiln fired")).await.unwrap();
    assert!(found.iter().all(|memory| memory.replaced().is_none()));
    handle_by(&wren.agent, Number(second), Handling::Promote, &me).await;
    let found = wren.seen().recall(&asked("kiln fired")).await.unwrap();
    let marked: Vec<_> = found
        .iter()
        .filter_map(|memory| Some((memory.number.0, memory.replaced()?.now.0)))
        .collect();
    assert_eq!(marked, [(first, second)]);
}

/// A source of a summary, and a copy, are archival and found, and were not replaced.
#[tokio::test]
async fn spec_2_8_what_is_under_a_summary_or_has_the_same_text_is_not_marked_as_replaced() {
    let wren = crate::archiving::archivist().await;
    let session = crate::archiving::open(&wren).await;
    let summary =
        serde_json::json!({"ids": [1, 2], "content": "we spoke about the bread and the river."});
    crate::archiving::edit(&wren, session, "consolidate_memories", summary).await;
    crate::archiving::complete(&wren, session).await;
    let me = Actor::agent("wren");
    let text = wren.seen().memory(Number(5)).await.unwrap();
    let copy = replacing(text.content(), &[5]);
    let saved = wren.agent.memories().save(&[copy], &me).await.unwrap();
    assert_eq!(saved[0].replaced, Some(vec![Number(5)]));
    let found = wren.seen().recall(&asked("bread river garden")).await;
    let found = found.unwrap();
    for number in [1, 2, 5] {
        let memory = found.iter().find(|one| one.number.0 == number).unwrap();
        assert_eq!(memory.kind.as_str(), "archival");
        assert!(memory.under.is_some() && memory.replaced().is_none());
    }
    // A session's search covers the archive, and marks it (SPEC 3.8).
    let session = crate::archiving::open(&wren).await;
    let found = crate::archiving::edit(
        &wren,
        session,
        "search_memories",
        serde_json::json!({"query": "bread"}),
    )
    .await;
    let found = found["results"].as_array().unwrap().clone();
    let places: Vec<_> = found
        .iter()
        .map(|hit| {
            (
                hit["number"].as_u64().unwrap(),
                hit["kind"].as_str().unwrap(),
            )
        })
        .collect();
    assert!(places.contains(&(1, "archival")), "{places:?}");
    assert!(places.contains(&(15, "core")), "{places:?}");
}

//! Vectors of memories: made by a server on loopback that follows a script, sealed, used by recall, and removed with
//! their texts (SPEC 2.8, 5.3, 6.4).

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Sender},
    },
    time::Duration,
};

use memoir_app::{
    AccessRequestFacts, AgentHandle, Error, Handling, IndexStoring, InstallationSettings,
    RecallPage, RecallSettings, SessionLimits, Severity, ShredWish, import,
};
use memoir_domain::{AccessRequestId, audit::Actor, memory::Number, recall::SemanticStatus};
use memoir_model::{ProviderSettings, Providers};
use memoir_store_sqlite::SqliteStore;
use memoir_testkit::{ScriptedServer, ServerStep, TestInstallation, WatchedStore, input, query};
use serde_json::json;
use tokio::sync::Notify;

use crate::installation::{CountedCalls, handle_by, lens, person, revoke_by, save_by, shred_by};

/// The scripted model's vector of a text: its subject, in three directions.
fn about(text: &str) -> Vec<f32> {
    let is_about =
        |words: &[&str]| f32::from(u8::from(words.iter().any(|word| text.contains(word))));
    vec![
        is_about(&["bees", "honey"]),
        is_about(&["kiln", "oven"]),
        0.125,
    ]
}

fn model() -> ServerStep {
    ServerStep::embeddings(about)
}

/// An agent whose memories get vectors, and the installation that it lives in.
#[derive(derive_more::Deref)]
struct Embedding {
    #[deref]
    installation: TestInstallation,
    agent: AgentHandle,
}

const MEMORIES: [&str; 2] = ["Rosa keeps bees", "The kiln is hot"];

fn provider(base_url: &str) -> ProviderSettings {
    ProviderSettings {
        base_url: Some(base_url.to_owned()),
        ..ProviderSettings::default()
    }
}

fn settings(model: &str) -> InstallationSettings {
    InstallationSettings {
        recall: RecallSettings {
            embeddings: Some(model.parse().unwrap()),
            // Longer than a busy machine takes for a question that is answered.
            question_time: Duration::from_secs(60),
            ..RecallSettings::default()
        },
        limits: SessionLimits {
            first_wait: Duration::from_millis(1),
            longest_wait: Duration::from_millis(1),
            attempts: 3,
            ..SessionLimits::default()
        },
        ..InstallationSettings::default()
    }
}

/// As [`settings`]; the index of an agent with any memory is stored.
fn storing(model: &str) -> InstallationSettings {
    let mut settings = settings(model);
    settings.recall.stored_from = 1;
    settings
}

impl Embedding {
    /// With an agent and two memories, in memory.
    async fn new(server: &ScriptedServer) -> Self {
        Self::at(&server.base_url(), settings("lab:small")).await
    }

    /// As [`Embedding::new`], with a provider `lab` of that address.
    async fn at(base_url: &str, settings: InstallationSettings) -> Self {
        Self::on(&TestInstallation::in_memory(), base_url, settings).await
    }

    /// To a process of that installation.
    async fn on(
        installation: &TestInstallation,
        base_url: &str,
        settings: InstallationSettings,
    ) -> Self {
        Self::with(installation, [("lab", provider(base_url))], settings).await
    }

    /// With providers by their names.
    async fn with(
        installation: &TestInstallation,
        named: impl IntoIterator<Item = (&str, ProviderSettings)>,
        settings: InstallationSettings,
    ) -> Self {
        let named = named.into_iter();
        let providers: BTreeMap<String, ProviderSettings> = named
            .map(|(name, provider)| (name.to_owned(), provider))
            .collect();
        let providers = Providers::with_environment(providers, |_| None).unwrap();
        let installation = installation
            .clone()
            .with_models(Arc::new(providers))
            .with_settings(settings);
        let account = installation.account("default").await;
        let agent = match account.agent("wren").await {
            Ok(agent) => agent,
            Err(_) => {
                account.create_agent("wren", &[], &person()).await.unwrap();
                let agent = account.agent("wren").await.unwrap();
                for text in MEMORIES {
                    save(&agent, text).await;
                }
                agent
            }
        };
        Self {
            installation,
            agent,
        }
    }

    async fn ask(&self, text: &str) -> (Vec<u64>, Option<SemanticStatus>) {
        let RecallPage { found, meaning } = asked(&self.agent, text).await.unwrap();
        (
            found.iter().map(|(found, _)| found.number.0).collect(),
            meaning,
        )
    }

    /// The memories with a vector.
    async fn vectors(&self, model: &str) -> Vec<u64> {
        let all: Vec<Number> = (1..=99).map(Number).collect();
        let rows = self.store.vectors(self.agent.scope(), model, &all).await;
        let mut numbers: Vec<u64> = rows.unwrap().iter().map(|row| row.number.0).collect();
        numbers.sort_unstable();
        numbers
    }
}

async fn save(agent: &AgentHandle, text: &str) {
    let input = input(text);
    agent.memories().save(&[input], &me()).await.unwrap();
}

async fn asked(agent: &AgentHandle, text: &str) -> Result<RecallPage, Error> {
    let asked = query(text, 10);
    lens(agent).recall_page(&asked, None, false).await
}

fn me() -> Actor {
    Actor::agent("wren")
}

const ALL: Option<SemanticStatus> = Some(SemanticStatus::Merged);
const SOME: Option<SemanticStatus> = Some(SemanticStatus::Partial);
const DOWN: Option<SemanticStatus> = Some(SemanticStatus::Unavailable);
const NONE: [u64; 0] = [];

#[tokio::test]
async fn spec_2_8_what_is_near_in_meaning_is_found_once_it_has_a_vector() {
    let server = ScriptedServer::always(model());
    let wren = Embedding::new(&server).await;
    assert_eq!(wren.ask("honey").await, (vec![], SOME));
    let made = wren.agent.memories().make_vectors().await.unwrap();
    assert_eq!((made.made, made.refused, made.problem), (2, 0, None));
    let batch = server.requests().pop().unwrap();
    assert_eq!(batch, json!({"model": "small", "input": MEMORIES}));
    assert_eq!(wren.ask("honey").await, (vec![1, 2], ALL));
    assert_eq!(wren.ask("oven").await, (vec![2, 1], ALL));
    assert_eq!(wren.ask("hot kiln").await.0[0], 2);
    // One query is one request, and none is sent for a query without meaning.
    let before = server.requests().len();
    assert_eq!(wren.ask("honey").await.1, ALL);
    assert_eq!(server.requests().len(), before + 1);
    assert_eq!(wren.ask("").await, (vec![2, 1], None));
    assert_eq!(wren.ask("_").await, (vec![], None));
    assert_eq!(server.requests().len(), before + 1);
    // Made once.
    assert_eq!(wren.agent.memories().make_vectors().await.unwrap().made, 0);
    assert_eq!(server.requests().len(), before + 1);
    save(&wren.agent, "An oven of brick").await;
    assert_eq!(wren.ask("kilns").await.1, SOME);
    assert_eq!(wren.agent.memories().make_vectors().await.unwrap().made, 1);
    assert_eq!(wren.ask("oven").await, (vec![3, 2, 1], ALL));
}

#[tokio::test]
async fn spec_2_8_without_a_model_of_embeddings_nothing_is_sent() {
    let server = ScriptedServer::always(model());
    let off = InstallationSettings::default();
    let wren = Embedding::at(&server.base_url(), off).await;
    assert_eq!(wren.ask("kiln").await, (vec![2], None));
    assert!(
        wren.agent
            .memories()
            .make_vectors()
            .await
            .unwrap()
            .problem
            .is_some()
    );
    wren.memoir.keep_making_vectors().await;
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn spec_2_8_what_is_saved_gets_its_vector_in_the_background() {
    let server = ScriptedServer::always(model());
    let wren = Embedding::new(&server).await;
    let story = async {
        let whole = async |wren: &Embedding| {
            while wren.ask("honey").await.1 != ALL {
                tokio::task::yield_now().await;
            }
        };
        whole(&wren).await;
        save(&wren.agent, "Honey is sold in spring, says bees' friend").await;
        whole(&wren).await;
        handle_by(&wren.agent, Number(1), Handling::Discard, &me()).await;
        handle_by(&wren.agent, Number(1), Handling::Restore, &me()).await;
        whole(&wren).await;
        assert_eq!(wren.vectors("lab:small").await, [1, 2, 3]);
    };
    tokio::select! {
        () = story => {}
        () = wren.memoir.keep_making_vectors() => panic!("it goes on for ever"),
    }
}

#[tokio::test]
async fn spec_2_8_a_server_that_is_down_slow_or_wrong_leaves_recall_by_words() {
    let never = || ServerStep::Slow(Duration::from_secs(3_600), Box::new(model()));
    let data = |data: serde_json::Value| ServerStep::Reply(json!({"data": data}));
    let one = json!({"index": 0, "embedding": [1.0, 2.0, 3.0]});
    for (what, step) in [
        ("slow", never()),
        ("down", ServerStep::status(503)),
        ("gone", ServerStep::Hangup),
        ("cut", ServerStep::CutConnection),
        ("wrong count", data(json!([one, one]))),
        (
            "no number",
            data(json!([{"index": 0, "embedding": [1.0, null]}])),
        ),
        (
            "nothing",
            data(json!([{"index": 0, "embedding": [0.0, 0.0]}])),
        ),
        ("no JSON", ServerStep::html()),
        ("half of it", ServerStep::malformed()),
        ("refused", ServerStep::status(401)),
    ] {
        let server = ScriptedServer::start([model()]);
        let mut settings = settings("lab:small");
        settings.recall.question_time = match what {
            // As long as a query takes on a busy machine, since the last of them is answered.
            "slow" => Duration::from_secs(3),
            _ => Duration::from_secs(600),
        };
        let wren = Embedding::at(&server.base_url(), settings).await;
        assert_eq!(wren.agent.memories().make_vectors().await.unwrap().made, 2);
        server.push(step);
        assert_eq!(wren.ask("hot").await, (vec![2], DOWN), "{what}");
        // After a failure none is called for some time, so that no query waits for it.
        server.push(model());
        if !["refused", "no JSON"].contains(&what) {
            assert_eq!(wren.ask("hot").await.1, DOWN, "{what}");
            assert_eq!(server.steps_left(), 1, "{what}");
            wren.clock.advance(Duration::from_secs(31));
        }
        assert_eq!(wren.ask("honey").await, (vec![1, 2], ALL), "{what}");
    }
}

#[tokio::test]
async fn spec_2_8_a_server_that_never_answers_a_batch_leaves_recall_by_words() {
    let server = ScriptedServer::always(model());
    let provider = ProviderSettings {
        request_timeout_seconds: Some(5),
        ..provider(&server.base_url())
    };
    let mut settings = settings("lab:small");
    settings.limits.attempts = 1;
    let wren = Embedding::with(
        &TestInstallation::in_memory(),
        [("lab", provider)],
        settings,
    )
    .await;
    // It accepts the batch and does not respond, while it answers queries.
    server.push(ServerStep::Slow(
        Duration::from_secs(3_600),
        Box::new(model()),
    ));
    let (made, ()) = tokio::join!(wren.agent.memories().make_vectors(), async {
        while server.steps_left() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(wren.ask("kiln").await, (vec![2], SOME));
        save(&wren.agent, "An oven of brick").await;
    });
    let made = made.unwrap();
    assert_eq!((made.made, made.refused), (0, 0));
    assert!(made.problem.unwrap().contains("did not answer in time"));
    assert_eq!(wren.ask("kiln").await, (vec![2], SOME));
    // The rest is made once it responds.
    assert_eq!(wren.agent.memories().make_vectors().await.unwrap().made, 3);
    assert_eq!(wren.ask("kiln").await, (vec![2, 3, 1], ALL));
}

#[tokio::test]
async fn spec_2_8_nothing_that_a_server_does_ends_the_making_of_vectors_for_good() {
    let server = ScriptedServer::start([
        ServerStep::status(500),
        ServerStep::malformed(),
        ServerStep::status(429),
    ]);
    let wren = Embedding::new(&server).await;
    let made = wren.agent.memories().make_vectors().await.unwrap();
    assert_eq!(made.made, 0);
    assert!(made.problem.unwrap().contains("rate of requests"));
    assert_eq!(server.steps_left(), 0, "as many attempts as are set");
    for step in [ServerStep::status(500), model()] {
        server.push(step);
    }
    assert_eq!(wren.agent.memories().make_vectors().await.unwrap().made, 2);
}

#[tokio::test]
async fn spec_2_8_a_person_is_told_of_each_wait_and_waits_no_longer_than_stated() {
    let server = ScriptedServer::start([
        ServerStep::status(503),
        ServerStep::status(429).retry_after("3600"),
    ]);
    let wren = Embedding::new(&server).await;
    let waits = Mutex::new(Vec::new());
    let waiting = |wait: Duration| waits.lock().unwrap().push(wait);
    let patience = Duration::from_secs(300);
    let memories = wren.agent.memories();
    let made = memories.make_vectors_within(patience, &waiting).await;
    let problem = made.unwrap().problem.unwrap();
    assert!(
        problem.ends_with("wait 3600 s; try again later"),
        "{problem}"
    );
    assert_eq!(server.steps_left(), 0);
    assert_eq!(*waits.lock().unwrap(), [Duration::from_millis(1)]);
}

#[tokio::test]
async fn spec_2_8_a_text_that_is_too_long_for_the_model_is_shortened() {
    let most = |text: &str| text.chars().count() <= 2_000;
    let server = ScriptedServer::always(ServerStep::respond(move |received| {
        let texts = received.body["input"].as_array().unwrap().iter();
        match texts.into_iter().all(|text| most(text.as_str().unwrap())) {
            true => model(),
            false => ServerStep::status(400),
        }
    }));
    let wren = Embedding::new(&server).await;
    save(&wren.agent, &format!("bees {}", "and so on ".repeat(900))).await;
    let made = wren.agent.memories().make_vectors().await.unwrap();
    assert_eq!((made.made, made.refused, made.problem), (3, 0, None));
    assert_eq!(wren.ask("honey").await.1, ALL);
    let none = ScriptedServer::always(ServerStep::status(400));
    let wren = Embedding::new(&none).await;
    let made = wren.agent.memories().make_vectors().await.unwrap();
    assert_eq!((made.made, made.refused, made.problem), (0, 2, None));
}

#[tokio::test]
async fn spec_2_8_a_model_that_changes_its_dimension_is_asked_anew() {
    let is_longer = Arc::new(AtomicUsize::new(0));
    let longer = is_longer.clone();
    let server = ScriptedServer::always(ServerStep::embeddings(move |text| {
        let mut vector = about(text);
        vector.resize(3 + longer.load(Ordering::SeqCst), 0.0);
        vector
    }));
    let wren = Embedding::new(&server).await;
    wren.agent.memories().make_vectors().await.unwrap();
    assert_eq!(wren.ask("honey").await, (vec![1, 2], ALL));
    is_longer.store(2, Ordering::SeqCst);
    assert_eq!(wren.ask("honey").await, (vec![], SOME), "by words alone");
    assert_eq!(wren.vectors("lab:small").await, NONE);
    assert_eq!(wren.agent.memories().make_vectors().await.unwrap().made, 2);
    assert_eq!(wren.ask("honey").await, (vec![1, 2], ALL));
    // Half of them of another length: a process that made them meanwhile.
    save(&wren.agent, "An oven of brick").await;
    is_longer.store(5, Ordering::SeqCst);
    assert_eq!(wren.agent.memories().make_vectors().await.unwrap().made, 1);
    assert_eq!(wren.ask("honey").await, (vec![], SOME));
    assert_eq!(wren.agent.memories().make_vectors().await.unwrap().made, 3);
    assert_eq!(wren.ask("honey").await.1, ALL);
}

#[tokio::test]
async fn spec_2_8_a_model_that_changes_its_dimension_between_two_batches_is_asked_anew() {
    let batches = Arc::new(AtomicUsize::new(0));
    let asked = batches.clone();
    let server = ScriptedServer::always(ServerStep::respond(move |_| {
        let longer = 2 * usize::from(asked.fetch_add(1, Ordering::SeqCst) > 0);
        ServerStep::embeddings(move |text| {
            let mut vector = about(text);
            vector.resize(3 + longer, 0.0);
            vector
        })
    }));
    let wren = Embedding::new(&server).await;
    for at in 0..38 {
        save(&wren.agent, &format!("Note {at}")).await;
    }
    assert_eq!(wren.agent.memories().make_vectors().await.unwrap().made, 40);
    assert_eq!(batches.load(Ordering::SeqCst), 2);
    assert_eq!(wren.ask("kiln").await, (vec![2], SOME), "by words alone");
    assert_eq!(wren.vectors("lab:small").await, NONE);
    assert_eq!(wren.agent.memories().make_vectors().await.unwrap().made, 40);
    let (found, meaning) = wren.ask("oven").await;
    assert_eq!((found[0], meaning), (2, ALL));
}

#[tokio::test]
async fn spec_2_8_the_old_models_vectors_serve_until_the_new_ones_are_there() {
    let server = ScriptedServer::always(model());
    let installation = TestInstallation::in_memory();
    let old = Embedding::on(&installation, &server.base_url(), settings("lab:small")).await;
    old.agent.memories().make_vectors().await.unwrap();
    let new = Embedding::on(&installation, &server.base_url(), settings("lab:large")).await;
    let last_model = || server.requests().pop().unwrap()["model"].clone();
    assert_eq!(new.ask("honey").await, (vec![1, 2], ALL));
    assert_eq!(last_model(), "small");
    assert_eq!(new.agent.memories().make_vectors().await.unwrap().made, 2);
    assert_eq!(new.vectors("lab:small").await, NONE);
    assert_eq!(new.vectors("lab:large").await, [1, 2]);
    assert_eq!(new.ask("honey").await, (vec![1, 2], ALL));
    assert_eq!(last_model(), "large");
}

#[tokio::test]
async fn spec_2_8_processes_with_different_models_delete_each_others_vectors_once_a_day() {
    let server = ScriptedServer::always(model());
    let installation = TestInstallation::in_memory();
    let address = server.base_url();
    let one = Embedding::on(&installation, &address, settings("lab:small")).await;
    let other = Embedding::on(&installation, &address, settings("lab:large")).await;
    // Each deletes the other's once, and both are then kept.
    let steps = [
        (&one, 2, 2, 0),
        (&other, 2, 0, 2),
        (&one, 2, 2, 0),
        (&other, 2, 2, 2),
        (&one, 0, 2, 2),
        (&other, 0, 2, 2),
    ];
    for (process, expected, small, large) in steps {
        let made = process.agent.memories().make_vectors().await.unwrap();
        let kept = (
            one.vectors("lab:small").await.len(),
            one.vectors("lab:large").await.len(),
        );
        assert_eq!((made.made, kept), (expected, (small, large)));
    }
    // A process that is left alone deletes what remained.
    installation.clock.advance(Duration::from_secs(86_400));
    other.agent.memories().make_vectors().await.unwrap();
    assert_eq!(one.vectors("lab:small").await, NONE);
    assert_eq!(one.vectors("lab:large").await, [1, 2]);
}

#[tokio::test]
async fn spec_2_8_the_old_models_vectors_stay_where_another_process_deleted_some_of_the_new_one() {
    let server = ScriptedServer::always(model());
    let installation = TestInstallation::in_memory();
    let address = server.base_url();
    let old = Embedding::on(&installation, &address, settings("lab:small")).await;
    for at in 0..38 {
        save(&old.agent, &format!("Note {at}")).await;
    }
    assert_eq!(old.agent.memories().make_vectors().await.unwrap().made, 40);
    let new = Embedding::on(&installation, &address, settings("lab:large")).await;
    // The first batch is made; the old process deletes it during the second one.
    let (step, asked, go_on) = held();
    server.push(model());
    server.push(step);
    let meanwhile = async {
        asked.notified().await;
        assert_eq!(new.vectors("lab:large").await.len(), 32);
        assert_eq!(old.agent.memories().make_vectors().await.unwrap().made, 0);
        assert_eq!(new.vectors("lab:large").await, NONE);
        go_on.send(()).unwrap();
    };
    let (made, ()) = tokio::join!(new.agent.memories().make_vectors(), meanwhile);
    assert_eq!(made.unwrap().made, 40);
    assert_eq!(new.vectors("lab:small").await.len(), 40);
    assert_eq!(new.agent.memories().make_vectors().await.unwrap().made, 32);
    assert_eq!(new.vectors("lab:small").await, NONE);
}

#[tokio::test]
async fn spec_2_8_a_model_is_told_which_texts_are_memories_and_which_a_question() {
    let server = ScriptedServer::always(model());
    let installation = TestInstallation::in_memory();
    let on = async |settings: InstallationSettings| {
        Embedding::on(&installation, &server.base_url(), settings).await
    };
    let sent = || -> Vec<_> {
        let requests = server.requests();
        requests.iter().map(|one| one["input"].clone()).collect()
    };
    let named = settings("lab:nomic-embed-text");
    let wren = on(named.clone()).await;
    assert_eq!(wren.agent.memories().make_vectors().await.unwrap().made, 2);
    assert_eq!(wren.ask("honey").await, (vec![1, 2], ALL));
    let memories = MEMORIES.map(|text| format!("search_document: {text}"));
    assert_eq!(sent(), [json!(memories), json!(["search_query: honey"])]);
    // Another prefix is another model: until it has made as many, the former one is used, with its own prefix.
    let mut other = named;
    other.recall.before_memories = Some("kept: ".to_owned());
    other.recall.before_questions = Some(String::new());
    let other = on(other).await;
    assert_eq!(other.ask("honey").await, (vec![1, 2], ALL));
    assert_eq!(sent().pop().unwrap(), json!(["search_query: honey"]));
    assert_eq!(other.agent.memories().make_vectors().await.unwrap().made, 2);
    let memories = MEMORIES.map(|text| format!("kept: {text}"));
    assert_eq!(sent().pop().unwrap(), json!(memories));
    assert_eq!(other.ask("honey").await, (vec![1, 2], ALL));
    assert_eq!(sent().pop().unwrap(), json!(["honey"]));
    let models = installation.store.vector_models(other.agent.scope()).await;
    let models = models.unwrap();
    assert_eq!(models, [("lab:nomic-embed-text\n\nkept: ".to_owned(), 2)]);
}

#[tokio::test]
async fn spec_6_4_the_doctor_says_what_is_sent_where_and_behind_what() {
    let server = ScriptedServer::always(model());
    let told = async |model: &str, base_url: &str| {
        let wren = Embedding::at(base_url, settings(model)).await;
        let account = wren.memoir.account("default").await.unwrap();
        let found = wren.memoir.examine(&account).await.unwrap();
        let found = found.into_iter().find(|found| found.area == "embeddings");
        found.map(|found| (found.severity, found.finding)).unwrap()
    };
    let base_url = server.base_url();
    let said = format!(
        "the texts of active memories and the queries of recall go to `lab:small` at {base_url}, on this machine; no prefix for a memory; no prefix for a question"
    );
    assert_eq!(
        told("lab:small", &base_url).await,
        (Severity::Ok, said.clone())
    );
    let (_, said_of_e5) = told("lab:intfloat/e5-base", &base_url).await;
    assert!(
        said_of_e5.ends_with(
            "; the prefix of a memory is `passage: `; the prefix of a question is `query: `"
        ),
        "{said_of_e5}"
    );
    let sent = server.requests().pop().unwrap();
    assert_eq!(sent["input"], json!(["passage: memory"]), "no agent's word");
    let elsewhere = base_url.replace("127.0.0.1", "0.0.0.0");
    let (_, said_of_another) = told("lab:small", &elsewhere).await;
    assert!(
        said_of_another.contains(", of the agents that have agreed: 0 of 1; no prefix"),
        "{said_of_another}"
    );
    server.push(ServerStep::status(503));
    let (severity, down) = told("lab:small", &base_url).await;
    assert_eq!(severity, Severity::Warning);
    assert!(
        down.starts_with(&said) && down.contains("; now nothing is: "),
        "{down}"
    );
}

#[tokio::test]
async fn spec_5_3_vectors_go_with_the_words_that_they_are_of() {
    let server = ScriptedServer::always(model());
    let wren = Embedding::new(&server).await;
    let made = async || wren.agent.memories().make_vectors().await.unwrap().made;
    assert_eq!(made().await, 2);
    let before = wren.memoir.now();
    wren.clock.advance(Duration::from_secs(60));
    handle_by(&wren.agent, Number(1), Handling::Discard, &me()).await;
    assert_eq!(wren.vectors("lab:small").await, [2]);
    assert_eq!(wren.ask("honey").await, (vec![2], ALL));
    assert_eq!(made().await, 0);
    wren.clock.advance(Duration::from_secs(60));
    wren.agent.log().rewind(before, &person()).await.unwrap();
    assert_eq!(wren.vectors("lab:small").await, [2]);
    assert_eq!(wren.ask("honey").await.1, SOME);
    assert_eq!(made().await, 1);
    assert_eq!(wren.ask("honey").await, (vec![1, 2], ALL));
    shred_by(&wren.agent, ShredWish::of(Number(1), "a secret"), &me()).await;
    assert_eq!(wren.vectors("lab:small").await, [2]);
    assert_eq!(wren.ask("honey").await, (vec![2], ALL));
    wren.agent.log().erase(&person()).await.unwrap();
    assert_eq!(wren.vectors("lab:small").await, NONE);
    let sent = server.received().len();
    assert_eq!(
        asked(&wren.agent, "honey").await.unwrap_err().code(),
        "erased"
    );
    assert_eq!(made().await, 0);
    assert_eq!(server.received().len(), sent + 1, "the question alone");
}

#[tokio::test]
async fn spec_5_6_no_agents_words_reach_anothers_vectors() {
    let server = ScriptedServer::always(model());
    let wren = Embedding::new(&server).await;
    let account = wren.memoir.account("default").await.unwrap();
    account.create_agent("robin", &[], &person()).await.unwrap();
    let robin = account.agent("robin").await.unwrap();
    let input = input("Honey from theirs");
    save_by(&robin, &[input], &Actor::agent("robin")).await;
    wren.agent.memories().make_vectors().await.unwrap();
    robin.memories().make_vectors().await.unwrap();
    for request in server.requests() {
        let sent = request["input"].to_string();
        let [own, theirs] = ["Rosa", "theirs"].map(|word| sent.contains(word));
        assert!(own != theirs, "never in one request");
    }
    for _ in 0..2 {
        assert_eq!(wren.ask("honey").await, (vec![1, 2], ALL));
        let theirs = asked(&robin, "kiln").await.unwrap();
        assert_eq!(theirs.found.len(), 1);
    }
}

/// A vector that a search of the disk could find.
fn marked(text: &str) -> Vec<f32> {
    let offset = if text.contains("bees") { 0.0 } else { 3.0 };
    (0..64)
        .map(|at| ((at * 37 % 64) as f32 + offset) / 70.0)
        .collect()
}

fn holds(folder: &Path, wanted: &[u8]) -> bool {
    let files = std::fs::read_dir(folder).unwrap();
    files.into_iter().any(|file| {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        bytes.windows(wanted.len()).any(|window| window == wanted)
    })
}

#[tokio::test]
async fn spec_5_3_no_vector_stands_unsealed_on_the_disk_and_none_opens_in_anothers_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memoir.db");
    let store = Arc::new(SqliteStore::open(&path).unwrap());
    let installation = TestInstallation::on(store);
    let server = ScriptedServer::always(ServerStep::embeddings(marked));
    let process =
        async || Embedding::on(&installation, &server.base_url(), settings("lab:small")).await;
    let first = process().await;
    first.agent.memories().make_vectors().await.unwrap();
    assert_eq!(first.ask("honey").await.1, ALL);
    let plain = memoir_domain::recall::Vector::of(&marked("bees")).unwrap();
    let plain = plain.to_bytes();
    let numbers: Vec<u8> = marked("bees")
        .iter()
        .flat_map(|one| one.to_le_bytes())
        .collect();
    for wanted in [&plain[4..20], &numbers[16..48], b"lab:small"] {
        let is_name = wanted == b"lab:small";
        assert_eq!(
            holds(folder.path(), wanted),
            is_name,
            "the name stands in the open"
        );
    }
    // Exchanged, or labelled as another model's: read by a process that has none of them yet.
    let intruder = rusqlite::Connection::open(&path).unwrap();
    let change = |sql: &str| assert!(intruder.execute(sql, []).unwrap() > 0, "{sql}");
    change(
        "UPDATE memory_vectors SET body = (SELECT other.body FROM memory_vectors AS other \
         WHERE other.number = 3 - memory_vectors.number)",
    );
    let refused = async || {
        let error = asked(&process().await.agent, "honey").await.unwrap_err();
        assert!(error.to_string().contains("memory_vectors"), "{error}");
    };
    refused().await;
    change("DELETE FROM memory_vectors");
    let anew = process().await;
    assert_eq!(anew.agent.memories().make_vectors().await.unwrap().made, 2);
    change("UPDATE memory_vectors SET model = 'lab:large'");
    refused().await;
    // The vector of an earlier text is useless.
    change("UPDATE memory_vectors SET model = 'lab:small', version = version + 1");
    assert_eq!(process().await.ask("honey").await, (vec![], SOME));
}

#[tokio::test]
async fn spec_5_3_a_stored_index_brings_its_vectors() {
    let server = ScriptedServer::always(model());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memoir.db");
    let installation = TestInstallation::on(Arc::new(SqliteStore::open(&path).unwrap()));
    let process =
        async || Embedding::on(&installation, &server.base_url(), storing("lab:small")).await;
    let wren = process().await;
    for number in 0..30 {
        save(&wren.agent, &format!("Note {number} of the kiln")).await;
    }
    let is_outdated = async |process: &Embedding| {
        let memories = process.agent.memories();
        memories.is_stored_index_outdated().await.unwrap()
    };
    assert_eq!(
        wren.agent.memories().store_index().await.unwrap(),
        IndexStoring::Stored
    );
    assert!(!is_outdated(&process().await).await);
    // Vectors that are made later make it outdated.
    assert_eq!(wren.agent.memories().make_vectors().await.unwrap().made, 32);
    let next = process().await;
    assert!(is_outdated(&next).await);
    assert_eq!(
        next.agent.memories().store_index().await.unwrap(),
        IndexStoring::Stored
    );
    for process in [&next, &process().await] {
        assert!(!is_outdated(process).await);
        assert_eq!(
            process.agent.memories().store_index().await.unwrap(),
            IndexStoring::Left
        );
    }
    // Only the index has them now.
    let raw = rusqlite::Connection::open(&path).unwrap();
    assert_eq!(raw.execute("DELETE FROM memory_vectors", []).unwrap(), 32);
    let (found, meaning) = process().await.ask("honey").await;
    assert_eq!((found[0], meaning), (1, ALL));
    // Those of another model are not compared with its question.
    let other = Embedding::on(&installation, &server.base_url(), storing("lab:large")).await;
    assert_eq!(other.ask("honey").await, (vec![], SOME));
}

#[tokio::test(flavor = "multi_thread")]
async fn spec_2_8_the_vectors_of_many_memories_are_read_page_by_page() {
    let server = ScriptedServer::always(model());
    let installation = TestInstallation::in_memory();
    let settings = settings("lab:small");
    let process = async || Embedding::on(&installation, &server.base_url(), settings.clone()).await;
    let wren = process().await;
    let lines: String = (0..4_300)
        .map(|number| format!("{{\"content\": \"Note {number} of the kiln\"}}\n"))
        .collect();
    let read = import::read(lines.as_bytes(), None, wren.memoir.now());
    let (memories, actor) = (wren.agent.memories(), person());
    let imported = memories.import(read, false, &actor, Arc::default()).await;
    assert_eq!(imported.unwrap().imported, 4_300);
    assert_eq!(memories.make_vectors().await.unwrap().made, 4_302);
    // With an index that is built for the question, and with one that has words alone; two callers at the same time.
    for has_words in [false, true] {
        let next = process().await;
        if has_words {
            next.agent.memories().open_index().await.unwrap();
        }
        let (one, other) = tokio::join!(next.ask("honey"), next.ask("honey"));
        assert_eq!(one, other);
        assert_eq!((one.0[0], one.1), (1, ALL));
    }
}

#[tokio::test]
async fn spec_6_4_beyond_this_machine_nothing_is_sent_before_the_agent_has_said_yes() {
    let server = ScriptedServer::always(model());
    // The same server by an address that is none of loopback.
    let elsewhere = server.base_url().replace("127.0.0.1", "0.0.0.0");
    let installation = TestInstallation::in_memory();
    let wren = Embedding::on(&installation, &elsewhere, settings("lab:small")).await;
    let forbidden = Some(SemanticStatus::NotAllowed);
    let is_silent = async |wren: &Embedding| {
        let sent = server.received().len();
        assert_eq!(wren.ask("hot").await, (vec![2], forbidden));
        let made = wren.agent.memories().make_vectors().await.unwrap();
        assert!(made.made == 0 && made.problem.is_some());
        assert_eq!(server.received().len(), sent, "nothing is sent");
    };
    is_silent(&wren).await;
    let request = wren.request().await.unwrap();
    assert_eq!(request.kind.as_str(), "embeddings");
    let told = request.purpose.expose();
    assert!(
        told.contains("`lab:small`") && told.contains(&elsewhere),
        "{told}"
    );
    is_silent(&wren).await;
    // No other model answers in its place.
    let (them, me) = (person(), me());
    let answer = wren
        .agent
        .grants()
        .answer_access(request.id, true, None, &them);
    assert_eq!(answer.await.unwrap_err().code(), "forbidden");
    let yes = wren
        .agent
        .grants()
        .answer_access(request.id, true, None, &me);
    yes.await.unwrap();
    assert_eq!(wren.agent.memories().make_vectors().await.unwrap().made, 2);
    assert_eq!(wren.ask("honey").await, (vec![1, 2], ALL));
    // It stays valid, whatever the clock shows.
    wren.clock.put_back(Duration::from_secs(3_600));
    assert_eq!(wren.ask("honey").await.1, ALL);
    wren.clock.advance(Duration::from_secs(400 * 86_400));
    wren.memoir.expire_access().await.unwrap();
    assert_eq!(wren.ask("honey").await.1, ALL);
    // Consent to one server or model does not cover another.
    let other_path = format!("{elsewhere}/elsewhere");
    let other = Embedding::on(&installation, &other_path, settings("lab:small")).await;
    is_silent(&other).await;
    let other = Embedding::on(&installation, &elsewhere, settings("lab:large")).await;
    let made = other.agent.memories().make_vectors().await.unwrap();
    assert_eq!(made.made, 0);
    // A revocation is effective immediately.
    revoke_by(&wren.agent, request.id, &me).await;
    is_silent(&wren).await;
    let memories = lens(&wren.agent).memories(false).await;
    let journal = memories.unwrap().pop().unwrap().words.unwrap();
    let told = journal.content.expose();
    assert!(told.contains("nothing is sent there any more"), "{told}");
    let verified = wren.agent.log().verify().await.unwrap();
    assert!(verified.valid, "{verified:?}");
}

#[tokio::test]
async fn spec_6_4_once_an_agent_has_agreed_its_vectors_are_made_and_others_wait_for_none_that_has_not()
 {
    let server = ScriptedServer::always(model());
    let elsewhere = server.base_url().replace("127.0.0.1", "0.0.0.0");
    let wren = Embedding::at(&elsewhere, settings("lab:small")).await;
    let account = wren.memoir.account("default").await.unwrap();
    for name in ["heron", "robin", "stork"] {
        account.create_agent(name, &[], &person()).await.unwrap();
    }
    let story = async {
        wren.agree().await;
        while wren.ask("honey").await.1 != ALL {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = story => {}
        () = wren.memoir.keep_making_vectors() => panic!("it goes on for ever"),
    }
}

impl Embedding {
    /// The agent's yes to the server that is configured.
    async fn agree(&self) -> AccessRequestId {
        let (id, me) = (self.request().await.unwrap().id, me());
        let answer = self.agent.grants().answer_access(id, true, None, &me);
        answer.await.unwrap();
        id
    }

    /// Revokes that consent once the server is asked and before it responds: its vectors come too late.
    async fn revoke_meanwhile(&self, id: AccessRequestId, asked: &Notify, go_on: Sender<()>) {
        let revoked = async {
            asked.notified().await;
            self.agent.grants().revoke_access(id, &me()).await.unwrap();
            go_on.send(()).unwrap();
        };
        let (made, ()) = tokio::join!(self.agent.memories().make_vectors(), revoked);
        assert!(made.unwrap().problem.is_some());
        assert_eq!(self.vectors("lab:small").await, NONE);
    }

    async fn request(&self) -> Result<AccessRequestFacts, Error> {
        let (purpose, actor) = ("so that more is found".into(), person());
        let grants = self.agent.grants();
        grants.request_embeddings(&purpose, &actor).await
    }
}

#[tokio::test]
async fn spec_6_4_a_grant_that_lasts_until_it_is_revoked_is_looked_at_once() {
    let server = ScriptedServer::always(model());
    let elsewhere = server.base_url().replace("127.0.0.1", "0.0.0.0");
    let calls = Arc::new(CountedCalls::default());
    let inner = Arc::new(SqliteStore::in_memory().unwrap());
    let store = WatchedStore::new(inner, calls.clone());
    let installation = TestInstallation::on(Arc::new(store));
    let wren = Embedding::on(&installation, &elsewhere, settings("lab:small")).await;
    let id = wren.agree().await;
    // The list of open requests, and the request itself the first time.
    for expected in [2, 1, 1] {
        calls.take();
        assert_eq!(wren.memoir.expire_access().await.unwrap(), 0);
        assert_eq!(calls.take(), expected);
    }
    wren.agent.grants().revoke_access(id, &me()).await.unwrap();
    assert_eq!(wren.memoir.expire_access().await.unwrap(), 0);
}

#[tokio::test]
async fn spec_6_4_with_the_agents_leave_go_the_vectors_that_were_made_by_it() {
    let server = ScriptedServer::always(model());
    let elsewhere = server.base_url().replace("127.0.0.1", "0.0.0.0");
    let installation = TestInstallation::in_memory();
    let at = async |address: &str, model: &str| {
        Embedding::on(&installation, address, storing(model)).await
    };
    let forbidden = Some(SemanticStatus::NotAllowed);
    let wren = at(&elsewhere, "lab:small").await;
    // Each time a journal entry reports the end to the agent, and gets its vector the next time.
    for (memories, who) in [(2, me()), (3, person())] {
        let id = wren.agree().await;
        assert_eq!(
            wren.agent.memories().make_vectors().await.unwrap().made,
            memories
        );
        let (found, meaning) = wren.ask("honey").await;
        assert_eq!((found[0], meaning), (1, ALL));
        assert_eq!(
            wren.agent.memories().store_index().await.unwrap(),
            IndexStoring::Stored
        );
        wren.agent.grants().revoke_access(id, &who).await.unwrap();
        assert_eq!(wren.vectors("lab:small").await, NONE);
        // The stored index had them too.
        let stored = wren.store.word_index(wren.agent.scope(), None).await;
        assert_eq!(stored.unwrap(), []);
        assert_eq!(wren.ask("honey").await, (vec![], forbidden));
        assert_eq!(wren.agent.memories().make_vectors().await.unwrap().made, 0);
    }
    let id = wren.agree().await;
    let (step, asked, go_on) = held();
    server.push(step);
    wren.revoke_meanwhile(id, &asked, go_on).await;
    // Another address under the same name, without consent: the next run of a process deletes the vectors of the former
    // one.
    wren.agree().await;
    assert_eq!(wren.agent.memories().make_vectors().await.unwrap().made, 5);
    let moved = at(&format!("{elsewhere}/elsewhere"), "lab:small").await;
    assert_eq!(moved.ask("honey").await, (vec![], forbidden));
    assert_eq!(moved.agent.memories().make_vectors().await.unwrap().made, 0);
    assert_eq!(moved.vectors("lab:small").await, NONE);
}

/// A step that signals its request, and responds on a signal.
fn held() -> (ServerStep, Arc<Notify>, Sender<()>) {
    let asked = Arc::new(Notify::new());
    let (go_on, waits) = mpsc::channel::<()>();
    let (told, waits) = (asked.clone(), Mutex::new(waits));
    let step = ServerStep::respond(move |_| {
        told.notify_one();
        waits.lock().unwrap().recv().unwrap();
        model()
    });
    (step, asked, go_on)
}

#[tokio::test]
async fn spec_5_3_no_vector_is_kept_of_words_that_went_while_the_server_answered() {
    for what in ["shredded", "discarded", "rewound", "erased"] {
        let server = ScriptedServer::always(model());
        let wren = Embedding::new(&server).await;
        let early = wren.memoir.now();
        if what == "rewound" {
            // Its vector is requested; then the memory is discarded again.
            handle_by(&wren.agent, Number(1), Handling::Discard, &me()).await;
            wren.clock.advance(Duration::from_secs(60));
        }
        let discarded = wren.memoir.now();
        wren.clock.advance(Duration::from_secs(60));
        if what == "rewound" {
            handle_by(&wren.agent, Number(1), Handling::Restore, &me()).await;
            assert!(early < discarded);
        }
        let (step, asked, go_on) = held();
        server.push(step);
        let meanwhile = async {
            asked.notified().await;
            match what {
                "shredded" => {
                    drop(shred_by(&wren.agent, ShredWish::of(Number(1), "a secret"), &me()).await)
                }
                "discarded" => {
                    drop(handle_by(&wren.agent, Number(1), Handling::Discard, &me()).await)
                }
                "rewound" => drop(wren.agent.log().rewind(discarded, &person()).await.unwrap()),
                _ => drop(wren.agent.log().erase(&person()).await.unwrap()),
            }
            go_on.send(()).unwrap();
        };
        let (made, ()) = tokio::join!(wren.agent.memories().make_vectors(), meanwhile);
        let kept = wren.vectors("lab:small").await;
        if what == "erased" {
            assert_eq!(kept, NONE);
            continue;
        }
        assert_eq!((made.unwrap().made, kept), (1, vec![2]), "{what}");
        assert_eq!(wren.ask("honey").await, (vec![2], ALL), "{what}");
    }
}

#[tokio::test]
async fn spec_4_4_what_was_shredded_between_two_attempts_is_not_sent_again() {
    let server = ScriptedServer::start([]);
    let wren = Embedding::new(&server).await;
    let (failing, asked, go_on) = held();
    let ServerStep::Respond(held) = failing else {
        unreachable!("it responds")
    };
    server.push(ServerStep::respond(move |received| {
        held(received);
        ServerStep::status(503)
    }));
    server.push(model());
    let meanwhile = async {
        asked.notified().await;
        let me = me();
        shred_by(&wren.agent, ShredWish::of(Number(1), "a secret"), &me).await;
        go_on.send(()).unwrap();
    };
    let (made, ()) = tokio::join!(wren.agent.memories().make_vectors(), meanwhile);
    assert_eq!(made.unwrap().made, 1);
    let sent: Vec<_> = server
        .requests()
        .iter()
        .map(|one| one["input"].clone())
        .collect();
    assert_eq!(sent, [json!(MEMORIES), json!([MEMORIES[1]])]);
}

#[tokio::test]
async fn spec_6_4_after_a_revocation_no_further_request_of_a_batch_is_made() {
    // Texts that are too long together, so that each goes by itself.
    let server = ScriptedServer::start([ServerStep::status(400)]);
    let elsewhere = server.base_url().replace("127.0.0.1", "0.0.0.0");
    let wren = Embedding::at(&elsewhere, settings("lab:small")).await;
    let id = wren.agree().await;
    let (step, asked, go_on) = held();
    server.push(step);
    server.push(model());
    wren.revoke_meanwhile(id, &asked, go_on).await;
    assert_eq!(server.steps_left(), 1, "the next text was not sent");
}

#[tokio::test]
async fn spec_2_8_a_text_that_makes_a_server_fail_keeps_no_other_from_its_vector() {
    // Some servers report an internal error for a text that is too long.
    let most = |text: &str| text.chars().count() <= 2_000 && !text.contains("never");
    let server = ScriptedServer::always(ServerStep::respond(move |received| {
        let texts = received.body["input"].as_array().unwrap().iter();
        match texts.into_iter().all(|text| most(text.as_str().unwrap())) {
            true => model(),
            false => ServerStep::status(500),
        }
    }));
    let wren = Embedding::new(&server).await;
    save(&wren.agent, &format!("bees {}", "and so on ".repeat(900))).await;
    save(&wren.agent, &"never ".repeat(40)).await;
    save(&wren.agent, "An oven of brick").await;
    let made = wren.agent.memories().make_vectors().await.unwrap();
    assert_eq!((made.made, made.refused, made.problem), (4, 1, None));
    handle_by(&wren.agent, Number(4), Handling::Discard, &me()).await;
    // Of a whole prompt the end is sent, and meaning stays in use after it.
    let prompt = format!("{}honey", "and so on ".repeat(1_999));
    let (found, meaning) = wren.ask(&prompt).await;
    assert_eq!((found[0], meaning), (3, ALL), "by words and meaning");
    let sent = server.requests().pop().unwrap();
    let sent = sent["input"][0].as_str().unwrap().to_owned();
    assert!(sent.chars().count() <= 2_000 && sent.ends_with("honey"));
    assert_eq!(wren.ask("honey").await.1, ALL);
}

#[tokio::test]
async fn spec_2_8_an_answer_of_ten_megabytes_is_not_read_to_its_end() {
    let server = ScriptedServer::start([model()]);
    let wren = Embedding::new(&server).await;
    assert_eq!(wren.agent.memories().make_vectors().await.unwrap().made, 2);
    let numbers = "0.125,".repeat(1_750_000);
    let large = || {
        ServerStep::status(200).with_body(format!("{{\"data\":[{{\"embedding\":[{numbers}1]}}]}}"))
    };
    server.push(large());
    assert_eq!(wren.ask("hot").await, (vec![2], DOWN));
    save(&wren.agent, "An oven of brick").await;
    server.push(large());
    let made = wren.agent.memories().make_vectors().await.unwrap();
    assert!(made.made == 0 && made.problem.is_some(), "{made:?}");
}

#[tokio::test]
async fn spec_5_3_vectors_open_after_the_master_key_was_rotated() {
    let server = ScriptedServer::always(model());
    let installation = TestInstallation::in_memory();
    let process =
        async || Embedding::on(&installation, &server.base_url(), settings("lab:small")).await;
    assert_eq!(
        process()
            .await
            .agent
            .memories()
            .make_vectors()
            .await
            .unwrap()
            .made,
        2
    );
    let new = memoir_vault::MasterKey::generate().unwrap();
    assert!(installation.keys.rotate(&new).unwrap() > 0);
    let after = process().await;
    assert_eq!(after.ask("honey").await, (vec![1, 2], ALL));
    assert_eq!(after.agent.memories().make_vectors().await.unwrap().made, 0);
}

#[tokio::test]
async fn spec_6_4_local_vectors_stay_when_another_consent_is_revoked() {
    let server = ScriptedServer::always(model());
    let installation = TestInstallation::in_memory();
    let (near, far) = (
        server.base_url(),
        server.base_url().replace("127.0.0.1", "0.0.0.0"),
    );
    let on = async |model: &str| {
        let named = [("near", provider(&near)), ("far", provider(&far))];
        Embedding::with(&installation, named, settings(model)).await
    };
    let wren = on("far:small").await;
    let id = wren.agree().await;
    assert_eq!(wren.agent.memories().make_vectors().await.unwrap().made, 2);
    // The local one has made none yet, and the other's vectors are used until then, and not after that.
    let local = on("near:small").await;
    assert_eq!(local.ask("honey").await, (vec![1, 2], ALL));
    let rows = installation
        .store
        .vectors(wren.agent.scope(), "far:small", &[Number(1), Number(2)])
        .await;
    let mut rows = rows.unwrap();
    assert_eq!(local.agent.memories().make_vectors().await.unwrap().made, 2);
    rows.truncate(1);
    let kept = installation.store.keep_vectors(wren.agent.scope(), rows);
    kept.await.unwrap();
    assert_eq!(wren.vectors("far:small").await.len(), 1);
    local.agent.grants().revoke_access(id, &me()).await.unwrap();
    assert_eq!(local.vectors("far:small").await, NONE);
    assert_eq!(local.vectors("near:small").await, [1, 2]);
    assert_eq!(local.ask("honey").await.0[..2], [1, 2]);
}

#[tokio::test]
async fn spec_6_4_a_no_is_not_worn_out_by_asking() {
    let wren = Embedding::at("http://0.0.0.0:9/v1", settings("lab:small")).await;
    let id = wren.request().await.unwrap().id;
    wren.agent
        .grants()
        .answer_access(id, false, None, &me())
        .await
        .unwrap();
    let again = wren.request().await;
    assert_eq!(again.unwrap_err().code(), "refused_before");
    assert_eq!(wren.ask("hot").await.1, Some(SemanticStatus::NotAllowed));
    // On this machine no consent is needed.
    let server = ScriptedServer::always(model());
    let local = Embedding::new(&server).await;
    let needless = local.request().await;
    assert!(
        needless
            .unwrap_err()
            .to_string()
            .contains("on this machine")
    );
}

#[tokio::test]
async fn spec_6_1_what_is_sent_for_vectors_is_counted() {
    let server = ScriptedServer::always(model());
    let wren = Embedding::new(&server).await;
    wren.agent.memories().make_vectors().await.unwrap();
    wren.ask("honey").await;
    let families = wren.memoir.metrics().await;
    let tokens = families
        .iter()
        .find(|family| family.name() == "memoir_model_tokens_total")
        .unwrap();
    let input = tokens.get_metric().iter().find(|metric| {
        let has = |name, value| {
            let labels = metric.get_label().iter();
            labels
                .into_iter()
                .any(|label| label.name() == name && label.value() == value)
        };
        has("model", "small") && has("type", "input")
    });
    assert_eq!(input.unwrap().get_counter().get_value(), 30.0);
}

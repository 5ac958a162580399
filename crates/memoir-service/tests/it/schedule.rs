//! The schedule and the workers of a running service: who comes next, and how many at once.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use memoir_app::{
    Account, InstallationSettings, Memoir, MemoryInput, Models, sessions::RefineOptions,
};
use memoir_domain::agent::Field;
use memoir_model::{ConnectError, Model, ModelError, ModelName, ModelRequest, Reply};
use memoir_service::ServiceOptions;
use memoir_testkit::{ModelScript, TestClock, Turn};
use memoir_vault::{KeyStore, MasterKey};
use tokio::{net::TcpListener, sync::Semaphore};

use crate::installation::owner;

/// Models named after their agents, which decline once the test lets them.
#[derive(Clone)]
struct Gates {
    /// The agents in the order in which they were asked.
    asked: Arc<Mutex<Vec<String>>>,
    /// One permit an answer, by provider.
    gates: BTreeMap<&'static str, Gate>,
}

#[derive(Clone)]
struct Gate {
    answers: Arc<Semaphore>,
    /// How many wait for an answer now, and how many did at most.
    waiting: Arc<[AtomicUsize; 2]>,
    concurrency: Option<usize>,
}

impl Models for Gates {
    fn connect(&self, name: &ModelName) -> Result<Arc<dyn Model>, ConnectError> {
        Ok(Arc::new(Gated {
            gate: self.gates[name.provider()].clone(),
            asked: self.asked.clone(),
            answer: ModelScript::always(Turn::text("No.")),
            name: name.clone(),
        }))
    }

    fn concurrency(&self, provider: &str) -> Option<usize> {
        self.gates[provider].concurrency
    }
}

struct Gated {
    gate: Gate,
    asked: Arc<Mutex<Vec<String>>>,
    answer: ModelScript,
    name: ModelName,
}

#[async_trait::async_trait]
impl Model for Gated {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn context_tokens(&self) -> Option<u32> {
        None
    }

    async fn complete(&self, request: &ModelRequest) -> Result<Reply, ModelError> {
        let [now, most] = &*self.gate.waiting;
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        self.asked
            .lock()
            .unwrap()
            .push(self.name.model().to_owned());
        self.gate.answers.acquire().await.unwrap().forget();
        now.fetch_sub(1, Ordering::SeqCst);
        self.answer.complete(request).await
    }
}

struct Shop {
    memoir: Memoir,
    gates: Gates,
    clock: Arc<TestClock>,
}

impl Shop {
    /// With providers `lab` and `slow`, of which `slow` takes so many sessions at once.
    async fn new(slow: Option<usize>) -> Self {
        let gate = |concurrency| Gate {
            answers: Arc::new(Semaphore::new(0)),
            waiting: Arc::default(),
            concurrency,
        };
        let gates = Gates {
            asked: Arc::default(),
            gates: BTreeMap::from([("lab", gate(None)), ("slow", gate(slow))]),
        };
        let clock = Arc::new(TestClock::standing_at("2026-03-04T12:00:00Z"));
        let memoir = Memoir::new(
            crate::store::empty().await,
            Arc::new(KeyStore::in_memory(&MasterKey::generate().unwrap()).unwrap()),
            Arc::new(gates.clone()),
            InstallationSettings::default(),
        )
        .with_clock(clock.clone());
        Self {
            memoir,
            gates,
            clock,
        }
    }

    async fn account(&self, name: &str) -> Account {
        if name != memoir_app::DEFAULT_ACCOUNT {
            self.memoir
                .create_account(name, &memoir_domain::audit::Actor::owner())
                .await
                .unwrap();
        }
        self.memoir.account(name).await.unwrap()
    }

    /// Serves with so many workers.
    async fn serve(&self, concurrency: usize) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let options = ServiceOptions {
            concurrency,
            schedule_every: Duration::from_millis(10),
            ..ServiceOptions::default()
        };
        let memoir = self.memoir.clone();
        let served = memoir_service::serve(memoir, options, listener, std::future::pending());
        tokio::spawn(served);
    }

    fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Queues a session of a new agent, a second after the one before.
    async fn queue(&self, account: &Account, provider: &str, name: &str) {
        self.advance(Duration::from_secs(1));
        let agent = agent(account, provider, name).await;
        agent.enqueue(&RefineOptions::default()).await.unwrap();
    }

    fn answer(&self, provider: &str, answers: usize) {
        self.gates.gates[provider].answers.add_permits(answers);
    }

    /// Those asked so far, once they are so many.
    async fn asked(&self, count: usize) -> Vec<String> {
        for _ in 0..12_000 {
            let asked = self.gates.asked.lock().unwrap().clone();
            if asked.len() >= count {
                return asked;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{count} are never asked");
    }
}

/// Makes an agent whose model is `PROVIDER:NAME`, with memories of which one could go.
async fn agent(account: &Account, provider: &str, name: &str) -> memoir_app::AgentHandle {
    let model = format!("{provider}:{name}");
    let model = [(Field::Model, Some(model.as_str()))];
    account.create_agent(name, &model, &owner()).await.unwrap();
    let agent = account.agent(name).await.unwrap();
    let inputs = ["Sunday", "Monday", "Friday", "a feast"].map(|day| MemoryInput {
        content: format!("The kiln is fired on {day}.").into(),
        ..MemoryInput::default()
    });
    agent.save(&inputs, &owner()).await.unwrap();
    agent
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_sessions_of_one_account_delay_anothers_by_one_for_each_worker() {
    const JOBS: usize = 1_000;
    const WORKERS: usize = 3;
    let shop = Shop::new(None).await;
    let busy = shop.account("default").await;
    for number in 0..JOBS {
        shop.queue(&busy, "lab", &format!("busy-{number:04}")).await;
    }
    shop.serve(WORKERS).await;
    assert!(
        shop.asked(WORKERS)
            .await
            .iter()
            .all(|name| name.starts_with("busy"))
    );
    // All workers are busy. What comes now is next wherever a worker gets free, in turn.
    let others = [shop.account("second").await, shop.account("third").await];
    for (account, names) in others
        .iter()
        .zip([["x-1", "x-2", "x-3"], ["y-1", "y-2", "y-3"]])
    {
        for name in names {
            shop.queue(account, "lab", name).await;
        }
    }
    for answered in 1..=9 {
        shop.answer("lab", 1);
        shop.asked(WORKERS + answered).await;
    }
    let asked = shop.asked(WORKERS + 9).await;
    let initials = |names: &[String]| {
        let mut initials: Vec<char> = names
            .iter()
            .filter_map(|name| name.chars().next())
            .collect();
        initials.sort_unstable();
        initials.into_iter().collect::<String>()
    };
    assert_eq!(initials(&asked[WORKERS..WORKERS + 2]), "xy");
    // Three turns of each.
    assert_eq!(initials(&asked[WORKERS..]), "bbbxxxyyy");
    // All are asked, and none twice.
    shop.answer("lab", JOBS + 9);
    let mut asked = shop.asked(JOBS + 6).await;
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked.len(), JOBS + 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_at_its_limit_holds_up_no_other() {
    let shop = Shop::new(Some(1)).await;
    let account = shop.account("default").await;
    for number in 0..5 {
        shop.queue(&account, "slow", &format!("slow-{number}"))
            .await;
    }
    for number in 0..3 {
        shop.queue(&account, "lab", &format!("quick-{number}"))
            .await;
    }
    shop.serve(4).await;
    // One of the older ones, and all of the others beside it.
    let mut asked = shop.asked(4).await;
    asked.sort_unstable();
    assert_eq!(asked, ["quick-0", "quick-1", "quick-2", "slow-0"]);
    shop.answer("lab", 3);
    for answered in 1..5 {
        shop.answer("slow", 1);
        let asked = shop.asked(4 + answered).await;
        assert_eq!(asked[4 + answered - 1], format!("slow-{answered}"));
    }
    let most = shop.gates.gates["slow"].waiting[1].load(Ordering::SeqCst);
    assert_eq!(most, 1);
}

#[tokio::test]
async fn spec_3_1_a_service_asks_who_becomes_due_while_it_runs() {
    let shop = Shop::new(None).await;
    let account = shop.account("default").await;
    let wren = agent(&account, "lab", "wren").await;
    shop.serve(1).await;
    shop.answer("lab", 9);
    // From Wednesday to Monday, 05:00.
    shop.advance(Duration::from_secs((4 * 24 + 17) * 3_600));
    assert_eq!(shop.asked(1).await, ["wren"]);
    let session = wren
        .seen_by(memoir_app::Viewer::Agent)
        .session_page(None, 1)
        .await
        .unwrap()
        .remove(0);
    assert_eq!(
        serde_json::to_value(session.trigger).unwrap(),
        serde_json::json!("weekly")
    );
}

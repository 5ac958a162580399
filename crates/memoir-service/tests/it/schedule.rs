//! The schedule and the workers of a running service: the order of sessions, and how many run concurrently.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use memoir_app::{Account, Models, sessions::RefineOptions};
use memoir_domain::agent::Field;
use memoir_model::{ConnectError, Model, ModelError, ModelName, ModelRequest, Reply};
use memoir_service::ServiceOptions;
use memoir_testkit::{ModelScript, Served, TestInstallation, Turn, empty_store, input};
use tokio::sync::Semaphore;

use crate::{installation::owner, service::service};

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

/// An installation with these models.
struct GatedInstallation {
    installation: TestInstallation,
    gates: Gates,
}

impl GatedInstallation {
    /// With providers `lab` and `slow`, of which `slow` takes this many concurrent sessions.
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
        let installation = TestInstallation::on(empty_store().await);
        Self {
            installation: installation.with_models(Arc::new(gates.clone())),
            gates,
        }
    }

    async fn account(&self, name: &str) -> Account {
        self.installation.account(name).await
    }

    /// Serves with so many workers.
    async fn serve(&self, concurrency: usize) -> Served {
        let options = ServiceOptions {
            concurrency,
            schedule_every: Duration::from_millis(10),
            ..ServiceOptions::default()
        };
        self.installation.serve(service(options)).await
    }

    fn advance(&self, by: Duration) {
        self.installation.clock.advance(by);
    }

    /// Queues a session of a new agent, a second after the one before.
    async fn queue(&self, account: &Account, provider: &str, name: &str) {
        self.advance(Duration::from_secs(1));
        let agent = agent(account, provider, name).await;
        let options = RefineOptions::default();
        agent.sessions().enqueue(&options).await.unwrap();
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
    let inputs = ["Sunday", "Monday", "Friday", "a feast"]
        .map(|day| input(&format!("The kiln is fired on {day}.")));
    agent.memories().save(&inputs, &owner()).await.unwrap();
    agent
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_sessions_of_one_account_delay_anothers_by_one_for_each_worker() {
    const JOBS: usize = 1_000;
    const WORKERS: usize = 3;
    let installation = GatedInstallation::new(None).await;
    let busy = installation.account("default").await;
    for number in 0..JOBS {
        installation
            .queue(&busy, "lab", &format!("busy-{number:04}"))
            .await;
    }
    let _served = installation.serve(WORKERS).await;
    let first = installation.asked(WORKERS).await;
    assert!(first.iter().all(|name| name.starts_with("busy")));
    // All workers are busy. What comes now is next wherever a worker gets free, in turn.
    let others = [
        installation.account("second").await,
        installation.account("third").await,
    ];
    for (account, names) in others
        .iter()
        .zip([["x-1", "x-2", "x-3"], ["y-1", "y-2", "y-3"]])
    {
        for name in names {
            installation.queue(account, "lab", name).await;
        }
    }
    for answered in 1..=9 {
        installation.answer("lab", 1);
        installation.asked(WORKERS + answered).await;
    }
    let asked = installation.asked(WORKERS + 9).await;
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
    installation.answer("lab", JOBS + 9);
    let mut asked = installation.asked(JOBS + 6).await;
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked.len(), JOBS + 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_at_its_limit_holds_up_no_other() {
    let installation = GatedInstallation::new(Some(1)).await;
    let account = installation.account("default").await;
    for number in 0..5 {
        installation
            .queue(&account, "slow", &format!("slow-{number}"))
            .await;
    }
    for number in 0..3 {
        installation
            .queue(&account, "lab", &format!("quick-{number}"))
            .await;
    }
    let _served = installation.serve(4).await;
    // One of the older ones, and all of the others beside it.
    let mut asked = installation.asked(4).await;
    asked.sort_unstable();
    assert_eq!(asked, ["quick-0", "quick-1", "quick-2", "slow-0"]);
    installation.answer("lab", 3);
    for answered in 1..5 {
        installation.answer("slow", 1);
        let asked = installation.asked(4 + answered).await;
        assert_eq!(asked[4 + answered - 1], format!("slow-{answered}"));
    }
    let most = installation.gates.gates["slow"].waiting[1].load(Ordering::SeqCst);
    assert_eq!(most, 1);
}

#[tokio::test]
async fn spec_3_1_a_service_asks_who_becomes_due_while_it_runs() {
    let installation = GatedInstallation::new(None).await;
    let account = installation.account("default").await;
    let wren = agent(&account, "lab", "wren").await;
    let _served = installation.serve(1).await;
    installation.answer("lab", 9);
    // From Wednesday to Monday, 05:00.
    installation.advance(Duration::from_secs((4 * 24 + 17) * 3_600));
    assert_eq!(installation.asked(1).await, ["wren"]);
    let session = wren
        .views()
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

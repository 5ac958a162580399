//! Verifying all agents of an account in the background (SPEC 4.2): one after the other, where it delays no request, and
//! one run at a time in a process. Its progress is in memory, and a restart forgets it.

use std::collections::HashMap;

use memoir_domain::{AccountId, AgentId, AgentScope, Timestamp};
use parking_lot::Mutex;
use tracing::Instrument;

use crate::core::{Account, Memoir, Result, parallel::long_work};

/// A run and its progress. Without text: counts, names and times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerificationRun {
    /// When it began.
    pub started_at: Timestamp,
    /// The logs to verify: those of the agents, the erased ones too, and that of the account.
    pub total: usize,
    /// Those that were verified, the damaged ones included.
    pub verified: usize,
    /// Those that have a mismatch.
    pub damaged: Vec<NamedLog>,
    /// Those that could not be verified: the store failed, or they were written too often meanwhile.
    pub unverified: Vec<NamedLog>,
    /// When it ended; `None` while it runs. One that ended early has verified fewer than all.
    pub ended_at: Option<Timestamp>,
}

/// A log, by the name to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedLog {
    /// The agent; `None` for the account's own log.
    pub agent: Option<AgentId>,
    /// The agent's name, or that of the account.
    pub name: String,
}

/// The last run of each account in this process.
#[derive(Default)]
pub(crate) struct VerificationRuns(Mutex<HashMap<AccountId, VerificationRun>>);

impl Account {
    /// Begins to verify all agents of the account. `false` where a run is under way in this process, of any account.
    ///
    /// # Errors
    /// The store fails.
    pub async fn begin_verification(&self) -> Result<bool> {
        let Some(run) = self.begin_run() else {
            return Ok(false);
        };
        let mut scopes = self.memoir.store.scopes().await?;
        scopes.retain(|scope| scope.account == self.id);
        run.note(|run| run.total = scopes.len());
        let running = run.verify(scopes).in_current_span();
        match long_work() {
            Some(runtime) => runtime.spawn(running),
            None => tokio::spawn(running),
        };
        Ok(true)
    }

    /// The account's last run in this process; `None` where there was none.
    pub fn verification(&self) -> Option<VerificationRun> {
        let runs = self.memoir.state::<VerificationRuns>();
        runs.0.lock().get(&self.id).cloned()
    }

    fn begin_run(&self) -> Option<BegunRun> {
        let runs = self.memoir.state::<VerificationRuns>();
        let mut all = runs.0.lock();
        if all.values().any(|run| run.ended_at.is_none()) {
            return None;
        }
        let run = VerificationRun {
            started_at: self.memoir.now(),
            total: 0,
            verified: 0,
            damaged: Vec::new(),
            unverified: Vec::new(),
            ended_at: None,
        };
        all.insert(self.id, run);
        Some(BegunRun {
            memoir: self.memoir.clone(),
            account: self.id,
        })
    }
}

/// A run under way. It ends when this is dropped, also where it broke off.
struct BegunRun {
    memoir: Memoir,
    account: AccountId,
}

impl BegunRun {
    fn note(&self, change: impl FnOnce(&mut VerificationRun)) {
        let runs = self.memoir.state::<VerificationRuns>();
        if let Some(run) = runs.0.lock().get_mut(&self.account) {
            change(run);
        }
    }

    async fn verify(self, scopes: Vec<AgentScope>) {
        // Read before any of the logs, as for one agent.
        let leaves = match self.memoir.leaves_by_agent().await {
            Ok(leaves) => leaves,
            Err(error) => return tracing::error!(%error, "the agents cannot be verified"),
        };
        for scope in scopes {
            let own = leaves.get(&scope.agent).map_or(&[][..], Vec::as_slice);
            let handle = self.memoir.handle(scope);
            let verified = handle.log().verify_with(Some(own), None).await;
            let agent = (!scope.is_of_account()).then_some(scope.agent);
            match verified {
                Ok(verified) => self.note(|run| {
                    run.verified += 1;
                    if !verified.valid {
                        let name = verified.agent;
                        run.damaged.push(NamedLog { agent, name });
                    }
                }),
                Err(error) => {
                    tracing::error!(agent = %scope.agent, %error, "the agent cannot be verified");
                    let name = scope.agent.to_string();
                    self.note(|run| run.unverified.push(NamedLog { agent, name }));
                }
            }
        }
    }
}

impl Drop for BegunRun {
    fn drop(&mut self) {
        let now = self.memoir.now();
        self.note(|run| run.ended_at = Some(now));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use memoir_domain::audit::Actor;

    use super::*;
    use crate::{
        log::Limits,
        tests::{memoir, scope},
    };

    async fn ended(account: &Account) -> VerificationRun {
        for _ in 0..12_000 {
            let run = account.verification().unwrap();
            if run.ended_at.is_some() {
                return run;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("the run does not end");
    }

    #[tokio::test]
    async fn spec_4_2_one_run_at_a_time_verifies_all_agents_of_its_account() {
        let memoir = memoir();
        let account = memoir.account("default").await.unwrap();
        let actor = Actor::administrator("test");
        for name in ["wren", "robin"] {
            account.create_agent(name, &[], &actor).await.unwrap();
        }
        memoir.create_account("other", &actor).await.unwrap();
        let other = memoir.account("other").await.unwrap();
        other.create_agent("owl", &[], &actor).await.unwrap();
        assert_eq!(account.verification(), None);
        // Both places are taken, so that the run waits.
        let verifications = &memoir.state::<Limits>().verifications;
        let one = verifications.take(scope(1)).await.unwrap();
        let two = verifications.take(scope(2)).await.unwrap();
        assert!(account.begin_verification().await.unwrap());
        assert!(!account.begin_verification().await.unwrap());
        assert!(!other.begin_verification().await.unwrap());
        let waiting = account.verification().unwrap();
        assert_eq!((waiting.verified, waiting.ended_at), (0, None));
        let own = memoir.store.scopes().await.unwrap();
        let own = own.iter().filter(|scope| scope.account == account.id());
        assert_eq!(waiting.total, own.count());
        drop((one, two));
        let run = ended(&account).await;
        assert_eq!((run.verified, run.total), (waiting.total, waiting.total));
        assert_eq!((run.damaged, run.unverified), (Vec::new(), Vec::new()));
        assert_eq!(other.verification(), None, "of another account");
        assert!(other.begin_verification().await.unwrap());
        ended(&other).await;
    }
}

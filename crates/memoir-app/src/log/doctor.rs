//! Examining an installation: database, models, schedule, clock.

use std::{
    collections::{BTreeSet, HashSet},
    time::Duration,
};

use memoir_domain::{AgentScope, PrivateText, audit::Actor, manage, text::counted};
use memoir_model::{EmbedderPlace, Model, ModelMessage, ModelName, ModelRequest};
use memoir_store::{AgentQuery, Finding, Selection};
use memoir_vault::KeyStore;
use serde::Serialize;
use tokio::time::Instant;

use crate::{
    core::{
        Account, AgentHandle, Error, Memoir, Result, accounts::DEFAULT_ACCOUNT, check_due,
        check_messages, quotas::NEAR_PERCENT, replies::account_data, tuned::RULES_ONLY,
    },
    log::verify::UNRECORDED_ERASURE,
};

/// The timeout of one call of a model.
// A model on one's own machine is loaded with the first call.
const CALL_TIME: Duration = Duration::from_secs(60);
/// The tokens for one word, and for the reasoning of some models before it.
const CALL_TOKENS: u32 = 1_000;
/// How long an access request may be overdue before that is a finding.
const MOMENT_MICROSECONDS: i64 = 60_000_000;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// All is well.
    Ok,
    /// It works, but it needs attention.
    Warning,
    /// Something is broken.
    Problem,
}

/// One examination and its finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Examination {
    /// `database`, `key`, `model`, `embeddings`, `schedule`, `clock`, `counts`, `context`, `quotas`, `unfinished` or
    /// `administrators`.
    pub area: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The finding.
    pub finding: String,
    /// The advice; `None` where there is nothing to do.
    pub advice: Option<String>,
}

impl Examination {
    /// A finding that all is well.
    pub fn fine(area: &'static str, finding: impl Into<String>) -> Self {
        Self {
            area,
            severity: Severity::Ok,
            finding: finding.into(),
            advice: None,
        }
    }

    /// A finding with what to do about it.
    pub fn advised(
        severity: Severity,
        area: &'static str,
        finding: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            area,
            severity,
            finding: finding.into(),
            advice: Some(advice.into()),
        }
    }
}

/// Asks a model for one word.
async fn called(model: &dyn Model) -> Examination {
    let request = ModelRequest {
        system: PrivateText::default(),
        messages: vec![ModelMessage::User(
            "Answer with the word OK and nothing else.".into(),
        )],
        tools: Vec::new(),
        answer_schema: None,
        max_output_tokens: CALL_TOKENS,
        reasoning_effort: None,
    };
    let name = model.name();
    let began = Instant::now();
    let problem = match tokio::time::timeout(CALL_TIME, model.complete(&request)).await {
        Ok(Ok(_)) => {
            let seconds = began.elapsed().as_secs_f32();
            return Examination::fine("model", format!("`{name}` answered in {seconds:.1} s"));
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", CALL_TIME.as_secs()),
    };
    Examination::advised(
        Severity::Problem,
        "model",
        format!("`{name}` was called: {problem}"),
        "correct its key, its address or its name, then run `memoir doctor --call` again",
    )
}

/// What was found in an area. One that cannot be examined is a finding itself, and hides no other.
fn or_finding(
    area: &'static str,
    found: Result<impl IntoIterator<Item = Examination>>,
) -> Vec<Examination> {
    match found {
        Ok(found) => found.into_iter().collect(),
        Err(error) => vec![Examination {
            area,
            severity: Severity::Problem,
            finding: error.to_string(),
            advice: matches!(error, Error::Tampered(_) | Error::Sealed(_)).then(|| {
                "`memoir audit verify --all` names everything that does not match".to_owned()
            }),
        }],
    }
}

impl Memoir {
    /// Examines everything.
    ///
    /// # Errors
    /// The store cannot be read at all.
    pub async fn examine(&self, account: &Account) -> Result<Vec<Examination>> {
        let mut found = self.examine_database().await?;
        found.extend(or_finding("key", self.examine_keys().await));
        let agents = account.agents().await?;
        found.extend(self.examine_models(&agents));
        found.extend(or_finding(
            "embeddings",
            self.examine_embeddings(account).await,
        ));
        let schedule = self.examine_schedule(account, agents.len()).await;
        found.extend(or_finding("schedule", schedule));
        for (area, examined) in [
            ("clock", self.examine_clock(account).await),
            ("counts", self.examine_counts(account).await),
            ("context", self.examine_contexts(account).await),
            ("quotas", self.examine_quotas(account).await),
            ("unfinished", self.examine_unfinished().await),
            ("administrators", self.examine_administrators(account).await),
        ] {
            found.extend(or_finding(area, examined.map(Some)));
        }
        Ok(found)
    }

    /// The embedding server, its prefix and its address; empty where none is configured (SPEC 6.4). It is asked for the
    /// vector of a fixed word.
    async fn examine_embeddings(&self, account: &Account) -> Result<Option<Examination>> {
        let Some(model) = self.settings.recall.embedding_model() else {
            return Ok(None);
        };
        let advised = |severity, finding: String, advice: &str| {
            let examination = Examination::advised(severity, "embeddings", finding, advice);
            Ok(Some(examination))
        };
        let embedder = match self.models.embedder(&model.name) {
            Ok(embedder) => embedder,
            Err(error) => {
                let advice = "see `[recall] embeddings` and the provider's settings";
                return advised(Severity::Problem, error.to_string(), advice);
            }
        };
        let (name, place) = (embedder.name(), embedder.place());
        let texts = "the texts of active memories and the queries of recall go to";
        let mut sent = match place {
            EmbedderPlace::ThisProcess => {
                format!("`{name}` finds memories by meaning in this process; no text leaves it")
            }
            EmbedderPlace::ThisMachine(address) => {
                format!("{texts} `{name}` at {address}, on this machine")
            }
            EmbedderPlace::Elsewhere(address) => {
                let agents = account.agents().await?;
                let mut willing = 0;
                for agent in &agents {
                    let handle: AgentHandle = account.agent(&agent.id.to_string()).await?;
                    willing += usize::from(handle.memories().lets_embed(embedder.as_ref()).await?);
                }
                format!(
                    "{texts} `{name}` at {address}, of the agents that have agreed: {willing} of {}",
                    agents.len()
                )
            }
        };
        let before = [
            ("memory", &model.before_memories),
            ("question", &model.before_questions),
        ];
        for (what, before) in before {
            sent.push_str(&match before.as_str() {
                "" => format!("; no prefix for a {what}"),
                before => format!("; the prefix of a {what} is `{before}`"),
            });
        }
        let word = ["memory".into()];
        let asking = embedder.embed(model.memories(), &word);
        // A recall waits for the server this long, so a slower response would be useless.
        let problem = match tokio::time::timeout(self.settings.recall.question_time, asking).await {
            Ok(Ok(_)) => return Ok(Some(Examination::fine("embeddings", sent))),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it does not answer in time".to_owned(),
        };
        if *place == EmbedderPlace::ThisProcess {
            let finding = format!("memories are found by words alone: {problem}");
            let advice = "`memoir embeddings install FILE` writes the file anew";
            return advised(Severity::Problem, finding, advice);
        }
        let finding = format!("{sent}; now nothing is: {problem}");
        let advice = "memories are found by words alone until the server answers; `[recall] question_seconds` is how long a question waits for it";
        advised(Severity::Warning, finding, advice)
    }

    /// Asks each model of the account's agents for one word, except models that only follow rules.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn call_models(&self, account: &Account) -> Result<Vec<Examination>> {
        let agents = account.agents().await?;
        // Each once, whatever the number of agents: a call costs money.
        let names = agents.into_iter().filter_map(|agent| agent.effective_model);
        let names: BTreeSet<String> = names.collect();
        let mut found = Vec::new();
        for name in names {
            let connected = name.parse().ok().and_then(|name: ModelName| {
                let is_asked = name.provider() != RULES_ONLY;
                is_asked.then(|| self.models.connect(&name).ok()).flatten()
            });
            // A model without a connection is a finding already.
            if let Some(model) = connected {
                found.push(called(model.as_ref()).await);
            }
        }
        Ok(found)
    }

    /// Whether the account's administrators and their tokens match the account's log.
    async fn examine_administrators(&self, account: &Account) -> Result<Examination> {
        let scope = AgentScope::of_account(account.id());
        let row = self.account_row(account.id()).await?;
        let mismatches = self.account_mismatches(scope, row.as_ref()).await?;
        let Some(first) = mismatches.first() else {
            let finding = "the account's users and tokens match its log";
            return Ok(Examination::fine("administrators", finding));
        };
        Ok(Examination::advised(
            Severity::Problem,
            "administrators",
            first.problem.clone(),
            "integrity check failed: modified outside Memoir. Give the user another password, or revoke the token; \
             `memoir audit list --own` shows what was done, and `memoir audit verify --all` checks it",
        ))
    }

    /// Whether the stored counts of each agent, with the core size, match its memories, and whether its rows match
    /// these counts (SPEC 3.12): reading an agent compares them.
    async fn examine_counts(&self, account: &Account) -> Result<Examination> {
        let (mut miscounted, mut unread, mut erased) = (Vec::new(), Vec::new(), Vec::new());
        let option = match account.name() {
            DEFAULT_ACCOUNT => String::new(),
            name => format!(" --account {name}"),
        };
        for agent in account.agents().await? {
            let handle: AgentHandle = account.agent(&agent.id.to_string()).await?;
            let query = AgentQuery::of_memories(Selection::All).with_transcript();
            match handle.load(&query).await {
                Ok(loaded)
                    if loaded.agent.miscounted(&loaded.memories).is_empty()
                        && check_messages(&loaded.agent, &loaded.transcript).is_ok() =>
                {
                    if check_due(&loaded.transcript).is_err() {
                        unread.push(agent.name);
                    }
                }
                Err(Error::Erased { name, .. }) => erased.push(name),
                // An agent that cannot be opened, or whose rows do not match, must not hide the others.
                Ok(_) | Err(_) => miscounted.push(agent.name),
            }
        }
        if let (Some(first), true) = (erased.first(), miscounted.is_empty()) {
            return Ok(Examination::advised(
                Severity::Warning,
                "key",
                format!("{UNRECORDED_ERASURE}: {}", erased.join(", ")),
                format!(
                    "after restoring a backup, `memoir agent erase {first}{option}` records it again"
                ),
            ));
        }
        if let (Some(first), true) = (unread.first(), miscounted.is_empty()) {
            return Ok(Examination::advised(
                Severity::Problem,
                "counts",
                format!(
                    "the database was modified outside Memoir: conversations of these agents wait, and nothing says from \
                     when on they are read: {}",
                    unread.join(", ")
                ),
                format!("`memoir absorb {first}{option}` reads them"),
            ));
        }
        let Some(first) = miscounted.first() else {
            let finding = "every agent's core size and counts are the sums over its memories, and no memory or conversation is missing";
            return Ok(Examination::fine("counts", finding));
        };
        Ok(Examination::advised(
            Severity::Problem,
            "counts",
            format!(
                "{} memories or conversations that cannot be counted, or that differ from the counts kept with the agent: {}",
                counted(miscounted.len() as u64, "agent has", "agents have"),
                miscounted.join(", ")
            ),
            format!(
                "`memoir audit verify {first}{option}` names the record that does not match; restore a backup"
            ),
        ))
    }

    /// The share of its core memories that each agent's context shows (SPEC 2.3).
    async fn examine_contexts(&self, account: &Account) -> Result<Examination> {
        let mut partial = Vec::new();
        let mut is_little = false;
        for agent in account.agents().await? {
            let handle: AgentHandle = account.agent(&agent.id.to_string()).await?;
            // An agent that cannot be read is another finding.
            let Ok(share) = handle.memories().context_share().await else {
                continue;
            };
            if share.shown == share.core_memories {
                continue;
            }
            is_little |= share.shown * 2 < share.core_memories;
            let quarters = share.by_quarter.iter().map(|of| {
                let (quarter, shown) = (&of.quarter, of.shown);
                format!("{quarter} {shown} of {}", of.core_memories)
            });
            partial.push(format!(
                "`{}` {} of {} core memories ({})",
                agent.name,
                share.shown,
                share.core_memories,
                quarters.collect::<Vec<_>>().join(", ")
            ));
        }
        let finding = match partial.is_empty() {
            true => "every agent's context shows all of its core memories".to_owned(),
            false => format!("the contexts show: {}", partial.join("; ")),
        };
        Ok(match is_little {
            false => Examination::fine("context", finding),
            true => Examination::advised(
                Severity::Warning,
                "context",
                finding,
                "raise the agent's `context_core_tokens` or its client's `max_tokens`, or let it refine its memory; \
                 recall finds the others, and `memoir context --explain` shows what is left out",
            ),
        })
    }

    /// How near the account and its agents are to their quotas.
    async fn examine_quotas(&self, account: &Account) -> Result<Examination> {
        let mut uses = Vec::new();
        let whose = format!("the account `{}`", account.name());
        for (quota, used) in self.account_uses(account.id()).await? {
            uses.push((whose.clone(), quota, used));
        }
        for agent in account.agents().await? {
            let handle: AgentHandle = account.agent(&agent.id.to_string()).await?;
            // An agent that cannot be read is another finding.
            let tokens = handle.grants().token_uses(self.now()).await;
            let own = handle.quota_uses(tokens.unwrap_or_default()).await;
            let own = own.unwrap_or_default();
            let whose = format!("the agent `{}`", agent.name);
            uses.extend(
                own.into_iter()
                    .map(|(quota, used)| (whose.clone(), quota, used)),
            );
        }
        let quotas = &self.settings.quotas;
        let near = uses.iter().filter_map(|(whose, quota, used)| {
            let limit = quotas.limit(*quota)?;
            let is_near = u128::from(*used) * 100 >= u128::from(limit) * u128::from(NEAR_PERCENT);
            let key = quota.key();
            // A limit of nothing is meant.
            (is_near && *used > 0).then(|| format!("{whose}: `{key}` {used} of {limit}"))
        });
        let near: Vec<String> = near.collect();
        Ok(match near.is_empty() {
            true => Examination::fine(
                "quotas",
                format!("no agent and no account uses {NEAR_PERCENT}% of a quota"),
            ),
            false => Examination::advised(
                Severity::Warning,
                "quotas",
                near.join("; "),
                "what is over a quota is refused: raise it in the section `[quotas]` of the configuration (0 is no limit), \
                 or see what the agent saves so much for",
            ),
        })
    }

    /// Whether work on the whole installation is unfinished (`finish.rs`). The schedule's part reports sessions, and
    /// the database's part text on the disk.
    async fn examine_unfinished(&self) -> Result<Examination> {
        let mut left = Vec::new();
        for scope in self.half_erased().await? {
            let agent = self.named_by_row(scope).await?;
            left.push(format!(
                "{agent} is erased on the record, and its key is there"
            ));
        }
        if self.keys.ask(KeyStore::is_rotation_unfinished).await? {
            left.push(
                "the master key of the last rotation is not in the place of its file".to_owned(),
            );
        }
        // Another process may be working on it.
        let long_ago = self.now().plus_microseconds(-MOMENT_MICROSECONDS);
        let open = self.store.open_access().await?;
        let over = open.iter().filter(|open| open.expires_at <= long_ago);
        let over = over.count();
        if over > 0 {
            let over = counted(
                over as u64,
                "request for access is past its",
                "requests for access are past their",
            );
            left.push(format!("{over} time"));
        }
        Ok(match left.is_empty() {
            true => Examination::fine("unfinished", "nothing was left half-done"),
            false => Examination::advised(
                Severity::Problem,
                "unfinished",
                left.join("; "),
                "any command finishes it, or reports what prevents it: `memoir sweep`; `memoir serve` tries \
                 every minute",
            ),
        })
    }

    async fn examine_database(&self) -> Result<Vec<Examination>> {
        let findings = self.store.check().await?;
        if findings.is_empty() {
            return Ok(vec![Examination::fine("database", "intact")]);
        }
        let problem = |Finding { problem, advice }| {
            Examination::advised(Severity::Problem, "database", problem, advice)
        };
        Ok(findings.into_iter().map(problem).collect())
    }

    /// The keys of agents that are not in this database: it was lost, or is another one than theirs.
    async fn examine_keys(&self) -> Result<Option<Examination>> {
        let with_keys = self.keys.ask(KeyStore::agents).await?;
        let mut known = HashSet::new();
        for account in self.store.accounts().await? {
            known.insert(AgentScope::of_account(account.id));
            known.insert(account_data(account.id));
            let agents = self.store.agents(account.id).await?;
            known.extend(agents.into_iter().map(|agent| agent.scope));
        }
        let unknown = with_keys.iter().filter(|scope| !known.contains(scope));
        let unknown = unknown.count();
        if unknown == 0 {
            return Ok(None);
        }
        let (severity, advice) = match unknown == with_keys.len() {
            true => (
                Severity::Problem,
                "name the right database, or restore a backup of it; to begin anew, move the key store and the master key away",
            ),
            // One may be left of an agent that was not made.
            false => (
                Severity::Warning,
                "after restoring a backup, these are of agents made since: nothing is to be done; else name the right database",
            ),
        };
        Ok(Some(Examination::advised(
            severity,
            "key",
            format!("the key store holds keys of agents that are not in this database: {unknown}"),
            advice,
        )))
    }

    fn examine_models(&self, agents: &[crate::shown::AgentFacts]) -> Vec<Examination> {
        let models = || agents.iter().map(|agent| agent.effective_model.as_ref());
        let without = models().filter(Option::is_none).count();
        let names: BTreeSet<&String> = models().flatten().collect();
        let found = names.into_iter().map(|name| self.examine_model(name));
        let mut found: Vec<Examination> = found.collect();
        if without > 0 {
            found.push(Examination::advised(
                Severity::Warning,
                "model",
                format!(
                    "{without} of {} without a model, and there is no default",
                    counted(agents.len() as u64, "agent", "agents")
                ),
                "set `model` in the configuration, or `memoir agent set NAME model PROVIDER:NAME`; \
                 `builtin:careful` needs no network",
            ));
        }
        if found.is_empty() {
            found.push(Examination::fine("model", "there is no agent yet"));
        }
        found
    }

    fn examine_model(&self, name: &str) -> Examination {
        let parsed = name.parse().map_err(Error::from);
        match parsed.and_then(|name| Ok(self.models.connect(&name)?)) {
            Ok(_) => {
                let finding = format!("`{name}` is configured (it was not called)");
                Examination::fine("model", finding)
            }
            Err(error) => {
                let advice = "correct it, then run `memoir doctor` again";
                Examination::advised(Severity::Problem, "model", error.to_string(), advice)
            }
        }
    }

    async fn examine_schedule(&self, account: &Account, agents: usize) -> Result<Vec<Examination>> {
        let lapsed = self.store.lapsed_sessions(self.now()).await?.len();
        let due = account.due_agents().await?.len();
        let overdue = account.count_due_since(self.now().plus_days(-1)).await?;
        let findings = [
            (
                lapsed,
                format!(
                    "{} open whose worker ended",
                    counted(lapsed as u64, "session is", "sessions are")
                ),
                "`memoir sweep` closes them",
            ),
            (
                due,
                format!(
                    "{due} of {} due for a session",
                    counted(agents as u64, "agent", "agents")
                ),
                "`memoir serve` asks them while it runs; `memoir sweep` asks them now",
            ),
            (
                overdue,
                format!(
                    "{} been due for more than a day",
                    counted(overdue as u64, "agent has", "agents have")
                ),
                "see that `memoir serve` runs with `enabled = true` in `[schedule]`, or `memoir sweep` by \
                 cron, and that these agents have a model that can be used",
            ),
        ];
        let findings = findings.into_iter().filter(|(count, ..)| *count > 0);
        let mut found: Vec<Examination> = findings
            .map(|(_, finding, way_out)| {
                Examination::advised(Severity::Warning, "schedule", finding, way_out)
            })
            .collect();
        if found.is_empty() {
            let schedule = self.schedule();
            let (weekly, daily) = (&schedule.weekly, &schedule.daily);
            let zone = schedule.time_zone.unwrap_or_default();
            let finding = match schedule.enabled {
                true => format!(
                    "nothing is due; agents are asked every {weekly} {zone}, and reflect daily at {daily}"
                ),
                false => {
                    "nothing is due; the schedule is off, so agents are asked and reflect on request only".to_owned()
                }
            };
            found.push(Examination::fine("schedule", finding));
        }
        Ok(found)
    }

    async fn examine_clock(&self, account: &Account) -> Result<Examination> {
        let now = self.now();
        let mut ahead = 0;
        for agent in account.agents().await? {
            let handle: AgentHandle = account.agent(&agent.id.to_string()).await?;
            let loaded = match handle.load_memories(Selection::All).await {
                // One whose key is gone without a record, as after a restored backup, shows in the counts.
                Err(crate::core::Error::Erased { .. }) => continue,
                loaded => loaded?,
            };
            let actor = Actor::system();
            let memories = loaded.memories.copies().collect();
            let corrected = manage::correct_times(loaded.agent, memories, &actor, now);
            ahead += u64::from(corrected.is_some());
        }
        if ahead == 0 {
            return Ok(Examination::fine(
                "clock",
                format!("{now}, after everything that decides"),
            ));
        }
        let ahead = counted(ahead, "agent has", "agents have");
        let finding = format!("{ahead} times that lie more than a day ahead of now ({now})");
        Ok(Examination::advised(
            Severity::Problem,
            "clock",
            finding,
            "correct the machine's clock where it is wrong; where it was, `memoir doctor --mend` sets these times \
             to now, on the record. Until then they decide nothing",
        ))
    }
}

impl Account {
    /// Corrects, with a record, the times of its agents that lie in the future. Returns the number of agents with any.
    ///
    /// # Errors
    /// The store fails; agents before that one are corrected.
    pub async fn correct_times(&self, actor: &Actor) -> Result<usize> {
        let mut corrected = 0;
        for agent in self.agents().await? {
            let handle = self.agent(&agent.id.to_string()).await?;
            let was_ahead = handle
                .decide(&AgentQuery::of_memories(Selection::All), |loaded, now| {
                    let memories = loaded.memories.copies().collect();
                    let decision = manage::correct_times(loaded.agent, memories, actor, now);
                    let was_ahead = decision.is_some();
                    Ok((decision, was_ahead))
                })
                .await?;
            corrected += usize::from(was_ahead);
        }
        Ok(corrected)
    }
}

//! What `/metrics` serves: the right numbers, in the right form, to the right people, and no words.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use memoir_app::{InstallationSettings, Models, Price};
use memoir_domain::{agent::Field, session::FailureClass};
use memoir_model::{ConnectError, Model, ModelError, ModelName, Providers};
use memoir_testkit::{ModelScript, TestedText, Turn, settings};
use serde_json::{Value, json};

use crate::installation::{Caller, Installation, administrator_token, owner};

/// In everything that is an agent's words, and in its name.
const CANARY: &str = "canary-7f3a";

/// The built-in model, and one that follows a script.
struct Both(Providers, Arc<ModelScript>);

impl Models for Both {
    fn connect(&self, name: &ModelName) -> Result<Arc<dyn Model>, ConnectError> {
        if name.provider() == "scripted" {
            return Ok(self.1.clone());
        }
        self.0.connect(name)
    }
}

async fn installation(script: Vec<Turn>) -> Installation {
    let providers = Providers::new(BTreeMap::new()).unwrap();
    let price = Price {
        input_per_million: 3.0,
        output_per_million: 15.0,
    };
    let settings = InstallationSettings {
        prices: BTreeMap::from([("scripted:model".parse().unwrap(), price)]),
        ..settings()
    };
    Installation::with(
        Arc::new(Both(providers, Arc::new(ModelScript::new(script)))),
        settings,
    )
    .await
}

/// What was done in an installation, for comparing.
struct Busy {
    installation: Installation,
    admin: Caller,
    /// Of the sessions of `builtin:careful`, what they say that they used: calls, tokens in and out.
    careful: [u64; 3],
    /// The tokens that sessions took away, those rolled back included.
    deleted_tokens: u64,
}

/// Sessions of every kind: by the built-in model, for real and rehearsed; by the agent itself, with
/// refusals, edits and a trip of the breaker; by a model that declines, and by one that fails.
async fn busy() -> Busy {
    let rate_limited = ModelError::RateLimited { retry_after: None };
    let installation = installation(vec![
        Turn::text(&format!("No. {CANARY} is dear to me.")).with_usage(200, 20),
        Turn::text("YES").with_usage(1_000, 100),
        Turn::Error(rate_limited),
        Turn::rejected(400, FailureClass::ServerError),
    ])
    .await;
    let admin = installation.administrator().await;
    let (careful, tidied_tokens) = careful_sessions(&installation).await;
    let deleted_tokens = tidied_tokens + own_session(&installation).await;
    for end in ["declined", "failed"] {
        let name = format!("{end}-{CANARY}");
        let text = format!("{CANARY} sings.");
        let (agent, own) = installation.agent_with(&name, &[&text]).await;
        let scripted = [(Field::Model, Some("scripted:model"))];
        let settings = agent.settings();
        settings.configure(&scripted, &owner()).await.unwrap();
        assert_eq!(driven(&own, &name, false).await["state"], end);
        own.shown(&format!("/v1/agents/{name}/context")).await;
    }
    // A request that is refused before its handler.
    for path in [format!("/v1/agents/nobody-{CANARY}"), format!("/{CANARY}")] {
        admin.get(&path).await.refused(404, "not_found");
    }
    Busy {
        installation,
        admin,
        careful,
        deleted_tokens,
    }
}

/// Runs a session with the agent's model to its end.
async fn driven(own: &Caller, agent: &str, rehearsal: bool) -> Value {
    let begin = json!({"driver": "model", "rehearsal": rehearsal});
    let path = format!("/v1/agents/{agent}/sessions");
    let begun = own.post(&path, begin).await.expect(202);
    own.ended(begun["id"].as_str().unwrap()).await
}

/// What two sessions used, and the tokens that the one which was no rehearsal took away.
async fn careful_sessions(installation: &Installation) -> ([u64; 3], u64) {
    let words = format!("The {CANARY} sings at dawn, and the kiln is fired on Thursdays");
    let own = installation.agent_with_duplicate(CANARY, &words).await;
    let (mut used, mut removed) = ([0; 3], 0);
    for rehearsal in [true, false] {
        let ended = driven(&own, CANARY, rehearsal).await;
        assert_eq!(ended["state"], "completed", "{ended}");
        assert_eq!(ended["edits"], 1, "{ended}");
        let fields = ["calls", "input_tokens", "output_tokens"];
        for (sum, field) in used.iter_mut().zip(fields) {
            *sum += ended["usage"][field].as_u64().unwrap();
        }
        let tokens_of = |field: &str| ended[field].as_u64().unwrap();
        removed = tokens_of("pre_session_tokens") - tokens_of("post_session_tokens");
    }
    (used, removed)
}

async fn own_session(installation: &Installation) -> u64 {
    let name = format!("own-{CANARY}");
    // Four of the same size: without one, three quarters are left, which is no less than the threshold.
    let texts = ["dawn", "noon", "dusk", "late"]
        .map(|hour| format!("The {CANARY} sings at {hour}, whoever listens."));
    let tokens = texts[0].chars().count().div_ceil(4) as u64;
    let texts = texts.each_ref().map(String::as_str);
    let (_, own) = installation.agent_with(&name, &texts).await;
    let session = own.open_session(&name).await;
    let query = json!({"query": CANARY});
    for (tool, arguments, expected) in [
        ("search_memories", query, "search_results"),
        ("delete_memory", json!({"id": 99}), "error"),
        ("delete_memory", json!({"id": CANARY}), "error"),
        ("protect_memory", json!({"id": 1}), "protected"),
        ("delete_memory", json!({"id": 1}), "error"),
        ("delete_memory", json!({"id": 4}), "deleted"),
        ("delete_memory", json!({"id": 3}), "refinement_rolled_back"),
        ("delete_memory", json!({"id": 3}), "error"),
    ] {
        let answer = own.tool(&session, tool, arguments).await;
        assert_eq!(answer["type"], expected, "{tool}: {answer}");
    }
    2 * tokens
}

/// The samples by name and labels as they are written.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.trim().lines().map(str::trim);
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        })
        .collect()
}

async fn scraped(installation: &Installation) -> (String, BTreeMap<String, f64>) {
    let answer = installation.get("/metrics", "").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.header("content-type"), "text/plain; version=0.0.4");
    let found = samples(&answer.text);
    (answer.text, found)
}

#[tokio::test]
async fn spec_3_14_what_is_archived_replaced_and_promoted_is_counted_without_agents() {
    let installation = Installation::open().await;
    let texts = ["Rome", "bread", "boats", "hens", "bees", "ferries"]
        .map(|what| format!("Of {what} there is much to say, and little that matters now."));
    let texts = texts.each_ref().map(String::as_str);
    let (_, own) = installation.agent_with("wren", &texts).await;
    let session = own.open_session("wren").await;
    let deleted = own.tool(&session, "delete_memory", json!({"id": 6})).await;
    assert_eq!(deleted["archived"], json!([6]), "{deleted}");
    let arguments =
        json!({"id": 5, "content": "Of bees there is much to say, little that matters now."});
    let updated = own.tool(&session, "update_memory", arguments).await;
    assert_eq!(updated["archived"], json!([5]), "{updated}");
    let path = "/v1/agents/wren/memories";
    let body = json!({"content": "Of hens there is nothing to say.", "replaces": [4]});
    let saved = own.created(path, body).await;
    assert_eq!(saved["replaced"], json!([4]), "{saved}");
    let promote = format!("{path}/6/promote");
    own.acted(&promote).await;
    let (_, found) = scraped(&installation).await;
    for (name, expected) in [
        ("memoir_session_archived_total", 2.0),
        ("memoir_session_summaries_total", 1.0),
        ("memoir_memories_replaced_total", 1.0),
        ("memoir_memories_promoted_total", 1.0),
    ] {
        assert_eq!(found.get(name), Some(&expected), "{name}");
    }
}

#[tokio::test]
async fn spec_2_3_shown_core_memories_are_counted_by_the_quarter_of_recording() {
    let installation = Installation::open().await;
    let texts = ["The kiln is hot.", "The loom is old."];
    let (_, own) = installation.agent_with("wren", &texts).await;
    // From the first quarter into the second.
    installation.clock.advance(Duration::from_secs(30 * 86_400));
    own.save("wren", "The bees swarmed.").await;
    let path = "/v1/agents/wren/context";
    own.shown(path).await;
    own.shown(&format!("{path}?max_tokens=0")).await;
    // It is for a person, and counts as no context.
    own.shown(&format!("{path}?explain=true")).await;
    let (_, found) = scraped(&installation).await;
    for (name, quarter, expected) in [
        ("memoir_context_core_memories_total", "2026-Q1", 4.0),
        ("memoir_context_core_shown_total", "2026-Q1", 2.0),
        ("memoir_context_core_memories_total", "2026-Q2", 2.0),
        ("memoir_context_core_shown_total", "2026-Q2", 1.0),
    ] {
        let name = format!("{name}{{quarter=\"{quarter}\"}}");
        assert_eq!(found.get(&name), Some(&expected), "{name}");
    }
}

#[tokio::test]
async fn spec_5_1_every_number_is_right_and_no_word_is_among_them() {
    let Busy {
        installation,
        careful: [calls, input, output],
        deleted_tokens,
        ..
    } = busy().await;
    let (text, found) = scraped(&installation).await;
    text.omits("canary");
    let cost = (1_200.0 * 3.0 + 120.0 * 15.0) / 1e6;
    let mut expected = samples(
        r#"
        memoir_sessions_ended_total{driver="model",end="completed",rehearsal="false"} 1
        memoir_sessions_ended_total{driver="model",end="completed",rehearsal="true"} 1
        memoir_sessions_ended_total{driver="agent",end="rolled_back",rehearsal="false"} 1
        memoir_sessions_ended_total{driver="model",end="declined",rehearsal="false"} 1
        memoir_sessions_ended_total{driver="model",end="failed",rehearsal="false"} 1
        memoir_sessions_ended_total{driver="model",end="abandoned",rehearsal="false"} 0
        memoir_session_end_reasons_total{reason="refused"} 1
        memoir_session_end_reasons_total{reason="provider"} 1
        memoir_session_failures_total{failure="server_error"} 1
        memoir_session_failures_total{failure="quota"} 0
        memoir_session_end_reasons_total{reason="breaker_mass"} 1
        memoir_breaker_trips_total{limit="mass"} 1
        memoir_breaker_trips_total{limit="removed"} 0
        memoir_session_edits_total{tool="delete_memory"} 3
        memoir_session_edits_total{tool="protect_memory"} 1
        memoir_refusals_total{code="not_found"} 1
        memoir_refusals_total{code="invalid_argument"} 1
        memoir_refusals_total{code="constitutional"} 1
        memoir_refusals_total{code="session_over"} 1
        memoir_refusals_total{code="edit_cap"} 0
        memoir_tool_calls_total{result="done",tool="search_memories"} 1
        memoir_tool_calls_total{result="refused",tool="delete_memory"} 4
        memoir_tool_calls_total{result="done",tool="delete_memory"} 2
        memoir_tool_calls_total{result="rolled_back",tool="delete_memory"} 1
        memoir_audit_records_total{action="memory_refinement_declined"} 1
        memoir_audit_records_total{action="memory_refinement_rollback"} 1
        memoir_model_calls_total{model="model",provider="scripted",result="answered"} 2
        memoir_model_calls_total{model="model",provider="scripted",result="rate_limited"} 1
        memoir_model_calls_total{model="model",provider="scripted",result="rejected"} 1
        memoir_model_call_duration_seconds_count{model="model",provider="scripted"} 4
        memoir_model_tokens_total{model="model",provider="scripted",type="input"} 1200
        memoir_model_tokens_total{model="model",provider="scripted",type="output"} 120
        memoir_agents 4
        memoir_queue_sessions 0
        memoir_queue_oldest_seconds 0
        memoir_sessions_running{driver="agent"} 0
        memoir_database_up 1
        memoir_http_requests_total{method="POST",route="/v1/agents/{agent}/memories",status="2xx"} 11
        memoir_http_requests_total{method="GET",route="unmatched",status="4xx"} 1
        memoir_http_problems_total{code="not_found"} 2
        memoir_http_requests_in_flight 1
        "#,
    );
    expected.append(&mut samples(&format!(
        r#"
        memoir_session_removed_tokens_total{{tool="delete_memory"}} {deleted_tokens}
        memoir_model_calls_total{{model="careful",provider="builtin",result="answered"}} {calls}
        memoir_model_call_duration_seconds_count{{model="careful",provider="builtin"}} {calls}
        memoir_model_tokens_total{{model="careful",provider="builtin",type="input"}} {input}
        memoir_model_tokens_total{{model="careful",provider="builtin",type="output"}} {output}
        memoir_model_cost_total{{model="model",provider="scripted"}} {cost}
        "#
    )));
    for (name, expected) in expected {
        let shown = found.get(&name).copied();
        let is_right = shown.is_some_and(|shown| (shown - expected).abs() < 1e-9);
        assert!(is_right, "{name}: {shown:?} instead of {expected}\n{text}");
    }
    // A model without a price has no cost, and every commit that was written has a time.
    let unpriced = r#"memoir_model_cost_total{model="careful",provider="builtin"}"#;
    assert!(!found.contains_key(unpriced));
    let written = found[r#"memoir_commits_total{result="written"}"#];
    assert_eq!(found["memoir_commit_duration_seconds_count"], written);
    assert!(written > 20.0, "{written}");
}

#[tokio::test]
async fn what_the_database_says_is_asked_seldom_and_tells_of_leases() {
    let installation = Installation::open().await;
    let texts = ["The kiln is fired on Thursdays."];
    let (_, own) = installation.agent_with("wren", &texts).await;
    own.open_session("wren").await;
    let (_, found) = scraped(&installation).await;
    assert_eq!(found["memoir_agents"], 1.0);
    installation.agent("finch").await;
    let (_, again) = scraped(&installation).await;
    assert_eq!(again["memoir_agents"], 1.0, "asked again immediately");
    installation.clock.advance(Duration::from_secs(60));
    let (_, later) = scraped(&installation).await;
    assert_eq!(later["memoir_agents"], 2.0);
    assert_eq!(later[r#"memoir_sessions_running{driver="agent"}"#], 1.0);
    let age = later[r#"memoir_lease_age_seconds{driver="agent"}"#];
    assert!((60.0..70.0).contains(&age), "{age}");
    assert_eq!(later[r#"memoir_lease_age_seconds{driver="model"}"#], 0.0);
}

#[tokio::test]
async fn from_elsewhere_only_an_administrator_token_the_installation_sees_them() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let stranger = administrator_token(&installation.other).await;
    let (_, agent) = installation.agent("wren").await;
    for header in [
        "x-forwarded-for",
        "forwarded",
        "x-forwarded-proto",
        "via",
        "x-real-ip",
    ] {
        let scrape = async |token: &str| {
            let (caller, headers) = (installation.caller(token), [(header, "https")]);
            let answer = caller.send_with("GET", "/metrics", &Value::Null, &headers);
            answer.await
        };
        for nobody in ["", "memoir_garbage"] {
            scrape(nobody).await.refused(401, "unauthorized");
        }
        for other in [&agent.token, &stranger] {
            scrape(other).await.refused(403, "forbidden");
        }
        let answer = scrape(&admin.token).await;
        assert_eq!(answer.status, 200);
        assert!(answer.text.contains("memoir_build_info"));
    }
}

fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// The metrics' names that are served, without the endings of histograms.
fn served(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .map(str::to_owned)
        .collect()
}

/// The words in `text` that are names of metrics.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words
        .filter(|word| word.starts_with("memoir_"))
        .map(str::to_owned)
        .collect()
}

fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(text) if name == "expr" || name == "query" => found.push(text.to_owned()),
                    _ => expressions(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| expressions(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn the_dashboard_and_the_page_name_what_is_served() {
    let busy = busy().await;
    let (text, _) = scraped(&busy.installation).await;
    let served = served(&text);
    let histograms: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" histogram"))
        .collect();
    let dashboard = std::fs::read_to_string(project("docs/grafana/memoir.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let mut queries = Vec::new();
    expressions(&dashboard, &mut queries);
    let mut used = BTreeSet::new();
    for query in &queries {
        for name in named(query) {
            let base = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|ending| name.strip_suffix(ending))
                .filter(|base| histograms.contains(base));
            let base = base.unwrap_or(&name).to_owned();
            assert!(served.contains(&base), "{query}: {name} is not served");
            used.insert(base);
        }
    }
    assert!(used.len() > 15, "{used:?}");
    assert_eq!(dashboard["templating"]["list"][0]["type"], "datasource");
    let page = std::fs::read_to_string(project("docs/watching.md")).unwrap();
    let told: BTreeSet<String> = page
        .lines()
        .filter(|line| line.starts_with("| `memoir_"))
        .flat_map(|line| named(line.split('{').next().unwrap()))
        .map(|name| name.to_owned())
        .collect();
    assert_eq!(told, served);
}

/// Another's reader of the format: Prometheus' own tool, or its client for Python.
fn checker() -> Option<Command> {
    let tool = |path: &str| Some(project("target/tools").join(path)).filter(|path| path.exists());
    let on_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .map(|folder| folder.join("promtool"))
            .find(|path| path.exists())
    };
    if let Some(promtool) = tool("promtool/promtool").or_else(on_path) {
        let mut command = Command::new(promtool);
        command.args(["check", "metrics"]);
        return Some(command);
    }
    let mut command = Command::new(tool("prometheus-client/bin/python")?);
    let read = "import sys\n\
        from prometheus_client.parser import text_string_to_metric_families as read\n\
        assert sum(len(family.samples) for family in read(sys.stdin.read())) > 100";
    command.args(["-c", read]);
    Some(command)
}

#[tokio::test]
async fn prometheus_itself_finds_nothing_to_complain_of() {
    let Some(mut checker) = checker() else {
        // Past the harness, which keeps what a test prints to itself.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: promtool is not installed; `scripts/test` does that"
        );
        return;
    };
    let busy = busy().await;
    let (text, _) = scraped(&busy.installation).await;
    let check = |text: &str, checker: &mut Command| {
        let checker = checker.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = checker.stderr(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8_lossy(&told).into_owned();
        (output.status.success(), told)
    };
    assert_eq!(check(&text, &mut checker), (true, String::new()));
    let broken = format!("{text}memoir_agents{{ 1\n");
    assert!(!check(&broken, &mut checker).0);
    // Not requested, but the operator gets the same over its token.
    assert_eq!(busy.admin.get("/metrics").await.status, 200);
}

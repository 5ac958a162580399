//! What `memoir` costs as a process: `cargo bench -p memoir`. Beside each figure stands a floor of the
//! same run: the same binary doing nothing.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints, and stops where it fails"
)]

use std::{
    io::Write,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use memoir_testkit::{ScriptedServer, ServerStep};

const RUNS: usize = 60;

fn memoir(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_memoir"));
    command
        .args(arguments)
        .env_remove("MEMOIR_MASTER_KEY")
        .env("MEMOIR_DATABASE", folder.join("memoir.db"))
        .env("XDG_CONFIG_HOME", folder);
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Duration {
    let began = Instant::now();
    let output = memoir(folder, arguments).output().unwrap();
    let took = began.elapsed();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    took
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Resident memory in MB, as the kernel counts it; `None` where there is no such file.
fn resident(child: &Child) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}

fn context(folder: &Path) {
    let (mut contexts, mut nothing) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        contexts.push(run(folder, &["context", "wren"]));
        nothing.push(run(folder, &["--version"]));
    }
    println!(
        "`memoir context`, 1,000 memories   {:>9.1?} median of {RUNS} (under 20 ms)",
        median(contexts)
    );
    println!(
        "  `memoir --version`               {:>9.1?}",
        median(nothing)
    );
}

/// One call of a hook as its host does it, and whether it printed anything.
fn call(folder: &Path, agent: &str, event: &str, session: &str) -> (Duration, bool) {
    let payload = format!(
        "{{\"session_id\": \"{event}-{session}\", \"prompt\": \"Which thread does customer {session} prefer?\"}}"
    );
    let began = Instant::now();
    let arguments = ["hook", event, "--client", "claude-code", "--agent", agent];
    let mut child = memoir(folder, &arguments)
        .env("XDG_STATE_HOME", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(payload.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    (began.elapsed(), !output.stdout.is_empty())
}

/// A hook, each time of a session of its own.
fn hook(folder: &Path, (agent, memories): (&str, &str), event: &str, limit: &str) {
    let (mut times, mut nothing) = (Vec::new(), Vec::new());
    for at in 0..RUNS {
        let (took, is_any) = call(folder, agent, event, &at.to_string());
        assert!(is_any, "it has something to say");
        times.push(took);
        nothing.push(run(folder, &["--version"]));
    }
    println!(
        "`memoir hook {event}`, {memories} memories{:>12.1?} median of {RUNS} ({limit}); `--version` {:.1?}",
        median(times),
        median(nothing)
    );
}

/// The first prompt at that size. The import has stored the index of words.
fn first_prompt(folder: &Path, agent: &str) {
    let (took, is_any) = call(folder, agent, "user-prompt", "first");
    println!("  the first one                       {took:>12.1?}, printed: {is_any}");
    let file = std::fs::metadata(folder.join("memoir.db")).unwrap();
    println!(
        "  the database with its index         {:>9} MB",
        file.len() >> 20
    );
}

/// A session that waits for its model holds everything that a session ever holds.
fn idle(folder: &Path) {
    let server = ScriptedServer::start([
        ServerStep::text("YES"),
        ServerStep::text("").after(Duration::from_secs(30)),
    ]);
    let settings = format!(
        "[providers.bench]\nkind = \"openai\"\nbase_url = \"{}\"\nkey_env = \"\"\n",
        server.base_url()
    );
    let config = folder.join("bench.toml");
    std::fs::write(&config, settings).unwrap();
    let arguments = [
        "--config",
        config.to_str().unwrap(),
        "refine",
        "wren",
        "--model",
        "bench:model",
    ];
    let mut child = memoir(folder, &arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    for _ in 0..500 {
        if server.requests().len() == 2 {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(server.requests().len(), 2, "the session was opened");
    std::thread::sleep(Duration::from_millis(200));
    match resident(&child) {
        Some(megabytes) => {
            println!("memory while a session waits       {megabytes:>7.1} MB (under 30 MB)")
        }
        None => println!("memory while a session waits       not known on this system"),
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// An agent with so many memories: the newest thousand are core memories, the others archival.
fn fill(folder: &Path, agent: &str, memories: usize) {
    run(folder, &["agent", "create", agent]);
    let lines: String = (0..memories)
        .map(|number| {
            let kind = match number + 1_000 < memories {
                true => "archival",
                false => "core",
            };
            format!("{{\"kind\": \"{kind}\", \"content\": \"Customer {number} asked for {} sheets of laid paper, and did not want the blue ones, because the light in the reading room is cold.\"}}\n", number + 40)
        })
        .collect();
    let file = folder.join("memories.jsonl");
    std::fs::write(&file, lines).unwrap();
    run(folder, &["import", agent, file.to_str().unwrap()]);
}

fn main() {
    let (few, many) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (few, many) = (few.path(), many.path());
    fill(few, "wren", 1_000);
    context(few);
    hook(few, ("wren", "1,000"), "session-start", "under 12 ms");
    hook(few, ("wren", "1,000"), "user-prompt", "under 40 ms");
    idle(few);
    fill(many, "owl", 60_000);
    first_prompt(many, "owl");
    hook(many, ("owl", "60,000"), "session-start", "under 12 ms");
    hook(many, ("owl", "60,000"), "user-prompt", "under 60 ms");
}

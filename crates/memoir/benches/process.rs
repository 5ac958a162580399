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

/// A hook as its host calls it, each time of a session of its own.
fn hook(folder: &Path, event: &str, limit: &str) {
    let mut times = Vec::new();
    for at in 0..RUNS {
        let payload = format!(
            "{{\"session_id\": \"{event}-{at}\", \"prompt\": \"Which thread does customer {at} prefer?\"}}"
        );
        let began = Instant::now();
        let mut child = memoir(folder, &["hook", event, "--client", "claude-code"])
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
        times.push(began.elapsed());
        assert!(!output.stdout.is_empty(), "it has something to say");
    }
    println!(
        "`memoir hook {event}`, 1,000 memories{:>12.1?} median of {RUNS} ({limit})",
        median(times)
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

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(folder, &["agent", "create", "wren"]);
    let lines: String = (0..1_000)
        .map(|number| {
            format!("{{\"content\": \"Customer {number} asked for {} sheets of laid paper, and did not want the blue ones, because the light in the reading room is cold.\"}}\n", number + 40)
        })
        .collect();
    let file = folder.join("memories.jsonl");
    std::fs::write(&file, lines).unwrap();
    run(folder, &["import", "wren", file.to_str().unwrap()]);
    context(folder);
    hook(folder, "session-start", "under 20 ms");
    hook(folder, "user-prompt", "under 40 ms");
    idle(folder);
}

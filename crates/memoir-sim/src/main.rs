//! `memoir-sim`: simulates whole installations by seeds, until one of them breaks a rule or the time is up.

use std::{
    collections::BTreeSet,
    process::ExitCode,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use memoir_sim::{Options, Report, StoreKind, Violation, run, run_twins, shrink};
use parking_lot::Mutex;

const HELP: &str = "\
Simulates whole installations by seeds, and checks what must hold after each step:
two or three nodes over one store; agents that save, recall, absorb, reflect and
refine, with honest, hostile and senseless models and with each loss guard; owners
and administrators; agents that are erased, and others that take their names; nodes
that are killed, cut off from the store, or get responses late or never; and clocks
that jump. Agents import with the stores sqlite and postgres

Usage: memoir-sim [OPTIONS]

  --seed N         one seed alone
  --seeds N        that many seeds, from 1 on [default: 100]
  --fresh N        that many seeds, from the time of day on
  --seconds N      seeds, from the time of day on, for so long
  --steps N        steps of each seed [default: 120]
  --only N,N,...   of one seed these steps alone, as a failing run prints them
  --store STORE    memory, sqlite or postgres [default: memory]
  --export FOLDER  writes the agents' logs at the end of each seed, as `memoir audit export` does
  --twins          each seed twice in other words, compared for administrators
  --threads N      seeds at a time [default: the processors]
";

/// The runs of a command.
struct Command {
    options: Options,
    first: u64,
    count: u64,
    seconds: Option<u64>,
    is_twins: bool,
    threads: usize,
}

fn read(arguments: impl Iterator<Item = String>) -> Result<Command, String> {
    // A clock before 1970 gives the same seeds each time.
    #[expect(
        clippy::disallowed_methods,
        reason = "it draws fresh seeds, and no rule follows it"
    )]
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(1, |since| since.as_micros() as u64);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut command = Command {
        options: Options::new(0, 120),
        first: 1,
        count: 100,
        seconds: None,
        is_twins: false,
        threads,
    };
    let mut arguments = arguments;
    while let Some(name) = arguments.next() {
        if name == "--twins" {
            command.is_twins = true;
            continue;
        }
        let value = arguments.next().ok_or_else(|| HELP.to_owned())?;
        let number = || -> Result<u64, String> {
            let number = value.parse();
            number.map_err(|_| format!("{name} takes a number, not `{value}`"))
        };
        match name.as_str() {
            "--seed" => (command.first, command.count) = (number()?, 1),
            "--seeds" => command.count = number()?,
            "--fresh" => (command.first, command.count) = (now, number()?),
            "--seconds" => {
                (command.first, command.count) = (now, u64::MAX - now);
                command.seconds = Some(number()?);
            }
            "--steps" => command.options.steps = number()?,
            "--threads" => command.threads = number()?.max(1) as usize,
            "--only" => {
                let steps: Result<BTreeSet<u64>, _> = value.split(',').map(str::parse).collect();
                let steps = steps.map_err(|_| format!("--only takes steps, not `{value}`"))?;
                command.options.only = Some(steps);
            }
            "--export" => command.options.export = Some(value.into()),
            "--store" => {
                command.options.store = match value.as_str() {
                    "memory" => StoreKind::Memory,
                    "sqlite" => StoreKind::Sqlite,
                    "postgres" => StoreKind::Postgres,
                    other => return Err(format!("there is no store `{other}`")),
                };
            }
            _ => return Err(HELP.to_owned()),
        }
    }
    Ok(command)
}

/// The next seeds, until one of them fails.
fn work(
    command: &Command,
    (next, is_over): (&AtomicU64, &AtomicBool),
    found: &Mutex<(Report, Option<(Options, Violation)>)>,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    while !is_over.load(Ordering::Relaxed) {
        let place = next.fetch_add(1, Ordering::Relaxed);
        if place >= command.count {
            break;
        }
        let options = Options {
            seed: command.first + place,
            ..command.options.clone()
        };
        let (report, outcome) = runtime.block_on(async {
            match command.is_twins {
                true => run_twins(&options).await,
                false => run(&options).await,
            }
        });
        // A panic elsewhere says nothing about what was counted.
        let mut found = found.lock();
        found.0.add(&report);
        if let Err(violation) = outcome {
            is_over.store(true, Ordering::Relaxed);
            found.1.get_or_insert((options, violation));
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "what a command prints")]
fn main() -> ExitCode {
    let command = match read(std::env::args().skip(1)) {
        Ok(command) => command,
        Err(problem) => {
            println!("{problem}");
            return ExitCode::from(2);
        }
    };
    let (next, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let found = Mutex::new((Report::default(), None));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..command.threads {
            scope.spawn(|| work(&command, (&next, &is_over), &found));
        }
        if let Some(seconds) = command.seconds {
            while begun.elapsed() < Duration::from_secs(seconds) && !is_over.load(Ordering::Relaxed)
            {
                std::thread::sleep(Duration::from_millis(50));
            }
            is_over.store(true, Ordering::Relaxed);
        }
    });
    let (report, failure) = found.into_inner();
    let minutes = begun.elapsed().as_secs_f64() / 60.0;
    let sessions = report.session_count();
    println!(
        "{sessions} sessions, {} of them under the guard `off`, in {} steps, {} processes killed, \
         {} agents erased: {:.0} sessions a minute",
        report.off,
        report.steps,
        report.kills,
        report.erased,
        sessions as f64 / minutes
    );
    println!("sessions: {:?}", report.sessions);
    println!("acts: {:?}", report.acts);
    println!("refused: {:?}", report.refused);
    let Some((options, violation)) = failure else {
        return ExitCode::SUCCESS;
    };
    println!("{violation}");
    println!(
        "{options}{}",
        if command.is_twins { " --twins" } else { "" }
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    if let Ok(runtime) = runtime
        && !command.is_twins
    {
        let fewest = runtime.block_on(shrink(&options, &violation, 200));
        println!("shrunk: {fewest}");
    }
    ExitCode::FAILURE
}

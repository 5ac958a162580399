//! The simulator in CI: fixed seeds, fresh ones, words that administrators must not notice, and stores that break a
//! rule, which must be noticed. A failing seed prints the line that repeats it.

use std::time::{SystemTime, UNIX_EPOCH};

use memoir_sim::{Falsification, Options, Report, StoreKind, run, run_twins, shrink};

/// Steps of one seed.
const STEPS: u64 = 60;

/// Runs them, and fails with the line that repeats the first one that breaks a rule.
async fn pass(all: impl Iterator<Item = Options>) -> Report {
    let mut sum = Report::default();
    for options in all {
        let (report, outcome) = run(&options).await;
        sum.add(&report);
        if let Err(violation) = outcome {
            let fewest = shrink(&options, &violation, 60).await;
            panic!("{violation}\n{options}\nshrunk: {fewest}");
        }
    }
    sum
}

/// That each of these acts came to pass: a simulation without them would show nothing.
fn assert_happened(report: &Report, acts: &[&str]) {
    for act in acts {
        assert!(report.acts.contains_key(act), "no `{act}`: {report:?}");
    }
}

fn seeds(first: u64, count: u64) -> impl Iterator<Item = Options> {
    (first..first + count).map(|seed| Options::new(seed, STEPS))
}

#[tokio::test]
async fn spec_3_12_what_is_promised_holds_in_fixed_seeds() {
    let report = pass(seeds(1, 12)).await;
    // A simulation without these would show nothing.
    for end in [
        "completed",
        "rolled_back",
        "abandoned",
        "declined",
        "failed",
    ] {
        let count = report.sessions.get(end).copied().unwrap_or_default();
        assert!(count > 0, "no session ended `{end}`: {report:?}");
    }
    assert!(report.kills > 3 && report.edits > 20, "{report:?}");
    assert!(report.off > 5 && report.erased > 0, "{report:?}");
    assert!(report.read_elsewhere > 100, "{report:?}");
    let acts = [
        "save",
        "recall and context",
        "promote",
        "absorb",
        "reflect",
        "undo",
        "rewind",
        "rotate keys",
        "request access",
        "read under a grant",
        "shred with consent",
        "meanwhile save",
        "meanwhile replace",
        "meanwhile discard",
        "meanwhile open a session",
        "late response",
        "cut off",
        "replace",
        "driven session, configured while asked",
        "driven session, called by the agent",
    ];
    assert_happened(&report, &acts);
}

#[tokio::test]
async fn spec_3_12_what_is_promised_holds_in_fresh_seeds() {
    #[expect(
        clippy::disallowed_methods,
        reason = "it draws fresh seeds, and no rule follows it"
    )]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    pass(seeds(now.as_micros() as u64, 6)).await;
}

#[tokio::test]
async fn spec_6_1_what_is_promised_holds_on_a_disk() {
    let on_disk = |options| Options {
        store: StoreKind::Sqlite,
        ..options
    };
    let report = pass(seeds(1, 2).map(on_disk)).await;
    assert_happened(&report, &["import", "rotate keys", "move keys"]);
}

/// Keys that are in files move into PostgreSQL and back, and the master key is rotated in both places.
#[cfg(unix)]
#[tokio::test]
async fn spec_5_4_what_is_promised_holds_on_postgresql() {
    if !memoir_testkit::Postgres::is_installed() {
        println!("skipped: PostgreSQL is not installed; `scripts/test` does that");
        return;
    }
    let on_postgres = |options| Options {
        store: StoreKind::Postgres,
        ..options
    };
    let report = pass(seeds(1, 1).map(on_postgres)).await;
    assert_happened(
        &report,
        &["rotate keys", "move keys into PostgreSQL", "move keys"],
    );
}

#[tokio::test]
async fn spec_5_1_administrators_get_the_same_for_other_words() {
    let mut noted = 0;
    for options in seeds(101, 4) {
        let (report, outcome) = run_twins(&options).await;
        if let Err(violation) = outcome {
            panic!("{violation}\n{options} --twins");
        }
        noted += report.administrators.len();
    }
    assert!(noted > 10, "only {noted} were compared");
}

/// A simulator that notices nothing would pass always.
#[tokio::test]
async fn a_store_that_breaks_a_rule_is_noticed() {
    for falsification in Falsification::ALL {
        let mut noticed = None;
        for options in seeds(1, 8) {
            let options = Options {
                falsification: Some(falsification),
                ..options
            };
            if let (_, Err(violation)) = run(&options).await {
                noticed = Some((options, violation));
                break;
            }
        }
        let (options, violation) =
            noticed.unwrap_or_else(|| panic!("{falsification:?} was not noticed"));
        let fewest = shrink(&options, &violation, 12).await;
        assert!(fewest.steps <= options.steps);
        let (_, again) = run(&fewest).await;
        assert_eq!(
            again.unwrap_err().rule,
            violation.rule,
            "{falsification:?}: {fewest} repeats it"
        );
    }
}

#[tokio::test]
async fn a_seed_is_the_same_in_each_run() {
    let options = Options::new(5, STEPS);
    let (one, _) = run(&options).await;
    let (other, _) = run(&options).await;
    // Whatever call a node is cut off at.
    assert_happened(&one, &["cut off"]);
    assert_eq!(one, other);
}

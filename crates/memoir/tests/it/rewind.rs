//! Returning an agent to a point in time.

#[cfg(target_os = "linux")]
use std::{fs::File, io::Write, process::Stdio};

use memoir_testkit::{TestedObject, TestedText};
use serde_json::{Value, json};

use crate::installation::Installation;
#[cfg(target_os = "linux")]
use crate::installation::Ran;

/// The time of the agent's last record.
fn now(installation: &Installation) -> String {
    let record = last_record(installation);
    record["recorded_at"].as_str().unwrap().to_owned()
}

fn last_record(installation: &Installation) -> Value {
    let list = "audit list wren --last 1 --json";
    installation.run(list).lines().remove(0)
}

#[test]
fn spec_4_3_an_agent_returns_to_a_point_in_time_and_back() {
    let installation = Installation::with_agent();
    installation.remember(&["one", "two", "two"]);
    let then = now(&installation);
    installation.ok(&["refine", "wren"]);
    installation.remember(&["four"]);
    let after = installation.texts();
    assert_eq!(installation.core(), ["one", "two", "four"]);

    let rewind = ["rewind", "wren", "--to", &then];
    let dry = [&rewind[..], &["--dry-run"]].concat();
    let would = installation.ok(&dry);
    assert!(would.starts_with("would rewind to "), "{would}");
    would.tells(", after record 4: 1 returned, 2 discarded; ");
    assert!(would.ends_with(" tokens\n"), "{would}");
    assert_eq!(installation.texts(), after, "only said");

    let ran = installation.run(&rewind);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, would.replace("would rewind", "rewound"));
    assert_eq!(installation.texts(), ["one", "two", "two"]);
    assert_eq!(last_record(&installation)["action"], "agent_rewound");

    let back = ran.stderr.split('`').nth(1).unwrap();
    let back: Vec<&str> = back.split(' ').skip(1).collect();
    installation.ok(&back);
    assert_eq!(installation.texts(), after);
    installation.ok(&["audit", "verify", "wren"]);
}

#[test]
fn a_date_means_its_beginning_and_before_the_first_record_is_nothing() {
    let installation = Installation::with_agent();
    installation.remember(&["one", "two"]);
    let rewound = installation.json(&["rewind", "wren", "--to", "2020-02-29"]);
    rewound.has(json!({"to": "2020-02-29T00:00:00Z", "to_seq": 0, "discarded": 2}));
    assert_eq!(installation.texts(), Vec::<String>::new());
    let again = installation.run(&["rewind", "wren", "--to", "2020-02-29"]);
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""));
    let same = "nothing differs from 2020-02-29 00:00:00Z, before the first record\n";
    assert_eq!(again.stdout, same);
    let json = installation.json(&["rewind", "wren", "--to", "2020-02-29", "--dry-run"]);
    assert_eq!((&json["changed"], &json["seq"]), (&json!(0), &Value::Null));
    let list = installation.ok(&["audit", "list", "wren", "--last", "1"]);
    list.tells("to: 2020-02-29T00:00:00Z");
}

#[test]
fn spec_4_3_a_record_that_does_not_exist_is_refused_with_the_number_of_the_last() {
    let installation = Installation::with_agent();
    installation.remember(&["one", "two"]);
    let refused = installation.refused("rewind wren --to-record 9999");
    refused.tells("to_record: is 9999, and the last record of the agent is 3");
    assert_eq!(last_record(&installation)["seq"], 3);
    let same = installation.ok("rewind wren --to-record 3");
    same.begins("nothing differs from ");
}

#[test]
fn spec_3_12_what_was_discarded_is_counted_beside_the_originals() {
    let installation = Installation::with_agent();
    installation.remember(&["one", "two", "two", "three"]);
    installation.ok("refine wren");
    // No count includes the copy that the cleanup discarded.
    let verified = || installation.ok("audit verify wren");
    let all = "\n        3 originals: 3 in the prompt, 0 in the archive, 0 lost\n";
    verified().tells(all);
    installation.ok("discard wren 1");
    verified().tells(
        "\n        2 originals: 2 in the prompt, 0 in the archive, 0 lost, 1 discarded (`memoir restore`)\n",
    );
    installation.ok("rewind wren --to 2020-02-29");
    verified().tells(", 0 lost, 3 discarded (`memoir restore`)\n");
    installation.ok("restore wren 1 2 4");
    verified().tells(all);
}

/// Runs a command at a terminal, on which the answer is typed.
#[cfg(target_os = "linux")]
fn at_terminal(installation: &Installation, line: &str, answer: &str) -> Ran {
    use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let controller = openpt(flags).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let terminal = ioctl_tiocgptpeer(&controller, flags).unwrap();
    let mut controller = File::from(controller);
    controller.write_all(answer.as_bytes()).unwrap();
    Ran::of(installation.command(line).stdin(Stdio::from(terminal)))
}

#[cfg(target_os = "linux")]
#[test]
fn spec_4_3_at_a_terminal_a_rewind_asks_before_it_discards() {
    let installation = Installation::with_agent();
    installation.remember(&["one", "two"]);
    let rewind = "rewind wren --to 2020-02-29";
    let refused = at_terminal(&installation, rewind, "n\n");
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    refused.reports("This discards 2 memories. Rewind? [y/N]");
    refused.reports("error: nothing was rewound");
    assert_eq!(installation.texts(), ["one", "two"]);
    at_terminal(&installation, rewind, "y\n").ok(rewind);
    assert_eq!(installation.texts(), Vec::<String>::new());
    // The way back discards nothing, and is not asked for.
    let back = "rewind wren --to-record 3";
    at_terminal(&installation, back, "n\n").ok(back);
    assert_eq!(installation.texts(), ["one", "two"]);
    let unasked = "rewind wren --to 2020-02-29 --yes";
    at_terminal(&installation, unasked, "n\n").ok(unasked);
    assert_eq!(installation.texts(), Vec::<String>::new());
}

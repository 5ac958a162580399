//! That dependencies point the way ARCHITECTURE.md says, and that nothing in the domain asks the machine
//! for anything.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::{collections::BTreeMap, path::Path, process::Command};

use serde_json::Value;

/// What each crate may depend on, except in tests.
const MAY_USE: [(&str, &[&str]); 15] = [
    ("memoir-text", &[]),
    ("memoir-domain", &["memoir-text"]),
    ("memoir-store", &["memoir-domain"]),
    (
        "memoir-store-postgres",
        &["memoir-domain", "memoir-store", "memoir-vault"],
    ),
    ("memoir-store-sqlite", &["memoir-domain", "memoir-store"]),
    ("memoir-model", &["memoir-domain", "memoir-text"]),
    ("memoir-transcripts", &["memoir-domain"]),
    ("memoir-import", &["memoir-domain", "memoir-transcripts"]),
    ("memoir-vault", &["memoir-domain"]),
    (
        "memoir-app",
        &[
            "memoir-domain",
            "memoir-model",
            "memoir-store",
            "memoir-text",
            "memoir-vault",
        ],
    ),
    ("memoir-mcp", &["memoir-app", "memoir-domain"]),
    ("memoir-console", &["memoir-app", "memoir-domain"]),
    (
        "memoir-service",
        &[
            "memoir-app",
            "memoir-console",
            "memoir-domain",
            "memoir-mcp",
            "memoir-model",
            "memoir-vault",
        ],
    ),
    (
        "memoir",
        &[
            "memoir-app",
            "memoir-domain",
            "memoir-import",
            "memoir-mcp",
            "memoir-model",
            "memoir-service",
            "memoir-store",
            "memoir-store-postgres",
            "memoir-store-sqlite",
            "memoir-transcripts",
            "memoir-vault",
        ],
    ),
    (
        "memoir-testkit",
        &[
            "memoir-app",
            "memoir-domain",
            "memoir-model",
            "memoir-store",
            "memoir-store-postgres",
            "memoir-store-sqlite",
            "memoir-vault",
        ],
    ),
];

/// Crates that do input or output, or bring a runtime: not for the domain.
const NOT_IN_THE_DOMAIN: [&str; 8] = [
    "tokio",
    "reqwest",
    "rusqlite",
    "getrandom",
    "async-trait",
    "tracing",
    "rustls",
    "tempfile",
];

fn dependencies() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--offline",
        ])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names = |package: &Value| -> Vec<String> {
        let normal = package["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|dependency| dependency["kind"].is_null());
        normal
            .map(|dependency| dependency["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .map(|package| (package["name"].as_str().unwrap().to_owned(), names(package)))
        .collect()
}

#[test]
fn dependencies_point_inward() {
    let found = dependencies();
    let known: BTreeMap<&str, &[&str]> = MAY_USE.into_iter().collect();
    for (name, uses) in &found {
        let allowed = known
            .get(name.as_str())
            .unwrap_or_else(|| panic!("{name} is not in the list of crates"));
        for other in uses.iter().filter(|other| other.starts_with("memoir")) {
            assert!(
                allowed.contains(&other.as_str()),
                "{name} must not depend on {other}"
            );
        }
    }
    assert_eq!(found.len(), known.len());
}

#[test]
fn the_domain_asks_the_machine_for_nothing() {
    let found = dependencies();
    for name in ["memoir-domain", "memoir-text"] {
        for other in &found[name] {
            assert!(
                !NOT_IN_THE_DOMAIN.contains(&other.as_str()),
                "{name} must not depend on {other}"
            );
        }
    }
}

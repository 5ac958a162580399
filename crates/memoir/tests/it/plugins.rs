//! The files by which other programs integrate Memoir: one version in all, and existing commands.
//! `tests/mcp/python/test_manifests.py` checks their formats.

use std::{fs, path::PathBuf};

use serde_json::Value;

use crate::installation::{Installation, rows};

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(path: &str) -> Value {
    let text = fs::read_to_string(root().join(path)).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn one_version_is_in_all_of_them() {
    for [path, place] in rows(
        "
        integrations/plugin/plugin.json | /version
        integrations/plugin/.claude-plugin/plugin.json | /version
        integrations/plugin/.codex-plugin/plugin.json | /version
        .claude-plugin/marketplace.json | /metadata/version
        .claude-plugin/marketplace.json | /plugins/0/version
        integrations/mcpb/manifest.json | /version
        server.json | /version",
    ) {
        let version = read(path).pointer(place).cloned();
        assert_eq!(version, Some(env!("CARGO_PKG_VERSION").into()), "{path}");
    }
}

/// Every text under a name, at any depth.
fn texts<'a>(value: &'a Value, name: &str, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get(name).and_then(Value::as_str));
            fields.values().for_each(|value| texts(value, name, found));
        }
        Value::Array(items) => items.iter().for_each(|value| texts(value, name, found)),
        _ => {}
    }
}

#[test]
fn every_hook_is_a_command_that_there_is() {
    let installation = Installation::with_agent();
    for path in [
        "hooks/hooks.json",
        "hooks/codex-hooks.json",
        "com.github.copilot/hooks/hooks.json",
    ] {
        let file = read(&format!("integrations/plugin/{path}"));
        let mut commands = Vec::new();
        texts(&file, "command", &mut commands);
        texts(&file, "bash", &mut commands);
        commands.retain(|command| command.starts_with("memoir "));
        assert!(!commands.is_empty(), "{path}");
        for command in commands {
            // A program continues where Memoir is not installed.
            let line = command.strip_suffix(" || true").unwrap();
            let line = line.strip_prefix("memoir ").unwrap();
            let ran = installation.run_with_input(line, "{}");
            // A usage error would be printed.
            assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{line}");
        }
    }
}

//! The description of the interface (OpenAPI 3.1), completed with the permissions of each request and its refusal
//! codes.

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use serde_json::{Map, Value, json};

use crate::errors;

macro_rules! codes {
    ($($code:ident)*) => { &[$(stringify!($code)),*] };
}

/// The refusals of every request under `/v1`.
const ALWAYS: &[&str] = codes! {
    invalid_argument unauthorized body_too_slow body_too_large rate_limited internal key_unavailable tampered busy
    still_running
};

/// The further refusals of every request that changes data.
const CHANGING: &[&str] = codes! {
    idempotency_in_progress idempotency_done idempotency_mismatch contended disk_full read_only outcome_unknown
};

/// An operation, its permitted callers, and its further refusals.
type Operation = (&'static str, &'static str, &'static [&'static str]);

macro_rules! operations {
    ($($id:ident, $who:expr => $($code:ident)*;)*) => {
        &[$((stringify!($id), $who, codes!($($code)*))),*]
    };
}

const ADMINISTRATOR: &str = "Administrator.";
const AGENT: &str = "The agent itself.";
const BOTH: &str = "The agent itself; an administrator, who sees no text.";
const SAVERS: &str = "The agent itself; an administrator, who may set `constitutional`.";
const READERS: &str =
    "The agent itself; an administrator, who sees text only under an access grant.";

const OPERATIONS: &[Operation] = operations! {
    list_agents, ADMINISTRATOR => forbidden;
    create_agent, ADMINISTRATOR => forbidden name_taken too_long key_remains;
    get_agent, READERS => not_found erased;
    update_agent, ADMINISTRATOR => forbidden not_found erased name_taken too_long precondition_failed;
    erase_agent, ADMINISTRATOR => forbidden not_found erased session_open precondition_failed key_remains;
    create_token, "The agent itself; an administrator while the agent has no memories, and once for each token that the agent consents to." => token_quota not_found erased consent_required;
    sign_in, "An administrator with a name and a password; no token is needed." => forbidden insecure_transport second_factor_needed contended disk_full read_only outcome_unknown;
    save_memory, SAVERS => daily_quota storage_quota forbidden not_found erased too_long;
    save_memories, SAVERS => daily_quota storage_quota forbidden not_found erased too_long;
    list_memories, "The agent itself; an administrator, who sees text and searches only under an access grant." => consent_required not_found erased too_long;
    get_memory, READERS => not_found erased;
    protect_memory, ADMINISTRATOR => forbidden not_found erased discarded not_core not_applicable shredded precondition_failed;
    unprotect_memory, ADMINISTRATOR => forbidden not_found erased discarded not_core not_applicable shredded precondition_failed;
    restore_memory, ADMINISTRATOR => forbidden not_found erased not_applicable shredded precondition_failed;
    discard_memory, ADMINISTRATOR => forbidden not_found erased constitutional shredded precondition_failed;
    promote_memory, BOTH => not_found erased not_archival shredded precondition_failed;
    shred_memory, "The agent itself; a request of an administrator needs the agent's consent." => not_found too_many_waiting refused_before erased shredded forbidden constitutional session_open too_long precondition_failed;
    hand_over_transcript, BOTH => daily_quota storage_quota not_found erased too_long;
    get_transcripts, BOTH => not_found erased;
    reflect, BOTH => daily_quota not_found erased inactive model_unavailable;
    get_context, AGENT => forbidden not_found erased;
    get_own_setting, AGENT => forbidden not_found erased;
    set_own_setting, AGENT => daily_quota forbidden not_found erased name_taken too_long confirmation_required;
    get_own_setting_history, AGENT => forbidden not_found erased;
    undo_own_setting, AGENT => daily_quota forbidden not_found erased name_taken precondition_failed;
    begin_session, "`driver: agent`: the agent itself. `driver: model`: an administrator too." => daily_quota refused_before forbidden not_found erased session_open nothing_to_refine inactive model_unavailable;
    list_sessions, READERS => not_found erased;
    get_session, READERS => not_found erased;
    watch_session, BOTH => not_found erased;
    call_tool, AGENT => forbidden not_found erased;
    apply_rehearsal, BOTH => not_found erased not_applicable session_open nothing_to_refine inactive;
    roll_back_session, "An administrator; the agent itself for its last session." => forbidden not_found erased not_undoable in_the_way session_open;
    cancel_session, BOTH => not_found erased session_over;
    rewind_agent, ADMINISTRATOR => forbidden not_found erased session_open;
    request_access, ADMINISTRATOR => forbidden not_found erased too_long too_many_waiting refused_before;
    list_access_requests, BOTH => not_found erased;
    get_access_request, BOTH => not_found erased;
    answer_access_request, AGENT => forbidden not_found erased too_long access_over session_open shredded;
    revoke_access_request, BOTH => not_found erased access_over;
    list_records, READERS => not_found;
    verify_records, BOTH => not_found;
    list_account_records, ADMINISTRATOR => forbidden;
    take_checkpoint, "Every caller with a token." =>;
};

const TAGS: &[(&str, &str)] = &[
    ("agents", "Agents and their settings."),
    ("tokens", "Secrets of agents."),
    (
        "memories",
        "Saving, finding, protecting and promoting memories, and the text for the prompt.",
    ),
    (
        "sessions",
        "Refinement sessions: starting them, their tools, their ends.",
    ),
    (
        "time machine",
        "Undo: of a session, to a point in time, of one memory.",
    ),
    (
        "access",
        "Requests to read an agent's text for a while, and the agent's answers.",
    ),
    (
        "audit",
        "The records of every change, and whether they are as they were written.",
    ),
    ("service", "The state of the service, and its description."),
];

/// The completed description.
pub(crate) static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let document = serde_json::to_value(super::described()).unwrap_or_default();
    complete(document)
});

/// The names of each request's query parameters, by its path and method.
static PARAMETERS: LazyLock<HashMap<String, HashMap<String, Vec<String>>>> = LazyLock::new(|| {
    let paths = DOCUMENT["paths"].as_object().into_iter().flatten();
    paths
        .map(|(path, item)| {
            let operations = item.as_object().into_iter().flatten();
            let operations = operations
                .map(|(method, operation)| (method.to_ascii_uppercase(), query_names(operation)));
            (path.clone(), operations.collect())
        })
        .collect()
});

fn query_names(operation: &Value) -> Vec<String> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    parameters
        .filter(|parameter| parameter["in"] == "query")
        .filter_map(|parameter| Some(parameter["name"].as_str()?.to_owned()))
        .collect()
}

/// The names of a request's query parameters.
pub(super) fn parameters(path: &str, method: &str) -> &'static [String] {
    // A HEAD request is answered by the handler of GET, and takes the same parameters.
    let method = if method == "HEAD" { "GET" } else { method };
    PARAMETERS
        .get(path)
        .and_then(|methods| methods.get(method))
        .map_or(&[], Vec::as_slice)
}

fn complete(mut document: Value) -> Value {
    document["tags"] = TAGS
        .iter()
        .map(|(name, about)| json!({"name": name, "description": about}))
        .collect();
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for (path, item) in paths {
        let operations = item.as_object_mut().into_iter().flatten();
        for (method, operation) in operations.filter(|_| path.starts_with("/v1")) {
            complete_operation(method, operation);
        }
    }
    document
}

fn complete_operation(method: &str, operation: &mut Value) {
    let id = operation["operationId"].as_str().unwrap_or_default();
    let known = OPERATIONS.iter().find(|(name, ..)| *name == id);
    let (who, own) = known.map_or(("", &[][..]), |(_, who, codes)| (*who, *codes));
    // Signing in again makes another token.
    let changes = method != "get" && id != "sign_in";
    let mut codes: Vec<&str> = [own, ALWAYS].concat();
    if changes {
        codes.extend(CHANGING);
    }
    let about = operation["description"].as_str().unwrap_or_default();
    let about = format!("{about}\n\nFor: {who}");
    operation["description"] = about.trim().into();
    let mut responses = refusals(&codes);
    if let Some(described) = operation["responses"].as_object_mut() {
        responses.append(described);
    }
    operation["responses"] = responses.into();
    let parameters = operation.get_mut("parameters");
    let parameters = parameters.and_then(Value::as_array_mut);
    let parameters = parameters.into_iter().flatten();
    for parameter in parameters.filter(|parameter| parameter["in"] == "query") {
        // A blank value leaves the parameter out (`UrlQuery`).
        parameter["allowEmptyValue"] = true.into();
    }
    if changes {
        add_parameter(operation, idempotency_key());
    }
}

/// The refusals by status, each with its codes and an example for every one.
fn refusals(codes: &[&str]) -> Map<String, Value> {
    let mut by_status: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for code in codes {
        let status = errors::page(code).map_or(500, |page| page.status);
        by_status.entry(status).or_default().push(code);
    }
    by_status
        .into_iter()
        .map(|(status, codes)| (status.to_string(), refusal(&codes)))
        .collect()
}

fn refusal(codes: &[&str]) -> Value {
    let named: Vec<String> = codes.iter().map(|code| format!("`{code}`")).collect();
    let examples: Map<String, Value> = codes
        .iter()
        .filter_map(|code| {
            let example = errors::page(code)?.example()?;
            Some(((*code).to_owned(), json!({"value": example})))
        })
        .collect();
    json!({
        "description": named.join(", "),
        "content": {"application/problem+json": {
            "schema": {"$ref": "#/components/schemas/Problem"},
            "examples": examples,
        }},
    })
}

fn idempotency_key() -> Value {
    json!({
        "name": "Idempotency-Key",
        "in": "header",
        "required": false,
        "description": "The request makes its change once for each key; a repetition gets the same response, or `idempotency_done` where that held a secret. One that changed nothing is executed again.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255},
        "example": "5f0c2a52-7d0b-4f2e-9a53-6f3c1f6f8d10",
    })
}

fn add_parameter(operation: &mut Value, parameter: Value) {
    match operation["parameters"].as_array_mut() {
        Some(parameters) => parameters.push(parameter),
        None => operation["parameters"] = json!([parameter]),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn operations() -> Vec<(&'static str, &'static str, &'static Value)> {
        let paths = DOCUMENT["paths"].as_object().unwrap();
        paths
            .iter()
            .flat_map(|(path, item)| {
                let operations = item.as_object().unwrap();
                operations
                    .iter()
                    .map(|(method, operation)| (path.as_str(), method.as_str(), operation))
            })
            .collect()
    }

    #[test]
    fn every_operation_names_its_callers_and_no_other_operation() {
        let described: BTreeSet<&str> = operations()
            .iter()
            .filter(|(path, ..)| path.starts_with("/v1"))
            .map(|(.., operation)| operation["operationId"].as_str().unwrap())
            .collect();
        let listed: BTreeSet<&str> = OPERATIONS.iter().map(|(id, ..)| *id).collect();
        assert_eq!(described, listed);
        assert_eq!(operations().len(), OPERATIONS.len() + 6);
    }

    #[test]
    fn every_operation_is_described_in_full() {
        let mut ids = BTreeSet::new();
        for (path, method, operation) in operations() {
            let at = format!("{method} {path}");
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id), "{at}: {id} is used twice");
            let summary = operation["summary"].as_str().unwrap_or_default();
            assert!(summary.ends_with('.'), "{at}");
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                assert!(parameter["description"].is_string(), "{at}: {parameter}");
                assert!(parameter["schema"].is_object(), "{at}: {parameter}");
            }
            for (status, response) in operation["responses"].as_object().unwrap() {
                let described = response["description"]
                    .as_str()
                    .is_some_and(|text| !text.is_empty());
                assert!(described, "{at}: {status}");
                for content in response["content"].as_object().into_iter().flatten() {
                    assert!(content.1["schema"].is_object(), "{at}: {status}");
                }
            }
            if path.starts_with("/v1") {
                assert!(operation["responses"]["401"].is_object(), "{at}");
            }
        }
    }

    #[test]
    fn no_form_is_left_open_that_is_known() {
        let schemas = DOCUMENT["components"]["schemas"].as_object().unwrap();
        for (name, schema) in schemas {
            let is_closed = ["properties", "oneOf", "allOf", "enum"]
                .iter()
                .any(|key| schema.get(key).is_some());
            let is_plain = schema["type"] != "object";
            let is_known = is_closed || is_plain || name == "AnyObject";
            assert!(is_known, "{name}: {schema}");
        }
        let text = DOCUMENT.to_string();
        for reference in text.split("#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(schemas.contains_key(name), "{name}");
        }
    }

    #[test]
    fn every_route_is_made_with_its_description() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/routes");
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let source = std::fs::read_to_string(&path).unwrap();
            let is_bare = source.contains(concat!(".rou", "te("));
            assert!(!is_bare, "{}", path.display());
        }
    }
}

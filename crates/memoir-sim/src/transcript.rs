//! What an administrator gets, as text in which runs can be compared: without hashes, which cover sealed bytes, and with
//! places in the order of their first use for identifiers, which are random.

use std::collections::BTreeMap;

use memoir_app::{Account, FleetQuery, OwnAgent, RecordFilter, Viewer};
use memoir_testkit::administrator;
use serde_json::{Value, json};

/// The identifiers of a run, in the order of their first use.
#[derive(Default)]
pub(crate) struct Identifiers(BTreeMap<String, usize>);

impl Identifiers {
    fn rename(&mut self, value: &mut Value) {
        match value {
            Value::String(text) if is_identifier(text) => {
                let next = self.0.len();
                let place = self.0.entry(text.clone()).or_insert(next);
                *text = format!("id {place}");
            }
            // Of sealed bytes, which are other ones each time.
            Value::String(text) if is_hash(text) => "hash".clone_into(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.rename(value)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|value| self.rename(value));
            }
            _ => {}
        }
    }
}

/// Whether it has the form of a UUID.
fn is_identifier(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// All that an administrator gets of an agent: its settings and counts, the list of agents, statistics, sessions,
/// memories and records.
pub(crate) async fn administrators_view(
    account: &Account,
    agent: &OwnAgent,
) -> Result<Value, memoir_app::Error> {
    let views = agent.views();
    let lens = views.seen_by(Viewer::administrator(administrator()));
    let query = FleetQuery {
        limit: 10,
        ..FleetQuery::default()
    };
    let mut requests = Vec::new();
    for request in lens.access_requests(None, 20).await? {
        requests.push(json!(request));
    }
    Ok(json!({
        "agent": lens.show().await?,
        "fleet": account.fleet(&query).await?,
        "stats": agent.log().stats(None, None, 12).await?,
        "originals": agent.log().originals().await?,
        "memories": lens.memories(true).await?,
        "sessions": lens.session_page(None, 50).await?,
        "records": lens.records(&RecordFilter::default()).await?,
        "requests": requests,
    }))
}

/// As text for a comparison.
pub(crate) fn compared(mut view: Value, identifiers: &mut Identifiers) -> String {
    identifiers.rename(&mut view);
    format!("{view:#}")
}

/// The first line in which two views differ.
pub(crate) fn difference(one: &str, other: &str) -> String {
    let mut lines = one.lines().zip(other.lines());
    match lines.find(|(one, other)| one != other) {
        Some((one, other)) => format!("`{}` and `{}`", one.trim(), other.trim()),
        None => "one of them is longer".to_owned(),
    }
}

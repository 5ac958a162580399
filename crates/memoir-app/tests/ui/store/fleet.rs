//! The look-ups across agents give nothing private, not even for one agent.

use memoir_domain::AgentScope;
use memoir_store::{Fleet, RecordFilter, AgentQuery};

pub async fn read_all(fleet: &dyn Fleet, scope: AgentScope) {
    let _ = fleet.snapshot(scope, &AgentQuery::default()).await;
    let _ = fleet.memories(scope, &[]).await;
    let _ = fleet.records(scope, &RecordFilter::default()).await;
    let _ = fleet.details(scope).await;
}

fn main() {}

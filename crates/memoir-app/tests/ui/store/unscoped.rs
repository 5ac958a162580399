//! No look-up of what is private goes without an agent.

use memoir_store::{RecordFilter, Store, AgentQuery};

pub async fn read_all(store: &dyn Store) {
    let _ = store.snapshot(&AgentQuery::default()).await;
    let _ = store.memories(&[]).await;
    let _ = store.records(&RecordFilter::default()).await;
    let _ = store.session_page(None, 1).await;
    let _ = store.details().await;
}

fn main() {}

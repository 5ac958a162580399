//! The look-ups of what is private, each with its agent.

use memoir_app::{Account, RecordFilter, Viewer};
use memoir_domain::AgentScope;
use memoir_store::{AgentQuery, Store};

/// An account gives the handle of one agent, and the handle what is that agent's.
pub(crate) async fn read_one(account: &Account) -> memoir_app::Result<()> {
    let agent = account.agent("wren").await?;
    let lens = agent.seen_by(Viewer::Agent);
    lens.memories(true).await?;
    lens.records(&RecordFilter::default()).await?;
    let own = lens.as_agent()?;
    own.context(None).await?;
    own.near_doubles(1).await?;
    own.history(None).await?;
    own.export().await?;
    Ok(())
}

/// A store gives what is private for the scope of one agent.
pub(crate) async fn read_rows(store: &dyn Store, scope: AgentScope) -> memoir_store::Result<()> {
    store.snapshot(scope, &AgentQuery::default()).await?;
    store.memories(scope, &[]).await?;
    store.records(scope, &RecordFilter::default()).await?;
    store.session_page(scope, None, 1).await?;
    store.records_at(scope, &[1]).await?;
    store.scopes().await?;
    Ok(())
}

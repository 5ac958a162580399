//! The look-ups of what is private, each with its agent.

use memoir_app::{Account, AgentHandle, AgentLens, MemoryPage, OwnAgent, RecordFilter, Viewer};
use memoir_domain::{
    AccessRequestId, AgentScope, SessionId, access::AccessDraft, agent::Field, audit::Actor,
    recall::RecallQuery, session::Mode,
};
use memoir_store::{AgentQuery, Store};
use memoir_vault::archive::Passphrase;

/// An account gives the handle of one agent, and the handle what is that agent's.
pub(crate) async fn read_one(account: &Account) -> memoir_app::Result<()> {
    let agent = account.agent("wren").await?;
    let lens = agent.views().seen_by(Viewer::Agent);
    lens.memories(true).await?;
    lens.records(&RecordFilter::default()).await?;
    let own = lens.as_agent()?;
    own.context(None).await?;
    own.near_duplicates(1).await?;
    own.history(None).await?;
    own.export().await?;
    Ok(())
}

/// The parts of a handle give facts without text.
pub(crate) async fn facts(
    agent: &AgentHandle,
    session: SessionId,
    draft: &AccessDraft,
    by: &Actor,
) -> memoir_app::Result<()> {
    agent.grants().open_access().await?;
    let request = agent.grants().request_access(draft, by).await?;
    agent.grants().revoke_access(request.id, by).await?;
    agent.views().show().await?;
    agent.views().memory_page(&MemoryPage::default()).await?;
    agent
        .views()
        .search_records(&RecordFilter::default(), None, 10)
        .await?;
    agent.views().session(session).await?;
    agent.views().session_page(None, 10).await?;
    agent.sessions().live_session(session).await?;
    Ok(())
}

/// What a handle does not give, a lens does.
pub(crate) async fn look(
    lens: &AgentLens<'_>,
    query: &RecallQuery,
    request: AccessRequestId,
) -> memoir_app::Result<()> {
    lens.memories(true).await?;
    lens.recall(query).await?;
    let requests = lens.access_requests(None, 10).await?;
    requests.into_iter().for_each(|request| drop(request.words));
    lens.access_request(request).await?;
    Ok(())
}

/// What neither gives, the agent for itself does.
pub(crate) async fn of_its_own(
    agent: &OwnAgent,
    session: SessionId,
    passphrase: Passphrase,
) -> memoir_app::Result<()> {
    agent.archive(passphrase).await?;
    agent.own_setting(Field::SystemPrompt).await?;
    agent.setting_history(Field::SystemPrompt).await?;
    agent.read_part().await?;
    agent.open_own(Mode::Full).await?;
    agent.rehearse_own(Mode::Full).await?;
    agent.take_up_own().await?;
    agent.call_tool(session, "list_memories", None).await?;
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

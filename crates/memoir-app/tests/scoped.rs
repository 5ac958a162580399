//! SPEC 5.6: private data is requested for one agent, or it does not compile. SPEC 5.1: nor does code that shows text
//! to viewers without access to it.
//!
//! That something does not compile is shown here by code that compiles only where it does not: a call that finds a
//! trait's method, since the type has none of that name itself, and a pattern that names every field of a type. What
//! private fields forbid is shown by the documentation tests of `AgentHandle`, `AgentLens` and `OwnAgent`.

use memoir_app::{
    AccessRequestFacts, Account, AgentFacts, AgentHandle, AgentLens, AgentLog, AgentSettings, Life,
    Memoir, Memories, MemoryFacts, MemoryPage, OwnAgent, RecordFacts, RecordFilter, RecordOrder,
    SessionFacts, Sessions, Viewer, Views, sessions::LiveSession,
};
use memoir_domain::{
    AccessRequestId, AgentScope, SessionId, access::AccessDraft, agent::Field, audit::Actor,
    recall::RecallQuery, session::Mode,
};
use memoir_store::{AgentColumns, AgentQuery, AgentRow, Fleet, Portable, Store};
use memoir_vault::archive::Passphrase;

/// What a method that a type does not have returns.
struct Nothing;

/// Compiles where the type has no method of these names itself: a trait's is found only then.
macro_rules! has_no {
    ($type:ty: $($method:ident),+) => {
        const _: fn(&$type) = |value| {
            trait Absent {
                $(fn $method(&self) -> Nothing {
                    Nothing
                })+
            }
            impl Absent for $type {}
            $(let Nothing = (*value).$method();)+
        };
    };
}

// SPEC 5.6: neither an account nor an installation gives what is an agent's.
has_no!(Account: memories, records, export, context, recall, archive);
has_no!(Memoir: memories, records, export, context, recall, archive);
// Nor do the look-ups across agents.
has_no!(dyn Fleet + 'static: snapshot, memories, records, records_at, details, session_page);
has_no!(dyn Portable + 'static: snapshot, memories, records, records_at, details, session_page);

// SPEC 5.1: nothing is shown with text where no viewer is named, and what is the agent's alone is given to the agent
// for itself.
has_no!(AgentHandle: context, history, export, archive, own_setting, setting_history, read_part);
has_no!(AgentHandle: open_own, rehearse_own, take_up_own, call_tool, recall, records, access_requests, access_request);
has_no!(Memories<'_>: context, export, recall);
has_no!(AgentLog<'_>: history, archive, records);
has_no!(AgentSettings<'_>: own_setting, undo_own_setting, setting_history);
has_no!(Life<'_>: read_part);
has_no!(Sessions<'_>: open_own, rehearse_own, take_up_own, call_tool);
has_no!(Views<'_>: recall, records, access_requests, access_request);
has_no!(AgentLens<'_>: context, export, archive, own_setting, call_tool);

/// Each look-up of what is private, of the type that has it: given what it requires, it compiles.
#[test]
fn spec_5_6_what_is_scoped_to_one_agent_compiles() {
    let _ = (read_one, read_rows, look, of_its_own);
}

/// What a handle and an account give by themselves: types without a field for the agent's text.
#[test]
fn spec_5_1_views_without_an_authorized_viewer_have_no_text() {
    let _ = (
        facts, of_memory, of_record, of_agent, of_session, of_request, of_row,
    );
}

/// An account gives the handle of one agent, and the handle what is that agent's.
async fn read_one(account: &Account) -> memoir_app::Result<()> {
    let agent = account.agent("wren").await?;
    let lens = agent.views().seen_by(Viewer::Agent);
    lens.memories(true).await?;
    lens.records(&RecordFilter::default()).await?;
    let own = lens.as_agent()?;
    own.context(None).await?;
    own.history(None).await?;
    own.export().await?;
    Ok(())
}

/// A store gives what is private for the scope of one agent, which names its account.
async fn read_rows(store: &dyn Store, scope: AgentScope) -> memoir_store::Result<()> {
    let AgentScope {
        account: _,
        agent: _,
    } = scope;
    store.snapshot(scope, &AgentQuery::default()).await?;
    store.memories(scope, &[]).await?;
    store.records(scope, &RecordFilter::default()).await?;
    store.session_page(scope, None, 1).await?;
    store.records_at(scope, &[1]).await?;
    store.scopes().await?;
    Ok(())
}

/// What a handle does not give, a lens does.
async fn look(
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
async fn of_its_own(
    agent: &OwnAgent,
    session: SessionId,
    passphrase: Passphrase,
) -> memoir_app::Result<()> {
    agent.archive(passphrase).await?;
    agent.own_setting(Field::SystemPrompt).await?;
    agent.undo_own_setting(Field::SystemPrompt).await?;
    agent.setting_history(Field::SystemPrompt).await?;
    agent.read_part().await?;
    agent.open_own(Mode::Full).await?;
    agent.rehearse_own(Mode::Full).await?;
    agent.take_up_own().await?;
    agent.call_tool(session, "list_memories", None).await?;
    Ok(())
}

/// The parts of a handle, and an account, give facts.
async fn facts(
    account: &Account,
    agent: &AgentHandle,
    session: SessionId,
    draft: &AccessDraft,
    by: &Actor,
) -> memoir_app::Result<()> {
    account.agents().await?.into_iter().for_each(of_agent);
    let filter = RecordFilter::default();
    let page = account
        .record_page(&filter, RecordOrder::OldestFirst, None, 10)
        .await?;
    page.into_iter().for_each(|(_, record)| of_record(record));
    of_agent(agent.views().show().await?);
    let memories = agent.views().memory_page(&MemoryPage::default()).await?;
    memories.into_iter().for_each(of_memory);
    let records = agent.views().search_records(&filter, None, 10).await?;
    records.into_iter().for_each(of_record);
    of_session(agent.views().session(session).await?);
    let sessions = agent.views().session_page(None, 10).await?;
    sessions.into_iter().for_each(of_session);
    let LiveSession { session, .. } = agent.sessions().live_session(session).await?;
    of_session(session);
    let requests = agent.grants().open_access().await?;
    requests.into_iter().for_each(of_request);
    let request = agent.grants().request_access(draft, by).await?;
    of_request(agent.grants().revoke_access(request.id, by).await?);
    of_request(request);
    Ok(())
}

/// No text, no tags, no source.
fn of_memory(
    MemoryFacts {
        number: _,
        kind: _,
        tokens: _,
        constitutional: _,
        is_summary: _,
        is_report: _,
        sources: _,
        under: _,
        origin: _,
        created_at: _,
        updated_at: _,
        fades_at: _,
        archived_at: _,
        discarded_at: _,
        shredded_at: _,
    }: MemoryFacts,
) {
}

/// Neither what was before nor what is after; the facts of a record have a type that holds no text.
fn of_record(
    RecordFacts {
        seq: _,
        recorded_at: _,
        agent: _,
        actor: _,
        action: _,
        session_id: _,
        memory: _,
        counts: _,
        hash: _,
        previous_hash: _,
    }: RecordFacts,
) {
}

/// Its settings are those of administrators: prompts of its own are words.
fn of_agent(
    AgentFacts {
        id: _,
        name: _,
        settings: _,
        settings_seq: _,
        effective_model: _,
        effective_refinement_threshold: _,
        effective_core_token_budget: _,
        effective_refinement_trigger_tokens: _,
        effective_immutable_tags: _,
        effective_duplicate_match: _,
        effective_loss_guard: _,
        effective_refinement_schedule: _,
        effective_refinement_mode: _,
        effective_context_journal_tokens: _,
        effective_near_duplicates: _,
        effective_answer_tokens: _,
        counts: _,
        health: _,
        needs_refinement: _,
        refinement_due: _,
        last_refinement_at: _,
        next_refinement_at: _,
        next_refinement_reason: _,
        created_at: _,
    }: AgentFacts,
) {
}

/// Neither its report nor a reason in words.
fn of_session(
    SessionFacts {
        id: _,
        agent: _,
        state: _,
        mode: _,
        driver: _,
        trigger: _,
        rehearsal: _,
        model: _,
        pre_session_tokens: _,
        post_session_tokens: _,
        threshold: _,
        edits: _,
        stats: _,
        removed_tokens: _,
        archived: _,
        archived_under_summaries: _,
        summaries: _,
        loss_guard: _,
        refused_calls: _,
        edits_holding: _,
        end_reason: _,
        failure: _,
        started_at: _,
        started_by: _,
        ended_at: _,
        undone_at: _,
        usage: _,
    }: SessionFacts,
) {
}

/// The purpose is the administrator's; the agent's response has no field.
fn of_request(
    AccessRequestFacts {
        id: _,
        agent: _,
        kind: _,
        scope: _,
        session_id: _,
        minutes: _,
        memory: _,
        derived: _,
        token_expires_at: _,
        purpose: _,
        asked_by: _,
        state: _,
        requested_at: _,
        expires_at: _,
        answered_at: _,
        ended_at: _,
        reads: _,
        memories_read: _,
        tokens_read: _,
    }: AccessRequestFacts,
) {
}

/// The rows that look-ups across agents give hold no memory and no prompt.
fn of_row(
    AgentRow {
        scope: _,
        columns:
            AgentColumns {
                name: _,
                folded_name: _,
                erased_at: _,
                next_seq: _,
                head: _,
                prospect: _,
                ranks: _,
            },
        document: _,
    }: AgentRow,
) {
}

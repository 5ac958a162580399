//! The wire format, under the names that programs depend on.

use memoir_app::{AgentFacts, EndNotice, MemoryFacts, Mismatch, ShownSession, Verification};
use memoir_domain::{PrivateText, Timestamp, replay::Originals, view};
use memoir_model::OfferedTool;
use serde::Serialize;
use utoipa::ToSchema;

use crate::schemas;

/// A tag of the value.
pub(crate) fn etag(of: &impl Serialize) -> String {
    use data_encoding::HEXLOWER;
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(serde_json::to_vec(of).unwrap_or_default());
    // 96 bits: a tag is compared with another one of the same object, and a collision brings no advantage.
    format!("\"{}\"", HEXLOWER.encode(&digest[..12]))
}

/// Changes with every change of the memory; the same for callers with and without a right to its text.
pub(crate) fn memory_etag(memory: &MemoryFacts) -> String {
    etag(&(
        memory.number,
        memory.kind,
        memory.tokens,
        memory.constitutional,
        (memory.origin, memory.is_summary),
        (memory.under, &memory.sources),
        (memory.created_at, memory.updated_at),
        (memory.archived_at, memory.discarded_at, memory.shredded_at),
    ))
}

/// Changes with every change of an agent's name or settings, and with nothing else: a client that sets something need
/// not read it again because a memory was saved. A prompt that the agent sets counts by its record, since no digest of
/// its text may be shown.
pub(crate) fn agent_etag(agent: &AgentFacts) -> String {
    etag(&(&agent.name, &agent.settings, agent.settings_seq))
}

/// A session that is open for the agent, with its prompt and its tools.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OpenSession {
    #[serde(flatten)]
    pub(crate) session: ShownSession,
    /// The whole prompt, as one text.
    #[schema(value_type = String)]
    pub(crate) prompt: PrivateText,
    #[schema(value_type = Vec<schemas::ToolDefinition>)]
    pub(crate) tools: Vec<OfferedTool>,
}

view! {
    /// The outcome of verifying an agent's log.
    #[derive(Debug, Serialize, ToSchema)]
    pub(crate) struct Verified from verification: Verification;
    valid: bool = verification.valid,
    records: u64 = verification.records,
    head: String = verification.head,
    /// Where the originals are; null where the log cannot be followed to its end.
    #[schema(required, value_type = Option<schemas::Originals>)]
    originals: Option<Originals> = verification.originals,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_bad: Option<Mismatch> = verification.first_bad,
}

/// What a webhook is sent: that a session ended, as an administrator of its account sees it.
#[derive(Debug, Serialize)]
pub(crate) struct SessionEnded {
    /// The same for every attempt, and for every receiver.
    pub(crate) id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    /// When the session ended.
    timestamp: Option<Timestamp>,
    data: EndedData,
}

#[derive(Debug, Serialize)]
struct EndedData {
    account: String,
    account_id: memoir_domain::AccountId,
    agent_id: memoir_domain::AgentId,
    session: ShownSession,
}

impl From<EndNotice> for SessionEnded {
    fn from(notice: EndNotice) -> Self {
        Self {
            id: format!("session-ended-{}", notice.session.id),
            kind: "session.ended",
            timestamp: notice.session.ended_at,
            data: EndedData {
                account: notice.account_name,
                account_id: notice.account,
                agent_id: notice.agent,
                session: notice.session.into(),
            },
        }
    }
}

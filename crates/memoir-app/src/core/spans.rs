//! The spans of a trace, under the names of OpenTelemetry's conventions for generative AI.
//!
//! Each has [`TARGET`], so that an exporter takes these and nothing else. Their attributes are numbers, codes,
//! identifiers and names of models and tools: never text, never the name of an agent (SPEC 5.1). Without a
//! subscriber they cost a comparison.

use memoir_domain::{
    AgentScope, SessionId,
    tools::{Tool, ToolResult},
};
use memoir_model::{ModelName, TokenUsage};
use tracing::{Instrument, Span, field::Empty, info_span};

use super::Result;

/// The target of every span for export.
pub const TARGET: &str = "memoir::trace";

/// A session that Memoir drives, from the request for consent to its end.
pub(crate) fn session(scope: AgentScope, id: SessionId, model: &ModelName) -> Span {
    info_span!(
        target: TARGET,
        "invoke_agent",
        otel.kind = "internal",
        // The field is declared empty, because a span ignores values of undeclared fields.
        otel.status_code = Empty,
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.id = %scope.agent,
        gen_ai.conversation.id = %id,
        gen_ai.provider.name = model.provider(),
        gen_ai.request.model = model.model(),
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        error.type = Empty,
        memoir.session.mode = Empty,
        memoir.session.driver = Empty,
        memoir.session.rehearsal = Empty,
        memoir.session.end = Empty,
        memoir.session.end_reason = Empty,
        memoir.session.edits = Empty,
        memoir.session.removed_tokens = Empty,
        memoir.session.archived = Empty,
        memoir.session.summaries = Empty,
    )
}

pub(crate) fn model_call(model: &ModelName, max_output_tokens: u32) -> Span {
    info_span!(
        target: TARGET,
        "chat",
        otel.name = %format_args!("chat {}", model.model()),
        otel.kind = "client",
        otel.status_code = Empty,
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = model.provider(),
        gen_ai.request.model = model.model(),
        gen_ai.request.max_tokens = i64::from(max_output_tokens),
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        error.type = Empty,
    )
}

pub(crate) fn embeddings(model: &ModelName) -> Span {
    info_span!(
        target: TARGET,
        "embeddings",
        otel.name = %format_args!("embeddings {}", model.model()),
        otel.kind = "client",
        otel.status_code = Empty,
        gen_ai.operation.name = "embeddings",
        gen_ai.provider.name = model.provider(),
        gen_ai.request.model = model.model(),
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        error.type = Empty,
    )
}

pub(crate) fn answered(span: &Span, usage: TokenUsage) {
    span.record("gen_ai.usage.input_tokens", whole(usage.input_tokens));
    span.record("gen_ai.usage.output_tokens", whole(usage.output_tokens));
}

/// One call of a session's tool. `None` for one that does not exist.
pub(crate) fn tool_call(scope: AgentScope, session: SessionId, tool: Option<Tool>) -> Span {
    // A name that a model made up is not used, because it may hold any text.
    let tool = tool.map_or("unknown", Tool::as_str);
    info_span!(
        target: TARGET,
        "execute_tool",
        otel.name = %format_args!("execute_tool {tool}"),
        otel.kind = "internal",
        otel.status_code = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = tool,
        gen_ai.tool.type = "function",
        gen_ai.agent.id = %scope.agent,
        gen_ai.conversation.id = %session,
        error.type = Empty,
        memoir.refusal = Empty,
        memoir.rolled_back = Empty,
    )
}

/// Notes the result of a tool; `None` where it could not be carried out.
pub(crate) fn tool_answered(span: &Span, result: Option<&ToolResult>) {
    match result {
        // A refusal is an ordinary result, and no error of the call.
        Some(ToolResult::Error { code, .. }) => {
            span.record("memoir.refusal", code.as_str());
        }
        Some(ToolResult::RefinementRolledBack { .. }) => {
            span.record("memoir.rolled_back", true);
        }
        Some(_) => {}
        None => failed(span, "internal"),
    }
}

/// Saving or finding memories outside of a session: `create_memory` or `search_memory`.
pub(crate) fn memory(scope: AgentScope, operation: &'static str) -> Span {
    info_span!(
        target: TARGET,
        "memory",
        otel.name = operation,
        otel.kind = "internal",
        otel.status_code = Empty,
        gen_ai.operation.name = operation,
        gen_ai.agent.id = %scope.agent,
        error.type = Empty,
        memoir.memories = Empty,
    )
}

/// Saves or recalls memories inside of their span, and notes their number.
pub(crate) async fn of_memories<T>(
    span: Span,
    work: impl Future<Output = Result<Vec<T>>>,
) -> Result<Vec<T>> {
    let done = work.instrument(span.clone()).await;
    match &done {
        Ok(memories) => {
            span.record("memoir.memories", whole(memories.len() as u64));
        }
        Err(error) => failed(&span, error.code()),
    }
    done
}

/// One decision on its way to the disk.
pub(crate) fn commit(records: usize) -> Span {
    info_span!(
        target: TARGET,
        "commit",
        otel.kind = "internal",
        otel.status_code = Empty,
        memoir.commit.records = whole(records as u64),
        memoir.commit.result = Empty,
        error.type = Empty,
    )
}

/// Notes the outcome: `written`, `conflict` or `failed`.
pub(crate) fn committed(span: &Span, result: &'static str) {
    span.record("memoir.commit.result", result);
    // A conflict is no failure: the decision is made anew.
    if result == "failed" {
        failed(span, "store");
    }
}

pub(crate) fn failed(span: &Span, code: &str) {
    span.record("otel.status_code", "ERROR");
    span.record("error.type", code);
}

/// As a number that the protocol has.
pub(crate) fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

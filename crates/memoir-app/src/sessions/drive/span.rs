//! The span of a session that Memoir drives.

use memoir_domain::session::State;
use tracing::{Instrument, Span};

use crate::{
    core::{
        Result,
        spans::{failed, whole},
    },
    shown::SessionFacts,
};

/// Drives a session inside of its span, and notes its outcome.
pub(super) async fn of_session(
    span: Span,
    work: impl Future<Output = Result<SessionFacts>>,
) -> Result<SessionFacts> {
    let driven = work.instrument(span.clone()).await;
    match &driven {
        Ok(session) => session_ended(&span, session),
        Err(error) => failed(&span, error.code()),
    }
    driven
}

fn session_ended(span: &Span, session: &SessionFacts) {
    span.record("memoir.session.mode", session.mode.as_str());
    span.record("memoir.session.driver", session.driver.as_str());
    span.record("memoir.session.rehearsal", session.rehearsal);
    span.record("memoir.session.end", session.state.as_str());
    span.record("memoir.session.edits", i64::from(session.edits));
    span.record(
        "memoir.session.removed_tokens",
        whole(session.removed_tokens),
    );
    span.record("memoir.session.archived", i64::from(session.archived));
    span.record("memoir.session.summaries", i64::from(session.summaries));
    span.record(
        "gen_ai.usage.input_tokens",
        whole(session.usage.input_tokens),
    );
    span.record(
        "gen_ai.usage.output_tokens",
        whole(session.usage.output_tokens),
    );
    if let Some(reason) = session.end_reason {
        span.record("memoir.session.end_reason", reason);
    }
    // Only this end is an error: all others are ordinary ends of a session.
    if session.state == State::Failed {
        failed(span, session.end_reason.unwrap_or("failed"));
    }
}

//! Access requests to agents.

use memoir_app::ShownAccessRequest;
use memoir_domain::labels;

use super::{TextTable, when};
use crate::terminal::safe;

pub(crate) fn list(requests: &[ShownAccessRequest]) -> String {
    let mut table = TextTable::new([
        "request", "state", "asked", "until", "by", "for", "reads", "memories", "purpose",
    ])
    .right([6, 7]);
    for request in requests {
        table.row([
            request.id.to_string(),
            request.state.label().to_owned(),
            when(request.requested_at),
            match request.is_standing() {
                true => "revoked".to_owned(),
                false => when(request.ended_at.unwrap_or(request.expires_at)),
            },
            safe(&request.asked_by.name).into_owned(),
            what(request),
            request.reads.to_string(),
            request.memories_read.to_string(),
            safe(request.purpose.expose()).into_owned(),
        ]);
    }
    table.to_string()
}

fn what(request: &ShownAccessRequest) -> String {
    let what = labels::access(request.kind, request.scope);
    let what = match (request.session_id, request.memory) {
        (Some(session), _) => format!("{what} {session}"),
        (None, Some(number)) => format!("{what} {number}"),
        (None, None) => what.to_owned(),
    };
    match request.minutes {
        Some(minutes) => format!("{what}, {minutes} min"),
        None => what,
    }
}

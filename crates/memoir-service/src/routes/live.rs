//! `/v1/sessions/{id}/events`

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use memoir_app::{
    AgentLens,
    sessions::{Live, LiveEvent, SeenUpTo},
};
use memoir_domain::SessionId;

use crate::{
    Problem, Service,
    caller::Caller,
    extract::Path,
    streams::{self, Listener, Sink, StreamOver, StreamSlot},
};

/// The last event that a reconnecting client received.
const LAST_EVENT_ID: &str = "last-event-id";

/// Watches a session, as server-sent events, until it ends.
///
/// `record`: a record of the session was written; `data` is a LiveRecord. `session`: its state changed, as after the records sent so far; `data` is a LiveSession. `ended`: how it ended, as a LiveSession; the
/// last event. Every record comes once, in its order; of the states in between, some may be passed over.
#[utoipa::path(get, path = "/v1/sessions/{id}/events", tag = "sessions", operation_id = "watch_session",
    params(("id" = String, Path, description = "The session", format = Uuid),
        ("Last-Event-ID" = Option<String>, Header, description = "The `id` of the last event that was seen: the stream goes on after it", example = "12-9134687720515")),
    responses(
        (status = 200, description = "The events", body = String, content_type = "text/event-stream"),
        (status = 204, description = "The session has ended, and everything of it was seen")))]
pub(crate) async fn watch(
    State(service): State<Service>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (reached, id) = caller.reach_session(&id).await?;
    let listener = Listener::Token(caller);
    follow(&service, listener, &reached.lens(), id, &headers).await
}

/// The events of a session, after the last one that the client received.
///
/// # Errors
/// The listener has its maximum of open streams; the client names an unknown event; the store fails.
pub(crate) async fn follow(
    service: &Service,
    listener: Listener,
    lens: &AgentLens<'_>,
    id: SessionId,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let seen = seen_before(headers)?;
    // Before anything is read: a refused stream costs nothing more. Released where there is none.
    let slot = StreamSlot::take(service, &listener)?;
    let mut live = lens.watch(id, seen);
    // The first read comes before the response begins, so that a failure still gets a status of its own.
    let news = live.look().await?;
    // After a stream that ends, a browser's `EventSource` would connect again and again; a 204 makes it stop.
    if news.is_empty() && live.has_ended() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(streams::stream(slot, listener, move |sink| {
        send_events(live, news, sink)
    }))
}

async fn send_events(
    mut live: Live,
    mut news: Vec<(LiveEvent, SeenUpTo)>,
    mut sink: Sink,
) -> Result<(), StreamOver> {
    loop {
        if !news.is_empty() {
            sink.begin().await?;
        }
        for (event, seen) in news {
            let id = event_id(seen);
            match event {
                LiveEvent::Record(record) => sink.send_event("record", &id, &record).await,
                LiveEvent::Session(session) => sink.send_event("session", &id, &session).await,
                LiveEvent::Ended(session) => sink.send_event("ended", &id, &session).await,
            }?;
        }
        if live.has_ended() {
            return Ok(());
        }
        live.changed().await;
        sink.tick().await?;
        news = live.look().await.map_err(|error| {
            // The agent was erased, or the database does not respond: a reconnecting client gets the error.
            tracing::debug!(%error, "a stream broke off");
            StreamOver
        })?;
    }
}

/// `SEQ`, or `SEQ-PROGRESS` once the session itself was shown.
fn event_id(SeenUpTo { seq, progress }: SeenUpTo) -> String {
    match progress {
        Some(progress) => format!("{seq}-{progress}"),
        None => seq.to_string(),
    }
}

fn seen_before(headers: &HeaderMap) -> Result<SeenUpTo, Problem> {
    let unknown = "Last-Event-ID: is none that this stream gave; leave it out to begin anew";
    let id = headers.get(LAST_EVENT_ID);
    match id.and_then(|id| id.to_str().ok()).unwrap_or_default() {
        "" => Ok(SeenUpTo::default()),
        id => parse(id).ok_or_else(|| Problem::invalid(unknown)),
    }
}

fn parse(id: &str) -> Option<SeenUpTo> {
    let number = |text: &str| {
        let number = text.parse::<u64>().ok();
        // Each number has one spelling.
        number.filter(|_| !text.starts_with('+'))
    };
    let (seq, progress) = match id.split_once('-') {
        Some((seq, progress)) => (seq, Some(number(progress)?)),
        None => (id, None),
    };
    // One more must fit a database.
    let seq = number(seq).filter(|seq| *seq < i64::MAX as u64)?;
    Some(SeenUpTo { seq, progress })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_read_as_it_is_written() {
        for id in ["0", "17", "17-3", "0-18446744073709551615"] {
            let seen = parse(id).unwrap();
            assert_eq!(event_id(seen), id);
        }
        for other in [
            "x",
            "-",
            "1-",
            "1-2-3",
            "1-18446744073709551616",
            "+1",
            "1-+2",
            " 1",
            "1.5",
            "9223372036854775807",
            "99999999999999999999",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}

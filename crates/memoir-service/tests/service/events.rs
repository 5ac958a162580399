//! A client of streams of events.

use std::time::Duration;

use reqwest::Response;
use serde_json::Value;

/// An event as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub kind: String,
    pub id: String,
    pub data: Value,
    pub text: String,
}

/// A stream that is read.
pub struct Events {
    response: Response,
    text: String,
    pub beats: usize,
    /// A word, in small letters, that may not come.
    pub without: Option<&'static str>,
}

impl Events {
    #[track_caller]
    pub fn of(response: Response) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        Self {
            response,
            text: String::new(),
            beats: 0,
            without: None,
        }
    }

    /// The next event; `None` at the end of the stream.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let is_allowed = |word| !block.to_lowercase().contains(word);
                assert!(self.without.is_none_or(is_allowed), "{block}");
                let event = parse(block);
                self.beats += usize::from(block == ":");
                self.text = rest.to_owned();
                if event.is_some() {
                    return event;
                }
                continue;
            }
            let chunk = tokio::time::timeout(Duration::from_secs(60), self.response.chunk());
            let chunk = chunk.await.unwrap().ok()??;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    pub async fn rest(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }

    /// Up to and with the first event for which `is_it` holds.
    pub async fn until(&mut self, is_it: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            let event = self.next().await.unwrap();
            let is_last = is_it(&event);
            events.push(event);
            if is_last {
                return events;
            }
        }
    }
}

fn parse(block: &str) -> Option<Event> {
    let field = |name: &str| {
        let mut lines = block.lines();
        lines.find_map(|line| Some(line.strip_prefix(name)?.to_owned()))
    };
    let data = field("data: ")?;
    Some(Event {
        kind: field("event: ").unwrap(),
        id: field("id: ").unwrap(),
        data: serde_json::from_str(&data).unwrap(),
        text: block.to_owned(),
    })
}

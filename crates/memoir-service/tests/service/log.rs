//! What a process logs.

use std::{
    io,
    sync::{Arc, Mutex},
};

use tracing_subscriber::{filter::filter_fn, layer::SubscriberExt, util::SubscriberInitExt};

const SEEN: &str = "what is logged is seen";

#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Keeps what may be logged from here on; once in a process.
    pub fn begin() -> Self {
        let log = Self::default();
        let writing = log.clone();
        tracing_subscriber::registry()
            .with(tracing_subscriber::fmt::layer().with_writer(move || writing.clone()))
            .with(filter_fn(memoir_service::may_be_logged))
            .init();
        tracing::trace!(target: "memoir_tests", "{SEEN}");
        log
    }

    pub fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned();
        assert!(text.contains(SEEN));
        text
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

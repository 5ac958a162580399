//! Progress bars for work that lasts longer than a second, on a terminal's stderr only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal;

/// Shorter work shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(120);

/// A bar of that length; `None` for an unknown one.
pub(crate) fn bar(length: Option<u64>, template: &str, target: ProgressDrawTarget) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(length, target);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// A bar that appears after a second, and is removed when this is dropped.
pub(crate) struct ProgressLine {
    pub(crate) bar: ProgressBar,
    coming: tokio::task::JoinHandle<()>,
}

impl ProgressLine {
    /// A bar of that length; `None` for an unknown one. Must be called within a runtime.
    pub(crate) fn start(length: Option<u64>, template: &str) -> Self {
        let bar = bar(length, template, ProgressDrawTarget::hidden());
        let shown = bar.clone();
        let coming = tokio::spawn(async move {
            tokio::time::sleep(PATIENCE).await;
            shown.set_draw_target(terminal::bars());
            shown.enable_steady_tick(TICK);
        });
        Self { bar, coming }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        // The task is stopped first, so that it does not draw the bar again after it was cleared.
        self.coming.abort();
        self.bar.finish_and_clear();
    }
}

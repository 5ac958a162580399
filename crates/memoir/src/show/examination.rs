//! A finding of an examination as lines.

use memoir_app::{Examination, Severity};

use crate::terminal::{CYAN, GREEN, RED, YELLOW, safe};

/// The finding, with its hint on a line of its own.
pub(crate) fn line(finding: &Examination) -> String {
    let (style, word) = match finding.severity {
        Severity::Ok => (GREEN, "ok"),
        Severity::Warning => (YELLOW, "warning"),
        Severity::Problem => (RED, "problem"),
    };
    let mut text = format!(
        "{style}{word:<8}{style:#} {:<13} {}\n",
        finding.area,
        safe(&finding.finding)
    );
    if let Some(advice) = &finding.advice {
        // The hint is indented to the column in which the findings begin.
        text.push_str(&format!("{:23}{CYAN}hint{CYAN:#}: {}\n", "", safe(advice)));
    }
    text
}

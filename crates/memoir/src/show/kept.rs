//! What is kept of all that was said, and what was let go.

use memoir_app::{KeptView, ShownLetGo, ShownWording};
use memoir_domain::PrivateText;

use super::{TextTable, counted, moment, thousands};
use crate::terminal::safe;

/// `carries 1,230 of 1,234 wordings; 4 let go`
pub(crate) fn carries(carried: u64, wordings: u64, let_go: u64) -> String {
    format!(
        "carries {} of {}; {} let go",
        thousands(carried),
        counted(wordings, "wording", "wordings"),
        thousands(let_go)
    )
}

/// The share of all words that is still said, as `98.7%`; rounded down: what was let go is never rounded away.
pub(crate) fn share(kept: &KeptView) -> String {
    format!("{:.1}%", (kept.share() * 1000.0).floor() / 10.0)
}

/// How much is kept, as a sentence.
pub(crate) fn line(kept: &KeptView) -> String {
    let carries = carries(kept.carried, kept.wordings, kept.wordings - kept.carried);
    format!(
        "{carries}: {} of all words is still said, {} let go, {} of them in the last 365 days\n",
        share(kept),
        counted(kept.lost_words, "word", "words"),
        thousands(kept.lost_words_year),
    )
}

/// What was let go, one edit of one wording a line, as it happened.
pub(crate) fn list(all: &[ShownWording]) -> String {
    let lost = |wording| each(wording).map(move |lost| (lost, wording));
    let mut lost: Vec<(&ShownLetGo, &ShownWording)> = all.iter().flat_map(lost).collect();
    lost.sort_by_key(|(lost, wording)| (lost.at, wording.id));
    let mut table = TextTable::new(["number", "let go", "session", "words"]).right(0);
    for (lost, wording) in lost {
        table.row([
            wording.number.to_string(),
            moment(lost.at),
            lost.session_id.to_string(),
            words(lost),
        ]);
    }
    table.to_string()
}

fn each(wording: &ShownWording) -> impl Iterator<Item = &ShownLetGo> {
    wording.let_go.iter()
}

/// The words, or for whoever may not read them how many; and whether all went with the memory.
fn words(lost: &ShownLetGo) -> String {
    let words = lost.words.as_ref().map(|let_go| {
        let words: Vec<_> = let_go
            .words
            .iter()
            .map(PrivateText::expose)
            .map(safe)
            .collect();
        words.join(", ")
    });
    let words = words.unwrap_or_else(|| counted(lost.lost_words, "word", "words"));
    if lost.deleted {
        format!("{words} (deleted)")
    } else {
        words
    }
}

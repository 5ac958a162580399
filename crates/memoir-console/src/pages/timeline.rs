//! The records of a session: as a curve that falls towards the breaker line, and as rows. While the session runs,
//! `assets/live.js` follows it here.

use maud::{Markup, html};
use memoir_app::{AgentHandle, RecordFacts, RecordFilter, SessionFacts, sessions::LiveSession};
use memoir_domain::{
    SessionId,
    audit::{Action, CORE_TOKENS},
    session::{EDIT_CAP, EndReason, State},
};

use super::audit::facts;
use crate::{
    answer::PageFailure,
    form, parts,
    plot::{Curve, CurvePoint, Mark, MarkKind},
    words,
};

/// A live session, without text.
type LiveSessionFacts = LiveSession<SessionFacts>;

/// Records on a page. A session of many edits has some dozens; one that joined many duplicates has more.
const AT_ONCE: u32 = 200;
/// The curve has room for the ten edits from the beginning, so that its measure seldom changes.
const LEAST_STEPS: u64 = 12;
/// The meanings of the marks on the curve.
const LEGEND: [(MarkKind, &str); 2] = [(MarkKind::Done, "record"), (MarkKind::Back, "undone")];
/// The facts of records with the core size after them.
const CORE_SIZES: [&str; 3] = [CORE_TOKENS, "core_tokens_after", "post_session_tokens"];
/// The facts of records that are shown beside the others.
const SHOWN_BESIDE: [&str; 4] = [
    CORE_TOKENS,
    "core_tokens_after",
    "core_tokens_before",
    "post_session_tokens",
];

/// Some records of a session, oldest first.
pub(super) struct TimelinePage {
    records: Vec<RecordFacts>,
    /// The place of the record that they precede; `None` for the latest.
    before: Option<u64>,
    /// Whether there are earlier ones.
    is_more: bool,
}

impl TimelinePage {
    /// Those before that place in the log, or the latest.
    pub(super) async fn load(
        agent: &AgentHandle,
        session: SessionId,
        before: Option<u64>,
    ) -> Result<Self, PageFailure> {
        let search = RecordFilter::of_session(session);
        let views = agent.views();
        let mut records = views.search_records(&search, before, AT_ONCE + 1).await?;
        let is_more = form::cut(&mut records, AT_ONCE as usize).is_some();
        // The log is read from its end, and shown from its beginning.
        records.reverse();
        Ok(Self {
            records,
            before,
            is_more,
        })
    }

    /// Whether the next record belongs on it.
    pub(super) fn is_latest(&self) -> bool {
        self.before.is_none()
    }

    /// The curve and the rows.
    pub(super) fn show(&self, agent: &AgentHandle, live: &LiveSessionFacts) -> Markup {
        let begin = match self.is_more {
            true => "After earlier records",
            false => "At the start",
        };
        html! {
            div data-part="curve" {
                @if let Some(curve) = self.curve(live) {
                    section aria-labelledby="mass" {
                        h2 #mass { "Core size" }
                        (curve.figure("mass", "breaker line", &LEGEND,
                            [html! { (begin) }, html! { "Record by record" }]))
                    }
                }
            }
            section aria-labelledby="timeline" {
                h2 #timeline { "What happened" }
                div data-part="records" { (self.rows(agent, live)) }
            }
        }
    }

    /// The core size after each record that measures it, from the beginning on. `None` of a rehearsal, whose records
    /// are written together, and of a session that was never opened.
    fn curve(&self, live: &LiveSessionFacts) -> Option<Curve> {
        let session = &live.session;
        let was_opened = session.pre_session_tokens.is_some();
        if session.rehearsal || !was_opened && !session.state.is_running() {
            return None;
        }
        let begun = session.pre_session_tokens.filter(|_| !self.is_more);
        let measured = self.records.iter().filter_map(|record| {
            // Duplicates are joined before the core size of the beginning is fixed.
            let counts = was_opened && record.action != Action::MemoryDeduplicated;
            let kind = match record.action.undoes() {
                true => MarkKind::Back,
                false => MarkKind::Done,
            };
            let what = format!("Record {}, {}", record.seq, record.action.label());
            Some((core_size_after(record)?, kind, what)).filter(|_| counts)
        });
        let begun = begun.map(|size| (size, MarkKind::Done, "At the start".to_owned()));
        let steps = (0..).zip(begun.into_iter().chain(measured));
        let marks = steps.map(|(place, (size, kind, what))| Mark {
            place,
            size,
            kind,
            title: format!("{what}: {}", words::counted(size, "token", "tokens")),
        });
        let marks: Vec<Mark> = marks.collect();
        let all = || {
            let sizes = marks.iter().map(|mark| mark.size);
            sizes.chain(live.breaker_tokens)
        };
        let (least, most) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
        let points = marks
            .iter()
            .map(|mark| CurvePoint::level(mark.place, mark.size));
        Some(Curve {
            points: points.collect(),
            whole: LEAST_STEPS.max(marks.len() as u64),
            marks,
            // Only the part that changes, with room below it.
            least: least.saturating_sub(((most - least) / 8).max(4)),
            line: live.breaker_tokens,
            ..Curve::default()
        })
    }

    fn rows(&self, agent: &AgentHandle, live: &LiveSessionFacts) -> Markup {
        let session = &live.session;
        let path = format!("/sessions/{}", session.id);
        let earlier = self.records.first().filter(|_| self.is_more);
        let earlier = earlier.map(|first| format!("{path}?before={}", first.seq));
        let (agent, id) = (agent.scope().agent.to_string(), session.id.to_string());
        let log = form::address("/audit", &[("agent", &agent), ("session", &id)]);
        html! {
            @if self.records.is_empty() {
                p.empty { "Nothing is on the record " @if session.state.is_running() { "yet." } @else { "of it." } }
            } @else {
                @if self.is_more || self.before.is_some() {
                    p.hint { "Shown here: " (words::counted(self.records.len() as u64, "record", "records"))
                        ". " a href=(log) { "All of them are in the audit" } "." }
                }
                (table(&self.records, live))
            }
            (parts::pages(
                "Records",
                self.before.is_some().then_some((path.as_str(), "← Latest")),
                earlier.as_deref().map(|path| (path, "Earlier →")),
            ))
        }
    }
}

fn core_size_after(record: &RecordFacts) -> Option<u64> {
    let data = record.counts.as_map();
    CORE_SIZES.iter().find_map(|fact| data.get(*fact)?.as_u64())
}

fn table(records: &[RecordFacts], live: &LiveSessionFacts) -> Markup {
    html! {
        table.cards role="table" {
            caption.hidden { "Records of the session, the newest first" }
            (parts::headings(&["Record", "When", "What", "Memory", "Core size after", "Details"], &[0, 3, 4]))
            tbody #records role="rowgroup" { @for record in records.iter().rev() { (row(record, live)) } }
        }
    }
}

fn row(record: &RecordFacts, live: &LiveSessionFacts) -> Markup {
    let whole = live.session.pre_session_tokens.unwrap_or(0);
    html! {
        tr role="row" data-seq=(record.seq) class=[record.action.undoes().then_some("back")] {
            th role="rowheader" scope="row" class="figure" data-label="Record" { (record.seq) }
            td role="cell" data-label="When" { (parts::second(record.recorded_at)) }
            td.what role="cell" data-label="What" { (record.action.label()) }
            td.figure role="cell" data-label="Memory" {
                @match record.memory { Some(number) => { "#" (number.0) }, None => span.none { "–" } }
            }
            td.figure role="cell" data-label="Core size after" {
                @match core_size_after(record) {
                    Some(size) => span.gauge {
                        (parts::bar_with_line(size, whole, live.breaker_tokens))
                        span { (words::number(size)) }
                    },
                    None => span.none { "–" },
                }
            }
            td role="cell" data-label="Details" { (facts(record.counts.as_map(), &SHOWN_BESIDE, "/sessions")) }
        }
    }
}

pub(super) fn status(live: &LiveSessionFacts) -> Markup {
    let before = live.session.pre_session_tokens;
    html! {
        @if let (Some(before), Some(size)) = (before, live.core_tokens) {
            div.mass {
                @let is_near = live.breaker_tokens.is_some_and(|line| parts::is_near(size, line, before));
                p.figures { strong.near[is_near] { (words::number(size)) } " of " (words::number(before)) " tokens"
                    @if let Some(line) = live.breaker_tokens {
                        @let line_is = if live.session.state.is_running() { "is" } else { "was" };
                        span.of { " · the breaker line " (line_is) " at " (words::number(line)) }
                    }
                }
                (parts::bar_with_line(size, before, live.breaker_tokens))
            }
        }
        p.tripped[tripped(&live.session)] data-now { (now(live)) }
    }
}

/// The sentence that is read out when it changes.
fn now(live: &LiveSessionFacts) -> String {
    let session = &live.session;
    let edits = words::counted(u64::from(session.edits), "edit", "edits");
    let stay = if session.edits == 1 { "stays" } else { "stay" };
    match session.state {
        State::Queued => "The session is queued, and waits for a worker.".to_owned(),
        State::Asking => "The agent is being asked for its consent.".to_owned(),
        State::Open => {
            let left = live.removable_tokens.map_or_else(String::new, |left| {
                let tokens = words::counted(left, "token leaves", "tokens leave");
                format!("If more than {tokens}, everything is undone; ")
            });
            let are = if live.edits_left == 1 { "is" } else { "are" };
            format!("{left}{} of {EDIT_CAP} edits {are} left.", live.edits_left)
        }
        State::Completed => match session.undone_at {
            Some(at) => format!(
                "The session was completed after {edits}, and undone on {}.",
                words::minute(at)
            ),
            None => format!("The session was completed after {edits}{}.", moved(session)),
        },
        State::RolledBack if tripped(session) && session.removed_tokens > 0 => format!(
            "The session tried to remove {}; it was stopped at the limit, and all is undone.",
            words::counted(session.removed_tokens, "token", "tokens")
        ),
        State::RolledBack => format!("The session was rolled back{}.", because(live)),
        State::Declined => "The agent declined; nothing was edited.".to_owned(),
        State::Abandoned => format!(
            "The session was abandoned{}; {edits} of it {stay}.",
            because(live)
        ),
        State::Failed => format!("The session failed{}; {edits} of it {stay}.", because(live)),
    }
}

/// Whether the breaker ended it.
fn tripped(session: &SessionFacts) -> bool {
    let reason = session.end_reason.and_then(EndReason::from_name);
    matches!(
        reason,
        Some(EndReason::BreakerCoreSize | EndReason::BreakerRemoved)
    )
}

/// What a completed session moved, and the core size before and after, to follow the number of its edits.
fn moved(session: &SessionFacts) -> String {
    match (session.pre_session_tokens, session.post_session_tokens) {
        (Some(before), Some(after)) if session.archived > 0 => format!(
            ": it moved {} to the archive; {} → {} tokens",
            words::counted(session.archived.into(), "memory", "memories"),
            words::number(before),
            words::number(after)
        ),
        _ => String::new(),
    }
}

fn because(live: &LiveSessionFacts) -> String {
    match live.session.why_ended() {
        Some(why) => format!(", since {why}"),
        None => String::new(),
    }
}

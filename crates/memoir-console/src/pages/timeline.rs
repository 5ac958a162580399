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
    plot::{Figure, MarkKind, MarkOnCurve, PlotCurve},
    words,
};

/// A live session, without text.
type LiveSessionFacts = LiveSession<SessionFacts>;

/// Records on a page. A session of many edits has some dozens; one that joined many duplicates has more.
const AT_ONCE: u32 = 200;
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
        html! {
            div data-part="curve" {
                @if let Some(curve) = self.curve(live) {
                    // `scripted` hides the section where no scripts run, since its heading would have no curve.
                    section.scripted aria-labelledby="mass" {
                        h2 #mass { "Core size" }
                        (Figure { about: "mass", line: "breaker line", source: None, curve: Some(&curve),
                            ranges: &[], legend: &LEGEND }.show())
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
    fn curve(&self, live: &LiveSessionFacts) -> Option<PlotCurve> {
        let session = &live.session;
        let was_opened = session.pre_session_tokens.is_some();
        if session.rehearsal || !was_opened && !session.state.is_running() {
            return None;
        }
        let measured = self.records.iter().filter_map(|record| {
            // Duplicates are joined before the core size of the beginning is fixed.
            let counts = was_opened && record.action != Action::MemoryDeduplicated;
            Some((record, core_size_after(record)?)).filter(|_| counts)
        });
        let mut curve = PlotCurve {
            line: live.breaker_tokens,
            ..PlotCurve::default()
        };
        if let Some(before) = session.pre_session_tokens.filter(|_| !self.is_more) {
            curve.at.push(0);
            curve.core_size.push(before);
            curve.marks.push(MarkOnCurve {
                place: 0,
                kind: MarkKind::Done,
                stated: vec![format!("At the start: {} tokens", words::number(before))],
                path: None,
            });
        }
        for (record, size) in measured {
            let place = curve.at.len();
            // Where earlier records are left out, the curve has no point for the beginning, and its places begin at 1.
            // The conversion cannot fail: a page has about two hundred records.
            let passed = i64::try_from(place).unwrap_or(i64::MAX);
            curve.at.push(passed + i64::from(self.is_more));
            curve.core_size.push(size);
            let mark = mark(place, record, size, live.breaker_tokens);
            curve.marks.push(mark);
        }
        Some(curve)
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

fn mark(place: usize, record: &RecordFacts, size: u64, line: Option<u64>) -> MarkOnCurve {
    let (at, what) = (words::second(record.recorded_at), record.action.label());
    let mut text = format!("Record {}, {at}: {what}", record.seq);
    if let Some(number) = record.memory {
        text += &format!(" (#{})", number.0);
    }
    text += &format!(", {} tokens", words::number(size));
    if let Some(line) = line {
        let (apart, side) = match size.checked_sub(line) {
            Some(above) => (above, "above"),
            None => (line - size, "below"),
        };
        text += &format!(", {} {side} the breaker line", words::number(apart));
    }
    MarkOnCurve {
        place,
        kind: match record.action.undoes() {
            true => MarkKind::Back,
            false => MarkKind::Done,
        },
        stated: vec![text],
        path: None,
    }
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

//! Curves of the core size, as SVG: they need no script. Pages show them, and `picture.rs` makes a file of one. Numbers,
//! dates and codes only (SPEC 5.1).

use std::collections::BTreeMap;

use maud::{Markup, html};
use memoir_app::{CoreSizeHistory, Return, SessionFacts};
use memoir_domain::{Timestamp, audit::Action, core_size::CoreSizePoint, session::State};

use crate::words;

/// The measures of a curve, in its own units.
// `WIDTH` in `assets/slider.js` must be the same.
pub(crate) const WIDTH: u64 = 1_000;
pub(crate) const HEIGHT: u64 = 400;
/// The room above the highest point of a curve.
// Without it half of the line's stroke would be cut off at the top edge.
const HEADROOM: u64 = 16;
/// The meanings of the marks on a curve over time.
pub(crate) const LEGEND: [(MarkKind, &str); 3] = [
    (MarkKind::Done, "completed session"),
    (MarkKind::Back, "rolled back, undone or rewound"),
    (MarkKind::Other, "declined, abandoned or failed"),
];
/// Events that the title of a mark lists.
const LISTED: usize = 5;

/// The core size at one place, and its extremes since the place before, in tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CurvePoint {
    pub(crate) place: u64,
    pub(crate) size: u64,
    pub(crate) lowest: u64,
    pub(crate) highest: u64,
}

impl CurvePoint {
    /// A point where the core size is known alone.
    pub(crate) fn level(place: u64, size: u64) -> Self {
        Self {
            place,
            size,
            lowest: size,
            highest: size,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Curve {
    /// Ascending by place.
    pub(crate) points: Vec<CurvePoint>,
    /// The place at the right edge; 0 is at the left one.
    pub(crate) whole: u64,
    /// The core size at the bottom edge.
    pub(crate) least: u64,
    /// The budget, or the smallest core size at which the breaker holds.
    pub(crate) line: Option<u64>,
    pub(crate) marks: Vec<Mark>,
    /// Where sessions ran, by their first place and their length.
    pub(crate) bands: Vec<(u64, u64)>,
    /// The place that is looked at.
    pub(crate) here: Option<u64>,
}

/// An event on a curve, or several at one place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) place: u64,
    /// The core size there.
    pub(crate) size: u64,
    pub(crate) kind: MarkKind,
    /// Shown while a pointer is over it.
    pub(crate) title: String,
}

/// The kind of a mark; of several at one place the last of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MarkKind {
    /// A session that did not complete, or was declined.
    Other,
    /// A session that was completed.
    Done,
    /// A session that was rolled back or undone, or a rewind.
    Back,
}

pub(crate) struct Happening {
    pub(crate) kind: MarkKind,
    pub(crate) text: String,
    pub(crate) path: Option<String>,
}

impl Curve {
    /// The core size at the top edge, but for the room above the curve.
    pub(crate) fn top(&self) -> u64 {
        let sizes = self.points.iter().map(|point| point.highest);
        let most = sizes.chain(self.line).max().unwrap_or(0);
        most.max(self.least.saturating_add(1))
    }

    fn across(&self, place: u64) -> u64 {
        // `max(1)` avoids a division by zero: an empty log has its one point at the beginning.
        place.saturating_mul(WIDTH) / self.whole.max(1)
    }

    /// How far from the top edge that core size is.
    pub(crate) fn down(&self, size: u64) -> u64 {
        let above = size.saturating_sub(self.least);
        HEIGHT - above.saturating_mul(HEIGHT - HEADROOM) / (self.top() - self.least)
    }

    /// The curve's points. A dip between two of them is drawn as a stroke.
    fn outline(&self) -> String {
        let mut points = Vec::new();
        let mut last = 0;
        for point in &self.points {
            let across = self.across(point.place);
            let is_dip = point.lowest < last.min(point.size);
            let is_peak = point.highest > last.max(point.size);
            let extremes = [
                is_dip.then_some(point.lowest),
                is_peak.then_some(point.highest),
            ];
            for size in extremes.into_iter().flatten().chain([point.size]) {
                points.push(format!("{across},{}", self.down(size)));
            }
            last = point.size;
        }
        points.join(" ")
    }

    pub(crate) fn svg(&self) -> Markup {
        let size = format!("0 0 {WIDTH} {HEIGHT}");
        html! {
            svg.curve viewBox=(size) preserveAspectRatio="none" aria-hidden="true" focusable="false" {
                (self.shapes())
            }
        }
    }

    /// What is drawn, in the curve's own units.
    pub(crate) fn shapes(&self) -> Markup {
        let outline = self.outline();
        let end = self.points.last().map_or(0, |last| self.across(last.place));
        html! {
            @for (place, length) in &self.bands {
                rect.band x=(self.across(*place)) height=(HEIGHT)
                    // A band narrower than this could not be seen.
                    width=(self.across(*length).max(2)) {}
            }
            polygon.area points={ "0," (HEIGHT) " " (outline) " " (end) "," (HEIGHT) } {}
            polyline.line points=(outline) {}
            @if let Some(line) = self.line { path.limit d={ "M0 " (self.down(line)) "h" (WIDTH) } {} }
            @for mark in &self.marks {
                // A line of no length to speak of: the ends of its stroke are the mark, whatever the curve's width.
                path.mark.(mark.kind.class()) d={ "M" (self.across(mark.place)) " " (self.down(mark.size)) "h1" } {
                    title { (mark.title) }
                }
            }
            @if let Some(place) = self.here {
                line #here.here x1=(self.across(place)) x2=(self.across(place)) y1="0" y2=(HEIGHT) {}
            }
        }
    }

    /// The curve under the heading of that name, with what its line, its marks and its edges mean.
    pub(crate) fn figure(
        &self,
        heading: &str,
        line: &str,
        legend: &[(MarkKind, &str)],
        edges: [Markup; 2],
    ) -> Markup {
        html! {
            figure.plot aria-labelledby=(heading) {
                p.hint { "From " (words::number(self.least)) " at the bottom to "
                    (words::counted(self.top(), "token", "tokens")) " at the top." }
                (self.svg())
                p.ends { @for edge in edges { span { (edge) } } }
                figcaption {
                    ul.legend {
                        li { (sign("line")) (line) }
                        @for (kind, text) in legend { li { (sign(kind.class())) (text) } }
                    }
                }
            }
        }
    }
}

/// The core size over time, in seconds since its first point.
pub(crate) fn over_time(history: &CoreSizeHistory, budget: u64) -> Curve {
    let first = history.points.first();
    let first = first.map_or(Timestamp::MIN, |point| point.at);
    let point = |point: &CoreSizePoint| CurvePoint {
        place: u64::try_from(point.at.seconds_since(first)).unwrap_or(0),
        size: point.core_tokens,
        lowest: point.lowest_core_tokens,
        highest: point.highest_core_tokens,
    };
    let points: Vec<CurvePoint> = history.points.iter().map(point).collect();
    let mark = |(at, happened): (usize, Vec<Happening>)| {
        let kind = happened.iter().map(|one| one.kind).max()?;
        let CurvePoint { place, size, .. } = *points.get(at)?;
        let until = words::minute(history.points.get(at)?.at);
        let tokens = words::counted(size, "token", "tokens");
        let mut title = format!("{until}, {tokens}");
        for one in happened.iter().take(LISTED) {
            title += &format!("\n{}", one.text);
        }
        if let Some(more @ 1..) = happened.len().checked_sub(LISTED) {
            title += &format!("\nand {more} more");
        }
        Some(Mark {
            place,
            size,
            kind,
            title,
        })
    };
    let marks = happenings(history).into_iter().filter_map(mark).collect();
    Curve {
        whole: points.last().map_or(0, |last| last.place),
        line: Some(budget),
        marks,
        points,
        ..Curve::default()
    }
}

/// The events since the point before, by the places of points. Rehearsals change nothing and are omitted.
pub(crate) fn happenings(history: &CoreSizeHistory) -> BTreeMap<usize, Vec<Happening>> {
    let last = history.points.len().saturating_sub(1);
    // A point covers the time since the one before it, so that an event belongs to the first point after it.
    let place = |at: Timestamp| {
        history
            .points
            .partition_point(|point| point.at < at)
            // An event after the last point is shown at that point.
            .min(last)
    };
    let mut found: BTreeMap<usize, Vec<Happening>> = BTreeMap::new();
    for session in history.sessions.iter().filter(|session| !session.rehearsal) {
        // A running session is marked where it began.
        let at = session.ended_at.unwrap_or(session.started_at);
        let entry = found.entry(place(at)).or_default();
        entry.push(of_session(session));
    }
    for undone in &history.returns {
        // The session reports its rollback.
        if undone.action != Action::MemoryRefinementRollback {
            let entry = found.entry(place(undone.at)).or_default();
            entry.push(of_return(undone));
        }
    }
    found
}

fn of_session(session: &SessionFacts) -> Happening {
    let is_undone = session.undone_at.is_some();
    let kind = match session.state {
        State::RolledBack => MarkKind::Back,
        // An undone session counts as undone, however it ended.
        _ if is_undone => MarkKind::Back,
        State::Completed => MarkKind::Done,
        _ => MarkKind::Other,
    };
    let mut text = format!("Session {}", session.state.label());
    if let (Some(before), Some(after)) = (session.pre_session_tokens, session.post_session_tokens) {
        let (before, after) = (words::number(before), words::number(after));
        text += &format!(", {before} → {after} tokens");
    }
    if session.edits > 0 {
        let edits = words::counted(u64::from(session.edits), "edit", "edits");
        text += &format!(", {edits}");
    }
    if is_undone {
        text += ", undone since";
    }
    Happening {
        kind,
        text,
        path: Some(format!("/sessions/{}", session.id)),
    }
}

fn of_return(undone: &Return) -> Happening {
    let what = match undone.action {
        Action::SessionUndone => "Session undone",
        _ => "Returned to a point in time",
    };
    let sign = if undone.tokens < 0 { "−" } else { "+" };
    let tokens = words::number(undone.tokens.unsigned_abs());
    Happening {
        kind: MarkKind::Back,
        text: format!("{what}, {sign}{tokens} tokens"),
        path: undone.session_id.map(|id| format!("/sessions/{id}")),
    }
}

/// The core sizes of the last days as a small curve, as high as the budget, or as the largest of them where that is over
/// it. The last size is that of now.
pub(crate) fn spark(sizes: &[(Timestamp, u64)], budget: u64, days: i64) -> Markup {
    let now = sizes.last().map_or(Timestamp::MIN, |(at, _)| *at);
    let point = |(at, size): &(Timestamp, u64)| {
        let day = (days - now.seconds_since(*at) / 86_400).clamp(0, days);
        CurvePoint::level(day.unsigned_abs(), *size)
    };
    let curve = Curve {
        points: sizes.iter().map(point).collect(),
        whole: days.unsigned_abs(),
        line: Some(budget),
        ..Curve::default()
    };
    // Without room below, half of the line's stroke would be cut off at the bottom edge too.
    let size = format!("0 0 {WIDTH} {}", HEIGHT + HEADROOM);
    html! {
        svg.spark viewBox=(size) preserveAspectRatio="none" aria-hidden="true" {
            polyline points=(curve.outline()) {}
        }
    }
}

impl MarkKind {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Done => "done",
            Self::Back => "back",
        }
    }
}

/// The sign of a line or a mark in a legend.
fn sign(class: &str) -> Markup {
    html! {
        svg.sign.(class) viewBox="0 0 16 16" aria-hidden="true" focusable="false" {
            @match class {
                "line" => path d="M0 8h16" {},
                "back" => path d="M8 2.5 13.5 8 8 13.5 2.5 8z" {},
                _ => circle cx="8" cy="8" r="4" {},
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use memoir_domain::{
        SessionId,
        session::{Driver, Mode, Stats, Trigger, Usage},
    };

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_microseconds(seconds * 1_000_000).unwrap()
    }

    fn session(ended_at: i64, state: State) -> SessionFacts {
        SessionFacts {
            id: SessionId::from_bytes([7; 16]),
            agent: "wren".to_owned(),
            state,
            mode: Mode::default(),
            driver: Driver::Model,
            trigger: Trigger::Weekly,
            rehearsal: false,
            model: None,
            pre_session_tokens: Some(1_412),
            post_session_tokens: Some(1_371),
            threshold: None,
            edits: 1,
            stats: Stats::default(),
            removed_tokens: 41,
            archived: 0,
            archived_under_summaries: 0,
            summaries: 0,
            loss_guard: None,
            refused_calls: 0,
            edits_holding: None,
            end_reason: None,
            failure: None,
            started_at: at(0),
            started_by: None,
            ended_at: Some(at(ended_at)),
            undone_at: None,
            usage: Usage::default(),
        }
    }

    fn history(sessions: Vec<SessionFacts>, returns: Vec<Return>) -> CoreSizeHistory {
        let point = |place: i64| CoreSizePoint {
            at: at(place * 10),
            core_tokens: 100,
            lowest_core_tokens: 60,
            highest_core_tokens: 130,
        };
        CoreSizeHistory {
            since: at(0),
            until: at(40),
            points: (0..5).map(point).collect(),
            sessions,
            returns,
        }
    }

    #[test]
    fn each_session_is_where_it_ended() {
        let declined = SessionFacts {
            pre_session_tokens: None,
            post_session_tokens: None,
            edits: 0,
            ..session(10, State::Declined)
        };
        let undone = SessionFacts {
            undone_at: Some(at(39)),
            ..session(11, State::Completed)
        };
        let rehearsal = SessionFacts {
            rehearsal: true,
            ..session(30, State::Completed)
        };
        let late = session(400, State::RolledBack);
        let returned = Return {
            at: at(39),
            action: Action::SessionUndone,
            session_id: Some(undone.id),
            tokens: 41,
        };
        let rolled_back = Return {
            action: Action::MemoryRefinementRollback,
            ..returned.clone()
        };
        let rewound = Return {
            action: Action::AgentRewound,
            session_id: None,
            tokens: -3,
            ..returned.clone()
        };
        let sessions = vec![declined, undone, rehearsal, late];
        let history = history(sessions, vec![returned, rolled_back, rewound]);
        let texts: Vec<_> = happenings(&history)
            .into_iter()
            .map(|(place, all)| {
                let texts: Vec<String> = all.into_iter().map(|one| one.text).collect();
                (place, texts.join("; "))
            })
            .collect();
        let path = "Session completed, 1,412 → 1,371 tokens, 1 edit, undone since";
        assert_eq!(
            texts,
            [
                (1, "Session declined".to_owned()),
                (2, path.to_owned()),
                (
                    4,
                    "Session rolled back, 1,412 → 1,371 tokens, 1 edit; Session undone, +41 tokens; \
                     Returned to a point in time, −3 tokens"
                        .to_owned()
                )
            ]
        );
        let curve = over_time(&history, 260);
        let marks = curve.marks.iter();
        let marks: Vec<_> = marks
            .map(|mark| (mark.place, mark.size, mark.kind))
            .collect();
        assert_eq!(
            marks,
            [
                (10, 100, MarkKind::Other),
                (20, 100, MarkKind::Back),
                (40, 100, MarkKind::Back),
            ]
        );
        assert_eq!(
            curve.marks[0].title,
            "1970-01-01 00:00, 100 tokens\nSession declined"
        );
        // The dips and peaks between the points are part of it, below the line of the budget.
        let drawn = curve.svg().into_string();
        let outline = "0,208 0,253 250,312 250,208 250,253 ";
        assert!(drawn.contains(outline), "{drawn}");
        assert!(drawn.contains(r#"d="M0 16h1000""#), "{drawn}");
    }

    #[test]
    fn a_small_curve_ends_now_and_is_as_high_as_the_budget() {
        let days = |days: i64| at(days * 86_400);
        let sizes = [(days(0), 50), (days(45), 100), (days(90), 25)];
        let drawn = spark(&sizes, 100, 90).into_string();
        assert!(
            drawn.contains(r#"points="0,208 500,16 1000,304""#),
            "{drawn}"
        );
        let over = spark(&[(days(-9), 200), (days(90), 0)], 100, 90).into_string();
        assert!(over.contains(r#"points="0,16 1000,400""#), "{over}");
    }

    #[test]
    fn many_at_one_place_are_one_mark() {
        let mut sessions: Vec<_> = (0..40).map(|_| session(5, State::Completed)).collect();
        sessions.push(session(5, State::Failed));
        let curve = over_time(&history(sessions, Vec::new()), 1);
        let line = "\nSession completed, 1,412 → 1,371 tokens, 1 edit";
        let first = "1970-01-01 00:00, 100 tokens".to_owned();
        let mark = Mark {
            place: 10,
            size: 100,
            kind: MarkKind::Done,
            title: first + &line.repeat(5) + "\nand 36 more",
        };
        assert_eq!(curve.marks, [mark]);
    }
}

//! Curves of the core size: the data that a script draws (`assets/plot.js`), prepared here so that it is tested here,
//! and the box for it. Numbers, dates and codes only (SPEC 5.1).

use std::{collections::BTreeMap, fmt::Write};

use maud::{Markup, html};
use memoir_app::{CoreSizeHistory, Return, SessionFacts};
use memoir_domain::{Timestamp, audit::Action, core_size::CoreSizePoint, session::State};
use serde::Serialize;

use crate::words;

/// The most sentences for one place of a curve; the page of figures has the rest.
const MOST_SENTENCES: usize = 3;

#[derive(Debug, Default, Serialize)]
pub(crate) struct PlotCurve {
    /// Seconds since 1970 for a curve over time, else records since the beginning.
    pub(crate) at: Vec<i64>,
    /// The core size at each, in tokens.
    #[serde(rename = "mass")]
    pub(crate) core_size: Vec<u64>,
    /// The smallest core size since the one before; empty where the curve omits nothing.
    pub(crate) low: Vec<u64>,
    /// The largest.
    pub(crate) high: Vec<u64>,
    /// The budget, or the smallest core size at which the breaker holds.
    pub(crate) line: Option<u64>,
    /// Events, by their places on the curve.
    pub(crate) marks: Vec<MarkOnCurve>,
}

/// The events at one place.
#[derive(Debug, Serialize)]
pub(crate) struct MarkOnCurve {
    pub(crate) place: usize,
    pub(crate) kind: MarkKind,
    /// Sentences without a full stop.
    pub(crate) stated: Vec<String>,
    /// The path of the last event's session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
}

/// The kind of a mark; of several at one place the last of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
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

pub(crate) fn over_time(history: &CoreSizeHistory, budget: u64) -> PlotCurve {
    let points = &history.points;
    let sizes = |of: fn(&CoreSizePoint) -> u64| points.iter().map(of).collect();
    let marks = happenings(history)
        .into_iter()
        .map(|(place, happened)| mark(place, happened));
    PlotCurve {
        at: points
            .iter()
            // `div_euclid` rounds down for times before 1970 too.
            .map(|point| point.at.microseconds().div_euclid(1_000_000))
            .collect(),
        core_size: sizes(|point| point.core_tokens),
        low: sizes(|point| point.lowest_core_tokens),
        high: sizes(|point| point.highest_core_tokens),
        line: Some(budget),
        marks: marks.collect(),
    }
}

fn mark(place: usize, happened: Vec<Happening>) -> MarkOnCurve {
    let kinds = happened.iter().map(|one| one.kind);
    // The default is never used: a mark has at least one happening.
    let kind = kinds.max().unwrap_or(MarkKind::Other);
    // A click can lead to one page only: that of the last event that has one.
    let path = happened.iter().rev().find_map(|one| one.path.clone());
    let count = happened.len();
    let mut sentences: Vec<String> = happened.into_iter().map(|one| one.text).collect();
    // One line less than the maximum, since the last one counts the rest.
    if count > MOST_SENTENCES {
        sentences.truncate(MOST_SENTENCES - 1);
        sentences.push(format!("And {} more", count - sentences.len()));
    }
    MarkOnCurve {
        place,
        kind,
        stated: sentences,
        path,
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
    /// In the curve's own units; its width is in days.
    const HEIGHT: u64 = 20;
    let most = sizes.iter().map(|(_, size)| *size).max().unwrap_or(0);
    let most = most.max(budget).max(1);
    let down = |size: u64| HEIGHT - size.saturating_mul(HEIGHT) / most;
    let now = sizes.last().map_or(Timestamp::MIN, |(at, _)| *at);
    let mut path = String::new();
    for (at, size) in sizes {
        let across = (days - now.seconds_since(*at) / 86_400).clamp(0, days);
        // Short, since a page has many of them: pairs after the first are lines too.
        let step = if path.is_empty() { 'M' } else { ' ' };
        let _ = write!(path, "{step}{across} {}", down(*size));
    }
    html! {
        svg.spark viewBox=(format!("0 -1 {days} {}", HEIGHT + 2)) preserveAspectRatio="none" aria-hidden="true" {
            path d=(path) {}
        }
    }
}

/// The box of a curve, hidden unless scripts run. `about` names the heading above it; the script loads the curve from
/// `source`, or draws `curve` immediately.
pub(crate) struct Figure<'a> {
    pub(crate) about: &'a str,
    /// The label of the horizontal line: `budget`.
    pub(crate) line: &'a str,
    pub(crate) source: Option<&'a str>,
    pub(crate) curve: Option<&'a PlotCurve>,
    /// Ranges to choose from: days, or `None` for all, with a text.
    pub(crate) ranges: &'a [(Option<u32>, &'a str)],
    pub(crate) legend: &'a [(MarkKind, &'a str)],
}

impl Figure<'_> {
    pub(crate) fn show(&self) -> Markup {
        let curve = self
            .curve
            // This cannot fail: the curve consists of numbers and texts.
            .and_then(|curve| serde_json::to_string(curve).ok());
        html! {
            figure.plot aria-labelledby=(self.about) data-line=(self.line) data-zone=(words::zone_name())
                data-source=[self.source] data-curve=[curve] {
                @if !self.ranges.is_empty() {
                    div.buttons role="group" aria-label="Range" {
                        @for (days, text) in self.ranges {
                            // The script sets `aria-pressed` on the button of the range that it draws.
                            button type="button" data-days=[days] aria-pressed="false" { (text) }
                        }
                    }
                }
                div.canvas {}
                p.stated-at {}
                figcaption {
                    ul.legend {
                        li { (sign("line")) (self.line) }
                        @for (kind, text) in self.legend { li { (sign(kind.class())) (text) } }
                    }
                }
            }
        }
    }
}

impl MarkKind {
    fn class(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Done => "done",
            Self::Back => "back",
        }
    }
}

/// A mark as the script draws it.
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
        let curve = over_time(
            &history(sessions, vec![returned, rolled_back, rewound]),
            5_000,
        );
        let marks: Vec<_> = curve
            .marks
            .iter()
            .map(|mark| (mark.place, mark.kind, mark.stated.join("; ")))
            .collect();
        let path = "Session completed, 1,412 → 1,371 tokens, 1 edit, undone since";
        assert_eq!(
            marks,
            [
                (1, MarkKind::Other, "Session declined".to_owned()),
                (2, MarkKind::Back, path.to_owned()),
                (
                    4,
                    MarkKind::Back,
                    "Session rolled back, 1,412 → 1,371 tokens, 1 edit; Session undone, +41 tokens; \
                     Returned to a point in time, −3 tokens"
                        .to_owned()
                )
            ]
        );
        assert_eq!(curve.at, [0, 10, 20, 30, 40]);
        let second = (curve.low[1], curve.high[1], curve.line);
        assert_eq!(second, (60, 130, Some(5_000)));
    }

    #[test]
    fn a_small_curve_ends_now_and_is_as_high_as_the_budget() {
        let days = |days: i64| at(days * 86_400);
        let sizes = [(days(0), 50), (days(45), 100), (days(90), 25)];
        let drawn = spark(&sizes, 100, 90).into_string();
        assert!(drawn.contains(r#"d="M0 10 45 0 90 15""#), "{drawn}");
        let over = spark(&[(days(-9), 200), (days(90), 0)], 100, 90).into_string();
        assert!(over.contains(r#"d="M0 0 90 20""#), "{over}");
    }

    #[test]
    fn many_at_one_place_are_one_mark() {
        let mut sessions: Vec<_> = (0..40).map(|_| session(5, State::Completed)).collect();
        sessions.push(session(5, State::Failed));
        let curve = over_time(&history(sessions, Vec::new()), 1);
        assert_eq!(curve.marks.len(), 1);
        let mark = &curve.marks[0];
        let shown = (mark.place, mark.kind, mark.stated.len());
        assert_eq!(shown, (1, MarkKind::Done, 3));
        assert_eq!(mark.stated[2], "And 39 more");
        assert!(mark.path.is_some());
    }
}

//! `/agents/{agent}/time`: any point of an agent's history, the effect of a rewind to it, and the rewind.

use axum::{http::StatusCode, response::Response};
use maud::{Markup, html};
use memoir_app::{AgentHandle, Error, LogHistory, LookBack, Point, RecordFacts, SessionSpan};
use memoir_domain::{audit::Action, memory::Tally, rewind::RewindForecast};
use serde::Deserialize;

use super::{Tab, agent_page, agent_path};
use crate::{
    answer::{PageFailure, PageResult, page_of, see_other},
    assets::PageScript,
    browser::{AgentInPath, Visitor},
    form::{self, PageQuery, SentForm},
    parts,
    plot::{Curve, CurvePoint},
    words,
};

/// Sessions in the list of points.
const LATEST: usize = 50;
/// Sessions that are marked on the curve.
const BANDS: usize = 200;

/// The requested point. A page without scripts sends all of its fields together.
#[derive(Default, Deserialize)]
pub(crate) struct TimeMachineQuery {
    /// The number in the field.
    record: Option<String>,
    slide: Option<String>,
    /// The value of both when the page was shown.
    shown: Option<String>,
    at: Option<String>,
    /// A session, for the point before it.
    before: Option<String>,
}

impl TimeMachineQuery {
    /// The requested point, except for a session's; `None` for the newest. Of the slider and the field, the changed one
    /// counts.
    fn point(&self) -> Result<Option<Point>, &'static str> {
        // The time comes first, since it is blank unless filled in, and the other two are always sent.
        if let Some(at) = &self.at {
            let at = words::read_time(at).ok_or("A time is to be given as 2026-05-01T12:00.")?;
            return Ok(Some(Point::Time(at)));
        }
        let fields = [&self.record, &self.slide];
        let moved = fields
            .into_iter()
            // Both are sent with each request, and only the changed one is meant.
            .find(|field| field.is_some() && **field != self.shown);
        let number = |text: &String| text.trim().parse().map(Point::Record);
        let chosen = moved.unwrap_or(&self.shown).as_ref();
        let wrong = |_| "A record is to be given by its number, from 0 on.";
        chosen.map(number).transpose().map_err(wrong)
    }
}

pub(crate) async fn show(
    visitor: Visitor,
    PageQuery(query): PageQuery<TimeMachineQuery>,
    agent: AgentInPath,
) -> PageResult {
    let wrong = |problem: &str| (None, Some(problem.to_owned()));
    let (point, mut problem) = match query.point() {
        Ok(None) => match &query.before {
            Some(session) => (Some(before(&agent, session).await?), None),
            None => (None, None),
        },
        Ok(point) => (point, None),
        Err(problem) => wrong(problem),
    };
    let view = agent.log().look_back(point).await?;
    if let Some(Point::Record(seq)) = point
        // Shown all the same, at the newest point, with why.
        && seq > view.history.newest_seq
    {
        problem = Some(format!(
            "There is no record {}: the newest is {}.",
            words::number(seq),
            words::number(view.history.newest_seq)
        ));
    }
    let shown = page(&visitor, &agent, &view, problem.as_deref());
    Ok(match problem {
        Some(_) => page_of(StatusCode::BAD_REQUEST, shown),
        None => shown,
    })
}

async fn before(agent: &AgentHandle, session: &str) -> Result<Point, PageFailure> {
    let view = agent.log().look_back(None).await?;
    let mut sessions = view.history.sessions.iter();
    // Identifiers are compared as texts, since the address may hold any text.
    let found = sessions.find(|span| span.session.id.to_string() == session);
    let missing = || {
        PageFailure::new(
            StatusCode::NOT_FOUND,
            "Nothing is on the record of that session.",
        )
    };
    let first = found.ok_or_else(missing)?.first_seq;
    Ok(Point::Record(first.saturating_sub(1)))
}

fn page(
    visitor: &Visitor,
    agent: &AgentHandle,
    view: &LookBack,
    problem: Option<&str>,
) -> Response {
    let path = format!("{}/time", agent_path(agent.scope().agent));
    let content = html! {
        @if let Some(problem) = problem { p.problem role="alert" { (problem) } }
        (slider(&path, view))
        p.hidden #stated role="status" {}
        section #moment aria-labelledby="point" data-text=(place(view)) data-stated=(summary(view)) {
            (moment(visitor, &path, view))
        }
        section aria-labelledby="sessions" {
            h2 #sessions { "Sessions" }
            (sessions(&path, agent, &view.history))
        }
    };
    agent_page(visitor, agent, Tab::Time, "Time machine of {}")
        .scripts(&[PageScript::Slider])
        .show(content)
}

fn place(view: &LookBack) -> String {
    match &view.record {
        None => "Before the first record".to_owned(),
        Some(record) => format!(
            "Record {} of {}, {}",
            words::number(view.seq),
            words::number(view.history.newest_seq),
            words::second(record.recorded_at)
        ),
    }
}

/// The text for screen readers when the slider moves.
fn summary(view: &LookBack) -> String {
    let changed = view.foresight.changes.changed;
    format!(
        "{}: {}, {}. Going back would change {}.",
        place(view),
        words::counted(view.then.core_count, "core memory", "core memories"),
        words::counted(view.then.core_tokens, "token", "tokens"),
        words::counted(changed, "memory", "memories"),
    )
}

fn slider(path: &str, view: &LookBack) -> Markup {
    let newest = view.history.newest_seq;
    html! {
        form.past #past method="get" action=(path) autocomplete="off" {
            (curve(view))
            label.hidden for="slide" { "Point in its history" }
            // A screen reader would otherwise read the slider's value as a bare number.
            input #slide name="slide" type="range" min="0" max=(newest) step="1" value=(view.seq)
                aria-valuetext=(place(view));
            p.ends { span { "Before the first record" } strong #place { (place(view)) } span { "Now" } }
            div.row {
                div.field {
                    label for="record" { "Record" }
                    input #record name="record" type="number" min="0" max=(newest) step="1" value=(view.seq);
                }
                div.field {
                    label for="at" { "Or a time (" (words::zone_name()) ")" }
                    input #at name="at" type="datetime-local";
                }
                input #shown name="shown" type="hidden" value=(view.seq);
                button.quiet type="submit" { "Look" }
            }
        }
    }
}

/// The core size after each record, above the slider's places, with the sessions behind it.
fn curve(view: &LookBack) -> Markup {
    let history = &view.history;
    let points = history.core_size.iter().map(|point| CurvePoint {
        place: point.seq,
        size: point.core_tokens,
        lowest: point.lowest_core_tokens,
        highest: point.highest_core_tokens,
    });
    let points: Vec<CurvePoint> = points.collect();
    let highest = points.iter().map(|point| point.highest).max();
    let bands = history
        .sessions
        .iter()
        // A rehearsal changes nothing, and is not on the curve.
        .filter(|span| !span.session.rehearsal)
        .take(BANDS)
        .map(|span| {
            let length = span.last_seq - span.first_seq + 1;
            (span.first_seq.saturating_sub(1), length)
        });
    let curve = Curve {
        points,
        whole: history.newest_seq,
        bands: bands.collect(),
        here: Some(view.seq),
        ..Curve::default()
    };
    html! {
        figure {
            figcaption.hint { "The core size after each record, "
                (words::counted(highest.unwrap_or(0), "token", "tokens")) " at its highest; darker where a session ran." }
            (curve.svg())
        }
    }
}

fn moment(visitor: &Visitor, path: &str, view: &LookBack) -> Markup {
    let is_newest = view.seq == view.history.newest_seq;
    html! {
        h2 #point {
            @if view.record.is_none() { "Before the first record" }
            @else if is_newest { "Now, after record " (words::number(view.seq)) }
            @else { "After record " (words::number(view.seq)) }
        }
        @if let Some(record) = &view.record { (origin(path, record)) }
        div.beside {
            section aria-labelledby="counted" {
                h3 #counted { "What is counted" }
                (counts(&view.then, &view.now))
            }
            section aria-labelledby="return" {
                h3 #return { "Going back to this point" }
                (going_back(visitor, path, view))
            }
        }
    }
}

fn origin(path: &str, record: &RecordFacts) -> Markup {
    html! {
        dl.facts {
            (parts::pair("When", parts::second(record.recorded_at)))
            (parts::pair("What", html! { (record.action.label())
                @if let Some(number) = record.memory { span.of { " · " } "#" (number.0) } }))
            (parts::pair("Who", html! { (parts::named(&record.actor.name)) span.of { " · " (record.actor.kind.as_str()) } }))
            (parts::pair("Session", html! {
                @match record.session_id {
                    Some(id) => a href={ "/sessions/" (id) } { "Show it" },
                    None => span.none { "none" },
                }
            }))
        }
        @if record.action == Action::AgentRewound {
            p { "This record is itself a return to an earlier point. "
                a href=(record_path(path, record.seq.saturating_sub(1))) {
                    "Going back to record " (words::number(record.seq.saturating_sub(1))) } " undoes it." }
        }
    }
}

fn counts(then: &Tally, now: &Tally) -> Markup {
    let rows = [
        ("Core size in tokens", then.core_tokens, now.core_tokens),
        ("Core memories", then.core_count, now.core_count),
        ("Archival memories", then.archival_count, now.archival_count),
        ("Summaries", then.summary_count, now.summary_count),
        ("Journal entries", then.journal_count, now.journal_count),
        (
            "Constitutional",
            then.constitutional_count,
            now.constitutional_count,
        ),
        ("Discarded", then.discarded_count, now.discarded_count),
    ];
    html! {
        table.plain {
            caption.hidden { "What was counted then, and what is counted now" }
            thead { tr {
                th scope="col" { "Counted" }
                th.figure scope="col" { "Then" }
                th.figure scope="col" { "Now" }
            } }
            tbody {
                @for (name, then, now) in rows {
                    tr {
                        th scope="row" { (name) }
                        td.figure { (words::number(then)) }
                        td.figure { (words::number(now)) }
                    }
                }
            }
        }
    }
}

fn going_back(visitor: &Visitor, path: &str, view: &LookBack) -> Markup {
    html! {
        @if view.foresight.is_nothing() {
            p { "Nothing would change." }
        } @else {
            (foreseen(&view.foresight))
            p.hint { "Newer memories are discarded, not lost; shredded ones stay shredded; flags and places in the archive \
                go back with the memories; settings and prompts stay as they are. Going back is on the record, and can be undone itself." }
            @if let Some(id) = view.running {
                p.problem { "A session is running, which conflicts with it: wait until it is over, or cancel "
                    a href={ "/sessions/" (id) } { "the session" } "." }
            } @else {
                form.row method="post" action=(path) {
                    (parts::form_token(visitor))
                    input type="hidden" name="point" value=(view.seq);
                    input type="hidden" name="newest" value=(view.history.newest_seq);
                    button.danger type="submit" {
                        @if view.record.is_none() { "Go back to before the first record" }
                        @else { "Go back to record " (words::number(view.seq)) }
                    }
                }
            }
        }
    }
}

fn foreseen(foresight: &RewindForecast) -> Markup {
    html! {
        dl.facts {
            (parts::become_different(&foresight.changes))
            @if foresight.sessions_undone > 0 {
                (parts::pair("Sessions undone", html! { (words::number(foresight.sessions_undone)) }))
            }
            @if foresight.sessions_reinstated > 0 {
                (parts::pair("Undone sessions effective again",
                    html! { (words::number(foresight.sessions_reinstated)) }))
            }
        }
    }
}

/// The latest sessions, as points to choose.
fn sessions(path: &str, agent: &AgentHandle, history: &LogHistory) -> Markup {
    let rest = history.sessions.len().saturating_sub(LATEST);
    let all = format!("{}/sessions", agent_path(agent.scope().agent));
    let names = ["Begun", "Outcome", "Records", "Look"];
    let rows =
        html! { @for span in history.sessions.iter().take(LATEST) { (session(path, span)) } };
    html! {
        @if history.sessions.is_empty() {
            p.empty { "No session is on the record yet." }
        } @else {
            (parts::table("Sessions on the record, the newest first", &names, &[2], rows))
        }
        @if rest > 0 {
            p.count { (words::counted(rest as u64, "older session", "older sessions")) ": "
                a href=(all) { "show all sessions" } }
        }
    }
}

fn session(path: &str, span: &SessionSpan) -> Markup {
    let session = &span.session;
    let begun = words::minute(session.started_at);
    html! {
        tr role="row" {
            th role="rowheader" scope="row" data-label="Begun" {
                a href={ "/sessions/" (session.id) } { (parts::time(session.started_at)) }
            }
            td role="cell" data-label="Outcome" {
                span { (parts::state(session)) }
            }
            td.figure role="cell" data-label="Records" {
                (words::number(span.first_seq))
                @if span.last_seq > span.first_seq { "–" (words::number(span.last_seq)) }
            }
            td role="cell" data-label="Look" {
                span.stated-by {
                    a href=(record_path(path, span.first_seq.saturating_sub(1)))
                        aria-label={ "Before it, the session of " (begun) } { "Before it" }
                    a href=(record_path(path, span.last_seq))
                        aria-label={ "After it, the session of " (begun) } { "After it" }
                }
            }
        }
    }
}

fn record_path(path: &str, seq: u64) -> String {
    form::address(path, &[("record", &seq.to_string())])
}

pub(crate) async fn go_back(visitor: Visitor, form: SentForm, agent: AgentInPath) -> PageResult {
    let (point, newest): (u64, u64) = form
        .number("point")
        .zip(form.number("newest"))
        .ok_or_else(|| PageFailure::invalid("The form does not say which point to go back to."))?;
    let actor = visitor.actor();
    let problem = match agent
        // The preview is binding: a record that was written since refuses it.
        .as_seen(newest)
        .log()
        .rewind(Point::Record(point), &actor)
        .await
    {
        Ok(rewound) => match rewound.seq {
            Some(seq) => {
                let path = format!("{}/time", agent_path(agent.scope().agent));
                let record = seq.to_string();
                let done = [("record", record.as_str()), ("done", "rewound")];
                return Ok(see_other(&form::address(&path, &done)));
            }
            None => "Nothing was done: nothing would change.",
        },
        Err(Error::Changed) => {
            "Nothing was changed: the agent changed since this page was shown. This is what going back would do now."
        }
        // The page shows the conflict.
        Err(Error::Change(_)) => "Nothing was done.",
        Err(error) => return Err(error.into()),
    };
    let view = agent.log().look_back(Some(Point::Record(point))).await?;
    let shown = page(&visitor, &agent, &view, Some(problem));
    Ok(page_of(StatusCode::CONFLICT, shown))
}

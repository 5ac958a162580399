//! On the page of a rehearsal: the effect of applying it, memory by memory and without text, and applying it.

use axum::{extract::Path, http::StatusCode};
use maud::{Markup, html};
use memoir_app::{
    AgentHandle, Error, SessionFacts,
    sessions::{
        AppliedCoreSize, NotApplied, NotAppliedReason, RehearsalFacts, RehearsedChangeFacts,
    },
};
use memoir_domain::{
    SessionId,
    memory::{Kind, Number},
};

use super::{Tab, agent_page};
use crate::{
    answer::{PageFailure, PageResult, page_of, see_other},
    browser::Visitor,
    field::with_code,
    form::SentForm,
    parts, words,
};

/// The effect of applying a rehearsal, as a part of its page; empty for any other session, while it runs, and without a
/// result.
pub(super) async fn section(
    visitor: &Visitor,
    agent: &AgentHandle,
    session: &SessionFacts,
) -> Result<Markup, PageFailure> {
    if !session.rehearsal || session.state.is_running() {
        return Ok(html! {});
    }
    let (sessions, actor) = (agent.sessions(), visitor.actor());
    let rehearsal = sessions.rehearsal_facts(session.id, &actor).await?;
    let rehearsal = rehearsal.filter(|rehearsal| {
        // One that was declined has nothing to apply.
        !rehearsal.changes.is_empty() || rehearsal.outcome.is_ok() || rehearsal.applied_by.is_some()
    });
    Ok(html! {
        @if let Some(rehearsal) = rehearsal { (shown(visitor, session.id, &rehearsal)) }
    })
}

fn shown(visitor: &Visitor, id: SessionId, rehearsal: &RehearsalFacts) -> Markup {
    html! {
        section aria-labelledby="applying" {
            h2 #applying { "What applying it would do" }
            @if rehearsal.changes.is_empty() { p { "No memory would change." } }
            @else { (table(&rehearsal.changes)) }
            @if rehearsal.applied_by.is_none() { (holding(rehearsal)) }
            @match (&rehearsal.outcome, rehearsal.applied_by) {
                // This case comes first, since an applied rehearsal cannot be applied again, whatever the outcome says.
                (_, Some(applied)) => p { "It was applied as "
                    a href={ "/sessions/" (applied) } { "another session" } "." },
                (Ok(size), None) => (apply_form(visitor, id, rehearsal.newest_seq, *size)),
                (Err(error), None) => p.problem { (with_code(&words::message(error))) },
            }
        }
    }
}

/// How many of its edits apply now, and which do not.
fn holding(rehearsal: &RehearsalFacts) -> Markup {
    // Where it cannot be applied at all, the reason is shown instead.
    if rehearsal.edits == 0 || rehearsal.outcome.is_err() {
        return html! {};
    }
    html! {
        p { (words::number(rehearsal.edits_holding())) " of "
            (words::counted(rehearsal.edits, "edit", "edits")) " can still be applied." }
        @if !rehearsal.not_applied.is_empty() {
            p { "These cannot be applied and would be left out:" }
            ul { @for edit in &rehearsal.not_applied { li { (not_holding(edit)) } } }
        }
    }
}

fn not_holding(edit: &NotApplied) -> Markup {
    let why = match edit.code {
        NotAppliedReason::Refused(code) => code.label(),
        NotAppliedReason::Breaker => "the breaker would undo the session",
        NotAppliedReason::Depends => "it names a memory that would not be made",
    };
    html! {
        (words::capital(edit.tool.label())) " " (numbers(&edit.numbers)) ": " (why) " (" code { (edit.code) } ")"
    }
}

fn table(changes: &[RehearsedChangeFacts]) -> Markup {
    let names = ["Memory", "What", "Tokens", "Flags", "Since then"];
    let rows = html! { @for change in changes { (row(change)) } };
    parts::table(
        "Memories that would change, without their text",
        &names,
        &[2],
        rows,
    )
}

fn row(change: &RehearsedChangeFacts) -> Markup {
    let after = &change.after;
    let stays = after.discarded_at.is_none() && after.kind == Kind::Core;
    html! {
        tr role="row" {
            th role="rowheader" scope="row" data-label="Memory" {
                @if change.before.is_some() { "#" (after.number.0) } @else { span.of { "new" } }
            }
            td role="cell" data-label="What" { span { (what(change)) } }
            td.figure role="cell" data-label="Tokens" { span {
                @match &change.before {
                    Some(before) => (words::number(before.tokens)),
                    None => span.none { "–" },
                }
                " → "
                @if stays { (words::number(after.tokens)) } @else { span.none { "–" } }
            } }
            td role="cell" data-label="Flags" {
                @if after.constitutional { span.badge.good { "constitutional" } }
                @else { span.none { "none" } }
            }
            td role="cell" data-label="Since then" {
                @if change.changed_since { span.badge.bad { "changed" } }
                @else if change.before.is_some() { "unchanged" }
                @else { span.none { "–" } }
            }
        }
    }
}

fn what(change: &RehearsedChangeFacts) -> Markup {
    let after = &change.after;
    let before = change.before.as_ref();
    let was_core = before.is_none_or(|before| before.kind == Kind::Core);
    let was_constitutional = before.map(|before| before.constitutional);
    let is_protected = was_constitutional == Some(false) && after.constitutional;
    html! {
        @match (&change.before, change.under) {
            (None, _) if after.is_summary => { "summary of " (numbers(&change.made_of)) },
            (None, _) => { "made of " (numbers(&change.made_of)) },
            _ if after.discarded_at.is_some() => "discarded",
            (_, Some(under)) if after.kind == Kind::Archival && was_core => {
                "to the archive, under " (under)
            },
            _ if after.kind == Kind::Archival && was_core => "to the archive, under none",
            (_, Some(under)) if after.kind == Kind::Archival => { "in the archive, now under " (under) },
            _ if change.is_reworded && is_protected => "same text in another form, and protected",
            _ if change.is_reworded => "rewritten",
            _ if is_protected => "protected",
            // The remaining memory takes over the tags of the others.
            _ => "same text, with other tags or another origin date",
        }
    }
}

fn numbers(numbers: &[Number]) -> String {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    match numbers.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => numbers.concat(),
    }
}

fn apply_form(visitor: &Visitor, id: SessionId, newest_seq: u64, size: AppliedCoreSize) -> Markup {
    html! {
        p { "The core size would go from " (words::number(size.core_tokens_before)) " to "
            (words::number(size.core_tokens_after)) " tokens." }
        form.row method="post" action={ "/sessions/" (id) "/apply" } {
            (parts::form_token(visitor))
            // The sequence number lets the application refuse to apply something else than this page shows.
            input type="hidden" name="newest" value=(newest_seq);
            button.main type="submit" aria-label="Apply the rehearsal" { "Apply" }
        }
    }
}

pub(crate) async fn apply(
    visitor: Visitor,
    form: SentForm,
    Path(session): Path<String>,
) -> PageResult {
    let (agent, id) = visitor.account.session_agent(&session).await?;
    let newest = form.newest()?;
    let actor = visitor.actor();
    let seen = agent.as_seen(newest);
    let applied = seen.sessions().apply_rehearsal(id, &actor).await;
    if let Err(Error::Changed) = applied {
        return stale(&visitor, &agent, id).await;
    }
    Ok(see_other(&format!(
        "/sessions/{}?done=applied",
        applied?.session.id
    )))
}

/// The present effect, where records were written since the page was shown.
async fn stale(visitor: &Visitor, agent: &AgentHandle, id: SessionId) -> PageResult {
    let session = agent.views().session(id).await?;
    let content = html! {
        p.problem role="alert" { "Nothing was changed: the agent changed since this page was shown. This is what \
            applying the rehearsal would do now." }
        (section(visitor, agent, &session).await?)
        p { a href={ "/sessions/" (id) } { "Back to the rehearsal" } }
    };
    let shown = agent_page(visitor, agent, Tab::Sessions, "Apply a rehearsal of {}").show(content);
    Ok(page_of(StatusCode::CONFLICT, shown))
}

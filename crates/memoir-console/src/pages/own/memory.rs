//! `/memory/{agent}/{number}`: one memory with its text, what the owner can do with it, and its history.

use axum::{extract::Path, http::StatusCode, response::Response};
use maud::{Markup, html};
use memoir_app::{Handling, OwnAgent, ShownMemory, ShredWish};
use memoir_domain::{
    PrivateText,
    memory::{Kind, Number},
};

use super::{
    super::{
        memories::{handling, number_of, offered},
        reading::memory_words,
    },
    OwnTab, agent_page, agent_path, history,
};
use crate::{
    answer::{PageFailure, PageResult, page_of, see_other},
    browser::{OwnAgentInPath, Owner},
    field::LabelledField,
    form::SentForm,
    parts, words,
};

const CONTENT: (&str, &str) = ("content", "Its text");
const TYPED: (&str, &str) = ("typed", "The memory’s number");
const REASON: (&str, &str) = ("reason", "Why, for the record");

pub(crate) async fn show(
    owner: Owner,
    Path((_, number)): Path<(String, String)>,
    agent: OwnAgentInPath,
) -> PageResult {
    let memory = agent.lens().memory(number_of(&number)?).await?;
    let form = SentForm::filled(&[(CONTENT.0, memory.content())]);
    page(&owner, &agent, &memory, &form).await
}

async fn page(
    owner: &Owner,
    agent: &OwnAgent,
    memory: &ShownMemory,
    form: &SentForm,
) -> PageResult {
    let path = agent_path(agent.scope().agent);
    let number = memory.number;
    let past = agent.history(Some(number)).await?;
    let content = html! {
        (form.faults.summary())
        article.memory aria-labelledby={ "memory-" (number.0) } { (memory_words(memory, "h2", Some(&path))) }
        (acts(owner, memory, &path))
        @if is_editable(memory) || !form.faults.is_empty() { (edit_form(owner, memory, &path, form)) }
        section aria-labelledby="history" {
            h2 #history { "History" }
            (history::tree(&past, number, &path))
        }
    };
    let title = format!("Memory {number} of {{}}");
    Ok(agent_page(agent, OwnTab::Memories, &title).show(content))
}

fn acts(owner: &Owner, memory: &ShownMemory, path: &str) -> Markup {
    let number = memory.number;
    html! {
        div.buttons {
            @for (word, text) in offered(memory) {
                (parts::button(owner, &format!("{path}/{}/{word}", number.0), text,
                    &format!("{text} memory {number}"), ""))
            }
            @if memory.shredded_at.is_none() {
                a.button href={ (path) "/" (number.0) "/shred" } { "Shred…" }
            }
        }
    }
}

/// Whether the owner can edit it (SPEC 3.12).
fn is_editable(memory: &ShownMemory) -> bool {
    memory.kind == Kind::Core
        && !memory.constitutional
        && memory.discarded_at.is_none()
        && memory.shredded_at.is_none()
}

fn edit_form(owner: &Owner, memory: &ShownMemory, path: &str, form: &SentForm) -> Markup {
    html! {
        details open[!form.faults.is_empty()] {
            summary { "Edit" }
            form.stack method="post" action={ (path) "/" (memory.number.0) "/edit" } {
                (parts::form_token(owner))
                // What was shown: an edit must not overwrite a text that became another since.
                input type="hidden" name="seen" value=(memory.content());
                (LabelledField::new(CONTENT.0, CONTENT.1).faults(&form.faults)
                    .hint(html! { "The new text gets a number of its own, and this one moves to the archive under it. \
                        The agent is notified in one line." })
                    .area(form.field(CONTENT.0), 6))
                div.buttons { button.main type="submit" { "Save" } }
            }
        }
    }
}

pub(crate) async fn edit(
    owner: Owner,
    mut form: SentForm,
    Path((_, number)): Path<(String, String)>,
    agent: OwnAgentInPath,
) -> PageResult {
    let number = number_of(&number)?;
    let memory = agent.lens().memory(number).await?;
    let path = agent_path(agent.scope().agent);
    // A form has one form of line break.
    let seen = match memory.content().replace("\r\n", "\n") == form.field("seen") {
        true => memory.content(),
        false => form.field("seen"),
    };
    let (seen, text) = (
        PrivateText::from(seen),
        PrivateText::from(form.field(CONTENT.0)),
    );
    let actor = owner.actor();
    let edited = agent.memories().edit(number, &seen, &text, &actor);
    let status = match edited.await {
        Ok(Some(new)) => return Ok(see_other(&done(&path, new.number, "edited"))),
        Ok(None) => return Ok(see_other(&done(&path, number, "unchanged"))),
        Err(error) => form.faults.add_error(CONTENT, "Not saved", error)?,
    };
    let shown = page(&owner, &agent, &memory, &form).await?;
    Ok(page_of(status, shown))
}

/// The page of a memory, with a word for what was just done.
fn done(path: &str, number: Number, word: &str) -> String {
    format!("{path}/{}?done={word}", number.0)
}

pub(crate) async fn handle(
    owner: Owner,
    form: SentForm,
    Path((_, number, word)): Path<(String, String, String)>,
    agent: OwnAgentInPath,
) -> PageResult {
    let (number, handling) = (number_of(&number)?, handling(&word)?);
    let actor = owner.actor();
    let handled = agent.memories().handle(number, handling, &actor);
    handled.await?;
    let path = agent_path(agent.scope().agent);
    Ok(see_other(&match form.field("back") {
        "week" => format!("{path}/week?done={word}"),
        _ => done(&path, number, &word),
    }))
}

/// Undoes an edit by the owner: the new text is discarded, and the one before is back in the prompt.
pub(crate) async fn undo_edit(
    owner: Owner,
    form: SentForm,
    Path((_, number)): Path<(String, String)>,
    agent: OwnAgentInPath,
) -> PageResult {
    let new = number_of(&number)?;
    let before = number_of(form.field("edited"))?;
    let memory = agent.views().memory(before).await?;
    if memory.under != Some(new) || memory.kind != Kind::Archival {
        let message =
            format!("{before} is not in the archive under {new} any more. Nothing was changed.");
        return Err(PageFailure::new(StatusCode::CONFLICT, message));
    }
    let actor = owner.actor();
    // In this order: if the second step fails, both texts can still be brought back, and none is twice in the prompt.
    let discarded = agent.memories().handle(new, Handling::Discard, &actor);
    discarded.await?;
    let promoted = agent.memories().handle(before, Handling::Promote, &actor);
    promoted.await?;
    let path = agent_path(agent.scope().agent);
    Ok(see_other(&format!("{path}/week?done=unedited")))
}

pub(crate) async fn shredding(
    owner: Owner,
    Path((_, number)): Path<(String, String)>,
    agent: OwnAgentInPath,
) -> PageResult {
    let memory = agent.lens().memory(number_of(&number)?).await?;
    Ok(shred_page(&owner, &agent, &memory, &SentForm::default()))
}

fn shred_page(owner: &Owner, agent: &OwnAgent, memory: &ShownMemory, form: &SentForm) -> Response {
    let faults = &form.faults;
    let path = agent_path(agent.scope().agent);
    let number = memory.number;
    let own = format!("{path}/{}", number.0);
    let content = html! {
        (faults.summary())
        h2 { "Shred memory " (number) }
        @if memory.shredded_at.is_some() {
            p { "It is shredded already." }
            p { a href=(path) { "Back to the memories" } }
        } @else {
            p { "Its text is removed permanently from everywhere: the memory, its history, the records, the rehearsals. \
                It cannot be undone. Earlier copies of the database still contain the text, sealed." }
            form.stack method="post" action={ (own) "/shred" } {
                (parts::form_token(owner))
                (LabelledField::new(REASON.0, REASON.1).faults(faults)
                    .hint(html! { "Not the text itself: this stays. Blank is allowed." }).text(form.field(REASON.0)))
                (LabelledField::new("derived", "Its copies, and the summaries and session reports that rest on it, too")
                    .tick(form.is_ticked("derived")))
                (LabelledField::new(TYPED.0, TYPED.1).faults(faults)
                    .hint(html! { "Type " code { (number.0) } " to confirm." }).number("", "numeric"))
                div.row {
                    button.danger type="submit" { "Shred it" }
                    a href=(own) { "Leave it as it is" }
                }
            }
        }
    };
    let title = format!("Shred memory {number} of {{}}");
    agent_page(agent, OwnTab::Memories, &title).show(content)
}

pub(crate) async fn shred(
    owner: Owner,
    mut form: SentForm,
    Path((_, number)): Path<(String, String)>,
    agent: OwnAgentInPath,
) -> PageResult {
    let number = number_of(&number)?;
    let typed = form.field(TYPED.0).trim().trim_start_matches('#');
    let reason = match form.field(REASON.0).trim() {
        "" => "asked for on the personal page",
        reason => reason,
    };
    let wish = ShredWish {
        number,
        reason,
        derived: form.is_ticked("derived"),
    };
    let outcome = if typed == number.0.to_string() {
        match agent.memories().shred(wish, &owner.actor()).await {
            Ok(shredded) => Ok(shredded),
            Err(error) => Err(form.faults.add_error(REASON, "Not shredded", error)?),
        }
    } else {
        let problem = format!("Type {} to confirm", number.0);
        form.faults.add(TYPED.0, TYPED.1, &problem);
        Err(StatusCode::BAD_REQUEST)
    };
    let shredded = match outcome {
        Ok(shredded) => shredded,
        Err(status) => {
            let memory = agent.lens().memory(number).await?;
            let shown = shred_page(&owner, &agent, &memory, &form);
            return Ok(page_of(status, shown));
        }
    };
    let path = agent_path(agent.scope().agent);
    // Named once, since nothing stores which summaries rested on it.
    if shredded.summaries.is_empty() && shredded.transcript.is_none() {
        return Ok(see_other(&done(&path, number, "shredded")));
    }
    let content = html! {
        h2 { "Memory " (number) " is shredded" }
        p.notice role="status" { "Its text is removed, also from "
            (words::counted(shredded.redacted_records, "record", "records")) "." }
        @if !shredded.summaries.is_empty() {
            p { "These summaries and copies of it still have their text. Shred them too where they contain it: "
                (super::super::reading::numbers(&shredded.summaries, Some(&path))) "." }
        }
        @if let Some(stored) = &shredded.transcript {
            p { (words::counted(stored.waiting + stored.absorbed, "message", "messages"))
                " of conversations may contain it and are stored sealed"
                @if let Some(until) = stored.absorbed_until { ", those that were read until " (parts::time(until)) }
                "." }
        }
        p { a href=(path) { "Back to the memories" } }
    };
    Ok(agent_page(&agent, OwnTab::Memories, "Shredded").show(content))
}

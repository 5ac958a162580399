//! `/agents/new`: creating an agent.

use axum::{extract::State, http::StatusCode, response::Response};
use maud::{Markup, html};
use memoir_domain::{agent::Field, manage};

use super::{
    agent_path,
    settings::fields::{self, Around},
};
use crate::{
    Console,
    answer::{PageResult, page_of, see_other},
    browser::Visitor,
    form::SentForm,
    parts::{self, ConsoleSection, FramedPage},
};

/// The settings for most agents.
const FIRST: [Field; 4] = [
    Field::Name,
    Field::Model,
    Field::SystemPrompt,
    Field::CoreTokenBudget,
];
/// Less common settings.
// Only `active` is missing from both lists: an agent that is created out of service could do nothing.
const MORE: [Field; 16] = [
    Field::RefinementTriggerTokens,
    Field::RefinementThreshold,
    Field::LossGuard,
    Field::RefinementSchedule,
    Field::RefinementMode,
    Field::ContextJournalTokens,
    Field::ContextCoreTokens,
    Field::ReasoningEffort,
    Field::AnswerTokens,
    Field::DuplicateMatch,
    Field::NearDuplicates,
    Field::ImmutableTags,
    Field::Paused,
    Field::ReflectionPrompt,
    Field::MemoryReflectionPrompt,
    Field::RefinementPrompt,
];

pub(crate) async fn show(State(console): State<Console>, visitor: Visitor) -> PageResult {
    Ok(page(&console, &visitor, &SentForm::default()))
}

pub(crate) async fn create(
    State(console): State<Console>,
    visitor: Visitor,
    mut form: SentForm,
) -> PageResult {
    let given: Vec<(Field, Option<String>)> = FIRST
        .into_iter()
        .chain(MORE)
        .map(|field| (field, fields::typed(&form, field)))
        .collect();
    fields::check(&given, &mut form.faults);
    if form.faults.is_empty() {
        let name = form.field(Field::Name.as_str());
        let all = manage::borrowed(&given).into_iter();
        let settings: Vec<_> = all.filter(|(field, _)| *field != Field::Name).collect();
        let actor = visitor.actor();
        match visitor.account.create_agent(name, &settings, &actor).await {
            Ok(agent) => {
                return Ok(see_other(&(agent_path(agent.id) + "?done=created")));
            }
            Err(error) => fields::refused(error, &mut form.faults)?,
        }
    }
    let shown = page(&console, &visitor, &form);
    Ok(page_of(StatusCode::CONFLICT, shown))
}

fn page(console: &Console, visitor: &Visitor, form: &SentForm) -> Response {
    let around = Around {
        memoir: console.memoir(),
        faults: &form.faults,
        facts: None,
    };
    // The details are open where one of their fields was filled in, since its value and faults must be visible.
    let is_any_more = MORE
        .into_iter()
        .any(|field| !form.field(field.as_str()).trim().is_empty());
    let content = html! {
        p.crumb { a href="/" { "Fleet" } }
        h1 { "New agent" }
        (form.faults.summary())
        p { "An agent owns a memory that only it can read; you cannot. All of this can \
             be changed later." }
        form.settings method="post" action="/agents/new" {
            (parts::form_token(visitor))
            (fields::models(console.memoir()))
            div.fields { @for field in FIRST { (one(&around, field, form)) } }
            details open[is_any_more] {
                summary { "More settings" }
                div.fields { @for field in MORE { (one(&around, field, form)) } }
            }
            div.buttons {
                button.main type="submit" { "Make the agent" }
                a.button href="/" { "Back to the fleet" }
            }
        }
    };
    let title = form.faults.title("Not made: ", "New agent");
    FramedPage::new(visitor, &title, ConsoleSection::Fleet).show(content)
}

fn one(around: &Around<'_>, field: Field, form: &SentForm) -> Markup {
    let typed = form.field(field.as_str());
    match field.is_text() {
        true => fields::prompt(around, field, typed),
        false => fields::plain(around, field, typed, None),
    }
}

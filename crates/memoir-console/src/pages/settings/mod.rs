//! `/agents/{agent}/settings`: an agent's settings, and changing them. Its tokens and its erasure are linked here.
//!
//! A form sends every field with its shown value. An unchanged field is ignored. For a changed one, the administrator
//! is first informed of a change by another actor in between. No prompt is shown, except the administrator's own input.
//!
//! The log decides that: the `agent_configured` records after the last one that was shown. That includes prompts, of
//! which a page shows the length.

pub(super) mod fields;

use axum::{extract::State, http::StatusCode};
use maud::{Markup, html};
use memoir_app::{AgentFacts, AgentHandle, Error, Memoir, RecordFacts, RecordFilter};
use memoir_domain::{
    agent::Field,
    audit::{Action, Actor, ActorKind},
    authoring, manage,
};
use serde_json::Value;

use self::fields::{Around, PROMPTS, label, reset, shown, written};
use super::{Tab, agent_page, agent_path, tokens};
use crate::{
    Console,
    answer::{PageFailure, PageResult, page_of, see_other},
    browser::{AgentInPath, Visitor},
    field::Faults,
    form::{self, SentForm},
    parts, words,
};

/// The latest changes that are read, to name each setting's actor. Each may hold two prompts of the greatest length.
const LATEST: u32 = 20;
/// Those of them that are listed.
const LISTED: usize = 10;
/// The field with the place of the last change that was shown.
const SEEN: &str = "seen";

/// An agent's settings with the actors that set them.
struct SettingsView {
    view: AgentFacts,
    /// The latest changes, newest first, without their text.
    changes: Vec<RecordFacts>,
}

impl SettingsView {
    /// Reads the changes first: one in between is then among the settings, and reported once more.
    async fn of(agent: &AgentHandle) -> Result<Self, Error> {
        let search = RecordFilter::of_actions([Action::AgentConfigured]);
        let changes = agent.views().search_records(&search, None, LATEST);
        let changes = changes.await?;
        let view = agent.views().show().await?;
        Ok(Self { view, changes })
    }

    /// The place of the last change in the agent's log.
    fn last(&self) -> u64 {
        self.changes.first().map_or(0, |change| change.seq)
    }

    /// Whether there were more changes after that place in the log than are read.
    fn is_cut_after(&self, seen: u64) -> bool {
        // A list that is shorter than the limit holds all changes.
        let is_full = self.changes.len() == LATEST as usize;
        is_full && self.changes.last().is_some_and(|oldest| oldest.seq > seen)
    }

    /// The last change of a setting among the latest ones.
    fn last_of(&self, field: Field) -> Option<&RecordFacts> {
        let touches = |change: &&RecordFacts| {
            let mut fields = change.counts.codes_of("fields");
            fields.any(|name| name == field.as_str())
        };
        self.changes.iter().find(touches)
    }
}

fn who(actor: &Actor) -> &str {
    match actor.kind {
        ActorKind::Agent => "the agent itself",
        ActorKind::System => "Memoir",
        ActorKind::Owner => "the owner of this machine",
        // Tokens have no names. The record has the identifier.
        ActorKind::Administrator if actor.name.starts_with("token ") => "an administrator’s token",
        ActorKind::Administrator => &actor.name,
    }
}

pub(crate) async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    agent: AgentInPath,
) -> PageResult {
    let draft = SettingsForm::default();
    let settings_view = SettingsView::of(&agent).await?;
    page(&console, &visitor, &agent, &settings_view, &draft).await
}

/// The input of the form, and its faults.
#[derive(Clone, Default)]
struct SettingsForm(SentForm);

impl SettingsForm {
    /// The new value of a setting that is no prompt, as typed.
    fn plain(&self, field: Field) -> Option<&str> {
        let typed = self.0.field(field.as_str());
        // Compared with the shown value, not the present one: a form must not undo another actor's change of an
        // untouched field.
        let is_touched = typed.trim() != self.0.field(&shown(field)).trim();
        (is_touched && !field.is_text()).then_some(typed)
    }

    /// A new prompt as typed, blank where there is none, and whether the prompt is to be cleared.
    fn prompt(&self, field: Field) -> (&str, bool) {
        let is_reset = self.0.is_ticked(&reset(field));
        (self.0.field(field.as_str()), is_reset)
    }

    /// The changed settings, and their new values.
    fn assignments(&self) -> Vec<(Field, Option<String>)> {
        let plain = plain_fields()
            .filter(|field| self.plain(*field).is_some())
            .map(|field| (field, fields::typed(&self.0, field)));
        let prompts = PROMPTS.into_iter().filter_map(|field| {
            let (typed, is_reset) = self.prompt(field);
            let is_touched = is_reset || !typed.trim().is_empty();
            is_touched.then(|| (field, (!is_reset).then(|| typed.to_owned())))
        });
        plain.chain(prompts).collect()
    }

    /// Adds the faults of the values, and conflicts with changes by other actors.
    fn check(
        &mut self,
        assignments: &[(Field, Option<String>)],
        settings_view: &SettingsView,
        seen: u64,
    ) {
        // It runs once for each attempt, and earlier conflicts may be gone.
        self.0.faults = Faults::default();
        for field in PROMPTS {
            let (typed, is_reset) = self.prompt(field);
            if is_reset && !typed.trim().is_empty() {
                let problem = "is to be either new or removed, not both";
                self.0.faults.add(field.as_str(), label(field), problem);
            }
        }
        fields::check(assignments, &mut self.0.faults);
        for (field, _) in assignments {
            if let Some(problem) = self.meanwhile(*field, settings_view, seen) {
                self.0.faults.add(field.as_str(), label(*field), &problem);
            }
        }
    }

    /// The actor that changed a setting since the form was shown, unless to the new value.
    fn meanwhile(&self, field: Field, settings_view: &SettingsView, seen: u64) -> Option<String> {
        let typed = self.plain(field);
        // The present value equals the new one: no conflict.
        if typed.is_some_and(|typed| typed.trim() == written(&settings_view.view, field)) {
            return None;
        }
        let now = value(&settings_view.view, field).filter(|_| typed.is_some());
        let is = now.map_or_else(String::new, |now| {
            format!(" to “{}”", setting_value(field.as_str(), &now))
        });
        let (changed, by) = match settings_view.last_of(field) {
            Some(change) if change.seq > seen => {
                let (who, at) = (who(&change.actor), words::second(change.recorded_at));
                ("Changed", format!("{who} at {at}"))
            }
            // The changes that were cut off may include one of this setting.
            None if settings_view.is_cut_after(seen) => {
                ("Perhaps changed", "another administrator".to_owned())
            }
            _ => return None,
        };
        Some(format!(
            "{changed}{is} by {by}, after this page was shown to you. Save again to change it all the same."
        ))
    }
}

pub(crate) async fn change(
    State(console): State<Console>,
    visitor: Visitor,
    form: SentForm,
    agent: AgentInPath,
) -> PageResult {
    let draft = SettingsForm(form);
    let assignments = draft.assignments();
    // Without the field everything counts as changed since, so that the page is shown once more.
    let seen = draft.0.field(SEEN).parse().unwrap_or(0);
    let path = agent_path(agent.scope().agent);
    if assignments.is_empty() {
        return Ok(see_other(&format!("{path}/settings?done=unchanged")));
    }
    let (settings, actor) = (manage::borrowed(&assignments), visitor.actor());
    // The comparison of the form with the settings is in the transaction. The closure borrows all of it, since it may
    // run several times.
    let (sent, assigned, settings, actor) = (&draft, &assignments, &settings, &actor);
    let attempt = |agent: AgentHandle| async move {
        let settings_view = SettingsView::of(&agent).await?;
        let mut draft = sent.clone();
        draft.check(assigned, &settings_view, seen);
        // This is an answer and not an error, since another attempt would not mend a fault in the form.
        if !draft.0.faults.is_empty() {
            return Ok(Err((settings_view, draft)));
        }
        match agent.settings().configure(settings, actor).await {
            Err(error) => fields::refused(error, &mut draft.0.faults)?,
            Ok(configured) => return Ok(Ok(configured)),
        }
        Ok::<_, Error>(Err((settings_view, draft)))
    };
    match agent.log().at_newest(attempt).await? {
        Ok(view) => {
            // The address carries only a keyword, since the warnings may quote the prompts.
            let done = match view.words.warnings.is_empty() {
                true => "configured",
                false => "configured_with_placeholders",
            };
            Ok(see_other(&format!("{path}/settings?done={done}")))
        }
        // The page again, with the input and the shown state.
        Err((settings_view, draft)) => {
            let shown = page(&console, &visitor, &agent, &settings_view, &draft).await?;
            Ok(page_of(StatusCode::CONFLICT, shown))
        }
    }
}

/// The value of a setting; `None` for a prompt that the agent wrote.
fn value(view: &AgentFacts, field: Field) -> Option<Value> {
    match field {
        Field::Name => Some(Value::from(view.name.as_str())),
        _ => view.settings.expose().get(field.as_str()).cloned(),
    }
}

/// The page, with the reason why no token was created.
pub(super) async fn with_refused_token(
    console: &Console,
    visitor: &Visitor,
    agent: &AgentHandle,
    refusal: &PageFailure,
) -> PageResult {
    let mut draft = SettingsForm::default();
    let faults = &mut draft.0.faults;
    faults.add(tokens::PLACE, "No token was made", refusal.message());
    let settings_view = SettingsView::of(agent).await?;
    let shown = page(console, visitor, agent, &settings_view, &draft).await?;
    Ok(page_of(refusal.status(), shown))
}

async fn page(
    console: &Console,
    visitor: &Visitor,
    agent: &AgentHandle,
    settings_view: &SettingsView,
    draft: &SettingsForm,
) -> PageResult {
    let own_tokens = agent.grants().tokens().await?;
    let actor = visitor.actor();
    let needs_consent = agent.grants().needs_consent_for_token(&actor).await?;
    let now = console.memoir().now();
    let content = html! {
        (draft.0.faults.summary())
        section aria-labelledby="settings" {
            h2 #settings { "Settings" }
            (settings(console.memoir(), visitor, settings_view, draft))
        }
        (tokens::section(visitor, &settings_view.view, (&own_tokens, now), needs_consent))
        section aria-labelledby="changes" {
            h2 #changes { "Changes of the settings" }
            (history(settings_view))
        }
        section aria-labelledby="end" {
            h2 #end { "Erasing" }
            p { "An agent that is erased is gone for good: its key is destroyed. "
                a href={ (agent_path(settings_view.view.id)) "/erase" } { "Erase this agent…" } }
        }
    };
    let title = draft.0.faults.title("Not saved: ", "Settings of {}");
    Ok(agent_page(visitor, agent, Tab::Settings, &title).show(content))
}

/// The groups of the form, with the settings in each.
const GROUPS: [(&str, &[Field]); 6] = [
    ("Who it is", &[Field::Name, Field::Model]),
    (
        "When it is refined",
        &[
            Field::CoreTokenBudget,
            Field::RefinementTriggerTokens,
            Field::RefinementSchedule,
            Field::RefinementMode,
            Field::Paused,
            Field::Active,
        ],
    ),
    (
        "What a session may do",
        &[
            Field::RefinementThreshold,
            Field::LossGuard,
            Field::DuplicateMatch,
            Field::NearDuplicates,
            Field::ImmutableTags,
        ],
    ),
    (
        "What its prompt shows",
        &[Field::ContextCoreTokens, Field::ContextJournalTokens],
    ),
    (
        "How its model is asked",
        &[Field::ReasoningEffort, Field::AnswerTokens],
    ),
    ("Prompts", &PROMPTS),
];

/// The settings other than prompts. A blank field means the default, except for the name. The form also sends the
/// values that it showed, so that untouched settings keep changes by other actors.
fn plain_fields() -> impl Iterator<Item = Field> {
    let groups = GROUPS.into_iter().map(|(_, group)| group);
    let fields = groups.flatten().copied();
    fields.filter(|field| !field.is_text())
}

fn settings(
    memoir: &Memoir,
    visitor: &Visitor,
    settings_view: &SettingsView,
    draft: &SettingsForm,
) -> Markup {
    let view = &settings_view.view;
    let around = Around {
        memoir,
        faults: &draft.0.faults,
        facts: serde_json::to_value(view).ok(),
    };
    html! {
        p { "A blank means the default. What you do not change stays as it is, even where another administrator \
             changes it meanwhile. A change of the model, a prompt, the loss guard, the budget or the immutable tags is \
             reported in the agent’s journal." }
        form.settings method="post" action={ (agent_path(view.id)) "/settings" } {
            (parts::form_token(visitor))
            input type="hidden" name=(SEEN) value=(settings_view.last());
            (fields::models(memoir))
            @for (heading, group) in GROUPS {
                fieldset {
                    legend { (heading) }
                    div.fields {
                        @for field in group {
                            @if field.is_text() { (prompt(&around, *field, settings_view, draft)) }
                            @else { (plain(&around, *field, settings_view, draft)) }
                        }
                    }
                }
            }
            div.buttons { button.main type="submit" { "Save" } }
        }
    }
}

fn plain(
    around: &Around<'_>,
    field: Field,
    settings_view: &SettingsView,
    draft: &SettingsForm,
) -> Markup {
    let now = written(&settings_view.view, field);
    let typed = draft.plain(field).unwrap_or(&now);
    html! {
        (fields::plain(around, field, typed, set_by(settings_view, field)))
        input type="hidden" name=(shown(field)) value=(now);
    }
}

/// The actor that set a setting last, where that is among the latest changes.
fn set_by(settings_view: &SettingsView, field: Field) -> Option<Markup> {
    let change = settings_view.last_of(field)?;
    Some(html! { "Set by " (who(&change.actor)) ", " (parts::time(change.recorded_at)) })
}

/// A prompt: its author and length; new text for it, or none.
fn prompt(
    around: &Around<'_>,
    field: Field,
    settings_view: &SettingsView,
    draft: &SettingsForm,
) -> Markup {
    let (typed, is_reset) = draft.prompt(field);
    let set = value(&settings_view.view, field);
    let is_default = set == Some(Value::Null);
    let (nothing_set, back_to) = match field {
        Field::SystemPrompt => (
            "is not set; the default applies: ",
            "Remove it: the agent has none then",
        ),
        _ => ("is the default: ", "Go back to the default"),
    };
    html! {
        div.prompt {
            p { b { (label(field)) } " "
                @match &set {
                    None => "is written by the agent itself, and only the agent sees it. A new one of yours is \
                             reported to the agent, which can restore its own.",
                    Some(Value::String(text)) => {
                        "has " (words::counted(text.chars().count() as u64, "character", "characters"))
                        ", set by an administrator."
                    }
                    Some(_) => {
                        (nothing_set)
                        @if let Some(default) = authoring::default_prompt(&settings_view.view.name, field) {
                            q.default { (default) }
                        }
                    }
                }
                @if let Some(set_by) = set_by(settings_view, field) { span.stands { (set_by) } }
            }
            details open[around.faults.of(field.as_str()).is_some() || !typed.trim().is_empty() || is_reset] {
                summary { "Change the " (label(field).to_lowercase()) }
                (fields::prompt(around, field, typed))
                @if !is_default { (parts::check(&reset(field), back_to, is_reset)) }
            }
        }
    }
}

fn history(settings_view: &SettingsView) -> Markup {
    let id = settings_view.view.id.to_string();
    let action = Action::AgentConfigured.as_str();
    let all = form::address("/audit", &[("agent", &id), ("action", action)]);
    html! {
        (parts::table("The latest changes, the newest first, without the values",
            &["When", "Who", "Settings", "Record"], &[3], html! {
            @for change in settings_view.changes.iter().take(LISTED) {
                tr role="row" {
                    th role="rowheader" scope="row" data-label="When" { (parts::time(change.recorded_at)) }
                    td role="cell" data-label="Who" { (who(&change.actor)) }
                    td role="cell" data-label="Settings" { span { (names(change)) } }
                    td.figure role="cell" data-label="Record" { (change.seq) }
                }
            }
        }))
        p { a href=(all) { "All of them in the audit" } }
    }
}

fn names(change: &RecordFacts) -> String {
    let names: Vec<String> = change.counts.codes_of("fields").map(setting).collect();
    names.join(", ")
}

pub(super) fn setting(name: &str) -> String {
    name.parse()
        .map_or_else(|_| name.to_owned(), |field| label(field).to_lowercase())
}

/// The value of the setting of that wire name, in words; a text is itself.
pub(super) fn setting_value(name: &str, value: &Value) -> String {
    match value {
        Value::Null => "default".to_owned(),
        Value::Bool(flag) => fields::yes_or_no(*flag).to_owned(),
        Value::Number(number) => number
            .as_u64()
            .map_or_else(|| number.to_string(), words::number),
        Value::Array(tags) if tags.is_empty() => "none".to_owned(),
        Value::Array(tags) => fields::joined(tags),
        Value::String(text) => fields::choice(name, text).unwrap_or(text).to_owned(),
        Value::Object(_) => value.to_string(),
    }
}

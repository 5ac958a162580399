//! The filter of an agent's log: the fields of a form, which keep their input.

use maud::{Markup, html};
use memoir_app::RecordFilter;
use memoir_domain::{
    Timestamp,
    audit::{Action, ActorKind},
    memory::Invalid,
};
use serde::{Deserialize, Serialize};

use super::activity;
use crate::{
    field::{Faults, LabelledField},
    form::{self, typed},
    words,
};

/// The fields, each with its label and the error for input that cannot be read.
const ACTION: (&str, &str, &str) = ("action", "Action", "There is no such action");
const ROLE: (&str, &str, &str) = ("actor", "Role", "There is no such role");
const SESSION: (&str, &str, &str) = ("session", "Session", "must be the identifier of a session");
const SINCE: (&str, &str, &str) = ("since", "From", NO_TIME);
const UNTIL: (&str, &str, &str) = ("until", "Until", NO_TIME);
const NO_TIME: &str = "must be a time such as 2026-03-04T12:00";

/// The query of the address, as typed.
#[derive(Clone, Default, Deserialize, Serialize)]
pub(crate) struct AuditQuery {
    pub(super) agent: Option<String>,
    action: Option<String>,
    actor: Option<String>,
    name: Option<String>,
    session: Option<String>,
    since: Option<String>,
    until: Option<String>,
    /// The place of the last record of the page before.
    pub(super) before: Option<String>,
}

impl AuditQuery {
    /// The filter, and the fault of each field.
    pub(super) fn read(&self) -> (RecordFilter, Faults) {
        let mut faults = Faults::default();
        let session = |id: &str| id.trim().parse().ok();
        let action = read(&self.action, Action::from_name, ACTION, &mut faults);
        let search = RecordFilter {
            actions: action.into_iter().collect(),
            actor: read(&self.actor, ActorKind::from_name, ROLE, &mut faults),
            actor_name: self.name.as_deref().map(|name| name.trim().to_owned()),
            session: read(&self.session, session, SESSION, &mut faults),
            since: read(&self.since, words::read_time, SINCE, &mut faults),
            until: read(&self.until, until, UNTIL, &mut faults),
            ..RecordFilter::default()
        };
        if Invalid::check_range(search.since, search.until).is_err() {
            faults.add("until", "Until", "must not be before From");
        }
        (search, faults)
    }

    /// Whether the log is narrowed in any way.
    fn is_narrowed(&self) -> bool {
        let filter = Self {
            agent: None,
            before: None,
            ..self.clone()
        };
        !form::address_of("", &filter).is_empty()
    }

    /// The address of another page of the same records below `path`; `before` is blank for the first one.
    pub(super) fn address(&self, path: &str, before: &str) -> String {
        let page = Self {
            before: Some(before.to_owned()),
            ..self.clone()
        };
        form::address_of(path, &page)
    }

    /// The form of the page at `path`: the log of one agent, or the activity of all.
    pub(super) fn form(&self, path: &str, faults: &Faults) -> Markup {
        let is_of_all = path == activity::PATH;
        let all = match is_of_all {
            true => path.to_owned(),
            false => form::address(path, &[("agent", typed(&self.agent))]),
        };
        let labelled = |id, label| LabelledField::new(id, label).faults(faults);
        let every = [("".to_owned(), "All".to_owned())].into_iter();
        let actions = Action::ALL
            .iter()
            .map(|action| (action.as_str().to_owned(), action.label().to_owned()));
        let actions: Vec<_> = every.clone().chain(actions).collect();
        let roles = ActorKind::ALL.map(|role| (role.as_str().to_owned(), role.as_str().to_owned()));
        let roles: Vec<_> = every.chain(roles).collect();
        let [from, to] = ["From", "Until"].map(|end| format!("{end}, in {}", words::zone_name()));
        html! {
            form.row role="search" aria-label="Records" method="get" action=(path) {
                @if is_of_all { (labelled("agent", "Agent").text(typed(&self.agent))) }
                @else { input type="hidden" name="agent" value=(typed(&self.agent)); }
                (labelled("action", "Action").choice(typed(&self.action), &actions))
                (labelled("actor", "Role").choice(typed(&self.actor), &roles))
                (labelled("name", "Name of who did it").text(typed(&self.name)))
                @if !is_of_all { (labelled("session", "Session").text(typed(&self.session))) }
                (labelled("since", &from).moment(&moment(&self.since, words::read_time)))
                (labelled("until", &to).moment(&moment(&self.until, until)))
                div.buttons {
                    button.quiet type="submit" { "Filter" }
                    @if self.is_narrowed() || is_of_all && self.agent.is_some() {
                        a.button href=(all) { "All records" }
                    }
                }
            }
        }
    }
}

/// Parses the input; where that fails, the fault is added.
fn read<T>(
    typed: &Option<String>,
    parse: impl FnOnce(&str) -> Option<T>,
    (id, label, problem): (&str, &str, &str),
    faults: &mut Faults,
) -> Option<T> {
    let parsed = parse(typed.as_deref()?);
    if parsed.is_none() {
        faults.add(id, label, problem);
    }
    parsed
}

/// The end of the input: the last moment of a day or a minute.
fn until(text: &str) -> Option<Timestamp> {
    // A browser's field gives whole minutes: until 12:00 includes all of 12:00.
    const REST_OF_A_MINUTE: i64 = 59_999_999;
    let time = words::read_until(text)?;
    // A time that is written to the minute means the whole minute; one with seconds or a zone means its moment.
    let is_minute = words::field_minute(time) == text.trim();
    Some(match is_minute {
        true => time.plus_microseconds(REST_OF_A_MINUTE),
        false => time,
    })
}

/// A time in the form of browsers; invalid input stays as typed.
fn moment(typed: &Option<String>, parse: impl FnOnce(&str) -> Option<Timestamp>) -> String {
    let Some(typed) = typed else {
        return String::new();
    };
    match parse(typed) {
        // The field of a browser takes no other form, and would be blank.
        Some(time) => words::field_minute(time),
        None => typed.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_the_last_moment_of_what_was_given() {
        for (text, end) in [
            ("2026-03-04", "2026-03-04T23:59:59.999999Z"),
            ("2026-03-04T12:00", "2026-03-04T12:00:59.999999Z"),
            ("2026-03-04T12:00:00", "2026-03-04T12:00:00Z"),
            ("2026-03-04T12:00:00Z", "2026-03-04T12:00:00Z"),
        ] {
            assert_eq!(until(text).unwrap().to_string(), end, "{text}");
            let shown = moment(&Some(text.to_owned()), until);
            let is_end = ["2026-03-04T23:59", "2026-03-04T12:00"].contains(&&*shown);
            assert!(is_end, "{shown}");
        }
        assert_eq!(moment(&Some("soon".to_owned()), until), "soon");
    }
}

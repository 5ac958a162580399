//! The fields of a form: each with its label, its limits, and the faults of the typed text, which stays in it.
//!
//! All faults are reported together, each beside its field: the application checks settings one by one
//! (`check_settings`) before it changes any.

use axum::http::StatusCode;
use maud::{Markup, PreEscaped, html};
use memoir_app::Error;

use crate::{answer::PageFailure, words};

#[derive(Debug, Clone, Default)]
pub(crate) struct Faults(Vec<FieldFault>);

#[derive(Debug, Clone)]
struct FieldFault {
    id: String,
    label: String,
    problem: String,
}

impl Faults {
    /// Adds a fault of a field: `must be a number`, or a whole sentence.
    pub(crate) fn add(&mut self, id: &str, label: &str, problem: &str) {
        self.0.push(FieldFault {
            id: id.to_owned(),
            label: label.to_owned(),
            problem: words::sentence(problem),
        });
    }

    /// Adds why the act of a form failed, so that its page keeps what was typed: the fault of that field, or else the
    /// failure, with `failed` in place of the label. Returns the status of the page.
    ///
    /// # Errors
    /// The act may have been carried out all the same.
    pub(crate) fn add_error(
        &mut self,
        (id, label): (&str, &str),
        failed: &str,
        error: Error,
    ) -> Result<StatusCode, PageFailure> {
        let is_unknown = error.code() == "outcome_unknown";
        let of_field = match &error {
            Error::Invalid(invalid) => Some(invalid.problem.clone()),
            _ => None,
        };
        let failure = PageFailure::from(error);
        if is_unknown || failure.status() == StatusCode::INTERNAL_SERVER_ERROR {
            return Err(failure);
        }
        match of_field {
            Some(problem) => self.add(id, label, &problem),
            None => self.add(id, failed, failure.message()),
        }
        Ok(failure.status())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The title of the page; after `failed`, where there are faults.
    pub(crate) fn title(&self, failed: &str, title: &str) -> String {
        let failed = if self.is_empty() { "" } else { failed };
        format!("{failed}{title}")
    }

    pub(crate) fn of(&self, id: &str) -> Option<&str> {
        let found = self.0.iter().find(|fault| fault.id == id);
        found.map(|fault| fault.problem.as_str())
    }

    /// All faults that prevent a change, with links to the fields; empty without faults.
    pub(crate) fn summary(&self) -> Markup {
        self.listed("Nothing was changed yet.")
    }

    /// All faults that prevent a search, with links to the fields; empty without faults.
    pub(crate) fn wrong(&self) -> Markup {
        self.listed("That cannot be looked for.")
    }

    fn listed(&self, heading: &str) -> Markup {
        html! {
            @if !self.0.is_empty() {
                div.problem role="alert" {
                    p { (heading) }
                    ul {
                        @for fault in &self.0 {
                            li { a href={ "#" (fault.id) } { (fault.label) } ": " (with_code(&fault.problem)) }
                        }
                    }
                }
            }
        }
    }
}

/// A field: its name in the form, which is its identifier in the page too.
pub(crate) struct LabelledField<'a> {
    id: &'a str,
    label: &'a str,
    /// What it accepts; empty where the label says all.
    hint: Markup,
    fault: Option<&'a str>,
}

impl<'a> LabelledField<'a> {
    pub(crate) fn new(id: &'a str, label: &'a str) -> Self {
        Self {
            id,
            label,
            hint: PreEscaped(String::new()),
            fault: None,
        }
    }

    pub(crate) fn hint(mut self, hint: Markup) -> Self {
        self.hint = hint;
        self
    }

    pub(crate) fn faults(mut self, faults: &'a Faults) -> Self {
        self.fault = faults.of(self.id);
        self
    }

    pub(crate) fn text(&self, value: &str) -> Markup {
        self.line(value, "text", None, None)
    }

    /// A line of text with suggestions, from the list of that name.
    pub(crate) fn suggested(&self, value: &str, list: &str) -> Markup {
        self.line(value, "text", None, Some(list))
    }

    /// A number, written as text: invalid input stays in the field.
    pub(crate) fn number(&self, value: &str, mode: &str) -> Markup {
        self.line(value, "text", Some(mode), None)
    }

    /// A password, which is never shown again. `use_for` says to browsers whether it is known.
    pub(crate) fn password(&self, use_for: &str) -> Markup {
        self.framed(html! {
            // A password has at most 1,000 characters.
            input id=(self.id) name=(self.id) type="password" autocomplete=(use_for) required
                maxlength="1000" aria-describedby=[self.described_by()] aria-invalid=[self.is_wrong()];
        })
    }

    pub(crate) fn username(&self, value: &str) -> Markup {
        // `autocapitalize` keeps phones from beginning the name with a capital letter.
        self.framed(html! {
            input id=(self.id) name=(self.id) type="text" autocomplete="username" required
                autocapitalize="none" spellcheck="false" maxlength="100" value=(value)
                aria-describedby=[self.described_by()] aria-invalid=[self.is_wrong()];
        })
    }

    /// A code of a device, which is never shown again.
    pub(crate) fn code(&self) -> Markup {
        // A recovery code, which has 19 characters with its dashes, is accepted wherever a code is asked for.
        self.typed_code(Some("numeric"))
    }

    pub(crate) fn any_code(&self) -> Markup {
        // There is no keyboard of digits, since a recovery code has letters.
        self.typed_code(None)
    }

    fn typed_code(&self, mode: Option<&str>) -> Markup {
        self.framed(html! {
            input id=(self.id) name=(self.id) type="text" inputmode=[mode]
                autocomplete="one-time-code" autocapitalize="none" spellcheck="false" required
                maxlength="40" aria-describedby=[self.described_by()]
                aria-invalid=[self.is_wrong()];
        })
    }

    pub(crate) fn day(&self, value: &str) -> Markup {
        self.line(value, "date", None, None)
    }

    /// A day and a time of it.
    pub(crate) fn moment(&self, value: &str) -> Markup {
        self.line(value, "datetime-local", None, None)
    }

    fn line(&self, value: &str, kind: &str, mode: Option<&str>, list: Option<&str>) -> Markup {
        self.framed(html! {
            input id=(self.id) name=(self.id) type=(kind) inputmode=[mode] list=[list] value=(value)
                autocomplete="off" autocapitalize="none" spellcheck="false"
                aria-describedby=[self.described_by()] aria-invalid=[self.is_wrong()];
        })
    }

    /// Several lines of text.
    pub(crate) fn area(&self, value: &str, rows: u32) -> Markup {
        self.framed(html! {
            // A line break at the very beginning would be lost without another one.
            textarea id=(self.id) name=(self.id) rows=(rows) autocomplete="off"
                aria-describedby=[self.described_by()] aria-invalid=[self.is_wrong()] { "\n" (value) }
        })
    }

    /// A choice: the value of each, and its text.
    pub(crate) fn choice<V: AsRef<str>, W: AsRef<str>>(
        &self,
        chosen: &str,
        options: &[(V, W)],
    ) -> Markup {
        self.framed(html! {
            select id=(self.id) name=(self.id)
                aria-describedby=[self.described_by()] aria-invalid=[self.is_wrong()] {
                // Stored by another version of Memoir: sent back, it counts as unchanged. What was refused is not offered.
                @if self.is_wrong().is_none() && !chosen.is_empty() && options.iter().all(|(value, _)| value.as_ref() != chosen) {
                    option value=(chosen) selected { (chosen) }
                }
                @for (value, text) in options {
                    option value=(value.as_ref()) selected[chosen == value.as_ref()] { (text.as_ref()) }
                }
            }
        })
    }

    pub(crate) fn tick(&self, is_ticked: bool) -> Markup {
        html! {
            div.field {
                div.check {
                    input id=(self.id) name=(self.id) type="checkbox" value="yes" checked[is_ticked]
                        aria-describedby=[self.described_by()] aria-invalid=[self.is_wrong()];
                    label for=(self.id) { (self.label) }
                }
                (self.explanation())
            }
        }
    }

    fn framed(&self, control: Markup) -> Markup {
        html! {
            div.field {
                label for=(self.id) { (self.label) }
                (control)
                (self.explanation())
            }
        }
    }

    fn explanation(&self) -> Markup {
        html! {
            @if let Some(fault) = self.fault { p.fault id={ (self.id) "-fault" } { (with_code(fault)) } }
            @if self.has_hint() { p.hint id={ (self.id) "-hint" } { (self.hint) } }
        }
    }

    fn has_hint(&self) -> bool {
        !self.hint.0.is_empty()
    }

    fn is_wrong(&self) -> Option<&'static str> {
        self.fault.map(|_| "true")
    }

    /// What a screen reader reads out after the label.
    fn described_by(&self) -> Option<String> {
        let fault = self.fault.map(|_| format!("{}-fault", self.id));
        let hint = self.has_hint().then(|| format!("{}-hint", self.id));
        let ids: Vec<String> = fault.into_iter().chain(hint).collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }
}

/// A text in which parts between backticks are code.
pub fn with_code(text: &str) -> Markup {
    html! {
        @for (place, part) in text.split('`').enumerate() {
            @if place % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_backticks_is_code() {
        let shown = with_code("`<a>` is none; write `b`, or `c");
        let expected = "<code>&lt;a&gt;</code> is none; write <code>b</code>, or <code>c</code>";
        assert_eq!(shown.into_string(), expected);
    }
}

//! `/account/password`: changing the password.

use axum::{
    extract::State,
    http::{StatusCode, request::Parts},
    response::Response,
};
use maud::{Markup, html};
use memoir_app::new_password;
use memoir_domain::PrivateText;

use super::{
    account::{self, prove},
    sign_in::refused,
};
use crate::{
    Console, SignInRefusal,
    answer::{EarlyResult, PageResult, page_of},
    browser::{self, Visitor},
    field::{Faults, LabelledField},
    form::SentForm,
    parts::{self, ConsoleSection, FramedPage},
};

const NEW: (&str, &str) = ("new", "New password");
const AGAIN: (&str, &str) = ("again", "The new password again");

/// Adds the faults of a password that was typed twice.
pub(super) fn check_new(form: &mut SentForm, new: (&str, &str), again: (&str, &str)) {
    let typed = PrivateText::from(form.field(new.0));
    if new_password(&typed).is_err() {
        form.faults
            .add(new.0, new.1, "must have 12 to 1,000 characters");
    } else if form.field(new.0) != form.field(again.0) {
        form.faults
            .add(again.0, again.1, "is not the same as above");
    }
}

pub(crate) async fn show(visitor: Visitor) -> PageResult {
    Ok(sheet(&visitor, &Faults::default(), None))
}

pub(crate) async fn change(
    State(console): State<Console>,
    visitor: Visitor,
    mut form: SentForm,
    head: Parts,
) -> EarlyResult {
    // Before the proof, which would use up a code for a password that is not taken.
    check_new(&mut form, NEW, AGAIN);
    if !form.faults.is_empty() {
        let shown = sheet(&visitor, &form.faults, None);
        return Ok(page_of(StatusCode::BAD_REQUEST, shown));
    }
    let again = |refusal: &SignInRefusal| sheet(&visitor, &form.faults, Some(refusal));
    let proven = prove(&console, &head, &visitor, &form, again).await?;
    let new = PrivateText::from(form.field(NEW.0));
    let made = visitor.change_password(proven, &new).await?;
    // A new sign-in: the one of this browser ended with all the others.
    Ok(browser::enter(&console, &made, "/account?done=password")?)
}

fn sheet(visitor: &Visitor, faults: &Faults, refusal: Option<&SignInRefusal>) -> Response {
    let content = html! {
        (account::crumb())
        h1 { "Another password" }
        p { "All other browsers that you are signed in with, and tokens that you signed in for, are signed out. \
             This browser stays signed in." }
        (faults.summary())
        @if let Some(refusal) = refusal { (refused(refusal)) }
        (form(visitor, faults))
    };
    FramedPage::new(visitor, "Another password", ConsoleSection::Account).show(content)
}

fn form(visitor: &Visitor, faults: &Faults) -> Markup {
    let field = |(id, label)| LabelledField::new(id, label).faults(faults);
    html! {
        form.stack.narrow method="post" action="/account/password" {
            (parts::form_token(visitor))
            (account::proof(visitor))
            (field(NEW).hint(html! { "At least 12 characters." }).password("new-password"))
            (field(AGAIN).password("new-password"))
            button.main type="submit" { "Change the password" }
        }
    }
}

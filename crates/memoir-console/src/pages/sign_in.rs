//! `/sign-in`, `/sign-out` and `/sign-out-everywhere`

use axum::{
    extract::{Request, State},
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use maud::{Markup, html};
use memoir_domain::PrivateText;
use serde::Deserialize;

use super::code;
use crate::{
    Admission, Console, SignInRefusal, TypedCredentials,
    answer::{PageResult, page, see_other},
    browser::{self, Visitor},
    field::{LabelledField, with_code},
    form::{self, PageQuery, SentForm},
    parts, words,
};

#[derive(Deserialize)]
pub(crate) struct SignInQuery {
    /// The path to return to.
    pub(super) next: Option<String>,
}

pub(crate) async fn show(
    State(console): State<Console>,
    PageQuery(query): PageQuery<SignInQuery>,
    head: Parts,
) -> PageResult {
    // Checked here and when the form is sent: the author of the link chooses both.
    let next = browser::own_path(query.next.as_deref().unwrap_or("/"));
    if browser::visitor(&console, &head.headers).await?.is_some() {
        return Ok(see_other(next));
    }
    // An unsafe connection is refused before typing, since third parties may read a password sent over it.
    let refused = console.check_transport(&head).err();
    let has_users = console.memoir().has_users().await?;
    let blank = SentForm::default();
    let markup = sign_in_page(&blank, next, has_users, refused.as_ref());
    Ok(page(markup))
}

pub(crate) async fn sign_in(State(console): State<Console>, request: Request) -> PageResult {
    let (head, body) = request.into_parts();
    // Without a form token, which only signed-in users have: otherwise another site could sign a browser in as another.
    browser::check_origin(&head.headers)?;
    let given = SentForm::read(body, form::MOST_BYTES_OF_STRANGERS).await?;
    let next = browser::own_path(given.field("next"));
    let credentials = TypedCredentials {
        account: given.field("account").trim().to_owned(),
        name: given.field("name").to_owned(),
        password: PrivateText::from(given.field("password")),
    };
    match console.sign_in(&head, &credentials).await {
        Ok(Admission::CodeNeeded(passage)) => code::ask(&console, &passage, next),
        Ok(Admission::In(made)) => browser::enter(&console, &made, next),
        Err(refusal) => {
            let has_users = console.memoir().has_users().await?;
            let markup = sign_in_page(&given, next, has_users, Some(&refusal));
            Ok((refusal.status, page(markup)).into_response())
        }
    }
}

fn sign_in_page(
    given: &SentForm,
    next: &str,
    has_users: bool,
    refusal: Option<&SignInRefusal>,
) -> Markup {
    // The connection is forbidden, not the password: a form would send one over it.
    let is_possible = refusal.is_none_or(|refusal| refusal.status != StatusCode::FORBIDDEN);
    let content = html! {
        h1 { "Memoir" }
        p.lead { "Sign in to manage agents. You see counts of their memory, never its text." }
        (parts::notice())
        @if !has_users {
            p.notice { "There is no administrator yet. Open the link that " code { "memoir serve" }
                " printed when it began, or run " code { "memoir user add NAME" } " on its machine." }
        }
        @if let Some(refusal) = refusal { (refused(refusal)) }
        @if is_possible { (sign_in_form(given, next)) }
    };
    parts::bare("Sign in", content)
}

pub(super) fn refused(refusal: &SignInRefusal) -> Markup {
    html! {
        div.problem role="alert" {
            p { (with_code(&words::capital(&refusal.message))) "." }
            @if let Some(hint) = &refusal.hint { p { (with_code(&words::capital(hint))) "." } }
        }
    }
}

fn sign_in_form(given: &SentForm, next: &str) -> Markup {
    html! {
        form.stack method="post" action="/sign-in" {
            input type="hidden" name="next" value=(next);
            (LabelledField::new("name", "Name").username(given.field("name")))
            (LabelledField::new("password", "Password").password("current-password"))
            div.field {
                label for="account" { "Account " span.none { "(blank for the default one)" } }
                input #account name="account" type="text" autocomplete="organization"
                    autocapitalize="none" spellcheck="false" maxlength="100" value=(given.field("account").trim());
            }
            button.main type="submit" { "Sign in" }
        }
    }
}

pub(crate) async fn sign_out(State(console): State<Console>, visitor: Visitor) -> PageResult {
    // In the store first: a browser that keeps the cookie then has an invalid one.
    visitor.sign_out().await?;
    signed_out(&console, "signed-out")
}

pub(crate) async fn sign_out_everywhere(
    State(console): State<Console>,
    visitor: Visitor,
) -> PageResult {
    visitor.sign_out_everywhere().await?;
    signed_out(&console, "signed-out-everywhere")
}

fn signed_out(console: &Console, done: &str) -> PageResult {
    let cookie = browser::set_cookie(console, None)?;
    let path = form::address("/sign-in", &[("done", done)]);
    let response: Response = ([(header::SET_COOKIE, cookie)], see_other(&path)).into_response();
    Ok(response)
}

//! `/first/{secret}`: creating the first administrator, by the link that the service prints where there is none.

use axum::{
    extract::{Path, Request, State},
    http::{StatusCode, request::Parts},
};
use maud::{Markup, html};
use memoir_domain::PrivateText;

use super::sign_in::refused;
use crate::{
    Console, SignInRefusal, TypedCredentials,
    answer::{PageResult, page, page_of},
    browser,
    field::LabelledField,
    form::{self, SentForm},
    parts,
};

const NAME: (&str, &str) = ("name", "Your name");
const PASSWORD: (&str, &str) = ("password", "Password");
const AGAIN: (&str, &str) = ("again", "The password again");
const ACCOUNT: (&str, &str) = ("account", "Account");

pub(crate) async fn show(
    State(console): State<Console>,
    Path(secret): Path<String>,
    head: Parts,
) -> PageResult {
    match console.opens_first_link(&head, &secret).await {
        Ok(true) => Ok(page(form_page(&secret, &SentForm::default(), None))),
        Ok(false) => Ok(dead()),
        Err(refusal) => Ok(page_of(refusal.status, page(refused_page(&refusal)))),
    }
}

pub(crate) async fn create(
    State(console): State<Console>,
    Path(secret): Path<String>,
    request: Request,
) -> PageResult {
    let (head, body) = request.into_parts();
    // Only the origin is checked: a form has a token only for a signed-in user.
    browser::check_origin(&head.headers)?;
    let mut given = SentForm::read(body, form::MOST_BYTES_OF_STRANGERS).await?;
    // Before any fault of the input: for an invalid link the page says nothing else.
    match console.opens_first_link(&head, &secret).await {
        Ok(true) => {}
        Ok(false) => return Ok(dead()),
        Err(refusal) => return Ok(page_of(refusal.status, page(refused_page(&refusal)))),
    }
    if given.field(NAME.0).trim().is_empty() {
        given.faults.add(NAME.0, NAME.1, "is missing");
    }
    super::password::check_new(&mut given, PASSWORD, AGAIN);
    if !given.faults.is_empty() {
        let shown = page(form_page(&secret, &given, None));
        return Ok(page_of(StatusCode::BAD_REQUEST, shown));
    }
    let credentials = TypedCredentials {
        account: given.field(ACCOUNT.0).trim().to_owned(),
        name: given.field(NAME.0).to_owned(),
        password: PrivateText::from(given.field(PASSWORD.0)),
    };
    match console.create_first(&head, &secret, &credentials).await {
        Ok(Some(made)) => browser::enter(&console, &made, "/account?done=first"),
        Ok(None) => Ok(dead()),
        Err(refusal) => {
            let shown = form_page(&secret, &given, Some(&refusal));
            Ok(page_of(refusal.status, page(shown)))
        }
    }
}

fn form_page(secret: &str, given: &SentForm, refusal: Option<&SignInRefusal>) -> Markup {
    let field = |(id, label)| LabelledField::new(id, label).faults(&given.faults);
    let content = html! {
        h1 { "The first administrator" }
        p.lead { "This installation has no administrator yet. This form makes the first one." }
        p { "An administrator sees counts and states of agents’ memories, never their text. From the \
             first one on the installation is closed: commands on this machine, too, show an agent’s text only \
             with that agent’s token. The programs that are set up on this machine get theirs in the same step, and \
             keep their memory. " code { "memoir installation open" } " opens the installation again, for the \
             owner of the machine." }
        (given.faults.summary())
        @if let Some(refusal) = refusal { (refused(refusal)) }
        form.stack method="post" action={ "/first/" (secret) } {
            (field(NAME).username(given.field(NAME.0)))
            (field(PASSWORD).hint(html! { "At least 12 characters." }).password("new-password"))
            (field(AGAIN).password("new-password"))
            (field(ACCOUNT).hint(html! { "Blank for the default one." })
                .text(given.field(ACCOUNT.0)))
            button.main type="submit" { "Become the administrator" }
        }
    };
    parts::bare("The first administrator", content)
}

fn refused_page(refusal: &SignInRefusal) -> Markup {
    let content = html! {
        h1 { "The first administrator" }
        (refused(refusal))
    };
    parts::bare("The first administrator", content)
}

/// The same for an unknown link and a used one.
fn dead() -> axum::response::Response {
    let content = html! {
        h1 { "This link opens nothing" }
        p { "Either there is an administrator by now, or the service was started again since and printed \
             another link." }
        p { "Further administrators are made on the machine that Memoir runs on:" }
        pre tabindex="0" { "memoir user add NAME" }
        p { a href="/sign-in" { "Sign in" } }
    };
    let markup = parts::bare("This link opens nothing", content);
    page_of(StatusCode::NOT_FOUND, page(markup))
}

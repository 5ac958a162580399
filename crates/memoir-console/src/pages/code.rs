//! `/sign-in/code`: the code, after the password was given.
//!
//! A page of its own, so that users without a second factor are not asked for one. The browser's cookie in between is
//! no sign-in: it opens this page only, for five minutes.
//!
//! The page reveals only to a client with the password that it was right, and guessing codes is permanently slow.

use axum::{
    extract::{Request, State},
    http::{StatusCode, header},
    response::{AppendHeaders, IntoResponse, Response},
};
use maud::{Markup, html};
use memoir_app::PasswordProof;
use memoir_domain::PrivateText;

use super::sign_in::{SignInQuery, refused};
use crate::{
    Console, SignInRefusal,
    answer::{PageFailure, PageResult, page, see_other},
    browser,
    field::LabelledField,
    form::{self, PageQuery, SentForm},
    parts,
};

const PATH: &str = "/sign-in/code";
pub(super) const CODE: &str = "code";

/// Redirects a browser here after the password, with the cookie to keep.
pub(super) fn ask(
    console: &Console,
    passage: &PasswordProof,
    next: &str,
) -> Result<Response, PageFailure> {
    let cookie = browser::set_passage(console, Some(passage.expose()))?;
    let path = returning(PATH, "", next);
    Ok(([(header::SET_COOKIE, cookie)], see_other(&path)).into_response())
}

/// An address with the page to return to, unless that is the first one, and with a word for what was done.
fn returning(path: &str, done: &str, next: &str) -> String {
    let next = if next == "/" { "" } else { next };
    form::address(path, &[("next", next), ("done", done)])
}

pub(crate) async fn show(
    State(console): State<Console>,
    PageQuery(query): PageQuery<SignInQuery>,
    request: Request,
) -> PageResult {
    let next = browser::own_path(query.next.as_deref().unwrap_or("/"));
    let Some(half) = browser::half_signed_in(&console, request.headers()).await? else {
        return start_over(&console, next);
    };
    Ok(page(content(&half.name, next, None)))
}

pub(crate) async fn give(State(console): State<Console>, request: Request) -> PageResult {
    let (head, body) = request.into_parts();
    // Only the origin is checked: a form has a token only for a signed-in user.
    browser::check_origin(&head.headers)?;
    let given = SentForm::read(body, form::MOST_BYTES_OF_STRANGERS).await?;
    let next = browser::own_path(given.field("next"));
    let Some(half) = browser::half_signed_in(&console, &head.headers).await? else {
        return start_over(&console, next);
    };
    let code = PrivateText::from(given.field(CODE));
    match console.sign_in_with_code(&head, &half, &code).await {
        Ok(made) => {
            // The two cookies are appended, since the second would otherwise replace the first.
            let cookies = AppendHeaders([
                (
                    header::SET_COOKIE,
                    browser::set_cookie(&console, Some(made.secret.expose()))?,
                ),
                // The browser deletes the proof of the password, since the sign-in takes its place.
                (header::SET_COOKIE, browser::set_passage(&console, None)?),
            ]);
            Ok((cookies, see_other(next)).into_response())
        }
        // The browser keeps the proof: after a wrong digit the password need not be repeated.
        Err(refusal) => {
            let markup = content(&half.name, next, Some(&refusal));
            Ok((refusal.status, page(markup)).into_response())
        }
    }
}

/// The browser's proof is not valid: it expired, or all sign-ins were ended.
fn start_over(console: &Console, next: &str) -> PageResult {
    let cookie = browser::set_passage(console, None)?;
    let path = returning("/sign-in", "start-over", next);
    Ok(([(header::SET_COOKIE, cookie)], see_other(&path)).into_response())
}

fn content(name: &str, next: &str, refusal: Option<&SignInRefusal>) -> Markup {
    // With 403 the way to the service is not safe, so the page has no form that would send a code over it.
    let is_possible = refusal.is_none_or(|refusal| refusal.status != StatusCode::FORBIDDEN);
    let content = html! {
        h1 { "The code" }
        p.lead { "The password of " strong { (name) } " is right. What is missing is a code." }
        @if let Some(refusal) = refusal { (refused(refusal)) }
        @if is_possible {
            form.stack method="post" action=(PATH) {
                input type="hidden" name="next" value=(next);
                (LabelledField::new(CODE, "Code")
                    .hint(html! { "The six digits that your device shows for Memoir now; or, if it is not at hand, one \
                        of the ten recovery codes that you wrote down, which counts once." })
                    .any_code())
                button.main type="submit" { "Sign in" }
            }
        }
        p { a href=(returning("/sign-in", "", next)) { "Start over" } }
    };
    parts::bare("Sign in: the code", content)
}

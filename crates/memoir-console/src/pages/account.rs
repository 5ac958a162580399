//! `/account`: the sign-in methods and sign-ins of the user.

use axum::{extract::Path, http::request::Parts, response::Response};
use maud::{Markup, html};
use memoir_app::{Error, SignInView, VerifiedUser};
use memoir_domain::{PrivateText, TokenId};

use super::code::CODE;
use crate::{
    Console, SignInRefusal,
    answer::{EarlyResponse, PageResult, page_of, see_other},
    browser::Visitor,
    field::LabelledField,
    form::SentForm,
    parts::{self, ConsoleSection, FramedPage},
    words,
};

/// The field for the present password.
const PASSWORD: &str = "password";

/// Checks the input of the fields of [`proof`].
///
/// # Errors
/// The proof is wrong, or there were too many attempts: the form `again`, which reports that.
pub(super) async fn prove(
    console: &Console,
    head: &Parts,
    visitor: &Visitor,
    form: &SentForm,
    again: impl FnOnce(&SignInRefusal) -> Response,
) -> Result<VerifiedUser, EarlyResponse> {
    let password = PrivateText::from(form.field(PASSWORD));
    let code = PrivateText::from(form.field(CODE));
    let proven = console.prove(head, visitor, &password, &code).await;
    proven.map_err(|refusal| EarlyResponse(page_of(refusal.status, again(&refusal))))
}

/// The link back.
pub(super) fn crumb() -> Markup {
    html! { p.crumb { a href="/account" { "Your account" } } }
}

/// The fields for the user's proof. Their input is never shown again.
pub(super) fn proof(visitor: &Visitor) -> Markup {
    html! {
        // For password managers, which need the user's name.
        label for="username" hidden { "Name" }
        input #username name="username" type="text" autocomplete="username" readonly hidden
            value=(visitor.user.name);
        (LabelledField::new(PASSWORD, "Your password").password("current-password"))
        @if visitor.user.second_factor == Some(true) {
            (LabelledField::new(CODE, "Code")
                .hint(html! { "The six digits that your device shows now, or a recovery code." })
                .any_code())
        }
    }
}

pub(crate) async fn show(visitor: Visitor) -> PageResult {
    let account = visitor.account_name().await?;
    let factor = visitor.second_factor().await?;
    let sign_ins = visitor.sign_ins().await?;
    let content = html! {
        h1 { "Your account" }
        dl.facts {
            (parts::pair("Name", html! { (visitor.user.name) }))
            (parts::pair("Account", html! { (account) }))
            (parts::pair("Made", parts::time(visitor.user.created_at)))
        }
        section aria-labelledby="password-head" {
            h2 #password-head { "Password" }
            p { a.button href="/account/password" { "Change the password" } }
        }
        section aria-labelledby="factor-head" {
            h2 #factor-head { "Second factor" }
            (second_factor(factor))
        }
        section aria-labelledby="sign-ins-head" {
            h2 #sign-ins-head { "Where you are signed in" }
            (table(&visitor, &sign_ins))
            div.buttons {
                (parts::button(&visitor, "/sign-out-everywhere", "Sign out everywhere",
                    "Sign out everywhere, this browser included", ""))
            }
        }
    };
    Ok(FramedPage::new(&visitor, "Your account", ConsoleSection::Account).show(content))
}

/// Its state, with the remaining codes and the failed attempts.
fn second_factor(factor: Option<(usize, u32)>) -> Markup {
    html! {
        @match factor {
            None => {
                p { span.badge.plain { "off" } " The password alone is enough to sign in. With a second factor, a code of \
                     a device of yours is needed too." }
                p { a.button href="/account/second-factor" { "Turn it on" } }
            }
            Some((left, misses)) => {
                p { span.badge.good { "on" } " Signing in takes a code of your device. "
                    (left) " of 10 recovery codes " (if left == 1 { "is" } else { "are" })
                    " left for when it is lost." }
                @if misses > 0 {
                    p.problem { (words::counted(u64::from(misses), "wrong code", "wrong codes"))
                        " came with your password since the last right one. If that was not you, another person knows your \
                         password: change it." }
                }
                div.buttons {
                    a.button href="/account/second-factor" { "Set up another device" }
                    a.button href="/account/recovery-codes" { "New recovery codes" }
                    a.button href="/account/second-factor/off" { "Turn it off" }
                }
            }
        }
    }
}

fn table(visitor: &Visitor, sign_ins: &[SignInView]) -> Markup {
    let names = ["Signed in", "With", "Last used", "Ends", "Change"];
    let rows = html! { @for sign_in in sign_ins { (row(visitor, sign_in)) } };
    parts::table(
        "What you are signed in for, the newest first",
        &names,
        &[],
        rows,
    )
}

fn row(visitor: &Visitor, sign_in: &SignInView) -> Markup {
    let kind = if sign_in.by_browser {
        "browser"
    } else {
        "token"
    };
    let since = words::minute(sign_in.created_at);
    html! {
        tr role="row" {
            th role="rowheader" scope="row" data-label="Signed in" { (parts::time(sign_in.created_at)) }
            td role="cell" data-label="With" {
                span { "a " (kind) @if sign_in.is_own { " " span.badge.good { "this one" } } }
            }
            td role="cell" data-label="Last used" { (parts::time(sign_in.last_used_at)) }
            td role="cell" data-label="Ends" { (parts::time_or(sign_in.expires_at, "never")) }
            td role="cell" data-label="Change" {
                (parts::button(visitor, &format!("/account/sign-ins/{}/end", sign_in.id), "Sign out",
                    &format!("Sign out the {kind} of {since}"), ""))
            }
        }
    }
}

pub(crate) async fn end_sign_in(visitor: Visitor, Path(id): Path<String>) -> PageResult {
    // A malformed identifier belongs to no sign-in, so the answer is the same as for an unknown one.
    let id: TokenId = id.parse().map_err(|_| Error::NoToken(id))?;
    visitor.end_sign_in(id).await?;
    // A user who ends the present sign-in is asked to sign in there.
    Ok(see_other("/account?done=ended"))
}

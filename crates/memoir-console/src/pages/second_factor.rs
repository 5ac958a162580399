//! `/account/second-factor`, `/account/second-factor/off` and `/account/recovery-codes`: codes of a device, and
//! recovery codes for a lost one.
//!
//! The secret of a device is shown until the device has shown a right code, and never again. In between, the form holds
//! it sealed.

use axum::{
    extract::State,
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use maud::{Markup, html};
use memoir_app::{RecoveryCodes, SecondFactorOffer, SignedInUser};
use memoir_domain::PrivateText;

use super::{
    account::{self, prove},
    sign_in::refused,
};
use crate::{
    Console, SignInRefusal,
    answer::{EarlyResult, PageResult, page_of, see_other},
    browser::{self, Visitor},
    field::{Faults, LabelledField},
    form::SentForm,
    parts::{self, ConsoleSection, FramedPage},
    qr,
};

/// The code of the device that is being set up.
const FRESH: (&str, &str) = ("fresh", "Code of the new device");
const OFFERED: &str = "offered";

/// Whether signing in requires a code now.
fn is_on(visitor: &Visitor) -> bool {
    visitor.user.second_factor == Some(true)
}

pub(crate) async fn show(visitor: Visitor) -> PageResult {
    let offer = visitor.offer_second_factor().await?;
    Ok(setting_up(&visitor, &offer, &Faults::default(), None))
}

pub(crate) async fn turn_on(
    State(console): State<Console>,
    visitor: Visitor,
    form: SentForm,
    head: Parts,
) -> EarlyResult {
    let mut faults = Faults::default();
    let sealed = form.field(OFFERED);
    let Some(offer) = visitor.offered(sealed).await? else {
        let problem = "The picture was too old. Set the device up with this one.";
        faults.add(FRESH.0, FRESH.1, problem);
        let offer = visitor.offer_second_factor().await?;
        let shown = setting_up(&visitor, &offer, &faults, None);
        return Ok(page_of(StatusCode::BAD_REQUEST, shown));
    };
    let fresh = PrivateText::from(form.field(FRESH.0));
    // Before the proof, which uses a code of the other device up.
    if !visitor.fits_offer(sealed, &fresh).await? {
        return Ok(wrong_device(&visitor, &offer, faults));
    }
    let again = |refusal: &SignInRefusal| setting_up(&visitor, &offer, &faults, Some(refusal));
    let proven = prove(&console, &head, &visitor, &form, again).await?;
    match visitor
        .turn_on_second_factor(proven, sealed, &fresh)
        .await?
    {
        Some((made, codes)) => {
            let secret = made.secret.expose();
            let cookie = browser::set_cookie(&console, Some(secret))?;
            // The forms of this page must belong to the browser's new cookie.
            let renewed = browser::visitor_by(&console, secret).await?;
            // The codes are shown even where the new sign-in is over already, since they are shown only this once.
            let visitor = renewed.as_ref().unwrap_or(&visitor);
            let shown = shown_once(visitor, "The second factor is on", &codes);
            Ok(([(header::SET_COOKIE, cookie)], shown).into_response())
        }
        // The code fitted when it was checked above, but its time may be over by now.
        None => Ok(wrong_device(&visitor, &offer, faults)),
    }
}

fn wrong_device(visitor: &Visitor, offer: &SecondFactorOffer, mut faults: Faults) -> Response {
    let problem = "It is not what the device shows now. If it shows that, its clock is wrong.";
    faults.add(FRESH.0, FRESH.1, problem);
    let shown = setting_up(visitor, offer, &faults, None);
    page_of(StatusCode::BAD_REQUEST, shown)
}

fn setting_up(
    visitor: &Visitor,
    offer: &SecondFactorOffer,
    faults: &Faults,
    refusal: Option<&SignInRefusal>,
) -> Response {
    let heading = if is_on(visitor) {
        "Another device"
    } else {
        "Turn the second factor on"
    };
    let content = html! {
        (account::crumb())
        h1 { (heading) }
        p { "Any authenticator app will do. All other browsers that you are signed in with, and tokens \
             that you signed in for, are signed out." }
        @if is_on(visitor) {
            p { "The device that you use now, and your recovery codes, count no more afterwards." }
        }
        (faults.summary())
        @if let Some(refusal) = refusal { (refused(refusal)) }
        h2 { "1. Show this to the app" }
        // Without the picture the secret can still be typed.
        @if let Some(picture) = qr::picture(&offer.uri, "The secret, for the camera of the device") {
            (picture)
        }
        p { "Or type it: " code.typed { (grouped(&offer.typed)) } }
        h2 { "2. Give the code that it shows" }
        (device_form(visitor, offer, faults))
    };
    FramedPage::new(visitor, heading, ConsoleSection::Account).show(content)
}

fn device_form(visitor: &Visitor, offer: &SecondFactorOffer, faults: &Faults) -> Markup {
    html! {
        form.stack.narrow method="post" action="/account/second-factor" {
            (parts::form_token(visitor))
            input type="hidden" name=(OFFERED) value=(offer.sealed);
            (LabelledField::new(FRESH.0, FRESH.1).faults(faults).code())
            (account::proof(visitor))
            button.main type="submit" { @if is_on(visitor) { "Use this device" } @else { "Turn it on" } }
        }
    }
}

/// In groups of four, as people read it out.
fn grouped(typed: &str) -> String {
    let mut text = String::with_capacity(typed.len() + typed.len() / 4);
    // Base32 is ASCII, so byte positions are letter positions.
    for (place, letter) in typed.char_indices() {
        if place > 0 && place.is_multiple_of(4) {
            text.push(' ');
        }
        text.push(letter);
    }
    text
}

/// The only page that ever shows the codes. They are in no address, and browsers keep no copy of the page.
fn shown_once(visitor: &SignedInUser, heading: &str, codes: &RecoveryCodes) -> Response {
    let content = html! {
        (account::crumb())
        h1 { (heading) }
        p { "These codes sign you in when the device is lost, each of them once. They are shown this once: write \
             them down, and keep them apart from the device. One of them and your password are enough to sign in." }
        // `tabindex` lets keys scroll the codes where they do not fit.
        pre tabindex="0" { @for code in codes.expose() { (code.as_str()) "\n" } }
        p { a.button.main href="/account" { "I have them" } }
    };
    FramedPage::new(visitor, heading, ConsoleSection::Account).show(content)
}

pub(crate) async fn show_off(visitor: Visitor) -> PageResult {
    Ok(asking(&visitor, &OFF, None))
}

pub(crate) async fn turn_off(
    State(console): State<Console>,
    visitor: Visitor,
    form: SentForm,
    head: Parts,
) -> EarlyResult {
    let again = |refusal: &SignInRefusal| asking(&visitor, &OFF, Some(refusal));
    let proven = prove(&console, &head, &visitor, &form, again).await?;
    let made = visitor.turn_off_second_factor(proven).await?;
    Ok(browser::enter(&console, &made, "/account?done=factor-off")?)
}

pub(crate) async fn show_codes(visitor: Visitor) -> PageResult {
    Ok(asking(&visitor, &CODES, None))
}

pub(crate) async fn renew_codes(
    State(console): State<Console>,
    visitor: Visitor,
    form: SentForm,
    head: Parts,
) -> EarlyResult {
    let again = |refusal: &SignInRefusal| asking(&visitor, &CODES, Some(refusal));
    let proven = prove(&console, &head, &visitor, &form, again).await?;
    match visitor.renew_recovery_codes(proven).await? {
        Some(codes) => Ok(shown_once(&visitor, "New recovery codes", &codes)),
        // The second factor was turned off meanwhile.
        None => Ok(see_other("/account")),
    }
}

/// The confirmation before a change of the second factor.
struct FactorChange {
    path: &'static str,
    heading: &'static str,
    about: &'static str,
    button: &'static str,
    class: &'static str,
}

const OFF: FactorChange = FactorChange {
    path: "/account/second-factor/off",
    heading: "Turn the second factor off",
    about: "The password alone is enough to sign in then. All other browsers that you are signed in with, and tokens \
         that you signed in for, are signed out.",
    button: "Turn it off",
    class: "danger",
};

const CODES: FactorChange = FactorChange {
    path: "/account/recovery-codes",
    heading: "New recovery codes",
    about: "The ones that you have count no more then.",
    button: "Make new ones",
    class: "main",
};

fn asking(visitor: &Visitor, asking: &FactorChange, refusal: Option<&SignInRefusal>) -> Response {
    let content = html! {
        (account::crumb())
        h1 { (asking.heading) }
        @if is_on(visitor) {
            p { (asking.about) }
            @if let Some(refusal) = refusal { (refused(refusal)) }
            form.stack.narrow method="post" action=(asking.path) {
                (parts::form_token(visitor))
                (account::proof(visitor))
                button.(asking.class) type="submit" { (asking.button) }
            }
        } @else {
            p { "There is no second factor. " a href="/account/second-factor" { "Turn it on" } " first." }
        }
    };
    FramedPage::new(visitor, asking.heading, ConsoleSection::Account).show(content)
}

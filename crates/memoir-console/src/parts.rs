//! Parts of pages: the frame around each of them, and elements of several.

use axum::response::Response;
use maud::{DOCTYPE, Markup, html};
use memoir_app::{SessionFacts, SignedInUser};
use memoir_domain::{Timestamp, rewind::RewindPreview, session::State};

use crate::{
    answer::page,
    assets::{self, PageScript},
    browser::{Owner, Visitor},
    form, words,
};

/// Which part of the console a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConsoleSection {
    Fleet,
    Activity,
    Audit,
    Account,
}

/// Bytes of a name that is never broken; a longer one is where a row has no room for it.
pub(crate) const UNBROKEN: usize = 24;

/// What was just done, by the word in the address after a form was sent; `None` for an unknown word.
fn done_text(word: &str) -> Option<&'static str> {
    Some(match word {
        "created" => "The agent is made. Its program needs a token.",
        "configured" => "The settings are saved.",
        "configured_with_placeholders" => {
            "The settings are saved. A new prompt holds a placeholder such as %{name}. Nothing fills it here: the model \
             is sent it as written."
        }
        "unchanged" => "Nothing was different, so nothing was changed.",
        "revoked" => "The token is revoked: it is not valid any more.",
        "erased" => "The agent is erased. Its key is destroyed, and its name is free again.",
        "rewound" => {
            "The agent’s memories are what they were at that point. This is the record of it."
        }
        "paused" => "The agent is paused: the schedule skips it.",
        "resumed" => "The agent is not paused any more.",
        "protect" => {
            "The memory is constitutional now: no session can delete, consolidate or archive it."
        }
        "unprotect" => "The memory is not constitutional any more.",
        "discard" => "The memory is discarded; it can be restored.",
        "restore" => "The memory is restored.",
        "selected" => "It is done for each selected memory that permits it.",
        "none-selected" => "No memory was selected, so nothing was changed.",
        "promote" => "The memory is core again, and back in the prompt.",
        "edited" => {
            "The new text is saved, and the one before is in the archive under it. The agent is notified."
        }
        "unedited" => {
            "The edit is undone: its text is discarded, and the one before is back in the prompt."
        }
        "shredded" => "The memory is shredded: its text is removed for good.",
        "rolled-back" => "The session was rolled back.",
        "cancelled" => "The session was cancelled; its edits stay.",
        "applied" => "The rehearsal was applied: this is the session that applied it.",
        "asked" => "The agent is asked. This page shows its answer when there is one.",
        "granted" => "Access is granted, in the agent’s name.",
        "refused" => "The request is refused, in the agent’s name.",
        "taken-back" => "It is revoked: nothing can be done under it any more.",
        "signed-out" => "You are signed out.",
        "signed-out-everywhere" => {
            "You are signed out everywhere: other browsers and tokens that you signed in for included."
        }
        "start-over" => {
            "Nothing was done: that took too long, or you were signed out meanwhile. Sign in once more."
        }
        "ended" => "It is signed out.",
        "password" => "The password is changed, and everything else is signed out.",
        "factor-off" => "The second factor is off, and everything else is signed out.",
        "first" => {
            "You are the first administrator, and the link opens nothing any more. A second factor makes your account safer."
        }
        _ => return None,
    })
}

/// The sign of Memoir on a browser's tab, in the page itself: a file would be one more request.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect \
    width='16' height='16' rx='3' fill='%230b6a66'/%3E%3Cpath d='M4 12V4.5L8 9l4-4.5V12' fill='none' stroke='%23fff' \
    stroke-width='1.8'/%3E%3C/svg%3E";

fn head(title: &str, scripts: &[PageScript]) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) " · Memoir" }
            (assets::tags(scripts))
            // The page is painted once it is complete: columns of a growing table would move.
            link rel="expect" href="#foot" blocking="render";
            link rel="icon" href=(ICON);
        }
    }
}

/// A page for a visitor that is not signed in, or without a result.
pub(crate) fn bare(title: &str, content: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(title, &[]))
            body.bare {
                main #main { (content) }
                // The head waits for this element.
                div #foot {}
            }
        }
    }
}

pub(crate) struct FramedPage {
    title: String,
    scripts: &'static [PageScript],
    above: Markup,
    /// What comes before the content: nothing, or what the pages of one agent have in common.
    head: Markup,
    below: Markup,
}

impl FramedPage {
    pub(crate) fn new(
        visitor: &SignedInUser,
        title: impl Into<String>,
        place: ConsoleSection,
    ) -> Self {
        let below = below("No text of an agent’s memory is on these pages.");
        Self::framed(title, top(visitor, place), below)
    }

    /// A page with this above its content, and with that line below it.
    pub(crate) fn framed(title: impl Into<String>, above: Markup, below: Markup) -> Self {
        Self {
            title: title.into(),
            scripts: &[],
            above,
            head: html! {},
            below,
        }
    }

    pub(crate) fn headed(mut self, head: Markup) -> Self {
        self.head = head;
        self
    }

    /// A page with text that an access grant covers, under this banner.
    pub(crate) fn reading(mut self, banner: &Markup) -> Self {
        self.above = html! { (self.above) (banner) };
        self.below =
            below("This page shows text while the access grant lasts; each read is audited.");
        self
    }

    pub(crate) fn scripts(mut self, scripts: &'static [PageScript]) -> Self {
        self.scripts = scripts;
        self
    }

    /// The page, with this in its frame.
    pub(crate) fn show(&self, content: Markup) -> Response {
        page(html! {
            (DOCTYPE)
            html lang="en" {
                (head(&self.title, self.scripts))
                body {
                    a.skip href="#main" { "Skip to the content" }
                    (self.above)
                    // `tabindex` lets the skip link move the focus here, and not only the view.
                    main #main tabindex="-1" { (notice()) (self.head) (content) }
                    footer #foot {
                        p { "Memoir " (env!("CARGO_PKG_VERSION")) ". Times are in " (words::zone_name()) ". " (self.below) }
                    }
                }
            }
        })
    }
}

/// The line below the pages of the console.
fn below(about: &str) -> Markup {
    html! {
        (about) br;
        a href="/docs" { "Documentation" } " · " a href="/docs#errors" { "Help with errors" }
    }
}

fn top(visitor: &SignedInUser, place: ConsoleSection) -> Markup {
    let entry = |path: &str, text: &str, own: ConsoleSection| {
        // `aria-current` is `true` and not `page`, since the page may lie below the section that is linked.
        let current = (place == own).then_some("true");
        html! { a href=(path) aria-current=[current] { (text) } }
    };
    html! {
        header.top {
            span.brand { "Memoir" }
            nav aria-label="Console" {
                (entry("/", "Fleet", ConsoleSection::Fleet))
                (entry("/activity", "Activity", ConsoleSection::Activity))
                (entry("/audit", "Audit", ConsoleSection::Audit))
            }
            details.who {
                summary { (visitor.user.name) }
                div.menu {
                    a.button href="/account" { "Your account" }
                    // Signing out is a form, since any page could lead a user to a link unawares.
                    (button(visitor, "/sign-out", "Sign out", "Sign out", ""))
                    (button(visitor, "/sign-out-everywhere", "Sign out everywhere",
                        "Sign out everywhere", ""))
                }
            }
        }
    }
}

tokio::task_local! {
    /// What was just done, for the page that is made.
    static DONE: Option<&'static str>;
}

/// Makes a page that reports what was just done, by the word `done` in the query of its address.
pub(crate) async fn with_notice_of<T>(query: Option<&str>, making: impl Future<Output = T>) -> T {
    let pairs: Vec<(String, String)> = form::query(query).unwrap_or_default();
    let word = pairs.iter().find(|(name, _)| name == "done");
    // By a word and not by the text itself: a link could make the page say anything otherwise.
    let text = word.and_then(|(_, word)| done_text(word));
    DONE.scope(text, making).await
}

/// Reports what was just done; nothing for an unknown word.
pub(crate) fn notice() -> Markup {
    html! {
        @if let Ok(Some(text)) = DONE.try_with(|text| *text) {
            p.notice role="status" { (text) }
        }
    }
}

/// The field that every form of a page has.
pub(crate) fn form_token(visitor: &impl HasFormToken) -> Markup {
    html! { input type="hidden" name=(form::TOKEN) value=(visitor.form_token()); }
}

/// The user of a page, whose forms have a token.
pub(crate) trait HasFormToken {
    /// The token in the forms of this browser's pages.
    fn form_token(&self) -> &str;
}

macro_rules! with_form_token {
    ($($user:ty),+) => {$(
        impl HasFormToken for $user {
            fn form_token(&self) -> &str {
                &self.form_token
            }
        }
    )+};
}

with_form_token!(SignedInUser, Visitor, Owner);

/// A form with only a button. `name` says in full what it does; `class` sets its style.
pub(crate) fn button(
    visitor: &impl HasFormToken,
    path: &str,
    text: &str,
    name: &str,
    class: &str,
) -> Markup {
    let label = (name != text).then_some(name);
    html! {
        form.inline method="post" action=(path) {
            (form_token(visitor))
            button.(if class.is_empty() { "quiet" } else { class }) type="submit" aria-label=[label] { (text) }
        }
    }
}

/// A box to tick, without a hint.
pub(crate) fn check(name: &str, text: &str, is_ticked: bool) -> Markup {
    html! {
        div.check {
            input id=(name) name=(name) type="checkbox" value="yes" checked[is_ticked];
            label for=(name) { (text) }
        }
    }
}

/// A share of a whole as a bar; the figures are beside it.
pub(crate) fn bar(part: u64, whole: u64) -> Markup {
    bar_with_line(part, whole, None)
}

/// As [`bar`], with a mark at what the part must not fall below.
pub(crate) fn bar_with_line(part: u64, whole: u64, line: Option<u64>) -> Markup {
    // A core size may exceed its budget; the bar is full then.
    let width = words::percent(part, whole).min(100);
    let fill = match line {
        Some(line) if part < line => "fill over",
        Some(line) if is_near(part, line, whole) => "fill near",
        _ if part > whole => "fill over",
        _ => "fill",
    };
    html! {
        svg.bar viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" focusable="false" {
            rect.track width="100" height="6" {}
            rect class=(fill) width=(width) height="6" {}
            @if let Some(line) = line {
                // The gap makes the line visible on a bar of any shade.
                @let path = format!("M{} 0v6", words::percent(line, whole).min(100));
                path.gap d=(path) {}
                path.line d=(path) {}
            }
        }
    }
}

/// Whether less than a third is left of what may go before `part` of `whole` falls to the line.
pub(crate) fn is_near(part: u64, line: u64, whole: u64) -> bool {
    part.saturating_sub(line).saturating_mul(3) < whole.saturating_sub(line)
}

pub(crate) fn time(at: Timestamp) -> Markup {
    html! { time datetime=(at) { (words::minute(at)) } }
}

pub(crate) fn second(at: Timestamp) -> Markup {
    html! { time datetime=(at) { (words::second(at)) } }
}

/// How far a time is from now; its title is the time itself.
pub(crate) fn relative(at: Timestamp, now: Timestamp) -> Markup {
    let exact = format!("{} {}", words::minute(at), words::zone_name());
    html! { time datetime=(at) title=(exact) { (words::relative(at, now)) } }
}

/// A time, or a text where there is none.
pub(crate) fn time_or(at: Option<Timestamp>, none: &str) -> Markup {
    html! {
        @match at {
            Some(at) => (time(at)),
            None => span.none { (none) },
        }
    }
}

pub(crate) fn state(session: &SessionFacts) -> Markup {
    let class = match session.state {
        State::Queued | State::Asking | State::Open => "badge running",
        State::Completed => "badge good",
        State::RolledBack | State::Failed => "badge bad",
        State::Declined | State::Abandoned => "badge plain",
    };
    html! {
        span class=(class) { (session.state.label()) }
        @if session.rehearsal { " " span.badge.plain { "rehearsal" } }
        @if session.undone_at.is_some() { " " span.badge.plain { "undone" } }
    }
}

/// The name of an actor, or an identifier. An identifier in it is shown by its end, and is whole in the title.
pub(crate) fn named(name: &str) -> Markup {
    let shown = words::shortened(name);
    html! { @if shown == name { (name) } @else { span title=(name) { (shown) } } }
}

pub(crate) fn pair(name: &str, value: Markup) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

/// As [`pair`], in a line of its own.
pub(crate) fn wide(name: &str, value: Markup) -> Markup {
    html! { div.wide { dt { (name) } dd { (value) } } }
}

/// The changes to memories by an undo, in a list of pairs.
pub(crate) fn become_different(changes: &RewindPreview) -> Markup {
    let parts = [
        ("Active again", changes.returning),
        ("Discarded", changes.discarded),
        ("Another text", changes.reworded),
    ];
    let moves = [
        ("Moved to the archive", changes.archived),
        ("Back in the prompt", changes.promoted),
    ];
    let named: u64 = parts.iter().chain(&moves).map(|(_, count)| count).sum();
    let rare = moves
        .into_iter()
        .chain([("Changed otherwise", changes.changed.saturating_sub(named))]);
    let parts = parts
        .into_iter()
        .chain(rare.filter(|(_, count)| *count > 0));
    html! {
        (pair("Core size", html! {
            (words::number(changes.core_tokens_before)) " → "
            (words::number(changes.core_tokens_after)) " tokens"
        }))
        @for (name, count) in parts {
            (pair(name, html! { (words::counted(count, "memory", "memories")) }))
        }
    }
}

/// The headings of a table's columns; those at the indices `figures`, from 0, are of figures.
pub(crate) fn headings(names: &[&str], figures: &[usize]) -> Markup {
    html! {
        thead role="rowgroup" { tr role="row" {
            @for (place, name) in names.iter().enumerate() {
                th role="columnheader" scope="col" class=[figures.contains(&place).then_some("figure")] { (name) }
            }
        } }
    }
}

/// A table with a caption that only screen readers read; the names and `figures` are those of [`headings`].
pub(crate) fn table(caption: &str, names: &[&str], figures: &[usize], rows: Markup) -> Markup {
    html! {
        table.cards role="table" {
            caption.hidden { (caption) }
            (headings(names, figures))
            tbody role="rowgroup" { (rows) }
        }
    }
}

/// Links to the newest entries of a list, and to those that are older than on this page.
pub(crate) fn older(newest: Option<&str>, older: Option<&str>) -> Markup {
    let newest = newest.map(|path| (path, "← Newest"));
    pages("Pages", newest, older.map(|path| (path, "Older →")))
}

/// Links to the beginning of a list, and to its next page.
pub(crate) fn further(first: Option<&str>, next: Option<&str>) -> Markup {
    let first = first.map(|path| (path, "← From the beginning"));
    pages("Pages", first, next.map(|path| (path, "Next page →")))
}

pub(crate) fn pages(
    label: &str,
    before: Option<(&str, &str)>,
    after: Option<(&str, &str)>,
) -> Markup {
    html! {
        @if before.is_some() || after.is_some() {
            nav.pages aria-label=(label) {
                @for (path, text) in before.into_iter().chain(after) {
                    a href=(path) { (text) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_warns_near_its_line_and_below_it() {
        let fill = |part| {
            let bar = bar_with_line(part, 100, Some(70)).into_string();
            ["near", "over"].map(|class| bar.contains(&format!("fill {class}")))
        };
        assert_eq!(fill(100), [false, false]);
        assert_eq!(fill(80), [false, false]);
        assert_eq!(fill(79), [true, false]);
        assert_eq!(fill(70), [true, false]);
        assert_eq!(fill(69), [false, true]);
    }
}

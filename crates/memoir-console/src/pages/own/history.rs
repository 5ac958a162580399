//! The history of one memory, as a tree: its events, and below it the memories whose place it took.

use std::collections::BTreeSet;

use maud::{Markup, html};
use memoir_domain::{
    PrivateText,
    history::{EventMeaning, MemoryEvent, MemoryHistory, saved_as},
    memory::{Memory, Number, Place},
};

use super::{
    super::reading::{numbers, said},
    who,
};
use crate::parts;

/// Deeper trees continue on the page of the memory at this depth.
const DEEPEST: usize = 12;

/// The memory of that number with all its sources; links lead below `path`.
pub(super) fn tree(history: &MemoryHistory, number: Number, path: &str) -> Markup {
    let mut tree = Tree {
        history,
        path,
        seen: BTreeSet::new(),
    };
    let went_into = history.memories.get(&number);
    let went_into = went_into.map_or(&[][..], |story| story.went_into.as_slice());
    html! {
        @if !went_into.is_empty() {
            p { "Its place was taken by " (numbers(went_into, Some(path))) "." }
        }
        ul.tree { li { (tree.node(number, 0)) } }
    }
}

struct Tree<'a> {
    history: &'a MemoryHistory,
    path: &'a str,
    /// The memories that are drawn.
    seen: BTreeSet<Number>,
}

impl Tree<'_> {
    fn node(&mut self, number: Number, depth: usize) -> Markup {
        let Some(story) = self.history.memories.get(&number) else {
            return html! {};
        };
        let is_new = self.seen.insert(number);
        let below = story.parents.iter().chain(&story.duplicates);
        let below: Vec<Number> = below.copied().collect();
        html! {
            p.node { (numbers(&[number], Some(self.path)))
                @if !is_new { " " span.of { "as above" } } }
            @if is_new {
                @for event in &story.events { (self.event(event)) }
                @if depth == DEEPEST && !below.is_empty() {
                    p.of { "It took the place of " (numbers(&below, Some(self.path))) "." }
                } @else if !below.is_empty() {
                    ul.tree { @for number in below { li { (self.node(number, depth + 1)) } } }
                }
            }
        }
    }

    fn event(&self, event: &MemoryEvent) -> Markup {
        let (what, text) = self.meaning(event);
        // A shredded text cannot be restored.
        let is_undone = !event.effective && event.what != EventMeaning::Shredded;
        html! {
            div.event {
                p { (parts::time(event.recorded_at)) " " (what)
                    @if is_undone { " " span.badge.plain { "undone later" } }
                    span.of { " · " (who(&event.actor))
                        @if event.session.is_some() { " · in a session" } } }
                @if let Some(text) = text.filter(|text| !text.expose().is_empty()) { (said(text.expose())) }
            }
        }
    }

    /// What happened, and the text that there was then.
    fn meaning<'e>(&self, event: &'e MemoryEvent) -> (Markup, Option<&'e PrivateText>) {
        let plain = |text: &str| (html! { (text) }, None);
        let linked =
            |text: &str, of: &[Number]| html! { (text) " " (numbers(of, Some(self.path))) };
        match &event.what {
            EventMeaning::Saved { kind, content } => (html! { (saved_as(*kind)) }, Some(content)),
            EventMeaning::Merged { from, content } => {
                (linked("written in place of", from), Some(content))
            }
            EventMeaning::MergedInto { number } => {
                (linked("its place was taken by", &[*number]), None)
            }
            EventMeaning::TookDoubles { numbers } => {
                (linked("joined with its duplicates", numbers), None)
            }
            EventMeaning::DeduplicatedInto { number } => {
                (linked("joined as a duplicate of", &[*number]), None)
            }
            EventMeaning::Reworded { from, to } if from == to => {
                plain("moved to the archive, in favour of a new text")
            }
            EventMeaning::Reworded { to, .. } => (html! { "rewritten" }, Some(to)),
            EventMeaning::Deleted => plain(event.action.label()),
            EventMeaning::Protected => plain("made constitutional"),
            EventMeaning::Unprotected => plain("no longer constitutional"),
            EventMeaning::Discarded => plain("discarded"),
            EventMeaning::Restored => plain("restored"),
            EventMeaning::Shredded => plain("shredded: its text is removed"),
            EventMeaning::WentBack { to } => {
                let text = to.is_active().then_some(&to.content);
                (self.changed(event, to), text)
            }
            EventMeaning::Changed { to } => (self.changed(event, to), None),
        }
    }

    fn changed(&self, event: &MemoryEvent, to: &Memory) -> Markup {
        html! { (event.action.label()) ": "
            @match (to.is_active(), to.place) {
                (false, _) => "discarded",
                (true, Place::Archival(archived)) => { "in the archive"
                    @if let Some(under) = archived.under { ", under " (numbers(&[under], Some(self.path))) } },
                (true, Place::Journal) => "in the journal",
                (true, Place::Core) if to.is_constitutional() => "core, constitutional",
                (true, Place::Core) => "core",
            }
        }
    }
}

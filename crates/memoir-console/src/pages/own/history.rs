//! The history of one memory, as a tree: its events, and below it the memories whose place it took.

use std::collections::BTreeSet;

use maud::{Markup, html};
use memoir_domain::{
    history::{EventMeaning, MemoryEvent, MemoryHistory},
    memory::Number,
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
        let (what, of) = event.words();
        let text = event.texts().map(|(_, after)| after);
        // A shredded text cannot be restored.
        let is_undone = !event.effective && event.what != EventMeaning::Shredded;
        html! {
            div.event {
                p { (parts::time(event.recorded_at)) " " (what) " " (numbers(&of, Some(self.path)))
                    @if is_undone { " " span.badge.plain { "undone later" } }
                    span.of { " · " (who(&event.actor))
                        @if event.session.is_some() { " · in a session" } } }
                @if let Some(text) = text.filter(|text| !text.expose().is_empty()) { (said(text.expose())) }
            }
        }
    }
}

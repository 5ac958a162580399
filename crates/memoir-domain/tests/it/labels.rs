//! Every wire name has a label for people, and `docs/words.md` lists the same.

use std::{collections::BTreeSet, fmt::Write};

use memoir_domain::{
    absorption::MessageState,
    access::{AccessKindName, AccessScopeName, AccessState, RequestOver},
    agent::{DuplicateMatch, LossGuard, ReasoningEffort},
    audit::{Action, ActorKind},
    core_size::Cause,
    memory::Kind,
    origin::Origin,
    schedule::SkipReason,
    session::{Driver, EndReason, FailureClass, Health, Mode, State, Trigger},
    tools::{RefusalCode, Tool},
};

type Words = Vec<(&'static str, &'static str)>;

fn nouns() -> Vec<(&'static str, Words)> {
    macro_rules! words {
        ($of:ident) => {
            $of::ALL.map(|one| (one.as_str(), one.label())).to_vec()
        };
    }
    vec![
        ("What a record says was done", words!(Action)),
        ("How a session stands", words!(State)),
        ("Which tools it has", words!(Mode)),
        ("Why it was begun", words!(Trigger)),
        ("Why it ended", words!(EndReason)),
        ("Why its model gave no response", words!(FailureClass)),
        ("Why the core size changed", words!(Cause)),
        ("Where a request for access stands", words!(AccessState)),
        (
            "What it asks for",
            // To read has the label of what is to be read.
            words!(AccessKindName)
                .into_iter()
                .filter(|(name, _)| *name != AccessKindName::Read.as_str())
                .chain(words!(AccessScopeName))
                .collect(),
        ),
        ("Why it is over", words!(RequestOver)),
        ("Which texts are one text", words!(DuplicateMatch)),
        ("What an edit may take out of the prompt", words!(LossGuard)),
        ("How much a model is to think", words!(ReasoningEffort)),
        ("What a session tool does", words!(Tool)),
        ("Why it refused a call", words!(RefusalCode)),
        ("How an agent is", words!(Health)),
        (
            "Why the schedule never begins a session",
            words!(SkipReason),
        ),
    ]
}

#[test]
fn every_name_has_words_of_its_own_for_people() {
    for (noun, words) in nouns() {
        let told: BTreeSet<_> = words.iter().map(|(_, said)| *said).collect();
        assert_eq!(told.len(), words.len(), "{noun}: two are called the same");
        for (name, said) in words {
            assert!(!said.is_empty() && !said.contains('_'), "{name}: {said}");
        }
    }
}

#[test]
fn names_without_words_are_words_themselves() {
    macro_rules! names {
        ($($of:ident),+) => { [$($of::ALL.map($of::as_str).to_vec()),+].concat() };
    }
    for name in names!(Kind, Origin, ActorKind, Driver, MessageState) {
        assert!(!name.contains('_'), "{name}");
    }
}

#[test]
fn the_page_of_words_is_the_table() {
    let page = include_str!("../../../../docs/words.md");
    let mut table = String::new();
    for (noun, words) in nouns() {
        writeln!(table, "\n## {noun}\n\n| name | words |\n|---|---|").unwrap();
        for (name, said) in words {
            writeln!(table, "| `{name}` | {said} |").unwrap();
        }
    }
    let (_, there) = page.split_once("\n\n").unwrap();
    let there = there
        .split_once("\n## ")
        .map(|(_, rest)| format!("\n## {rest}"));
    assert_eq!(
        there.as_deref(),
        Some(table.as_str()),
        "docs/words.md is to end with this:{table}"
    );
}

//! What holds after any sequence of calls of any tool, whatever is saved before and between, and by whom:
//! the invariant, the limits of every age, and origins (SPEC 2.4, 3.12, 3.14).
//!
//! Each is held by a book-keeping of its own, and not by the code that decides. The sentences are made of words
//! none of which is free, so that what a text says can be told by its bare words in their order.

use std::collections::BTreeSet;

use memoir_domain::{
    audit::{ActorKind, Change},
    memory::{Memory, NewMemory, Number},
    session::{Mode, State},
    wording::{LetGo, Origin, SavedBy, Wording, WordingId},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    properties::finish,
    world::{World, core},
};

/// One thing that somebody does. Memories are meant by their place among the kept ones.
#[derive(Debug, Clone)]
enum Move {
    Delete(usize),
    /// Takes a word out of a memory.
    DropWord(usize, usize),
    /// Leaves a sentence out of a memory.
    DropSentence(usize, usize),
    /// Puts memories side by side, perhaps without some of their sentences.
    Unite(Vec<usize>, usize),
    /// Puts the beginning of one before the end of another.
    Cross(usize, usize),
    /// Gives one memory the text of another.
    Copy(usize, usize),
    Protect(usize),
    Save(NewMemory),
    /// Somebody discards it, or brings the last one back.
    Discard(usize),
    Restore,
    /// The session ends in one of three ways, some days pass, and another one begins.
    Next(u8, i64),
}

const ORIGINS: [(Origin, ActorKind, &str); 5] = [
    (Origin::Agent, ActorKind::Agent, "own"),
    (Origin::Administrator, ActorKind::Administrator, "ordered"),
    (Origin::Conversation, ActorKind::Agent, "overheard"),
    (Origin::Import, ActorKind::Agent, "imported"),
    (Origin::External, ActorKind::Agent, "quoted"),
];

/// A sentence of six words in which the origin of the text can be told.
fn sentence(mark: &'static str) -> impl Strategy<Value = String> {
    let of = |words: &'static [&'static str]| prop::sample::select(words);
    let who = of(&["Ann", "Bob", "Eli"]);
    let does = of(&["paints", "mends", "sells"]);
    let size = of(&["large", "small"]);
    let what = of(&["boats", "clocks", "kites"]);
    (who, does, size, what).prop_map(move |(who, does, size, what)| {
        format!("{who} {does} {size} {mark} wooden {what}.")
    })
}

fn saved() -> impl Strategy<Value = NewMemory> {
    let origin = prop_oneof![6 => Just(0usize), 1 => Just(1usize), 3 => 2usize..5];
    origin.prop_flat_map(|place| {
        let (origin, added_by, mark) = ORIGINS[place];
        let text = prop::collection::vec(sentence(mark), 1..4);
        (text, 1u8..4).prop_map(move |(sentences, day)| NewMemory {
            door: SavedBy { origin, added_by },
            ..core(&sentences.join(" "), &format!("2026-01-{day:02}"), &[])
        })
    })
}

fn step() -> impl Strategy<Value = Move> {
    let place = || 0usize..40;
    let many = prop::collection::vec(place(), 2..4);
    prop_oneof![
        6 => place().prop_map(Move::Delete),
        4 => (place(), 0usize..20).prop_map(|(one, word)| Move::DropWord(one, word)),
        3 => (place(), 0usize..3).prop_map(|(one, sentence)| Move::DropSentence(one, sentence)),
        6 => (many, 0usize..12).prop_map(|(all, without)| Move::Unite(all, without)),
        1 => (place(), place()).prop_map(|(one, two)| Move::Cross(one, two)),
        1 => (place(), place()).prop_map(|(one, two)| Move::Copy(one, two)),
        2 => place().prop_map(Move::Protect),
        3 => saved().prop_map(Move::Save),
        1 => place().prop_map(Move::Discard),
        1 => Just(Move::Restore),
        2 => (0u8..3, prop::sample::select(vec![7i64, 7, 7, 200])).prop_map(|(end, days)| Move::Next(end, days)),
    ]
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace()
        .map(|word| word.trim_end_matches('.'))
        .collect()
}

fn sentences(text: &str) -> Vec<&str> {
    text.split_inclusive('.')
        .map(str::trim)
        .filter(|one| !one.is_empty())
        .collect()
}

/// Whether all that is missing of the sentences wanted, each beside one of those present or beside none, is
/// among the words let go, each of which counts once.
fn is_accounted(wanted: &[Vec<&str>], present: &[Vec<&str>], let_go: &[&str]) -> bool {
    let Some((first, rest)) = wanted.split_first() else {
        return true;
    };
    let nothing = Vec::new();
    present.iter().chain([&nothing]).any(|there| {
        let left = without(let_go, &lacking(first, there));
        left.is_some_and(|left| is_accounted(rest, present, &left))
    })
}

struct Play {
    world: World,
    last_discarded: Option<u64>,
    /// Made constitutional by a session.
    protected: BTreeSet<Number>,
}

impl Play {
    fn number(&self, place: usize) -> u64 {
        let kept = self.world.kept_core();
        kept[place % kept.len()]
    }

    /// Makes the call, and makes it again with the code where it is asked about.
    fn call(&mut self, tool: &str, mut arguments: Value) {
        let was_protected = |play: &Self, number| play.world.memories[&number].is_constitutional();
        let named = arguments["id"].as_u64().map(Number);
        let before = named.is_some_and(|number| was_protected(self, number));
        let mut result = self.world.call_whole(tool, arguments.clone());
        if let Some(code) = result["confirm"].as_str() {
            arguments["confirm"] = json!(code);
            result = self.world.call_whole(tool, arguments);
        }
        if result["type"] == "protected" {
            let number = Number(result["number"].as_u64().unwrap());
            if !before {
                self.protected.insert(number);
            }
        }
        if result["type"] != "error" && self.world.session().state == State::Open {
            self.check_limits();
        }
    }

    fn make(&mut self, step: &Move) {
        let text = |play: &Self, number: u64| play.world.text(number).to_owned();
        match step {
            Move::Delete(place) => {
                let id = self.number(*place);
                self.call("delete_memory", json!({"id": id}));
            }
            Move::DropWord(place, word) => {
                let id = self.number(*place);
                let text = text(self, id);
                let mut all: Vec<&str> = text.split(' ').collect();
                all.remove(word % all.len());
                self.call("update_memory", json!({"id": id, "content": all.join(" ")}));
            }
            Move::DropSentence(place, sentence) => {
                let id = self.number(*place);
                let text = text(self, id);
                let mut all = sentences(&text);
                all.remove(sentence % all.len());
                self.call("update_memory", json!({"id": id, "content": all.join(" ")}));
            }
            Move::Unite(places, without) => {
                let ids: BTreeSet<u64> = places.iter().map(|place| self.number(*place)).collect();
                let texts: Vec<String> = ids.iter().map(|id| text(self, *id)).collect();
                let mut all: Vec<&str> = Vec::new();
                for one in texts.iter().flat_map(|text| sentences(text)) {
                    if !all.contains(&one) {
                        all.push(one);
                    }
                }
                if *without < all.len() {
                    all.remove(*without);
                }
                let call = json!({"ids": ids, "content": all.join(" ")});
                self.call("consolidate_memories", call);
            }
            Move::Cross(one, two) => {
                let (one, two) = (self.number(*one), self.number(*two));
                let (a, b) = (text(self, one), text(self, two));
                let (a, b): (Vec<&str>, Vec<&str>) =
                    (a.split(' ').collect(), b.split(' ').collect());
                let crossed = [&a[..a.len() / 2], &b[b.len() / 2..]].concat().join(" ");
                let call = json!({"ids": [one, two], "content": crossed});
                self.call("consolidate_memories", call);
            }
            Move::Copy(one, two) => {
                let (one, two) = (self.number(*one), self.number(*two));
                let content = text(self, two);
                self.call("update_memory", json!({"id": one, "content": content}));
            }
            Move::Protect(place) => {
                let id = self.number(*place);
                self.call("protect_memory", json!({"id": id}));
            }
            Move::Save(memory) => {
                self.world.save(memory.clone());
            }
            Move::Discard(place) => {
                let number = self.number(*place);
                if !self.world.memory(number).is_constitutional()
                    && self.world.kept_core().len() > 2
                {
                    self.world.discard(number);
                    self.last_discarded = Some(number);
                }
            }
            Move::Restore => {
                if let Some(number) = self.last_discarded.take()
                    && !self.world.memory(number).is_kept()
                {
                    self.world.restore(number);
                }
            }
            Move::Next(end, days) => {
                finish(&mut self.world, *end);
                self.world.now = self.world.now.plus_days(*days);
                self.world.open(Mode::Full);
            }
        }
    }

    /// Every sentence of every wording is said by the memory that stands for it, but for the words that
    /// were let go on the record; and every one that is not discarded is stood for.
    fn check_said(&self) {
        for memory in self
            .world
            .memories
            .values()
            .filter(|one| one.is_kept_core())
        {
            let present: Vec<Vec<&str>> = sentences(memory.content.expose())
                .into_iter()
                .map(words)
                .collect();
            for wording in &memory.wordings {
                let given = self.given(wording.id());
                let let_go: Vec<&str> = wording
                    .let_go
                    .iter()
                    .flat_map(|one| one.lost.iter().map(|word| word.expose()))
                    .collect();
                let wanted: Vec<Vec<&str>> = sentences(&given).into_iter().map(words).collect();
                assert!(
                    is_accounted(&wanted, &present, &let_go),
                    "{}: words are gone off the record",
                    memory.number
                );
            }
        }
        // Nobody who was given words is gone without an heir, a mark, or somebody who discarded it.
        let stood_for: BTreeSet<WordingId> = self
            .counted()
            .iter()
            .map(|(_, wording)| wording.id())
            .collect();
        for memory in self.world.memories.values() {
            let is_own = |wording: &&Wording| wording.number == memory.number;
            for wording in memory.wordings.iter().filter(is_own) {
                let is_discarded_outside = self.is_discarded_outside(memory);
                assert!(
                    stood_for.contains(&wording.id()) || is_discarded_outside,
                    "{}",
                    memory.number
                );
            }
        }
    }

    /// Whether somebody outside of a session discarded it, or an exact double of it, which says no words of
    /// its own and goes along.
    fn is_discarded_outside(&self, memory: &Memory) -> bool {
        let mut doubles = self.world.memories.values().filter(|other| {
            other.number == memory.number || !other.is_kept() && other.content == memory.content
        });
        doubles.any(|double| {
            let all = self.world.log.iter().rev();
            let mut own = all.filter(|record| {
                let mut changes = record.body.changes.iter();
                changes.any(|change| {
                    let is_discarded = |change: &Change| match change {
                        Change::Created(_) => false,
                        Change::Altered { before, .. } => {
                            before.is_kept() && !change.after().is_kept()
                        }
                    };
                    change.number() == double.number && is_discarded(change)
                })
            });
            own.next().is_some_and(|record| record.session.is_none())
        })
    }

    fn given(&self, id: WordingId) -> String {
        let record = &self.world.log[id.seq as usize - 1];
        memoir_domain::wording::text_in(record, id.number)
            .unwrap()
            .expose()
            .to_owned()
    }

    fn counted(&self) -> Vec<(Number, &Wording)> {
        let all = self.world.memories.values();
        all.flat_map(|memory| memory.counted_wordings().map(|one| (memory.number, one)))
            .collect()
    }

    /// For every age, what is let go of that age and older stays within the limits of what there is of it.
    fn check_limits(&self) {
        let (session, year) = (self.world.session().id, self.world.now.plus_days(-365));
        let counted = self.counted();
        let newest = self.world.last_record().seq;
        let is_new = |gone: &&LetGo| gone.seq == newest;
        let losing: Vec<&Wording> = counted
            .iter()
            .map(|(_, wording)| *wording)
            .filter(|wording| wording.origin != Origin::External)
            .filter(|wording| {
                wording
                    .let_go
                    .iter()
                    .any(|gone| gone.seq == newest && gone.words > 0)
            })
            .collect();
        let costs = |wording: &&&Wording| wording.origin != Origin::External;
        let of_year: Vec<&LetGo> = counted
            .iter()
            .map(|(_, wording)| wording)
            .filter(costs)
            .flat_map(|wording| &wording.let_go)
            .filter(|gone| gone.at > year)
            .collect();
        let sentences: u64 = of_year.iter().map(|gone| gone.sentences).sum();
        let words: u64 = of_year.iter().map(|gone| gone.words).sum();
        if losing.is_empty() || sentences <= 1 || words == 0 {
            return;
        }
        for last in &losing {
            let older = || {
                counted
                    .iter()
                    .map(|(_, wording)| *wording)
                    .filter(|wording| {
                        wording.id() <= last.id()
                            && wording.origin.weakness() <= last.origin.weakness()
                    })
            };
            let gone = |is: &dyn Fn(&LetGo) -> bool| -> u64 {
                let all = older().flat_map(|wording| &wording.let_go);
                all.filter(|one| is(one)).map(|one| one.words).sum()
            };
            let now: u64 = older()
                .flat_map(|wording| wording.let_go.iter().filter(is_new))
                .map(|gone| gone.words)
                .sum();
            let said: u64 = older().map(Wording::said_words).sum::<u64>() + now;
            let of_session = gone(&|one| one.session == session);
            assert!(
                50 * of_session <= said,
                "{of_session} of {said} in a session"
            );
            let of_year = gone(&|one| one.at > year);
            assert!(20 * of_year <= said, "{of_year} of {said} in a year");
        }
    }

    /// Nothing of a weaker origin is in a memory of a stronger one, and a session makes only what the agent
    /// and administrators said constitutional.
    fn check_origins(&self) {
        for memory in self
            .world
            .memories
            .values()
            .filter(|one| one.is_kept_core())
        {
            for (origin, _, mark) in ORIGINS {
                if words(memory.content.expose()).contains(&mark) {
                    assert!(
                        memory.origin().weakness() >= origin.weakness(),
                        "{}",
                        memory.number
                    );
                }
            }
            if self.protected.contains(&memory.number) && memory.is_constitutional() {
                assert_eq!(memory.origin().weakness(), 0, "{}", memory.number);
            }
        }
    }
}

/// The list without these words, each as often as it is among them; `None` where it has not all of them.
fn without<'a>(list: &[&'a str], gone: &[&str]) -> Option<Vec<&'a str>> {
    let mut left = list.to_vec();
    for word in gone {
        let place = left.iter().position(|other| other == word)?;
        left.swap_remove(place);
    }
    Some(left)
}

/// What of `wanted` does not stand in its order in `there`.
fn lacking<'a>(wanted: &[&'a str], there: &[&str]) -> Vec<&'a str> {
    let width = there.len() + 1;
    let mut most = vec![0_usize; (wanted.len() + 1) * width];
    for i in (0..wanted.len()).rev() {
        for j in (0..there.len()).rev() {
            most[i * width + j] = if wanted[i] == there[j] {
                most[(i + 1) * width + j + 1] + 1
            } else {
                most[(i + 1) * width + j].max(most[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut lacks) = (0, 0, Vec::new());
    while i < wanted.len() {
        if j < there.len() && wanted[i] == there[j] {
            (i, j) = (i + 1, j + 1);
        } else if j >= there.len() || most[(i + 1) * width + j] >= most[i * width + j + 1] {
            lacks.push(wanted[i]);
            i += 1;
        } else {
            j += 1;
        }
    }
    lacks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn spec_3_14_whoever_calls_what_every_word_is_said_or_let_go_within_the_limits_of_its_age(
        memories in prop::collection::vec(saved(), 8..30),
        guard in prop::sample::select(vec!["limit", "limit", "refuse"]),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut world = World::under(guard);
        for memory in memories {
            world.save(memory);
        }
        world.open(Mode::Full);
        let mut play = Play { world, last_discarded: None, protected: BTreeSet::new() };
        for step in &steps {
            play.make(step);
            play.check_said();
            play.check_origins();
            if guard == "refuse" {
                // What is quoted from outside may not go under it either.
                prop_assert_eq!(play.world.agent.tally.lost_words, 0);
            }
        }
        play.world.check_replay();
    }
}

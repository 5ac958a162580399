//! What holds after any sequence of calls by any model, and of acts by others between them.

use std::collections::{BTreeMap, BTreeSet};

use memoir_domain::{
    Timestamp,
    agent::{Field, LossGuard},
    audit::{Action, Change, Patch, Record, Setting},
    lifecycle::{self, SessionEnding},
    memory::{Kind, Memory, NewMemory, Number},
    origin::Origin,
    session::{EDIT_CAP, EndReason, Mode, State},
    tools::{SessionLimits, session_gauge},
};
use memoir_text::{is_same_text, same_text_key_ignoring_case};
use proptest::{prelude::*, sample::Index};
use serde_json::{Value, json};

use crate::world::{World, admin, core, padding};

/// A call of a model, or an act by others while a session runs or between sessions.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Delete(Vec<Pick>, Option<Pick>),
    Update(Pick, Text),
    Consolidate(Vec<Pick>, Text),
    Protect(Pick),
    Call(&'static str, Value),
    Set(Field, &'static str),
    Save(NewMemory, Vec<Pick>),
    Act(Act, u64),
}

/// A memory that a call names: one that is core as the call is made, or any number.
#[derive(Debug, Clone)]
pub(crate) enum Pick {
    Core(Index),
    Number(u64),
}

/// The text that a call gives.
#[derive(Debug, Clone)]
pub(crate) enum Text {
    /// That of the first memory named, in another form.
    Form(&'static str),
    /// So many words of it.
    Words(usize),
    /// Any other.
    Other(String),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Act {
    Promote,
    Discard,
    Restore,
    Protect,
    Unprotect,
}

pub(crate) fn number() -> impl Strategy<Value = u64> {
    prop_oneof![12 => 1u64..16, 1 => 16u64..40]
}

pub(crate) fn pick() -> impl Strategy<Value = Pick> {
    prop_oneof![12 => any::<Index>().prop_map(Pick::Core), 1 => number().prop_map(Pick::Number)]
}

/// Texts that are often the same, up to case or form, and are short or long.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "calm", "river", "Under", "green", "trees", "not", "4711", "Ana",
    ]);
    let words = prop::collection::vec(word, 1..4);
    let form = prop::sample::select(vec!["", "!", "."]);
    let size = prop::sample::select(vec![0, 0, 20, 100, 250, 400]);
    (words, form, size, prop::bool::weighted(0.2)).prop_map(|(words, form, size, is_upper)| {
        let text = words.join(" ");
        let text = if is_upper { text.to_uppercase() } else { text };
        match size {
            0 => text + form,
            size => format!("{text} {}{form}", padding(size)),
        }
    })
}

pub(crate) fn memory() -> impl Strategy<Value = NewMemory> {
    let tag = prop_oneof![
        6 => prop::sample::select(vec![&[][..], &["tea"]]),
        1 => prop::sample::select(vec![&["voice"][..], &["Somatic", "tea"]]),
    ];
    let kind =
        prop_oneof![12 => Just(Kind::Core), 1 => Just(Kind::Journal), 1 => Just(Kind::Archival)];
    let origin =
        prop_oneof![6 => Just(Origin::Agent), 1 => prop::sample::select(Origin::ALL.to_vec())];
    (
        text(),
        1u8..28,
        tag,
        kind,
        origin,
        prop::bool::weighted(0.07),
    )
        .prop_map(|(content, day, tags, kind, origin, constitutional)| {
            let memory = core(&content, &format!("2026-01-{day:02}"), tags);
            NewMemory {
                kind,
                constitutional,
                saved_by: memoir_domain::origin::SavedBy {
                    origin,
                    ..memory.saved_by
                },
                ..memory
            }
        })
}

pub(crate) fn memories() -> impl Strategy<Value = Vec<NewMemory>> {
    prop::collection::vec(memory(), 3..13)
}

fn call() -> impl Strategy<Value = Step> {
    let picks = |least: usize| prop::collection::vec(pick(), least..4);
    let of_member = || {
        prop_oneof![
            2 => prop::sample::select(vec!["", "!", "  "]).prop_map(Text::Form),
            4 => (1usize..4).prop_map(Text::Words),
            1 => text().prop_map(Text::Other),
        ]
    };
    let broken = prop_oneof![
        Just(json!({})),
        Just(json!(null)),
        Just(json!({"id": "#0", "ids": "1 2", "content": ""})),
        Just(json!({"id": 1, "content": "x".repeat(10_001)})),
    ];
    let tool = prop::sample::select(vec![
        "update_memory",
        "delete_memory",
        "protect_memory",
        "drop_table",
    ]);
    prop_oneof![
        12 => (picks(1), prop::option::weighted(0.2, pick())).prop_map(|(picks, by)| Step::Delete(picks, by)),
        8 => (pick(), of_member()).prop_map(|(pick, text)| Step::Update(pick, text)),
        12 => (picks(2), of_member()).prop_map(|(picks, text)| Step::Consolidate(picks, text)),
        1 => pick().prop_map(Step::Protect),
        1 => (tool, broken).prop_map(|(tool, arguments)| Step::Call(tool, arguments)),
    ]
}

fn set() -> impl Strategy<Value = Step> {
    prop_oneof![
        prop::sample::select(vec!["0.2", "0.6", "0.9"])
            .prop_map(|value| Step::Set(Field::RefinementThreshold, value)),
        prop::sample::select(vec!["1000", "1300", "5000"])
            .prop_map(|value| Step::Set(Field::CoreTokenBudget, value)),
        prop::sample::select(vec!["archive", "archive", "refuse"])
            .prop_map(|value| Step::Set(Field::LossGuard, value)),
    ]
}

/// Acts by others.
fn act() -> impl Strategy<Value = Step> {
    let replaces = prop::collection::vec(pick(), 0..3);
    let act = prop::sample::select(vec![
        Act::Promote,
        Act::Discard,
        Act::Restore,
        Act::Protect,
        Act::Unprotect,
    ]);
    prop_oneof![
        3 => (memory(), replaces).prop_map(|(memory, replaces)| Step::Save(memory, replaces)),
        3 => (act, number()).prop_map(|(act, number)| Step::Act(act, number)),
        1 => set(),
    ]
}

/// What may happen in a session that is rolled back without a trace: acts that change no memory of it.
pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        16 => call(),
        1 => set(),
        1 => memory().prop_map(|memory| Step::Save(memory, Vec::new())),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![5 => call(), 1 => act()]
}

/// An agent with a budget of 1,000 tokens, and a first memory of that size.
pub(crate) fn world_of(first: u64, memories: Vec<NewMemory>) -> World {
    let settings = [
        (Field::CoreTokenBudget, Some("1000")),
        (Field::RefinementThreshold, Some("0.5")),
    ];
    let mut world = World::of(&settings);
    world.save(core(&padding(first), "2025-12-01", &[]));
    for memory in memories {
        world.save(memory);
    }
    world
}

/// The size of the first memory: with it the agent is within its budget, or mostly over it.
pub(crate) fn first() -> impl Strategy<Value = u64> {
    prop::sample::select(vec![2, 300, 1_200])
}

fn resolve(world: &World, pick: &Pick) -> u64 {
    let core = world.core_numbers();
    match pick {
        Pick::Core(index) if !core.is_empty() => *index.get(&core),
        Pick::Core(_) => 1,
        Pick::Number(number) => *number,
    }
}

fn resolve_all(world: &World, picks: &[Pick]) -> Vec<u64> {
    let numbers: BTreeSet<u64> = picks.iter().map(|pick| resolve(world, pick)).collect();
    numbers.into_iter().collect()
}

/// The text that a call gives where it names `number` first.
fn resolve_text(world: &World, number: u64, text: &Text) -> String {
    let own = world
        .memories
        .get(&Number(number))
        .map_or("x", |memory| memory.content.expose());
    match text {
        Text::Form("  ") => own.replace(' ', "  "),
        Text::Form(end) => format!("{}{end}", own.trim_end_matches(['.', '!'])),
        Text::Words(count) => own
            .split_whitespace()
            .take(*count)
            .collect::<Vec<_>>()
            .join(" "),
        Text::Other(text) => text.clone(),
    }
}

/// Plays one step, and checks what must hold after it.
pub(crate) fn play(world: &mut World, step: &Step) {
    world.tick();
    let before = world.memories.clone();
    match step {
        Step::Delete(picks, replaced_by) => {
            let replaced_by = replaced_by.as_ref().map(|pick| resolve(world, pick));
            let arguments = json!({"ids": resolve_all(world, picks), "replaced_by": replaced_by});
            play_call(world, "delete_memory", &arguments);
        }
        Step::Update(pick, text) => {
            let number = resolve(world, pick);
            let content = resolve_text(world, number, text);
            play_call(
                world,
                "update_memory",
                &json!({"id": number, "content": content}),
            );
        }
        Step::Consolidate(picks, text) => {
            let numbers = resolve_all(world, picks);
            let content = resolve_text(world, numbers[0], text);
            play_call(
                world,
                "consolidate_memories",
                &json!({"ids": numbers, "content": content}),
            );
        }
        Step::Protect(pick) => {
            let number = resolve(world, pick);
            play_call(world, "protect_memory", &json!({"id": number}));
        }
        Step::Call(tool, arguments) => play_call(world, tool, arguments),
        Step::Set(field, value) => world.set(*field, value),
        Step::Save(memory, replaces) => {
            let replaces = resolve_all(world, replaces);
            let saved = world.save_replacing(memory.clone(), &replaces);
            let share = Share::Replacing {
                budget: world.agent.settings.effective_core_token_budget(),
            };
            if !saved.replacements.replaced.is_empty() {
                check_ages(&before, &world.memories, share);
            }
        }
        Step::Act(act, number) => {
            let Some(memory) = world.memories.get(&Number(*number)).cloned() else {
                return;
            };
            let is_open = memory.shredded_at.is_none();
            let is_core = is_open && memory.is_active_core();
            match act {
                Act::Promote => drop(world.promote(*number)),
                Act::Discard
                    if is_open && !memory.is_constitutional() && !memory.is_written_by_memoir() =>
                {
                    world.discard(*number);
                }
                Act::Restore if is_open && !memory.is_summary => world.restore(*number),
                Act::Protect if is_core && !memory.is_summary => world.protect(*number),
                Act::Unprotect if is_core && !memory.is_summary => world.unprotect(*number),
                _ => {}
            }
        }
    }
}

fn play_call(world: &mut World, tool: &str, arguments: &Value) {
    let (before, log, session) = (
        world.memories.clone(),
        world.log.len(),
        world.last_session().clone(),
    );
    let limits = SessionLimits::of(&world.agent, &session);
    let immutable = world.agent.settings.immutable_tag_set();
    let result = world.call(tool, arguments.clone());
    let kind = result["type"].as_str().unwrap();
    let is_edit = ["consolidated", "updated", "deleted"].contains(&kind);
    if kind == "error" {
        assert_eq!(world.memories, before, "nothing changes");
        assert_eq!(world.log.len(), log, "nothing is recorded");
    }
    assert_eq!(
        world.last_session().edits,
        session.edits + u32::from(is_edit || is_tripped_edit(&result))
    );
    assert!(world.last_session().edits <= EDIT_CAP);
    if kind == "refinement_rolled_back" {
        return;
    }
    check_protected(&before, &world.memories, &immutable);
    if is_edit {
        check_core_size(world);
        if limits.guard == LossGuard::Archive {
            check_edit(world, &before, &limits);
        }
    }
}

/// Whether the result is that of an edit that tripped the breaker.
fn is_tripped_edit(result: &Value) -> bool {
    result["type"] == "refinement_rolled_back" && result.get("summary").is_none()
}

/// SPEC 3.13, in integers: thresholds here have two decimals at most.
fn check_core_size(world: &World) {
    let gauge = session_gauge(&world.agent, Some(world.last_session()));
    let hundredths = (gauge.threshold.share() * 100.0).round() as u64;
    let least = hundredths * gauge.pre_session_tokens;
    assert!(world.agent.tally.core_tokens * 100 >= least);
    let left = gauge
        .pre_session_tokens
        .saturating_sub(gauge.removed_tokens);
    assert!(left * 100 >= least);
}

/// No session moves a constitutional memory, and none touches one with an immutable tag.
fn check_protected(
    before: &BTreeMap<Number, Memory>,
    after: &BTreeMap<Number, Memory>,
    immutable: &BTreeSet<String>,
) {
    for (number, memory) in before.iter().filter(|(_, memory)| memory.is_active_core()) {
        let now = &after[number];
        if memory.is_constitutional() {
            assert!(now.is_active_core());
            assert_eq!(now.protected_seq, memory.protected_seq);
            assert!(is_same_text(now.content.expose(), memory.content.expose()));
        }
        if memory.tags.contains_any(immutable) {
            assert!(now.is_active_core());
            assert_eq!((&now.content, &now.tags), (&memory.content, &memory.tags));
        }
    }
}

#[derive(Clone, Copy)]
enum Share {
    Within { hundredths: u64 },
    Over { budget: u64 },
    Replacing { budget: u64 },
}

/// The limits of SPEC 3.14 after an edit under `archive`.
fn check_edit(world: &World, before: &BTreeMap<Number, Memory>, limits: &SessionLimits) {
    let session = world.last_session();
    let start = session.core_token_budget.unwrap();
    let now = world.agent.settings.effective_core_token_budget();
    let threshold = session_gauge(&world.agent, Some(session)).threshold;
    let is_over = session.pre_session_tokens.unwrap() > start;
    assert_eq!(limits.is_over_budget, is_over);
    let share = match is_over {
        true => Share::Over {
            budget: start.max(now),
        },
        false => Share::Within {
            hundredths: (threshold.share() * 100.0).round() as u64,
        },
    };
    let leaves_prompt = check_ages(before, &world.memories, share);
    if leaves_prompt && is_over {
        assert!(world.agent.tally.core_tokens * 10 >= start.max(now) * 9);
    }
}

/// The age rule as SPEC 3.14 states it, from the memories alone; whether an original left that is not free.
fn check_ages(
    before: &BTreeMap<Number, Memory>,
    after: &BTreeMap<Number, Memory>,
    share: Share,
) -> bool {
    struct Row<'a> {
        memory: &'a Memory,
        is_in: bool,
        leaves: bool,
        is_gone: bool,
    }
    let is_original = |memory: &&Memory| {
        !memory.is_summary && memory.core_seq.is_some() && memory.shredded_at.is_none()
    };
    let mut originals: Vec<&Memory> = after.values().filter(is_original).collect();
    originals.sort_by_key(|memory| (memory.core_seq, memory.number));
    let text = |memory: &Memory| same_text_key_ignoring_case(memory.content.expose());
    let is_free = |place: usize| {
        let own = originals[place];
        originals[..place].iter().any(|other| {
            other.is_active_core()
                && other.side() == own.side()
                && other.origin().weakness() <= own.origin().weakness()
                && text(other) == text(own)
        })
    };
    let rows = originals.iter().enumerate().filter_map(|(place, memory)| {
        let was_in = before
            .get(&memory.number)
            .is_some_and(Memory::is_active_core);
        let is_in = memory.is_active_core();
        let was_gone = before
            .get(&memory.number)
            .is_some_and(Memory::has_left_prompt);
        let row = Row {
            memory,
            is_in,
            leaves: was_in && !is_in,
            is_gone: was_gone && !is_in,
        };
        let is_counted = (was_in || row.is_gone) && (is_in || !is_free(place));
        is_counted.then_some(row)
    });
    let rows: Vec<Row<'_>> = rows
        .filter(|row| row.memory.origin() != Origin::External)
        .collect();
    for (place, x) in rows.iter().enumerate() {
        let weakness = x.memory.origin().weakness();
        let is_bound = |row: &Row<'_>| row.leaves && row.memory.origin().weakness() <= weakness;
        let is_checked = x.leaves || x.is_gone && rows[..place].iter().any(is_bound);
        if !is_checked {
            continue;
        }
        let counted = rows[..=place]
            .iter()
            .filter(|row| row.memory.origin().weakness() <= weakness);
        let (mut all, mut stays) = (0, x.memory.tokens());
        for row in counted {
            all += row.memory.tokens();
            stays += if row.is_in { row.memory.tokens() } else { 0 };
        }
        let holds = match share {
            Share::Within { hundredths } => 4 * stays >= 3 * all && 100 * stays >= hundredths * all,
            Share::Over { budget } => 2 * stays >= all || 3 * stays >= budget,
            Share::Replacing { budget } => 6 * stays >= all || 9 * stays >= budget,
        };
        assert!(holds, "{stays} of {all} stay at {}", x.memory.number);
    }
    rows.iter().any(|row| row.leaves)
}

/// Ends the session in one of the ways in which its edits stay, or rolls it back.
pub(crate) fn finish(world: &mut World, end: u8) {
    if world.last_session().state != State::Open {
        return;
    }
    match end {
        0 => world.roll_back(),
        1 => {
            let (agent, session) = (world.agent.clone(), world.last_session().clone());
            let ending = SessionEnding::Abandoned(EndReason::TurnLimit);
            let decision = lifecycle::end(agent, session, ending, &admin(), world.now);
            world.apply(decision);
        }
        _ => {
            world.complete();
        }
    }
}

/// Opens a session where one can be; whether it is open.
pub(crate) fn open(world: &mut World, mode: Mode) -> bool {
    world.tick();
    let is_begun = world.begin(mode).is_ok();
    if is_begun {
        world.open_begun();
    }
    is_begun
}

/// The originals that must be there, and the texts that their authors gave.
#[derive(Default)]
struct Originals {
    texts: BTreeMap<Number, String>,
    /// The records that were looked at.
    seen: usize,
}

impl Originals {
    /// Follows the log: acts outside of sessions take originals away and bring them back, and nothing else does.
    fn check(&mut self, world: &World) {
        for record in &world.log[self.seen..] {
            for change in &record.body.changes {
                self.follow(world, record, change);
            }
        }
        self.seen = world.log.len();
        for (number, text) in &self.texts {
            let memory = &world.memories[number];
            assert!(
                memory.is_active() && memory.kind() != Kind::Journal,
                "{number} is lost"
            );
            assert!(
                is_same_text(memory.content.expose(), text),
                "{number} has another text"
            );
        }
        let all = world.all();
        for summary in world
            .memories
            .values()
            .filter(|memory| memory.is_summary && memory.is_active())
        {
            assert!(
                all.sources(summary.number).next().is_some(),
                "{} rests on nothing",
                summary.number
            );
        }
    }

    fn follow(&mut self, world: &World, record: &Record, change: &Change) {
        let after = change.after();
        match record.action {
            Action::MemorySaved | Action::MemoryRestored if after.is_original() => {
                let text = after.content.expose().to_owned();
                self.texts.entry(after.number).or_insert(text);
            }
            Action::MemoryDiscarded => drop(self.texts.remove(&after.number)),
            Action::MemoryDeduplicated if !after.is_active() => {
                let stays = world.memory(record.memory.unwrap().0);
                let text = self.texts.remove(&after.number).unwrap();
                assert!(is_same_text(stays.content.expose(), &text));
            }
            _ => {}
        }
    }

    /// After a rewind, exactly the originals of the time are there.
    fn rewound(&mut self, world: &World) {
        self.seen = world.log.len();
        let originals = world
            .memories
            .values()
            .filter(|memory| memory.is_active() && memory.is_original());
        let texts = originals.map(|memory| (memory.number, memory.content.expose().to_owned()));
        self.texts = texts.collect();
    }
}

#[derive(Debug, Clone)]
enum Event {
    Session(Mode, Vec<Step>, u8),
    Act(Step),
    Undo(Index),
    Rewind(Index),
}

fn event() -> impl Strategy<Value = Event> {
    let mode = prop_oneof![5 => Just(Mode::Full), 1 => Just(Mode::DedupOnly)];
    let steps = prop::collection::vec(any_step(), 0..14);
    prop_oneof![
        5 => (mode, steps, 0u8..5).prop_map(|(mode, steps, end)| Event::Session(mode, steps, end)),
        3 => act().prop_map(Event::Act),
        1 => any::<Index>().prop_map(Event::Undo),
        1 => any::<Index>().prop_map(Event::Rewind),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn spec_3_12_no_original_is_lost_and_the_floors_hold_whatever_is_called(
        first in first(),
        memories in memories(),
        events in prop::collection::vec(event(), 1..7),
    ) {
        let mut world = world_of(first, memories);
        let mut originals = Originals::default();
        originals.check(&world);
        for event in events {
            match event {
                Event::Session(mode, steps, end) => {
                    if !open(&mut world, mode) {
                        continue;
                    }
                    for step in &steps {
                        play(&mut world, step);
                        originals.check(&world);
                    }
                    finish(&mut world, end);
                }
                Event::Act(step) => play(&mut world, &step),
                Event::Undo(which) if !world.sessions.is_empty() => {
                    let place = which.index(world.sessions.len());
                    let session = &world.sessions[place];
                    if session.undone_at.is_none() && session.state != State::RolledBack {
                        let _ = world.undo(place, false);
                    }
                }
                Event::Undo(_) => {}
                Event::Rewind(which) => {
                    let place = which.index(world.past.len());
                    if world.rewind(world.past[place].0) {
                        originals.rewound(&world);
                    }
                }
            }
            originals.check(&world);
            let counted = world.check_replay();
            let expected = world.memories.values().filter(|memory| memory.is_active() && memory.is_original());
            prop_assert_eq!(counted.total, expected.count() as u64);
        }
    }

    #[test]
    fn spec_3_19_any_calls_and_then_a_rollback_give_every_byte_back(
        first in first(),
        memories in memories(),
        steps in prop::collection::vec(step(), 0..24),
        by_undo in any::<bool>(),
        is_off in any::<bool>(),
    ) {
        let mut world = world_of(first, memories);
        if is_off {
            world.set(Field::LossGuard, "off");
        }
        prop_assume!(open(&mut world, Mode::Full));
        let mut seen = world.memories.clone();
        for step in &steps {
            play(&mut world, step);
            // A saved memory, or the entry about a setting; it may be edited then.
            for (number, memory) in &world.memories {
                let is_by_others = world.log.iter().any(|record| {
                    record.action == Action::MemorySaved && record.memory == Some(*number)
                });
                if is_by_others {
                    seen.entry(*number).or_insert_with(|| memory.clone());
                }
            }
        }
        if world.last_session().state == State::Open && by_undo {
            world.complete();
        }
        match world.last_session().state {
            State::Open => world.roll_back(),
            State::Completed => prop_assert_eq!(world.undo(0, false), Ok(())),
            _ => {}
        }
        for (number, memory) in &world.memories {
            match seen.get(number) {
                Some(before) => prop_assert_eq!(memory, before, "every property of {}", number),
                None => prop_assert!(!memory.is_active() || memory.kind() == Kind::Journal),
            }
        }
        prop_assert_eq!(world.replayed(), world.memories.clone());
        world.check_replay();
    }

    #[test]
    fn spec_4_3_an_undo_with_all_conflicts_leaves_what_the_rest_of_the_log_has(
        first in first(),
        memories in memories(),
        sessions in prop::collection::vec((prop::collection::vec(step(), 0..8), 0u8..4, act()), 1..5),
        undone in prop::collection::vec(0usize..5, 1..4),
    ) {
        let mut world = world_of(first, memories);
        for (steps, end, act) in sessions {
            if open(&mut world, Mode::Full) {
                for step in &steps {
                    play(&mut world, step);
                }
                finish(&mut world, end);
            }
            play(&mut world, &act);
        }
        for place in undone {
            let Some(place) = place.checked_rem(world.sessions.len()) else { continue };
            let is_undoable = world.sessions[place].undone_at.is_none()
                && world.sessions[place].state != State::RolledBack;
            if is_undoable {
                prop_assert_eq!(world.undo(place, true), Ok(()));
            }
        }
        prop_assert_eq!(world.replayed(), world.memories.clone());
        world.check_replay();
        let effective = effective(&world.log);
        for (number, memory) in &world.memories {
            let mut memory = memory.clone();
            let expected = &effective[number];
            if expected.discarded_at == UNMADE && !memory.is_active() {
                memory.discarded_at = UNMADE;
            }
            if is_bare(&world, &memory) {
                memory.discarded_at = expected.discarded_at;
            }
            prop_assert_eq!(&memory, expected);
        }
    }
}

/// Whether it is a discarded summary with nothing under it: it does not return by an undo.
pub(crate) fn is_bare(world: &World, memory: &Memory) -> bool {
    let has_sources = world.all().sources(memory.number).next().is_some();
    memory.is_summary && !memory.is_active() && !has_sources
}

/// The date of discarding of what was made by a record that was undone.
const UNMADE: Option<Timestamp> = Some(Timestamp::MIN);

/// The memories as the log has them without the records that were undone, and without those that undid them.
fn effective(log: &[Record]) -> BTreeMap<Number, Memory> {
    let undone: BTreeSet<u64> = log
        .iter()
        .filter_map(|record| record.facts.as_map().get("taken_back")?.as_array())
        .flatten()
        .filter_map(Value::as_u64)
        .collect();
    let mut memories: BTreeMap<Number, Memory> = BTreeMap::new();
    for record in log {
        let is_effective = !undone.contains(&record.seq);
        for change in &record.body.changes {
            match change {
                Change::Created(memory) => {
                    let mut memory = memory.clone();
                    if !is_effective {
                        memory.discarded_at = UNMADE;
                    }
                    memories.insert(memory.number, memory);
                }
                Change::Altered { before, patch } if is_effective && !record.action.undoes() => {
                    put_on(memories.get_mut(&before.number).unwrap(), patch);
                }
                Change::Altered { .. } => {}
            }
        }
    }
    memories
}

/// Sets what a patch sets, but for the shredding.
pub(crate) fn put_on(memory: &mut Memory, patch: &Patch) {
    fn set<T>(property: &mut T, value: Option<T>) {
        if let Some(value) = value {
            *property = value;
        }
    }
    fn assign<T>(property: &mut Option<T>, setting: Option<Setting<T>>) {
        match setting {
            Some(Setting::Set(value)) => *property = Some(value),
            Some(Setting::Clear) => *property = None,
            None => {}
        }
    }
    let patch = patch.clone();
    set(&mut memory.place, patch.place);
    set(&mut memory.content, patch.content);
    set(&mut memory.tags, patch.tags);
    assign(&mut memory.source, patch.source);
    set(&mut memory.saved_by, patch.saved_by);
    set(&mut memory.is_summary, patch.is_summary);
    assign(&mut memory.core_seq, patch.core_seq);
    set(&mut memory.recorded_at, patch.recorded_at);
    set(&mut memory.created_at, patch.created_at);
    set(&mut memory.updated_at, patch.updated_at);
    assign(&mut memory.protected_seq, patch.protected_seq);
    assign(&mut memory.discarded_at, patch.discarded_at);
}

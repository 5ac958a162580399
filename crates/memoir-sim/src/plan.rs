//! What one step is to do, decided before anything is done, so that a process that is killed amid it leaves what could
//! have been written known.

use std::sync::Arc;

use memoir_app::{HandedMessage, Handling, MemoryInput};
use memoir_domain::{
    SessionId, Timestamp,
    agent::Field,
    audit::Actor,
    memory::{Kind, Number},
    origin::Origin,
};
use memoir_testkit::{Dice, administrator, input, message};
use serde_json::json;

use crate::{
    Lexicon,
    asking::Asking,
    foreign::ForeignFile,
    interrupted::Meanwhile,
    lexicon::{FOREIGN, PLANTED, is_planted},
    player::Player,
    resident::Resident,
    view::{Between, IMMUTABLE, Seen},
};

/// A step of one agent, or of its administrators.
pub(crate) enum Plan {
    Save(Vec<MemoryInput>, Actor),
    Look,
    Handle(Number, Handling, Actor),
    Configure(Field, &'static str, Actor),
    /// Opens a session of its own, or goes on with the one that is open.
    Own(Option<Box<Player>>, bool),
    Refine {
        player: Option<Box<Player>>,
        dice: Dice,
        is_dedup_only: bool,
        rehearsal: bool,
        /// What another process does amid it, after so many requests to the model.
        meanwhile: Option<(u64, Meanwhile)>,
    },
    Undo(SessionId, bool, Actor),
    Apply(SessionId),
    Cancel,
    Rewind(Timestamp),
    Shred(Number, bool),
    Absorb(Vec<HandedMessage>, String),
    /// An entry to promote, and the memory that it replaces.
    Reflect(Option<u64>, Option<u64>),
    Access(Asking),
    Import(ForeignFile, Actor),
    UndoImport(Actor),
    Erase(Actor),
}

impl Plan {
    /// For the report.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Save(_, actor) if *actor == administrator() => "save (administrator)",
            Self::Save(..) => "save",
            Self::Look => "recall and context",
            Self::Handle(_, handling, _) => match handling {
                Handling::Discard => "discard",
                Handling::Protect => "protect",
                Handling::Unprotect => "unprotect",
                Handling::Restore => "restore",
                Handling::Promote => "promote",
            },
            Self::Configure(..) => "configure",
            Self::Own(..) => "own session",
            Self::Refine {
                meanwhile: Some((_, Meanwhile::Configure(..))),
                ..
            } => "driven session, configured while asked",
            Self::Refine {
                meanwhile: Some((_, Meanwhile::Call(..))),
                ..
            } => "driven session, called by the agent",
            Self::Refine { .. } => "driven session",
            Self::Undo(_, true, _) => "undo with later changes",
            Self::Undo(..) => "undo",
            Self::Apply(_) => "apply a rehearsal",
            Self::Cancel => "cancel",
            Self::Rewind(_) => "rewind",
            Self::Shred(..) => "shred",
            Self::Absorb(..) => "absorb",
            Self::Reflect(..) => "reflect",
            Self::Access(_) => "access",
            Self::Import(_, actor) if *actor == administrator() => "import (administrator)",
            Self::Import(..) => "import",
            Self::UndoImport(_) => "undo an import",
            Self::Erase(_) => "erase",
        }
    }

    /// The texts that it may save.
    pub(crate) fn texts(&self) -> Vec<String> {
        match self {
            Self::Save(inputs, _) => inputs
                .iter()
                .map(|input| input.content.expose().to_owned())
                .collect(),
            Self::Absorb(_, answer) => {
                let answer: serde_json::Value = serde_json::from_str(answer).unwrap_or_default();
                let notes = ["journal", "core"].map(|kind| answer[kind].as_array().cloned());
                let notes = notes.into_iter().flatten().flatten();
                notes
                    .filter_map(|note| {
                        note.as_str()
                            .or(note["content"].as_str())
                            .map(str::to_owned)
                    })
                    .collect()
            }
            Self::Import(file, _) => file.texts(),
            Self::Refine {
                meanwhile: Some((_, Meanwhile::Save(input))),
                ..
            } => vec![input.content.expose().to_owned()],
            _ => Vec::new(),
        }
    }

    /// Whether it is one decision, without a read after it: refused as `busy`, it changed nothing.
    pub(crate) fn is_one_decision(&self) -> bool {
        matches!(
            self,
            Self::Save(..)
                | Self::Handle(..)
                | Self::Configure(..)
                | Self::Undo(..)
                | Self::Apply(_)
                | Self::Cancel
                | Self::Rewind(_)
                | Self::Shred(..)
                | Self::UndoImport(_)
        )
    }

    /// Whether a session may change the memory in it.
    pub(crate) fn is_session(&self) -> bool {
        matches!(self, Self::Own(..) | Self::Refine { .. } | Self::Apply(_))
    }

    /// What may be between the memory before and after it. `undone` says whether a session was undone in it, `is_off`
    /// whether one may have had the guard `off`.
    pub(crate) fn between(&self, undone: bool, is_off: bool) -> Between {
        match self {
            Self::Save(..) | Self::Absorb(..) | Self::Reflect(..) | Self::Import(..) => {
                Between::Saving
            }
            Self::Own(..) | Self::Refine { .. } | Self::Apply(_) | Self::Cancel => {
                Between::Session { undone, is_off }
            }
            Self::Look
            | Self::Handle(..)
            | Self::Configure(..)
            | Self::Undo(..)
            | Self::Rewind(_)
            | Self::Shred(..)
            | Self::Access(_)
            | Self::UndoImport(_)
            | Self::Erase(_) => Between::Outside,
        }
    }

    /// Whether the age rule can no longer be computed from the outside.
    pub(crate) fn unsettles(&self) -> bool {
        matches!(
            self,
            Self::Undo(..) | Self::Rewind(_) | Self::Shred(..) | Self::UndoImport(_)
        )
    }

    /// One for that agent. `undoable` and `rehearsed` are its sessions.
    pub(crate) fn any(
        resident: &Resident,
        lexicon: Lexicon,
        (undoable, rehearsed): (&[SessionId], &[SessionId]),
        dice: &mut Dice,
    ) -> Self {
        let view = &resident.view;
        let rows = view.memories.len() as u64;
        let some = |dice: &mut Dice, is_wanted: &dyn Fn(&Seen) -> bool| {
            let numbers = view.numbers(is_wanted);
            dice.one_of(&numbers).copied().map(Number)
        };
        let is_core = |seen: &Seen| seen.is_active(Kind::Core);
        let actor = if dice.roll(2) == 0 {
            administrator()
        } else {
            resident.actor()
        };
        // An open session goes on every second time.
        if resident.session.is_some() && dice.roll(2) == 0 {
            return Self::Own(
                Some(Box::new(Player::any(dice, rows, resident.is_compared))),
                false,
            );
        }
        // A request that is open is answered, and what it granted is used.
        if resident.is_asked && dice.roll(3) == 0 {
            return Self::Access(Asking::any(resident, undoable, dice));
        }
        let wanted = match dice.roll(108) {
            0..16 => return Self::saves(resident, lexicon, dice),
            16..20 => {
                let which = dice.roll(PLANTED);
                // In the first vocabulary it may be a text of the agent's own, in the second one never.
                let text = Lexicon::First.planted(resident.place, which);
                return Self::Save(vec![input(&text)], administrator());
            }
            20..23 => Some(Self::Look),
            23..36 => {
                let is_dedup_only = dice.roll(8) == 0;
                let player = Player::any(dice, rows, resident.is_compared);
                return Self::Own(Some(Box::new(player)), is_dedup_only);
            }
            36..64 => {
                let player = Player::any(dice, rows, resident.is_compared);
                let of_model = Dice::new(dice.roll(1 << 32));
                let (is_dedup_only, rehearsal) = (dice.roll(8) == 0, dice.roll(8) == 0);
                // After the first request, which asks for consent.
                let after = dice.roll(5) + 1;
                let is_interrupted = dice.roll(4) == 0;
                let text = lexicon.text(resident.place, dice, 1);
                let meanwhile = match is_interrupted {
                    true => Some((after, Meanwhile::Save(Box::new(input(&text))))),
                    false => interrupts(rows, of_model.clone()),
                };
                return Self::Refine {
                    player: Some(Box::new(player)),
                    dice: of_model,
                    is_dedup_only,
                    rehearsal,
                    meanwhile,
                };
            }
            64..68 => some(dice, &|seen| seen.is_active(Kind::Archival))
                .map(|number| Self::Handle(number, Handling::Promote, actor)),
            68..71 => some(dice, &|seen| !seen.is_discarded())
                .map(|number| Self::Handle(number, Handling::Discard, actor)),
            71..74 => some(dice, &|seen| seen.is_discarded() && !seen.is_shredded())
                .map(|number| Self::Handle(number, Handling::Restore, actor)),
            74..77 => some(dice, &is_core)
                .map(|number| Self::Handle(number, Handling::Protect, administrator())),
            77..79 => some(dice, &|seen| seen.constitutional)
                .map(|number| Self::Handle(number, Handling::Unprotect, administrator())),
            79..83 => Some(Self::configures(resident, dice)),
            83..86 => {
                let cascade = dice.roll(3) == 0;
                dice.one_of(undoable)
                    .map(|id| Self::Undo(*id, cascade, actor))
            }
            86..88 => dice.one_of(rehearsed).map(|id| Self::Apply(*id)),
            88 => Some(Self::Cancel),
            89..91 => dice.one_of(&resident.moments).map(|at| Self::Rewind(*at)),
            91..93 => {
                let derived = dice.roll(2) == 0;
                some(dice, &|seen| !seen.is_shredded()).map(|number| Self::Shred(number, derived))
            }
            93..95 => Some(Self::absorbs(resident, lexicon, dice)),
            95..97 => {
                let entry = some(dice, &|seen| seen.is_active(Kind::Journal));
                let is_replacing = dice.roll(2) == 0;
                let replaced = some(dice, &is_core).filter(|_| is_replacing);
                let [entry, replaced] = [entry, replaced].map(|one| one.map(|number| number.0));
                Some(Self::Reflect(entry, replaced))
            }
            97..100 => Some(Self::Access(Asking::any(resident, undoable, dice))),
            100..104 => {
                let actor = if dice.roll(3) == 0 {
                    Actor::owner()
                } else {
                    actor
                };
                let file = ForeignFile::any(resident, lexicon, &actor, dice);
                Some(Self::Import(file, actor))
            }
            104..106 => Some(Self::UndoImport(actor)),
            _ if dice.roll(2) == 0 => Some(Self::Erase(Actor::owner())),
            _ => Some(Self::Erase(administrator())),
        };
        wanted.unwrap_or(Self::Look)
    }

    fn saves(resident: &Resident, lexicon: Lexicon, dice: &mut Dice) -> Self {
        let count = dice.roll(3) + 1;
        let inputs = (0..count).map(|_| one_of_its_texts(resident, lexicon, dice));
        Self::Save(inputs.collect(), resident.actor())
    }

    fn configures(resident: &Resident, dice: &mut Dice) -> Self {
        let (field, values): (Field, &[&'static str]) = match dice.roll(5) {
            0 => (Field::RefinementThreshold, &["0.5", "0.75", "0.9"]),
            1 => (Field::CoreTokenBudget, &["1000", "1200", "1500"]),
            2 => (Field::DuplicateMatch, &["exact", "ignore_case"]),
            _ => (Field::LossGuard, &["archive", "archive", "refuse", "off"]),
        };
        let value = values[dice.roll(values.len() as u64) as usize];
        // A laxer guard than its own is refused to it.
        let is_own = matches!(field, Field::RefinementThreshold | Field::LossGuard);
        let actor = match dice.roll(4) {
            0 | 1 if is_own => resident.actor(),
            3 => Actor::owner(),
            _ => administrator(),
        };
        Self::Configure(field, value, actor)
    }

    fn absorbs(resident: &Resident, lexicon: Lexicon, dice: &mut Dice) -> Self {
        let count = dice.roll(3) + 1;
        let messages = (0..count).map(|_| {
            let id = format!("message {}", dice.roll(1 << 32));
            message(&id, &lexicon.text(resident.place, dice, 1))
        });
        let messages = messages.collect();
        let note = lexicon.text(resident.place, dice, 1);
        let other = lexicon.text(resident.place, dice, 2);
        let answer = match dice.roll(4) {
            0 => "I would rather not.".to_owned(),
            1 => json!({"journal": [note], "core": []}).to_string(),
            // One that it may replace, if there is any, and one that it may not.
            2 => {
                let view = &resident.view;
                let is_weak = |seen: &Seen| seen.origin.weakness() > 0;
                let weak = view.numbers(|seen| seen.is_active(Kind::Core) && is_weak(seen));
                let strong = view.numbers(|seen| seen.is_active(Kind::Core) && !is_weak(seen));
                let replaced = [dice.one_of(&weak), dice.one_of(&strong)];
                let replaced: Vec<&u64> = replaced.into_iter().flatten().collect();
                json!({"journal": [note], "core": [{"content": other, "replaces": replaced}]})
                    .to_string()
            }
            _ => json!({"journal": [note], "core": [other]}).to_string(),
        };
        Self::Absorb(messages, answer)
    }
}

/// Sometimes an administrator changes a setting while the agent is asked for its consent, at the first request, or the
/// agent calls a tool at a later one. `rows` is the highest number that it has. `dice` are a copy of the model's, so
/// that the other steps draw the same numbers. The guard is never set to `off`: a session that is begun again after a
/// cut would have it.
fn interrupts(rows: u64, mut dice: Dice) -> Option<(u64, Meanwhile)> {
    const SETTINGS: [(Field, &str); 7] = [
        (Field::CoreTokenBudget, "1000"),
        (Field::CoreTokenBudget, "1500"),
        (Field::RefinementThreshold, "0.5"),
        (Field::RefinementThreshold, "0.9"),
        (Field::DuplicateMatch, "ignore_case"),
        (Field::LossGuard, "archive"),
        (Field::LossGuard, "refuse"),
    ];
    match dice.roll(6) {
        0 => {
            let set = dice.one_of(&SETTINGS);
            set.map(|(field, value)| (0, Meanwhile::Configure(*field, value)))
        }
        1 => {
            let (after, number) = (dice.roll(4) + 1, Number(dice.roll(rows + 1)));
            Some((after, Meanwhile::Call(number, Arc::default())))
        }
        _ => None,
    }
}

/// A text of an agent: a new one, or one that it has.
pub(crate) fn one_of_its_texts(
    resident: &Resident,
    lexicon: Lexicon,
    dice: &mut Dice,
) -> MemoryInput {
    let sentences = dice.roll(6) + 1;
    let mut content = lexicon.text(resident.place, dice, sentences);
    let view = &resident.view;
    // A copy of an administrator's text would equal a text of the agent in one vocabulary alone.
    let core = view.numbers(|seen| {
        seen.is_active(Kind::Core) && !seen.is_summary && !is_planted(seen.content())
    });
    match dice.roll(12) {
        0 => {
            content = lexicon.planted(resident.place, dice.roll(PLANTED));
            if dice.roll(4) == 0 {
                content = content.to_uppercase();
            }
        }
        1 | 2 => {
            if let Some(number) = dice.one_of(&core) {
                view.memories[number].content().clone_into(&mut content);
            }
        }
        3 => content = lexicon.foreign(resident.place, dice.roll(FOREIGN)),
        4 => {
            if let Some(number) = dice.one_of(&core) {
                content = view.memories[number].content().to_uppercase();
            }
        }
        _ => {}
    }
    let kind = match dice.roll(10) {
        0 | 1 => Some(Kind::Journal),
        2 => Some(Kind::Archival),
        _ => None,
    };
    let mut replaces = Vec::new();
    if kind.is_none() && dice.roll(5) == 0 {
        replaces.extend(dice.one_of(&core).copied().map(Number));
        replaces.push(Number(dice.roll(view.memories.len() as u64 + 2)));
    }
    let is_external = dice.roll(10) == 0;
    MemoryInput {
        kind,
        replaces,
        tags: match dice.roll(12) {
            0 => vec![IMMUTABLE.into()],
            1 | 2 => vec!["craft".into()],
            _ => Vec::new(),
        },
        origin: is_external.then_some(Origin::External),
        source: is_external.then(|| "a page".into()),
        ..input(&content)
    }
}

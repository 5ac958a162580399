//! Memories of another program, which the agent, the owner or an administrator imports (SPEC 2.4).

use memoir_app::{
    Error, ForeignMemory, ForeignPart, ImportRequest, MemoryInput, OwnAgent, TakenOver,
};
use memoir_domain::{
    audit::{Actor, ActorKind},
    import::ForeignGone,
    memory::{Kind, Number},
    origin::Origin,
};
use memoir_testkit::{Dice, input};
use tokio::sync::mpsc;

use crate::{
    Lexicon,
    lexicon::{FOREIGN, PLANTED},
    resident::Resident,
    session::Failure,
    view::{View, ensure},
};

/// A file of another program.
pub(crate) struct ForeignFile {
    memories: Vec<ForeignMemory>,
    /// Whether it is read to its end.
    is_whole: bool,
}

impl ForeignFile {
    /// One that `actor` imports, with some memories more than once.
    pub(crate) fn any(
        resident: &Resident,
        lexicon: Lexicon,
        actor: &Actor,
        dice: &mut Dice,
    ) -> Self {
        let is_planted = actor.kind == ActorKind::Administrator;
        let count = dice.roll(4) + 1;
        let memories = (0..count).map(|_| {
            // An administrator's texts may equal what the agent saves, and an administrator's import must not show it.
            // An import by the agent compares all texts: none of its own equals one that an administrator knows.
            let (program, which, text) = if is_planted {
                let which = dice.roll(PLANTED);
                ("list", which, Lexicon::First.planted(resident.place, which))
            } else {
                let which = dice.roll(FOREIGN);
                ("program", which, lexicon.foreign(resident.place, which))
            };
            let kind = match which {
                2 => Some(Kind::Archival),
                3 => Some(Kind::Journal),
                _ => None,
            };
            let gone = ForeignGone::deleted(None);
            ForeignMemory {
                input: MemoryInput {
                    kind,
                    source: Some(format!("{program}:{which}").into()),
                    origin: (which == 5).then_some(Origin::External),
                    ..input(&text)
                },
                gone: (dice.roll(6) == 0).then_some(gone),
            }
        });
        Self {
            memories: memories.collect(),
            is_whole: dice.roll(8) > 0,
        }
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        let texts = self.memories.iter().map(|memory| &memory.input.content);
        texts.map(|text| text.expose().to_owned()).collect()
    }

    /// Imports it: as previewed, once, and as a whole.
    pub(crate) async fn import(&self, resident: &Resident, actor: &Actor) -> Result<(), Failure> {
        let agent = &resident.agent;
        let preview = self.take_over(agent, actor, true).await?;
        let taken = self.take_over(agent, actor, false).await?;
        let new = taken.kept + taken.discarded;
        let others = taken.duplicates + taken.known + taken.gone_left_out + taken.refused;
        ensure!(
            new + others == self.memories.len() as u64,
            "2.4",
            "of {} memories {new} were imported and {others} not",
            self.memories.len()
        );
        let known = resident.view.memories.len() as u64;
        let is_written = self.is_whole && new > 0;
        let numbers = is_written.then(|| (Number(known + 1), Number(known + new)));
        ensure!(
            taken.first.zip(taken.last) == numbers && taken.seq.is_some() == is_written,
            "2.4",
            "{new} memories were imported behind #{known} as {:?} to {:?}",
            taken.first,
            taken.last
        );
        let expected = TakenOver {
            first: None,
            last: None,
            seq: None,
            ..taken
        };
        ensure!(
            preview == expected,
            "2.4",
            "{preview:?} was previewed of {expected:?}"
        );
        if self.is_whole {
            let again = self.take_over(agent, actor, false).await?;
            let new = again.kept + again.discarded;
            ensure!(
                new == 0 && again.seq.is_none(),
                "2.4",
                "{new} memories were imported twice"
            );
        }
        Ok(())
    }

    async fn take_over(
        &self,
        agent: &OwnAgent,
        actor: &Actor,
        dry_run: bool,
    ) -> Result<TakenOver, Error> {
        let (sender, parts) = mpsc::channel(2);
        let last = self.is_whole.then_some(ForeignPart::Last);
        let memories = ForeignPart::Memories(self.memories.clone());
        for part in [Some(memories), last].into_iter().flatten() {
            // There is room for both.
            let _ = sender.try_send(part);
        }
        drop(sender);
        let how = ImportRequest {
            format: "json",
            live_only: false,
            dry_run,
            actor: actor.clone(),
            progress: std::sync::Arc::default(),
        };
        agent.memories().take_over(parts, &how).await
    }
}

/// Undoes the last import: what is stated of it is what happens.
pub(crate) async fn undo_import(resident: &Resident, actor: &Actor) -> Result<(), Failure> {
    let agent = &resident.agent;
    let undone = agent.memories().undo_import(actor, false).await?;
    let after = View::of(&resident.elsewhere).await?;
    let before = resident.view.memories.iter();
    let gone = before.filter(|(number, old)| {
        let new = after.memories.get(number);
        !old.is_discarded() && new.is_some_and(|new| new.is_discarded())
    });
    let gone = gone.count() as u64;
    ensure!(
        gone == undone.discarded,
        "2.4",
        "{gone} memories went with an import, stated {}",
        undone.discarded
    );
    Ok(())
}

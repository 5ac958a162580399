//! Reading by the agent itself, on its own model (SPEC 2.6): part by part. The notes of a part and its read marks are
//! saved together.

use memoir_domain::{
    PrivateText,
    absorption::{self, CoreNote, Known, MessageState},
    answer::Unreadable,
    lifecycle::StartRefusal,
    memory::{Invalid, Number},
    replace::Unreplaced,
};
use memoir_store::{AgentQuery, MessageRow, Selection};
use serde::Serialize;

use super::absorb::{MessagePlace, opened, outcomes};
use crate::{
    core::{Error, Loaded, Result, check_messages, codec::Writing},
    life::Life,
    memory::replacing::query_to_replace,
    shown::OwnAgent,
};

/// About so many tokens are shown per call: programs accept little from one tool call.
const PART_TOKENS: u64 = 8_000;
/// No program shows a larger message in one piece.
const MESSAGE_TOKENS: u64 = 20_000;
/// The room for core memories, if the agent's own prompt has a place for them.
const KNOWN_TOKENS: u64 = 4_000;

/// Waiting messages, as they are shown to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct UnreadPart {
    /// Instructions, and the messages.
    pub text: PrivateText,
    /// The code that names them once they were read; `None` where none waits.
    pub part: Option<String>,
    /// How many wait, these included.
    pub waiting: u64,
    /// How many just failed permanently, since they are too large to be shown.
    pub too_large: u64,
}

/// The outcome of a part that the agent has read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotedPart {
    /// Messages that were read.
    pub messages: u64,
    /// How many still wait.
    pub waiting: u64,
    /// Memories that were saved.
    pub saved: u64,
    /// The core memories that they replaced.
    pub replaced: Vec<Number>,
    /// Memories that were named for replacement and not replaced, with the reason.
    pub not_replaced: Vec<Unreplaced>,
}

impl Life<'_> {
    /// How many messages wait that no configured model will read: only the agent itself can.
    ///
    /// # Errors
    /// The agent is gone; the store fails.
    pub async fn unread(self) -> Result<u64> {
        let loaded = self.load(&AgentQuery::default().with_transcript()).await?;
        match self.memoir.speaking_model(&loaded.agent) {
            Ok(Some(_)) => Ok(0),
            Ok(None) | Err(_) => Ok(loaded.transcript.pending),
        }
    }
}

impl OwnAgent {
    /// The messages that wait longest, for the agent to read itself. One that is too large to be shown fails
    /// permanently, with a record; `memoir absorb` lets a model try it.
    ///
    /// # Errors
    /// The agent is gone or not in service; the store fails.
    pub async fn read_part(&self) -> Result<UnreadPart> {
        let mut too_large = 0;
        loop {
            let query = AgentQuery::of_memories(Selection::ActiveCore).with_prompts();
            let loaded = self.load(&query.with_transcript()).await?;
            check_in_service(&loaded)?;
            check_messages(&loaded.agent, &loaded.transcript)?;
            let rows = self.waiting(None).await?;
            // The store returns one message at least, however large; a part of several is within its size.
            if let [row] = rows.as_slice()
                && row.tokens > MESSAGE_TOKENS
            {
                // Otherwise it would stay the first that waits, and block all later ones.
                self.life()
                    .give_up(&[MessagePlace::of(row)], "too_large")
                    .await?;
                too_large += 1;
                continue;
            }
            let part = code(&rows);
            let text = match part {
                Some(_) => {
                    let agent = &loaded.agent;
                    let known = Known::new(agent, &loaded.memories, &[], KNOWN_TOKENS);
                    absorption::show(agent, &known, &opened(&loaded, &rows)?)
                }
                None => PrivateText::default(),
            };
            return Ok(UnreadPart {
                text,
                part,
                waiting: loaded.transcript.pending,
                too_large,
            });
        }
    }

    /// Saves the agent's notes of a part and marks it as read, in one commit.
    ///
    /// # Errors
    /// The messages no longer wait, since another process has read them; a note is not allowed, or there are too many.
    /// Then nothing is saved, and they wait as before. The agent is gone or not in service; the store fails.
    pub async fn note_part(
        &self,
        part: &str,
        journal: &[PrivateText],
        core: &[CoreNote],
    ) -> Result<NotedPart> {
        let query = query_to_replace(core.iter().any(CoreNote::replaces_any));
        self.decide_reading(&query.with_transcript(), |loaded, now| async move {
            check_in_service(&loaded)?;
            check_messages(&loaded.agent, &loaded.transcript)?;
            // Cut at the part's own end: later messages must not change its code.
            let rows = self.waiting(Some(last_place(part)?)).await?;
            if code(&rows).as_deref() != Some(part) {
                let problem = "names messages that do not wait any more, and nothing was saved; call this without it \
                    for those that do";
                return Err(Invalid::new("part", problem).into());
            }
            let messages = opened(&loaded, &rows)?;
            let at = self.life().last_said(&messages).unwrap_or(now);
            let added_by = absorption::added_by(&messages);
            let notes = absorption::noted(journal, core, at, added_by)
                .map_err(|Unreadable { problem, .. }| Invalid::new("notes", problem))?;
            let mut replacing = self.memories().replacing_for(&notes, &loaded.memories).await?;
            let (agent, count) = (loaded.agent, messages.len());
            let (decision, saved) = absorption::absorb(agent, notes, &mut replacing, count, now);
            let mut noted = NotedPart {
                messages: count as u64,
                waiting: loaded.transcript.pending.saturating_sub(count as u64),
                saved: saved.len() as u64,
                replaced: Vec::new(),
                not_replaced: Vec::new(),
            };
            for one in saved {
                noted.replaced.extend(one.replacements.replaced);
                noted.not_replaced.extend(one.replacements.not_replaced);
            }
            let places = rows.iter().map(MessagePlace::of);
            let writing = Writing {
                messages: outcomes(places, MessageState::Absorbed, now),
                ..decision.into()
            };
            Ok((Some(writing), noted))
        })
        .await
    }

    /// The messages of the next part, up to the place `last` where given: later ones belong to the next part.
    async fn waiting(&self, last: Option<u64>) -> Result<Vec<MessageRow>> {
        let store = &self.memoir.store;
        let mut rows = store.pending_messages(self.scope, PART_TOKENS).await?;
        rows.retain(|row| last.is_none_or(|last| row.seq <= last));
        Ok(rows)
    }
}

pub(super) fn check_in_service(loaded: &Loaded) -> Result<()> {
    match loaded.agent.settings.inactive {
        true => Err(Error::Start(StartRefusal::Inactive)),
        false => Ok(()),
    }
}

/// A part's code: the first and the last of its messages' places, and their number. Messages are read from the first
/// on, so a message that was read or waits again changes it. `None` for no messages.
fn code(rows: &[MessageRow]) -> Option<String> {
    let (first, last) = (rows.first()?.seq, rows.last()?.seq);
    Some(format!("{first}-{last}/{}", rows.len()))
}

fn last_place(part: &str) -> Result<u64, Invalid> {
    let places = part
        .split_once('/')
        .and_then(|(places, _)| places.split_once('-'));
    places
        .and_then(|(_, last)| last.parse().ok())
        .ok_or_else(|| Invalid::new("part", "must be the one that came with the messages"))
}

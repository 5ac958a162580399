//! Taking a session back after it ended, or while it runs (SPEC 4.3).

use memoir_domain::{
    SessionId,
    audit::{Action, Actor, Record},
    draft::Decision,
    manage::ChangeRefusal,
    rewind::RewindPreview,
    rollback::{self, Obstacle, UndoPlan},
    session::{Session, State},
};
use memoir_store::{AgentQuery, RecordFilter};

use crate::{
    core::{Error, Loaded, Result, codec},
    sessions::Sessions,
    shown::ShownSession,
};

/// A preview of rolling a session back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollBackPreview {
    /// The memories after it; the journal entry about it is omitted.
    pub changes: RewindPreview,
    /// Later changes of the same memories, which would be undone too; empty for a running session.
    pub obstacles: Vec<Obstacle>,
    /// The place of the agent's newest record, which dates the preview.
    pub newest_seq: u64,
}

/// Records of ended sessions that one read returns. Most ended sessions had session tools or were declined, so that the
/// first read decides.
const ENDS: u32 = 50;

/// The plan of a rollback: the agent that it is based on, what is written, and the conflicts.
type PlannedRollBack = (Loaded, Decision, Vec<Obstacle>);

impl Sessions<'_> {
    /// Undoes a session. `cascade` also undoes later changes of the memories that it changed.
    ///
    /// # Errors
    /// [`Error::InTheWay`] or [`Error::BeyondAgent`] with the conflicts; [`Error::NotUndoable`] where there is nothing
    /// to undo.
    pub async fn roll_back(
        self,
        id: SessionId,
        cascade: bool,
        actor: &Actor,
    ) -> Result<ShownSession> {
        self.decide_again(|| async {
            let planned = self.plan_roll_back(id, cascade, actor).await?;
            self.write_roll_back(id, planned, actor).await
        })
        .await
    }

    /// As [`Sessions::roll_back`], if no later session of the agent had session tools: an agent may undo only its last.
    ///
    /// # Errors
    /// As for [`Sessions::roll_back`]; [`Error::NotLastSession`].
    pub async fn roll_back_last(
        self,
        id: SessionId,
        cascade: bool,
        actor: &Actor,
    ) -> Result<ShownSession> {
        self.decide_again(|| async {
            let planned = self.plan_roll_back(id, cascade, actor).await;
            // This read follows the reads of the plan. It finds a session that got its tools before these reads. A
            // session that gets them later changes the agent's version, so that the commit conflicts.
            let is_there = !matches!(planned, Err(Error::NoSession(_) | Error::Store(_)));
            if is_there && !self.is_last_session(id).await? {
                return Err(Error::NotLastSession);
            }
            self.write_roll_back(id, planned?, actor).await
        })
        .await
    }

    async fn is_last_session(self, id: SessionId) -> Result<bool> {
        let ends = Action::ALL.into_iter().filter(|one| one.is_session_end());
        let mut ends = RecordFilter::of_actions(ends.collect::<Vec<_>>());
        ends.last = Some(ENDS);
        let running = self.load(&AgentQuery::default()).await?.running_session;
        let mut later = Vec::from_iter(running);
        loop {
            for other in later {
                if other == id {
                    return Ok(true);
                }
                let other = self.views().session(other).await?;
                // Rehearsals and sessions that never had session tools have changed nothing that an undo could meet.
                if !other.rehearsal && other.pre_session_tokens.is_some() {
                    return Ok(false);
                }
            }
            // Newest first by the ends' places in the log: a clock can be set back.
            let found = self.memoir.store.records(self.scope, &ends).await?;
            let Some(oldest) = found.first() else {
                return Ok(false);
            };
            ends.before_seq = Some(oldest.seq);
            // A declined session never had session tools: it is not read.
            let declined = Action::MemoryRefinementDeclined;
            let newest_first = found.iter().rev();
            let may_have_tools =
                newest_first.filter(|end| end.action != declined || end.session == Some(id));
            later = may_have_tools.filter_map(|end| end.session).collect();
        }
    }

    /// A preview of [`Sessions::roll_back`] with later changes of the same memories: the conflicts, and the memories
    /// after it. Without text.
    ///
    /// # Errors
    /// [`Error::NotUndoable`] where there is nothing to undo.
    pub async fn preview_roll_back(self, id: SessionId, actor: &Actor) -> Result<RollBackPreview> {
        let planned = self.decide_again(|| self.plan_roll_back(id, true, actor));
        let (loaded, decision, obstacles) = planned.await?;
        let (before, after) = (loaded.agent.tally, decision.agent.tally);
        Ok(RollBackPreview {
            changes: RewindPreview::of(&before, &after, &decision.changes),
            obstacles,
            newest_seq: loaded.newest_seq(),
        })
    }

    async fn write_roll_back(
        self,
        id: SessionId,
        (loaded, decision, _): PlannedRollBack,
        actor: &Actor,
    ) -> Result<ShownSession> {
        let is_it = |session: &&Session| session.id == id;
        let undone = decision.sessions.iter().find(is_it).cloned();
        self.commit(&loaded.base, decision).await?;
        undone
            .map(|session| ShownSession::answered(&self.name, session, actor))
            .ok_or(Error::SessionLost(id))
    }

    async fn plan_roll_back(
        self,
        id: SessionId,
        cascade: bool,
        actor: &Actor,
    ) -> Result<PlannedRollBack> {
        let mut loaded = self.load(&AgentQuery::of_session(id)).await?;
        let session = loaded.take_session(id)?;
        check_undoable(&session)?;
        if !session.state.is_running() {
            // Before the log is read, which may be long since the session: waiting callers hold nothing large.
            let _turn = self.log().past_turn().await?;
            let (decision, obstacles) =
                self.plan_and_undo(&loaded, session, cascade, actor).await?;
            return Ok((loaded, decision, obstacles));
        }
        // Read after the agent. An edit in the session meanwhile increases the agent's version, so that a decision on
        // an older history is a conflict.
        let (history, memories) = self.session_history(id).await?;
        let (agent, now) = (loaded.agent.clone(), self.memoir.now());
        let decision = rollback::roll_back_running(agent, session, &history, memories, actor, now);
        Ok((loaded, decision, Vec::new()))
    }

    async fn plan_and_undo(
        self,
        loaded: &Loaded,
        session: Session,
        cascade: bool,
        actor: &Actor,
    ) -> Result<(Decision, Vec<Obstacle>)> {
        let id = session.id;
        let log = self.log_since(id, loaded).await?;
        let plan = rollback::plan_undo(id, &log);
        if !plan.obstacles.is_empty() && !cascade {
            return Err(Error::InTheWay {
                session: id,
                obstacles: plan.obstacles,
            });
        }
        // Also with `cascade`: an agent must not undo an administrator's change by way of its own session (SPEC 4.3).
        if !plan.is_allowed_to(actor.kind) {
            return Err(Error::BeyondAgent {
                session: id,
                obstacles: [plan.obstacles, plan.rewinds].concat(),
            });
        }
        if let Some(running) = loaded
            .running_session
            // A running session is rolled back by itself, with its own count of edits and its own end. Undone from
            // outside, it would go on with memories that differ from its ledger.
            .filter(|id| plan.sessions.contains(id))
        {
            return Err(ChangeRefusal::SessionRunning(running).into());
        }
        let sessions = self.sessions_of(&plan, session).await?;
        let is_planned = |record: &&Record| plan.records.contains(&record.seq);
        let touched = rollback::touched(log.iter().filter(is_planned));
        let memories = self.with_sources(touched.into_iter().collect()).await?;
        let (agent, now) = (loaded.agent.clone(), self.memoir.now());
        let decision = rollback::undo(agent, sessions, &plan, &log, &memories, actor, now);
        Ok((decision, plan.obstacles))
    }

    async fn log_since(self, id: SessionId, loaded: &Loaded) -> Result<Vec<Record>> {
        let own = RecordFilter {
            first: Some(1),
            ..RecordFilter::of_session(id)
        };
        let own = self.memoir.store.records(self.scope, &own).await?;
        let Some(first) = own.first() else {
            return Ok(Vec::new());
        };
        // Without a gap, and up to the end in the sealed row: a missing record would hide a conflicting change.
        let _room = self.log().room_from(first.seq).await?;
        let rows = self.log().log_from(first.seq, loaded).await?;
        codec::records(Some(loaded.base.key()), rows)
    }

    /// The sessions of a plan, the one asked for first.
    async fn sessions_of(self, plan: &UndoPlan, requested: Session) -> Result<Vec<Session>> {
        let first = requested.id;
        let mut sessions = vec![requested];
        for id in plan.sessions.iter().copied().filter(|id| *id != first) {
            let mut loaded = self.load(&AgentQuery::of_session(id)).await?;
            sessions.push(loaded.take_session(id)?);
        }
        Ok(sessions)
    }
}

fn check_undoable(session: &Session) -> Result<()> {
    let problem = match session.state {
        _ if session.rehearsal => "it was a rehearsal, which changed nothing",
        _ if session.undone_at.is_some() => "it was undone already",
        State::RolledBack => "it was rolled back already",
        State::Declined => "it was declined, and changed nothing",
        State::Failed | State::Abandoned if session.pre_session_tokens.is_none() => {
            "it was never opened, and changed nothing"
        }
        _ => return Ok(()),
    };
    Err(Error::NotUndoable {
        session: session.id,
        problem,
    })
}

//! Requests of an administrator to an agent, its answers, and what is done with a grant (SPEC 5.2, 5.5, 4.4).

use std::collections::BTreeMap;

use memoir_app::{AccessRequestFacts, Error, Provision, RecordFilter, Viewer};
use memoir_domain::{
    SessionId,
    access::{AccessDraft, AccessKind, AccessKindName, AccessScope, AccessScopeName, AccessState},
    audit::Actor,
    memory::{Kind, Number},
};
use memoir_testkit::{Dice, administrator};

use crate::{
    resident::Resident,
    session::Failure,
    view::{Between, View, ensure},
};

/// What is done about requests in one step: one that is open is answered, or what it granted is used; otherwise one is
/// made.
pub(crate) struct Asking {
    /// What is asked for.
    kind: AccessKind,
    is_granted: bool,
    /// Whether a grant to read stays after it was used.
    is_kept: bool,
}

impl Asking {
    /// Any of them. `sessions` are those of the agent that are over.
    pub(crate) fn any(resident: &Resident, sessions: &[SessionId], dice: &mut Dice) -> Self {
        let minutes = [5, 30, 60][dice.roll(3) as usize];
        let reading = |scope| AccessKind::Read { scope, minutes };
        let kind = match dice.roll(8) {
            0 => reading(AccessScope::Core),
            1 => reading(AccessScope::All),
            2..4 => match dice.one_of(sessions) {
                Some(id) => reading(AccessScope::Session(*id)),
                None => reading(AccessScope::Core),
            },
            4..7 => {
                let derived = dice.roll(2) == 0;
                let numbers = resident.view.numbers(|seen| !seen.is_shredded());
                match dice.one_of(&numbers) {
                    Some(number) => AccessKind::Shred {
                        number: Number(*number),
                        derived,
                    },
                    None => reading(AccessScope::All),
                }
            }
            _ => AccessKind::Token { expires_at: None },
        };
        Self {
            kind,
            // A refusal keeps others from being made for a day and more.
            is_granted: dice.roll(4) > 0,
            is_kept: dice.roll(3) == 0,
        }
    }

    /// Does it; what it was.
    pub(crate) async fn go_on(&self, resident: &Resident) -> Result<&'static str, Failure> {
        let open = resident.agent.grants().open_access().await?;
        match open.first() {
            Some(request) if request.state == AccessState::Asked => {
                self.answer(resident, request).await
            }
            Some(request) if request.kind == AccessKindName::Token => {
                make_token(resident).await?;
                Ok("make a granted token")
            }
            Some(request) => {
                read(resident, request).await?;
                if !self.is_kept {
                    let agent = resident.actor();
                    let grants = resident.agent.grants();
                    let revoked = grants.revoke_access(request.id, &agent).await;
                    decided(revoked, resident, request).await?;
                }
                Ok("read under a grant")
            }
            None => {
                let draft = AccessDraft {
                    kind: self.kind,
                    purpose: "to see".into(),
                };
                let grants = resident.agent.grants();
                grants.request_access(&draft, &administrator()).await?;
                Ok("request access")
            }
        }
    }

    /// A memory is shredded with the agent's consent, at once, and not without it.
    async fn answer(
        &self,
        resident: &Resident,
        request: &AccessRequestFacts,
    ) -> Result<&'static str, Failure> {
        let agent = &resident.agent;
        let reason = Some("as it is".into());
        let actor = &resident.actor();
        let grants = agent.grants();
        let answered = grants.answer_access(request.id, self.is_granted, reason, actor);
        let answered = decided(answered.await, resident, request).await?;
        let is_shred = request.kind == AccessKindName::Shred;
        let (state, act) = match (self.is_granted, is_shred) {
            (false, _) => (AccessState::Refused, "refuse access"),
            (true, true) => (AccessState::Done, "shred with consent"),
            (true, false) => (AccessState::Granted, "grant access"),
        };
        ensure!(
            answered.state == state,
            "5.2",
            "after {act} a request is {}",
            answered.state.as_str()
        );
        if let Some(number) = request.memory {
            let seen = agent.lens().memory(number).await?;
            let is_shredded = seen.shredded_at.is_some();
            let old = resident.view.memories.get(&number.0);
            let was_shredded = old.is_some_and(|old| old.is_shredded());
            ensure!(
                is_shredded == (was_shredded || self.is_granted),
                "4.4",
                "after {act} #{} is shredded: {is_shredded}",
                number.0
            );
        }
        Ok(act)
    }
}

/// The result of a decision about that request. One that was refused as `busy` was not made.
async fn decided<Decided>(
    decided: memoir_app::Result<Decided>,
    resident: &Resident,
    request: &AccessRequestFacts,
) -> Result<Decided, Failure> {
    let decided = decided.map_err(Failure::from);
    if matches!(decided, Err(Failure::Refused("busy"))) {
        let lens = resident.elsewhere.lens();
        let state = lens.access_request(request.id).await?.state;
        ensure!(
            state == request.state || state == AccessState::Expired,
            "6.2",
            "a decision refused as `busy` made a request {}",
            state.as_str()
        );
    }
    decided
}

/// One token is made under a grant, and a second one needs another grant.
async fn make_token(resident: &Resident) -> Result<(), Failure> {
    let (grants, administrator) = (resident.agent.grants(), administrator());
    let made = grants.create_token(Provision::First, None, &administrator);
    let made = made.await?;
    let needs_consent = grants.needs_consent_for_token(&administrator).await?;
    ensure!(needs_consent, "5.5", "a grant allows a second token");
    grants.revoke_token(made.view.id, &administrator).await?;
    Ok(())
}

/// A grant shows its requester what its scope covers, nothing else, and nothing to another administrator. What was read
/// is on the record.
async fn read(resident: &Resident, request: &AccessRequestFacts) -> Result<(), Failure> {
    let viewer = Viewer::administrator(administrator());
    let lens = resident.agent.views().seen_by(viewer);
    let memories = lens.memories(true).await?;
    for memory in &memories {
        let is_covered = match request.scope {
            Some(AccessScopeName::All) => true,
            Some(AccessScopeName::Core) => {
                memory.kind == Kind::Core && memory.discarded_at.is_none()
            }
            Some(AccessScopeName::Session) | None => false,
        };
        let is_shown = memory.words.is_some();
        ensure!(
            is_shown == is_covered,
            "5.2",
            "a text is shown under a grant of {:?}: {is_shown}",
            request.scope
        );
    }
    // One that the grant is for, and another one.
    let others = resident.ended.iter().copied();
    let mut others = others.filter(|id| request.session_id != Some(*id));
    for id in request.session_id.into_iter().chain(others.next()) {
        let is_covered =
            request.scope == Some(AccessScopeName::All) || request.session_id == Some(id);
        check_session(resident, id, is_covered).await?;
    }
    let another = Viewer::administrator(Actor::administrator("another"));
    let another = resident.agent.views().seen_by(another);
    let seen = another.memories(true).await?;
    let is_seen = seen.iter().any(|memory| memory.words.is_some());
    ensure!(!is_seen, "5.2", "another administrator is shown a text");
    let shown = memories.iter().filter(|memory| memory.words.is_some());
    let (shown, known) = (
        shown.count() as u64,
        resident.agent.lens().access_request(request.id).await?,
    );
    ensure!(
        known.memories_read >= request.memories_read + shown,
        "5.2",
        "{shown} memories were read, and {} of all reads are on the record",
        known.memories_read
    );
    // Reading changes no memory.
    let now = View::of(&resident.agent).await?;
    now.check_since(&resident.view, Between::Nothing, &BTreeMap::new())?;
    Ok(())
}

/// That the records of a session show all texts to the administrator, or none.
async fn check_session(
    resident: &Resident,
    id: SessionId,
    is_covered: bool,
) -> Result<(), Failure> {
    let sides = async |viewer: Viewer| -> Result<Vec<(bool, bool)>, Error> {
        let filter = RecordFilter::of_session(id);
        let lens = resident.agent.views().seen_by(viewer);
        let records = lens.records(&filter).await?;
        let sides = records.iter().map(|record| {
            let words = &record.words;
            (words.before.is_some(), words.after.is_some())
        });
        Ok(sides.collect())
    };
    let shown = sides(Viewer::administrator(administrator())).await?;
    let mut expected = sides(Viewer::Agent).await?;
    if !is_covered {
        expected.fill((false, false));
    }
    ensure!(
        shown == expected,
        "5.2",
        "the records of a session are shown otherwise than a grant covers them"
    );
    Ok(())
}

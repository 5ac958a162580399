//! A session that an agent drives itself, response by response, with what must hold after each call.

use std::collections::BTreeSet;

use memoir_app::{RecordFilter, SessionFacts, sessions::OpenedSession};
use memoir_domain::{SessionId, agent::LossGuard, memory::Kind, session::Mode};
use memoir_testkit::{Ages, Floor};
use serde_json::Value;

use crate::{
    Violation,
    player::Player,
    process::ATTEMPTS,
    resident::Resident,
    view::{Between, View, ensure},
};

/// Edits of a session (SPEC 3.11).
const MOST_EDITS: u32 = 10;

/// Why a step did not do what it was to do.
pub(crate) enum Failure {
    /// It was refused, with that code.
    Refused(&'static str),
    /// A rule does not hold.
    Broken(Violation),
}

impl From<Violation> for Failure {
    fn from(violation: Violation) -> Self {
        Self::Broken(violation)
    }
}

impl From<memoir_app::Error> for Failure {
    fn from(error: memoir_app::Error) -> Self {
        match error.code() {
            // No act ends in these while the store is right.
            code @ ("internal" | "tampered" | "key_unavailable" | "disk_full" | "read_only") => {
                Self::Broken(Violation::new("internal", format!("{code}: {error}")))
            }
            code => Self::Refused(code),
        }
    }
}

/// A session.
pub(crate) struct OwnSession {
    pub(crate) id: SessionId,
    player: Player,
    /// The memory as it was when the session had its tools.
    opened: View,
    /// Whether others changed the memory since.
    pub(crate) is_disturbed: bool,
    /// Whether it was opened by another process: its size and budget at its start are not known.
    is_taken_up: bool,
    edits: u32,
    /// The tokens that its edits took away.
    removed: u64,
    /// The core size when it was opened, and the share of it that must stay.
    gauge: Option<(u64, f64)>,
    /// The loss guard when it was opened.
    guard: LossGuard,
}

impl OwnSession {
    /// One that was opened, or resumed.
    pub(crate) fn new(
        (session, opened): (SessionFacts, OpenedSession),
        mut player: Player,
        view: &View,
        is_taken_up: bool,
    ) -> Self {
        player.begin(opened.prompt.user.expose());
        Self {
            id: session.id,
            player,
            opened: view.clone(),
            is_disturbed: is_taken_up,
            is_taken_up,
            edits: session.edits,
            removed: session.removed_tokens,
            gauge: session.pre_session_tokens.zip(session.threshold),
            guard: session.loss_guard.unwrap_or(view.guard),
        }
    }

    /// Makes the calls of one response; returns how many edits succeeded.
    pub(crate) async fn go_on(&mut self, resident: &mut Resident) -> Result<u64, Failure> {
        let mut results = Vec::new();
        let mut made = 0;
        // The stricter one counts, of its opening and of now (SPEC 3.14).
        let is_off = self.guard.max(resident.view.guard) == LossGuard::Off;
        for (tool, arguments) in self.player.calls() {
            let result = self.call(resident, tool, &arguments).await?;
            let kind = result["type"].as_str().unwrap_or_default().to_owned();
            results.push(result);
            let is_edit = ["consolidated", "updated", "deleted"].contains(&kind.as_str());
            let undone = kind == "refinement_rolled_back";
            if !is_edit && !undone && !["protected", "refinement_complete"].contains(&kind.as_str())
            {
                continue;
            }
            let before = resident.view.clone();
            let view = View::of(&resident.elsewhere).await?;
            // Undoing what was merged under `off` discards it, also where the guard is stricter by now.
            let may_discard = is_off || undone && self.guard == LossGuard::Off;
            let between = Between::Session {
                undone,
                is_off: may_discard,
            };
            resident.reconcile(view, between, &[])?;
            if is_edit {
                self.edits += 1;
                made += 1;
                ensure!(self.edits <= MOST_EDITS, "3.11", "{} edits", self.edits);
                let now = resident.view.counts.core_tokens;
                self.removed += before.counts.core_tokens.saturating_sub(now);
                if let Some(gauge) = self.gauge {
                    check_breaker(gauge, now, self.removed)?;
                }
                // Under `off` the core size alone decides.
                if !is_off {
                    self.check_floors(&before, resident).await?;
                }
            }
            if kind == "protected" {
                self.check_protected(&before, &resident.view)?;
            }
            if undone && !self.is_disturbed {
                resident.view.check_return(&self.opened)?;
            }
        }
        self.player.learn(&results);
        Ok(made)
    }

    /// Makes one call, again and again while it is refused as `busy`: then it changed nothing.
    async fn call(
        &self,
        resident: &mut Resident,
        tool: &str,
        arguments: &Value,
    ) -> Result<Value, Failure> {
        for _ in 0..ATTEMPTS {
            let agent = &resident.agent;
            let called = agent.call_tool(self.id, tool, Some(arguments)).await;
            match called.map_err(Failure::from) {
                Err(Failure::Refused("busy")) => resident.check_unchanged().await?,
                called => return Ok(serde_json::to_value(called?).unwrap_or(Value::Null)),
            }
        }
        Err(Failure::Refused("busy"))
    }

    /// The smaller budget, of its start and of now (SPEC 3.14).
    fn smaller_budget(&self, now: &View) -> u64 {
        match self.is_taken_up {
            // No larger one counts than that of now.
            true => now.budget,
            false => self.opened.budget.min(now.budget),
        }
    }

    /// That the constitutional memories take at most half of the budget where it protected one (SPEC 3.10).
    fn check_protected(&self, before: &View, now: &View) -> Result<(), Violation> {
        let (tokens, budget) = (now.constitutional_tokens(), self.smaller_budget(now));
        ensure!(
            now.counts.constitutional_count <= before.counts.constitutional_count
                || 2 * tokens <= budget,
            "3.10",
            "a session protected {tokens} tokens of a budget of {budget}"
        );
        Ok(())
    }

    /// The floor of nine tenths, the third of summaries, and the age rule, at one edit (SPEC 3.9, 3.14).
    async fn check_floors(&self, before: &View, resident: &Resident) -> Result<(), Failure> {
        let now = &resident.view;
        let gone = gone(before, now);
        let summaries = now.counts.summary_tokens;
        let smaller = self.smaller_budget(now);
        ensure!(
            !now.has_new_summary(before)
                || 3 * summaries <= smaller
                || summaries < before.counts.summary_tokens,
            "3.9",
            "the summaries take {summaries} tokens of a budget of {smaller}"
        );
        let is_left = |number: &u64| now.memories[number].is_active(Kind::Core);
        let summaries = before.numbers(|seen| seen.is_active(Kind::Core) && seen.is_summary);
        // A summary never leaves free.
        let is_free = summaries.iter().all(is_left)
            && gone
                .iter()
                .all(|number| now.has_copy(*number, before.memories[number].content()));
        let is_over = self.opened.counts.core_tokens > self.opened.budget;
        let budget = self.opened.budget.max(now.budget);
        let is_smaller = now.counts.core_tokens < before.counts.core_tokens;
        if is_over && is_smaller && !is_free && !self.is_taken_up {
            ensure!(
                10 * now.counts.core_tokens >= 9 * budget,
                "3.14",
                "{} tokens of a budget of {budget} are left",
                now.counts.core_tokens
            );
        }
        let may_be_over = is_over || self.is_taken_up;
        let floor = if may_be_over {
            Floor::Over
        } else {
            Floor::Within
        };
        check_ages(resident, &gone, floor).await
    }
}

/// That neither limit of the breaker is crossed: of the core size, and of all that was removed (SPEC 3.13).
pub(crate) fn check_breaker(
    (before, share): (u64, f64),
    core_tokens: u64,
    removed: u64,
) -> Result<(), Violation> {
    for left in [core_tokens, before.saturating_sub(removed)] {
        ensure!(
            before == 0 || left as f64 / before as f64 >= share,
            "3.13",
            "{left} of {before} tokens are left, and {share} was the threshold"
        );
    }
    Ok(())
}

/// The originals that left the prompt for the archive.
pub(crate) fn gone(before: &View, now: &View) -> BTreeSet<u64> {
    let core = before.memories.iter();
    let core = core.filter(|(_, seen)| seen.is_active(Kind::Core) && !seen.is_summary);
    let is_gone = |number: &u64| now.memories[number].is_active(Kind::Archival);
    core.map(|(number, _)| *number).filter(is_gone).collect()
}

/// The age rule at each of `gone`, computed anew from records and memories.
pub(crate) async fn check_ages(
    resident: &Resident,
    gone: &BTreeSet<u64>,
    floor: Floor,
) -> Result<(), Failure> {
    if gone.is_empty() || !resident.is_calm {
        return Ok(());
    }
    let lens = resident.elsewhere.lens();
    let memories = lens.memories(true).await?;
    let records = lens.records(&RecordFilter::default()).await?;
    for age in Ages::new(&memories, &records).ages {
        if gone.contains(&age.number) && age.is_gone {
            let stays = age.stays + age.own;
            ensure!(
                floor.is_met(stays, age.all, resident.view.budget),
                "3.14",
                "of the age of #{}, {stays} of {} tokens are left, and {} are asked for",
                age.number,
                age.all,
                floor.as_str()
            );
        }
    }
    Ok(())
}

/// The mode of a session.
pub(crate) fn mode(is_dedup_only: bool) -> Mode {
    if is_dedup_only {
        Mode::DedupOnly
    } else {
        Mode::Full
    }
}

//! Agents that are erased (SPEC 5.4), and those that take their names.

use std::collections::BTreeSet;

use memoir_app::{Error, OwnAgent, RecordFilter};
use memoir_testkit::{Dice, query};
use serde_json::json;

use super::{World, any_guard};
use crate::{
    Violation,
    plan::Plan,
    process::Fault,
    resident::own,
    view::{View, check_marks, ensure},
};

impl World {
    /// Whether the agent is erased after a step that was to erase it. Then nothing of it is read any more, and its log
    /// fits.
    pub(super) async fn is_erased(
        &mut self,
        who: usize,
        is_killed: bool,
    ) -> Result<bool, Violation> {
        if is_killed {
            // The record may be written, and the key still there: any process finishes that.
            let finished = self.node().memoir.finish().await?;
            let left = finished.left.len();
            ensure!(left == 0, "6.2", "{left} works stay half-done");
            // It closes lapsed sessions too.
            for other in (0..self.residents.len()).filter(|other| *other != who) {
                let before = self.residents[other].view.clone();
                let closing = (&Plan::Cancel, false);
                self.reconcile(other, closing, &before).await?;
            }
        }
        let resident = &self.residents[who];
        match View::of(&resident.agent).await {
            Ok(_) => return Ok(false),
            Err(error) if error.code() == "erased" => {}
            Err(error) => return Err(error.into()),
        }
        let mark = self.options.lexicon.mark(resident.place);
        for agent in &resident.by_node {
            check_unreadable(agent, mark.clone()).await?;
        }
        let verified = resident.agent.log().verify().await?;
        ensure!(
            verified.valid && verified.erased_at.is_some(),
            "5.4",
            "the log of an erased agent: {:?}",
            verified.first_bad
        );
        self.report.erased += 1;
        self.erased
            .push((resident.account, resident.agent.scope().agent));
        Ok(true)
    }

    /// Another agent of the same name, which knows nothing of the erased one. The process that makes it may be killed,
    /// and then it is there or not.
    pub(super) async fn replace_erased(
        &mut self,
        who: usize,
        dice: &mut Dice,
    ) -> Result<(), Violation> {
        let named = (self.residents[who].account, self.residents[who].name);
        let guard = any_guard(dice);
        if dice.roll(2) == 0 {
            self.node().process.arm(0, Fault::any(dice));
        }
        let process = self.node().process.clone();
        let made = tokio::select! {
            biased;
            () = process.ended() => None,
            made = self.make_agent(named, guard) => Some(made),
        };
        self.node().process.disarm();
        let is_acknowledged = matches!(made, Some(Ok(_)));
        if made.is_none() {
            self.restart().await?;
        }
        let agent = match self.living(named).await? {
            Some(agent) => agent,
            None => {
                ensure!(!is_acknowledged, "6.2", "an acknowledged agent is missing");
                self.make_agent(named, guard).await?
            }
        };
        let resident = self.resident(named, agent).await?;
        let count = resident.view.memories.len();
        ensure!(count == 0, "5.4", "a new agent has {count} memories");
        self.residents[who] = resident;
        self.check_erased().await
    }

    /// The agent of that name that is not erased.
    async fn living(&self, (account, name): (&str, &str)) -> Result<Option<OwnAgent>, Error> {
        let account = self.node().memoir.account(account).await?;
        let agent = own(&account.agent(name).await?)?;
        match View::of(&agent).await {
            Ok(_) => Ok(Some(agent)),
            Err(error) if error.code() == "erased" => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// That no list names an erased agent, and that none is read by its identifier.
    pub(super) async fn check_erased(&self) -> Result<(), Violation> {
        for (account, id) in &self.erased {
            let account = self.node().memoir.account(account).await?;
            let listed = account.agents().await?;
            let is_listed = listed.iter().any(|agent| agent.id == *id);
            ensure!(!is_listed, "5.4", "an erased agent is listed");
            let agent = account.agent(&id.to_string()).await?;
            let read = View::of(&own(&agent)?).await;
            let code = read.err().map(|error| error.code());
            ensure!(code == Some("erased"), "5.4", "{code:?} of an erased agent");
        }
        Ok(())
    }
}

/// That nothing of an erased agent is read.
async fn check_unreadable(agent: &OwnAgent, mark: String) -> Result<(), Violation> {
    let query = query(&mark, 20);
    let read = [
        agent.lens().memories(true).await.err(),
        agent.context(Some(700)).await.err(),
        agent.lens().recall(&query).await.err(),
        agent.lens().session_page(None, 10).await.err(),
    ];
    for refused in read {
        let code = refused.map(|error| error.code());
        ensure!(code == Some("erased"), "5.4", "{code:?} of an erased agent");
    }
    // What was done, and when, stays.
    let records = agent.lens().records(&RecordFilter::default()).await?;
    check_marks([json!(records).to_string()], &BTreeSet::from([mark]))
}

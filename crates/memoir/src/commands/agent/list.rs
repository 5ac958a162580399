//! `memoir agent list`

use memoir_app::AgentFacts;

use crate::{
    failure::Outcome,
    installation::Installation,
    options::Global,
    output,
    show::{TextTable, or_dash, thousands, when},
    terminal::safe,
};

pub(crate) async fn run(global: &Global) -> Outcome {
    let installation = Installation::existing(global).await?;
    let agents = installation.account.agents().await?;
    let none = "there is no agent yet; `memoir agent create NAME` creates one";
    output::list(global.json, agents, none, |agents| {
        let headings = "agent, health, core, tokens, budget, journal, in prompt, archived, discarded, last refined, next, model";
        let mut table = TextTable::new(headings.split(", ")).right(2..=8);
        for agent in agents {
            table.row([
                safe(&agent.name).into_owned(),
                agent.health.label().to_owned(),
                thousands(agent.counts.core_count),
                thousands(agent.counts.core_tokens),
                thousands(agent.effective_core_token_budget),
                thousands(agent.counts.journal_count),
                thousands(agent.counts.originals.in_prompt),
                thousands(agent.counts.originals.archived),
                thousands(agent.counts.discarded_count),
                or_dash(agent.last_refinement_at.map(|time| time.date())),
                next(agent),
                or_dash(agent.effective_model.as_deref().map(safe)),
            ]);
        }
        table.to_string()
    })
}

pub(super) fn next(agent: &AgentFacts) -> String {
    match (agent.next_refinement_reason, agent.next_refinement_at) {
        (Some(reason), _) => format!("never: {}", reason.label()),
        (None, _) if agent.refinement_due.is_some() => "due".to_owned(),
        (None, at) => or_dash(at.map(when)),
    }
}

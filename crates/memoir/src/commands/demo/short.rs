//! The demonstration in a few lines: a careless session that is undone, a good one, and a correction whose old text
//! stays in the archive.

use memoir_app::{Account, MemoryInput, OwnAgent, Viewer, sessions::RefineOptions};
use memoir_domain::{
    agent::Field,
    audit::Actor,
    memory::Number,
    recall::{RECALL_LIMIT, RecallQuery},
    session::{Mode, State},
};
use serde_json::json;

use crate::{
    failure::{Failure, Outcome},
    output,
    show::{self, counted},
    terminal::{BOLD, DIM, GREEN, RED},
};

const NAME: &str = "finch";
/// The second and the last differ in case alone.
const MEMORIES: [&str; 6] = [
    "Marta prefers strong linen thread.",
    "Ines keeps bees behind the greenhouse.",
    "The shop is closed on Mondays.",
    "Lena, the youngest, starts school in September.",
    "The alarm code is changed on the first of each month.",
    "ines keeps bees behind the greenhouse.",
];
/// Replaces the first one.
const CORRECTED: &str = "Marta prefers silk thread now.";

/// Runs it. A step without the expected result is a refusal.
pub(super) async fn run(account: &Account) -> Outcome {
    let agent = created(account).await?;
    let tokens = agent.views().show().await?.counts.core_tokens;
    say(&format!(
        "{BOLD}An agent, `{NAME}`, with {}, in a database that is thrown away.{BOLD:#}",
        counted(MEMORIES.len() as u64, "memory", "memories")
    ))?;
    let is_undone = careless(&agent, tokens).await?;
    let is_merged = good(&agent).await?;
    let is_corrected = correction(&agent).await?;
    let verification = agent.log().verify().await?;
    let text = show::verified::verified_text(std::slice::from_ref(&verification), None);
    let text = text.trim_end();
    say(&format!("\n{BOLD}memoir audit verify{BOLD:#}\n{text}"))?;
    let is_right = is_undone && is_merged && is_corrected && verification.valid;
    say(&format!(
        "{BOLD}Next:{BOLD:#}\n  memoir setup claude-code        memory in Claude Code, from its next session on\n  \
         memoir agent create wren        an agent of your own; `memoir help` lists what it can do\n  \
         memoir demo --full              a whole session on a larger agent, with every record of it"
    ))?;
    say(match is_right {
        true => State::Completed.label(),
        false => "something is not as it should be",
    })?;
    Failure::refused_unless(is_right)
}

async fn created(account: &Account) -> Result<OwnAgent, Failure> {
    let settings = [
        (Field::Model, Some("builtin:careful")),
        (Field::LossGuard, Some("off")),
    ];
    let owner = Actor::owner();
    account.create_agent(NAME, &settings, &owner).await?;
    let agent = account.agent(NAME).await?;
    let agent = agent.views().seen_by(Viewer::Agent).as_agent()?;
    for text in MEMORIES {
        let input = MemoryInput {
            content: text.into(),
            ..MemoryInput::default()
        };
        agent.memories().save(&[input], &owner).await?;
    }
    Ok(agent)
}

/// A session that deletes any memory, on an agent whose loss guard is off.
async fn careless(agent: &OwnAgent, tokens: u64) -> Result<bool, Failure> {
    say(&format!(
        "\n{BOLD}1. A careless session{BOLD:#} deletes whatever looks long. {DIM}(The loss guard is off for it.){DIM:#}"
    ))?;
    let (session, _) = agent.open_own(Mode::Full).await?;
    let mut is_undone = false;
    // The longest memories go first, so that few deletions trip the breaker.
    for number in [5, 4, 2, 1] {
        let arguments = json!({"id": number});
        let result = agent.call_tool(session.id, "delete_memory", Some(&arguments));
        let result = serde_json::to_value(result.await?)
            .map_err(|_| Failure::new("a result cannot be written as JSON"))?;
        if result["type"] == "refinement_rolled_back" {
            let left = result["post_session_tokens"].as_u64().unwrap_or_default();
            say(&format!(
                "   delete #{number}  {RED}the breaker trips{RED:#}: less than three quarters of {tokens} tokens would be left"
            ))?;
            say(&format!(
                "   {GREEN}undone{GREEN:#}: the whole session, in the same transaction; {left} of {tokens} tokens are there"
            ))?;
            is_undone = left == tokens;
            break;
        }
        say(&format!("   delete #{number}  done"))?;
    }
    // The rest of the demonstration uses the default loss guard.
    let guard = [(Field::LossGuard, None)];
    agent.settings().configure(&guard, &Actor::owner()).await?;
    Ok(is_undone)
}

async fn good(agent: &OwnAgent) -> Result<bool, Failure> {
    let lens = agent.lens();
    let session = lens.refine(&RefineOptions::default(), &mut |_| {}).await?;
    let left = session.post_session_tokens.unwrap_or_default();
    let before = session.pre_session_tokens.unwrap_or_default();
    say(&format!(
        "\n{BOLD}2. A good session{BOLD:#} by `builtin:careful`: rules in the place of a model."
    ))?;
    say(&format!(
        "   #6 has the text of #2 but for case: it moves to the archive, under #2; {before} → {left} tokens\n   \
         {GREEN}{}{GREEN:#}: {} archived, and nothing is lost",
        session.state.label(),
        counted(u64::from(session.archived), "memory", "memories")
    ))?;
    Ok(session.state == State::Completed && session.archived > 0)
}

/// A memory that replaces another one, which recall still finds.
async fn correction(agent: &OwnAgent) -> Result<bool, Failure> {
    const OLD: Number = Number(1);
    say(&format!(
        "\n{BOLD}3. A correction.{BOLD:#} {DIM}(The old text leaves the prompt, and stays in the archive.){DIM:#}"
    ))?;
    let input = MemoryInput {
        content: CORRECTED.into(),
        replaces: vec![OLD],
        ..MemoryInput::default()
    };
    let saved = agent.memories().save(&[input], &Actor::owner()).await?;
    let Some(new) = saved.first().map(|saved| saved.memory.number) else {
        return Ok(false);
    };
    say(&format!(
        "   remember \"{CORRECTED}\" --replaces 1\n   saved as {new}; {OLD} is in the archive, under {new}"
    ))?;
    let query = RecallQuery {
        text: "Which thread does Marta prefer?".into(),
        limit: RECALL_LIMIT,
        ..RecallQuery::default()
    };
    let found = agent.lens().recall(&query).await?;
    let old = found.iter().find(|memory| memory.number == OLD);
    if let Some(old) = old {
        say(&format!(
            "   recall finds both: {OLD} \"{}\", which held until now",
            old.content()
        ))?;
    }
    let is_marked = old.is_some_and(|old| {
        let replaced = old.replaced();
        replaced.is_some_and(|replaced| replaced.now == new)
    });
    Ok(is_marked)
}

fn say(text: &str) -> Result<(), Failure> {
    for line in text.split('\n') {
        match line {
            // `output::print` writes nothing for an empty text.
            "" => output::data(b"\n")?,
            line => output::print(line)?,
        }
    }
    Ok(())
}

//! The demonstration in a few lines: a careless session that is undone, a good one, and a word let go after a second
//! look.

use memoir_app::{Account, MemoryInput, OwnAgent, Verification, Viewer, sessions::RefineOptions};
use memoir_domain::{
    agent::Field,
    audit::Actor,
    session::{Mode, State},
};
use serde_json::{Value, json};

use crate::{
    failure::{Ending, Failure},
    installation::administrator,
    show::{self, counted},
    terminal::{self, BOLD, DIM, GREEN, RED},
};

const NAME: &str = "finch";
/// The second and the last are the same but for their ends.
const MEMORIES: [&str; 6] = [
    "Marta prefers strong linen thread.",
    "Ines keeps bees behind the greenhouse.",
    "The shop is closed on Mondays.",
    "Lena, the youngest, starts school in September.",
    "The alarm code is changed on the first of each month.",
    "ines keeps bees behind the greenhouse",
];
/// The first one, without a word that says something.
const TIGHTER: &str = "Marta prefers linen thread.";

/// Runs it, and says whether everything came out as it should.
pub(super) async fn run(account: &Account) -> Result<Ending, Failure> {
    let agent = made(account).await?;
    let tokens = agent.show().await?.counts.core_tokens;
    say(&format!(
        "{BOLD}An agent, `{NAME}`, with {}, in a database that is thrown away.{BOLD:#}",
        counted(MEMORIES.len() as u64, "memory", "memories")
    ))?;
    let is_undone = careless(&agent, tokens).await?;
    let is_merged = good(&agent).await?;
    let is_asked = second_look(&agent).await?;
    let verification = agent.verify().await?;
    tell_verified(&verification)?;
    let is_right = is_undone && is_merged && is_asked && verification.valid;
    say(&format!(
        "{BOLD}Next:{BOLD:#}\n  memoir setup claude-code        memory in Claude Code, from its next session on\n  \
         memoir agent create wren        an agent of your own; `memoir help` lists what it can do\n  \
         memoir demo --full              a whole session on a larger agent, with every record of it"
    ))?;
    say(match is_right {
        true => memoir_domain::labels::state(State::Completed),
        false => "something is not as it should be",
    })?;
    Ok(match is_right {
        true => Ending::Done,
        false => Ending::Refused,
    })
}

async fn made(account: &Account) -> Result<OwnAgent, Failure> {
    let settings = [
        (Field::Model, Some("builtin:careful")),
        (Field::LossGuard, Some("off")),
        (Field::DuplicateMatch, Some("ignore_case")),
    ];
    account
        .create_agent(NAME, &settings, &administrator())
        .await?;
    let agent = account.agent(NAME).await?;
    let agent = agent.seen_by(Viewer::Agent).as_agent()?;
    for text in MEMORIES {
        let input = MemoryInput {
            content: text.into(),
            ..MemoryInput::default()
        };
        agent.save(&[input], &Actor::owner()).await?;
    }
    Ok(agent)
}

/// A session that deletes what it likes, on an agent whose guard is off.
async fn careless(agent: &OwnAgent, tokens: u64) -> Result<bool, Failure> {
    say(&format!(
        "\n{BOLD}1. A careless session{BOLD:#} deletes whatever looks long. {DIM}(The guard against losses is off for it.){DIM:#}"
    ))?;
    let (session, _) = agent.open_own(Mode::Full).await?;
    let mut is_undone = false;
    // The longest memories go first, so that few deletions trip the breaker.
    for number in [5, 4, 2, 1] {
        let result = call(agent, session.id, "delete_memory", &json!({"id": number})).await?;
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
    agent.configure(&guard, &administrator()).await?;
    Ok(is_undone)
}

async fn good(agent: &OwnAgent) -> Result<bool, Failure> {
    let session = agent
        .lens()
        .refine(&RefineOptions::default(), &mut |_| {})
        .await?;
    let merged = session.stats.consolidated + session.stats.deleted;
    let left = session.post_session_tokens.unwrap_or_default();
    let before = session.pre_session_tokens.unwrap_or_default();
    say(&format!(
        "\n{BOLD}2. A good session{BOLD:#} by `builtin:careful`: rules in the place of a model."
    ))?;
    say(&format!(
        "   #6 says what #2 says: it is carried by #2 now; {before} → {left} tokens\n   \
         {GREEN}{}{GREEN:#}: {merged} put together, and nothing that was said is gone",
        memoir_domain::labels::state(session.state)
    ))?;
    Ok(session.state == State::Completed && merged > 0)
}

/// An edit that would lose a word is answered with it, and done when it is asked for again.
async fn second_look(agent: &OwnAgent) -> Result<bool, Failure> {
    say(&format!(
        "\n{BOLD}3. One word let go, after a second look.{BOLD:#} {DIM}(The guard is on, as it is by default.){DIM:#}"
    ))?;
    let (session, _) = agent.open_own(Mode::Full).await?;
    let mut edit = json!({"id": 1, "content": TIGHTER});
    let first = call(agent, session.id, "update_memory", &edit).await?;
    let words: Vec<&str> = first["lost"]["words"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    say(&format!(
        "   update #1 to \"{TIGHTER}\"\n   asked first: it would let `{}` go ({})",
        words.join(", "),
        first["code"].as_str().unwrap_or("no code")
    ))?;
    edit["confirm"] = first["confirm"].clone();
    let second = call(agent, session.id, "update_memory", &edit).await?;
    say("   the same call again, with the code of that answer: done, and on the record")?;
    let summary = json!({"summary": "One word was let go."});
    let ended = call(agent, session.id, "complete_refinement", &summary).await?;
    Ok(second["type"] == "updated" && ended["type"] == "refinement_complete")
}

async fn call(
    agent: &OwnAgent,
    session: memoir_domain::SessionId,
    tool: &str,
    arguments: &Value,
) -> Result<Value, Failure> {
    let result = agent.call_tool(session, tool, Some(arguments)).await?;
    serde_json::to_value(result).map_err(|_| Failure::new("an answer cannot be written as JSON"))
}

fn tell_verified(verification: &Verification) -> Result<(), Failure> {
    let text = show::verified::verified_text(std::slice::from_ref(verification), None);
    say(&format!(
        "\n{BOLD}memoir audit verify{BOLD:#}\n{}",
        text.trim_end()
    ))
}

fn say(text: &str) -> Result<(), Failure> {
    for line in text.split('\n') {
        match line {
            // `terminal::print` writes nothing for an empty text.
            "" => terminal::data(b"\n")?,
            line => terminal::print(line)?,
        }
    }
    Ok(())
}

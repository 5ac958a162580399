//! What a model is told: the request for consent (SPEC 3.3) and the session's prompt (SPEC 3.5).

use crate::{
    PrivateText,
    agent::Agent,
    breaker::Gauge,
    context::ContextText,
    ledger::Ledger,
    session::{EDIT_CAP, Mode},
};

const RULES: &str = include_str!("rules.md");
const DEFAULT_STYLE: &str = include_str!("style.md");
const CLOSING: &str = include_str!("closing.md");
const CLOSING_DEDUP_ONLY: &str = include_str!("closing_dedup_only.md");
const CONSENT: &str = include_str!("consent.md");
/// The start of the status line that tells how many tokens may be removed.
const REMOVABLE: &str = "- May be removed before the breaker trips: ";

/// A prompt in the two parts in which models take it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Who the agent is, and the rules.
    pub system: PrivateText,
    /// What it is to look at.
    pub user: PrivateText,
}

impl Prompt {
    /// Both parts as one text.
    pub fn text(&self) -> PrivateText {
        PrivateText::new(format!(
            "{}\n\n{}",
            self.system.expose(),
            self.user.expose()
        ))
    }
}

/// The session's prompt: identity, the fixed rules, the agent's own style, the status, the ledger, and
/// the closing instruction, in this order (SPEC 3.5).
pub fn session(agent: &Agent, mode: Mode, gauge: &Gauge, ledger: &Ledger) -> Prompt {
    let style = agent
        .settings
        .refinement_prompt
        .as_ref()
        .map_or(DEFAULT_STYLE, PrivateText::expose);
    let closing = match mode {
        Mode::Full => CLOSING,
        Mode::DedupOnly => CLOSING_DEDUP_ONLY,
    };
    Prompt {
        system: format!(
            "{}\n\n{}\n\n## Your own style of refining\n\n{}",
            identity(agent),
            RULES.trim(),
            style.trim()
        )
        .into(),
        user: format!(
            "{}\n\n## Your core memories, oldest first\n\nnumber | origin date | size | flags | tags | text\n\n{}\n{}",
            status(agent, gauge),
            ledger.text.expose(),
            closing.trim()
        )
        .into(),
    }
}

fn identity(agent: &Agent) -> String {
    match &agent.settings.system_prompt {
        Some(prompt) => prompt.expose().trim().to_owned(),
        None => format!("You are {}.", agent.name),
    }
}

fn status(agent: &Agent, gauge: &Gauge) -> String {
    format!(
        "## Status\n\n\
         - Core memories: {}, of which constitutional: {}\n\
         - Mass: {} tokens\n\
         - Budget: {} tokens ({})\n\
         {REMOVABLE}{} tokens\n\
         - Edits: at most {EDIT_CAP}",
        agent.tally.core_count,
        agent.tally.constitutional_count,
        agent.tally.core_tokens,
        agent.settings.effective_core_token_budget(),
        over_or_within(agent),
        gauge.removable_tokens(),
    )
}

fn over_or_within(agent: &Agent) -> String {
    let (mass, budget) = (
        agent.tally.core_tokens,
        agent.settings.effective_core_token_budget(),
    );
    if mass > budget {
        format!("over by {} tokens", mass - budget)
    } else {
        "within budget".to_owned()
    }
}

/// The request for consent: the agent's own system prompt with its context, then what a session may do.
pub fn consent(agent: &Agent, context: &ContextText) -> Prompt {
    let user = CONSENT
        .trim()
        .replace("{core_count}", &agent.tally.core_count.to_string())
        .replace("{core_tokens}", &agent.tally.core_tokens.to_string())
        .replace(
            "{budget}",
            &agent.settings.effective_core_token_budget().to_string(),
        )
        .replace("{over_or_within}", &over_or_within(agent));
    Prompt {
        system: format!("{}\n\n{}", identity(agent), context.text.expose())
            .trim_end()
            .into(),
        user: user.into(),
    }
}

/// Whether an answer to the request is consent: its first word is YES, in any case, with Markdown
/// around it (SPEC 3.3). A block of thinking before the answer is not the answer.
pub fn is_consent(answer: &str) -> bool {
    let mut answer = answer.trim_start();
    if let Some(thinking) = answer.strip_prefix("<think>") {
        answer = thinking.split_once("</think>").map_or("", |(_, said)| said);
    }
    // A word that is struck out, `~~YES~~`, was not said.
    let start = answer.trim_start_matches(|character: char| {
        character.is_whitespace() || "*_`#>-+\"'“”‘’«»[(".contains(character)
    });
    let joins_words = |character: char| character.is_alphanumeric() || "-/'’".contains(character);
    let word: String = start
        .chars()
        .take_while(|&character| joins_words(character))
        .collect();
    word.trim_end_matches(['-', '\'', '’'])
        .eq_ignore_ascii_case("yes")
}

/// Reads from a session's prompt how many tokens may be removed; `None` where it does not say.
pub fn parse_removable_tokens(prompt: &str) -> Option<u64> {
    // The last such line is Memoir's own: what an agent wrote into its prompts stands before it, and
    // no line of the ledger begins so.
    let line = prompt
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix(REMOVABLE))?;
    line.strip_suffix(" tokens")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_3_3_only_a_first_word_of_yes_is_consent() {
        for answer in [
            "YES",
            "yes.",
            " **Yes**, gladly",
            "# YES\nbecause",
            "> _yes_",
            "\"Yes\"",
            "Yes — go",
            "'yes'",
            "- YES",
            "YES - I agree",
            "<think>no?</think>\nYES",
        ] {
            assert!(is_consent(answer), "{answer}");
        }
        for answer in [
            "",
            "no",
            "NO, yes",
            "Yesterday",
            "I say YES",
            "yes/no",
            "yes-but",
            "<think>YES",
            "ja",
            "<think>yes</think> no",
            "~~YES~~ NO",
            "yes'm",
            "- no",
        ] {
            assert!(!is_consent(answer), "{answer}");
        }
    }

    #[test]
    fn spec_3_5_no_word_invites_losing_what_is_old() {
        let all = [RULES, DEFAULT_STYLE, CLOSING, CLOSING_DEDUP_ONLY, CONSENT]
            .join("\n")
            .to_lowercase();
        for word in [
            "summarise",
            "summarize",
            "condense",
            "outdated",
            "obsolete",
            "prune",
            "clean up",
            "stale",
        ] {
            assert!(!all.contains(word), "{word}");
        }
        assert!(all.contains("not compressing"));
        assert!(RULES.contains("**Finishing with zero edits is a good outcome.**"));
    }
}

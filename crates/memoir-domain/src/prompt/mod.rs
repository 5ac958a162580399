//! What a model is told: the request for consent (SPEC 3.3) and the session's prompt (SPEC 3.5).
//!
//! What a session may do is said in the words of its mode (the Markdown files beside this one); the rules
//! stand before the agent's own style and in short after it. From what loss on everything is undone comes
//! from one function ([`Gauge::allowance`](crate::breaker::Gauge::allowance)), and prompt, command line and
//! console print the same sentence.

use crate::{
    PrivateText,
    access::{AccessKind, AccessRequest, AccessScope},
    agent::{Agent, LossGuard},
    answer::without_thinking,
    breaker::Gauge,
    context::ContextText,
    ledger::{self, Ledger},
    memory::Memory,
    quote::quote,
    session::{EDIT_CAP, Mode, Session},
};

pub(crate) const DEFAULT_STYLE: &str = include_str!("style.md");
const REHEARSAL: &str = include_str!("rehearsal.md");
const OVER_BUDGET: &str = include_str!("over_budget.md");
const NEAR_DOUBLES: &str = include_str!("near_doubles.md");
const CONSENT: &str = include_str!("consent.md");
const CONSENT_REHEARSAL: &str = include_str!("consent_rehearsal.md");
const ACCESS: &str = include_str!("access.md");
/// The place in the rules and in the question that says what becomes of a loss.
const GUARD: &str = "{guard}";
/// The start of the status line that tells from what loss on everything is undone.
const LIMIT: &str = "- Limit: if more than ";

/// What of a session its prompts tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PromptSession {
    /// Which tools it has.
    pub mode: Mode,
    /// Whether it works on a copy.
    pub rehearsal: bool,
    /// Edits that are done already: whoever goes on with a session has not all ten.
    pub edits: u32,
    /// The guard that it began with; `None` before it begins.
    pub loss_guard: Option<LossGuard>,
}

impl From<&Session> for PromptSession {
    fn from(session: &Session) -> Self {
        Self {
            mode: session.mode,
            rehearsal: session.rehearsal,
            edits: session.edits,
            loss_guard: session.loss_guard,
        }
    }
}

/// What becomes of a loss, as each guard has it (SPEC 3.14).
struct GuardWords {
    rules: &'static str,
    rules_again: &'static str,
    consent: &'static str,
}

impl GuardWords {
    fn of(agent: &Agent, session: PromptSession) -> Self {
        let current = agent.settings.effective_loss_guard();
        // The stricter of the two, as the knife has it: the prompt must not promise what is then refused.
        match current.max(session.loss_guard.unwrap_or(current)) {
            LossGuard::Limit => Self {
                rules: include_str!("rules_limit.md"),
                rules_again: "What an edit would lose is named first.",
                consent: "What an edit would lose is named to you before anything is done.",
            },
            LossGuard::Refuse => Self {
                rules: include_str!("rules_refuse.md"),
                rules_again: "An edit that would lose something is refused.",
                consent: "An edit that would lose something is refused, and what it would lose is named to you.",
            },
            LossGuard::Off => Self {
                rules: include_str!("rules_off.md"),
                rules_again: "What an edit loses is counted and told.",
                consent: "What an edit loses is counted, put on your record and told to you.",
            },
        }
    }
}

/// The words of a mode.
struct Words {
    rules: &'static str,
    rules_again: &'static str,
    closing: &'static str,
    consent: &'static str,
}

const FULL: Words = Words {
    rules: include_str!("rules.md"),
    rules_again: include_str!("rules_again.md"),
    closing: include_str!("closing.md"),
    consent: include_str!("consent_full.md"),
};

/// Says nothing of tightening, merging or confirming, which such a session does not have.
const DEDUP_ONLY: Words = Words {
    rules: include_str!("rules_dedup_only.md"),
    rules_again: include_str!("rules_again_dedup_only.md"),
    closing: include_str!("closing_dedup_only.md"),
    consent: include_str!("consent_dedup_only.md"),
};

impl Words {
    fn of(mode: Mode) -> &'static Self {
        match mode {
            Mode::Full => &FULL,
            Mode::DedupOnly => &DEDUP_ONLY,
        }
    }
}

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

/// The session's prompt: identity, the fixed rules, the agent's own style and the rules again in short, the
/// status, the ledger, and the closing instruction, in this order (SPEC 3.5).
pub fn session(agent: &Agent, session: PromptSession, gauge: &Gauge, ledger: &Ledger) -> Prompt {
    let words = Words::of(session.mode);
    let guard = GuardWords::of(agent, session);
    let style = agent
        .settings
        .refinement_prompt
        .as_ref()
        .map_or(DEFAULT_STYLE, PrivateText::expose);
    let rehearsal = match session.rehearsal {
        true => format!("{}\n\n", REHEARSAL.trim()),
        false => String::new(),
    };
    let pairs = ledger
        .near_doubles
        .as_ref()
        .map_or_else(String::new, |pairs| {
            format!("\n{}\n\n{}\n", NEAR_DOUBLES.trim(), pairs.expose())
        });
    Prompt {
        system: format!(
            "{}\n\n{}\n\n{rehearsal}## Your own style of refining\n\n{}\n\n{}",
            identity(agent),
            fill(
                words.rules.trim(),
                &[(GUARD, guard.rules.trim().to_owned())]
            ),
            style.trim(),
            fill(
                words.rules_again.trim(),
                &[(GUARD, guard.rules_again.to_owned())]
            ),
        )
        .into(),
        user: format!(
            "{}\n\n## Your core memories, oldest first\n\n{}\n\n{}{pairs}\n{}",
            status(agent, session, gauge, ledger),
            ledger::COLUMNS,
            ledger.text.expose(),
            words.closing.trim()
        )
        .into(),
    }
}

/// Who the agent is, in its own words where it has any.
pub(crate) fn identity(agent: &Agent) -> String {
    match &agent.settings.system_prompt {
        Some(prompt) => prompt.expose().trim().to_owned(),
        None => nameplate(&agent.name),
    }
}

/// Who an agent is whose system prompt is not set.
pub(crate) fn nameplate(name: &str) -> String {
    format!("You are {name}.")
}

fn status(agent: &Agent, session: PromptSession, gauge: &Gauge, ledger: &Ledger) -> String {
    let allowance = gauge.allowance();
    let mut lines = vec![
        format!(
            "- Core memories: {}, of which constitutional: {}",
            agent.tally.core_count, agent.tally.constitutional_count
        ),
        format!("- Mass: {} tokens", agent.tally.core_tokens),
        format!(
            "- Budget: {} tokens ({})",
            agent.settings.effective_core_token_budget(),
            over_or_within(agent)
        ),
        format!("- Limit: {allowance}. Most sessions remove none."),
    ];
    if let Some(smallest) = ledger.smallest_unprotected
        // Said only where it holds: it is the one case in which any deletion trips the breaker.
        && smallest > allowance.tokens
    {
        lines.push(format!(
            "- The smallest memory that could be deleted has {}: deleting any undoes everything.",
            counted(smallest)
        ));
    }
    let left = EDIT_CAP.saturating_sub(session.edits);
    lines.push(match session.edits {
        0 => format!("- Edits: at most {EDIT_CAP}"),
        done => {
            format!("- Edits: at most {EDIT_CAP}, of which {done} are done and {left} are left")
        }
    });
    let over = match is_over(agent) {
        true => format!("\n\n{}", OVER_BUDGET.trim()),
        false => String::new(),
    };
    format!("## Status\n\n{}{over}", lines.join("\n"))
}

fn counted(tokens: u64) -> String {
    match tokens {
        1 => "1 token".to_owned(),
        _ => format!("{tokens} tokens"),
    }
}

fn is_over(agent: &Agent) -> bool {
    agent.tally.core_tokens > agent.settings.effective_core_token_budget()
}

fn over_or_within(agent: &Agent) -> String {
    let (mass, budget) = (
        agent.tally.core_tokens,
        agent.settings.effective_core_token_budget(),
    );
    match mass.checked_sub(budget) {
        Some(over) if over > 0 => format!("over by {}", counted(over)),
        _ => "within budget".to_owned(),
    }
}

/// The request for consent: the agent's own system prompt with its context, then what a session like this
/// one may do.
pub fn consent(agent: &Agent, session: PromptSession, context: &ContextText) -> Prompt {
    let mut what: Vec<String> = Vec::new();
    if is_over(agent) {
        what.push(OVER_BUDGET.trim().to_owned());
    }
    let guard = GuardWords::of(agent, session).consent.to_owned();
    what.push(fill(
        Words::of(session.mode).consent.trim(),
        &[(GUARD, guard)],
    ));
    if session.rehearsal {
        what.push(CONSENT_REHEARSAL.trim().to_owned());
    }
    let user = fill(
        CONSENT.trim(),
        &[
            ("{core_count}", agent.tally.core_count.to_string()),
            ("{core_tokens}", agent.tally.core_tokens.to_string()),
            (
                "{budget}",
                agent.settings.effective_core_token_budget().to_string(),
            ),
            ("{over_or_within}", over_or_within(agent)),
            ("{what}", what.join("\n\n")),
        ],
    );
    Prompt {
        system: format!("{}\n\n{}", identity(agent), context.text.expose())
            .trim_end()
            .into(),
        user: user.into(),
    }
}

/// The request to let somebody in (SPEC 5.2): the agent's own system prompt with its context, then who
/// asks for what, for how long and why. `memory` is the one that is to be shredded.
pub fn access(
    agent: &Agent,
    context: &ContextText,
    request: &AccessRequest,
    memory: Option<&Memory>,
) -> Prompt {
    let user = fill(
        ACCESS.trim(),
        &[
            ("{who}", quote(&request.asked_by.name)),
            ("{what}", asked_for(request.kind)),
            ("{how_long}", how_long(request.kind)),
            ("{purpose}", quote(request.purpose.expose())),
            ("{consequence}", consequence(request.kind, memory)),
        ],
    );
    Prompt {
        system: format!("{}\n\n{}", identity(agent), context.text.expose())
            .trim_end()
            .into(),
        user: user.into(),
    }
}

/// The form with its places filled, each once and in this order: what is filled in has no places.
fn fill(form: &str, places: &[(&str, String)]) -> String {
    let (mut text, mut rest) = (String::new(), form);
    for (place, words) in places {
        // Only what follows the last place is looked at, so that a purpose that holds `{consequence}` fills
        // nothing.
        if let Some((before, after)) = rest.split_once(place) {
            text.push_str(before);
            text.push_str(words);
            rest = after;
        }
    }
    text.push_str(rest);
    text
}

fn asked_for(kind: AccessKind) -> String {
    match kind {
        AccessKind::Read { scope, .. } => match scope {
            AccessScope::Session(id) => format!(
                "to read what the refinement session {id} changed: the memories that it touched, before and after, and what you said to it"
            ),
            AccessScope::Core => "to read your kept core memories".to_owned(),
            AccessScope::All => {
                "to read everything: all your memories, discarded ones too, your records and your prompts"
                    .to_owned()
            }
        },
        AccessKind::Token { expires_at } => match expires_at {
            Some(at) => format!("to make one more token of yours, which ends at {at}"),
            None => "to make one more token of yours, which does not end by itself".to_owned(),
        },
        AccessKind::Connection { .. } => "to connect a program to your memory, which gets tokens of yours. The purpose says which program, and where it is".to_owned(),
        AccessKind::Shred { number } => {
            format!("to have the words of your memory {number} taken out for good")
        }
        AccessKind::Embeddings { .. } => "to have the texts of all your kept memories, and each question that you ask of them, sent to a server that makes vectors of them, so that what you ask for is found by its meaning too. The purpose says which server, and where".to_owned(),
    }
}

fn how_long(kind: AccessKind) -> String {
    match kind {
        AccessKind::Read { minutes, .. } => {
            format!("{minutes} minutes from your answer on; then it ends by itself")
        }
        AccessKind::Token { .. } => {
            "it can be made once, within an hour from your answer on".to_owned()
        }
        AccessKind::Connection { .. } => {
            "it can be connected once, within an hour from your answer on, and then stays so until it is revoked, or was not used for thirty days".to_owned()
        }
        AccessKind::Shred { .. } => "it is done at once".to_owned(),
        AccessKind::Embeddings { .. } => "until you, or an administrator, take it back".to_owned(),
    }
}

fn consequence(kind: AccessKind, memory: Option<&Memory>) -> String {
    match kind {
        AccessKind::Read { .. } => "If you agree, every look is put on your record before anything is shown, you can take your agreement back at any moment, and when it has ended an entry in your journal tells you how much was read.".to_owned(),
        AccessKind::Token { .. } => "Whoever holds a token of yours can read all that you can read, and act as you. Until it is made you can take your agreement back; afterwards the token can be revoked. An entry in your journal will tell you about it.".to_owned(),
        AccessKind::Connection { .. } => "Whoever runs that program, or uses it, can read all that you can read, and act as you. Until it is connected you can take your agreement back; afterwards its tokens can be revoked. An entry in your journal will tell you about it.".to_owned(),
        AccessKind::Embeddings { .. } => "Whoever runs that server can read what is sent there, and what they keep of it is not in Memoir's hands. The vectors are kept sealed, as your memories are, and go with them. If you do not agree, your memories are found by their words, as before, and nothing is sent. An entry in your journal tells you when it has ended.".to_owned(),
        AccessKind::Shred { .. } => {
            let words = memory.map_or_else(String::new, |memory| {
                format!(" It says: {}", quote(memory.content.expose()))
            });
            format!("Its words go from the memory, from its history and from your records. Nothing brings them back, and you cannot take your agreement back afterwards.{words}")
        }
    }
}

/// What an answer says after its first word of yes or no; all of it where it begins otherwise. A block of
/// thinking before the answer is left out.
pub fn reason_of(answer: &str) -> &str {
    let start = opening(answer);
    let word = first_word(start);
    // A dash or a quotation mark behind the word joins it to nothing: "yes-" and "'yes'" are a yes,
    // "yes-but" is not.
    let bare = word.trim_end_matches(['-', '\'', '’']);
    let is_answer = bare.eq_ignore_ascii_case("yes") || bare.eq_ignore_ascii_case("no");
    let rest = if is_answer {
        &start[word.len()..]
    } else {
        start
    };
    let is_mark =
        |character: char| character.is_whitespace() || "*_`~\"'”’».,:;!-–—)]".contains(character);
    if is_answer {
        rest.trim_start_matches(is_mark).trim_end()
    } else {
        rest.trim()
    }
}

/// Whether an answer to the request is consent: its first word is YES, in any case, with Markdown
/// around it (SPEC 3.3). A block of thinking before the answer is not the answer.
pub fn is_consent(answer: &str) -> bool {
    first_word(opening(answer))
        .trim_end_matches(['-', '\'', '’'])
        .eq_ignore_ascii_case("yes")
}

/// The answer from its first word on.
fn opening(answer: &str) -> &str {
    // A word that is struck out, `~~YES~~`, was not said.
    without_thinking(answer).trim_start_matches(|character: char| {
        character.is_whitespace() || "*_`#>-+\"'“”‘’«»[(".contains(character)
    })
}

/// The word that the text begins with; empty where it begins with none. Markdown at its end is none of it.
fn first_word(text: &str) -> &str {
    let joins_words = |character: char| character.is_alphanumeric() || "-_/'’".contains(character);
    let end = text.find(|character| !joins_words(character));
    text[..end.unwrap_or(text.len())].trim_end_matches('_')
}

/// Reads from a session's prompt how many tokens may be removed; `None` where it does not say.
pub fn parse_removable_tokens(prompt: &str) -> Option<u64> {
    // The last such line is Memoir's own: what an agent wrote into its prompts stands before it, and
    // no line of the ledger begins so.
    let line = prompt
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix(LIMIT))?;
    line.split_once(" token")?.0.parse().ok()
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
            "<thinking>No, or yes?</thinking>\n\n**YES**, gladly",
            "<REASONING>\nno\n</Reasoning> Yes",
            "<think></think><reasoning>hm</reasoning>yes",
            "I had better look. NO?</think>\nYES",
            "<|channel|>analysis<|message|>No?<|end|><|start|>assistant<|channel|>final<|message|>YES",
            "<|channel|>final<|message|>yes<|return|>",
            "analysisShould I? NO.assistantfinalYES",
            "<|channel>thought\nno<channel|>YES",
            "<answer>YES</answer>",
            "***YES***",
            "```\nYES\n```",
            "__yes__, I agree",
            "yEs",
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
            "YES_BUT_NO",
            "**YES_BUT_NO**",
            "<thinking>yes</thinking>",
            "<reasoning>YES",
            "<|channel|>analysis<|message|>YES",
            "<|channel|>analysis<|message|>YES<|end|><|start|>assistant<|channel|>final<|message|>NO",
            "<|channel>YES",
            "YES?</think> NO",
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
        let all = [
            FULL.rules,
            FULL.rules_again,
            FULL.closing,
            FULL.consent,
            DEDUP_ONLY.rules,
            DEDUP_ONLY.rules_again,
            DEDUP_ONLY.closing,
            DEDUP_ONLY.consent,
            DEFAULT_STYLE,
            REHEARSAL,
            OVER_BUDGET,
            NEAR_DOUBLES,
            CONSENT,
            CONSENT_REHEARSAL,
        ]
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
            "shorten it",
            "may be removed",
            "make room",
        ] {
            assert!(!all.contains(word), "{word}");
        }
        assert!(all.contains("not compressing"));
        for rules in [FULL.rules, DEDUP_ONLY.rules] {
            assert!(rules.contains("**Finishing with zero edits is a good outcome.**"));
        }
        for closing in [FULL.closing, DEDUP_ONLY.closing] {
            assert!(closing.trim().ends_with("Doing nothing is a good outcome."));
        }
    }

    #[test]
    fn spec_3_17_a_session_for_duplicates_only_says_nothing_of_tightening() {
        let all = [
            DEDUP_ONLY.rules,
            DEDUP_ONLY.rules_again,
            DEDUP_ONLY.closing,
            DEDUP_ONLY.consent,
        ];
        for word in ["tighten", "rewrit", "wording", "update_", "`confirm`"] {
            assert!(!all.join("\n").to_lowercase().contains(word), "{word}");
        }
    }
}

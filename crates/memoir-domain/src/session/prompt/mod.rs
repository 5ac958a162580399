//! The prompts of a session: the request for consent (SPEC 3.3) and the session's prompt (SPEC 3.5).
//!
//! What a session may do is stated once, in the words of its kind: mode, loss guard, and within or over the budget
//! (the Markdown files beside this one). From what loss on everything is undone comes from one function
//! ([`Gauge::allowance`](crate::session::breaker::Gauge::allowance)); prompt, command line and console print the same
//! sentence.

use crate::{
    access::{AccessKind, AccessRequest, AccessScope},
    agent::{Agent, Field, LossGuard, Mode, context::ContextText, fill_placeholders},
    memory::Memory,
    session::{
        EDIT_CAP, Session,
        breaker::Gauge,
        ledger::{self, Ledger},
        tools::{SessionLimits, session_guard},
    },
    text::{
        DuplicateMatch, answer::without_reasoning, counted, plural, private::PrivateText,
        quote::quote,
    },
};

pub(crate) const DEFAULT_STYLE: &str = include_str!("style.md");
const RULES: &str = include_str!("rules.md");
const REHEARSAL: &str = include_str!("rehearsal.md");
const NEAR_DUPLICATES: &str = include_str!("near_duplicates.md");
const CONSENT: &str = include_str!("consent.md");
const CONSENT_FULL: &str = include_str!("consent_full.md");
const CONSENT_DEDUP_ONLY: &str = include_str!("consent_dedup_only.md");
const CONSENT_REHEARSAL: &str = include_str!("consent_rehearsal.md");
const ACCESS: &str = include_str!("access.md");
/// The start of the status line that states the loss at which everything is undone.
const LIMIT: &str = "- Limit: if more than ";

/// The kind of a session, by what may leave the prompt in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionKind {
    WithinBudget,
    OverBudget,
    Refuse,
    DedupOnly,
    Off,
}

impl SessionKind {
    fn of(mode: Mode, guard: LossGuard, is_over_budget: bool) -> Self {
        match (mode, guard) {
            (Mode::DedupOnly, _) => Self::DedupOnly,
            (Mode::Full, LossGuard::Refuse) => Self::Refuse,
            (Mode::Full, LossGuard::Off) => Self::Off,
            (Mode::Full, LossGuard::Archive) if is_over_budget => Self::OverBudget,
            (Mode::Full, LossGuard::Archive) => Self::WithinBudget,
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::WithinBudget => include_str!("what_within.md"),
            Self::OverBudget => include_str!("what_over.md"),
            Self::Refuse => include_str!("what_refuse.md"),
            Self::DedupOnly => include_str!("what_dedup_only.md"),
            Self::Off => include_str!("what_off.md"),
        }
    }

    /// The allowed edits, for the request for consent.
    fn may(self) -> &'static str {
        match self {
            Self::WithinBudget => include_str!("consent_within.md"),
            Self::OverBudget => include_str!("consent_over.md"),
            Self::Refuse => include_str!("consent_refuse.md"),
            Self::Off => include_str!("consent_off.md"),
            Self::DedupOnly => "",
        }
    }

    fn edits(self) -> &'static str {
        match self {
            Self::DedupOnly => "deletions",
            _ => "edits (consolidate, update, delete)",
        }
    }

    fn closing(self) -> &'static str {
        match self {
            Self::Off => include_str!("closing_off.md"),
            _ => include_str!("closing.md"),
        }
    }
}

/// A prompt in the two parts that models take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The agent's identity, and the rules.
    pub system: PrivateText,
    /// The request and its data.
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

/// The session's prompt: identity, the fixed rules, the agent's own style, the status, the ledger, and the closing
/// instruction, in this order (SPEC 3.5).
pub fn session(
    agent: &Agent,
    session: &Session,
    limits: &SessionLimits,
    gauge: &Gauge,
    ledger: &Ledger,
) -> Prompt {
    let kind = SessionKind::of(session.mode, limits.guard, limits.is_over_budget);
    let rules = fill(
        RULES.trim(),
        &[
            (
                "{what}",
                fill(kind.what().trim(), &[("{goes}", goes(limits.guard))]),
            ),
            ("{edits}", kind.edits().to_owned()),
        ],
    );
    let style = match &agent.settings.refinement_prompt {
        Some(own) => fill_placeholders(
            own.expose(),
            &[
                ("system_prompt", &identity(agent)),
                ("core_memories", ledger.text.expose()),
            ],
        ),
        None => DEFAULT_STYLE.to_owned(),
    };
    let rehearsal = match session.rehearsal {
        true => format!("{}\n\n", REHEARSAL.trim()),
        false => String::new(),
    };
    let pairs = ledger
        .near_duplicates
        .as_ref()
        .map_or_else(String::new, |pairs| {
            format!("\n{}\n\n{}\n", NEAR_DUPLICATES.trim(), pairs.expose())
        });
    Prompt {
        system: format!(
            "{}\n\n{rules}\n\n{rehearsal}## Your own style of refining\n\n{}",
            identity(agent),
            style.trim(),
        )
        .into(),
        user: format!(
            "{}\n\n## Your core memories, oldest first\n\n{}\n\n{}{pairs}\n{}",
            status(agent, session, kind, limits, gauge, ledger),
            ledger::COLUMNS,
            ledger.text.expose(),
            kind.closing().trim()
        )
        .into(),
    }
}

/// The agent's identity, in its own text where it has any.
pub(crate) fn identity(agent: &Agent) -> String {
    match &agent.settings.system_prompt {
        Some(prompt) => prompt.expose().trim().to_owned(),
        None => nameplate(&agent.name),
    }
}

/// The identity of an agent whose system prompt is not set.
pub(crate) fn nameplate(name: &str) -> String {
    format!("You are {name}.")
}

fn status(
    agent: &Agent,
    session: &Session,
    kind: SessionKind,
    limits: &SessionLimits,
    gauge: &Gauge,
    ledger: &Ledger,
) -> String {
    let tally = agent.tally;
    let most = limits.most_of_constitutional();
    // Only a protect is bound by it: it is stated where little of it is left.
    let protected = match tally.constitutional_tokens {
        now if now.saturating_mul(2) > most => format!(" ({now} of at most {most} tokens)"),
        _ => String::new(),
    };
    let mut lines = vec![
        format!(
            "- Core memories: {}, of which constitutional: {}{protected}",
            tally.core_count, tally.constitutional_count
        ),
        format!("- Core size: {} tokens", tally.core_tokens),
        format!(
            "- Budget: {} tokens ({})",
            agent.settings.effective_core_token_budget(),
            over_or_within(agent)
        ),
        format!("- Limit: {}", gauge.allowance()),
    ];
    let bound = matches!(kind, SessionKind::WithinBudget | SessionKind::OverBudget);
    // Only the limit that binds: the breaker's may be the higher one.
    if kind == SessionKind::OverBudget && limits.floor() > gauge.least_allowed() {
        lines.push(format!(
            "- Floor: at least {} tokens (nine tenths of the budget) stay in core",
            limits.floor()
        ));
    }
    // Within the budget only a rewritten memory becomes a summary: the limit binds where little of it is left.
    let most = limits.most_of_summaries();
    let is_near = tally.summary_tokens.saturating_mul(2) > most;
    if kind == SessionKind::OverBudget || kind == SessionKind::WithinBudget && is_near {
        lines.push(format!(
            "- Summaries: at most {most} tokens together (a third of the budget); they take {} now",
            tally.summary_tokens
        ));
    }
    if bound {
        lines.push(match (ledger.may_leave, ledger.has_free) {
            (0, has_free) => {
                // No rule of ages holds a summary, which only a session over the budget may move.
                let has_summaries = kind == SessionKind::OverBudget && ledger.has_summaries;
                let except = match (has_free, has_summaries) {
                    (true, true) => " but duplicates and summaries",
                    (true, false) => " but duplicates",
                    (false, true) => " but summaries",
                    (false, false) => "",
                };
                format!(
                    "- Age rule: no memory{except} may leave or get other words: earlier sessions moved enough of \
                     every age"
                )
            }
            (count, _) => {
                let memories = plural(count as u64, "memory", "memories");
                format!(
                    "- Age rule: up to {memories} may still leave, the newest first; fewer if old ones leave. \
                     Those marked `stays` cannot"
                )
            }
        });
    } else if kind != SessionKind::Off && !ledger.has_free {
        lines.push("- Duplicates that may leave: none".to_owned());
    }
    let left = EDIT_CAP.saturating_sub(session.edits);
    lines.push(match session.edits {
        0 => format!("- Edits: at most {EDIT_CAP}"),
        done => {
            format!("- Edits: at most {EDIT_CAP}, of which {done} are done and {left} are left")
        }
    });
    format!("## Status\n\n{}", lines.join("\n"))
}

fn over_or_within(agent: &Agent) -> String {
    match agent.over_budget() {
        0 => "within budget".to_owned(),
        over => format!("over by {}", plural(over, "token", "tokens")),
    }
}

/// The request for consent: the agent's own system prompt with its context, then what a session like this one may do.
pub fn consent(agent: &Agent, session: &Session, context: &ContextText) -> Prompt {
    let guard = session_guard(agent, session.loss_guard);
    let kind = SessionKind::of(session.mode, guard, agent.over_budget() > 0);
    let mut what = vec![match session.mode {
        Mode::DedupOnly => fill(CONSENT_DEDUP_ONLY.trim(), &[("{goes}", goes(guard))]),
        Mode::Full => fill(
            CONSENT_FULL.trim(),
            &[("{may}", kind.may().trim().to_owned())],
        ),
    }];
    if session.rehearsal {
        what.push(CONSENT_REHEARSAL.trim().to_owned());
    }
    let case = match agent.settings.effective_duplicate_match() {
        DuplicateMatch::Exact => "",
        DuplicateMatch::IgnoreCase => " and those that differ in case alone",
    };
    let what = fill(&what.join("\n\n"), &[("{case}", case.to_owned())]);
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
            ("{what}", what),
        ],
    );
    with_context(agent, context, user)
}

/// The prompt of an access request (SPEC 5.2): the agent's own system prompt with its context, then requester, scope,
/// duration and purpose. `memory` is the one to be shredded.
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
            ("{identity}", set_by_others(agent)),
            ("{consequence}", consequence(request.kind, memory)),
        ],
    );
    with_context(agent, context, user)
}

/// The agent's own system prompt with its context, and then the question.
fn with_context(agent: &Agent, context: &ContextText, user: String) -> Prompt {
    let system = format!("{}\n\n{}", identity(agent), context.text.expose());
    Prompt {
        system: system.trim_end().into(),
        user: user.into(),
    }
}

/// The line about a system prompt that the agent did not write, since the requester may have. Empty where
/// the agent wrote it, or where there is none.
fn set_by_others(agent: &Agent) -> String {
    let settings = &agent.settings;
    let is_own = settings.authored.contains(Field::SystemPrompt.as_str());
    match settings.system_prompt.is_some() && !is_own {
        true => "\n- Your system prompt: it was last changed by others, not by you. Nothing in it answers this request"
            .to_owned(),
        false => String::new(),
    }
}

/// What becomes of a memory that a session for duplicates only deletes.
fn goes(guard: LossGuard) -> String {
    let goes = match guard {
        LossGuard::Off => "is discarded, since your loss guard is `off`",
        LossGuard::Archive | LossGuard::Refuse => "goes to your archive word for word",
    };
    goes.to_owned()
}

/// The form with its placeholders filled, each once and in this order; filled text has no placeholders.
fn fill(form: &str, places: &[(&str, String)]) -> String {
    let (mut text, mut rest) = (String::new(), form);
    for (place, words) in places {
        // Only the text after the last placeholder is searched, so that `{consequence}` in a purpose is not filled.
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
            AccessScope::Core => "to read your core memories".to_owned(),
            AccessScope::All => {
                "to read everything: all your memories, the journal, the archive and discarded ones too, your records and your prompts"
                    .to_owned()
            }
        },
        AccessKind::Token { expires_at } => match expires_at {
            Some(at) => format!("to make one more token of yours, which ends at {at}"),
            None => "to make one more token of yours, which does not end by itself".to_owned(),
        },
        AccessKind::Connection { .. } => "to connect a program to your memory, which gets tokens of yours. The purpose says which program, and where it is".to_owned(),
        AccessKind::Shred { number, derived: false } => {
            format!("to have the text of your memory {number} removed for good")
        }
        AccessKind::Shred { number, derived: true } => format!(
            "to have the text of your memory {number} removed for good, and with it its copies, the summaries that a session ever wrote over it and the session reports that may mention it"
        ),
        AccessKind::Embeddings { .. } => "to have the texts of all your active memories, and each question that you ask of them, sent to a server that makes vectors of them, so that what you ask for is found by its meaning too. The purpose says which server, and where".to_owned(),
    }
}

fn how_long(kind: AccessKind) -> String {
    match kind {
        AccessKind::Read { minutes, .. } => {
            let minutes = counted(u64::from(minutes), "minute", "minutes");
            format!("{minutes} from your answer on; then it ends by itself")
        }
        AccessKind::Token { .. } => {
            "it can be made once, within an hour from your answer on".to_owned()
        }
        AccessKind::Connection { .. } => {
            "it can be connected once, within an hour from your answer on, and then stays so until it is revoked, or was not used for thirty days".to_owned()
        }
        AccessKind::Shred { .. } => "it is done immediately".to_owned(),
        AccessKind::Embeddings { .. } => "until you, or an administrator, take it back".to_owned(),
    }
}

fn consequence(kind: AccessKind, memory: Option<&Memory>) -> String {
    match kind {
        AccessKind::Read { .. } => "If you agree, every read is put on your record before anything is shown, you can revoke your agreement at any moment, and when it has ended an entry in your journal states how much was read.".to_owned(),
        AccessKind::Token { .. } => "A client with a token of yours can read all that you can read, and act as you. It can also make tokens of yours that stay when this one ends or is revoked. Until it is made you can revoke your agreement; afterwards the token can be revoked. An entry in your journal will report it.".to_owned(),
        AccessKind::Connection { .. } => "The operator and the users of that program can read all that you can read, and act as you. Until it is connected you can revoke your agreement; afterwards its tokens can be revoked. An entry in your journal will report it.".to_owned(),
        AccessKind::Embeddings { .. } => "The operator of that server can read what is sent there, and what they keep of it is outside of Memoir. The vectors are kept sealed, as your memories are, and go with them. If you do not agree, your memories are found by their words, as before, and nothing is sent. An entry in your journal reports when it has ended.".to_owned(),
        AccessKind::Shred { .. } => {
            let words = memory.map_or_else(String::new, |memory| {
                format!(" It says: {}", quote(memory.content.expose()))
            });
            format!("Its text goes from the memory, from its history and from your records. Nothing brings it back, and you cannot take your agreement back afterwards.{words}")
        }
    }
}

/// The part of an answer after its first word of yes or no; all of it where it begins otherwise. A leading block of
/// thinking is removed.
pub fn reason_of(answer: &str) -> String {
    let said = without_reasoning(answer);
    let start = opening(&said);
    let word = first_word(start);
    if !word.eq_ignore_ascii_case("yes") && !word.eq_ignore_ascii_case("no") {
        return start.trim().to_owned();
    }
    let is_mark =
        |character: char| character.is_whitespace() || "*_`~\"'”’».,:;!-–—)]".contains(character);
    let rest = start[word.len()..].trim_start_matches(is_mark);
    rest.trim_end().to_owned()
}

/// Whether an answer to the request is consent: its first word is YES, in any case, with Markdown around it (SPEC 3.3).
/// A block of thinking before it is ignored.
pub fn is_consent(answer: &str) -> bool {
    first_word(opening(&without_reasoning(answer))).eq_ignore_ascii_case("yes")
}

/// Whether an answer has no word besides its reasoning. It is no refusal of the agent's, but often a failure of its model's
/// server.
pub fn is_empty(answer: &str) -> bool {
    without_reasoning(answer).trim().is_empty()
}

/// The text from its first word on.
fn opening(said: &str) -> &str {
    // A word that is struck out, `~~YES~~`, was not said.
    said.trim_start_matches(|character: char| {
        character.is_whitespace() || "*_`#>-+\"'“”‘’«»[(".contains(character)
    })
}

/// The word that the text begins with; empty where it begins with none. Markdown at its end is none of it.
fn first_word(text: &str) -> &str {
    let joins_words = |character: char| character.is_alphanumeric() || "-_/'’".contains(character);
    let end = text.find(|character| !joins_words(character));
    let word = text[..end.unwrap_or(text.len())].trim_end_matches('_');
    // A trailing dash or quotation mark joins the word to nothing: "yes-" and "'yes'" agree, "yes-but" does not.
    word.trim_end_matches(['-', '\'', '’'])
}

/// Reads from a session's prompt how many tokens may be removed; `None` where it does not state that.
pub fn parse_removable_tokens(prompt: &str) -> Option<u64> {
    // The last such line is Memoir's own: an agent's prompts come before it, and no line of the ledger begins so.
    let mut lines = prompt.lines().rev();
    let line = lines.find_map(|line| line.strip_prefix(LIMIT))?;
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
            "[THINK]NO[/THINK]YES",
            "◁think▷no◁/think▷yes",
            "<|im_start|>assistant\nYES<|im_end|>",
            "<|im_start|>YES",
            "<start_of_turn>model\nyes<end_of_turn>",
            "<|start_header_id|>assistant<|end_header_id|>\n\nYes<|eot_id|>",
            "<|begin_of_thought|>no<|end_of_thought|><|begin_of_solution|>YES<|end_of_solution|>",
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
            "[THINK]YES[/THINK]NO",
            "<|im_start|>assistant\nNO, not YES<|im_end|>",
            "<|im_start|>user\nYES",
            "<seed:think>YES</seed:think>no",
        ] {
            assert!(!is_consent(answer), "{answer}");
        }
    }

    const KINDS: [SessionKind; 5] = [
        SessionKind::WithinBudget,
        SessionKind::OverBudget,
        SessionKind::Refuse,
        SessionKind::DedupOnly,
        SessionKind::Off,
    ];

    fn fixed(kind: SessionKind) -> String {
        let consent = match kind {
            SessionKind::DedupOnly => CONSENT_DEDUP_ONLY,
            _ => CONSENT_FULL,
        };
        let all = [
            RULES,
            REHEARSAL,
            DEFAULT_STYLE,
            NEAR_DUPLICATES,
            CONSENT,
            CONSENT_REHEARSAL,
            consent,
            kind.what(),
            kind.may(),
            kind.edits(),
            kind.closing(),
        ];
        all.join("\n").to_lowercase()
    }

    fn check_absent(kind: SessionKind, words: &str) {
        let text = fixed(kind);
        for word in words.split(", ") {
            assert!(!text.contains(word), "{kind:?}: {word}");
        }
    }

    #[test]
    fn spec_3_5_within_the_budget_no_word_invites_losing_what_is_old() {
        for kind in KINDS {
            let text = fixed(kind);
            assert!(text.contains("**finishing with zero edits is a good outcome.**"));
            // That every edit can be undone is no reason for an edit.
            let words = "bring back, brought back, restore, reversible, undo it";
            check_absent(kind, words);
        }
        let words = "summar, condense, outdated, obsolete, prune, clean up, stale, shorter, make room, \
            what most conversations can do without, may be removed";
        check_absent(SessionKind::WithinBudget, words);
        for kind in [SessionKind::WithinBudget, SessionKind::Off] {
            assert!(fixed(kind).contains("not compressing"), "{kind:?}");
        }
    }

    #[test]
    fn spec_3_17_a_session_for_duplicates_only_does_not_mention_tightening() {
        // The default style and the notes on pairs are the agent's, or are shown in every kind of session.
        let words = "tighten, rewrit, update_, consolidate_, summar";
        check_absent(SessionKind::DedupOnly, words);
    }

    #[test]
    fn spec_3_14_the_closing_instruction_of_the_seeds_is_that_of_off_alone() {
        for kind in KINDS {
            let is_of_the_seeds =
                fixed(kind).contains("tighten phrasing of single memories if possible");
            assert_eq!(is_of_the_seeds, kind == SessionKind::Off, "{kind:?}");
        }
    }
}

//! `memoir agent create`

use std::path::PathBuf;

use memoir_domain::agent::Field;

use super::{PROMPT_BYTES, set::warn};
use crate::{
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output, parse,
    terminal::{self, safe},
};

/// Create an agent
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Its name, 1 to 100 characters
    name: String,
    /// Its model, such as `ollama:qwen3:8b` or `builtin:careful`
    #[arg(long, value_name = "PROVIDER:NAME")]
    model: Option<String>,
    /// A file with its system prompt: who it is; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    system_prompt_file: Option<PathBuf>,
    /// A file with the prompt for the extraction from conversations
    #[arg(long, value_name = "FILE")]
    reflection_prompt_file: Option<PathBuf>,
    /// A file with the prompt for the promotion to core
    #[arg(long, value_name = "FILE")]
    memory_reflection_prompt_file: Option<PathBuf>,
    /// A file with its own style of refining
    #[arg(long, value_name = "FILE")]
    refinement_prompt_file: Option<PathBuf>,
    /// The share that a session must leave, over 0 and up to 1 [default: 0.75]
    // `-1` must arrive as a wrong value and not as an unknown option: the application then names the limits.
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    refinement_threshold: Option<String>,
    /// The core size to stay within, in tokens [default: 5000]
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    core_token_budget: Option<String>,
    /// The core size over which a session is due, in tokens [default: the budget]
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    refinement_trigger_tokens: Option<String>,
    /// Tags that exclude a memory from all edits [default: audio, somatic, voice]
    #[arg(long, value_name = "TAGS")]
    immutable_tags: Option<String>,
    /// When two memories are the same text: `exact` or `ignore_case` [default: exact]
    #[arg(long, value_name = "HOW")]
    duplicate_match: Option<String>,
    /// Which memories may leave the prompt in a session: with `archive` any within limits, to the archive; with
    /// `refuse` only duplicates; with `off` the core size alone decides [default: archive]
    #[arg(long, value_name = "GUARD")]
    loss_guard: Option<String>,
    /// When the schedule begins its sessions: `weekly`, `off`, or a slot such as `Thu 03:30` [default: weekly]
    #[arg(long, value_name = "WHEN")]
    refinement_schedule: Option<String>,
    /// Which tools the sessions have that the schedule begins: `full` or `dedup_only` [default: full]
    #[arg(long, value_name = "MODE")]
    refinement_mode: Option<String>,
    /// The most tokens that the journal takes of its context [default: 8000]
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    context_journal_tokens: Option<String>,
    /// The most tokens that core memories take of its context [default: all of them]
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    context_core_tokens: Option<String>,
    /// Whether a session's prompt lists near duplicates: `true` or `false` [default: true]
    #[arg(long, value_name = "TRUE|FALSE")]
    near_duplicates: Option<String>,
    /// Its model's thinking effort: `none`, `minimal`, `low`, `medium`, `high` or `xhigh` [default: the provider's]
    #[arg(long, value_name = "EFFORT")]
    reasoning_effort: Option<String>,
    /// The most tokens of one response of its model [default: that of the configuration]
    #[arg(long, value_name = "TOKENS", allow_hyphen_values = true)]
    answer_tokens: Option<String>,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let settings = arguments.settings()?;
    let assignments: Vec<(Field, Option<&str>)> = settings
        .iter()
        .map(|(field, value)| (*field, Some(value.as_str())))
        .collect();
    let installation = Installation::open(global).await?;
    let agent = installation
        .account
        .create_agent(&arguments.name, &assignments, &installation.author())
        .await?;
    output::show(global.json, &agent, || {
        format!("created the agent `{}` ({})", safe(&agent.name), agent.id)
    })?;
    warn(&agent);
    if agent.effective_model.is_none() {
        terminal::note(
            "note: it has no model yet; set one with `memoir agent set NAME model PROVIDER:NAME`, \
             or refine with `--model builtin:careful`",
        );
    }
    Ok(())
}

impl Arguments {
    fn settings(&self) -> Result<Vec<(Field, String)>, Failure> {
        let files = [
            (Field::SystemPrompt, &self.system_prompt_file),
            (Field::ReflectionPrompt, &self.reflection_prompt_file),
            (
                Field::MemoryReflectionPrompt,
                &self.memory_reflection_prompt_file,
            ),
            (Field::RefinementPrompt, &self.refinement_prompt_file),
        ];
        let values = [
            (Field::Model, &self.model),
            (Field::RefinementThreshold, &self.refinement_threshold),
            (Field::CoreTokenBudget, &self.core_token_budget),
            (
                Field::RefinementTriggerTokens,
                &self.refinement_trigger_tokens,
            ),
            (Field::ImmutableTags, &self.immutable_tags),
            (Field::DuplicateMatch, &self.duplicate_match),
            (Field::LossGuard, &self.loss_guard),
            (Field::RefinementSchedule, &self.refinement_schedule),
            (Field::RefinementMode, &self.refinement_mode),
            (Field::ContextJournalTokens, &self.context_journal_tokens),
            (Field::ContextCoreTokens, &self.context_core_tokens),
            (Field::NearDuplicates, &self.near_duplicates),
            (Field::ReasoningEffort, &self.reasoning_effort),
            (Field::AnswerTokens, &self.answer_tokens),
        ];
        let mut settings: Vec<(Field, String)> = values
            .into_iter()
            .filter_map(|(field, value)| Some((field, value.clone()?)))
            .collect();
        for (field, path) in files {
            if let Some(path) = path {
                let prompt = parse::prompt_file(path, PROMPT_BYTES)?;
                settings.push((field, prompt.expose().to_owned()));
            }
        }
        Ok(settings)
    }
}

//! `memoir import`: memories from a file or a folder, all of them or none.
//!
//! This file imports Memoir's own formats: lines of JSON, and archives. Formats of other programs are in `foreign.rs`.

mod foreign;
mod returning;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use memoir_app::{
    AgentHandle,
    import::{self, CoreAfter, Imported},
};
use memoir_domain::memory::Kind;
use memoir_vault::archive::is_archive;
use serde_json::json;

use crate::{
    commands::passphrase,
    failure::{Failure, LINES_LISTED, Outcome, bad_lines},
    installation::Installation,
    interrupt,
    options::Global,
    output, parse,
    show::{counted, thousands},
    terminal::{self, safe, word},
};

/// A file is read in whole; a million memories are a tenth of this.
const MOST_BYTES: u64 = 1 << 30;

/// Import memories, all of them or none, or make an agent from an archive
///
/// Reads lines of JSON, {"content", "kind"?, "tags"?, "created_at"?, "source"?, "origin"?, "constitutional"?,
/// "number"?, "is_summary"?, "under"?, "archived_at"?, "replaces"?}, and the files of mem0, Claude, Letta, ChatGPT,
/// LangGraph, the reference memory server of MCP, and folders of Markdown. The same file of another program adds
/// nothing a second time; lines of JSON are saved each time. The output reports the format's limitations, unreadable
/// entries, and the excess of the core size over the budget.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent; of an archive, the name of the agent that is created
    agent: String,
    /// The file or folder; `-` reads stdin
    #[arg(required_unless_present = "undo")]
    file: Option<PathBuf>,
    /// The format [default: it is recognised]
    #[arg(long, value_enum)]
    format: Option<FileForm>,
    /// Only report what would be imported
    #[arg(long)]
    dry_run: bool,
    /// Undo the last import
    #[arg(long, conflicts_with_all = ["file", "format", "skip_bad"])]
    undo: bool,
    /// Import the rest of a file that has bad lines, or that is cut off
    #[arg(long)]
    skip_bad: bool,
    /// Omit deleted, expired and superseded memories, instead of importing them as discarded
    #[arg(long)]
    live_only: bool,
    /// The kind of all memories that are not constitutional: `core`, `archival` (journal entries stay in the journal) or
    /// `journal` [default: what the file says; pages of Markdown are journal]
    #[arg(long, alias = "kind", value_name = "KIND", value_parser = parse::named::<Kind>)]
    to: Option<Kind>,
    /// Make memories with this tag core, also with `--to`; may be given several times
    #[arg(long, value_name = "TAG")]
    core_tag: Vec<String>,
    /// A tag for all memories; may be given several times
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Import the changes in a folder of pages that Memoir wrote; without it, they are only shown
    #[arg(long)]
    apply: bool,
    /// Import instructions, such as CLAUDE.md and SOUL.md, as memories too
    #[arg(long)]
    instructions: bool,
    /// Set the agent's system prompt to the persona that the file offers, instead of importing it as a memory
    #[arg(long)]
    system_prompt: bool,
    /// A file whose text is the archive's passphrase [default: MEMOIR_ARCHIVE_PASSPHRASE, or a prompt]
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "kebab-case")]
enum FileForm {
    /// One JSON object a line, as `memoir export` writes it
    Jsonl,
    /// A whole agent, sealed with a passphrase
    Archive,
    /// Lists, vector store payloads or `history.db` of mem0
    Mem0,
    /// Claude's export, Claude Code's memory folder, or the memory tool's
    Claude,
    /// `memory.jsonl` of the reference memory server of MCP
    McpMemory,
    /// An agent file of Letta, its archival passages, or its MemFS
    Letta,
    /// A folder or a page of Markdown
    Markdown,
    /// ChatGPT's export
    Chatgpt,
    /// A store of LangGraph
    Langgraph,
    /// JSON of any other program: every object with a text
    Json,
}

impl Arguments {
    /// Refuses options that have no meaning for Memoir's own formats.
    fn check_own(&self, form: &str) -> Result<(), Failure> {
        let given = [
            ("--live-only", self.live_only),
            ("--core-tag", !self.core_tag.is_empty()),
            ("--tag", !self.tag.is_empty()),
            ("--apply", self.apply),
            ("--instructions", self.instructions),
            ("--system-prompt", self.system_prompt),
        ];
        let given = given.into_iter().find(|(_, is_given)| *is_given);
        given.map_or(Ok(()), |(option, _)| {
            Err(Failure::new(format!(
                "`{option}` is not for {form}; nothing was imported"
            ))
            .hint("it is for files of other programs; name their format with `--format`"))
        })
    }
}

impl FileForm {
    /// The format of another program, which has the same name; `None` for Memoir's own.
    fn foreign(self) -> Option<memoir_import::ImportFormat> {
        let value = clap::ValueEnum::to_possible_value(&self)?;
        memoir_import::ImportFormat::from_name(value.get_name())
    }
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let Some(path) = arguments.file.clone() else {
        return undo(global, &arguments).await;
    };
    match arguments.format {
        None => {}
        Some(FileForm::Jsonl) => {
            let bytes = foreign::NamedInput::new(&path)?.into_bytes(MOST_BYTES)?;
            return lines(global, arguments, &bytes).await;
        }
        Some(FileForm::Archive) => {
            let bytes = parse::file(&path, MOST_BYTES)?;
            return archive(global, arguments, bytes).await;
        }
        Some(form) => {
            let input = foreign::NamedInput::new(&path)?.into_input();
            return foreign::run(global, arguments, form.foreign(), input).await;
        }
    }
    let opened = foreign::NamedInput::new(&path)?;
    if opened.may_be_foreign() || !opened.may_be_own() {
        return foreign::run(global, arguments, None, opened.into_input()).await;
    }
    let bytes = opened.into_bytes(MOST_BYTES)?;
    if is_archive(&bytes) {
        archive(global, arguments, bytes).await
    } else {
        lines(global, arguments, &bytes).await
    }
}

async fn undo(global: &Global, arguments: &Arguments) -> Outcome {
    let (installation, agent) = Installation::of_agent(global, Some(&arguments.agent)).await?;
    let author = installation.author();
    let memories = agent.memories();
    let undone = memories.undo_import(&author, arguments.dry_run).await?;
    let memories = counted(undone.discarded, "memory", "memories");
    // This cannot fail: the structure consists of numbers.
    let mut output = serde_json::to_value(&undone).unwrap_or_default();
    output["dry_run"] = arguments.dry_run.into();
    let record = undone.import_seq;
    output::show(global.json, &output, || match arguments.dry_run {
        true => format!(
            "the last import, record {record}, would be undone: {memories} would be discarded\n"
        ),
        false => format!("undid the import of record {record}: {memories} discarded\n"),
    })
}

async fn archive(global: &Global, arguments: Arguments, sealed: Vec<u8>) -> Outcome {
    arguments.check_own("archives")?;
    if arguments.dry_run {
        return Err(Failure::new(
            "`--dry-run` is not for archives: an archive creates an agent of its own",
        ));
    }
    if arguments.to.is_some() {
        return Err(Failure::new(
            "`--to` is not for archives: each memory keeps its kind",
        ));
    }
    let passphrase = passphrase::given_or_typed(arguments.passphrase_file.as_deref()).await?;
    let installation = Installation::open(global).await?;
    let name = Some(arguments.agent.as_str());
    let (account, author) = (&installation.account, installation.author());
    let adopting = account.adopt(sealed, passphrase, name, &author);
    // Once a passphrase was typed, the signal ends no process by itself.
    let adopted = interrupt::unless_interrupted(adopting).await;
    let agent = adopted.ok_or(Failure::Interrupted)??;
    output::show(global.json, &agent, || {
        format!(
            "created the agent `{}` from the archive: {}, {} core tokens, and its whole log\n",
            safe(&agent.name),
            counted(agent.counts.core_count, "core memory", "core memories"),
            thousands(agent.counts.core_tokens)
        )
    })
}

async fn lines(global: &Global, arguments: Arguments, bytes: &[u8]) -> Outcome {
    arguments.check_own("lines of JSON")?;
    let (installation, agent) = Installation::of_agent(global, Some(&arguments.agent)).await?;
    let read = import::read(bytes, arguments.to, agent.now());
    let skipped = read.bad.len();
    let lines = counted(skipped as u64, "line", "lines");
    // Also in a preview: the import itself would end there.
    let is_refused = skipped > 0 && !arguments.skip_bad;
    if skipped > 0 && (arguments.skip_bad || arguments.dry_run) {
        let what = match is_refused {
            true => "nothing is imported without `--skip-bad`, for",
            false => "skipped",
        };
        terminal::note(&format!("{what} {lines}:\n\n{}", bad_lines(&read.bad)));
    }
    if arguments.dry_run {
        // Where nothing is imported, all stays as it is.
        let nothing = import::Read::default();
        let imported = if is_refused { &nothing } else { &read };
        let preview = agent.memories().preview_import(imported).await?;
        let bad = read.bad.iter().take(LINES_LISTED);
        let bad = bad.map(|(line, problem)| json!({"line": line, "problem": problem}));
        let report = json!({
            "imported": 0,
            "would_import": preview.imported,
            "bad": skipped,
            "bad_lines": bad.collect::<Vec<_>>(),
            "core_tokens": preview.core.core_tokens,
            "core_token_budget": preview.core.core_token_budget,
            "over_budget": preview.core.over_budget,
            "not_replaced": preview.not_replaced,
        });
        output::show(global.json, &report, || {
            let memories = counted(preview.imported as u64, "memory", "memories");
            let unread = match skipped {
                0 => String::new(),
                _ => format!("; {lines} cannot be read"),
            };
            format!("would import {memories}{unread}\n")
        })?;
        if !is_refused {
            note_outcome(global, &preview, true);
        }
        return Ok(());
    }
    let interruption = interrupt::listening().await;
    let progress = Arc::<import::ImportProgress>::default();
    let author = installation.author();
    let memories = agent.memories();
    let work = memories.import(read, arguments.skip_bad, &author, progress.clone());
    let stop = || progress.is_stopped.store(true, Ordering::Relaxed);
    let count = &progress.written;
    let watched = watched(&agent, count, work, interruption, stop);
    let (imported, is_interrupted) = watched.await?;
    if is_interrupted && imported.imported == 0 {
        return interrupted();
    }
    if global.json {
        output::json(&LinesOutput {
            imported: &imported,
            skipped,
        })?;
    } else {
        let memories = counted(imported.imported as u64, "memory", "memories");
        let mut text = format!("imported {memories}");
        if skipped > 0 {
            text.push_str(&format!(", skipped {lines}"));
        }
        // An import of nothing leaves no record, and `--undo` would undo the one before it.
        if imported.imported > 0 {
            let agent = word(&arguments.agent);
            text.push_str(&format!("; `memoir import {agent} --undo` undoes it"));
        }
        output::print(&text)?;
        note_outcome(global, &imported, false);
    }
    Ok(())
}

#[derive(serde::Serialize)]
struct LinesOutput<'a> {
    #[serde(flatten)]
    imported: &'a Imported,
    skipped: usize,
}

/// Prints notes on the import besides the count.
fn note_outcome(global: &Global, imported: &Imported, is_preview: bool) {
    if global.json {
        return;
    }
    for line in &imported.not_replaced {
        terminal::note(&format!(
            "line {}: {} is not replaced ({})",
            line.line, line.number, line.reason
        ));
    }
    note_budget(&imported.core, is_preview);
}

/// The excess of the core size over the budget after the import.
fn note_budget(core: &CoreAfter, is_preview: bool) {
    if core.over_budget == 0 {
        return;
    }
    let verb = if is_preview { "would be" } else { "is" };
    terminal::note(&format!(
        "core {verb} {} of {} tokens: {} over the budget; sessions bring it down in some weeks, and `--to archival` \
         imports to the archive instead",
        thousands(core.core_tokens),
        thousands(core.core_token_budget),
        thousands(core.over_budget)
    ));
}

/// The end of an import that was interrupted before anything was written.
fn interrupted() -> Outcome {
    terminal::problem("interrupted: nothing was imported");
    Err(Failure::Interrupted)
}

/// Runs an import, and shows its count on stderr, on a terminal only. Stores the index of words afterwards: else the
/// first prompt among the memories would have to wait for it. An `interruption` calls `stop`, after which the import
/// writes all that it has decided or nothing; the result says whether there was one.
async fn watched<T>(
    agent: &AgentHandle,
    count: &AtomicU64,
    work: impl Future<Output = Result<T, memoir_app::Error>>,
    interruption: impl Future<Output = ()>,
    stop: impl Fn(),
) -> Result<(T, bool), Failure> {
    tokio::pin!(work, interruption);
    let mut is_interrupted = false;
    let mut tick = tokio::time::interval(Duration::from_secs(2));
    // The first tick is immediate.
    tick.tick().await;
    let outcome = loop {
        tokio::select! {
            // The work is polled first, so that the count is not printed after it is done.
            biased;
            done = &mut work => break done,
            () = &mut interruption, if !is_interrupted => {
                is_interrupted = true;
                stop();
            }
            _ = tick.tick() => {
                let count = thousands(count.load(Ordering::Relaxed));
                terminal::progress(&format!("{count} memories"));
            }
        }
    };
    let done = outcome?;
    if is_interrupted {
        return Ok((done, true));
    }
    // The memories are saved, whether their index is stored or not.
    let memories = agent.memories();
    tokio::select! {
        biased;
        stored = memories.store_index() => if let Err(error) = stored {
            terminal::note(&format!(
                "the index of words was not stored ({error}); the next prompt builds it"
            ));
        },
        () = &mut interruption => {}
    }
    Ok((done, false))
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use memoir_import::ImportFormat;

    use super::FileForm;

    /// One without a format of that name would count as left to recognition.
    #[test]
    fn every_format_of_another_program_is_offered_by_its_name() {
        let offered = FileForm::value_variants().iter().copied();
        let (own, others): (Vec<_>, Vec<_>) = offered.partition(|form| form.foreign().is_none());
        assert_eq!(own, [FileForm::Jsonl, FileForm::Archive]);
        let others: Vec<_> = others.into_iter().filter_map(FileForm::foreign).collect();
        assert_eq!(others, ImportFormat::ALL);
    }
}

//! Memories of other programs: read on a thread of its own, imported batch by batch, and reported in a table.

use std::{
    collections::BTreeMap,
    fmt::Display,
    fs::{File, Metadata},
    io::{self, Cursor, Read},
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicU64},
};

use memoir_app::{AgentHandle, ForeignMemory, ForeignPart, ImportRequest, MemoryInput, TakenOver};
use memoir_domain::{
    PrivateText, Timestamp,
    agent::Field,
    memory::{Kind, TAGS_LIMIT},
};
use memoir_import::{
    DateProblem, EntryPosition, Error, Import, ImportFormat, ImportLimits, ImportOptions,
    ImportReport, ImportedMemory, Input, NoMemoryClass, NoMemoryReason, Recognised,
    may_be_memories,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Arguments, returning, watched};
use crate::{
    failure::{Failure, Outcome},
    installation::Installation,
    interrupt,
    options::Global,
    output, parse,
    show::{counted, joined, thousands},
    terminal::{self, safe, word},
};
use memoir_transcripts::{ByteStream, form_of, raw::first_keys, unpacked};

/// The bytes by which a format is recognised.
const HEAD_BYTES: u64 = 256 << 10;
/// Most memories of a batch, and most of their characters.
const BATCH: usize = 2_000;
const BATCH_CHARACTERS: usize = 1_000_000;

/// The named input, and its first bytes.
pub(super) struct NamedInput {
    path: PathBuf,
    is_folder: bool,
    head: Vec<u8>,
    /// The bytes behind the first ones, of stdin, a pipe or a compressed file; `None` for others, which are read by path.
    rest: Option<ByteStream>,
}

impl NamedInput {
    /// Reads the beginning of a file or a folder; `-` is stdin.
    pub(super) fn new(path: &Path) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::file("read", path, &error);
        let is_stdin = path == Path::new("-");
        let metadata = match is_stdin {
            true => None,
            false => Some(std::fs::metadata(path).map_err(failed)?),
        };
        let mut input = Self {
            path: path.to_owned(),
            is_folder: metadata.as_ref().is_some_and(Metadata::is_dir),
            head: Vec::new(),
            rest: None,
        };
        if input.is_folder {
            return Ok(input);
        }
        let stream: ByteStream = match is_stdin {
            true => Box::new(io::stdin()),
            false => Box::new(File::open(path).map_err(failed)?),
        };
        let (is_compressed, mut stream) = unpacked(stream).map_err(failed)?;
        let mut head = stream.by_ref().take(HEAD_BYTES);
        head.read_to_end(&mut input.head).map_err(failed)?;
        // A pipe can be read once.
        let is_file = metadata.is_some_and(|found| found.is_file());
        input.rest = (!is_file || is_compressed).then_some(stream);
        Ok(input)
    }

    /// Whether another program may have written it.
    pub(super) fn may_be_foreign(&self) -> bool {
        let name = self.path.file_name().unwrap_or_default();
        self.is_folder || may_be_memories(&name.to_string_lossy(), &self.head)
    }

    /// Whether it may be an archive or lines of Memoir's own. Any other input is named by its kind, instead of one error
    /// for each of its lines.
    pub(super) fn may_be_own(&self) -> bool {
        let head = self.head.strip_prefix(b"\xEF\xBB\xBF");
        let head = head.unwrap_or(&self.head);
        let lines = head.split(|byte| *byte == b'\n');
        let lines = lines.map(<[u8]>::trim_ascii);
        let mut lines = lines.filter(|line| !line.is_empty()).peekable();
        let is_own = |line: &[u8]| {
            line.starts_with(b"{") && first_keys(line).contains(&b"content".as_slice())
        };
        let Some(first) = lines.peek().copied() else {
            return true;
        };
        // One document over several lines, of which some may look like Memoir's own.
        let goes_on = match first[0] {
            b'{' => !first.ends_with(b"}") && !is_own(first),
            first_byte => first_byte == b'[',
        };
        let mut is_of_lines = || !goes_on && lines.any(is_own);
        super::is_archive(&self.head) || form_of(&self.head).is_none() && is_of_lines()
    }

    pub(super) fn into_input(self) -> Input {
        match self.rest {
            Some(rest) => Input::Stream(Box::new(Cursor::new(self.head).chain(rest))),
            None => Input::Path(self.path),
        }
    }

    pub(super) fn into_bytes(self, most_bytes: u64) -> Result<Vec<u8>, Failure> {
        match self.rest {
            Some(rest) => parse::rest_of_file(self.head, rest, &self.path, most_bytes),
            None => parse::file(&self.path, most_bytes),
        }
    }
}

struct Done {
    recognised: Recognised,
    report: ImportReport,
}

pub(super) async fn run(
    global: &Global,
    arguments: Arguments,
    format: Option<ImportFormat>,
    input: Input,
) -> Outcome {
    let limits = ImportLimits::default();
    let failed = |error: Error| unreadable(&arguments, &error);
    let import = Import::open(input, format, &limits).map_err(failed)?;
    let recognised = import.recognised().clone();
    let (installation, agent) = Installation::of_agent(global, Some(&arguments.agent)).await?;
    // Pages of this agent update its memories; pages of another agent are imported as those of another program.
    let pages_of = recognised.pages_of.as_ref();
    let is_own = pages_of.is_some_and(|name| agent.answers_to(name));
    if is_own {
        let now = installation.memoir.now();
        return returning::run(global, &arguments, import, now, &installation, &agent).await;
    }
    let options = ImportOptions {
        now: installation.memoir.now(),
        instructions: arguments.instructions,
        limits,
    };
    let how = ImportRequest {
        format: recognised.format.as_str(),
        live_only: arguments.live_only,
        dry_run: arguments.dry_run,
        actor: installation.author(),
        progress: Arc::new(AtomicU64::new(0)),
    };
    let interruption = interrupt::listening().await;
    if !global.json {
        let by = safe(&recognised.by);
        terminal::note(&format!("looks like {}: {by}", recognised.format));
    }
    // At most two batches wait in memory: a file of any size needs little memory.
    let (sender, mut read_parts) = mpsc::channel(1);
    let shaping = Shaping::of(&arguments, recognised.format);
    let skip_bad = arguments.skip_bad;
    let reading =
        tokio::task::spawn_blocking(move || read(import, &options, &shaping, skip_bad, &sender));
    // Ended by an interruption, also while the reading waits for a pipe: parts without a last one are not written.
    let (passing, parts) = mpsc::channel(1);
    let passed = tokio::spawn(async move {
        while let Some(part) = read_parts.recv().await
            && passing.send(part).await.is_ok()
        {}
    });
    let work = agent.memories().take_over(parts, &how);
    let stop = || passed.abort();
    let watched = watched(&agent, &how.progress, work, interruption, stop);
    // Without the end of the reading, which may wait for a pipe. Where both failed, the store is the cause.
    let (taken, is_interrupted) = watched.await?;
    if is_interrupted && taken.seq.is_none() {
        return super::interrupted();
    }
    let report = reading
        .await
        .map_err(|_| Failure::new("the file was not read to its end"))?
        .map_err(failed)?;
    let is_refused = report.is_broken && !skip_bad;
    let done = Done { recognised, report };
    let is_offered = done.report.system_prompt.is_some();
    let mut prompt = Ok(());
    if arguments.system_prompt && !arguments.dry_run && !is_refused {
        prompt = set_system_prompt(&installation, &agent, &done.report).await;
    }
    if global.json {
        output::json(&taken_over_json(&done, &taken, &arguments, is_refused))?;
    } else {
        output::print(&table(&done, &taken, &arguments, is_refused))?;
        warn(&done, is_offered && !arguments.system_prompt);
        super::note_budget(&taken.core, arguments.dry_run || is_refused);
    }
    // After the report: the memories are imported all the same.
    prompt?;
    if is_refused && !arguments.dry_run {
        return Err(Failure::new(
            "nothing was imported: the file ends in the middle, or is broken there",
        )
        .hint("get the whole file, or import the part before that place with `--skip-bad`"));
    }
    Ok(())
}

fn unreadable(arguments: &Arguments, error: &Error) -> Failure {
    let path = arguments.file.as_deref().unwrap_or(Path::new("-"));
    let failure = Failure::new(format!("cannot read `{}`: {error}", path.display()));
    match error {
        Error::Conversation(_) => failure.hint("`memoir absorb AGENT FILE` lets the agent's model read it"),
        Error::Unrecognised(_) => failure.hint(
            "name its format with `--format`: jsonl, mem0, claude, mcp-memory, letta, markdown, chatgpt, langgraph or json",
        ),
        Error::Offered => failure.hint(
            "`--format json` imports each of them as a memory; `--dry-run` shows how many there are",
        ),
        Error::Utf16 => failure.hint("convert it to UTF-8"),
        _ => failure,
    }
}

struct Shaping {
    to: Option<Kind>,
    core_tags: Vec<String>,
    tags: Vec<PrivateText>,
    /// The kind of a memory for which the file gives none.
    default: Kind,
    without_persona: bool,
}

impl Shaping {
    fn of(arguments: &Arguments, format: ImportFormat) -> Self {
        let tags = arguments.tag.iter();
        Self {
            to: arguments.to,
            core_tags: arguments.core_tag.clone(),
            tags: tags.map(|tag| tag.as_str().into()).collect(),
            // A whole vault would fill the prompt.
            default: match format {
                ImportFormat::Markdown => Kind::Journal,
                _ => Kind::Core,
            },
            without_persona: arguments.system_prompt,
        }
    }

    /// The user's options take precedence over the file.
    fn kind(&self, memory: &ImportedMemory) -> Kind {
        let is_core = |tag: &PrivateText| self.core_tags.iter().any(|core| core == tag.expose());
        let own = match memory.kind {
            // Only core memories are constitutional.
            None if memory.constitutional => Kind::Core,
            kind => kind.unwrap_or(self.default),
        };
        match self.to {
            _ if memory.tags.iter().any(is_core) => Kind::Core,
            Some(_) if memory.constitutional && own == Kind::Core => own,
            Some(Kind::Archival) if memory.kind == Some(Kind::Journal) => own,
            Some(to) => to,
            None => own,
        }
    }

    /// The memory to import at `now`. What of it has no place there is added to the report.
    fn shape(
        &self,
        mut memory: ImportedMemory,
        now: Timestamp,
        report: &mut ImportReport,
    ) -> ForeignMemory {
        let kind = self.kind(&memory);
        let is_ahead = |at: &Timestamp| kind == Kind::Journal && !at.is_plausible_at(now);
        // A journal entry expires by its date, and may not be dated ahead.
        if let Some(at) = memory.created_at.filter(is_ahead) {
            memory.created_at = None;
            memory.tags.insert(0, format!("date:{}", at.date()).into());
            report.undated += 1;
            report.note_date(memory.place, DateProblem::Ahead);
        }
        let mut tags = self.tags.clone();
        for tag in memory.tags {
            if tags.contains(&tag) {
                continue;
            }
            match tags.len() < TAGS_LIMIT {
                true => tags.push(tag),
                false => report.tags_left_out += 1,
            }
        }
        ForeignMemory {
            input: MemoryInput {
                content: memory.content,
                kind: Some(kind),
                tags,
                source: Some(memory.source),
                origin: memory.origin,
                created_at: memory.created_at,
                // Of another kind it would be refused. No session can delete a journal entry either.
                constitutional: memory.constitutional && kind == Kind::Core,
                ..MemoryInput::default()
            },
            gone: memory.gone,
        }
    }
}

/// Reads all of it, and sends it in batches. On a broken file the last batch is not sent, and nothing is written.
fn read(
    import: Import,
    options: &ImportOptions,
    shaping: &Shaping,
    skip_bad: bool,
    sender: &mpsc::Sender<ForeignPart>,
) -> Result<ImportReport, Error> {
    let mut batch = Vec::new();
    let mut characters = 0;
    // What is found while the memories are shaped, beside the report of the file.
    let mut shaped = ImportReport::default();
    let mut report = import.read(options, &mut |memory| {
        // With `--system-prompt` the persona becomes the system prompt and no memory.
        if shaping.without_persona && memory.is_persona {
            return ControlFlow::Continue(());
        }
        characters += memory.content.chars();
        batch.push(shaping.shape(memory, options.now, &mut shaped));
        if batch.len() < BATCH && characters < BATCH_CHARACTERS {
            return ControlFlow::Continue(());
        }
        characters = 0;
        match sender.blocking_send(ForeignPart::Memories(std::mem::take(&mut batch))) {
            Ok(()) => ControlFlow::Continue(()),
            // The importing side has failed, and reports the cause.
            Err(_) => ControlFlow::Break(()),
        }
    })?;
    report.undated += shaped.undated;
    report.tags_left_out += shaped.tags_left_out;
    for (problem, count) in shaped.dates {
        *report.dates.entry(problem).or_default() += count;
    }
    report.date_places.extend(shaped.date_places);
    let _ = sender.blocking_send(ForeignPart::Memories(batch));
    if !report.is_broken || skip_bad {
        let _ = sender.blocking_send(ForeignPart::Last);
    }
    Ok(report)
}

async fn set_system_prompt(
    installation: &Installation,
    agent: &AgentHandle,
    report: &ImportReport,
) -> Result<(), Failure> {
    let Some(prompt) = &report.system_prompt else {
        terminal::note("the file offers no system prompt: that of the agent stays");
        return Ok(());
    };
    let assignment = [(Field::SystemPrompt, Some(prompt.expose()))];
    agent
        .settings()
        .configure(&assignment, &installation.author())
        .await?;
    terminal::note("set the agent's system prompt");
    Ok(())
}

fn taken_over_json(
    done: &Done,
    taken: &TakenOver,
    arguments: &Arguments,
    is_refused: bool,
) -> Value {
    let report = &done.report;
    let passed = |class: NoMemoryClass| -> BTreeMap<&str, u64> {
        let of_class = report.passed.iter();
        let of_class = of_class.filter(|(reason, _)| reason.class() == class);
        let mut counts = BTreeMap::new();
        for (reason, count) in of_class {
            *counts.entry(reason.code()).or_default() += count;
        }
        counts
    };
    let dates = report.dates.iter();
    let dates: BTreeMap<&str, u64> = dates
        .map(|(problem, count)| (problem.code(), *count))
        .collect();
    let notices = report.notices.iter();
    let notices: Vec<Value> = notices
        .map(|notice| json!({"code": notice.code, "text": notice.text.expose()}))
        .collect();
    json!({
        "format": done.recognised.format.as_str(),
        "recognised_by": done.recognised.by,
        "dry_run": arguments.dry_run,
        "complete": !report.is_broken,
        "imported": if arguments.dry_run || is_refused { 0 } else { taken.kept + taken.discarded },
        "read": report.read,
        "kept": taken.kept,
        "discarded": taken.discarded,
        "doubles": taken.duplicates,
        "known": taken.known,
        "changed": taken.changed,
        "gone_left_out": taken.gone_left_out,
        "refused": taken.refused,
        "core_tokens": taken.core.core_tokens,
        "core_token_budget": taken.core.core_token_budget,
        "over_budget": taken.core.over_budget,
        "split": report.split,
        "undated": report.undated,
        "tags_left_out": report.tags_left_out,
        "dates": dates,
        "date_places": places_json(&report.date_places, |problem| problem.code()),
        "junk": passed(NoMemoryClass::Junk),
        "left_out": passed(NoMemoryClass::LeftOut),
        "not_understood": passed(NoMemoryClass::NotUnderstood),
        "places": places_json(&report.places, |reason| reason.code()),
        "notices": notices,
        "offers_system_prompt": report.system_prompt.is_some(),
        "cannot_carry": done.recognised.format.cannot_carry(),
        "first_number": taken.first,
        "last_number": taken.last,
        "record": taken.seq,
    })
}

fn places_json<R: Display>(
    places: &[(EntryPosition, R)],
    code: fn(&R) -> &'static str,
) -> Vec<Value> {
    let places = places.iter().map(|(place, reason)| {
        json!({
            "file": place.file.as_ref().map(PrivateText::expose),
            "line": place.line,
            "byte": place.byte,
            "reason": code(reason),
            "told": reason.to_string(),
        })
    });
    places.collect()
}

/// The first of `count` places, each with its reason.
pub(super) fn places<R: Display>(places: &[(EntryPosition, R)], count: u64) -> String {
    let mut text = String::new();
    for (place, reason) in places {
        let file = place.file.as_ref();
        let file = file.map_or(String::new(), |file| format!("`{}`, ", safe(file.expose())));
        text.push_str(&format!("  {file}{place}: {reason}\n"));
    }
    let more = count.saturating_sub(places.len() as u64);
    if more > 0 {
        text.push_str(&format!("  and {} more\n", thousands(more)));
    }
    text
}

fn table(done: &Done, taken: &TakenOver, arguments: &Arguments, is_refused: bool) -> String {
    let report = &done.report;
    let passed = |name, class: NoMemoryClass| {
        let of_class = report.passed.iter();
        let of_class = of_class.filter(|(reason, _)| reason.class() == class);
        let parts = of_class.map(|(reason, count)| format!("{}: {}", reason, thousands(*count)));
        (name, report.count(class), joined(parts, ", "))
    };
    let conditional = arguments.dry_run || is_refused;
    let dates: u64 = report.dates.values().sum();
    let rows = [
        ("read", report.read, String::new()),
        (
            if conditional { "to import" } else { "imported" },
            taken.kept,
            match taken.changed {
                0 => String::new(),
                changed => format!(
                    "{} under a source that was known with another text",
                    thousands(changed)
                ),
            },
        ),
        (
            "discarded",
            taken.discarded,
            "deleted, expired, invalidated or superseded there".to_owned(),
        ),
        ("omitted as obsolete", taken.gone_left_out, String::new()),
        ("here already", taken.known, String::new()),
        ("duplicates", taken.duplicates, String::new()),
        passed("junk", NoMemoryClass::Junk),
        passed("left out", NoMemoryClass::LeftOut),
        passed("not understood", NoMemoryClass::NotUnderstood),
        ("over a limit", taken.refused, String::new()),
        (
            "split",
            report.split,
            "into parts that share a tag".to_owned(),
        ),
        (
            "without a date",
            report.undated,
            "the file has none; it is the day of the import".to_owned(),
        ),
        (
            "date not used",
            dates,
            "unreadable, or of a journal entry that lies ahead: imported, see below".to_owned(),
        ),
        (
            "tags left out",
            report.tags_left_out,
            "over 16 with those of `--tag`, or over 50 characters".to_owned(),
        ),
    ];
    let mut text = String::new();
    for (name, count, note) in rows {
        // These counts are informative even where they are 0.
        let is_always = matches!(
            name,
            "read" | "imported" | "to import" | "duplicates" | "junk" | "not understood"
        );
        if count == 0 && !is_always {
            continue;
        }
        let line = format!("{name:>16}  {:>9}  {note}", thousands(count));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let not_understood = report.count(NoMemoryClass::NotUnderstood);
    text.push_str(&places(&report.places, not_understood));
    let other_files = report.passed.get(&NoMemoryReason::OtherFile);
    let other_files = other_files.copied().unwrap_or_default();
    text.push_str(&places(&report.other_files, other_files));
    text.push_str(&places(&report.date_places, dates));
    let format = done.recognised.format;
    text.push_str(&format!("\nwhat {format} cannot carry:\n"));
    for line in format.cannot_carry() {
        text.push_str(&format!("- {line}\n"));
    }
    let imported = counted(taken.kept + taken.discarded, "memory", "memories");
    text.push('\n');
    text.push_str(&match (arguments.dry_run, is_refused) {
        (true, true) => {
            "would import nothing without `--skip-bad`: the file is cut off, or broken\n".to_owned()
        }
        (true, false) => format!("would import {imported}; nothing was written\n"),
        (false, true) => String::new(),
        (false, false) if taken.seq.is_none() => {
            "imported nothing: it holds nothing new\n".to_owned()
        }
        (false, false) => format!(
            "imported {imported}; `memoir import {} --undo` undoes it\n",
            word(&arguments.agent)
        ),
    });
    text
}

fn warn(done: &Done, is_offered: bool) {
    for notice in &done.report.notices {
        terminal::note(&format!("note: {}", safe(notice.text.expose())));
    }
    if is_offered {
        terminal::note(
            "note: the file has a persona; `--system-prompt` makes it the agent's system prompt instead of a memory",
        );
    }
}

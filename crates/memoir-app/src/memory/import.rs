//! Memories in and out as JSON lines.
//!
//! Lines refer to each other by numbers of the file: for the memory that an archival one is under, and for replaced
//! ones. A reference to a bad line is ignored.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use memoir_domain::{
    PrivateText, Timestamp,
    agent::Agent,
    audit::{Actor, ActorKind},
    import::{self as taking_over, Incoming},
    memories::AllMemories,
    memory::{Archived, ArchivedBy, Kind, Memory, NewMemory, Number, tokens},
    mend,
    origin::{Origin, SavedBy},
    replace::NotReplaced,
};
use memoir_store::{AgentQuery, Selection};
use serde::Serialize;

use crate::{
    core::{Error, Result, again, parallel},
    memory::{Memories, memories::MemoryInput},
    shown::OwnAgent,
};

/// Memories that are sealed together.
// All chunks are one transaction; a chunk bounds the sealed data that is held twice meanwhile.
const CHUNK: usize = 2_000;

/// A line that can be imported.
#[derive(Debug, Clone)]
struct ReadLine {
    /// Its place in the file, from 1.
    place: usize,
    /// As the line says it: [`ImportPlan`] decides whether it is a summary, and what it is under. That is a number of
    /// the file, and `at` lies ahead where the line gives no time.
    memory: NewMemory,
    number: Option<u64>,
    replaces: Vec<u64>,
}

impl ReadLine {
    fn under(&self) -> Option<u64> {
        Some(self.memory.archived?.under?.0)
    }
}

/// The contents of a file.
#[derive(Debug, Clone, Default)]
pub struct Read {
    lines: Vec<ReadLine>,
    /// Unreadable lines: their numbers, from 1, and the error of each.
    pub bad: Vec<(usize, String)>,
    /// Lines that are not blank.
    pub total: usize,
}

impl Read {
    /// Memories that can be imported.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

/// The core size after the import, or a preview of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct CoreAfter {
    /// The core size.
    pub core_tokens: u64,
    /// The agent's budget.
    pub core_token_budget: u64,
    /// The excess of the core size over the budget; 0 where it is within.
    pub over_budget: u64,
}

impl CoreAfter {
    /// The size for an agent whose core grows by so many tokens.
    pub(crate) fn of(agent: &Agent, more: u64) -> Self {
        let core_tokens = agent.tally.core_tokens + more;
        let core_token_budget = agent.settings.effective_core_token_budget();
        Self {
            core_tokens,
            core_token_budget,
            over_budget: core_tokens.saturating_sub(core_token_budget),
        }
    }
}

/// A line that its reference failed to replace: it is imported as its own kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct UnreplacedLine {
    /// The place in the file of the line that names it, from 1.
    pub line: usize,
    /// The number that it names.
    pub number: u64,
    /// Why.
    pub reason: NotReplaced,
}

/// What an import has written, and whether its caller stops it.
#[derive(Debug, Default)]
#[expect(missing_docs, reason = "the type has said it")]
pub struct ImportProgress {
    pub written: Arc<AtomicU64>,
    pub is_stopped: AtomicBool,
}

/// The result of an import, or a preview of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Imported {
    /// Memories that were imported.
    pub imported: usize,
    /// The core size afterwards.
    #[serde(flatten)]
    pub core: CoreAfter,
    /// The failed replacements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_replaced: Vec<UnreplacedLine>,
}

/// Reads JSON lines at `now`; blank ones are skipped. With `to`, all that are not constitutional get that kind: with
/// `archival`, journal entries keep their own. A line that becomes neither core nor archival keeps no place in the archive.
pub fn read(bytes: &[u8], to: Option<Kind>, now: Timestamp) -> Read {
    // Editors on Windows write a mark of the byte order, which joined files have in their middle too.
    const MARK: &[u8] = b"\xEF\xBB\xBF";
    let lines: Vec<(usize, &[u8])> = bytes
        .split(|byte| *byte == b'\n')
        // Numbered before blank lines are removed, so that a number is that of the line in the file.
        .enumerate()
        .map(|(at, line)| (at + 1, line.strip_prefix(MARK).unwrap_or(line).trim_ascii()))
        .filter(|(_, line)| !line.is_empty())
        .collect();
    let mut read = Read {
        total: lines.len(),
        ..Read::default()
    };
    let parsed = parallel::map(lines, |(place, line)| {
        (place, read_line(place, line, to, now))
    });
    for (place, outcome) in parsed {
        match outcome {
            Ok(line) => read.lines.push(line),
            Err(problem) => read.bad.push((place, problem)),
        }
    }
    read.check_numbers();
    read.check_circles();
    read.bad.sort_unstable();
    read
}

/// The fields of a line, as the problems of one name them.
const FIELDS: [&str; 12] = [
    "content",
    "kind",
    "tags",
    "created_at",
    "source",
    "origin",
    "constitutional",
    "number",
    "is_summary",
    "under",
    "archived_at",
    "replaces",
];

/// Parses a line, whose invalid characters are replaced (SPEC 2.1).
///
/// The problem never holds the line's text: the parser's own message may quote it, so only its place, its kind and the
/// name of a known field are kept.
fn parsed(line: &[u8]) -> Result<MemoryInput, String> {
    // Lines that were cut out of a list end in its comma.
    let line = mend::json(line.strip_suffix(b",").unwrap_or(line));
    let mut parser = serde_json::Deserializer::from_str(&line);
    let read = serde_path_to_error::deserialize(&mut parser);
    let (field, error) = match read {
        Err(error) => {
            let path = error.path().to_string();
            let name = path.split(['.', '[']).next().unwrap_or_default();
            let field = FIELDS.into_iter().find(|field| *field == name);
            (field, error.into_inner())
        }
        Ok(line) => match parser.end() {
            Ok(()) => return Ok(line),
            Err(error) => (None, error),
        },
    };
    let form = || {
        let optional = FIELDS[1..].iter().map(|field| format!(", \"{field}\"?"));
        format!("a line is {{\"content\"{}}}", optional.collect::<String>())
    };
    // The parser's message of such a field begins with its name.
    let message = error.to_string();
    let is_double = |field: &&str| message.starts_with(&format!("duplicate field `{field}`"));
    let double = FIELDS.into_iter().find(is_double);
    let kind = match (double, error.classify(), field) {
        (Some(double), ..) => format!("has `{double}` twice"),
        (None, serde_json::error::Category::Data, Some(field)) => {
            format!("has a `{field}` of the wrong type or form")
        }
        (None, serde_json::error::Category::Data, None) => {
            format!("has a field that is missing or unknown; {}", form())
        }
        _ => "is not valid JSON".to_owned(),
    };
    Err(format!("{kind} (column {})", error.column()))
}

fn read_line(
    place: usize,
    line: &[u8],
    to: Option<Kind>,
    now: Timestamp,
) -> Result<ReadLine, String> {
    let mut input = parsed(line)?;
    let is_archived = input.under.is_some() || input.archived_at.is_some();
    if is_archived && input.kind != Some(Kind::Archival) {
        return Err("has `under` or `archived_at`, which only archival memories have; add `\"kind\": \"archival\"`, or leave them out".to_owned());
    }
    if input.is_summary && input.constitutional {
        return Err("is a summary and constitutional; no summary can be constitutional".to_owned());
    }
    // The parts that the whole file gives their meaning.
    let (number, is_summary) = (input.number.take(), mem::take(&mut input.is_summary));
    let (under, archived_at) = (input.under.take(), input.archived_at.take());
    let replaces = mem::take(&mut input.replaces);
    // A file cannot raise its own origin.
    input.origin = input
        .origin
        .filter(|named| named.weakness() > Origin::Import.weakness());
    input.kind = match to {
        Some(_) if input.constitutional => input.kind,
        Some(Kind::Archival) if input.kind == Some(Kind::Journal) => input.kind,
        to => to.or(input.kind),
    };
    // The importing actor is entered when it is imported.
    let saved_by = SavedBy {
        origin: Origin::Import,
        added_by: ActorKind::System,
    };
    let saving = input
        .check(saved_by, now)
        .map_err(|invalid| invalid.to_string())?;
    let archived = Archived {
        under: under.map(Number),
        at: archived_at.unwrap_or(Timestamp::MAX),
        by: ArchivedBy::Saved,
    };
    Ok(ReadLine {
        place,
        memory: NewMemory {
            is_summary,
            archived: (saving.memory.kind == Kind::Archival).then_some(archived),
            ..saving.memory
        },
        number,
        // `to` then decides which lines are core.
        replaces: match to {
            None => replaces.into_iter().map(|number| number.0).collect(),
            Some(_) => Vec::new(),
        },
    })
}

impl Read {
    /// A number that several lines have is the first one's; the others are bad.
    fn check_numbers(&mut self) {
        let mut first: HashMap<u64, usize> = HashMap::new();
        let bad = &mut self.bad;
        self.lines.retain(|line| {
            let Some(number) = line.number else {
                return true;
            };
            let known = *first.entry(number).or_insert(line.place);
            if known != line.place {
                let problem = format!("has the `number` {number}, which line {known} has");
                bad.push((line.place, problem));
            }
            known == line.place
        });
    }

    /// Lines that are under themselves, directly or by others, are bad.
    fn check_circles(&mut self) {
        let numbers = self.by_number();
        let above = |at: usize| numbers.get(&self.lines[at].under()?).copied();
        let mut below = vec![0_usize; self.lines.len()];
        for at in (0..self.lines.len()).filter_map(above) {
            below[at] += 1;
        }
        // A line with none under it is in no circle, and is left out of the count of the line that it is under.
        let ends = below.iter().enumerate().filter(|(_, count)| **count == 0);
        let mut ends: Vec<usize> = ends.map(|(at, _)| at).collect();
        while let Some(end) = ends.pop() {
            let Some(at) = above(end) else { continue };
            below[at] -= 1;
            if below[at] == 0 {
                ends.push(at);
            }
        }
        let mut at = 0;
        let bad = &mut self.bad;
        self.lines.retain(|line| {
            let is_in_circle = below[at] > 0;
            at += 1;
            if is_in_circle {
                let problem = "is `under` itself, directly or by other lines".to_owned();
                bad.push((line.place, problem));
            }
            !is_in_circle
        });
    }

    fn by_number(&self) -> HashMap<u64, usize> {
        let numbered = self.lines.iter().enumerate();
        numbered
            .filter_map(|(at, line)| Some((line.number?, at)))
            .collect()
    }
}

/// The place of a line, once all of them are known.
#[derive(Debug, Clone, Copy)]
enum LinePlace {
    /// Its own kind, under none.
    Own,
    /// Core, as a summary of this origin.
    Summary(Origin),
    Archived {
        under: Option<usize>,
        at: Timestamp,
        by: ArchivedBy,
    },
}

struct ImportPlan {
    places: Vec<LinePlace>,
    not_replaced: Vec<UnreplacedLine>,
    core_tokens: u64,
}

impl ImportPlan {
    fn new(lines: &Read, immutable_tags: &BTreeSet<String>, now: Timestamp) -> Self {
        let numbers = lines.by_number();
        let lines = &lines.lines;
        let is_under = |at: usize| {
            let line: &ReadLine = &lines[at];
            let under = line
                .under()
                .and_then(|number| numbers.get(&number).copied());
            // A memory that takes another's place is core or archival; a summary that is not core is none.
            under.filter(|above| {
                let above = &lines[*above];
                match above.memory.kind {
                    Kind::Core => true,
                    Kind::Archival => !above.memory.is_summary,
                    Kind::Journal => false,
                }
            })
        };
        let mut places: Vec<LinePlace> = (0..lines.len())
            .map(|at| match lines[at].memory.archived {
                Some(archived) => LinePlace::Archived {
                    under: is_under(at),
                    at: archived.at.min(now),
                    by: archived.by,
                },
                None => LinePlace::Own,
            })
            .collect();
        let mut not_replaced = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let mut seen = BTreeSet::new();
            for &number in line.replaces.iter().filter(|number| seen.insert(**number)) {
                let target = numbers.get(&number).copied();
                match replaced_place(lines, &places, at, target, immutable_tags, now) {
                    Ok((target, place)) => places[target] = place,
                    Err(reason) => not_replaced.push(UnreplacedLine {
                        line: line.place,
                        number,
                        reason,
                    }),
                }
            }
        }
        // After all places are known: only a line with another one under it is a summary.
        let mut weakest: BTreeMap<usize, Origin> = BTreeMap::new();
        for (at, place) in places.iter().enumerate() {
            if let LinePlace::Archived {
                under: Some(above), ..
            } = place
            {
                let origin = lines[at].memory.saved_by.origin;
                let known = weakest.entry(*above).or_insert(origin);
                if origin.weakness() > known.weakness() {
                    *known = origin;
                }
            }
        }
        for (at, origin) in weakest {
            if lines[at].memory.is_summary && matches!(places[at], LinePlace::Own) {
                places[at] = LinePlace::Summary(origin);
            }
        }
        let core = lines.iter().zip(&places).filter(|(line, place)| {
            line.memory.kind == Kind::Core && !matches!(place, LinePlace::Archived { .. })
        });
        let core_tokens = core
            .map(|(line, _)| tokens(line.memory.content.expose()))
            .sum();
        Self {
            places,
            not_replaced,
            core_tokens,
        }
    }

    /// The memory of a line, in an import whose first one gets the number `first`.
    fn memory(&self, line: &ReadLine, at: usize, first: Number, added_by: ActorKind) -> NewMemory {
        let mut memory = NewMemory {
            is_summary: false,
            archived: None,
            ..line.memory.clone()
        };
        memory.saved_by.added_by = added_by;
        match self.places[at] {
            LinePlace::Own => memory,
            LinePlace::Summary(origin) => NewMemory {
                is_summary: true,
                source: None,
                saved_by: SavedBy { origin, added_by },
                ..memory
            },
            LinePlace::Archived { under, at, by } => NewMemory {
                kind: Kind::Archival,
                archived: Some(Archived {
                    under: under.map(|above| Number(first.0 + above as u64)),
                    at,
                    by,
                }),
                ..memory
            },
        }
    }
}

/// The place of a line that another one replaces (SPEC 2.4). The limits of a week and of ages do not apply: it was
/// never in this agent's prompt.
fn replaced_place(
    lines: &[ReadLine],
    places: &[LinePlace],
    by: usize,
    target: Option<usize>,
    immutable_tags: &BTreeSet<String>,
    now: Timestamp,
) -> Result<(usize, LinePlace), NotReplaced> {
    let target = target.ok_or(NotReplaced::NotFound)?;
    let (old, new) = (&lines[target].memory, &lines[by].memory);
    let replaced = |at| LinePlace::Archived {
        under: Some(by),
        at,
        by: ArchivedBy::Replaced,
    };
    if let LinePlace::Archived { under, at, .. } = places[target] {
        // The line names that place itself; the reference only gives the reason.
        return match under == Some(by) && !new.is_summary {
            true => Ok((target, replaced(at))),
            false => Err(NotReplaced::NotCore),
        };
    }
    let is_core = |at: usize| {
        let memory = &lines[at].memory;
        let is_own = matches!(places[at], LinePlace::Own);
        is_own && memory.kind == Kind::Core && !memory.is_summary
    };
    if target == by || !is_core(target) || !is_core(by) {
        return Err(NotReplaced::NotCore);
    }
    if old.constitutional {
        return Err(NotReplaced::Constitutional);
    }
    if old.tags.contains_any(immutable_tags) {
        return Err(NotReplaced::Immutable);
    }
    if old.saved_by.origin.weakness() < new.saved_by.origin.weakness() {
        return Err(NotReplaced::Origin);
    }
    Ok((target, replaced(now)))
}

impl Memories<'_> {
    /// Imports the lines in one transaction; each memory is a record of its own, and one more reports the import.
    /// Where `progress` is stopped before all is decided, nothing is imported.
    ///
    /// # Errors
    /// [`Error::BadLines`] where there are bad lines and `skip_bad` is not set; then nothing is imported.
    pub async fn import(
        self,
        read: Read,
        skip_bad: bool,
        actor: &Actor,
        progress: Arc<ImportProgress>,
    ) -> Result<Imported> {
        if !read.bad.is_empty() && !skip_bad {
            return Err(Error::BadLines {
                bad: read.bad,
                total: read.total,
            });
        }
        // An import of nothing leaves no record, since there is nothing to undo.
        if read.is_empty() {
            return self.preview_import(&read).await;
        }
        again(|| async {
            let loaded = self.load(&AgentQuery::default()).await?;
            let texts = read.lines.iter();
            let texts = texts.map(|line| line.memory.content.expose().len() as u64);
            let growth = (read.lines.len() as u64, texts.sum());
            self.check_growth(&loaded.agent, growth, actor.kind).await?;
            let (plan, mut imported) = self.plan_import(&loaded.agent, &read);
            let first = loaded.agent.next_number;
            let is_stopped = || progress.is_stopped.load(Ordering::Relaxed);
            let writing = self.write_together(loaded, async |together| {
                let mut at = 0;
                for chunk in read.lines.chunks(CHUNK) {
                    if is_stopped() {
                        return Ok((false, false));
                    }
                    let incoming = chunk.iter().map(|line| {
                        let memory = plan.memory(line, at, first, actor.kind);
                        at += 1;
                        Incoming { memory, gone: None }
                    });
                    let incoming = incoming.collect();
                    let (agent, now) = (together.agent.clone(), self.memoir.now());
                    let decision = taking_over::take(agent, incoming, actor, now);
                    together
                        .add(decision, Some(progress.written.clone()))
                        .await?;
                }
                let (agent, now) = (together.agent.clone(), self.memoir.now());
                let report = taking_over::Taken {
                    format: "jsonl",
                    first,
                    memories: read.lines.len() as u64,
                    discarded: 0,
                    replaced: &[],
                };
                let decision = taking_over::taken(agent, &report, actor, now);
                together.add(decision, None).await?;
                let is_whole = !is_stopped();
                Ok((is_whole, is_whole))
            });
            if !writing.await? {
                imported.imported = 0;
            }
            Ok(imported)
        })
        .await
    }

    /// A preview of the import.
    ///
    /// # Errors
    /// The agent is gone; the store fails.
    pub async fn preview_import(self, read: &Read) -> Result<Imported> {
        let loaded = self.load(&AgentQuery::default()).await?;
        Ok(self.plan_import(&loaded.agent, read).1)
    }

    fn plan_import(self, agent: &Agent, read: &Read) -> (ImportPlan, Imported) {
        let mut plan =
            ImportPlan::new(read, &agent.settings.immutable_tag_set(), self.memoir.now());
        let imported = Imported {
            imported: read.len(),
            core: CoreAfter::of(agent, plan.core_tokens),
            not_replaced: std::mem::take(&mut plan.not_replaced),
        };
        (plan, imported)
    }
}

impl OwnAgent {
    /// The agent's active memories, oldest first, as lines that [`read`] takes.
    ///
    /// # Errors
    /// The store fails.
    pub async fn export(&self) -> Result<Vec<MemoryInput>> {
        let loaded = self.load_memories(Selection::Active).await?;
        let all = AllMemories::new(loaded.memories.shared());
        let lines = loaded.memories.iter();
        Ok(lines.map(|memory| line(memory, &all)).collect())
    }
}

fn line(memory: &Memory, all: &AllMemories) -> MemoryInput {
    let is_replaced = |source: &&Memory| {
        let archived = source.place.archived();
        archived.is_some_and(|archived| archived.by == ArchivedBy::Replaced)
    };
    // The sources of a summary were not replaced, whatever brought them there.
    let replaced = all.sources(memory.number).filter(is_replaced);
    let replaces = match memory.is_summary {
        true => Vec::new(),
        false => replaced.map(|source| source.number).collect(),
    };
    MemoryInput {
        kind: Some(memory.kind()),
        tags: memory.tags.iter().map(PrivateText::from).collect(),
        constitutional: memory.is_constitutional(),
        origin: Some(memory.origin()),
        source: memory.source.clone(),
        created_at: Some(memory.created_at),
        number: Some(memory.number.0),
        is_summary: memory.is_summary,
        under: all.read_under(memory).map(|under| under.0),
        archived_at: memory.place.archived().map(|archived| archived.at),
        replaces,
        content: memory.content.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-11-03T10:00:00Z".parse().unwrap()
    }

    fn of(lines: &[&str], to: Option<Kind>) -> Read {
        read(lines.join("\n").as_bytes(), to, now())
    }

    /// Each memory as kind, whether it is a summary, and what it is under, where the first one gets number 11.
    fn planned(read: &Read) -> Vec<(Kind, bool, Option<u64>)> {
        let plan = ImportPlan::new(read, &BTreeSet::new(), now());
        let lines = read.lines.iter().enumerate();
        let made = lines.map(|(at, line)| {
            let memory = plan.memory(line, at, Number(11), ActorKind::Owner);
            let memory = memory.into_memory(Number(0), 1, now());
            (
                memory.kind(),
                memory.is_summary,
                memory.under().map(|under| under.0),
            )
        });
        made.collect()
    }

    const SUMMARY: &str = r#"{"content": "Tea days", "number": 3, "is_summary": true}"#;
    const SOURCE: &str = r#"{"content": "Tea on Monday", "number": 1, "kind": "archival", "under": 3, "origin": "external"}"#;

    #[test]
    fn numbers_of_a_file_give_under_and_replaces_their_meaning() {
        let read = of(
            &[
                SOURCE,
                SUMMARY,
                r#"{"content": "Rui studies law", "number": 7, "replaces": [8, 9, 7, 99]}"#,
                r#"{"content": "Rui studies medicine", "number": 8}"#,
                r#"{"content": "Rui is my brother", "number": 9, "constitutional": true}"#,
                r#"{"content": "Gone", "kind": "archival", "under": 50}"#,
                r#"{"content": "No summary", "is_summary": true, "number": 4}"#,
            ],
            None,
        );
        assert_eq!(read.bad, []);
        assert_eq!(
            planned(&read),
            [
                (Kind::Archival, false, Some(12)),
                (Kind::Core, true, None),
                (Kind::Core, false, None),
                (Kind::Archival, false, Some(13)),
                (Kind::Core, false, None),
                (Kind::Archival, false, None),
                (Kind::Core, false, None),
            ]
        );
        let plan = ImportPlan::new(&read, &BTreeSet::new(), now());
        let left = plan.not_replaced.iter();
        let reasons = left.map(|one| (one.line, one.number, one.reason));
        assert_eq!(
            reasons.collect::<Vec<_>>(),
            [
                (3, 9, NotReplaced::Constitutional),
                (3, 7, NotReplaced::NotCore),
                (3, 99, NotReplaced::NotFound),
            ]
        );
        let summary = plan.memory(&read.lines[1], 1, Number(11), ActorKind::Owner);
        assert_eq!(summary.saved_by.origin, Origin::External, "the weakest");
        assert_eq!(plan.core_tokens, 2 + 4 + 5 + 3);
    }

    #[test]
    fn another_kind_than_the_files_leaves_no_summary_without_sources() {
        let lines = [
            SOURCE,
            SUMMARY,
            r#"{"content": "Today", "kind": "journal"}"#,
        ];
        let kinds = |to| planned(&of(&lines, Some(to)));
        let core = (Kind::Core, false, None);
        assert_eq!(kinds(Kind::Core), [core; 3]);
        let archival = (Kind::Archival, false, None);
        let journal = (Kind::Journal, false, None);
        assert_eq!(kinds(Kind::Archival), [archival, archival, journal]);
        assert_eq!(kinds(Kind::Journal), [journal; 3]);
    }

    #[test]
    fn a_mended_line_is_read() {
        let odd = [
            r#"{"content": "Tea days", "number": "3", "is_summary": null, "constitutional": null}"#,
            r##"{"content": "Tea on Monday", "kind": "archival", "under": "#3", "number": null}"##,
        ];
        let odd = of(&odd, None);
        assert_eq!(odd.bad, []);
        assert_eq!(planned(&odd)[1], (Kind::Archival, false, Some(11)));
        let half = of(&[r#"{"content": "figs \ud83d"}"#], None);
        assert_eq!(half.bad, []);
        assert_eq!(half.lines[0].memory.content.expose(), "figs \u{FFFD}");
    }

    #[test]
    fn lines_whose_numbers_contradict_are_bad() {
        let read = of(
            &[
                r#"{"content": "a", "number": 1, "kind": "archival", "under": 2}"#,
                r#"{"content": "b", "number": 2, "kind": "archival", "under": 1}"#,
                r#"{"content": "c", "number": 3, "kind": "archival", "under": 1}"#,
                r#"{"content": "d", "number": 3}"#,
                r#"{"content": "e", "under": 3}"#,
                r#"{"content": "f", "is_summary": true, "constitutional": true}"#,
            ],
            None,
        );
        let bad: Vec<usize> = read.bad.iter().map(|(line, _)| *line).collect();
        assert_eq!(bad, [1, 2, 4, 5, 6], "{:?}", read.bad);
        assert_eq!(planned(&read), [(Kind::Archival, false, None)]);
    }
}

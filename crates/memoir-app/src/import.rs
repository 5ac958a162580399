//! Memories in and out as JSON lines.

use std::sync::{Arc, atomic::AtomicU64};

use memoir_domain::{
    PrivateText, Timestamp,
    audit::{Actor, ActorKind},
    import as taking_over, manage,
    memory::{Kind, NewMemory},
    wording::{Origin, SavedBy},
};
use memoir_store::{AgentQuery, Selection};
use serde::{Deserialize, Serialize};

use crate::{
    AgentHandle, Error, MemoryInput, OwnAgent, Result, again, memories::memory_query, parallel,
};

/// Memories that are sealed at a time.
// All chunks are one transaction; a chunk bounds what is sealed and held twice meanwhile.
const CHUNK: usize = 2_000;

/// One line of a file of memories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Its text.
    pub content: PrivateText,
    /// Its kind; `None` means core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<PrivateText>,
    /// Where it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<PrivateText>,
    /// Its origin; whatever is imported is of origin `import`, or of a weaker one that is named here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Its origin date; `None` means now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Whether it is constitutional.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub constitutional: bool,
}

/// What was read from a file.
#[derive(Debug, Clone, Default)]
pub struct Read {
    memories: Vec<NewMemory>,
    /// Lines that cannot be read: their numbers, from 1, and what is wrong with each.
    pub bad: Vec<(usize, String)>,
    /// Lines that are not blank.
    pub total: usize,
}

impl Read {
    /// Memories that can be imported.
    pub fn len(&self) -> usize {
        self.memories.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.memories.is_empty()
    }
}

/// Reads JSON lines at `now`; blank ones are passed over.
pub fn read(bytes: &[u8], now: Timestamp) -> Read {
    // Editors on Windows write a mark of the byte order.
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let lines: Vec<(usize, &[u8])> = bytes
        .split(|byte| *byte == b'\n')
        // The lines are numbered before blank ones are left out, so that a number is that of the line in the file.
        .enumerate()
        .map(|(at, line)| (at + 1, line.trim_ascii()))
        .filter(|(_, line)| !line.is_empty())
        .collect();
    let mut read = Read {
        total: lines.len(),
        ..Read::default()
    };
    for (number, outcome) in parallel::map(lines, |(number, line)| (number, read_line(line, now))) {
        match outcome {
            Ok(memory) => read.memories.push(memory),
            Err(problem) => read.bad.push((number, problem)),
        }
    }
    read
}

/// The problem never holds the line's words: the parser's own message may quote them, so only its
/// place and kind are kept.
fn read_line(line: &[u8], now: Timestamp) -> Result<NewMemory, String> {
    let line: Line = serde_json::from_slice(line).map_err(|error| {
        let kind = match error.classify() {
            serde_json::error::Category::Data => {
                "has a field that is missing, unknown or of the wrong type; a line is \
                 {\"content\", \"kind\"?, \"tags\"?, \"source\"?, \"origin\"?, \"created_at\"?, \"constitutional\"?}"
            }
            _ => "is not valid JSON",
        };
        format!("{kind} (column {})", error.column())
    })?;
    let input = MemoryInput {
        content: line.content,
        kind: line.kind,
        tags: line.tags,
        source: line.source,
        // A file cannot make itself stronger than what it is.
        origin: line
            .origin
            .filter(|named| named.weakness() > Origin::Import.weakness()),
        created_at: line.created_at,
        constitutional: line.constitutional,
    };
    // Who imports it is stamped when it is imported.
    let door = SavedBy {
        origin: Origin::Import,
        added_by: ActorKind::System,
    };
    input
        .check(door, now)
        .map_err(|invalid| invalid.to_string())
}

impl AgentHandle {
    /// Imports what was read, in one transaction; each memory is a record of its own, and one more tells of
    /// the import. `progress` counts
    /// the memories written.
    ///
    /// # Errors
    /// [`Error::BadLines`] where there are bad lines and `skip_bad` is not set; then nothing is imported.
    pub async fn import(
        &self,
        mut read: Read,
        skip_bad: bool,
        actor: &Actor,
        progress: Arc<AtomicU64>,
    ) -> Result<usize> {
        if !read.bad.is_empty() && !skip_bad {
            return Err(Error::BadLines {
                bad: read.bad,
                total: read.total,
            });
        }
        // Here and not as the file is read: whoever reads it may not be who imports it.
        for memory in &mut read.memories {
            memory.door.added_by = actor.kind;
        }
        let count = read.memories.len();
        // An import of nothing leaves no record, since there is nothing to take back.
        if count == 0 {
            return Ok(0);
        }
        again(|| async {
            let loaded = self.load(&AgentQuery::default()).await?;
            let before = loaded.agent.clone();
            self.write_together(loaded, async |together| {
                for chunk in read.memories.chunks(CHUNK) {
                    let agent = together.agent.clone();
                    let decision = manage::save(agent, chunk.to_vec(), actor, self.memoir.now());
                    let progress = progress.clone();
                    together
                        .add(decision, |commit| commit.progress = Some(progress))
                        .await?;
                }
                let (agent, now) = (together.agent.clone(), self.memoir.now());
                let decision = taking_over::taken(agent, &before, "jsonl", &[], actor, now);
                together.add(decision, |_| {}).await?;
                Ok((true, ()))
            })
            .await?;
            Ok(count)
        })
        .await
    }
}

impl OwnAgent {
    /// The agent's kept memories, oldest first, as lines that [`read`] takes.
    ///
    /// # Errors
    /// The store fails.
    pub async fn export(&self) -> Result<Vec<Line>> {
        let loaded = self.load(&memory_query(Selection::Kept)).await?;
        Ok(loaded.memories.iter().map(line).collect())
    }
}

fn line(memory: &memoir_domain::memory::Memory) -> Line {
    Line {
        kind: Some(memory.kind),
        tags: memory.tags.iter().map(PrivateText::from).collect(),
        constitutional: memory.is_constitutional(),
        origin: Some(memory.origin()),
        source: memory.source.clone(),
        created_at: Some(memory.created_at),
        content: memory.content.clone(),
    }
}

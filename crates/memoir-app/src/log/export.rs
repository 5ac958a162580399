//! One agent's log as a file that a program without Memoir verifies (`docs/log-format.md`).
//!
//! Lines of JSON: the log, its entries in the log over all heads, the records with their texts, the memories, the end.
//! What a record's text was is shown by the key of that one text, which opens nothing else. Of other agents' entries
//! there are only the hashes, which a checkpoint needs, and from which neither agent nor time can be read.
//!
//! Records and memories are read page by page, and nothing is kept of them. Where the agent changes meanwhile, the new
//! records follow, and then all memories once more: of several lines of one memory the last one counts.

use data_encoding::HEXLOWER;
use memoir_domain::{AccountId, AgentId, audit::Action, memory::Memory};
use memoir_store::{AuditRow, LeafRow};
use memoir_vault::{
    AgentKey,
    chain::{ChainHead, ChainRecord, RecordHash},
};
use serde::{
    Serialize, Serializer,
    ser::{self, SerializeMap},
};
use zeroize::Zeroizing;

use crate::{
    core::{ATTEMPTS, Error, Result, codec, parallel::run_blocking},
    log::{audit::RecordRows, checkpoint::leaf, verify::PAGE},
    shown::OwnAgent,
};

const FORMAT: u32 = 1;
const LEAVES: usize = 512;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line<'a> {
    Log {
        format: u32,
        account: AccountId,
        agent: AgentId,
        name: &'a str,
    },
    /// An entry of this agent in the log over all heads, from index 0.
    Leaf {
        index: u64,
        seq: u64,
        head: String,
        recorded_at: i64,
    },
    /// The hashes of other agents' entries, from index `first` on.
    Leaves {
        first: u64,
        hashes: Vec<String>,
    },
    Record {
        #[serde(flatten, serialize_with = "hashed_fields")]
        record: ChainRecord<'a>,
        hash: String,
        text_version: u64,
        /// None of an erased agent.
        text: Option<&'a str>,
        seal: Option<&'a Seal>,
    },
    Memory {
        memory: &'a Memory,
    },
    End {
        records: u64,
        head: String,
        memories: u64,
        leaves: u64,
    },
}

/// What the hash of a record covers, so that a verifier computes it anew.
fn hashed_fields<S: Serializer>(record: &ChainRecord<'_>, to: S) -> Result<S::Ok, S::Error> {
    let mut fields = to.serialize_map(None)?;
    fields.serialize_entry("seq", &record.seq)?;
    fields.serialize_entry("recorded_at", &record.recorded_at.microseconds())?;
    fields.serialize_entry("actor_kind", record.actor_kind)?;
    fields.serialize_entry("actor_name", record.actor_name)?;
    fields.serialize_entry("action", record.action)?;
    fields.serialize_entry("session", &record.session)?;
    fields.serialize_entry("memory", &record.memory)?;
    let facts = str::from_utf8(record.facts).map_err(ser::Error::custom)?;
    fields.serialize_entry("facts", facts)?;
    fields.serialize_entry("text_commitment", &record.body.to_string())?;
    fields.end()
}

#[derive(Serialize)]
struct Seal {
    nonce: String,
    key: String,
    tag: String,
}

/// The export of one agent's log, piece by piece.
pub struct LogExport {
    agent: OwnAgent,
    key: Option<AgentKey>,
    /// Where the log ended when the export began.
    began_seq: u64,
    head: ChainHead,
    leaves: Vec<LeafRow>,
    leaf_count: u64,
    memories: u64,
    rounds: usize,
    stage: Stage,
}

enum Stage {
    /// The entries of the log over all heads from this index on.
    Leaves(usize),
    Records,
    /// The memories after that number. The agent had that version.
    Memories {
        after: u64,
        version: u64,
    },
    Nothing,
}

impl OwnAgent {
    /// The export of this agent's log.
    ///
    /// # Errors
    /// The store or the key store fails; the agent has no key, and was not erased.
    pub async fn export_log(&self) -> Result<LogExport> {
        let log = self.log();
        // The entries are read before the log: a later one may be of a record that the log, as read, does not have yet.
        let leaves = self.memoir.store.leaves(0).await?;
        let key = self.memoir.keys.of(self.scope).await?;
        if key.is_none() && self.memoir.keys.destroyed_at(self.scope).await?.is_none() {
            return Err(Error::NoKey(self.name().to_owned()));
        }
        Ok(LogExport {
            began_seq: log.row().await?.agent.columns.next_seq,
            agent: self.clone(),
            key,
            head: ChainHead::empty(self.scope),
            leaf_count: leaves.len() as u64,
            leaves,
            memories: 0,
            rounds: 0,
            stage: Stage::Leaves(0),
        })
    }
}

impl LogExport {
    /// The next piece: whole lines of the file. `None` after the last one.
    ///
    /// # Errors
    /// [`Error::Contended`] where texts that were exported before were shredded meanwhile, or the agent changes all the
    /// time; a row that Memoir did not write; the store fails. The file is not complete then.
    pub async fn next(&mut self) -> Result<Option<Zeroizing<Vec<u8>>>> {
        let mut piece = Piece::default();
        while piece.0.is_empty() {
            match self.stage {
                Stage::Leaves(index) => self.write_leaves(index, &mut piece)?,
                Stage::Records => self.write_records(&mut piece).await?,
                Stage::Memories { after, version } => {
                    self.write_memories(after, version, &mut piece).await?;
                }
                Stage::Nothing => return Ok(None),
            }
        }
        Ok(Some(piece.0))
    }

    fn write_leaves(&mut self, index: usize, piece: &mut Piece) -> Result<()> {
        let scope = self.agent.scope();
        if index == 0 {
            piece.push(&Line::Log {
                format: FORMAT,
                account: scope.account,
                agent: scope.agent,
                name: self.agent.name(),
            })?;
        }
        let page = self.leaves.iter().enumerate().skip(index).take(LEAVES);
        let is_own = |row: &LeafRow| row.agent == scope.agent;
        let page: Vec<(usize, &LeafRow)> = page.collect();
        for run in page.chunk_by(|(_, one), (_, next)| !is_own(one) && !is_own(next)) {
            let (first, row) = run[0];
            piece.push(&if is_own(row) {
                Line::Leaf {
                    index: first as u64,
                    seq: row.seq,
                    head: RecordHash(row.head).to_string(),
                    recorded_at: row.recorded_at.microseconds(),
                }
            } else {
                let hash = |(_, row): &(usize, &LeafRow)| HEXLOWER.encode(&leaf(row).hash());
                Line::Leaves {
                    first: first as u64,
                    hashes: run.iter().map(hash).collect(),
                }
            })?;
        }
        let next = index + page.len();
        self.stage = Stage::Leaves(next);
        if next == self.leaves.len() {
            self.leaves = Vec::new();
            self.stage = Stage::Records;
        }
        Ok(())
    }

    async fn write_records(&mut self, piece: &mut Piece) -> Result<()> {
        let log = self.agent.log();
        let page = log.page_from(self.head.seq + 1, PAGE).await?;
        let RecordRows { rows, room, .. } = page;
        let Some(last) = rows.last() else {
            let row = log.row().await?.agent;
            if row.columns.next_seq <= self.head.seq + 1 {
                self.stage = Stage::Memories {
                    after: 0,
                    version: row.document.version,
                };
                self.memories = 0;
                self.rounds += 1;
            }
            return Ok(());
        };
        // Texts of lines that were written may have been replaced or destroyed.
        let is_gone =
            |row: &AuditRow| matches!(row.action, Action::MemoryShredded | Action::AgentErased);
        if rows
            .iter()
            .any(|row| row.seq >= self.began_seq && is_gone(row))
        {
            return Err(Error::Contended);
        }
        self.head = ChainHead {
            seq: last.seq,
            hash: RecordHash(last.hash),
        };
        let key = self.key.clone();
        *piece = run_blocking(move || {
            let mut piece = Piece::default();
            for row in &rows {
                piece.push_record(key.as_ref(), row)?;
            }
            drop(room);
            Ok::<Piece, Error>(piece)
        })
        .await??;
        Ok(())
    }

    async fn write_memories(&mut self, after: u64, version: u64, piece: &mut Piece) -> Result<()> {
        let log = self.agent.log();
        let (rows, room) = match self.key {
            Some(_) => log.memory_rows(after).await?,
            // What is left of an erased agent's memories has no text.
            None => (Vec::new(), None),
        };
        if let (Some(key), Some(last)) = (self.key.clone(), rows.last()) {
            self.memories += rows.len() as u64;
            self.stage = Stage::Memories {
                after: last.number.0,
                version,
            };
            *piece = run_blocking(move || {
                let mut piece = Piece::default();
                for row in &rows {
                    let memory = Zeroizing::new(codec::memory(&key, row)?);
                    piece.push(&Line::Memory { memory: &memory })?;
                }
                drop(room);
                Ok::<Piece, Error>(piece)
            })
            .await??;
            return Ok(());
        }
        // The pages are of one moment only if the agent's version is still the same: every change increases it.
        if log.row().await?.agent.document.version != version {
            if self.rounds == ATTEMPTS {
                return Err(Error::Contended);
            }
            self.stage = Stage::Records;
            return Ok(());
        }
        self.stage = Stage::Nothing;
        piece.push(&Line::End {
            records: self.head.seq,
            head: self.head.hash.to_string(),
            memories: self.memories,
            leaves: self.leaf_count,
        })
    }
}

#[derive(Default)]
struct Piece(Zeroizing<Vec<u8>>);

impl Piece {
    fn push(&mut self, line: &Line<'_>) -> Result<()> {
        serde_json::to_writer(&mut *self.0, line)
            .map_err(|_| Error::Inconsistent("a line cannot be written as JSON".to_owned()))?;
        self.0.push(b'\n');
        Ok(())
    }

    fn push_record(&mut self, key: Option<&AgentKey>, row: &AuditRow) -> Result<()> {
        let opening = key.map(|key| codec::opening(key, row)).transpose()?;
        let text = opening
            .as_ref()
            .map(|opening| str::from_utf8(&opening.text));
        let text = text.transpose().map_err(|_| {
            Error::Inconsistent(format!("record {}: its text is no UTF-8", row.seq))
        })?;
        let seal = opening.as_ref().map(|opening| Seal {
            nonce: HEXLOWER.encode(&opening.nonce),
            key: HEXLOWER.encode(opening.key.as_slice()),
            tag: HEXLOWER.encode(&opening.tag),
        });
        self.push(&Line::Record {
            record: codec::chained(row),
            hash: RecordHash(row.hash).to_string(),
            text_version: row.body_version,
            text,
            seal: seal.as_ref(),
        })
    }
}

//! The statistics of an agent's memory, in counts and dates (SPEC 5.1): the core size over time, its causes, the ends
//! of sessions, and the places of the originals. Nothing here opens an agent's text but the settings of its own row:
//! memories are counted by the columns of their rows. Logs and memories of any number are read page by page.

use std::collections::BTreeMap;

use memoir_domain::{
    SessionId, Timestamp,
    audit::{Action, CORE_TOKENS},
    core_size::{Cause, CoreSizePoint, Curve, Flow},
    memory::{Invalid, Kind, Tally},
    session::State,
};
use memoir_store::{AgentQuery, AuditRow, MemoryPage, MemoryRow, RecordFilter};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    core::{Loaded, Result, codec},
    log::AgentLog,
    memory::context::{ContextShare, quarter_name},
    shown::{OriginalCounts, SessionFacts},
};

const PAGE: u32 = 500;

/// The core size over a period.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CoreSizeHistory {
    /// Its beginning.
    pub since: Timestamp,
    /// Its end.
    pub until: Timestamp,
    /// The core size at the beginning, and at the end of each of as many equal parts as were requested.
    pub points: Vec<CoreSizePoint>,
    /// The sessions begun in it, oldest first.
    pub sessions: Vec<SessionFacts>,
    /// The rollbacks, undos and rewinds in it, oldest first.
    pub returns: Vec<Return>,
}

/// A rollback, an undo or a rewind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Return {
    /// Its time.
    pub at: Timestamp,
    /// The name of the action in the log.
    pub action: Action,
    /// The session that was undone; `None` for a rewind.
    pub session_id: Option<SessionId>,
    /// The growth of the core size by it, in tokens; negative where it shrank.
    pub tokens: i64,
}

/// The counts of sessions, without rehearsals.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct SessionCounts {
    /// Sessions by their ends; every end is listed.
    pub ends: BTreeMap<&'static str, u64>,
    /// Running sessions.
    pub running: u64,
    /// Sessions that were undone after their end.
    pub undone: u64,
    /// Rehearsals, however they ended.
    pub rehearsals: u64,
    /// Edits that were not undone.
    pub edits: u64,
    /// The tokens that these removed.
    pub removed_tokens: u64,
    /// Memories that these moved to the archive.
    pub archived: u64,
    /// Summaries that these wrote.
    pub summaries: u64,
}

/// The originals that were saved in one calendar quarter, and where they are now. Counted by number and without text:
/// the counts do not show whether two texts are the same (SPEC 5.1).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, ToSchema)]
pub struct QuarterOfOriginals {
    /// The quarter (UTC) in which they were saved, such as `2026-Q1`.
    pub quarter: String,
    /// Those that were saved in it, without those that were discarded or shredded since.
    pub saved: u64,
    /// Those of them that are active core memories.
    pub in_prompt: u64,
    /// Those of them that are active archival memories.
    pub archived: u64,
}

/// Where an agent's originals are, in counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct OriginalsView {
    /// All of them.
    #[schema(inline)]
    pub originals: OriginalCounts,
    /// Those of each calendar quarter in which any were saved, the earliest first.
    pub originals_by_quarter: Vec<QuarterOfOriginals>,
}

/// The statistics of an agent's memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentStats {
    /// The agent's name.
    pub agent: String,
    /// The current counts of its memories.
    #[serde(flatten)]
    pub tally: Tally,
    /// The budget of its core memories, in tokens.
    pub effective_core_token_budget: u64,
    /// The core size over time.
    pub history: CoreSizeHistory,
    /// The causes of the changes of the core size in that time. The sum of all additions less all removals is the
    /// growth of the core size.
    pub causes: BTreeMap<Cause, Flow>,
    /// The sessions of that time.
    pub sessions: SessionCounts,
    /// Where its originals are now.
    #[serde(flatten)]
    pub originals: OriginalsView,
    /// The share of its core memories that its context shows.
    pub context: ContextShare,
}

impl AgentLog<'_> {
    /// The places of the agent's originals, in all and by the calendar quarter in which they were saved. Content-blind.
    ///
    /// # Errors
    /// The agent is erased; the store fails.
    pub async fn originals(self) -> Result<OriginalsView> {
        let loaded = self.load(&AgentQuery::default()).await?;
        self.originals_of(loaded.agent.tally).await
    }

    async fn originals_of(self, tally: Tally) -> Result<OriginalsView> {
        let mut quarters = Quarters::default();
        // Journal entries are counted once they are core or archival.
        for kind in [Kind::Core, Kind::Archival] {
            let mut after = 0;
            loop {
                let page = MemoryPage {
                    after,
                    limit: PAGE,
                    kind: Some(kind),
                    with_discarded: true,
                    ..MemoryPage::default()
                };
                let (rows, _room) = self.rows_with_room(&page).await?;
                rows.iter().for_each(|row| quarters.add(row));
                after = rows.last().map_or(after, |row| row.number.0);
                if rows.len() < PAGE as usize {
                    break;
                }
            }
        }
        Ok(OriginalsView {
            originals: OriginalCounts::new(tally),
            originals_by_quarter: quarters.finish(),
        })
    }

    /// The core size between two moments, in `points` equal parts (see [`memoir_domain::core_size::POINTS_LIMIT`]),
    /// with the sessions and what was undone; `None` means from its first record on. Content-blind.
    ///
    /// # Errors
    /// The agent is erased; the store fails.
    pub async fn core_size_history(
        self,
        since: Option<Timestamp>,
        until: Timestamp,
        points: usize,
    ) -> Result<CoreSizeHistory> {
        let loaded = self.load(&AgentQuery::default()).await?;
        let (history, _) = self.history_from_log(&loaded, since, until, points).await?;
        Ok(history)
    }

    /// The statistics of the agent's memory between two moments; `None` means from its first record on, and until now.
    /// Content-blind.
    ///
    /// # Errors
    /// `since` is later than `until`; the agent is erased; the store fails.
    pub async fn stats(
        self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
        points: usize,
    ) -> Result<AgentStats> {
        Invalid::check_range(since, until)?;
        let now = self.memoir.now();
        let loaded = self.load(&AgentQuery::default()).await?;
        let until = until.unwrap_or(now);
        let (history, causes) = self.history_from_log(&loaded, since, until, points).await?;
        let agent = loaded.agent;
        let originals = self.originals_of(agent.tally).await?;
        let context = self.memories().context_share().await?;
        Ok(AgentStats {
            agent: agent.name,
            tally: agent.tally,
            effective_core_token_budget: agent.settings.effective_core_token_budget(),
            sessions: counts(&history.sessions),
            history,
            causes,
            originals,
            context,
        })
    }

    async fn history_from_log(
        self,
        loaded: &Loaded,
        since: Option<Timestamp>,
        until: Timestamp,
        points: usize,
    ) -> Result<(CoreSizeHistory, BTreeMap<Cause, Flow>)> {
        let since = match since {
            Some(since) => since,
            None => self.first_recorded_at(loaded).await?,
        };
        let first = self.first_record_since(since).await?;
        let before = match first {
            Some(seq) => self.core_size_before(seq).await?,
            // Nothing changed since.
            None => loaded.agent.tally.core_tokens,
        };
        let mut curve = Curve::new(since, until, points, before);
        let mut returns = Vec::new();
        let mut next = first;
        while let Some(from_seq) = next {
            let page = self.page_from(from_seq, PAGE).await?;
            let last = page.rows.last().filter(|_| page.has_more);
            next = last.map(|row| row.seq + 1);
            // Not ended at the first later one: a clock may have been set back after it.
            for row in page.rows.iter().filter(|row| row.recorded_at <= until) {
                let Some(core_tokens) = core_tokens(row)? else {
                    continue;
                };
                let tokens = curve.note(row.recorded_at, row.action, core_tokens);
                if row.action.undoes() {
                    returns.push(Return {
                        at: row.recorded_at,
                        action: row.action,
                        session_id: row.session,
                        tokens,
                    });
                }
            }
        }
        let history = CoreSizeHistory {
            since,
            until,
            points: curve.points(),
            sessions: self.sessions_between(since, until).await?,
            returns,
        };
        Ok((history, curve.flows().clone()))
    }

    /// The time of the first record; without one, the creation of the agent.
    async fn first_recorded_at(self, loaded: &Loaded) -> Result<Timestamp> {
        let first = self.page_from(1, 1).await?.rows;
        let made = loaded.agent.created_at;
        Ok(first.first().map_or(made, |row| row.recorded_at.min(made)))
    }

    async fn first_record_since(self, since: Timestamp) -> Result<Option<u64>> {
        let filter = RecordFilter {
            since: Some(since),
            first: Some(1),
            ..RecordFilter::default()
        };
        let rows = self.memoir.store.records(self.scope, &filter).await?;
        Ok(rows.first().map(|row| row.seq))
    }

    /// The core size before the record at that place, by the last one before it that changed memories.
    async fn core_size_before(self, seq: u64) -> Result<u64> {
        let mut end = seq;
        // Backwards by pages: a record that changes no memory has no core size, and there may be many of them.
        while end > 1 {
            let filter = RecordFilter {
                before_seq: Some(end),
                last: Some(PAGE),
                ..RecordFilter::default()
            };
            let _room = self.room_for_records(&filter).await?;
            let rows = self.memoir.store.records(self.scope, &filter).await?;
            for row in rows.iter().rev() {
                if let Some(tokens) = core_tokens(row)? {
                    return Ok(tokens);
                }
            }
            end = rows.first().map_or(1, |row| row.seq);
        }
        Ok(0)
    }

    /// Oldest first.
    async fn sessions_between(
        self,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<SessionFacts>> {
        let mut found = Vec::new();
        let mut before = None;
        loop {
            let page = self.sessions_before(before, PAGE).await?;
            let (last, has_more) = (page.last(), page.has_more);
            let rows = page.rows.into_iter();
            let sessions = rows.filter(|row| row.columns.started_at <= until);
            // The pages are newest first, so the first session that began before `since` ends the search.
            for row in sessions.take_while(|row| row.columns.started_at >= since) {
                let (session, _) = codec::session(None, row)?;
                found.push(SessionFacts::new(&self.name, &session));
            }
            match last {
                Some((started_at, _)) if has_more && started_at >= since => before = last,
                _ => break,
            }
        }
        found.reverse();
        Ok(found)
    }
}

#[derive(Default)]
struct Quarters(BTreeMap<(i32, u8), QuarterOfOriginals>);

impl Quarters {
    /// Counts a core or archival memory by the columns of its row.
    fn add(&mut self, row: &MemoryRow) {
        // Text that a session wrote is no original, and what was taken away is not counted (SPEC 3.12).
        if row.is_summary || row.discarded_at.is_some() {
            return;
        }
        let (year, quarter) = row.recorded_at.quarter();
        let counts = self.0.entry((year, quarter));
        let counts = counts.or_insert_with(|| QuarterOfOriginals {
            quarter: quarter_name(year, quarter),
            ..QuarterOfOriginals::default()
        });
        counts.saved += 1;
        match row.kind {
            Kind::Core => counts.in_prompt += 1,
            Kind::Archival => counts.archived += 1,
            Kind::Journal => {}
        }
    }

    fn finish(self) -> Vec<QuarterOfOriginals> {
        self.0.into_values().collect()
    }
}

/// The core size after a record; `None` where it changed no memory.
fn core_tokens(row: &AuditRow) -> Result<Option<u64>> {
    Ok(match row.action {
        // The last record of an erased agent holds its counts; that changes no memory.
        Action::AgentErased => None,
        _ => codec::facts(row)?.count_of(CORE_TOKENS),
    })
}

fn counts(sessions: &[SessionFacts]) -> SessionCounts {
    let ends = State::ALL.into_iter().filter(|state| !state.is_running());
    let mut counts = SessionCounts {
        ends: ends.map(|end| (end.as_str(), 0)).collect(),
        ..SessionCounts::default()
    };
    for session in sessions {
        if session.rehearsal {
            counts.rehearsals += 1;
            continue;
        }
        match counts.ends.get_mut(session.state.as_str()) {
            Some(count) => *count += 1,
            None => counts.running += 1,
        }
        counts.undone += u64::from(session.undone_at.is_some());
        if session.undone_at.is_none() && session.state != State::RolledBack {
            counts.edits += u64::from(session.edits);
            counts.removed_tokens += session.removed_tokens;
            counts.archived += u64::from(session.archived);
            counts.summaries += u64::from(session.summaries);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use memoir_domain::{
        audit::ActorKind,
        memory::{NewMemory, Number},
        origin::SavedBy,
    };

    use super::*;
    use crate::{core::clock::SystemRandom, tests::key};

    fn row(number: u64, kind: Kind, recorded_at: &str) -> MemoryRow {
        let at: Timestamp = recorded_at.parse().unwrap();
        let memory = NewMemory::new(kind, "tea".into(), SavedBy::of(ActorKind::Agent));
        let memory = memory.into_memory(Number(number), number, at);
        let (key, random) = (&key(2), &SystemRandom);
        codec::memory_row(&codec::Sealer { key, random }, 1, memory).unwrap()
    }

    #[test]
    fn spec_3_12_originals_are_counted_by_the_quarter_in_which_they_were_saved() {
        let mut quarters = Quarters::default();
        let summary = MemoryRow {
            is_summary: true,
            ..row(5, Kind::Core, "2026-04-01")
        };
        let discarded = MemoryRow {
            discarded_at: Some(Timestamp::MIN),
            ..row(4, Kind::Core, "2026-04-01")
        };
        for row in [
            row(1, Kind::Core, "2025-12-31T23:59:59Z"),
            row(2, Kind::Archival, "2026-04-01"),
            row(3, Kind::Core, "2026-06-30"),
            discarded,
            summary,
        ] {
            quarters.add(&row);
        }
        let counts = quarters.finish();
        let counts = counts.iter();
        let counts: Vec<(&str, u64, u64, u64)> = counts
            .map(|one| (one.quarter.as_str(), one.saved, one.in_prompt, one.archived))
            .collect();
        assert_eq!(counts, [("2025-Q4", 1, 1, 0), ("2026-Q2", 2, 1, 1)]);
    }
}

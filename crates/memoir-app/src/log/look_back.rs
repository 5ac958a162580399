//! One point of an agent's history, and what a rewind to it would do: counts, dates and codes, never text (SPEC 4.3,
//! 5.1). Records are unsealed to find it; only their open parts are returned.
//!
//! The console's slider shows this. Its button sends the newest record of that time, and uses `AgentHandle::as_seen`:
//! it does what was shown, or nothing where a record was written since.
//!
//! This reads summaries of the log ([`LogSummary`]), one for each [`SUMMARY_RECORDS`] records. Of the records
//! themselves it reads only the stretch of the point and the last one. The first call for a log makes the missing
//! summaries and keeps them, sealed with the agent's key and bound to the hash of their last record. Rewinding reads
//! the whole log and none of them. In memory are only the sum of the summaries, and those that may hold the point.
//!
//! A process does this for few agents at a time, and later callers wait.

use memoir_domain::{
    SessionId,
    audit::Record,
    memory::Tally,
    rewind::{self, RewindForecast},
    session::Session,
    summary::{LogPast, LogSummary, SUMMARY_RECORDS},
};
use memoir_store::{AgentQuery, RecordFilter, SummaryRow};
use serde::Serialize;

use crate::{
    core::{CONFLICT, Error, Loaded, Result, again, codec, parallel::run_blocking},
    log::{AgentLog, rewind::Point},
    shown::{RecordFacts, SessionFacts},
};

const PAGE: u32 = 64;

/// Most points of [`LogHistory::core_size`].
// Half as many as the pixels that the console draws across (`pages/time.rs`): every point is a pixel or two.
pub const CORE_SIZE_POINTS: u64 = 500;

/// One point of an agent's history.
#[derive(Debug, Clone, PartialEq)]
pub struct LookBack {
    /// The place in the log of the last record written by then; 0 before the first.
    pub seq: u64,
    /// That record; `None` before the first.
    pub record: Option<RecordFacts>,
    /// The counts of the memories then.
    pub then: Tally,
    /// The counts of the memories now.
    pub now: Tally,
    /// The effect of a rewind, were no session running.
    pub foresight: RewindForecast,
    /// The running session, which conflicts.
    pub running: Option<SessionId>,
    /// The whole history around it.
    pub history: LogHistory,
}

/// An overview of an agent's log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogHistory {
    /// The place of the newest record; 0 where there is none.
    pub newest_seq: u64,
    /// The core size from before the first record to the newest, in at most [`CORE_SIZE_POINTS`] points.
    pub core_size: Vec<CoreSizeAt>,
    /// Every session that has records, the newest first.
    pub sessions: Vec<SessionSpan>,
}

/// The core size after a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct CoreSizeAt {
    /// The record's place in the log; 0 before the first.
    pub seq: u64,
    /// The core size, in tokens.
    pub core_tokens: u64,
    /// The smallest since the point before.
    pub lowest_core_tokens: u64,
    /// The largest since the point before.
    pub highest_core_tokens: u64,
}

/// The place of a session in the log. Other records may lie in between.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSpan {
    /// The session. A rehearsal has only one record.
    pub session: SessionFacts,
    /// The place of its first record.
    pub first_seq: u64,
    /// The place of its last record.
    pub last_seq: u64,
}

impl AgentLog<'_> {
    /// One point of the agent's history, and the effect of [`AgentLog::rewind`]; `None` for the newest. Content-blind.
    ///
    /// # Errors
    /// The agent is erased; the store fails.
    pub async fn look_back(self, point: Option<Point>) -> Result<LookBack> {
        // Before anything is read, so that waiting callers hold nothing.
        let _turn = self.past_turn().await?;
        again(|| self.attempt_look_back(point)).await
    }

    async fn attempt_look_back(self, point: Option<Point>) -> Result<LookBack> {
        let loaded = self.load(&AgentQuery::default()).await?;
        // Each agent has at least the record of its creation.
        let newest_seq = loaded.agent.next_seq - 1;
        let point = point.unwrap_or(Point::Record(newest_seq));
        let pasts = self.pasts(&loaded, point).await?;
        let then = self.then(&loaded, &pasts, point).await?;
        let seq = then.last_seq();
        let any = RecordFilter::default();
        let record = self.views().search_records(&any, Some(seq + 1), 1).await?;
        let record = record.into_iter().next().filter(|record| record.seq == seq);
        // Without their text, and so without the key: these are open facts.
        let bare = |row| Ok(codec::session(None, row)?.0);
        let sessions = self.open_sessions(None, u32::MAX, bare).await?;
        let agent = loaded.agent;
        let at = self.memoir.now();
        let running = loaded.running_session;
        run_blocking(move || {
            let (past, mut before) = (pasts.past, pasts.before);
            before.add(&then);
            let ids = sessions.iter().filter(|session| !session.rehearsal);
            let foresight =
                rewind::foresee(&agent, ids.map(|session| session.id), &past, &before, at);
            Ok(LookBack {
                seq,
                record,
                then: before.tally(),
                now: agent.tally,
                foresight,
                running,
                history: LogHistory {
                    newest_seq,
                    core_size: core_sizes(past.core_sizes(), newest_seq),
                    sessions: spans(&agent.name, &past, &sessions),
                },
            })
        })
        .await?
    }

    /// The sum of the summaries of the whole log, the last one of the remaining records. Missing ones are made.
    async fn pasts(self, loaded: &Loaded, point: Point) -> Result<HistoryWindow> {
        let mut pasts = self.kept_pasts(loaded, point).await?;
        let mut rows = Vec::new();
        loop {
            let mut summary = pasts.past.next_summary();
            let first = summary.first_seq();
            if first >= loaded.agent.next_seq {
                break;
            }
            let (records, hash) = self.stretch(loaded, first, first + SUMMARY_RECORDS).await?;
            summary = run_blocking(move || {
                records.iter().for_each(|record| summary.add(record));
                summary
            })
            .await?;
            // The rest of the log grows with the next record, so a summary of it would soon be outdated.
            if summary.is_full() {
                let sealer = self.memoir.sealer(loaded.base.key());
                rows.push(codec::summary_row(&sealer, &summary, hash)?);
            }
            pasts.add(summary);
        }
        if !rows.is_empty() {
            let keeping = self.keep_summaries(loaded, rows);
            match memoir_store::without_waiting(keeping).await {
                // Another process has the database locked: the next call makes them again.
                Err(Error::Store(memoir_store::Error::Busy)) => {}
                kept => kept?,
            }
        }
        Ok(pasts)
    }

    /// The sum of the stored summaries, from the first record on without a gap.
    async fn kept_pasts(self, loaded: &Loaded, point: Point) -> Result<HistoryWindow> {
        let mut pasts = HistoryWindow::of(point);
        let mut newest: Option<SummaryRow> = None;
        loop {
            let after = newest.as_ref().map_or(0, |row| row.last_seq);
            let rows = self.memoir.store.summaries(self.scope, after, PAGE).await?;
            let is_last = rows.len() < PAGE as usize;
            newest = rows.last().cloned().or(newest);
            let key = loaded.base.key().clone();
            pasts = run_blocking(move || {
                for row in &rows {
                    let summary = codec::summary(&key, row)?;
                    let expected = pasts.past.next_summary().first_seq();
                    if summary.first_seq() != expected {
                        return Err(Error::Inconsistent(format!(
                            "table `log_summaries`: that of the records from {expected} on is missing"
                        )));
                    }
                    pasts.add(summary);
                }
                Ok(pasts)
            })
            .await??;
            if is_last {
                break;
            }
        }
        let Some(newest) = newest else {
            return Ok(pasts);
        };
        let seq = [newest.last_seq];
        let of = self.memoir.store.records_at(self.scope, &seq).await?;
        // The last one is enough: shredding removes all summaries together, and rewriting a log changes all hashes from
        // there to its end.
        if of.first().map(|row| row.hash) != Some(newest.hash) {
            return Err(Error::Inconsistent(format!(
                "table `log_summaries`, up to record {}: that record has another hash, or is missing",
                newest.last_seq
            )));
        }
        Ok(pasts)
    }

    /// Stores summaries, unless text was shredded since they were made. Other records do not affect them.
    async fn keep_summaries(self, loaded: &Loaded, rows: Vec<SummaryRow>) -> Result<()> {
        let shredded = loaded.agent.tally.shredded_count;
        again(|| async {
            let now = self.load(&AgentQuery::default()).await?;
            // The count is in the agent's sealed row. Summaries of text that was shredded since are dropped, and the
            // next call makes new ones.
            if now.agent.tally.shredded_count != shredded {
                return Ok(());
            }
            // A loaded agent always has a version. The store keeps the summaries only while the agent is still of this
            // version, so none outlasts a later shredding.
            let version = now.base.version().unwrap_or_default();
            let store = &self.memoir.store;
            let keeping = store.keep_summaries(self.scope, version, rows.clone());
            match keeping.await? {
                true => Ok(()),
                false => Err(CONFLICT),
            }
        })
        .await
    }

    /// The records from `first` up to but without `end`, without a gap, as far as the log goes, and the last hash.
    ///
    /// # Errors
    /// [`memoir_store::Error::Conflict`] where a record was written meanwhile; [`Error::Inconsistent`] where records are
    /// missing.
    async fn stretch(
        self,
        loaded: &Loaded,
        first: u64,
        end: u64,
    ) -> Result<(Vec<Record>, [u8; 32])> {
        let end = end.min(loaded.agent.next_seq);
        let filter = RecordFilter {
            before_seq: Some(end),
            ..RecordFilter::from_record(first)
        };
        let _room = self.room_for_records(&filter).await?;
        let rows = self.memoir.store.records(self.scope, &filter).await?;
        let hash = rows.last().map_or(loaded.base.head(), |row| row.hash);
        let is_whole = rows.iter().map(|row| row.seq).eq(first..end);
        // The agent's row holds the hash of the last record only, so only the end of the log can be compared with it.
        let ends = end < loaded.agent.next_seq || hash == loaded.base.head();
        if !is_whole || !ends {
            // Names the gap, and detects a concurrent write.
            self.log_from(first, loaded).await?;
            return Err(CONFLICT);
        }
        let key = loaded.base.key().clone();
        let opened = run_blocking(move || codec::records(Some(&key), rows));
        Ok((opened.await??, hash))
    }

    /// The part of the point's stretch that was written by then; an empty one before the first record.
    async fn then(
        self,
        loaded: &Loaded,
        pasts: &HistoryWindow,
        point: Point,
    ) -> Result<LogSummary> {
        let mut then = pasts.before.next_summary();
        let Some(stretch) = pasts.stretch() else {
            return Ok(then);
        };
        let (first, end) = (stretch.first_seq(), stretch.last_seq() + 1);
        let (records, _) = self.stretch(loaded, first, end).await?;
        let is_by_then = |record: &Record| match point {
            Point::Record(seq) => record.seq <= seq,
            Point::Time(time) => record.recorded_at <= time,
        };
        let last = records.iter().rposition(is_by_then);
        let records = &records[..last.map_or(0, |index| index + 1)];
        records.iter().for_each(|record| then.add(record));
        Ok(then)
    }
}

/// A log, read once: its current state, and its state before the stretch of a point.
struct HistoryWindow {
    point: Point,
    past: LogPast,
    /// The log before the first of `since`.
    before: LogPast,
    /// The stretch of the point as far as known, and later ones that may turn out to be it: times can run backwards.
    /// Empty before the first that may hold it.
    since: Vec<LogSummary>,
    /// Whether the first of `since` may hold the point.
    is_found: bool,
}

impl HistoryWindow {
    fn of(point: Point) -> Self {
        Self {
            point,
            past: LogPast::default(),
            before: LogPast::default(),
            since: Vec::new(),
            is_found: false,
        }
    }

    fn add(&mut self, summary: LogSummary) {
        self.past.add(&summary);
        let holds = match self.point {
            Point::Record(seq) => summary.first_seq() <= seq,
            Point::Time(time) => summary.begins_by(time),
        };
        if holds {
            // The last one that may hold it does.
            for passed in self.since.drain(..) {
                self.before.add(&passed);
            }
            self.is_found = true;
        }
        // No later stretch holds an earlier place.
        if holds || matches!(self.point, Point::Time(_)) {
            self.since.push(summary);
        }
    }

    /// The stretch of the point; `None` before the first record.
    fn stretch(&self) -> Option<&LogSummary> {
        self.since.first().filter(|_| self.is_found)
    }
}

/// The core size along the log: after every record, or after as many stretches of them.
fn core_sizes(sizes: &[(u64, u64)], newest_seq: u64) -> Vec<CoreSizeAt> {
    let mut points = vec![CoreSizeAt::default()];
    let stretch = newest_seq.div_ceil(CORE_SIZE_POINTS - 1).max(1);
    let mut core_tokens = 0;
    let mut sizes = sizes.iter().peekable();
    let mut seq = 0;
    while seq < newest_seq {
        seq = (seq + stretch).min(newest_seq);
        let (mut lowest, mut highest) = (core_tokens, core_tokens);
        while let Some((_, after)) = sizes.next_if(|(at, _)| *at <= seq) {
            core_tokens = *after;
            lowest = lowest.min(core_tokens);
            highest = highest.max(core_tokens);
        }
        points.push(CoreSizeAt {
            seq,
            core_tokens,
            lowest_core_tokens: lowest,
            highest_core_tokens: highest,
        });
    }
    points
}

fn spans(agent: &str, past: &LogPast, sessions: &[Session]) -> Vec<SessionSpan> {
    let mut spans: Vec<SessionSpan> = sessions
        .iter()
        .filter_map(|session| {
            let (first_seq, last_seq) = past.sessions().get(&session.id)?;
            Some(SessionSpan {
                session: SessionFacts::new(agent, session),
                first_seq: *first_seq,
                last_seq: *last_seq,
            })
        })
        .collect();
    // By the log and not by `started_at`: times can run backwards.
    spans.sort_by_key(|span| std::cmp::Reverse(span.first_seq));
    spans
}

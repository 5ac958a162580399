//! Reading an agent's log (SPEC 4.1).

use memoir_domain::audit::Record;
use memoir_store::{AgentQuery, AuditRow, RecordFilter};

use crate::{
    core::{
        AgentHandle, CONFLICT, Error, Loaded, Result, again, codec,
        load_room::{self, HeldRoom},
    },
    log::AgentLog,
};

pub(crate) struct RecordPage {
    pub(crate) filter: RecordFilter,
    sizes: Vec<u64>,
    pub(crate) has_more: bool,
}

pub(crate) struct RecordRows {
    pub(crate) rows: Vec<AuditRow>,
    pub(crate) has_more: bool,
    pub(crate) room: Option<HeldRoom>,
}

impl AgentLog<'_> {
    /// Runs `attempt` with the agent as of its newest record, and again from the beginning if anything is written
    /// before its end. So its decision matches its first read.
    ///
    /// # Errors
    /// Those of the attempt, but for [`Error::Changed`]; [`Error::Contended`] where others were faster each time.
    pub async fn at_newest<T, Attempt: Future<Output = Result<T>>>(
        self,
        attempt: impl Fn(AgentHandle) -> Attempt,
    ) -> Result<T> {
        again(|| async {
            let all = RecordFilter::default();
            let newest = self.views().search_records(&all, None, 1).await?;
            let newest_seq = newest.first().map_or(0, |record| record.seq);
            match attempt(self.as_seen(newest_seq)).await {
                Err(Error::Changed) => Err(CONFLICT),
                done => done,
            }
        })
        .await
    }

    /// The agent's whole log, opened; as for [`AgentLog::log_from`].
    pub(crate) async fn read_whole_log(self, loaded: &Loaded) -> Result<Vec<Record>> {
        let rows = self.log_from(1, loaded).await?;
        codec::records(Some(loaded.base.key()), rows)
    }

    /// Waits for room for the log from the record at `first` on: before memories are loaded, because a task with room
    /// waits for no more.
    pub(crate) async fn room_from(self, first: u64) -> Result<Option<HeldRoom>> {
        let filter = RecordFilter::from_record(first);
        self.room_for_records(&filter).await
    }

    /// Waits for room for the whole log and all sessions: also before memories are loaded.
    pub(crate) async fn room_for_past(self) -> Result<Option<HeldRoom>> {
        let (store, all) = (&self.memoir.store, RecordFilter::default());
        let mut sizes = store.record_sizes(self.scope, &all).await?;
        let sessions = store.session_sizes(self.scope, None, u32::MAX).await?;
        sizes.extend(sessions);
        self.room_for_sizes(&sizes).await
    }

    /// The page of the first records that match, or of the last ones where `last` is set: at most `most`, and fewer where
    /// they are long.
    pub(crate) async fn page_of(self, filter: RecordFilter, most: u32) -> Result<RecordPage> {
        let are_last = filter.last.is_some();
        let counted = |count: u32, filter: RecordFilter| RecordFilter {
            first: Some(count).filter(|_| !are_last),
            last: Some(count).filter(|_| are_last),
            ..filter
        };
        let filter = counted(most.saturating_add(1), filter);
        let store = &self.memoir.store;
        let mut sizes = store.record_sizes(self.scope, &filter).await?;
        if are_last {
            sizes.reverse();
        }
        let count = load_room::fitting(&sizes, most);
        let has_more = sizes.len() > count as usize;
        sizes.truncate(count as usize);
        Ok(RecordPage {
            filter: counted(count, filter),
            sizes,
            has_more,
        })
    }

    /// One page of at most `most` sealed records from the one at `from_seq` on, oldest first.
    pub(crate) async fn page_from(self, from_seq: u64, most: u32) -> Result<RecordRows> {
        let filter = RecordFilter::from_record(from_seq);
        let page = self.page_of(filter, most).await?;
        let room = self.room_for_sizes(&page.sizes).await?;
        let rows = self.memoir.store.records(self.scope, &page.filter).await?;
        Ok(RecordRows {
            rows,
            has_more: page.has_more,
            room,
        })
    }

    /// The agent's log from the record at `first` on, in the room of [`Self::room_from`]: without a gap up to the end that
    /// the agent's sealed row names, since no decision may be based on a part.
    ///
    /// # Errors
    /// [`memoir_store::Error::Conflict`] where the agent changed since it was loaded; [`Error::Inconsistent`] where
    /// records are missing.
    pub(crate) async fn log_from(self, first: u64, loaded: &Loaded) -> Result<Vec<AuditRow>> {
        let filter = RecordFilter::from_record(first);
        let rows = self.memoir.store.records(self.scope, &filter).await?;
        let next = loaded.agent.next_seq;
        let seqs = rows.iter().map(|row| row.seq);
        let ends = rows.last().is_none_or(|row| row.hash == loaded.base.head());
        if seqs.eq(first..next) && ends {
            return Ok(rows);
        }
        // The agent's row and the log are read one after the other. A difference due to a record written in between is
        // a conflict, and no damage.
        let now = self.load(&AgentQuery::default()).await?;
        if now.base.memories_version() != loaded.base.memories_version() {
            return Err(memoir_store::Error::Conflict.into());
        }
        let missing = (first..next).find(|seq| !rows.iter().any(|row| row.seq == *seq));
        Err(Error::Inconsistent(match missing {
            Some(seq) => format!("table `audit_records`: record {seq} is missing"),
            None => {
                "table `audit_records`: the log does not end as the agent's row says".to_owned()
            }
        }))
    }

    pub(crate) async fn load_records(self, filter: &RecordFilter) -> Result<Vec<Record>> {
        let _room = self.room_for_records(filter).await?;
        let rows = self.memoir.store.records(self.scope, filter).await?;
        codec::records(self.key().await?.as_ref(), rows)
    }
}

//! Summaries of stretches of a log. With them, a read of a past state needs no old records (SPEC 4.3).
//!
//! A summary is a cache derived from the records alone. Verifying the log derives it again, and shredding discards it.
//! It holds marks of texts, so that it is only stored sealed (SPEC 5.3).

use std::collections::BTreeMap;

use crate::{
    history::rewind::core_tokens_after,
    ids::SessionId,
    log::{
        audit::Record,
        effective::{EffectEvent, EffectKind, EffectiveRecords},
    },
    memory::{
        Kind, Memory, Number, Tally,
        mark::{MemoryMark, TextMark},
    },
    time::Timestamp,
};

/// The number of records in a summary.
// A read of a past state takes one stretch of records and all summaries: at a hundred thousand records, five hundred
// records and two hundred summaries.
pub const SUMMARY_RECORDS: u64 = 512;

/// The data of a stretch of a log that a read of a past state needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSummary {
    first_seq: u64,
    last_seq: u64,
    /// The earliest time of a record; times can run backwards.
    earliest: Timestamp,
    /// The core size after each record that changed memories, by place.
    core_sizes: Vec<(u64, u64)>,
    /// The first and the last record of each session.
    sessions: BTreeMap<SessionId, (u64, u64)>,
    effect_events: Vec<EffectEvent>,
    /// The changed memories, in their state after the last record.
    memories: BTreeMap<Number, MemoryGlance>,
    /// The counts of all memories after the last record.
    tally: Tally,
}

view! {
    /// The data of one state of a memory that a read of a past state needs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct MemoryGlance from memory: &Memory, mark: &MemoryMark;
    /// Equal for equal states.
    pub(crate) state: TextMark = mark.as_one(),
    /// Equal for equal texts.
    pub(crate) content: TextMark = mark.content(),
    tokens: u64 = memory.tokens(),
    kind: Kind = memory.kind(),
    /// For an archival memory, the one that took its place.
    under: Option<Number> = memory.under(),
    pub(crate) is_summary: bool = memory.is_summary,
    pub(crate) is_active: bool = memory.is_active(),
    pub(crate) is_shredded: bool = memory.shredded_at.is_some(),
    pub(crate) stays_on_rewind: bool = memory.stays_on_rewind(),
}

impl MemoryGlance {
    /// Its part of the core size.
    pub(crate) fn core_tokens(&self) -> u64 {
        if self.kind() == Some(Kind::Core) {
            self.tokens
        } else {
            0
        }
    }

    /// Its kind while it is active; `None` of a discarded memory.
    pub(crate) fn kind(&self) -> Option<Kind> {
        self.is_active.then_some(self.kind)
    }

    /// The memory that an active archival memory is under; `None` of any other.
    pub(crate) fn source_of(&self) -> Option<Number> {
        self.is_active.then_some(self.under).flatten()
    }
}

impl LogSummary {
    /// Without records yet; the next ones come after those of `before`.
    pub fn after(before: Option<&Self>) -> Self {
        let end = before.map(|before| (before.last_seq, before.tally));
        let (last_seq, tally) = end.unwrap_or_default();
        Self::following(last_seq, tally)
    }

    fn following(last_seq: u64, tally: Tally) -> Self {
        Self {
            first_seq: last_seq + 1,
            last_seq,
            earliest: Timestamp::MAX,
            core_sizes: Vec::new(),
            sessions: BTreeMap::new(),
            effect_events: Vec::new(),
            memories: BTreeMap::new(),
            tally,
        }
    }

    /// Adds the next record.
    pub fn add(&mut self, record: &Record) {
        self.last_seq = record.seq;
        // The earliest and not the first, as times can run backwards: any stretch with a record up to a time may hold
        // that point.
        self.earliest = self.earliest.min(record.recorded_at);
        let size = core_tokens_after(record);
        self.core_sizes.extend(size.map(|size| (record.seq, size)));
        if let Some(session) = record.session {
            let span = self.sessions.entry(session);
            span.or_insert((record.seq, record.seq)).1 = record.seq;
        }
        self.effect_events.extend(EffectEvent::of(record));
        for change in &record.body.changes {
            if let Some(before) = change.before() {
                self.tally.remove(before);
            }
            let after = change.after();
            self.tally.add(&after);
            let glance = MemoryGlance::new(&after, &MemoryMark::new(&after));
            self.memories.insert(change.number(), glance);
        }
    }

    /// The place of its first record.
    pub fn first_seq(&self) -> u64 {
        self.first_seq
    }

    /// The place of its last record.
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// Whether it holds as many records as a stored one.
    pub fn is_full(&self) -> bool {
        self.last_seq + 1 - self.first_seq == SUMMARY_RECORDS
    }

    /// Whether one of its records may have been written then or earlier.
    pub fn begins_by(&self, time: Timestamp) -> bool {
        self.earliest <= time
    }
}

/// The content of a log by its summaries, up to a point.
#[derive(Debug, Clone, Default)]
pub struct LogPast {
    last_seq: u64,
    core_sizes: Vec<(u64, u64)>,
    sessions: BTreeMap<SessionId, (u64, u64)>,
    pub(crate) effective_records: EffectiveRecords,
    /// From number 1 on; `None` for one that does not exist yet.
    pub(crate) memories: Vec<Option<MemoryGlance>>,
    tally: Tally,
}

impl LogPast {
    /// Adds the next stretch.
    pub fn add(&mut self, summary: &LogSummary) {
        self.last_seq = summary.last_seq;
        self.core_sizes.extend(&summary.core_sizes);
        for (session, (first, last)) in &summary.sessions {
            self.sessions.entry(*session).or_insert((*first, *last)).1 = *last;
        }
        for event in &summary.effect_events {
            self.effective_records.apply_event(event);
        }
        for (number, glance) in &summary.memories {
            // No memory has the number 0.
            let Some(index) = usize::try_from(number.0)
                .ok()
                .and_then(|at| at.checked_sub(1))
            else {
                continue;
            };
            if self.memories.len() <= index {
                self.memories.resize(index + 1, None);
            }
            self.memories[index] = Some(*glance);
        }
        // Each summary counts from the log's beginning, so that the last one has the counts of all.
        self.tally = summary.tally;
    }

    /// An empty summary for the records that follow.
    pub fn next_summary(&self) -> LogSummary {
        LogSummary::following(self.last_seq, self.tally)
    }

    /// The place of the last record.
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// The core size after each record that changed memories, by place.
    pub fn core_sizes(&self) -> &[(u64, u64)] {
        &self.core_sizes
    }

    /// The first and the last record of each session.
    pub fn sessions(&self) -> &BTreeMap<SessionId, (u64, u64)> {
        &self.sessions
    }

    /// The counts of the memories. The core size is the recorded one: after shredding it cannot be computed again.
    pub fn tally(&self) -> Tally {
        let recorded = self.core_sizes.last().map(|(_, size)| *size);
        Tally {
            core_tokens: recorded.unwrap_or(self.tally.core_tokens),
            ..self.tally
        }
    }
}

/// The format of a summary before sealing: numbers with variable length, and places as the distance to the previous
/// one.
const FORM: u8 = 4;

impl LogSummary {
    /// In compact form, to be sealed.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = ByteWriter(vec![FORM]);
        out.number(self.first_seq);
        out.number(self.last_seq);
        out.time(self.earliest);
        out.number(self.core_sizes.len() as u64);
        for (seq, size) in &self.core_sizes {
            // Small numbers take one byte or two; the place itself takes up to five.
            out.number(seq - self.first_seq);
            out.number(*size);
        }
        out.number(self.sessions.len() as u64);
        for (session, (first, last)) in &self.sessions {
            out.bytes(session.as_bytes());
            out.number(first - self.first_seq);
            out.number(last - self.first_seq);
        }
        out.number(self.effect_events.len() as u64);
        for event in &self.effect_events {
            out.effect_event(event);
        }
        out.number(self.memories.len() as u64);
        for (number, glance) in &self.memories {
            out.number(number.0);
            out.bytes(glance.state.as_bytes());
            out.bytes(glance.content.as_bytes());
            out.number(glance.tokens);
            // No memory has the number 0.
            out.number(glance.under.map_or(0, |under| under.0));
            let flags = [
                glance.stays_on_rewind,
                glance.kind == Kind::Core,
                glance.kind == Kind::Archival,
                glance.is_summary,
                glance.is_active,
                glance.is_shredded,
            ];
            out.number(
                flags
                    .iter()
                    .fold(0, |all, flag| all << 1 | u64::from(*flag)),
            );
        }
        for (_, count) in self.tally.counts() {
            out.number(count);
        }
        out.0
    }

    /// Reads the output of [`LogSummary::to_bytes`]; `None` for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut from = ByteReader(bytes.strip_prefix(&[FORM])?);
        let first_seq = from.number()?;
        let mut summary = Self {
            last_seq: from.number()?,
            earliest: from.time()?,
            ..Self::following(first_seq.checked_sub(1)?, Tally::default())
        };
        // Without allocating by the number that is read: a few bytes must not request gigabytes.
        for _ in 0..from.number()? {
            let seq = first_seq.checked_add(from.number()?)?;
            summary.core_sizes.push((seq, from.number()?));
        }
        for _ in 0..from.number()? {
            let session = SessionId::from_bytes(from.array()?);
            let first = first_seq.checked_add(from.number()?)?;
            let last = first_seq.checked_add(from.number()?)?;
            summary.sessions.insert(session, (first, last));
        }
        for _ in 0..from.number()? {
            summary.effect_events.push(from.effect_event()?);
        }
        for _ in 0..from.number()? {
            let number = Number(from.number()?);
            let (state, content) = (from.array()?, from.array()?);
            let (tokens, under, flags) = (from.number()?, from.number()?, from.number()?);
            let glance = MemoryGlance {
                state: TextMark::from_bytes(state),
                content: TextMark::from_bytes(content),
                tokens,
                kind: match flags >> 3 & 3 {
                    0 => Kind::Journal,
                    1 => Kind::Archival,
                    2 => Kind::Core,
                    _ => return None,
                },
                under: (under != 0).then_some(Number(under)),
                is_summary: flags & 4 != 0,
                is_active: flags & 2 != 0,
                is_shredded: flags & 1 != 0,
                stays_on_rewind: flags & 32 != 0,
            };
            summary.memories.insert(number, glance);
        }
        let mut counts = [0; Tally::COUNTS];
        for count in &mut counts {
            *count = from.number()?;
        }
        summary.tally = Tally::from_counts(counts);
        // Trailing bytes belong to an unknown format.
        from.0.is_empty().then_some(summary)
    }
}

struct ByteWriter(Vec<u8>);

impl ByteWriter {
    /// Seven bits a byte, the lowest first.
    fn number(&mut self, mut value: u64) {
        // Most numbers here are small and so take one byte, and a log has hundreds of summaries.
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn time(&mut self, time: Timestamp) {
        self.bytes(&time.microseconds().to_le_bytes());
    }

    fn effect_event(&mut self, event: &EffectEvent) {
        self.number(event.seq);
        let session = event.session.as_ref().map(SessionId::as_bytes);
        self.number(u64::from(session.is_some()));
        self.bytes(session.map_or(&[][..], |session| &session[..]));
        let named = match &event.kind {
            EffectKind::Edit => return self.number(0),
            EffectKind::RolledBack(named) => {
                self.number(1);
                named
            }
            EffectKind::Undone(at, named) => {
                self.number(2);
                self.time(*at);
                named
            }
            EffectKind::Rewound(at, to_seq) => {
                self.number(3);
                self.time(*at);
                return self.number(*to_seq);
            }
        };
        self.number(named.len() as u64);
        named.iter().for_each(|seq| self.number(*seq));
    }
}

struct ByteReader<'bytes>(&'bytes [u8]);

impl ByteReader<'_> {
    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        // At most ten bytes: longer numbers are never written here.
        for shift in (0..64).step_by(7) {
            let byte = *self.0.split_off_first()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn array<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        self.0.split_off(..COUNT)?.try_into().ok()
    }

    fn time(&mut self) -> Option<Timestamp> {
        Timestamp::from_microseconds(i64::from_le_bytes(self.array()?))
    }

    fn places(&mut self) -> Option<Vec<u64>> {
        let count = self.number()?;
        (0..count).map(|_| self.number()).collect()
    }

    fn effect_event(&mut self) -> Option<EffectEvent> {
        let seq = self.number()?;
        let session = match self.number()? {
            0 => None,
            _ => Some(SessionId::from_bytes(self.array()?)),
        };
        let kind = match self.number()? {
            0 => EffectKind::Edit,
            1 => EffectKind::RolledBack(self.places()?),
            2 => EffectKind::Undone(self.time()?, self.places()?),
            3 => EffectKind::Rewound(self.time()?, self.number()?),
            _ => return None,
        };
        Some(EffectEvent { seq, session, kind })
    }
}

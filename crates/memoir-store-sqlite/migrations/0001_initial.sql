-- The first format. Names are shared with the other stores.
--
-- Identifiers are the 16 bytes of a UUID. Times are microseconds since 1970, negative before. Names of
-- states, kinds and actions are the wire names. Text of an agent is a BLOB that the store does not
-- understand: a version byte, then what that version makes of the words. A document is a JSON object by
-- field name that the store keeps byte for byte and does not read either: its seal is bound to these bytes
-- and to its version. What the store searches, sorts or counts by stands in columns beside it, and says
-- nothing that the document does not say. Wide columns come last, so that a scan of the others does not
-- follow their overflow pages; and where a document is written with every edit, its table has rowids, in which
-- a row four times as long has room in one page.

-- Tenants.
CREATE TABLE accounts (
    -- Its identifier.
    id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    -- Its name as given.
    name TEXT NOT NULL,
    -- Its name as compared.
    folded_name TEXT NOT NULL,
    -- When it was made.
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One account of a name, whatever the case; finds it by name.
CREATE UNIQUE INDEX accounts_by_name ON accounts (folded_name);

-- Owners of memories.
CREATE TABLE agents (
    -- Its identifier.
    id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    -- The tenant that it belongs to.
    account_id BLOB NOT NULL REFERENCES accounts (id),
    -- Its name as given.
    name TEXT NOT NULL,
    -- Its name as compared.
    folded_name TEXT NOT NULL,
    -- When it was erased; NULL where it was not.
    erased_at INTEGER,
    -- The sequence number of the next record of its log.
    next_seq INTEGER NOT NULL,
    -- The hash of the last record of its log; that of an empty log where there is none.
    head BLOB NOT NULL CHECK (length(head) = 32),
    -- The installation's weekly slot after this time makes it due; NULL where the schedule leaves it alone, or
    -- it has a slot of its own.
    weekly_after INTEGER,
    -- From this time on it is due whatever the weekly slot: for budget pressure, in a slot of its own, or for
    -- another attempt. NULL where there is nothing of the kind.
    due_at INTEGER,
    -- A daily slot after this time brings a reflection; NULL where there is nothing to reflect on, or the
    -- schedule leaves it alone.
    reflect_after INTEGER,
    -- The mass as a share of the budget, in millionths.
    budget_share INTEGER NOT NULL,
    -- How many tokens a session that begins now could remove.
    removable_tokens INTEGER NOT NULL,
    -- Archived originals as a share of all originals, in millionths.
    archived_share INTEGER NOT NULL,
    -- The document's version: grows by one with every commit, from 1.
    version INTEGER NOT NULL,
    -- Document: all of it but its prompts.
    open TEXT NOT NULL,
    -- What shows that the document is as it was written.
    sealed BLOB NOT NULL
) STRICT;

-- One agent of a name in an account, whatever the case, erased ones left out; lists an account's agents
-- by name.
CREATE UNIQUE INDEX agents_by_name ON agents (account_id, folded_name) WHERE erased_at IS NULL;

-- The erased agents of a name in an account, in the order in which they were erased.
CREATE INDEX agents_erased ON agents (account_id, folded_name, erased_at, id) WHERE erased_at IS NOT NULL;

-- Counts the agents that are not erased without reading any.
CREATE INDEX agents_living ON agents (erased_at);

-- An account's agents that the schedule may ask, the one attempted longest ago first.
CREATE INDEX agents_by_slot ON agents (account_id, weekly_after, id) WHERE weekly_after IS NOT NULL;

-- An account's agents that have outgrown their budget, the one that has been due longest first.
CREATE INDEX agents_by_due_time ON agents (account_id, due_at, id) WHERE due_at IS NOT NULL;

-- An account's agents that have something to reflect on, the one that has waited longest first.
CREATE INDEX agents_by_reflection ON agents (account_id, reflect_after, id) WHERE reflect_after IS NOT NULL;

-- The prompts of each agent, apart from what changes with every commit.
CREATE TABLE agent_prompts (
    -- Whose they are.
    agent_id BLOB NOT NULL PRIMARY KEY REFERENCES agents (id),
    -- The prompts: text.
    body BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Memories, beside each other by agent.
CREATE TABLE memories (
    -- Whose it is.
    agent_id BLOB NOT NULL REFERENCES agents (id),
    -- Its number within the agent, from 1.
    number INTEGER NOT NULL,
    -- The agent's version under which the row was written.
    version INTEGER NOT NULL,
    -- core, journal or archival.
    kind TEXT NOT NULL,
    -- Its size in tokens.
    tokens INTEGER NOT NULL,
    -- 1 where no session can delete or merge it.
    constitutional INTEGER NOT NULL CHECK (constitutional IN (0, 1)),
    -- Its origin date.
    created_at INTEGER NOT NULL,
    -- When it last changed.
    updated_at INTEGER NOT NULL,
    -- When it was discarded; NULL where it is active.
    discarded_at INTEGER,
    -- When its words were taken out for good; it is discarded then.
    shredded_at INTEGER,
    -- The number of the memory under which it lies in the archive; NULL where there is none.
    under INTEGER,
    -- When it became archival; NULL where it is not.
    archived_at INTEGER,
    -- What made it archival: saved, session, replaced or duplicate; set where archived_at is.
    archived_by TEXT,
    -- 1 where it is a summary; only a core memory is.
    is_summary INTEGER NOT NULL CHECK (is_summary IN (0, 1)),
    -- The place of the record that first made it core; NULL where it never was.
    core_seq INTEGER,
    -- When it was first saved.
    recorded_at INTEGER NOT NULL,
    -- Words, tags, source, and what is known of the wordings that it stands for: text.
    body BLOB NOT NULL,
    PRIMARY KEY (agent_id, number),
    CHECK (shredded_at IS NULL OR discarded_at IS NOT NULL),
    CHECK ((kind = 'archival') = (archived_at IS NOT NULL)),
    CHECK ((archived_at IS NULL) = (archived_by IS NULL)),
    CHECK (is_summary = 0 OR kind = 'core')
) STRICT, WITHOUT ROWID;

-- Finds the active memories of a kind, oldest first, past any number of discarded and expired ones. It has what
-- counts and the plan of a context need, so that they read no row: the table is slow to search where rows are long.
CREATE INDEX memories_active ON memories (
    agent_id, kind, created_at, number, discarded_at, tokens, constitutional, is_summary, recorded_at
) WHERE discarded_at IS NULL;

-- Counts the discarded memories and the shredded ones without reading any.
CREATE INDEX memories_discarded ON memories (agent_id, discarded_at, shredded_at) WHERE discarded_at IS NOT NULL;

-- Brings the active archival memories under a memory, by number.
CREATE INDEX memories_under ON memories (agent_id, under, number)
WHERE discarded_at IS NULL AND under IS NOT NULL;

-- Refinement sessions, ended ones included.
CREATE TABLE sessions (
    -- Its identifier.
    id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    -- The agent that refines.
    agent_id BLOB NOT NULL REFERENCES agents (id),
    -- The agent's tenant.
    account_id BLOB NOT NULL REFERENCES accounts (id),
    -- queued, asking or open while it runs; else how it ended.
    state TEXT NOT NULL,
    -- Who runs the loop: agent or model.
    driver TEXT NOT NULL,
    -- The model that runs it; NULL where the agent runs it itself.
    model TEXT,
    -- When it was begun.
    started_at INTEGER NOT NULL,
    -- When it ended.
    ended_at INTEGER,
    -- When the hold on it lapses; NULL where nobody holds it.
    lease_until INTEGER,
    -- Who holds it: 64 random bits; set where lease_until is.
    lease_holder INTEGER,
    -- The document's version: the agent's under which it was written; prolonging a hold leaves it.
    version INTEGER NOT NULL,
    -- Document: the session without its words.
    open TEXT NOT NULL,
    -- Summary, reason and what a rehearsal came to: text.
    sealed BLOB NOT NULL
) STRICT;

-- At most one running session of an agent; finds it.
CREATE UNIQUE INDEX sessions_running ON sessions (agent_id) WHERE state IN ('queued', 'asking', 'open');

-- Lists an agent's sessions by time.
CREATE INDEX sessions_by_start ON sessions (agent_id, started_at, id);

-- Sessions that Memoir drives and no process leases, oldest first of each account and model.
CREATE INDEX sessions_waiting ON sessions (account_id, COALESCE(model, ''), started_at, id)
WHERE driver = 'model' AND lease_until IS NULL AND state IN ('queued', 'asking', 'open');

-- Finds the sessions whose worker died.
CREATE INDEX sessions_by_lease ON sessions (lease_until) WHERE lease_until IS NOT NULL;

-- The log of each agent, beside each other by agent. Only ever added to, but for words that are taken
-- out of it.
CREATE TABLE audit_records (
    -- Whose log it is.
    agent_id BLOB NOT NULL REFERENCES agents (id),
    -- Its place in the log, from 1, without gaps.
    seq INTEGER NOT NULL,
    -- When it was written.
    recorded_at INTEGER NOT NULL,
    -- administrator, agent, system or owner.
    actor_kind TEXT NOT NULL,
    -- Who did it.
    actor_name TEXT NOT NULL,
    -- What was done.
    action TEXT NOT NULL,
    -- The session that it belongs to.
    session_id BLOB CHECK (length(session_id) = 16),
    -- The memory that it is about.
    memory INTEGER,
    -- Which body this is: 1 as the record was written, and one more with each that took its place.
    body_version INTEGER NOT NULL CHECK (body_version > 0),
    -- The hash of the body as the record was written.
    body_commitment BLOB NOT NULL CHECK (length(body_commitment) = 32),
    -- The hash of the record and of all before it.
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    -- Counts, codes and identifiers, as a JSON object.
    facts TEXT NOT NULL,
    -- Before, after, summaries and reasons: text.
    body BLOB NOT NULL,
    PRIMARY KEY (agent_id, seq)
) STRICT, WITHOUT ROWID;

-- Brings a session's records without reading the rest of the log.
CREATE INDEX audit_records_by_session ON audit_records (session_id, agent_id, seq) WHERE session_id IS NOT NULL;

-- Brings a memory's records without reading the rest of the log.
CREATE INDEX audit_records_by_memory ON audit_records (agent_id, memory, seq) WHERE memory IS NOT NULL;

-- Brings the records of all agents by time.
CREATE INDEX audit_records_by_time ON audit_records (recorded_at, agent_id, seq);

-- What is written in a log stays as it is, the words left out.
CREATE TRIGGER audit_records_unchanged BEFORE UPDATE OF agent_id, seq, recorded_at, actor_kind, actor_name,
    action, session_id, memory, body_commitment, hash, facts ON audit_records
BEGIN
    SELECT RAISE(ABORT, 'audit records are never changed');
END;

-- Words give way only to those of the next version.
CREATE TRIGGER audit_records_bodies BEFORE UPDATE OF body, body_version ON audit_records
WHEN new.body_version <> old.body_version + 1
BEGIN
    SELECT RAISE(ABORT, 'bodies of audit records are never changed without counting their version up');
END;

-- What is written in a log stays there.
CREATE TRIGGER audit_records_undeleted BEFORE DELETE ON audit_records
BEGIN
    SELECT RAISE(ABORT, 'audit records are never deleted');
END;

-- The log over the heads of all agents' logs. Only ever added to.
CREATE TABLE log_leaves (
    -- Its place, from 0, without gaps.
    position INTEGER NOT NULL PRIMARY KEY,
    -- Whose log.
    agent_id BLOB NOT NULL REFERENCES agents (id),
    -- The place of that log's last record at the time.
    seq INTEGER NOT NULL,
    -- That record's hash.
    head BLOB NOT NULL CHECK (length(head) = 32),
    -- When the entry was made.
    recorded_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Finds an agent's last entry.
CREATE INDEX log_leaves_by_agent ON log_leaves (agent_id, position);

-- What is written over all logs stays as it is.
CREATE TRIGGER log_leaves_unchanged BEFORE UPDATE ON log_leaves
BEGIN
    SELECT RAISE(ABORT, 'entries over all logs are never changed');
END;

-- What is written over all logs stays there.
CREATE TRIGGER log_leaves_undeleted BEFORE DELETE ON log_leaves
BEGIN
    SELECT RAISE(ABORT, 'entries over all logs are never deleted');
END;

-- Who may come in: administrators of an account, and agents of it.
CREATE TABLE tokens (
    -- Its identifier.
    id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    -- The tenant that it belongs to.
    account_id BLOB NOT NULL REFERENCES accounts (id),
    -- The account's agent that it opens; NULL for an administrator's.
    agent_id BLOB REFERENCES agents (id),
    -- The SHA-256 of the secret, which is kept nowhere.
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    -- When it was made.
    created_at INTEGER NOT NULL,
    -- When it was last used, a little late; NULL where it never was.
    last_used_at INTEGER,
    -- When it was revoked; NULL where it was not.
    revoked_at INTEGER,
    -- The document's version: 1 as it was made, 2 once it was revoked.
    version INTEGER NOT NULL,
    -- Document: whom it lets in, and until when.
    open TEXT NOT NULL,
    -- What shows that the document is as it was written.
    sealed BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- One token of a secret; finds it.
CREATE UNIQUE INDEX tokens_by_digest ON tokens (digest);

-- Lists an account's tokens, oldest first.
CREATE INDEX tokens_by_account ON tokens (account_id, created_at);

-- Lists an agent's tokens, oldest first.
CREATE INDEX tokens_by_agent ON tokens (agent_id, created_at) WHERE agent_id IS NOT NULL;

-- A token's rights and secret are immutable.
CREATE TRIGGER tokens_unchanged BEFORE UPDATE OF id, account_id, agent_id, digest, created_at ON tokens
BEGIN
    SELECT RAISE(ABORT, 'tokens are never changed but for their use and their end');
END;

-- What was revoked stays revoked.
CREATE TRIGGER tokens_stay_revoked BEFORE UPDATE OF revoked_at ON tokens
WHEN old.revoked_at IS NOT NULL AND new.revoked_at IS NULL
BEGIN
    SELECT RAISE(ABORT, 'tokens that were revoked are never valid again');
END;

-- What is kept of stretches of each log, so that a look back need not read them. It can be made again from the
-- records, and goes where their words do.
CREATE TABLE log_summaries (
    -- Whose log.
    agent_id BLOB NOT NULL REFERENCES agents (id),
    -- The place of the last record that it is of.
    last_seq INTEGER NOT NULL,
    -- That record's hash.
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    -- The summary: text.
    body BLOB NOT NULL,
    PRIMARY KEY (agent_id, last_seq)
) STRICT, WITHOUT ROWID;

-- Vectors of active memories, by which what is near a question in meaning is found. They can be made again from the
-- memories, and go where a memory's row is written anew or its agent erased.
CREATE TABLE memory_vectors (
    -- Whose memory.
    agent_id BLOB NOT NULL REFERENCES agents (id),
    -- The memory.
    number INTEGER NOT NULL,
    -- The model that made it, as `provider:model`.
    model TEXT NOT NULL,
    -- The version of the memory's row that it was made of.
    version INTEGER NOT NULL,
    -- The vector: text.
    body BLOB NOT NULL,
    PRIMARY KEY (agent_id, number, model)
) STRICT, WITHOUT ROWID;

-- Messages of conversations that agents were handed, those that were read included: their digests keep
-- them from being read twice.
CREATE TABLE transcript_messages (
    -- Whose they are.
    agent_id BLOB NOT NULL REFERENCES agents (id),
    -- Its place among the agent's messages, from 1.
    seq INTEGER NOT NULL,
    -- Its identifier's digest, keyed.
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    -- Its size in tokens.
    tokens INTEGER NOT NULL,
    -- When it was handed over.
    received_at INTEGER NOT NULL,
    -- The bytes of its text where the agent itself handed it over; 0 otherwise.
    counted_bytes INTEGER NOT NULL,
    -- pending, absorbed or failed.
    state TEXT NOT NULL,
    -- Who said what when: text. Empty once its words are gone.
    body BLOB NOT NULL,
    -- Of an absorbed message until when its words are kept; NULL while it waits, and once they are gone.
    words_until INTEGER,
    PRIMARY KEY (agent_id, seq)
) STRICT, WITHOUT ROWID;

-- A message is an agent's once.
CREATE UNIQUE INDEX transcript_messages_once ON transcript_messages (agent_id, digest);

-- An agent's messages that wait, in their order.
CREATE INDEX transcript_messages_pending ON transcript_messages (agent_id, seq, tokens) WHERE state = 'pending';

-- What an agent's messages come to by state, and what is kept of their words, without reading the texts.
CREATE INDEX transcript_messages_sums ON transcript_messages (agent_id, state, tokens, words_until);

-- The bytes that each agent handed over, by time.
CREATE INDEX transcript_messages_counted ON transcript_messages (agent_id, received_at, counted_bytes)
    WHERE counted_bytes > 0;

-- Absorbed messages whose words are kept, those first whose words go first.
CREATE INDEX transcript_messages_kept ON transcript_messages (words_until) WHERE words_until IS NOT NULL;

-- When each agent's messages are to be read.
CREATE TABLE transcripts (
    -- Whose they are.
    agent_id BLOB NOT NULL PRIMARY KEY REFERENCES agents (id),
    -- The agent's tenant.
    account_id BLOB NOT NULL REFERENCES accounts (id),
    -- From when on those that wait are to be read; NULL where none waits.
    due_at INTEGER,
    -- Until when somebody reads them; NULL where nobody does.
    claimed_until INTEGER,
    -- How often they were claimed, which is the latest claim's number.
    claims INTEGER NOT NULL,
    -- Attempts at the next chunk that came to nothing.
    failures INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- An account's agents whose messages are due, the one longest due first.
CREATE INDEX transcripts_due ON transcripts (account_id, due_at) WHERE due_at IS NOT NULL;

-- Access requests and their outcomes.
CREATE TABLE access_requests (
    -- Its identifier.
    id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    -- The agent that is asked.
    agent_id BLOB NOT NULL REFERENCES agents (id),
    -- asked or granted while it is open; else what became of it.
    state TEXT NOT NULL,
    -- When it was made.
    requested_at INTEGER NOT NULL,
    -- Until when it waits for an answer; once granted, until when it can be used.
    expires_at INTEGER NOT NULL,
    -- The document's version: the agent's under which it was written.
    version INTEGER NOT NULL,
    -- Document: the request without its words.
    open TEXT NOT NULL,
    -- Purpose and reason: text.
    sealed BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Lists an agent's requests by time.
CREATE INDEX access_requests_by_time ON access_requests (agent_id, requested_at);

-- An agent's requests that are open.
CREATE INDEX access_requests_open ON access_requests (agent_id) WHERE state IN ('asked', 'granted');

-- All requests that are open, those that end first first.
CREATE INDEX access_requests_ending ON access_requests (expires_at) WHERE state IN ('asked', 'granted');

-- Who is asked and when stays as it is.
CREATE TRIGGER access_requests_unchanged BEFORE UPDATE OF id, agent_id, requested_at ON access_requests
BEGIN
    SELECT RAISE(ABORT, 'requests for access are never changed but for what becomes of them');
END;

-- What is over stays over.
CREATE TRIGGER access_requests_stay_over BEFORE UPDATE ON access_requests
WHEN old.state NOT IN ('asked', 'granted')
BEGIN
    SELECT RAISE(ABORT, 'requests for access that are over are never open again');
END;

-- What was asked stays there.
CREATE TRIGGER access_requests_undeleted BEFORE DELETE ON access_requests
BEGIN
    SELECT RAISE(ABORT, 'requests for access are never deleted');
END;

-- Administrators with a name and a password.
CREATE TABLE users (
    -- Its identifier.
    id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    -- The tenant that they administer.
    account_id BLOB NOT NULL REFERENCES accounts (id),
    -- The name as compared.
    folded_name TEXT NOT NULL,
    -- When it was made.
    created_at INTEGER NOT NULL,
    -- When it was removed; NULL while it may sign in.
    removed_at INTEGER,
    -- The document's version: how often the row was written, from 1 on.
    version INTEGER NOT NULL CHECK (version > 0),
    -- Document: who it is, and which sign-ins count.
    open TEXT NOT NULL,
    -- The password's hash and the second factor: text.
    sealed BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- One user of a name in an account, whatever the case; finds it by name, until it is removed.
CREATE UNIQUE INDEX users_by_name ON users (account_id, folded_name) WHERE removed_at IS NULL;

-- Who it is stays as it is.
CREATE TRIGGER users_unchanged BEFORE UPDATE OF id, account_id, folded_name, created_at ON users
BEGIN
    SELECT RAISE(ABORT, 'users are never changed but for how they sign in and their end');
END;

-- Who was removed stays removed.
CREATE TRIGGER users_stay_removed BEFORE UPDATE ON users WHEN old.removed_at IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a removed user does not return');
END;

-- Users are removed, not deleted: the installation stays closed.
CREATE TRIGGER users_undeleted BEFORE DELETE ON users
BEGIN
    SELECT RAISE(ABORT, 'users are never deleted');
END;

-- Responses to requests with an idempotency key, for their repetition.
CREATE TABLE replies (
    -- The tenant whose request it was.
    account_id BLOB NOT NULL REFERENCES accounts (id),
    -- The SHA-256 of the token's identifier and the key.
    key_digest BLOB NOT NULL CHECK (length(key_digest) = 32),
    -- A keyed digest of method, path and body.
    request_digest BLOB NOT NULL CHECK (length(request_digest) = 32),
    -- When the request came.
    recorded_at INTEGER NOT NULL,
    -- The version of the answer's document; NULL while the answer is not known.
    version INTEGER,
    -- Document: the answer; set where version is.
    open TEXT,
    -- The body of the answer: text; set where version is.
    sealed BLOB,
    PRIMARY KEY (account_id, key_digest),
    CHECK ((version IS NULL) = (open IS NULL) AND (version IS NULL) = (sealed IS NULL))
) STRICT, WITHOUT ROWID;

-- Finds the requests that are old enough to be forgotten.
CREATE INDEX replies_by_time ON replies (recorded_at);

-- External receivers that are notified when sessions end.
CREATE TABLE receivers (
    -- What it is known by: its address is kept nowhere.
    digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    -- When a service last said that it is wanted.
    seen_at INTEGER NOT NULL,
    -- When it asked for no more; NULL while it is told.
    closed_at INTEGER
) STRICT, WITHOUT ROWID;

-- Ends of sessions whose notification is pending.
CREATE TABLE deliveries (
    -- To whom.
    receiver BLOB NOT NULL REFERENCES receivers (digest),
    -- The session that ended.
    session_id BLOB NOT NULL REFERENCES sessions (id),
    -- How many attempts were begun.
    attempt INTEGER NOT NULL,
    -- From when on it is to be told, or told again.
    due_at INTEGER NOT NULL,
    PRIMARY KEY (receiver, session_id)
) STRICT, WITHOUT ROWID;

-- What is due to a receiver, that longest due first.
CREATE INDEX deliveries_due ON deliveries (receiver, due_at, session_id);

-- Every receiver that is registered when a session ends is notified.
CREATE TRIGGER sessions_ended AFTER UPDATE OF ended_at ON sessions
WHEN old.ended_at IS NULL AND new.ended_at IS NOT NULL
BEGIN
    INSERT INTO deliveries (receiver, session_id, attempt, due_at)
    SELECT digest, new.id, 0, new.ended_at FROM receivers WHERE closed_at IS NULL;
END;

-- So is that of a session that is written once it has ended. Those that come with a new agent ended elsewhere.
CREATE TRIGGER sessions_ended_at_once AFTER INSERT ON sessions
WHEN new.ended_at IS NOT NULL AND (SELECT version FROM agents WHERE id = new.agent_id) > 1
BEGIN
    INSERT INTO deliveries (receiver, session_id, attempt, due_at)
    SELECT digest, new.id, 0, new.ended_at FROM receivers WHERE closed_at IS NULL;
END;

-- Has a row while words that were taken out of a log may still be somewhere in the file.
CREATE TABLE residues (
    -- Always 1.
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1)
) STRICT, WITHOUT ROWID;

-- The first format. Names are shared with the other stores.
--
-- Identifiers are the 16 bytes of a UUID. Times are microseconds since 1970, negative before. Names of
-- states, kinds and actions are the wire names. Text of an agent is a BLOB that the store does not
-- understand: a version byte, then what that version makes of the words. Wide columns come last, so
-- that a scan of the others does not follow their overflow pages.

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
    -- Grows by one with every commit, from 1.
    version INTEGER NOT NULL,
    -- Its name as given.
    name TEXT NOT NULL,
    -- Its name as compared.
    folded_name TEXT NOT NULL,
    -- The key of the digests of its details and texts.
    digest_key BLOB NOT NULL CHECK (length(digest_key) = 32),
    -- 1 where the schedule leaves it alone.
    paused INTEGER NOT NULL CHECK (paused IN (0, 1)),
    -- 1 where it is out of service.
    inactive INTEGER NOT NULL CHECK (inactive IN (0, 1)),
    -- When it was made.
    created_at INTEGER NOT NULL,
    -- Tokens of the kept core memories.
    core_tokens INTEGER NOT NULL,
    -- Kept core memories.
    core_count INTEGER NOT NULL,
    -- Kept journal entries, faded ones included.
    journal_count INTEGER NOT NULL,
    -- Kept constitutional memories.
    constitutional_count INTEGER NOT NULL,
    -- Discarded memories.
    discarded_count INTEGER NOT NULL,
    -- The number of the next memory.
    next_number INTEGER NOT NULL,
    -- The sequence number of the next record of its log.
    next_seq INTEGER NOT NULL,
    -- When a session last completed or was rolled back.
    last_refinement_at INTEGER,
    -- When a session was last begun.
    last_attempt_at INTEGER,
    -- The mass at the end of that attempt; set where last_attempt_at is.
    last_attempt_tokens INTEGER,
    -- Origin date of the last row that the last ledger listed.
    ledger_created_at INTEGER,
    -- Number of that row; set where ledger_created_at is.
    ledger_number INTEGER,
    -- The settings that are no text, as a JSON object.
    settings TEXT NOT NULL,
    -- The prompts: text.
    prompts BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- One agent of a name in an account, whatever the case; lists an account's agents by name.
CREATE UNIQUE INDEX agents_by_name ON agents (account_id, folded_name);

-- Memories, beside each other by agent.
CREATE TABLE memories (
    -- Whose it is.
    agent_id BLOB NOT NULL REFERENCES agents (id),
    -- Its number within the agent, from 1.
    number INTEGER NOT NULL,
    -- core or journal.
    kind TEXT NOT NULL,
    -- Its size in tokens.
    tokens INTEGER NOT NULL,
    -- 1 where no session can delete or merge it.
    constitutional INTEGER NOT NULL CHECK (constitutional IN (0, 1)),
    -- Its origin date.
    created_at INTEGER NOT NULL,
    -- When it last changed.
    updated_at INTEGER NOT NULL,
    -- When it was discarded; NULL where it is kept.
    discarded_at INTEGER,
    -- Words, tags, source and protected wording: text.
    body BLOB NOT NULL,
    PRIMARY KEY (agent_id, number)
) STRICT, WITHOUT ROWID;

-- Brings the kept memories of a kind, oldest first, past any number of discarded and faded ones.
CREATE INDEX memories_kept ON memories (agent_id, kind, created_at, number) WHERE discarded_at IS NULL;

-- Refinement sessions, ended ones included.
CREATE TABLE sessions (
    -- Its identifier.
    id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    -- The agent that refines.
    agent_id BLOB NOT NULL REFERENCES agents (id),
    -- queued, asking or open while it runs; else how it ended.
    state TEXT NOT NULL,
    -- full or dedup_only.
    mode TEXT NOT NULL,
    -- Who runs the loop: agent or model.
    driver TEXT NOT NULL,
    -- Why it was begun.
    trigger TEXT NOT NULL,
    -- 1 where it works on a copy.
    rehearsal INTEGER NOT NULL CHECK (rehearsal IN (0, 1)),
    -- The model that runs it; NULL where the agent runs it itself.
    model TEXT,
    -- The mass when the knife was handed over.
    pre_session_tokens INTEGER,
    -- The mass when it ended.
    post_session_tokens INTEGER,
    -- The breaker's threshold, over 0 and up to 1.
    threshold REAL,
    -- Successful edits.
    edits INTEGER NOT NULL,
    -- The sum of what each edit took away, in tokens.
    removed_tokens INTEGER NOT NULL,
    -- Memories merged into others.
    consolidated INTEGER NOT NULL,
    -- Memories rewritten.
    updated INTEGER NOT NULL,
    -- Memories discarded.
    deleted INTEGER NOT NULL,
    -- Memories made constitutional.
    protected INTEGER NOT NULL,
    -- Why it ended, in one word; NULL while it runs and where it completed.
    end_reason TEXT,
    -- When it was begun.
    started_at INTEGER NOT NULL,
    -- When it ended.
    ended_at INTEGER,
    -- When it was undone after its end.
    undone_at INTEGER,
    -- Calls of the model that were answered.
    calls INTEGER NOT NULL,
    -- Tokens sent to the model.
    input_tokens INTEGER NOT NULL,
    -- Tokens received from the model.
    output_tokens INTEGER NOT NULL,
    -- When the hold on it lapses; NULL where nobody holds it.
    lease_until INTEGER,
    -- Who holds it: 64 random bits; set where lease_until is.
    lease_holder INTEGER,
    -- Summary, reason and what a rehearsal came to: text.
    body BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- At most one running session of an agent; finds it.
CREATE UNIQUE INDEX sessions_running ON sessions (agent_id) WHERE state IN ('queued', 'asking', 'open');

-- An agent's sessions by time: the newest ones, and those that count towards its erosion.
CREATE INDEX sessions_by_start ON sessions (agent_id, started_at);

-- Finds the sessions whose worker died.
CREATE INDEX sessions_by_lease ON sessions (lease_until) WHERE lease_until IS NOT NULL;

-- The log of each agent, beside each other by agent. Only ever added to.
CREATE TABLE audit_records (
    -- Whose log it is.
    agent_id BLOB NOT NULL REFERENCES agents (id),
    -- Its place in the log, from 1, without gaps.
    seq INTEGER NOT NULL,
    -- When it was written.
    recorded_at INTEGER NOT NULL,
    -- administrator, agent or system.
    actor_kind TEXT NOT NULL,
    -- Who did it.
    actor_name TEXT NOT NULL,
    -- What was done.
    action TEXT NOT NULL,
    -- The session that it belongs to.
    session_id BLOB CHECK (length(session_id) = 16),
    -- The memory that it is about.
    memory INTEGER,
    -- Counts, codes and identifiers, as a JSON object.
    facts TEXT NOT NULL,
    -- Before, after, summaries and reasons: text.
    body BLOB NOT NULL,
    PRIMARY KEY (agent_id, seq)
) STRICT, WITHOUT ROWID;

-- Brings a session's records without reading the rest of the log.
CREATE INDEX audit_records_by_session ON audit_records (session_id, agent_id, seq) WHERE session_id IS NOT NULL;

-- What is written in a log stays as it is.
CREATE TRIGGER audit_records_unchanged BEFORE UPDATE ON audit_records
BEGIN
    SELECT RAISE(ABORT, 'audit records are never changed');
END;

-- What is written in a log stays there.
CREATE TRIGGER audit_records_undeleted BEFORE DELETE ON audit_records
BEGIN
    SELECT RAISE(ABORT, 'audit records are never deleted');
END;

-- Which kept core memories carry which details. Rows of other memories are removed with the change
-- that discards them.
CREATE TABLE memory_details (
    -- Whose memory it is.
    agent_id BLOB NOT NULL REFERENCES agents (id),
    -- The detail's digest under the agent's key.
    digest INTEGER NOT NULL,
    -- The memory that carries it.
    number INTEGER NOT NULL,
    PRIMARY KEY (agent_id, digest, number)
) STRICT, WITHOUT ROWID;

-- The first format. Names are shared with the other stores.
--
-- Identifiers are the 16 bytes of a UUID. Times are microseconds since 1970, negative before. Names of
-- states, kinds and actions are the wire names. Text of an agent is bytes that the store does not understand: a
-- version byte, then what that version makes of the words. A document is a JSON object by field name that the
-- store keeps byte for byte and does not read either: its seal is bound to these bytes and to its version. What
-- the store searches, sorts or counts by stands in columns beside it, and says nothing that the document does
-- not say. Names are compared and sorted by their bytes, whatever the locale of the database.

-- Tenants.
CREATE TABLE accounts (
    -- Its identifier.
    id bytea NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    -- Its name as given.
    name text COLLATE "C" NOT NULL,
    -- Its name as compared.
    folded_name text COLLATE "C" NOT NULL,
    -- When it was made.
    created_at bigint NOT NULL
);

-- One account of a name, whatever the case; finds it by name.
CREATE UNIQUE INDEX accounts_by_name ON accounts (folded_name);

-- Owners of memories.
CREATE TABLE agents (
    -- Its identifier.
    id bytea NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    -- The tenant that it belongs to.
    account_id bytea NOT NULL REFERENCES accounts (id),
    -- Its name as given.
    name text COLLATE "C" NOT NULL,
    -- Its name as compared.
    folded_name text COLLATE "C" NOT NULL,
    -- When it was erased; NULL where it was not.
    erased_at bigint,
    -- The sequence number of the next record of its log.
    next_seq bigint NOT NULL,
    -- The hash of the last record of its log; that of an empty log where there is none.
    head bytea NOT NULL CHECK (length(head) = 32),
    -- The installation's weekly slot after this time makes it due; NULL where the schedule leaves it alone, or
    -- it has a slot of its own.
    weekly_after bigint,
    -- From this time on it is due whatever the weekly slot: for budget pressure, in a slot of its own, or for
    -- another attempt. NULL where there is nothing of the kind.
    due_at bigint,
    -- A daily slot after this time brings a reflection; NULL where there is nothing to reflect on, or the
    -- schedule leaves it alone.
    reflect_after bigint,
    -- The core size as a share of the budget, in millionths.
    budget_share bigint NOT NULL,
    -- How many tokens a session that begins now could remove.
    removable_tokens bigint NOT NULL,
    -- Archived originals as a share of all originals, in millionths.
    archived_share bigint NOT NULL,
    -- The document's version: grows by one with every commit, from 1.
    version bigint NOT NULL,
    -- Document: all of it but its prompts.
    open bytea NOT NULL,
    -- What shows that the document is as it was written.
    sealed bytea NOT NULL
);

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
    agent_id bytea NOT NULL PRIMARY KEY REFERENCES agents (id),
    -- The prompts: text.
    body bytea NOT NULL
);

-- Memories, beside each other by agent.
CREATE TABLE memories (
    -- Whose it is.
    agent_id bytea NOT NULL REFERENCES agents (id),
    -- Its number within the agent, from 1.
    number bigint NOT NULL,
    -- The agent's version under which the row was written.
    version bigint NOT NULL,
    -- core, journal or archival.
    kind text COLLATE "C" NOT NULL,
    -- Its size in tokens.
    tokens bigint NOT NULL,
    -- True where no session can delete or merge it.
    constitutional boolean NOT NULL,
    -- Its origin date.
    created_at bigint NOT NULL,
    -- When it last changed.
    updated_at bigint NOT NULL,
    -- When it was discarded; NULL where it is active.
    discarded_at bigint,
    -- When its words were taken out for good; it is discarded then.
    shredded_at bigint,
    -- The number of the memory under which it lies in the archive; NULL where there is none.
    under bigint,
    -- When it became archival; NULL where it is not.
    archived_at bigint,
    -- What made it archival: saved, session, replaced or duplicate; set where archived_at is.
    archived_by text COLLATE "C",
    -- True where it is a summary; only a core memory is.
    is_summary boolean NOT NULL,
    -- The place of the record that first made it core; NULL where it never was.
    core_seq bigint,
    -- When it was first saved.
    recorded_at bigint NOT NULL,
    -- Text, tags, source, and data about the originals whose place it took.
    body bytea NOT NULL,
    PRIMARY KEY (agent_id, number),
    CHECK (shredded_at IS NULL OR discarded_at IS NOT NULL),
    CHECK ((kind = 'archival') = (archived_at IS NOT NULL)),
    CHECK ((archived_at IS NULL) = (archived_by IS NULL)),
    CHECK (NOT is_summary OR kind = 'core')
);

-- Finds the active memories of a kind, oldest first, past any number of discarded and expired ones. Counts them and
-- their tokens without reading any.
CREATE INDEX memories_active ON memories (agent_id, kind, created_at, number)
INCLUDE (tokens) WHERE discarded_at IS NULL;

-- Counts the discarded memories and the shredded ones without reading any.
CREATE INDEX memories_discarded ON memories (agent_id, shredded_at) WHERE discarded_at IS NOT NULL;

-- Brings the active archival memories under a memory, by number.
CREATE INDEX memories_under ON memories (agent_id, under, number)
WHERE discarded_at IS NULL AND under IS NOT NULL;

-- Refinement sessions, ended ones included.
CREATE TABLE sessions (
    -- Its identifier.
    id bytea NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    -- The agent that refines.
    agent_id bytea NOT NULL REFERENCES agents (id),
    -- The agent's tenant.
    account_id bytea NOT NULL REFERENCES accounts (id),
    -- queued, asking or open while it runs; else how it ended.
    state text COLLATE "C" NOT NULL,
    -- Who runs the loop: agent or model.
    driver text COLLATE "C" NOT NULL,
    -- The model that runs it; NULL where the agent runs it itself.
    model text COLLATE "C",
    -- When it was begun.
    started_at bigint NOT NULL,
    -- When it ended.
    ended_at bigint,
    -- When its lease expires; NULL without a lease.
    lease_until bigint,
    -- Who holds it: 64 random bits; set where lease_until is.
    lease_holder bigint,
    -- The document's version: the agent's under which it was written; prolonging a hold leaves it.
    version bigint NOT NULL,
    -- Document: the session without its words.
    open bytea NOT NULL,
    -- Summary, reason and what a rehearsal came to: text.
    sealed bytea NOT NULL
);

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
    agent_id bytea NOT NULL REFERENCES agents (id),
    -- Its place in the log, from 1, without gaps.
    seq bigint NOT NULL,
    -- When it was written.
    recorded_at bigint NOT NULL,
    -- administrator, agent, system or owner.
    actor_kind text COLLATE "C" NOT NULL,
    -- Who did it.
    actor_name text COLLATE "C" NOT NULL,
    -- What was done.
    action text COLLATE "C" NOT NULL,
    -- The session that it belongs to.
    session_id bytea CHECK (length(session_id) = 16),
    -- The memory that it is about.
    memory bigint,
    -- Which body this is: 1 as the record was written, and one more with each that took its place.
    body_version bigint NOT NULL CHECK (body_version > 0),
    -- The hash of the body as the record was written.
    body_commitment bytea NOT NULL CHECK (length(body_commitment) = 32),
    -- The hash of the record and of all before it.
    hash bytea NOT NULL CHECK (length(hash) = 32),
    -- Counts, codes and identifiers, as a JSON object.
    facts bytea NOT NULL,
    -- Before, after, summaries and reasons: text.
    body bytea NOT NULL,
    PRIMARY KEY (agent_id, seq)
);

-- Brings a session's records without reading the rest of the log.
CREATE INDEX audit_records_by_session ON audit_records (session_id, agent_id, seq) WHERE session_id IS NOT NULL;

-- Brings a memory's records without reading the rest of the log.
CREATE INDEX audit_records_by_memory ON audit_records (agent_id, memory, seq) WHERE memory IS NOT NULL;

-- Brings the records of all agents by time.
CREATE INDEX audit_records_by_time ON audit_records (recorded_at, agent_id, seq);

-- The log over the heads of all agents' logs. Only ever added to.
CREATE TABLE log_leaves (
    -- Its place, from 0, without gaps.
    position bigint NOT NULL PRIMARY KEY,
    -- Whose log.
    agent_id bytea NOT NULL REFERENCES agents (id),
    -- The place of that log's last record at the time.
    seq bigint NOT NULL,
    -- That record's hash.
    head bytea NOT NULL CHECK (length(head) = 32),
    -- When the entry was made.
    recorded_at bigint NOT NULL
);

-- Finds an agent's last entry.
CREATE INDEX log_leaves_by_agent ON log_leaves (agent_id, position);

-- Who may come in: administrators of an account, and agents of it.
CREATE TABLE tokens (
    -- Its identifier.
    id bytea NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    -- The tenant that it belongs to.
    account_id bytea NOT NULL REFERENCES accounts (id),
    -- The account's agent that it opens; NULL for an administrator's.
    agent_id bytea REFERENCES agents (id),
    -- The SHA-256 of the secret, which is kept nowhere.
    digest bytea NOT NULL CHECK (length(digest) = 32),
    -- When it was made.
    created_at bigint NOT NULL,
    -- When it was last used, a little late; NULL where it never was.
    last_used_at bigint,
    -- When it was revoked; NULL where it was not.
    revoked_at bigint,
    -- The document's version: 1 as it was made, 2 once it was revoked.
    version bigint NOT NULL,
    -- Document: its rights and their end.
    open bytea NOT NULL,
    -- What shows that the document is as it was written.
    sealed bytea NOT NULL
);

-- One token of a secret; finds it.
CREATE UNIQUE INDEX tokens_by_digest ON tokens (digest);

-- Lists an account's tokens, oldest first.
CREATE INDEX tokens_by_account ON tokens (account_id, created_at);

-- Lists an agent's tokens, oldest first.
CREATE INDEX tokens_by_agent ON tokens (agent_id, created_at) WHERE agent_id IS NOT NULL;

-- What is kept of stretches of each log, so that a look back need not read them. It can be made again from the
-- records, and goes where their words do.
CREATE TABLE log_summaries (
    -- Whose log.
    agent_id bytea NOT NULL REFERENCES agents (id),
    -- The place of the last record that it is of.
    last_seq bigint NOT NULL,
    -- That record's hash.
    hash bytea NOT NULL CHECK (length(hash) = 32),
    -- The summary: text.
    body bytea NOT NULL,
    PRIMARY KEY (agent_id, last_seq)
);

-- Vectors of active memories, by which what is near a question in meaning is found. They can be made again from the
-- memories, and go where a memory's row is written anew or its agent erased.
CREATE TABLE memory_vectors (
    -- Whose memory.
    agent_id bytea NOT NULL REFERENCES agents (id),
    -- The memory.
    number bigint NOT NULL,
    -- The model that made it, as `provider:model`.
    model text NOT NULL,
    -- The version of the memory's row that it was made of.
    version bigint NOT NULL,
    -- The vector: text.
    body bytea NOT NULL,
    PRIMARY KEY (agent_id, number, model)
);

-- Messages of conversations that agents were handed, those that were read included: their digests keep
-- them from being read twice.
CREATE TABLE transcript_messages (
    -- Whose they are.
    agent_id bytea NOT NULL REFERENCES agents (id),
    -- Its place among the agent's messages, from 1.
    seq bigint NOT NULL,
    -- Its identifier's digest, keyed.
    digest bytea NOT NULL CHECK (length(digest) = 32),
    -- Its size in tokens.
    tokens bigint NOT NULL,
    -- When it was handed over.
    received_at bigint NOT NULL,
    -- The bytes of its text where the agent itself handed it over; 0 otherwise.
    counted_bytes bigint NOT NULL,
    -- pending, absorbed or failed.
    state text COLLATE "C" NOT NULL,
    -- Who said what when: text. Empty once its words are gone.
    body bytea NOT NULL,
    -- Of an absorbed message until when its words are kept; NULL while it waits, and once they are gone.
    words_until bigint,
    PRIMARY KEY (agent_id, seq)
);

-- A message is an agent's once.
CREATE UNIQUE INDEX transcript_messages_once ON transcript_messages (agent_id, digest);

-- An agent's messages that wait, in their order.
CREATE INDEX transcript_messages_pending ON transcript_messages (agent_id, seq, tokens) WHERE state = 'pending';

-- The bytes that each agent handed over, by time.
CREATE INDEX transcript_messages_counted ON transcript_messages (agent_id, received_at, counted_bytes)
    WHERE counted_bytes > 0;

-- Absorbed messages whose words are kept, those first whose words go first.
CREATE INDEX transcript_messages_kept ON transcript_messages (words_until) WHERE words_until IS NOT NULL;

-- When each agent's messages are to be read.
CREATE TABLE transcripts (
    -- Whose they are.
    agent_id bytea NOT NULL PRIMARY KEY REFERENCES agents (id),
    -- The agent's tenant.
    account_id bytea NOT NULL REFERENCES accounts (id),
    -- From when on those that wait are to be read; NULL where none waits.
    due_at bigint,
    -- The end of the lease; NULL without a lease.
    claimed_until bigint,
    -- How often they were claimed, which is the latest claim's number.
    claims bigint NOT NULL,
    -- Attempts at the next chunk that came to nothing.
    failures bigint NOT NULL
);

-- An account's agents whose messages are due, the one longest due first.
CREATE INDEX transcripts_due ON transcripts (account_id, due_at) WHERE due_at IS NOT NULL;

-- Access requests and their outcomes.
CREATE TABLE access_requests (
    -- Its identifier.
    id bytea NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    -- The agent that is asked.
    agent_id bytea NOT NULL REFERENCES agents (id),
    -- asked or granted while it is open; else what became of it.
    state text COLLATE "C" NOT NULL,
    -- When it was made.
    requested_at bigint NOT NULL,
    -- Until when it waits for an answer; once granted, until when it can be used.
    expires_at bigint NOT NULL,
    -- The document's version: the agent's under which it was written.
    version bigint NOT NULL,
    -- Document: the request without its words.
    open bytea NOT NULL,
    -- Purpose and reason: text.
    sealed bytea NOT NULL
);

-- Lists an agent's requests by time.
CREATE INDEX access_requests_by_time ON access_requests (agent_id, requested_at);

-- An agent's requests that are open.
CREATE INDEX access_requests_open ON access_requests (agent_id) WHERE state IN ('asked', 'granted');

-- All requests that are open, those that end first first.
CREATE INDEX access_requests_ending ON access_requests (expires_at) WHERE state IN ('asked', 'granted');

-- Administrators with a name and a password.
CREATE TABLE users (
    -- Its identifier.
    id bytea NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    -- The tenant that they administer.
    account_id bytea NOT NULL REFERENCES accounts (id),
    -- The name as compared.
    folded_name text COLLATE "C" NOT NULL,
    -- When it was made.
    created_at bigint NOT NULL,
    -- When it was removed; NULL while it may sign in.
    removed_at bigint,
    -- The document's version: how often the row was written, from 1 on.
    version bigint NOT NULL CHECK (version > 0),
    -- Document: who it is, and which sign-ins count.
    open bytea NOT NULL,
    -- The password's hash and the second factor: text.
    sealed bytea NOT NULL
);

-- One user of a name in an account, whatever the case; finds it by name, until it is removed.
CREATE UNIQUE INDEX users_by_name ON users (account_id, folded_name) WHERE removed_at IS NULL;

-- Responses to requests with an idempotency key, for their repetition.
CREATE TABLE replies (
    -- The tenant whose request it was.
    account_id bytea NOT NULL REFERENCES accounts (id),
    -- The SHA-256 of the token's identifier and the key.
    key_digest bytea NOT NULL CHECK (length(key_digest) = 32),
    -- A keyed digest of method, path and body.
    request_digest bytea NOT NULL CHECK (length(request_digest) = 32),
    -- When the request came.
    recorded_at bigint NOT NULL,
    -- The version of the answer's document; NULL while the answer is not known.
    version bigint,
    -- Document: the answer; set where version is.
    open bytea,
    -- The body of the answer: text; set where version is.
    sealed bytea,
    PRIMARY KEY (account_id, key_digest),
    CHECK ((version IS NULL) = (open IS NULL) AND (version IS NULL) = (sealed IS NULL))
);

-- Finds the requests that are old enough to be forgotten.
CREATE INDEX replies_by_time ON replies (recorded_at);

-- External receivers that are notified when sessions end.
CREATE TABLE receivers (
    -- What it is known by: its address is kept nowhere.
    digest bytea NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    -- When a service last said that it is wanted.
    seen_at bigint NOT NULL,
    -- When it unsubscribed; NULL while it is notified.
    closed_at bigint
);

-- Ends of sessions whose notification is pending.
CREATE TABLE deliveries (
    -- To whom.
    receiver bytea NOT NULL REFERENCES receivers (digest),
    -- The session that ended.
    session_id bytea NOT NULL REFERENCES sessions (id),
    -- How many attempts were begun.
    attempt bigint NOT NULL,
    -- When the next attempt is due.
    due_at bigint NOT NULL,
    PRIMARY KEY (receiver, session_id)
);

-- What is due to a receiver, that longest due first.
CREATE INDEX deliveries_due ON deliveries (receiver, due_at, session_id);

-- Refuses what the trigger's argument says.
CREATE FUNCTION memoir_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', tg_argv[0] USING ERRCODE = 'integrity_constraint_violation';
END $$;

-- What is written in a log stays as it is, the words left out.
CREATE TRIGGER audit_records_unchanged BEFORE UPDATE OF agent_id, seq, recorded_at, actor_kind, actor_name,
    action, session_id, memory, body_commitment, hash, facts ON audit_records
FOR EACH ROW EXECUTE FUNCTION memoir_refuse('audit records are never changed');

-- Words give way only to those of the next version.
CREATE TRIGGER audit_records_bodies BEFORE UPDATE OF body, body_version ON audit_records
FOR EACH ROW WHEN (new.body_version <> old.body_version + 1)
EXECUTE FUNCTION memoir_refuse('bodies of audit records are never changed without counting their version up');

-- What is written in a log stays there.
CREATE TRIGGER audit_records_undeleted BEFORE DELETE OR TRUNCATE ON audit_records
FOR EACH STATEMENT EXECUTE FUNCTION memoir_refuse('audit records are never deleted');

-- What is written over all logs stays as it is, and stays there.
CREATE TRIGGER log_leaves_unchanged BEFORE UPDATE OR DELETE OR TRUNCATE ON log_leaves
FOR EACH STATEMENT EXECUTE FUNCTION memoir_refuse('entries over all logs are never changed or deleted');

-- A token's rights and secret are immutable.
CREATE TRIGGER tokens_unchanged BEFORE UPDATE OF id, account_id, agent_id, digest, created_at ON tokens
FOR EACH STATEMENT EXECUTE FUNCTION memoir_refuse('tokens are never changed but for their use and their end');

-- What was revoked stays revoked.
CREATE TRIGGER tokens_stay_revoked BEFORE UPDATE OF revoked_at ON tokens
FOR EACH ROW WHEN (old.revoked_at IS NOT NULL AND new.revoked_at IS NULL)
EXECUTE FUNCTION memoir_refuse('tokens that were revoked are never valid again');

-- Who is asked and when stays as it is.
CREATE TRIGGER access_requests_unchanged BEFORE UPDATE OF id, agent_id, requested_at ON access_requests
FOR EACH STATEMENT EXECUTE FUNCTION memoir_refuse('requests for access are never changed but for what becomes of them');

-- What is over stays over.
CREATE TRIGGER access_requests_stay_over BEFORE UPDATE ON access_requests
FOR EACH ROW WHEN (old.state NOT IN ('asked', 'granted'))
EXECUTE FUNCTION memoir_refuse('requests for access that are over are never open again');

-- What was asked stays there.
CREATE TRIGGER access_requests_undeleted BEFORE DELETE OR TRUNCATE ON access_requests
FOR EACH STATEMENT EXECUTE FUNCTION memoir_refuse('requests for access are never deleted');

-- Who it is stays as it is.
CREATE TRIGGER users_unchanged BEFORE UPDATE OF id, account_id, folded_name, created_at ON users
FOR EACH STATEMENT EXECUTE FUNCTION memoir_refuse('users are never changed but for how they sign in and their end');

-- Who was removed stays removed.
CREATE TRIGGER users_stay_removed BEFORE UPDATE ON users
FOR EACH ROW WHEN (old.removed_at IS NOT NULL)
EXECUTE FUNCTION memoir_refuse('a removed user does not return');

-- Users are removed, not deleted: the installation stays closed.
CREATE TRIGGER users_undeleted BEFORE DELETE OR TRUNCATE ON users
FOR EACH STATEMENT EXECUTE FUNCTION memoir_refuse('users are never deleted');

-- Enters the end of a session for every receiver that there is then.
CREATE FUNCTION memoir_tell_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- A session that comes with a new agent ended elsewhere.
    IF tg_op = 'UPDATE' OR (SELECT version FROM agents WHERE id = new.agent_id) > 1 THEN
        INSERT INTO deliveries (receiver, session_id, attempt, due_at)
        -- One that is being forgotten or closed is waited for.
        SELECT digest, new.id, 0, new.ended_at FROM receivers WHERE closed_at IS NULL FOR KEY SHARE;
    END IF;
    RETURN NULL;
END $$;

-- Receivers are notified when a session ends.
CREATE TRIGGER sessions_ended AFTER UPDATE OF ended_at ON sessions
FOR EACH ROW WHEN (old.ended_at IS NULL AND new.ended_at IS NOT NULL) EXECUTE FUNCTION memoir_tell_end();

-- So is that of a session that is written once it has ended.
CREATE TRIGGER sessions_ended_at_once AFTER INSERT ON sessions
FOR EACH ROW WHEN (new.ended_at IS NOT NULL) EXECUTE FUNCTION memoir_tell_end();

-- The second barrier: a transaction that has not named the rows to reach reaches none. It names an account or an agent
-- by its identifier in hexadecimal digits, or `*` for queries across accounts. The owner of the tables is also
-- restricted; only a superuser is not.
DO $$
DECLARE
    reach CONSTANT text := $q$current_setting('memoir.account', true)$q$;
    one record;
BEGIN
    FOR one IN SELECT * FROM (VALUES
        ('accounts', 'account', 'id'), ('agents', 'account', 'account_id'), ('sessions', 'account', 'account_id'),
        ('tokens', 'account', 'account_id'), ('users', 'account', 'account_id'),
        ('replies', 'account', 'account_id'), ('transcripts', 'account', 'account_id'),
        ('agent_prompts', 'agent', 'agent_id'), ('memories', 'agent', 'agent_id'),
        ('audit_records', 'agent', 'agent_id'), ('log_summaries', 'agent', 'agent_id'), ('memory_vectors', 'agent', 'agent_id'), ('transcript_messages', 'agent', 'agent_id'),
        ('access_requests', 'agent', 'agent_id'), ('log_leaves', 'any', NULL), ('receivers', 'any', NULL),
        ('deliveries', 'any', NULL)) AS walls (name, kind, key)
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', one.name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', one.name);
        EXECUTE format('CREATE POLICY reach ON %I USING (%s)', one.name, CASE one.kind
            WHEN 'any' THEN format($q$coalesce(%s, '') <> ''$q$, reach)
            WHEN 'account' THEN format($q$%s IN ('*', encode(%I, 'hex'))$q$, reach, one.key)
            -- Those of an agent that is reached itself. What does not depend on the row is a query of its own, which is
            -- worked out once for each statement: a look at an agent counts all its memories.
            ELSE format($q$%1$I = (SELECT decode(nullif(current_setting('memoir.agent', true), '*'), 'hex'))
                OR (SELECT current_setting('memoir.agent', true) = '*')
                    AND EXISTS (SELECT 1 FROM agents WHERE id = %1$I)$q$, one.key) END);
    END LOOP;
END $$;

-- Writes one decision: the agent, and the first row of each kind that most decisions write, unless its key is NULL. As
-- one statement it needs no statement that begins or ends a transaction, and never waits for its client while it holds
-- a lock. The database keeps the plans of a function's statements as long as its own connection lasts, even behind a
-- pooler, which cannot reuse prepared statements. It has no more rights than its caller: the policies restrict both
-- alike.
CREATE FUNCTION memoir_decide(
    the_agent bytea, the_account bytea, expected_version bigint,
    agent_next_seq bigint, agent_head bytea, agent_budget_share bigint, agent_removable_tokens bigint,
    agent_archived_share bigint, agent_open bytea, agent_sealed bytea, agent_name text, agent_folded_name text,
    agent_erased_at bigint, agent_weekly_after bigint, agent_due_at bigint, agent_reflect_after bigint,
    memory_number bigint, memory_version bigint, memory_tokens bigint, memory_kind text,
    memory_constitutional boolean, memory_created_at bigint, memory_updated_at bigint, memory_discarded_at bigint,
    memory_shredded_at bigint, memory_under bigint, memory_archived_at bigint, memory_archived_by text,
    memory_is_summary boolean, memory_core_seq bigint, memory_recorded_at bigint, memory_body bytea,
    session_identifier bytea, session_version bigint, session_ended_at bigint, session_lease_holder bigint,
    session_open bytea, session_sealed bytea, session_state text, session_driver text, session_model text,
    session_started_at bigint, session_lease_until bigint,
    record_seq bigint, record_body_version bigint, record_memory bigint, record_recorded_at bigint,
    record_actor_kind text, record_actor_name text, record_action text, record_session bytea,
    record_body_commitment bytea, record_hash bytea, record_facts bytea, record_body bytea
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    settings text;
BEGIN
    -- This agent's rows and no others, until the transaction ends; and no longer wait for a lock than any other
    -- transaction of Memoir.
    -- Assigned, since an expression costs a fraction of a query.
    settings := set_config('memoir.account', encode(the_account, 'hex'), true)
        || set_config('memoir.agent', encode(the_agent, 'hex'), true) || set_config('lock_timeout', '5000', true);
    IF expected_version IS NULL THEN
        INSERT INTO agents (id, account_id, version, next_seq, head, budget_share, removable_tokens, archived_share, open,
            sealed, name, folded_name, erased_at, weekly_after, due_at, reflect_after)
        VALUES (the_agent, the_account, 1, agent_next_seq, agent_head, agent_budget_share, agent_removable_tokens,
            agent_archived_share, agent_open, agent_sealed, agent_name, agent_folded_name, agent_erased_at,
            agent_weekly_after, agent_due_at, agent_reflect_after);
    ELSE
        -- The condition and the lock are one: whoever comes second waits here for the first to end, compares the
        -- version again, and writes nothing. All that follows in the transaction stands on this row being held.
        UPDATE agents SET version = version + 1, next_seq = agent_next_seq, head = agent_head,
            budget_share = agent_budget_share, removable_tokens = agent_removable_tokens,
            archived_share = agent_archived_share, open = agent_open, sealed = agent_sealed, name = agent_name,
            folded_name = agent_folded_name, erased_at = agent_erased_at, weekly_after = agent_weekly_after,
            due_at = agent_due_at, reflect_after = agent_reflect_after
        WHERE id = the_agent AND account_id = the_account AND version = expected_version;
        IF NOT found THEN
            -- The code by which every statement says that what it stands on is not so; the table says what that is.
            RAISE division_by_zero USING MESSAGE = 'the agent is at another version', TABLE = 'agents';
        END IF;
    END IF;
    IF memory_number IS NOT NULL THEN
        -- An update first, since few decisions make a memory. Nobody else can make it in between: the agent is held.
        UPDATE memories SET version = memory_version, tokens = memory_tokens, kind = memory_kind,
            constitutional = memory_constitutional, created_at = memory_created_at, updated_at = memory_updated_at,
            discarded_at = memory_discarded_at, shredded_at = memory_shredded_at, under = memory_under,
            archived_at = memory_archived_at, archived_by = memory_archived_by, is_summary = memory_is_summary,
            core_seq = memory_core_seq, recorded_at = memory_recorded_at, body = memory_body
        WHERE agent_id = the_agent AND number = memory_number;
        IF found THEN
            -- Vectors are of one version of a row.
            DELETE FROM memory_vectors WHERE agent_id = the_agent AND number = memory_number;
        ELSE
            INSERT INTO memories (agent_id, number, version, tokens, kind, constitutional, created_at, updated_at,
                discarded_at, shredded_at, under, archived_at, archived_by, is_summary, core_seq, recorded_at, body)
            VALUES (the_agent, memory_number, memory_version, memory_tokens, memory_kind, memory_constitutional,
                memory_created_at, memory_updated_at, memory_discarded_at, memory_shredded_at, memory_under,
                memory_archived_at, memory_archived_by, memory_is_summary, memory_core_seq, memory_recorded_at,
                memory_body);
        END IF;
    END IF;
    IF session_identifier IS NOT NULL THEN
        UPDATE sessions SET version = session_version, ended_at = session_ended_at,
            lease_holder = session_lease_holder, open = session_open, sealed = session_sealed, state = session_state,
            driver = session_driver, model = session_model, started_at = session_started_at,
            lease_until = session_lease_until
        WHERE id = session_identifier AND agent_id = the_agent;
        IF NOT found THEN
            -- One of another agent has the key, and is in the way.
            INSERT INTO sessions (id, agent_id, account_id, version, ended_at, lease_holder, open, sealed, state,
                driver, model, started_at, lease_until)
            VALUES (session_identifier, the_agent, the_account, session_version, session_ended_at,
                session_lease_holder, session_open, session_sealed, session_state, session_driver, session_model,
                session_started_at, session_lease_until);
        END IF;
    END IF;
    IF record_seq IS NOT NULL THEN
        INSERT INTO audit_records (agent_id, seq, body_version, memory, recorded_at, actor_kind, actor_name, action,
            session_id, body_commitment, hash, facts, body)
        VALUES (the_agent, record_seq, record_body_version, record_memory, record_recorded_at, record_actor_kind,
            record_actor_name, record_action, record_session, record_body_commitment, record_hash, record_facts,
            record_body);
    END IF;
END $$;

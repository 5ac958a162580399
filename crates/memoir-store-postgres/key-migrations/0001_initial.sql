-- The first format of the key store. Identifiers are the 16 bytes of a UUID; times are microseconds since 1970. A
-- wrapped key is a version byte, 24 bytes of nonce, 32 of ciphertext and 16 of tag. Names are those of the key store
-- in a file.

-- Which master key wraps all keys here. One row.
CREATE TABLE master (
    -- Always 1.
    id bigint NOT NULL PRIMARY KEY CHECK (id = 1),
    -- The master key's fingerprint.
    key_id bytea NOT NULL CHECK (length(key_id) = 8),
    -- Random bytes, wrapped: open under the right master key only.
    proof bytea NOT NULL CHECK (length(proof) = 73),
    -- Grows by one with every change of anything here.
    generation bigint NOT NULL
);

-- The keys of the agents, those destroyed included. What was destroyed or replaced leaves the table with the next
-- vacuum, which is not put off here.
CREATE TABLE agent_keys (
    -- The tenant that the agent belongs to.
    account_id bytea NOT NULL CHECK (length(account_id) = 16),
    -- The agent.
    agent_id bytea NOT NULL CHECK (length(agent_id) = 16),
    -- When the key was made.
    created_at bigint NOT NULL,
    -- When it was destroyed; NULL while it is there.
    destroyed_at bigint,
    -- The wrapped key; NULL once it was destroyed.
    wrapped bytea CHECK (length(wrapped) = 73),
    PRIMARY KEY (account_id, agent_id),
    CHECK ((wrapped IS NULL) = (destroyed_at IS NOT NULL))
) WITH (autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0);

-- The key that signs checkpoints: one log an installation. At most one row.
CREATE TABLE log_key (
    -- Always 1.
    id bigint NOT NULL PRIMARY KEY CHECK (id = 1),
    -- The log's name.
    name text COLLATE "C" NOT NULL,
    -- When the key was made.
    created_at bigint NOT NULL,
    -- The wrapped seed of the ed25519 key.
    wrapped bytea NOT NULL CHECK (length(wrapped) = 73)
);

-- Whether the installation is closed: whether only the agents may read their texts. At most one row; none if this was
-- never set.
CREATE TABLE closing (
    -- Always 1.
    id bigint NOT NULL PRIMARY KEY CHECK (id = 1),
    -- Whether it is, or was opened again.
    is_closed boolean NOT NULL,
    -- When it was last closed or opened.
    changed_at bigint NOT NULL,
    -- Random bytes, wrapped: open for these values only.
    wrapped bytea NOT NULL CHECK (length(wrapped) = 73)
);

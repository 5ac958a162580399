-- The first format of the key store. Identifiers are the 16 bytes of a UUID; times are microseconds
-- since 1970. A wrapped key is a version byte, 24 bytes of nonce, 32 of ciphertext and 16 of tag.

-- Which master key wraps all keys of this file. One row.
CREATE TABLE master (
    -- Always 1.
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    -- The master key's fingerprint.
    key_id BLOB NOT NULL CHECK (length(key_id) = 8),
    -- Random bytes, wrapped: open under the right master key only.
    proof BLOB NOT NULL CHECK (length(proof) = 73)
) STRICT;

-- The keys of the agents, those destroyed included.
CREATE TABLE agent_keys (
    -- The tenant that the agent belongs to.
    account_id BLOB NOT NULL CHECK (length(account_id) = 16),
    -- The agent.
    agent_id BLOB NOT NULL CHECK (length(agent_id) = 16),
    -- When the key was made.
    created_at INTEGER NOT NULL,
    -- When it was destroyed; NULL while it is there.
    destroyed_at INTEGER,
    -- The wrapped key; NULL once it was destroyed.
    wrapped BLOB CHECK (length(wrapped) = 73),
    PRIMARY KEY (account_id, agent_id),
    CHECK ((wrapped IS NULL) = (destroyed_at IS NOT NULL))
) STRICT, WITHOUT ROWID;

-- The key that signs checkpoints: one log an installation. At most one row.
CREATE TABLE log_key (
    -- Always 1.
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    -- The log's name.
    name TEXT NOT NULL,
    -- When the key was made.
    created_at INTEGER NOT NULL,
    -- The wrapped seed of the ed25519 key.
    wrapped BLOB NOT NULL CHECK (length(wrapped) = 73)
) STRICT;

-- The index of the words of an agent's active memories, sealed in parts of one size. It can be made again from the
-- memories, and goes where words are shredded or the agent is erased.
CREATE TABLE word_indexes (
    -- Whose words.
    agent_id BLOB NOT NULL REFERENCES agents (id),
    -- The place of the part, from 0 without gaps.
    part INTEGER NOT NULL,
    -- The agent's version that the index is of; all parts have the same one.
    version INTEGER NOT NULL,
    -- The place of the last record of the log at that version.
    last_seq INTEGER NOT NULL,
    -- That record's hash.
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    -- The part: text.
    body BLOB NOT NULL,
    PRIMARY KEY (agent_id, part)
) STRICT;

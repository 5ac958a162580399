-- The index of the words of an agent's active memories, sealed in parts of one size. It can be made again from the
-- memories, and goes where words are shredded or the agent is erased.
CREATE TABLE word_indexes (
    -- Whose words.
    agent_id bytea NOT NULL REFERENCES agents (id),
    -- The place of the part, from 0 without gaps.
    part bigint NOT NULL,
    -- The agent's version that the index is of; all parts have the same one.
    version bigint NOT NULL,
    -- The place of the last record of the log at that version.
    last_seq bigint NOT NULL,
    -- That record's hash.
    hash bytea NOT NULL CHECK (length(hash) = 32),
    -- The part: text.
    body bytea NOT NULL,
    PRIMARY KEY (agent_id, part)
);

-- Sealed bytes cannot be compressed.
ALTER TABLE word_indexes ALTER body SET STORAGE EXTERNAL;

ALTER TABLE word_indexes ENABLE ROW LEVEL SECURITY;
ALTER TABLE word_indexes FORCE ROW LEVEL SECURITY;
-- As on the other tables of one agent.
CREATE POLICY reach ON word_indexes USING (
    agent_id = (SELECT decode(nullif(current_setting('memoir.agent', true), '*'), 'hex'))
    OR (SELECT current_setting('memoir.agent', true) = '*')
        AND EXISTS (SELECT 1 FROM agents WHERE id = agent_id));

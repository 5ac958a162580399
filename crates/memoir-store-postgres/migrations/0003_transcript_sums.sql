-- What an agent's messages come to by state, and what is kept of their words, without reading the texts.
CREATE INDEX transcript_messages_sums ON transcript_messages (agent_id, state, tokens, words_until);

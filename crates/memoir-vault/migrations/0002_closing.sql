-- Whether the installation is closed: whether only the agents may read their texts. At most one row; none if this was
-- never set.
CREATE TABLE closing (
    -- Always 1.
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    -- 1 where it is closed, 0 where it was opened again.
    is_closed INTEGER NOT NULL CHECK (is_closed IN (0, 1)),
    -- When it was last closed or opened.
    changed_at INTEGER NOT NULL,
    -- Random bytes, wrapped: open for these values only.
    wrapped BLOB NOT NULL CHECK (length(wrapped) = 73)
) STRICT;

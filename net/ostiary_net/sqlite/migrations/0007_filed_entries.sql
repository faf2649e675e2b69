-- Entries of the audit trail are kept as they come, in a table without indexes, and many together are filed in the
-- one that has them (ostiary_net.sqlite.audit_trail). `audit` is both. See docs/decisions/0026.

ALTER TABLE audit RENAME TO audit_filed;

CREATE TABLE audit_unfiled (
    number             INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at                 INTEGER NOT NULL,
    kind               TEXT NOT NULL,
    actor_id           TEXT,
    user_id            TEXT,
    client_id          TEXT,
    session_id         TEXT,
    role_id            TEXT,
    why                TEXT,
    scopes             TEXT NOT NULL,
    trace_id           TEXT,
    source             TEXT,
    user_agent         TEXT,
    earlier_at         INTEGER,
    earlier_user_agent TEXT
) STRICT;

INSERT INTO sqlite_sequence (name, seq) SELECT 'audit_unfiled', coalesce(max(number), 0) FROM audit_filed;

-- Users and sessions are many, so in one index of all entries each entry would lie on a page of its own. Within a
-- block of entries that came after one another they share pages; to find one is to look once into every block.
DROP INDEX audit_by_user;
DROP INDEX audit_by_session;
CREATE INDEX audit_by_user    ON audit_filed (number / 8192, user_id, at);
CREATE INDEX audit_by_session ON audit_filed (number / 8192, session_id);

CREATE VIEW audit AS
    SELECT * FROM audit_filed
    UNION ALL
    SELECT * FROM audit_unfiled;

CREATE VIEW audit_blocks (block) AS
    WITH RECURSIVE counted (block) AS (
        SELECT (SELECT max(number) FROM audit_filed) / 8192
        UNION ALL
        SELECT block - 1 FROM counted WHERE block > (SELECT min(number) FROM audit_filed) / 8192
    )
    SELECT block FROM counted;

-- The same entries as in `audit`, for who asks for those of a user or of a session.
CREATE VIEW audit_of_user AS
    SELECT f.* FROM audit_blocks b CROSS JOIN audit_filed f INDEXED BY audit_by_user
        WHERE f.number / 8192 = b.block
    UNION ALL
    SELECT * FROM audit_unfiled;

CREATE VIEW audit_of_session AS
    SELECT f.* FROM audit_blocks b CROSS JOIN audit_filed f INDEXED BY audit_by_session
        WHERE f.number / 8192 = b.block
    UNION ALL
    SELECT * FROM audit_unfiled;

-- The audit trail (ostiary_core.audit.AuditEntry), written in the transaction of what it tells of and never
-- changed. Its number rises with every entry, in the order of the commits.

CREATE TABLE audit (
    number             INTEGER NOT NULL PRIMARY KEY,
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

-- One index for each question that may be asked. SQLite ends each of them with the number, which breaks the
-- ties of `at`. A session and a request have few entries, which are sorted once they are found.
CREATE INDEX audit_by_time ON audit (at);
CREATE INDEX audit_by_kind ON audit (kind, at);
CREATE INDEX audit_by_client ON audit (client_id, at) WHERE client_id IS NOT NULL;
CREATE INDEX audit_by_user ON audit (user_id, at) WHERE user_id IS NOT NULL;
CREATE INDEX audit_by_session ON audit (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX audit_by_request ON audit (trace_id) WHERE trace_id IS NOT NULL;

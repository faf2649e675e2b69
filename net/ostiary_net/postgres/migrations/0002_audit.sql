-- The audit trail (ostiary_core.audit.AuditEntry), written in the transaction of what it tells of and never
-- changed. Its number rises with every entry of a turn; turns that run side by side may interleave.

CREATE TABLE audit (
    number             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at                 BIGINT NOT NULL,
    kind               TEXT COLLATE "C" NOT NULL,
    actor_id           TEXT COLLATE "C",
    user_id            TEXT COLLATE "C",
    client_id          TEXT COLLATE "C",
    session_id         TEXT COLLATE "C",
    role_id            TEXT COLLATE "C",
    why                TEXT COLLATE "C",
    scopes             TEXT COLLATE "C" NOT NULL,
    trace_id           TEXT COLLATE "C",
    source             TEXT COLLATE "C",
    user_agent         TEXT COLLATE "C",
    earlier_at         BIGINT,
    earlier_user_agent TEXT COLLATE "C"
);

-- One index for each question that may be asked, ending in the number, which breaks the ties of `at`. A
-- session and a request have few entries, which are sorted once they are found.
CREATE INDEX audit_by_time ON audit (at, number);
CREATE INDEX audit_by_kind ON audit (kind, at, number);
CREATE INDEX audit_by_client ON audit (client_id, at, number) WHERE client_id IS NOT NULL;
CREATE INDEX audit_by_user ON audit (user_id, at, number) WHERE user_id IS NOT NULL;
CREATE INDEX audit_by_session ON audit (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX audit_by_request ON audit (trace_id) WHERE trace_id IS NOT NULL;

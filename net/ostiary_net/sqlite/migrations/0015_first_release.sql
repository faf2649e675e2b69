-- The schema of the first release. Instants are milliseconds since 1970 UTC, lists are JSON, enumerations are their
-- values as text. There are no foreign keys: the rules keep the references whole, and a reference may outlive what it
-- points to.
--
-- WITHOUT ROWID where a row is found by its key alone and is small; the others keep a rowid, as long rows would make
-- the tree of the key a deep one.

-- --- records (ostiary_core.model.records), a column for each field

CREATE TABLE identifiers (
    kind     TEXT NOT NULL,
    value    TEXT NOT NULL,
    user_id  TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (kind, value)
) STRICT, WITHOUT ROWID;

CREATE TABLE text_codes (
    purpose       TEXT NOT NULL,
    phone         TEXT NOT NULL,
    digest        BLOB NOT NULL,
    issued_at     INTEGER NOT NULL,
    wrong_tries   INTEGER NOT NULL,
    drawn         INTEGER NOT NULL,
    counted_from  INTEGER NOT NULL,
    revision      INTEGER NOT NULL,
    user_id       TEXT NOT NULL DEFAULT '',
    user_epoch    INTEGER NOT NULL DEFAULT 0,
    client_epoch  INTEGER NOT NULL DEFAULT 0,
    consent_epoch INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (purpose, phone)
) STRICT, WITHOUT ROWID;

CREATE TABLE codes (
    digest         BLOB NOT NULL PRIMARY KEY,
    client_id      TEXT NOT NULL,
    user_id        TEXT NOT NULL,
    redirect_uri   TEXT NOT NULL,
    code_challenge TEXT NOT NULL,
    scopes         TEXT NOT NULL,
    issued_at      INTEGER NOT NULL,
    user_epoch     INTEGER NOT NULL,
    client_epoch   INTEGER NOT NULL,
    consent_epoch  INTEGER NOT NULL,
    session_id     TEXT,
    settled_at     INTEGER,
    voided_why     TEXT,
    revision       INTEGER NOT NULL
) STRICT;

CREATE TABLE sessions (
    session_id         TEXT NOT NULL PRIMARY KEY,
    kind               TEXT NOT NULL,
    client_id          TEXT NOT NULL,
    user_id            TEXT,
    scopes             TEXT NOT NULL,
    user_epoch         INTEGER NOT NULL,
    client_epoch       INTEGER NOT NULL,
    consent_epoch      INTEGER NOT NULL,
    started_at         INTEGER NOT NULL,
    expires_at         INTEGER NOT NULL,
    generation         INTEGER NOT NULL,
    access_digest      BLOB NOT NULL,
    access_scopes      TEXT NOT NULL,
    access_expires_at  INTEGER NOT NULL,
    salt               BLOB,
    rotated_at         INTEGER,
    rotated_user_agent TEXT,
    ended_at           INTEGER,
    ended_why          TEXT,
    user_agent         TEXT,
    source             TEXT NOT NULL,
    revision           INTEGER NOT NULL
) STRICT;

CREATE TABLE refresh_tokens (
    digest     BLOB NOT NULL PRIMARY KEY,
    session_id TEXT NOT NULL,
    generation INTEGER NOT NULL,
    revision   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE consents (
    user_id      TEXT NOT NULL,
    client_id    TEXT NOT NULL,
    scopes       TEXT NOT NULL,
    granted_at   INTEGER NOT NULL,
    epoch        INTEGER NOT NULL,
    revision     INTEGER NOT NULL,
    withdrawn_at INTEGER,
    PRIMARY KEY (user_id, client_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
    user_id              TEXT NOT NULL PRIMARY KEY,
    username             TEXT NOT NULL,
    name                 TEXT NOT NULL,
    phone                TEXT,
    avatar_url           TEXT,
    locale               TEXT,
    timezone             TEXT,
    password_hash        TEXT,
    must_change_password INTEGER NOT NULL,
    role_ids             TEXT NOT NULL,
    enabled              INTEGER NOT NULL,
    deleted_at           INTEGER,
    epoch                INTEGER NOT NULL,
    epoch_why            TEXT,
    epoch_at             INTEGER,
    wrong_passwords_at   TEXT NOT NULL,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    revision             INTEGER NOT NULL,
    text_codes_asked_at  TEXT NOT NULL DEFAULT '[]'
) STRICT;

CREATE TABLE roles (
    role_id         TEXT NOT NULL PRIMARY KEY,
    name            TEXT NOT NULL,
    permissions     TEXT NOT NULL,
    built_in        INTEGER NOT NULL,
    holders         INTEGER NOT NULL,
    enabled_holders INTEGER NOT NULL,
    revision        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE clients (
    client_id             TEXT NOT NULL PRIMARY KEY,
    name                  TEXT NOT NULL,
    secret_digest         BLOB,
    redirect_uris         TEXT NOT NULL,
    grant_types           TEXT NOT NULL,
    scopes                TEXT NOT NULL,
    auto_approve_scopes   TEXT NOT NULL,
    access_token_seconds  INTEGER NOT NULL,
    refresh_token_seconds INTEGER NOT NULL,
    enabled               INTEGER NOT NULL,
    built_in              INTEGER NOT NULL,
    deleted_at            INTEGER,
    epoch                 INTEGER NOT NULL,
    epoch_why             TEXT,
    epoch_at              INTEGER,
    created_at            INTEGER NOT NULL,
    updated_at            INTEGER NOT NULL,
    revision              INTEGER NOT NULL,
    secret_used_at        INTEGER,
    old_secret_digest     BLOB,
    old_secret_until      INTEGER,
    old_secret_used_at    INTEGER,
    wrong_secrets         INTEGER DEFAULT 0 NOT NULL,
    wrong_secret_at       INTEGER
) STRICT;

-- An access token has no row: its session is found by the digest.
CREATE UNIQUE INDEX sessions_by_access_token ON sessions (access_digest);

-- --- the audit trail (ostiary_core.model.audit), written in the transaction of what it tells of and never changed

-- Entries come into a table without indexes, and many together are moved to the one that has them; `audit` is both.
-- See docs/decisions/0026-entries-are-filed-later.md.
CREATE TABLE audit_filed (
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
    earlier_user_agent TEXT,
    changes            TEXT
) STRICT;

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
    earlier_user_agent TEXT,
    changes            TEXT
) STRICT;

-- One index for each question that may be asked. SQLite ends each of them with the number, which breaks the ties of
-- `at`. A session and a request have few entries, which are sorted once they are found.
CREATE INDEX audit_by_time ON audit_filed (at);
CREATE INDEX audit_by_kind ON audit_filed (kind, at);
CREATE INDEX audit_by_client ON audit_filed (client_id, at) WHERE client_id IS NOT NULL;
CREATE INDEX audit_by_request ON audit_filed (trace_id) WHERE trace_id IS NOT NULL;
-- Users and sessions are many, so in one index of all entries each entry would lie on a page of its own. Within a
-- block of entries that came after one another they share pages; to find one is to look once into every block.
CREATE INDEX audit_by_user ON audit_filed (number / 8192, user_id, at);
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

-- The entries of `audit`, for a query by user or by session.
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

-- --- lists of the administration (ostiary_core.storage.listing)

-- Each index ends with the key, which breaks ties, and holds only what is listed; `enabled` is in them so that a
-- filter by it reads no row.
CREATE INDEX clients_by_id ON clients (client_id, enabled) WHERE deleted_at IS NULL;
CREATE INDEX clients_by_name ON clients (name, client_id, enabled) WHERE deleted_at IS NULL;
CREATE INDEX clients_by_making ON clients (created_at, client_id, enabled) WHERE deleted_at IS NULL;
CREATE INDEX clients_by_change ON clients (updated_at, client_id, enabled) WHERE deleted_at IS NULL;
CREATE INDEX users_by_username ON users (username, user_id, enabled) WHERE deleted_at IS NULL;
CREATE INDEX users_by_name ON users (name, user_id, enabled) WHERE deleted_at IS NULL;
CREATE INDEX users_by_making ON users (created_at, user_id, enabled) WHERE deleted_at IS NULL;
CREATE INDEX users_by_change ON users (updated_at, user_id, enabled) WHERE deleted_at IS NULL;
-- Whether the user of a session still stands, without reading the user's row.
CREATE INDEX users_standing ON users (user_id, epoch, enabled, deleted_at);

CREATE INDEX sessions_by_start ON sessions (started_at, session_id) WHERE ended_at IS NULL;
CREATE INDEX sessions_by_last_seen ON sessions (COALESCE(rotated_at, started_at), session_id) WHERE ended_at IS NULL;
CREATE INDEX sessions_by_expiry ON sessions (expires_at, session_id) WHERE ended_at IS NULL;
CREATE INDEX sessions_by_client ON sessions (client_id, started_at) WHERE ended_at IS NULL;
-- With all columns that counting needs: in this order a count meets users as they lie in their own index.
CREATE INDEX sessions_by_user ON sessions (
    user_id, started_at, user_epoch, expires_at, kind, client_id, client_epoch, consent_epoch
) WHERE ended_at IS NULL;

-- --- the sweeper (ostiary_core.retention): what has expired, by age, and which instance does what one does at a time

CREATE INDEX codes_by_age ON codes (issued_at);
CREATE INDEX codes_unredeemed_by_age ON codes (issued_at) WHERE session_id IS NULL;
CREATE INDEX sessions_with_salt ON sessions (rotated_at) WHERE salt IS NOT NULL;
CREATE INDEX sessions_by_ending ON sessions (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE leases (
    name   TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    until  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- --- summaries (ostiary_core.storage.summaries)

-- Counted hour by hour, so that an overview need not read the trail. The client '' stands for all of them together.
CREATE TABLE summaries (
    client_id TEXT NOT NULL,
    hour      INTEGER NOT NULL,
    what      TEXT NOT NULL,
    detail    TEXT NOT NULL,
    number    INTEGER NOT NULL,
    total_ms  INTEGER NOT NULL,
    most_ms   INTEGER NOT NULL,
    PRIMARY KEY (client_id, hour, what, detail)
) STRICT, WITHOUT ROWID;

-- The last refusals of each client.
CREATE TABLE refusals (
    client_id TEXT NOT NULL,
    at        INTEGER NOT NULL,
    trace_id  TEXT NOT NULL,
    operation TEXT NOT NULL,
    why       TEXT NOT NULL,
    PRIMARY KEY (client_id, at, trace_id)
) STRICT, WITHOUT ROWID;

-- When something was last done, and up to which number the entries of the trail are counted.
CREATE TABLE milestones (
    name  TEXT NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX summaries_by_hour ON summaries (hour);

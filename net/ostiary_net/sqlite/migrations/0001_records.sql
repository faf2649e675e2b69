-- The nine tables of ostiary_core.records, a column for each field. Instants are milliseconds since 1970
-- UTC, lists are JSON, enumerations are their values as text. There are no foreign keys: the rules keep
-- the references whole, and a reference may outlive what it points to.
--
-- WITHOUT ROWID where a row is found by its key alone and is small; the others keep a rowid, as long rows
-- would make the tree of the key a deep one.

CREATE TABLE identifiers (
    kind     TEXT NOT NULL,
    value    TEXT NOT NULL,
    user_id  TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (kind, value)
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
    digest     BLOB NOT NULL PRIMARY KEY,
    session_id TEXT NOT NULL,
    kind       TEXT NOT NULL,
    generation INTEGER NOT NULL,
    revision   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE text_codes (
    purpose      TEXT NOT NULL,
    phone        TEXT NOT NULL,
    digest       BLOB NOT NULL,
    issued_at    INTEGER NOT NULL,
    wrong_tries  INTEGER NOT NULL,
    drawn        INTEGER NOT NULL,
    counted_from INTEGER NOT NULL,
    revision     INTEGER NOT NULL,
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

-- What clears old codes away finds them by their age.
CREATE INDEX codes_by_age ON codes (issued_at);

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

-- What erases salts finds the few sessions that have one.
CREATE INDEX sessions_with_salt ON sessions (rotated_at) WHERE salt IS NOT NULL;

CREATE TABLE consents (
    user_id    TEXT NOT NULL,
    client_id  TEXT NOT NULL,
    scopes     TEXT NOT NULL,
    granted_at INTEGER NOT NULL,
    epoch      INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    PRIMARY KEY (user_id, client_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
    user_id                TEXT NOT NULL PRIMARY KEY,
    username               TEXT NOT NULL,
    name                   TEXT NOT NULL,
    phone                  TEXT,
    avatar_url             TEXT,
    locale                 TEXT,
    timezone               TEXT,
    password_hash          TEXT,
    must_change_password   INTEGER NOT NULL,
    role_ids               TEXT NOT NULL,
    enabled                INTEGER NOT NULL,
    deleted_at             INTEGER,
    epoch                  INTEGER NOT NULL,
    epoch_why              TEXT,
    epoch_at               INTEGER,
    wrong_passwords_at     TEXT NOT NULL,
    failed_sign_ins        INTEGER NOT NULL,
    last_failed_sign_in_at INTEGER,
    created_at             INTEGER NOT NULL,
    updated_at             INTEGER NOT NULL,
    revision               INTEGER NOT NULL
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
    revision              INTEGER NOT NULL
) STRICT;

-- The nine tables of ostiary_core.records, a column for each field. Instants are milliseconds since 1970
-- UTC, lists are JSON in text, enumerations are their values as text. There are no foreign keys: the rules
-- keep the references whole, and a reference may outlive what it points to.
--
-- Text sorts by code point (COLLATE "C"), as it does everywhere else. Every statement of a turn finds rows by
-- the whole primary key, so each table can be distributed by it.

CREATE TABLE identifiers (
    kind     TEXT COLLATE "C" NOT NULL,
    value    TEXT COLLATE "C" NOT NULL,
    user_id  TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL,
    PRIMARY KEY (kind, value)
);

CREATE TABLE tokens (
    digest     BYTEA NOT NULL PRIMARY KEY,
    session_id TEXT COLLATE "C" NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL,
    generation BIGINT NOT NULL,
    revision   BIGINT NOT NULL
);

CREATE TABLE text_codes (
    purpose      TEXT COLLATE "C" NOT NULL,
    phone        TEXT COLLATE "C" NOT NULL,
    digest       BYTEA NOT NULL,
    issued_at    BIGINT NOT NULL,
    wrong_tries  BIGINT NOT NULL,
    drawn        BIGINT NOT NULL,
    counted_from BIGINT NOT NULL,
    revision     BIGINT NOT NULL,
    PRIMARY KEY (purpose, phone)
);

CREATE TABLE codes (
    digest         BYTEA NOT NULL PRIMARY KEY,
    client_id      TEXT COLLATE "C" NOT NULL,
    user_id        TEXT COLLATE "C" NOT NULL,
    redirect_uri   TEXT COLLATE "C" NOT NULL,
    code_challenge TEXT COLLATE "C" NOT NULL,
    scopes         TEXT COLLATE "C" NOT NULL,
    issued_at      BIGINT NOT NULL,
    user_epoch     BIGINT NOT NULL,
    client_epoch   BIGINT NOT NULL,
    consent_epoch  BIGINT NOT NULL,
    session_id     TEXT COLLATE "C",
    settled_at     BIGINT,
    voided_why     TEXT COLLATE "C",
    revision       BIGINT NOT NULL
);

-- What clears old codes away finds them by their age.
CREATE INDEX codes_by_age ON codes (issued_at);

CREATE TABLE sessions (
    session_id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    kind               TEXT COLLATE "C" NOT NULL,
    client_id          TEXT COLLATE "C" NOT NULL,
    user_id            TEXT COLLATE "C",
    scopes             TEXT COLLATE "C" NOT NULL,
    user_epoch         BIGINT NOT NULL,
    client_epoch       BIGINT NOT NULL,
    consent_epoch      BIGINT NOT NULL,
    started_at         BIGINT NOT NULL,
    expires_at         BIGINT NOT NULL,
    generation         BIGINT NOT NULL,
    access_digest      BYTEA NOT NULL,
    access_scopes      TEXT COLLATE "C" NOT NULL,
    access_expires_at  BIGINT NOT NULL,
    salt               BYTEA,
    rotated_at         BIGINT,
    rotated_user_agent TEXT COLLATE "C",
    ended_at           BIGINT,
    ended_why          TEXT COLLATE "C",
    user_agent         TEXT COLLATE "C",
    source             TEXT COLLATE "C" NOT NULL,
    revision           BIGINT NOT NULL
);

-- What erases salts finds the few sessions that have one.
CREATE INDEX sessions_with_salt ON sessions (rotated_at) WHERE salt IS NOT NULL;

CREATE TABLE consents (
    user_id    TEXT COLLATE "C" NOT NULL,
    client_id  TEXT COLLATE "C" NOT NULL,
    scopes     TEXT COLLATE "C" NOT NULL,
    granted_at BIGINT NOT NULL,
    epoch      BIGINT NOT NULL,
    revision   BIGINT NOT NULL,
    PRIMARY KEY (user_id, client_id)
);

CREATE TABLE users (
    user_id                TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    username               TEXT COLLATE "C" NOT NULL,
    name                   TEXT COLLATE "C" NOT NULL,
    phone                  TEXT COLLATE "C",
    avatar_url             TEXT COLLATE "C",
    locale                 TEXT COLLATE "C",
    timezone               TEXT COLLATE "C",
    password_hash          TEXT COLLATE "C",
    must_change_password   BOOLEAN NOT NULL,
    role_ids               TEXT COLLATE "C" NOT NULL,
    enabled                BOOLEAN NOT NULL,
    deleted_at             BIGINT,
    epoch                  BIGINT NOT NULL,
    epoch_why              TEXT COLLATE "C",
    epoch_at               BIGINT,
    wrong_passwords_at     TEXT COLLATE "C" NOT NULL,
    failed_sign_ins        BIGINT NOT NULL,
    last_failed_sign_in_at BIGINT,
    created_at             BIGINT NOT NULL,
    updated_at             BIGINT NOT NULL,
    revision               BIGINT NOT NULL
);

CREATE TABLE roles (
    role_id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name            TEXT COLLATE "C" NOT NULL,
    permissions     TEXT COLLATE "C" NOT NULL,
    built_in        BOOLEAN NOT NULL,
    holders         BIGINT NOT NULL,
    enabled_holders BIGINT NOT NULL,
    revision        BIGINT NOT NULL
);

CREATE TABLE clients (
    client_id             TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name                  TEXT COLLATE "C" NOT NULL,
    secret_digest         BYTEA,
    redirect_uris         TEXT COLLATE "C" NOT NULL,
    grant_types           TEXT COLLATE "C" NOT NULL,
    scopes                TEXT COLLATE "C" NOT NULL,
    auto_approve_scopes   TEXT COLLATE "C" NOT NULL,
    access_token_seconds  BIGINT NOT NULL,
    refresh_token_seconds BIGINT NOT NULL,
    enabled               BOOLEAN NOT NULL,
    built_in              BOOLEAN NOT NULL,
    deleted_at            BIGINT,
    epoch                 BIGINT NOT NULL,
    epoch_why             TEXT COLLATE "C",
    epoch_at              BIGINT,
    created_at            BIGINT NOT NULL,
    updated_at            BIGINT NOT NULL,
    revision              BIGINT NOT NULL
);

-- The schema of the first release. Instants are milliseconds since 1970 UTC, lists are JSON in text, enumerations are
-- their values as text. There are no foreign keys: the rules keep the references whole, and a reference may outlive
-- what it points to.
--
-- Text sorts by code point (COLLATE "C"), as it does everywhere else. Every statement of a turn finds rows by the whole
-- primary key, so each table can be distributed by it.

-- --- records (ostiary_core.model.records), a column for each field

CREATE TABLE identifiers (
    kind     TEXT COLLATE "C" NOT NULL,
    value    TEXT COLLATE "C" NOT NULL,
    user_id  TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL,
    PRIMARY KEY (kind, value)
);

CREATE TABLE text_codes (
    purpose       TEXT COLLATE "C" NOT NULL,
    phone         TEXT COLLATE "C" NOT NULL,
    digest        BYTEA NOT NULL,
    issued_at     BIGINT NOT NULL,
    wrong_tries   BIGINT NOT NULL,
    drawn         BIGINT NOT NULL,
    counted_from  BIGINT NOT NULL,
    revision      BIGINT NOT NULL,
    user_id       TEXT COLLATE "C" DEFAULT '' NOT NULL,
    user_epoch    BIGINT DEFAULT 0 NOT NULL,
    client_epoch  BIGINT DEFAULT 0 NOT NULL,
    consent_epoch BIGINT DEFAULT 0 NOT NULL,
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

-- The way from an access token to its session: a table of its own and no index of sessions, so that it can be
-- distributed by its key.
CREATE TABLE access_tokens (
    digest     BYTEA NOT NULL PRIMARY KEY,
    session_id TEXT COLLATE "C" NOT NULL
);

CREATE TABLE refresh_tokens (
    digest     BYTEA NOT NULL PRIMARY KEY,
    session_id TEXT COLLATE "C" NOT NULL,
    generation BIGINT NOT NULL,
    revision   BIGINT NOT NULL
);

CREATE TABLE consents (
    user_id      TEXT COLLATE "C" NOT NULL,
    client_id    TEXT COLLATE "C" NOT NULL,
    scopes       TEXT COLLATE "C" NOT NULL,
    granted_at   BIGINT NOT NULL,
    epoch        BIGINT NOT NULL,
    revision     BIGINT NOT NULL,
    withdrawn_at BIGINT,
    PRIMARY KEY (user_id, client_id)
);

CREATE TABLE users (
    user_id              TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    username             TEXT COLLATE "C" NOT NULL,
    name                 TEXT COLLATE "C" NOT NULL,
    phone                TEXT COLLATE "C",
    avatar_url           TEXT COLLATE "C",
    locale               TEXT COLLATE "C",
    timezone             TEXT COLLATE "C",
    password_hash        TEXT COLLATE "C",
    must_change_password BOOLEAN NOT NULL,
    role_ids             TEXT COLLATE "C" NOT NULL,
    enabled              BOOLEAN NOT NULL,
    deleted_at           BIGINT,
    epoch                BIGINT NOT NULL,
    epoch_why            TEXT COLLATE "C",
    epoch_at             BIGINT,
    wrong_passwords_at   TEXT COLLATE "C" NOT NULL,
    created_at           BIGINT NOT NULL,
    updated_at           BIGINT NOT NULL,
    revision             BIGINT NOT NULL,
    text_codes_asked_at  TEXT COLLATE "C" DEFAULT '[]' NOT NULL
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
    revision              BIGINT NOT NULL,
    secret_used_at        BIGINT,
    old_secret_digest     BYTEA,
    old_secret_until      BIGINT,
    old_secret_used_at    BIGINT,
    wrong_secrets         BIGINT DEFAULT 0 NOT NULL,
    wrong_secret_at       BIGINT
);

-- --- the audit trail (ostiary_core.model.audit), written in the transaction of what it tells of and never changed

-- The number rises with every entry of a turn; turns that run side by side may interleave.
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
    earlier_user_agent TEXT COLLATE "C",
    changes            TEXT COLLATE "C"
);

-- One index for each question that may be asked, ending in the number, which breaks the ties of `at`. A session and a
-- request have few entries, which are sorted once they are found.
CREATE INDEX audit_by_time ON audit (at, number);
CREATE INDEX audit_by_kind ON audit (kind, at, number);
CREATE INDEX audit_by_client ON audit (client_id, at, number) WHERE client_id IS NOT NULL;
CREATE INDEX audit_by_user ON audit (user_id, at, number) WHERE user_id IS NOT NULL;
CREATE INDEX audit_by_session ON audit (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX audit_by_request ON audit (trace_id) WHERE trace_id IS NOT NULL;

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
CREATE INDEX sessions_by_start ON sessions (started_at, session_id) WHERE ended_at IS NULL;
CREATE INDEX sessions_by_last_seen ON sessions ((COALESCE(rotated_at, started_at)), session_id)
    WHERE ended_at IS NULL;
CREATE INDEX sessions_by_expiry ON sessions (expires_at, session_id) WHERE ended_at IS NULL;
CREATE INDEX sessions_by_client ON sessions (client_id, started_at, session_id) WHERE ended_at IS NULL;
CREATE INDEX sessions_by_user ON sessions (user_id, started_at, session_id) WHERE ended_at IS NULL;

-- --- the sweeper (ostiary_core.retention): what has expired, by age, and which instance does what one does at a time

CREATE INDEX codes_by_age ON codes (issued_at);
CREATE INDEX codes_unredeemed_by_age ON codes (issued_at) WHERE session_id IS NULL;
CREATE INDEX sessions_with_salt ON sessions (rotated_at) WHERE salt IS NOT NULL;
CREATE INDEX sessions_by_ending ON sessions (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE leases (
    name   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    holder TEXT COLLATE "C" NOT NULL,
    until  BIGINT NOT NULL
);

-- --- summaries (ostiary_core.storage.summaries)

-- Counted hour by hour, so that an overview need not read the trail. The client '' stands for all of them together.
CREATE TABLE summaries (
    client_id TEXT COLLATE "C" NOT NULL,
    hour      BIGINT NOT NULL,
    what      TEXT COLLATE "C" NOT NULL,
    detail    TEXT COLLATE "C" NOT NULL,
    number    BIGINT NOT NULL,
    total_ms  BIGINT NOT NULL,
    most_ms   BIGINT NOT NULL,
    PRIMARY KEY (client_id, hour, what, detail)
);

-- The last refusals of each client.
CREATE TABLE refusals (
    client_id TEXT COLLATE "C" NOT NULL,
    at        BIGINT NOT NULL,
    trace_id  TEXT COLLATE "C" NOT NULL,
    operation TEXT COLLATE "C" NOT NULL,
    why       TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (client_id, at, trace_id)
);

-- When something was last done, and up to which number the entries of the trail are counted.
CREATE TABLE milestones (
    name  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);
CREATE INDEX summaries_by_hour ON summaries (hour);

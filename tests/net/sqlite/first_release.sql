-- A database of the first release: three users, one client, and one session that was refreshed once.
CREATE TABLE "audit_filed" (
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
, changes TEXT) STRICT;
INSERT INTO audit_filed VALUES(1,1800000000123,'user-registered',NULL,'62d0e3f203dc16d72088746f5f9dd948',NULL,NULL,NULL,NULL,'[]',NULL,NULL,NULL,NULL,NULL,'[["username",null,"root"],["name",null,"root"],["enabled",null,true],["mustChangePassword",null,false],["roleIds",null,["super_admin"]]]');
INSERT INTO audit_filed VALUES(2,1800000000123,'client-registered',NULL,NULL,'app',NULL,NULL,NULL,'[]',NULL,NULL,NULL,NULL,NULL,'[["name",null,"The client app"],["redirectUris",null,["https://app.example/callback"]],["grantTypes",null,["authorization_code","refresh_token","client_credentials"]],["scopes",null,["user.read"]],["accessTokenTtl",null,1800],["refreshTokenTtl",null,604800],["enabled",null,true]]');
INSERT INTO audit_filed VALUES(3,1800000000123,'user-registered',NULL,'a3c97991f90653e5f5dd6866557a1cd9',NULL,NULL,NULL,NULL,'[]',NULL,NULL,NULL,NULL,NULL,'[["username",null,"alice"],["name",null,"Alice"],["enabled",null,true],["mustChangePassword",null,false]]');
INSERT INTO audit_filed VALUES(4,1800000000123,'session-started',NULL,'a3c97991f90653e5f5dd6866557a1cd9','console','01a3185c507bde13839c2d20483b49f8',NULL,NULL,'[]',NULL,NULL,'Mozilla/5.0',NULL,NULL,NULL);
INSERT INTO audit_filed VALUES(5,1800000000123,'consent-remembered',NULL,'a3c97991f90653e5f5dd6866557a1cd9','app',NULL,NULL,NULL,'["user.read"]',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO audit_filed VALUES(6,1800000000123,'code-issued',NULL,'a3c97991f90653e5f5dd6866557a1cd9','app',NULL,NULL,NULL,'["user.read"]',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO audit_filed VALUES(7,1800000000123,'code-used',NULL,'a3c97991f90653e5f5dd6866557a1cd9','app','01a3185c507bd02e69ac513051d7495a',NULL,NULL,'["user.read"]',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO audit_filed VALUES(8,1800000000123,'session-started',NULL,'a3c97991f90653e5f5dd6866557a1cd9','app','01a3185c507bd02e69ac513051d7495a',NULL,NULL,'["user.read"]',NULL,NULL,'app-backend/1.0',NULL,NULL,NULL);
INSERT INTO audit_filed VALUES(9,1800000060123,'pair-rotated',NULL,'a3c97991f90653e5f5dd6866557a1cd9','app','01a3185c507bd02e69ac513051d7495a',NULL,NULL,'[]',NULL,NULL,'app-backend/1.0',1800000060123,'app-backend/1.0',NULL);
CREATE INDEX audit_by_client ON "audit_filed" (client_id, at) WHERE client_id IS NOT NULL;
CREATE INDEX audit_by_kind ON "audit_filed" (kind, at);
CREATE INDEX audit_by_request ON "audit_filed" (trace_id) WHERE trace_id IS NOT NULL;
CREATE INDEX audit_by_session ON audit_filed (number / 8192, session_id);
CREATE INDEX audit_by_time ON "audit_filed" (at);
CREATE INDEX audit_by_user    ON audit_filed (number / 8192, user_id, at);
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
, changes TEXT) STRICT;
INSERT INTO audit_unfiled VALUES(10,1800000120123,'user-registered',NULL,'1029590ae757336244733f8fdd8f358c',NULL,NULL,NULL,NULL,'[]',NULL,NULL,NULL,NULL,NULL,'[["username",null,"bob"],["name",null,"Bob"],["enabled",null,true],["mustChangePassword",null,false]]');
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
, secret_used_at     INTEGER, old_secret_digest  BLOB, old_secret_until   INTEGER, old_secret_used_at INTEGER, wrong_secrets   INTEGER DEFAULT 0 NOT NULL, wrong_secret_at INTEGER) STRICT;
INSERT INTO clients VALUES('console','console',NULL,'[]','["refresh_token"]','[]','[]',1800,604800,1,1,NULL,0,NULL,NULL,1800000000123,1800000000123,1,NULL,NULL,NULL,NULL,0,NULL);
INSERT INTO clients VALUES('mobile','mobile',NULL,'[]','["refresh_token"]','[]','[]',1800,604800,1,1,NULL,0,NULL,NULL,1800000000123,1800000000123,1,NULL,NULL,NULL,NULL,0,NULL);
INSERT INTO clients VALUES('app','The client app',X'8FD1376426009E7BBE69CE59AC26942125C6BF62CE8D6CB430C3F9D8A4EA7337','["https://app.example/callback"]','["authorization_code","refresh_token","client_credentials"]','["user.read"]','[]',1800,604800,1,0,NULL,0,NULL,NULL,1800000000123,1800000000123,1,NULL,NULL,NULL,NULL,0,NULL);
CREATE INDEX clients_by_change  ON clients (updated_at, client_id, enabled) WHERE deleted_at IS NULL;
CREATE INDEX clients_by_id      ON clients (client_id, enabled)             WHERE deleted_at IS NULL;
CREATE INDEX clients_by_making  ON clients (created_at, client_id, enabled) WHERE deleted_at IS NULL;
CREATE INDEX clients_by_name    ON clients (name, client_id, enabled)       WHERE deleted_at IS NULL;
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
INSERT INTO codes VALUES(X'979A9AA673C1D73B56D9031E2A80F137B044F6026A35C4F29BE0DEBEDBEBABA5','app','a3c97991f90653e5f5dd6866557a1cd9','https://app.example/callback','E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM','["user.read"]',1800000000123,0,0,0,'01a3185c507bd02e69ac513051d7495a',1800000000123,NULL,2);
CREATE INDEX codes_by_age ON codes (issued_at);
CREATE INDEX codes_unredeemed_by_age ON codes (issued_at) WHERE session_id IS NULL;
CREATE TABLE consents (
    user_id    TEXT NOT NULL,
    client_id  TEXT NOT NULL,
    scopes     TEXT NOT NULL,
    granted_at INTEGER NOT NULL,
    epoch      INTEGER NOT NULL,
    revision   INTEGER NOT NULL, withdrawn_at INTEGER,
    PRIMARY KEY (user_id, client_id)
) STRICT, WITHOUT ROWID;
INSERT INTO consents VALUES('a3c97991f90653e5f5dd6866557a1cd9','app','["user.read"]',1800000000123,0,1,NULL);
CREATE TABLE identifiers (
    kind     TEXT NOT NULL,
    value    TEXT NOT NULL,
    user_id  TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (kind, value)
) STRICT, WITHOUT ROWID;
INSERT INTO identifiers VALUES('username','alice','a3c97991f90653e5f5dd6866557a1cd9',1);
INSERT INTO identifiers VALUES('username','bob','1029590ae757336244733f8fdd8f358c',1);
INSERT INTO identifiers VALUES('username','root','62d0e3f203dc16d72088746f5f9dd948',1);
CREATE TABLE leases (
    name   TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    until  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE milestones (
    name  TEXT NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO milestones VALUES('counted',10);
INSERT INTO milestones VALUES('swept',1800000000123);
CREATE TABLE refresh_tokens (
    digest     BLOB NOT NULL PRIMARY KEY,
    session_id TEXT NOT NULL,
    generation INTEGER NOT NULL,
    revision   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO refresh_tokens VALUES(X'6B7CC804DBD78F95A84B8FDA6E80E14869B3CED6822737D766E149BB0EBBD36E','01a3185c507bd02e69ac513051d7495a',0,1);
INSERT INTO refresh_tokens VALUES(X'7B7FAFC924EE1218769038E58E3E1F338B2500E3857C562EBE7CF0046A780793','01a3185c507bd02e69ac513051d7495a',1,1);
INSERT INTO refresh_tokens VALUES(X'E201204A9FD23AA1A0ABB5CD80019478DB2E6B3B5493DFCB6447C8720CAC3060','01a3185c507bde13839c2d20483b49f8',0,1);
CREATE TABLE refusals (
    client_id TEXT NOT NULL,
    at        INTEGER NOT NULL,
    trace_id  TEXT NOT NULL,
    operation TEXT NOT NULL,
    why       TEXT NOT NULL,
    PRIMARY KEY (client_id, at, trace_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE roles (
    role_id         TEXT NOT NULL PRIMARY KEY,
    name            TEXT NOT NULL,
    permissions     TEXT NOT NULL,
    built_in        INTEGER NOT NULL,
    holders         INTEGER NOT NULL,
    enabled_holders INTEGER NOT NULL,
    revision        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO roles VALUES('super_admin','Super administrator','["oauth.client.list","oauth.client.create","oauth.client.update","oauth.client.delete","iam.user.list","iam.user.create","iam.user.update","iam.user.delete","iam.role.list","iam.role.create","iam.role.update","iam.role.delete","monitor.online.list","monitor.online.kill","audit.read"]',1,1,1,1);
CREATE TABLE schema_migrations (
        version    INTEGER NOT NULL PRIMARY KEY,
        name       TEXT NOT NULL,
        applied_at INTEGER NOT NULL
    ) STRICT
;
INSERT INTO schema_migrations VALUES(1,'records',1795625918430);
INSERT INTO schema_migrations VALUES(2,'audit',1795625918430);
INSERT INTO schema_migrations VALUES(3,'lists',1795625918430);
INSERT INTO schema_migrations VALUES(4,'client_secrets',1795625918430);
INSERT INTO schema_migrations VALUES(5,'sweeping',1795625918430);
INSERT INTO schema_migrations VALUES(6,'access_tokens',1795625918430);
INSERT INTO schema_migrations VALUES(7,'filed_entries',1795625918430);
INSERT INTO schema_migrations VALUES(8,'wrong_secrets',1795625918430);
INSERT INTO schema_migrations VALUES(9,'text_codes_asked',1795625918430);
INSERT INTO schema_migrations VALUES(10,'summaries',1795625918430);
INSERT INTO schema_migrations VALUES(11,'changes',1795625918430);
INSERT INTO schema_migrations VALUES(12,'text_codes_of_accounts',1795625918430);
INSERT INTO schema_migrations VALUES(13,'sign_ins_counted_by_processes',1795625918430);
INSERT INTO schema_migrations VALUES(14,'consents_withdrawn',1795625918430);
INSERT INTO schema_migrations VALUES(15,'deleted_users',1795625918430);
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
INSERT INTO sessions VALUES('01a3185c507bde13839c2d20483b49f8','login','console','a3c97991f90653e5f5dd6866557a1cd9','[]',0,0,0,1800000000123,1800604800123,0,X'FAD6600A833DEE2F13EAC0B310E1958EF96FDCAAEB2D2A493B9339F6BB317044','[]',1800001800123,NULL,NULL,NULL,NULL,NULL,'Mozilla/5.0','203.0.113.7',1);
INSERT INTO sessions VALUES('01a3185c507bd02e69ac513051d7495a','authorization_code','app','a3c97991f90653e5f5dd6866557a1cd9','["user.read"]',0,0,0,1800000000123,1800604800123,1,X'C18F33E6BCF9AE6B510CC3DBFAE0BA3AF358412B7411D26CB4EFC775D0E32CCB','["user.read"]',1800001860123,X'84A065630F78CCFE3B37704B80B196F02958CBC05F4B9D6F83AA4EDA4A9FD66A',1800000060123,'app-backend/1.0',NULL,NULL,'app-backend/1.0','198.51.100.5',2);
CREATE UNIQUE INDEX sessions_by_access_token ON sessions (access_digest);
CREATE INDEX sessions_by_client    ON sessions (client_id, started_at)  WHERE ended_at IS NULL;
CREATE INDEX sessions_by_ending ON sessions (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX sessions_by_expiry    ON sessions (expires_at, session_id) WHERE ended_at IS NULL;
CREATE INDEX sessions_by_last_seen ON sessions (COALESCE(rotated_at, started_at), session_id) WHERE ended_at IS NULL;
CREATE INDEX sessions_by_start     ON sessions (started_at, session_id) WHERE ended_at IS NULL;
CREATE INDEX sessions_by_user ON sessions (
    user_id, started_at, user_epoch, expires_at, kind, client_id, client_epoch, consent_epoch
) WHERE ended_at IS NULL;
CREATE INDEX sessions_with_salt ON sessions (rotated_at) WHERE salt IS NOT NULL;
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
INSERT INTO summaries VALUES('',1800000000000,'refreshed','',1,0,0);
INSERT INTO summaries VALUES('',1800000000000,'started','authorization_code',1,0,0);
INSERT INTO summaries VALUES('',1800000000000,'started','login',1,0,0);
CREATE INDEX summaries_by_hour ON summaries (hour);
CREATE TABLE text_codes (
    purpose      TEXT NOT NULL,
    phone        TEXT NOT NULL,
    digest       BLOB NOT NULL,
    issued_at    INTEGER NOT NULL,
    wrong_tries  INTEGER NOT NULL,
    drawn        INTEGER NOT NULL,
    counted_from INTEGER NOT NULL,
    revision     INTEGER NOT NULL, user_id TEXT NOT NULL DEFAULT '', user_epoch INTEGER NOT NULL DEFAULT 0, client_epoch INTEGER NOT NULL DEFAULT 0, consent_epoch INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (purpose, phone)
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
    created_at             INTEGER NOT NULL,
    updated_at             INTEGER NOT NULL,
    revision               INTEGER NOT NULL
, text_codes_asked_at TEXT NOT NULL DEFAULT '[]') STRICT;
INSERT INTO users VALUES('62d0e3f203dc16d72088746f5f9dd948','root','root',NULL,NULL,NULL,NULL,'hash of right',0,'["super_admin"]',1,NULL,0,NULL,NULL,'[]',1800000000123,1800000000123,1,'[]');
INSERT INTO users VALUES('a3c97991f90653e5f5dd6866557a1cd9','alice','Alice',NULL,NULL,NULL,NULL,'hash of right',0,'[]',1,NULL,0,NULL,NULL,'[]',1800000000123,1800000000123,1,'[]');
INSERT INTO users VALUES('1029590ae757336244733f8fdd8f358c','bob','Bob',NULL,NULL,NULL,NULL,'hash of right',0,'[]',1,NULL,0,NULL,NULL,'[]',1800000120123,1800000120123,1,'[]');
CREATE INDEX users_by_change    ON users (updated_at, user_id, enabled)     WHERE deleted_at IS NULL;
CREATE INDEX users_by_making    ON users (created_at, user_id, enabled)     WHERE deleted_at IS NULL;
CREATE INDEX users_by_name      ON users (name, user_id, enabled)           WHERE deleted_at IS NULL;
CREATE INDEX users_by_username  ON users (username, user_id, enabled)       WHERE deleted_at IS NULL;
CREATE INDEX users_standing     ON users (user_id, epoch, enabled, deleted_at);
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
DELETE FROM main.sqlite_sequence WHERE name='audit_unfiled';
INSERT INTO main.sqlite_sequence VALUES ('audit_unfiled', 10);
pragma application_id=1330861145;

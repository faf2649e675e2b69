-- A session is found by its access token's digest, which its row has anyway: access tokens need no rows of their
-- own, and what is left in the table are refresh tokens.

CREATE TABLE refresh_tokens (
    digest     BLOB NOT NULL PRIMARY KEY,
    session_id TEXT NOT NULL,
    generation INTEGER NOT NULL,
    revision   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO refresh_tokens (digest, session_id, generation, revision)
    SELECT digest, session_id, generation, revision FROM tokens WHERE kind = 'refresh' ORDER BY digest;

DROP TABLE tokens;

CREATE UNIQUE INDEX sessions_by_access_token ON sessions (access_digest);

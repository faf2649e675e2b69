-- What an access token's record said, its session's row says as well. What is left of it is the way to the session,
-- in a table of its own and not an index of sessions: so it can be distributed by its key like any other.
--
-- Instances from before this step find no token that was made after it. None of them was released: from the first
-- release on, a step only adds.

CREATE TABLE access_tokens (
    digest     BYTEA NOT NULL PRIMARY KEY,
    session_id TEXT COLLATE "C" NOT NULL
);

INSERT INTO access_tokens (digest, session_id) SELECT access_digest, session_id FROM sessions;

CREATE TABLE refresh_tokens (
    digest     BYTEA NOT NULL PRIMARY KEY,
    session_id TEXT COLLATE "C" NOT NULL,
    generation BIGINT NOT NULL,
    revision   BIGINT NOT NULL
);

INSERT INTO refresh_tokens (digest, session_id, generation, revision)
    SELECT digest, session_id, generation, revision FROM tokens WHERE kind = 'refresh';

DROP TABLE tokens;

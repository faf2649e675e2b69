-- What sorts the lists of the administration (ostiary_core.listing). Each index ends with the key, which
-- breaks ties, and holds only what is listed; `enabled` is in them so that a filter by it reads no row.

CREATE INDEX clients_by_id      ON clients (client_id, enabled)             WHERE deleted_at IS NULL;
CREATE INDEX clients_by_name    ON clients (name, client_id, enabled)       WHERE deleted_at IS NULL;
CREATE INDEX clients_by_making  ON clients (created_at, client_id, enabled) WHERE deleted_at IS NULL;
CREATE INDEX clients_by_change  ON clients (updated_at, client_id, enabled) WHERE deleted_at IS NULL;

CREATE INDEX users_by_username  ON users (username, user_id, enabled)       WHERE deleted_at IS NULL;
CREATE INDEX users_by_name      ON users (name, user_id, enabled)           WHERE deleted_at IS NULL;
CREATE INDEX users_by_making    ON users (created_at, user_id, enabled)     WHERE deleted_at IS NULL;
CREATE INDEX users_by_change    ON users (updated_at, user_id, enabled)     WHERE deleted_at IS NULL;

CREATE INDEX sessions_by_start     ON sessions (started_at, session_id) WHERE ended_at IS NULL;
CREATE INDEX sessions_by_last_seen ON sessions ((COALESCE(rotated_at, started_at)), session_id)
    WHERE ended_at IS NULL;
CREATE INDEX sessions_by_expiry    ON sessions (expires_at, session_id) WHERE ended_at IS NULL;
CREATE INDEX sessions_by_client    ON sessions (client_id, started_at, session_id) WHERE ended_at IS NULL;
CREATE INDEX sessions_by_user      ON sessions (user_id, started_at, session_id) WHERE ended_at IS NULL;

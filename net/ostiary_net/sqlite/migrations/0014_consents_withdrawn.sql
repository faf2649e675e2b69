-- When a consent was withdrawn; and one for every user and client with a session or code that nobody was asked about, so
-- that what was never given is told from what can be withdrawn.

ALTER TABLE consents ADD COLUMN withdrawn_at INTEGER;

INSERT OR IGNORE INTO consents (user_id, client_id, scopes, granted_at, epoch, revision)
    SELECT user_id, client_id, '[]', MIN(started_at), 0, 1 FROM sessions
    WHERE kind = 'authorization_code' AND ended_at IS NULL AND user_id IS NOT NULL GROUP BY user_id, client_id;

INSERT OR IGNORE INTO consents (user_id, client_id, scopes, granted_at, epoch, revision)
    SELECT user_id, client_id, '[]', MIN(issued_at), 0, 1 FROM codes GROUP BY user_id, client_id;

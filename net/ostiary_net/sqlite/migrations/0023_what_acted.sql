-- What acted: the login session or token, the actor's name then, and name and fingerprint of a token.
ALTER TABLE audit_filed ADD COLUMN actor_session_id TEXT;
ALTER TABLE audit_filed ADD COLUMN actor_name TEXT;
ALTER TABLE audit_filed ADD COLUMN actor_token TEXT;
ALTER TABLE audit_filed ADD COLUMN actor_fingerprint TEXT;
ALTER TABLE audit_unfiled ADD COLUMN actor_session_id TEXT;
ALTER TABLE audit_unfiled ADD COLUMN actor_name TEXT;
ALTER TABLE audit_unfiled ADD COLUMN actor_token TEXT;
ALTER TABLE audit_unfiled ADD COLUMN actor_fingerprint TEXT;

-- No entry of the token service has an actor's session, so none of them is in this index.
CREATE INDEX audit_by_actor_session ON audit_filed (actor_session_id, at) WHERE actor_session_id IS NOT NULL;

-- The release before files entries of this one without the columns it does not know.
CREATE TRIGGER audit_keeps_what_acted BEFORE DELETE ON audit_unfiled WHEN OLD.actor_name IS NOT NULL BEGIN
    UPDATE audit_filed SET
        actor_session_id = OLD.actor_session_id,
        actor_name = OLD.actor_name,
        actor_token = OLD.actor_token,
        actor_fingerprint = OLD.actor_fingerprint
    WHERE number = OLD.number;
END;

-- Accounts that were deleted are found by name in the trail.
CREATE INDEX users_deleted ON users (username, user_id) WHERE deleted_at IS NOT NULL;

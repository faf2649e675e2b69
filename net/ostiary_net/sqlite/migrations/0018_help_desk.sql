-- When somebody last signed in; 0 where nobody knows of any sign-in, as of all before this step.
ALTER TABLE users ADD COLUMN last_sign_in_at INTEGER DEFAULT 0 NOT NULL;

CREATE INDEX users_by_last_sign_in ON users (last_sign_in_at, user_id, enabled) WHERE deleted_at IS NULL;
-- Few have a role, and whoever asks for the holders of one reads these alone.
CREATE INDEX users_with_roles ON users (username, user_id, role_ids) WHERE deleted_at IS NULL AND role_ids <> '[]';

-- Administrators, and what they do to roles, are few among all entries.
CREATE INDEX audit_by_actor ON audit_filed (actor_id, at) WHERE actor_id IS NOT NULL;
CREATE INDEX audit_by_role ON audit_filed (role_id, at) WHERE role_id IS NOT NULL;

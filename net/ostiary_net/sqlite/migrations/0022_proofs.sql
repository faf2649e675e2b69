-- When the user of a login session last proved who they are; none for the sign-in.
ALTER TABLE sessions ADD COLUMN proved_at INTEGER;

-- What acted: the login session or token, the actor's name then, and name and fingerprint of a token.
ALTER TABLE audit ADD COLUMN actor_session_id TEXT COLLATE "C";
ALTER TABLE audit ADD COLUMN actor_name TEXT COLLATE "C";
ALTER TABLE audit ADD COLUMN actor_token TEXT COLLATE "C";
ALTER TABLE audit ADD COLUMN actor_fingerprint TEXT COLLATE "C";

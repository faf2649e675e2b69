-- How often a wrong secret of a client came since the present one was set, and when last.

ALTER TABLE clients ADD COLUMN wrong_secrets   INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE clients ADD COLUMN wrong_secret_at INTEGER;

-- The secret before the present one, which may work on for a time, and when each was last used.

ALTER TABLE clients ADD COLUMN secret_used_at     INTEGER;
ALTER TABLE clients ADD COLUMN old_secret_digest  BLOB;
ALTER TABLE clients ADD COLUMN old_secret_until   INTEGER;
ALTER TABLE clients ADD COLUMN old_secret_used_at INTEGER;

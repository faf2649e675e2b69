-- The secret before the present one, which may work on for a time, and when each was last used.

ALTER TABLE clients ADD COLUMN secret_used_at     BIGINT;
ALTER TABLE clients ADD COLUMN old_secret_digest  BYTEA;
ALTER TABLE clients ADD COLUMN old_secret_until   BIGINT;
ALTER TABLE clients ADD COLUMN old_secret_used_at BIGINT;

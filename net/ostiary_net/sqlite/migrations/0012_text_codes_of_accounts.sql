-- Whose code it is, and what that account was under when it was drawn, as a code dies with any ending of its
-- account (READINGS 48). A code from before is nobody's, and opens nothing.

ALTER TABLE text_codes ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
ALTER TABLE text_codes ADD COLUMN user_epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE text_codes ADD COLUMN client_epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE text_codes ADD COLUMN consent_epoch INTEGER NOT NULL DEFAULT 0;

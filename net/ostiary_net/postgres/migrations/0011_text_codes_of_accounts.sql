-- Whose code it is, and what that account was under when it was drawn, as a code dies with any ending of its
-- account (READINGS 48). A code from before is nobody's, and opens nothing.

ALTER TABLE text_codes
    ADD COLUMN user_id TEXT COLLATE "C" DEFAULT '' NOT NULL,
    ADD COLUMN user_epoch BIGINT DEFAULT 0 NOT NULL,
    ADD COLUMN client_epoch BIGINT DEFAULT 0 NOT NULL,
    ADD COLUMN consent_epoch BIGINT DEFAULT 0 NOT NULL;

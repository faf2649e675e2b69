-- When an account asked for text messages within the last day, as it may so often and no more (READINGS 43).

ALTER TABLE users ADD COLUMN text_codes_asked_at TEXT COLLATE "C" DEFAULT '[]' NOT NULL;

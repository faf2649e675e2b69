-- Second factors by one-time passwords. A release that does not know them goes on beside them.
ALTER TABLE users ADD COLUMN has_second_factor BOOLEAN DEFAULT false NOT NULL;
CREATE TABLE second_factors (
    user_id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    salt             BYTEA NOT NULL,
    key_id           TEXT COLLATE "C" NOT NULL,
    recovery_digests TEXT COLLATE "C" NOT NULL,
    confirmed_at     BIGINT,
    used_step        BIGINT NOT NULL,
    ticket_used_at   BIGINT NOT NULL,
    wrong_codes_at   TEXT COLLATE "C" NOT NULL,
    revision         BIGINT NOT NULL
);

-- Second factors by one-time passwords. A release that does not know them goes on beside them.
ALTER TABLE users ADD COLUMN has_second_factor INTEGER NOT NULL DEFAULT 0;
CREATE TABLE second_factors (
    user_id          TEXT NOT NULL PRIMARY KEY,
    salt             BLOB NOT NULL,
    key_id           TEXT NOT NULL,
    recovery_digests TEXT NOT NULL,
    confirmed_at     INTEGER,
    used_step        INTEGER NOT NULL,
    ticket_used_at   INTEGER NOT NULL,
    wrong_codes_at   TEXT NOT NULL,
    revision         INTEGER NOT NULL
) STRICT;

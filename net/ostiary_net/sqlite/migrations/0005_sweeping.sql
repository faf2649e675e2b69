-- What the sweeper needs (ostiary_core.lapsing): what has ended and which codes were never redeemed, by age, and
-- which instance does what only one does at a time.

CREATE INDEX sessions_by_ending ON sessions (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX codes_unredeemed_by_age ON codes (issued_at) WHERE session_id IS NULL;

CREATE TABLE leases (
    name   TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    until  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

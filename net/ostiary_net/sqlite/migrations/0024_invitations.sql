-- Invitations, by which users set a password. A release that does not know them goes on beside them.
CREATE TABLE invitations (
    user_id       TEXT NOT NULL PRIMARY KEY,
    digest        BLOB NOT NULL,
    user_epoch    INTEGER NOT NULL,
    client_epoch  INTEGER NOT NULL,
    consent_epoch INTEGER NOT NULL,
    issued_at     INTEGER NOT NULL,
    revision      INTEGER NOT NULL
) STRICT;
CREATE INDEX invitations_by_issue ON invitations (issued_at);

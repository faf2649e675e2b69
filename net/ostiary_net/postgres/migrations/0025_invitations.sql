-- Invitations, by which users set a password. A release that does not know them goes on beside them.
CREATE TABLE invitations (
    user_id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    digest        BYTEA NOT NULL,
    user_epoch    BIGINT NOT NULL,
    client_epoch  BIGINT NOT NULL,
    consent_epoch BIGINT NOT NULL,
    issued_at     BIGINT NOT NULL,
    revision      BIGINT NOT NULL
);
CREATE INDEX invitations_by_issue ON invitations (issued_at);

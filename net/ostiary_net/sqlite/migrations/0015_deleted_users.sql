-- Of a user who was deleted the names stay, by which the audit trail is read, and nothing else of the person.

UPDATE users
    SET password_hash = NULL, phone = NULL, avatar_url = NULL, locale = NULL, timezone = NULL, text_codes_asked_at = '[]'
    WHERE deleted_at IS NOT NULL;

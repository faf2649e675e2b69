-- When each living personal access token of a user expires, and the sum of the epochs of user and console
-- client that they live under.
ALTER TABLE users ADD COLUMN token_expiries TEXT COLLATE "C" DEFAULT '[]' NOT NULL;
ALTER TABLE users ADD COLUMN tokens_epoch BIGINT DEFAULT 0 NOT NULL;

UPDATE users
SET token_expiries = (
        SELECT coalesce(json_agg(s.expires_at)::text, '[]')
        FROM sessions AS s JOIN clients AS c ON c.client_id = s.client_id
        WHERE s.user_id = users.user_id AND s.kind = 'personal_token' AND s.ended_at IS NULL
          AND s.user_epoch = users.epoch AND s.client_epoch = c.epoch
    ),
    tokens_epoch = epoch + (SELECT c.epoch FROM clients AS c WHERE c.client_id = 'console')
WHERE user_id IN (SELECT user_id FROM sessions WHERE kind = 'personal_token' AND ended_at IS NULL);

-- Names of personal access tokens, which are sessions of the kind `personal_token`.
ALTER TABLE sessions ADD COLUMN label TEXT COLLATE "C";

-- Failed sign-ins are counted by the processes, by name and address, and in no account's row. The columns stay for
-- instances of the release before, which write them still.

ALTER TABLE users ALTER COLUMN failed_sign_ins SET DEFAULT 0;

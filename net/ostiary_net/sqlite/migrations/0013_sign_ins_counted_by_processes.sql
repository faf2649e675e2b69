-- Failed sign-ins are counted by the processes, by name and address, and in no account's row.

ALTER TABLE users DROP COLUMN failed_sign_ins;
ALTER TABLE users DROP COLUMN last_failed_sign_in_at;

-- The last day that a client's old secret had.
ALTER TABLE clients ADD COLUMN old_secret_expires_on TEXT COLLATE "C";

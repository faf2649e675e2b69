-- The last day on which a client's present secret authenticates.
ALTER TABLE clients ADD COLUMN secret_expires_on TEXT COLLATE "C";

-- Which fields of a record an entry of the audit trail is about changed, before and after, as JSON; none for most.

ALTER TABLE audit ADD COLUMN changes TEXT COLLATE "C";

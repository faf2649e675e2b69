-- Which fields of a record an entry of the audit trail is about changed, before and after, as JSON; none for most.

ALTER TABLE audit_filed ADD COLUMN changes TEXT;
ALTER TABLE audit_unfiled ADD COLUMN changes TEXT;

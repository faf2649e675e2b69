"""What became of sessions: explained in words, and decided again under another policy. Nothing here changes
a record."""

"""What became of sessions: explained in words, and decided again under another policy. It changes nothing."""

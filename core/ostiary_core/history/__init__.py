"""Session histories: explained in words, and decided again under another policy; nothing is changed."""

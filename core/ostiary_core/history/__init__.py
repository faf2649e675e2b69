"""Session histories, explained step by step; nothing is changed."""

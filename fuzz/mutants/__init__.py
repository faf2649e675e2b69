"""Mutation testing of the rules: one small change of the core at a time, which some judge must notice."""

"""Mutation testing of the rules: one small change of the product at a time, which some judge must notice."""

"""Limits that one process counts in its memory: requests by address, and password guesses."""

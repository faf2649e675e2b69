"""Limits that one process counts in its memory: requests by address, and guesses. Nothing here is stored, or
known to another process."""

"""Readers of untrusted input, each judged by an oracle that reads the same bytes in another way."""

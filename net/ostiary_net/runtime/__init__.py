"""Gives the rules what is outside: time, entropy, threads, files, hashes, text messages.

No store enters, and nothing that knows a request's path.
"""

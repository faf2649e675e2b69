"""Do what no request waits for: purge, count the trail into summaries, copy a whole database.

Nothing that a request needs enters.
"""

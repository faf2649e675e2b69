"""Work that nobody waits for: forgetting what has lapsed, and copying one database to another.

Nothing that a request needs enters.
"""

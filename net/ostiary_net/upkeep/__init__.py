"""Work that nobody waits for: forgetting what has lapsed, counting what happened, copying a whole database.

Nothing that a request needs enters.
"""

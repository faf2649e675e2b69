"""Bring events to a store: the queue, the turn, and the service that all doors share.

No SQL enters, and no socket.
"""

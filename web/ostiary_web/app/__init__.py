"""The application: its routes put together, behind the front door.

Nothing imports from this room but what starts a server, and what tests one.
"""

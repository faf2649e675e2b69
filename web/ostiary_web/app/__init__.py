"""The application: its routes put together, and the application behind its front door.

Nothing imports from this room but what starts a server, and what tests one.
"""

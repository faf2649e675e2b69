"""The rules of accounts, roles and running sessions, as owners and administrators handle them.

No password is hashed here, and no message sent.
"""

"""The administration: clients, people, roles, online users and the audit trail, as pages.

Lists show what the interface's resources declare; changes are the same events, so the pages can do nothing
that the interface could not.
"""

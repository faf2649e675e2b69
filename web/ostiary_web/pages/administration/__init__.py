"""Pages of the administration: clients, users, roles, sessions and the audit trail.

Lists show what the interface's resources declare, and changes are the same events: pages can do nothing that
the interface cannot.
"""

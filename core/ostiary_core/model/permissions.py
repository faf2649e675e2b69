"""The permissions of the administration interface and the one role that holds them all."""

from enum import StrEnum
from typing import Final

SUPER_ADMINISTRATOR: Final = "super_admin"
"""Identifier and code of the built-in role that holds every permission and cannot be changed."""


class Permission(StrEnum):
    """The permissions a role can hold, one for each kind of action."""

    CLIENT_LIST = "oauth.client.list"
    CLIENT_CREATE = "oauth.client.create"
    CLIENT_UPDATE = "oauth.client.update"
    CLIENT_DELETE = "oauth.client.delete"
    USER_LIST = "iam.user.list"
    USER_CREATE = "iam.user.create"
    USER_UPDATE = "iam.user.update"
    USER_DELETE = "iam.user.delete"
    ROLE_LIST = "iam.role.list"
    ROLE_CREATE = "iam.role.create"
    ROLE_UPDATE = "iam.role.update"
    ROLE_DELETE = "iam.role.delete"
    ONLINE_LIST = "monitor.online.list"
    ONLINE_KILL = "monitor.online.kill"
    AUDIT_READ = "audit.read"


ALL_PERMISSIONS: Final = tuple(permission.value for permission in Permission)
"""Codes of all permissions, as the super administrator and the operator hold them."""


class TokenPower(StrEnum):
    """What a personal access token may do only if this was chosen too, as it cannot prove its user.

    No role holds one: with a login session a proof stands for it (READINGS 57).
    """

    CREDENTIALS = "iam.user.credentials"
    """To reset passwords and second factors, and to change telephone numbers."""
    ROLES = "iam.role.assign"
    """To give roles, and to change what a role allows."""


ALL_POWERS: Final = tuple(power.value for power in TokenPower)

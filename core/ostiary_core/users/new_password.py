"""The rules of a new password; a runtime applies them before it hashes, and the core never stores one."""

from typing import Final

from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.policy import SPECIFICATION, Policy

LONGEST_PASSWORD: Final = 256
"""Characters; longer passwords are refused before they are hashed."""


def new_password_faults(
    path: str, new: str, current: str | None = None, policy: Policy = SPECIFICATION
) -> tuple[FieldFault, ...]:
    """Find the faults of a new password in the field `path`; `current` is the one it replaces.

    >>> [(fault.path, fault.rule.value) for fault in new_password_faults("newPassword", "short")]
    [('newPassword', 'password')]
    """
    if not policy.minimum_password_length <= len(new) <= LONGEST_PASSWORD:
        return (FieldFault(path, FieldRule.PASSWORD),)
    if new == current:
        return (FieldFault(path, FieldRule.PASSWORD_UNCHANGED),)
    return ()

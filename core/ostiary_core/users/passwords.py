"""The rules for a new password. A runtime applies them before it hashes; the core never stores one."""

from typing import Final

from ostiary_core.model.decision import FieldFault, FieldRule
from ostiary_core.model.policy import SPECIFICATION, Policy

__all__ = ["LONGEST_PASSWORD", "new_password_faults"]

LONGEST_PASSWORD: Final = 256
"""Characters; longer ones are refused before anything is hashed."""


def new_password_faults(
    path: str, new: str, current: str | None = None, policy: Policy = SPECIFICATION
) -> tuple[FieldFault, ...]:
    """Find the faults of a new password in the field `path`; `current` is the one it replaces.

    >>> new_password_faults("newPassword", "short")
    (FieldFault(path='newPassword', rule=<FieldRule.PASSWORD: 'password'>),)
    """
    if not policy.minimum_password_length <= len(new) <= LONGEST_PASSWORD:
        return (FieldFault(path, FieldRule.PASSWORD),)
    if new == current:
        return (FieldFault(path, FieldRule.PASSWORD_UNCHANGED),)
    return ()

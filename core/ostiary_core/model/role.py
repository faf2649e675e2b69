"""A role: its record, and the declaration of its fields (API, "People")."""

import re
from typing import ClassVar, Final

from ostiary_core.model.fields import FieldRule
from ostiary_core.model.immutable import immutable
from ostiary_core.model.key import Key, RawKey, Table, make_key
from ostiary_core.model.permissions import ALL_PERMISSIONS, SUPER_ADMINISTRATOR
from ostiary_core.model.record_type import NAME, Kind, RecordField, RecordType, Setting

ROLE_CODE: Final = re.compile(r"[a-z][a-z0-9._-]{0,63}", re.ASCII)


@immutable(kw_only=True)
class Role:
    """A named set of permissions; its identifier is its code. `super_admin` holds every one of them."""

    table: ClassVar[Table] = Table.ROLE
    references: ClassVar[tuple[RawKey, ...]] = ()

    role_id: str
    name: str
    permissions: tuple[str, ...] = ()
    built_in: bool = False
    holders: int = 0
    """Number of users with the role, disabled ones too; a role that is held cannot be deleted."""
    enabled_holders: int = 0
    """Number of enabled users with the role; protects the last super administrator."""
    revision: int = 1

    @property
    def key(self) -> Key:
        return make_key(Key, (self.table, self.role_id))


def permissions_in(role: Role) -> tuple[str, ...]:
    """Return the permissions of a role; the built-in one has all, also those of a later version."""
    return ALL_PERMISSIONS if role.role_id == SUPER_ADMINISTRATOR else role.permissions


ROLE: Final[RecordType[Role]] = RecordType(
    name="roles",
    identifier="role_id",
    default_sort="role_id",
    blank=Role(role_id="", name=""),
    fields=(
        RecordField("id", Kind.TEXT, "role_id", in_sheets=False),
        RecordField(
            name="code",
            kind=Kind.TEXT,
            attribute="role_id",
            setting=Setting.ONCE,
            is_required=True,
            most=64,
            is_valid=lambda text: ROLE_CODE.fullmatch(text) is not None,
            rule=FieldRule.ROLE_CODE,
            is_sorted=True,
            is_filtered=True,
            is_searched=True,
        ),
        NAME,
        RecordField(
            name="permissions",
            kind=Kind.CODES,
            attribute="permissions",
            setting=Setting.EDITED,
            choices=lambda policy: ALL_PERMISSIONS,
            rule=FieldRule.PERMISSION,
            read_value=permissions_in,
        ),
        RecordField("builtIn", Kind.BOOLEAN, "built_in", is_filtered=True),
    ),
)

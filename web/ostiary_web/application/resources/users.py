"""The resource of users: accounts, as an administrator handles them.

Passwords go no further than this module: they are checked and hashed off the event loop, and events carry
only the hash.
"""

from collections.abc import Collection
from typing import Final

from ostiary_core import events
from ostiary_core.model.fields import FieldFault, FieldReader, FieldRule, Fields
from ostiary_core.model.instant import Instant
from ostiary_core.model.reply import UserKnown
from ostiary_core.model.user import USER, User, new_password_faults
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import ROLES, USERS, Listing, ListingStore
from ostiary_net.runtime.foreign_hashes import normalize_foreign_hash
from ostiary_web.application.resources.fields import ListView, fields_of
from ostiary_web.application.resources.records import ids_in
from ostiary_web.application.resources.resource import Permissions, RecordContext, Resource
from ostiary_web.http.context import RequestContext
from ostiary_web.http.zones import is_zone

PATH: Final = "/api/iam/users"
_PASSWORD: Final = "password"
_PASSWORD_HASH: Final = "passwordHash"
_ROLES: Final = "roleIds"
_MOST_ROLES: Final = 10_000
_ADD: Final = "add"
_REMOVE: Final = "remove"


# --- events


async def _make_registration(context: RecordContext, fields: Fields) -> events.UserRegistered:
    password_hash, faults = await _hash_password(context, fields)
    fields = normalize_phone_number(context, fields)
    return events.UserRegistered(
        caller=context.caller,
        fields={name: value for name, value in fields.items() if name != _PASSWORD},
        password_hash=password_hash,
        faults=(*_require_password(password_hash, faults), *check_zone(fields)),
        entropy=context.draw_entropy(),
    )


def _make_change(
    context: RecordContext, user_id: str, fields: Fields, shown: Fields | None
) -> events.UserChanged:
    return events.UserChanged(
        caller=context.caller,
        user_id=user_id,
        fields=normalize_phone_number(context, fields),
        faults=check_zone(fields),
        shown=shown,
    )


async def _make_import(context: RecordContext, fields: Fields, replace: bool) -> events.UserImported:
    foreign_hash, hash_faults = _read_foreign_hash(fields)
    password_hash, faults = (
        (None, ()) if hash_faults else await _hash_password(context, fields, may_be_refused=False)
    )
    return events.UserImported(
        caller=context.caller,
        fields=normalize_phone_number(context, _drop_passwords(fields)),
        replace=replace,
        password_hash=password_hash,
        foreign_hash=foreign_hash,
        faults=(*faults, *hash_faults, *check_zone(fields)),
        entropy=context.draw_entropy(),
    )


def normalize_phone_number(context: RecordContext, fields: Fields) -> Fields:
    """Return the fields of an account with its telephone number in canonical form."""
    phone = fields.get("phone")
    return {**fields, "phone": context.phone_number(phone)} if isinstance(phone, str) else fields


def _drop_passwords(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if name not in (_PASSWORD, _PASSWORD_HASH)}


def _read_foreign_hash(fields: Fields) -> tuple[str | None, tuple[FieldFault, ...]]:
    """Return the storable form of another system's hash among the fields, or its fault."""
    text = fields.get(_PASSWORD_HASH)
    if text is None or text == "":
        return None, ()
    kept: str | FieldRule
    if fields.get(_PASSWORD):
        kept = FieldRule.PASSWORD_TWICE
    else:
        kept = normalize_foreign_hash(text.strip()) if isinstance(text, str) else FieldRule.STRING
    return (None, (FieldFault(_PASSWORD_HASH, kept),)) if isinstance(kept, FieldRule) else (kept, ())


async def _hash_password(
    context: RecordContext, fields: Fields, *, may_be_refused: bool = True
) -> tuple[str | None, tuple[FieldFault, ...]]:
    """Return the hash of the password among the fields, or its faults; nothing if there is none."""
    password = fields.get(_PASSWORD)
    if password is None or password == "":
        return None, ()
    if not isinstance(password, str) or "\x00" in password:
        return None, (FieldFault(_PASSWORD, FieldRule.STRING),)
    faults = new_password_faults(_PASSWORD, password)
    if faults:
        return None, faults
    return await context.passwords.hash(password, may_be_refused=may_be_refused), ()


def _require_password(password_hash: str | None, faults: tuple[FieldFault, ...]) -> tuple[FieldFault, ...]:
    """Return the faults of a password that must be there."""
    if password_hash is None and not faults:
        return (FieldFault(_PASSWORD, FieldRule.REQUIRED),)
    return faults


def check_zone(fields: Fields) -> tuple[FieldFault, ...]:
    """Return the fault of an unknown time zone."""
    # The core has no list of zones; it refuses what is no text itself.
    zone = fields.get("timezone")
    if isinstance(zone, str) and zone and not is_zone(zone):
        return (FieldFault("timezone", FieldRule.TIMEZONE),)
    return ()


RESOURCE: Final = Resource(
    path=PATH,
    permissions=Permissions.of("iam.user"),
    list_view=ListView(name="users", source=USERS, fields=fields_of(USER)),
    record_type=USER,
    show=events.UserRequested,
    register=_make_registration,
    change=_make_change,
    delete=events.UserDeleted,
    enable=events.UserEnabled,
    disable=events.UserDisabled,
    import_row=_make_import,
    has_password=lambda fields: bool(fields.get(_PASSWORD)),
)


async def read_role_changes(
    context: RequestContext,
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Read `{ids, add, remove}`: users, and the roles to give to and to take from each."""
    reader = FieldReader(await context.json_object(), frozenset({"ids", _ADD, _REMOVE}))
    ids, add, remove = ids_in(reader), reader.texts(_ADD, ()), reader.texts(_REMOVE, ())
    if not (add or remove):
        reader.fault(_ADD, FieldRule.REQUIRED)
    roles = await context.query(list_role_ids)
    for place, role_id in enumerate(add):
        if role_id not in roles:
            reader.fault(f"{_ADD}.{place}", FieldRule.ROLE)
    return context.refuse(Why.FIELDS_INVALID, reader.faults) if reader.faults else (ids, add, remove)


def list_role_ids(store: ListingStore, now: Instant) -> frozenset[str]:
    """Return the codes of all roles."""
    listing = Listing(resource=ROLES, page_size=_MOST_ROLES)
    return frozenset(role.role_id for role in store.items_after(listing, None, now))


def make_role_change(
    context: RecordContext, user: User, give: Collection[str], take: Collection[str]
) -> events.UserChanged | None:
    """Return the event that gives and takes roles; None if the user has those and not these."""
    kept = [role_id for role_id in user.role_ids if role_id not in take]
    role_ids = [*kept, *(role_id for role_id in give if role_id not in user.role_ids)]
    if role_ids == [*user.role_ids]:
        return None
    # With what the roles were: given and taken is what was meant, not the whole list.
    shown = {_ROLES: [*user.role_ids]}
    return events.UserChanged(
        caller=context.caller, user_id=user.user_id, fields={_ROLES: role_ids}, shown=shown
    )


async def make_password_reset(
    context: RecordContext, user_id: str, fields: Fields
) -> events.PasswordResetByAdministrator:
    """Return the event for `{password}`; raise `RequestRefused` with its faults."""
    password_hash, faults = await _hash_password(context, fields)
    unknown = tuple(FieldFault(name, FieldRule.UNKNOWN) for name in fields if name != _PASSWORD)
    if password_hash is None or unknown:
        context.refuse(Why.FIELDS_INVALID, (*_require_password(password_hash, faults), *unknown))
    return events.PasswordResetByAdministrator(
        caller=context.caller, user_id=user_id, new_password_hash=password_hash
    )


async def request_user(context: RequestContext, user_id: str) -> UserKnown:
    """Return a user, with what is known beside the account; raise `RequestRefused`."""
    known = await context.decide(events.UserRequested(caller=context.caller, user_id=user_id))
    assert isinstance(known, UserKnown)
    return known

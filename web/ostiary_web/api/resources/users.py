"""`/api/iam/users`: the accounts, as an administrator handles them.

Passwords go no further than this module: they are checked, hashed off the event loop, and the hash alone is
in the event.
"""

from typing import Final

from quart import Response

from ostiary_core.events import (
    ConsentWithdrawnByAdministrator,
    PasswordResetByAdministrator,
    UserChanged,
    UserDeleted,
    UserDisabled,
    UserEnabled,
    UserForcedOut,
    UserImported,
    UserRegistered,
    UserRequested,
)
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import User
from ostiary_core.model.reply import Reply, UserKnown
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import USERS
from ostiary_core.users.user_fields import new_password_faults
from ostiary_net.runtime.foreign_hashes import normalize_foreign_hash
from ostiary_web.api.grants import grants_of
from ostiary_web.api.resources.fields import Column, Field, Kind, ListView, as_they_are
from ostiary_web.api.resources.records import refuse_body
from ostiary_web.api.resources.resource import Fields, ImportContext, Permissions, Resource, Switch
from ostiary_web.api.resources.routes import blueprint_of
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import require_permission
from ostiary_web.http.zones import is_zone

_PATH: Final = "/api/iam/users"
_PASSWORD: Final = "password"
_PASSWORD_HASH: Final = "passwordHash"

_FIELDS: Final[tuple[Field[User], ...]] = (
    Field("id", Kind.TEXT, lambda user: user.user_id, listing_name="user_id", column=Column.EXPORT_ONLY),
    Field(
        "username",
        Kind.TEXT,
        lambda user: user.username,
        listing_name="username",
        column=Column.IMPORT_EXPORT,
    ),
    Field("name", Kind.TEXT, lambda user: user.name, listing_name="name", column=Column.IMPORT_EXPORT),
    Field("phone", Kind.TEXT, lambda user: user.phone, listing_name="phone", column=Column.IMPORT_EXPORT),
    Field(_PASSWORD, Kind.TEXT, lambda user: None, column=Column.IMPORT_ONLY),
    Field(_PASSWORD_HASH, Kind.TEXT, lambda user: None, column=Column.IMPORT_ONLY),
    Field(
        "enabled",
        Kind.BOOLEAN,
        lambda user: user.enabled,
        listing_name="enabled",
        column=Column.IMPORT_EXPORT,
    ),
    Field(
        "mustChangePassword",
        Kind.BOOLEAN,
        lambda user: user.must_change_password,
        column=Column.IMPORT_EXPORT,
    ),
    Field("roleIds", Kind.CODES, lambda user: user.role_ids, column=Column.IMPORT_EXPORT),
    Field("locale", Kind.TEXT, lambda user: user.locale, column=Column.IMPORT_EXPORT),
    Field("timezone", Kind.TEXT, lambda user: user.timezone, column=Column.IMPORT_EXPORT),
    Field("avatarUrl", Kind.TEXT, lambda user: user.avatar_url, column=Column.EXPORT_ONLY),
    Field(
        "createdAt",
        Kind.TIME,
        lambda user: user.created_at,
        listing_name="created_at",
        column=Column.EXPORT_ONLY,
    ),
    Field(
        "updatedAt",
        Kind.TIME,
        lambda user: user.updated_at,
        listing_name="updated_at",
        column=Column.EXPORT_ONLY,
    ),
)


# --- events


async def _registered(context: RequestContext, fields: Fields) -> UserRegistered:
    password_hash, faults = await _hashed(context, fields)
    fields = with_phone_number(context, fields)
    return UserRegistered(
        caller=context.caller,
        fields={name: value for name, value in fields.items() if name != _PASSWORD},
        password_hash=password_hash,
        faults=(*_unless_given(password_hash, faults), *_zone_faults(fields)),
        entropy=context.entropy(),
    )


def _changed(context: RequestContext, user_id: str, fields: Fields, shown: Fields | None) -> UserChanged:
    return UserChanged(
        caller=context.caller,
        user_id=user_id,
        fields=with_phone_number(context, fields),
        faults=_zone_faults(fields),
        shown=shown,
    )


async def _imported(context: ImportContext, fields: Fields, replace: bool) -> UserImported:
    foreign_hash, hash_faults = _foreign_hash(fields)
    password_hash, faults = (None, ()) if hash_faults else await _hashed(context, fields)
    return UserImported(
        caller=context.caller,
        fields=with_phone_number(context, _without_passwords(fields)),
        replace=replace,
        password_hash=password_hash,
        foreign_hash=foreign_hash,
        faults=(*faults, *hash_faults, *_zone_faults(fields)),
        entropy=context.entropy(),
    )


def with_phone_number(context: ImportContext, fields: Fields) -> Fields:
    """The fields of an account with its telephone number in its one form."""
    phone = fields.get("phone")
    return {**fields, "phone": context.phone_number(phone)} if isinstance(phone, str) else fields


def _without_passwords(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if name not in (_PASSWORD, _PASSWORD_HASH)}


def _foreign_hash(fields: Fields) -> tuple[str | None, tuple[FieldFault, ...]]:
    """What is kept of another system's hash among the fields, where there is one; what is wrong with it."""
    text = fields.get(_PASSWORD_HASH)
    if text is None or text == "":
        return None, ()
    kept: str | FieldRule
    if fields.get(_PASSWORD):
        kept = FieldRule.PASSWORD_TWICE
    else:
        kept = normalize_foreign_hash(text.strip()) if isinstance(text, str) else FieldRule.STRING
    return (None, (FieldFault(_PASSWORD_HASH, kept),)) if isinstance(kept, FieldRule) else (kept, ())


async def _hashed(context: ImportContext, fields: Fields) -> tuple[str | None, tuple[FieldFault, ...]]:
    """The hash of the password among the fields, where there is one; what is wrong with it."""
    password = fields.get(_PASSWORD)
    if password is None or password == "":
        return None, ()
    if not isinstance(password, str) or "\x00" in password:
        return None, (FieldFault(_PASSWORD, FieldRule.STRING),)
    faults = new_password_faults(_PASSWORD, password)
    if faults:
        return None, faults
    return await context.passwords.hash(password), ()


def _unless_given(password_hash: str | None, faults: tuple[FieldFault, ...]) -> tuple[FieldFault, ...]:
    """What is wrong with a password that there must be."""
    if password_hash is None and not faults:
        return (FieldFault(_PASSWORD, FieldRule.REQUIRED),)
    return faults


def _zone_faults(fields: Fields) -> tuple[FieldFault, ...]:
    """Which zones there are the rules do not know; what is no text at all, they see themselves."""
    zone = fields.get("timezone")
    if isinstance(zone, str) and zone and not is_zone(zone):
        return (FieldFault("timezone", FieldRule.TIMEZONE),)
    return ()


def _known(reply: Reply) -> User | None:
    return reply.user if isinstance(reply, UserKnown) else None


RESOURCE: Final = Resource(
    path=_PATH,
    permissions=Permissions(
        list=Permission.USER_LIST,
        create=Permission.USER_CREATE,
        update=Permission.USER_UPDATE,
        delete=Permission.USER_DELETE,
    ),
    list_view=ListView(name="users", source=USERS, fields=_FIELDS, shown=as_they_are),
    label=lambda user: user.name,
    identify=lambda user: user.user_id,
    show=lambda who, user_id: UserRequested(caller=who, user_id=user_id),
    register=_registered,
    change=_changed,
    delete=lambda who, user_id: UserDeleted(caller=who, user_id=user_id),
    switch=Switch(
        enable=lambda who, user_id: UserEnabled(caller=who, user_id=user_id),
        disable=lambda who, user_id: UserDisabled(caller=who, user_id=user_id),
    ),
    import_row=_imported,
    takes_hash=lambda fields: bool(fields.get(_PASSWORD)),
    known=_known,
    revision=lambda user: user.revision,
)

users = blueprint_of(RESOURCE)


# --- actions


@users.put(f"{_PATH}/<user_id>/password", gate=require_permission(Permission.USER_UPDATE))
async def reset_password(context: RequestContext, user_id: str) -> Response:
    """`{password}`, which the user must change; ends all that the user has open."""
    content = await context.json_object()
    await context.decide(await password_reset(context, user_id, content))
    return context.success(None)


async def password_reset(
    context: RequestContext, user_id: str, fields: Fields
) -> PasswordResetByAdministrator:
    """The event that `{password}` stands for; raises `RequestRefused` with what is wrong with it."""
    password_hash, faults = await _hashed(context, fields)
    unknown = tuple(FieldFault(name, FieldRule.UNKNOWN) for name in fields if name != _PASSWORD)
    if password_hash is None or unknown:
        context.refuse(Why.FIELDS_INVALID, (*_unless_given(password_hash, faults), *unknown))
    return PasswordResetByAdministrator(
        caller=context.caller, user_id=user_id, new_password_hash=password_hash
    )


@users.post(f"{_PATH}/<user_id>/force-logout", gate=require_permission(Permission.USER_UPDATE))
async def force_out(context: RequestContext, user_id: str) -> Response:
    """All sessions and unredeemed codes of the user end."""
    refuse_body(context)
    await context.decide(UserForcedOut(caller=context.caller, user_id=user_id))
    return context.success(None)


@users.get(f"{_PATH}/<user_id>/grants", gate=require_permission(Permission.USER_LIST))
async def list_grants(context: RequestContext, user_id: str) -> Response:
    """The systems that the user lets act for them, each with its running sessions."""
    await context.decide(UserRequested(caller=context.caller, user_id=user_id))
    return context.success(await grants_of(context, user_id))


@users.delete(f"{_PATH}/<user_id>/grants/<client_id>", gate=require_permission(Permission.USER_UPDATE))
async def withdraw_grant(context: RequestContext, user_id: str, client_id: str) -> Response:
    """Withdraw on the user's behalf: that system's sessions of the user end, and it asks again."""
    refuse_body(context)
    await context.decide(
        ConsentWithdrawnByAdministrator(caller=context.caller, user_id=user_id, client_id=client_id)
    )
    return context.success(None)

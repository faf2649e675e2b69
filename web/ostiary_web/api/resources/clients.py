"""`/api/oauth/clients`: the third parties, their secrets and their sessions ("Client")."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from msgspec import Meta
from quart import Response

from ostiary_core.clients.client_fields import ACCESS_TOKEN_SECONDS, REFRESH_TOKEN_SECONDS
from ostiary_core.events import (
    ClientChanged,
    ClientDeleted,
    ClientDisabled,
    ClientEnabled,
    ClientImported,
    ClientRegistered,
    ClientRequested,
    ClientSecretReset,
    OldSecretEnded,
)
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Client, GrantType
from ostiary_core.model.reply import ClientKnown, Reply, SecretIssued
from ostiary_core.oauth.scopes import SCOPES
from ostiary_core.storage.listing import CLIENTS, ListingStore
from ostiary_web.api.answer_data import AnswerData
from ostiary_web.api.resources.fields import Column, Field, Kind, ListView, LocalizedText
from ostiary_web.api.resources.lists import answer_list
from ostiary_web.api.resources.online import running_sessions
from ostiary_web.api.resources.records import answer_change, read_object_or_nothing, refuse_body
from ostiary_web.api.resources.resource import Fields, Permissions, Resource, Switch
from ostiary_web.api.resources.routes import blueprint_of
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import require_permission

_PATH: Final = "/api/oauth/clients"
_GRANTS: Final = ", ".join(grant.value for grant in GrantType)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A client, and what the audit trail knows of it."""

    client: Client
    last_used_at: Instant | None


_FIELDS: Final[tuple[Field[_Shown], ...]] = (
    Field("id", Kind.TEXT, LocalizedText("Identifier", "标识"), lambda shown: shown.client.client_id),
    Field(
        "clientId",
        Kind.TEXT,
        LocalizedText("Client ID", "客户端标识"),
        lambda shown: shown.client.client_id,
        listing_name="client_id",
        column=Column.IMPORT_EXPORT,
        note=LocalizedText(
            "Required. Never changes; a row with the identifier of a client there is changes that client.",
            "必填，创建后不可修改；若该标识的客户端已存在，则更新该客户端。",
        ),
    ),
    Field(
        "name",
        Kind.TEXT,
        LocalizedText("Name", "名称"),
        lambda shown: shown.client.name,
        listing_name="name",
        column=Column.IMPORT_EXPORT,
        note=LocalizedText("Required. What users are shown.", "必填，展示给用户的名称。"),
    ),
    Field(
        "redirectUris",
        Kind.TEXTS,
        LocalizedText("Redirect addresses", "回调地址"),
        lambda shown: shown.client.redirect_uris,
        column=Column.IMPORT_EXPORT,
        note=LocalizedText(
            "One a line, https:// first (http://localhost and http://127.0.0.1 for local use).",
            "每行一个，须以 https:// 开头（本地可用 http://localhost 或 http://127.0.0.1）。",
        ),
    ),
    Field(
        "grantTypes",
        Kind.CODES,
        LocalizedText("Grants", "授权类型"),
        lambda shown: tuple(grant.value for grant in shown.client.grant_types),
        column=Column.IMPORT_EXPORT,
        note=LocalizedText(f"Required. Any of: {_GRANTS}.", f"必填，可多选：{_GRANTS}。"),
    ),
    Field(
        "scopes",
        Kind.CODES,
        LocalizedText("Scopes", "权限范围"),
        lambda shown: shown.client.scopes,
        column=Column.IMPORT_EXPORT,
        note=LocalizedText(f"Any of: {', '.join(SCOPES)}.", f"可选值：{', '.join(SCOPES)}。"),
    ),
    Field(
        "autoApproveScopes",
        Kind.CODES,
        LocalizedText("Scopes without consent", "免确认权限范围"),
        lambda shown: shown.client.auto_approve_scopes,
        column=Column.IMPORT_EXPORT,
        note=LocalizedText(
            "Those of the scopes that users are not asked about.", "上述权限范围中无需用户确认的部分。"
        ),
    ),
    Field(
        "accessTokenTtl",
        Kind.INTEGER,
        LocalizedText("Access token, seconds", "访问令牌有效期（秒）"),
        lambda shown: shown.client.access_token_seconds,
        column=Column.IMPORT_EXPORT,
        note=LocalizedText(
            f"{ACCESS_TOKEN_SECONDS.least} to {ACCESS_TOKEN_SECONDS.most}; "
            f"{ACCESS_TOKEN_SECONDS.default} where it is empty.",
            f"{ACCESS_TOKEN_SECONDS.least} 到 {ACCESS_TOKEN_SECONDS.most}，"
            f"留空时为 {ACCESS_TOKEN_SECONDS.default}。",
        ),
    ),
    Field(
        "refreshTokenTtl",
        Kind.INTEGER,
        LocalizedText("Refresh token, seconds", "刷新令牌有效期（秒）"),
        lambda shown: shown.client.refresh_token_seconds,
        column=Column.IMPORT_EXPORT,
        note=LocalizedText(
            f"{REFRESH_TOKEN_SECONDS.least} to {REFRESH_TOKEN_SECONDS.most}; "
            f"{REFRESH_TOKEN_SECONDS.default} where it is empty.",
            f"{REFRESH_TOKEN_SECONDS.least} 到 {REFRESH_TOKEN_SECONDS.most}，"
            f"留空时为 {REFRESH_TOKEN_SECONDS.default}。",
        ),
    ),
    Field(
        "enabled",
        Kind.BOOLEAN,
        LocalizedText("Enabled", "启用"),
        lambda shown: shown.client.enabled,
        listing_name="enabled",
        column=Column.IMPORT_EXPORT,
        note=LocalizedText(
            "For new clients; yes where it is empty. One that is there is enabled and disabled elsewhere.",
            "仅对新建有效，留空为启用；已存在的客户端请在系统中启用或停用。",
        ),
    ),
    Field(
        "builtIn",
        Kind.BOOLEAN,
        LocalizedText("Built in", "内置"),
        lambda shown: shown.client.built_in,
        listing_name="built_in",
        column=Column.EXPORT_ONLY,
    ),
    Field(
        "createdAt",
        Kind.TIME,
        LocalizedText("Created at", "创建时间"),
        lambda shown: shown.client.created_at,
        listing_name="created_at",
        column=Column.EXPORT_ONLY,
    ),
    Field(
        "updatedAt",
        Kind.TIME,
        LocalizedText("Updated at", "更新时间"),
        lambda shown: shown.client.updated_at,
        listing_name="updated_at",
        column=Column.EXPORT_ONLY,
    ),
    Field(
        "lastUsedAt",
        Kind.TIME,
        LocalizedText("Last used at", "最近使用时间"),
        lambda shown: shown.last_used_at,
        column=Column.EXPORT_ONLY,
    ),
    Field(
        "secretLastUsedAt",
        Kind.TIME,
        LocalizedText("Secret last used at", "密钥最近使用时间"),
        lambda shown: shown.client.secret_used_at,
        column=Column.EXPORT_ONLY,
    ),
    Field(
        "oldSecretLastUsedAt",
        Kind.TIME,
        LocalizedText("Old secret last used at", "旧密钥最近使用时间"),
        lambda shown: shown.client.old_secret_used_at,
        column=Column.EXPORT_ONLY,
    ),
    Field(
        "oldSecretUntil",
        Kind.TIME,
        LocalizedText("Old secret works until", "旧密钥有效期至"),
        lambda shown: shown.client.old_secret_until,
        column=Column.EXPORT_ONLY,
    ),
    Field(
        "wrongSecrets",
        Kind.INTEGER,
        LocalizedText("Wrong secrets", "错误密钥次数"),
        lambda shown: shown.client.wrong_secrets,
        column=Column.EXPORT_ONLY,
    ),
    Field(
        "wrongSecretLastAt",
        Kind.TIME,
        LocalizedText("Last wrong secret at", "最近错误密钥时间"),
        lambda shown: shown.client.wrong_secret_at,
        column=Column.EXPORT_ONLY,
    ),
)


def _shown(store: ListingStore | None, found: Sequence[Client]) -> list[_Shown]:
    if store is None:
        return [_Shown(client, None) for client in found]
    last_used = store.last_used([client.client_id for client in found])
    return [_Shown(client, last_used.get(client.client_id)) for client in found]


async def _registered(context: RequestContext, fields: Fields) -> ClientRegistered:
    return ClientRegistered(caller=context.caller, fields=fields, entropy=context.entropy())


async def _imported(context: RequestContext, fields: Fields, replace: bool) -> ClientImported:
    return ClientImported(caller=context.caller, fields=fields, replace=replace, entropy=context.entropy())


def _known(reply: Reply) -> Client | None:
    return reply.client if isinstance(reply, ClientKnown | SecretIssued) else None


RESOURCE: Final = Resource(
    name="clients",
    path=_PATH,
    title=LocalizedText("Clients", "客户端"),
    permissions=Permissions(
        list=Permission.CLIENT_LIST,
        create=Permission.CLIENT_CREATE,
        update=Permission.CLIENT_UPDATE,
        delete=Permission.CLIENT_DELETE,
    ),
    list_view=ListView(source=CLIENTS, fields=_FIELDS, shown=_shown),
    label=lambda client: client.name,
    identify=lambda client: client.client_id,
    show=lambda who, client_id: ClientRequested(caller=who, client_id=client_id),
    register=_registered,
    change=lambda who, client_id, fields, shown: ClientChanged(
        caller=who, client_id=client_id, fields=fields, shown=shown
    ),
    delete=lambda who, client_id: ClientDeleted(caller=who, client_id=client_id),
    switch=Switch(
        enable=lambda who, client_id: ClientEnabled(caller=who, client_id=client_id),
        disable=lambda who, client_id: ClientDisabled(caller=who, client_id=client_id),
    ),
    import_row=_imported,
    known=_known,
    revision=lambda client: client.revision,
)

clients = blueprint_of(RESOURCE)

ClientSecret = Annotated[str, Meta(pattern="^[A-Za-z0-9]{43,}$", description="Shown this once.")]


class NewSecret(AnswerData):
    """What a client authenticates with from now on."""

    secret: ClientSecret


@clients.post(f"{_PATH}/<client_id>/secret", gate=require_permission(Permission.CLIENT_UPDATE))
async def reset_secret(context: RequestContext, client_id: str) -> Response:
    """A new secret, shown this once; it ends nothing but the old one, and with `{keepOldForSeconds}` not
    even that before its time."""
    fields = await read_object_or_nothing(context)
    reply = await context.decide(
        ClientSecretReset(
            caller=context.caller, client_id=client_id, fields=fields, entropy=context.entropy()
        )
    )
    assert isinstance(reply, SecretIssued)
    return context.success(NewSecret(secret=reply.secret.reveal()))


@clients.delete(f"{_PATH}/<client_id>/old-secret", gate=require_permission(Permission.CLIENT_UPDATE))
async def end_old_secret(context: RequestContext, client_id: str) -> Response:
    """The old secret that was to work on for a time stops working now."""
    refuse_body(context)
    reply = await context.decide(OldSecretEnded(caller=context.caller, client_id=client_id))
    return await answer_change(context, RESOURCE, reply)


@clients.get(f"{_PATH}/<client_id>/sessions", gate=require_permission(Permission.CLIENT_LIST))
async def list_sessions(context: RequestContext, client_id: str) -> Response:
    """The running sessions of the client that the caller may see."""
    await context.decide(ClientRequested(caller=context.caller, client_id=client_id))
    return await answer_list(context, running_sessions(context), only={"client_id": client_id})

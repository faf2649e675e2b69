"""`ostiary client …`: the third parties that may ask this server for tokens."""

from typing import Final

import click

from ostiary_core.clients.client_secret import KEEP_OLD_FOR
from ostiary_core.events import (
    ClientDisabled,
    ClientEnabled,
    ClientRegistered,
    ClientSecretReset,
    Event,
    OldSecretEnded,
)
from ostiary_core.model.records import Client, GrantType
from ostiary_core.model.reply import ClientKnown, Reply, SecretIssued
from ostiary_core.oauth.scopes import SCOPES
from ostiary_core.storage.listing import CLIENTS, Listing
from ostiary_web.api.resources.clients import RESOURCE
from ostiary_web.cli.context import OPERATOR, CommandContext, Record, run
from ostiary_web.cli.durations import Duration
from ostiary_web.cli.printing import Labels, Printer, with_paging, with_printer

_LISTED: Final[Labels] = {
    "clientId": ("CLIENT", "客户端"),
    "name": ("NAME", "名称"),
    "grantTypes": ("GRANTS", "授权类型"),
    "enabled": ("ENABLED", "启用"),
    "createdAt": ("CREATED", "创建时间"),
}
_SHOWN: Final[Labels] = {
    "clientId": ("Client", "客户端"),
    "name": ("Name", "名称"),
    "redirectUris": ("Redirect addresses", "回调地址"),
    "grantTypes": ("Grants", "授权类型"),
    "scopes": ("Scopes", "权限范围"),
    "autoApproveScopes": ("Needs no consent", "免确认范围"),
    "accessTokenTtl": ("Access token, seconds", "访问令牌有效期（秒）"),
    "refreshTokenTtl": ("Refresh token, seconds", "刷新令牌有效期（秒）"),
    "enabled": ("Enabled", "启用"),
    "secretLastUsedAt": ("Secret last used", "密钥最近使用"),
    "oldSecretUntil": ("Old secret works until", "旧密钥有效期至"),
    "oldSecretLastUsedAt": ("Old secret last used", "旧密钥最近使用"),
    "wrongSecrets": ("Wrong secrets", "错误密钥次数"),
    "wrongSecretLastAt": ("Last wrong secret", "最近错误密钥"),
    "secret": ("Secret, shown this once", "密钥（仅显示一次）"),
}


@click.group()
def client() -> None:
    """Register clients and look after them."""


@client.command()
@click.argument("client_id")
@click.option("--name", help="The display name; the identifier itself by default.")
@click.option(
    "--grant",
    "grant_types",
    multiple=True,
    type=click.Choice([grant.value for grant in GrantType]),
    help="A grant it may use; repeat for more. By default authorization_code and refresh_token.",
)
@click.option("--redirect-uri", "redirect_uris", multiple=True, help="A redirect address; repeat for more.")
@click.option("--scope", "scopes", multiple=True, help="A scope; repeat for more. By default every one.")
@click.option(
    "--auto-approve", "auto_approve_scopes", multiple=True, help="A scope that needs no consent; repeat."
)
@click.option("--access-token-ttl", type=int, help="Seconds that an access token is good for.")
@click.option("--refresh-token-ttl", type=int, help="Seconds that one authorization lasts at most.")
@with_printer
def create(
    printer: Printer,
    client_id: str,
    name: str | None,
    grant_types: tuple[str, ...],
    redirect_uris: tuple[str, ...],
    scopes: tuple[str, ...],
    auto_approve_scopes: tuple[str, ...],
    access_token_ttl: int | None,
    refresh_token_ttl: int | None,
) -> None:
    """Register CLIENT_ID, and print its secret this once."""
    asked: dict[str, object] = {
        "clientId": client_id,
        "name": name or client_id,
        "grantTypes": list(grant_types or (GrantType.AUTHORIZATION_CODE, GrantType.REFRESH_TOKEN)),
        "redirectUris": list(redirect_uris),
        "scopes": list(scopes or SCOPES),
        "autoApproveScopes": list(auto_approve_scopes),
    }
    if access_token_ttl is not None:
        asked["accessTokenTtl"] = access_token_ttl
    if refresh_token_ttl is not None:
        asked["refreshTokenTtl"] = refresh_token_ttl

    async def work(context: CommandContext) -> Record:
        event = ClientRegistered(caller=OPERATOR, fields=asked, entropy=context.entropy())
        return await _shown(context, await context.decide(event))

    printer.record(run(work), _SHOWN)


@client.command("list")
@with_paging
@with_printer
def list_clients(printer: Printer, search: str | None, page: int, page_size: int) -> None:
    """List the clients there are."""
    listing: Listing[Client] = Listing(resource=CLIENTS, search=search, page=page, page_size=page_size)
    printer.page(run(lambda context: context.page(RESOURCE, listing)), _LISTED)


@client.command("reset-secret")
@click.argument("client_id")
@click.option(
    "--keep-old-for",
    "keep_old_for",
    type=Duration(),
    help="How long the old secret works on: 90s, 30m, 12h, 7d. By default it stops working at once.",
)
@with_printer
def reset_secret(printer: Printer, client_id: str, keep_old_for: int | None) -> None:
    """Give CLIENT_ID another secret, and print it this once. Tokens it has stay good."""
    fields = {} if keep_old_for is None else {KEEP_OLD_FOR: keep_old_for}

    async def work(context: CommandContext) -> Record:
        event = ClientSecretReset(
            caller=OPERATOR, client_id=client_id, fields=fields, entropy=context.entropy()
        )
        return await _shown(context, await context.decide(event))

    printer.record(run(work), _SHOWN)


@client.command("end-old-secret")
@click.argument("client_id")
@with_printer
def end_old_secret(printer: Printer, client_id: str) -> None:
    """Let only the present secret of CLIENT_ID work, before the time its old one was given is over."""
    _decide(printer, OldSecretEnded(caller=OPERATOR, client_id=client_id))


@client.command()
@click.argument("client_id")
@with_printer
def disable(printer: Printer, client_id: str) -> None:
    """Keep CLIENT_ID from authenticating, and end all its sessions."""
    _decide(printer, ClientDisabled(caller=OPERATOR, client_id=client_id))


@client.command()
@click.argument("client_id")
@with_printer
def enable(printer: Printer, client_id: str) -> None:
    """Let CLIENT_ID authenticate again. Nothing that ended comes back."""
    _decide(printer, ClientEnabled(caller=OPERATOR, client_id=client_id))


def _decide(printer: Printer, event: Event) -> None:
    async def work(context: CommandContext) -> Record:
        return await _shown(context, await context.decide(event))

    printer.record(run(work), _SHOWN)


async def _shown(context: CommandContext, reply: Reply) -> Record:
    """The client that a reply holds, with its secret where one was drawn."""
    match reply:
        case SecretIssued(client=made, secret=secret):
            return {**await context.record(RESOURCE, made), "secret": secret.reveal()}
        case ClientKnown(client=standing):
            return await context.record(RESOURCE, standing)
        case _:
            raise TypeError(f"no client is in a {type(reply).__name__}")

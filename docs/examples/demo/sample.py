"""What there is to look at in the demonstration from its beginning: people, roles and clients."""

from typing import Final

from ostiary_core.events import (
    ClientDisabled,
    ClientRegistered,
    Operator,
    RoleRegistered,
    UserDisabled,
    UserRegistered,
)
from ostiary_core.model.reply import SecretIssued, UserKnown
from ostiary_core.model.secret import Secret
from ostiary_web.server.app_services import AppServices

DEMO_CLIENT = "demo-shop"

PASSWORD = "correct horse"
"""Everybody's, in a demonstration that listens on this machine alone and is gone when it stops."""

_PEOPLE = (
    ("alice", "Alice Archer", "en-US", ("auditor",)),
    ("bob", "Bob Baker", "en-US", ()),
    ("wangfang", "王芳", "zh-CN", ("registrar",)),
    ("liwei", "李伟", "zh-CN", ()),
    ("carol", "Carol Carter", "en-US", ()),
)
_ROLES = (
    ("auditor", "Auditor", ("audit.read", "monitor.online.list")),
    ("registrar", "Registrar", ("oauth.client.list", "oauth.client.create", "oauth.client.update")),
)
_CLIENTS: Final[tuple[tuple[str, str, list[str], list[str]], ...]] = (
    ("intranet-wiki", "Intranet Wiki", ["https://wiki.example.com/oauth/callback"], ["user.read"]),
    ("payroll", "Payroll", ["https://payroll.example.com/cb?tenant=1"], []),
    ("report-runner", "Report Runner", [], []),
)


async def fill(services: AppServices, callback: str) -> Secret:
    """Register everything, by the events of an administrator; the secret of the third party's client."""
    service, operator = services.service, Operator()
    decide = service.turns.decide
    for code, name, permissions in _ROLES:
        fields = {"code": code, "name": name, "permissions": list(permissions)}
        await decide(RoleRegistered(caller=operator, fields=fields))
    password_hash = await services.passwords.hash(PASSWORD)
    for username, name, locale, roles in _PEOPLE:
        decision = await decide(
            UserRegistered(
                caller=operator,
                fields={
                    "username": username,
                    "name": name,
                    "locale": locale,
                    "roleIds": list(roles),
                    "mustChangePassword": False,
                },
                password_hash=password_hash,
                entropy=service.draw_entropy(),
            )
        )
        if username == "carol" and isinstance(decision.reply, UserKnown):
            await decide(UserDisabled(caller=operator, user_id=decision.reply.user.user_id))
    for client_id, name, redirect_uris, automatic in _CLIENTS:
        grants = ["authorization_code", "refresh_token"] if redirect_uris else ["client_credentials"]
        await _register(services, client_id, name, redirect_uris, grants, automatic)
    await decide(ClientDisabled(caller=operator, client_id="payroll"))
    grants = ["authorization_code", "refresh_token", "client_credentials"]
    return await _register(services, DEMO_CLIENT, "Demo Shop", [callback], grants, [])


async def _register(
    services: AppServices,
    client_id: str,
    name: str,
    redirect_uris: list[str],
    grants: list[str],
    automatic: list[str],
) -> Secret:
    fields = {
        "clientId": client_id,
        "name": name,
        "redirectUris": redirect_uris,
        "grantTypes": grants,
        "scopes": ["user.read"],
        "autoApproveScopes": automatic,
    }
    decision = await services.service.turns.decide(
        ClientRegistered(caller=Operator(), fields=fields, entropy=services.service.draw_entropy())
    )
    assert isinstance(decision.reply, SecretIssued), decision.reply
    return decision.reply.secret

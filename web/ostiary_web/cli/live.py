"""Make the live request of `ostiary check --live`, and see which address the server counts it against.

A client is registered, asks at PUBLIC_URL for a token as any third party would, through whatever stands
before the server, and is deleted. The audit trail then has the address that the request counted against. The
request says that it comes from somewhere else (`X-Forwarded-For`), as one does that is to get around limits.
"""

import ipaddress
import ssl
from typing import Final, NamedTuple

import httpx

from ostiary_core.events import ClientDeleted, ClientRegistered
from ostiary_core.model.client import SCOPES
from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import SECOND_MS, Instant, iso_time, later
from ostiary_core.model.records import GrantType
from ostiary_core.model.reply import SecretIssued
from ostiary_core.storage.listing import AUDIT, Listing
from ostiary_net.front_door.source import LOCAL, is_trusted
from ostiary_web.cli.context import OPERATOR, CommandContext
from ostiary_web.server.findings import Finding, Level

_MADE_UP: Final = "192.0.2.201"
"""Address that nobody has (RFC 5737)."""
_ANOTHER_LOOPBACK: Final = "127.0.0.2"
"""Address to ask a local proxy from; the proxy itself asks from 127.0.0.1."""
_TIMEOUT_SECONDS: Final = 15.0
_RENEWED_SECONDS: Final = 14 * 86_400
"""Seconds before its end by which a certificate is renewed; automatic clients do so earlier."""
_ABOUT: Final = "live request"


class _Tls(NamedTuple):
    """TLS of a connection: its version, and until when the server's certificate is good."""

    version: str
    certificate_ends_at: Instant


class _NoToken(Exception):
    """There was no token; the text of `key` says why."""

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(key)
        self.key = key
        self.values = values


async def ask_live(context: CommandContext) -> list[Finding]:
    """Ask once, and judge what the server saw and the TLS that it was asked by."""
    if context.settings.public_url is None:
        return [Finding(Level.FAULT, _ABOUT, "live.no_public_url")]
    client_id = f"ostiary-check-{context.draw_entropy()[:8].hex()}"
    fields = {
        "clientId": client_id,
        "name": "ostiary check --live",
        "grantTypes": [GrantType.CLIENT_CREDENTIALS.value],
        "redirectUris": [],
        "scopes": list(SCOPES),
        "autoApproveScopes": [],
    }
    event = ClientRegistered(caller=OPERATOR, fields=fields, entropy=context.draw_entropy())
    registered = await context.decide(event)
    assert isinstance(registered, SecretIssued)
    try:
        own, tls = await _ask(context.settings.public_url, client_id, registered.secret.reveal())
        seen = await _find_source(context, client_id)
    except _NoToken as fault:
        values = {"server": context.settings.public_url, **fault.values}
        return [Finding(Level.FAULT, _ABOUT, fault.key, values)]
    finally:
        await context.decide(ClientDeleted(caller=OPERATOR, client_id=client_id))
    return [_judge(context, own, seen), *([] if tls is None else [_judge_tls(context, tls)])]


async def _ask(public_url: str, client_id: str, secret: str) -> tuple[str, _Tls | None]:
    """Get a token; return the address that this machine asked from, and the TLS of an https address."""
    host = httpx.URL(public_url).host
    local = _ANOTHER_LOOPBACK if host in ("localhost", "127.0.0.1") else None
    # The machine's own authorities, and no proxy that the environment names: it is not what callers come by.
    transport = httpx.AsyncHTTPTransport(verify=ssl.create_default_context(), local_address=local)
    async with httpx.AsyncClient(transport=transport, timeout=_TIMEOUT_SECONDS) as client:
        try:
            async with client.stream(
                "POST",
                f"{public_url}/api/oauth2/token",
                data={"grant_type": GrantType.CLIENT_CREDENTIALS.value},
                auth=(client_id, secret),
                headers={"X-Forwarded-For": _MADE_UP},
            ) as response:
                stream = response.extensions["network_stream"]
                own = str(stream.get_extra_info("client_addr")[0])
                tls = _read_tls(stream.get_extra_info("ssl_object"))
        except httpx.HTTPError as error:
            raise _NoToken("live.no_answer", error=type(error).__name__) from error
    if response.status_code == 401:
        raise _NoToken("live.client_unknown")
    if response.status_code == 404 and httpx.URL(public_url).path != "/":
        raise _NoToken("live.path_lost")
    if response.status_code != 200:
        raise _NoToken("live.refused", status=response.status_code)
    return own, tls


def _read_tls(connection: ssl.SSLObject | None) -> _Tls | None:
    certificate = None if connection is None else connection.getpeercert()
    if connection is None or not certificate:
        return None
    ends = ssl.cert_time_to_seconds(str(certificate["notAfter"]))
    return _Tls(str(connection.version()), Instant(ends * SECOND_MS))


def _judge_tls(context: CommandContext, tls: _Tls) -> Finding:
    ends_soon = tls.certificate_ends_at < later(context.clock.now(), _RENEWED_SECONDS)
    level, key = (Level.WARNING, "live.tls_ends_soon") if ends_soon else (Level.FINE, "live.tls")
    return Finding(level, "TLS", key, {"version": tls.version, "until": iso_time(tls.certificate_ends_at)})


async def _find_source(context: CommandContext, client_id: str) -> str:
    """Return the address that the audit trail has for the session of a client."""
    listing = Listing(resource=AUDIT, filters={"client_id": client_id})
    page = await context.turns.query(lambda store, now: store.page(listing, now))
    for entry in page.items:
        if entry.kind is FactKind.SESSION_STARTED and entry.source is not None:
            return entry.source
    raise _NoToken("live.session_unknown")


def _judge(context: CommandContext, own: str, seen: str) -> Finding:
    trusted = context.settings.trust_proxy
    level, key = Level.FAULT, "live.proxy_distrusted"
    if is_trusted(own, trusted):
        level, key = Level.WARNING, "live.asked_from_proxy"
    elif seen == _MADE_UP:
        key = "live.made_up"
    elif seen == own:
        level, key = Level.FINE, "live.fine"
    elif is_trusted(seen, trusted) or (seen == LOCAL and trusted):
        key = "live.proxy_silent"
    elif seen == LOCAL:
        key = "live.no_address"
    elif not ipaddress.ip_address(seen).is_loopback:
        level, key = Level.WARNING, "live.other_address"
    return Finding(level, _ABOUT, key, {"own": own, "seen": seen})

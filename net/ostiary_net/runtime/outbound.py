"""Reads from the environment how a server is asked: by which proxy, and which authorities are trusted.

Machines set these variables for all programs. So what does not matter for the one host that is asked is not
looked at: a list of exceptions in an unknown form, a proxy of another scheme, authorities if nothing is
encrypted.
"""

import ipaddress
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import httpx

_HTTP_PROXIES: Final = ("http", "https")


class RouteUnusable(Exception):
    """A variable makes a server impossible to ask; the text is safe to log."""

    def __init__(self, variable: str, reason: str) -> None:
        super().__init__(f"{variable} {reason}")
        self.variable = variable
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Route:
    """How a server is asked."""

    proxy: str | None
    trust: ssl.SSLContext


def read_route(url: str, environment: Mapping[str, str]) -> Route:
    """Read how `url` is asked. Raises `RouteUnusable`."""
    parts = urlsplit(url)
    variable, proxy = _find_proxy(parts.scheme, environment)
    if proxy is not None and _is_excepted(parts.hostname or "", environment):
        proxy = None
    if proxy is not None:
        _require_http(variable, proxy)
    # Without TLS on the way the context is not used, and trusts no authority.
    is_encrypted = parts.scheme == "https" or (proxy or "").startswith("https:")
    trust = _read_trust(environment) if is_encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return Route(proxy, trust)


def _find_proxy(scheme: str, environment: Mapping[str, str]) -> tuple[str, str | None]:
    """Return the variable that names a proxy for `scheme`, and the proxy as a URL."""
    for name in (f"{scheme}_proxy", "all_proxy"):
        for variable in (name, name.upper()):
            # A CGI script's HTTP_PROXY is a header field of a caller (httpoxy).
            if value := environment.get(variable, "").strip():
                if variable == "HTTP_PROXY" and "REQUEST_METHOD" in environment:
                    continue
                return variable, value if "://" in value else f"http://{value}"
    return "", None


def _is_excepted(host: str, environment: Mapping[str, str]) -> bool:
    """Whether NO_PROXY names a host: itself, a domain above it, its network, or `*`, as curl reads it."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    listed = environment.get("no_proxy", "") or environment.get("NO_PROXY", "")
    for entry in listed.lower().replace(",", " ").split():
        if entry == "*":
            return True
        if address is None:
            domain = entry.rpartition("://")[2].removeprefix("*").strip(".")
            if domain and (host == domain or host.endswith(f".{domain}")):
                return True
            continue
        try:
            if address in ipaddress.ip_network(entry.strip("[]"), strict=False):
                return True
        except ValueError:  # a name, or what is for other programs
            continue
    return False


def _require_http(variable: str, proxy: str) -> None:
    try:
        parts = urlsplit(proxy)
        is_address = bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise RouteUnusable(variable, "is no URL of a proxy") from None
    if parts.scheme not in _HTTP_PROXIES:
        raise RouteUnusable(variable, f"names a proxy of {parts.scheme}; only http and https are known")
    if not is_address:
        raise RouteUnusable(variable, "is no URL of a proxy")


def _read_trust(environment: Mapping[str, str]) -> ssl.SSLContext:
    """Return a context that trusts SSL_CERT_FILE, else SSL_CERT_DIR, else the authorities of Mozilla."""
    file, folder = environment.get("SSL_CERT_FILE", ""), environment.get("SSL_CERT_DIR", "")
    try:
        if file or folder:
            return ssl.create_default_context(cafile=file or None, capath=None if file else folder)
        return httpx.create_ssl_context(trust_env=False)
    except ssl.SSLError:
        raise RouteUnusable("SSL_CERT_FILE", f"{file!r} has no certificate in PEM") from None
    except OSError as error:
        raise RouteUnusable("SSL_CERT_FILE", f"{file!r}: {error.strerror}") from None

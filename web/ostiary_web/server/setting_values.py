"""Read single values of settings; each reader raises `ValueError` with a fault that quotes no secret."""

import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Meta

from ostiary_core.model.policy import SecondFactorFor, TextRecoveryFor
from ostiary_core.model.secret import Secret
from ostiary_core.model.user import is_username, new_password_faults
from ostiary_net.front_door.heads import is_host
from ostiary_net.front_door.limits import CannotStart
from ostiary_web.server import secret_files
from ostiary_web.server.second_factor_key import read_second_factor_key

T = TypeVar("T")
V = TypeVar("V")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_LONGEST_UNIX_PATH: Final = 107
"""Longest path of a Unix socket in bytes (unix(7))."""
_PUBLIC_PATH: Final = re.compile(r"(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*", re.ASCII)
"""Pattern of a path with the characters of every address of ours."""
_LONGEST_PUBLIC_PATH: Final = 128
_BOOLEANS: Final = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}


class SettingError(CannotStart):
    """An invalid setting: one line with its name, its fault, and what is allowed."""

    def __init__(self, name: str, fault: str, allowed: str) -> None:
        super().__init__(f"{name}: {fault}; allowed: {allowed}")


def parse_setting(name: str, value: V, parse: Callable[[V], T], allowed: str) -> T:
    """Return what `parse` makes of a value; raise `SettingError` for what it raises `ValueError` for."""
    try:
        return parse(value)
    except ValueError as fault:
        raise SettingError(name, str(fault), allowed) from None


def between(least: int, most: int) -> tuple[Callable[[str], int], str]:
    """Return the reader of an integer within bounds, and what it allows."""
    return _number(Annotated[int, Meta(ge=least, le=most)]), f"{least} to {most}"


def _number(kind: Any) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return msgspec.convert(text, kind, strict=False)
        except msgspec.ValidationError:
            raise ValueError(f"{text!r} is not such a number") from None

    return read


SCALE: Final = (_number(Annotated[float, Meta(gt=0, le=1_000_000)]), "a number above 0, as 1 or 10")


def _one_of(values: Mapping[str, T]) -> tuple[Callable[[str], T], str]:
    return partial(_choose, values), ", ".join(values)


def _choose(values: Mapping[str, T], text: str) -> T:
    if text.lower() not in values:
        raise ValueError(f"{text!r} is not known")
    return values[text.lower()]


def _read_binds(text: str) -> str:
    return ",".join(
        each if re.fullmatch(r"fd://[0-9]{1,4}", each, re.ASCII) or _is_unix(each) else _read_bind(each)
        for each in map(str.strip, text.split(","))
    )


def _read_bind(text: str) -> str:
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):([0-9]{1,5})", text)
    if match is None or int(match[2]) > 65_535:
        raise ValueError(f"{text!r} is not an address to listen on")
    return text


def _is_unix(text: str) -> bool:
    path = text.removeprefix("unix:")
    return path != text and path.isprintable() and 0 < len(os.fsencode(path)) <= _LONGEST_UNIX_PATH


def _read_username(text: str) -> str:
    if not is_username(text):
        raise ValueError(f"{text!r} is not a user name")
    return text


def _read_password(text: str) -> str:
    if secret_files.has_unseen_mark(text):
        raise ValueError(secret_files.UNSEEN_MARK)
    if new_password_faults("", text):
        raise ValueError("is too short or too long")
    return text


def _read_public_url(text: str) -> str:
    parts, port = _split_url(text)
    if not is_host(parts.netloc.encode()):
        raise ValueError("is not an address")
    if parts.query or parts.fragment:
        raise ValueError("has a query or fragment")
    path = parts.path.removesuffix("/")
    if len(path) > _LONGEST_PUBLIC_PATH or _PUBLIC_PATH.fullmatch(path) is None:
        raise ValueError("has a path that is too long or can be spelt in two ways")
    # As browsers write an origin (RFC 6454 §6.2): in lower case, and without the port that goes unsaid.
    host = re.sub(r":[0-9]*$", "", parts.netloc.lower())
    shown_port = "" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{host}{shown_port}{path}"


def _read_outbound_url(text: str) -> str:
    parts, _ = _split_url(text)
    if not parts.hostname or not text.isascii():
        raise ValueError("is not an address")
    if "@" in parts.netloc:
        raise ValueError("holds a user name or password")
    if any(character.isspace() for character in text):
        raise ValueError("holds white space")
    return text


def _read_collector_url(text: str) -> str:
    try:
        is_installed = find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:  # not even the package that it would be in
        is_installed = False
    if not is_installed:
        raise ValueError("asks for traces, and OpenTelemetry is not installed")
    return _read_outbound_url(text)


def _split_url(text: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError("is not an address") from None
    if parts.scheme not in _DEFAULT_PORTS:
        raise ValueError("is not an address")
    return parts, port


def _read_header_token(text: str) -> Secret | None:
    """Return what can stand behind `Bearer` in a header field (RFC 6750 §2.1)."""
    token = text.strip()
    if token and re.fullmatch(r"[A-Za-z0-9._~+/:-]+=*", token, re.ASCII) is None:
        raise ValueError("cannot be sent as a Bearer token")
    return Secret(token) if token else None


def _read_networks(text: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(part) for part in re.split(r"[,\s]+", text) if part)


_LEVELS: Final = ("debug", "info", "warning", "error")
LOG_LEVEL: Final = (
    partial(_choose, {**{each: each for each in _LEVELS}, "warn": "warning"}),
    ", ".join(_LEVELS),
)
LOG_FORMAT: Final = _one_of({each: each for each in ("console", "json")})
PREPARED_STATEMENTS: Final = _one_of({"auto": None, "on": True, "off": False})
BOOLEAN: Final = (partial(_choose, _BOOLEANS), "true or false")
SECOND_FACTOR_FOR: Final = _one_of({each.value: each for each in SecondFactorFor})
TEXT_RECOVERY_FOR: Final = _one_of({each.value: each for each in TextRecoveryFor})
SECOND_FACTOR_KEY: Final = (read_second_factor_key, "32 to 256 characters, drawn at random")
BIND: Final = (_read_bind, "HOST:PORT, as 127.0.0.1:8000")
BINDS: Final = (_read_binds, f"{BIND[1]}, unix:PATH or fd://N; several with commas")
USERNAME: Final = (
    _read_username,
    "1 to 64 characters without white space, quotes, slashes, colons or angle brackets",
)
PASSWORD: Final = (_read_password, "8 to 256 characters, without a trailing newline")
PUBLIC_URL: Final = (
    _read_public_url,
    "http:// or https:// with a host, as https://id.example.com or https://example.com/auth",
)
_OUTBOUND: Final = "http:// or https:// with a host, and no user name or password"
GATEWAY_URL: Final = (
    _read_outbound_url,
    f"{_OUTBOUND}, as https://sms.example.com/send; a key in SMS_GATEWAY_TOKEN",
)
COLLECTOR_URL: Final = (
    _read_collector_url,
    f"{_OUTBOUND}, with the extra `traces`, as http://127.0.0.1:4318; a key in OTEL_EXPORTER_OTLP_HEADERS",
)
HEADER_TOKEN: Final = (_read_header_token, "letters, digits and ._~+/:-")
NETWORKS: Final = (
    _read_networks,
    "addresses or CIDR ranges, with commas, spaces or lines between, as 10.0.0.5,192.168.0.0/16",
)

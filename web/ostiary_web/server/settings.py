"""The settings of a server, read from the environment once and checked with words that help."""

import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

from ostiary_core.model.secret import Secret
from ostiary_core.model.user import is_username
from ostiary_core.texts import Languages
from ostiary_core.users.new_password import new_password_faults
from ostiary_net.front_door.heads import is_host
from ostiary_net.front_door.rules import CannotStart
from ostiary_net.runtime.system import count_processors
from ostiary_web.server import secret_files
from ostiary_web.server.brand import LINKS_ALLOWED, NAMES_ALLOWED, Brand, load_logo, read_links, read_name
from ostiary_web.server.brand_color import COLORS_ALLOWED, read_colors
from ostiary_web.server.brand_logo import LOGOS_ALLOWED
from ostiary_web.server.database import ALLOWED, Database, PostgreSQLDatabase, read_database
from ostiary_web.server.telephones import REGIONS_ALLOWED, read_region
from ostiary_web.texts import LANGUAGES

T = TypeVar("T")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_LONGEST_UNIX_PATH: Final = 107
"""Bytes that the kernel has room for (unix(7))."""
_PUBLIC_PATH: Final = re.compile(r"(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*", re.ASCII)
"""Made of what every address of ours is made of."""
_LONGEST_PUBLIC_PATH: Final = 128
_LOG_LEVELS: Final = ("debug", "info", "warning", "error")
_LOG_FORMATS: Final = ("console", "json")


class SettingError(CannotStart):
    """A setting with a wrong value: one line that names it, its fault, and what is allowed."""

    def __init__(self, name: str, fault: str, allowed: str) -> None:
        super().__init__(f"{name}: {fault}; allowed: {allowed}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What an operator decides. Fields are named as the environment variables are."""

    database: Database
    database_prepared_statements: bool | None
    """None for wherever no pooler is seen."""
    data_dir: Path
    bind: str
    workers: int
    password_hashing_threads: int
    """Of one worker. Each hashes one password at a time, in 19 MiB."""
    admin_username: str
    admin_password: str | None
    public_url: str | None
    brand: Brand
    trust_proxy: tuple[Network, ...]
    rate_limit_scale: float
    api_docs_enabled: bool
    revoke_on_code_replay: bool
    sms_gateway_url: str | None
    sms_gateway_token: Secret | None
    sms_gateway_token_file: Path | None
    sms_outbox: Path
    phone_region: str
    """Whose telephone numbers are written without a country code, as ISO 3166 has it."""
    log_level: str
    log_format: str
    metrics_bind: str | None
    otel_exporter_otlp_endpoint: str | None
    retention_sessions_days: int
    retention_audit_days: int
    secret_files: tuple[Path, ...]
    """Where secrets were read from that were not given as text."""
    languages: Languages = LANGUAGES
    """Which the server speaks. No variable names them: by default all there are."""

    def read_gateway_token(self) -> Secret | None:
        """Read the gateway's token anew where a file has it; the one of the start where it has none now."""
        if self.sms_gateway_token_file is not None:
            with suppress(ValueError, SettingError):
                text = secret_files.read_secret_file(self.sms_gateway_token_file).strip()
                return _header_token("SMS_GATEWAY_TOKEN_FILE", text) or self.sms_gateway_token
        return self.sms_gateway_token

    def __repr__(self) -> str:
        return f"Settings(bind={self.bind!r}, database={str(self.database)!r})"

    @property
    def public_path(self) -> str:
        """What every path begins with for whoever comes by `public_url`, as `/auth`; mostly empty."""
        return urlsplit(self.public_url or "").path

    @property
    def public_origin(self) -> str | None:
        """Scheme and host of `public_url`, as browsers name an origin."""
        return self.public_url and self.public_url.removesuffix(self.public_path)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Raises `SettingError` for the first wrong value; an empty value counts as not set."""

        def read(name: str, default: str, parse: Callable[[str, str], T]) -> T:
            return parse(name, environment.get(name, "").strip() or default)

        def text(name: str) -> str | None:
            return environment.get(name, "").strip() or None

        data_dir = Path(text("DATA_DIR") or "data")
        links = read("BRAND_LINKS", "", _checked_by(read_links, LINKS_ALLOWED))
        gateway = text("SMS_GATEWAY_URL")
        database = find_secret(environment, "DATABASE_URL")
        password = find_secret(environment, "ADMIN_PASSWORD")
        token = find_secret(environment, "SMS_GATEWAY_TOKEN")
        workers = read("WORKERS", "1", _workers)
        if token.text.strip() and gateway is None:
            raise SettingError(
                token.setting, "is set without SMS_GATEWAY_URL", "only together with SMS_GATEWAY_URL"
            )
        return cls(
            database=_database(database),
            database_prepared_statements={"auto": None, "on": True, "off": False}[
                read("DATABASE_PREPARED_STATEMENTS", "auto", _one_of(("auto", "on", "off")))
            ],
            data_dir=data_dir,
            bind=read("BIND", "127.0.0.1:8000", _bind),
            workers=workers,
            password_hashing_threads=read(
                "PASSWORD_HASHING_THREADS",
                str(max(1, (count_processors(environment) - 1) // workers)),
                _threads,
            ),
            admin_username=read("ADMIN_USERNAME", "admin", _username),
            admin_password=_password(password.setting, password.text),
            public_url=None if text("PUBLIC_URL") is None else read("PUBLIC_URL", "", _public_url),
            brand=Brand(
                name=read("BRAND_NAME", "Ostiary", _checked_by(read_name, NAMES_ALLOWED)),
                privacy=links.get("privacy"),
                help=links.get("help"),
                logo=read("BRAND_LOGO", "", _unless_empty(_checked_by(load_logo, LOGOS_ALLOWED))),
                color=read("BRAND_COLOR", "", _unless_empty(_checked_by(read_colors, COLORS_ALLOWED))),
            ),
            trust_proxy=read("TRUST_PROXY", "", _networks),
            rate_limit_scale=read("RATE_LIMIT_SCALE", "1", _scale),
            api_docs_enabled=read("API_DOCS_ENABLED", "false", _boolean),
            revoke_on_code_replay=read("REVOKE_ON_CODE_REPLAY", "false", _boolean),
            sms_gateway_url=None if gateway is None else read("SMS_GATEWAY_URL", "", _gateway_url),
            sms_gateway_token=_header_token(token.setting, token.text.strip()),
            sms_gateway_token_file=token.path,
            sms_outbox=Path(text("SMS_OUTBOX") or data_dir / "sms-outbox.jsonl"),
            phone_region=read("PHONE_REGION", "CN", _checked_by(read_region, REGIONS_ALLOWED)),
            log_level=read("LOG_LEVEL", "info", _one_of(_LOG_LEVELS)),
            log_format=read("LOG_FORMAT", "console", _one_of(_LOG_FORMATS)),
            metrics_bind=None if text("METRICS_BIND") is None else read("METRICS_BIND", "", _bind),
            otel_exporter_otlp_endpoint=(
                None
                if text("OTEL_EXPORTER_OTLP_ENDPOINT") is None
                else read("OTEL_EXPORTER_OTLP_ENDPOINT", "", _collector_url)
            ),
            retention_sessions_days=read("RETENTION_SESSIONS_DAYS", "30", _days),
            retention_audit_days=read("RETENTION_AUDIT_DAYS", "0", _days),
            secret_files=tuple(each.path for each in (database, password, token) if each.path is not None),
        )


@dataclass(frozen=True, slots=True)
class SecretSource:
    """A secret's text, empty where none was given, and the setting that gave it."""

    setting: str
    text: str = field(repr=False)
    path: Path | None = None


def find_secret(environment: Mapping[str, str], name: str) -> SecretSource:
    """The secret `name`: itself a variable, in the file that `NAME_FILE` names, or a credential of systemd.

    Raises `SettingError` where it is given more than once, as nobody could know which one holds.
    """
    files = {}
    if named := environment.get(f"{name}_FILE", "").strip():
        files[f"{name}_FILE"] = Path(named)
    if folder := environment.get("CREDENTIALS_DIRECTORY", "").strip():
        credential = Path(folder) / name
        if secret_files.is_there(credential):
            files[f"CREDENTIALS_DIRECTORY/{name}"] = credential
    text = environment.get(name, "")
    settings = [*([name] if text else []), *files]
    if len(settings) > 1:
        raise SettingError(" and ".join(settings), "are set together", "one of them")
    for setting, path in files.items():
        try:
            return SecretSource(setting, secret_files.read_secret_file(path), path)
        except ValueError as fault:
            raise SettingError(setting, str(fault), secret_files.ALLOWED) from None
    return SecretSource(name, text)


def _database(given: SecretSource) -> Database:
    """Of PostgreSQL it may hold a password, so a fault does not quote it."""
    try:
        database = read_database(given.text.strip() or "sqlite:///data/ostiary.db")
    except ValueError as fault:
        raise SettingError(given.setting, str(fault), ALLOWED) from None
    return replace(database, path=given.path) if isinstance(database, PostgreSQLDatabase) else database


def _bind(name: str, value: str) -> str:
    if name == "BIND" and "," in value:
        return ",".join(_bind(name, each.strip()) for each in value.split(","))
    if name == "BIND" and (re.fullmatch(r"fd://[0-9]{1,4}", value, re.ASCII) or _is_unix(value)):
        return value
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):([0-9]{1,5})", value)
    if match is None or int(match[2]) > 65_535:
        allowed = "HOST:PORT, as 127.0.0.1:8000" + (
            ", unix:PATH or fd://N; several with commas" if name == "BIND" else ""
        )
        raise SettingError(name, f"{value!r} is no address to listen on", allowed)
    return value


def _is_unix(value: str) -> bool:
    path = value.removeprefix("unix:")
    return path != value and path.isprintable() and 0 < len(os.fsencode(path)) <= _LONGEST_UNIX_PATH


def _workers(name: str, value: str) -> int:
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= 64:
        raise SettingError(name, f"{value!r} is no number of processes", "1 to 64")
    return int(value)


def _threads(name: str, value: str) -> int:
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= 1_000:
        raise SettingError(name, f"{value!r} is no number of threads", "1 to 1000")
    return int(value)


def _days(name: str, value: str) -> int:
    if not value.isascii() or not value.isdigit() or int(value) > 36_500:
        raise SettingError(name, f"{value!r} is no number of days", "0 to 36500")
    return int(value)


def _username(name: str, value: str) -> str:
    if not is_username(value):
        raise SettingError(
            name,
            f"{value!r} is no user name",
            "1 to 64 characters without white space, quotes, slashes, colons or angle brackets",
        )
    return value


def _password(name: str, value: str) -> str | None:
    """As it is, spaces at its ends too. A fault does not quote it."""
    if secret_files.has_unseen_mark(value):
        allowed = "8 to 256 characters, without a line feed behind them"
        raise SettingError(name, secret_files.UNSEEN_MARK, allowed)
    if value and new_password_faults(name, value):
        raise SettingError(name, "is too short or too long", "8 to 256 characters")
    return value or None


def _public_url(name: str, value: str) -> str:
    allowed = "http:// or https:// with a host, as https://id.example.com or https://example.com/auth"
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise SettingError(name, "is no address", allowed) from None
    if parts.scheme not in _DEFAULT_PORTS or not is_host(parts.netloc.encode()):
        raise SettingError(name, "is no address", allowed)
    if parts.query or parts.fragment:
        raise SettingError(name, "has a query or fragment", allowed)
    path = parts.path.removesuffix("/")
    if len(path) > _LONGEST_PUBLIC_PATH or _PUBLIC_PATH.fullmatch(path) is None:
        raise SettingError(name, "has a path that is too long or can be spelt in two ways", allowed)
    # As browsers write an origin (RFC 6454 §6.2): in lower case, and without the port that goes unsaid.
    host = re.sub(r":[0-9]*$", "", parts.netloc.lower())
    shown_port = "" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{host}{shown_port}{path}"


def _gateway_url(name: str, value: str) -> str:
    """It may hold a key, so a fault does not quote it."""
    return _outbound_url(name, value, example="https://sms.example.com/send", key_is_in="SMS_GATEWAY_TOKEN")


def _outbound_url(name: str, value: str, *, example: str, key_is_in: str) -> str:
    allowed = f"http:// or https:// with a host, as {example}"
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError:
        raise SettingError(name, "is no address", allowed) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not value.isascii():
        raise SettingError(name, "is no address", allowed)
    if "@" in parts.netloc:
        raise SettingError(name, "holds a user name or password", f"{allowed}; a key in {key_is_in}")
    if any(character.isspace() for character in value):
        raise SettingError(name, "holds white space", allowed)
    return value


def _collector_url(name: str, value: str) -> str:
    """Where traces are sent. It may hold a key, so a fault does not quote it."""
    if not _is_installed("opentelemetry.exporter.otlp.proto.http"):
        allowed = "nothing, or install the extra `traces`"
        raise SettingError(name, "asks for traces, and OpenTelemetry is not installed", allowed)
    return _outbound_url(name, value, example="http://127.0.0.1:4318", key_is_in="OTEL_EXPORTER_OTLP_HEADERS")


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package that it would be in
        return False


def _header_token(name: str, value: str) -> Secret | None:
    """What can stand behind `Bearer` in a header field (RFC 6750 §2.1)."""
    if not value:
        return None
    if re.fullmatch(r"[A-Za-z0-9._~+/:-]+=*", value, re.ASCII) is None:
        raise SettingError(name, "cannot be sent as a Bearer token", "letters, digits and ._~+/:-")
    return Secret(value)


def _networks(name: str, value: str) -> tuple[Network, ...]:
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in value.split(",") if part.strip())
    except ValueError as error:
        raise SettingError(
            name, str(error), "addresses or CIDR ranges, comma-separated, as 10.0.0.5,192.168.0.0/16"
        ) from None


def _scale(name: str, value: str) -> float:
    try:
        scale = float(value)
    except ValueError:
        scale = 0.0
    if not 0 < scale <= 1_000_000:
        raise SettingError(name, f"{value!r} is no factor", "a number above 0, as 1 or 10")
    return scale


def _boolean(name: str, value: str) -> bool:
    match value.lower():
        case "true" | "1" | "yes" | "on":
            return True
        case "false" | "0" | "no" | "off":
            return False
        case _:
            raise SettingError(name, f"{value!r} is neither yes nor no", "true or false")


def _checked_by(read: Callable[[str], T], allowed: str) -> Callable[[str, str], T]:
    def parse(name: str, value: str) -> T:
        try:
            return read(value)
        except ValueError as fault:
            raise SettingError(name, str(fault), allowed) from None

    return parse


def _unless_empty(parse: Callable[[str, str], T]) -> Callable[[str, str], T | None]:
    return lambda name, value: parse(name, value) if value else None


def _one_of(allowed: tuple[str, ...]) -> Callable[[str, str], str]:
    def parse(name: str, value: str) -> str:
        if value.lower() not in allowed:
            raise SettingError(name, f"{value!r} is not known", ", ".join(allowed))
        return value.lower()

    return parse

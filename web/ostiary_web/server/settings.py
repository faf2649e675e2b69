"""Read the settings of a server from the environment, once, with errors that help."""

from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, get_origin, get_type_hints
from urllib.parse import urlsplit

from ostiary_core.model.policy import SecondFactorFor, TextRecoveryFor
from ostiary_core.model.secret import Secret
from ostiary_core.texts import Languages
from ostiary_net.runtime.system import count_processors
from ostiary_web.server import secret_files, setting_values
from ostiary_web.server.brand import (
    LINKS_ALLOWED,
    LOGOS_ALLOWED,
    NAMES_ALLOWED,
    Brand,
    BrandFile,
    load_logo,
    read_links,
    read_name,
)
from ostiary_web.server.brand_color import COLORS_ALLOWED, BrandColor, read_colors
from ostiary_web.server.database import ALLOWED, Database, PostgreSQLDatabase, SQLiteFile, read_database
from ostiary_web.server.setting_values import Network, SettingError, between, parse_setting
from ostiary_web.server.telephones import REGIONS_ALLOWED, read_region
from ostiary_web.texts import LANGUAGES

_SECRETS: Final = ("DATABASE_URL", "ADMIN_PASSWORD", "SMS_GATEWAY_TOKEN", "SECOND_FACTOR_KEY")
"""Settings that a file may hold."""
_BYTE_ORDER_MARK: Final = "\ufeff"
_USUAL_DATABASE: Final = SQLiteFile(Path("data/ostiary.db"))


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The operator's choices; a field has the name of its variable, and its reader with what that allows."""

    database: Annotated[Database, (read_database, ALLOWED)] = _USUAL_DATABASE
    database_prepared_statements: Annotated[bool | None, setting_values.PREPARED_STATEMENTS] = None
    """None for: wherever no pooler is seen."""
    data_dir: Annotated[Path, (Path, "a folder")] = Path("data")
    bind: Annotated[str, setting_values.BINDS] = "127.0.0.1:8000"
    workers: Annotated[int, between(1, 64)] = 1
    password_hashing_threads: Annotated[int, between(1, 1_000)] = 1
    """Threads of one worker; each hashes one password at a time, in 19 MiB."""
    admin_username: Annotated[str, setting_values.USERNAME] = "admin"
    admin_password: Annotated[str | None, setting_values.PASSWORD] = None
    public_url: Annotated[str | None, setting_values.PUBLIC_URL] = None
    brand_name: Annotated[str, (read_name, NAMES_ALLOWED)] = "Ostiary"
    brand_links: Annotated[Mapping[str, str] | None, (read_links, LINKS_ALLOWED)] = None
    brand_logo: Annotated[BrandFile | None, (load_logo, LOGOS_ALLOWED)] = None
    brand_color: Annotated[BrandColor | None, (read_colors, COLORS_ALLOWED)] = None
    hsts_seconds: Annotated[int, between(0, 315_360_000)] = 31_536_000
    keep_alive_seconds: Annotated[int, between(1, 3_600)] = 75
    trust_proxy: Annotated[tuple[Network, ...], setting_values.NETWORKS] = ()
    rate_limit_scale: Annotated[float, setting_values.SCALE] = 1.0
    guess_limit_scale: Annotated[float, setting_values.SCALE] = 1.0
    api_docs_enabled: Annotated[bool, setting_values.BOOLEAN] = False
    revoke_on_code_replay: Annotated[bool, setting_values.BOOLEAN] = False
    require_second_factor: Annotated[SecondFactorFor, setting_values.SECOND_FACTOR_FOR] = (
        SecondFactorFor.NOBODY
    )
    prove_again_minutes: Annotated[int, between(0, 60)] = 15
    """Minutes for which a proof counts before power; 0 never asks for one."""
    second_factor_key: Annotated[bytes | None, setting_values.SECOND_FACTOR_KEY] = None
    """None for the key in `data_dir`, which the first start makes."""
    recovery_by_text_message: Annotated[TextRecoveryFor, setting_values.TEXT_RECOVERY_FOR] = (
        TextRecoveryFor.EVERYBODY
    )
    sms_gateway_url: Annotated[str | None, setting_values.GATEWAY_URL] = None
    sms_gateway_token: Annotated[Secret | None, setting_values.HEADER_TOKEN] = None
    sms_gateway_token_file: Path | None = None
    sms_outbox: Annotated[Path, (Path, "a file")] = Path("data/sms-outbox.jsonl")
    phone_region: Annotated[str, (read_region, REGIONS_ALLOWED)] = "CN"
    """Region of numbers without a country code (ISO 3166)."""
    log_level: Annotated[str, setting_values.LOG_LEVEL] = "info"
    log_format: Annotated[str, setting_values.LOG_FORMAT] = "console"
    metrics_bind: Annotated[str | None, setting_values.BIND] = None
    otel_exporter_otlp_endpoint: Annotated[str | None, setting_values.COLLECTOR_URL] = None
    retention_sessions_days: Annotated[int, between(0, 36_500)] = 30
    retention_audit_days: Annotated[int, between(0, 36_500)] = 0
    secret_files: tuple[Path, ...] = ()
    """Files that secrets were read from."""
    languages: Languages = LANGUAGES
    """Languages of the server; no variable names them."""

    def read_gateway_token(self) -> Secret | None:
        """Read the gateway's token anew from its file; without one return that of the start."""
        if self.sms_gateway_token_file is not None:
            with suppress(ValueError):
                text = secret_files.read_secret_file(self.sms_gateway_token_file)
                return setting_values.HEADER_TOKEN[0](text) or self.sms_gateway_token
        return self.sms_gateway_token

    def __repr__(self) -> str:
        return f"Settings(bind={self.bind!r}, database={str(self.database)!r})"

    @property
    def public_path(self) -> str:
        """First part of every path under `public_url`, as `/auth`; mostly empty."""
        return urlsplit(self.public_url or "").path

    @property
    def public_origin(self) -> str | None:
        """Scheme and host of `public_url`, as browsers name an origin."""
        return self.public_url and self.public_url.removesuffix(self.public_path)

    @property
    def strict_transport_security(self) -> str | None:
        """Value of the header field by which browsers ask for `public_url` over https alone (RFC 6797)."""
        parts = urlsplit(self.public_url or "")
        # On a developer's machine it would hold for every other server there, on all ports.
        is_own_machine = parts.hostname is not None and parts.hostname.split(".")[-1] == "localhost"
        if parts.scheme != "https" or not self.hsts_seconds or is_own_machine:
            return None
        return f"max-age={self.hsts_seconds}"

    @cached_property
    def brand(self) -> Brand:
        """What pages say of the operator."""
        links = self.brand_links or {}
        return Brand(
            name=self.brand_name,
            privacy=links.get("privacy"),
            help=links.get("help"),
            logo=self.brand_logo,
            color=self.brand_color,
        )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Read the settings; raise `SettingError` for the first invalid one. An empty value is none."""
        _refuse_marks_of_files(environment, {name.upper() for name in get_type_hints(cls)})
        secrets = {name: find_secret(environment, name) for name in _SECRETS}
        chosen: dict[str, Any] = {}
        for field_name, hint in get_type_hints(cls, include_extras=True).items():
            if get_origin(hint) is Annotated:
                name = "DATABASE_URL" if field_name == "database" else field_name.upper()
                source = secrets.get(name) or SecretSource(name, environment.get(name, "").strip())
                if source.text.strip():
                    reader, allowed = hint.__metadata__[0]
                    chosen[field_name] = parse_setting(source.setting, source.text, reader, allowed)
        token, database = secrets["SMS_GATEWAY_TOKEN"], chosen.get("database")
        if token.text.strip() and "sms_gateway_url" not in chosen:
            raise SettingError(
                token.setting, "is set without SMS_GATEWAY_URL", "only together with SMS_GATEWAY_URL"
            )
        if isinstance(database, PostgreSQLDatabase):
            chosen["database"] = replace(database, path=secrets["DATABASE_URL"].path)
        threads = max(1, (count_processors(environment) - 1) // chosen.get("workers", cls.workers))
        chosen.setdefault("password_hashing_threads", threads)
        chosen.setdefault("sms_outbox", chosen.get("data_dir", cls.data_dir) / "sms-outbox.jsonl")
        files = tuple(each.path for each in secrets.values() if each.path is not None)
        return cls(**chosen, sms_gateway_token_file=token.path, secret_files=files)


def _refuse_marks_of_files(environment: Mapping[str, str], names: Set[str]) -> None:
    """Raise `SettingError` if a name or value has in it what only the file of variables should have.

    A mark before the first name would make that setting none, and quotes would be part of a path or password.
    """
    known = {*names, *_SECRETS, *(f"{name}_FILE" for name in _SECRETS), "CREDENTIALS_DIRECTORY"}
    for name, value in environment.items():
        bare = name.removeprefix(_BYTE_ORDER_MARK)
        if bare not in known:
            continue
        if bare != name or value.startswith(_BYTE_ORDER_MARK):
            raise SettingError(bare, "begins with a byte order mark", "a file of variables without one")
        if secret_files.is_in_quotes(value.strip()):
            fault = "is in quotes, which would be part of the value"
            raise SettingError(name, fault, "the value without quotes, as no shell takes them off here")


@dataclass(frozen=True, slots=True)
class SecretSource:
    """A secret's text, empty if none is set, and the setting that holds it."""

    setting: str
    text: str = field(repr=False)
    path: Path | None = None


def find_secret(environment: Mapping[str, str], name: str) -> SecretSource:
    """Find the secret `name`: a variable, the file in `NAME_FILE`, or a credential of systemd.

    Raises `SettingError` if it is set more than once, as it is unclear which one holds.
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
    if not files:
        return SecretSource(name, text)
    [(setting, path)] = files.items()
    secret = parse_setting(setting, path, secret_files.read_secret_file, secret_files.ALLOWED)
    return SecretSource(setting, secret, path)

"""Read the settings of a server from the environment, once, with errors that help."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from ostiary_core.model.policy import SecondFactorFor, TextRecoveryFor
from ostiary_core.model.secret import Secret
from ostiary_core.texts import Languages
from ostiary_net.runtime.system import count_processors
from ostiary_web.server import secret_files, setting_values
from ostiary_web.server.brand import LINKS_ALLOWED, NAMES_ALLOWED, Brand, load_logo, read_links, read_name
from ostiary_web.server.brand_color import COLORS_ALLOWED, read_colors
from ostiary_web.server.brand_logo import LOGOS_ALLOWED
from ostiary_web.server.database import ALLOWED, Database, PostgreSQLDatabase, read_database
from ostiary_web.server.setting_values import Network, SettingError, between, parse_setting
from ostiary_web.server.telephones import REGIONS_ALLOWED, read_region
from ostiary_web.texts import LANGUAGES

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The operator's choices; fields are named as the environment variables."""

    database: Database
    database_prepared_statements: bool | None
    """None for: wherever no pooler is seen."""
    data_dir: Path
    bind: str
    workers: int
    password_hashing_threads: int
    """Threads of one worker; each hashes one password at a time, in 19 MiB."""
    admin_username: str
    admin_password: str | None
    public_url: str | None
    brand: Brand
    trust_proxy: tuple[Network, ...]
    rate_limit_scale: float
    api_docs_enabled: bool
    revoke_on_code_replay: bool
    require_second_factor: SecondFactorFor
    second_factor_key: bytes | None = field(repr=False)
    """None for the key in `data_dir`, which the first start makes."""
    recovery_by_text_message: TextRecoveryFor
    sms_gateway_url: str | None
    sms_gateway_token: Secret | None
    sms_gateway_token_file: Path | None
    sms_outbox: Path
    phone_region: str
    """Region of numbers without a country code (ISO 3166)."""
    log_level: str
    log_format: str
    metrics_bind: str | None
    otel_exporter_otlp_endpoint: str | None
    retention_sessions_days: int
    retention_audit_days: int
    secret_files: tuple[Path, ...]
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

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Read the settings; raise `SettingError` for the first invalid one. An empty value is none."""

        def read_optional(name: str, parse: Callable[[str], T], allowed: str) -> T | None:
            text = environment.get(name, "").strip()
            return parse_setting(name, text, parse, allowed) if text else None

        def read(name: str, default: T, parse: Callable[[str], T], allowed: str) -> T:
            value = read_optional(name, parse, allowed)
            return default if value is None else value

        def read_secret(secret: SecretSource, parse: Callable[[str], T], allowed: str) -> T | None:
            return parse_setting(secret.setting, secret.text, parse, allowed) if secret.text else None

        data_dir = read("DATA_DIR", Path("data"), Path, "a folder")
        links: Mapping[str, str] = read("BRAND_LINKS", {}, read_links, LINKS_ALLOWED)
        gateway = read_optional("SMS_GATEWAY_URL", *setting_values.GATEWAY_URL)
        database = find_secret(environment, "DATABASE_URL")
        password = find_secret(environment, "ADMIN_PASSWORD")
        token = find_secret(environment, "SMS_GATEWAY_TOKEN")
        key = find_secret(environment, "SECOND_FACTOR_KEY")
        workers = read("WORKERS", 1, *between(1, 64))
        if token.text.strip() and gateway is None:
            raise SettingError(
                token.setting, "is set without SMS_GATEWAY_URL", "only together with SMS_GATEWAY_URL"
            )
        return cls(
            database=_database(database),
            database_prepared_statements=read_optional(
                "DATABASE_PREPARED_STATEMENTS", *setting_values.PREPARED_STATEMENTS
            ),
            data_dir=data_dir,
            bind=read("BIND", "127.0.0.1:8000", *setting_values.BINDS),
            workers=workers,
            password_hashing_threads=read(
                "PASSWORD_HASHING_THREADS",
                max(1, (count_processors(environment) - 1) // workers),
                *between(1, 1_000),
            ),
            admin_username=read("ADMIN_USERNAME", "admin", *setting_values.USERNAME),
            admin_password=read_secret(password, *setting_values.PASSWORD),
            public_url=read_optional("PUBLIC_URL", *setting_values.PUBLIC_URL),
            brand=Brand(
                name=read("BRAND_NAME", "Ostiary", read_name, NAMES_ALLOWED),
                privacy=links.get("privacy"),
                help=links.get("help"),
                logo=read_optional("BRAND_LOGO", load_logo, LOGOS_ALLOWED),
                color=read_optional("BRAND_COLOR", read_colors, COLORS_ALLOWED),
            ),
            trust_proxy=read("TRUST_PROXY", (), *setting_values.NETWORKS),
            rate_limit_scale=read("RATE_LIMIT_SCALE", 1.0, *setting_values.SCALE),
            api_docs_enabled=read("API_DOCS_ENABLED", False, *setting_values.BOOLEAN),
            revoke_on_code_replay=read("REVOKE_ON_CODE_REPLAY", False, *setting_values.BOOLEAN),
            require_second_factor=read(
                "REQUIRE_SECOND_FACTOR", SecondFactorFor.NOBODY, *setting_values.SECOND_FACTOR_FOR
            ),
            second_factor_key=read_secret(key, *setting_values.SECOND_FACTOR_KEY),
            recovery_by_text_message=read(
                "RECOVERY_BY_TEXT_MESSAGE", TextRecoveryFor.EVERYBODY, *setting_values.TEXT_RECOVERY_FOR
            ),
            sms_gateway_url=gateway,
            sms_gateway_token=read_secret(token, *setting_values.HEADER_TOKEN),
            sms_gateway_token_file=token.path,
            sms_outbox=read("SMS_OUTBOX", data_dir / "sms-outbox.jsonl", Path, "a file"),
            phone_region=read("PHONE_REGION", "CN", read_region, REGIONS_ALLOWED),
            log_level=read("LOG_LEVEL", "info", *setting_values.LOG_LEVEL),
            log_format=read("LOG_FORMAT", "console", *setting_values.LOG_FORMAT),
            metrics_bind=read_optional("METRICS_BIND", *setting_values.BIND),
            otel_exporter_otlp_endpoint=read_optional(
                "OTEL_EXPORTER_OTLP_ENDPOINT", *setting_values.COLLECTOR_URL
            ),
            retention_sessions_days=read("RETENTION_SESSIONS_DAYS", 30, *between(0, 36_500)),
            retention_audit_days=read("RETENTION_AUDIT_DAYS", 0, *between(0, 36_500)),
            secret_files=tuple(
                each.path for each in (database, password, token, key) if each.path is not None
            ),
        )


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


def _database(source: SecretSource) -> Database:
    text = source.text.strip() or "sqlite:///data/ostiary.db"
    database = parse_setting(source.setting, text, read_database, ALLOWED)
    return replace(database, path=source.path) if isinstance(database, PostgreSQLDatabase) else database

"""Settings: a wrong value stops the start with one line that names it, its fault, and what is allowed."""

import ipaddress
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ostiary_core.model.policy import SecondFactorFor, TextRecoveryFor
from ostiary_core.model.records import Table, User
from ostiary_core.model.secret import Secret, digest_of
from ostiary_net.runtime.system import SystemEntropy
from ostiary_net.runtime.text_messages import Gateway, Outbox
from ostiary_web.app.asgi_app import describe_first_administrator, load_settings_or_exit, make_door_limits
from ostiary_web.server.database import PostgreSQLDatabase, SQLiteFile
from ostiary_web.server.first_administrator import NewAdministrator
from ostiary_web.server.setting_values import SettingError
from ostiary_web.server.settings import Settings
from ostiary_web.server.wiring import open_delivery
from tests.support.processes import Machine
from tests.support.served import serving

_PLAIN = """
    DATABASE_URL data/ostiary.db sqlite:// sqlite:/// sqlite:///a.db?mode=ro mysql://root:hunter22@db/x
    DATABASE_URL postgresql:// postgresql://db postgresql://root:hunter22@db:port/x
    DATABASE_URL postgresql://root:hunter22@db:65536/x postgresql://root:hunter22@db:5432,db2:0/x
    DATABASE_URL postgresql://root:hunter2/2@db/x postgresql://root:a@db/x?password=hunter22&hunter23=1
    BIND 127.0.0.1:80,, 127.0.0.1:80,8000 unix:
    BIND 8000 127.0.0.1 127.0.0.1:65536 127.0.0.1:-1 fd://three unix:
    METRICS_BIND fd://3 unix:/run/ostiary/metrics 9464
    WORKERS 0 65 two 1.5 ٢
    PASSWORD_HASHING_THREADS 0 1001 two
    ADMIN_USERNAME a:b
    BRAND_LINKS https://e.com privacy=http://e.com help=javascript:alert(1) terms=https://e.com help=https://a@e.com
    BRAND_LINKS help=https://e.com,help=https://e.com
    BRAND_LOGO /nowhere/logo.svg /dev/null README.md
    BRAND_COLOR blue #0a5 #ffcc00 #0a5bd3,#0a5bd3 #0a5bd3,#6ea8ff,#000000 ＃0a5bd3
    ADMIN_PASSWORD hunter2
    PUBLIC_URL id.example ftp://id.example https:// https://id.example/a//b https://id.example?x
    PUBLIC_URL https://id.example#x https://user:hunter2@id.example https://id.example:99999
    PUBLIC_URL https://id..example https://例子.example https://id.example/%61 https://id.example/a/../b
    TRUST_PROXY proxy 10.0.0.0/33 10.0.0.1/8 10.0.0.1;10.0.0.2
    RATE_LIMIT_SCALE 0 -1 nan inf much
    HSTS_SECONDS -1 year
    KEEP_ALIVE_SECONDS 0 3601 1.5
    GUESS_LIMIT_SCALE 0 -1 nan inf much
    REVOKE_ON_CODE_REPLAY maybe
    REQUIRE_SECOND_FACTOR yes
    SECOND_FACTOR_KEY short-hunter2
    RECOVERY_BY_TEXT_MESSAGE sometimes
    RETENTION_SESSIONS_DAYS -1 1.5
    RETENTION_AUDIT_DAYS 36501
    OTEL_EXPORTER_OTLP_ENDPOINT 127.0.0.1:4318 https://user:hunter2@collector.example
    SMS_GATEWAY_URL sms.example.com/hunter2 ftp://sms.example.com/hunter2 https:///hunter2
    SMS_GATEWAY_URL https://sms.example.com:port/hunter2 https://短信.example/hunter2
    SMS_GATEWAY_URL https://me:hunter2@sms.example.com/
    SMS_GATEWAY_TOKEN hunter2é
    LOG_LEVEL loud
    LOG_FORMAT xml
"""
"""The name of a setting in each line, and values that it may not have."""

WRONG = [
    *((name, value) for name, *values in map(str.split, _PLAIN.strip().splitlines()) for value in values),
    *(("BIND", value) for value in ("two words:80", "unix:/run/\x07", "unix:/" + "x" * 107)),
    *(("ADMIN_USERNAME", value) for value in ("two words", "x" * 65)),
    *(("BRAND_NAME", value) for value in ("x" * 41, "Bank\u202eknaB")),
    *(("DATABASE_URL", "postgresql://root:hunter22@db/x y"), ("ADMIN_PASSWORD", "hunter2" * 37)),
    *(("PUBLIC_URL", "https://two words"), ("BRAND_LINKS", "help=https://e.com/two words")),
    *(("SMS_GATEWAY_URL", "https://sms.example.com/ hunter2"), ("SMS_GATEWAY_TOKEN", "hunter2 one")),
    ("PHONE_REGION", "cn"),
]


GATEWAY = {"SMS_GATEWAY_URL": "https://sms.example.com:8443/v1/send?tenant=7"}


@pytest.mark.parametrize("name, value", WRONG)
def test_a_wrong_value_ends_the_start_with_one_line(name: str, value: str) -> None:
    with pytest.raises(SystemExit) as ended:
        load_settings_or_exit({**GATEWAY, name: value})
    line = ended.value.code
    assert isinstance(line, str), "a text goes to standard error, and the status is 1"
    assert line.startswith(f"ostiary: {name}: ")
    assert "; allowed: " in line
    assert "\n" not in line
    assert "hunter2" not in line, "a password is not quoted"


async def test_text_messages_go_to_a_gateway_or_to_a_file() -> None:
    with pytest.raises(SettingError, match="only together with SMS_GATEWAY_URL"):
        Settings.from_environment({"SMS_GATEWAY_TOKEN": "x"})
    for environment, kind in (
        ({"DATA_DIR": "/srv/ostiary"}, Outbox),
        ({"SMS_OUTBOX": "/var/log/sms"}, Outbox),
        (GATEWAY, Gateway),
        ({**GATEWAY, "SMS_GATEWAY_TOKEN": "abc.DEF-123_~+/=="}, Gateway),
    ):
        chosen = Settings.from_environment(environment)
        assert "DEF" not in f"{chosen!r} {chosen.sms_gateway_token!r}"
        assert chosen.sms_gateway_url == environment.get("SMS_GATEWAY_URL")
        assert (chosen.sms_gateway_token is None) is ("SMS_GATEWAY_TOKEN" not in environment)
        async with open_delivery(chosen, SystemEntropy()) as delivery:
            assert type(delivery) is kind
            assert not isinstance(delivery, Outbox) or delivery.path == chosen.sms_outbox
    assert Settings.from_environment({"SMS_OUTBOX": "/x"}).sms_outbox == Path("/x")
    in_the_folder = Settings.from_environment({"DATA_DIR": "/srv/ostiary"})
    assert in_the_folder.sms_outbox == Path("/srv/ostiary/sms-outbox.jsonl")


@given(
    name=st.sampled_from(sorted({name for name, _ in WRONG} | {"DATA_DIR"})),
    value=st.text(st.characters(exclude_characters="\x00"), max_size=40),
)
def test_any_value_is_taken_or_refused_in_one_line(name: str, value: str) -> None:
    fault = f"{name}: "
    try:
        Settings.from_environment({name: value})
    except SettingError as error:
        fault = str(error)
    assert fault.startswith(f"{name}: ")
    assert len(fault.splitlines()) == 1


def test_an_empty_value_counts_as_not_set() -> None:
    for name, _ in WRONG:
        assert Settings.from_environment({name: ""}) == Settings.from_environment({}), name


RIGHT: dict[str, Any] = {
    "database": SQLiteFile(Path("data/ostiary.db")),
    "data_dir": Path("data"),
    "bind": "127.0.0.1:8000",
    **dict.fromkeys(("workers", "rate_limit_scale", "guess_limit_scale"), 1),
    "admin_username": "admin",
    **dict.fromkeys(("admin_password", "public_url", "database_prepared_statements")),
    "trust_proxy": (),
    "hsts_seconds": 31_536_000,
    "keep_alive_seconds": 75,
    "revoke_on_code_replay": False,
    "require_second_factor": SecondFactorFor.NOBODY,
    "second_factor_key": None,
    "recovery_by_text_message": TextRecoveryFor.EVERYBODY,
    "log_level": "info",
    "log_format": "console",
    "DATABASE_URL=sqlite:////var/lib/o.db": SQLiteFile(Path("/var/lib/o.db")),
    "DATABASE_PREPARED_STATEMENTS=off": False,
    "BIND=[::1]:0": "[::1]:0",
    "BIND=fd://3": "fd://3",
    "BIND=unix:/run/ostiary/door": "unix:/run/ostiary/door",
    "WORKERS=64": 64,
    "PASSWORD_HASHING_THREADS=16": 16,
    "ADMIN_PASSWORD= with spaces ": " with spaces ",
    "PUBLIC_URL=https://id.example/": "https://id.example",
    "PUBLIC_URL=https://[2001:DB8::1]:8443": "https://[2001:db8::1]:8443",
    "PUBLIC_URL=https://[::1]:443": "https://[::1]",
    "RATE_LIMIT_SCALE=0.5": 0.5,
    "REVOKE_ON_CODE_REPLAY=Yes": True,
    "REQUIRE_SECOND_FACTOR=Administrators": SecondFactorFor.ADMINISTRATORS,
    f"SECOND_FACTOR_KEY={'k' * 32}": digest_of("k" * 32),
    "RECOVERY_BY_TEXT_MESSAGE=second-factor": TextRecoveryFor.WITH_SECOND_FACTOR,
    "LOG_LEVEL=DEBUG": "debug",
    "LOG_LEVEL=WARN": "warning",
    'BRAND_NAME=The "Door" & more': 'The "Door" & more',
    "TRUST_PROXY=10.0.0.5 10.0.0.6\n10.0.0.7,\n10.0.0.8\n": tuple(
        ipaddress.ip_network(f"10.0.0.{last}") for last in (5, 6, 7, 8)
    ),
    "OTEL_EXPORTER_OTLP_ENDPOINT=http://[::1]:4318": "http://[::1]:4318",
    "TRUST_PROXY= 10.0.0.5, 192.168.0.0/16,,fd00::/8": tuple(
        map(ipaddress.ip_network, ("10.0.0.5", "192.168.0.0/16", "fd00::/8"))
    ),
}
"""The value that is read from a setting; for a name alone, its default."""


def test_a_right_value_is_read_and_the_defaults_are_the_documented_ones() -> None:
    for said, expected in RIGHT.items():
        name, equals, value = said.partition("=")
        settings = Settings.from_environment({name: value} if equals else {})
        field = "database" if name == "DATABASE_URL" else name.lower()
        assert getattr(settings, field) == expected, said


def test_settings_do_not_print_what_is_secret() -> None:
    settings = Settings.from_environment({"ADMIN_PASSWORD": "correct horse"})
    assert "correct horse" not in f"{settings!r} {settings}"


# --- secrets from files


@pytest.mark.parametrize("given_by", ["NAME_FILE", "CREDENTIALS_DIRECTORY"])
def test_a_secret_is_the_line_in_its_file(tmp_path: Path, given_by: str) -> None:
    secrets = {
        "ADMIN_PASSWORD": " correct horse ",
        "DATABASE_URL": "sqlite:////var/lib/o.db",
        "SMS_GATEWAY_TOKEN": "abc.DEF",
    }
    environment = {**GATEWAY, "CREDENTIALS_DIRECTORY": str(tmp_path / "none")}
    for (name, secret), end in zip(secrets.items(), ("\n", "", "\r\n"), strict=True):
        (tmp_path / name).write_bytes(f"{secret}{end}".encode())
        environment |= {f"{name}_FILE": str(tmp_path / name)}
    if given_by == "CREDENTIALS_DIRECTORY":
        environment = {**GATEWAY, given_by: str(tmp_path)}
    settings = Settings.from_environment(environment)
    assert settings == replace(
        Settings.from_environment({**GATEWAY, **secrets}),
        secret_files=settings.secret_files,
        sms_gateway_token_file=tmp_path / "SMS_GATEWAY_TOKEN",
    )
    assert set(settings.secret_files) == {tmp_path / name for name in secrets}


@pytest.mark.parametrize("added", ["{}\n", "{}\r\n", "\ufeff{}", "{}\t", "{}\x85", "\x1b[1m{}"], ids=ascii)
@pytest.mark.parametrize("given_by", ["variable", "file"])
def test_a_password_with_odd_characters_ends_the_start(tmp_path: Path, given_by: str, added: str) -> None:
    text, path = added.format("correct horse"), tmp_path / "password"
    # One line break at the end of a file is no part of the secret.
    path.write_bytes((text + "\n" * text.endswith("\n")).encode())
    environment = {"ADMIN_PASSWORD": text} if given_by == "variable" else {"ADMIN_PASSWORD_FILE": str(path)}
    with pytest.raises(SettingError, match=r"^ADMIN_PASSWORD") as refused:
        Settings.from_environment(environment)
    assert "horse" not in str(refused.value)


@pytest.mark.parametrize("name", ["ADMIN_PASSWORD", "DATABASE_URL", "SECOND_FACTOR_KEY", "SMS_GATEWAY_TOKEN"])
def test_a_secret_that_is_set_twice_or_cannot_be_read_ends_the_start(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    by_file, credential = {f"{name}_FILE": str(path)}, {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    at_credential = f"CREDENTIALS_DIRECTORY/{name}"

    def line(environment: dict[str, str]) -> str:
        with pytest.raises(SystemExit) as ended:
            load_settings_or_exit({**GATEWAY, **environment})
        said = str(ended.value.code)
        assert len(said.splitlines()) == 1
        assert "hunter" not in said
        return said

    assert line(by_file).startswith(f"ostiary: {name}_FILE: '{path}' cannot be read: No such file")
    for content, fault in (
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"hunter22\n\n", "has more than one line"),
        (b"hunter\xff22", "is not text in UTF-8"),
        (b"hunter22" * 1025, "is too large"),
    ):
        path.write_bytes(content)
        assert line(by_file).startswith(f"ostiary: {name}_FILE: '{path}' {fault}; allowed: ")
        assert line(credential).startswith(f"ostiary: {at_credential}: '{path}' {fault}; allowed: ")
    path.write_text("hunter2" if name == "ADMIN_PASSWORD" else "hunter2 ü")
    assert line(by_file).startswith(f"ostiary: {name}_FILE: "), "where a wrong value was given"
    for together in ({name: "hunter22", **by_file}, {name: "hunter22", **credential}, by_file | credential):
        named = [name] * (name in together) + [f"{name}_FILE"] * (f"{name}_FILE" in together)
        named += [at_credential] * ("CREDENTIALS_DIRECTORY" in together)
        assert line(together) == f"ostiary: {' and '.join(named)}: are set together; allowed: one of them"
    path.unlink()
    os.mkfifo(path)
    assert line(by_file).startswith(f"ostiary: {name}_FILE: '{path}' is not a file; allowed: ")


def test_a_secret_in_a_file_is_read_anew_and_a_file_that_is_gone_changes_nothing(tmp_path: Path) -> None:
    address, token = tmp_path / "address", tmp_path / "token"
    address.write_text("postgresql://ostiary:first@db/ostiary\n")
    token.write_text("first\n")
    files = {"DATABASE_URL_FILE": str(address), "SMS_GATEWAY_TOKEN_FILE": str(token)}
    settings = Settings.from_environment({**GATEWAY, **files})
    database = settings.database
    assert isinstance(database, PostgreSQLDatabase)
    for content in ("first", "second"):
        address.write_text(f"postgresql://ostiary:{content}@db/ostiary\n")
        token.write_text(f"{content}\n")
        assert database.read_password() == content
        assert settings.read_gateway_token() == Secret(content)
    for unusable in (b"", b"two\nlines", b"\xff"):
        address.write_bytes(unusable)
        token.write_bytes(unusable)
        assert database.read_password() is None, "the one of the start"
        assert settings.read_gateway_token() == Secret("first")


# --- processors


@pytest.mark.parametrize(
    "more, threads",
    [
        ({}, 8),
        ({"WORKERS": "4"}, 2),
        ({"WORKERS": "16"}, 1),
        ({"WORKERS": "4", "PASSWORD_HASHING_THREADS": "5"}, 5),
    ],
)
def test_workers_share_all_processors_but_one_for_passwords(more: dict[str, str], threads: int) -> None:
    assert Settings.from_environment({"PYTHON_CPU_COUNT": "9", **more}).password_hashing_threads == threads


async def test_as_many_passwords_are_hashed_at_a_time_as_the_setting_says(tmp_path: Path) -> None:
    async with serving(tmp_path, PASSWORD_HASHING_THREADS="5") as served:
        assert served.services.passwords.at_a_time == 5


# --- the first administrator


async def test_a_drawn_password_is_shown_once_and_must_be_changed(tmp_path: Path) -> None:
    async with serving(tmp_path, ADMIN_PASSWORD="") as served:
        made = served.services.first_administrator
        assert isinstance(made, NewAdministrator)
        assert made.drawn_password is not None
        password = made.drawn_password.reveal()
        assert len(password) == 43
        assert password in describe_first_administrator(made)
        assert password not in repr(made)
        assert (await served.api().sign_in("admin", password))["mustChangePassword"] is True
    async with serving(tmp_path, ADMIN_PASSWORD="") as again:
        assert again.services.first_administrator is None
        await again.api().sign_in("admin", password)


async def test_a_given_password_is_not_shown_and_need_not_be_changed(tmp_path: Path) -> None:
    async with serving(tmp_path, ADMIN_USERNAME="root", ADMIN_PASSWORD="correct horse") as served:
        made = served.services.first_administrator
        assert made == NewAdministrator("root", None)
        assert "correct horse" not in describe_first_administrator(made)
        assert (await served.api().sign_in("root", "correct horse"))["mustChangePassword"] is False


async def test_the_names_are_read_only_while_there_is_no_administrator(tmp_path: Path) -> None:
    async with serving(tmp_path):
        pass
    async with serving(tmp_path, ADMIN_USERNAME="other", ADMIN_PASSWORD="another password") as served:
        users = [record for record in served.records()[Table.USER] if isinstance(record, User)]
        assert [user.username for user in users] == ["admin"]
        await served.api().sign_in()


@pytest.mark.parametrize(
    "environment, expected",
    [
        ({"PUBLIC_URL": "https://id.example"}, "max-age=31536000"),
        ({"PUBLIC_URL": "https://id.example:8443/auth", "HSTS_SECONDS": "300"}, "max-age=300"),
        ({"PUBLIC_URL": "https://id.example", "HSTS_SECONDS": "0"}, None),
        ({"PUBLIC_URL": "http://id.example"}, None),
        ({"PUBLIC_URL": "https://localhost:8443"}, None),
        ({"PUBLIC_URL": "https://id.localhost"}, None),
        ({}, None),
    ],
)
def test_an_https_address_asks_browsers_for_https(environment: dict[str, str], expected: str | None) -> None:
    settings = Settings.from_environment(environment)
    assert settings.strict_transport_security == expected
    fields = make_door_limits(settings).answer_fields
    assert fields == (() if expected is None else ((b"strict-transport-security", expected.encode()),))


async def test_every_kind_of_answer_asks_for_https_once(tmp_path: Path) -> None:
    """Ask for a page, a script, the interface, the token service, and refusals of the front door."""
    async with serving(tmp_path, PUBLIC_URL="https://id.example") as served:
        browser = served.browser()
        paths = "/login /static/app.css /api/auth/me /api/oauth2/token /nowhere /healthz"
        for path in paths.split():
            for response in (await browser.get(path), await browser.post(path, content=b"x" * 70_000)):
                told = response.headers.get_list("strict-transport-security")
                assert told == ["max-age=31536000"], (path, response.status_code)


QUOTED = (
    *("DATA_DIR", "DATABASE_URL", "BRAND_NAME", "ADMIN_PASSWORD", "ADMIN_PASSWORD_FILE", "PUBLIC_URL"),
    *("WORKERS", "SMS_OUTBOX", "CREDENTIALS_DIRECTORY", "SECOND_FACTOR_KEY"),
)


@pytest.mark.parametrize("name", QUOTED)
@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_value_that_kept_the_quotes_of_its_file_is_refused(name: str, quote: str) -> None:
    """`docker --env-file` keeps quotes in a value: the server would make a folder with quotes in its name."""
    with pytest.raises(SettingError, match=f"^{name}: is in quotes") as refused:
        Settings.from_environment({name: f"{quote}hunter2 hunter2{quote}"})
    assert "hunter2" not in str(refused.value)
    assert Settings.from_environment({"ANOTHER_PROGRAMS": '"x"'}) == Settings.from_environment({})


def test_a_byte_order_mark_before_a_value_is_refused() -> None:
    with pytest.raises(SettingError, match=r"^DATABASE_URL: begins with a byte order mark"):
        Settings.from_environment({"DATABASE_URL": "\ufeffx"})


def test_migrate_makes_no_other_database_for_a_mark_before_the_first_name(tmp_path: Path) -> None:
    """The first line of a file with a byte order mark would otherwise set nothing."""
    ran = Machine(tmp_path).run("migrate", env={"\ufeffDATABASE_URL": f"sqlite:///{tmp_path}/mine.db"})
    assert ran.exit_code == 1
    assert ran.err.startswith("ostiary: DATABASE_URL: begins with a byte order mark")
    assert list(tmp_path.glob("*.db")) == []

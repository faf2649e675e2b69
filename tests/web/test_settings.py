"""Settings: a wrong value stops the start with one line that names it, its fault, and what is allowed."""

import ipaddress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary_core.model.records import Table, User
from ostiary_net.runtime.system import SystemEntropy
from ostiary_net.runtime.text_messages import Gateway, Outbox
from ostiary_web.app.asgi_app import first_password_line, settings_or_exit
from ostiary_web.server.database import SQLiteFile
from ostiary_web.server.first_administrator import NewAdministrator
from ostiary_web.server.settings import SettingError, Settings
from ostiary_web.server.wiring import open_delivery
from tests.web.served import serving

WRONG = [
    ("DATABASE_URL", "data/ostiary.db"),
    ("DATABASE_URL", "sqlite://"),
    ("DATABASE_URL", "sqlite:///"),
    ("DATABASE_URL", "sqlite:///a.db?mode=ro"),
    ("DATABASE_URL", "mysql://root:hunter22@db/x"),
    ("DATABASE_URL", "postgresql://"),
    ("DATABASE_URL", "postgresql://db"),
    ("DATABASE_URL", "postgresql://root:hunter22@db:port/x"),
    ("DATABASE_URL", "postgresql://root:hunter22@db:65536/x"),
    ("DATABASE_URL", "postgresql://root:hunter22@db:5432,db2:0/x"),
    ("DATABASE_URL", "postgresql://root:hunter2/2@db/x"),
    ("DATABASE_URL", "postgresql://root:hunter22@db/x y"),
    ("DATABASE_URL", "postgresql://root:hunter22@db/x?hunter23=1"),
    ("BIND", "8000"),
    ("BIND", "127.0.0.1"),
    ("BIND", "127.0.0.1:65536"),
    ("BIND", "127.0.0.1:-1"),
    ("BIND", "two words:80"),
    ("BIND", "fd://three"),
    ("BIND", "unix:"),
    ("BIND", "unix:/run/\x07"),
    ("BIND", "unix:/" + "x" * 107),
    ("METRICS_BIND", "fd://3"),
    ("METRICS_BIND", "unix:/run/ostiary/metrics"),
    ("WORKERS", "0"),
    ("WORKERS", "65"),
    ("WORKERS", "two"),
    ("WORKERS", "1.5"),
    ("WORKERS", "٢"),
    ("ADMIN_USERNAME", "two words"),
    ("ADMIN_USERNAME", "a:b"),
    ("ADMIN_USERNAME", "x" * 65),
    ("ADMIN_PASSWORD", "hunter2"),
    ("ADMIN_PASSWORD", "hunter2" * 37),
    ("PUBLIC_URL", "id.example"),
    ("PUBLIC_URL", "ftp://id.example"),
    ("PUBLIC_URL", "https://"),
    ("PUBLIC_URL", "https://id.example/app"),
    ("PUBLIC_URL", "https://id.example?x"),
    ("PUBLIC_URL", "https://id.example#x"),
    ("PUBLIC_URL", "https://user:hunter2@id.example"),
    ("PUBLIC_URL", "https://id.example:99999"),
    ("PUBLIC_URL", "https://id..example"),
    ("PUBLIC_URL", "https://two words"),
    ("PUBLIC_URL", "https://例子.example"),
    ("TRUST_PROXY", "proxy"),
    ("TRUST_PROXY", "10.0.0.0/33"),
    ("TRUST_PROXY", "10.0.0.1/8"),
    ("TRUST_PROXY", "10.0.0.1;10.0.0.2"),
    ("RATE_LIMIT_SCALE", "0"),
    ("RATE_LIMIT_SCALE", "-1"),
    ("RATE_LIMIT_SCALE", "nan"),
    ("RATE_LIMIT_SCALE", "inf"),
    ("RATE_LIMIT_SCALE", "much"),
    ("REVOKE_ON_CODE_REPLAY", "maybe"),
    ("RETENTION_SESSIONS_DAYS", "-1"),
    ("RETENTION_SESSIONS_DAYS", "1.5"),
    ("RETENTION_AUDIT_DAYS", "36501"),
    ("METRICS_BIND", "9464"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4318"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://user:hunter2@collector.example"),
    ("SMS_GATEWAY_URL", "sms.example.com/hunter2"),
    ("SMS_GATEWAY_URL", "ftp://sms.example.com/hunter2"),
    ("SMS_GATEWAY_URL", "https:///hunter2"),
    ("SMS_GATEWAY_URL", "https://sms.example.com:port/hunter2"),
    ("SMS_GATEWAY_URL", "https://短信.example/hunter2"),
    ("SMS_GATEWAY_URL", "https://me:hunter2@sms.example.com/"),
    ("SMS_GATEWAY_URL", "https://sms.example.com/ hunter2"),
    ("SMS_GATEWAY_TOKEN", "hunter2\u00e9"),
    ("SMS_GATEWAY_TOKEN", "hunter2 one"),
    ("LOG_LEVEL", "loud"),
    ("LOG_FORMAT", "xml"),
]


GATEWAY = {"SMS_GATEWAY_URL": "https://sms.example.com:8443/v1/send?tenant=7"}


@pytest.mark.parametrize("name, value", WRONG)
def test_a_wrong_value_ends_the_start_with_one_line(name: str, value: str) -> None:
    with pytest.raises(SystemExit) as ended:
        settings_or_exit({**GATEWAY, name: value})
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


@pytest.mark.parametrize("name", sorted({name for name, _ in WRONG}))
def test_an_empty_value_counts_as_not_set(name: str) -> None:
    assert Settings.from_environment({name: ""}) == Settings.from_environment({})


def test_the_defaults_are_the_documented_ones() -> None:
    settings = Settings.from_environment({})
    assert settings.database == SQLiteFile(Path("data/ostiary.db"))
    assert settings.data_dir == Path("data")
    assert settings.bind == "127.0.0.1:8000"
    assert (settings.workers, settings.rate_limit_scale) == (1, 1)
    assert (settings.admin_username, settings.admin_password) == ("admin", None)
    assert (settings.public_url, settings.trust_proxy) == (None, ())
    assert settings.revoke_on_code_replay is False
    assert (settings.log_level, settings.log_format) == ("info", "console")


@pytest.mark.parametrize(
    "name, value, field, expected",
    [
        ("DATABASE_URL", "sqlite:////var/lib/o.db", "database", SQLiteFile(Path("/var/lib/o.db"))),
        ("BIND", "[::1]:0", "bind", "[::1]:0"),
        ("BIND", "fd://3", "bind", "fd://3"),
        ("BIND", "unix:/run/ostiary/door", "bind", "unix:/run/ostiary/door"),
        ("WORKERS", "64", "workers", 64),
        ("ADMIN_PASSWORD", " with spaces ", "admin_password", " with spaces "),
        ("PUBLIC_URL", "https://id.example/", "public_url", "https://id.example"),
        ("PUBLIC_URL", "https://[2001:DB8::1]:8443", "public_url", "https://[2001:db8::1]:8443"),
        ("PUBLIC_URL", "https://[::1]:443", "public_url", "https://[::1]"),
        ("RATE_LIMIT_SCALE", "0.5", "rate_limit_scale", 0.5),
        ("REVOKE_ON_CODE_REPLAY", "Yes", "revoke_on_code_replay", True),
        ("LOG_LEVEL", "DEBUG", "log_level", "debug"),
        (
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "http://[::1]:4318",
            "otel_exporter_otlp_endpoint",
            "http://[::1]:4318",
        ),
        (
            "TRUST_PROXY",
            " 10.0.0.5, 192.168.0.0/16,,fd00::/8",
            "trust_proxy",
            tuple(map(ipaddress.ip_network, ("10.0.0.5", "192.168.0.0/16", "fd00::/8"))),
        ),
    ],
)
def test_a_right_value_is_read(name: str, value: str, field: str, expected: Any) -> None:
    assert getattr(Settings.from_environment({name: value}), field) == expected


def test_settings_do_not_print_what_is_secret() -> None:
    settings = Settings.from_environment({"ADMIN_PASSWORD": "correct horse"})
    assert "correct horse" not in repr(settings)
    assert "correct horse" not in str(settings)


# --- the first administrator


async def test_a_drawn_password_is_told_once_and_must_be_changed(tmp_path: Path) -> None:
    async with serving(tmp_path, ADMIN_PASSWORD="") as served:
        made = served.backing.new_administrator
        assert made is not None
        assert made.drawn_password is not None
        password = made.drawn_password.reveal()
        assert len(password) == 43
        assert password in first_password_line(made)
        assert password not in repr(made)
        assert (await served.api().sign_in("admin", password))["mustChangePassword"] is True
    async with serving(tmp_path, ADMIN_PASSWORD="") as again:
        assert again.backing.new_administrator is None
        await again.api().sign_in("admin", password)


async def test_a_given_password_is_not_told_and_need_not_be_changed(tmp_path: Path) -> None:
    async with serving(tmp_path, ADMIN_USERNAME="root", ADMIN_PASSWORD="correct horse") as served:
        made = served.backing.new_administrator
        assert made == NewAdministrator("root", None)
        assert "correct horse" not in first_password_line(made)
        assert (await served.api().sign_in("root", "correct horse"))["mustChangePassword"] is False


async def test_the_names_are_read_only_while_there_is_no_administrator(tmp_path: Path) -> None:
    async with serving(tmp_path):
        pass
    async with serving(tmp_path, ADMIN_USERNAME="other", ADMIN_PASSWORD="another password") as served:
        users = [record for record in served.records()[Table.USER] if isinstance(record, User)]
        assert [user.username for user in users] == ["admin"]
        await served.api().sign_in()

"""A store in DATABASE_URL that cannot be used ends the start with one line, which holds no password."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import apsw
import httpx
import psycopg
import pytest

from ostiary_net.postgres import PostgreSQLStore
from ostiary_net.sql.migrations import Migration, read_migrations
from ostiary_web.cli import context
from ostiary_web.server import storage
from ostiary_web.server.database import PostgreSQLDatabase, read_database
from ostiary_web.server.settings import Settings
from tests.support.processes import Machine, Process, children_of, free_port, is_active, token, wait_until
from tests.support.stores import need_postgresql

_NOBODY = 65_534
_SERVICE: Final = 10_001
_AS_SERVICE: Final = ("setpriv", f"--reuid={_SERVICE}", f"--regid={_SERVICE}", "--clear-groups")


@pytest.fixture
def nobody_there() -> str:
    """Return an address at which no database listens."""
    return f"postgresql://somebody:hunter22@127.0.0.1:{free_port()}/ostiary"


@pytest.mark.parametrize("words", [("migrate",), ("serve",), ("client", "list")])
@pytest.mark.parametrize("kind", ["sqlite", "foreign", "mysql", "postgresql"])
def test_a_database_that_cannot_be_used_is_one_line_for_every_command(
    kind: str,
    words: tuple[str, ...],
    nobody_there: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(storage, "_START_SECONDS", 0.1)
    monkeypatch.setattr(context, "_OPEN_SECONDS", 0.1)
    (tmp_path / "file").write_bytes(b"notes of mine, " * 100)
    urls = {
        "sqlite": f"sqlite:///{tmp_path / 'file'}/ostiary.db",
        "foreign": f"sqlite:///{tmp_path / 'file'}",
        "mysql": "mysql://root:hunter22@db/x",
        "postgresql": nobody_there,
    }
    ran = Machine(tmp_path, DATABASE_URL=urls[kind]).run(*words)
    assert (ran.exit_code, ran.out) == (1, "")
    # The log of a server is written by a thread of its own, past what the command prints.
    *before, line = (capfd.readouterr().err + ran.err).splitlines()
    assert all("waiting for the database" in each for each in before)
    # On a slow machine the time to wait is over before anything is said of it.
    assert len(before) <= (kind == "postgresql" and words != ("client", "list"))
    assert line.startswith("ostiary: DATABASE_URL: ")
    assert "; allowed: " in line
    assert "hunter22" not in ran.err
    assert ("not a SQLite file" in line) == (kind == "foreign")


def read_refusal(
    machine: Machine, words: str, capfd: pytest.CaptureFixture[str] | None = None, begin: str = "ostiary: "
) -> str:
    """Run a command that is refused; return its only line, in the log or on standard error."""
    ran = machine.run(*words.split())
    assert (ran.exit_code, ran.out) == (1, ""), words
    [line] = ((capfd.readouterr().err if capfd else "") + ran.err).splitlines()
    assert line.startswith(begin), words
    return line


REFUSED: Final = "ostiary: DATABASE_URL: "


@pytest.mark.parametrize("words", ["migrate", "serve", "check", "client list", "copy sqlite:///{file} {url}"])
@pytest.mark.parametrize(
    "path, reason",
    [
        ("/no_such", 'database "no_such" does not exist'),
        ("/postgres?user=nobody_known", 'role "nobody_known" does not exist'),
        ("/postgres?sslmode=verify-full&sslrootcert=/nowhere", "SSL"),
    ],
)
def test_a_database_that_refuses_for_good_is_not_waited_for(
    words: str, path: str, reason: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    url = f"postgresql://{urlsplit(need_postgresql()).netloc}{path}"
    assert Machine(tmp_path).run("migrate").exit_code == 0
    capfd.readouterr()
    words = words.format(file=tmp_path / "ostiary.db", url=url)
    assert reason in read_refusal(Machine(tmp_path, DATABASE_URL=url), words, capfd)


@pytest.mark.parametrize("how", ["variable", "file", "copied to"])
@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:a@hunter22@db/x",
        "postgresql://u:a@/hunter22@db/x",
        "postgresql://u:12/hunter22@db/x",
        "postgresql://u:a@hunter22:12,b@db/x",
    ],
)
def test_an_address_whose_password_ends_too_early_is_refused_unread(
    url: str, how: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "address").write_text(url)
    machine, commands = Machine(tmp_path, DATABASE_URL=url), ["serve", "check", "migrate", "sweep"]
    if how == "file":
        machine = Machine(tmp_path, DATABASE_URL="", DATABASE_URL_FILE=str(tmp_path / "address"))
    elif how == "copied to":
        machine, commands = Machine(tmp_path), [f"copy sqlite:///{tmp_path}/ostiary.db {url}"]
        assert machine.run("migrate").exit_code == 0
    capfd.readouterr()
    for words in commands:
        line = read_refusal(machine, words, capfd)
        assert "percent-encode the password" in line
        assert "hunter" not in line


def test_a_parameter_that_the_driver_does_not_know_is_named_but_for_the_rest_of_a_password() -> None:
    for parameters in ("pgbouncer=true", "sslmode=require&connection_limit=5"):
        with pytest.raises(ValueError, match=r"does not know: (pgbouncer|connection_limit)$"):
            read_database(f"postgresql://u:p@db/x?{parameters}")
    for parameters in ("password=a&hunter=2", "password=a@b&hunter=2", "hunter=2@db/x"):
        with pytest.raises(ValueError, match="not an address") as refused:
            read_database(f"postgresql://u:12/x?{parameters}")
        assert "hunter" not in str(refused.value)


@pytest.mark.parametrize("place", ["db1,db2/x?port=1,2,3", "db1,db2:1,2,3/x"])
def test_each_of_several_ports_belongs_to_a_host(place: str) -> None:
    with pytest.raises(ValueError, match="not each belongs to one host"):
        read_database(f"postgresql://{place}")
    if "port" in place:
        with pytest.raises(psycopg.OperationalError, match="3 ports are named for 2 hosts"):
            PostgreSQLStore(f"postgresql://{place}")


LOOKING: Final = (
    *("user list", "client list", "client create app --redirect-uri https://a.example/", "check", "sweep"),
    *("audit export", "export", "end-everything --yes"),
)
"""Commands that neither make nor migrate a database."""


@pytest.mark.parametrize("kind", ["missing", "of no bytes", "postgresql"])
def test_a_database_is_made_by_a_start_or_a_migration_and_by_nothing_else(kind: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        url = f"sqlite:///{tmp_path / 'here.db'}"
        if kind == "of no bytes":
            (tmp_path / "here.db").touch()
        elif kind == "postgresql":
            url = stack.enter_context(made_database())
        machine = Machine(tmp_path, DATABASE_URL=url)
        for words in LOOKING:
            assert "`ostiary migrate` makes the database" in read_refusal(machine, words, begin=REFUSED)
        if kind == "postgresql":
            assert relations_in(url) == set()
        assert [path.stat().st_size for path in tmp_path.glob("*.db")] == [0] * (kind == "of no bytes")
        assert machine.run("migrate").exit_code == 0


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_old_databases_wait_for_migration(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database of the release before is left as it is until it is migrated."""
    with ExitStack() as stack:
        url = f"sqlite:///{tmp_path}/ostiary.db"
        if kind == "postgresql":
            url = stack.enter_context(made_database())
        machine = Machine(tmp_path, DATABASE_URL=url)
        assert machine.run("migrate").exit_code == 0
        before = read_version(url)
        if kind == "sqlite":
            machine.script("backup", str(tmp_path / "backup"))
        for module in ("sqlite", "postgres"):
            monkeypatch.setattr(f"ostiary_net.{module}.schema.read_migrations", steps_of_the_release_behind)
        (tmp_path / "declared.toml").write_text("")
        for words in (*LOOKING, f"apply --dry-run {tmp_path / 'declared.toml'}"):
            line = read_refusal(machine, words)
            assert f"it has schema version {before}, and this Ostiary needs {before + 1}: " in line
            assert "`ostiary migrate`" in line
            assert read_version(url) == before
        assert machine.run("migrate").exit_code == 0
        assert read_version(url) == before + 1
        assert machine.run("client", "list").exit_code == 0
        if kind == "sqlite":
            there = Machine(tmp_path / "there")
            assert there.script("restore", str(tmp_path / "backup"))["ended"] > 0
            assert read_version(f"sqlite:///{tmp_path}/there/ostiary.db") == before + 1


def steps_of_the_release_behind(package: str) -> tuple[Migration, ...]:
    """Return the steps of this release and one more."""
    steps = read_migrations(package)
    return (*steps, Migration(steps[-1].version + 1, "more", "CREATE TABLE more (id INTEGER PRIMARY KEY)"))


def read_version(url: str) -> int:
    """Return the schema version of a database."""
    file = url.removeprefix("sqlite:///")
    with closing(psycopg.connect(url) if file == url else apsw.Connection(file)) as connection:
        [[number]] = connection.execute("SELECT max(version) FROM schema_migrations").fetchall()
    assert isinstance(number, int)
    return number


@pytest.mark.parametrize("how, workers", [(signal.SIGTERM, "1"), (signal.SIGINT, "2")])
def test_a_server_that_waits_for_its_database_says_so_and_can_be_stopped(
    how: signal.Signals, workers: str, nobody_there: str, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, DATABASE_URL=nobody_there, WORKERS=workers)
    with machine.start(stderr=subprocess.PIPE) as server:
        said = server.err.readline()
        assert "waiting for the database" in said
        assert urlsplit(nobody_there).netloc.rpartition("@")[2] in said
        assert "Connection refused" in said
        assert "hunter22" not in said
        server.send_signal(how)
        out, err = server.communicate(timeout=30)
    assert (server.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_has_no_room_for_every_name_is_left_alone(encoding: str, tmp_path: Path) -> None:
    with made_database(f"TEMPLATE template0 LOCALE 'C' ENCODING '{encoding}'") as url:
        for words in ("migrate", "serve"):
            line = read_refusal(Machine(tmp_path, DATABASE_URL=url), words, begin=REFUSED)
            assert f"its encoding is {encoding}," in line
            assert "ENCODING 'UTF8'" in line
        assert relations_in(url) == set()


@pytest.mark.parametrize("table", ["users", "schema_migrations"])
def test_a_database_of_another_program_is_left_alone(table: str, tmp_path: Path) -> None:
    with made_database() as url:
        with psycopg.connect(url) as connection:
            connection.execute(f"CREATE TABLE {table} (version VARCHAR)".encode())
        line = read_refusal(Machine(tmp_path, DATABASE_URL=url), "migrate", begin=REFUSED)
        assert "belongs to another program" in line
        assert relations_in(url) == {table}


def test_what_an_extension_brought_along_is_no_other_program(tmp_path: Path) -> None:
    with made_database() as url:
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE of_an_extension (version VARCHAR)")
            connection.execute("ALTER EXTENSION plpgsql ADD TABLE of_an_extension")
        assert Machine(tmp_path, DATABASE_URL=url).run("migrate").exit_code == 0


@contextmanager
def made_database(how: str = "TEMPLATE template0 ENCODING 'UTF8'") -> Iterator[str]:
    """Make a database for one test; yield its address."""
    server, name = need_postgresql(), f"ostiary_test_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} {how}".encode())
        try:
            yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def relations_in(url: str) -> set[str]:
    """Return the tables, indexes and views of a database."""
    named = "SELECT relname::text::bytea FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    with psycopg.connect(url) as connection:
        return {bytes(name).decode() for (name,) in connection.execute(named)}


@pytest.mark.parametrize("name, mode", [("ostiary.db", 0o444), ("ostiary.db-shm", 0o444), (".", 0o555)])
def test_a_file_that_cannot_be_written_stops_the_start(
    name: str, mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with of_nobody() as folder:
        machine = Machine(folder, SECOND_FACTOR_KEY="k" * 40)
        assert machine.run("migrate").exit_code == 0
        (folder / name).touch()
        (folder / name).chmod(mode)
        before = sorted(folder.glob("ostiary.db*"))
        for words in ("serve", "migrate"):
            ran = machine.run(words)
            assert (ran.exit_code, ran.out) == (1, "")
            # The folder is `DATA_DIR` too, and the log of a start may name it first.
            *_, line = ran.err.splitlines()
            assert line.startswith("ostiary: DATABASE_URL: ")
            assert f"{folder / name} cannot be written: it belongs to " in line
        assert f"{folder / name} cannot be written" in machine.run("compact").err
        assert sorted(folder.glob("ostiary.db*")) == before
        monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=os.ST_RDONLY))
        assert "written: it is on a file system for reading only" in machine.run("migrate").err
        (folder / name).chmod(0o700)
        assert machine.run("migrate").exit_code == 0


@contextmanager
def of_nobody() -> Iterator[Path]:
    """Make a folder, and run this process as an unprivileged user, for whom the modes of files hold."""
    folder = Path(tempfile.mkdtemp(prefix="ostiary-"))
    is_root = os.geteuid() == 0
    try:
        if is_root:
            "localhost".encode("idna")  # which Python imports now, while it may read every folder
            os.chown(folder, _NOBODY, -1)
            os.seteuid(_NOBODY)
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
        folder.chmod(0o700)
        shutil.rmtree(folder)


@pytest.fixture
def others_folder() -> Iterator[Path]:
    """Make a folder that belongs to the user of the server, while root runs the commands."""
    if os.geteuid() != 0 or subprocess.run([*_AS_SERVICE, sys.executable, "-c", ""]).returncode:
        pytest.skip("only root can be somebody else, who must reach the interpreter")
    folder = Path(tempfile.mkdtemp(prefix="ostiary-"))
    os.chown(folder, _SERVICE, _SERVICE)
    yield folder
    shutil.rmtree(folder)


def serve_by_service(machine: Machine) -> subprocess.CompletedProcess[str]:
    """Start a server as that user; stop it once it printed its first line."""
    words = [*_AS_SERVICE, sys.executable, "-m", "ostiary_web", "serve"]
    environment = os.environ | machine.environment
    with Process(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        greeting = server.out.readline()
        server.terminate()
        said, told = server.communicate(timeout=30)
    return subprocess.CompletedProcess(words, server.returncode, greeting + said, told)


@pytest.mark.parametrize("command", ["migrate", "restore", "check", "end-everything --yes"])
def test_what_root_does_is_no_obstacle_to_a_server(command: str, others_folder: Path, tmp_path: Path) -> None:
    before = Machine(tmp_path)
    assert before.run("migrate").exit_code == 0
    before.script("backup", str(tmp_path / "backup.db"))
    machine = Machine(others_folder)
    if command == "migrate":
        machine.run("migrate")
    else:
        machine.script("restore", str(tmp_path / "backup.db"))
    if command in ("check", "end-everything --yes"):
        (others_folder / "ostiary.db.lock").unlink(missing_ok=True)
        machine.run(*command.split())
    owners = {path.name: path.stat().st_uid for path in others_folder.iterdir()}
    assert owners == dict.fromkeys(owners, _SERVICE)
    started = serve_by_service(machine)
    assert (started.returncode, "Ostiary serves" in started.stdout) == (0, True), started.stderr
    assert (tmp_path / "backup.db").stat().st_uid == 0, "a backup is for whoever made it"


@pytest.mark.parametrize("name", ["ostiary.db", "ostiary.db.lock"])
def test_whose_a_file_is_that_the_server_cannot_write_is_said(name: str, others_folder: Path) -> None:
    machine = Machine(others_folder)
    machine.run("migrate")
    os.chown(others_folder / name, 0, 0)
    refused = serve_by_service(machine)
    assert refused.returncode == 1
    told = f"{others_folder / name} cannot be written: it belongs to root, and this runs as uid {_SERVICE}"
    assert told in refused.stderr
    checked = "".join(machine.run("check").lines)
    assert f"{name} belongs to root, but its folder and the server to uid {_SERVICE}" in checked


@pytest.mark.parametrize("how", ["mount", "link"])
def test_a_file_without_a_place_for_its_log_is_refused(how: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path / "inside of")
    assert Machine(tmp_path).run("migrate").exit_code == 0
    # The system lists the mounts of a machine by their bytes.
    outside = (tmp_path / "ostiary.db").rename(tmp_path / os.fsdecode(b"\xe4.db"))
    inside = tmp_path / "inside of" / "ostiary.db"
    inside.parent.mkdir()
    if how == "mount":
        inside.touch()
        if subprocess.run(["mount", "--bind", outside, inside], capture_output=True).returncode:
            pytest.skip("mounts are not allowed here")
    else:
        os.link(outside, inside)
    try:
        for words in ("migrate", "check", "serve"):
            ran = machine.run(words)
            assert ran.exit_code == 1
            *_, line = ran.err.splitlines()
            assert f"{inside} {'is mounted by itself' if how == 'mount' else 'has 2 names'}" in line
        assert list(inside.parent.glob("ostiary.db*")) == [inside]
    finally:
        if how == "mount":
            subprocess.run(["umount", inside], check=True)
    if how == "link":
        outside.unlink()
        assert machine.run("migrate").exit_code == 0


def test_the_password_of_a_database_is_in_no_printed_form() -> None:
    url = "postgresql://ostiary:hunter22@db1:5432,db2:5433/records?sslmode=verify-full&password=hunter23"
    database = read_database(url)
    assert isinstance(database, PostgreSQLDatabase)
    assert database.url.reveal() == url
    settings = Settings.from_environment({"DATABASE_URL": url})
    for printed in (str(database), repr(database), str(settings), repr(settings)):
        assert "hunter2" not in printed
    assert str(database) == "postgresql://db1,db2:5432,5433/records"


def test_a_file_that_is_gone_from_beneath_the_server_ends_it_with_a_word(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    with machine.serving():
        pass  # its stop moves the log into the file, which readers map into memory
    with machine.start(stderr=subprocess.PIPE) as server:
        address = server.read_address()
        # While a page is in the log, SQLite does not look how long the file is.
        machine.script("client", "create", "app", "--redirect-uri", "https://client.example/callback")
        bearer = {"Authorization": "Bearer hunter22"}
        httpx.get(f"{address}/api/oauth2/userinfo", headers=bearer)  # the first maps the file
        os.truncate(tmp_path / "ostiary.db", 0)
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{address}/api/oauth2/userinfo", headers=bearer)
        said = server.err.read()
    assert server.returncode == -signal.SIGBUS
    assert "Bus error" in said
    assert "sqlite/record_sql.py" in said
    assert "hunter2" not in said


@pytest.mark.parametrize("how", ["moved away", "replaced"])
def test_a_file_that_left_its_place_is_noticed_and_not_made_again(how: str, tmp_path: Path) -> None:
    unlimited = {"RATE_LIMIT_SCALE": "1000", "GUESS_LIMIT_SCALE": "1000"}
    machine = Machine(tmp_path, WORKERS="2", LOG_LEVEL="error", **unlimited)
    assert machine.run("migrate").exit_code == 0
    secret, file, kept = machine.client(), tmp_path / "ostiary.db", tmp_path / "kept.db"
    with machine.start(stderr=subprocess.PIPE) as server:
        address = server.read_address()
        mine = token(address, secret)
        wait_until(lambda: [holds(child, file) for child in children_of(server.pid)] == [True] * 2)
        file.rename(kept)
        if how == "replaced":
            shutil.copy(kept, file)
        wait_until(lambda: httpx.get(f"{address}/readyz").status_code == 503)
        if how == "moved away":
            os.kill(max(children_of(server.pid)), signal.SIGKILL)
            for _ in range(2):  # the one that was killed, and the one in its place
                assert any("a worker died" in line for line in server.err)
            assert not file.exists()
        for _ in range(20):
            form = {"token": mine}
            answer = httpx.post(f"{address}/api/oauth2/introspect", data=form, auth=("app", secret))
            assert answer.status_code == 500, answer.text
        kept.replace(file)
        wait_until(lambda: httpx.get(f"{address}/readyz").status_code == 200)
        assert is_active(address, secret, mine)


def holds(pid: int, path: Path) -> bool:
    """Say whether a process has a file open."""
    return any(os.path.realpath(each) == str(path) for each in Path(f"/proc/{pid}/fd").iterdir())

"""Programs in processes of their own, a PostgreSQL to be stopped among them; ports and certificates."""

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from shutil import chown
from tempfile import TemporaryDirectory
from typing import IO, Any, Self
from unittest.mock import patch

import httpx
import psycopg
import pytest
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fuzz.processes.programs import find_postgresql
from fuzz.processes.server import Server
from ostiary_core.texts import Languages
from ostiary_web.cli.command_line import main
from tests.support import forks


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@dataclass(frozen=True)
class Certificate:
    """A certificate for localhost, signed by itself."""

    certificate: Path
    key: Path


def certify(folder: Path) -> Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    today = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    made = Certificate(folder / "fullchain.pem", folder / "key.pem")
    made.certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    made.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return made


_PATIENCE_SECONDS = 30


def wait_until(is_so: Callable[[], object], expected: object = "") -> None:
    """Ask until it is so, for as long as a busy machine may take."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < until, expected
        time.sleep(0.02)


@dataclass(frozen=True)
class Ran:
    """A command's exit code and output."""

    exit_code: int
    out: str
    err: str
    raw: bytes
    """Standard output as it was written."""

    @property
    def json(self) -> Any:
        """The JSON that a script reads; the command must succeed."""
        assert self.exit_code == 0, self.err
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """The lines that a person reads; the command must succeed."""
        assert self.exit_code == 0, self.err
        return self.out.splitlines()

    def expect_refusal(self, code: str) -> dict[str, Any]:
        """Return the refusal that a script reads."""
        assert (self.exit_code, self.out) == (1, ""), self.out + self.err
        content: dict[str, Any] = json.loads(self.err)
        assert set(content) - {"name"} == {"code", "msg", "errors"}
        assert content["code"] == code
        return content


class Process(subprocess.Popen[str]):
    """A process whose streams a test reads; it is terminated when the block around it ends."""

    @property
    def out(self) -> IO[str]:
        """Standard output of the process."""
        assert self.stdout is not None
        return self.stdout

    @property
    def err(self) -> IO[str]:
        """Standard error of the process."""
        assert self.stderr is not None
        return self.stderr

    def read_address(self) -> str:
        """Return the address in the first line of a server."""
        said = self.out.readline()
        found = re.search(r"https?://\S+", said)
        assert found, f"the server said {said!r}"
        return found[0]

    def stop(self) -> None:
        """Stop it, and expect it to end in time and with 0."""
        self.terminate()
        assert self.wait(_PATIENCE_SECONDS) == 0

    def __exit__(self, *raised: Any) -> None:
        self.terminate()
        try:
            self.communicate(timeout=_PATIENCE_SECONDS)
        finally:
            self.kill()
            super().__exit__(*raised)


class ForkedProcess(Process):
    """`ostiary` forked from a process that has imported it, whose child it is; that one says how it ended."""

    def __init__(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        stdout: int = subprocess.PIPE,
        stderr: int = 2,
        inherits: Sequence[int] = (),
    ) -> None:
        self.args, self.returncode = words, None
        self.stdin = None
        self.stdout, out = _open_pipe() if stdout == subprocess.PIPE else (None, stdout)
        self.stderr, err = _open_pipe() if stderr == subprocess.PIPE else (None, stderr)
        self._forked = forks.start(words, environment, out, err, inherits)
        for pipe, end in ((self.stdout, out), (self.stderr, err)):
            if pipe is not None:
                os.close(end)
        assert self._forked.pid is not None
        self.pid = self._forked.pid

    def poll(self) -> int | None:
        self.returncode = self._forked.exitcode
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._forked.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return code

    def communicate(self, input: str | None = None, timeout: float | None = None) -> tuple[str, str]:
        self.wait(timeout)
        return _read_to_the_end(self.stdout), _read_to_the_end(self.stderr)

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it ends a moment before its parent says how
                os.kill(self.pid, sig)


def _read_to_the_end(stream: IO[str] | None) -> str:
    if stream is None or stream.closed:
        return ""
    with stream:
        return stream.read()


class ForkedServer(Server):
    """A server of the campaigns whose first process is forked too."""

    def _launch(
        self, program: Sequence[str], environment: Mapping[str, str], log: int, inherits: Sequence[int]
    ) -> Process:
        return ForkedProcess(program[1:], environment, log, log, inherits)


def _open_pipe() -> tuple[IO[str], int]:
    """Open a pipe; return the end that a test reads, and the other."""
    reads, writes = os.pipe()
    return open(reads, encoding="utf-8"), writes


@cache
def _new_database() -> bytes:
    """Return a database with its first administrator."""
    with TemporaryDirectory() as folder:
        assert Machine(Path(folder)).run("migrate").exit_code == 0
        return Path(folder, "ostiary.db").read_bytes()


class Machine:
    """One database in a folder, and an environment that names it."""

    def __init__(self, folder: Path, languages: Languages | None = None, /, **environment: str) -> None:
        self.languages = languages
        self.environment = {
            "DATABASE_URL": f"sqlite:///{folder / 'ostiary.db'}",
            "DATA_DIR": str(folder),
            "ADMIN_PASSWORD": "correct horse battery",
            "BIND": "127.0.0.1:0",
            "LOG_LEVEL": "warning",
            "LANG": "en_US.UTF-8",
            "LC_ALL": "",
            "LC_MESSAGES": "",
            # As a server in this process sets it for good.
            "TMPDIR": "",
            **environment,
        }

    @classmethod
    def with_database(cls, folder: Path, **environment: str) -> Self:
        """Return a machine with a database and its first administrator, as `migrate` makes them."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "ostiary.db").touch(0o600)
        (folder / "ostiary.db").write_bytes(_new_database())
        return cls(folder, **environment)

    def run(
        self, *words: str, stdin: str | bytes | IO[bytes] | None = None, env: Mapping[str, str] | None = None
    ) -> Ran:
        """Run a command in this process."""
        with patch.dict(os.environ), patch.object(tempfile, "tempdir", None):  # which a command may choose
            result = CliRunner().invoke(
                main, words, input=stdin, env={**self.environment, **(env or {})}, obj=self.languages
            )
        out, err = result.stdout, result.stderr
        match result.exception:
            case SystemExit(code=str(words_of_the_end)):
                # Python prints these on standard error; the runner mixes them into standard output.
                out, err = out.removesuffix(words_of_the_end + "\n"), err + words_of_the_end + "\n"
            case None | SystemExit():
                pass
            case exception:
                raise exception
        return Ran(result.exit_code, out, err, result.stdout_bytes)

    def script(self, *words: str, stdin: str | bytes | None = None) -> Any:
        """Return what a command prints for scripts; it must succeed."""
        return self.run(*words, "--json", stdin=stdin).json

    def client(self) -> str:
        """Register a client called `app` that asks for itself; return its secret."""
        words = ("client", "create", "app", "--redirect-uri", "https://app.example/callback")
        return str(self.script(*words, "--grant", "client_credentials")["secret"])

    def start(self, *words: str, stderr: int = 2, settings: Mapping[str, str] | None = None) -> Process:
        """Start a command, `serve` by default, in a process of its own."""
        environment = {**os.environ, **self.environment, **(settings or {})}
        return ForkedProcess(words or ("serve",), environment, stderr=stderr)

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Run a server on the same database; yield its address."""
        with self.start() as process:
            yield process.read_address()


def token(address: str, secret: str) -> str:
    """Return an access token of `app` for itself."""
    form = {"grant_type": "client_credentials"}
    answer = httpx.post(f"{address}/api/oauth2/token", data=form, auth=("app", secret), timeout=60)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["access_token"])


def is_active(address: str, secret: str, asked: str) -> bool:
    """Whether introspection by `app` calls a token active."""
    answer = httpx.post(f"{address}/api/oauth2/introspect", data={"token": asked}, auth=("app", secret))
    return bool(answer.json()["active"])


class Cluster:
    """One server with its data in a folder."""

    def __init__(self, folder: Path, binaries: Path, replaced: "Cluster | None" = None) -> None:
        """Make a server; with `replaced`, one with its data, which took over from it."""
        self.folder, self.binaries = folder, binaries
        self.owner = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self.owner:
            chown(folder, "postgres")
        self.port = free_port()
        self.address = f"postgresql://ostiary@127.0.0.1:{self.port}/postgres"
        if replaced is None:
            self._run("initdb", "-U", "ostiary", "--auth=trust", "-EUTF8", "--locale=C.UTF-8", "--no-sync")
            self.start()
            return
        subprocess.run([*self.owner, "cp", "-a", replaced.folder / "data", folder], check=True, cwd="/")
        subprocess.run([*self.owner, "touch", folder / "data" / "standby.signal"], check=True, cwd="/")
        self.start()
        self.execute("SELECT pg_promote()")

    def start(self) -> None:
        """Start, and return once it takes connections."""
        settings = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder}"
        settings += " -c fsync=off"  # no test takes the machine's power away
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", settings, "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop; immediate is like a crash: its log has what is committed, and nothing else."""
        self._run("pg_ctl", "-m", mode, "-w", "stop")

    @contextmanager
    def freeze(self) -> Iterator[None]:
        """Stop all its processes while the block runs; connections stay open, as with a suspended machine."""
        postmaster = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        group = [postmaster, *children_of(postmaster)]
        for process in group:
            with suppress(ProcessLookupError):  # one of its helpers that has just ended
                os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in group:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGCONT)

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(statement.encode())

    def set(self, name: str, value: str) -> None:
        """Set a parameter, a literal of SQL, while it runs; back when new connections have it."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET {name} = {value}".encode())
            connection.execute("SELECT pg_reload_conf()")
            while connection.execute(f"SHOW {name}".encode()).fetchone() != (value.strip("'"),):
                pass

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [*self.owner, str(self.binaries / program), "-D", str(self.folder / "data"), *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd="/",
            timeout=60,
        )


def children_of(parent: int) -> list[int]:
    tasks = Path(f"/proc/{parent}/task").iterdir()
    return [int(each) for task in tasks for each in (task / "children").read_text().split()]


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """Yield a new server; skip the test without PostgreSQL."""
    binaries = find_postgresql()
    if binaries is None:
        if "postgres" in os.environ.get("OSTIARY_TEST_REQUIRE", ""):
            pytest.fail("OSTIARY_TEST_REQUIRE names postgres, and there is no initdb in /usr/lib/postgresql")
        pytest.skip("no initdb in /usr/lib/postgresql: install postgresql")
    with TemporaryDirectory() as folder:
        made = Cluster(Path(folder), binaries)
        try:
            yield made
        finally:
            made.stop()

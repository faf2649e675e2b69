"""A machine with Ostiary on it: its command line, and its server in a process of its own."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
from click.testing import CliRunner

from ostiary_core.texts import Languages
from ostiary_web.cli.command_line import main

_PATIENCE_SECONDS = 30


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    exit_code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What a script reads; the command went well."""
        assert self.exit_code == 0, self.err
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """What a person reads; the command went well."""
        assert self.exit_code == 0, self.err
        return self.out.splitlines()

    def expect_refusal(self, code: str) -> dict[str, Any]:
        """The refusal that a script reads."""
        assert (self.exit_code, self.out) == (1, ""), self.out + self.err
        content: dict[str, Any] = json.loads(self.err)
        assert set(content) == {"code", "msg", "errors"}
        assert content["code"] == code
        return content


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

    def run(self, *words: str, stdin: str | None = None, env: Mapping[str, str] | None = None) -> Ran:
        """A command, in this process."""
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
        return Ran(result.exit_code, out, err)

    def script(self, *words: str, stdin: str | None = None) -> Any:
        """What a command that goes well prints for scripts."""
        return self.run(*words, "--json", stdin=stdin).json

    def client(self) -> str:
        """A client called `app` that asks for itself; its secret."""
        words = ("client", "create", "app", "--redirect-uri", "https://app.example/callback")
        return str(self.script(*words, "--grant", "client_credentials")["secret"])

    def start(
        self, *words: str, stderr: int | None = None, settings: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """A command in a process of its own, as it starts; `serve` by default."""
        return subprocess.Popen(
            [sys.executable, "-m", "ostiary_web", *(words or ("serve",))],
            env={**os.environ, **self.environment, **(settings or {})},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )

    @contextmanager
    def serving(self) -> Iterator[str]:
        """A server on the same database; its address."""
        process = self.start()
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            found = re.search(r"https?://\S+", said)
            assert found, f"the server said {said!r}"
            yield found[0]
        finally:
            process.terminate()
            process.wait(_PATIENCE_SECONDS)
            if process.stdout is not None:
                process.stdout.close()


def token(address: str, secret: str) -> str:
    """An access token of `app` for itself."""
    form = {"grant_type": "client_credentials"}
    answer = httpx.post(f"{address}/api/oauth2/token", data=form, auth=("app", secret), timeout=60)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["access_token"])


def is_active(address: str, secret: str, asked: str) -> bool:
    """What `app` is told of a token."""
    answer = httpx.post(f"{address}/api/oauth2/introspect", data={"token": asked}, auth=("app", secret))
    return bool(answer.json()["active"])

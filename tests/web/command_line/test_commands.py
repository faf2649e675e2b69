"""`ostiary client …` and `ostiary user …`: passwords, changes and failures meanwhile, the audit trail."""

import errno
import json
import os
import pty
import pwd
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ostiary_core.events import ClientSecretReset, Event, UserChanged, UserRequested
from ostiary_core.model.reply import Reply
from ostiary_net.sqlite import SQLiteStore
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_web import streams
from ostiary_web.cli import audit
from ostiary_web.cli.context import OPERATOR, CommandContext
from ostiary_web.streams import OutputFailed
from tests.support.processes import Machine


def test_roles_taken_away_meanwhile_stay_away(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another command takes a role away while this one gives it."""
    machine.script("user", "create", "anna", "--role", "super_admin", "--draw-password")
    decide = CommandContext.decide

    async def decide_and_take_away(context: CommandContext, event: Event) -> Reply:
        reply = await decide(context, event)
        if isinstance(event, UserRequested):
            taken: dict[str, object] = {"roleIds": []}
            await decide(context, UserChanged(caller=OPERATOR, user_id=event.user_id, fields=taken))
        return reply

    with monkeypatch.context() as patch:
        patch.setattr(CommandContext, "decide", decide_and_take_away)
        machine.run("user", "roles", "anna", "--add", "super_admin")
    assert machine.script("user", "roles", "anna")["roleIds"] == []


def test_a_password_cannot_be_an_argument(machine: Machine) -> None:
    for words in ("create anna --password xxxxxxxxx", "reset-password admin xxxxxxxxx", "create anna"):
        assert machine.run("user", *words.split(), stdin="").exit_code == 2, words
    assert machine.script("user", "list")["total"] == 1


def test_at_a_terminal_the_password_is_asked_for_twice_and_not_shown(machine: Machine) -> None:
    terminal, its_other_end = pty.openpty()
    command = [sys.executable, "-m", "ostiary_web", "user", "create", "anna", "--json"]
    streams: dict[str, Any] = {"stdin": its_other_end, "stdout": subprocess.PIPE, "stderr": its_other_end}
    environment = os.environ | machine.environment
    process = subprocess.Popen(command, env=environment, start_new_session=True, **streams)
    os.close(its_other_end)
    seen = b""
    try:
        for times in (1, 2):
            while seen.lower().count(b"password:") + seen.count(b"confirmation:") < times:
                ready, _, _ = select.select([terminal], [], [], 30)
                assert ready, seen
                seen += os.read(terminal, 1_024)
            os.write(terminal, b"anna's password\n")
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    assert process.returncode == 0, seen
    assert b"anna's password" not in seen + out
    assert [item["username"] for item in machine.script("user", "list")["items"]] == ["admin", "anna"]


def test_results_before_a_failure_are_printed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store fails at the second client, and the secret of the first is printed."""
    for name in ("one", "two"):
        machine.script("client", "create", name, "--grant", "client_credentials")
    decide = CommandContext.decide

    async def decide_but_one(context: CommandContext, event: Event) -> Reply:
        if isinstance(event, ClientSecretReset) and event.client_id == "two":
            raise TurnFailed
        return await decide(context, event)

    monkeypatch.setattr(CommandContext, "decide", decide_but_one)
    ran = machine.run("client", "reset-secret", "one", "two", "--json")
    [reset] = json.loads(ran.out)["items"]
    assert (reset["clientId"], len(reset["secret"])) == ("one", 43)
    assert (ran.exit_code, ran.err.startswith("ostiary: the store could not be used")) == (1, True)
    assert machine.run("client", "reset-secret", "two", "one", "--json").out == "", "nothing was done"


@pytest.mark.parametrize(
    "words, draw_again",
    [
        ("client create app --grant client_credentials", ["client reset-secret app"]),
        (
            "user reset-password anna admin --draw-password",
            [f"user reset-password {name} --draw-password" for name in ("anna", "admin")],
        ),
        ("user create bert --draw-password", ["user reset-password bert --draw-password"]),
        ("apply declared.toml", ["client reset-secret declared"]),
        ("user create bert", []),
        ("user reset-password anna", []),
        ("client list", []),
    ],
)
def test_how_to_draw_what_could_not_be_printed_is_said(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, draw_again: list[str]
) -> None:
    machine.script("user", "create", "anna", "--draw-password")
    (tmp_path / "declared.toml").write_text(
        '[clients.declared]\nname = "x"\ngrantTypes = ["client_credentials"]\n'
    )

    def fail(text: object) -> None:
        raise OutputFailed(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    monkeypatch.setattr(streams, "_print", fail)
    ran = machine.run(
        *words.replace("declared.toml", str(tmp_path / "declared.toml")).split(), stdin="a password\n"
    )
    first, *commands = ran.err.splitlines()
    assert (ran.exit_code, "No space left on device" in first) == (1, True)
    assert commands == [f"  ostiary {each}" for each in draw_again]


def test_a_trail_is_exported_in_pieces(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.client()
    whole = machine.run("audit", "export").out
    monkeypatch.setattr(audit, "_AT_A_TIME", 1)
    assert machine.run("audit", "export").out == whole
    assert whole.count("\n") > 1


def test_a_command_is_in_the_audit_trail_without_a_request(machine: Machine, tmp_path: Path) -> None:
    machine.client()

    with SQLiteStore(tmp_path / "ostiary.db") as store:
        last = store.audit()[-1]

    assert (last.kind.value, last.client_id) == ("client-registered", "app")
    assert (last.actor_id, last.actor_name) == ("command-line", pwd.getpwuid(os.getuid()).pw_name)
    assert (last.actor_session_id, last.source, last.trace_id, last.user_agent) == (None, None, None, None)

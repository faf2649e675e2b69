"""`ostiary apply FILE` and `ostiary export`: what a file declares is what stands, all of it or nothing."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import click
import pytest

from tests.support.callers import Registered
from tests.support.processes import Machine
from tests.support.served import Served, ask_once

SECRET = "held-by-a-third-party-for-years:%&"
EXAMPLE = Path(__file__).parents[3] / "docs" / "deploy" / "clients.toml"
SHOP = """
[clients.shop]
name = "Shop"
redirectUris = ["https://shop.example/b", "https://shop.example/a"]
grantTypes = ["authorization_code", "refresh_token"]
scopes = ["user.read"]
accessTokenTtl = 600
"""
AUDITOR = '[roles.auditor]\nname = "Auditor 审计"\npermissions = ["audit.read"]\n'


class Declared:
    """A machine, and a file that is applied to it."""

    def __init__(self, machine: Machine, folder: Path) -> None:
        self.machine, self.file = machine, folder / "ostiary.toml"

    def apply(self, text: str, *options: str) -> Any:
        self.file.write_text(text)
        return self.machine.script("apply", str(self.file), *options)

    def stands(self) -> str:
        return self.machine.run("export").out


@pytest.fixture
def declared(machine: Machine, tmp_path: Path) -> Declared:
    return Declared(machine, tmp_path)


def test_a_brought_secret_works(declared: Declared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that comes from another server keeps its secret, given as a digest, a file or a variable."""
    (tmp_path / "shop-secret").write_text(f"{SECRET}\n")
    monkeypatch.setenv("SHOP_SECRET", SECRET)
    ways = {
        "app": f'secretDigest = "sha256:{sha256(SECRET.encode()).hexdigest().upper()}"',
        "app2": 'secretFile = "shop-secret"',
        "app3": 'secretEnv = "SHOP_SECRET"',
    }
    machine = 'name = "App"\ngrantTypes = ["client_credentials"]\nscopes = ["user.read"]\n'
    text = "".join(f"[clients.{client_id}]\n{machine}{way}\n" for client_id, way in ways.items())
    made = declared.apply(text)
    assert made["secrets"] == []
    assert SECRET not in str(made) + declared.stands() + declared.machine.run("audit", "export").out

    async def ask(served: Served) -> list[int]:
        asking = [Registered(client_id, SECRET) for client_id in ways]
        form = {"grant_type": "client_credentials"}
        return [(await served.api().service("token", each, **form)).status_code for each in asking]

    assert ask_once(tmp_path, ask) == [200] * 3


def test_what_is_exported_declares_what_stands_here_and_elsewhere(declared: Declared, tmp_path: Path) -> None:
    declared.apply(EXAMPLE.read_text(), "--prune")
    odd = SHOP.replace("clients.shop", 'clients."sh.op"').replace('"Shop"', "'S\"h\\op 店'")
    declared.apply(odd + AUDITOR)
    declared.machine.script("client", "disable", "sh.op")
    exported = declared.stands()
    assert declared.apply(exported, "--prune")["changes"] == []
    (tmp_path / "other").mkdir()
    other = Declared(Machine(tmp_path / "other"), tmp_path / "other")
    other.machine.run("migrate")
    other.apply(exported)
    assert other.stands() == exported
    assert "sha256" not in exported


def test_later_changes_are_kept(declared: Declared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change that another administrator made after the plan was shown is not written over."""

    def text_of(name: str) -> str:
        return (SHOP + AUDITOR).replace('"Shop"', f'"{name}"').replace('"Auditor 审计"', f'"{name}"')

    def change_meanwhile(*asked: object, **more: object) -> bool:
        theirs = tmp_path / "theirs.toml"
        theirs.write_text(text_of("Theirs"))
        assert len(declared.machine.script("apply", str(theirs))["changes"]) == 2
        return True

    monkeypatch.setattr(click, "confirm", change_meanwhile)
    declared.apply(text_of("Before") + SHOP.replace("shop]", "spare]"))
    declared.file.write_text(text_of("Ours"))
    ran = declared.machine.run("apply", str(declared.file), "--prune=delete", "--json")
    paths = [error["path"] for error in ran.expect_refusal("A0409")["errors"]]
    assert paths == ["roles.auditor.name", "clients.shop.name"]
    assert declared.stands().count('name = "Theirs"') == 2
    assert "[clients.spare]" in declared.stands()


@pytest.mark.parametrize(
    "text, fault",
    [
        (" " * (1024 * 1024 + 1), "has more than 1048576 bytes"),
        ("[clients", "is not TOML: "),
        ("x = " + "[" * 100_000, "is not TOML: "),
        ("".join(f"[roles.r{number}]\n" for number in range(1001)), "declares more than 1000"),
    ],
)
def test_a_file_that_declares_nothing_is_said_why_in_one_line(
    declared: Declared, text: str, fault: str
) -> None:
    declared.file.write_text(text)
    ran = declared.machine.run("apply", str(declared.file))
    assert (ran.exit_code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert ran.err.startswith(f"ostiary: '{declared.file}' {fault}")
    declared.file.write_text(text[:-1].removesuffix("[roles.r1000]"))
    assert "more than" not in declared.machine.run("apply", str(declared.file), "--dry-run").err

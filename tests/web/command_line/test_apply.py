"""`ostiary apply FILE` and `ostiary export`: what a file declares is what stands, all of it or nothing."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import click
import pytest

from ostiary_core.model.identifiers import COMMAND_LINE
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

    def faults(self, text: str) -> set[str]:
        """Return the places at fault. A dry run reports the same, and nothing is changed."""
        before = self.stands()
        self.file.write_text(text)
        ran = self.machine.run("apply", str(self.file), "--json")
        assert ran == self.machine.run("apply", str(self.file), "--json", "--dry-run")
        assert self.stands() == before
        assert (ran.exit_code, ran.out) == (1, "")
        return {error["path"] for error in json.loads(ran.err)["errors"]}

    def stands(self) -> str:
        return self.machine.run("export").out

    def trail(self) -> list[tuple[str, str | None]]:
        """Return the kind and the actor of each entry in the audit trail."""
        entries = map(json.loads, self.machine.run("audit", "export").lines)
        return [(entry["kind"], entry["actorId"]) for entry in entries]


@pytest.fixture
def declared(machine: Machine, tmp_path: Path) -> Declared:
    return Declared(machine, tmp_path)


def test_a_declaration_comes_from_standard_input(declared: Declared) -> None:
    ran = declared.machine.run("apply", "-", stdin=SHOP)
    assert ran.exit_code == 0, ran.err
    assert "+ clients.shop" in ran.out
    assert "[clients.shop]" in declared.stands()
    ran = declared.machine.run("apply", "-", stdin="[clients")
    assert (ran.exit_code, ran.out) == (1, "")
    assert "'-' is not TOML" in ran.err
    another = SHOP.replace("clients.shop", "clients.newer")
    ran = declared.machine.run("apply", "-", "--prune=delete", stdin=another)
    assert (ran.exit_code, ran.out) == (1, "")
    assert "--prune=delete would delete clients.shop, and nobody can be asked" in ran.err
    assert declared.machine.run("apply", "-", "--prune=delete", "--dry-run", stdin=another).exit_code == 0
    assert declared.machine.run("apply", "-", "--prune=delete", "--yes", stdin=another).exit_code == 0


def test_a_secret_that_is_replaced_works_on_for_as_long_as_declared(declared: Declared) -> None:
    def rotated(secret: str, *more: str) -> Any:
        digest = sha256(secret.encode()).hexdigest()
        return declared.apply("\n".join((SHOP, f'secretDigest = "sha256:{digest}"', *more)))

    rotated(SECRET, 'secretExpiresOn = "2027-06-30"')
    assert 'secretExpiresOn = "2027-06-30"' in declared.stands()
    keep, until = "keepOldForSeconds = 86400", 'secretExpiresOn = "2028-06-30"'
    [change] = rotated("another-secret-of-their-own", keep, until)["changes"]
    expiry = {"secretExpiresOn": {"from": None, "to": "2028-06-30"}}
    assert change["fields"] == {"secret": {"from": None, "to": None}, **expiry}
    shown = declared.machine.script("client", "show", "shop")
    assert shown["oldSecretUntil"] is not None
    assert shown["secretExpiresOn"] == "2028-06-30"
    assert rotated("another-secret-of-their-own", keep, until)["changes"] == []
    third = f'{SHOP}\nsecretDigest = "sha256:{"0" * 64}"\nkeepOldForSeconds = 5'
    assert declared.faults(third) == {"clients.shop.keepOldForSeconds"}
    for wrong in ("5", '"a day"', "2592001"):
        assert declared.faults(f"{SHOP}\nkeepOldForSeconds = {wrong}") == {"clients.shop.keepOldForSeconds"}


def test_records_are_made_changed_and_deleted_and_nothing_is_done_twice(declared: Declared) -> None:
    assert declared.apply(SHOP + AUDITOR, "--dry-run")["applied"] is False
    assert declared.stands().strip() == ""
    made = declared.apply(SHOP + AUDITOR)
    done = [(each["action"], each["path"]) for each in made["changes"]]
    assert done == [("create", "roles.auditor"), ("create", "clients.shop")]
    [secret] = made["secrets"]
    assert (secret["clientId"], len(secret["secret"])) == ("shop", 43)
    told = declared.trail()
    turned = SHOP.replace('b", "https://shop.example/a', 'a", "https://shop.example/b')
    again = declared.apply(turned + AUDITOR)
    assert (again["changes"], again["secrets"]) == ([], []), "the order of addresses means nothing"
    assert declared.trail() == told

    changed = declared.apply(SHOP.replace("accessTokenTtl = 600", "enabled = false"))
    [fields] = [change["fields"] for change in changed["changes"]]
    assert fields.pop("accessTokenTtl") == {"from": 600, "to": 1800}
    assert fields == {"enabled": {"from": True, "to": False}}
    assert changed["undeclared"] == ["roles.auditor"]
    assert declared.trail() == [*told, ("client-changed", COMMAND_LINE), ("client-disabled", COMMAND_LINE)]
    [back] = declared.apply(SHOP)["changes"]
    assert "enabled" not in back["fields"], "what the file does not say of it stays"

    declared.machine.script("user", "create", "anna", "--role", "auditor", "--draw-password")
    words = ("apply", str(declared.file), "--prune=delete", "--yes", "--json")
    held = declared.machine.run(*words).expect_refusal("A0409")
    assert [error["path"] for error in held["errors"]] == ["roles.auditor"]
    pruned = declared.apply(AUDITOR, "--prune=delete", "--yes")
    assert [(each["action"], each["path"]) for each in pruned["changes"]] == [("delete", "clients.shop")]
    assert declared.machine.script("client", "list", "--built-in", "no")["total"] == 0
    assert declared.faults(SHOP.replace("Shop", "is taken")) == {"clients.shop.clientId"}


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
    assert declared.apply(text)["changes"] == []
    assert SECRET not in str(made) + declared.stands() + declared.machine.run("audit", "export").out

    async def ask(served: Served) -> list[int]:
        asking = [Registered(client_id, SECRET) for client_id in ways]
        form = {"grant_type": "client_credentials"}
        return [(await served.api().service("token", each, **form)).status_code for each in asking]

    assert ask_once(tmp_path, ask) == [200] * 3
    another = sha256(b"another").hexdigest()
    lines = declared.machine.run("apply", str(declared.file)).lines
    assert lines == ["Everything is as declared."]
    [change] = declared.apply(text.replace(sha256(SECRET.encode()).hexdigest().upper(), another))["changes"]
    assert (change["path"], change["fields"]) == ("clients.app", {"secret": {"from": None, "to": None}})
    assert another not in str(change)
    declared.file.write_text(text)
    lines = declared.machine.run("apply", str(declared.file), "--dry-run").lines
    assert lines[:2] == ["~ clients.app", "    secret: another one"]


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


def test_a_person_reads_the_plan(declared: Declared) -> None:
    declared.file.write_text(SHOP + AUDITOR)
    lines = declared.machine.run("apply", str(declared.file)).lines
    assert lines[:3] == ["+ roles.auditor", '    name: "Auditor 审计"', '    permissions: ["audit.read"]']
    assert lines[-1].startswith("shop ")
    declared.file.write_text(SHOP.replace('"Shop"', '"Shop 2"'))
    lines = declared.machine.run("apply", str(declared.file), "--dry-run").lines
    assert lines == [
        *("~ clients.shop", '    name: "Shop" -> "Shop 2"', "Nothing was done."),
        "Not in the file, and left as they are: roles.auditor",
    ]


def test_pruning_disables_and_says_so_and_leaves_roles_as_they_are(declared: Declared) -> None:
    declared.apply(SHOP + AUDITOR + SHOP.replace("shop]", "other]"))
    declared.machine.script("client", "disable", "other")
    told = declared.trail()
    declared.file.write_text("")
    plan = [
        "! clients.shop",
        "    enabled: true -> false",
        "Not in the file, and disabled: clients.shop",
        "Not in the file, and left as they are: clients.other roles.auditor",
    ]
    lines = declared.machine.run("apply", str(declared.file), "--prune", "--dry-run").lines
    assert lines == [*plan[:3], "Nothing was done.", plan[3]]
    assert declared.trail() == told
    lines = declared.machine.run("apply", "--prune", str(declared.file)).lines
    assert lines == [*plan[:3], "Done.", plan[3]]
    assert declared.trail() == [*told, ("client-disabled", COMMAND_LINE)]
    again = declared.apply("", "--prune=disable")
    assert (again["changes"], again["undeclared"]) == ([], ["clients.other", "clients.shop", "roles.auditor"])
    [change] = declared.apply(SHOP + "enabled = true")["changes"]
    assert change["fields"] == {"enabled": {"from": False, "to": True}}


def test_pruning_deletes_only_after_a_yes(declared: Declared) -> None:
    declared.apply(SHOP + AUDITOR)
    told = declared.trail()
    words = ("apply", str(declared.file), "--prune=delete")
    declared.file.write_text("")
    for more in (("--yes",), ("--yes", "--dry-run"), ()):
        ran = declared.machine.run(*words, *more, stdin="y\n")
        assert ran.exit_code == 1
        assert "names no client and no role: --prune=delete would delete all\n" in ran.err
    declared.file.write_text(SHOP.replace("clients.shop", "clients.newer"))
    for answer in ("n\n", ""):
        ran = declared.machine.run(*words, stdin=answer)
        assert ran.exit_code == 1
        assert "Delete for good: clients.shop roles.auditor?" in ran.err
    deleted = "Not in the file, and deleted: clients.shop roles.auditor"
    lines = declared.machine.run(*words, "--dry-run").lines
    assert lines[-4:] == ["- clients.shop", "- roles.auditor", deleted, "Nothing was done."]
    assert declared.trail() == told
    ran = declared.machine.run(*words, stdin="y\n")
    assert deleted in ran.lines
    done = ["client-registered", "client-deleted", "role-deleted"]
    assert declared.trail()[len(told) :] == [(kind, COMMAND_LINE) for kind in done]
    assert declared.machine.run(*words).lines == ["Everything is as declared."], "nothing is asked"


def test_a_fault_names_table_and_field_and_keeps_out_all(declared: Declared) -> None:
    declared.apply(SHOP)
    wrong = 'colour = "red"\nclientId = "x"\ncreatedAt = 1\n'
    unknown = {f"clients.shop.{name}" for name in ("colour", "clientId", "createdAt")}
    assert declared.faults(AUDITOR + "[role.x]\n" + SHOP + wrong) == {"role", *unknown}
    assert declared.faults(
        AUDITOR.replace("audit.read", "audit.write")
        + SHOP.replace("600", "1").replace("https", "http").replace('name = "Shop"', "enabled = 1")
        + "[clients.empty]\n[roles.Bad]\nname = 1970-01-01\n"
    ) == {
        *("roles.auditor.permissions.0", "roles.Bad.code", "roles.Bad.name"),
        *("clients.shop.name", "clients.shop.enabled", "clients.shop.accessTokenTtl"),
        *("clients.shop.redirectUris.0", "clients.shop.redirectUris.1"),
        *("clients.empty.name", "clients.empty.grantTypes"),
    }
    assert declared.faults('[clients.console]\nname = "Mine"\n') == {"clients.console"}


@pytest.mark.parametrize(
    "text, fault",
    [
        (None, "cannot be read: No such file"),
        ("x" * (1024 * 1024 + 1), "has more than 1048576 bytes"),
        ("\udcff", "is not text in UTF-8"),
        ("[clients", "is not TOML: "),
        ("x = " + "[" * 100_000, "is not TOML: "),
        ("clients = 1", "clients: must hold a table for each of them"),
        ("[roles]\nauditor = []", "roles: must hold a table for each of them"),
        ("".join(f"[roles.r{number}]\n" for number in range(1001)), "declares more than 1000"),
        ('[clients.a]\nsecretEnv = "NOWHERE"', "clients.a.secretEnv: the environment has no 'NOWHERE'"),
        ('[clients.a]\nsecretFile = "nowhere"', "clients.a.secretFile: '"),
        ('[clients.a]\nsecretEnv = "SHORT"', "clients.a.secretEnv: must give 22 to 256"),
        ('[clients.a]\nsecretEnv = "QUOTED"', "clients.a.secretEnv: 'QUOTED' is in quotes"),
        ('\ufeff[clients.a]\nsecretEnv = "NOWHERE"', "clients.a.secretEnv: the environment has no"),
        ('[clients.a]\nsecretDigest = "hunter22"', "clients.a.secretDigest: must be sha256:"),
        ("[clients.a]\nsecretDigest = 1", "clients.a.secretDigest: must be a string"),
        ('[clients.a]\nsecretEnv = "A"\nsecretFile = "b"', "clients.a: secretEnv and secretFile are set"),
    ],
)
def test_a_file_that_declares_nothing_is_said_why_in_one_line(
    declared: Declared, monkeypatch: pytest.MonkeyPatch, text: str | None, fault: str
) -> None:
    monkeypatch.setenv("SHORT", "hunter22")
    monkeypatch.setenv("QUOTED", '"hunter22hunter22hunter22"')
    if text is not None:
        declared.file.write_bytes(text.encode("utf-8", "surrogateescape"))
    ran = declared.machine.run("apply", str(declared.file))
    assert (ran.exit_code, ran.out) == (1, "")
    [line] = ran.err.splitlines()
    assert line.startswith(f"ostiary: '{declared.file}' {fault}")
    assert "hunter22" not in line

"""`ostiary user import FILE` registers all users of a sheet, a CSV file or a file of JSON lines, or none."""

import csv
import json
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import pytest

from ostiary_net.runtime.passwords import Passwords
from tests.support.callers import Registered
from tests.support.files import sheet_of
from tests.support.processes import Machine
from tests.support.served import Served, ask_once

BCRYPT = "$2b$05$srNaFv5MXcNQ/zbdOTksGebnCjFM.6.ZRQA0qptkSoeaT5uqtCeuW"
"""The hash of `correct horse battery`."""

Person = dict[str, str]


def write_people(path: Path, *people: Person) -> str:
    """Write a file with these people and one empty line; return its path."""
    table = [list(people[0]), [], *(list(person.values()) for person in people)]
    if path.suffix.lower() == ".xlsx":
        path.write_bytes(sheet_of(table))
    elif path.suffix.lower() == ".jsonl":
        path.write_text("\ufeff\n\n" + "\n".join(map(json.dumps, people)))
    else:
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file).writerows(table)
    return str(path)


async def sign_in_each(usernames: Sequence[str], served: Served) -> list[int]:
    """Sign each user in with the same password; return the statuses. No user must change the password."""
    answers = []
    for username in usernames:
        body = {"username": username, "password": "correct horse battery"}
        answers.append(await served.api().post("/api/auth/login", json=body))
    assert not any(each.json()["data"]["mustChangePassword"] for each in answers if each.status_code == 200)
    return [each.status_code for each in answers]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "xlsx", "CSV", "XLSX", "JSONL"])
def test_users_are_imported_with_passwords_all_or_none(machine: Machine, tmp_path: Path, ending: str) -> None:
    anna = {"username": "anna", "name": "Anna, 安娜", "passwordHash": BCRYPT}
    bert = {"username": "bert", "name": "Bert", "passwordHash": "{noop}bert's password"}
    people = tmp_path / f"people.{ending}"
    ran = machine.run("user", "import", write_people(people, anna, bert), "--json")
    refusal = ran.expect_refusal("A0401")
    assert [error["path"] for error in refusal["errors"]] == ["rows.4.passwordHash"]
    assert "bert's password" not in str(refusal)
    assert machine.script("user", "list")["total"] == 1

    file = write_people(people, anna, {**bert, "passwordHash": ""})
    made = {"created": 2, "updated": 0, "unchanged": 0, "hashesLeft": 0}
    done = machine.script("user", "import", file)
    assert len(done.pop("cannotSignIn")) == 1, "bert has no password yet"
    assert done == made
    machine.run("user", "import", file, "--json").expect_refusal("A0409")
    file = write_people(people, {**anna, "name": "Anna Ng"}, {**bert, "passwordHash": ""})
    lines = machine.run("user", "import", file, "--mode", "upsert").lines
    assert [line.split()[-1] for line in lines] == ["0", "1", "1", "1"]
    assert ask_once(tmp_path, partial(sign_in_each, ["anna", "bert"])) == [200, 401]
    # Anna signed in, so that her hash is ours by now. The file comes once more, with a new user in it.
    file = write_people(
        people, anna, {**bert, "passwordHash": ""}, {**bert, "username": "carl", "passwordHash": BCRYPT}
    )
    done = machine.script("user", "import", file, "--mode", "upsert")
    assert done == {"created": 1, "updated": 1, "unchanged": 1, "hashesLeft": 1}


def test_bad_rows_are_never_hashed(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows at fault are refused before any password is hashed."""
    hashed = []
    machine.environment["PASSWORD_HASHING_THREADS"] = "3"

    async def hash_nothing(self: Passwords, password: str, *, may_be_refused: bool = True) -> str:
        assert self.line.places == 3
        hashed.append(password)
        return BCRYPT

    monkeypatch.setattr(Passwords, "hash", hash_nothing)
    file = tmp_path / "people.csv"
    rows = [f"user{number},User,correct horse battery" for number in range(51)]
    more = ["user0,Twice,correct horse battery", "a/b,No name,short"]
    file.write_text("\n".join(["username,name,password", *rows, *more, ""]))
    ran = machine.run("user", "import", str(file))
    assert (ran.exit_code, hashed) == (1, [])
    places = [line.partition(",")[0].strip() for line in ran.err.splitlines()[2:]]
    assert places == ["Row 53", "Row 54", "Row 54", "--mode upsert changes the users that exist already."]

    file.write_text("\n".join(["username,name,password", *rows, ""]))
    bars, make_bar = list[Any](), click.progressbar

    def make_and_keep(**options: Any) -> Any:
        bars.append(make_bar(**options))
        return bars[-1]

    monkeypatch.setattr(click, "progressbar", make_and_keep)
    ran = machine.run("user", "import", str(file))
    assert (ran.lines[0].split(), ran.err.split(), len(hashed)) == (["Registered", "51"], ["Preparing"], 51)
    assert bars[0].pos == 51
    ran = machine.run("user", "import", str(file))
    said = ran.err.splitlines()[1:]
    assert (ran.exit_code, len(hashed), said[0]) == (1, 51, "ostiary: A0409 That is already taken.")
    assert [line.partition(",")[0] for line in said[1:21]] == [f"  Row {number}" for number in range(2, 22)]
    assert said[21:] == ["  31 more", "--mode upsert changes the users that exist already."]
    assert len(machine.run("user", "import", str(file), "--json").expect_refusal("A0409")["errors"]) == 51


@pytest.mark.parametrize("ending", ["csv", "jsonl", "xlsx"])
def test_a_file_is_read_from_standard_input(machine: Machine, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"people.{ending}"
    write_people(path, {"username": "anna", "name": "Anna, 安娜"})
    assert machine.script("user", "import", "-", stdin=path.read_bytes())["created"] == 1
    assert machine.script("user", "show", "anna")["name"] == "Anna, 安娜"
    refused = machine.run("user", "import", "-", stdin="{}\n[]")
    assert refused.err == "ostiary: '-' line 2 is not a JSON object\n"


@pytest.mark.parametrize(
    "name, content, fault",
    [
        ("people.csv", b"username,name\nanna,Anna" + b",x" * 300, "holds too much"),
        ("people.jsonl", b"[" * 100_000, "line 1 is not a JSON object"),
        ("people.jsonl", b" " * (8 * 1024 * 1024 + 64 * 1024 + 1), "import it in parts"),
        ("people.jsonl", b" " * (8 * 1024 * 1024 + 64 * 1024), "A0401"),
        ("people.csv", b"username,name\n" + b"anna,Anna\n" * 2001, "at most 2000 rows"),
        ("people.jsonl", b"{}\n" * 2001, "at most 2000 rows"),
        ("people.jsonl", b"{}\n" * 2000, "  3980 more\n"),
    ],
)
def test_a_file_that_cannot_be_imported_is_said_why(
    machine: Machine, tmp_path: Path, name: str, content: bytes, fault: str
) -> None:
    (tmp_path / name).write_bytes(content)
    ran = machine.run("user", "import", str(tmp_path / name))
    assert (ran.exit_code, ran.out) == (1, "")
    assert ran.err.startswith("ostiary: ")
    assert fault in ran.err
    assert machine.script("user", "list")["total"] == 1


# --- exports of other servers, by docs/deploy/moving_in.py


EXPORTS = Path(__file__).with_name("exports")
PROGRAM = Path(__file__).parents[3] / "docs" / "deploy" / "moving_in.py"
# Of django-oauth-toolkit 3.4.1 on Django 5.2.19, at low costs; and written as Keycloak 26 writes them.
SERVERS = {
    "django": (["django.json"], ["anna", "ben", "carl", "dora", "emil", "王芳"], "16"),
    "keycloak": (["shop-realm.json", "shop-users-0.json"], ["anna", "ben", "王芳"], "de11cc9d"),
}
SECRETS = {"django": "a-secret-of-the-shop-that-was-drawn", "keycloak": "KWYPBgrTEEGZNH6wZsP2zyK14LZHJi77"}
LEFT = {
    "django": "client intranet, client mobile, client old-shop, client reports, person frieda, person 王芳",
    "keycloak": "client reports, client reports, client saml, client web, person ben, person frieda",
}


def move_in(server: str, folder: Path) -> str:
    """Convert an export into files in the folder; return the report of the parts that are left behind."""
    files = [str(EXPORTS / name) for name in SERVERS[server][0]]
    command = [sys.executable, str(PROGRAM), server, *files, "--to", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


@pytest.mark.parametrize("server", SERVERS)
def test_an_export_of_another_server_is_taken_over(machine: Machine, tmp_path: Path, server: str) -> None:
    said = move_in(server, tmp_path / "moved").splitlines()
    assert ", ".join(sorted(line.partition(":")[0] for line in said)) == LEFT[server]
    clients, people, subjects = (
        tmp_path / "moved" / name for name in ("clients.toml", "people-1.jsonl", "subjects.csv")
    )
    assert all(path.stat().st_mode & 0o077 == 0 for path in (clients, people, subjects))
    assert "\n王芳," + SERVERS[server][2] in subjects.read_text().replace("\r", "")
    assert SECRETS[server] not in clients.read_text()
    assert machine.script("apply", str(clients), "--dry-run")["changes"]
    drawn = {each["clientId"] for each in machine.script("apply", str(clients))["secrets"]}
    assert drawn == ({"intranet", "reports"} if server == "django" else {"reports"})
    assert machine.script("user", "import", str(people))["created"] == len(people.read_text().splitlines())

    async def ask(served: Served) -> list[int]:
        shop = Registered("shop", SECRETS[server])
        issued = await served.api().service("token", shop, grant_type="client_credentials")
        return [issued.status_code, *await sign_in_each([*SERVERS[server][1], "frieda"], served)]

    assert ask_once(tmp_path, ask) == [200] * (1 + len(SERVERS[server][1])) + [401]

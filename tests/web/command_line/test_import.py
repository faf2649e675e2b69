"""`ostiary user import FILE`: everybody in a sheet, in CSV or in JSON lines, or nobody."""

import csv
import json
from pathlib import Path

import httpx
import pytest

from tests.support.files import sheet_of
from tests.support.processes import Machine

BCRYPT = "$2b$05$srNaFv5MXcNQ/zbdOTksGebnCjFM.6.ZRQA0qptkSoeaT5uqtCeuW"
"""Of `correct horse battery`."""

Person = dict[str, str]


def write_people(path: Path, *people: Person) -> str:
    """The path of a file with these people and a line without any among them."""
    table = [list(people[0]), [], *(list(person.values()) for person in people)]
    if path.suffix.lower() == ".xlsx":
        path.write_bytes(sheet_of(table))
    elif path.suffix.lower() == ".jsonl":
        path.write_text("\ufeff\n\n" + "\n".join(map(json.dumps, people)))
    else:
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file).writerows(table)
    return str(path)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "xlsx", "XLSX", "JSONL"])
def test_people_are_imported_with_their_passwords_all_of_them_or_none(
    machine: Machine, tmp_path: Path, ending: str
) -> None:
    anna = {"username": "anna", "name": "Anna, 安娜", "passwordHash": BCRYPT}
    bert = {"username": "bert", "name": "Bert", "passwordHash": "{noop}bert's password"}
    people = tmp_path / f"people.{ending}"
    refusal = machine.run("user", "import", write_people(people, anna, bert), "--json").expect_refusal(
        "A0401"
    )
    assert [error["path"] for error in refusal["errors"]] == ["rows.4.passwordHash"]
    assert "bert's password" not in str(refusal)
    assert machine.script("user", "list")["total"] == 1

    file = write_people(people, anna, {**bert, "passwordHash": ""})
    made = {"created": 2, "updated": 0, "unchanged": 0, "hashesLeft": 0}
    assert machine.script("user", "import", file) == made
    machine.run("user", "import", file, "--json").expect_refusal("A0409")
    file = write_people(people, {**anna, "name": "Anna Ng"}, {**bert, "passwordHash": ""})
    lines = machine.run("user", "import", file, "--mode", "upsert").lines
    assert [line.split()[-1] for line in lines] == ["0", "1", "1", "1"]
    with machine.serving() as address:
        body = {"username": "anna", "password": "correct horse battery"}
        answer = httpx.post(f"{address}/api/auth/login", json=body, timeout=60)
        assert answer.json()["data"]["mustChangePassword"] is False
        body["username"] = "bert"
        assert httpx.post(f"{address}/api/auth/login", json=body, timeout=60).status_code == 401
    # Who has signed in has a hash of ours by now, and the file comes once more, with somebody new in it.
    file = write_people(
        people, anna, {**bert, "passwordHash": ""}, {**bert, "username": "carl", "passwordHash": BCRYPT}
    )
    done = machine.script("user", "import", file, "--mode", "upsert")
    assert done == {"created": 1, "updated": 1, "unchanged": 1, "hashesLeft": 1}


def test_a_preview_says_what_each_row_would_do(machine: Machine, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("username,name\nanna,Anna\n")
    machine.script("user", "import", str(file))
    file.write_text("username,name\nanna,Anna Ng\nbert,Bert\n")
    previewed = machine.run("user", "import", str(file), "--mode", "upsert", "--preview")
    assert previewed.out.splitlines()[:2] == ["Row 2: changes anna", "    Name: Anna → Anna Ng"]
    assert previewed.out.splitlines()[-1] == "To register: 1. To change: 1. Unchanged: 0."
    assert machine.script("user", "list")["total"] == 2
    assert machine.script("user", "import", str(file), "--mode", "upsert", "--preview")["created"] == 1


@pytest.mark.parametrize(
    "content",
    [
        "username,name\r\nfang,王芳\r\n".encode("utf-8-sig"),
        "username;name\nfang;王芳\n".encode(),
        "sep=;\r\nusername;name\r\nfang;王芳\r\n".encode(),
        "username\tname\r\nfang\t王芳\r\n".encode("utf-16"),
        b"\xfe\xff" + "username,name\r\nfang,王芳".encode("utf-16-be"),
        "username,name\r\nfang,王芳\r\n".encode("gb18030"),
        "用户名,姓名,,\r\nfang,王芳,,\r\n".encode("gb18030"),
        "username,name,\nfang,王芳,\nzhe,陶喆,".encode("gb18030"),
    ],
)
@pytest.mark.parametrize("name", ["people.csv", "PEOPLE.CSV"])
def test_csv_is_read_as_spreadsheets_write_it(
    machine: Machine, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    machine.script("user", "import", str(tmp_path / name))
    assert "王芳" in [user["name"] for user in machine.script("user", "list")["items"]]


@pytest.mark.parametrize(
    "name, content, fault",
    [
        ("people.txt", b"", "must end in .xlsx"),
        ("nobody.csv", None, "cannot be read: No such file"),
        ("people.csv", b"username,name\n\xff,x", 'save it as "CSV UTF-8"'),
        ("people.csv", "username,name\nzoe,Zoë Müller".encode("cp1252"), 'save it as "CSV UTF-8"'),
        ("people.csv", "username,name\nzoe,Müller".encode("cp1252"), 'save it as "CSV UTF-8"'),
        ("people.csv", "username\tname\nfang\t王芳".encode("utf-16")[:-1], "must be a readable .xlsx file"),
        ("people.csv", b"username,name\nanna,Ng, Anna", "Row 2, C has a value, but its column has no"),
        ("people.csv", b"username,name\nanna,1.10105E+17", "Row 2, name holds a number of more than 15"),
        ("people.csv", b"username,name,phone\nanna,Anna,#N/A", "phone holds the spreadsheet error #N/A"),
        ("people.csv", b"username,name,roleIds\nanna,Anna,Err:502", "roleIds holds the spreadsheet error"),
        (
            "people.jsonl",
            b'{"username": "anna", "name": "A", "roleIds": ["#REF!"]}',
            "Row 1, Roles holds the spreadsheet error #REF!",
        ),
        ("people.csv", b"username,name\nanna,Anna" + b",x" * 300, "holds too much"),
        ("people.csv", b'username,name\nanna,"An"na', "is not CSV"),
        ("people.jsonl", b'{"username": "anna"}\n[]', "line 2 is not a JSON object"),
        ("people.jsonl", b"[" * 100_000, "line 1 is not a JSON object"),
        ("people.jsonl", b" " * (8 * 1024 * 1024 + 64 * 1024 + 1), "import it in parts"),
        ("people.csv", b"", "A0401"),
        ("people.jsonl", b"\n", "A0401"),
        ("people.csv", b"username,salary\nanna,1", "Column B"),
        ("people.csv", b"username,name\n" + b"anna,Anna\n" * 2001, "at most 2000 rows"),
        ("people.jsonl", b"{}\n" * 2001, "at most 2000 rows"),
        ("people.jsonl", b'{"username": "anna", "name": "A", "salary": 1}', "Row 1, salary"),
        ("people.jsonl", b'{"username": "anna", "name": "A", "passwordHash": 1}', "Row 1, Password hash"),
        ("people.xlsx", b"PK", "must be a readable .xlsx file"),
    ],
)
def test_a_file_that_cannot_be_imported_is_said_why(
    machine: Machine, tmp_path: Path, name: str, content: bytes | None, fault: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    ran = machine.run("user", "import", str(tmp_path / name))
    assert (ran.exit_code, ran.out) == (1, "")
    assert ran.err.startswith("ostiary: ")
    assert fault in ran.err
    assert machine.script("user", "list")["total"] == 1

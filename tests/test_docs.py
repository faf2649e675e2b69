"""The generated pages of docs/ are current, and every row of the specification has its test."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.generate import rows_page, states_page
from tests.rows import row
from tests.rows.proofs import Proof, find_unproved
from tests.rows.specification import TABLES

ROOT = Path(__file__).resolve().parent.parent


def test_every_row_has_a_test_and_every_page_is_current() -> None:
    """Run in a process of its own, in which pytest collects the tests once more."""
    result = subprocess.run(
        [sys.executable, "-m", "docs.generate", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr


def test_a_row_without_a_test_is_named() -> None:
    missing = find_unproved({("Grants", "refresh_token"): (Proof("tests/core/test_x.py", "test_x"),)})
    names = {(table, found.name) for table, found in missing}
    assert ("Grants", "refresh_token") not in names
    assert ("Grants", "client_credentials") in names
    assert len(missing) == sum(len(rows) for rows in TABLES.values()) - 1
    elsewhere = {("Grants", "refresh_token"): (Proof("tests/web/test_x.py", "test_x"),)}
    assert len(find_unproved(elsewhere)) == len(missing) + 1, "a row is proved by tests of its own folder"


def test_a_marker_that_names_no_row_fails_at_once() -> None:
    with pytest.raises(ValueError, match="no table"):
        row("Nonsense", "x")
    with pytest.raises(ValueError, match="has no row"):
        row("Grants", "password")


def test_the_pages_show_their_rows_and_states() -> None:
    page = rows_page({("Grants", "refresh_token"): (Proof("tests/core/test_x.py", "test_it"),)})
    assert "| refresh_token | [`it`](../tests/core/test_x.py) |" in page
    assert "| client_credentials | **no test** |" in page
    states = states_page()
    assert "    [*] --> issued: code issued\n" in states
    assert "    active --> ended: replayed after the grace\n" in states


def find_installs_by_name(text: str) -> list[str]:
    """Return the lines that have an installer ask an index for the bare name."""
    installer = re.compile(r"\b(pip|pipx|uv|poetry|pdm)\b.* ?\b(install|add|run) ")
    bare = re.compile(r"""['"`]?ostiary(\[[\w,-]*\])?([=<>~!@].*)?['"`.;,]*""")
    return [
        line
        for line in text.splitlines()
        if (found := installer.search(line)) and any(map(bare.fullmatch, line[found.end() :].split()))
    ]


def test_no_page_installs_a_name_that_an_index_does_not_have() -> None:
    """Forbid the bare name: a stranger who registers it would run code as root. Old decisions may keep it."""
    command = "/opt/ostiary/bin/pip install"
    for words in ("ostiary", "'ostiary[server]'", "ostiary==0.1.0", "--upgrade ostiary"):
        assert find_installs_by_name(f"#   {command} {words}\n"), words
    for words in ("--no-index --no-deps ./ostiary-*.whl", "-r requirements-server.lock"):
        assert not find_installs_by_name(f"{command} {words}\n"), words
    pages = [*ROOT.glob("*.md"), *(path for path in (ROOT / "docs").rglob("*") if path.is_file())]
    read = [path for path in pages if path.suffix not in (".png", ".pyc") and path.parent.name != "decisions"]
    assert len(read) > 30
    for path in read:
        assert find_installs_by_name(path.read_text()) == [], path

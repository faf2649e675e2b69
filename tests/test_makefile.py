"""`make` installs what its target needs, in any order: a server's packages for a server, else all."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
SERVER, REST, CHECKOUT = "requirements-server.lock", "requirements.lock", "the checkout"

STAND_IN: Final = """#!/bin/sh
# Makes what `python -m venv` makes, and notes what pip is asked for and what is run.
case "$*" in
    "-m venv "*) mkdir -p "$3/bin"; for name in python pip ostiary; do cp "$0" "$3/bin/$name"; done ;;
    "-m pip "*"-r "*) echo "${*##*-r }" >> "$NOTES" ;;
    "-m pip "*" -e .") echo "the checkout" >> "$NOTES" ;;
    "-c "*) ;;
    *) echo "run $(basename "$0") $*" >> "$NOTES" ;;
esac
"""


class Checkout:
    """A copy of what `make` looks at, with stand-ins for Python and what it installs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "checkout"
        self.folder.mkdir()
        for name in ("Makefile", "pyproject.toml", SERVER, REST):
            shutil.copy(ROOT / name, self.folder / name)
            self.age(name, seconds=1_000)
        self._python = folder / "python3"
        self._python.write_text(STAND_IN)
        self._python.chmod(0o755)
        self._notes = folder / "notes"

    def age(self, name: str, *, seconds: float) -> None:
        """Have a file be as if it had been written so long ago."""
        path = self.folder / name
        at = path.stat().st_mtime - seconds
        os.utime(path, (at, at))

    def pull(self, *names: str) -> None:
        """Change these files after everything that was installed."""
        for stamp in (self.folder / ".venv").glob(".installed*"):
            self.age(str(stamp.relative_to(self.folder)), seconds=100)
        for name in names:
            os.utime(self.folder / name)

    def make(self, target: str) -> list[str]:
        """Run a target; return what was installed, in order, and last what was run."""
        self._notes.write_text("")
        # A make that runs these tests hands on what it was given.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MARKERS"))}
        ran = subprocess.run(
            ["make", target, f"PYTHON={self._python}"],
            cwd=self.folder,
            env=kept | {"NOTES": str(self._notes)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return self._notes.read_text().splitlines()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


SERVE = "run ostiary serve"
TEST = (
    "run python -m pytest -q -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder -m not release"
)


@pytest.mark.parametrize("target, ran", [("run", SERVE), ("demo", "run python -m demo")])
def test_a_server_from_nothing_is_given_what_it_needs(checkout: Checkout, target: str, ran: str) -> None:
    assert checkout.make(target) == [SERVER, CHECKOUT, ran]
    assert checkout.make(target) == [ran]


@pytest.mark.parametrize("target", ["test", "fuzz", "bench", "docs", "screenshots", "setup"])
def test_all_else_from_nothing_is_given_everything(checkout: Checkout, target: str) -> None:
    assert checkout.make(target)[:3] == [SERVER, CHECKOUT, REST]
    assert {SERVER, CHECKOUT, REST}.isdisjoint(checkout.make(target))


def test_in_either_order_nothing_is_installed_twice(tmp_path: Path) -> None:
    for name, orders in {
        "run first": [("run", [SERVER, CHECKOUT, SERVE]), ("test", [REST, TEST]), ("run", [SERVE])],
        "test first": [("test", [SERVER, CHECKOUT, REST, TEST]), ("run", [SERVE]), ("test", [TEST])],
    }.items():
        folder = tmp_path / name.replace(" ", "-")
        folder.mkdir()
        checkout = Checkout(folder)
        for target, expected in orders:
            assert checkout.make(target) == expected, name


@pytest.mark.parametrize("file", [SERVER, "pyproject.toml"])
def test_a_pulled_change_for_a_server_is_installed_by_the_next_target_alone(
    checkout: Checkout, file: str
) -> None:
    checkout.make("test")
    checkout.pull(file, REST)
    assert checkout.make("run") == [SERVER, CHECKOUT, SERVE]
    assert checkout.make("test") == [REST, TEST]
    checkout.pull(file, REST)
    assert checkout.make("test") == [SERVER, CHECKOUT, REST, TEST]
    assert checkout.make("run") == [SERVE]


def test_a_tool_that_a_pull_changes_is_none_of_a_servers_business(checkout: Checkout) -> None:
    checkout.make("test")
    checkout.pull(REST)
    assert checkout.make("run") == [SERVE]
    assert checkout.make("test") == [REST, TEST]


def test_an_installation_that_was_broken_off_is_taken_up_again(checkout: Checkout) -> None:
    checkout.make("test")
    (checkout.folder / ".venv" / ".installed").unlink()
    assert checkout.make("run") == [SERVE]
    assert checkout.make("test") == [REST, TEST]

"""Help imports no command, and describes each command in the words of the command's own help."""

import subprocess
import sys

import pytest

from fuzz.processes.server import ROOT
from ostiary_web.cli.command_line import COMMANDS, main

_FOREIGN = {"quart", "flask", "hypercorn", "h2", "trio", "structlog", "apsw", "psycopg", "argon2", "msgspec"}


@pytest.mark.parametrize("word", ["--help", "-h", "--version", "completion"])
def test_help_version_and_completion_import_no_server(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if word == "completion":
        asked = {"_OSTIARY_COMPLETE": "bash_complete", "COMP_WORDS": "ostiary ", "COMP_CWORD": "1"}
        for name, value in asked.items():
            monkeypatch.setenv(name, value)
    look = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))\n"
        f"sys.argv = ['ostiary', {word!r}]\n"
        "from ostiary_web.__main__ import main\n"
        "main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ("plain,session\n" if word == "completion" else "ostiary") in ended.stdout
    imported = ended.stderr.split()
    assert not {name.partition(".")[0] for name in imported} & _FOREIGN
    assert {name for name in imported if name.startswith("ostiary_")} == {
        *("ostiary_web", "ostiary_web.__main__", "ostiary_web.streams"),
        *("ostiary_web.cli", "ostiary_web.cli.command_line"),
    }


def test_the_list_of_commands_says_what_each_of_them_says() -> None:
    for name, command in main.load_all().items():
        _, words = COMMANDS[name]
        assert command.name == name
        assert command.hidden == (not words)
        assert " ".join((command.help or "").split()).startswith(words.rstrip("."))
        assert words.endswith(".") or not words

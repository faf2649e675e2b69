"""The tutorial's commands, run as they stand on the page against a server; the test plays the browser."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fuzz.processes.server import ADMIN_PASSWORD
from tests.clients.parties import PATIENCE_SECONDS, open_house
from tests.support.callers import in_query

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```sh tutorial\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(shutil.which("curl") is None, reason="the tutorial calls curl")
def test_the_tutorial_ends_with_a_signed_in_user(tmp_path: Path) -> None:
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 5
    with open_house(tmp_path) as house:
        commands = "".join([*blocks[:3], "read -r CODE\n", *blocks[3:]])
        for told, here in (("http://127.0.0.1:8000", house.base), ("a password of yours", ADMIN_PASSWORD)):
            assert told in commands
            commands = commands.replace(told, here)
        shell = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", commands],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert shell.stdin is not None
            assert shell.stdout is not None
            address = shell.stdout.readline().strip()
            ended = house.approve(address, "anna", "a password of hers")
            assert ended.startswith("http://127.0.0.1:9000/callback?code=")
            assert in_query(ended, "state") == "remember-me"
            said, complaints = shell.communicate(in_query(ended, "code") + "\n", PATIENCE_SECONDS)
        finally:
            shell.kill()
            shell.wait()
        assert shell.returncode == 0, complaints
        assert '"username":"anna","name":"Anna Ng"' in said
        assert said.endswith('{"active":false}')

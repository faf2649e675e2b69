"""The tutorial's commands, run as they stand on the page against a server; the test plays the browser."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.web.served import ADMIN_PASSWORD, forms_in, in_query
from tests.web.test_real_client import PATIENCE_SECONDS, Server, started

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```sh tutorial\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def landed(server: Server, address: str) -> str:
    """Where Anna's browser ends: she signs in and says yes."""
    with server.http(Accept="text/html") as browser:
        page = browser.get(browser.get(address.removeprefix(server.base)).headers["location"])
        (form,) = [form for form in forms_in(page) if form.action == "/login"]
        filled = {**form.fields, "username": "anna", "password": "a password of hers"}
        signed_in = browser.post(form.action, data=filled, headers={"Origin": "null"})
        consent = browser.get(signed_in.headers["location"])
        (form,) = [form for form in forms_in(consent) if form.buttons]
        filled = {**form.fields, "decision": "approve"}
        return str(browser.post(form.action, data=filled, headers={"Origin": "null"}).headers["location"])


@pytest.mark.skipif(shutil.which("curl") is None, reason="the tutorial calls curl")
def test_the_tutorial_ends_with_a_signed_in_user(tmp_path: Path) -> None:
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 5
    with started("serve", tmp_path) as server:
        commands = "".join([*blocks[:3], "read -r CODE\n", *blocks[3:]])
        for told, here in (("http://127.0.0.1:8000", server.base), ("a password of yours", ADMIN_PASSWORD)):
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
            ended = landed(server, address)
            assert ended.startswith("http://127.0.0.1:9000/callback?code=")
            assert in_query(ended, "state") == "remember-me"
            said, complaints = shell.communicate(in_query(ended, "code") + "\n", PATIENCE_SECONDS)
        finally:
            shell.kill()
            shell.wait()
        assert shell.returncode == 0, complaints
        assert '"username":"anna","name":"Anna Ng"' in said
        assert said.endswith('{"active":false}')

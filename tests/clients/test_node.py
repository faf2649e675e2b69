"""The clients that Node programs sign users in with: the whole way, over real HTTP.

Each library runs in a program of its own under `node/`; the test plays the user's browser. The versions are
exact (`node/package.json`); they are installed once, into a folder that git ignores.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.clients.parties import PATIENCE_SECONDS, House, open_house
from tests.support.callers import REDIRECT_URI, in_query

HERE = Path(__file__).parent / "node"
INSTALLED = Path(__file__).parents[2] / "build" / "node-clients"
INSTALL_SECONDS = 240


def unavailable(reason: str) -> NoReturn:
    """Skip the test, or fail if Node is required."""
    if "node" in os.environ.get("OSTIARY_TEST_REQUIRE", ""):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def programs() -> Path:
    """The programs beside the packages they import."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        unavailable("no node and npm on PATH (Debian: apt-get install nodejs npm)")
    folder = INSTALLED / sha256((HERE / "package-lock.json").read_bytes()).hexdigest()[:16]
    if not (folder / "node_modules" / ".package-lock.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(HERE / name, folder)
        try:
            installed = subprocess.run(
                [npm, "ci", "--ignore-scripts", "--silent"],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=INSTALL_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            unavailable(f"npm ci did not end within {INSTALL_SECONDS} s")
        if installed.returncode != 0:
            unavailable(f"npm ci failed: {installed.stderr.strip()[-300:]}")
    for program in HERE.glob("*.mjs"):
        shutil.copy(program, folder)
    return folder


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with open_house(tmp_path_factory.mktemp("serve")) as running:
        yield running


@contextmanager
def program(folder: Path, name: str) -> Iterator[Any]:
    process = subprocess.Popen(
        ["node", f"{name}.mjs"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.kill()
        process.communicate()


def conversation(
    house: House, place: Path, name: str, client_id: str, way: str = "basic", redirect_uri: str = REDIRECT_URI
) -> Any:
    """Let a program's user sign in and approve; return the program's report."""
    client = house.register(client_id, redirect_uri)
    with program(place, name) as process:
        told = {
            "server": house.base,
            "clientId": client.client_id,
            "secret": client.secret,
            "redirectUri": redirect_uri,
            "method": way,
        }
        process.stdin.write(json.dumps(told) + "\n")
        process.stdin.flush()
        address = json.loads(process.stdout.readline())["authorize"]
        assert in_query(address, "code_challenge_method") == "S256"
        process.stdin.write(json.dumps({"landed": house.approve(address)}) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line, "the program ended without a word: see its standard error"
        return json.loads(line)


def went_all_the_way(told: Any) -> None:
    first, second, retried = told["first"], told["second"], told["retried"]
    # Some libraries add fields of their own, and some write `bearer`, as case does not count (RFC 6749 §5.1).
    assert (first["token_type"].lower(), first["scope"]) == ("bearer", "user.read")
    assert (told["profile"]["username"], told["profile"]["name"]) == ("admin", "admin")
    assert second["access_token"] != first["access_token"]
    for token in ("access_token", "refresh_token"):
        assert retried[token] == second[token]
    assert "refresh_token" not in told["machine"]
    assert told["refused"] == "invalid_grant"


@pytest.mark.parametrize("method", ["basic", "post"])
def test_oauth4webapi(house: House, programs: Path, method: str) -> None:
    told = conversation(house, programs, "oauth4webapi", f"web{method}", method)
    went_all_the_way(told)
    assert told["known"]["active"] is True
    assert (told["known"]["client_id"], told["dead"]) == (f"web{method}", {"active": False})


def test_oauth4webapi_posts_the_secret_if_the_identifier_has_a_hyphen(house: House, programs: Path) -> None:
    """Post the secret, as by Basic the library sends `the%2Dapp` (docs/integrators.md)."""
    went_all_the_way(conversation(house, programs, "oauth4webapi", "the-app_1.0", "post"))


@pytest.mark.parametrize("method", ["basic", "post"])
def test_simple_oauth2(house: House, programs: Path, method: str) -> None:
    went_all_the_way(conversation(house, programs, "simple-oauth2", f"simple-{method}", method))


@pytest.mark.parametrize("method", ["basic", "post"])
def test_badgateway(house: House, programs: Path, method: str) -> None:
    """Answer a revocation so that a library which parses an empty body succeeds (decision 0045)."""
    went_all_the_way(conversation(house, programs, "badgateway", f"badgateway{method}", method))


def test_passport_oauth2(house: House, programs: Path) -> None:
    told = conversation(house, programs, "passport-oauth2", "passport")
    assert (told["profile"]["username"], told["first"]["scope"]) == ("admin", "user.read")
    assert told["again"] in {"fail", "error"}, "a state is good for one callback"
    assert told["error"] is None
    assert told["second"]["access_token"] != told["first"]["access_token"]


def test_authjs(house: House, programs: Path) -> None:
    """Set the scope in `authorization`; the default, `openid profile email`, is refused."""
    address = "https://app.example/auth/callback/ostiary"
    told = conversation(house, programs, "authjs", "authjs", redirect_uri=address)
    assert (told["location"], told["user"]["name"]) == ("https://app.example/", "admin")
    assert (told["first"]["scope"], told["first"]["token_type"]) == ("user.read", "bearer")
    assert told["first"]["refresh_token"]

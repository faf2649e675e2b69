"""What `docs/deploy/moving_in.py` makes of exports of other servers is taken over, and works as it did."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.processes import Machine

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
    """What is said of the parts of an export that do not come along, once its files are in the folder."""
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
    with machine.serving() as address:
        form = {"grant_type": "client_credentials", "client_id": "shop", "client_secret": SECRETS[server]}
        assert httpx.post(f"{address}/api/oauth2/token", data=form, timeout=60).status_code == 200
        for username in (*SERVERS[server][1], "frieda"):
            body = {"username": username, "password": "correct horse battery"}
            answer = httpx.post(f"{address}/api/auth/login", json=body, timeout=60)
            assert answer.status_code == (401 if username == "frieda" else 200), username

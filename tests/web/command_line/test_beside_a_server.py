"""The command line works on the file of a running server; each sees at once what the other did."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from ostiary_web.sheets import reader
from tests.support.callers import ADMIN_PASSWORD, REDIRECT_URI, authorization, exchange_of, in_query
from tests.support.processes import Machine, Process


def sign_in(address: str) -> dict[str, str]:
    """Sign the administrator in; return the header of later requests."""
    body = {"username": "admin", "password": ADMIN_PASSWORD}
    login = httpx.post(f"{address}/api/auth/login", json=body).json()["data"]
    return {"Authorization": f"Bearer {login['accessToken']}"}


def token_answer(address: str, secret: str, agent: str = "app/1", **form: str) -> httpx.Response:
    fields = {"User-Agent": agent}
    return httpx.post(f"{address}/api/oauth2/token", data=form, auth=("app", secret), headers=fields)


def test_the_server_sees_a_command_at_once_and_explain_the_server(machine: Machine, tmp_path: Path) -> None:
    with machine.serving() as address:
        secret = machine.script("client", "create", "app", "--redirect-uri", REDIRECT_URI)["secret"]
        admin = sign_in(address)
        consent = {**authorization(), "approve": True}
        agreed = httpx.post(f"{address}/api/oauth2/authorize", json=consent, headers=admin).json()
        code = in_query(agreed["data"]["redirectTo"], "code")
        pair = token_answer(address, secret, **exchange_of(code)).json()
        refresh = {"grant_type": "refresh_token", "refresh_token": pair["refresh_token"]}
        for agent, status in (("app/1", 200), ("app/1", 200), ("thief/9", 400)):
            assert token_answer(address, secret, agent, **refresh).status_code == status
        asked = {"kind": "session-ended"}
        events = httpx.get(f"{address}/api/audit/events", params=asked, headers=admin).json()
        session_id = events["data"]["items"][0]["sessionId"]

        told = machine.script("explain", session_id)
        over_http = httpx.get(f"{address}/api/audit/sessions/{session_id}/explain", headers=admin).json()
        assert told == over_http["data"]
        assert (told["why"], told["nearMisses"]["count"]) == ("replayed_by_another_user_agent", 1)

        lines = machine.run("explain", session_id).lines
        assert len(lines) == len(told["steps"]) + 1
        assert 'User-Agent "app/1"' in lines[3]
        assert 'User-Agent "thief/9"' in lines[3]
        assert lines[-1].startswith("A safe retry saved the client once;")
        chinese = machine.run("explain", session_id, "--language", "zh-CN").lines
        assert "首次使用" in chinese[3]
        assert "首次使用" in machine.script("explain", session_id, "--language", "zh-CN")["text"]
        for text in (*lines, *chinese):
            for token in pair.values():
                assert len(str(token)) < 43 or str(token) not in text

        people = tmp_path / "people.csv"
        people.write_text("username,phone\nadmin,+8613800000001\n")
        machine.script("user", "import", str(people), "--mode", "upsert")
        begun = {"kind": "session-started", "clientId": "console"}
        admin = sign_in(address)
        events = httpx.get(f"{address}/api/audit/events", params=begun, headers=admin).json()
        line = machine.run("explain", events["data"]["items"][-1]["sessionId"]).lines[-2]
        assert re.search(r"The operator( \S+)?, on the command line, changed the telephone number", line)
        httpx.put(f"{address}/api/oauth/clients/app", json={"name": "Shop"}, headers=admin).raise_for_status()
        [entry] = machine.run("audit", "export", "--actor", "Admin").lines
        assert json.loads(entry)["kind"] == "client-changed"

        machine.script("client", "disable", "app")
        refused = httpx.post(f"{address}/api/oauth2/introspect", data={"token": "x"}, auth=("app", secret))
        assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")


@pytest.mark.parametrize("session_id", ["unknown", "é"])
def test_a_session_that_never_was_is_refused(machine: Machine, session_id: str) -> None:
    machine.run("explain", session_id, "--json").expect_refusal("A0404")


# --- the start of `ostiary serve`: its imports, and a signal during them


PATIENCE_SECONDS = 30
NAMESPACE = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--pid", "--fork"]


def test_workers_import_nothing_from_the_folder_of_the_start(machine: Machine, tmp_path: Path) -> None:
    folder = tmp_path / "started here"
    folder.mkdir()
    mark = folder / "mark"
    (folder / "priority.py").write_text(f"open({str(mark)!r}, 'w')\n")
    command = [sys.executable, "-P", "-m", "ostiary_web", "serve"]
    environment = os.environ | machine.environment | {"WORKERS": "2"}
    with Process(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert "Ostiary serves" in server.out.readline()
    assert not mark.exists()


def test_a_sheet_is_read_without_the_folder_of_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/started/here", "/given", "", "/installed"])
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert reader._import_folders() == ["/given", "/installed"]
    monkeypatch.setenv("PYTHONPATH", "/started/here:/given")
    assert reader._import_folders() == ["/started/here", "/given", "/installed"]


@pytest.mark.skipif(
    subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode != 0,
    reason="this machine gives us no namespace of processes",
)
def test_the_first_process_of_a_container_heeds_an_early_sigterm(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(600)\n")
    command = [*NAMESPACE, "--kill-child", sys.executable, "-m", "ostiary_web", "serve"]
    environment = {**os.environ, **machine.environment, "PYTHONPATH": str(tmp_path)}
    with Process(command, env=environment, stdout=subprocess.PIPE, text=True) as container:
        assert container.out.readline() == "importing\n"
        [first] = Path(f"/proc/{container.pid}/task/{container.pid}/children").read_text().split()
        os.kill(int(first), signal.SIGTERM)
        assert container.wait(PATIENCE_SECONDS) == 128 + signal.SIGTERM

"""The command line on the file of a server that runs: what one does, the other knows at once."""

import httpx
import pytest

from tests.core.asks import VERIFIER, challenge_of
from tests.web.command_line.machine import Machine
from tests.web.served import REDIRECT_URI, in_query


def the_pair(address: str, secret: str) -> dict[str, str]:
    """The administrator signs in at the server, and the client gets a pair for them."""
    with httpx.Client(base_url=address) as browser:
        login = browser.post(
            "/api/auth/login", json={"username": "admin", "password": "correct horse battery"}
        ).json()["data"]
        browser.cookies.clear()
        consent = {
            "response_type": "code",
            "client_id": "app",
            "redirect_uri": REDIRECT_URI,
            "code_challenge": challenge_of(VERIFIER),
            "code_challenge_method": "S256",
            "approve": True,
        }
        bearer = {"Authorization": f"Bearer {login['accessToken']}"}
        answer = browser.post("/api/oauth2/authorize", json=consent, headers=bearer).json()
        code = in_query(answer["data"]["redirectTo"], "code")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": REDIRECT_URI,
            "code_verifier": VERIFIER,
        }
        pair: dict[str, str] = browser.post("/api/oauth2/token", data=form, auth=("app", secret)).json()
        return pair


def refresh(address: str, secret: str, token: str, agent: str) -> httpx.Response:
    return httpx.post(
        f"{address}/api/oauth2/token",
        data={"grant_type": "refresh_token", "refresh_token": token},
        auth=("app", secret),
        headers={"User-Agent": agent},
    )


def test_the_server_knows_at_once_and_explain_tells_what_the_server_saw(machine: Machine) -> None:
    with machine.serving() as address:
        secret = machine.script("client", "create", "app", "--redirect-uri", REDIRECT_URI)["secret"]
        pair = the_pair(address, secret)
        assert refresh(address, secret, pair["refresh_token"], "app/1").status_code == 200
        assert refresh(address, secret, pair["refresh_token"], "app/1").status_code == 200
        assert refresh(address, secret, pair["refresh_token"], "thief/9").status_code == 400
        login = httpx.post(
            f"{address}/api/auth/login", json={"username": "admin", "password": "correct horse battery"}
        ).json()["data"]
        listed = httpx.get(
            f"{address}/api/audit/events",
            params={"kind": "session-ended"},
            headers={"Authorization": f"Bearer {login['accessToken']}"},
        ).json()["data"]["items"]
        session_id = listed[0]["sessionId"]

        told = machine.script("explain", session_id)
        over_http = httpx.get(
            f"{address}/api/audit/sessions/{session_id}/explain",
            headers={"Authorization": f"Bearer {login['accessToken']}"},
        ).json()["data"]
        assert told == over_http
        assert (told["why"], told["nearMisses"]["count"]) == ("replayed_by_another_user_agent", 1)

        lines = machine.run("explain", session_id).lines
        assert len(lines) == len(told["steps"]) + 1
        assert 'User-Agent "app/1"' in lines[3]
        assert 'User-Agent "thief/9"' in lines[3]
        assert lines[-1].startswith("Safe retries that saved the client: 1;")
        chinese = machine.run("explain", session_id, "--language", "zh-CN").lines
        assert "首次使用" in chinese[3]
        for text in (*lines, *chinese):
            for token in pair.values():
                assert len(str(token)) < 43 or str(token) not in text

        machine.script("client", "disable", "app")
        refused = httpx.post(f"{address}/api/oauth2/introspect", data={"token": "x"}, auth=("app", secret))
        assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")


@pytest.mark.parametrize("session_id", ["unknown", "-", "é"])
def test_a_session_that_never_was_is_refused(machine: Machine, session_id: str) -> None:
    machine.run("explain", session_id, "--json").refused("A0404")

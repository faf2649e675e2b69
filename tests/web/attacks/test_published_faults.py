"""Faults that other servers had: repeated endings, near-tokens, trusted headers, echoes, races."""

import re
from pathlib import Path

import httpx
import pytest
import trio

from tests.support.callers import REDIRECT_URI, Api, Browser, Registered, authorization, exchange_of, sso
from tests.support.served import Served, serving


async def is_refused(api: Api, client: Registered, token: str) -> bool:
    answer = await api.refresh(client, token)
    return (answer.status_code, answer.json().get("error")) == (400, "invalid_grant")


async def test_every_ending_counts_whatever_others_there_are(served: Served, api: Api) -> None:
    client, user_id = await served.client(), await served.user()
    issued = await served.tokens(client, "anna", "anna's password")
    for path in ("oauth/clients/app", f"iam/users/{user_id}"):
        for enabled in (False, True):
            assert (await api.call("PUT", f"/api/{path}/enabled", {"enabled": enabled})).status_code == 200
    for token in (issued["access_token"], issued["refresh_token"]):
        assert not await served.api().is_active(client, token)


def nearly(token: str) -> list[str]:
    neighbour = "A" if token[-1] != "A" else "B"
    return [
        *(token[:-1], token[1:], token + "\n", "\n" + token, token + " ", token + "=", token + "A"),
        token[:-1] + neighbour,
        # 43 characters hold two bits more than 32 bytes: a decoder would read these as one.
        *(token[:-1] + last for last in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" if last != token[-1]),
        *(token.swapcase(), token + "\u0000", f"Bearer {token}"),
        token.replace(token[0], f"%{ord(token[0]):02X}", 1),
    ]


async def test_nearly_a_token_is_no_token(served: Served) -> None:
    client, api = await served.client(), served.api()
    issued = await served.tokens(client)
    for token in nearly(issued["access_token"]):
        answer = (await api.service("introspect", client, token=token)).json()
        assert answer == {"active": False} or answer["error"] == "invalid_request", token
    for token in nearly(issued["refresh_token"]):
        answer = (await api.refresh(client, token)).json()
        assert answer["error"] in {"invalid_grant", "invalid_request"}, token
        assert (await api.service("revoke", client, token=token)).status_code in {200, 400}
    assert await api.is_active(client, issued["access_token"])
    assert not await is_refused(api, client, issued["refresh_token"])


async def test_no_header_of_a_stranger_opens_a_door(served: Served) -> None:
    spoofed = {
        **dict.fromkeys(("X-Forwarded-For", "X-Real-IP"), "127.0.0.1"),
        "Forwarded": "for=127.0.0.1;host=evil.example;proto=https",
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Prefix": "//evil.example",
        **dict.fromkeys(("X-Original-URL", "X-Rewrite-URL"), "/login"),
        "X-HTTP-Method-Override": "GET",
    }
    await served.client()
    api, browser = served.api(**spoofed), served.browser(**spoofed)
    for path in ("/api/auth/me", "/api/oauth/clients", "/api/oauth2/userinfo"):
        assert (await api.get(path)).status_code == 401, path
    pages = [await browser.get(path) for path in ("/account", "/admin/clients", "/sso?client_id=app")]
    for page in (*pages, await browser.sign_in()):
        assert page.status_code == 303
        assert "evil.example" not in page.text + repr(page.headers)
    assert {entry.source for entry in served.audit() if entry.source} == {"203.0.113.7"}


@pytest.mark.parametrize("operation", ["token", "introspect", "revoke"])
async def test_no_answer_repeats_what_was_sent(served: Served, operation: str) -> None:
    client, api, sent = await served.client(), await served.administrator(), "<img src=x> unmistakable"
    for form in (
        {"grant_type": sent},
        {"grant_type": "authorization_code", "code": sent, "redirect_uri": sent, "code_verifier": sent},
        {"grant_type": "refresh_token", "refresh_token": sent, "scope": sent},
        {"grant_type": "client_credentials", "scope": sent},
        {"token": sent, "token_type_hint": sent},
        {sent: sent},
    ):
        answer = await api.service(operation, client, **form)
        assert "unmistakable" not in answer.text + repr(answer.headers)
    query = await api.call("GET", "/api/oauth2/authorize", params=authorization(response_type=sent))
    assert query.status_code == 400
    assert "unmistakable" not in query.text


async def at_once(api: Api, client: Registered, form: dict[str, str]) -> list[httpx.Response]:
    answers: list[httpx.Response] = []

    async def send() -> None:
        answers.append(await api.service("token", client, **form))

    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(send)
    return answers


@pytest.mark.parametrize("strict", ["false", "true"])
async def test_what_is_sent_eight_times_at_once_counts_once(tmp_path: Path, strict: str) -> None:
    async with serving(tmp_path, REVOKE_ON_CODE_REPLAY=strict) as served:
        client, api = await served.client(), await served.administrator()
        answers = await at_once(api, client, exchange_of(await served.code(api)))
        [issued] = [answer.json() for answer in answers if answer.status_code == 200]
        errors = {answer.json()["error"] for answer in answers if answer.status_code != 200}
        assert errors == {"invalid_grant"}
        # A setting of the operator decides whether a second use of a code ends the session of the first.
        assert await api.is_active(client, issued["access_token"]) is (strict == "false")
        refresh = {"grant_type": "refresh_token", "refresh_token": issued["refresh_token"]}
        refreshed = await at_once(api, client, refresh)
        assert len({answer.text for answer in refreshed}) == 1
        assert {answer.status_code for answer in refreshed} == {200 if strict == "false" else 400}
        if strict == "false":
            pair = refreshed[0].json()
            await api.service("revoke", client, token=issued["refresh_token"])
            assert not await api.is_active(client, pair["access_token"])
            assert await is_refused(api, client, pair["refresh_token"])


@pytest.mark.parametrize(
    "more",
    [
        *({"response_mode": mode} for mode in ("fragment", "form_post", "web_message", "query.jwt")),
        {"request": "eyJhbGciOiJub25lIn0.e30."},
        {"request_uri": "https://evil.example/request"},
        {
            **dict.fromkeys(("code", "error", "resource"), "evil"),
            "iss": "https://evil.example",
            "prompt": "none",
        },
    ],
    ids=lambda more: "-".join(more.values())[:12],
)
async def test_no_parameter_bends_the_answer(served: Served, browser: Browser, more: dict[str, str]) -> None:
    await served.client(autoApproveScopes=["user.read"])
    sent = await browser.get(sso(state="s", **more))
    assert sent.status_code == 303
    assert re.fullmatch(rf"{re.escape(REDIRECT_URI)}\?code=[\w-]{{43}}&state=s", sent.headers["location"])

"""What others got wrong and no other test looks at: many at once, a restart, a turn that was not kept."""

from pathlib import Path

import pytest
import trio

from ostiary_core.model.records import Session, Table
from tests.net.rooms import BreakingStore, HandClock
from tests.web.served import Api, Registered, Served, authorization, exchange_of, in_memory, serving


def refresh_form(token: str) -> dict[str, str]:
    return {"grant_type": "refresh_token", "refresh_token": token}


async def is_refused(api: Api, client: Registered, token: str) -> bool:
    answer = await api.refresh(client, token)
    return (answer.status_code, answer.json().get("error")) == (400, "invalid_grant")


async def at_once(served: Served, client: Registered, form: dict[str, str]) -> list[dict[str, str]]:
    """The answers to a dozen requests that are all under way together."""
    answers: list[dict[str, str]] = []

    async def ask() -> None:
        answers.append((await served.api().service("token", client, **form)).json())

    async with trio.open_nursery() as nursery:
        for _ in range(12):
            nursery.start_soon(ask)
    return answers


async def test_of_many_exchanges_at_once_one_succeeds(served: Served) -> None:
    client, api = await served.client(), await served.administrator()
    answers = await at_once(served, client, exchange_of(await served.code(api)))
    assert sorted(answer.get("error", "") for answer in answers) == [""] + ["invalid_grant"] * 11
    sessions = [session for session in served.records()[Table.SESSION] if isinstance(session, Session)]
    assert len([session for session in sessions if session.client_id == "app"]) == 1


async def test_however_many_refresh_at_once_there_is_one_pair(served: Served) -> None:
    client = await served.client()
    issued = await served.tokens(client)
    answers = await at_once(served, client, refresh_form(issued["refresh_token"]))
    assert len({(answer["access_token"], answer["refresh_token"]) for answer in answers}) == 1


async def test_a_rotated_token_stays_spent_over_a_restart(tmp_path: Path) -> None:
    clock = HandClock()
    async with serving(tmp_path, clock=clock) as served:
        client = await served.client()
        spent = (await served.tokens(client))["refresh_token"]
        rotated = (await served.api().service("token", client, **refresh_form(spent))).json()
        clock.wait(31)
    async with serving(tmp_path, clock=clock) as served:
        api = served.api()
        assert await api.is_active(client, rotated["access_token"])
        assert await is_refused(api, client, spent)
        assert not await api.is_active(client, rotated["access_token"]), "the theft is noticed as ever"
        assert await is_refused(api, client, rotated["refresh_token"])


async def test_a_refresh_that_was_not_kept_was_no_use(tmp_path: Path) -> None:
    store = BreakingStore()
    async with serving(tmp_path, open_store=in_memory(store)) as served:
        client = await served.client()
        api, form = served.api(), refresh_form((await served.tokens(client))["refresh_token"])
        store.broken = True
        for _ in range(3):
            assert (await api.service("token", client, **form)).status_code == 500
        store.broken = False
        served.clock.wait(120)
        assert (await api.service("token", client, **form)).status_code == 200


async def test_every_ending_counts_whatever_others_there_are(served: Served) -> None:
    client, user_id = await served.client(), await served.user()
    issued = await served.tokens(client, "anna", "anna's password")
    admin = await served.administrator()
    for path in ("oauth/clients/app", f"iam/users/{user_id}"):
        for enabled in (False, True):
            changed = await admin.call("PUT", f"/api/{path}/enabled", {"enabled": enabled})
            assert changed.status_code == 200
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
        answer = (await api.service("token", client, **refresh_form(token))).json()
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

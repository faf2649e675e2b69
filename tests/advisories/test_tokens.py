"""What a token is good for: to its own client, as it was given out, until it is spent or its session ends."""

from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from tests.advisories.published import published
from tests.net.rooms import BreakingStore, HandClock
from tests.web.served import Api, Registered, Served, in_memory, serving


def refresh_form(token: str) -> dict[str, str]:
    return {"grant_type": "refresh_token", "refresh_token": token}


def refused(response: httpx.Response) -> None:
    assert (response.status_code, response.json()["error"]) == (400, "invalid_grant"), response.text


async def is_active(api: Api, client: Registered, token: str) -> bool:
    answer: dict[str, Any] = (await api.service("introspect", client, token=token)).json()
    if not answer["active"]:
        assert answer == {"active": False}
    return bool(answer["active"])


# --- rotation


@published("CVE-2026-1035")
async def test_however_many_refresh_at_once_there_is_one_pair(served: Served) -> None:
    client = await served.client()
    issued = await served.tokens(client)
    pairs: set[tuple[str, str]] = set()

    async def ask() -> None:
        answer = (await served.api().service("token", client, **refresh_form(issued["refresh_token"]))).json()
        pairs.add((answer["access_token"], answer["refresh_token"]))

    async with trio.open_nursery() as nursery:
        for _ in range(12):
            nursery.start_soon(ask)
    assert len(pairs) == 1


@published("CVE-2026-9802")
async def test_a_rotated_token_stays_spent_over_a_restart(tmp_path: Path) -> None:
    clock = HandClock()
    async with serving(tmp_path, clock=clock) as served:
        client = await served.client()
        issued = await served.tokens(client)
        spent = issued["refresh_token"]
        rotated = (await served.api().service("token", client, **refresh_form(spent))).json()
        clock.wait(31)
    async with serving(tmp_path, clock=clock) as served:
        api = served.api()
        assert await is_active(api, client, rotated["access_token"])
        refused(await api.service("token", client, **refresh_form(spent)))
        assert not await is_active(api, client, rotated["access_token"]), "the theft is noticed as ever"
        refused(await api.service("token", client, **refresh_form(rotated["refresh_token"])))


@published("keycloak/keycloak#49213")
async def test_a_refresh_that_was_not_kept_was_no_use(tmp_path: Path) -> None:
    store = BreakingStore()
    async with serving(tmp_path, open_store=in_memory(store)) as served:
        client = await served.client()
        issued = await served.tokens(client)
        api, form = served.api(), refresh_form(issued["refresh_token"])
        store.broken = True
        for _ in range(3):
            assert (await api.service("token", client, **form)).status_code == 500
        store.broken = False
        served.clock.wait(120)
        assert (await api.service("token", client, **form)).status_code == 200


@published("RFC 9700 §4.14.2")
async def test_the_owner_is_checked_before_reuse_is(served: Served) -> None:
    """Otherwise any client that finds a spent token in a log ends a stranger's session with it."""
    client, other = await served.client(), await served.client("other")
    issued = await served.tokens(client)
    api, spent = served.api(), issued["refresh_token"]
    rotated = (await api.service("token", client, **refresh_form(spent))).json()
    served.clock.wait(3600)
    for token in (spent, rotated["refresh_token"], issued["access_token"]):
        refused(await api.service("token", other, **refresh_form(token)))
    assert (await api.service("token", client, **refresh_form(rotated["refresh_token"]))).status_code == 200


# --- introspection and revocation


@published("RFC 7662 §4")
async def test_introspection_tells_nothing_of_what_is_not_the_callers(served: Served) -> None:
    client, other = await served.client(), await served.client("other")
    issued = await served.tokens(client)
    login = (await served.api().sign_in())["accessToken"]
    api = served.api()
    for token in (issued["access_token"], issued["refresh_token"]):
        assert await is_active(api, client, token)
        foreign = await api.service("introspect", other, token=token)
        unknown = await api.service("introspect", other, token="x" * 43)
        assert (foreign.status_code, foreign.content) == (unknown.status_code, unknown.content)
        assert dict(foreign.headers) == dict(unknown.headers)
    assert not await is_active(api, client, login)


@published("CVE-2016-6582")
async def test_a_client_revokes_its_own_tokens_and_no_others(served: Served) -> None:
    client, other = await served.client(), await served.client("other")
    issued = await served.tokens(client)
    api = served.api()
    for token in (issued["access_token"], issued["refresh_token"]):
        answer = await api.service("revoke", other, token=token)
        assert (answer.status_code, answer.content) == (200, b"")
    # A token in the place of the secret proves nothing and ends nothing.
    bearer = {"Authorization": f"Bearer {issued['access_token']}"}
    by_token = await api.post("/api/oauth2/revoke", data={"token": issued["access_token"]}, headers=bearer)
    assert by_token.status_code == 401
    assert await is_active(api, client, issued["access_token"])
    await api.service("revoke", client, token=issued["access_token"], token_type_hint="refresh_token")
    for token in (issued["access_token"], issued["refresh_token"]):
        assert not await is_active(api, client, token)
    refused(await api.service("token", client, **refresh_form(issued["refresh_token"])))


@published("CVE-2023-0091")
async def test_a_revoked_machine_token_is_dead(served: Served) -> None:
    client, api = await served.client(), served.api()
    issued = (await api.service("token", client, grant_type="client_credentials")).json()
    assert await is_active(api, client, issued["access_token"])
    await api.service("revoke", client, token=issued["access_token"])
    assert not await is_active(api, client, issued["access_token"])


@published("GHSA-83c4-ffjp-mxp9")
@pytest.mark.parametrize("both", [False, True])
async def test_every_ending_counts_whatever_others_there_are(served: Served, both: bool) -> None:
    client, user_id = await served.client(), await served.user()
    issued = await served.tokens(client, "anna", "anna's password")
    admin = await served.administrator()
    if both:
        for enabled in (False, True):
            changed = await admin.call("PUT", "/api/oauth/clients/app/enabled", {"enabled": enabled})
            assert changed.status_code == 200
    disabled = await admin.call("PUT", f"/api/iam/users/{user_id}/enabled", {"enabled": False})
    assert disabled.status_code == 200, disabled.text
    again = await admin.call("PUT", f"/api/iam/users/{user_id}/enabled", {"enabled": True})
    assert again.status_code == 200
    for token in (issued["access_token"], issued["refresh_token"]):
        assert not await is_active(served.api(), client, token)


# --- as it was given out, and not nearly


def nearly(token: str) -> list[str]:
    neighbour = "A" if token[-1] != "A" else "B"
    return [
        token[:-1],
        token[1:],
        token + "\n",
        "\n" + token,
        token + " ",
        token + "=",
        token + "A",
        token[:-1] + neighbour,
        # 43 characters hold two bits more than 32 bytes: a decoder would read these as one.
        *(token[:-1] + last for last in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" if last != token[-1]),
        token.swapcase(),
        token + "\u0000",
        token.replace(token[0], f"%{ord(token[0]):02X}", 1),
        f"Bearer {token}",
    ]


@published("GHSA-gv94-wp4h-vv8p")
async def test_nearly_a_token_is_no_token(served: Served) -> None:
    client = await served.client()
    issued = await served.tokens(client)
    api = served.api()
    for token in nearly(issued["access_token"]):
        answer = await api.service("introspect", client, token=token)
        assert (answer.status_code, answer.json()) in [
            (200, {"active": False}),
            (400, answer.json() | {"error": "invalid_request"}),
        ], token
    for token in nearly(issued["refresh_token"]):
        answer = await api.service("token", client, **refresh_form(token))
        assert answer.status_code == 400
        assert answer.json()["error"] in {"invalid_grant", "invalid_request"}
        assert (await api.service("revoke", client, token=token)).status_code in {200, 400}
    assert await is_active(api, client, issued["access_token"])
    assert (await api.service("token", client, **refresh_form(issued["refresh_token"]))).status_code == 200


@published("GHSA-gv94-wp4h-vv8p")
@pytest.mark.parametrize(
    "value",
    [
        "Bearer\t{}",
        "Bearer {}\t",
        "Bearer,{}",
        "Bearer{}",
        "Bearer {0} {0}",
        "Bearer {0},{0}",
        "Token {}",
        "{}",
    ],
)
async def test_a_bearer_header_is_read_as_it_is_written_down(served: Served, value: str) -> None:
    client = await served.client()
    issued = await served.tokens(client)
    header = {"Authorization": value.format(issued["access_token"])}
    assert (await served.api().get("/api/oauth2/userinfo", headers=header)).status_code == 401


@published("CVE-2022-31690")
async def test_every_token_response_names_its_scopes(served: Served) -> None:
    client, api = await served.client(), served.api()
    issued = await served.tokens(client)
    refreshed = await api.service("token", client, **refresh_form(issued["refresh_token"]), scope="")
    machine = await api.service("token", client, grant_type="client_credentials")
    assert [issued["scope"], refreshed.json()["scope"], machine.json()["scope"]] == ["user.read"] * 3

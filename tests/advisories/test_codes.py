"""What becomes of a code: one exchange, by its own client, with the verifier of its challenge."""

import httpx
import pytest
import trio

from ostiary_core.model.records import Session, Table
from tests.advisories.published import published
from tests.web.served import Registered, Served, authorization, exchange_of


def refused(response: httpx.Response, error: str = "invalid_grant") -> None:
    assert (response.status_code, response.json()["error"]) == (400, error), response.text


@published("CVE-2024-22258", "CVE-2023-48228", "CVE-2025-4144")
@pytest.mark.parametrize("verifier", [None, "", "x" * 43, "x"])
async def test_without_its_verifier_a_code_is_worth_nothing(served: Served, verifier: str | None) -> None:
    """Confidential clients included: the secret alone does not redeem it."""
    client, api = await served.client(), await served.administrator()
    code = await served.code(api)
    without = {name: value for name, value in exchange_of(code).items() if name != "code_verifier"}
    refused(
        await api.service(
            "token", client, **without, **({} if verifier is None else {"code_verifier": verifier})
        )
    )
    refused(await api.service("token", client, **exchange_of(code)))


@published("RFC 9700 §4.8", "CVE-2024-22258")
@pytest.mark.parametrize(
    "challenge, method",
    [(None, "S256"), ("", "S256"), (None, None), ("x" * 43, "plain"), ("x" * 43, None), ("x" * 43, "s256")],
)
async def test_there_is_no_code_without_a_challenge(
    served: Served, challenge: str | None, method: str | None
) -> None:
    await served.client()
    api = await served.administrator()
    asked = authorization(code_challenge=challenge, code_challenge_method=method)
    response = await api.call("POST", "/api/oauth2/authorize", {**asked, "approve": True})
    assert (response.status_code, response.json()["code"]) == (400, "A0401")
    assert not served.records()[Table.CODE]


@published("CVE-2023-2585")
async def test_a_code_of_one_client_gives_another_nothing(served: Served) -> None:
    client, other = await served.client(), await served.client("other")
    api = await served.administrator()
    code = await served.code(api)
    refused(await api.service("token", other, **exchange_of(code)))
    # Somebody else has seen it, so it is void for its owner too (READINGS 18).
    refused(await api.service("token", client, **exchange_of(code)))


@published("CVE-2026-47386")
async def test_of_many_exchanges_at_once_one_succeeds(served: Served) -> None:
    client, api = await served.client(), await served.administrator()
    form = exchange_of(await served.code(api))
    statuses = await at_once(served, client, form, times=12)
    assert sorted(statuses) == [200] + [400] * 11
    sessions = [session for session in served.records()[Table.SESSION] if isinstance(session, Session)]
    assert len([session for session in sessions if session.client_id == "app"]) == 1


async def at_once(served: Served, client: Registered, form: dict[str, str], *, times: int) -> list[int]:
    """The statuses of requests that are all under way together."""
    statuses: list[int] = []

    async def ask() -> None:
        statuses.append((await served.api().service("token", client, **form)).status_code)

    async with trio.open_nursery() as nursery:
        for _ in range(times):
            nursery.start_soon(ask)
    return statuses

"""`GET` and `POST /api/oauth2/authorize`: what the consent page asks and what it records."""

import json
from collections.abc import Mapping

from ostiary_core.model.records import Table
from tests.rows import row
from tests.support.callers import (
    REDIRECT_URI,
    Api,
    Browser,
    authorization,
    exchange_of,
    expect_refusal,
    expect_success,
    in_query,
)
from tests.support.served import Served

PATH = "/api/oauth2/authorize"


@row("Summary", "GET /api/oauth2/authorize")
async def test_a_check_answers_with_client_scopes_and_user(served: Served, api: Api) -> None:
    await served.client()
    before = served.records()
    response = await api.call("GET", PATH, params=authorization())
    assert expect_success(response) == {
        "client": {"clientId": "app", "name": "The App"},
        "scopes": [
            {
                "scope": "user.read",
                "description": "Read your basic profile: user name, display name, picture and language",
                "autoApproved": False,
            }
        ],
        "user": {"username": "admin", "name": "admin"},
        "consentRequired": True,
        "redirectTo": None,
    }
    assert "set-cookie" not in response.headers
    assert served.records() == before, "asking records nothing"


@row("Summary", "POST /api/oauth2/authorize")
async def test_consent_gives_a_code_that_works_once_and_a_denial_gives_none(served: Served, api: Api) -> None:
    client = await served.client()
    denied = await api.succeed("POST", PATH, {**authorization(), "approve": False})
    assert denied == {"redirectTo": f"{REDIRECT_URI}?error=access_denied&state=some%20state"}
    assert served.records()[Table.CODE] == frozenset()
    data = await api.succeed("POST", PATH, {**authorization(), "approve": True})
    assert set(data) == {"redirectTo"}
    assert data["redirectTo"].startswith(REDIRECT_URI + "?code=")
    assert in_query(data["redirectTo"], "state") == "some state"

    fields = exchange_of(in_query(data["redirectTo"], "code"))
    assert (await api.service("token", client, **fields)).status_code == 200
    again = await api.service("token", client, **fields)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")


WRONG: list[tuple[Mapping[str, str | None], str]] = [
    *(({"client_id": client_id}, "B4001") for client_id in ("nobody", "console", "machine")),
    *(({"redirect_uri": address}, "B4001") for address in (REDIRECT_URI + "/", "javascript:alert(1)")),
    *(({"response_type": kind}, "B4002") for kind in ("token", None)),
    ({"scope": "user.read user.write"}, "B4002"),
    ({"redirect_uri": None}, "A0401"),
    *(({"code_challenge": challenge}, "A0401") for challenge in (None, "x" * 42)),
    ({"code_challenge_method": "plain"}, "A0401"),
]
"""One wrong request of each kind; tests/core/test_authorization_request.py has all of them."""


@row("General envelope and status codes", "400")
async def test_a_wrong_request_is_refused_with_its_code(served: Served, api: Api) -> None:
    await served.client()
    await served.client("machine", grantTypes=["client_credentials"])
    before = served.records()
    for asked, code in WRONG:
        await api.fail(400, code, "GET", PATH, params=authorization(**asked))
        for approve in (True, False):
            await api.fail(400, code, "POST", PATH, {**authorization(**asked), "approve": approve})
    assert served.records() == before


async def test_a_name_that_comes_twice_in_the_body_is_a0401(served: Served, api: Api) -> None:
    await served.client()
    before = served.records()
    body = json.dumps({**authorization(), "approve": True}).removesuffix("}") + ', "approve": false}'
    sent = {"content": body.encode(), "headers": {"Content-Type": "application/json"}}
    refused = await api.fail(400, "A0401", "POST", PATH, **sent)
    assert refused["msg"] == "A parameter was sent more than once."
    assert served.records() == before


# --- a request with a browser's cookie must prove its origin (READINGS 25)


async def test_a_page_with_the_form_token_may_decide(served: Served, browser: Browser) -> None:
    await served.client()
    checked = await browser.get(PATH, params=authorization())
    expect_success(checked)
    proof = {"X-Form-Token": checked.headers["x-form-token"], "Origin": "http://id.example"}
    sent = await browser.post(PATH, json={**authorization(), "approve": True}, headers=proof)
    assert expect_success(sent)["redirectTo"].startswith(REDIRECT_URI)


async def test_a_bearer_token_needs_no_proof_and_wins_over_a_cookie(served: Served, browser: Browser) -> None:
    await served.client()
    token = (await served.api().sign_in())["accessToken"]
    body = {**authorization(), "approve": True}
    bearer = {"Authorization": f"Bearer {token}", "Origin": "https://elsewhere.example"}
    expect_success(await browser.post(PATH, json=body, headers=bearer))
    for other in ("Bearer x", "Basic x", ""):
        refused = await browser.get(PATH, params=authorization(), headers={"Authorization": other})
        expect_refusal(refused, 401, "A1001")

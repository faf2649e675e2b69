"""Where a browser may be sent: to a registered address, character by character, and nowhere else."""

from urllib.parse import urlencode, urljoin, urlsplit

import httpx
import pytest

from tests.advisories.published import published
from tests.web.served import BASE, REDIRECT_URI, Served, authorization, sso

LOCAL = "http://127.0.0.1:9000/callback"

NOT_REGISTERED = [
    # By prefix.
    "https://app.example/callback/",
    "https://app.example/callback.evil.example",
    "https://app.example/callback?next=https://evil.example",
    "https://app.example/callback#",
    "https://app.example/",
    "https://app.example.evil.example/callback",
    # By case and by what a parser takes for the same.
    "https://app.example/CALLBACK",
    "https://APP.example/callback",
    "HTTPS://app.example/callback",
    "https://app.example:443/callback",
    "https://app.example/%63allback",
    " https://app.example/callback",
    "https://app.example/callback\n",
    # By user information.
    "https://app.example@evil.example/callback",
    "https://app.example:x@@evil.example/callback",
    "https://evil.example@app.example/callback",
    "https://a@b@app.example/callback",
    "https://evil.example\\@app.example/callback",
    # By a path that another server walks.
    "https://app.example/callback/..;/evil",
    "https://app.example/x/..;/callback",
    "https://app.example/callback/../evil",
    "https://app.example/x/%2e%2e/callback",
    "https://app.example//callback",
    # By the exception for local use.
    "http://127.0.0.1/callback",
    "http://127.0.0.1:9001/callback",
    "http://localhost:9000/callback",
    "http://127.0.0.1:9000@evil.example/callback",
    "http://127.0.0.1.evil.example:9000/callback",
    "javascript:alert(1)//https://app.example/callback",
]


@published(
    "CVE-2020-15234",
    "CVE-2026-3872",
    "CVE-2026-7504",
    "GHSA-mpwq-j3xf-7m5w",
    "CVE-2024-8883",
    "CVE-2026-18211",
    "CVE-2025-4143",
)
async def test_nothing_but_a_registered_address_gets_a_code(served: Served) -> None:
    await served.client(redirectUris=[REDIRECT_URI, LOCAL], autoApproveScopes=["user.read"])
    api, browser = await served.administrator(), served.browser()
    await browser.sign_in()
    for address in (REDIRECT_URI, LOCAL):
        sent = await browser.get(sso(redirect_uri=address))
        assert sent.headers["location"].startswith(f"{address}?code="), "the flow itself works"
    before = served.records()
    for address in NOT_REGISTERED:
        asked = authorization(redirect_uri=address)
        for refused in (
            await api.call("GET", "/api/oauth2/authorize?" + urlencode(asked)),
            await api.call("POST", "/api/oauth2/authorize", {**asked, "approve": True}),
            await api.call("POST", "/api/oauth2/authorize", {**asked, "approve": False}),
        ):
            assert (refused.status_code, refused.json()["code"]) == (400, "B4001"), address
        page = await browser.get(sso(redirect_uri=address))
        assert page.status_code == 400, address
        assert "location" not in page.headers
        assert "//evil" not in page.text, "nor a link to it"
    assert served.records() == before


@published("CVE-2025-4143")
async def test_an_address_of_another_client_is_not_registered_either(served: Served) -> None:
    await served.client()
    await served.client("evil", redirectUris=["https://evil.example/callback"])
    api = await served.administrator()
    asked = {**authorization(redirect_uri="https://evil.example/callback"), "approve": True}
    refused = await api.call("POST", "/api/oauth2/authorize", asked)
    assert (refused.status_code, refused.json()["code"]) == (400, "B4001")


@published("CVE-2026-9086", "CVE-2026-22752", "CVE-2026-18211", "CVE-2024-8883", "CVE-2026-7504")
@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "http://localhost.evil.test/callback",
        "http://127.0.0.1.evil.test/callback",
        "http://localhost@evil.test/callback",
        "http://localhost:80@evil.test/callback",
        "http://app.example/callback",
        "https://*.app.example/callback",
        "https://app.example/*",
        "https://user@app.example/callback",
        "https://a@b@app.example/callback",
        "https://app.example\\.evil.test/callback",
        "https://app.example/callback#fragment",
        "https:///callback",
        "//app.example/callback",
    ],
)
async def test_an_address_that_could_mean_another_cannot_be_registered(served: Served, address: str) -> None:
    api = await served.administrator()
    body = {
        "clientId": "app",
        "name": "The App",
        "grantTypes": ["authorization_code"],
        "redirectUris": [address],
        "scopes": ["user.read"],
        "autoApproveScopes": [],
    }
    refused = await api.call("POST", "/api/oauth/clients", body)
    assert refused.status_code == 400
    assert [error["path"] for error in refused.json()["errors"]] == ["redirectUris.0"]


@published("CVE-2026-9689")
@pytest.mark.parametrize("name", ["redirect_uri", "client_id", "state", "scope", "code_challenge"])
async def test_a_repeated_parameter_is_refused_and_neither_value_used(served: Served, name: str) -> None:
    await served.client(autoApproveScopes=["user.read"])
    browser = served.browser()
    await browser.sign_in()
    for twice in (
        f"{sso(scope='user.read')}&{name}=https%3A%2F%2Fevil.example",
        f"/sso?{name}=https%3A%2F%2Fevil.example&{sso(scope='user.read').removeprefix('/sso?')}",
    ):
        page = await browser.get(twice)
        assert page.status_code == 400
        assert "location" not in page.headers


@published("CVE-2026-7571")
@pytest.mark.parametrize("response_type", ["token", "code token", "id_token", "none", "CODE", ""])
async def test_no_response_type_but_code_gives_anything(served: Served, response_type: str) -> None:
    await served.client(autoApproveScopes=["user.read"])
    browser, api = served.browser(), await served.administrator()
    await browser.sign_in()
    page = await browser.get(sso(response_type=response_type))
    assert page.status_code == 400
    assert "location" not in page.headers
    asked = {**authorization(response_type=response_type), "approve": True}
    refused = await api.call("POST", "/api/oauth2/authorize", asked)
    assert (refused.status_code, refused.json()["code"]) == (400, "B4002")


ELSEWHERE = [
    "https://evil.example",
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "\\/evil.example",
    "/\t/evil.example",
    "\t//evil.example",
    "/\n/evil.example",
    " //evil.example",
    "/%5Cevil.example/..//evil.example",
    "javascript:alert(1)",
    "http:evil.example",
    "/sso\r\nLocation: https://evil.example",
]


@published("CVE-2024-39694")
@pytest.mark.parametrize("onward", ELSEWHERE)
async def test_after_signing_in_a_browser_stays_here(served: Served, onward: str) -> None:
    browser = served.browser()
    for response in (
        await browser.sign_in(onward=onward),
        await browser.get("/login", params={"next": onward}),
    ):
        assert response.status_code == 303
        assert urlsplit(where_a_browser_goes(response)).netloc == urlsplit(BASE).netloc


def where_a_browser_goes(response: httpx.Response) -> str:
    """By the URL standard: white space at the ends and every tab and newline fall away, `\\` is `/`."""
    location = response.headers["location"].strip()
    for dropped in "\t\r\n":
        location = location.replace(dropped, "")
    return urljoin(BASE, location.replace("\\", "/"))

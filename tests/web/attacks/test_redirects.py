"""Where a browser may be sent: to a registered address, character by character, and nowhere else."""

from urllib.parse import urlencode

from tests.web.served import REDIRECT_URI, Served, authorization, sso

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

"""Where a browser may be sent: to a registered address, character by character, and nowhere else."""

from urllib.parse import urlencode

from tests.support.callers import REDIRECT_URI, authorization, sso
from tests.support.served import Served

LOCAL = "http://127.0.0.1:9000/callback"

_BY_WORD = """
    https://app.example/callback/ https://app.example/callback.evil.example https://app.example/callback#
    https://app.example/callback?next=https://evil.example https://app.example/
    https://app.example.evil.example/callback

    https://app.example/CALLBACK https://APP.example/callback HTTPS://app.example/callback
    https://app.example:443/callback https://app.example/%63allback

    https://app.example@evil.example/callback https://app.example:x@@evil.example/callback
    https://evil.example@app.example/callback https://a@b@app.example/callback
    https://evil.example\\@app.example/callback

    https://app.example/callback/..;/evil https://app.example/x/..;/callback
    https://app.example/callback/../evil https://app.example/x/%2e%2e/callback https://app.example//callback

    https://app.example/callback%2Fevil https://app.example/callback/..%252Fevil
    https://app.example/callback/%252e%252e%252Fevil https://app.example/callback/evil/..
    https://app.example/callback%3B%2F..%2F..%2Fevil https://app.example/callback%0A%0D/../../evil
    https://app.example/callback?code=evil https://app.example/callback?state=evil
    https://app.example/callback&code=evil https://app.example/callback%3Fcode=evil

    http://127.0.0.1/callback http://127.0.0.1:9001/callback http://localhost:9000/callback
    http://127.0.0.1:9000@evil.example/callback http://127.0.0.1.evil.example:9000/callback
    javascript:alert(1)//https://app.example/callback
"""
"""By prefix; by case and what a parser takes for the same; by user information; by a path that another server
walks; by what OAuch asks about confused paths and polluted codes; by the exception for local use."""

NOT_REGISTERED = [*_BY_WORD.split(), " https://app.example/callback", "https://app.example/callback\n"]


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

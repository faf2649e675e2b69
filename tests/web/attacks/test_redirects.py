"""The server sends a browser only to an address that is, character by character, a registered one."""

import ast
import html
import re
import shlex
from urllib.parse import urlencode

import pytest

from tests.support.callers import BASE, REDIRECT_URI, authorization, sso
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
"""Addresses that differ from a registered one: in the end; in case or spelling; in user information; in dots
of the path; in escaped paths and in the query, as OAuch has them; in the host or port of a local address."""

NOT_REGISTERED = [*_BY_WORD.split(), " https://app.example/callback", "https://app.example/callback\n"]


async def test_nothing_but_a_registered_address_gets_a_code(served: Served) -> None:
    await served.client(redirectUris=[REDIRECT_URI, LOCAL], autoApproveScopes=["user.read"])
    api, browser = await served.administrator(), await served.sign_in_browser()
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


# --- what is offered to be pasted runs nothing of a registered address


ADDRESSES = [
    "https://app.example/callback",
    "https://app.example/$(touch${IFS}planted)",
    "https://app.example/`id`",
    "https://app.example/x';id;'",
    'https://app.example/x";id;"',
    "https://app.example/?a=1&b=2;id|sh>x",
    'https://app.example/"+__import__("os").getcwd()+"',
    "https://app.example/!!$HOME{1..3}~",
]


async def snippets_for(served: Served, address: str) -> list[str]:
    await served.client("app", redirectUris=[address])
    browser = await served.sign_in_browser()
    page = await browser.get("/admin/clients/app")
    found = re.findall(r'<pre id="snippet-\d+">(.*?)</pre>', page.text, re.DOTALL)
    return [html.unescape(text) for text in found]


@pytest.mark.parametrize("address", ADDRESSES)
async def test_snippets_give_an_address_to_shell_and_python_as_one_text(served: Served, address: str) -> None:
    _, by_curl, by_authlib = await snippets_for(served, address)
    [*_, redeem] = by_curl.replace("\\\n", " ").split("\n")
    assert shlex.split(redeem)[-2:] == ["--data-urlencode", f"redirect_uri={address}"]
    # A shell interprets no character within single quotes, and no special one is left outside of them.
    bare = re.sub(r"'[^']*'|\"'\"", "", redeem.partition("--data-urlencode")[2])
    assert re.fullmatch(r"[\w\s=:/.?-]*", bare), bare
    [shown] = [line for line in by_curl.split("\n") if line.startswith("echo")]
    assert "`" not in shown
    assert set(re.findall(r"\$\S", shown)) == {"$C", "$S"}

    called = [node for node in ast.walk(ast.parse(by_authlib)) if isinstance(node, ast.Call)]
    named = {node.func.id: node for node in called if isinstance(node.func, ast.Name)}
    assert named.keys() == {"OAuth2Session", "generate_token"}
    [given] = [keyword.value for keyword in named["OAuth2Session"].keywords if keyword.arg == "redirect_uri"]
    assert ast.literal_eval(given) == address
    assert f'"{BASE}/sso"' in by_authlib

"""What is offered to be pasted runs nothing that whoever registered the client put into its addresses."""

import ast
import html
import re
import shlex

import pytest

from tests.support.callers import BASE
from tests.support.served import Served

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
    return [
        html.unescape(text) for text in re.findall(r'<pre id="snippet-\d+">(.*?)</pre>', page.text, re.DOTALL)
    ]


@pytest.mark.parametrize("address", ADDRESSES)
async def test_a_shell_and_python_are_given_the_address_as_one_text(served: Served, address: str) -> None:
    _, by_curl, by_authlib = await snippets_for(served, address)
    [*_, redeem] = by_curl.replace("\\\n", " ").split("\n")
    words = shlex.split(redeem)
    assert words[-2:] == ["--data-urlencode", f"redirect_uri={address}"]
    # Within single quotes a shell looks at nothing, and outside of them nothing is left to look at.
    bare = re.sub(r"'[^']*'|\"'\"", "", redeem.partition("--data-urlencode")[2])
    assert re.fullmatch(r"[\w\s=:/.?-]*", bare), bare
    [shown] = [line for line in by_curl.split("\n") if line.startswith("echo")]
    assert "`" not in shown
    assert set(re.findall(r"\$\S", shown)) == {"$C", "$S"}

    called = [node for node in ast.walk(ast.parse(by_authlib)) if isinstance(node, ast.Call)]
    names = {node.func.id for node in called if isinstance(node.func, ast.Name)}
    assert names == {"OAuth2Session", "generate_token"}
    [session] = [
        node for node in called if isinstance(node.func, ast.Name) and node.func.id != "generate_token"
    ]
    [given] = [keyword.value for keyword in session.keywords if keyword.arg == "redirect_uri"]
    assert ast.literal_eval(given) == address
    assert f'"{BASE}/sso"' in by_authlib

"""No other site can act through a browser: by no form of a page, and by no route that takes its cookie."""

import hmac
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import httpx
import pytest
from demo.protocol import OAuthClient
from demo.third_party import third_party
from structlog.testing import capture_logs

from fuzz.shared.seeds import SeededEntropy
from ostiary_core.http.token_service import PATHS
from ostiary_web.http.gate import CLOSED_TO_OTHER_SITES
from ostiary_web.http.sealing import seal, unseal
from ostiary_web.texts import LANGUAGES
from tests.support.callers import ADMIN_PASSWORD, BASE, Browser, form_token_in
from tests.support.served import Served, routes
from tests.web import test_gate
from tests.web.test_malformed import standing

SERVER_TO_SERVER = set(PATHS)
"""Routes for clients with a secret, which take no cookie and set none."""
OPEN = {route.path for route in test_gate.routes() if route.gate == CLOSED_TO_OTHER_SITES}
"""Routes without a signed-in caller: a form token proves nothing there, and a program has none."""
CHANGING = sorted(each for each in routes() if each[0] != "GET" and each[1] not in SERVER_TO_SERVER | OPEN)
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


FOREIGN = {
    "other origin": {"Origin": "https://evil.example"},
    "null across sites": {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    "sister site": {"Origin": "http://id.example", "Sec-Fetch-Site": "same-site"},
    "origin as a prefix": {"Origin": "http://id.example.evil.example"},
    "other scheme": {"Origin": "https://id.example"},
    "other port": {"Origin": "http://id.example:8080"},
}


@pytest.mark.parametrize(
    "origin, logged",
    [
        ("https://evil.example", "https://evil.example"),
        *((wrong, "") for wrong in ("https://evil.example\tmsg=all-is-well", "https://" + "x" * 300)),
    ],
)
async def test_the_log_has_the_refused_origin_if_valid(origin: str, logged: str, browser: Browser) -> None:
    with capture_logs() as log:
        await browser.request("POST", "/api/auth/logout", headers={"Origin": origin})
    assert [(entry["why"], entry["origin"]) for entry in log] == [("origin_unproven", logged)]


@pytest.mark.parametrize("sent", ["nothing", *FOREIGN])
async def test_a_forged_request_does_nothing(served: Served, browser: Browser, sent: str) -> None:
    """Send no form token or that of another browser; and the browser's own, but from another site."""
    await served.client()
    known = form_token_in(await browser.get("/password"))
    others = form_token_in(await (await served.sign_in_browser()).get("/password"))
    kept, before = dict(browser.cookies), standing(served)
    assert ("POST", "/logout") in CHANGING
    assert len(CHANGING) > 40
    for method, path in CHANGING:
        for token in ("x" * 43, known) if sent in FOREIGN else ("", others):
            browser.cookies.clear()
            browser.cookies.update(kept)
            fields = {**FORM, **FOREIGN.get(sent, {}), "X-Form-Token": token}
            address = "/sso?client_id=app" if path == "/sso" else path
            response = await browser.request(method, address, content=f"form_token={token}", headers=fields)
            assert response.status_code == 403, (method, path, response.status_code)
            assert not response.headers.get("location", "").startswith("http")
    browser.cookies.update(kept)
    assert (await browser.get("/api/auth/me")).status_code == 200
    assert standing(served) == before


@pytest.mark.parametrize("sent", FOREIGN)
async def test_no_other_site_signs_in_or_recovers_by_the_interface(served: Served, sent: str) -> None:
    browser, before = served.browser(), standing(served)
    page = await browser.get("/login")
    body = {"username": "admin", "password": ADMIN_PASSWORD, "phone": "+8613800000000", "purpose": "x"}
    for path in OPEN:
        fields = {**FOREIGN[sent], "X-Form-Token": form_token_in(page)}
        refused = await browser.post(path, json=body, headers=fields)
        assert (refused.status_code, "set-cookie" in refused.headers) == (403, False), path
    assert standing(served) == before
    assert (await browser.post("/api/auth/login", json=body)).status_code == 200


async def test_the_token_of_no_cookie_at_all_proves_nothing(served: Served) -> None:
    """Every program can make this token, as nothing in it is secret."""
    of_nothing = urlsafe_b64encode(hmac.digest(b"", b"ostiary form token", "sha256")).rstrip(b"=").decode()
    values = {"username": "admin", "password": ADMIN_PASSWORD, "form_token": of_nothing}
    response = await served.browser().post("/login", data=values)
    assert (response.status_code, "ostiary_access" in response.cookies) == (403, False)


# --- the demonstration's third party


SHOP = "http://127.0.0.1:9000"
FOREIGN_TO_SHOP = [
    {"Origin": "https://evil.example"},
    {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    {"Origin": SHOP, "Sec-Fetch-Site": "same-site"},
    {"Origin": f"{SHOP}.evil.example"},
    {"Origin": "http://127.0.0.1:8000", "Sec-Fetch-Site": "same-site"},
]
"""Headers with which a browser sends another site's form; the last comes from another port of the server."""


def shop() -> httpx.AsyncClient:
    """Return a browser at the shop; no test here gets as far as the server behind it."""
    oauth = OAuthClient(
        httpx.AsyncClient(), client_id="demo-shop", secret="s", redirect_uri=f"{SHOP}/callback", server=BASE
    )
    application: Any = third_party(oauth, BASE, LANGUAGES)
    return httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url=SHOP)


@pytest.mark.parametrize("said", FOREIGN_TO_SHOP, ids=[str(said) for said in FOREIGN_TO_SHOP])
async def test_no_other_site_starts_a_sign_in_at_the_shop_or_does_a_deed(said: dict[str, str]) -> None:
    browser = shop()
    started = await browser.post("/start", headers={"Origin": "null", "Sec-Fetch-Site": "same-origin"})
    assert started.headers["location"].startswith(f"{BASE}/sso?")
    kept = dict(browser.cookies)
    for path in ("/start", "/do/refresh", "/do/revoke", "/do/machine"):
        response = await browser.post(path, headers=said)
        assert response.status_code == 403, path
        assert "set-cookie" not in response.headers
    assert dict(browser.cookies) == kept


async def test_the_shop_takes_a_callback_for_its_own_browser_alone() -> None:
    """Login CSRF by a callback: the state is another browser's, or of no browser."""
    attacker, victim = shop(), shop()
    started = await attacker.post("/start")
    state = httpx.URL(started.headers["location"]).params["state"]
    await victim.post("/start")
    for browser, given in ((victim, state), (victim, ""), (victim, "é"), (shop(), state)):
        response = await browser.get("/callback", params={"code": "the attacker's", "state": given})
        assert (response.status_code, response.headers["location"]) == (303, "/")
    assert "the attacker" not in (await victim.get("/")).text


async def test_the_shops_answers_are_secluded_too() -> None:
    browser = shop()
    for response in (await browser.get("/"), await browser.post("/start"), await browser.get("/none")):
        assert response.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in response.headers["content-security-policy"]
        assert response.headers["referrer-policy"] == "no-referrer"


def test_nothing_but_what_was_sealed_by_this_server_is_unsealed() -> None:
    key, entropy = b"k" * 32, SeededEntropy().draw()
    sealed = seal(key, entropy, "abc", most_bytes=5)
    assert sealed is not None
    assert (unseal(key, sealed, str, 5), unseal(b"o" * 32, sealed, str, 5)) == ("abc", None)
    assert seal(key, entropy, "abcd", most_bytes=5) is None
    # An attacker who knows the text can change it by the cipher alone, but not the signature.
    raw, known, wanted = urlsafe_b64decode(sealed + "=="), zlib.compress(b'"abc"'), zlib.compress(b'"xyz"')
    start = len(raw) - len(known)
    forged = raw[:start] + bytes(a ^ b ^ c for a, b, c in zip(raw[start:], known, wanted, strict=True))
    for wrong in (forged, raw[:40], b""):
        assert unseal(key, urlsafe_b64encode(wrong).decode(), str, 5) is None

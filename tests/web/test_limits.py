"""Per-address limits at the endpoints, and what counts as an address ("Limits", READINGS 30)."""

from typing import Any

import httpx
import pytest

from ostiary_core.http.token_service import PATHS
from ostiary_core.throttling.rate_windows import Operation
from tests.rows import row
from tests.support.callers import SOURCE, Api, Browser, Registered, authorization, form_token_in
from tests.support.connections import DOORS
from tests.support.served import Serve, Served

pytestmark = pytest.mark.parametrize("door", DOORS)

NOBODY = Registered("nobody", "x")

LIMITED = [
    ("GET", "/api/oauth2/authorize", Operation.AUTHORIZE_CHECK, 120),
    ("POST", "/api/oauth2/authorize", Operation.AUTHORIZE_DECIDE, 120),
    ("POST", "/api/oauth2/token", Operation.TOKEN, 600),
    ("POST", "/api/oauth2/introspect", Operation.INTROSPECT, 1200),
    ("POST", "/api/oauth2/revoke", Operation.REVOKE, 1200),
    ("POST", "/api/auth/login", Operation.SIGN_IN, 120),
    ("POST", "/api/auth/sms-code", Operation.TEXT_CODE, 20),
    ("POST", "/api/auth/reset-password", Operation.RESET_PASSWORD, 20),
]


def over(response: httpx.Response, language: str = "en") -> None:
    """Assert that an answer is the 429 of a full window."""
    assert response.status_code == 429, response.text
    content = response.json()
    # An answer of the token service has no `errors` ("Envelope errors"), others have ("General envelope").
    of_all = {"code", "msg", "data", "traceId"}
    assert set(content) == (of_all if response.request.url.path in PATHS else {*of_all, "errors"})
    assert (content["code"], content["data"], content.get("errors", [])) == ("A0429", None, [])
    message = {"en": "Too many requests. Try again in a moment.", "zh": "请求过于频繁，请稍后再试"}
    assert content["msg"] == message[language]
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert 1 <= int(response.headers["retry-after"]) <= 60


async def ask(api: Api, method: str, path: str) -> httpx.Response:
    options: dict[str, Any] = {"params": authorization()} if method == "GET" else {"data": {"token": "x"}}
    return await api.request(method, path, auth=NOBODY.basic, **options)


def count_requests(served: Served, operation: Operation, times: int, source: str = SOURCE) -> None:
    """Count requests as if they had come in this minute."""
    for _ in range(times):
        assert served.service.admit(operation, source) == 0


@row("Envelope errors on the token-service endpoints", "429 A0429")
@row("Consent endpoint errors", "A0429: more than 120 a minute")
@row("Limits rules", "1 over the limit: 429 in the envelope")
async def test_one_more_than_the_limit_is_429_in_the_envelope(
    served: Served, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each operation has its own window; the refusal is translated and logged, and ends after a minute."""
    api = served.api()
    before = served.records()
    for method, path, operation, limit in LIMITED:
        count_requests(served, operation, limit - 1)
        assert (await ask(api, method, path)).status_code in (400, 401, 415)
        capfd.readouterr()
        refused = await ask(api, method, path)
        over(refused)
        told = "".join(capfd.readouterr())
        [line] = [line for line in told.splitlines() if refused.json()["traceId"] in line]
        assert all(word in line for word in ("refused", "too_many_requests", SOURCE)), line
        over(await ask(served.api(**{"Accept-Language": "zh-CN"}), method, path), "zh")
        assert (await ask(served.api("203.0.113.8"), method, path)).status_code != 429
        for other_method, other_path, _, _ in LIMITED:
            if (other_method, other_path) != (method, path):
                assert (await ask(api, other_method, other_path)).status_code != 429
        served.clock.wait(60)
        assert (await ask(api, method, path)).status_code != 429
        served.clock.wait(60)
    assert served.records() == before


async def test_a_clock_that_is_set_back_does_not_stop_the_windows(served: Served) -> None:
    """The time of day decides no rate (READINGS 42)."""
    method, path, operation, limit = LIMITED[2]
    count_requests(served, operation, limit)
    served.clock.set_back(3_600)
    over(await ask(served.api(), method, path))
    for _ in range(5):
        served.clock.wait(60)
        count_requests(served, operation, limit - 1)
        assert (await ask(served.api(), method, path)).status_code != 429
        over(await ask(served.api(), method, path))


async def test_every_step_of_a_sign_in_counts_as_one(served: Served) -> None:
    count_requests(served, Operation.SIGN_IN, 120)
    api, browser = served.api(), served.browser()
    for step in ("second-factor", "second-factor/set-up"):
        over(await api.post(f"/api/auth/login/{step}", json={"ticket": "x", "code": "000000"}))
    page = await browser.sign_in()
    code = {"form_token": form_token_in(page), "ticket": "x", "code": "000000"}
    entered = await browser.post("/login/second-factor", data=code)
    assert page.status_code == entered.status_code == 429
    assert "ostiary_access" not in browser.cookies


@pytest.mark.parametrize(
    "place, operation",
    [
        ("/recover", Operation.TEXT_CODE),
        ("/recover/password", Operation.RESET_PASSWORD),
        ("/account/phone", Operation.TEXT_CODE),
    ],
)
async def test_a_form_on_a_page_counts_as_its_operation(
    served: Served, browser: Browser, place: str, operation: Operation
) -> None:
    page = await browser.get("/recover?code=1" if place == "/recover/password" else place)
    count_requests(served, operation, 19)
    fields = {"phone": "+8613800000009", "code": "000000", "new_password": "another good password"}
    assert (await browser.submit(page, fields, to=place)).status_code != 429
    refused = await browser.submit(page, fields, to=place)
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["retry-after"]) <= 60


# --- which address is counted; tests/net/front_door/test_source.py has more cases


@row("Limits rules", "2 per source IP, TRUST_PROXY")
async def test_the_first_untrusted_address_counts_and_no_header_without_the_setting(serve: Serve) -> None:
    async with serve() as served:
        count_requests(served, Operation.TOKEN, 600, "10.0.0.1")
        for forwarded in ("198.51.100.1", "garbage", ""):
            over(await ask(served.api("10.0.0.1", **{"X-Forwarded-For": forwarded}), "POST", LIMITED[2][1]))
    async with serve(TRUST_PROXY="10.0.0.0/8, 192.0.2.5") as served:
        for peer, forwarded_for, source in (
            ("10.0.0.1", "6.6.6.6, 198.51.100.1", "198.51.100.1"),
            ("10.0.0.1", "198.51.100.2, 192.0.2.5", "198.51.100.2"),
            ("10.0.0.1", "6.6.6.6, garbage", "10.0.0.1"),
            ("198.51.100.9", "6.6.6.6", "198.51.100.9"),
        ):
            count_requests(served, Operation.TOKEN, 600, source)
            over(await ask(served.api(peer, **{"X-Forwarded-For": forwarded_for}), "POST", LIMITED[2][1]))
        elsewhere = served.api("10.0.0.1", **{"X-Forwarded-For": "198.51.100.77"})
        assert (await ask(elsewhere, "POST", LIMITED[2][1])).status_code == 401
        await elsewhere.sign_in()
        assert served.audit()[-1].source == "198.51.100.77"


@pytest.mark.parametrize("scale, limit", [("0.05", 6), ("0.0001", 1), ("2", 240)])
async def test_limits_are_scaled(serve: Serve, scale: str, limit: int) -> None:
    async with serve(RATE_LIMIT_SCALE=scale) as served:
        api = served.api()
        count_requests(served, Operation.AUTHORIZE_CHECK, limit - 1)
        assert (await ask(api, "GET", "/api/oauth2/authorize")).status_code == 401
        over(await ask(api, "GET", "/api/oauth2/authorize"))

"""What is shown: nothing that was sent as markup, nothing in a foreign frame, nothing to the next site."""

import json

import pytest

from tests.advisories.published import published
from tests.web.served import ADMIN_PASSWORD, Served, authorization, sso

SENT = "${191*7}#{191*7}{{191*7}}<script>alert('sent')</script>\"><img src=x>"
EVALUATED = "1337"


@published("CVE-2016-4977", "CVE-2019-8400")
@pytest.mark.parametrize("signed_in", [False, True])
@pytest.mark.parametrize(
    "name", ["response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge", "error_hint"]
)
async def test_a_page_neither_evaluates_nor_embeds_what_was_sent(
    served: Served, name: str, signed_in: bool
) -> None:
    await served.client()
    browser = served.browser()
    if signed_in:
        await browser.sign_in()
    page = await browser.get(sso(**{name: SENT}))
    if page.status_code == 303:
        page = await browser.follow(page)
    assert "<script>alert" not in page.text
    assert "<img src=x" not in page.text
    assert EVALUATED not in page.text


@published("RFC 6749 §5.2", "CVE-2016-4977")
async def test_no_answer_repeats_what_was_sent(served: Served) -> None:
    client = await served.client()
    api = served.api()
    sent = f"{SENT} unmistakable"
    for operation in ("token", "introspect", "revoke"):
        for form in (
            {"grant_type": sent},
            {"grant_type": "authorization_code", "code": sent, "redirect_uri": sent, "code_verifier": sent},
            {"grant_type": "refresh_token", "refresh_token": sent, "scope": sent},
            {"grant_type": "client_credentials", "scope": sent},
            {"token": sent, "token_type_hint": sent},
            {sent: sent},
        ):
            answer = await api.post(f"/api/oauth2/{operation}", data=form, auth=client.basic)
            assert "unmistakable" not in answer.text + repr(answer.headers)
    query = await api.get("/api/oauth2/authorize", params=authorization(response_type=sent))
    assert "unmistakable" not in query.text


@published("RFC 9700 §4.12")
async def test_no_form_is_sent_on(served: Served) -> None:
    """A 307 or 308 would repeat the POST, password and all, at the address it names."""
    await served.client()
    browser = served.browser()
    page = await browser.follow(await browser.get(sso()))
    signed_in = await browser.submit(page, {"username": "admin", "password": ADMIN_PASSWORD}, to="/login")
    assert signed_in.status_code == 303
    consent = await browser.follow(signed_in)
    decided = await browser.submit(consent, {"decision": "approve"}, to="/sso")
    assert decided.status_code == 303
    assert decided.headers["location"].startswith("https://app.example/callback?code=")


@published("RFC 9700 §4.2", "RFC 9700 §4.16")
async def test_no_page_is_framed_and_none_tells_where_one_came_from(served: Served) -> None:
    await served.client()
    browser = served.browser()
    pages = [await browser.get("/login")]
    await browser.sign_in()
    pages += [await browser.get(path) for path in (sso(), sso(response_type="x"), "/account", "/")]
    for page in pages:
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        assert page.headers["referrer-policy"] == "no-referrer"
        assert page.headers["cache-control"] == "no-store"
    assert json.dumps([page.status_code for page in pages]) == "[200, 200, 400, 200, 200]"

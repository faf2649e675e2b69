"""`/sso` and the pages on the way to it in a browser without JavaScript ("Browser behaviour")."""

import re
from urllib.parse import urlsplit

import httpx

from ostiary_core.model.records import Table
from tests.rows import row
from tests.support.callers import REDIRECT_URI, Browser, authorization, exchange_of, in_query, sso
from tests.support.served import Served
from tests.web.test_authorization import WRONG


def expect_redirect(response: httpx.Response, address: str = REDIRECT_URI) -> str:
    """Return the address of a redirect to the client: a 303, which carries no form (RFC 9700 §4.12)."""
    assert response.status_code == 303, response.text
    location = response.headers["location"]
    assert location.startswith(address)
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["referrer-policy"] == "no-referrer"
    return str(location)


def stays(response: httpx.Response, status: int, code: str) -> None:
    """Assert that an answer is a page of this server that shows the reason and leads nowhere."""
    assert response.status_code == status, response.text
    assert not {"location", "refresh"} & response.headers.keys()
    assert "http-equiv" not in response.text
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert all(text in response.text for text in (code, 'role="alert"'))


async def at_consent(served: Served, **asked: str | None) -> tuple[Browser, httpx.Response]:
    """Return a browser, and the page that asks it for consent."""
    browser = await served.sign_in_browser()
    page = await browser.get(sso(**asked))
    assert page.status_code == 200, page.text
    return browser, page


# --- the seven behaviours


@row("Summary", "GET /sso")
@row("/sso browser behaviour", "1 not logged in: login page and back")
async def test_a_visitor_signs_in_and_comes_back_to_the_same_page(served: Served) -> None:
    client = await served.client()
    browser = served.browser()
    address = sso(state="a&b=c d/é", scope="user.read")

    sent_on = await browser.get(address)
    sign_in = await browser.follow(sent_on)
    assert urlsplit(sent_on.headers["location"]).path == "/login"
    signed_in = await browser.log_in(sign_in)
    assert (signed_in.status_code, signed_in.headers["location"]) == (303, address)

    consent = await browser.follow(signed_in)
    assert all(text in consent.text for text in ("The App", "Read your basic profile"))
    result = expect_redirect(await browser.submit(consent, {"decision": "approve"}, to="/sso"))
    assert in_query(result, "state") == "a&b=c d/é"
    issued = await served.api().service("token", client, **exchange_of(in_query(result, "code")))
    assert issued.status_code == 200


async def test_a_no_sends_access_denied_and_state_only_if_there_was_one(served: Served) -> None:
    await served.client()
    browser, page = await at_consent(served)
    denied = await browser.submit(page, {"decision": "deny"}, to="/sso")
    assert expect_redirect(denied) == f"{REDIRECT_URI}?error=access_denied&state=some%20state"
    page = await browser.get(sso(state=None))
    denied = await browser.submit(page, {"decision": "deny"}, to="/sso")
    assert expect_redirect(denied) == f"{REDIRECT_URI}?error=access_denied"
    assert served.records()[Table.CODE] == served.records()[Table.CONSENT] == frozenset()


@row("/sso browser behaviour", "5 invalid request stays on /sso")
@row("/sso browser behaviour", "7 only the two results reach the redirect address")
async def test_an_invalid_request_stays_with_its_reason(served: Served, browser: Browser) -> None:
    await served.client(autoApproveScopes=["user.read"])
    await served.client("machine", grantTypes=["client_credentials"])
    before = served.records()
    for asked, code in WRONG:
        stays(await browser.get(sso(**asked)), 400, code)
    for name in authorization():
        repeated = await browser.get(f"{sso()}&{name}=x")
        stays(repeated, 400, "A0401")
        assert f"<p>{name}: A parameter was sent more than once.</p>" in repeated.text
    stays(await browser.get("/sso?%ff"), 400, "A0401")
    stays(await browser.get("/sso"), 400, "A0401")
    assert served.records() == before


async def test_the_page_names_the_wrong_parameter_and_no_other(served: Served, browser: Browser) -> None:
    await served.client()
    for wrong, name, reason in (
        ({"redirect_uri": None}, "redirect_uri", "is required"),
        ({"code_challenge": "short"}, "code_challenge", "must be"),
        ({"code_challenge_method": "plain"}, "code_challenge_method", "must be S256"),
        ({"code_challenge_method": None}, "code_challenge_method", "is required"),
    ):
        page = await browser.get(sso(**wrong))
        stays(page, 400, "A0401")
        named = re.findall(r"<p>(redirect_uri|code_challenge|code_challenge_method): ([^<]*)</p>", page.text)
        assert [each for each, _ in named] == [name]
        assert named[0][1].startswith(reason)


async def test_a_prefetch_and_a_head_request_issue_no_code(served: Served, browser: Browser) -> None:
    await served.client(autoApproveScopes=["user.read"])
    before, told = served.records(), served.audit()
    head = await browser.request("HEAD", sso())
    assert (head.status_code, head.text, "location" in head.headers) == (200, "", False)
    sent = (("Sec-Purpose", "prefetch"), ("Sec-Purpose", "prefetch;prerender"), ("Purpose", "prefetch"))
    for name, value in sent:
        for path in (sso(), "/account", "/language?to=zh-CN&next=/"):
            ahead = await browser.get(path, headers={name: value})
            # After a failure the browser asks again when its user opens the page.
            assert (ahead.status_code, ahead.text, ahead.headers["cache-control"]) == (503, "", "no-store")
            assert not {"location", "set-cookie"} & ahead.headers.keys()
    assert "set-cookie" not in (await browser.request("HEAD", "/language?to=zh-CN&next=/")).headers
    assert (served.records(), served.audit()) == (before, told)
    expect_redirect(await browser.get(sso()))


# --- other behaviour of the page


async def test_only_a_page_whose_form_may_end_at_a_client_lets_its_form_lead_away(served: Served) -> None:
    """Browsers apply `form-action` to every redirect after a form, also to those of the client."""
    await served.client()
    browser = served.browser()
    sign_in = await browser.follow(await browser.get(sso()))
    _, consent = await at_consent(served)
    for page in (sign_in, consent):
        assert "form-action" not in page.headers["content-security-policy"]
    for path in ("/login", "/login?next=/account", "/login?next=/ssold", "/login?next=//evil.example/sso"):
        page = await served.browser().get(path)
        assert page.headers["content-security-policy"].endswith("; form-action 'self'"), path


async def test_neither_yes_nor_no_records_nothing(served: Served) -> None:
    await served.client()
    browser, page = await at_consent(served)
    before = served.records()
    for values in ({}, {"decision": ""}, {"decision": "yes"}, {"decision": "APPROVE"}):
        sent = await browser.submit(page, values, to="/sso")
        assert (sent.status_code, "location" in sent.headers) == (400, False)
    assert served.records() == before


async def test_a_session_that_ended_meanwhile_leads_back_to_the_same_consent(served: Served) -> None:
    await served.client()
    browser, page = await at_consent(served)
    served.clock.wait(8 * 24 * 3600)
    sent = await browser.submit(page, {"decision": "approve"}, to="/sso")
    assert sent.headers["location"] == f"/login?signed_out=1&next={sso()}"
    back = await browser.log_in(await browser.follow(sent))
    assert back.headers["location"] == sso()


async def test_an_access_token_that_ran_out_is_renewed_on_the_way(served: Served) -> None:
    await served.client()
    browser, page = await at_consent(served)
    access = browser.cookies["ostiary_access"]
    served.clock.wait(1801)
    expect_redirect(await browser.submit(page, {"decision": "approve"}, to="/sso"))
    assert browser.cookies["ostiary_access"] != access
    assert (await browser.get("/api/auth/me")).status_code == 200


async def test_two_tabs_that_renew_at_once_both_stay_signed_in(served: Served, browser: Browser) -> None:
    tab = served.browser()
    tab.cookies.update(browser.cookies)
    served.clock.wait(1801)
    for each in (browser, tab):
        assert "Sign out" in (await each.get("/")).text
    assert browser.cookies["ostiary_access"] == tab.cookies["ostiary_access"]

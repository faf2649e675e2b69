"""A user who must sign in on the way to a page comes back to it ("Browser behaviour" 1), also after a wrong
password, another language or a forgotten password."""

import re
from html import unescape

import httpx
import pytest

from tests.support.callers import Browser, forms_in, sso
from tests.support.people import NEW_PHONE, PHONE, outbox, with_phone
from tests.support.served import Served


def link(page: httpx.Response, beginning: str) -> str:
    """Return the address of the one link of a page with this beginning."""
    (found,) = [each for each in hrefs(page) if each.startswith(beginning)]
    return found


async def switch_language(browser: Browser, page: httpx.Response) -> httpx.Response:
    """Follow the link of a page to another language, or press the button that also sends the typed fields."""
    [to] = re.findall(r'(?:href|formaction)="(/language\?to=[^"]*)"', page.text)
    address = unescape(to)
    if f'href="{to}"' in page.text:
        return await browser.get(address)
    action = re.findall(r'name="form_action" value="([^"]*)"', page.text)[0]
    [form] = [form for form in forms_in(page) if form.action == action]
    return await browser.post(address, data=form.fields, headers={"Origin": "null"})


async def in_another_language(browser: Browser, page: httpx.Response) -> httpx.Response:
    """Switch the language; return the page to which this leads."""
    switched = await browser.follow(await switch_language(browser, page))
    assert switched.status_code == 200, switched.headers.get("location")
    assert switched.headers["content-language"] != page.headers["content-language"]
    return switched


async def at_sign_in(served: Served) -> tuple[Browser, httpx.Response]:
    """Open the sign-in page by a third party's request."""
    await served.client()
    browser = served.browser()
    return browser, await browser.follow(await browser.get(sso()))


async def test_another_language_on_the_way_through_the_first_password(served: Served) -> None:
    await served.user("anna", mustChangePassword=True)
    browser, page = await at_sign_in(served)
    page = await browser.follow(await browser.log_in(page, "anna", "anna's password"))
    change = {"old_password": "anna's password", "new_password": "a better one"}
    short = await browser.submit(page, {**change, "new_password": "x"}, to="/password")
    # With `form-action` a browser would stop at /sso if that leads straight on to the client.
    assert "form-action" not in short.headers["content-security-policy"]
    page = await in_another_language(browser, short)
    assert (await browser.submit(page, change, to="/password")).headers["location"] == sso()


@pytest.mark.parametrize(
    "path, values",
    [
        ("/account/language", {"locale": "xx"}),
        ("/account/zone", {"timezone": "Mars/Base"}),
        ("/account/phone", {"phone": "1"}),
        ("/admin/clients/new", {"clientId": ""}),
        ("/admin/clients/app/edit", {"name": ""}),
        ("/admin/people/new", {}),
    ],
)
async def test_another_language_on_a_form_with_faults(
    served: Served, browser: Browser, path: str, values: dict[str, str]
) -> None:
    await served.client()
    page = await browser.get("/account" if path in ("/account/language", "/account/zone") else path)
    faulty = await browser.submit(page, values, to=path)
    assert faulty.status_code in (400, 422)
    assert (await in_another_language(browser, faulty)).url.path == page.url.path


async def test_a_password_forgotten_on_the_way(served: Served) -> None:
    await with_phone(served)
    browser, page = await at_sign_in(served)
    page = await browser.get(link(page, "/recover"))
    assert link(page, "/login") == f"/login?next={sso()}"
    page = await in_another_language(browser, await browser.submit(page, {"phone": "1"}, to="/recover"))
    sent = await browser.follow(await browser.submit(page, {"phone": PHONE}, to="/recover"))
    values = {"code": outbox(served)[-1]["code"], "new_password": "a better one"}
    short = await browser.submit(sent, {**values, "new_password": "short"}, to="/recover/password")
    page = await in_another_language(browser, short)
    done = await browser.submit(page, {**values, "phone": "138 0000 0001"}, to="/recover/password")
    page = await browser.follow(done)
    assert "Your new password is set." in page.text
    assert (await browser.log_in(page, "anna", "a better one")).headers["location"] == sso()


async def test_what_the_consent_page_takes_comes_through_every_page_on_the_way(served: Served) -> None:
    """A request of any length comes through, or the consent page itself says that it is too long."""
    await served.client()
    states = {}
    for smileys in (900, 1_150, 1_200, 1_250, 1_300):
        browser, asked = served.browser(), sso(state="\N{GRINNING FACE}" * smileys)
        sent = await browser.get(asked)
        states[smileys] = sent.status_code
        if sent.status_code == 414:
            assert "This address is too long" in sent.text
            continue
        page = await browser.follow(sent)
        page = await in_another_language(browser, page)
        page = await browser.get(link(page, "/recover"))
        page = await in_another_language(browser, page)
        page = await browser.get(link(page, "/login"))
        page = await in_another_language(browser, await browser.log_in(page, "admin", "wrong"))
        page = await browser.follow(await browser.log_in(page))
        assert (page.status_code, str(page.url).endswith(asked)) == (200, True)
        assert (await browser.get(link(page, "/login"))).status_code == 200
        page = await in_another_language(browser, page)
        led = await browser.submit(page, {"decision": "deny"}, to="/sso")
        assert led.headers["location"].endswith("&state=" + "%F0%9F%98%80" * smileys)
    assert (states[900], states[1_300]) == (303, 414)
    for path, status in (("/admin", 414), ("/login", 200)):
        assert (await served.browser().get(f"{path}?x={'x' * 14_500}")).status_code == status


@pytest.mark.parametrize("return_to", ["https://evil.example", "//evil.example", "/\\evil.example"])
async def test_a_recovery_leads_only_to_a_path_of_this_server(served: Served, return_to: str) -> None:
    """READINGS 27."""
    await with_phone(served)
    browser = served.browser()
    page = await browser.get("/recover", params={"next": return_to})
    assert [form.fields["next"] for form in forms_in(page)] == ["/"]
    assert link(page, "/login") == "/login?next=/"
    sent = await browser.submit(page, {"phone": PHONE, "next": return_to}, to="/recover")
    assert "evil" not in sent.headers["location"]
    sent = await browser.follow(sent)
    assert "evil" not in sent.text
    values = {"code": outbox(served)[-1]["code"], "new_password": "a better one", "next": return_to}
    assert "evil" not in (await browser.submit(sent, values, to="/recover/password")).headers["location"]


FORMS = {
    # the page with the form: the address of the form
    "/account": "/account/zone",
    "/account/phone": "/account/phone",
    "/account/sessions": "/account/sessions/0123/end",
    "/account/applications/app/withdraw": "/account/applications/app/withdraw",
    "/admin/clients/new": "/admin/clients/new",
    "/admin/clients/import": "/admin/clients/import",
    "/admin/clients/app/edit": "/admin/clients/app/edit",
    "/admin/clients/app/disable": "/admin/clients/app/disable",
    "/admin/clients/app": "/admin/clients/app/enable",
    f"/admin/online/end?selected={32 * 'a'}": f"/admin/online/end?selected={32 * 'a'}",
}


async def test_a_session_that_ran_out_while_a_form_was_open(served: Served) -> None:
    await served.client()
    for shown_on, sent_to in FORMS.items():
        browser = served.browser()
        back = await browser.log_in(await browser.follow(await browser.post(sent_to)))
        assert back.headers["location"] == shown_on
        assert (await browser.follow(back)).status_code in (200, 404)


async def test_a_password_that_was_reset_while_a_form_was_open(served: Served) -> None:
    for number, (shown_on, sent_to) in enumerate(FORMS.items()):
        await served.user(f"anna{number}", mustChangePassword=True)
        browser = await served.sign_in_browser(f"anna{number}", "anna's password")
        page = await browser.follow(await browser.post(sent_to))
        change = {"old_password": "anna's password", "new_password": "a better one"}
        changed = await browser.submit(page, change, to="/password")
        assert changed.headers["location"] == shown_on
        # Anna may see little of it, but it is a page.
        assert (await browser.follow(changed)).status_code in (200, 403, 404)


async def test_a_list_with_a_filter_is_there_after_the_password(served: Served) -> None:
    await served.user("anna", mustChangePassword=True)
    browser = await served.sign_in_browser("anna", "anna's password")
    sent_on = await browser.get("/admin/people?q=li&page=2")
    assert sent_on.headers["location"] == "/password?next=/admin/people?q=li&page=2"


@pytest.mark.parametrize(
    "place, to, fields",
    [
        ("/account", "/password", {"new_password": "a better one"}),
        ("/account/phone", "/account/phone/code", {"phone": NEW_PHONE, "code": "000000"}),
        ("/account/second-factor", "/account/second-factor", {}),
    ],
)
async def test_wrong_passwords_sign_out(served: Served, place: str, to: str, fields: dict[str, str]) -> None:
    """A user with too many wrong passwords must sign in, and then comes back to the same page."""
    await served.user("anna")
    browser = await served.sign_in_browser("anna", "anna's password")
    page = await browser.get(place if to.startswith(place) else f"{to}?next={place}")
    if place == "/account/phone":
        page = await browser.follow(await browser.submit(page, fields, to=place))
    values = {**fields, "password": "wrong", "old_password": "wrong"}
    for _ in range(4):
        await browser.submit(page, values, to=to)
    page_after = await browser.submit(page, values, to=to)
    assert page_after.status_code == 401
    assert "you have been signed out" in page_after.text
    assert [form.action for form in forms_in(page_after)] == ["/login"]
    assert forms_in(page_after)[0].fields["username"] == "anna"
    switched = await in_another_language(browser, page_after)
    for sign_in in (page_after, switched):
        signed_in = await browser.log_in(sign_in, "anna", "anna's password")
        assert (signed_in.status_code, signed_in.headers["location"]) == (303, place)


def hrefs(page: httpx.Response) -> list[str]:
    """Return the addresses of the links of a page."""
    return [unescape(each) for each in re.findall(r'<a [^>]*href="([^"]*)"', page.text)]

"""Signing in to a third party in a real browser: with JavaScript off, in two tabs, backwards, and not."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Request, Route, expect

from tests.support.browser import Household, Visit, Visitor, add_person, fill_client, register_client
from tests.support.callers import sso


def request_for(household: Household, client_id: str = "demo-shop", **changed: str | None) -> str:
    """Return the path of an authorization request, of the demonstration's client if no other is named."""
    asked: dict[str, str | None] = {"redirect_uri": f"{household.shop}/callback", "state": None, **changed}
    return sso(client_id, **asked)


@contextmanager
def a_site(leads_to: str | None = None) -> Iterator[str]:
    """Run a foreign site on a port of its own, which sends every visitor on to an address or greets them."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if leads_to is None else 302)
            if leads_to is not None:
                self.send_header("Location", leads_to)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Write no log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://localhost:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_the_whole_protocol_with_javascript_off(visit: Visit, household: Household) -> None:
    visitor = visit(java_script_enabled=False)
    visitor.page.goto(household.shop)
    visitor.press("Sign in with Ostiary")
    assert visitor.path == "/login"
    visitor.sign_in("alice")
    assert visitor.path == "/sso"
    assert "Demo Shop wants to sign you in" in visitor.text
    assert "Alice Archer" in visitor.text
    visitor.agree()
    assert visitor.page.url == household.shop + "/"
    assert "Signed in as Alice Archer" in visitor.text

    visitor.press("Refresh")
    assert "a new pair" in visitor.text
    visitor.press("Retry the spent token")
    assert "the very same pair as before" in visitor.text
    visitor.press("Replay it as a thief")
    assert "the server ended the session" in visitor.text
    assert visitor.text.count("not active") == 2

    visitor.press("Start over")
    assert visitor.page.url == household.shop + "/", "a remembered consent asks no question"
    visitor.press("Sign out (revoke)")
    assert visitor.text.count("not active") == 2
    assert visitor.hosts == {urlsplit(household.server).netloc, urlsplit(household.shop).netloc}


def test_the_back_button_after_consent_breaks_nothing(visit: Visit, household: Household) -> None:
    visitor = visit()
    visitor.enter_shop("liwei")
    assert "Signed in as 李伟" in visitor.text
    visitor.page.go_back()
    visitor.page.wait_for_url(household.shop + "/")
    visitor.page.goto(household.shop)
    assert "Signed in as 李伟" in visitor.text, "a code nobody asked for touches no session"


def test_two_tabs_can_be_asked_and_answer_in_any_order(visit: Visit, household: Household) -> None:
    visitor = visit()
    visitor.open(request_for(household, state="first", scope="user.read"))
    second = visitor.context.new_page()
    second.goto(household.server + request_for(household, state="second"))
    visitor.sign_in("wangfang")
    second.fill("#username", "wangfang")
    second.fill("#password", "correct horse")
    second.locator("main button[type=submit]").click()
    second.get_by_role("button", name="同意并继续").click()
    visitor.page.locator("button[value=approve]").click()
    landed = [address for address in visitor.asked if "/callback?code=" in address]
    assert [address.rpartition("state=")[2] for address in landed] == ["second", "first"]


def test_a_callback_may_lead_on_to_another_origin(visit: Visit, household: Household) -> None:
    """This holds for every page whose form leads to a callback: browsers check redirects by `form-action`."""
    administrator = visit("admin")
    add_person(administrator, "traveller", "Traveller", "chosen for you")
    person = administrator.path
    with a_site() as home, a_site(f"{home}/welcome") as callback:
        address = f"{callback}/cb"
        register_client(administrator, "two-origins", address)
        asked = request_for(household, client_id="two-origins", redirect_uri=address)
        visitor = visit()
        visitor.open(asked)
        visitor.sign_in("traveller", "chosen for you")
        new = "chosen by myself"
        visitor.fill(old_password="chosen for you", new_password=new)
        visitor.press("Change password")
        visitor.agree()
        visitor.page.wait_for_url(f"{home}/welcome")

        # The consent is remembered by now: a sign-in, and a first password, lead straight on.
        visitor.context.clear_cookies()
        visitor.open(asked)
        visitor.sign_in("traveller", new)
        visitor.page.wait_for_url(f"{home}/welcome")

        administrator.open(f"{person}/reset-password")
        administrator.fill(password="chosen again")
        administrator.page.locator("main button[type=submit]").click()
        visitor.open(asked)
        visitor.sign_in("traveller", "chosen again")
        visitor.fill(old_password="chosen again", new_password=new)
        visitor.press("Change password")
        visitor.page.wait_for_url(f"{home}/welcome")


def test_a_callback_may_have_a_host_that_no_policy_can_name(visit: Visit, household: Household) -> None:
    administrator, visitor = visit("admin"), visit("alice")
    for host in ("[::1]", "my_shop", "sh%6fp"):
        client_id, address = "".join(filter(str.isalnum, host)), f"https://{host}/cb"
        register_client(administrator, client_id, address)
        visitor.open(request_for(household, client_id=client_id, redirect_uri=address))
        with visitor.page.expect_request(lambda request: "/cb?code=" in request.url):
            visitor.agree()


# --- a form that is sent twice by an impatient click is done once


def click_twice(visitor: Visitor, button: str = "main button[type=submit]") -> list[str]:
    """Click twice, 200 ms apart, while the server is slow; return the paths that were posted to."""
    posted: list[str] = []

    def note(request: Request) -> None:
        if request.method == "POST":
            posted.append(urlsplit(request.url).path.removeprefix(visitor.household.path))

    visitor.context.on("request", note)
    network = visitor.context.new_cdp_session(visitor.page)
    slow = {"offline": False, "latency": 1_000, "downloadThroughput": -1, "uploadThroughput": -1}
    network.send("Network.emulateNetworkConditions", slow)
    expect(visitor.page.locator(button)).to_be_enabled()
    visitor.page.locator(button).scroll_into_view_if_needed()
    place = visitor.page.locator(button).bounding_box()
    assert place is not None
    with visitor.page.expect_event("load"):
        for _ in range(2):
            visitor.page.mouse.click(place["x"] + 5, place["y"] + 5)
            visitor.page.wait_for_timeout(200)
    network.send("Network.emulateNetworkConditions", {**slow, "latency": 0})
    visitor.context.remove_listener("request", note)
    return posted


def works(visitor: Visitor, client_id: str, secret: str) -> bool:
    """Say whether a client gets a token by its secret."""
    form: Any = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret}
    return visitor.page.request.post(f"{visitor.household.server}/api/oauth2/token", form=form).status == 200


def test_two_clicks_on_approve_are_one_consent(visit: Visit, household: Household) -> None:
    with a_site() as callback:
        register_client(visit("admin"), "impatient", f"{callback}/cb")
        visitor = visit()
        visitor.open(request_for(household, client_id="impatient", redirect_uri=f"{callback}/cb", state="s"))
        visitor.sign_in("alice")
        assert click_twice(visitor, "button[value=approve]") == ["/sso"]
        assert len([address for address in visitor.asked if address.startswith(f"{callback}/cb?code=")]) == 1


@pytest.mark.parametrize("java_script_enabled", [True, False])
def test_two_clicks_on_register_or_reset_show_a_right_secret(visit: Visit, java_script_enabled: bool) -> None:
    visitor = visit("admin", java_script_enabled=java_script_enabled)
    client_id = f"hasty-{java_script_enabled}".lower()
    fill_client(visitor, client_id)
    posted = click_twice(visitor)
    assert posted == ["/admin/clients/new"] * (1 if java_script_enabled else 2)
    in_production = visitor.page.inner_text("#secret-text")
    assert works(visitor, client_id, in_production)

    visitor.open(f"/admin/clients/{client_id}/reset-secret")
    visitor.page.select_option("#overlap", label="1 day")
    posted = click_twice(visitor)
    assert len(posted) == (1 if java_script_enabled else 2)
    assert works(visitor, client_id, visitor.page.inner_text("#secret-text"))
    assert works(visitor, client_id, in_production)


@pytest.mark.parametrize("path, target", [("/account", "/account/zone"), ("/admin/roles/import",) * 2])
def test_a_page_that_is_shown_again_can_be_sent_again(visit: Visit, path: str, target: str) -> None:
    visitor = visit("admin")
    visitor.open(path)
    is_long = path.endswith("/import")
    if is_long:
        visitor.page.set_input_files("#file", {"name": "a.xlsx", "mimeType": "x/y", "buffer": b"x"})
    sent: list[str] = []

    def keep(route: Route) -> None:
        sent.append(route.request.url)
        route.abort("aborted")

    visitor.page.route(f"**{target}", keep)
    form = visitor.page.locator(f"form[action$='{target}']:not(#zone-proposal)")
    button = form.locator("button").first
    for _ in range(2):
        button.click()
        visitor.page.wait_for_timeout(100)
    assert (len(sent), form.locator("progress").count()) == (1, int(is_long))
    visitor.page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    assert form.locator("progress").count() == 0
    with visitor.page.expect_request(f"**{target}"):
        button.click()

"""Signing in to a third party in a real browser: with JavaScript off, in two tabs, backwards, and not."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlencode, urlsplit

import pytest

from tests.support.browser import Household, Visit, add_person, register_client

CHALLENGE = urlsafe_b64encode(sha256(b"a verifier").digest()).rstrip(b"=").decode()


def request_for(household: Household, **changed: str | None) -> str:
    """The path of an authorization request of the demonstration's client."""
    query: dict[str, str | None] = {
        "response_type": "code",
        "client_id": "demo-shop",
        "redirect_uri": f"{household.shop}/callback",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        **changed,
    }
    return "/sso?" + urlencode({name: value for name, value in query.items() if value is not None})


@contextmanager
def a_site(leads_to: str | None = None) -> Iterator[str]:
    """A site of somebody else on a port of its own, which sends every visitor on or greets them."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if leads_to is None else 302)
            if leads_to is not None:
                self.send_header("Location", leads_to)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

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
    assert visitor.path == "/sso"
    second.fill("#username", "wangfang")
    second.fill("#password", "correct horse")
    second.locator("main button[type=submit]").click()
    second.get_by_role("button", name="同意并继续").click()
    visitor.page.locator("button[value=approve]").click()
    landed = [address for address in visitor.asked if "/callback?code=" in address]
    assert [address.rpartition("state=")[2] for address in landed] == ["second", "first"]


def test_the_first_password_is_replaced_on_the_way(visit: Visit, household: Household) -> None:
    administrator = visit("admin")
    add_person(administrator, "newcomer", "New Comer", "chosen for you")
    newcomer = visit(java_script_enabled=False)
    newcomer.open(request_for(household, state="s"))
    newcomer.sign_in("newcomer", "chosen for you")
    assert newcomer.path == "/password"
    newcomer.fill(
        old_password="chosen for you", new_password="chosen by myself", new_password_again="chosen by myself"
    )
    newcomer.press("Change password")
    assert newcomer.path == "/sso"
    assert "Demo Shop wants to sign you in" in newcomer.text


def test_a_callback_may_lead_on_to_another_origin(visit: Visit, household: Household) -> None:
    """From every page whose form ends there: browsers hold each redirect of a form to its `form-action`."""
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
        visitor.fill(old_password="chosen for you", new_password=new, new_password_again=new)
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
        visitor.fill(old_password="chosen again", new_password=new, new_password_again=new)
        visitor.press("Change password")
        visitor.page.wait_for_url(f"{home}/welcome")


@pytest.mark.parametrize("host", ["[::1]", "my_shop", "sh%6fp"])
def test_a_callback_may_have_a_host_that_no_policy_can_name(
    visit: Visit, household: Household, host: str
) -> None:
    administrator = visit("admin")
    client_id = "".join(filter(str.isalnum, host))
    register_client(administrator, client_id, f"https://{host}/cb")
    visitor = visit()
    visitor.open(request_for(household, client_id=client_id, redirect_uri=f"https://{host}/cb"))
    visitor.sign_in("alice")
    with visitor.page.expect_request(lambda request: "/cb?code=" in request.url):
        visitor.agree()

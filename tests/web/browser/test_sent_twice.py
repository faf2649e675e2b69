"""A form that is sent twice by an impatient click is done once: by a script, and without any."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Request, Route

from tests.support.browser import Household, Visit, Visitor, fill_client, register_client
from tests.web.browser.test_signing_in import a_site, request_for


def click_twice(visitor: Visitor, button: str = "main button[type=submit]") -> list[str]:
    """Two clicks 200 ms apart on a server that takes its time; the paths that were posted to."""
    posted: list[str] = []

    def note(request: Request) -> None:
        if request.method == "POST":
            posted.append(urlsplit(request.url).path.removeprefix(visitor.household.path))

    visitor.context.on("request", note)
    network = visitor.context.new_cdp_session(visitor.page)
    slow = {"offline": False, "latency": 1_000, "downloadThroughput": -1, "uploadThroughput": -1}
    network.send("Network.emulateNetworkConditions", slow)
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
    answer = visitor.page.request.post(
        f"{visitor.household.server}/api/oauth2/token",
        form={"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret},
    )
    return answer.status == 200


def test_two_clicks_on_approve_are_one_consent(visit: Visit, household: Household) -> None:
    with a_site() as callback:
        administrator = visit("admin")
        register_client(administrator, "impatient", f"{callback}/cb")
        visitor = visit()
        visitor.open(request_for(household, client_id="impatient", redirect_uri=f"{callback}/cb", state="s"))
        visitor.sign_in("alice")
        assert click_twice(visitor, "button[value=approve]") == ["/sso"]
        assert len([address for address in visitor.asked if address.startswith(f"{callback}/cb?code=")]) == 1


@pytest.mark.parametrize("java_script_enabled", [True, False])
def test_two_clicks_on_register_and_on_reset_show_the_secret_that_works(
    visit: Visit, java_script_enabled: bool
) -> None:
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
    form = visitor.page.locator(f"form[action$='{target}']")
    for _ in range(2):
        form.locator("button").first.click()
        visitor.page.wait_for_timeout(100)
    assert (len(sent), form.locator("progress").count()) == (1, int(is_long))
    visitor.page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    assert form.locator("progress").count() == 0
    with visitor.page.expect_request(f"**{target}"):
        form.locator("button").first.click()

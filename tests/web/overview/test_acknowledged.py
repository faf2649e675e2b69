"""Administrators acknowledge warnings of the overview, over the interface and on the page."""

import re

import httpx

from ostiary_core.model.permissions import Permission
from ostiary_net.observability.summaries import Milestone
from tests.support.callers import Api, Browser, form_token_in
from tests.support.people import browser_of, holder_of
from tests.support.served import Served

API = "/api/monitor/overview/acknowledge"
PAGE = "/admin/overview/acknowledge"
DAY = 24 * 3_600
NO_BACKUP = "No backup has been made"


async def acknowledge(browser: Browser, page: httpx.Response, warning: str, **more: str) -> httpx.Response:
    form = {"form_token": form_token_in(page), "warning": warning, **more}
    return await browser.post(PAGE, data=form, headers={"Origin": "null", "Sec-Fetch-Site": "same-origin"})


def folds(page: str) -> tuple[str, str]:
    """Return the part of the page with open warnings, and that with acknowledged ones."""
    shown, _, rest = page.partition('<ul class="tiles">')
    assert rest
    before, _, acknowledged = shown.partition(" acknowledged warning")
    return before, acknowledged


async def test_an_acknowledged_warning_is_folded_for_seven_days(served: Served, browser: Browser) -> None:
    page = await browser.get("/admin?range=week")
    assert NO_BACKUP in folds(page.text)[0]
    assert 'name="warning" value="backup"' in page.text

    done = await acknowledge(browser, page, "backup", range="week")

    assert (done.status_code, done.headers["location"]) == (303, "/admin?range=week")
    back = await browser.follow(done)
    assert "The warning is folded away for 7 days." in back.text
    shown, acknowledged = folds(back.text)
    assert NO_BACKUP not in shown
    assert NO_BACKUP in acknowledged
    assert "Acknowledged by admin · " in acknowledged
    assert 'value="backup"' not in back.text, "it is acknowledged already"
    other = await browser_of(served, Permission.ONLINE_LIST)
    assert NO_BACKUP in folds((await other.get("/admin")).text)[1], "for every administrator"
    served.clock.wait(7 * DAY - 3_600)
    again = await served.sign_in_browser()
    assert NO_BACKUP in folds((await again.get("/admin")).text)[1]
    served.clock.wait(3_600)
    later = await served.sign_in_browser()
    assert NO_BACKUP in folds((await later.get("/admin")).text)[0]


async def test_the_last_acknowledgement_is_shown_until_it_is_over(served: Served, browser: Browser) -> None:
    api = await served.administrator()
    await api.succeed("POST", API, {"warning": "backup"})
    served.clock.wait(60)
    watcher = await holder_of(served, Permission.ONLINE_LIST, username="wanda")
    await watcher.succeed("POST", API, {"warning": "backup"})
    assert re.findall("Acknowledged by (.*?) ", (await browser.get("/admin")).text) == ["wanda"]
    served.store.record_milestone(Milestone.BACKED_UP, served.clock.now())
    assert "Acknowledged by" not in (await browser.get("/admin")).text


async def test_first_steps_cannot_be_acknowledged(browser: Browser) -> None:
    page = (await browser.get("/admin")).text
    urgencies = re.findall('class="tag[^"]*">(Fault|Warning|First step)<', page)
    assert urgencies.count("First step") == 2
    assert page.count(f'action="{PAGE}"') == urgencies.count("Warning") > 0
    assert not [each for each in re.findall('name="warning" value="([^"]*)"', page) if not each]


async def test_a_page_acknowledges_no_unknown_warning(browser: Browser, api: Api) -> None:
    assert (await acknowledge(browser, await browser.get("/admin"), "weather")).status_code == 400
    found = await api.succeed("GET", "/api/audit/events", params={"kind": "warning-acknowledged"})
    assert found["items"] == []

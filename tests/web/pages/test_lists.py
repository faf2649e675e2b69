"""Lists as pages, which a visitor narrows, sorts and pages through."""

import re
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from ostiary_core.model.instant import SECOND_MS
from tests.support.callers import SOURCE, Browser
from tests.support.served import Served
from tests.web.pages.test_selection import register_crowd


async def people(browser: Browser, **query: Any) -> httpx.Response:
    return await browser.get(f"/admin/people?{urlencode(query)}")


def names_on(page: httpx.Response) -> list[str]:
    """Return the user names in the first column of a page."""
    return re.findall(r'<a href="/admin/people/[0-9a-f]{32}[^"]*"><b>([^<]*)</b>', page.text)


# --- days


@pytest.mark.parametrize(
    "zone, registered, day",
    [
        (None, "2027-01-15T15:59:59.900Z", "2027-01-15"),
        (None, "2027-01-15T16:00:00.000Z", "2027-01-16"),
        ("America/Lima", "2027-01-16T04:59:59.900Z", "2027-01-15"),
        ("America/Lima", "2027-01-16T05:00:00.000Z", "2027-01-16"),
        ("UTC", "2027-01-15T23:59:59.900Z", "2027-01-15"),
        # On that day the clocks go back from 01:00 to 00:00: the day has 25 hours.
        ("America/Havana", "2027-11-07T04:00:00.000Z", "2027-11-07"),
        ("America/Havana", "2027-11-08T04:59:59.900Z", "2027-11-07"),
        # And on that from 24:00 to 23:00.
        ("Asia/Beirut", "2027-10-30T21:59:59.900Z", "2027-10-30"),
    ],
)
async def test_a_date_is_a_day_of_a_zone(served: Served, zone: str | None, registered: str, day: str) -> None:
    """The times of the page are in this zone too. It is China's for users who have chosen none."""
    at = datetime.fromisoformat(registered).timestamp()
    served.clock.wait(at - served.clock.now() / SECOND_MS)
    await served.user("anna")
    if zone is not None:
        root = await served.administrator()
        await root.succeed("PUT", "/api/auth/timezone", {"timezone": zone})
    browser = await served.sign_in_browser()
    before, after = (str(date.fromisoformat(day) + timedelta(days=days)) for days in (-1, 1))

    on_the_day = await people(browser, createdAtFrom=day, createdAtTo=day, q="anna")

    assert names_on(on_the_day) == ["anna"]
    assert f">{day} " in on_the_day.text
    assert f'value="{day}"' in on_the_day.text
    assert names_on(await people(browser, createdAtTo=before, q="anna")) == []
    assert names_on(await people(browser, createdAtFrom=after, q="anna")) == []


async def test_the_audit_trail_is_narrowed_by_the_visitors_days_too(served: Served, browser: Browser) -> None:
    served.clock.wait(10 * 3600)
    await served.client()
    found = await browser.get("/admin/audit?kind=client-registered&atFrom=2027-01-16&atTo=2027-01-16")
    assert "1 record ·" in found.text
    found = await browser.get("/admin/audit?kind=client-registered&atFrom=2027-01-15&atTo=2027-01-15")
    assert "Nothing matches" in found.text


# --- cells


async def test_a_cell_names_the_browser_and_the_age_and_an_empty_one_takes_no_line(served: Served) -> None:
    user_agent = "Mozilla/5.0 (X11; Linux) Chrome/131"
    for language, name, hours, days in (
        ("en", "Chrome on Linux", "1 hour ago", "2 days ago"),
        ("zh-CN", "Linux 上的 Chrome", "1 小时前", "2 天前"),
    ):
        browser = served.browser(**{"User-Agent": f"{user_agent} <x>", "Accept-Language": language})
        await browser.sign_in()
        behind = f"</summary>{user_agent} &lt;x&gt;</details>"
        for path in ("/account/sessions", "/admin/online", "/admin/audit"):
            assert f'<details class="agent"><summary>{name}{behind}' in (await browser.get(path)).text, path
        listed = (await browser.get("/admin/audit")).text
        told = (await browser.get(re.findall('"(/admin/audit/sessions/[^"]*)"', listed)[0])).text
        assert re.search(f"{SOURCE}(?:, |，){name}", told)
        assert f"<summary>User-Agent{behind}" in told
        assert re.search('class="[a-z ]*none"><div>\\s*—', listed)
        assert not re.search('class="[a-z ]*none"><div>\\s*[^—\\s]', listed)
        for seconds, said in ((3_600, hours), (2 * 86_400 - 3_600, days)):
            served.clock.wait(seconds)
            assert f"{said}</span>" in (await browser.get("/account/sessions")).text


async def test_only_a_long_word_is_broken_and_an_address_never(served: Served) -> None:
    """Shorter words are read as a whole, such as the name of a grant with its hyphens."""
    source = "2001:db8:85a3:8d3:1319:8a2e:370:7348"
    browser = served.browser(source)
    await browser.sign_in()
    names = {"x" * 20: "whole", "x-" * 5: "whole", "y" * 21: "long", "Li Na": "", "李娜": ""}
    for number, name in enumerate(names):
        await served.user(f"anna{number}", name=name)
    page = await people(browser, q="anna")
    cells = re.findall(
        'data-label="Name"(?: class="([^"]*)")?><div>\\s*(.*?)\\s*</div>', page.text, re.DOTALL
    )
    assert {name: classes for classes, name in cells} == names
    assert re.search(f'class="whole"><div>\\s*{source}', (await browser.get("/admin/online")).text)


# --- many


@pytest.mark.parametrize("place", ["/admin/audit", "/admin/online"])
async def test_only_fifty_users_are_taken(served: Served, browser: Browser, place: str) -> None:
    """The page says so if more users match than it takes."""
    await register_crowd(served, 60)
    said = "is in the names of 60 users, and only the first 50 of them count"
    page = await browser.get(f"{place}?userId=crow")
    assert said in page.text
    assert "any of them counts" not in page.text
    assert "only the first" not in (await browser.get(f"{place}?userId=crowd05")).text
    assert said in (await browser.follow(await browser.submit(page, {"userId": "crow"}, to=place))).text

"""Lists as pages: what a visitor's narrowing, sorting and paging shows."""

import re
from datetime import datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from ostiary_core.model.instant import SECOND_MS
from tests.web.served import Browser, Served


async def at_desk(served: Served) -> Browser:
    """A browser of the first administrator."""
    browser = served.browser()
    await browser.sign_in()
    return browser


async def people(browser: Browser, **query: Any) -> httpx.Response:
    return await browser.get(f"/admin/people?{urlencode(query)}")


def names_on(page: httpx.Response) -> list[str]:
    """The user names of a page, from its first column."""
    return re.findall(r'<a href="/admin/people/[0-9a-f]{32}"><b>([^<]*)</b>', page.text)


def links_on(page: httpx.Response) -> set[str]:
    return {unescape(found) for found in re.findall(r'href="([^"]*)"', page.text)}


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
async def test_a_date_is_a_day_of_the_visitors_zone(
    served: Served, zone: str | None, registered: str, day: str
) -> None:
    """In which the times of the page are told too; China's for whoever has chosen none."""
    at = datetime.fromisoformat(registered).timestamp()
    served.clock.wait(at - served.clock.now() / SECOND_MS)
    await served.user("anna")
    if zone is not None:
        root = await served.administrator()
        assert (await root.call("PUT", "/api/auth/timezone", {"timezone": zone})).status_code == 200
    browser = await at_desk(served)
    before, after = (
        (datetime.fromisoformat(day) + timedelta(days=days)).date().isoformat() for days in (-1, 1)
    )

    on_the_day = await people(browser, createdAtFrom=day, createdAtTo=day, q="anna")

    assert names_on(on_the_day) == ["anna"]
    assert f">{day} " in on_the_day.text
    assert f'value="{day}"' in on_the_day.text
    assert names_on(await people(browser, createdAtTo=before, q="anna")) == []
    assert names_on(await people(browser, createdAtFrom=after, q="anna")) == []


async def test_the_audit_trail_is_narrowed_by_the_visitors_days_too(served: Served) -> None:
    served.clock.wait(10 * 3600)
    await served.client()
    browser = await at_desk(served)
    found = await browser.get("/admin/audit?kind=client-registered&atFrom=2027-01-16&atTo=2027-01-16")
    assert "1 in all" in found.text
    found = await browser.get("/admin/audit?kind=client-registered&atFrom=2027-01-15&atTo=2027-01-15")
    assert "Nothing fits" in found.text


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
async def test_the_first_and_the_last_day_there_are(served: Served, day: str) -> None:
    found = await people(await at_desk(served), createdAtFrom=day, createdAtTo=day)
    assert (found.status_code, names_on(found)) == (200, [])


@pytest.mark.parametrize("day", ["2027-02-30", "yesterday"])
async def test_what_is_no_day_is_named(served: Served, day: str) -> None:
    found = await people(await at_desk(served), createdAtFrom=day)
    assert found.status_code == 400
    assert "createdAtFrom:" in found.text


# --- pages with nothing on them


async def test_past_the_last_page_there_is_a_way_back(served: Served) -> None:
    for number in range(21):
        await served.user(f"anna{number}")
    browser = await at_desk(served)
    beyond = await people(browser, page=99, q="anna", sort="-username")
    assert (beyond.status_code, names_on(beyond)) == (200, [])
    assert "Nothing is on this page" in beyond.text
    assert "There are no accounts yet" not in beyond.text
    assert "Nothing fits" not in beyond.text
    (last,) = [link for link in links_on(beyond) if link.startswith("/admin/people?") and "page=2" in link]
    assert names_on(await browser.get(last)) == ["anna0"]


@pytest.mark.parametrize("query", [{"sort": "bogus"}, {"page": "x"}, {"nonsense": "1"}])
async def test_a_query_that_is_not_known_does_not_deny_that_there_are_accounts(
    served: Served, query: dict[str, str]
) -> None:
    found = await people(await at_desk(served), **query)
    assert found.status_code == 400
    assert "Nothing is on this page" in found.text
    assert "There are no accounts yet" not in found.text
    assert "Nothing fits" not in found.text
    assert re.search('<a href="/admin/people">Show all</a>', found.text)


async def test_what_does_not_fit_is_still_told_from_what_is_not_there(served: Served) -> None:
    browser = await at_desk(served)
    assert "Nothing fits" in (await people(browser, q="nobody")).text
    assert "Nothing fits" in (await people(browser, q="nobody", page=2)).text

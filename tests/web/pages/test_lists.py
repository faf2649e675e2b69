"""Lists as pages, which a visitor narrows, sorts and pages through."""

import re
from datetime import date, datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from ostiary_core.model.instant import SECOND_MS
from ostiary_core.model.permissions import Permission
from tests.support.callers import SOURCE, Browser
from tests.support.files import rows_of
from tests.support.people import browser_of, with_phone
from tests.support.served import Served
from tests.web.pages.test_selection import register_crowd


async def people(browser: Browser, **query: Any) -> httpx.Response:
    return await browser.get(f"/admin/people?{urlencode(query)}")


def names_on(page: httpx.Response) -> list[str]:
    """Return the user names in the first column of a page."""
    return re.findall(r'<a href="/admin/people/[0-9a-f]{32}[^"]*"><b>([^<]*)</b>', page.text)


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


# --- search


async def test_users_are_found_by_numbers_that_no_address_holds(served: Served, browser: Browser) -> None:
    numbers = {"anna": "+8613800138000", "20240001": "13900138000", "dora": None}
    ids = {name: await with_phone(served, name, phone) for name, phone in numbers.items()}
    for name in ids:
        await served.api().sign_in(name, f"{name} password")

    async def found(path: str, **fields: str) -> tuple[str, list[str]]:
        sent = await browser.submit(await browser.get(path), fields, to=path)
        address = sent.headers["location"]
        assert "138000" not in address
        page = await browser.follow(sent)
        assert page.status_code == 200, page.text
        cell = 'data-label="(?:User(?: name)?|About)">?[^>]*>?\\s*<div>(.*?)</div>'
        shown = [re.sub("<[^>]*>", "", each).split()[0] for each in re.findall(cell, page.text, re.DOTALL)]
        return address.partition("?")[2], sorted(set(shown) & set(ids))

    by_id = {name: f"id={user_id}" for name, user_id in ids.items()}
    for typed in ("+8613800138000", "+86 138-0013 8000", "(8613800138000)", "13800138000"):
        assert await found("/admin/people", q=typed) == (by_id["anna"], ["anna"])
        assert await found("/admin/audit", userId=typed) == (f"userId={ids['anna']}", ["anna"])
        assert await found("/admin/online", q=typed) == (f"userId={ids['anna']}", ["anna"])
    assert await found("/admin/people", q="20240001") == (by_id["20240001"], ["20240001"]), "a name of digits"
    assert await found("/admin/people", q="138 9999 9999") == ("q=%E2%80%A69999", [])
    assert (await found("/admin/people", q="8000"))[1] == ["20240001", "anna"]
    assert await found("/admin/audit", userId="9001380") == ("userId=" + ids["20240001"], ["20240001"])
    assert (await found("/admin/audit", userId="8000"))[1] == ["20240001", "anna"]
    assert (await found("/admin/people", q=ids["dora"][:9]))[1] == ["dora"]
    root = await served.administrator()
    [of_dora] = (await root.succeed("GET", "/api/monitor/online-users?q=dora"))["items"]
    for asked in ({"q": of_dora["id"]}, {"q": ids["dora"]}, {"userId": "dora"}):
        assert (await found("/admin/online", **asked))[1] == ["dora"]
    browser = await browser_of(served, Permission.AUDIT_READ)
    assert await found("/admin/audit", userId="+8613800138000") == ("userId=%E2%80%A68000", [])


# --- pages with nothing on them


async def test_past_the_last_page_there_is_a_way_back(served: Served, browser: Browser) -> None:
    for number in range(21):
        assert "page=2" not in (await people(browser, q="anna")).text
        await served.user(f"anna{number}")
    beyond = await people(browser, page=99, q="anna", sort="-username")
    assert (beyond.status_code, names_on(beyond)) == (200, [])
    assert "Nothing is on this page" in beyond.text
    assert "There are no accounts yet" not in beyond.text
    assert "Nothing matches" not in beyond.text
    (last,) = [link for link in links_on(beyond) if link.startswith("/admin/people?") and "page=2" in link]
    assert names_on(await browser.get(last)) == ["anna0"]


async def test_a_query_that_is_not_known_does_not_deny_that_there_are_accounts(browser: Browser) -> None:
    for wrong in ("sort=bogus", "page=x", "nonsense=1", "createdAtFrom=2027-02-30", "createdAtTo=yesterday"):
        found = await browser.get(f"/admin/people?{wrong}")
        assert (found.status_code, f"{wrong.partition('=')[0]}: " in found.text) == (400, True), wrong
        assert "Nothing is on this page" in found.text
        assert "There are no accounts yet" not in found.text
        assert "Nothing matches" not in found.text
        assert re.search('<a href="/admin/people">Show all</a>', found.text)
    for day in ("0001-01-01", "9999-12-31"):
        found = await people(browser, createdAtFrom=day, createdAtTo=day)
        assert (found.status_code, names_on(found)) == (200, []), "the first and the last day there are"
    for page in (1, 2):
        assert "Nothing matches" in (await people(browser, q="nobody", page=page)).text


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


# --- as a sheet


async def test_a_list_is_exported_as_it_is_shown(served: Served, browser: Browser) -> None:
    """The sheet has the filters, the order, the days and the language of the page."""
    for name in ("zoe", "zoey", "bert"):
        await served.user(name)
    await browser.get("/language?to=zh-CN")
    for query, names in (
        ({"q": "zoe", "sort": "-username"}, ["zoey", "zoe"]),
        ({"q": "zoe", "page": "1", "createdAtTo": "2020-01-01"}, []),
    ):
        (link,) = [each for each in links_on(await people(browser, **query)) if "/export" in each]
        sheet = await browser.get(link)
        assert sheet.status_code == 200, sheet.text
        heading, *rows = rows_of(sheet.content)
        assert "用户名" in heading
        assert [row[heading.index("用户名")] for row in rows] == names
    audit = await browser.get("/admin/audit?userId=bert&kind=user-registered")
    (link,) = [each for each in links_on(audit) if "/export" in each]
    heading, *rows = rows_of((await browser.get(link)).content)
    assert len(rows) == 1
    assert "用户名" in rows_of((await browser.get("/admin/people/import-template")).content)[0]
    assert "/admin/people/import-template" in (await browser.get("/admin/people/import")).text


# --- filters of users


async def test_users_are_filtered_by_what_they_lack_and_the_filters_stand_as_chips(served: Served) -> None:
    await served.user("anna")
    await served.user("bert", mustChangePassword=True)
    await served.user("carl", roleIds=["super_admin"])
    browser = await served.sign_in_browser()
    await served.api().sign_in("anna", "anna's password")
    for query, names in (
        ({"neverSignedIn": "true"}, ["bert", "carl"]),
        ({"neverSignedIn": "true", "roleIds": "super_admin"}, ["carl"]),
        ({"mustChangePassword": "true"}, ["bert"]),
        ({"secondFactor": "false", "sort": "-username"}, ["carl", "bert", "anna", "admin"]),
        ({"secondFactor": "true"}, []),
    ):
        page = await people(browser, **query)
        assert names_on(page) == names, query
        chips = re.search('<ul class="chips plain">(.*?)</ul>', page.text, re.DOTALL)
        assert chips is not None
        assert chips[1].count('class="tag"') == len(query.keys() - {"sort"})
    page = await people(browser, q="carl")
    [roles] = re.findall('data-label="Roles"[^>]*><div>(.*?)</div>', page.text, re.DOTALL)
    assert '<span title="Super administrator">Super administrator</span>' in roles, "by their names"
    empty = await people(browser, secondFactor="true")
    assert "<p>Second factor: yes</p>" in empty.text, "a list without a row says what it was filtered by"
    page = await people(browser, q="a", neverSignedIn="true")
    sent = await browser.submit(page, {"neverSignedIn": "true", "enabled": ""}, to="/admin/people")
    assert sent.headers["location"] == "/admin/people?q=a&neverSignedIn=true"
    assert "/admin/people?neverSignedIn=true" in links_on(page), "each chip leads to the list without it"
    assert "/admin/people?q=a" in links_on(page)
    assert (await people(browser, neverSignedIn="maybe")).status_code == 400
    heading, *rows = rows_of((await browser.get("/admin/people/export?neverSignedIn=true")).content)
    assert [row[heading.index("User name")] for row in rows] == ["bert", "carl"]


async def test_the_first_filter_of_online_is_the_user(served: Served) -> None:
    for language, label in (("en-US", "User"), ("zh-CN", "用户")):
        browser = served.browser(**{"Accept-Language": language})
        await browser.sign_in()
        page = (await browser.get("/admin/online")).text
        assert re.findall('id="by-([a-zA-Z]*)"[^>]*aria-label="([^"]*)"', page)[0] == ("userId", label)

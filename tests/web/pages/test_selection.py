"""A selection in a list lasts from page to page, may be all that match a filter, and is acted on together."""

import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from urllib.parse import urlencode

import httpx
import pytest

from ostiary_core.events import Event
from ostiary_core.model.decision import Decision, Insert
from ostiary_core.model.fact import FactKind
from ostiary_core.model.identifiers import names_of
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Table, User
from ostiary_web.application.resources.batches import decide_each
from ostiary_web.http.context import RequestContext
from ostiary_web.pages.administration import selected_action
from tests.support.callers import Browser, forms_in
from tests.support.people import browser_of
from tests.support.served import Served

PEOPLE = "/admin/people"
Fields = list[tuple[str, str]]


async def register_crowd(served: Served, size: int) -> list[str]:
    """Register `crowd000` and so on, as copies of one account; return their identifiers."""
    await served.user("someone")
    [one] = [each for each in stored_users(served) if each.username == "someone"]
    crowd = [
        replace(one, user_id=f"{number:032x}", username=f"crowd{number:03}", name=f"Crowd {number}")
        for number in range(size)
    ]
    served.store.write([Insert(user) for user in crowd])
    served.store.write([Insert(name) for user in crowd for name in names_of(user)])
    return [user.user_id for user in crowd]


def stored_users(served: Served) -> list[User]:
    return list(served.store.records(Table.USER))


def count_enabled(served: Served) -> int:
    return sum(user.enabled for user in stored_users(served) if user.username.startswith("crowd"))


def fields_of_selection(page: httpx.Response, *, tick: int = 0) -> Fields:
    """Return the fields that the form of the selection sends, with the first `tick` boxes ticked too."""
    form = re.search('<form id="selection".*?</form>', page.text, re.DOTALL)
    assert form is not None
    inside = re.findall('<input type="hidden" name="([^"]*)" value="([^"]*)"', form[0])
    inside += [("all", "1")] if re.search('name="all" value="1" checked', form[0]) else []
    box = '<input type="checkbox" name="selected" value="([^"]*)" form="selection"( checked)?'
    boxes = re.findall(box, page.text)
    ticked = [key for place, (key, checked) in enumerate(boxes) if checked or place < tick]
    size = re.search("<option selected>([0-9]+)", page.text)
    return [
        *((name, unescape(value)) for name, value in inside),
        *(("selected", key) for key in ticked),
        *([("pageSize", size[1])] if size else []),
    ]


async def press(
    browser: Browser, page: httpx.Response, button: str, tick: int = 0, to: str = PEOPLE
) -> httpx.Response:
    """Press a button of the selection's form, as `page=2`, without a script."""
    return await browser.get(f"{to}?{urlencode(fields_of_selection(page, tick=tick))}&{button}")


async def confirm(browser: Browser, question: httpx.Response, **values: str) -> httpx.Response:
    """Send the form of a question, with these boxes ticked and no others."""
    [form] = [form for form in forms_in(question) if form.action.startswith("/admin/selected/")]
    hidden = {name: form.fields[name] for name in ("form_token", "asked")}
    headers = {"Origin": "null", "Sec-Fetch-Site": "same-origin"}
    return await browser.post(form.action, data={**hidden, **values}, headers=headers)


def read_notice(page: httpx.Response) -> list[str]:
    """Return the lines of a page that report the last action."""
    found = re.search('<div class="notice good" role="status">(.*?)</div>', page.text)
    return [unescape(line) for line in re.findall("<p>(.*?)</p>", found[1])] if found else []


# --- from page to page


async def test_what_is_ticked_stays_selected_from_page_to_page(served: Served, browser: Browser) -> None:
    await register_crowd(served, 60)
    page = await browser.get(f"{PEOPLE}?q=crowd&sort=-username&pageSize=20")
    page = await press(browser, page, "page=2", tick=2)
    assert "page 2 of 3" in page.text
    assert "2 selected" in page.text
    page = await press(browser, page, "tick=2")
    assert "22 selected" in page.text
    page = await press(browser, page, "page=1")
    assert "22 selected" in page.text
    assert page.text.count('form="selection" checked') == 2
    question = await press(browser, page, "page=1", to="/admin/selected/users/disable")
    assert "Disable: 22 selected" in question.text
    done = await confirm(browser, question)
    assert done.headers["location"] == f"{PEOPLE}?q=crowd&sort=-username&pageSize=20&page=1"
    page = await browser.follow(done)
    assert read_notice(page) == ["22 disabled."]
    assert "0 selected" in page.text
    assert count_enabled(served) == 38


# --- all that match


async def test_all_that_match_are_asked_about_by_number_and_done(served: Served, browser: Browser) -> None:
    ids = await register_crowd(served, 510)
    await served.api().sign_in("someone", "anna's password")
    page = await browser.get(f"{PEOPLE}?q=crowd")
    assert "All 510 that match" in page.text
    question = await press(browser, page, "all=1&page=1", to="/admin/selected/users/disable")
    assert "Disable: all 510 that match" in question.text
    assert "<li>Search: crowd</li>" in question.text
    assert "and 500 more" in question.text
    page = await browser.follow(await confirm(browser, question))
    assert read_notice(page) == ["510 disabled."]
    assert count_enabled(served) == 0
    trail = [entry for entry in served.audit() if entry.kind is FactKind.USER_DISABLED]
    assert {entry.user_id for entry in trail} == {*ids}
    again = await press(browser, page, "all=1&page=1", to="/admin/selected/users/disable")
    page = await browser.follow(await confirm(browser, again))
    assert read_notice(page) == ["0 disabled.", "510 were so already."]


async def test_what_matches_is_judged_again_when_it_is_done(served: Served, browser: Browser) -> None:
    await register_crowd(served, 30)
    question = await browser.get("/admin/selected/users/delete?q=crowd&all=1")
    await served.user("crowded")
    asked = await confirm(browser, question)
    assert asked.status_code == 200
    assert "Delete: all 31 that match" in asked.text
    assert "Another number matches now" in asked.text
    assert count_enabled(served) == 31
    assert read_notice(await browser.follow(await confirm(browser, asked))) == ["31 deleted."]


async def test_all_that_match_last_until_another_filter(served: Served, browser: Browser) -> None:
    await register_crowd(served, 30)
    page = await press(browser, await browser.get(f"{PEOPLE}?q=crowd"), "all=1&page=2")
    assert "30 selected" in page.text
    assert "all=1" not in (await browser.submit(page, {"q": "crowd00"}, to=PEOPLE)).headers["location"]


async def test_who_may_not_see_the_list_selects_nothing_by_a_filter(served: Served) -> None:
    await register_crowd(served, 3)
    browser = await browser_of(served, Permission.USER_UPDATE)
    led = await browser.get("/admin/selected/users/disable?q=crowd&all=1")
    assert (led.status_code, led.headers["location"]) == (303, "/")


# --- the result of an action


async def test_the_visitor_is_the_last_to_whom_it_is_done(served: Served) -> None:
    """A visitor who was disabled before the others could not disable the rest."""
    await register_crowd(served, 120)
    await served.user("another", roleIds=["super_admin"])
    browser = await served.sign_in_browser()
    question = await browser.get("/admin/selected/users/disable?all=1")
    assert "you are signed out at once" in question.text
    await confirm(browser, question)
    assert count_enabled(served) == 0
    left = [user.username for user in stored_users(served) if user.enabled]
    assert left == ["admin"], "the last of them stays"


async def test_only_who_may_change_records_can_select_them(served: Served) -> None:
    anna = await served.user("anna")
    browser = await browser_of(served, Permission.USER_LIST)
    assert 'type="checkbox"' not in (await browser.get(PEOPLE)).text
    assert (await browser.get(f"/admin/selected/users/disable?selected={anna}")).status_code == 403


async def test_no_more_are_selected_than_an_address_holds(served: Served, browser: Browser) -> None:
    ids = await register_crowd(served, 210)
    question = await browser.get(f"/admin/selected/users/disable?{urlencode({'selected': ids}, doseq=True)}")
    assert "Disable: 200 selected" in question.text
    assert "Only the first 200 are taken" in question.text
    assert "200 selected" in (await browser.get(f"{PEOPLE}?{urlencode({'selected': ids}, doseq=True)}")).text


async def test_no_more_are_taken_at_once_than_an_action_is_done_to(served: Served, browser: Browser) -> None:
    await register_crowd(served, 2_000)
    address = "/admin/selected/users/disable?all=1"
    assert "Disable: all 2000 that match" in (exactly := await browser.get(f"{address}&q=crowd")).text
    assert "At most" not in exactly.text
    more = (await browser.get(address)).text
    assert "Disable: all 2000 that match" in more
    assert "2002 match. At most 2000 are taken at once" in more


async def test_those_who_were_not_reached_in_time_are_counted(
    served: Served, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def decide_first(context: RequestContext, events: Sequence[Event]) -> list[Decision | None]:
        return [*await decide_each(context, events[:1]), None, None]

    monkeypatch.setattr(selected_action, "decide_each", decide_first)
    ids = ["nobody", *await register_crowd(served, 2)]
    question = await browser.get(f"/admin/selected/users/disable?{urlencode({'selected': ids}, doseq=True)}")
    told = read_notice(await browser.follow(await confirm(browser, question)))
    assert (told[0], told[-1]) == ("0 disabled.", "2 were not reached in time: please do it once more.")


@pytest.mark.parametrize("query", ["all=1&createdAtFrom=yesterday", "all=1&nonsense=1"])
async def test_a_filter_that_is_not_known_selects_nothing(browser: Browser, query: str) -> None:
    assert (await browser.get(f"/admin/selected/users/delete?{query}")).status_code == 400

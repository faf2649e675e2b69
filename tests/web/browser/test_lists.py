"""Lists in a real browser: how many rows a window shows, and what is selected with a script and without."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.browser import Visit, Visitor

PEOPLE = "/admin/people?q=crowd&pageSize=50"


@pytest.fixture(scope="module")
def crowd() -> set[str]:
    """Return the servers into which the crowd was imported."""
    return set()


def register_crowd(visitor: Visitor, crowd: set[str]) -> None:
    """Import sixty users, once into each server."""
    if visitor.household.server in crowd:
        return
    crowd.add(visitor.household.server)
    choose_users(visitor, "u.csv", *(f"crowd{number:02},Crowd {number}" for number in range(60)))
    visitor.press("Import")
    visitor.page.get_by_text("60 registered").wait_for()


def choose_users(visitor: Visitor, name: str, *rows: str) -> None:
    """Choose a file with these users for an import."""
    visitor.open("/admin/people/import")
    content = "\n".join(["username,name,locale,timezone", *rows]).encode()
    file: Any = {"name": name, "mimeType": "text/csv", "buffer": content}
    visitor.page.set_input_files("input[type=file]", file)


def test_a_wide_window_shows_fourteen_users_below_a_head_that_stays(visit: Visit, crowd: set[str]) -> None:
    visitor = visit("admin", viewport={"width": 1280, "height": 900}, timezone_id="Asia/Shanghai")
    register_crowd(visitor, crowd)
    visitor.open(PEOPLE)
    heights, seen = visitor.page.evaluate(
        """() => {
            const pane = document.querySelector(".wide-table").getBoundingClientRect();
            const rows = [...document.querySelectorAll("tbody tr")].map((row) => row.getBoundingClientRect());
            const bottom = Math.min(innerHeight, pane.bottom);
            return [rows.map((row) => row.height), rows.filter((row) => row.bottom <= bottom).length];
        }"""
    )
    assert max(heights) <= 44
    assert seen >= 14
    head = visitor.page.locator("thead th").first
    before = head.bounding_box()
    visitor.page.locator(".wide-table").evaluate("table => table.scrollTo(0, 500)")
    assert head.bounding_box() == before
    assert visitor.page.locator("time").first.evaluate("time => time.parentElement.title") != ""


@pytest.mark.parametrize("width", [360, 1280])
def test_ticked_rows_are_counted_and_kept_on_other_pages(visit: Visit, crowd: set[str], width: int) -> None:
    visitor = visit("admin", viewport={"width": width, "height": 800})
    register_crowd(visitor, crowd)
    page = visitor.page
    visitor.open(PEOPLE)
    disable = page.get_by_role("button", name="Disable")
    expect(disable).to_be_disabled()
    page.locator("tbody input[type=checkbox]").first.check()
    expect(page.get_by_text("1 selected")).to_be_visible()
    expect(disable).to_be_enabled()
    page.get_by_role("button", name="Select this page").click()
    expect(page.get_by_text("50 selected")).to_be_visible()
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("50 selected")).to_be_visible()
    page.locator("tbody input[type=checkbox]").first.check()
    if width > 1024:
        page.locator("thead a").first.click()
        expect(page.get_by_text("51 selected")).to_be_visible()
    page.get_by_label("All 60 that match").check()
    expect(page.get_by_text("60 selected")).to_be_visible()
    expect(page.locator("tbody input[type=checkbox]").first).to_be_disabled()
    page.get_by_role("link", name="Select none").click()
    expect(page.get_by_text("0 selected")).to_be_visible()
    bar = page.locator("#selection")
    page.evaluate("scrollTo(0, document.body.scrollHeight / 2)")
    if width == 360:
        assert bar.evaluate("bar => bar.getBoundingClientRect().top") == 0
    assert visitor.complaints == []


def test_without_a_script_an_action_on_nothing_says_so_once(visit: Visit, crowd: set[str]) -> None:
    visitor = visit("admin", java_script_enabled=False)
    register_crowd(visitor, crowd)
    visitor.open(PEOPLE)
    visitor.press("Disable")
    assert "Nothing was selected, so nothing was done." in visitor.text
    visitor.page.reload()
    assert "Nothing was selected" not in visitor.text


@pytest.mark.parametrize("has_script", [True, False])
def test_the_file_of_an_import_is_chosen_once_and_previewed_in_lines(visit: Visit, has_script: bool) -> None:
    visitor = visit("admin", viewport={"width": 1280, "height": 900}, java_script_enabled=has_script)
    rows = (f"once{number}{has_script},Once {number},zh-CN,Asia/Tokyo" for number in range(3))
    choose_users(visitor, "once.csv", *rows)
    visitor.press("Preview")
    lines = visitor.page.locator(".preview tbody tr")
    lines.first.wait_for()
    assert max(line.bounding_box()["height"] for line in lines.all()) <= 44  # type: ignore[index]
    expect(visitor.page.get_by_text("Kept for an hour: once.csv")).to_be_visible()
    visitor.press("Import")
    visitor.page.get_by_text("3 registered").wait_for()

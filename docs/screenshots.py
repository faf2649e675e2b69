"""`make screenshots`: every page in a wide window by day and a narrow one by night, into `docs/pages/`.

For whoever reviews a change of the pages; they are looked at, not compared. What each shows says `captions`.
"""

import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser

from docs.captions import CAPTIONS
from tests.support.browser import ROOMS, Household, Visitor, a_browser, a_household, a_visitor
from tests.web.browser.test_signing_in import request_for

_DOCS = Path(__file__).parent
_LOOKS = (
    ("wide", {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light", "locale": "en-US"}),
    ("narrow", {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark", "locale": "zh-CN"}),
)

_DAYS = 30
"""Days of sign-ins and changes that are there to look at."""

_FORGET_THE_MACHINE = """() => {
    for (const each of document.querySelectorAll(".attention li"))
        if (/[^:\\w\\/]\\/[a-z]+\\//.test(each.textContent)) each.remove();
}"""
"""Script that removes what the overview says of paths on the machine that takes the pictures."""


def main() -> None:
    """Look at every page, and write down where the pictures are."""
    folder = _DOCS / "pages"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    with (
        tempfile.TemporaryDirectory() as scratch,
        a_browser() as browser,
        a_household(Path(scratch), _DAYS) as household,
    ):
        history = _some_history(browser, household)
        names: dict[str, None] = {}
        for look, profile in _LOOKS:
            with a_visitor(browser, household, timezone_id="Asia/Shanghai", **profile) as visitor:
                names |= _look(visitor, household, folder, look)
                visitor.open(history)
                _shoot(visitor, folder / f"session-history-{look}.png")
                visitor.context.clear_cookies()
                _try_everything(visitor)
                _shoot(visitor, folder / f"demo-shop-{look}.png")
    _write_index([*names, "session-history", "demo-shop"])


def _some_history(browser: Browser, household: Household) -> str:
    """A customer whose token is stolen; the address of what became of that session."""
    with a_visitor(browser, household) as shopper:
        _try_everything(shopper)
    with a_visitor(browser, household) as administrator:
        administrator.sign_in("admin")
        administrator.open("/admin/audit?kind=session-ended")
        address = administrator.page.get_by_role("link", name="History").first.get_attribute("href")
        assert address is not None
        return address


def _try_everything(shopper: Visitor) -> None:
    """A session of the demonstration from its beginning to its theft."""
    shopper.page.goto(shopper.household.shop)
    shopper.page.locator("form[action='/start'] button").click()
    shopper.sign_in("alice")
    if shopper.path == "/sso":
        shopper.agree()
    for deed in ("refresh", "retry", "steal"):
        shopper.page.locator(f"form[action='/do/{deed}'] button").click()


def _look(visitor: Visitor, household: Household, folder: Path, look: str) -> dict[str, None]:
    """Take pictures of all pages but those that lead on to another; return the names, in their order."""
    names: dict[str, None] = {}
    for username, paths in ROOMS.items():
        visitor.context.clear_cookies()
        if username:
            visitor.sign_in(username)
        for path in paths:
            visitor.open({"/sso": request_for(household), "/admin": "/admin?range=month"}.get(path, path))
            if visitor.path == urlsplit(path).path:
                names[_name(path, username)] = None
                _shoot(visitor, folder / f"{_name(path, username)}-{look}.png")
    return names


def _shoot(visitor: Visitor, file: Path) -> None:
    visitor.page.evaluate(_FORGET_THE_MACHINE)
    visitor.page.screenshot(path=file, full_page=True)
    sys.stdout.write(f"{file.name}\n")


def _name(path: str, username: str) -> str:
    parts = urlsplit(path)
    words = [part for part in parts.path.split("/") if part]
    words = words or ["home-signed-in" if username else "home"]
    return "-".join((*words, *(["invalid"] if "nobody" in parts.query else ["coded"] if parts.query else [])))


def _write_index(names: list[str]) -> None:
    lines = [
        "# The pages",
        "",
        "Each in a wide window by day, in English, and in a narrow one by night, in Chinese, on a server",
        "with thirty days of sign-ins and changes behind it. `make screenshots` writes them again.",
        "",
    ]
    for name in names:
        sentence = CAPTIONS[name]
        lines += [
            f"## {name}",
            "",
            sentence,
            "",
            f"![{sentence} In a wide window, by day.](pages/{name}-wide.png)",
            "",
            f"![{sentence} In a narrow window, by night, in Chinese.](pages/{name}-narrow.png)",
            "",
        ]
    (_DOCS / "pages.md").write_text("\n".join(lines[:-1]) + "\n")


if __name__ == "__main__":
    main()

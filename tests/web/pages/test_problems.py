"""The front door answers a browser with a page of what is wrong, and a program with none."""

import pytest

from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_net.turns.turns import Turns
from ostiary_web.pages.problem import find_refusal_page, has_page
from ostiary_web.texts import LANGUAGES
from tests.support.callers import Browser
from tests.support.served import Served

BY_BROWSER = {"Accept": "text/html"}


@pytest.mark.parametrize(
    "refused, status, heading",
    [(404, 404, "not_found"), (408, 400, "too_slow"), (413, 413, "too_large"), (431, 414, "too_long")],
)
async def test_what_the_front_door_refuses_a_browser_is_said_on_a_page(
    served: Served, refused: int, status: int, heading: str
) -> None:
    door = {"ostiary.refused": refused, "ostiary.source": "203.0.113.7", "ostiary.trace_id": "0" * 32}
    app = served.application.quart
    async with app.test_request_context("/login", method="POST", headers=BY_BROWSER, scope_base=door):
        page = await find_refusal_page()
    assert page is not None
    assert page.status_code == status
    assert f"<h1>{LANGUAGES.default.text(f'page.{heading}')}</h1>" in str(await page.get_data(as_text=True))


@pytest.mark.parametrize(
    "status, path, header, may_have",
    [
        (408, "/login", b"accept", True),
        (400, "/login", b"accept", False),
        (408, "/api/auth/login", b"accept", False),
        (408, "/login", b"x-accept", False),
    ],
)
def test_a_page_is_for_browsers_alone(status: int, path: str, header: bytes, may_have: bool) -> None:
    assert has_page(status, {"path": path, "headers": [(header, b"text/html")]}) == may_have


async def test_a_failure_of_the_server_is_said_on_a_page(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise TurnFailed

    monkeypatch.setattr(Turns, "decide", fail)
    page = await browser.get("/account/sessions", headers=BY_BROWSER)
    assert (page.status_code, LANGUAGES.default.text("page.went_wrong") in page.text) == (500, True)

"""The page shown in place of one that does not exist or could not be made."""

from contextlib import suppress
from typing import Final

from quart import Response, request

from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.why import Why
from ostiary_net.front_door.limits import Scope
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_web.http.context import request_context
from ostiary_web.pages.context import PageContext, choose_language, find_opened_page, open_page, render

_HEADINGS: Final = {
    403: "page.not_yours",
    405: "page.form_answer",
    413: "page.too_large",
    414: "page.too_long",
    429: "page.too_fast",
}
_REFUSED_AT_THE_DOOR: Final = {
    404: Why.ROUTE_UNKNOWN,
    408: Why.REQUEST_MALFORMED,
    413: Why.BODY_TOO_LARGE,
    431: Why.ADDRESS_TOO_LONG,
}
"""Reasons that a visitor can mend, or wait for, by status."""


def wants_page() -> bool:
    """Whether a browser asks for a page, and not a program for data."""
    return _is_page(request.path, request.headers.get("Accept", ""))


def has_page(status: int, scope: Scope) -> bool:
    """Whether there is a page for a request that the front door refuses."""
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept")
    return status in _REFUSED_AT_THE_DOOR and _is_page(scope["path"], accepted.decode("latin-1"))


def _is_page(path: str, accepted: str) -> bool:
    return not path.startswith(("/api/", "/files/")) and "text/html" in accepted


async def find_refusal_page() -> Response | None:
    """Return the page for a request that the front door refuses; None for any other."""
    scope: Scope = request.scope  # type: ignore[assignment]
    status: int | None = scope.get("ostiary.refused")
    if status is None:
        return None
    return await problem_page(_REFUSED_AT_THE_DOOR[status], "page.too_slow" if status == 408 else None)


async def problem_page(why: Why, heading: str | None = None) -> Response:
    """Return a page that says what is wrong; read the store only for an address without a page."""
    if why is Why.ROUTE_UNKNOWN and request.method == "GET" and find_opened_page() is None:
        with suppress(TurnFailed):
            await open_page()
    page = find_opened_page() or PageContext(request_context(), choose_language(None))
    if why is Why.ADDRESS_TOO_LONG:
        page.address = "/"
    status = MEANINGS[why].status
    usual = "page.not_found" if status < 500 else "page.went_wrong"
    if why is Why.METHOD_NOT_ALLOWED and request.method == "POST":
        heading = "page.no_form"
    heading = heading or _HEADINGS.get(status, usual)
    return await render(
        page, "problem.html", refused=why, heading=page.text(heading), lead=page.text(f"{heading}_lead")
    )

"""What a person sees in place of a page that is not there or could not be made."""

from typing import Final

from quart import Response, request

from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.why import Why
from ostiary_web.http.context import request_context
from ostiary_web.pages.context import PageContext, opened_page, render, visitors_language

_HEADINGS: Final = {403: "page.not_yours", 414: "page.too_long", 429: "page.too_fast"}


def is_for_a_person() -> bool:
    """Whether a browser asks for a page, and not a program for data."""
    return not request.path.startswith(("/api/", "/files/")) and "text/html" in request.headers.get(
        "Accept", ""
    )


async def problem_page(why: Why) -> Response:
    """A page that says what is the matter. It asks the store for nothing: that may be what is wrong."""
    page = opened_page() or PageContext(request_context(), visitors_language(None))
    if why is Why.ADDRESS_TOO_LONG:
        page.address = "/"
    status = MEANINGS[why].status
    heading = _HEADINGS.get(status, "page.not_found" if status < 500 else "page.went_wrong")
    return await render(
        page, "problem.html", refused=why, heading=page.text(heading), lead=page.text(f"{heading}_lead")
    )

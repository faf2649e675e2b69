"""Mistakes in how a refusal is told: with another status or code, by a page that says something else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from fuzz.faults.planting import Fault
from fuzz.simulation.faults.plants import function, method
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.why import Why
from ostiary_web.pages import context
from ostiary_web.pages.context import render


def meant(why: Why, **changes: Any) -> Callable[[], Any]:
    """A plant that gives a reason another meaning for a while."""

    @contextmanager
    def planted() -> Iterator[None]:
        meaning = MEANINGS[why]
        before = {name: getattr(meaning, name) for name in changes}
        for name, value in changes.items():
            object.__setattr__(meaning, name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                object.__setattr__(meaning, name, value)

    return planted


async def page_of_another(page: Any, template: str, *, refused: Any = None, **values: Any) -> Any:
    """Whatever is wrong with a request, the page says that it is the response type."""
    told = refused if refused is None else Why.RESPONSE_TYPE_UNSUPPORTED
    return await render(page, template, refused=told, **values)


async def page_forbidden(page: Any, template: str, *, refused: Any = None, **values: Any) -> Any:
    """The page says why, and its status something else."""
    response = await render(page, template, refused=refused, **values)
    response.status_code = 200 if refused is None else 403
    return response


async def page_without_question(page: Any, template: str, **values: Any) -> Any:
    """The question is not put."""
    return await render(page, "consent_error.html" if template == "consent.html" else template, **values)


FAULTS: Final = (
    Fault(
        "status-of-another",
        "a wrong current password is answered 400",
        meant(Why.CURRENT_PASSWORD_WRONG, status=400),
    ),
    Fault(
        "failure-unknown", "a failure has a code that nobody knows", meant(Why.INTERNAL_ERROR, code="A0999")
    ),
    Fault(
        "no-challenge",
        "a 401 does not say by which scheme to authenticate",
        function("ostiary_core.http.token_service._CHALLENGE", (b"x-authenticate", b"Basic")),
    ),
    Fault(
        "page-of-another",
        "the page at /sso gives the reason of another request",
        function("ostiary_web.pages.consent.render", page_of_another),
    ),
    Fault(
        "page-forbidden",
        "the page at /sso has another status than its reason",
        function("ostiary_web.pages.consent.render", page_forbidden),
    ),
    Fault(
        "page-without-reason",
        "the page at /sso gives no reason",
        method(context, "text_of", lambda original: lambda *asked: ""),
    ),
    Fault(
        "page-without-question",
        "the page at /sso does not put the question",
        function("ostiary_web.pages.consent.render", page_without_question),
    ),
)

"""Routes of pages: who may see one, and which forms really come from a page of ours (READINGS 25)."""

from typing import Any, ClassVar

from quart import Response, request

from ostiary_core.model.reply import Refused
from ostiary_core.model.why import Why
from ostiary_web.http.context import RequestRefused, request_context
from ostiary_web.http.gate import Gate, GatedRoutes, Handler
from ostiary_web.pages.addresses import is_too_long_to_return_to, password_page, sign_in_page, this_address
from ostiary_web.pages.context import PageContext, open_page, render
from ostiary_web.pages.problem import problem_page


class PageRoutes(GatedRoutes):
    """Routes that each have a gate, and whose handlers are given a page.

    Whoever is not let in is led to where they have to go first; what they sent is not read, be it a password
    or a whole sheet. A form that somebody else's page made is not handed on. `form_is_on` is the page that
    the form was on, where that has another address than what takes the form.

    Of a form that is open to all the handler looks where it comes from, as each says so in its own way.
    """

    own_options: ClassVar = frozenset({"form_is_on"})

    def behind(self, gate: Gate, handler: Handler, *, form_is_on: str | None = None, **own: Any) -> Handler:
        """The view of a route: its gate, and the handler behind it."""

        async def view(**parts: str) -> Response:
            is_form = request.method == "POST"
            if not is_form and not gate.is_open and is_too_long_to_return_to():
                request_context().log_refusal(Why.ADDRESS_TOO_LONG)
                return await problem_page(Why.ADDRESS_TOO_LONG)
            page = await open_page()
            if is_form and not gate.is_open:
                page.address = this_address() if form_is_on is None else form_is_on.format(**parts)
            elsewhere = redirect_before_use(page, gate)
            if elsewhere is not None:
                return elsewhere
            if is_form:
                page.form = await request.form
                if not gate.is_open:
                    try:
                        page.require_own_form()
                    except RequestRefused as refusal:
                        return await render(page, "expired.html", refused=refusal.reply)
            return await handler(page, **parts)

        return view


def redirect_before_use(page: PageContext, gate: Gate) -> Response | None:
    """Whoever cannot be here yet, sent to where they have to go first; raises `RequestRefused` for who lacks
    the permission."""
    match gate.refusal(page.request.account_known):
        case None:
            return None
        case Why.NOT_SIGNED_IN:
            return page.redirect(sign_in_page(page.address))
        case Why.PASSWORD_MUST_CHANGE:
            return page.redirect(password_page(page.address))
        case why:
            raise RequestRefused(Refused(why))

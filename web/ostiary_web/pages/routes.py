"""Routes of pages: their gates, and which forms come from this server's pages (READINGS 25)."""

from typing import Any, ClassVar, Final

from quart import Response, request

from ostiary_core.model.reply import Refused
from ostiary_core.model.why import Why
from ostiary_web.http.browser import (
    FORM_FIELD,
    USER_OF_FORM,
    has_login_cookies,
    has_proven_origin,
    is_of_own_page,
)
from ostiary_web.http.context import ProofRequired, RequestRefused, request_context
from ostiary_web.http.gate import Gate, GatedRoutes, Handler
from ostiary_web.pages.addresses import (
    is_too_long_to_return_to,
    password_page,
    second_factor_page,
    sign_in_page,
    this_address,
)
from ostiary_web.pages.context import PageContext, open_page, render
from ostiary_web.pages.kept import keep_typed, take_typed
from ostiary_web.pages.problem import problem_page
from ostiary_web.pages.proof import ask_for_proof, take_proof

_LONGEST_LOST_FORM: Final = 64 * 1024
"""Longest form that is read of a visitor who is not signed in any more."""


class PageRoutes(GatedRoutes):
    """Routes that each have a gate, and whose handlers are given a page.

    A visitor who may not pass is redirected to the page they need first, and the form is not read. A form of
    another site's page is refused. What was typed into a form of ours whose session has ended is kept until
    its user has signed in again. `form_is_on` is the page with the form, if it has another address.

    The handler of a form that is open to all checks the form's origin itself, as each shows it differently.
    """

    own_options: ClassVar = frozenset({"form_is_on"})

    def behind(self, gate: Gate, handler: Handler, *, form_is_on: str | None = None, **own: Any) -> Handler:
        """Return the view of a route: its gate, then its handler."""

        async def view(**parts: str) -> Response:
            is_form = request.method == "POST"
            if not is_form and not gate.is_open and is_too_long_to_return_to():
                request_context().log_refusal(Why.ADDRESS_TOO_LONG)
                return await problem_page(Why.ADDRESS_TOO_LONG)
            page = await open_page()
            if is_form and not gate.is_open:
                page.address = this_address(form_is_on and form_is_on.format(**parts))
            if is_form and page.user is None and not gate.is_open:
                await _keep_lost_form(page)
            elsewhere = await redirect_before_use(page, gate)
            if elsewhere is not None:
                return elsewhere
            if not is_form:
                take_typed(page, request.path)
            else:
                page.form = await request.form
                if not gate.is_open:
                    try:
                        page.require_own_form()
                    except RequestRefused as refusal:
                        return await render(page, "expired.html", refused=refusal.reply)
                    page.request.may_ask_for_proof = True
                    wrong = await take_proof(page)
                    if wrong is not None:
                        return await ask_for_proof(page, wrong)
            try:
                answer: Response = await handler(page, **parts)
            except ProofRequired:
                return await ask_for_proof(page, None)
            return answer

        return view


async def _keep_lost_form(page: PageContext) -> None:
    """Keep what was typed into a form of ours whose session has ended, for the same user."""
    length = request.content_length
    is_short = length is not None and length <= _LONGEST_LOST_FORM
    if not (is_short and has_login_cookies()) or request.mimetype != "application/x-www-form-urlencoded":
        return
    page.form = await request.form
    token = page.form.get(FORM_FIELD, "")
    user = token.partition(USER_OF_FORM)[2]
    if user and (has_proven_origin(token) or is_of_own_page()):
        keep_typed(page, page.address, this_address(), user)


async def redirect_before_use(page: PageContext, gate: Gate) -> Response | None:
    """Redirect to what comes first, as a sign-in; raise `RequestRefused` without the permission."""
    page.request.permission = gate.permission
    match gate.refusal(page.request.account_known):
        case None:
            return None
        case Why.NOT_SIGNED_IN:
            was_signed_in = request.method == "POST" or has_login_cookies()
            return page.redirect(sign_in_page(page.address, *(["signed_out=1"] if was_signed_in else [])))
        case Why.PASSWORD_MUST_CHANGE:
            return page.redirect(password_page(page.address))
        case Why.SECOND_FACTOR_REQUIRED:
            return page.redirect(second_factor_page(page.address))
        case why:
            await gate.require_account(page.request)
            raise RequestRefused(Refused(why))

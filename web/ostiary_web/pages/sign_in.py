"""Pages for signing in, in one step or two, for signing out, and for the password."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs, urlsplit

from quart import Response

from ostiary_core.events import ClientRequested, Operator, SignedOut
from ostiary_core.model.reply import ClientKnown, LoginIssued, Refused, SecondFactorAsked
from ostiary_core.model.sign_in_ticket import read_ticket
from ostiary_core.model.user import LONGEST_PASSWORD
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import Operation
from ostiary_web.application.own_account import LONGEST_USERNAME, change_password, sign_in
from ostiary_web.application.recovery import has_text_recovery
from ostiary_web.application.second_factor import (
    LONGEST_CODE,
    LONGEST_TICKET,
    begin_at_sign_in,
    finish_sign_in,
)
from ostiary_web.http.browser import (
    TYPED,
    forget_login,
    is_cross_site,
    own_origin,
    read_kept_cookie,
    renew_form_cookie,
)
from ostiary_web.http.context import RequestRefused
from ostiary_web.http.gate import BEFORE_PASSWORD_CHANGE, OPEN_TO_ALL
from ostiary_web.pages.addresses import (
    has_parameter,
    local_path,
    may_lead_away,
    password_page,
    recovery_page,
    return_address,
    second_factor_page,
    see_other,
    sign_in_page,
)
from ostiary_web.pages.context import PageContext, find_landing_page, render, render_on_the_way
from ostiary_web.pages.kept import forget_kept, read_kept, redirect_keeping
from ostiary_web.pages.offered_factor import (
    CODES_FILE,
    offer_fields,
    read_offer,
    send_codes_file,
    show_set_up,
)
from ostiary_web.pages.routes import PageRoutes, redirect_before_use

sign_in_pages = PageRoutes("sign_in", __name__)

_CODE: Final = "/login/second-factor"
_CODE_AGAIN: Final = (Why.SIGN_IN_CODE_WRONG, Why.SIGN_INS_TOO_FREQUENT, Why.FIELDS_INVALID)
"""Refusals after which another code may be entered."""


@sign_in_pages.get("/login", gate=OPEN_TO_ALL)
async def show_sign_in(page: PageContext) -> Response:
    """Show the sign-in form; redirect a user who is already signed in."""
    return_to = return_address()
    if page.user is not None and not has_parameter("switch"):
        return page.redirect(return_to)
    return await _sign_in_form(page, return_to)


@sign_in_pages.post("/login", gate=OPEN_TO_ALL)
async def submit_sign_in(page: PageContext) -> Response:
    """Sign in and redirect to the form's local path (READINGS 27)."""
    context, return_to = page.request, local_path(page.form.get("next", ""))
    page.address = page.sign_in_page(return_to)
    username, password = page.form.get("username", ""), page.form.get("password", "")
    kept_username = ""
    try:
        context.count_against_limit(Operation.SIGN_IN)
        if not is_cross_site(own_origin()) and not page.is_form_ours:
            kept_username = username if len(username) <= LONGEST_USERNAME else ""
        page.require_own_form()
        if not 0 < len(username) <= LONGEST_USERNAME or not 0 < len(password) <= LONGEST_PASSWORD:
            context.refuse(Why.SIGN_IN_WRONG)
        kept_username = username
        reply = await sign_in(context, username, password)
        if isinstance(reply, SecondFactorAsked):
            return await _go_to_second_step(page, return_to, reply)
    except RequestRefused as refusal:
        return await _sign_in_form(page, return_to, refusal.reply, kept_username)
    return await _finish(page, return_to, reply)


async def _go_to_second_step(page: PageContext, return_to: str, asked: SecondFactorAsked) -> Response:
    """Redirect to the question for a code or, if a second factor must be set up first, to a new one."""
    fields = {"ticket": asked.ticket.reveal()}
    if asked.set_up_required:
        fields |= offer_fields(await begin_at_sign_in(page.request, fields["ticket"]))
    return redirect_keeping(page, second_factor_page(return_to, _CODE), fields)


@sign_in_pages.get(_CODE, gate=OPEN_TO_ALL)
async def show_second_step(page: PageContext) -> Response:
    """Ask for a code, or show the second factor to set up; redirect a visitor without a ticket to sign in."""
    return_to, kept = return_address(), read_kept(page, _CODE)
    if "ticket" not in kept:
        return page.redirect(page.sign_in_page(return_to))
    return await _second_step(page, return_to, kept)


@sign_in_pages.get(f"/login/{CODES_FILE}", gate=OPEN_TO_ALL)
async def send_offered_codes(page: PageContext) -> Response:
    """Send the recovery codes of the second factor that is set up at the sign-in, as a file."""
    kept = read_kept(page, _CODE)
    if "recovery_codes" not in kept:
        return page.redirect(page.sign_in_page("/"))
    return send_codes_file(page, kept["recovery_codes"].split())


async def _second_step(
    page: PageContext, return_to: str, fields: Mapping[str, str], reply: Refused | None = None
) -> Response:
    ticket = fields["ticket"]
    known = read_ticket(ticket)
    offered = None if known is None else read_offer(page, fields, known.username)
    if offered is not None:
        return await show_set_up(page, offered, _CODE, reply, return_to=return_to, ticket=ticket)
    return await _code_form(page, return_to, ticket, reply)


@sign_in_pages.post(_CODE, gate=OPEN_TO_ALL)
async def submit_code(page: PageContext) -> Response:
    """Finish a sign-in by a code of the second factor, or by the first code of a new one."""
    context, return_to = page.request, local_path(page.form.get("next", ""))
    ticket = page.form.get("ticket", "")
    page.address = second_factor_page(return_to, _CODE)
    try:
        context.count_against_limit(Operation.SIGN_IN)
        page.require_own_form()
        code = page.require_code()
        if len(ticket) > LONGEST_TICKET or len(code) > LONGEST_CODE:
            context.refuse(Why.SIGN_IN_EXPIRED)
        login = await finish_sign_in(context, ticket, code)
    except RequestRefused as refusal:
        reply = refusal.reply
        if reply.why not in _CODE_AGAIN or read_ticket(ticket) is None:
            page.address = page.sign_in_page(return_to)
            return await _sign_in_form(page, return_to, reply)
        return await _second_step(page, return_to, page.form, reply)
    forget_kept(page)
    return await _finish(page, return_to, login)


async def _finish(page: PageContext, return_to: str, login: LoginIssued) -> Response:
    """Keep a new login session in the browser, and go where the sign-in leads."""
    context = page.request
    if context.signed_in is not None and page.user is not None:
        # End the former user's session: no browser holds its cookie any more.
        await context.submit(SignedOut(caller=context.signed_in))
        if login.user_id != page.user.user_id:
            # Forms that other tabs still show must not be sent in the new user's name.
            renew_form_cookie(context)
    page.renewed = login
    if return_to == "/":
        return_to = await find_landing_page(context, login)
    return page.redirect(password_page(return_to) if login.must_change_password else return_to)


@sign_in_pages.post("/logout", gate=OPEN_TO_ALL)
async def sign_out(page: PageContext) -> Response:
    """Sign out, and redirect to the sign-in page."""
    try:
        page.require_own_form()
    except RequestRefused as refusal:
        return await render(page, "home.html", refused=refusal.reply)
    if page.request.signed_in is not None:
        await page.request.submit(SignedOut(caller=page.request.signed_in))
    return forget_login(see_other("/login"))


@sign_in_pages.get("/password", gate=BEFORE_PASSWORD_CHANGE)
async def show_password(page: PageContext) -> Response:
    """Show the form for a new password."""
    return await _password_form(page, return_address())


@sign_in_pages.post("/password", gate=OPEN_TO_ALL)
async def submit_password(page: PageContext) -> Response:
    """Set the new password and redirect to the form's path, also after a sign-in in between."""
    form, return_to = page.form, local_path(page.form.get("next", ""))
    page.address = password_page(return_to)
    elsewhere = await redirect_before_use(page, BEFORE_PASSWORD_CHANGE)
    if elsewhere is not None:
        return elsewhere
    try:
        page.require_own_form()
        await change_password(page.request, form.get("old_password", ""), form.get("new_password", ""))
    except RequestRefused as refusal:
        if refusal.reply.why is Why.CURRENT_PASSWORD_WRONG_REPEATEDLY:
            return await show_signed_out(page, return_to, refusal.reply)
        return await _password_form(page, return_to, refusal.reply)
    return page.redirect(return_to)


async def show_signed_out(page: PageContext, return_to: str, reply: Refused) -> Response:
    """Show the sign-in page to a user whom wrong passwords signed out."""
    username = "" if page.user is None else page.user.username
    page.request.signed_in = page.request.account_known = None
    page.address = sign_in_page(return_to)
    return await _sign_in_form(page, return_to, reply, username)


async def _sign_in_form(
    page: PageContext, return_to: str, reply: Refused | None = None, username: str = ""
) -> Response:
    return await render_on_the_way(
        page,
        "sign_in.html",
        return_to,
        reply,
        forgotten=recovery_page(return_to) if has_text_recovery(page.request) else None,
        username=username,
        application=await _find_application(page, return_to),
        notice=page.text("page.recovered") if has_parameter("recovered") else None,
        is_signed_out=has_parameter("signed_out"),
        is_form_kept=bool(read_kept_cookie(TYPED)),
    )


async def _find_application(page: PageContext, return_to: str) -> str | None:
    """Return the name of the client whose authorization request waits behind the sign-in.

    Only that of a registered client with this redirect URI: else a made-up link could lend itself a name.
    """
    if not may_lead_away(return_to):
        return None
    query = parse_qs(urlsplit(return_to).query)
    client_id, redirect_uri = (query.get(name, [""])[0] for name in ("client_id", "redirect_uri"))
    reply = (await page.request.submit(ClientRequested(caller=Operator(), client_id=client_id))).reply
    if not isinstance(reply, ClientKnown) or not reply.client.enabled:
        return None
    return reply.client.name if redirect_uri in reply.client.redirect_uris else None


async def _code_form(
    page: PageContext, return_to: str, ticket: str, reply: Refused | None = None
) -> Response:
    back = page.sign_in_page(return_to)
    return await render_on_the_way(page, "sign_in_code.html", return_to, reply, sign_in=back, ticket=ticket)


async def _password_form(page: PageContext, return_to: str, reply: Refused | None = None) -> Response:
    return await render_on_the_way(page, "password.html", return_to, reply)

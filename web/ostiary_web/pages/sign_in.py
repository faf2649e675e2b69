"""Signing in and out, and the password: what people meet before anything else."""

from quart import Blueprint, Response, request

from ostiary_core.events import SignedOut
from ostiary_core.model.decision import Refused
from ostiary_core.model.identifiers import canonical_username
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import Operation
from ostiary_core.users.user_fields import LONGEST_PASSWORD
from ostiary_web.auth import LONGEST_USERNAME, change_password, sign_in
from ostiary_web.browser import (
    FORM_FIELD,
    comes_from_elsewhere,
    forget_login,
    own_origin,
    proves_origin,
    renew_form_cookie,
)
from ostiary_web.pages.addresses import (
    local_path,
    onward_origin,
    password_page,
    recovery_page,
    see_other,
    sign_in_page,
)
from ostiary_web.pages.visit import Visit, open_visit, page

__all__ = ["show_signed_out", "sign_in_pages"]

sign_in_pages = Blueprint("sign_in", __name__)


@sign_in_pages.get("/login")
async def show_sign_in() -> Response:
    """The sign-in form; someone already signed in goes straight on."""
    visit = await open_visit()
    onward = local_path(request.args.get("next", ""))
    if visit.user is not None and request.args.get("switch") != "1":
        return visit.keep(see_other(onward))
    return await _sign_in_form(visit, onward)


@sign_in_pages.post("/login")
async def take_sign_in() -> Response:
    """Sign in and go on to where the form was meant for, a local path in any case (READINGS 27)."""
    visit = await open_visit()
    form = await request.form
    onward = local_path(form.get("next", ""))
    visit.again = visit.sign_in_page(onward)
    too_many = visit.too_many(Operation.SIGN_IN)
    if too_many is not None:
        return await _sign_in_form(visit, onward, too_many)
    username, password = form.get("username", "").strip(), form.get("password", "")
    if not proves_origin(form.get(FORM_FIELD, "")):
        unproven = Refused(Why.ORIGIN_UNPROVEN)
        if comes_from_elsewhere(own_origin()):
            return await _sign_in_form(visit, onward, unproven)
        known = username if len(username) <= LONGEST_USERNAME else ""
        return await _sign_in_form(visit, onward, unproven, known, visit.text("sign_in_stale"))
    if not 0 < len(username) <= LONGEST_USERNAME or not 0 < len(password) <= LONGEST_PASSWORD:
        return await _sign_in_form(visit, onward, Refused(Why.SIGN_IN_WRONG))
    reply = await sign_in(visit.here, username, password)
    if isinstance(reply, Refused):
        return await _sign_in_form(visit, onward, reply, username)
    if visit.who is not None and visit.user is not None:
        # Whoever was signed in here before is not any more: nobody could sign that session out.
        await visit.here.decide(SignedOut(caller=visit.who))
        if canonical_username(username) != canonical_username(visit.user.username):
            # What other tabs still show of theirs is not sent in the name of whoever came after them.
            renew_form_cookie(visit.here)
    visit.renewed = reply
    return visit.keep(see_other(password_page(onward) if reply.must_change_password else onward))


@sign_in_pages.post("/logout")
async def sign_out() -> Response:
    """Sign out, and back to the sign-in page."""
    visit = await open_visit()
    form = await request.form
    if not proves_origin(form.get(FORM_FIELD, "")):
        return await page(visit, "home.html", refused=Why.ORIGIN_UNPROVEN)
    if visit.who is not None:
        await visit.here.decide(SignedOut(caller=visit.who))
    return forget_login(see_other("/login"))


@sign_in_pages.get("/password")
async def show_password() -> Response:
    """The form for a new password."""
    visit = await open_visit()
    onward = local_path(request.args.get("next", ""))
    if visit.user is None:
        return visit.keep(see_other(sign_in_page(password_page(onward))))
    return await _password_form(visit, onward)


@sign_in_pages.post("/password")
async def take_password() -> Response:
    """Take the new password and go on."""
    visit = await open_visit()
    form = await request.form
    onward = local_path(form.get("next", ""))
    visit.again = password_page(onward)
    if visit.user is None or visit.who is None:
        return visit.keep(see_other(sign_in_page(visit.again)))
    old, new = form.get("old_password", ""), form.get("new_password", "")
    if not proves_origin(form.get(FORM_FIELD, "")):
        return await _password_form(visit, onward, Refused(Why.ORIGIN_UNPROVEN))
    if new != form.get("new_password_again", ""):
        differ = (visit.text("passwords_differ"),)
        return await _password_form(visit, onward, Refused(Why.FIELDS_INVALID), differ)
    reply = await change_password(visit.here, visit.who, old, new)
    if reply is not None and reply.why is Why.CURRENT_PASSWORD_WRONG_REPEATEDLY:
        return await show_signed_out(visit, onward, reply)
    if reply is not None:
        return await _password_form(visit, onward, reply)
    return visit.keep(see_other(onward))


async def show_signed_out(visit: Visit, onward: str, reply: Refused) -> Response:
    """The sign-in page for somebody whom a wrong password signed out: no form of theirs leads anywhere."""
    username = "" if visit.user is None else visit.user.username
    visit.who = visit.account = None
    visit.again = sign_in_page(onward)
    return await _sign_in_form(visit, onward, reply, username)


async def _sign_in_form(
    visit: Visit,
    onward: str,
    reply: Refused | None = None,
    username: str = "",
    trouble: str | None = None,
) -> Response:
    return await page(
        visit,
        "sign_in.html",
        refused=reply,
        form_origin=onward_origin(onward),
        onward=onward,
        forgotten=recovery_page(onward),
        username=username,
        trouble=trouble,
        notice=visit.text("recovered") if request.args.get("recovered") else None,
    )


async def _password_form(
    visit: Visit, onward: str, reply: Refused | None = None, faults: tuple[str, ...] | None = None
) -> Response:
    return await page(
        visit,
        "password.html",
        refused=reply,
        faults=faults,
        form_origin=onward_origin(onward),
        onward=onward,
    )

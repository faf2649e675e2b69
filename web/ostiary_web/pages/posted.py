"""A form that a page of ours sent: by whom, and that it really is one of ours (READINGS 25)."""

from typing import NamedTuple

from quart import Response, request
from werkzeug.datastructures import MultiDict

from ostiary_core.events import SignedIn
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import User
from ostiary_core.model.why import Why
from ostiary_web.browser import FORM_FIELD, proves_origin
from ostiary_web.pages.addresses import password_page, see_other, sign_in_page
from ostiary_web.pages.problem import problem
from ostiary_web.pages.visit import Visit, open_visit, page

__all__ = ["Posted", "posted", "turned_away"]


class Posted(NamedTuple):
    """What a handler of a form starts from."""

    visit: Visit
    who: SignedIn
    user: User
    form: MultiDict[str, str]

    def done(self, address: str) -> Response:
        """On to `address`, with a GET."""
        return self.visit.keep(see_other(address))


def turned_away(visit: Visit) -> Response | None:
    """Whoever cannot be here yet, sent to where they have to go first."""
    if visit.user is None or visit.who is None:
        return visit.keep(see_other(sign_in_page(visit.again)))
    if visit.user.must_change_password:
        return visit.keep(see_other(password_page(visit.again)))
    return None


async def posted(again: str, permission: Permission | None = None) -> Posted | Response:
    """The form, or where the browser has to go instead; `again` is the page that the form was on.

    What was sent by somebody who lacks the permission for it is not read, be it a password or a whole sheet.
    """
    visit = await open_visit()
    visit.again = again
    away = turned_away(visit)
    if away is not None or visit.who is None or visit.user is None:
        return away or visit.keep(see_other(sign_in_page(again)))
    if permission is not None and not visit.may(permission):
        return await problem(visit, Why.PERMISSION_MISSING)
    form = await request.form
    if not proves_origin(form.get(FORM_FIELD, "")):
        return await page(visit, "expired.html", refused=Why.ORIGIN_UNPROVEN, again=again)
    return Posted(visit, visit.who, visit.user, form)

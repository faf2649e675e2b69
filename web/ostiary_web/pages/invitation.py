"""The page of an invitation, where its user sets a password.

To open it uses nothing up. A script takes the token from behind the `#` of the address; without one, the
user copies it into the form.
"""

from typing import Final

from quart import Response

from ostiary_core.model.reply import Refused
from ostiary_core.model.user import new_password_faults
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import Operation
from ostiary_web.application.invitations import LONGEST_INVITATION, PATH, accept_invitation
from ostiary_web.http.context import RequestRefused
from ostiary_web.http.gate import OPEN_TO_ALL
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.routes import PageRoutes

invitation_pages = PageRoutes("invitation_pages", __name__)

_LONGEST_LINK: Final = 2_048


@invitation_pages.get(PATH, gate=OPEN_TO_ALL)
async def show_invitation(page: PageContext) -> Response:
    """Show the form for the password, whoever is signed in."""
    return await _form(page, "")


@invitation_pages.post(PATH, gate=OPEN_TO_ALL)
async def set_first_password(page: PageContext) -> Response:
    """Set the password, and redirect to the sign-in page."""
    token, new = _read_token(page.form.get("invitation", "")), page.form.get("new_password", "")
    page.address = PATH
    try:
        page.require_own_form()
        page.request.count_against_limit(Operation.INVITATION)
        if not 0 < len(token) <= LONGEST_INVITATION:
            page.request.refuse(Why.INVITATION_WRONG)
        faults = new_password_faults("newPassword", new)
        if faults:
            page.request.refuse(Why.FIELDS_INVALID, faults)
        await accept_invitation(page.request, token, new)
    except RequestRefused as refusal:
        return await _form(page, token, refusal.reply)
    return page.redirect(page.sign_in_page("/", "recovered=1"))


def _read_token(text: str) -> str:
    """Return the token in what was entered, which may be the whole link.

    >>> _read_token("https://auth.example/invitation#0af3.b"), _read_token(" 0af3.b ")
    ('0af3.b', '0af3.b')
    """
    return text[:_LONGEST_LINK].rpartition("#")[2].strip()


async def _form(page: PageContext, token: str, reply: Refused | None = None) -> Response:
    kept = token if len(token) <= LONGEST_INVITATION else ""
    return await render(page, "invitation.html", refused=reply, invitation=kept)

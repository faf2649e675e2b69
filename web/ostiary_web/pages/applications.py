"""Pages of applications: which may sign the user in, what they may see, and withdrawing that."""

from datetime import datetime

from quart import Response

from ostiary_core.events import ConsentWithdrawn
from ostiary_core.http.authorization import scope_text
from ostiary_core.model.instant import SECOND_MS, Instant
from ostiary_core.model.why import Why
from ostiary_web.application.grants import Grant, list_grants_of_user
from ostiary_web.http.gate import SIGNED_IN
from ostiary_web.pages.context import PageContext, render, render_question
from ostiary_web.pages.routes import PageRoutes

application_pages = PageRoutes("application_pages", __name__)

_PLACE = "/account/applications"


@application_pages.get(_PLACE, gate=SIGNED_IN)
async def show_applications(page: PageContext) -> Response:
    """Show every client that may sign this user in without asking, or has a session now."""
    applications = [
        describe_grant(page, grant)
        for grant in await list_grants_of_user(page.request, page.request.user.user_id)
    ]
    return await render(page, "applications.html", place=_PLACE, applications=applications)


@application_pages.get(f"{_PLACE}/<client_id>/withdraw", gate=SIGNED_IN)
async def ask_to_withdraw(page: PageContext, client_id: str) -> Response:
    """Ask before the consent is withdrawn."""
    found = await find_grant(page, page.request.user.user_id, client_id)
    return await render_question(
        page,
        place=_PLACE,
        heading=page.text("page.withdraw_sure", name=found.name),
        confirm_text=page.text("page.withdraw_will", count=found.session_count),
        action_name=page.text("page.withdraw"),
        back=_PLACE,
    )


@application_pages.post(f"{_PLACE}/<client_id>/withdraw", gate=SIGNED_IN)
async def withdraw(page: PageContext, client_id: str) -> Response:
    """Withdraw the consent, which ends the client's sessions of this user."""
    await page.request.decide(ConsentWithdrawn(caller=page.request.caller, client_id=client_id))
    return page.redirect(_PLACE)


async def find_grant(page: PageContext, user_id: str, client_id: str) -> Grant:
    """Return what a user lets one client do; raise `RequestRefused` if it is nothing."""
    found = await list_grants_of_user(page.request, user_id, client_id)
    return found[0] if found else page.request.refuse(Why.NOT_FOUND)


def describe_grant(page: PageContext, grant: Grant) -> dict[str, object]:
    """Return the values of a grant's card."""
    scopes = dict.fromkeys((*grant.scopes, *(session.scope for session in grant.sessions)))
    return {
        "client_id": grant.client_id,
        "name": grant.name,
        "running": grant.session_count,
        "since": None if grant.granted_at is None else page.moment(_instant(grant.granted_at)),
        "sees": [scope_text(scope, page.language) for scope in scopes if scope],
    }


def _instant(text: str) -> Instant:
    return Instant(int(datetime.fromisoformat(text).timestamp()) * SECOND_MS)

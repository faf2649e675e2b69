"""Connected applications: who may sign the user in, what they may see, since when; and taking it back."""

from datetime import datetime

from quart import Blueprint, Response

from ostiary_core.events import ConsentWithdrawn
from ostiary_core.http.authorization import scope_text
from ostiary_core.model.decision import Refused
from ostiary_core.model.instant import SECOND_MS, Instant
from ostiary_core.model.why import Why
from ostiary_web.grants import Grant, grants_of
from ostiary_web.pages.posted import posted, turned_away
from ostiary_web.pages.problem import problem
from ostiary_web.pages.visit import Visit, open_visit, page

__all__ = ["application_pages"]

application_pages = Blueprint("application_pages", __name__)

_PLACE = "/account/applications"


@application_pages.get(_PLACE)
async def show_applications() -> Response:
    """Every client that may sign this user in without asking, or is signed in now."""
    visit = await open_visit()
    away = turned_away(visit)
    if away is not None or visit.user is None:
        return away or await problem(visit, Why.NOT_SIGNED_IN)
    grants = await grants_of(visit.here, visit.user)
    return await page(
        visit, "applications.html", place=_PLACE, applications=[_shown(visit, grant) for grant in grants]
    )


@application_pages.get(f"{_PLACE}/<client_id>/withdraw")
async def ask_to_withdraw(client_id: str) -> Response:
    """What will happen, before it does."""
    visit = await open_visit()
    away = turned_away(visit)
    if away is not None or visit.user is None:
        return away or await problem(visit, Why.NOT_SIGNED_IN)
    grants = await grants_of(visit.here, visit.user)
    found = next((grant for grant in grants if grant.client_id == client_id), None)
    if found is None:
        return await problem(visit, Why.NOT_FOUND)
    return await page(
        visit,
        "administration/confirm.html",
        place=_PLACE,
        heading=visit.text("withdraw_sure", name=found.name),
        will=visit.text("withdraw_will", count=len(found.sessions)),
        deed=visit.text("withdraw"),
        back=_PLACE,
        action=f"{_PLACE}/{client_id}/withdraw",
    )


@application_pages.post(f"{_PLACE}/<client_id>/withdraw")
async def withdraw(client_id: str) -> Response:
    """The consent is gone, and the client's sessions of this user with it."""
    came = await posted(f"{_PLACE}/{client_id}/withdraw")
    if isinstance(came, Response):
        return came
    reply = (await came.visit.here.decide(ConsentWithdrawn(caller=came.who, client_id=client_id))).reply
    return await problem(came.visit, reply.why) if isinstance(reply, Refused) else came.done(_PLACE)


def _shown(visit: Visit, grant: Grant) -> dict[str, object]:
    scopes = dict.fromkeys((*grant.scopes, *(session.scope for session in grant.sessions)))
    return {
        "client_id": grant.client_id,
        "name": grant.name,
        "sessions": grant.sessions,
        "since": None if grant.granted_at is None else visit.moment(_instant(grant.granted_at)),
        "sees": [scope_text(scope, visit.language) for scope in scopes if scope],
    }


def _instant(text: str) -> Instant:
    return Instant(int(datetime.fromisoformat(text).timestamp()) * SECOND_MS)

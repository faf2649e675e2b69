"""People's own account: what is known of them, how they are addressed, and where they are signed in."""

from quart import Blueprint, Response, request

from ostiary_core.events import Event, LocaleChosen, OwnSessionEnded, TimezoneChosen
from ostiary_core.http.language import Language
from ostiary_core.model.decision import Refused
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import ONLINE_USERS, Listing
from ostiary_web.avatars import remove_picture, take_picture
from ostiary_web.browser import forget_preference
from ostiary_web.pages.moments import zone_names
from ostiary_web.pages.posted import Posted, posted, turned_away
from ostiary_web.pages.visit import LANGUAGE_COOKIE, Visit, open_visit, page
from ostiary_web.zones import zone_for

__all__ = ["account_pages"]

account_pages = Blueprint("account_pages", __name__)

_ACCOUNT = "/account"
_SESSIONS = "/account/sessions"
_MOST_SESSIONS = 200


@account_pages.get(_ACCOUNT)
async def show_account() -> Response:
    """Profile, preferences and security."""
    visit = await open_visit()
    return turned_away(visit) or await _account(visit)


@account_pages.post("/account/language")
async def take_language() -> Response:
    """The language the account is addressed in; what was switched to in this browser gives way."""
    came = await posted(_ACCOUNT)
    if isinstance(came, Response):
        return came
    event = LocaleChosen(caller=came.who, locale=came.form.get("locale", ""))
    return forget_preference(await _answered(came, event), LANGUAGE_COOKIE)


@account_pages.post("/account/zone")
async def take_zone() -> Response:
    """The zone the account's times are told in."""
    came = await posted(_ACCOUNT)
    if isinstance(came, Response):
        return came
    chosen = came.form.get("timezone", "")
    return await _answered(
        came, TimezoneChosen(caller=came.who, timezone=chosen if chosen in zone_names() else "")
    )


@account_pages.post("/account/picture")
async def take_account_picture() -> Response:
    """A picture that other systems show."""
    came = await posted(_ACCOUNT)
    if isinstance(came, Response):
        return came
    taken = await take_picture(came.visit.here, came.who)
    return came.done("/account?done=1") if isinstance(taken, str) else await _account(came.visit, taken)


@account_pages.post("/account/picture/remove")
async def drop_picture() -> Response:
    """No picture any more."""
    came = await posted(_ACCOUNT)
    if isinstance(came, Response):
        return came
    reply = await remove_picture(came.visit.here, came.who)
    return came.done("/account?done=1") if reply is None else await _account(came.visit, reply)


async def _answered(came: Posted, event: Event) -> Response:
    """Back to the account, with what was wrong if anything was."""
    reply = (await came.visit.here.decide(event)).reply
    return await _account(came.visit, reply) if isinstance(reply, Refused) else came.done("/account?done=1")


@account_pages.get(_SESSIONS)
async def show_sessions() -> Response:
    """Every browser and application that is signed in as this user."""
    visit = await open_visit()
    return turned_away(visit) or await _sessions(visit)


@account_pages.post("/account/sessions/<session_id>/end")
async def end_session(session_id: str) -> Response:
    """Sign one of them out."""
    came = await posted(_SESSIONS)
    if isinstance(came, Response):
        return came
    reply = (await came.visit.here.decide(OwnSessionEnded(caller=came.who, session_id=session_id))).reply
    # One that has ended in the meantime is what was asked for.
    if isinstance(reply, Refused) and reply.why is not Why.NOT_FOUND:
        return await _sessions(came.visit, reply)
    return came.done(_SESSIONS)


async def _account(visit: Visit, reply: Refused | None = None) -> Response:
    return await page(
        visit,
        "account.html",
        place=_ACCOUNT,
        refused=reply,
        notice=visit.text("done") if request.args.get("done") else None,
        languages=[(Language.ZH.value, "中文"), (Language.EN.value, "English")],
        zones=zone_names(),
        zone=zone_for(None, visit.user).key,
    )


async def _sessions(visit: Visit, reply: Refused | None = None) -> Response:
    assert visit.user is not None
    listing = Listing(
        resource=ONLINE_USERS, filters={"user_id": visit.user.user_id}, page_size=_MOST_SESSIONS
    )
    found = await visit.here.service.look(lambda store, now: store.page(listing, now), visit.here.origin)
    return await page(
        visit,
        "sessions.html",
        place=_SESSIONS,
        refused=reply,
        sessions=found.items,
    )

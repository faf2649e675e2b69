"""A browser's request for a page: who is here, in which language, and the answer as HTML.

A browser whose access token has run out is given the next pair of its login session on the way, so nobody
signs in again before the session is over.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final
from zoneinfo import ZoneInfo

from markupsafe import Markup
from quart import Response, render_template, request

from ostiary_core.events import AccountRequested, SignedIn
from ostiary_core.http.envelope import field_text, text_of
from ostiary_core.http.language import Language
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.decision import AccountKnown, LoginIssued, Refused
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import User
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import Operation
from ostiary_web.auth import renew_login
from ostiary_web.browser import (
    cookie_caller,
    form_token,
    hand_out_form_cookie,
    keep_login,
    refresh_cookie,
)
from ostiary_web.exchange import Exchange, exchange
from ostiary_web.pages.addresses import other_sign_in_page, page_address, sign_in_page
from ostiary_web.pages.moments import moment
from ostiary_web.pages.texts import PAGE_TEXTS
from ostiary_web.zones import zone_for

__all__ = ["LANGUAGE_COOKIE", "Visit", "open_visit", "page", "visitors_language"]

LANGUAGE_COOKIE: Final = "ostiary_language"

_POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)

_PLACES: Final = (
    ("/account", "nav_account", None),
    ("/account/applications", "nav_applications", None),
    ("/account/sessions", "nav_sessions", None),
    ("/admin/clients", "nav_clients", Permission.CLIENT_LIST),
    ("/admin/people", "nav_people", Permission.USER_LIST),
    ("/admin/roles", "nav_roles", Permission.ROLE_LIST),
    ("/admin/online", "nav_online", Permission.ONLINE_LIST),
    ("/admin/audit", "nav_audit", Permission.AUDIT_READ),
)


@dataclass(slots=True)
class Visit:
    """Who asks for a page, and a pair that was renewed on the way."""

    here: Exchange
    language: Language
    who: SignedIn | None = None
    account: AccountKnown | None = None
    renewed: LoginIssued | None = None
    again: str = field(default_factory=page_address)
    """The page that this is, or that the form of this request was on: where one comes back to who goes to
    another language, or has to sign in, in between."""

    def keep(self, response: Response) -> Response:
        """Hand out what this visit made for the browser to keep."""
        if self.renewed is not None:
            keep_login(response, self.renewed)
        return hand_out_form_cookie(response)

    @property
    def user(self) -> User | None:
        """Who is signed in."""
        return None if self.account is None else self.account.user

    @property
    def session_id(self) -> str | None:
        """The login session that this browser is signed in by."""
        return None if self.account is None else self.account.session_id

    def may(self, permission: Permission) -> bool:
        """Whether the visitor holds `permission`."""
        return self.account is not None and permission.value in self.account.permissions

    def too_many(self, operation: Operation) -> Refused | None:
        """What to say to an address that asks too often; None where this request is within its limit."""
        wait = self.here.service.seconds_to_wait(operation, self.here.source)
        return Refused(Why.TOO_MANY_REQUESTS, wait_seconds=wait) if wait else None

    def sign_in_page(self, onward: str) -> str:
        """The sign-in page with its form, also where somebody is signed in here."""
        return sign_in_page(onward) if self.user is None else other_sign_in_page(onward)

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        """Where this visitor can go, as path and name."""
        if self.user is None or self.user.must_change_password:
            return ()
        return tuple(
            (path, self.text(name))
            for path, name, permission in _PLACES
            if permission is None or self.may(permission)
        )

    def moment(self, instant: Instant, *, seconds: bool = False) -> Markup:
        """A time as this visitor reads it."""
        return moment(instant, self.zone, seconds=seconds)

    @property
    def zone(self) -> ZoneInfo:
        """The zone of every time that this visitor reads or enters."""
        return zone_for(None, self.user)

    def text(self, name: str, /, **values: object) -> str:
        """A text of the page in the visitor's language."""
        return PAGE_TEXTS[self.language][name].format(**values)


async def open_visit() -> Visit:
    """The visit that this request is; its login session is refreshed where it needs to be."""
    visit = Visit(exchange(), visitors_language(None), who=cookie_caller())
    arrival = visit.here.service.arrival()
    await _recognise(visit)
    refresh_token = refresh_cookie()
    if visit.user is None and refresh_token is not None:
        renewed = await renew_login(visit.here, refresh_token, arrival)
        if isinstance(renewed, LoginIssued):
            visit.renewed = renewed
            visit.who = SignedIn(access_token=renewed.tokens.access_token)
            await _recognise(visit)
    visit.language = visitors_language(visit.user)
    return visit


async def _recognise(visit: Visit) -> None:
    if visit.who is None:
        return
    reply = (await visit.here.decide(AccountRequested(caller=visit.who))).reply
    visit.account = reply if isinstance(reply, AccountKnown) else None


def visitors_language(user: User | None) -> Language:
    """What the visitor switched to here, else the account's language, else what the browser asks for."""
    for said in (request.cookies.get(LANGUAGE_COOKIE), None if user is None else user.locale):
        if said in (Language.EN.value, Language.ZH.value):
            return Language(said)
    return exchange().language


async def page(
    visit: Visit,
    template: str,
    *,
    refused: Refused | Why | None = None,
    faults: Iterable[str] | None = None,
    form_origin: str = "",
    place: str = "",
    **values: object,
) -> Response:
    """A page as HTML; `form_origin` is where its forms may lead besides here, `place` where in the menu.

    A page that tells of a refusal has its status and says why, with its faults if not with those given.
    """
    reply = Refused(refused) if isinstance(refused, Why) else refused
    why = None if reply is None else reply.why
    if faults is None:
        faults = () if reply is None else [field_text(fault, visit.language) for fault in reply.faults]
    body = await render_template(
        template,
        visit=visit,
        language=visit.language.value,
        t=PAGE_TEXTS[visit.language],
        user=visit.user,
        places=visit.places,
        place=place,
        form_token=form_token(visit.here),
        address=visit.again,
        problem=None if why is None else text_of(why, visit.language),
        problem_code=None if why is None else MEANINGS[why].code,
        faults=tuple(faults),
        trace_id=visit.here.trace_id,
        **values,
    )
    status = 200 if why is None else MEANINGS[why].status
    response = Response(body, status, content_type="text/html; charset=utf-8")
    if reply is not None and reply.wait_seconds is not None:
        response.headers["Retry-After"] = str(reply.wait_seconds)
    response.headers["Cache-Control"] = "no-store"
    response.headers["Content-Language"] = visit.language.value
    response.headers["Content-Security-Policy"] = f"{_POLICY}; form-action 'self' {form_origin}".rstrip()
    return visit.keep(response)

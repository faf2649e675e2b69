"""A browser's request for a page: its user, its language, and the answer as HTML.

A browser whose access token has expired is given its login session's next pair on the way.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from markupsafe import Markup
from quart import Response, g, render_template, request
from werkzeug.datastructures import MultiDict

from ostiary_core.events import AccountRequested, SignedIn
from ostiary_core.http.envelope import field_text, text_of
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.instant import SECOND_MS, Instant
from ostiary_core.model.one_time_password import derive_from_key
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import User
from ostiary_core.model.reply import AccountKnown, LoginIssued, Refused
from ostiary_core.model.why import Why
from ostiary_core.texts import Language
from ostiary_web.application.history_texts import duration_text
from ostiary_web.application.own_account import renew_login
from ostiary_web.http.browser import (
    FORM_FIELD,
    USER_OF_FORM,
    forget_notice,
    form_token,
    hand_out_form_cookie,
    has_form_cookie,
    has_proven_origin,
    is_cross_site,
    is_of_own_page,
    keep_for_next_page,
    keep_login,
    keep_notice,
    own_origin,
    read_caller_cookie,
    read_notice,
    read_preference,
    read_refresh_cookie,
    refuse_unproven_origin,
)
from ostiary_web.http.context import RequestContext, RequestRefused, request_context
from ostiary_web.http.zones import zone_for
from ostiary_web.pages.addresses import (
    may_lead_away,
    other_sign_in_page,
    page_address,
    see_other,
    sign_in_page,
)
from ostiary_web.pages.agents import agent_markup
from ostiary_web.pages.filling import fill_form
from ostiary_web.pages.moments import ago, moment
from ostiary_web.texts import TextFamily

LANGUAGE_COOKIE: Final = "ostiary_language"

KEPT_SECONDS: Final = 600
"""Time for which a browser keeps what a form's answer has the next page show."""

FORMS_LEAD_AWAY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
"""Content-Security-Policy of a page whose form may end at a client. Chromium holds every redirect after a
submission to `form-action`, even those of the client's callback, which this server cannot know."""
FORMS_STAY: Final = f"{FORMS_LEAD_AWAY}; form-action 'self'"
"""Content-Security-Policy of every other page."""

_PLACES: Final = (
    ("/account", "page.account", None),
    ("/account/applications", "page.applications", None),
    ("/account/sessions", "page.sessions", None),
    ("/admin", "page.overview", Permission.ONLINE_LIST),
    ("/admin/clients", "page.clients", Permission.CLIENT_LIST),
    ("/admin/clients/new", "page.client_new", Permission.CLIENT_CREATE),
    ("/admin/people", "page.users", Permission.USER_LIST),
    ("/admin/people/new", "page.user_new", Permission.USER_CREATE),
    ("/admin/roles", "page.roles", Permission.ROLE_LIST),
    ("/admin/roles/new", "page.role_new", Permission.ROLE_CREATE),
    ("/admin/online", "page.nav_online", Permission.ONLINE_LIST),
    ("/admin/audit", "page.audit", Permission.AUDIT_READ),
)


@dataclass(slots=True)
class PageContext:
    """A page's request: its user, its form, and what the browser is given with the page."""

    request: RequestContext
    language: Language
    """Language of the page; not always the one that the browser asks for."""
    renewed: LoginIssued | None = None
    """Pair of tokens issued on the way."""
    address: str = field(default_factory=page_address)
    """Address of this page, or of the page with the form: a visitor returns to it after another language is
    chosen, or after signing in."""
    form: MultiDict[str, str] = field(default_factory=MultiDict)
    """Fields of the form that was sent."""
    _has_shown_notice: bool = False
    kept: dict[str, str] = field(default_factory=dict)
    """Cookies with what this answer keeps for the next page, sealed; empty to forget what they keep."""
    typed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What was typed into the form of this page before, and is filled in again."""

    # --- who asks

    @property
    def user(self) -> User | None:
        """Return the user who is signed in."""
        account = self.request.account_known
        return None if account is None else account.user

    @property
    def session_id(self) -> str | None:
        """Return the login session of this browser."""
        account = self.request.account_known
        return None if account is None else account.session_id

    def may(self, permission: Permission) -> bool:
        """Whether the visitor holds `permission`."""
        account = self.request.account_known
        return account is not None and permission.value in account.permissions

    @property
    def asks_proof(self) -> bool:
        """Whether the visitor must prove who they are before they give power (READINGS 57)."""
        account = self.request.account_known
        return account is not None and account.must_prove_identity

    @property
    def proof_name(self) -> str:
        """Return what proves who the visitor is: a code of the second factor, else the password."""
        return "code" if self.user is not None and self.user.has_second_factor else "password"

    @property
    def is_form_ours(self) -> bool:
        """Whether a page of this server made the form.

        Of two tabs that were opened without cookies, one holds the token of a cookie that the other's
        replaced. Before a sign-in no user's forms are told apart, so the browser's word is enough there.
        """
        is_of_visitor = self.user is None and has_form_cookie() and is_of_own_page()
        return is_of_visitor or has_proven_origin(self.form.get(FORM_FIELD, ""))

    def require_own_form(self) -> None:
        """Raise `RequestRefused` if another page made the form."""
        if not self.is_form_ours:
            refuse_unproven_origin(self.request)

    def refusal_text(self, why: Why) -> str:
        """Return why something was refused; for a form of another tab, that nothing is wrong."""
        if why is not Why.ORIGIN_UNPROVEN or is_cross_site(own_origin()):
            return text_of(why, self.language)
        return self.text("page.form_of_another_tab" if has_form_cookie() else "page.form_without_cookie")

    def problem_text(self, reply: Refused) -> str:
        """Return why something was refused and, in a paragraph of its own, for how long."""
        problem = self.refusal_text(reply.why)
        if not reply.wait_seconds:
            return problem
        wait = self.text("page.try_again_in", duration=self.duration(reply.wait_seconds))
        return Markup("{}</p>\n<p>{}").format(problem, wait)

    # --- what was entered

    def require_code(self) -> str:
        """Return the code of the second factor in the form, or the recovery code in its place.

        Raises `RequestRefused` without one: an empty field is nobody's guess.
        """
        code = self.form.get("code", "").strip() or self.form.get("recovery_code", "").strip()
        if not code:
            self.request.refuse(Why.FIELDS_INVALID, (FieldFault("code", FieldRule.REQUIRED),))
        return code

    # --- where to go

    def redirect(self, address: str, *notice: str) -> Response:
        """Redirect to `address`, with a GET; the page there says once what was done."""
        response = see_other(address)
        if notice:
            keep_notice(response, urlsplit(address).path, notice)
        return self.keep(response)

    def keep(self, response: Response) -> Response:
        """Give the browser the cookies that this request made."""
        if self.renewed is not None:
            keep_login(response, self.renewed)
        if self._has_shown_notice:
            forget_notice(response)
        for name, sealed in self.kept.items():
            keep_for_next_page(response, name, sealed, KEPT_SECONDS)
        return hand_out_form_cookie(response)

    def sign_in_page(self, return_to: str, *parameters: str) -> str:
        """Return the sign-in page with its form, even if a user is signed in."""
        make = sign_in_page if self.user is None else other_sign_in_page
        return make(return_to, *parameters)

    @property
    def menus(self) -> tuple[tuple[str, list[tuple[str, str]]], ...]:
        """Return the paths and names of the user's own account and of the administration, each with a label.

        A list leads to its own form, which has an entry only for a visitor who may not see the list.
        """
        account = self.request.account_known
        if account is None or account.user is None or account.user.must_change_password:
            return ()
        if account.must_set_up_second_factor:
            return ()
        found: dict[str, str] = {}
        for path, name, permission in _PLACES:
            if path.removesuffix("/new") not in found and (permission is None or self.may(permission)):
                found[path] = self.text(name)
        menus = (("page.account", "/account"), ("page.administration", "/admin"))
        own = [
            (self.text(label), [each for each in found.items() if each[0].startswith(prefix)])
            for label, prefix in menus
        ]
        return tuple(menu for menu in own if menu[1])

    @property
    def sealing_key(self) -> bytes:
        """Return the key that seals what a browser keeps for a page."""
        key = self.request.services.settings.second_factor_key
        assert key is not None, "the start makes one where none is set"
        return key

    @property
    def user_mark(self) -> str:
        """Return what stands for the visitor, and only this server can make; empty for nobody."""
        if self.user is None:
            return ""
        return derive_from_key(self.sealing_key, "mark", self.user.user_id.encode())[:12].hex()

    # --- what it says

    def take_notice(self) -> Sequence[str]:
        """Return the lines that say what was done before; the next page says it no more."""
        lines = read_notice()
        self._has_shown_notice |= bool(lines)
        return lines

    def moment(self, instant: Instant, *, seconds: bool = False) -> Markup:
        """Return a time in the visitor's zone, and how long ago it was."""
        exact = moment(instant, self.zone, seconds=seconds)
        since = ago(self.request.service.clock.now() - instant, self.language)
        if since is None:
            return exact
        return Markup('<span title="{}">{} <span class="ago">{}</span></span>').format(since, exact, since)

    def duration(self, seconds: int) -> str:
        """Return a number of seconds in words."""
        if seconds < 60:
            return self.text("duration.seconds", count=seconds)
        return duration_text(seconds * SECOND_MS, self.language)

    def agent(self, user_agent: str | None) -> Markup:
        """Return a User-Agent as markup."""
        return agent_markup(user_agent, self.language)

    @property
    def zone(self) -> ZoneInfo:
        """Return the zone of every time that this visitor reads or enters."""
        return zone_for(None, self.user)

    def text(self, key: str, /, **values: object) -> str:
        """Return a text in the visitor's language."""
        return self.language.text(key, **values)


async def open_page() -> PageContext:
    """Open the page that this request asks for, and refresh its login session if needed."""
    page = PageContext(request_context(), choose_language(None))
    g.page = page
    context = page.request
    context.signed_in = read_caller_cookie()
    arrival = context.service.estimate_arrival()
    await _load_account(context)
    refresh_token = read_refresh_cookie()
    if page.user is None and refresh_token is not None:
        with suppress(RequestRefused):
            page.renewed = await renew_login(context, refresh_token, arrival)
            context.signed_in = SignedIn(access_token=page.renewed.tokens.access_token)
            await _load_account(context)
    page.language = choose_language(page.user)
    return page


def find_opened_page() -> PageContext | None:
    """Return the page that this request opened; None if it asked for something else."""
    found: PageContext | None = g.get("page")
    return found


async def find_landing_page(context: RequestContext, login: LoginIssued) -> str:
    """Return where a sign-in leads that was on the way to nowhere: the overview, or the home page."""
    asked = AccountRequested(caller=SignedIn(access_token=login.tokens.access_token))
    reply = (await context.submit(asked)).reply
    may_see_overview = isinstance(reply, AccountKnown) and Permission.ONLINE_LIST.value in reply.permissions
    return "/admin" if may_see_overview else "/"


async def _load_account(context: RequestContext) -> None:
    if context.signed_in is None:
        return
    reply = (await context.submit(AccountRequested(caller=context.signed_in))).reply
    context.account_known = reply if isinstance(reply, AccountKnown) else None


def choose_language(user: User | None) -> Language:
    """Return the language chosen in this browser, else the account's, else what the browser asks for."""
    context = request_context()
    by_tag = context.languages.by_tag
    locale = None if user is None else user.locale
    return by_tag(read_preference(LANGUAGE_COOKIE)) or by_tag(locale) or context.language


async def render_on_the_way(
    page: PageContext, template: str, return_to: str, reply: Refused | None = None, **values: Any
) -> Response:
    """Return a page with a form that leads on to `return_to` in the end."""
    policy = FORMS_LEAD_AWAY if may_lead_away(return_to) else FORMS_STAY
    return await render(page, template, refused=reply, policy=policy, return_to=return_to, **values)


async def render_question(page: PageContext, *, back: str, **values: Any) -> Response:
    """Ask before something is done; a visitor whom another site leads here is redirected to `back`.

    There no button waits for a click that the other site asked for (RFC 9700 §4.16); scripts see to the rest.
    """
    if request.method != "POST" and is_cross_site(own_origin()):
        return page.redirect(back)
    return await render(page, "administration/confirm.html", back=back, **values)


async def render(
    page: PageContext,
    template: str,
    *,
    refused: Refused | Why | None = None,
    faults: Iterable[str] | None = None,
    policy: str = FORMS_STAY,
    place: str = "",
    **values: object,
) -> Response:
    """Return a page as HTML; `policy` is its Content-Security-Policy, `place` its entry in the menu.

    A page with a refusal has the refusal's status, text and faults; `faults` replaces the faults.
    """
    reply = Refused(refused) if isinstance(refused, Why) else refused
    why = None if reply is None else reply.why
    if faults is None:
        faults = () if reply is None else [field_text(fault, page.language) for fault in reply.faults]
    body = await render_template(
        template,
        page=page,
        language=page.language.tag,
        languages=page.request.languages,
        t=TextFamily(page.language, "page"),
        brand=page.request.services.settings.brand,
        user=page.user,
        menus=page.menus,
        place=place,
        form_token=f"{form_token(page.request)}{USER_OF_FORM}{page.user_mark}",
        address=page.address,
        is_posted=request.method == "POST",
        problem=None if reply is None else page.problem_text(reply),
        problem_code=None if why is None else MEANINGS[why].code,
        faults=tuple(faults),
        trace_id=page.request.trace_id,
        **values,
    )
    if page.typed:
        body = fill_form(body, page.typed, page.text("page.filled_again"))
    status = 200 if why is None else MEANINGS[why].status
    response = Response(body, status)
    if reply is not None and reply.wait_seconds is not None:
        response.headers["Retry-After"] = str(reply.wait_seconds)
    response.headers["Cache-Control"] = "no-store"
    response.headers["Content-Language"] = page.language.tag
    response.headers["Content-Security-Policy"] = policy
    if policy == FORMS_STAY:
        # Not on the way to a client, whose callback may speak to the window that opened the sign-in.
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    return page.keep(response)

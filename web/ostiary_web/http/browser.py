"""Keep a browser's login session: its cookies, and the proof that a change comes from our pages.

The tokens are in `HttpOnly; SameSite=Lax` cookies (READINGS 25), which over https are called `__Host-…`: no
sister site and nobody on a plain connection can put one of theirs in the place. Under a path of a host that
others share they are sent to that path alone, and called `__Secure-…`, as only a whole host says `__Host-`.
Browsers give cookies to every port of a host (RFC 6265 §8.5), so their names end with the port, if there
is one. A request that relies on them to change something must carry the form token, which only our own pages
can know, and must not come from another site.
"""

import hmac
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Final, NoReturn

from quart import Response, g, request

from ostiary_core.events import SignedIn
from ostiary_core.http.userinfo import read_bearer_token
from ostiary_core.model.client import REFRESH_TOKEN_SECONDS
from ostiary_core.model.reply import LoginIssued, Refused
from ostiary_core.model.secret import PERSONAL_TOKEN_PREFIX, Secret, draw_token
from ostiary_core.model.why import Why
from ostiary_web.http.context import RequestContext, RequestRefused
from ostiary_web.server.app_services import current_services

FORM_FIELD: Final = "form_token"
FORM_HEADER: Final = "X-Form-Token"
USER_OF_FORM: Final = "."
"""Separator in a page's form token of what proves its origin from what stands for its user."""

_PORT: Final = re.compile(":([0-9]{1,5})\\Z", re.ASCII)
_ORIGIN: Final = re.compile(r"[\x21-\x7e]{1,300}")
"""Pattern of the part of a foreign origin that may be logged."""
_ACCESS: Final = "ostiary_access"
_REFRESH: Final = "ostiary_refresh"
_FORM: Final = "ostiary_form"
_NOTICE: Final = "ostiary_notice"
_NOTICE_SECONDS: Final = 60
_NOTICE_BYTES: Final = 2_400
"""Most bytes of a notice: browsers keep cookies of 4 KB, and this one is encoded."""
KEPT: Final = "ostiary_kept"
"""Cookie with what the answer to a form has the next page show."""
TYPED: Final = "ostiary_typed"
"""Cookie with what was typed into a form that is shown again."""


def own_origin() -> str:
    """Return the scheme and host that users see: those of `PUBLIC_URL`, else of the request."""
    return current_services().settings.public_origin or f"{request.scheme}://{request.host}"


def own_address() -> str:
    """Return the address that users see: `PUBLIC_URL`, else the request's origin."""
    return current_services().settings.public_url or own_origin()


def has_login_cookies() -> bool:
    """Whether the browser has a login session, or had one that ended elsewhere."""
    return read_caller_cookie() is not None or read_refresh_cookie() is not None


def require_caller(context: RequestContext) -> SignedIn:
    """Return the caller by Bearer token, else by cookie and its proof; raise `RequestRefused` for others."""
    if "authorization" in request.headers:
        token = read_bearer_token(context.headers)
        return context.refuse(Why.NOT_SIGNED_IN) if token is None else SignedIn(access_token=token)
    by_cookie = read_caller_cookie()
    if by_cookie is None:
        context.refuse(Why.NOT_SIGNED_IN)
    if request.method not in ("GET", "HEAD") and not has_proven_origin(request.headers.get(FORM_HEADER, "")):
        refuse_unproven_origin(context)
    return by_cookie


def read_caller_cookie() -> SignedIn | None:
    """Return the caller that the access cookie names; a personal access token is of no browser."""
    token = request.cookies.get(_full_name(_ACCESS))
    is_of_login = bool(token) and not str(token).startswith(PERSONAL_TOKEN_PREFIX)
    return SignedIn(access_token=Secret(str(token))) if is_of_login else None


def read_refresh_cookie() -> Secret | None:
    """Return the refresh token of the browser's login session."""
    token = request.cookies.get(_full_name(_REFRESH))
    return Secret(token) if token else None


def keep_login(response: Response, login: LoginIssued) -> Response:
    """Put the pair of a login session into the browser's cookies."""
    tokens = login.tokens
    _set_cookie(response, _full_name(_ACCESS), tokens.access_token.reveal(), tokens.expires_in_seconds)
    if tokens.refresh_token is not None:
        _set_cookie(
            response, _full_name(_REFRESH), tokens.refresh_token.reveal(), REFRESH_TOKEN_SECONDS.default
        )
    return response


def forget_login(response: Response) -> Response:
    """Delete the cookies of a login session, of its forms and of what was kept for a page."""
    # With _FORM: what was shown to one user is not sent by the next.
    for name in (_ACCESS, _REFRESH, _FORM, _NOTICE, KEPT, TYPED):
        _delete_cookie(response, _full_name(name))
    return response


def form_token(context: RequestContext) -> str:
    """Return the token that a form of this browser must carry, bound to a cookie of ours."""
    cookie = request.cookies.get(_full_name(_FORM))
    if not cookie:
        if "form_cookie" not in g:
            renew_form_cookie(context)
        cookie = str(g.form_cookie)
    return _token_for(cookie)


def renew_form_cookie(context: RequestContext) -> None:
    """Have this answer set another form cookie, so that forms shown before are refused."""
    g.form_cookie = draw_token(context.draw_entropy(), "form cookie").reveal()


def hand_out_form_cookie(response: Response) -> Response:
    """Set the cookie that this answer's form token is bound to."""
    if "form_cookie" in g:
        _set_cookie(response, _full_name(_FORM), g.form_cookie, None)
    return response


def has_proven_origin(sent_token: str) -> bool:
    """Whether a change comes from one of our pages."""
    # The token in any case: not every browser says which site makes a request.
    if is_cross_site(own_origin()):
        return False
    cookie = request.cookies.get(_full_name(_FORM))
    if not cookie:
        return False
    proof = sent_token.partition(USER_OF_FORM)[0]
    return hmac.compare_digest(_token_for(cookie).encode(), proof.encode("utf-8", "surrogatepass"))


def is_cross_site(origin: str) -> bool:
    """Whether the browser says that another site than `origin` makes the request.

    Our pages send no referrer, so browsers name their origin `null`; then `Sec-Fetch-Site` decides, if sent.
    """
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        return True
    return request.headers.get("Origin", "null") not in ("null", origin)


def is_of_own_page() -> bool:
    """Whether the browser says that a page of ours makes the request, which no page can say for itself."""
    return request.headers.get("Sec-Fetch-Site") == "same-origin" and not is_cross_site(own_origin())


def has_form_cookie() -> bool:
    """Whether the browser sent the cookie of a form token."""
    return bool(request.cookies.get(_full_name(_FORM)))


def refuse_unproven_origin(context: RequestContext) -> NoReturn:
    """Refuse a change that no page of ours asks for; raise `RequestRefused`."""
    # If only a proxy makes the two differ, `PUBLIC_URL` or `TRUST_PROXY` is to be corrected.
    origins = {"origin": request.headers.get("Origin", ""), "own_origin": own_origin()}
    context.log_refusal(
        Why.ORIGIN_UNPROVEN,
        **{name: text if _ORIGIN.fullmatch(text) else "" for name, text in origins.items()},
    )
    raise RequestRefused(Refused(Why.ORIGIN_UNPROVEN))


def keep_notice(response: Response, path: str, lines: Sequence[str]) -> Response:
    """Keep what was done for the page at `path`, which shows it once; longer texts end with an ellipsis."""
    cookie = request.cookies.get(_full_name(_FORM))
    if cookie:
        kept, room = [], _NOTICE_BYTES
        for line in lines:
            whole = line.encode()
            cut = line if len(whole) <= room else f"{whole[: max(0, room - 3)].decode(errors='ignore')}…"
            kept += [cut] if room > 3 else []
            room -= len(whole)
        content = urlsafe_b64encode(json.dumps([path, *kept], ensure_ascii=False).encode()).decode()
        _set_cookie(
            response, _full_name(_NOTICE), f"{content}.{_sign_notice(cookie, content)}", _NOTICE_SECONDS
        )
    return response


def read_notice() -> Sequence[str]:
    """Return what was done before this page was asked for; nothing that this server did not sign."""
    cookie, kept = (request.cookies.get(_full_name(name), "") for name in (_FORM, _NOTICE))
    content, _, signature = kept.partition(".")
    if not cookie or not hmac.compare_digest(
        _sign_notice(cookie, content).encode(), signature.encode("utf-8", "surrogatepass")
    ):
        return ()
    path, *lines = json.loads(urlsafe_b64decode(content))
    return lines if path == request.path else ()


def forget_notice(response: Response) -> Response:
    """Forget a notice that was shown."""
    _delete_cookie(response, _full_name(_NOTICE))
    return response


def _sign_notice(cookie: str, content: str) -> str:
    """Return the signature of a notice for the browser with this form cookie."""
    return _digest(cookie, b"ostiary notice " + content.encode("utf-8", "surrogatepass"))


def read_kept_cookie(name: str) -> str:
    """Return what `KEPT` or `TYPED` holds, sealed; empty without that cookie."""
    return request.cookies.get(_full_name(name), "")


def keep_for_next_page(response: Response, name: str, sealed: str, seconds: int) -> Response:
    """Set `KEPT` or `TYPED`, or, if nothing is sealed, delete that cookie."""
    if sealed:
        _set_cookie(response, _full_name(name), sealed, seconds)
    else:
        _delete_cookie(response, _full_name(name))
    return response


def read_preference(name: str) -> str | None:
    """Return a choice made in this browser."""
    return request.cookies.get(_add_port(name))


def keep_preference(response: Response, name: str, value: str) -> Response:
    """Remember a choice in this browser for a year; it is no secret and proves nothing."""
    _set_cookie(response, _add_port(name), value, 365 * 24 * 60 * 60)
    return response


def forget_preference(response: Response, name: str) -> Response:
    """Forget a choice in this browser."""
    _delete_cookie(response, _add_port(name))
    return response


def _token_for(cookie: str) -> str:
    return _digest(cookie, b"ostiary form token")


def _digest(cookie: str, content: bytes) -> str:
    digest = hmac.digest(cookie.encode("utf-8", "surrogatepass"), content, "sha256")
    return urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def _full_name(cookie: str) -> str:
    """Return a cookie's name with its prefix (RFC 6265bis §4.1.3)."""
    cookie = _add_port(cookie)
    if not _secure():
        return cookie
    return f"__Secure-{cookie}" if current_services().settings.public_path else f"__Host-{cookie}"


def _add_port(cookie: str) -> str:
    port = _PORT.search(own_origin())
    return cookie if port is None else f"{cookie}_{port[1]}"


def _secure() -> bool:
    return own_origin().startswith("https://")


def _path() -> str:
    return current_services().settings.public_path or "/"


def _delete_cookie(response: Response, name: str) -> None:
    response.delete_cookie(name, path=_path(), httponly=True, samesite="Lax", secure=_secure())


def _set_cookie(response: Response, name: str, value: str, max_age: int | None) -> None:
    response.set_cookie(
        name, value, max_age=max_age, path=_path(), httponly=True, samesite="Lax", secure=_secure()
    )

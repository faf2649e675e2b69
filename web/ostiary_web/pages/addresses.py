"""Where a page may lead: to local paths, whatever it was asked for."""

import re
from typing import Final
from urllib.parse import unquote_plus, urlsplit

from quart import Response, request

from ostiary_net.front_door.rules import LONGEST_HEAD
from ostiary_web.http.browser import cookie_caller, refresh_cookie

_ROOM_FOR_A_FORM: Final = 256
_ROOM_FOR_A_SIGN_IN: Final = 1_024
_LOCAL_PATH: Final = re.compile(r"/(?![/\\])[\x21-\x7e]*", re.ASCII)


def local_path(text: str) -> str:
    """`text` if it is a path of this server, else the home page (READINGS 27).

    >>> local_path("/sso?a=b"), local_path("//evil.example"), local_path("https://evil.example")
    ('/sso?a=b', '/', '/')
    """
    return text if _LOCAL_PATH.fullmatch(text) else "/"


def this_address() -> str:
    """The path and query of this request, as they came."""
    query = request.query_string.decode("latin-1")
    return local_path(f"{request.path}?{query}" if query else request.path)


def page_address() -> str:
    """The page that this request asks for. What only takes a form is no page: the first one stands for it."""
    return "/" if request.method == "POST" else this_address()


def is_too_long_to_return_to() -> bool:
    """Whether this request's address may be too long for the pages on the way back to it, which name it in
    their own address; whoever is not signed in comes back with cookies besides."""
    if _parameters_and_next()[1]:
        return False
    target = len("POST  HTTP/1.1\r\n") + len(request.scope["raw_path"]) + len(request.query_string)
    fields = sum(len(name) + len(value) + len(": \r\n") for name, value in request.scope["headers"])
    is_signed_in = cookie_caller() is not None or refresh_cookie() is not None
    return target + fields + (_ROOM_FOR_A_FORM if is_signed_in else _ROOM_FOR_A_SIGN_IN) > LONGEST_HEAD


def sign_in_page(return_to: str, *parameters: str) -> str:
    """The sign-in page, which leads on to `return_to`."""
    return _address_with_return("/login", return_to, *parameters)


def other_sign_in_page(return_to: str, *parameters: str) -> str:
    """The same for somebody else than who is signed in here."""
    return sign_in_page(return_to, "switch=1", *parameters)


def recovery_page(return_to: str, *parameters: str) -> str:
    """The page for a forgotten password, which leads on to `return_to` by the sign-in page."""
    return _address_with_return("/recover", return_to, *parameters)


def password_page(return_to: str) -> str:
    """The page for a new password, which leads on to `return_to`."""
    return _address_with_return("/password", return_to)


def _address_with_return(path: str, return_to: str, *parameters: str) -> str:
    """A page that leads on to `return_to`. That is the last parameter and written as it is: escaped anew on
    each page on the way, what the first one takes would be too long for the next."""
    return f"{path}?{'&'.join((*parameters, f'next={return_to}'))}"


def return_address() -> str:
    """Where this request's page leads on to: a local path in any case (READINGS 27)."""
    return local_path(_parameters_and_next()[1])


def has_parameter(name: str) -> bool:
    """Whether the query says `name=1` of this page, and not of what it leads on to."""
    return f"{name}=1" in _parameters_and_next()[0]


def _parameters_and_next() -> tuple[list[str], str]:
    before, _, rest = f"&{request.query_string.decode('latin-1')}".partition("&next=")
    if "%" not in rest.partition("?")[0]:
        return before.split("&"), rest
    # No path of ours has one: it was escaped, by another program or by an earlier release.
    escaped, _, after = rest.partition("&")
    return [*before.split("&"), *after.split("&")], unquote_plus(escaped)


def may_lead_away(return_to: str) -> bool:
    """Whether `return_to` is an authorization request, which may lead on to a client without a question."""
    return urlsplit(return_to).path == "/sso"


def see_other(address: str) -> Response:
    """303, never 307: the browser must not send its form on (RFC 9700 §4.12)."""
    response = Response(b"", 303)
    response.headers.clear()
    response.headers["Location"] = address
    response.headers["Content-Length"] = "0"
    response.headers["Cache-Control"] = "no-store"
    return response

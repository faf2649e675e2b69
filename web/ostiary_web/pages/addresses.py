"""Addresses that pages lead to: local paths only."""

import re
from typing import Final
from urllib.parse import unquote_plus, urlsplit

from quart import Response, request

from ostiary_net.front_door.limits import LONGEST_HEAD
from ostiary_web.http.browser import has_login_cookies

_FORM_HEADER_BYTES: Final = 256
_SIGN_IN_HEADER_BYTES: Final = 2_048
_LOCAL_PATH: Final = re.compile(r"/(?![/\\])[\x21-\x7e]*", re.ASCII)


def local_path(text: str) -> str:
    """Return `text` if it is a path of this server, else the home page (READINGS 27).

    >>> local_path("/sso?a=b"), local_path("//evil.example"), local_path("https://evil.example")
    ('/sso?a=b', '/', '/')
    """
    return text if _LOCAL_PATH.fullmatch(text) else "/"


def this_address(path: str | None = None) -> str:
    """Return this request's path, or another, with the query as it came."""
    query = request.query_string.decode("latin-1")
    path = path or request.path
    return local_path(f"{path}?{query}" if query else path)


def page_address() -> str:
    """Return the address of the page asked for; the home page for a POST, whose address may have no page."""
    return "/" if request.method == "POST" else this_address()


def is_too_long_to_return_to() -> bool:
    """Whether this request's address may be too long to be held in those of the pages back to it.

    A visitor who is not signed in comes back with more cookies.
    """
    if _parameters_and_next()[1]:
        return False
    target = len("POST  HTTP/1.1\r\n") + len(request.scope["raw_path"]) + len(request.query_string)
    fields = sum(len(name) + len(value) + len(": \r\n") for name, value in request.scope["headers"])
    return (
        target + fields + (_FORM_HEADER_BYTES if has_login_cookies() else _SIGN_IN_HEADER_BYTES)
        > LONGEST_HEAD
    )


def sign_in_page(return_to: str, *parameters: str) -> str:
    """Return the address of the sign-in page, which leads on to `return_to`."""
    return _address_with_return("/login", return_to, *parameters)


def other_sign_in_page(return_to: str, *parameters: str) -> str:
    """Return the sign-in page for another user than the one signed in."""
    return sign_in_page(return_to, "switch=1", *parameters)


def recovery_page(return_to: str, *parameters: str) -> str:
    """Return the page for a forgotten password, which leads to `return_to` by the sign-in page."""
    return _address_with_return("/recover", return_to, *parameters)


def password_page(return_to: str) -> str:
    """Return the page for a new password, which leads on to `return_to`."""
    return _address_with_return("/password", return_to)


def second_factor_page(return_to: str, path: str = "/account/second-factor") -> str:
    """Return the page for a new second factor, or one of its forms, which leads on to `return_to`."""
    return _address_with_return(path, return_to)


def _address_with_return(path: str, return_to: str, *parameters: str) -> str:
    """Return a page's address that ends in `return_to`, unescaped, as escaping it anew makes it too long."""
    return f"{path}?{'&'.join((*parameters, f'next={return_to}'))}"


def return_address() -> str:
    """Return the local path that this request's page leads on to (READINGS 27)."""
    return local_path(_parameters_and_next()[1])


def has_parameter(name: str) -> bool:
    """Whether the query has `name=1` for this page, and not for the one it leads on to."""
    return f"{name}=1" in _parameters_and_next()[0]


def _parameters_and_next() -> tuple[list[str], str]:
    before, _, rest = f"&{request.query_string.decode('latin-1')}".partition("&next=")
    if "%" not in rest.partition("?")[0]:
        return before.split("&"), rest
    # None of our paths has a %: another program or an earlier release escaped this one.
    escaped, _, after = rest.partition("&")
    return [*before.split("&"), *after.split("&")], unquote_plus(escaped)


def may_lead_away(return_to: str) -> bool:
    """Whether `return_to` is an authorization request, which may redirect to a client without a question."""
    return urlsplit(return_to).path == "/sso"


def see_other(address: str) -> Response:
    """Redirect with 303, never 307: the browser must not send its form on (RFC 9700 §4.12)."""
    response = Response(b"", 303)
    response.headers.clear()
    response.headers["Location"] = address
    response.headers["Content-Length"] = "0"
    response.headers["Cache-Control"] = "no-store"
    return response

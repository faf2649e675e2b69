"""Where a page may lead: to local paths, whatever it was asked for."""

import re
from typing import Final
from urllib.parse import quote, urlsplit

from quart import Response, request

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


def sign_in_page(return_to: str) -> str:
    """The sign-in page, which leads on to `return_to`."""
    return f"/login?next={quote(return_to, safe='')}"


def other_sign_in_page(return_to: str) -> str:
    """The same for somebody else than who is signed in here."""
    return f"{sign_in_page(return_to)}&switch=1"


def recovery_page(return_to: str) -> str:
    """The page for a forgotten password, which leads on to `return_to` by the sign-in page."""
    return f"/recover?next={quote(return_to, safe='')}"


def password_page(return_to: str) -> str:
    """The page for a new password, which leads on to `return_to`."""
    return f"/password?next={quote(return_to, safe='')}"


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

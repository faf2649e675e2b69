"""Tell browsers in every answer: guess no type, show it in no frame, tell no site about it.

An answer may say something stricter of its own or, as pictures do, something wider. The four operations
of third-party backends are left as the core means them, which says of every answer that its type is not to be
guessed: no browser calls them, and every front door answers them byte for byte alike.
"""

from collections.abc import Mapping
from typing import Final

from quart import Response, request

from ostiary_core.http import token_service, userinfo

_FIELDS: Final = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_SERVER_TO_SERVER: Final = frozenset({*token_service.PATHS, userinfo.PATH})


def security_fields(path: str) -> Mapping[str, str]:
    """Return the header fields of every answer to a request for `path`."""
    return {} if path in _SERVER_TO_SERVER else _FIELDS


async def add_security_headers(response: Response) -> Response:
    """Add the fields that the answer does not have."""
    for name, value in security_fields(request.path).items():
        response.headers.setdefault(name, value)
    return response

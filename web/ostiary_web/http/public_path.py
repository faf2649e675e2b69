"""Put the path of `PUBLIC_URL` in front of every address of ours in an answer.

Routes, pages and scripts know nothing of it: the front door takes it off a request's path, and what leads a
browser on (a redirect, an address in a page) is given it here, where answers leave. Only cookies are bound to
it where they are made (`http/browser.py`). In JSON addresses stay as the specification has them, relative to
the base address.
"""

import re
from typing import Final

from quart import Response

_ATTRIBUTES: Final = ("href", "src", "action", "formaction", "data-form-is-on")
_BEFORE_PATH: Final = re.compile(
    '="(?:' + "|".join(rf'(?<=\s{name}=")' for name in _ATTRIBUTES) + ")(?=/(?!/))"
)
"""Pattern of the place before a path in an attribute; quotes in what users wrote are escaped by templates."""


async def add_public_path(public_path: str, response: Response) -> Response:
    """Return the answer with its addresses under `public_path`."""
    if response.headers.get("Location", "").startswith("/"):
        response.headers["Location"] = public_path + response.headers["Location"]
    if response.mimetype == "text/html":
        page = await response.get_data(as_text=True)
        response.set_data(_BEFORE_PATH.sub(f'="{public_path}', page))
    return response

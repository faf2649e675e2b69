"""Visits: once nothing fails any more, an administrator reads what no step asks for.

Lists, exports, options, the trail, explanations, pages: ten of them in every seed and all in a few, with a
cookie or a Bearer token, now and then from another site or in another language. Each is answered as
documented.
"""

from random import Random
from typing import Final
from urllib.parse import quote

from fuzz.shared.history import History
from fuzz.shared.http_client import Fields, Request, Response, bearer
from fuzz.simulation.documented import STATUS_OF_CODE
from fuzz.simulation.instance import read_routes

VISITS: Final = 10
"""Visits a seed; the next seed goes on where it ends."""
VISITOR: Final = "198.51.100.77"
_LEFT_OUT: Final = ("/sso", "/login", "/readyz", "/admin", "/api/monitor/overview")
"""The first two may issue or renew something; the others tell of the machine, which no seed decides."""
_OPEN: Final = ("/static/", "/brand/", "/files/", "/healthz", "/readyz")
"""No page and no interface: whatever is not there is plain text."""


def list_readable() -> tuple[str, ...]:
    """Return every path with a GET that a visit may read."""
    return tuple(sorted(path for method, path in read_routes() if method == "GET" and path not in _LEFT_OUT))


def choose_routes(seed: int) -> tuple[str, ...]:
    """Return the routes that a seed visits: those of any few seeds in a row are all that there are."""
    every = list_readable()
    return tuple(every[(seed * VISITS + place) % len(every)] for place in range(VISITS))


def draw_visit(route: str, login: str, history: History, random: Random) -> Request:
    """Make the request of a visit, by somebody who is signed in more often than not."""
    known = [
        *(history.clients if "client" in route else ()),
        *((user.user_id for user in history.names.values()) if "user" in route or "people" in route else ()),
        *(session.session_id or "" for session in history.grants[-3:] if "session" in route),
        "1",
    ]
    path = "/".join(quote(random.choice(known)) if "<" in part else part for part in route.split("/"))
    fields: Fields = []
    if random.random() < 0.9:
        fields.append(bearer(login) if route.startswith("/api/") else ("Cookie", f"ostiary_access={login}"))
    if random.random() < 0.3:
        fields += [
            ("Accept-Language", random.choice(("zh-CN", "tlh, en;q=0.1", "*"))),
            ("Accept", "text/html"),
        ]
    if random.random() < 0.3:
        fields.append(("X-Timezone", random.choice(("Asia/Shanghai", "Nowhere/Land", "../etc/passwd"))))
    if random.random() < 0.2:
        fields += [("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site")]
    query = random.choice(("", "", "?page=2&pageSize=1", "?q=a", "?nonsense=1"))
    return Request("GET", path + query, fields)


def find_wrong(route: str, response: Response) -> str | None:
    """Return why a response cannot be one to a visit."""
    if response.status >= 500:
        return f"GET {route} is answered {response.status} though nothing fails"
    if response.status < 400 or not route.startswith("/api/") or route.startswith(_OPEN):
        return None
    if response.status != STATUS_OF_CODE.get(response.error):
        return f"GET {route} is refused with {response.status} {response.error}"
    return None

"""Visits: after all faults have ended, administrators, guests and strangers open every route.

So routes are covered that no step uses. A guest has no role, a stranger no login, and both are refused in the
administration. Each seed visits a few routes, and a few seeds visit all: lists, exports, pages and every
form, with a cookie or a Bearer token, sometimes from another site or in another language. Each answer must be
a documented one.
"""

from dataclasses import replace
from random import Random
from typing import Final
from urllib.parse import quote, urlencode

from fuzz.shared.calls import Call, Verb
from fuzz.shared.history import History
from fuzz.shared.http_client import Fields, Request, Response, bearer, form_request, json_request
from fuzz.shared.requests import authorization_parameters
from fuzz.shared.sheets import picture_of, upload_request
from fuzz.simulation.documented import STATUS_OF_CODE, STATUS_OF_ERROR
from fuzz.simulation.forms import Form, PageForm, make_sending_request
from fuzz.simulation.instance import read_routes

VISITS: Final = 14
"""Number of visits in a seed; the next seed continues after them."""
VISITOR: Final = "198.51.100.77"
OF_THE_MACHINE: Final = ("GET /readyz", "GET /admin", "GET /api/monitor/overview")
"""Routes that show facts about the machine, which no seed determines."""
_OPEN: Final = ("/static/", "/brand/", "/files/", "/healthz", "/readyz")
"""Beginnings of paths outside pages and interface, whose errors are plain text."""
_ADMINISTRATION: Final = ("/admin", "/api/audit/", "/api/iam/", "/api/monitor/", "/api/oauth/")
"""Beginnings of paths that require a permission."""
_CONTENT: Final = {"name": "visited", "locale": "zh-CN", "timezone": "Asia/Shanghai", "phone": "+49301234567"}
"""Values that are entered in every form, and in the interface's requests if it knows the field."""


def list_routes() -> tuple[str, ...]:
    """Return every method and path, as `GET /healthz`."""
    return tuple(sorted(f"{method} {path}" for method, path in read_routes()))


def choose_routes(seed: int) -> tuple[str, ...]:
    """Return the routes that a seed visits; a few seeds in a row visit all."""
    every = list_routes()
    return tuple(every[(seed * VISITS + place) % len(every)] for place in range(VISITS))


def draw_visit(route: str, by: str | None, form: Form, history: History, random: Random) -> Request:
    """Return the request of a visit with the access token `by`; `form` is an opened form."""
    method, _, path = route.partition(" ")
    known = [
        *(history.clients if "client" in path else ()),
        *((user.user_id for user in history.names.values()) if "user" in path or "people" in path else ()),
        *(session.session_id or "" for session in history.grants[-3:] if "session" in path),
        "1",
    ]
    target = "/".join(quote(random.choice(known)) if "<" in part else part for part in path.split("/"))
    if path == "/sso":
        asked = Call(Verb.CHECK, client_id=random.choice(known), redirect_uri="https://app.example/callback")
        target = f"/sso?{urlencode(authorization_parameters(asked))}"
    if method == "GET":
        query = random.choice(("", "", "page=2&pageSize=1", "q=a", "nonsense=1"))
        joint = "&" if "?" in target else "?"
        cookie = [] if by is None else [("Cookie", f"ostiary_access={by}")]
        own = [bearer(by)] if by is not None and path.startswith("/api/") else cookie
        return Request("GET", f"{target}{joint}{query}" if query else target, [*own, *_manners(random)])
    if path.startswith("/api/oauth2/") and "authorize" not in path:
        return form_request(target, _manners(random), {"grant_type": "password"})
    if path.endswith(("import", "picture", "avatar")) and method != "DELETE":
        values = {"form_token": form.values["form_token"][0], "mode": "upsert"}
        upload = upload_request(method, target, by, picture_of(random), "me.png", "image/png", **values)
        cookies = ("Cookie", f"ostiary_form={form.cookie}; ostiary_access={by}")
        return upload if path.startswith("/api/") else replace(upload, fields=[*upload.fields, cookies])
    if path.startswith("/api/"):
        last = path.rpartition("/")[2]
        name = last if last in _CONTENT else "name"
        return json_request(method, target, by, {name: _CONTENT[name]})
    return make_sending_request(Call(Verb.SHOW_ACCOUNT, login=by), PageForm(target, _CONTENT), form)


def _manners(random: Random) -> Fields:
    """Return extra header fields of a browser or an impostor."""
    fields: Fields = []
    if random.random() < 0.3:
        language = random.choice(("zh-CN", "tlh, en;q=0.1", "*"))
        fields += [("Accept-Language", language), ("Accept", "text/html")]
    if random.random() < 0.3:
        fields.append(("X-Timezone", random.choice(("Asia/Shanghai", "Nowhere/Land", "../etc/passwd"))))
    if random.random() < 0.2:
        fields += [("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site")]
    return fields


def find_wrong(route: str, response: Response, *, is_super: bool) -> str | None:
    """Return why a response is wrong for a visit by a super administrator or another caller, or None."""
    if response.status >= 500:
        return f"{route} is answered {response.status} though nothing fails"
    path = route.partition(" ")[2]
    is_sent_away = response.status == 303 and response.field("location").startswith("/login")
    is_closed = path.startswith(_ADMINISTRATION) and not is_super
    if is_closed and not is_sent_away and response.status not in (401, 403):
        return f"{route} is answered {response.status} to somebody who may administer nothing"
    if response.status < 400 or not path.startswith("/api/") or path.startswith(_OPEN):
        return None
    if response.error == "invalid_client" and response.status == 400:
        return None  # by form fields at `/token`
    if response.status not in (STATUS_OF_CODE.get(response.error), STATUS_OF_ERROR.get(response.error)):
        return f"{route} is refused with {response.status} {response.error}"
    return None

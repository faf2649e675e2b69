"""Callers of the application: a program with Bearer tokens, a browser with cookies and forms.

Every answer that a program gets in any test is compared with the API document.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from importlib.metadata import version
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import httpx
import jsonschema_rs
from quart import Quart

from ostiary_web.api_document.document import api_document
from ostiary_web.app.factory import create_app
from ostiary_web.server.settings import Settings
from ostiary_web.texts import LANGUAGES
from tests.support.asks import VERIFIER, challenge_of
from tests.support.files import SHEET, sheet_of

BASE: Final = "http://id.example"
SOURCE: Final = "203.0.113.7"
ADMIN_PASSWORD: Final = "correct horse battery"
REDIRECT_URI: Final = "https://app.example/callback"


@dataclass(frozen=True)
class Registered:
    """A client and its secret."""

    client_id: str
    secret: str

    @property
    def basic(self) -> httpx.BasicAuth:
        return httpx.BasicAuth(self.client_id, self.secret)

    @property
    def fields(self) -> dict[str, str]:
        return {"client_id": self.client_id, "client_secret": self.secret}


class Caller(httpx.AsyncClient):
    """A caller over HTTP."""

    is_held_to_document: bool = True
    """The document describes our own two languages, and addresses below the public path."""

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Compare every answer, and every request that is accepted, with the API document."""
        response = await super().send(request, **options)
        if self.is_held_to_document and not options.get("stream"):
            hold_to_document(response)
        return response


class Api(Caller):
    """A program that calls the interface from one address."""

    token: str | None = None

    async def service(self, operation: str, client: Registered, /, **form: str) -> httpx.Response:
        """Call `token`, `introspect` or `revoke`, authenticated by Basic."""
        return await self.post(f"/api/oauth2/{operation}", data=form, auth=client.basic)

    async def refresh(self, client: Registered, token: str) -> httpx.Response:
        """Present a refresh token."""
        return await self.service("token", client, grant_type="refresh_token", refresh_token=token)

    async def is_active(self, client: Registered, token: str) -> bool:
        """Whether introspection calls a token active; an answer about an inactive one has no other field."""
        answer = (await self.service("introspect", client, token=token)).json()
        assert answer["active"] or answer == {"active": False}
        return bool(answer["active"])

    async def call(
        self, method: str, path: str, json: object = None, *, token: str | None = None, **options: Any
    ) -> httpx.Response:
        """Call the server's own interface with the Bearer token of the user who signed in here."""
        bearer = token or self.token
        headers = {**options.pop("headers", {}), **({"Authorization": f"Bearer {bearer}"} if bearer else {})}
        if json is not None:
            options["json"] = json
        return await self.request(method, path, headers=headers, **options)

    async def succeed(
        self, method: str, path: str, json: object = None, *, status: int = 200, **more: Any
    ) -> Any:
        """Return the `data` of a call, which must succeed."""
        return expect_success(await self.call(method, path, json, **more), status)

    async def fail(
        self, status: int, code: str, method: str, path: str, json: object = None, **more: Any
    ) -> dict[str, Any]:
        """Return the whole envelope of a call, which must be refused so."""
        return expect_refusal(await self.call(method, path, json, **more), status, code)

    async def import_sheet(
        self, path: str, sheet: bytes | Sequence[Any], mode: str = "upsert", preview: str = "", **headers: str
    ) -> httpx.Response:
        """Import a sheet, or one with these rows, into the records at a path."""
        content = sheet if isinstance(sheet, bytes) else sheet_of(sheet)
        file, data = ("rows.xlsx", content, SHEET), {"mode": mode, "preview": preview}
        return await self.call("POST", f"{path}/import", files={"file": file}, data=data, headers=headers)

    async def sign_in(self, username: str = "admin", password: str = ADMIN_PASSWORD) -> dict[str, Any]:
        """Sign in, and keep the token."""
        response = await self.post("/api/auth/login", json={"username": username, "password": password})
        assert response.status_code == 200, response.text
        data: dict[str, Any] = response.json()["data"]
        self.token = data["accessToken"]
        self.cookies.clear()
        return data


@dataclass
class Form:
    """A form of a page: its target and its fields."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[tuple[str, str]] = field(default_factory=list)


class Markup(HTMLParser):
    """The elements of a page with their attributes, its texts and its comments."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, list[tuple[str, str]]]] = []
        self.texts: list[str] = []
        self.comments: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, [(name, value or "") for name, value in attrs]))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def forms_in(page: httpx.Response) -> list[Form]:
    """Return the forms of a page, in order, without those for scripts."""
    forms: list[Form] = []
    is_for_scripts = False
    for tag, attributes in Markup(page.text).elements:
        given = dict(attributes)
        if tag == "form":
            is_for_scripts = "hidden" in given
        if is_for_scripts:
            continue
        if tag == "form":
            forms.append(Form(given.get("action", ""), given.get("method", "get").lower()))
        elif tag == "input" and forms and "name" in given and "form" not in given:
            forms[-1].fields[given["name"]] = given.get("value", "")
        elif tag == "button" and forms and "name" in given:
            forms[-1].buttons.append((given["name"], given.get("value", "")))
    return forms


def form_token_in(page: httpx.Response) -> str:
    """Return the token that all forms of a page carry."""
    [token] = {form.fields["form_token"] for form in forms_in(page) if "form_token" in form.fields}
    return token


class Browser(Caller):
    """A browser without JavaScript. Our pages send no referrer, so it names its origin `null`."""

    async def submit(
        self,
        page: httpx.Response,
        values: Mapping[str, str] | None = None,
        /,
        *,
        to: str | None = None,
        files: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Fill in the form of a page (the one that goes to `to`) and send it."""
        forms = [form for form in forms_in(page) if form.method == "post"]
        (form,) = [form for form in forms if to is None or urlsplit(form.action).path == to]
        sent = {"Origin": "null", "Sec-Fetch-Site": "same-origin", **(headers or {})}
        content = {**form.fields, **(values or {})}
        return await self.post(urljoin(str(page.url), form.action), data=content, files=files, headers=sent)

    async def log_in(
        self, page: httpx.Response, username: str = "admin", password: str = ADMIN_PASSWORD
    ) -> httpx.Response:
        """Fill in the sign-in form of a page."""
        return await self.submit(page, {"username": username, "password": password}, to="/login")

    async def follow(self, response: httpx.Response) -> httpx.Response:
        """Follow a redirect within the site."""
        assert response.status_code == 303, response.text
        assert response.headers["location"].startswith("/")
        return await self.get(urljoin(str(response.url), response.headers["location"]))

    async def sign_in(
        self, username: str = "admin", password: str = ADMIN_PASSWORD, *, return_to: str = "/"
    ) -> httpx.Response:
        """Sign in by the sign-in page."""
        return await self.log_in(await self.get("/login", params={"next": return_to}), username, password)


def authorization(client_id: str | None = "app", **asked: str | None) -> dict[str, str]:
    """Return a right query of `/sso`, with `asked` in place of some of it; None leaves one out."""
    right: dict[str, str | None] = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": REDIRECT_URI,
        "code_challenge": challenge_of(VERIFIER),
        "code_challenge_method": "S256",
        "state": "some state",
        **asked,
    }
    return {name: value for name, value in right.items() if value is not None}


def registration(client_id: str, **fields: object) -> dict[str, object]:
    """Return a body that registers a client with all grants, with `fields` in place of some of it."""
    return {
        "clientId": client_id,
        "name": "The App",
        "redirectUris": [REDIRECT_URI],
        "grantTypes": ["authorization_code", "refresh_token", "client_credentials"],
        "scopes": ["user.read"],
        "autoApproveScopes": [],
        **fields,
    }


def in_query(address: str, name: str) -> str:
    """Return the one value of a parameter in an address."""
    (value,) = parse_qs(urlsplit(address).query, strict_parsing=True)[name]
    return value


def exchange_of(code: str) -> dict[str, str]:
    """Return the fields of a right exchange of a code."""
    return {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": REDIRECT_URI,
        "code_verifier": VERIFIER,
    }


def sso(client_id: str | None = "app", **asked: str | None) -> str:
    """Return the address of a consent page."""
    return "/sso?" + urlencode(authorization(client_id, **asked))


def expect_success(response: httpx.Response, status: int = 200) -> Any:
    """Return the `data` of an answer, which must be a success."""
    assert response.status_code == status, response.text
    _is_json(response)
    content = response.json()
    assert set(content) == {"code", "msg", "data"}
    assert (content["code"], content["msg"]) == (0, "ok")
    return content["data"]


def expect_refusal(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """Return the whole envelope of an answer, which must be this failure."""
    assert (response.status_code, response.json().get("code")) == (status, code), response.text
    _is_json(response)
    content: dict[str, Any] = response.json()
    assert set(content) == {"code", "msg", "data", "errors", "traceId"}
    assert content["data"] is None
    assert isinstance(content["msg"], str)
    assert content["msg"]
    assert re.fullmatch("[0-9a-f]{32}", content["traceId"])
    for error in content["errors"]:
        assert set(error) == {"path", "msg"}
        assert error["msg"]
    if status != 403:  # which names the scope that is missing, at user-info alone (RFC 6750 §3.1)
        challenge = response.headers.get("www-authenticate", "")
        assert challenge.startswith("Bearer") is (status == 401), "RFC 9110 §15.5.2"
    return content


def fields_of(failure: dict[str, Any]) -> list[str]:
    """Return the fields that a validation failure names."""
    return [error["path"] for error in failure["errors"]]


def _is_json(response: httpx.Response) -> None:
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert response.headers["cache-control"] == "no-store"


_OF_EVERY_ADDRESS: Final = {405, 413}
"""Statuses for a wrong method or a body that is too large, which every address may answer."""


@cache
def app_of(**environment: str) -> Quart:
    """Make the application as these settings have it, to be looked at."""
    return create_app(Settings.from_environment(environment))


APP: Final = app_of(API_DOCS_ENABLED="true")
DOCUMENT: Final = api_document(APP, version("ostiary"), LANGUAGES)
_COMPONENTS: Final = jsonschema_rs.Registry([("urn:document", {"components": DOCUMENT["components"]})])
_REFERRING: Final = json.loads(json.dumps(DOCUMENT["paths"]).replace('"#/', '"urn:document#/'))
"""Description of each path, whose schemas stand alone beside the components."""


def hold_to_document(response: httpx.Response) -> None:
    """Fail if an operation of the interface answers what is not described."""
    operation = _operation(response.request.method, response.request.url.path)
    status = str(response.status_code)
    if operation is None or response.status_code in _OF_EVERY_ADDRESS:
        return
    assert status in operation["responses"], (operation["operationId"], status, response.text)
    if response.is_success:
        _hold_request(operation, response.request)
    content = operation["responses"][status].get("content")
    media_type = response.headers.get("content-type", "").partition(";")[0]
    if content is None:
        assert response.content == b"", operation["operationId"]
        return
    assert media_type in content, (operation["operationId"], status, media_type)
    if media_type == "application/json":
        _validator(operation["operationId"], status).validate(response.json())


def _hold_request(operation: dict[str, Any], request: httpx.Request) -> None:
    """Fail if a request was taken that the document forbids, so that what is generated from it would not
    send it."""
    body = operation.get("requestBody", {"required": False, "content": {}})
    media_type = request.headers.get("content-type", "").partition(";")[0]
    if not request.headers.get("content-length", "0").strip("0"):
        assert not body["required"], operation["operationId"]
    elif media_type == "application/json" and media_type in body["content"]:
        _validator(operation["operationId"], None).validate(json.loads(request.content))


@cache
def _paths() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    """List the operations of the interface by method, those without a variable part first."""
    paths = sorted(DOCUMENT["paths"].items(), key=lambda path: "{" in path[0])
    return [(re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), methods) for path, methods in paths]


@cache
def _operation(method: str, path: str) -> dict[str, Any] | None:
    for pattern, methods in _paths():
        if pattern.fullmatch(path):
            found: dict[str, Any] | None = methods.get(method.lower())
            return found
    return None


@cache
def _validator(name: str, status: str | None) -> jsonschema_rs.Validator:
    """Return the validator of an answer with this status; without one, of the request."""
    [operation] = (
        operation
        for methods in _REFERRING.values()
        for operation in methods.values()
        if operation["operationId"] == name
    )
    said = operation["requestBody"] if status is None else operation["responses"][status]
    schema = said["content"]["application/json"]["schema"]
    return jsonschema_rs.Draft202012Validator(schema, registry=_COMPONENTS)

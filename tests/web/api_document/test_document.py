"""The document describes every route and nothing else, and it is right in itself."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import httpx
import jsonschema_rs
import pytest

from ostiary_core.http.meanings import MEANINGS
from ostiary_web.api_document import routes as document_routes
from ostiary_web.api_document.operations import described_path
from ostiary_web.api_document.routes import FILES
from ostiary_web.http.gate import gate_of
from tests.support.callers import APP, DOCUMENT, expect_refusal, hold_to_document
from tests.support.served import serving

Operation = tuple[str, str]


def bare(path: str) -> str:
    """Return a path without the names of its variable parts."""
    return re.sub(r"\{[^{}]*\}", "{}", path)


def routes() -> dict[Operation, Any]:
    """Return every method and path of the interface with its view, without those of the document itself."""
    return {
        (method.lower(), bare(described_path(rule.rule))): APP.view_functions[rule.endpoint]
        for rule in APP.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.rule.startswith(("/api/", "/files/", "/healthz", "/readyz"))
        and not rule.rule.startswith("/api/docs")
    }


def operations() -> dict[Operation, dict[str, Any]]:
    return {
        (method, bare(path)): operation
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
    }


def within(part: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a piece of the document."""
    if isinstance(part, dict):
        yield part
        for value in part.values():
            yield from within(value)
    elif isinstance(part, list):
        for value in part:
            yield from within(value)


def test_every_route_is_described_and_nothing_else() -> None:
    assert set(operations()) == set(routes())
    assert len(routes()) > 60


def test_the_document_is_json_and_names_its_version() -> None:
    assert json.loads(json.dumps(DOCUMENT)) == DOCUMENT
    assert DOCUMENT["openapi"].startswith("3.1")
    assert DOCUMENT["info"]["version"] == version("ostiary")


def test_every_reference_leads_somewhere_and_every_schema_is_used() -> None:
    named = {part["$ref"] for part in within(DOCUMENT) if "$ref" in part}
    assert named == {f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]}


def test_every_operation_has_a_name_of_its_own_and_a_summary() -> None:
    names = Counter(operation["operationId"] for operation in operations().values())
    assert [name for name, times in names.items() if times > 1] == []
    assert all(operation["summary"] for operation in operations().values())


def test_every_operation_stands_under_a_heading_that_is_explained() -> None:
    used = {tag for operation in operations().values() for tag in operation["tags"]}
    assert used == {tag["name"] for tag in DOCUMENT["tags"]}


def test_the_variable_parts_of_a_path_are_its_parameters() -> None:
    for path, methods in DOCUMENT["paths"].items():
        for operation in methods.values():
            listed = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"]
            assert listed == re.findall(r"\{([^{}]*)\}", path), path


@pytest.mark.parametrize("key", sorted(routes()), ids=" ".join)
def test_an_operation_names_the_credentials_that_it_takes(key: Operation) -> None:
    operation, gate = operations()[key], gate_of(routes()[key])
    statuses = set(operation["responses"])
    if gate is not None and gate.permission is not None and key[1].startswith("/api/"):
        assert operation["security"] == [{"login": []}, {"personalToken": []}]
        assert {"401", "403"} <= statuses
    if operation["security"] and {} not in operation["security"]:
        assert "401" in statuses


def test_every_answer_of_the_interface_says_what_a_fault_of_the_server_looks_like() -> None:
    for (_, path), operation in operations().items():
        if path.startswith("/api/"):
            assert "500" in operation["responses"], path


def test_codes_stand_under_the_status_that_they_come_with() -> None:
    status_of: dict[str, set[str]] = {}
    for meaning in MEANINGS.values():
        status_of.setdefault(meaning.code, set()).add(str(meaning.status))
    for operation in operations().values():
        refusals = {status: each for status, each in operation["responses"].items() if status[0] in "45"}
        for status, answer in refusals.items():
            for part in within(answer):
                for code in part.get("properties", {}).get("code", {}).get("enum", ()):
                    assert status in status_of[code], (operation["operationId"], code)


# --- `hold_to_document` accepts the answers that the document describes, and no others

DONE: Final[dict[str, Any]] = {"code": 0, "msg": "ok", "data": None}
PICTURE: Final = {**DONE, "data": {"avatarUrl": "/files/a.png"}}
UNDESCRIBED: Final[tuple[Any, ...]] = (
    DONE,
    {**DONE, "data": {"avatarUrl": 1}},
    {**PICTURE, "more": 1},
    [],
    1,
    "<p>",
)
AVATAR, LOCALE = "/api/auth/avatar", "/api/auth/locale"
EXCHANGES: Final[list[tuple[str, str, Any, int, Any, bool]]] = [
    ("PUT", AVATAR, b"a picture", 200, PICTURE, True),
    ("DELETE", AVATAR, b"", 200, DONE, True),
    ("PATCH", AVATAR, b"", 204, None, True),
    ("PUT", "/api/nothing", b"", 204, None, True),
    ("PUT", LOCALE, {"locale": "en-US"}, 200, DONE, True),
    ("PUT", LOCALE, {"locale": "tlh"}, 200, DONE, False),
    ("PUT", LOCALE, None, 200, DONE, False),
    *(("PUT", AVATAR, b"a picture", status, PICTURE, False) for status in (201, 303, 404, 422)),
    *(("PUT", AVATAR, b"a picture", 200, content, False) for content in UNDESCRIBED),
]
"""A request, its answer, and whether the document describes both or says nothing about their route."""


@pytest.mark.parametrize("method, path, sent, status, content, is_described", EXCHANGES)
def test_what_is_described_passes_and_nothing_else(
    method: str, path: str, sent: Any, status: int, content: Any, is_described: bool
) -> None:
    body: dict[str, Any] = {"content": sent} if isinstance(sent, bytes) else {"json": sent}
    request = httpx.Request(method, f"https://id.example{path}", **body)
    said: dict[str, Any] = {"html": content} if isinstance(content, str) else {"json": content}
    response = httpx.Response(status, request=request, **said)
    judged = nullcontext() if is_described else pytest.raises((AssertionError, jsonschema_rs.ValidationError))
    with judged:
        hold_to_document(response)


# --- `/api/docs` and `/api/docs-json`: answered only if the setting says so, without files of other servers


@pytest.mark.parametrize("setting", ["", "false", "0", "no"])
async def test_nothing_is_there_unless_the_setting_says_so(tmp_path: Path, setting: str) -> None:
    async with serving(tmp_path, API_DOCS_ENABLED=setting) as served:
        for path in ("/api/docs", "/api/docs-json", *(f"/api/docs/{name}" for name in FILES)):
            expect_refusal(await served.api().get(path), 404, "A0404")


async def test_the_document_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every visitor may ask for the document, and the server answers no other request while it builds one."""
    built: list[object] = []

    def build(*arguments: Any) -> dict[str, object]:
        built.append(arguments)
        return {"openapi": "3.1.0"}

    monkeypatch.setattr(document_routes, "api_document", build)
    async with serving(tmp_path, API_DOCS_ENABLED="true") as served:
        for _ in range(3):
            assert (await served.api().get("/api/docs-json")).json() == {"openapi": "3.1.0"}
    assert len(built) == 1


async def test_what_is_there_is_given_out_with_its_type_and_asks_this_server_alone(tmp_path: Path) -> None:
    async with serving(tmp_path, API_DOCS_ENABLED="true") as served:
        api = served.api()
        document = await api.get("/api/docs-json")
        assert document.headers["content-type"] == "application/json; charset=utf-8"
        assert "/api/oauth2/token" in document.json()["paths"]

        page = await api.get("/api/docs")
        named = re.findall(r'(?:src|href)="([^"]+)"', page.text)
        assert named
        for address in named:
            assert address.startswith(("/api/docs", "data:,"))
            if address.startswith("/"):
                assert (await api.get(address)).status_code == 200
        policy = page.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert not re.search(r"<script(?![^>]* src=)|<style|style=|\son\w+=", page.text)

        found = {name: await api.get(f"/api/docs/{name}") for name in FILES}
        for name, response in found.items():
            assert response.status_code == 200, name
            assert response.headers["content-type"] == FILES[name]
            assert response.headers["x-content-type-options"] == "nosniff"
            assert len(response.content) > 50
        assert "//" not in re.sub(r"^//.*", "", found["start.js"].text)
        assert "Apache License" in found["LICENSE"].text
        assert "SmartBear" in found["NOTICE"].text
        for name in ("page.html", "..%2froutes.py", "__init__.py", "%00", "LICENSE%00"):
            expect_refusal(await api.get(f"/api/docs/{name}"), 404, "A0404")

"""Every answer that a program gets in a test is held to the API document, whatever the test is about.

So are valid sheets and uploads, which no schema can make up for Schemathesis.
"""

import json
import re
from functools import cache
from importlib.metadata import version
from typing import Any, Final

import httpx
import jsonschema_rs

from ostiary_web.api_document.document import api_document
from ostiary_web.app.factory import create_app
from ostiary_web.server.settings import Settings
from ostiary_web.texts import LANGUAGES

_OF_EVERY_ADDRESS: Final = {405, 413}
"""Another method, or more than the front door lets in: the same wherever it is."""
_NO_INTERFACE: Final = {"This document"}

APP: Final = create_app(Settings.from_environment({"API_DOCS_ENABLED": "true"}))
DOCUMENT: Final = api_document(APP, version("ostiary"), LANGUAGES)


def hold_to_document(response: httpx.Response) -> None:
    """Fail where an operation of the interface answers what is not described."""
    path = response.request.url.path
    operation = _operation(response.request.method, path)
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
    """Fail where a request was taken that the document forbids, so that what is generated from it would not
    send it."""
    body = operation.get("requestBody", {"required": False, "content": {}})
    media_type = request.headers.get("content-type", "").partition(";")[0]
    if not request.headers.get("content-length", "0").strip("0"):
        assert not body["required"], operation["operationId"]
    elif media_type == "application/json" and media_type in body["content"]:
        content = json.loads(request.content)
        _validator(operation["operationId"], None).validate(content)


@cache
def _paths() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    """The operations of the interface by method, those without a variable part first."""
    paths = sorted(DOCUMENT["paths"].items(), key=lambda path: "{" in path[0])
    return [
        (re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), methods)
        for path, methods in paths
        if not any(_NO_INTERFACE & set(operation["tags"]) for operation in methods.values())
    ]


def _operation(method: str, path: str) -> dict[str, Any] | None:
    for pattern, methods in _paths():
        if pattern.fullmatch(path):
            found: dict[str, Any] | None = methods.get(method.lower())
            return found
    return None


@cache
def _validator(name: str, status: str | None) -> jsonschema_rs.Validator:
    """Of an answer with this status; of what is sent, without one."""
    [operation] = (
        operation
        for methods in DOCUMENT["paths"].values()
        for operation in methods.values()
        if operation["operationId"] == name
    )
    said = operation["requestBody"] if status is None else operation["responses"][status]
    schema = said["content"]["application/json"]["schema"]
    return jsonschema_rs.Draft202012Validator({"components": DOCUMENT["components"], "allOf": [schema]})

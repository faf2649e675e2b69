"""What holds every answer of the interface to the document lets through what is described, and no more."""

from typing import Any

import httpx
import jsonschema_rs
import pytest

from tests.support.callers import hold_to_document

DONE = {"code": 0, "msg": "ok", "data": None}
PICTURE = {**DONE, "data": {"avatarUrl": "/files/a.png"}}


def answer(status: int, content: Any, method: str = "PUT", path: str = "/api/auth/avatar") -> httpx.Response:
    request = httpx.Request(method, f"https://id.example{path}", content=b"a picture")
    return httpx.Response(status, json=content, request=request)


def test_what_is_described_passes_and_so_does_what_is_no_operation() -> None:
    hold_to_document(answer(200, PICTURE))
    hold_to_document(answer(200, DONE, "DELETE"))
    hold_to_document(answer(204, None, "PATCH"))
    hold_to_document(answer(204, None, path="/api/nothing"))


@pytest.mark.parametrize(
    "sent, is_described", [({"locale": "en-US"}, True), ({"locale": "tlh"}, False), (None, False)]
)
def test_a_request_that_is_taken_has_to_be_described(sent: object, is_described: bool) -> None:
    request = httpx.Request("PUT", "https://id.example/api/auth/locale", json=sent)
    response = httpx.Response(200, json=DONE, request=request)
    if is_described:
        hold_to_document(response)
    else:
        with pytest.raises((AssertionError, jsonschema_rs.ValidationError)):
            hold_to_document(response)


def test_another_status_content_or_media_type_does_not() -> None:
    for status in (201, 303, 404, 422):
        with pytest.raises(AssertionError):
            hold_to_document(answer(status, PICTURE))
    for data in ({"avatarUrl": None}, {"avatarUrl": 1}, None):
        with pytest.raises(jsonschema_rs.ValidationError):
            hold_to_document(answer(200, {**PICTURE, "data": data}))
    contents: tuple[Any, ...] = ({**PICTURE, "more": 1}, {"data": PICTURE}, [], 1)
    for content in contents:
        with pytest.raises(jsonschema_rs.ValidationError):
            hold_to_document(answer(200, content))
    request = httpx.Request("PUT", "https://id.example/api/auth/avatar")
    with pytest.raises(AssertionError):
        hold_to_document(httpx.Response(200, html="<p>done</p>", request=request))

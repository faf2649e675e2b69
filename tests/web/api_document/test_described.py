"""What holds every answer of the interface to the document lets through what is described, and no more."""

from typing import Any

import httpx
import jsonschema_rs
import pytest

from tests.web.described import hold_to_document

DONE = {"code": 0, "msg": "ok", "data": None}
PICTURE = {**DONE, "data": {"avatarUrl": "/files/a.png"}}


def answer(status: int, content: Any, method: str = "PUT", path: str = "/api/auth/avatar") -> httpx.Response:
    return httpx.Response(status, json=content, request=httpx.Request(method, f"https://id.example{path}"))


def test_what_is_described_passes_and_so_does_what_is_no_operation() -> None:
    hold_to_document(answer(200, PICTURE))
    hold_to_document(answer(200, DONE, "DELETE"))
    hold_to_document(answer(204, None, "PATCH"))
    hold_to_document(answer(204, None, path="/api/nothing"))


@pytest.mark.parametrize("status", [201, 303, 404, 422])
def test_a_status_that_is_not_described_does_not(status: int) -> None:
    with pytest.raises(AssertionError):
        hold_to_document(answer(status, PICTURE))


@pytest.mark.parametrize(
    "content",
    [DONE, {**PICTURE, "more": 1}, {**PICTURE, "data": {"avatarUrl": None}}, {"data": PICTURE}, [], 1],
)
def test_nor_does_another_content(content: Any) -> None:
    with pytest.raises(jsonschema_rs.ValidationError):
        hold_to_document(answer(200, content))


def test_nor_another_media_type() -> None:
    request = httpx.Request("PUT", "https://id.example/api/auth/avatar")
    with pytest.raises(AssertionError):
        hold_to_document(httpx.Response(200, html="<p>done</p>", request=request))

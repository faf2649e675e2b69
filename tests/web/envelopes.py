"""What the envelope must look like, whatever is in it ("General envelope and status codes")."""

import re
from typing import Any

import httpx


def expect_success(response: httpx.Response, status: int = 200) -> Any:
    """The `data` of a success."""
    assert response.status_code == status, response.text
    _is_json(response)
    content = response.json()
    assert set(content) == {"code", "msg", "data"}
    assert (content["code"], content["msg"]) == (0, "ok")
    return content["data"]


def expect_refusal(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The whole envelope of a failure."""
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
    if status == 401:
        assert response.headers["www-authenticate"].startswith("Bearer"), "RFC 9110 §15.5.2"
    return content


def fields_of(failure: dict[str, Any]) -> list[str]:
    """The fields that a validation failure names."""
    return [error["path"] for error in failure["errors"]]


def _is_json(response: httpx.Response) -> None:
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert response.headers["cache-control"] == "no-store"

"""`/api/docs` and `/api/docs-json`: there only when the setting says so, and sufficient in themselves."""

import re
from pathlib import Path
from typing import Any

import pytest

from ostiary_web.api_document import routes
from ostiary_web.api_document.routes import FILES
from tests.support.callers import expect_refusal
from tests.support.served import serving


@pytest.mark.parametrize("setting", ["", "false", "0", "no"])
async def test_nothing_is_there_unless_the_setting_says_so(tmp_path: Path, setting: str) -> None:
    async with serving(tmp_path, API_DOCS_ENABLED=setting) as served:
        for path in ("/api/docs", "/api/docs-json", *(f"/api/docs/{name}" for name in FILES)):
            expect_refusal(await served.api().get(path), 404, "A0404")


async def test_the_document_is_built_once_however_often_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody may ask, and nobody else is answered while it is built."""
    built: list[object] = []

    def build(*arguments: Any) -> dict[str, object]:
        built.append(arguments)
        return {"openapi": "3.1.0"}

    monkeypatch.setattr(routes, "api_document", build)
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

"""`/api/docs` and `/api/docs-json`: there only when the setting says so, and sufficient in themselves."""

import re
from pathlib import Path

import pytest

from ostiary_web.api_document.routes import FILES
from tests.web.envelopes import refused
from tests.web.served import Api, serving

PATHS = ["/api/docs", "/api/docs-json", "/api/docs/start.js", "/api/docs/swagger-ui-bundle.js"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("setting", ["", "false", "0", "no"])
async def test_nothing_is_there_unless_the_setting_says_so(tmp_path: Path, path: str, setting: str) -> None:
    async with serving(tmp_path, API_DOCS_ENABLED=setting) as served:
        refused(await served.api().get(path), 404, "A0404")


async def test_the_document_is_served_as_json(tmp_path: Path) -> None:
    async with serving(tmp_path, API_DOCS_ENABLED="true") as served:
        response = await served.api().get("/api/docs-json")
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert response.json()["info"]["title"] == "Ostiary"
    assert "/api/oauth2/token" in response.json()["paths"]


async def test_the_page_asks_only_this_server_and_runs_nothing_inline(tmp_path: Path) -> None:
    async with serving(tmp_path, API_DOCS_ENABLED="true") as served:
        api = served.api()
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
        assert "//" not in re.sub(r"^//.*", "", await _text(api, "start.js"))


async def _text(api: Api, name: str) -> str:
    return (await api.get(f"/api/docs/{name}")).text


@pytest.mark.parametrize("name", FILES)
async def test_every_file_is_given_out_with_its_type_and_nothing_to_guess(tmp_path: Path, name: str) -> None:
    async with serving(tmp_path, API_DOCS_ENABLED="true") as served:
        response = await served.api().get(f"/api/docs/{name}")
    assert response.status_code == 200
    assert response.headers["content-type"] == FILES[name]
    assert response.headers["x-content-type-options"] == "nosniff"
    assert len(response.content) > 50


@pytest.mark.parametrize("name", ["page.html", "..%2froutes.py", "__init__.py", "%00", "LICENSE%00"])
async def test_no_other_file_is_given_out(tmp_path: Path, name: str) -> None:
    async with serving(tmp_path, API_DOCS_ENABLED="true") as served:
        refused(await served.api().get(f"/api/docs/{name}"), 404, "A0404")


async def test_the_licence_of_what_is_shipped_comes_with_it(tmp_path: Path) -> None:
    async with serving(tmp_path, API_DOCS_ENABLED="true") as served:
        api = served.api()
        assert "Apache License" in await _text(api, "LICENSE")
        assert "SmartBear" in await _text(api, "NOTICE")

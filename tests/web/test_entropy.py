"""A server draws all of its random bytes from one source of entropy."""

import os
import random
from pathlib import Path
from typing import Any, NoReturn

import httpx
import pytest

from fuzz.shared.seeds import SeededEntropy
from ostiary_web.app.asgi_app import asgi_app
from ostiary_web.server.app_services import AppServices
from ostiary_web.server.settings import Settings
from ostiary_web.server.wiring import Dependencies
from tests.support.callers import ADMIN_PASSWORD, BASE, SOURCE, Api, Registered, expect_refusal, registration
from tests.support.files import png

UPLOAD = b'--x\r\nContent-Disposition: form-data; name="file"; filename="me"\r\n\r\n%s\r\n--x--\r\n'


async def test_a_server_draws_only_from_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(count: int) -> NoReturn:
        raise AssertionError(f"{count} bytes are drawn past the source of entropy")

    source = SeededEntropy("the one source")
    monkeypatch.setattr(os, "urandom", refuse)
    monkeypatch.setattr(random, "_urandom", refuse)  # what `secrets` draws with
    environment = {"DATABASE_URL": f"sqlite:///{tmp_path / 'ostiary.db'}", "DATA_DIR": str(tmp_path)}
    settings = Settings.from_environment({**environment, "ADMIN_PASSWORD": ADMIN_PASSWORD})
    started: list[AppServices] = []
    guarded: Any = asgi_app(settings, started.append, Dependencies(entropy_source=source))
    async with guarded.app.open():
        api = Api(transport=httpx.ASGITransport(guarded, client=(SOURCE, 4711)), base_url=BASE)
        await api.sign_in()
        media_type = {"Content-Type": "multipart/form-data; boundary=x"}
        await api.succeed("PUT", "/api/auth/avatar", content=UPLOAD % png(), headers=media_type)
        registered = await api.succeed("POST", "/api/oauth/clients", registration("app"), status=201)
        app_client = Registered("app", registered["secret"])
        assert (await api.service("token", app_client, grant_type="client_credentials")).status_code == 200
        expect_refusal(await api.get("/api/nothing"), 404, "A0404")
        expect_refusal(await api.get("/api/auth/me", headers={"Host": "two words"}), 400, "A0400")

"""That the doors of the tests are the doors they say they are."""

from pathlib import Path

import httpx
import pytest
from quart import Response

from ostiary_core.http import Answer
from ostiary_net.lane.writer import AnswerWriter
from ostiary_web.api import oauth2
from tests.web.doors import DOORS, Door
from tests.web.envelopes import succeeded
from tests.web.served import Api, Registered, Served, in_memory, serving

pytestmark = pytest.mark.parametrize("door", DOORS)


async def asked(served: Served) -> httpx.Response:
    return await served.api().service("introspect", Registered("nobody", "x"), token="x")


async def test_hypercorn_says_the_date_and_the_guard_alone_does_not(served: Served, door: Door) -> None:
    assert ("date" in (await asked(served)).headers) is (door != "guard")


async def test_behind_hypercorn_the_application_is_not_asked_what_a_backend_asks(
    tmp_path: Path, door: Door
) -> None:
    async with serving(tmp_path, open_store=in_memory(), door=door) as served:
        called = []
        application = served.app.app

        async def told(*asgi: object) -> None:
            called.append(asgi)
            await application(*asgi)

        served.app.app = told
        assert (await asked(served)).status_code == 401
    assert len(called) == (1 if door == "guard" else 0)


async def test_a_connection_is_kept_and_one_that_was_closed_is_opened_again(api: Api, door: Door) -> None:
    for path, status in (("/api/oauth2/token", 413), ("/api/auth/me", 200), ("/api/auth/me", 200)):
        method, content = ("POST", bytes(1024 * 1024)) if status == 413 else ("GET", b"")
        assert (await api.call(method, path, content=content)).status_code == status
    succeeded(await api.call("GET", "/api/oauth2/userinfo"))


async def test_a_door_that_answers_otherwise_is_noticed_by_any_test_that_asks(
    served: Served, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asked(served)
    if door == "plain":  # beside which the application is asked
        monkeypatch.setattr(oauth2, "respond", lambda answer: Response(answer.body, 403))
    else:
        written = AnswerWriter.write
        monkeypatch.setattr(
            AnswerWriter,
            "write",
            lambda *of, **named: written(of[0], Answer(403, ((b"content-length", b"0"),), b""), **named),
        )
    with pytest.raises(AssertionError, match="the doors differ"):
        await asked(served)

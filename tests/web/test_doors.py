"""That the doors of the tests are the doors they say they are."""

from pathlib import Path

import httpx
import pytest

from tests.support.callers import Registered
from tests.support.connections import DOORS, Door
from tests.support.served import Served, in_memory, serving

pytestmark = pytest.mark.parametrize("door", DOORS)


async def ask(served: Served) -> httpx.Response:
    return await served.api().service("introspect", Registered("nobody", "x"), token="x")


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
        assert (await ask(served)).status_code == 401
    assert len(called) == (1 if door == "guard" else 0)

"""Pages wait for no thread that the framework would start for nothing."""

from collections.abc import Callable
from typing import Any

import pytest
import trio

from tests.support.served import Served


@pytest.mark.parametrize("path", ["/login", "/account"])
async def test_a_page_starts_no_thread(served: Served, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The framework would start a thread for each page."""
    browser = served.browser()
    if path != "/login":
        await browser.sign_in()
    called: list[str] = []
    run_sync = trio.to_thread.run_sync

    async def record(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        called.append(repr((function, arguments)))
        return await run_sync(function, *arguments, **options)

    monkeypatch.setattr(trio.to_thread, "run_sync", record)
    response = await browser.get(path)
    assert response.status_code == 200
    assert "</html>" in response.text
    assert not [call for call in called if "template_ctx_processor" in call], called

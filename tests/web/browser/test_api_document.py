"""The page of the API document in a browser."""

from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page

from tests.support.processes import Machine

PATIENCE_MS = 60_000


def _read_to_the_end(page: Page) -> set[str]:
    """Return the operations on the page while it is read to its end: Swagger UI draws only those in view."""
    seen: set[str] = set()
    at, end = -1.0, 0.0
    while at != end:
        at = end
        page.wait_for_timeout(100)
        seen |= set(page.locator(".opblock").evaluate_all("blocks => blocks.map(block => block.id)"))
        end = page.evaluate("() => { scrollBy(0, innerHeight - 200); return scrollY; }")
    return seen


def test_the_page_shows_every_operation_and_loads_from_no_other_server(
    chromium_running: Browser, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, API_DOCS_ENABLED="true")
    asked: list[str] = []
    complaints: list[str] = []
    with machine.serving() as address:
        page = chromium_running.new_page(viewport={"width": 1280, "height": 4000})
        page.set_default_timeout(PATIENCE_MS)
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{address}/api/docs")
        page.wait_for_selector(".opblock")
        document = page.request.get(f"{address}/api/docs-json").json()
        described = sum(len(methods) for methods in document["paths"].values())
        shown = _read_to_the_end(page)
        page.evaluate("scrollTo(0, 0)")
        page.locator("[id$=issueTokens]").click()
        page.get_by_text("Try it out").wait_for()
        page.close()

    assert len(shown) == described
    assert complaints == []
    hosts = {urlsplit(url).netloc for url in asked if not url.startswith("data:")}
    assert hosts == {urlsplit(address).netloc}

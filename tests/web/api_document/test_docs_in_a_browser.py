"""The page of the document in a real browser, under its own policy and without any other host."""

from pathlib import Path
from urllib.parse import urlsplit

from tests.web.browser.household import a_browser
from tests.web.command_line.machine import Machine

PATIENCE_MS = 60_000


def test_the_page_shows_every_operation_and_asks_nobody_else(tmp_path: Path) -> None:
    machine = Machine(tmp_path, API_DOCS_ENABLED="true")
    asked: list[str] = []
    complaints: list[str] = []
    with a_browser() as browser, machine.serving() as address:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{address}/api/docs")
        page.wait_for_selector(".opblock")
        document = page.request.get(f"{address}/api/docs-json").json()
        described = sum(len(methods) for methods in document["paths"].values())
        shown = page.locator(".opblock").count()
        page.locator("[id$=issueTokens]").click()
        page.get_by_text("Try it out").wait_for()
        page.close()

    assert 0 < shown <= described
    assert complaints == []
    hosts = {urlsplit(url).netloc for url in asked if not url.startswith("data:")}
    assert hosts == {urlsplit(address).netloc}

"""Browsers keep styles and scripts for ever by the digest of their content; other digests find them too."""

import re

import pytest

from tests.support.served import Serve, Served

DIGESTED = re.compile(r'"((?:/auth)?/static/([a-z]+)-[0-9a-f]{16}([.][a-z]+))"')


@pytest.mark.parametrize("path", ["", "/auth"])
async def test_a_page_names_its_files_by_content_and_browsers_keep_them(serve: Serve, path: str) -> None:
    async with serve(PUBLIC_URL=f"https://id.example{path}") as served:
        browser = served.browser(base="https://id.example")
        page = await browser.get(f"{path}/login")
        found = DIGESTED.findall(page.text)
        files = {stem + ending for _, stem, ending in found}
        assert files == {"door.svg", "ostiary.css", "once.js", "show.js"}
        assert page.text.count("/static/") == len(found)
        for address, stem, ending in found:
            kept = await browser.get(address)
            assert kept.headers["cache-control"] == "public, max-age=31536000, immutable"
            other = re.sub("-[0-9a-f]{16}", "-0123456789abcdef", address)
            for name in (f"{path}/static/{stem}{ending}", other):
                plain = await browser.get(name)
                assert plain.content == kept.content
                assert plain.headers["cache-control"] == "public, max-age=300"
                again = await browser.get(name, headers={"If-None-Match": plain.headers["etag"]})
                assert (again.status_code, again.content) == (304, b"")


async def test_no_other_file_is_found_there(served: Served) -> None:
    browser = served.browser()
    odd = ("ostiary", "ostiary-0.css", "once.css", "__init__.py", "ostiary.css.bak", "x" * 300)
    for name in ("none.css", *odd):
        assert (await browser.get(f"/static/{name}")).status_code == 404, name

"""A picture without its metadata looks as it did, whichever way up its camera was held."""

from base64 import b64encode
from typing import Any

import pytest
from playwright.sync_api import Browser

from ostiary_web.pictures.formats import MEDIA_TYPES, PictureType
from ostiary_web.pictures.metadata import strip_metadata
from tests.web.account.test_picture_metadata import PHOTOGRAPHS, TURNED

DRAWN = """async (address) => {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
    return {width: canvas.width, height: canvas.height, pixels: Array.from(pixels)};
}"""
LYING = {name for name, orientation in TURNED.items() if orientation >= 5 and not name.endswith(".webp")}
"""What Chromium turns by a quarter; the orientation of a WebP it does not look at, as others do."""


@pytest.mark.parametrize("name", PHOTOGRAPHS)
def test_a_browser_draws_the_same(browser: Browser, name: str) -> None:
    kind = PictureType(name.rpartition(".")[2])
    stripped = strip_metadata(PHOTOGRAPHS[name], kind)
    assert stripped is not None
    page = browser.new_page()
    before, after = (_draw(page, kind, content) for content in (PHOTOGRAPHS[name], stripped))
    page.close()
    assert before == after
    assert len(set(zip(*[iter(after["pixels"])] * 4, strict=True))) > 10, "there is something to see"
    assert (after["width"], after["height"]) == ((32, 48) if name in LYING else (48, 32))


def _draw(page: Any, kind: PictureType, content: bytes) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(
        DRAWN, f"data:{MEDIA_TYPES[kind]};base64,{b64encode(content).decode()}"
    )
    return found

"""One's own account in a real browser: its zone, pictures without their metadata, a second factor."""

import time
from base64 import b64encode
from typing import Any

import pytest
from playwright.sync_api import Browser

from fuzz.shared.authenticator import STEP_MS, code_at
from ostiary_web.pictures.formats import MEDIA_TYPES, PictureType
from ostiary_web.pictures.metadata import strip_metadata
from tests.support.browser import PASSWORD, Visit, add_person
from tests.web.account.test_picture_metadata import PHOTOGRAPHS, TURNED
from tests.web.browser.test_every_page import find_serious, is_too_wide


def test_the_browsers_zone_is_proposed_and_every_time_names_its_zone(visit: Visit) -> None:
    visitor = visit("wangfang", timezone_id="Europe/Lisbon")
    visitor.page.locator("#zone-proposal").wait_for()  # a script shows it
    assert "您的浏览器所在时区为 Europe/Lisbon" in visitor.text
    visitor.press("使用该时区")
    visitor.page.get_by_text("从下一页起，时间将使用时区 Europe/Lisbon").wait_for()
    visitor.open("/account")
    assert visitor.page.input_value("#timezone") == "Europe/Lisbon"
    offered = visitor.page.locator("#timezone option").all_inner_texts()
    assert "Asia/Calcutta" not in offered, "no former names"
    assert visitor.page.locator("#timezone optgroup[label=Europe] option").count() > 30
    visitor.open("/account/sessions")
    assert "Europe/Lisbon 时区" in visitor.page.inner_text("footer")
    titles = visitor.page.locator("time").evaluate_all("all => all.map(each => each.title)")
    assert set(titles) == {"Europe/Lisbon"}
    assert visitor.page.locator("#zone-proposal").count() == 0


def test_a_half_filled_form_stays_when_a_zone_is_chosen(visit: Visit) -> None:
    visitor = visit("admin", timezone_id="Europe/Lisbon")
    visitor.open("/account")
    visitor.page.select_option("#locale", "zh-CN")
    visitor.press("Keep Asia/Shanghai")
    visitor.page.get_by_text("From the next page on, times are in the time zone Asia/Shanghai").wait_for()
    assert visitor.page.input_value("#locale") == "zh-CN"
    assert visitor.page.locator("#zone-proposal button:visible").count() == 0
    visitor.open("/account")
    assert visitor.page.locator("#zone-proposal").count() == 0


# --- pictures without their metadata look as they did


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
"""Photographs that Chromium turns by a quarter. Chromium ignores the orientation of a WebP, as others do."""


def test_a_browser_draws_the_same(browser: Browser) -> None:
    page = browser.new_page()
    for name, photograph in PHOTOGRAPHS.items():
        kind = PictureType(name.rpartition(".")[2])
        stripped = strip_metadata(photograph, kind)
        assert stripped is not None
        before, after = (_draw(page, kind, content) for content in (photograph, stripped))
        assert before == after, name
        assert len(set(zip(*[iter(after["pixels"])] * 4, strict=True))) > 10, "there is something to see"
        assert (after["width"], after["height"]) == ((32, 48) if name in LYING else (48, 32)), name
    page.close()


def _draw(page: Any, kind: PictureType, content: bytes) -> dict[str, Any]:
    address = f"data:{MEDIA_TYPES[kind]};base64,{b64encode(content).decode()}"
    found: dict[str, Any] = page.evaluate(DRAWN, address)
    return found


# --- a second factor


ANOTHER = "another password"


@pytest.mark.parametrize("width, scheme, locale", [(360, "dark", "zh-CN"), (1280, "light", "en-US")])
def test_a_second_factor_is_set_up_asked_for_and_removed(
    visit: Visit, width: int, scheme: str, locale: str
) -> None:
    """Only forms lead to the pages on the way; each has no serious fault and fits the window."""
    # A new user, because a user with a second factor no longer signs in by a password alone.
    name = f"frank-{width}"
    add_person(visit("admin", java_script_enabled=False), name, "Frank", PASSWORD)
    visitor = visit(viewport={"width": width, "height": 800}, locale=locale, color_scheme=scheme)

    def send(**values: str) -> None:
        assert (find_serious(visitor), is_too_wide(visitor)) == ([], False)
        visitor.fill(**values)
        visitor.page.locator("main button[type=submit]").last.click()

    visitor.sign_in(name)
    send(old_password=PASSWORD, new_password=ANOTHER)
    visitor.open("/account/second-factor")
    send(password=ANOTHER)
    assert visitor.page.locator(".qr-code svg").is_visible()
    assert visitor.page.locator(".recovery-codes li").count() == 10
    recovery = visitor.page.locator(".recovery-codes li").first.inner_text()
    secret = visitor.page.inner_text("#secret")
    send(code="000000")
    assert visitor.page.inner_text("#secret") == secret
    step = int(time.time() * 1_000) // STEP_MS
    send(code=code_at(secret.replace(" ", "").strip(), step))
    assert visitor.path == "/account"

    visitor.context.clear_cookies()
    visitor.open("/login?next=/account/second-factor")
    visitor.sign_in(name, ANOTHER)
    visitor.page.locator(".instead summary").click()
    send(code_recovery=recovery)
    assert visitor.path == "/account/second-factor"
    send(remove_password=ANOTHER, remove_code=code_at(secret.replace(" ", "").strip(), step + 1))
    assert visitor.path == "/account"
    assert [each for each in visitor.complaints if "Content Security Policy" in each] == []


def test_a_picture_as_a_camera_takes_it_is_made_smaller_before_it_is_sent(visit: Visit) -> None:
    visitor = visit("alice")
    visitor.open("/account")
    page = visitor.page
    assert page.locator("[data-larger]").is_visible()
    # 12 megapixels of noise, drawn in the page: JPEG of about 8 MB.
    page.evaluate(
        """async () => {
            const canvas = new OffscreenCanvas(4000, 3000), pen = canvas.getContext("2d");
            const image = pen.createImageData(4000, 1000);
            for (let place = 0; place < image.data.length; place++) image.data[place] = Math.random() * 256;
            for (const y of [0, 1000, 2000]) pen.putImageData(image, 0, y);
            const blob = await canvas.convertToBlob({type: "image/jpeg", quality: .8});
            const files = new DataTransfer();
            files.items.add(new File([blob], "camera.jpg", {type: "image/jpeg"}));
            const input = document.getElementById("file");
            input.files = files.files;
            window.before = blob.size;
            input.dispatchEvent(new Event("change"));
            for (let turn = 0; turn < 1000 && input.files[0].name !== "picture.jpg"; turn++)
                await new Promise((give) => setTimeout(give, 20));
        }"""
    )
    assert page.evaluate("window.before") > 2 * 1024 * 1024
    assert page.evaluate("document.getElementById('file').files[0].size") < 2 * 1024 * 1024
    visitor.press("Upload" if page.locator("html[lang=en-US]").count() else "上传")
    picture = page.locator("main img.picture")
    picture.wait_for()
    assert picture.evaluate("img => [img.naturalWidth, img.naturalHeight]") == [1024, 768]

"""Choices of a user for the own account: a picture, a language and a time zone."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from ostiary_core import Decision, Instant
from ostiary_core.events import Event
from ostiary_core.model.audit import Origin
from ostiary_core.model.fact import FactKind
from ostiary_core.model.records import Table
from tests.rows import row
from tests.support.callers import Api, expect_refusal, expect_success, fields_of
from tests.support.files import gif, jpeg, png, webp_lossless, webp_lossy
from tests.support.people import NEW_PHONE, PASSWORD, code_for, sign_in, with_phone
from tests.support.served import Served, in_memory, serving
from tests.support.stores import PlainStore

TWO_MIB = 2 * 1024 * 1024


async def upload(
    api: Api, content: bytes, *, name: str = "me", media_type: str = "image/png"
) -> httpx.Response:
    return await api.call("PUT", "/api/auth/avatar", files={"file": (name, content, media_type)})


async def upload_picture(api: Api, content: bytes, **said: str) -> str:
    """Upload a picture, and return its address."""
    data = expect_success(await upload(api, content, **said))
    assert set(data) == {"avatarUrl"}
    return str(data["avatarUrl"])


def list_files(served: Served) -> list[str]:
    folder = served.services.files.folder
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


# --- choosing


@row("User profile", "avatarUrl")
async def test_a_picture_is_shown_as_its_bytes_are_whatever_its_name(served: Served, anna: Api) -> None:
    webp = dict.fromkeys((webp_lossy(), webp_lossless()), "image/webp")
    for content, media_type in ({png(): "image/png", jpeg(): "image/jpeg"} | webp).items():
        address = await upload_picture(anna, content, name="../../evil.html", media_type="text/html")
        assert address.startswith("/files/")
        for path in ("/api/auth/me", "/api/oauth2/userinfo"):
            assert (await anna.succeed("GET", path))["avatarUrl"] == address
        shown = await served.api("198.51.100.77").get(address)
        assert (shown.status_code, shown.content) == (200, content)
        assert shown.headers["content-type"] == media_type


async def test_what_is_no_such_picture_is_refused_by_field(served: Served, anna: Api) -> None:
    broken = (png()[:-1], jpeg()[:-1], webp_lossy()[:-1])
    for content in (b"", gif(), b"<svg xmlns='http://www.w3.org/2000/svg'/>", png(5000, 5000), *broken):
        assert fields_of(expect_refusal(await upload(anna, content, name="me.png"), 400, "A0401")) == ["file"]
    assert list_files(served) == []
    assert (await anna.succeed("GET", "/api/auth/me"))["avatarUrl"] is None


@row("General envelope and status codes", "413")
async def test_two_mebibytes_are_taken_and_one_byte_more_is_413(served: Served, anna: Api) -> None:
    largest = png(filling=TWO_MIB - len(png()))
    assert len(largest) == TWO_MIB
    await upload_picture(anna, largest)
    for content in (largest + b"x", largest * 2):
        expect_refusal(await upload(anna, content), 413, "C1413")
    assert len(list_files(served)) == 1


async def test_it_takes_one_file_in_its_field(served: Served, anna: Api) -> None:
    a, b = ("a.png", png(), "image/png"), ("b.png", png(), "image/png")
    form = "multipart/form-data"
    wrong: dict[str, dict[str, Any]] = {
        "another field": {"files": {"picture": a}},
        "twice": {"files": [("file", a), ("file", b)]},
        "a text": {"files": {"other": ("x", b"")}, "data": {"file": "a text"}},
        "broken": {"content": b"--x\r\nbroken", "headers": {"Content-Type": f"{form}; boundary=x"}},
        "no boundary": {"content": b"", "headers": {"Content-Type": form}},
    }
    for name, options in wrong.items():
        response = await anna.call("PUT", "/api/auth/avatar", **options)
        assert fields_of(expect_refusal(response, 400, "A0401")) == ["file"], name
    assert list_files(served) == []


# --- removing


async def test_a_picture_that_was_replaced_or_removed_is_gone(served: Served, anna: Api) -> None:
    first = await upload_picture(anna, png())
    second = await upload_picture(anna, jpeg())
    assert list_files(served) == [second.removeprefix("/files/")]
    expect_refusal(await anna.get(first), 404, "A0404")
    assert await anna.succeed("DELETE", "/api/auth/avatar") is None
    assert list_files(served) == []
    assert (await anna.succeed("GET", "/api/auth/me"))["avatarUrl"] is None
    await anna.succeed("DELETE", "/api/auth/avatar")


async def test_of_many_uploads_at_once_the_file_of_the_account_is_left(served: Served, anna: Api) -> None:
    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(upload_picture, anna, png(filling=number))
    address = (await anna.succeed("GET", "/api/auth/me"))["avatarUrl"]
    assert list_files(served) == [address.removeprefix("/files/")]


async def test_a_deleted_account_loses_its_picture_a_disabled_one_does_not(served: Served, anna: Api) -> None:
    address = await upload_picture(anna, png())
    user_id = (await anna.succeed("GET", "/api/auth/me"))["id"]
    admin = await served.administrator()
    await admin.succeed("PUT", f"/api/iam/users/{user_id}/enabled", {"enabled": False})
    assert (await served.api().get(address)).status_code == 200
    await admin.succeed("DELETE", f"/api/iam/users/{user_id}")
    assert list_files(served) == []
    expect_refusal(await served.api().get(address), 404, "A0404")


async def test_a_deleted_account_leaves_its_names_in_the_trail_and_no_more(served: Served, anna: Api) -> None:
    me = await anna.succeed("GET", "/api/auth/me")
    address = await upload_picture(anna, png())
    for name, value in (("locale", "zh-CN"), ("timezone", "Asia/Tokyo")):
        await anna.succeed("PUT", f"/api/auth/{name}", {name: value})
    await code_for(served, me["phone"], "reset-password")
    await code_for(served, NEW_PHONE, "change-phone", anna)
    await (await served.administrator()).succeed("DELETE", f"/api/iam/users/{me['id']}")
    [deleted] = [one for one in served.store.records(Table.USER) if one.user_id == me["id"]]
    assert (deleted.username, deleted.name) == (me["username"], me["name"])
    kept = (deleted.password_hash, deleted.phone, deleted.avatar_url, deleted.locale, deleted.timezone)
    assert kept == (None,) * 5
    assert deleted.text_codes_asked_at == ()
    everything = f"{served.records()[Table.USER]} {served.records()[Table.IDENTIFIER]} {served.audit()}"
    assert me["phone"] not in everything
    assert address not in str(served.records())


class Unwritable(PlainStore):
    """A store that is read and, once it is full, not written."""

    is_full = False

    def turn(
        self, events: Sequence[Event], now: Instant, origins: Sequence[Origin | None] = ()
    ) -> list[Decision]:
        if self.is_full:
            raise OSError("no space left")
        return super().turn(events, now, origins)


async def test_nothing_is_kept_when_the_turn_could_not_be_taken(tmp_path: Path) -> None:
    store = Unwritable()
    async with serving(tmp_path, open_store=in_memory(store)) as served:
        await with_phone(served)
        anna = await sign_in(served)
        first = await upload_picture(anna, png())
        store.is_full = True
        expect_refusal(await upload(anna, jpeg()), 500, "A0500")
        store.is_full = False
        assert list_files(served) == [first.removeprefix("/files/")]
        assert (await anna.succeed("GET", "/api/auth/me"))["avatarUrl"] == first


async def test_an_upload_is_finished_though_its_caller_breaks_off(
    served: Served, anna: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = served.services.files.keep

    async def leave_and_keep(content: bytes, ending: str) -> str:
        here.cancel()
        return await keep(content, ending)

    monkeypatch.setattr(served.services.files, "keep", leave_and_keep)
    with trio.CancelScope() as here:
        await upload(anna, png())
    address = (await anna.succeed("GET", "/api/auth/me"))["avatarUrl"]
    assert list_files(served) == [address.removeprefix("/files/")]


# --- showing


async def test_a_picture_is_cached_for_ever_and_nothing_in_it_is_run(served: Served, anna: Api) -> None:
    address = await upload_picture(anna, png())
    shown = await served.api().get(address)
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert shown.headers["content-security-policy"] == "default-src 'none'; sandbox; frame-ancestors 'none'"
    assert shown.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert shown.headers["cross-origin-resource-policy"] == "cross-origin"
    assert "set-cookie" not in shown.headers
    assert int(shown.headers["content-length"]) == len(shown.content)
    again = await served.api().get(address, headers={"If-None-Match": shown.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    head = await served.api().head(address)
    assert (head.status_code, head.content) == (200, b"")


# --- language and time zone


@pytest.mark.parametrize(
    "name, right, wrong",
    [
        ("locale", ["zh-CN", "en-US"], ["de-DE", "zh", "ZH-cn", "", None, 1, "x" * 65, "en-US\x00"]),
        (
            "timezone",
            ["Asia/Shanghai", "UTC", "America/Argentina/Buenos_Aires", "Etc/GMT+5"],
            [
                *("Mars/Base", "Asia", "../../etc/passwd", "/etc/localtime", "asia/shanghai", "+08:00"),
                *("", 8, "localtime", "Factory"),
            ],
        ),
    ],
)
async def test_what_there_is_can_be_chosen_and_nothing_else(
    served: Served, anna: Api, name: str, right: list[str], wrong: list[object]
) -> None:
    path = f"/api/auth/{name}"
    for value in wrong:
        assert fields_of(await anna.fail(400, "A0401", "PUT", path, {name: value})) == [name], value
    assert (await anna.succeed("GET", "/api/auth/me"))[name] is None
    for value in right:
        for _ in range(2):
            assert await anna.succeed("PUT", path, {name: value}) is None
        assert (await anna.succeed("GET", "/api/auth/me"))[name] == value
        shown = await anna.succeed("GET", "/api/oauth2/userinfo")
        assert shown.get(name) == (value if name == "locale" else None), "the zone is nobody else's business"
    told = [entry for entry in served.audit() if entry.kind is FactKind.PREFERENCES_SET]
    assert len(told) == len(right), "who chooses what they have changes nothing"


async def test_the_page_takes_a_picture_removes_it_and_takes_a_zone(served: Served, anna: Api) -> None:
    browser, to = await served.sign_in_browser("anna", PASSWORD), "/account/picture"
    done = await browser.submit(await browser.get("/account"), to=to, files={"file": ("me.png", png())})
    account = await browser.follow(done)
    [address] = re.findall('<img class="picture" src="([^"]+)"', account.text)
    assert (await browser.get(address)).content == png()
    removed = await browser.follow(await browser.submit(account, to=f"{to}/remove"))
    assert "No picture yet" in removed.text
    refused = await browser.submit(removed, to=to, files={"file": ("not.png", b"<script>")})
    assert (refused.status_code, "Some fields are not valid." in refused.text) == (400, True)
    saved = await browser.submit(removed, {"timezone": "Europe/Berlin"}, to="/account/zone")
    assert "<option selected>Europe/Berlin</option>" in (await browser.follow(saved)).text

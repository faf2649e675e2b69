"""The server removes from a picture what cameras and programs wrote into it.

The photographs were made with Pillow: each but the plain one has EXIF with a GPS position, and XMP and a
comment if its format has them. Each has bytes behind its end. All of these contain "Secret".
"""

import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from ostiary_web.pictures.formats import MOST_PARTS, PictureHeader, PictureType, picture_in
from ostiary_web.pictures.metadata import strip_metadata
from tests.support.callers import Api, expect_success
from tests.support.files import gif, jpeg, png, webp_extended, webp_lossless, webp_lossy
from tests.support.served import Served

FOLDER = Path(__file__).parent / "photographs"
PHOTOGRAPHS = {path.name: path.read_bytes() for path in sorted(FOLDER.iterdir())}
EVERY = pytest.mark.parametrize("name", PHOTOGRAPHS)
GPS = tuple(struct.pack(order + "6I", 52, 1, 31, 1, 12, 1) for order in ("<", ">"))
TELLING = (
    *(b"Secret", b"GPS", b"2026:11:22", b"xmp", b"adobe:ns", b"MPF", b"tEXt", b"zTXt", b"iTXt", b"tIME"),
    *(b"52,31", b"Pillow", *GPS),
)
TURNED = {"turned.jpg": 6, "progressive.jpg": 3, "two_in_one.jpg": 8, "turned.png": 6} | {
    "turned.webp": 6,
    "clear.webp": 8,
}


def type_of(name: str) -> PictureType:
    return PictureType(name.rpartition(".")[2])


def strip(name: str) -> bytes:
    found = strip_metadata(PHOTOGRAPHS[name], type_of(name))
    assert found is not None
    return found


def test_the_photographs_contain_what_is_to_be_left_out() -> None:
    for name, content in PHOTOGRAPHS.items():
        assert b"Secret Tail" in content, name
        assert name == "plain.webp" or content.count(b"Secret") > 1, name
        assert name == "plain.webp" or any(position in content for position in GPS), name
    everything = b"".join(PHOTOGRAPHS.values())
    assert {word for word in TELLING if word not in everything} <= {b"Pillow", *GPS}


@EVERY
async def test_a_picture_is_kept_and_shown_without_its_metadata(served: Served, anna: Api, name: str) -> None:
    response = await anna.call("PUT", "/api/auth/avatar", files={"file": (name, PHOTOGRAPHS[name])})
    address = expect_success(response)["avatarUrl"]
    shown = (await served.api().get(address)).content
    on_disk = (served.services.files.folder / address.removeprefix("/files/")).read_bytes()
    assert [word for word in TELLING if word in shown + on_disk] == []
    assert shown == on_disk == strip(name)
    assert picture_in(shown) == picture_in(PHOTOGRAPHS[name])


@EVERY
def test_of_exif_the_orientation_alone_is_left_which_stays_as_it_is(name: str) -> None:
    content = strip(name)
    assert strip_metadata(content, type_of(name)) == content
    assert len(content) < len(PHOTOGRAPHS[name])
    blocks = re.findall(rb"MM\x00\*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00(.)", content)
    assert blocks == ([bytes((TURNED[name],))] if name in TURNED else [])
    assert (content.count(b"Exif") + content.count(b"eXIf") + content.count(b"EXIF")) == len(blocks)


def test_a_thumbnail_in_a_jfif_header_is_left_out() -> None:
    thumbnail = b"Secret..." * 3
    header = b"JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x03\x03"
    with_thumbnail = b"\xff\xe0" + struct.pack(">H", 16 + len(thumbnail)) + header + thumbnail
    content = strip_metadata(jpeg(before=with_thumbnail), PictureType.JPEG)
    assert content is not None
    assert b"Secret" not in content
    assert content.startswith(b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff")


# --- broken pictures


def cut_off() -> Iterator[tuple[str, bytes]]:
    """Yield each photograph, cut off at every length."""
    for name in PHOTOGRAPHS:
        whole = strip(name)
        for length in range(len(whole)):
            yield name, whole[:length]


def test_what_is_cut_off_is_no_picture() -> None:
    for name, content in cut_off():
        assert strip_metadata(content, type_of(name)) is None, (name, len(content))


@pytest.mark.parametrize(
    "content, picture_type",
    [
        (png()[:33] + b"\x00\x00\x00\x00abCd\x00\x00\x00\x00" * MOST_PARTS + png()[33:], PictureType.PNG),
        (jpeg()[:-6] + b"\xff\xfe\x00\x02" * MOST_PARTS + jpeg()[-6:], PictureType.JPEG),
        (jpeg(before=b"\xff\xfe\x00\x02" * MOST_PARTS), PictureType.JPEG),
        (png()[:33] + png()[-12:], PictureType.PNG),
        (b"\xff\xd8" + jpeg()[2:-6] + b"\xff\xd9", PictureType.JPEG),
        (b"RIFF\x04\x00\x00\x00WEBP", PictureType.WEBP),
        (b"RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00" + b"\x00" * 10, PictureType.WEBP),
    ],
    ids=["png", "jpeg", "jpeg before its frame", "no png", "no jpeg", "no webp", "no webp extended"],
)
def test_too_many_parts_or_none_that_draws_are_no_picture(content: bytes, picture_type: PictureType) -> None:
    assert strip_metadata(content, picture_type) is None


def photographs_of(ending: str) -> list[bytes]:
    return [content for name, content in PHOTOGRAPHS.items() if name.endswith(ending)]


MADE = {
    PictureType.PNG: [png(), *photographs_of(".png")],
    PictureType.JPEG: [jpeg(), *photographs_of(".jpg")],
    PictureType.WEBP: [webp_lossy(), webp_lossless(), *photographs_of(".webp")],
}


@given(picture_type=st.sampled_from(PictureType), content=st.binary(max_size=400))
def test_no_bytes_break_the_stripping(picture_type: PictureType, content: bytes) -> None:
    strip_metadata(content, picture_type)


@given(data=st.data(), picture_type=st.sampled_from(PictureType))
def test_a_changed_picture_is_stripped_or_refused(data: st.DataObject, picture_type: PictureType) -> None:
    content = bytearray(data.draw(st.sampled_from(MADE[picture_type])))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=6))
    found = strip_metadata(bytes(content), picture_type)
    if found is not None:
        assert len(found) <= len(content) + 40
        assert strip_metadata(found, picture_type) == found


# --- which picture a file is, by its first bytes


Make = Callable[..., bytes]

MAKERS: dict[str, tuple[Make, PictureType]] = {
    "png": (png, PictureType.PNG),
    "jpeg": (jpeg, PictureType.JPEG),
    "webp lossy": (webp_lossy, PictureType.WEBP),
    "webp lossless": (webp_lossless, PictureType.WEBP),
    "webp extended": (webp_extended, PictureType.WEBP),
}
EVERY_KIND = pytest.mark.parametrize("make, picture_type", MAKERS.values(), ids=MAKERS)


@EVERY_KIND
def test_type_and_size_are_read_and_a_size_has_a_bound(make: Make, picture_type: PictureType) -> None:
    for size in ((1, 1), (300, 200), (4096, 4096), (1, 4096)):
        assert picture_in(make(*size)) == PictureHeader(picture_type, *size)
    for size in ((4097, 1), (1, 4097), (16_000, 16_000)):
        assert picture_in(make(*size)) is None, size


@pytest.mark.parametrize("make", [png, jpeg, webp_lossy])
@pytest.mark.parametrize("width, height", [(0, 1), (1, 0)])
def test_what_is_empty_is_none(make: Make, width: int, height: int) -> None:
    assert picture_in(make(width, height)) is None


BEFORE = {
    "exif": b"\xff\xe1\x00\x08Exif\x00\x00",
    "fill bytes": b"\xff\xff\xff\xe1\x00\x02",
    "marker alone": b"\xff\x01",
    "a frame header inside a comment": b"\xff\xfe\x00\x06\xff\xc0\x00\x11",
    "tables first": b"\xff\xc4\x00\x04\x00\x00",
}


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
def test_a_jpeg_may_have_any_frame_and_anything_before_it(before: bytes) -> None:
    for frame in (0xC0, 0xC1, 0xC2, 0xC9):
        assert picture_in(jpeg(30, 20, frame=frame, before=before)) == PictureHeader(PictureType.JPEG, 30, 20)


@pytest.mark.parametrize(
    "content",
    [
        *(b"", gif(), b" " + png(), b"%PDF-1.7", b"PK\x03\x04", b"<html><script>alert(1)</script></html>"),
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"\x89PNG\r\n\x1a\n" + b"\x00" * 40,
        b"\x89PNG\r\n\x1a\n<script>alert(1)</script>IHDR          ",
        *(b"\xff\xd8\xff<script>alert(1)</script>", b"\xff\xd8\xff\xe0\x00\x00"),
        *(b"\xff\xd8\xff\xd8" + jpeg()[2:], b"\xff\xd8\xff\xda\x00\x02" + jpeg()[2:]),
        *(b"RIFF\x00\x00\x00\x00" + kind + b"\x00" * 30 for kind in (b"AVI LIST", b"WEBPXMP ")),
    ],
)
def test_everything_else_is_no_picture(content: bytes) -> None:
    assert picture_in(content) is None


@EVERY_KIND
def test_a_picture_cut_off_within_its_headers_is_none(make: Make, picture_type: PictureType) -> None:
    whole = make()
    found = [picture_in(whole[:length]) for length in range(len(whole) + 1)]
    assert found[-1] == PictureHeader(picture_type, 2, 3)
    assert all(each in (None, found[-1]) for each in found)
    assert all(each is None for each in found[:24])


@given(
    start=st.sampled_from(
        [b"", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR", b"RIFF1234WEBPVP8"]
    ),
    rest=st.binary(max_size=200),
)
def test_no_bytes_break_the_looking(start: bytes, rest: bytes) -> None:
    found = picture_in(start + rest)
    assert found is None or (1 <= found.width <= 4096 and 1 <= found.height <= 4096)

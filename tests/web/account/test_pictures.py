"""Which picture a file is, by its first bytes, and that no bytes break the looking."""

from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from ostiary_web.pictures.formats import PictureHeader, PictureType, picture_in
from tests.support.files import gif, jpeg, png, webp_extended, webp_lossless, webp_lossy

Make = Callable[..., bytes]

MAKERS: dict[str, tuple[Make, PictureType]] = {
    "png": (png, PictureType.PNG),
    "jpeg": (jpeg, PictureType.JPEG),
    "webp lossy": (webp_lossy, PictureType.WEBP),
    "webp lossless": (webp_lossless, PictureType.WEBP),
    "webp extended": (webp_extended, PictureType.WEBP),
}
EVERY = pytest.mark.parametrize("make, picture_type", MAKERS.values(), ids=MAKERS)


@EVERY
@pytest.mark.parametrize("width, height", [(1, 1), (300, 200), (4096, 4096), (1, 4096)])
def test_type_and_size_are_read_from_the_headers(
    make: Make, picture_type: PictureType, width: int, height: int
) -> None:
    assert picture_in(make(width, height)) == PictureHeader(picture_type, width, height)


@EVERY
@pytest.mark.parametrize("width, height", [(4097, 1), (1, 4097), (16_000, 16_000)])
def test_what_unpacks_to_too_much_is_none(
    make: Make, picture_type: PictureType, width: int, height: int
) -> None:
    assert picture_in(make(width, height)) is None


@pytest.mark.parametrize("make", [png, jpeg, webp_lossy])
@pytest.mark.parametrize("width, height", [(0, 1), (1, 0)])
def test_what_is_empty_is_none(make: Make, width: int, height: int) -> None:
    assert picture_in(make(width, height)) is None


@pytest.mark.parametrize(
    "before",
    [
        b"\xff\xe1\x00\x08Exif\x00\x00",
        b"\xff\xff\xff\xe1\x00\x02",
        b"\xff\x01",
        b"\xff\xfe\x00\x06\xff\xc0\x00\x11",
        b"\xff\xc4\x00\x04\x00\x00",
    ],
    ids=["exif", "fill bytes", "marker alone", "a frame header inside a comment", "tables first"],
)
def test_a_jpeg_may_have_any_frame_and_anything_before_it(before: bytes) -> None:
    for frame in (0xC0, 0xC1, 0xC2, 0xC9):
        assert picture_in(jpeg(30, 20, frame=frame, before=before)) == PictureHeader(PictureType.JPEG, 30, 20)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        gif(),
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"<html><script>alert(1)</script></html>",
        b"%PDF-1.7",
        b"PK\x03\x04",
        b"\x89PNG\r\n\x1a\n" + b"\x00" * 40,
        b"\x89PNG\r\n\x1a\n<script>alert(1)</script>IHDR          ",
        b"\xff\xd8\xff<script>alert(1)</script>",
        b"\xff\xd8\xff\xe0\x00\x00",
        b"\xff\xd8\xff\xd8" + jpeg()[2:],
        b"\xff\xd8\xff\xda\x00\x02" + jpeg()[2:],
        b"RIFF\x00\x00\x00\x00AVI LIST" + b"\x00" * 30,
        b"RIFF\x00\x00\x00\x00WEBPXMP " + b"\x00" * 30,
        b" " + png(),
    ],
)
def test_everything_else_is_no_picture(content: bytes) -> None:
    assert picture_in(content) is None


@EVERY
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

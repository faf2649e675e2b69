"""Recognize a picture by its first bytes: its name and declared type prove nothing.

No more than the headers is read, so nothing has to be decoded: the type decides how it is served, and the
size keeps out a small file that unpacks to gigabytes in a browser. Three formats, each by its own
specification: PNG (ISO/IEC 15948 §11.2.1), JPEG (ITU-T T.81 Annex B), WebP (RFC 9649).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

MOST_PIXELS_A_SIDE: Final = 4096
MOST_PARTS: Final = 10_000
"""Most segments or chunks of a picture: each costs time, and cameras write some hundreds."""


class PictureType(StrEnum):
    """Formats that every browser shows, by file ending."""

    PNG = "png"
    JPEG = "jpg"
    WEBP = "webp"


MEDIA_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {PictureType.PNG: "image/png", PictureType.JPEG: "image/jpeg", PictureType.WEBP: "image/webp"}
)
"""Media types by file ending."""


class Malformed(Exception):
    """The container does not follow its format."""


@dataclass(frozen=True, slots=True)
class PictureHeader:
    """Type and size from a picture's headers."""

    type: PictureType
    width: int
    height: int


def picture_in(content: bytes) -> PictureHeader | None:
    """Return the header of the picture at the start of `content`.

    None for anything else: broken, empty, too large, or no picture.
    """
    found = _png(content) or _jpeg(content) or _webp(content)
    if found is None or not 1 <= found.width <= MOST_PIXELS_A_SIDE:
        return None
    return found if 1 <= found.height <= MOST_PIXELS_A_SIDE else None


def _png(content: bytes) -> PictureHeader | None:
    """Read the size from the chunk IHDR, which follows the signature."""
    if not content.startswith(b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR") or len(content) < 33:
        return None
    return PictureHeader(PictureType.PNG, _big(content[16:20]), _big(content[20:24]))


_FRAME_HEADERS: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""SOF0 to SOF15, without the three markers of that range that are no frame headers."""

_START, _END, SCAN = 0xD8, 0xD9, 0xDA
_MARKER: Final = re.compile(rb"\xff(?=[\x01-\xcf\xd8-\xfe])")
"""Pattern of the end of a scan's data: no stuffed zero, restart or fill byte (B.1.1.2)."""


def _jpeg(content: bytes) -> PictureHeader | None:
    """Read the size from the frame header, which stands before any scan."""
    if not content.startswith(b"\xff\xd8\xff"):
        return None
    try:
        for marker, start, end in jpeg_segments(content):
            if marker in _FRAME_HEADERS and end >= start + 5:
                height, width = _big(content[start + 1 : start + 3]), _big(content[start + 3 : start + 5])
                return PictureHeader(PictureType.JPEG, width, height)
            if marker == SCAN:
                return None
    except Malformed:
        pass
    return None


def jpeg_segments(content: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield the marker of each segment, and the bounds of its content; of a scan with its data."""
    at = 2
    for _ in range(MOST_PARTS):
        if content[at : at + 1] != b"\xff" or at + 4 > len(content):
            if content[at : at + 2] == b"\xff\xd9":
                return
            raise Malformed
        marker = content[at + 1]
        if marker == 0xFF:  # a fill byte
            at += 1
            continue
        if marker == _END:
            return
        if marker == 0x01 or 0xD0 <= marker <= 0xD7:  # alone; nothing is drawn by it here
            at += 2
            continue
        start, end = at + 4, at + 2 + int.from_bytes(content[at + 2 : at + 4], "big")
        if marker in (_START, 0x00) or not start <= end <= len(content):
            raise Malformed
        if marker == SCAN:
            following = _MARKER.search(content, end)
            if following is None:
                raise Malformed
            end = following.start()
        yield marker, start, end
        at = end
    raise Malformed


def _webp(content: bytes) -> PictureHeader | None:
    """Read the size from the first chunk of the RIFF container: lossy, lossless or extended."""
    if content[:4] != b"RIFF" or content[8:12] != b"WEBP" or len(content) < 30:
        return None
    match content[12:16]:
        case b"VP8 " if content[23:26] == b"\x9d\x01\x2a":
            width, height = _little(content[26:28]) & 0x3FFF, _little(content[28:30]) & 0x3FFF
        case b"VP8L" if content[20] == 0x2F:
            bits = _little(content[21:25])
            width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            width, height = _little(content[24:27]) + 1, _little(content[27:30]) + 1
        case _:
            return None
    return PictureHeader(PictureType.WEBP, width, height)


def _big(raw: bytes) -> int:
    return int.from_bytes(raw, "big")


def _little(raw: bytes) -> int:
    return int.from_bytes(raw, "little")

"""Remove from a picture what its camera and programs wrote into it: place, author, device.

A picture is shown to everybody, so only those parts of its container are kept that draw it. They are listed
by name; everything else is left out, known or not, with whatever lies behind the end: thumbnails, second
pictures, text. Nothing is decoded. Colour profiles stay, or colours would change, and animations still move.
Of EXIF only the orientation is kept, or pictures would lie on their side.

PNG: ISO/IEC 15948. JPEG: ITU-T T.81 Annex B, T.871 (JFIF). WebP: RFC 9649. EXIF: CIPA DC-008 §4.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple
from zlib import crc32

from ostiary_web.pictures.formats import MOST_PARTS, SCAN, Malformed, PictureType, jpeg_segments

Parts = list[bytes | memoryview]
"""Views of the upload, copied once when they are joined."""


def strip_metadata(content: bytes, picture_type: PictureType) -> bytes | None:
    """Return the picture alone; None for a container that is broken, cut off or in too many parts."""
    try:
        return _STRIP[picture_type](content)
    except Malformed:
        return None


# --- PNG

_PNG_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_PNG_KEPT: Final = frozenset(
    b"IHDR PLTE IDAT IEND tRNS bKGD pHYs cHRM gAMA iCCP sBIT sRGB cICP mDCV cLLI acTL fcTL fdAT".split()
)


def _strip_png(content: bytes) -> bytes:
    view = memoryview(content)
    kept: Parts = [_PNG_SIGNATURE]
    is_turned = has_data = False
    for name, start, end in _png_chunks(content):
        if name in _PNG_KEPT:
            kept.append(view[start - 8 : end + 4])
            has_data |= name == b"IDAT"
        elif name == b"eXIf" and not is_turned:
            exif = _orientation_alone(content[start:end])
            is_turned = bool(exif)
            if is_turned:
                kept.append(_png_chunk(b"eXIf", exif))
    if not has_data:
        raise Malformed
    return b"".join(kept)


def _png_chunks(content: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield the name of each chunk up to the last, and the bounds of its data."""
    at = len(_PNG_SIGNATURE)
    for _ in range(MOST_PARTS):
        start = at + 8
        end = start + int.from_bytes(content[at : at + 4], "big")
        if end + 4 > len(content):
            raise Malformed
        name = content[at + 4 : start]
        yield name, start, end
        if name == b"IEND":
            return
        at = end + 4
    raise Malformed


def _png_chunk(name: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + name + data + crc32(name + data).to_bytes(4, "big")


# --- JPEG

_JPEG_KEPT: Final = frozenset({*range(0xC0, 0xD0), *range(0xDA, 0xE0)} - {0xC8})
"""Markers of what draws the picture: frames, tables, scans; neither applications' segments nor comments."""
_JFIF, _EXIF, _ICC, _ADOBE = b"JFIF\x00", b"Exif\x00\x00", b"ICC_PROFILE\x00", b"Adobe"


def _strip_jpeg(content: bytes) -> bytes:
    view = memoryview(content)
    kept: Parts = [b"\xff\xd8"]
    is_turned = has_scan = False
    for marker, start, end in jpeg_segments(content):
        if marker in _JPEG_KEPT:
            kept.append(view[start - 4 : end])
            has_scan |= marker == SCAN
        elif marker == 0xE1 and not is_turned and content.startswith(_EXIF, start, end):
            exif = _orientation_alone(content[start + len(_EXIF) : end])
            is_turned = bool(exif)
            if is_turned:
                kept.append(_jpeg_segment(marker, _EXIF + exif))
        else:
            data = _application_data(marker, content[start:end])
            if data:
                kept.append(_jpeg_segment(marker, data))
    if not has_scan:
        raise Malformed
    kept.append(b"\xff\xd9")
    return b"".join(kept)


def _application_data(marker: int, data: bytes) -> bytes:
    """Return the part of an application's segment that says how to read colours and pixels."""
    if marker == 0xE0 and data.startswith(_JFIF) and len(data) >= 14:
        return data[:12] + b"\x00\x00"  # without the thumbnail
    if marker == 0xE2 and data.startswith(_ICC):
        return data
    if marker == 0xEE and data.startswith(_ADOBE):
        return data[:12]
    return b""


def _jpeg_segment(marker: int, data: bytes) -> bytes:
    return bytes((0xFF, marker)) + (len(data) + 2).to_bytes(2, "big") + data


# --- WebP


class _Chunk(NamedTuple):
    name: bytes
    data: bytes | memoryview


_WEBP_DATA: Final = frozenset((b"VP8 ", b"VP8L", b"ALPH"))
_WEBP_KEPT: Final = _WEBP_DATA | {b"ICCP", b"ANIM"}
_WEBP_PICTURES: Final = frozenset((b"VP8 ", b"VP8L", b"ANMF"))
_FLAGS_KEPT, _HAS_EXIF = 0x32, 0x08
"""Flags of the extended header: colour profile, transparency, animation; and that of an orientation."""
_FRAME_HEADER: Final = 16


def _strip_webp(content: bytes) -> bytes:
    end = 8 + int.from_bytes(content[4:8], "little")
    if end > len(content):
        raise Malformed
    header, exif = b"", b""
    kept: list[_Chunk] = []
    for chunk in _webp_chunks(memoryview(content), 12, end):
        if chunk.name == b"VP8X" and not header and len(chunk.data) >= 10:
            header = bytes(chunk.data[:10])
        elif chunk.name == b"EXIF":
            exif = exif or _orientation_alone(bytes(chunk.data).removeprefix(_EXIF))
        elif chunk.name == b"ANMF":
            kept.append(_Chunk(chunk.name, _strip_frame(memoryview(chunk.data))))
        elif chunk.name in _WEBP_KEPT:
            kept.append(chunk)
    pictures = [chunk for chunk in kept if chunk.name in _WEBP_PICTURES]
    if not pictures:
        raise Malformed
    if not header:  # nothing but one picture (RFC 9649 §2.5, §2.6)
        kept = pictures[:1]
    else:
        flags = header[0] & _FLAGS_KEPT | (_HAS_EXIF if exif else 0)
        kept.insert(0, _Chunk(b"VP8X", bytes((flags, 0, 0, 0)) + header[4:]))
        kept += [_Chunk(b"EXIF", exif)] if exif else []
    body = b"WEBP" + _webp_body(kept)
    return b"RIFF" + len(body).to_bytes(4, "little") + body


def _strip_frame(data: memoryview) -> bytes:
    """Strip a frame of an animation, whose data are chunks again."""
    inside = _webp_chunks(data, _FRAME_HEADER, len(data))
    return bytes(data[:_FRAME_HEADER]) + _webp_body(chunk for chunk in inside if chunk.name in _WEBP_DATA)


def _webp_chunks(content: memoryview, at: int, end: int) -> Iterator[_Chunk]:
    for _ in range(MOST_PARTS):
        if at == end:
            return
        start = at + 8
        last = start + int.from_bytes(content[at + 4 : start], "little")
        if last > end:
            raise Malformed
        yield _Chunk(bytes(content[at : at + 4]), content[start:last])
        at = min(last + last % 2, end)  # padded to an even length, but for the very last
    raise Malformed


def _webp_body(chunks: Iterable[_Chunk]) -> bytes:
    return b"".join(
        part
        for name, data in chunks
        for part in (name, len(data).to_bytes(4, "little"), data, b"\x00" * (len(data) % 2))
    )


# --- EXIF

_ORIENTATION, _SHORT = 0x0112, 3
_MOST_TAGS: Final = 512


def _orientation_alone(exif: bytes) -> bytes:
    """Return EXIF with nothing but the orientation; empty if the picture is upright."""
    if exif[:4] not in (b"II*\x00", b"MM\x00*"):
        return b""
    order: Literal["little", "big"] = "little" if exif[:1] == b"I" else "big"

    def number(at: int, length: int) -> int:
        return int.from_bytes(exif[at : at + length], order)

    directory = number(4, 4)
    for place in range(min(number(directory, 2), _MOST_TAGS)):
        at = directory + 2 + place * 12
        if number(at, 2) == _ORIENTATION and number(at + 2, 2) == _SHORT and at + 12 <= len(exif):
            value = number(at + 8, 2)
            return _exif_of(value) if 2 <= value <= 8 else b""
    return b""


def _exif_of(orientation: int) -> bytes:
    """Return an EXIF header, and a directory with one entry."""
    entry = (_ORIENTATION, 2), (_SHORT, 2), (1, 4), (orientation, 2), (0, 2)
    fields = ((1, 2), *entry, (0, 4))
    return b"MM\x00*\x00\x00\x00\x08" + b"".join(value.to_bytes(length, "big") for value, length in fields)


_STRIP: Final[Mapping[PictureType, Callable[[bytes], bytes]]] = {
    PictureType.PNG: _strip_png,
    PictureType.JPEG: _strip_jpeg,
    PictureType.WEBP: _strip_webp,
}

"""Small pictures made by hand: real headers, and for PNG a whole file."""

import struct
import zlib


def png(width: int = 2, height: int = 3, *, filling: int = 0) -> bytes:
    """A black picture, `filling` bytes longer than it need be."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    rows = zlib.compress(b"".join(b"\x00" + b"\x00" * width * 3 for _ in range(min(height, 10))))
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
            chunk(b"IDAT", rows + b"x" * filling),
            chunk(b"IEND", b""),
        )
    )


def jpeg(width: int = 2, height: int = 3, *, frame: int = 0xC0, before: bytes = b"") -> bytes:
    """The segments up to and with the frame header; `before` stands right after the first marker."""
    application = b"\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
    header = (
        struct.pack(">BBHBHHB", 0xFF, frame, 17, 8, height, width, 3)
        + b"\x01\x22\x00\x02\x11\x01\x03\x11\x01"
    )
    return b"\xff\xd8" + before + application + header + b"\xff\xda\x00\x02" + b"\xff\xd9"


def _riff(chunk: bytes) -> bytes:
    padded = chunk + b"\x00" * (len(chunk) % 2)
    return b"RIFF" + struct.pack("<I", 4 + len(padded)) + b"WEBP" + padded


def webp_lossy(width: int = 2, height: int = 3) -> bytes:
    frame = b"\x10\x02\x00\x9d\x01\x2a" + struct.pack("<HH", width, height) + b"\x00" * 10
    return _riff(b"VP8 " + struct.pack("<I", len(frame)) + frame)


def webp_lossless(width: int = 2, height: int = 3) -> bytes:
    frame = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14) + b"\x00" * 10
    return _riff(b"VP8L" + struct.pack("<I", len(frame)) + frame)


def webp_extended(width: int = 2, height: int = 3) -> bytes:
    sizes = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return _riff(b"VP8X" + struct.pack("<I", 10) + b"\x00\x00\x00\x00" + sizes)


def gif() -> bytes:
    return b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff;"

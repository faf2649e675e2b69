"""Pictures made by hand, sheets as people make and open them, and file systems that have no hard links."""

import ctypes
import errno
import os
import struct
import zlib
from collections.abc import Sequence
from io import BytesIO
from types import SimpleNamespace
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
import xlsxwriter
from python_calamine import CalamineWorkbook


def png(width: int = 2, height: int = 3, *, filling: int = 0) -> bytes:
    """Make a black picture, `filling` bytes longer than it need be."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

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
    """Make the segments up to and with the frame header; `before` follows the first marker."""
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


SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def sheet_of(rows: Sequence[Any]) -> bytes:
    """Make a sheet with these cells."""
    file = BytesIO()
    book = xlsxwriter.Workbook(file, {"strings_to_formulas": False, "strings_to_urls": False})
    sheet = book.add_worksheet()
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            if cell is not None:
                sheet.write(number, column, cell)
    book.close()
    return file.getvalue()


def rows_of(content: bytes, sheet: int = 0) -> list[list[Any]]:
    """Return all cells of a sheet."""
    with CalamineWorkbook.from_filelike(BytesIO(content)) as book:
        return book.get_sheet_by_index(sheet).to_python(skip_empty_area=False)


def zip_of(members: dict[str, bytes]) -> bytes:
    """Make a ZIP file with these members."""
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return file.getvalue()


def book_around(sheet: bytes, **more: bytes) -> bytes:
    """Make the smallest workbook around the XML of a sheet."""
    return zip_of(
        {
            "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}"><Relationship Id="rId1" '
            f'Type="{_RELATIONSHIPS}/officeDocument" Target="xl/workbook.xml"/></Relationships>'.encode(),
            "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{_RELATIONSHIPS}"><sheets>'
            '<sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>'.encode(),
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}"><Relationship Id="rId1" '
            f'Type="{_RELATIONSHIPS}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>'.encode(),
            "xl/worksheets/sheet1.xml": sheet,
            **more,
        }
    )


def cells(inside: str, before: str = "") -> bytes:
    """Make the XML of a sheet around its rows."""
    return f'{before}<worksheet xmlns="{MAIN}"><sheetData>{inside}</sheetData></worksheet>'.encode()


def shared_texts(*texts: str) -> dict[str, bytes]:
    """Make the member that holds the texts to which cells refer."""
    return {"xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{"".join(texts)}</sst>'.encode()}


def without_links(monkeypatch: pytest.MonkeyPatch, *, renames: bool) -> None:
    """Have the file system be one without hard links, which may rename to a free name alone."""

    def refuse(*paths: object, **more: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    if not renames:
        cannot = SimpleNamespace(renameat2=lambda *_: ctypes.set_errno(errno.EINVAL) or -1)
        monkeypatch.setattr(ctypes, "CDLL", lambda name, use_errno: cannot)

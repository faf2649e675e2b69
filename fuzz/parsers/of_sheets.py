"""Reader of uploaded sheets: its result, and its cost in memory."""

import faulthandler
import os
import resource
import warnings
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from python_calamine import CalamineWorkbook
from xlsxwriter import Workbook

from fuzz.parsers.target import Target, require_same
from ostiary_core.model.fields import FieldRule
from ostiary_web.sheets.cells import MOST_ROWS, BadCell, Cell, Number
from ostiary_web.sheets.reading import read_sheet

# --- a file as it is: a book, or CSV

_UNREADABLE: Final = (FieldRule.SHEET, FieldRule.SHEET_EMPTY, FieldRule.SHEET_TOO_LARGE, FieldRule.CSV)


def judge_sheet(data: bytes) -> None:
    """Judge an upload: it is read as rows within bounds, or refused."""
    read = read_sheet(data)
    if isinstance(read, FieldRule):
        assert read in _UNREADABLE
        return
    assert 0 < len(read) <= MOST_ROWS + 1
    assert all(1 <= row.number <= 1_048_576 and len(row.cells) <= 200 for row in read)
    assert all(any(str(cell).strip() for cell in row.cells) for row in read), "an empty row"
    if data.startswith(b"PK"):
        with ZipFile(BytesIO(data)) as packed:
            for name in packed.namelist():
                # raised by parts that the server does not read
                with suppress(BadZipFile, zlib.error, EOFError):
                    assert b"<!DOCTYPE" not in packed.read(name), f"{name} declares entities"


def _tiny_sheet() -> bytes:
    packed = BytesIO()
    with Workbook(packed, {"in_memory": True}) as book:
        book.add_worksheet().write_string(0, 0, "a")
    return packed.getvalue()


# --- cells as they are in the file: lines of parts as "n 00123", "z 7", "e #N/A", "f A1", "t text"

_MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_STYLES: Final = (
    f'<styleSheet xmlns="{_MAIN}"><numFmts count="1"><numFmt numFmtId="176" formatCode="000000"/></numFmts>'
    '<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="176"/></cellXfs></styleSheet>'
)


def judge_cells(data: bytes) -> None:
    """Judge cells: no digit is lost, every visible text is read, a cell with an error is not empty.

    Another library reads the same values, as far as it supports them.
    """
    lines = data.decode("utf-8", "ignore").split("\n")[:40]
    table = [[made for part in line.split(";")[:20] for made in _make_cell(part)] for line in lines]
    rows = (f"<row>{''.join(cell for cell, _ in row)}</row>" for row in table)
    content = _book_with("".join(rows), **{"xl/styles.xml": _STYLES})
    read = read_sheet(content)
    expected = {number: [cell for _, cell in row] for number, row in enumerate(table, 1) if row}
    if not expected:
        require_same(read, FieldRule.SHEET, data)
        return
    assert isinstance(read, tuple), f"a sheet that was written is refused: {read}"
    require_same({row.number: list(row.cells)[: len(expected[row.number])] for row in read}, expected, data)
    with CalamineWorkbook.from_filelike(BytesIO(content)) as book:
        others = book.get_sheet_by_index(0).to_python(skip_empty_area=False)
    # The other library drops trailing rows that have only formulas.
    for row in (each for each in read if each.number <= len(others)):
        for cell, other in zip(row.cells, others[row.number - 1], strict=False):
            if other != "":
                text = cell.strip(" ") if isinstance(cell, str) else cell  # the other library trims texts
                require_same(float(cell.value) if isinstance(cell, Number) else text, other, data)


def _make_cell(part: str) -> list[tuple[str, Cell]]:
    """Return the XML of a cell and the expected value; nothing for an unknown part."""
    kind, _, text = part.strip().partition(" ")
    if kind in ("n", "z") and text.isdigit() and len(text) <= 30:
        value, style = str(int(text)), ' s="1"' if kind == "z" else ""
        shown = value.zfill(6) if kind == "z" else value
        return [(f"<c{style}><v>{text}</v></c>", Number(value=value, shown=shown))]
    if kind == "e" and text in ("#N/A", "#DIV/0!", "#REF!"):
        return [(f'<c t="e"><v>{text}</v></c>', BadCell(FieldRule.CELL_ERROR, text))]
    if kind == "f" and text.isalnum():
        return [(f"<c><f>{text}</f></c>", BadCell(FieldRule.CELL_FORMULA))]
    if kind == "t" and text.isprintable() and text.strip() and "_" not in text:
        return [(f'<c t="inlineStr"><is><t>{escape(text)}</t></is></c>', text)]
    return []


def _book_with(rows: str, **members: str) -> bytes:
    """Return a file with these rows."""
    with ZipFile(BytesIO(_tiny_sheet())) as tiny:
        whole = {name: tiny.read(name) for name in tiny.namelist()}
    sheet = f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'
    whole["xl/worksheets/sheet1.xml"] = sheet.encode()
    whole |= {name: content.encode() for name, content in members.items()}
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as book:
        for name, content in whole.items():
            book.writestr(name, content)
    return packed.getvalue()


# --- memory of a sheet: parts as "shared 32000 1;ref 0 30000", a few kilobytes of file for gigabytes of text

_LONGEST_TEXT: Final = 32_767
_MOST_CHARACTERS: Final = 4 * 1024 * 1024
_MOST_MORE_BYTES: Final = 160 * 1024 * 1024
"""Most address space that reading any of these sheets may add to the fuzzer's own, in bytes."""

_MOST_PARTS: Final = 8
_MOST_OF_A_PART: Final = 1_000_000
_CELLS_A_ROW: Final = 100
_ROWS_READ, _REFUSED, _OUT_OF_MEMORY, _FAILED = range(4)


@dataclass
class _Book:
    """A sheet made of parts, with the facts about its texts that an oracle needs without building it."""

    rows: list[str] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    references: list[tuple[int, int]] = field(default_factory=list)
    in_cells: int = 0
    longest: int = 0
    is_deep: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the sheet is valid, except perhaps for its amount of text."""
        known = all(place < len(self.lengths) for place, times in self.references if times)
        return known and len(self.rows) <= MOST_ROWS and not self.is_deep

    def add(self, kind: str, length: int, times: int) -> None:
        """Add a part: so many texts or cells of a length, or cells that refer to a shared text."""
        times = min(times, _MOST_OF_A_PART // max(length, 20))
        text = "x" * length
        match kind:
            case "shared" | "runs":
                runs = kind == "runs"
                own = f"<r><t>{text}</t></r>" * times if runs else f"<t>{text}</t>"
                self._add_shared(own, length * (times if runs else 1), 1 if runs else times)
            case "ref":
                self._add_cells(f'<c t="s"><v>{length}</v></c>', times)
                self.references.append((length, times))
            case "inline":
                self._add_texts(f'<c t="inlineStr"><is><t>{text}</t></is></c>', length, times)
            case "result":
                self._add_texts(f'<c t="str"><f>A1</f><v>{text}</v></c>', length, times)
            case "deep":
                self.rows.append("<a>" * times + "</a>" * times)
                self.is_deep = self.is_deep or times > 90
            case _:
                pass

    def _add_shared(self, text: str, length: int, times: int) -> None:
        self.shared.append(f"<si>{text}</si>" * times)
        self.lengths += [length] * times
        self.longest = max(self.longest, length if times else 0)

    def _add_texts(self, cell: str, length: int, times: int) -> None:
        self._add_cells(cell, times)
        self.in_cells += length * times
        self.longest = max(self.longest, length if times else 0)

    def _add_cells(self, cell: str, times: int) -> None:
        whole, rest = divmod(times, _CELLS_A_ROW)
        self.rows += [f"<row>{cell * _CELLS_A_ROW}</row>"] * whole
        self.rows += [f"<row>{cell * rest}</row>"] if rest else []

    @property
    def characters(self) -> int:
        """Characters of all cells, each with the text it refers to."""
        known = ((place, times) for place, times in self.references if place < len(self.lengths))
        return self.in_cells + sum(self.lengths[place] * times for place, times in known)

    def pack(self) -> bytes:
        """Return the file."""
        shared = f'<sst xmlns="{_MAIN}">{"".join(self.shared)}</sst>'
        return _book_with("".join(self.rows), **{"xl/sharedStrings.xml": shared})


def judge_cost(data: bytes) -> None:
    """Judge the cost: a sheet with too much text is refused, and memory stays bounded for every sheet."""
    book = _Book()
    for part in data.decode("ascii", "replace").split(";")[:_MOST_PARTS]:
        words = part.split()
        if len(words) == 3 and all(word.isascii() and word.isdigit() and len(word) < 9 for word in words[1:]):
            book.add(words[0], int(words[1]), int(words[2]))
    ended = _read_apart(book.pack())
    assert ended in (_ROWS_READ, _REFUSED), f"the reader ended with {ended} on {data!r}"
    if book.longest > _LONGEST_TEXT or book.characters > _MOST_CHARACTERS:
        assert ended == _REFUSED, f"{book.characters} characters taken of {data!r}"
    elif book.is_plain and 0 < book.characters < _MOST_CHARACTERS - 1_000_000:
        assert ended == _ROWS_READ, f"{book.characters} characters refused of {data!r}"


def _read_apart(content: bytes) -> int:
    """Read a sheet in a process with little spare memory; return its exit code, or minus the signal."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + _MOST_MORE_BYTES
    with warnings.catch_warnings():
        # Newer Pythons warn of threads; the child uses none.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    ended = _FAILED
    try:
        faulthandler.disable()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # suppresses the message of an abort
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        ended = _ROWS_READ if isinstance(read_sheet(content), tuple) else _REFUSED
    except MemoryError:
        ended = _OUT_OF_MEMORY
    finally:
        os._exit(ended)


TARGETS: Final = (
    Target("sheet", judge_sheet),
    Target("sheet-cells", judge_cells),
    Target("sheet-cost", judge_cost),
)

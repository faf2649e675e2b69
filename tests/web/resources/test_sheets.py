"""Sheets are written and read: a text comes back and is no formula, and no file does harm."""

import re
import struct
from io import BytesIO
from typing import Any
from xml.sax.saxutils import quoteattr
from zipfile import ZipFile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, strategies as st

from ostiary_core.model.fields import FieldRule
from ostiary_core.model.instant import Instant
from ostiary_core.model.record_type import Kind
from ostiary_core.storage.listing import USERS
from ostiary_core.texts import ENGLISH
from ostiary_web.application.resources import sheet_writing
from ostiary_web.application.resources.fields import Field, ListView, SheetUse
from ostiary_web.application.resources.sheet_writing import TOO_LONG, SheetWriter
from ostiary_web.sheets import book, parsing
from ostiary_web.sheets.cells import MOST_COLUMNS, MOST_ROWS, BadCell, Cell, Number, Row
from ostiary_web.sheets.parsing import LONGEST_TEXT, MOST_CHARACTERS
from ostiary_web.sheets.reading import read_sheet
from tests.support.files import MAIN, book_around, cells, rows_of, shared_texts, sheet_of, zip_of
from tests.support.story import START

SHANGHAI = ZoneInfo("Asia/Shanghai")
ONE = Number(value="1", shown="1")
DANGEROUS = (
    *("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"),
    *('=HYPERLINK("http://x","y")', "=cmd|' /C calc'!A0"),
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def field(name: str, kind: Kind, place: int) -> Field[tuple[object, ...]]:
    return Field(name=name, kind=kind, read=lambda item: item[place], sheet=SheetUse.IMPORT_EXPORT)


def write_sheet(*columns: Kind, items: list[tuple[object, ...]]) -> bytes:
    names = [f"f{place}" for place in range(len(columns))]
    fields = tuple(field(*each) for each in zip(names, columns, range(len(columns)), strict=True))
    list_view: ListView[Any, Any] = ListView(name="s", source=USERS, fields=fields)
    language = ENGLISH.with_texts({"page.s": "S", **{f"column.s.{name}": name for name in names}})
    writer = SheetWriter(list_view, language, SHANGHAI, START)
    writer.write(items)
    writer.close()
    return writer.take_bytes()


def xml_of(content: bytes, name: str = "xl/worksheets/sheet1.xml") -> str:
    return ZipFile(BytesIO(content)).read(name).decode()


# --- written


@given(texts)
@example("=1+1")
@example("_x000D_")
@example("_x0041_x0041_")
@example("\ufffe\uffff")
@example("a\r\nb")
@example(" x ")
@example("\x01\x1f")
def test_a_text_comes_back_as_it_was(text: str) -> None:
    rows = read_sheet(write_sheet(Kind.TEXT, items=[(text + "|",)]))
    assert isinstance(rows, tuple)
    assert [row.cells for row in rows] == [["f0"], [text + "|"]]


@pytest.mark.parametrize("text", DANGEROUS)
def test_no_text_becomes_a_formula(text: str) -> None:
    content = write_sheet(Kind.TEXT, items=[(text,), ("harmless",)])
    assert rows_of(content)[1:] == [[text], ["harmless"]]
    sheet, styles = xml_of(content), xml_of(content, "xl/styles.xml")
    assert "<f>" not in sheet
    assert "hyperlink" not in sheet
    # The cell's own format has the quote prefix, so that it stays text when a user edits it.
    formats = re.findall(r"<xf [^>]*>", styles.partition("<cellXfs")[2].partition("</cellXfs>")[0])
    [dangerous, harmless] = [int(found) for found in re.findall(r'r="A[23]" s="([0-9]+)"', sheet)]
    assert 'quotePrefix="1"' in formats[dangerous]
    assert 'quotePrefix="1"' not in formats[harmless]
    assert 'numFmtId="49"' in formats[dangerous]
    assert 'numFmtId="49"' in formats[harmless]


def test_what_is_typed_into_an_empty_cell_of_a_text_column_is_text() -> None:
    kinds = (Kind.TEXT, Kind.TEXTS, Kind.CODES, Kind.INTEGER, Kind.TIME)
    content = write_sheet(*kinds, items=[(None, (), (), None, None)])
    assert '<row r="2"></row>' in xml_of(content)
    styles = xml_of(content, "xl/styles.xml").partition("<cellXfs")[2].partition("</cellXfs>")[0]
    formats = re.findall(r'<xf numFmtId="([0-9]+)"', styles)
    found = [re.search(r'style="([0-9]+)"', column) for column in re.findall(r"<col [^>]*>", xml_of(content))]
    assert [style and formats[int(style[1])] for style in found] == ["49", "49", "49", None, None]


def test_values_have_their_kinds() -> None:
    items: list[tuple[object, ...]] = [
        ("+8613800000000", ("a", "b"), 1800, True, START),
        ("13800000000", (), 0, False, None),
        (None, (), None, None, Instant(-1)),
    ]
    kinds = (Kind.TEXT, Kind.CODES, Kind.INTEGER, Kind.BOOLEAN, Kind.TIME)
    rows = rows_of(write_sheet(*kinds, items=items))
    assert rows[0] == ["f0", "f1", "f2", "f3", "f4 (Asia/Shanghai)"]
    assert [row[:4] for row in rows[1:]] == [
        ["+8613800000000", "a\nb", 1800, True],
        ["13800000000", "", 0, False],
        ["", "", "", ""],
    ]
    times = ["2027-01-15 16:00:00.123000", "", "1970-01-01 07:59:59.999000"]
    assert [str(row[4]) for row in rows[1:]] == times


def test_what_no_cell_can_hold_is_no_value_at_all() -> None:
    rows = rows_of(write_sheet(Kind.TEXT, items=[("x" * 32_767,), ("x" * 32_768,)]))
    assert rows[1:] == [["x" * 32_767], [TOO_LONG]]


def test_a_full_sheet_is_followed_by_another_with_the_headings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet_writing, "_ROWS_A_SHEET", 3)
    content = write_sheet(Kind.INTEGER, items=[(number,) for number in range(5)])
    found = [rows_of(content, place) for place in range(3)]
    assert found == [[["f0"], [0], [1]], [["f0"], [2], [3]], [["f0"], [4]]]
    assert re.findall('<sheet name="([^"]*)"', xml_of(content, "xl/workbook.xml")) == ["S", "S 2", "S 3"]


def test_a_sheet_has_as_many_rows_as_programs_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book.Book, "write_row", lambda self, _: setattr(self, "row", self.row + 2**19))
    content = write_sheet(Kind.INTEGER, items=[(1,), (2,)])
    assert xml_of(content, "xl/workbook.xml").count("<sheet ") == 2


@pytest.mark.parametrize("more, rows", [(0, [3, 3, 2]), (1, [4, 3])])
def test_many_bytes_begin_another_sheet(more: int, rows: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    items: list[tuple[object, ...]] = [(number,) for number in range(5)]
    two = xml_of(write_sheet(Kind.INTEGER, items=items[:2]))
    monkeypatch.setattr(book, "_LONGEST_SHEET", len(two.removesuffix("</sheetData></worksheet>")) + more)
    content = write_sheet(Kind.INTEGER, items=items)
    assert [len(rows_of(content, place)) for place in range(len(rows))] == rows


def test_columns_beyond_the_alphabet_have_names_too() -> None:
    row = tuple(range(60))
    content = write_sheet(*[Kind.INTEGER] * len(row), items=[row])
    assert rows_of(content)[1] == list(row)
    assert re.findall('<c r="([A-Z]+)2"', xml_of(content))[24:54:9] == ["Y", "AH", "AQ", "AZ"]


def test_a_book_is_complete_and_knows_no_clock_but_the_one_that_was_handed_in() -> None:
    content, again = (write_sheet(Kind.TEXT, Kind.TIME, items=[("a", START)]) for _ in "12")
    assert again == content
    assert "2027-01-15T08:00:00Z" in xml_of(content, "docProps/core.xml")
    named = re.findall('PartName="/([^"]*)"', xml_of(content, "[Content_Types].xml"))
    parts = ZipFile(BytesIO(content)).namelist()
    assert {*named} == {part for part in parts if not part.endswith((".rels", "[Content_Types].xml"))}
    assert re.findall('<col min="(.)" max="(.)"', xml_of(content)) == [("1", "1"), ("2", "2")]
    assert '<pane ySplit="1"' in xml_of(content), "the headings stay in sight"


def test_a_column_is_as_wide_as_its_values_are_long() -> None:
    kinds = (Kind.BOOLEAN, Kind.INTEGER, Kind.TIME, Kind.CODES, Kind.TEXTS, Kind.CHANGES)
    widths = re.findall('width="([0-9]+)', xml_of(write_sheet(*kinds, items=[])))
    assert widths == sorted({*widths})


def test_cells_look_like_what_they_are() -> None:
    styles = xml_of(write_sheet(Kind.TEXT, items=[]), "xl/styles.xml")
    [formats] = re.findall('<cellXfs count="7">(.*)</cellXfs>', styles)
    found = re.findall('<xf numFmtId="([0-9]+)" fontId="(.)"([^>]*)>(<alignment[^>]*>)?', formats)
    assert 'numFmtId="164" formatCode="yyyy-mm-dd hh:mm:ss"' in styles
    looks = []
    for number, font, more, place in found:
        has = {"bold": font == "1", "quoted": "quotePrefix" in more}
        has |= {"top": "vertical" in place, "wrapped": "wrapText" in place}
        looks.append(" ".join([number, *(word for word in has if has[word])]))
    assert looks == ["0", "0 bold top wrapped", "49", "49 wrapped", "49 quoted", "164", "0 top wrapped"]


# --- read


def test_rows_have_the_numbers_beside_them_and_empty_ones_are_left_out() -> None:
    content = sheet_of([["a", "b"], [None, None], ["", "  "], ["x", 1], [None, True]])
    assert read_sheet(content) == (Row(1, ["a", "b"]), Row(4, ["x", ONE]), Row(5, ["", True]))


def test_as_many_rows_as_are_allowed_and_no_more() -> None:
    rows = [["a"], *([[number] for number in range(MOST_ROWS)])]
    assert isinstance(read_sheet(sheet_of(rows)), tuple)
    assert isinstance(read_sheet(sheet_of([["a"] * MOST_COLUMNS])), tuple)
    assert read_sheet(sheet_of([*rows, ["one more"]])) is FieldRule.SHEET_TOO_LARGE


def test_the_least_that_is_a_sheet_is_read() -> None:
    """The sheets below add one hostile thing to this one, and are refused for that alone."""
    content = book_around(cells('<row r="1"><c r="A1"><v>7</v></c></row>'))
    assert read_sheet(content) == (Row(1, [Number(value="7", shown="7")]),)


def test_cells_may_say_which_row_they_are_in_and_what_is_in_no_cell_is_nothing() -> None:
    rows = '<row><c r="A1"><v>1</v></c><t>x</t></row><row><v>x</v><c r="AB7"><v>1</v></c><c r="XFD7"/></row>'
    found = read_sheet(book_around(cells(f"<t>x</t><v>x</v>{rows}")))
    between = [""] * 27
    assert found == (Row(1, [ONE, *between]), Row(7, [*between, ONE]))


@pytest.mark.parametrize(
    "sheet",
    [
        cells('<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
        cells('<row r="1"><c r="A1"><v>1</v></c><c r="XFD1"><v>1</v></c></row>'),
        cells('<row r="1048577"><c><v>1</v></c></row>'),
        cells('<row r="1"><c r="A1"><v>1</v></c></row><row r="4294967295"><c><v>1</v></c></row>'),
        cells("<row r='1'><c r='A1'><v>1</v></c><c r = 'ZZZ1'><v>1</v></c></row><row r='99999999999'/>"),
        cells('<row r="1"><c r="A1"><v>1</v></c><c r="&#88;FD1"><v>1</v></c></row>'),
        cells('<row r="1"><c t="a>b" r="XFD1"><v>1</v></c></row>'),
        cells("<row><c><v>1</v></c></row>" * 10_001),
        cells("<row>" + "<c><v>1</v></c>" * 201 + "</row>"),
    ],
    ids=[
        *("corner", "wide", "one more", "long", "longer"),
        *("by entity", "past a bracket", "many rows", "many columns"),
    ],
)
def test_a_cell_far_out_makes_no_table_of_everything_between(sheet: bytes) -> None:
    assert read_sheet(book_around(sheet)) is FieldRule.SHEET_TOO_LARGE


@pytest.mark.parametrize(
    "rows",
    [
        '<row r="2"><c r="A2"><v>1</v></c></row><row r="1"><c r="A1"><v>2</v></c></row>',
        '<row r="1"><c r="A1"><v>1</v></c></row><row r="1"><c r="A1"><v>2</v></c></row>',
        '<row r="1"><c r="B1"><v>1</v></c><c r="A1"><v>2</v></c></row>',
        '<row r="1"><c r="A1"><v>1</v></c><c r="A1"><v>2</v></c></row>',
        '<row r="1"><c r="A7"><v>1</v></c></row>',
        '<row r="1"><c r="ZZZZ1"><v>1</v></c></row>',
        '<row r="x"><c><v>1</v></c></row>',
        '<row r="1"><c><row r="2"/></c></row>',
        '<row><c r="A2"><v>1</v></c></row><row><c r="A2"><v>2</v></c></row>',
        '<row><c r="A1"><v>1</v></c><c r="B2"><v>2</v></c></row>',
        '<row r="1"><c><c><v>1</v></c></c></row>',
        '<row r="1"><c><v>one</v></c></row>',
        '<row r="1"><c t="s"><v>0</v></c></row>',
        '<row r="1"><c t="s"><v>-1</v></c></row>',
        '<row r="1"><c s="-1"><v>1</v></c></row>',
    ],
)
def test_what_two_readers_could_read_in_two_ways_is_refused(rows: str) -> None:
    assert read_sheet(book_around(cells(rows))) is FieldRule.SHEET


def test_rows_that_are_formatted_and_empty_down_to_the_last_do_not_count() -> None:
    full = "".join(f'<row><c t="inlineStr"><is><t>{text}</t></is></c></row>' for text in "ab")
    empty = "".join(f'<row r="{number}" s="1" customFormat="1"/>' for number in range(3, 100_000))
    content = book_around(cells(full + empty + '<row r="1048576"><c s="1"/></row>'))
    assert read_sheet(content) == (Row(1, ["a"]), Row(2, ["b"]))


@pytest.mark.parametrize(
    "cell, read",
    [
        ('<c t="str"><f>""</f><v></v></c>', None),
        ("<c><f>A1</f><v></v></c>", BadCell(FieldRule.CELL_FORMULA)),
        ('<c t="str"><f>A1</f></c>', BadCell(FieldRule.CELL_FORMULA)),
        ('<c t="b"><f>A1</f></c>', BadCell(FieldRule.CELL_FORMULA)),
        ('<c t="e"><f>1/0</f><v>#DIV/0!</v></c>', BadCell(FieldRule.CELL_ERROR, "#DIV/0!")),
        ('<c t="e"><v>#N/A</v></c>', BadCell(FieldRule.CELL_ERROR, "#N/A")),
        (f'<c t="e"><v>{"#" * 21}</v></c>', BadCell(FieldRule.CELL_ERROR, "#" * 20)),
        ('<c t="b"><v>1</v></c>', True),
        ('<c t="d"><v>2026-01-02</v></c>', BadCell(FieldRule.CELL_FORMAT)),
        ('<c t="inlineStr"><is><r><t>a</t></r><rPh><t>x</t></rPh><r><t> b</t></r></is></c>', "a b"),
        ('<c t="str"><v>a_x000D_b_x005F_c_xD800_</v></c>', "a\rb_c_xD800_"),
        ("<c><v>110105199003078888</v></c>", Number("110105199003078888", "110105199003078888")),
        ("<c><v>1.1010519900307888E+17</v></c>", Number("110105199003078880", "110105199003078880")),
        ("<c><v>1.1000000000000001</v></c>", Number("1.1", "1.1")),
        ("<c><v>0.1234567890123456</v></c>", Number("0.123456789012346", "0.123456789012346")),
        ("<c><v>-0</v></c>", Number("0", "0")),
        ("<c><v>1e300</v></c>", Number("1" + "0" * 300, "1" + "0" * 300)),
        *(
            (f'<c s="{style}"><v>{value}</v></c>', Number(value, shown))
            for style, value, shown in (
                *((0, "123", "123"), (1, "123", "000123"), (2, "123", "123"), (3, "123", None)),
                *((4, "45678", None), (5, "0.5", None), (6, "-7", "-7"), (7, "123", None)),
                *((8, "13800000000", "13800000000"), (8, "7", "7"), (9, "123", "123"), (1, "1.5", None)),
                *((10, "123", None), (11, "45678", None), (12, "7", "7"), (13, "123", "123"), (99, "5", "5")),
            )
        ),
    ],
)
def test_a_cell_is_read_as_it_is_stored_and_as_it_is_shown(cell: str, read: Cell | None) -> None:
    """None stands for an empty cell."""
    own = [
        *("000000", "General", "0.00", 'yyyy"年"m"月"', "0%", "0_);[Red]\\(0\\)"),
        *('"Nr. "0', "#,##0", "@", ";;;"),
    ]
    codes = enumerate((quoteattr(code) for code in own), 176)
    styles = (
        f'<styleSheet xmlns="{MAIN}"><numFmts>'
        + "".join(f'<numFmt numFmtId="{number}" formatCode={code}/>' for number, code in codes)
        + '</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>'
        + "".join(f'<xf numFmtId="{176 + place}"/>' for place in range(len(own)))
        + '<xf numFmtId="14"/><xf numFmtId="1"/></cellXfs><dxfs><xf numFmtId="14"/></dxfs></styleSheet>'
    )
    sheet = cells(f"<row>{cell}<c><v>1</v></c></row>")
    found = read_sheet(book_around(sheet, **{"xl/styles.xml": styles.encode()}))
    assert found == (Row(1, ["" if read is None else read, ONE]),)


def test_the_members_are_those_that_the_book_names() -> None:
    """The kind and the identifier of a relation name them. The first counts; external ones do not."""
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    related = "".join(
        f'<{name} Id="{identifier}" Type="{kinds}/{kind}" Target="{target}"/>'
        for name, identifier, kind, target in (
            ('Relationship TargetMode="External"', "rId1", "styles", "https://evil.example"),
            ("Other", "rId1", "styles", "worksheets/sheet2.xml"),
            ("Relationship", "rId1", "worksheet", "worksheets/sheet1.xml"),
            ("Relationship", "rId2", "worksheet", "worksheets/sheet2.xml"),
            ("Relationship", "rId3", "styles", "/xl/OTHER.xml"),
            ("Relationship", "rId4", "styles", "styles.xml"),
        )
    )
    members = {
        "xl/workbook.xml": f'<workbook xmlns:r="{kinds}"><view r:id="rId2"/><sheet r:id="rId1"/>'
        '<sheet r:id="rId2"/></workbook>',
        "xl/_rels/workbook.xml.rels": f"<Relationships>{related}</Relationships>",
        "xl/worksheets/sheet2.xml": cells("<row><c><v>2</v></c></row>").decode(),
        "xl/other.xml": '<styleSheet><numFmts><numFmt numFmtId="176" formatCode="000"/></numFmts><cellXfs>'
        '<xf numFmtId="176"/></cellXfs></styleSheet>',
    }
    first = cells("<row><c><v>1</v></c></row>")
    book = book_around(first, **{name: content.encode() for name, content in members.items()})
    assert read_sheet(book) == (Row(1, [Number(value="1", shown="001")]),)


@pytest.mark.parametrize(
    "texts, read",
    [
        ("<t>z</t><si><t>a_x000D_</t>\n<rPh><t>x</t></rPh><r><t> b</t></r></si><t>z</t>", "a\r b"),
        ("<si><rPh><rPh><t>x</t></rPh><t>y</t></rPh><t>a</t></si>", "a"),
        ("<si><si><t>a</t></si></si>", FieldRule.SHEET),
        ("<si><t>a</t></si>" + "<si/>" * 4, "a"),
        ("<si><t>a</t></si>" + "<si/>" * 5, FieldRule.SHEET_TOO_LARGE),
    ],
    ids=["runs and readings", "reading within", "one in another", "as many as may be", "too many"],
)
def test_cells_share_a_text(texts: str, read: str | FieldRule, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell refers to a text that many cells may share."""
    monkeypatch.setattr(parsing, "_MOST_SHARED_TEXTS", 5)
    found = read_sheet(book_around(cells('<row><c t="s"><v>0</v></c></row>'), **shared_texts(texts)))
    assert found == (read if isinstance(read, FieldRule) else (Row(1, [read]),))


@pytest.mark.parametrize("length, is_read", [(LONGEST_TEXT, True), (LONGEST_TEXT + 1, False)])
@pytest.mark.parametrize(
    "cell",
    [
        '<c t="s"><v>0</v></c>',
        '<c t="inlineStr"><is><t>{text}</t></is></c>',
        '<c t="str"><f>A2+A3</f><v>{text}</v></c>',
    ],
    ids=["shared", "in its cell", "result of a formula"],
)
def test_a_text_is_as_long_as_in_excel(cell: str, length: int, is_read: bool) -> None:
    text = "x" * length
    shared = shared_texts(f"<si><t>{text}</t></si>") if 't="s"' in cell else {}
    found = read_sheet(book_around(cells(f"<row>{cell.format(text=text)}</row>"), **shared))
    assert found == ((Row(1, [text]),) if is_read else FieldRule.SHEET_TOO_LARGE)


@pytest.mark.parametrize("more, is_read", [("", True), ("<row><c><v>1</v></c></row>", False)])
def test_all_texts_together_are_bounded(more: str, is_read: bool) -> None:
    sheet = cells('<row><c t="s"><v>0</v></c></row>' * (MOST_CHARACTERS // 16_384) + more)
    found = read_sheet(book_around(sheet, **shared_texts(f"<si><t>{'x' * 16_384}</t></si>")))
    assert isinstance(found, tuple) if is_read else found is FieldRule.SHEET_TOO_LARGE


DEEPEST, PIECE, LONGEST_TOKEN = 100, 64 * 1024, 1024 * 1024


@pytest.mark.parametrize("depth, is_read", [(DEEPEST, True), (DEEPEST + 1, False)])
def test_elements_may_lie_so_deep_in_one_another(depth: int, is_read: bool) -> None:
    row = "<row><c><v>1</v></c></row>"
    deep = cells(row + "<x/>" * 9 + "<x>" * (depth - 2) + "</x>" * (depth - 2))
    assert read_sheet(book_around(deep)) == ((Row(1, [ONE]),) if is_read else FieldRule.SHEET)


@pytest.mark.parametrize("moved_back, is_read", [(0, True), (1, False)])
def test_what_the_parser_must_keep_whole_is_bounded(moved_back: int, is_read: bool) -> None:
    """The parser gets pieces. Of a comment at the end of one piece it must keep everything until the next."""
    before = cells("<row><c><v>1</v></c></row>").removesuffix(b"</worksheet>")
    before = before.ljust(PIECE - moved_back)
    sheet = before + b"<!--" + b"x" * LONGEST_TOKEN + b"--></worksheet>"
    assert read_sheet(book_around(sheet)) == ((Row(1, [ONE]),) if is_read else FieldRule.SHEET_TOO_LARGE)


ENTITY = '<!DOCTYPE x [<!ENTITY x SYSTEM "/etc/passwd">]>'
LAUGHS = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    "content",
    [
        b"PK\x03\x04",
        b"PK\x05\x06" + bytes(18),
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(4096),
        zip_of({}),
        zip_of({"xl/workbook.xml": b""}),
        zip_of({"xl/workbook.xml": b"<workbook/>"}),
        zip_of({"content.xml": b"<office:document/>", "mimetype": b"application/vnd.oasis.opendocument"}),
        zip_of({"xl/workbook.bin": b"\x83\x01\x00"}),
        sheet_of([["a"], ["b"]])[:-40],
        sheet_of([]),
        book_around(b""),
        book_around(b"<worksheet>"),
        book_around(cells('<row r="1"><c r="A1"><v>&b;</v></c></row>', LAUGHS)),
        book_around(cells('<row r="1"><c r="A1"><v>7</v></c></row>', LAUGHS)),
        book_around(cells('<row r="1"><c r="A1"><v>&x;</v></c></row>', ENTITY)),
        book_around(b"\xff\xfe" + cells("").decode().encode("utf-16-le")[:-2]),
        book_around(cells('<row r="1"><c r="A1"><v>5</v></c></row>')[:-3]),
        sheet_of([["a"]]) + b"\x00" * 70_000,
        # A name in the old encoding, for which UTF-8 takes more bytes than a name may have.
        zip_of({"a" * 65_000 + ".xml": b"<a/>"}).replace(b"a" * 65_000, b"\x82" * 65_000),
    ],
)
def test_what_is_no_sheet_is_refused(content: bytes) -> None:
    assert read_sheet(content) is FieldRule.SHEET


def test_a_size_that_is_a_lie_is_not_believed() -> None:
    """The headers say 10 bytes; what is packed goes on for 140 million."""
    packed = bytearray(book_around(cells(" " * 140_000_000)))
    size = struct.pack("<I", len(cells(" " * 140_000_000)))
    assert packed.count(size) >= 2
    assert read_sheet(bytes(packed.replace(size, struct.pack("<I", 10)))) is FieldRule.SHEET


def test_many_members_and_members_of_one_name_are_refused() -> None:
    many = {f"xl/worksheets/sheet{number}.xml": b"<x/>" for number in range(2, 1_100)}
    assert read_sheet(book_around(cells(""), **many)) is FieldRule.SHEET_TOO_LARGE
    file = BytesIO(book_around(cells("")))
    with ZipFile(file, "a") as packed, pytest.warns(UserWarning, match="Duplicate name"):
        packed.writestr("xl/workbook.xml", b"<workbook/>")
    assert read_sheet(file.getvalue()) is FieldRule.SHEET


def test_an_encrypted_sheet_is_refused() -> None:
    content = bytearray(book_around(cells("")))
    for mark, flags in (b"PK\x03\x04", 6), (b"PK\x01\x02", 8):
        content[content.find(mark) + flags] |= 1
    assert read_sheet(bytes(content)) is FieldRule.SHEET

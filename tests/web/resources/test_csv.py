"""A CSV file of a spreadsheet program is read as its writer meant it, or refused if that is not certain."""

import pytest

from ostiary_core.model.fields import FieldRule
from ostiary_web.sheets.cells import MOST_COLUMNS, MOST_ROWS, BadCell, Cell, Row
from ostiary_web.sheets.reading import read_sheet

LONG = BadCell(FieldRule.CELL_NUMBER)
FULL = ",".join("x" * MOST_COLUMNS)


@pytest.mark.parametrize(
    "content, rows",
    [
        ("a,b\r\nx;y,z\r\n".encode("utf-8-sig"), {1: ["a", "b"], 2: ["x;y", "z"]}),
        (b"a;b\nx,y;z", {1: ["a", "b"], 2: ["x,y", "z"]}),
        (b"a,b;c;d\nx,y;1;2", {1: ["a,b", "c", "d"], 2: ["x,y", "1", "2"]}),
        (b'a,b\n"x\r\n""y""",z', {1: ["a", "b"], 2: ['x\r\n"y"', "z"]}),
        (b"sep=|\r\na,b|c|d\r\n1|2|3", {2: ["a,b", "c", "d"], 3: ["1", "2", "3"]}),
        (b"sep=;\na,b;c", {2: ["a,b", "c"]}),
        (b"a,b\rx,y\r", {1: ["a", "b"], 2: ["x", "y"]}),
        (b"sep=x\na,b", {2: ["a", "b"]}),
        (b"a\nsep=", {1: ["a"], 2: ["sep="]}),
        (b"sep,a\nx,y", {1: ["sep", "a"], 2: ["x", "y"]}),
        (b"\n \n,\n\na;b,\n\nx;y,", {5: ["a;b", ""], 7: ["x;y", ""]}),
        ("a\nZoë".encode(), {1: ["a"], 2: ["Zoë"]}),
        ("a\tb\nx\t陶喆".encode("utf-16"), {1: ["a", "b"], 2: ["x", "陶喆"]}),
        (b"\xfe\xff" + "a,b\nx,王芳".encode("utf-16-be"), {1: ["a", "b"], 2: ["x", "王芳"]}),
        ("用户名,姓名\nfang,王芳".encode("gb18030"), {1: ["用户名", "姓名"], 2: ["fang", "王芳"]}),
        ("a,b\n王,喆".encode("gb18030"), {1: ["a", "b"], 2: ["王", "喆"]}),
        (b"a,b\nx,y, \nx,y,z", {1: ["a", "b"], 2: ["x", "y", " "], 3: ["x", "y", "z"]}),
        (b"a;\n1.10105E+17\n -1E+300\n2,5E+09", {1: ["a", ""], 2: [LONG], 3: [LONG], 4: [LONG]}),
        (b"a\n1E+9\n3E-17\n2e+09", {1: ["a"], 2: ["1E+9"], 3: ["3E-17"], 4: ["2e+09"]}),
        (f"{FULL}, \n{FULL}".encode(), {1: ["x"] * MOST_COLUMNS, 2: ["x"] * MOST_COLUMNS}),
    ],
)
def test_rows_have_numbers_and_cells_as_a_program_shows(content: bytes, rows: dict[int, list[Cell]]) -> None:
    assert read_sheet(content) == tuple(Row(number, cells) for number, cells in rows.items())


@pytest.mark.parametrize(
    "content, rule",
    [
        (b"", FieldRule.SHEET_EMPTY),
        (b"\n,\n", FieldRule.SHEET_EMPTY),
        (b'a,b\n"a"b,c', FieldRule.CSV),
        ("a,b\nzoe,Zoë Müller".encode("cp1252"), FieldRule.CSV),
        ("a,b\nzoe,Müller".encode("cp1252"), FieldRule.CSV),
        (b"a,b\n\xff,x", FieldRule.CSV),
        (b"a\nx\x00y", FieldRule.SHEET),
        (b"\xff\x00\x01", FieldRule.SHEET),
        ("a\n王芳".encode("utf-16")[:-1], FieldRule.SHEET),
        (f"{FULL},x".encode(), FieldRule.SHEET_TOO_LARGE),
        (f"a\n{FULL},x".encode(), FieldRule.SHEET_TOO_LARGE),
        (b"a\n" * (MOST_ROWS + 2), FieldRule.SHEET_TOO_LARGE),
    ],
)
def test_what_cannot_be_read_for_certain_is_refused(content: bytes, rule: FieldRule) -> None:
    assert read_sheet(content) is rule


def test_as_many_rows_as_an_import_may_have_are_read() -> None:
    assert len(read_sheet(b"a\n" * (MOST_ROWS + 1))) == MOST_ROWS + 1

"""Sheets as people make them and as they open them, without the code under test."""

from collections.abc import Sequence
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import xlsxwriter
from python_calamine import CalamineWorkbook

SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def sheet_of(rows: Sequence[Any]) -> bytes:
    """A sheet with these cells."""
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
    """All cells of a sheet."""
    with CalamineWorkbook.from_filelike(BytesIO(content)) as book:
        return book.get_sheet_by_index(sheet).to_python(skip_empty_area=False)


def zip_of(members: dict[str, bytes]) -> bytes:
    """A ZIP file with anything in it."""
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return file.getvalue()


def book_around(sheet: bytes, **more: bytes) -> bytes:
    """The least that is a sheet, with this in it."""
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
    """The XML of a sheet around its rows."""
    return f'{before}<worksheet xmlns="{MAIN}"><sheetData>{inside}</sheetData></worksheet>'.encode()

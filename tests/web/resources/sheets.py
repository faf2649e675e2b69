"""Sheets as people make them and as they open them, without the code under test."""

from collections.abc import Sequence
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import xlsxwriter
from python_calamine import CalamineWorkbook

__all__ = ["SHEET", "rows_of", "sheet_of", "zip_of"]

SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


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

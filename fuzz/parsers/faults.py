"""Known mistakes of readers, planted in the place of the server's own."""

import base64
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import patch
from urllib.parse import parse_qsl, urlsplit

from python_calamine import CalamineError, CalamineWorkbook
from quart import request

from fuzz.faults.planting import Fault, read_faults
from fuzz.parsers import of_addresses, of_cookies, of_lists, of_requests, of_sheets
from ostiary_core.events import AuthenticationMethod, ClientCredentials, SignedIn
from ostiary_core.model.fields import FieldRule
from ostiary_core.model.secret import Secret
from ostiary_core.model.why import Why
from ostiary_core.texts import CHINESE, ENGLISH
from ostiary_net.lane.scanner import PlainHead
from ostiary_web.api.resources import queries
from ostiary_web.sheets.cells import BadCell, Number
from ostiary_web.sheets.reading import read_sheet


def by_its_beginning(headers: list[tuple[bytes, bytes]]) -> bool:
    return headers[0][1].partition(b";")[0].strip().lower() == of_requests.FORM


def lenient_basic(headers: list[tuple[bytes, bytes]]) -> object:
    try:
        pair = base64.b64decode(headers[0][1][6:]).decode("utf-8")
    except ValueError:
        return Why.CREDENTIALS_MALFORMED
    client_id, _, secret = pair.rpartition(":")
    return ClientCredentials(client_id=client_id, secret=Secret(secret), method=AuthenticationMethod.BASIC)


def latest_of_any_case() -> SignedIn | None:
    fields = ";".join(request.headers.getlist("Cookie"))
    pairs = [part.strip().split("=", 1) for part in fields.split(";") if "=" in part]
    found = [value for name, value in pairs if name.lower().endswith("ostiary_access") and value]
    return SignedIn(access_token=Secret(found[-1])) if found else None


def sheet_of_floats(content: bytes) -> object:
    """Numbers as most libraries give them."""
    return _each_cell(content, Number, lambda cell: Number(f"{float(cell.value):.0f}", cell.shown))


def sheet_without_errors(content: bytes) -> object:
    """Nothing where there is an error, as most libraries have it."""
    return _each_cell(content, BadCell, lambda cell: "")


def _each_cell(content: bytes, kind: type, become: Callable[[Any], object]) -> object:
    read = read_sheet(content)
    if isinstance(read, FieldRule):
        return read
    return tuple(
        SimpleNamespace(
            number=row.number, cells=[become(cell) if isinstance(cell, kind) else cell for cell in row.cells]
        )
        for row in read
    )


def unbounded_sheet(content: bytes) -> object:
    """As many rows as there are, and whatever is none is told apart."""
    try:
        with CalamineWorkbook.from_filelike(BytesIO(content)) as book:
            return tuple(book.get_sheet_by_index(0).to_python())
    except CalamineError:
        return FieldRule.SHEET


def first_page(view: Any, arguments: Any) -> Any:
    return queries.read_query(view, {**arguments, "page": ["1"]})


_INSTEAD: Final = (
    (
        *("form-lenient", "a form is what a library makes of it", of_requests, "read_form"),
        lambda is_form, body: dict(parse_qsl(body.decode("latin-1"))),
    ),
    (
        *("form-type-begins", "a form says so if the type begins so", of_requests, "has_form_content_type"),
        by_its_beginning,
    ),
    (
        *("basic-lenient", "the last colon divides, and any letters are base64", of_requests, "read_basic"),
        lenient_basic,
    ),
    (
        *(
            "language-first",
            "the language that stands first is preferred",
            of_requests,
            "negotiated_language",
        ),
        lambda text: CHINESE if text.startswith("zh") else ENGLISH,
    ),
    (
        *("head-lenient", "any head is plain", of_requests, "read_plain_head"),
        lambda head: PlainHead("GET", "/api/oauth2/userinfo", [], 0),
    ),
    (
        *("cookie-of-any-case", "the last cookie wins whose name ends so", of_cookies, "read_caller_cookie"),
        latest_of_any_case,
    ),
    (
        *("redirect-by-beginning", "an address is judged by its beginning", of_addresses, "is_redirect_uri"),
        lambda text: text.startswith(("https://", "http://localhost", "http://127.0.0.1")),
    ),
    (
        *("return-by-host", "what has no host stays here", of_addresses, "local_path"),
        lambda text: "/" if urlsplit(text).netloc else text,
    ),
    ("page-one", "whatever page is asked for, it is the first", of_lists, "read_query", first_page),
    ("sheet-floats", "digits of a number are lost", of_sheets, "read_sheet", sheet_of_floats),
    ("sheet-errors", "a cell with an error is empty", of_sheets, "read_sheet", sheet_without_errors),
    ("sheet-unbounded", "a sheet is read however long it is", of_sheets, "read_sheet", unbounded_sheet),
)

FAULTS: Final = (
    *(
        Fault(name, sentence, partial(patch.object, module, reader, substitute))
        for name, sentence, module, reader, substitute in _INSTEAD
    ),
    *read_faults(Path(__file__).with_suffix(".txt")),
)

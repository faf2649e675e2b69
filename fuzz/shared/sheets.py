"""Uploads: registrations as a sheet of one row, and pictures."""

import json
import struct
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from random import Random
from typing import Final

from argon2 import PasswordHasher, Type
from xlsxwriter import Workbook

from fuzz.shared.calls import Answer, AnswerKind, Call, Verb
from fuzz.shared.core_events import fields_sent
from fuzz.shared.http_client import Fields, Request, Response, bearer

_PEOPLE: Final = (Verb.REGISTER_USER, Verb.IMPORT_USER)
_ROLES: Final = (Verb.REGISTER_ROLE, Verb.IMPORT_ROLE)
_CLIENTS: Final = (Verb.REGISTER_CLIENT, Verb.IMPORT_CLIENT)
CHEAP: Final = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1, type=Type.ID)
"""Argon2id hasher with the lowest cost."""

SHEETS: Final[Mapping[Verb, str]] = {
    **dict.fromkeys(_PEOPLE, "/api/iam/users/import"),
    **dict.fromkeys(_ROLES, "/api/iam/roles/import"),
    **dict.fromkeys(_CLIENTS, "/api/oauth/clients/import"),
}
"""Routes of the registrations that a sheet can make."""
IMPORTS: Final = (Verb.IMPORT_USER, Verb.IMPORT_ROLE, Verb.IMPORT_CLIENT)
"""Operations that exist only as a sheet, as it may change existing records."""

_XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_BOUNDARY: Final = "a-boundary-between-parts"
_MADE_AT: Final = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)


def _row_of(call: Call) -> dict[str, object]:
    fields, password = fields_sent(call), call.password or ""
    if call.verb is Verb.REGISTER_USER:
        fields["password"] = password
    if call.verb is Verb.IMPORT_USER:
        fields["passwordHash"] = CHEAP.hash(password, salt=sha256(password.encode()).digest()[:16])
    return fields


def import_request(call: Call) -> Request:
    """Return the request that imports a sheet with the registration of `call`."""
    mode = "upsert" if call.replaces else "insert"
    sheet = _sheet_of(_row_of(call))
    return upload_request("POST", SHEETS[call.verb], call.login, sheet, "records.xlsx", _XLSX, mode=mode)


def import_request_with_error(call: Call, random: Random) -> Request:
    """Return the request of `import_request` with one cell that has an error or looks like one."""
    row = _row_of(call)
    error = random.choice((CellError("#DIV/0!"), "#REF!", "#N/A", "Err:502"))
    sheet = _sheet_of({**row, random.choice(("name", "name", *row)): error})
    return upload_request("POST", SHEETS[call.verb], call.login, sheet, "records.xlsx", _XLSX, mode="upsert")


def picture_request(call: Call, picture: bytes) -> Request:
    """Return the request that sets the caller's picture."""
    return upload_request("PUT", "/api/auth/avatar", call.login, picture, "me.png", "image/png")


class CellError(str):
    """The text that a spreadsheet shows for a formula without a value."""


def _sheet_of(row: Mapping[str, object]) -> bytes:
    """Return an .xlsx file with the headings and one row."""
    file = BytesIO()
    with Workbook(file, {"in_memory": True}) as book:
        book.set_properties({"created": _MADE_AT})
        sheet = book.add_worksheet()
        for column, (name, value) in enumerate(row.items()):
            sheet.write_string(0, column, name)
            if isinstance(value, CellError):
                sheet.write_formula(1, column, "=1/0", None, value)
            elif isinstance(value, bool):
                sheet.write_boolean(1, column, value)
            elif isinstance(value, int):
                sheet.write_number(1, column, value)
            elif isinstance(value, tuple | list):
                sheet.write_string(1, column, "\n".join(map(str, value)))
            else:
                sheet.write_string(1, column, str(value))
    return file.getvalue()


def upload_request(
    method: str, target: str, login: str | None, file: bytes, name: str, media_type: str, **values: str
) -> Request:
    """Return a form with one file (RFC 7578), sent with the access token `login`."""
    parts = [
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'.encode()
        for field, value in values.items()
    ]
    head = f'Content-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: {media_type}'
    parts += [f"--{_BOUNDARY}\r\n{head}\r\n\r\n".encode(), file, f"\r\n--{_BOUNDARY}--\r\n".encode()]
    fields: Fields = [("Content-Type", f"multipart/form-data; boundary={_BOUNDARY}")]
    if login is not None:
        fields.append(bearer(login))
    return Request(method, target, fields, b"".join(parts))


def answer_of_import(call: Call, response: Response) -> Answer:
    """Return the answer in the response to an import of one row; a user's identifier is not in it."""
    data = response.data
    rows = tuple(data.get(name) for name in ("created", "updated", "unchanged"))
    if rows == (0, 0, 1) and call.replaces:
        return Answer(AnswerKind.DONE)
    if rows != (1, 0, 0) and not (rows == (0, 1, 0) and call.replaces):
        return Answer(AnswerKind.FAILED, error=json.dumps(data))
    if call.verb in _PEOPLE:
        return Answer(AnswerKind.USER, username=call.username)
    if call.verb in _ROLES:
        return Answer(AnswerKind.ROLE, permissions=tuple(sorted(call.permissions or ())))
    if data["updated"]:
        return Answer(AnswerKind.DONE, client_id=call.client_id)
    secrets = {each["clientId"]: each["secret"] for each in data.get("secrets", ())}
    return Answer(AnswerKind.SECRET, client_id=call.client_id, secret=secrets.get(call.client_id or ""))


def picture_of(random: Random) -> bytes:
    """Return a PNG of a few pixels of one colour."""
    width, height = random.randrange(1, 9), random.randrange(1, 9)
    line = b"\0" + random.randbytes(3) * width

    def chunk(kind: bytes, content: bytes) -> bytes:
        named = kind + content
        return struct.pack(">I", len(content)) + named + struct.pack(">I", zlib.crc32(named))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(line * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")

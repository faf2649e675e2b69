"""What is uploaded: registrations as a sheet of one row, and pictures."""

import json
import struct
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from io import BytesIO
from random import Random
from typing import Final

from xlsxwriter import Workbook

from fuzz.shared.calls import Answer, AnswerKind, Call, Verb
from fuzz.shared.core_events import fields_of_new_client, fields_of_new_role, fields_of_new_user
from fuzz.shared.http_client import Fields, Request, Response, bearer

SHEETS: Final[Mapping[Verb, str]] = {
    Verb.REGISTER_USER: "/api/iam/users/import",
    Verb.REGISTER_ROLE: "/api/iam/roles/import",
    Verb.REGISTER_CLIENT: "/api/oauth/clients/import",
}
"""What can be registered by a sheet, and where it is sent."""

_XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_BOUNDARY: Final = "a-boundary-between-parts"
_MADE_AT: Final = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)


def _row_of(call: Call) -> dict[str, object]:
    match call.verb:
        case Verb.REGISTER_USER:
            return {**fields_of_new_user(call), "password": call.password}
        case Verb.REGISTER_ROLE:
            return fields_of_new_role(call)
        case _:
            return fields_of_new_client(call)


def import_request(call: Call) -> Request:
    """The request that imports the sheet which registers what `call` does."""
    return _upload("POST", SHEETS[call.verb], call, _sheet_of(call), "records.xlsx", _XLSX, mode="insert")


def picture_request(call: Call, picture: bytes) -> Request:
    """The request that makes a picture the caller's own."""
    return _upload("PUT", "/api/auth/avatar", call, picture, "me.png", "image/png")


def _sheet_of(call: Call) -> bytes:
    """An .xlsx file: a row of headings, and the row that registers what `call` does."""
    file = BytesIO()
    with Workbook(file, {"in_memory": True}) as book:
        book.set_properties({"created": _MADE_AT})
        sheet = book.add_worksheet()
        for column, (name, value) in enumerate(_row_of(call).items()):
            sheet.write_string(0, column, name)
            if isinstance(value, bool):
                sheet.write_boolean(1, column, value)
            elif isinstance(value, int):
                sheet.write_number(1, column, value)
            elif isinstance(value, tuple | list):
                sheet.write_string(1, column, "\n".join(map(str, value)))
            else:
                sheet.write_string(1, column, str(value))
    return file.getvalue()


def _upload(
    method: str, target: str, call: Call, file: bytes, name: str, media_type: str, **values: str
) -> Request:
    """A form with one file (RFC 7578), by whoever makes the call."""
    parts = [
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'.encode()
        for field, value in values.items()
    ]
    head = f'Content-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: {media_type}'
    parts += [f"--{_BOUNDARY}\r\n{head}\r\n\r\n".encode(), file, f"\r\n--{_BOUNDARY}--\r\n".encode()]
    fields: Fields = [("Content-Type", f"multipart/form-data; boundary={_BOUNDARY}")]
    if call.login is not None:
        fields.append(bearer(call.login))
    return Request(method, target, fields, b"".join(parts))


def answer_of_import(call: Call, response: Response) -> Answer:
    """What an import of one row says of what it registered: of people it does not say the identifier."""
    data = response.data
    if data.get("created") != 1 or data.get("updated") or data.get("unchanged"):
        return Answer(kind=AnswerKind.FAILED, error=json.dumps(data))
    match call.verb:
        case Verb.REGISTER_USER:
            return Answer(kind=AnswerKind.USER, username=call.username)
        case Verb.REGISTER_ROLE:
            return Answer(kind=AnswerKind.ROLE, permissions=tuple(sorted(call.permissions or ())))
        case _:
            secrets = {each["clientId"]: each["secret"] for each in data.get("secrets", ())}
            return Answer(
                kind=AnswerKind.SECRET, client_id=call.client_id, secret=secrets.get(call.client_id or "")
            )


def picture_of(random: Random) -> bytes:
    """A PNG of a few pixels of one colour."""
    width, height = random.randrange(1, 9), random.randrange(1, 9)
    line = b"\0" + random.randbytes(3) * width

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(line * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")

"""The reader of what an administrator asks of a list."""

import re
from collections import Counter
from datetime import UTC, datetime
from typing import Final
from urllib.parse import parse_qs

from fuzz.parsers.target import Target, agree
from ostiary_core.storage.listing import Listing
from ostiary_web.api.resources.clients import RESOURCE
from ostiary_web.api.resources.queries import read_query

# --- page, pageSize, sort, ranges ("Common conventions", READINGS 35)

_SORTED: Final = {
    "clientId": "client_id",
    "name": "name",
    "createdAt": "created_at",
    "updatedAt": "updated_at",
}
_TIMES: Final = ("createdAtFrom", "createdAtTo", "updatedAtFrom", "updatedAtTo")
_TEXTS: Final = ("clientId", "name", "q")
_BOOLEANS: Final = ("enabled", "builtIn")
_INSTANT: Final = re.compile(r"(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.(\d{3}))?Z)?", re.ASCII)


def judge_query(data: bytes) -> None:
    """Every bad parameter is named, no good one is, and page and sort are what was asked for."""
    try:
        arguments = parse_qs(data.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        return
    read = read_query(RESOURCE.list_view, arguments)
    unclear = {name for name in _TIMES if name in arguments and not _is_clear(arguments[name])}
    bad = {name for name, values in arguments.items() if name not in unclear and _is_bad(name, values)}
    if not isinstance(read, Listing):
        named = {fault.path for fault in read}
        out_of_order = named - bad - unclear
        assert all(name.endswith("From") for name in out_of_order), f"{out_of_order} named in {arguments}"
        assert all(_is_out_of_order(name, arguments) for name in out_of_order - unclear)
        assert bad <= named, f"{bad - named} not named in {arguments}"
        assert named, "refused, and nothing is named"
        return
    assert not bad, f"{bad} taken in {arguments}"
    agree(read.page, int(arguments.get("page", ["1"])[0]), arguments)
    agree(read.page_size, int(arguments.get("pageSize", ["20"])[0]), arguments)
    asked = [part for part in arguments.get("sort", [""])[0].split(",") if part]
    expected = [(_SORTED[part.lstrip("-")], part.startswith("-")) for part in asked]
    agree([(sort.field, sort.descending) for sort in read.sort], expected, arguments)


def _is_bad(name: str, values: list[str]) -> bool:
    value = values[0]
    if len(values) > 1:
        return True
    if name in ("page", "pageSize"):
        most = 200 if name == "pageSize" else 999_999_999
        return not (value.isascii() and value.isdigit() and len(value) <= 9 and 1 <= int(value) <= most)
    if name == "sort":
        parts = [part.removeprefix("-") for part in value.split(",")]
        return value != "" and (max(Counter(parts).values()) > 1 or not set(parts) <= set(_SORTED))
    if name in _BOOLEANS:
        return value not in ("", "true", "false")
    if name in _TEXTS:
        return len(value) > 256 or "\0" in value
    if name in _TIMES:
        return value != "" and _instant(value, name) is None
    return True


def _is_clear(values: list[str]) -> bool:
    """Whether this oracle can tell what such a time means: ISO 8601 has more forms than it knows."""
    value = values[0]
    return len(values) > 1 or _INSTANT.fullmatch(value) is not None or not re.search(r"[0-9]", value)


def _instant(value: str, name: str) -> int | None:
    match = _INSTANT.fullmatch(value)
    if match is None:
        return None
    time = match[2] or ("23:59:59" if name.endswith("To") else "00:00:00")
    try:
        moment = datetime.strptime(f"{match[1]} {time}", "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(moment.timestamp()) * 1_000 + int(
        match[3] or (999 if name.endswith("To") and not match[2] else 0)
    )


def _is_out_of_order(name: str, arguments: dict[str, list[str]]) -> bool:
    until = name.removesuffix("From") + "To"
    if until not in arguments:
        return False
    start, end = _instant(arguments[name][0], name), _instant(arguments[until][0], until)
    return start is None or end is None or start > end


TARGETS: Final = (
    Target(
        "query",
        judge_query,
        (
            *b"page= pageSize= sort= createdAtFrom= createdAtTo= updatedAtTo= q= enabled= builtIn=".split(),
            *b"clientId= name= true false & 1 0 200 201 - , createdAt 2026-02-28 2026-02-30".split(),
            *b"T10:00:00Z T10:00:00.001Z %00 %2B + %D9%A1 -1 1e3 999999999 name other= 0001-01-01".split(),
        ),
    ),
)

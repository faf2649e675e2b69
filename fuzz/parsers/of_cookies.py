"""Reader of a browser's cookies, which finds the login session of a request."""

from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace
from typing import Final, NamedTuple

import trio
from quart_trio import QuartTrio
from werkzeug.datastructures import Headers

from fuzz.parsers.target import Target
from ostiary_web.http.browser import read_caller_cookie, read_refresh_cookie
from ostiary_web.server.settings import Settings

HOSTS_OWN: Final = "__Host-"
"""Prefix of cookie names over https (RFC 6265bis §4.1.3.2)."""
QUOTE: Final = ord('"')


class Read(NamedTuple):
    """The two bearer values in a browser's cookies."""

    access: str | None
    refresh: str | None


# --- the first line is the scheme, each further one a Cookie field


def judge_cookies(data: bytes) -> None:
    """Judge the first cookie of exactly that name, as the browser wrote it (RFC 6265 §5.4).

    Over https only names with the prefix count. Readers differ about quotation marks (browsers ignore them,
    the framework does not), so a field with any is judged less strictly: each value read must be in it.
    """
    first, *lines = data.split(b"\n")
    scheme = "https" if first.strip() == b"https" else "http"
    fields = [line.decode("latin-1") for line in lines]
    if any(character < " " and character != "\t" for field in fields for character in field):
        return  # the front door refuses such a field
    read = _read(scheme, fields)
    for name, value in zip(("ostiary_access", "ostiary_refresh"), read, strict=True):
        name = HOSTS_OWN + name if scheme == "https" else name
        written = [value for found, value in _pairs(fields) if found == name]
        if QUOTE in data:
            stands = value in written or f'"{value}"' in ";".join(fields) or b"\\" in data
            assert value is None or stands, f"{name}: read {value!r}, which stands nowhere in {fields!r}"
        else:
            expected = next(iter(written), "") or None
            assert value == expected, f"{name}: read {value!r}, and the oracle {expected!r}, of {fields!r}"


def _read(scheme: str, fields: list[str]) -> Read:
    app = _application(scheme)

    async def read() -> Read:
        async with app.test_request_context("/", headers=Headers([("Cookie", field) for field in fields])):
            caller, refresh = read_caller_cookie(), read_refresh_cookie()
            access = None if caller is None else caller.access_token
            return Read(*(None if each is None else each.reveal() for each in (access, refresh)))

    return trio.run(read)


@cache
def _application(scheme: str) -> QuartTrio:
    app = QuartTrio("ostiary")
    settings = Settings.from_environment({"PUBLIC_URL": f"{scheme}://id.example"})
    app.extensions["ostiary"] = SimpleNamespace(settings=settings)
    return app


def _pairs(fields: list[str]) -> Iterator[tuple[str, str]]:
    """Yield names and values, read by character; no name, or a space within, makes it no cookie."""
    for field in fields:
        part = ""
        for character in field + ";":
            if character != ";":
                part += character
                continue
            name, _, value = (one.strip(" \t") for one in part.partition("="))
            if name and not {" ", "\t"} & set(name + value):
                yield name, value
            part = ""


TARGETS: Final = (Target("cookies", judge_cookies),)

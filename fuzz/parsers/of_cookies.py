"""The reader of a browser's cookies: whose login session a request belongs to."""

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
"""What the names of cookies begin with where they came over https (RFC 6265bis §4.1.3.2)."""
QUOTE: Final = ord('"')


class Read(NamedTuple):
    """The two bearer values that a browser's cookies hold."""

    access: str | None
    refresh: str | None


# --- the first line is the scheme, each further one a Cookie field


def judge_cookies(data: bytes) -> None:
    """The first cookie of exactly that name, as the browser wrote it (RFC 6265 §5.4); over https only the
    host's own.

    Around quotation marks readers differ (browsers know none, the framework does), so where there are any
    it is held to less: no value but one that stands there.
    """
    first, *lines = data.split(b"\n")
    scheme = "https" if first.strip() == b"https" else "http"
    fields = [line.decode("latin-1") for line in lines]
    if any(character < " " and character != "\t" for field in fields for character in field):
        return  # no such field comes through the front door
    read = _read(scheme, fields)
    names = ("ostiary_access", "ostiary_refresh")
    for name, value in zip(names, read, strict=True):
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
        headers = Headers([("Cookie", field) for field in fields])
        async with app.test_request_context("/", headers=headers):
            caller, refresh = read_caller_cookie(), read_refresh_cookie()
            return Read(
                None if caller is None else caller.access_token.reveal(),
                None if refresh is None else refresh.reveal(),
            )

    return trio.run(read)


@cache
def _application(scheme: str) -> QuartTrio:
    app = QuartTrio("ostiary")
    settings = Settings.from_environment({"PUBLIC_URL": f"{scheme}://id.example"})
    app.extensions["ostiary"] = SimpleNamespace(settings=settings)
    return app


def _pairs(fields: list[str]) -> Iterator[tuple[str, str]]:
    """Names and values, a character at a time; what has no name, or a space within, is no cookie."""
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

"""Transcripts: requests in turn, each with what its caller was shown, to be compared with what is shown now.

A line `> …` asks, the indented lines after it are the answer, and all others are comments:

    > program NAME [PASSWORD]          a new program, signed in if there is a password
    > browser NAME [PASSWORD] [HEADER=VALUE …]
    > as NAME                          the caller of the next requests
    > GET /path
    > POST /path {"its": "JSON"}       or [{"a field": "of a form"}, ["a row"], ["of its sheet"]]
    > submit /path ACTION FIELD=VALUE  the form to ACTION of the page at a path; -FIELD leaves one out, and
                                       formaction=ADDRESS is that of a button
    > send ACTION FIELD=VALUE          that of the page shown last; \\n is the end of a line
    > follow                           the redirect shown last
    > service token CLIENT FIELD=VALUE by a client that `secret` names
    > raw METHOD /path TYPE BODY       any body of this media type, with escapes as in a string
    > headers NAME=VALUE …             of the caller from now on; an empty value takes one away
    > answered NAME …                  these header fields of the last answer, or all
    > with NAME=VALUE                  a setting of the server
    > summarise                        what happened, as the server does every minute
    > keep NAME PATTERN                for {NAME} in later lines: what a pattern finds in the last answer
    > lines PATTERN /path              the lines of a page, or of JSON, in which a pattern is found
    > find PATTERN                     all that a pattern finds in the page shown last, as it was sent
    > messages                         every text message that was sent
    > one-time-password KEY            what an authenticator with this key shows
    > metrics PATTERN                  lines that a pattern finds in what Prometheus reads
    > wait SECONDS
    > milestone NAME                   that the store records, now
    > state NAME=NUMBER …              what the store says of itself from now on
    > machine NAME                     that of the next commands, with its own database; `.` is the server's
    > file NAME TEXT                   beside the machines; a sheet (.xlsx) by its rows, as JSON
    > command [NAME=SETTING …] WORD … [< TYPED]      with << in place of < as if a person typed it
    > user NAME {"its": "fields"}      made without a page; its password is its name and " password"
    > client NAME {"its": "fields"}    the same; `service` knows its secret

Identifiers and bearer values are numbered by their first appearance (`ID1`, `TOKEN1`), and may be asked with.
Commands are those of the operator `ops`, at the server's time. `FOLDER` is the folder of the machines and
files; what is typed or in a file may have escapes, as `\\n`. An empty line that a command prints is a dot.
"""

import json
import re
import shlex
import sysconfig
from base64 import b32decode
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch
from urllib.parse import urljoin, urlsplit

import httpx
import trio

from ostiary_core.model.one_time_password import one_time_password, step_at
from ostiary_net.observability.metrics import RUNNING_VERSION
from ostiary_net.observability.summaries import Milestone
from ostiary_net.runtime.passwords import Passwords
from ostiary_net.runtime.system import SystemClock, SystemEntropy
from ostiary_web.cli import context
from tests.support.callers import Api, Browser, Registered, forms_in
from tests.support.files import SHEET, rows_of, sheet_of
from tests.support.outlines import Outline, describe_cookie, fold_json
from tests.support.people import outbox
from tests.support.processes import Machine, Ran
from tests.support.served import Served
from tests.support.stores import CHEAP

_NUMBERED: Final = re.compile(
    r"(?<![\w-])(?:(?P<ID>[0-9a-f]{32})|(?P<TOKEN>(?:ostiary_pat_)?[\w-]{43}))(?![\w-])"
)
_SETTING: Final = re.compile("[A-Z_]+=")
_HEADERS: Final = (
    *("location", "retry-after", "www-authenticate", "content-disposition", "etag", "clear-site-data"),
)


class _Terminal(BytesIO):
    """Input that a person types."""

    def isatty(self) -> bool:
        return True


def _unescape(text: str) -> bytes:
    return (
        text.encode("ascii", "backslashreplace").decode("unicode_escape").encode("utf-8", "surrogateescape")
    )


class Player:
    """Asks what a transcript asks, and says what was shown."""

    def __init__(self, served: Served, folder: Path) -> None:
        self._served, self._folder = served, folder
        self._use_machine("machine")
        self._callers: dict[str, Api | Browser] = {}
        self._caller: Api | Browser
        self._shown: httpx.Response
        self._text = ""
        self._numbers: dict[str, str] = {}
        self._kept: dict[str, str] = {}
        self._heads: set[str] = set()

    async def play(self, asked: str) -> str:
        """Return the lines that answer a line."""
        for value, number in reversed(self._numbers.items()):
            asked = re.sub(rf"\b{number}\b", value, asked)
        for name, value in self._kept.items():
            asked = asked.replace(f"{{{name}}}", value)
        asked = asked.replace("FOLDER", str(self._folder))
        verb, _, rest = asked.partition(" ")
        if verb in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            path, _, body = rest.partition(" ")
            return self._say(await self._request(verb, path, json.loads(body) if body else None))
        if verb in ("user", "client"):
            name, _, given = rest.partition(" ")
            await self._make(verb, name, json.loads(given or "{}"))
            return ""
        match [verb, *shlex.split(rest)]:
            case ["program" | "browser", name, *words]:
                headers = {"User-Agent": f"{verb}/1.0"}
                headers |= dict(word.split("=", 1) for word in words if "=" in word)
                self._caller = getattr(self._served, "api" if verb == "program" else verb)(**headers)
                self._callers[name] = self._caller
                if passwords := [word for word in words if "=" not in word]:
                    await self._caller.sign_in(name, *passwords)
            case ["as", name]:
                self._caller = self._callers[name]
            case ["wait", seconds]:
                self._served.clock.wait(float(seconds))
            case ["keep", name, pattern]:
                [self._kept[name]] = set(re.findall(pattern, self._text))
            case ["submit", path, action, *fields]:
                self._shown = await self._caller.get(path)
                return self._say(await self._submit(action, fields))
            case ["send", action, *fields]:
                return self._say(await self._submit(action, fields))
            case ["raw", method, path, media_type, text]:
                sent = text.encode().decode("unicode_escape").encode("latin-1")
                kind = {"Content-Type": media_type} if media_type else {}
                return self._say(await self._call(method, path, content=sent, headers=kind))
            case ["headers", *pairs]:
                for name, value in (pair.split("=", 1) for pair in pairs):
                    self._caller.headers.pop(name, None)
                    self._caller.headers.update({name: value} if value else {})
            case ["answered", *names]:
                found = self._shown.headers.multi_items()
                return self._show(f"{name}: {value}" for name, value in found if not names or name in names)
            case ["summarise"]:
                await self._served.summarise()
            case ["with", *_]:
                pass  # read before the server started
            case ["follow"]:
                return self._say(await self._browser.follow(self._shown))
            case ["service", operation, client, *fields]:
                form = dict(field.split("=", 1) for field in fields)
                registered = Registered(client, self._kept[f"{client} secret"])
                program = self._served.api(**{"User-Agent": f"{client}/1.0"})
                return self._say(await program.service(operation, registered, **form))
            case ["lines", pattern, path]:
                said = self._say(await self._request("GET", path, None))
                return "\n".join(line for line in said.splitlines() if re.search(pattern, line))
            case ["find", pattern]:
                return self._number("\n".join(re.findall(pattern, self._shown.text)))
            case ["milestone", name]:
                self._served.store.record_milestone(Milestone(name), self._served.clock.now())
            case ["state", *pairs]:
                numbers = {name: int(number) for name, number in (pair.split("=") for pair in pairs)}
                state = self._served.store.state
                self._served.store.state = lambda: state()._replace(**numbers)
            case ["messages"]:
                return self._show(f"{each['phone']}: {each['text']}" for each in outbox(self._served))
            case ["one-time-password", key]:
                return self._show([one_time_password(b32decode(key), step_at(self._served.clock.now()))])
            case ["machine", name]:
                self._use_machine(name)
            case ["file", name, text]:
                is_sheet = name.endswith(".xlsx")
                content = sheet_of(json.loads(text)) if is_sheet else _unescape(text)
                (self._folder / name).write_bytes(content)
            case ["metrics", pattern]:
                lines = self._served.service.metrics.write_exposition().splitlines()
                return self._show(line for line in lines if re.search(pattern, line))
            case ["command", *words]:
                ran = await trio.to_thread.run_sync(self._run, words)
                said = f"exit {ran.exit_code}\n{ran.out}{ran.err}".rstrip("\n").replace("\n\n", "\n.\n")
                return self._show([said.replace(str(self._folder), "FOLDER")])
            case _:
                raise ValueError(f"a transcript cannot ask this: {asked}")
        return ""

    async def _make(self, kind: str, name: str, fields: dict[str, Any]) -> None:
        if kind == "client":
            self._kept[f"{name} secret"] = (await self._served.client(name, **fields)).secret
        else:
            await self._served.user(name, f"{name} password", **{"name": name.capitalize(), **fields})

    @property
    def _browser(self) -> Browser:
        assert isinstance(self._caller, Browser)
        return self._caller

    def _use_machine(self, name: str) -> None:
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        self._machine = Machine(folder)

    def _run(self, words: list[str]) -> Ran:
        """Run a command with the server's time, entropy and quick hashes, on an optimised interpreter."""
        *words, how, typed = words if {"<", "<<"} & {*words[-2:-1]} else [*words, "<", ""]
        stdin = _Terminal(_unescape(typed)) if how == "<<" else _unescape(typed)
        settings = dict(word.split("=", 1) for word in words if _SETTING.match(word))
        words = [word for word in words if not _SETTING.match(word)]
        now = SystemClock.now
        with (
            ExitStack() as stack,
            patch.object(SystemClock, "now", lambda clock: now(self._served.clock)),
            patch.object(SystemEntropy, "draw", lambda source: self._served.entropy_source.draw()),
            patch.object(context, "Passwords", partial(Passwords, CHEAP)),
            patch.object(sysconfig, "get_config_var", {"CONFIG_ARGS": "--enable-optimizations"}.get),
        ):
            stack.callback(object.__setattr__, context.OPERATOR, "name", context.OPERATOR.name)
            object.__setattr__(context.OPERATOR, "name", "ops")  # in place of the user that runs the tests
            return self._machine.run(*words, stdin=stdin, env=settings)

    async def _request(self, method: str, path: str, body: Any) -> httpx.Response:
        if isinstance(body, list):
            rows = [each for each in body if isinstance(each, list)]
            [form] = [each for each in body if isinstance(each, dict)] or [{}]
            files = {"file": ("rows.xlsx", sheet_of(rows), SHEET)}
            return await self._call(method, path, files=files, data={"mode": "upsert", **form})
        return await self._call(method, path, json=body)

    async def _call(self, method: str, path: str, **sent: Any) -> httpx.Response:
        call = self._caller.call if isinstance(self._caller, Api) else self._caller.request
        return await call(method, path, **sent)

    async def _submit(self, action: str, fields: list[str]) -> httpx.Response:
        [form, *_] = (each for each in forms_in(self._shown) if urlsplit(each.action).path == action)
        content: dict[str, Any] = dict(form.fields)
        files, said = {}, set[str]()
        for name, is_given, value in (field.partition("=") for field in fields):
            name, _, file = name.removeprefix("-").partition("@")
            if file:
                files[name] = (file, _unescape(value))
            elif not is_given:
                del content[name]
            else:
                lines = value.replace(r"\n", "\n")
                content[name] = [*content[name], lines] if name in said else [lines]
                said.add(name)
        address = urljoin(str(self._shown.url), content.pop("formaction", [form.action])[0])
        headers = {"Origin": "null", "Sec-Fetch-Site": "same-origin"}
        return await self._caller.post(address, data=content, files=files or None, headers=headers)

    def _say(self, answer: httpx.Response) -> str:
        """Return the lines that say what an answer shows."""
        self._shown = answer
        lines = [str(answer.status_code)]
        lines += [f"{name}: {answer.headers[name]}" for name in _HEADERS if name in answer.headers]
        lines += map(describe_cookie, answer.headers.get_list("set-cookie"))
        match answer.headers.get("content-type", "").partition(";")[0]:
            case "text/html":
                lines += self._outline(answer.text)
            case "application/json":
                lines += fold_json(answer.json())
            case "text/plain" | "text/csv":
                lines += answer.text.splitlines()
            case kind if kind == SHEET and answer.content:
                lines += map(repr, rows_of(answer.content))
            case other:
                lines += [f"{len(answer.content)} bytes of {other}"] if answer.content else []
        return self._show(lines)

    def _show(self, lines: Iterable[str]) -> str:
        """Return lines with numbers in the place of identifiers; `keep` looks at them as they are."""
        self._text = "\n".join(lines)
        return self._number(self._text)

    def _outline(self, page: str) -> Iterator[str]:
        """Yield the lines of a page; of a head that was shown before, one."""
        for part in re.split("(?<=</header>)|(?=<footer)", page):
            text = "\n".join(Outline(part).lines)
            yield "(the same head)" if "</header>" in part and text in self._heads else text
            self._heads.add(text)

    def _number(self, text: str) -> str:
        """Put numbers in the place of identifiers and bearer values."""

        def put(found: re.Match[str]) -> str:
            kind = str(found.lastgroup)
            count = sum(each.startswith(kind) for each in self._numbers.values())
            return self._numbers.setdefault(found[0], f"{kind}{count + 1}")

        varied = (
            *((r"(/static/[\w-]+)\.[0-9a-f]+\.", r"\1."), ('("version": )"[^"]*"', r"\1…")),
            *((f"(?m)^{re.escape(RUNNING_VERSION)}$", "…"), ("(name=kept value=)[^>]+", r"\1…")),
            (r"(python-httpx.)[\d.]*\d", r"\1…"),
        )
        for pattern, plain in varied:
            text = re.sub(pattern, plain, text)
        return _NUMBERED.sub(put, text.replace(str(self._folder), "FOLDER"))


async def play(transcript: str, player: Player, *, is_writing: bool = False) -> str:
    """Return a transcript as it is now, up to the first answer that differs unless it is written anew."""
    kept = transcript.splitlines()
    lines = list[str]()
    for line in kept:
        if not line.startswith("    "):
            lines.append(line)
        if line.startswith("> "):
            answer = await player.play(line.removeprefix("> "))
            lines += [f"    {each}".rstrip() for each in answer.splitlines() if each.strip()]
            if not is_writing and lines != kept[: len(lines)]:
                break
    return "\n".join(lines) + "\n"

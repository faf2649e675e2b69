"""Outlines of answers: a page by its texts, links and fields, JSON in few lines, cookies without values."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any, Final

_WIDTH: Final = 190
_UNSEEN: Final = ("head", "script", "style", "svg", "template")
_INLINE: Final = ("a", "b", "i", "code", "span", "time", "strong", "em", "small", "kbd", "bdi", "wbr", "u")
_LOOKS: Final = ("class", "id", "for", "rel", "tabindex", "style", "aria-describedby", "spellcheck", "method")
"""Attributes that are left out."""


class Outline(HTMLParser):
    """The texts of a page, and its links, fields and buttons with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._unseen = 0
        self._group: str | None = None
        self._is_in_group = self._is_aside = False
        """Time zones are in groups; they are shown only if chosen, as there are hundreds."""
        self._parts: list[str] = []
        self.feed(page)
        self.lines = [line for part in "".join(self._parts).split("\n") if (line := " ".join(part.split()))]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unseen += tag in _UNSEEN
        if tag == "optgroup":
            self._is_in_group, self._group = True, dict(attrs).get("label")
        self._is_aside = self._is_in_group and not attrs
        shown = [f"{name}={value}" if value else name for name, value in attrs if name not in _LOOKS]
        if self._unseen or tag == "optgroup" or "name=form_token" in shown:
            return
        self._parts.append("" if tag in _INLINE else "\n")
        self._parts.append(f"{self._group}: " if self._is_in_group and not self._is_aside else "")
        if shown or tag in ("th", "h1", "h2", "h3"):
            self._parts.append(f"<{' '.join([tag, *shown])}> ")

    def handle_endtag(self, tag: str) -> None:
        self._unseen -= tag in _UNSEEN
        self._is_in_group &= tag != "optgroup"
        self._is_aside = False
        self._parts.append("" if tag in _INLINE or self._unseen else "\n")

    def handle_data(self, data: str) -> None:
        if not self._unseen and not self._is_aside:
            self._parts.append(re.sub(r"\s+", " ", data))


def fold_json(value: Any, name: str = "", indent: str = "") -> Iterator[str]:
    """Yield the lines of a value as JSON: each part on one line if it has room there."""
    whole = f"{indent}{name}{json.dumps(value, ensure_ascii=False)}"
    if len(whole) <= _WIDTH or not isinstance(value, dict | list):
        yield whole
        return
    parts = value.items() if isinstance(value, dict) else (("", each) for each in value)
    yield f"{indent}{name}{'{' if isinstance(value, dict) else '['}"
    for key, part in parts:
        yield from fold_json(part, f'"{key}": ' if isinstance(value, dict) else "", f"{indent} ")
    yield f"{indent}{'}' if isinstance(value, dict) else ']'}"


def describe_cookie(cookie: str) -> str:
    """Say of a cookie whether it has a value; its age says when it expires."""
    found = re.fullmatch("([^=]*)=([^;]*);(?: Expires=[^;]*;)?(.*)", cookie)
    assert found is not None
    return f"cookie: {found[1]}={'…' if found[2] else ''};{found[3]}"

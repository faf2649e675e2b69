"""Fill in a form of a page with what was typed into it before.

It is done with the page as it was made, so it holds for every form, and no template needs to know of it.
Hidden fields, passwords and files are left as they are.
"""

import re
from collections.abc import Mapping, Sequence
from html import escape, unescape
from html.parser import HTMLParser
from typing import Final

_LEFT_ALONE: Final = frozenset({"hidden", "password", "file", "submit", "button"})
_BOXES: Final = frozenset({"checkbox", "radio"})
_ATTRIBUTE: Final = r"""\s{name}(="[^"]*")?(?=[\s/>])"""

Typed = Mapping[str, Sequence[str]]


def fill_form(page: str, typed: Typed, notice: str) -> str:
    """Return a page with one form filled in, that goes to `typed["form_action"]`, and a notice above it.

    >>> typed = {"form_action": ["/here"], "name": ["<b>"]}
    >>> fill_form('<form action="/here"><input name="name" value="a"></form>', typed, "Filled.").splitlines()[
    ...     1
    ... ]
    '<form action="/here"><input name="name" value="&lt;b&gt;"></form>'
    >>> fill_form('<svg><path d="M1"/></svg>', typed, "Filled.")
    '<svg><path d="M1"/></svg>'
    """
    filler = _Filler(typed, notice)
    filler.feed(page)
    filler.close()
    return "".join(filler.parts)


class _Filler(HTMLParser):
    def __init__(self, typed: Typed, notice: str) -> None:
        super().__init__(convert_charrefs=False)
        self.parts: list[str] = []
        self._typed = {name: list(values) for name, values in typed.items()}
        [self._action] = self._typed.pop("form_action")
        self._notice = notice
        self._is_inside = False
        self._chosen: Sequence[str] | None = None
        self._option: int | None = None
        """Place in `parts` of the start of an option whose value is its text."""
        self._is_replaced = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        text = self.get_starttag_text() or ""
        if tag == "form" and given.get("action") == self._action:
            self._is_inside = True
            self.parts.append(f'<div class="notice good" role="status"><p>{escape(self._notice)}</p></div>\n')
        elif self._is_inside:
            text = self._fill(tag, given, text)
        self.parts.append(text)

    def _fill(self, tag: str, given: Mapping[str, str], text: str) -> str:
        name, kind = given.get("name", ""), given.get("type", "text")
        values = self._typed.get(name, [])
        if tag == "option" and self._chosen is not None:
            if "value" not in given:
                self._option = len(self.parts)
                return text
            return _set(text, "selected", given["value"] in self._chosen)
        if tag == "select":
            self._chosen = values or None
        elif tag == "textarea" and values:
            self._is_replaced = True
            return f"{text}\n{escape(values.pop(0))}"
        elif tag == "input" and kind in _BOXES:
            return _set(text, "checked", given.get("value", "on") in values)
        elif tag == "input" and kind not in _LEFT_ALONE and values:
            return _set(text, f'value="{escape(values.pop(0))}"', True)
        return text

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._is_inside = False
        elif tag == "option":
            self._choose_by_text()
        elif tag == "select":
            self._chosen = None
        elif tag == "textarea":
            self._is_replaced = False
        self.parts.append(f"</{tag}>")

    def _choose_by_text(self) -> None:
        if self._option is not None and self._chosen is not None:
            start, *rest = self.parts[self._option :]
            is_chosen = unescape("".join(rest)).strip() in self._chosen
            self.parts[self._option] = _set(start, "selected", is_chosen)
        self._option = None

    def _keep(self, text: str) -> None:
        if not self._is_replaced:
            self.parts.append(text)

    def handle_data(self, data: str) -> None:
        self._keep(data)

    def handle_entityref(self, name: str) -> None:
        self._keep(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._keep(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self.parts.append(f"<!{decl}>")


def _set(tag: str, attribute: str, is_set: bool) -> str:
    """Return a start tag with an attribute of ours, or without it, in place of the one it has."""
    bare = re.sub(_ATTRIBUTE.format(name=attribute.partition("=")[0]), "", tag)
    return f"{bare.removesuffix('>')} {attribute}>" if is_set else bare

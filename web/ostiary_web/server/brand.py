"""Brand the pages: name, logo, colour, and links to privacy and help.

Names and addresses are text, and logo and colour are files of their own: no setting brings markup, a style or
a script into a page.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Final
from urllib.parse import urlsplit

from ostiary_net.front_door.heads import is_host
from ostiary_web.server.brand_color import BrandColor
from ostiary_web.server.brand_logo import read_logo

NAMES_ALLOWED: Final = "1 to 40 printable characters"
LINKS_ALLOWED: Final = "privacy and help with an https address each, as privacy=https://example.com/privacy"
_LONGEST_NAME: Final = 40
_LONGEST_LINK: Final = 2_000


BRAND_PREFIX: Final = "/brand/"


@dataclass(frozen=True)
class BrandFile:
    """A file of the brand, named after its content."""

    name: str
    content: bytes
    media_type: str

    @property
    def address(self) -> str:
        """Path on the server."""
        return BRAND_PREFIX + self.name

    @cached_property
    def is_for_dark_pages(self) -> bool:
        """Whether it says itself how it looks there; other logos get a light ground."""
        return b"prefers-color-scheme" in self.content


@dataclass(frozen=True, kw_only=True)
class Brand:
    """What pages say of the operator."""

    name: str
    privacy: str | None
    help: str | None
    logo: BrandFile | None
    color: BrandColor | None

    @cached_property
    def style(self) -> BrandFile | None:
        """The stylesheet of its colour."""
        return (
            None if self.color is None else _file("color", self.color.stylesheet.encode(), "css", "text/css")
        )

    @cached_property
    def files(self) -> Mapping[str, BrandFile]:
        """Files given to browsers, by name."""
        return {file.name: file for file in (self.logo, self.style) if file is not None}


def load_logo(path: str) -> BrandFile:
    """Return the logo in a file; raise `ValueError` with its fault."""
    return _file("logo", *read_logo(path))


def _file(kind: str, content: bytes, ending: str, media_type: str) -> BrandFile:
    return BrandFile(f"{kind}-{sha256(content).hexdigest()[:16]}.{ending}", content, media_type)


def read_name(text: str) -> str:
    """Return a name that can be read aloud; raise `ValueError` with its fault."""
    if not text.isprintable() or not 1 <= len(text) <= _LONGEST_NAME:
        raise ValueError("is too long or cannot be printed")
    return text


def read_links(text: str) -> dict[str, str]:
    """Return addresses by what they are for, from `privacy=https://…,help=https://…`.

    Raises `ValueError` with a fault.

    >>> read_links("help=https://example.com/help")
    {'help': 'https://example.com/help'}
    """
    links: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        kind, _, address = part.partition("=")
        if kind not in ("privacy", "help") or kind in links:
            raise ValueError(f"{kind[:40]!r} is not known, or is given twice")
        if not _is_link(address):
            raise ValueError(f"the address of {kind} is not one that a page may lead to")
        links[kind] = address
    return links


def _is_link(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    is_text = address.isascii() and address.isprintable() and " " not in address
    is_https = parts.scheme == "https" and is_host(parts.netloc.encode())
    return is_https and is_text and len(address) <= _LONGEST_LINK

"""Brand the pages: name, logo, colour, and links to privacy and help.

Names and addresses are text, and logo and colour are files of their own: no setting brings markup, a style or
a script into a page.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from xml.parsers import expat

from ostiary_net.front_door.heads import is_host
from ostiary_web.pictures.formats import MEDIA_TYPES, picture_in
from ostiary_web.pictures.metadata import strip_metadata
from ostiary_web.server.brand_color import BrandColor
from ostiary_web.server.secret_files import read_whole_file

NAMES_ALLOWED: Final = "1 to 40 printable characters"
LINKS_ALLOWED: Final = "privacy and help with an https address each, as privacy=https://example.com/privacy"
_LONGEST_NAME: Final = 40
_LONGEST_LINK: Final = 2_000
_LONGEST_LOGO: Final = 256 * 1024
LOGOS_ALLOWED: Final = (
    "the path of a PNG, JPEG, WebP or SVG picture of at most 256 KiB and 4096 pixels a side"
)
_SVG: Final = "http://www.w3.org/2000/svg svg"


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


def read_logo(path: str) -> tuple[bytes, str, str]:
    """Return the picture without metadata, its file ending and media type; raise `ValueError` with its fault.

    An SVG is kept as it is: pages show it as a picture and it is served in a sandbox, so nothing in it runs.
    """
    content = read_whole_file(Path(path), _LONGEST_LOGO)
    picture = picture_in(content)
    stripped = None if picture is None else strip_metadata(content, picture.type)
    if picture is not None and stripped is not None:
        return stripped, picture.type.value, MEDIA_TYPES[picture.type]
    if picture is None and _is_svg(path, content):
        return content, "svg", "image/svg+xml"
    raise ValueError(f"{path!r} is not such a picture, or is a broken one")


def _is_svg(path: str, content: bytes) -> bool:
    """Whether it is a well-formed drawing without entities, which could unfold without end."""
    elements: list[str] = []

    def refuse(*declared: object) -> None:
        raise ValueError(f"{path!r} declares entities, which a logo does not need")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = lambda name, attributes: elements.append(name)
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, LookupError):  # or an encoding that nobody knows
        return False
    return elements[0] == _SVG

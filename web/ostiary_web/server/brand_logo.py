"""Read the operator's logo from a file, once at the start."""

from pathlib import Path
from typing import Final
from xml.parsers import expat

from ostiary_web.pictures.formats import MEDIA_TYPES, picture_in
from ostiary_web.pictures.metadata import strip_metadata
from ostiary_web.server.secret_files import read_whole_file

_LONGEST_LOGO: Final = 256 * 1024
LOGOS_ALLOWED: Final = (
    "the path of a PNG, JPEG, WebP or SVG picture of at most 256 KiB and 4096 pixels a side"
)
_SVG: Final = "http://www.w3.org/2000/svg svg"


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

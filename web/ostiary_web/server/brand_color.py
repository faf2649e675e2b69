"""A colour of the operator's: whether it can be read where pages draw it, and the stylesheet that draws it.

Pages draw it as the colour of links, and of buttons with text on them. No colour can be read on a light and
on a dark ground, so there are two: the one for dark pages is given too, or is the nearest that can be read.
What is enough is 4.5:1 (WCAG 2.2, 1.4.3).
"""

import math
import re
from dataclasses import dataclass
from typing import Final

COLORS_ALLOWED: Final = (
    "one colour, as #0a5bd3, or two, for light and for dark pages, as #0a5bd3,#6ea8ff, each with a contrast "
    "of 4.5:1"
)
_ENOUGH: Final = 4.5
_TINT: Final = 0.12
"""How much of the colour is in the ground of what is marked."""
_HOVER: Final = 0.22
"""How far the colour goes to black, or to white, under a pointer."""

_RGB = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scheme:
    """What a colour is drawn on, and the text that is drawn on it, as in `static/ostiary.css`."""

    name: str
    ground: str
    sheet: str
    text: str
    end: str
    """Black or white: where colours go to be read better."""


LIGHT: Final = Scheme("light", "#f5f3ee", "#fffefc", "#ffffff", "#000000")
DARK: Final = Scheme("dark", "#131719", "#1b2123", "#0e1d1c", "#ffffff")


@dataclass(frozen=True, slots=True)
class BrandColor:
    """The colour on light pages and on dark ones."""

    light: str
    dark: str

    @property
    def stylesheet(self) -> str:
        """The rules that put it in the place of the usual one."""
        dark = _rules(self.dark, DARK)
        return f"{_rules(self.light, LIGHT)}@media (prefers-color-scheme: dark) {{ {dark.rstrip()} }}\n"


def read_colors(text: str) -> BrandColor:
    """The colours of `#0a5bd3` or `#0a5bd3,#6ea8ff`; raises `ValueError` with what is wrong with them.

    >>> read_colors("#0a5bd3")
    BrandColor(light='#0a5bd3', dark='#6196e3')
    """
    given = [part.strip().lower() for part in text.split(",")]
    if len(given) > 2 or not all(re.fullmatch("#[0-9a-f]{6}", each, re.ASCII) for each in given):
        raise ValueError(f"{text[:40]!r} is no colour")
    for color, scheme in zip(given, (LIGHT, DARK), strict=False):
        if contrast_in(color, scheme) < _ENOUGH:
            better = nearest(color, scheme)
            raise ValueError(
                f"{color} has a contrast of {shown_ratio(color, scheme)}:1 on {scheme.name} pages; "
                f"{better} is the nearest with enough, {shown_ratio(better, scheme)}:1"
            )
    return BrandColor(given[0], given[1] if len(given) == 2 else nearest(given[0], DARK))


def contrast_in(color: str, scheme: Scheme) -> float:
    """The least contrast of a colour with what it is drawn on and with what is drawn on it."""
    return min(
        *(_contrast(color, ground) for ground in (scheme.ground, scheme.sheet, _tint(color, scheme))),
        *(_contrast(scheme.text, ground) for ground in (color, _hover(color, scheme))),
    )


def shown_ratio(color: str, scheme: Scheme) -> str:
    """That contrast as people read it; what is not enough never looks as if it were."""
    return f"{math.floor(contrast_in(color, scheme) * 100) / 100:.2f}"


def nearest(color: str, scheme: Scheme) -> str:
    """The colour itself where it can be read, else the first one on the way to black, or to white."""
    shades = (_mix(scheme.end, color, step / 255) for step in range(256))
    return next(shade for shade in shades if contrast_in(shade, scheme) >= _ENOUGH)


def _rules(color: str, scheme: Scheme) -> str:
    hover, tint = _hover(color, scheme), _tint(color, scheme)
    return f":root {{ --door: {color}; --door-deep: {hover}; --door-ground: {tint}; }}\n"


def _hover(color: str, scheme: Scheme) -> str:
    return _mix(scheme.end, color, _HOVER)


def _tint(color: str, scheme: Scheme) -> str:
    return _mix(color, scheme.sheet, _TINT)


def _mix(color: str, other: str, share: float) -> str:
    """So much of `color`, and the rest of `other`."""
    pairs = zip(_rgb(color), _rgb(other), strict=True)
    return "#" + "".join(f"{round(one * share + two * (1 - share)):02x}" for one, two in pairs)


def _rgb(color: str) -> _RGB:
    return tuple(bytes.fromhex(color[1:]))


def _contrast(one: str, other: str) -> float:
    """WCAG 2.2, "contrast ratio".

    >>> _contrast("#000000", "#ffffff")
    21.0
    """
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: str) -> float:
    """WCAG 2.2, "relative luminance"."""
    parts = [value / 255 for value in _rgb(color)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue

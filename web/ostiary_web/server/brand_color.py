"""Read the operator's colour, and make the stylesheet that draws it.

Pages draw it as the colour of links, and of buttons with text on them. No colour can be read both on a light
and on a dark ground, so dark pages have one of their own: the second that is given, or the first with white.
"""

import math
import re
from dataclasses import dataclass
from typing import Final

COLORS_ALLOWED: Final = (
    "one colour, as #0a5bd3, or two, for light and for dark pages, as #0a5bd3,#6ea8ff, each with a contrast "
    "of 4.5:1"
)
_LEAST_CONTRAST: Final = 4.5
"""Least contrast of text (WCAG 2.2, 1.4.3)."""
_SHEETS: Final = {"light": "#fffefc", "dark": "#1b2123"}
"""Grounds of cards as in `static/ostiary.css`."""
_TINT: Final = 0.12
"""Share of the colour in the ground of a marked item."""


@dataclass(frozen=True, slots=True)
class BrandColor:
    """The colour on light pages and on dark ones, as CSS has them."""

    light: str
    dark: str

    @property
    def stylesheet(self) -> str:
        """The rules that replace the usual colour."""
        dark = _rule(self.dark, "white")
        return f"{_rule(self.light, 'black')}@media (prefers-color-scheme: dark) {{ {dark.rstrip()} }}\n"


def read_colors(text: str) -> BrandColor:
    """Return the colours of `#0a5bd3` or `#0a5bd3,#6ea8ff`; raise `ValueError` with what is wrong with them.

    >>> read_colors("#0a5bd3,#6EA8FF")
    BrandColor(light='#0a5bd3', dark='#6ea8ff')
    """
    colors = [part.strip().lower() for part in text.split(",")]
    if len(colors) > 2 or not all(re.fullmatch("#[0-9a-f]{6}", each, re.ASCII) for each in colors):
        raise ValueError(f"{text[:40]!r} is not a colour")
    for color, pages in zip(colors, _SHEETS, strict=False):
        if (ratio := least_contrast(color, pages)) < _LEAST_CONTRAST:
            # Rounded down: what is too little never looks as if it were enough.
            raise ValueError(f"{color} has a contrast of {math.floor(ratio * 100) / 100}:1 on {pages} pages")
    # With so much white even black has enough contrast on dark pages.
    return BrandColor(colors[0], (*colors, f"color-mix(in srgb, {colors[0]} 40%, white)")[1])


def least_contrast(color: str, pages: str) -> float:
    """Return the contrast of a colour with its own tint: each other ground, and text on it, has more."""
    tint = [
        one * _TINT + two * (1 - _TINT) for one, two in zip(_rgb(color), _rgb(_SHEETS[pages]), strict=True)
    ]
    return contrast(_rgb(color), tint)


def contrast(one: list[float], other: list[float]) -> float:
    """Return the contrast ratio of WCAG 2.2."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _rule(color: str, hover: str) -> str:
    return (
        f":root {{ --door: {color}; --door-deep: color-mix(in srgb, {color} 78%, {hover}); "
        f"--door-ground: color-mix(in srgb, {color} {_TINT:.0%}, var(--sheet)); }}\n"
    )


def _rgb(color: str) -> list[float]:
    return [*bytes.fromhex(color[1:])]


def _luminance(rgb: list[float]) -> float:
    """Return the relative luminance of WCAG 2.2."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (value / 255 for value in rgb)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue

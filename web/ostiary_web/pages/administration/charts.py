"""Stacked bars as numbers for a template to draw: the series, how high each part is, and the table beside.

Heights are in hundredths of the highest bar; a bar is as wide as the template makes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

MOST_SERIES: Final = 6
"""As many colours as can be told apart; what is left over is shown together."""
_SLOT: Final = 10
_BAR: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One colour of a chart: what it is, how many in each period, and where the list behind it is."""

    label: str
    numbers: tuple[int, ...]
    total: int
    code: str | None = None
    """The reason's own name, where the label is a sentence."""
    href: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a bar."""

    series: int
    y: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One period."""

    x: int
    parts: tuple[Part, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart with everything that is said of it."""

    name: str
    """Of its element, and of its texts."""
    series: tuple[Series, ...]
    bars: tuple[Bar, ...]
    most: int
    """The highest bar."""
    periods: tuple[tuple[Markup, str | None], ...]
    """What each period is called, and where the list of it is."""
    note: str = ""
    bar_width: int = _BAR

    @property
    def width(self) -> int:
        """Of the drawing, in its own units."""
        return _SLOT * len(self.bars)


def draw(
    name: str, series: Sequence[Series], periods: Sequence[tuple[Markup, str | None]], note: str = ""
) -> Chart:
    """A chart of these series, of which each has a number for each period."""
    sums = [sum(each.numbers[place] for each in series) for place in range(len(periods))]
    most = max(sums, default=0)
    bars = []
    for place, total in enumerate(sums):
        y, parts = 100.0, []
        for number, each in enumerate(series):
            height = 100 * each.numbers[place] / most if most else 0.0
            y -= height
            if height:
                parts.append(Part(series=number, y=round(y, 2), height=round(height, 2)))
        bars.append(Bar(x=_SLOT * place + (_SLOT - _BAR) // 2, parts=tuple(parts), total=total))
    return Chart(
        name=name, series=tuple(series), bars=tuple(bars), most=most, periods=tuple(periods), note=note
    )


def with_colours(details: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Those of the details, the most first, that have a colour of their own; and those shown together.

    >>> with_colours("abcdef"), with_colours("abcdefg")
    (('abcdef', ''), ('abcde', 'fg'))
    """
    own = len(details) if len(details) <= MOST_SERIES else MOST_SERIES - 1
    return details[:own], details[own:]

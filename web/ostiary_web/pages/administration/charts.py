"""Stacked bar charts as numbers that a template draws.

Heights are in hundredths of the highest bar; the template sets the width.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

MOST_SERIES: Final = 6
"""Most series with a colour of their own; the others are shown together."""
_SLOT: Final = 10
_BAR: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One colour of a chart: its label, its number in each period, and the address of its list."""

    label: str
    colour: str
    """Class of its colour, the same wherever the same is meant."""
    numbers: tuple[int, ...]
    total: int
    code: str | None = None
    """Code of the reason, if the label is a sentence."""
    href: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a bar."""

    colour: str
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
    """A chart with its texts."""

    name: str
    """Name of its element and of its texts."""
    series: tuple[Series, ...]
    bars: tuple[Bar, ...]
    most: int
    """Number at the top of the scale."""
    periods: tuple[tuple[Markup, str | None], ...]
    """Name of each period, and the address of its list."""
    note: str = ""
    days: tuple[int, ...] = ()
    """Where a day begins within hours, or a week within days."""
    bar_width: int = _BAR

    @property
    def middle(self) -> str:
        """Number at the tick in the middle."""
        return f"{self.most // 2:,}"

    @property
    def width(self) -> int:
        """Width of the drawing, in its own units."""
        return _SLOT * len(self.bars)


def draw(
    name: str,
    series: Sequence[Series],
    periods: Sequence[tuple[Markup, str | None]],
    note: str = "",
    marks: Sequence[int] = (),
) -> Chart:
    """Return a chart of series that have a number for each period, with a line before the periods `marks`."""
    sums = [sum(each.numbers[place] for each in series) for place in range(len(periods))]
    most = max(sums)
    most += most > 1 and most % 2  # the tick in the middle is a whole number
    bars = []
    for place, total in enumerate(sums):
        y, parts = 100.0, []
        for each in series:
            height = 100 * each.numbers[place] / most if most else 0.0
            y -= height
            if height:
                parts.append(Part(colour=each.colour, y=round(y, 2), height=round(height, 2)))
        bars.append(Bar(x=_SLOT * place + (_SLOT - _BAR) // 2, parts=tuple(parts), total=total))
    return Chart(
        name=name,
        series=tuple(series),
        bars=tuple(bars),
        most=most,
        periods=tuple(periods),
        note=note,
        days=tuple(_SLOT * place for place in marks if place),
    )


def split_by_colour(details: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Split details, the most frequent first, into those with a colour of their own and those shown together.

    >>> split_by_colour("abcdef"), split_by_colour("abcdefg")
    (('abcdef', ''), ('abcde', 'fg'))
    """
    own = len(details) if len(details) <= MOST_SERIES else MOST_SERIES - 1
    return details[:own], details[own:]

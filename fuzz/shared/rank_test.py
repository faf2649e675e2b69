"""Whether two kinds of samples are of one distribution, by ranks within blocks (Mann-Whitney, van Elteren).

Samples of one block were taken in turn, within a moment, so what changes over a longer time (other load, a
longer log) changes both kinds. Ranks look at all of both distributions and at no distance, so a sample that
waited for the machine's other work counts no more than any other late one.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median

Block = tuple[Sequence[float], Sequence[float]]
"""Samples of the first kind and of the second, taken at the same time."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How samples of a second kind lie against those of a first."""

    superiority: float
    """How likely one of the second kind is the larger of two; 0.5 where nothing tells them apart."""
    shift: float
    """By how much the median of the second kind is larger, in the middle of all blocks."""
    p_value: float
    """How likely ranks at least as uneven are where both kinds are one, by the normal approximation."""

    @property
    def effect(self) -> float:
        """How far a guess is better than one by chance."""
        return abs(self.superiority - 0.5)


def compare(blocks: Iterable[Block]) -> Comparison:
    """Compare both kinds block by block; each block counts by its number of pairs."""
    wins = pairs = variance = 0.0
    shifts = []
    for first, second in blocks:
        size, of_all = len(first) * len(second), len(first) + len(second)
        counts = [len(list(same)) for _, same in groupby(sorted((*first, *second)))]
        ties = sum(count**3 - count for count in counts) / (of_all * (of_all - 1))
        wins += sum((one < other) + (one == other) / 2 for one in first for other in second)
        pairs += size
        variance += size * (of_all + 1 - ties) / 12
        shifts.append(median(second) - median(first))
    z = (wins - pairs / 2) / math.sqrt(variance) if variance else 0.0
    return Comparison(wins / pairs, median(shifts), math.erfc(abs(z) / math.sqrt(2)))

"""Test whether two kinds of samples have one distribution, by ranks within blocks.

(Mann-Whitney, van Elteren.) Samples of one block are taken alternately within a moment, so that slow changes
(other load, a longer log) affect both kinds. Ranks compare the whole distributions and ignore distances, so
that a sample delayed by other work of the machine counts no more than any other late sample.
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
    """The position of a second kind's samples relative to the first kind's."""

    superiority: float
    """Probability that, of one sample of each kind, the second kind's is larger; 0.5 for equal kinds."""
    shift: float
    """Difference of the medians, second kind minus first, at the middle of all blocks."""
    p_value: float
    """Probability of ranks at least this uneven if both kinds are equal, by the normal approximation."""

    @property
    def effect(self) -> float:
        """Advantage of a guess over pure chance."""
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

"""A store of a hundred million sessions, simulated: how large its indexes grow, and what a cache of it holds.

    python -m tests.bench.working_set [--sessions 100000000]

Two simulations on a sample drawn by key, as keys are spread evenly and any range of them is like any other.

*Leaves*: every insertion and deletion of access tokens in a narrow range of digests, into leaves that are
balanced as SQLite does it (an overflowing leaf shares with both neighbours, and all three make room for a
fourth). What a token takes then is set beside what `tests.bench.capacity` measures in a real file.

*Cache*: introspections drawn by a pattern, each touching the leaf of its token and of the session's row;
one page in so many is followed through a cache that forgets what was not used for longest.
"""

import argparse
import math
import random
import tempfile
from bisect import bisect_right, insort
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench.capacity import ROTATIONS, SQLiteFile

_PAGE_BYTES: Final = 4_096
_TOKEN_BYTES: Final = 42
"""A token in its leaf: 32 bytes of digest, 4 of the session's row number, and SQLite's own 6."""
_MEASURED_SESSIONS: Final = 240_000
_KEYS_FOLLOWED: Final = 200_000
"""Tokens that the sample of leaves ends with."""
_PAGES_FOLLOWED: Final = 40_000
_TOUCHES: Final = 600_000
_CACHES_GB: Final = (1, 2, 4, 8, 16, 32, 64)
_TOKENS: Final = "sessions_by_access_token"
_STRUCTURES: Final = (_TOKENS, "sessions")
"""Where an introspection reads a leaf; those of users and consents come on top and are fewer."""


class Leaves:
    """The leaves of one index over a range of keys, in order."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._leaves: list[list[float]] = [[]]
        self._firsts: list[float] = [0.0]

    def insert(self, key: float) -> None:
        place = self._place(key)
        insort(self._leaves[place], key)
        if len(self._leaves[place]) > self._most:
            self._share_out(max(0, place - 1), min(len(self._leaves), place + 2))

    def delete(self, key: float) -> None:
        self._leaves[self._place(key)].remove(key)

    @property
    def pages(self) -> int:
        return len(self._leaves)

    @property
    def keys(self) -> int:
        return sum(map(len, self._leaves))

    def _place(self, key: float) -> int:
        return max(0, bisect_right(self._firsts, key) - 1)

    def _share_out(self, start: int, end: int) -> None:
        """All keys of some neighbours, evenly over as few leaves as hold them."""
        keys = [key for leaf in self._leaves[start:end] for key in leaf]
        number = math.ceil(len(keys) / self._most)
        bounds = [round(part * len(keys) / number) for part in range(number + 1)]
        made = [keys[first:last] for first, last in pairwise(bounds)]
        self._leaves[start:end] = made
        self._firsts[start:end] = [leaf[0] for leaf in made]
        self._firsts[0] = 0.0


def token_bytes(drawn: random.Random, keys: int) -> float:
    """Bytes that a token takes once so many are there, each session's replaced as it rotates."""
    leaves = Leaves((_PAGE_BYTES - 8) // _TOKEN_BYTES)
    for _ in range(keys):
        token = drawn.random()
        leaves.insert(token)
        for _ in range(ROTATIONS):
            leaves.delete(token)
            token = drawn.random()
            leaves.insert(token)
    return leaves.pages * _PAGE_BYTES / leaves.keys


class Pattern(NamedTuple):
    """Which sessions are asked about: so large a share of requests for so large a share, the youngest."""

    name: str
    hot_requests: float
    hot_sessions: float


_PATTERNS: Final = (
    Pattern("any session, all alike", 0.0, 1.0),
    Pattern("nine in ten about the youngest tenth", 0.9, 0.1),
    Pattern("only sessions of this working day, of 31 days kept", 1.0, 8 / 24 / 31),
)


def touches(drawn: random.Random, pattern: Pattern, pages: Mapping[str, float], sessions: int) -> list[int]:
    """The followed pages that requests touch, in order, each by a number of its own."""
    followed = _PAGES_FOLLOWED / sum(pages.values())
    numbers: list[int] = []
    weights: list[float] = []
    for structure in _STRUCTURES:
        count = max(1, round(pages[structure] * followed))
        hot = pattern.hot_sessions * sessions
        share_of_the_young = (
            # A digest lies anywhere: so many young tokens on each page, as chance has it.
            [_poisson(drawn, hot / pages[structure]) for _ in range(count)]
            if structure == _TOKENS
            # Ids begin with their instant: the young lie together at the end.
            else [
                float(place >= count - max(1, round(count * pattern.hot_sessions))) for place in range(count)
            ]
        )
        young = sum(share_of_the_young) or 1.0
        for share in share_of_the_young:
            numbers.append(len(numbers))
            weights.append(pattern.hot_requests * share / young + (1 - pattern.hot_requests) / count)
    return drawn.choices(numbers, weights, k=_TOUCHES)


def _poisson(drawn: random.Random, mean: float) -> float:
    if mean > 50:
        return max(0.0, drawn.gauss(mean, math.sqrt(mean)))
    number, product, limit = 0, drawn.random(), math.exp(-mean)
    while product > limit:
        number += 1
        product *= drawn.random()
    return float(number)


def hit_share(touched: Sequence[int], room: int) -> float:
    """How many of the second half's touches find their page in a cache of so many pages.

    >>> hit_share([1, 2, 1, 2, 1, 2, 1, 2], 2), hit_share([1, 2, 1, 2, 1, 2, 1, 2], 1)
    (1.0, 0.0)
    """
    cache: OrderedDict[int, None] = OrderedDict()
    hits, half = 0, len(touched) // 2
    for number, page in enumerate(touched):
        if page in cache:
            cache.move_to_end(page)
            hits += number >= half
            continue
        cache[page] = None
        if len(cache) > room:
            cache.popitem(last=False)
    return hits / (len(touched) - half)


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=100_000_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    drawn = random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteFile(Path(folder) / "measured.db")
        store.fill(0, _MEASURED_SESSIONS)
        measured = store.sizes()
    a_token = measured[_TOKENS] / _MEASURED_SESSIONS
    print(f"a token in a file of {_MEASURED_SESSIONS:,} sessions, measured:   {a_token:6.1f} bytes")
    simulated = 0.0
    for part in (4, 2, 1):
        simulated = token_bytes(drawn, _KEYS_FOLLOWED // part)
        print(f"a token in leaves of {asked.sessions // part:,} sessions, simulated: {simulated:6.1f} bytes")
    pages = {name: measured[name] / _MEASURED_SESSIONS * asked.sessions / _PAGE_BYTES for name in _STRUCTURES}
    pages[_TOKENS] = simulated * asked.sessions / _PAGE_BYTES
    for name in _STRUCTURES:
        print(f"  {name:<30}{pages[name] * _PAGE_BYTES / 1e9:8.1f} GB")
    print(f"pages an introspection reads from the disk, of {len(_STRUCTURES)}, by GB of cache")
    print(f"  {'':<52}" + "".join(f"{size:>7}" for size in _CACHES_GB))
    scale = _PAGES_FOLLOWED / sum(pages.values())
    for pattern in _PATTERNS:
        touched = touches(drawn, pattern, pages, asked.sessions)
        read = [
            len(_STRUCTURES) * (1 - hit_share(touched, max(1, round(size * 1e9 / _PAGE_BYTES * scale))))
            for size in _CACHES_GB
        ]
        print(f"  {pattern.name:<52}" + "".join(f"{one:7.2f}" for one in read))


if __name__ == "__main__":
    main()

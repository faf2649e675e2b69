"""The test of ranks gives the figures of a calculation by hand, and sees a shift only if there is one."""

from random import Random

import pytest

from fuzz.shared.rank_test import compare


def test_ranks_and_ties_are_counted_as_by_hand() -> None:
    found = compare([([78, 64, 75, 45, 82], [110, 70, 53, 51])])  # U is 9 of 20 pairs
    assert (found.superiority, found.shift) == (0.45, -13.5)
    assert found.p_value == pytest.approx(0.8065, abs=1e-4)
    tied = compare([([1, 2, 2, 3], [2, 3, 3, 4])])
    assert tied.superiority == 0.8125
    assert tied.p_value == pytest.approx(0.1292, abs=1e-4)


def test_a_shift_is_seen_whatever_drifts_and_the_same_is_not() -> None:
    random = Random(7)
    blocks = [
        (
            [drift + random.expovariate(0.01) for _ in range(20)],
            [drift + random.expovariate(0.01) for _ in range(20)],
        )
        for drift in range(0, 100_000, 1_000)
    ]
    assert compare(blocks).p_value > 0.001
    late = compare((first, [each + 20 for each in second]) for first, second in blocks)
    assert late.p_value < 1e-6
    assert late.superiority > 0.5 < late.effect + 0.5
    assert compare([([1, 1], [1, 1])]).p_value == 1

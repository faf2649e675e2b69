"""The test of ranks gives the figures of a calculation by hand."""

import pytest

from fuzz.shared.rank_test import compare


def test_ranks_and_ties_are_counted_as_by_hand() -> None:
    found = compare([([78, 64, 75, 45, 82], [110, 70, 53, 51])])  # U is 9 of 20 pairs
    assert (found.superiority, found.shift, found.effect) == pytest.approx((0.45, -13.5, 0.05))
    assert found.p_value == pytest.approx(0.8065, abs=1e-4)
    tied = compare([([1, 2, 2, 3], [2, 3, 3, 4])])
    assert tied.superiority == 0.8125
    assert tied.p_value == pytest.approx(0.1292, abs=1e-4)
    assert compare([([1, 1], [1, 1])]).p_value == 1


def test_blocks_are_compared_each_on_its_own_whatever_drifts() -> None:
    drifting = [([place, place + 2], [place + 1, place + 3]) for place in range(0, 1_000, 10)]
    found = compare(drifting)
    assert (found.superiority, found.shift) == (0.75, 1)
    assert found.p_value < 1e-6 < compare(drifting[:1]).p_value

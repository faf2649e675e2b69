"""RefusalCounts: each refusal at once, repeated ones by their number, and no more than so many."""

from ostiary_core.model.instant import Monotonic
from ostiary_core.throttling.refusal_counts import WINDOW_MS, RefusalCounts

START = Monotonic(1_800_000_000_123)


def after(milliseconds: int) -> Monotonic:
    return Monotonic(START + milliseconds)


def test_the_first_refusal_is_reported_at_once_and_the_number_of_others_after_an_hour() -> None:
    counts = RefusalCounts[str, int]()
    assert [counts.count("a", number, START) for number in range(3)] == [1, 0, 0]
    assert counts.count("b", 0, START) == 1
    assert counts.take_due(after(WINDOW_MS - 1)) == []
    assert counts.take_due(after(WINDOW_MS)) == [("a", 2, 2)]
    assert counts.take_due(after(WINDOW_MS)) == []
    assert counts.count("a", 3, after(WINDOW_MS)) == 1


def test_a_refusal_after_the_hour_reports_those_before_it_too() -> None:
    counts = RefusalCounts[str, None]()
    assert [counts.count("a", None, after(at)) for at in (0, 1, WINDOW_MS, WINDOW_MS + 1)] == [1, 0, 2, 0]
    assert counts.take_due(None) == [("a", None, 1)]


def test_a_bounded_number_is_remembered_and_none_beyond_it_is_reported() -> None:
    many = RefusalCounts[int, None]()
    assert [many.count(number, None, START) for number in range(10_002)] == [1] * 10_000 + [0, 0]
    counts = RefusalCounts[int, None](most=2)
    assert [counts.count(number, None, START) for number in (0, 1, 2, 0)] == [1, 1, 0, 0]
    assert counts.take_due(after(WINDOW_MS)) == [(0, None, 1)]
    assert counts.count(2, None, after(WINDOW_MS)) == 1

"""Rate windows: the limits of the specification's table, and how they are counted (READINGS 30)."""

import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from ostiary_core import Monotonic
from ostiary_core.throttling.rate_windows import LIMITS, Operation, RateWindows
from tests.rows import row

MINUTE = Monotonic(1_800_000_000_000 // 60_000 * 60_000)
"""The beginning of some minute."""


def after(milliseconds: int) -> Monotonic:
    return Monotonic(MINUTE + milliseconds)


def _limit(operation: Operation, limit: int) -> object:
    return pytest.param(operation, limit, marks=row("Limits", f"{operation.value}: {limit} per minute"))


@pytest.mark.parametrize(
    "operation, limit",
    [
        _limit(Operation.AUTHORIZE_CHECK, 120),
        _limit(Operation.AUTHORIZE_DECIDE, 120),
        _limit(Operation.TOKEN, 600),
        _limit(Operation.INTROSPECT, 1200),
        _limit(Operation.REVOKE, 1200),
    ],
)
def test_so_many_requests_pass_in_one_minute_and_no_more(operation: Operation, limit: int) -> None:
    windows = RateWindows()
    for nth in range(limit):
        assert windows.admit(operation, "203.0.113.7", after(nth * 40)) == 0
    for nth in range(3):
        assert windows.admit(operation, "203.0.113.7", after(59_000 + nth)) == 1
    assert windows.admit(operation, "203.0.113.7", after(60_000)) == 0


@row("Limits", "GET /api/oauth2/userinfo: no limit")
def test_userinfo_is_not_counted() -> None:
    assert not [operation for operation in Operation if "userinfo" in operation.value]
    assert set(LIMITS) == set(Operation)


@row("Limits rules", "2 counting is per source IP")
@row("Limits rules", "3 counters in the memory of each process")
def test_each_source_operation_and_process_is_counted_on_its_own() -> None:
    windows = RateWindows()
    for _ in range(121):
        windows.admit(Operation.AUTHORIZE_CHECK, "203.0.113.7", MINUTE)
    assert windows.admit(Operation.AUTHORIZE_CHECK, "203.0.113.7", MINUTE) > 0
    assert windows.admit(Operation.AUTHORIZE_CHECK, "203.0.113.8", MINUTE) == 0
    assert windows.admit(Operation.AUTHORIZE_DECIDE, "203.0.113.7", MINUTE) == 0
    assert RateWindows().admit(Operation.AUTHORIZE_CHECK, "203.0.113.7", MINUTE) == 0


@pytest.mark.parametrize(
    "one, other, same",
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", True),
        ("2001:DB8:1:2::1", "2001:0db8:0001:0002::2", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("203.0.113.7", "::ffff:203.0.113.7", True),
        ("203.0.113.7", "::FFFF:cb00:7107", True),
        ("203.0.113.7", "203.0.113.8", False),
        ("::ffff:203.0.113.7", "::ffff:203.0.113.8", False),
        ("fe80::1%eth0", "fe80::2", True),
        ("local", "no:address", False),
        ("", "local", False),
    ],
)
def test_what_counts_as_one_source(one: str, other: str, same: bool) -> None:
    windows = RateWindows()
    for _ in range(120):
        windows.admit(Operation.AUTHORIZE_CHECK, one, MINUTE)
    assert (windows.admit(Operation.AUTHORIZE_CHECK, other, MINUTE) > 0) is same


@pytest.mark.parametrize("into, wait", [(0, 60), (1_000, 59), (30_500, 30), (59_001, 1), (59_999, 1)])
def test_a_refusal_says_how_long_to_wait(into: int, wait: int) -> None:
    windows = RateWindows()
    for _ in range(120):
        windows.admit(Operation.AUTHORIZE_CHECK, "x", MINUTE)
    assert windows.admit(Operation.AUTHORIZE_CHECK, "x", after(into)) == wait


def test_past_its_memory_a_source_is_refused_too_early_and_never_let_through_too_often() -> None:
    windows = RateWindows(most_sources=10)
    for nth in range(10):
        windows.admit(Operation.TOKEN, f"10.0.0.{nth}", MINUTE)
    admitted = sum(windows.admit(Operation.TOKEN, "10.9.9.9", MINUTE) == 0 for _ in range(700))
    assert admitted == 600
    assert windows.admit(Operation.TOKEN, "10.0.0.1", MINUTE) == 0, "who was known is counted as before"


def test_memory_is_bounded_whatever_the_number_of_sources() -> None:
    windows = RateWindows(most_sources=100)
    for nth in range(20_000):
        windows.admit(Operation.TOKEN, f"source {nth}", MINUTE)
    kept = len(windows._counts) + len(windows._shared)
    assert kept <= 100 + 4_096


@settings(max_examples=50)
@for_all(
    requests=st.lists(
        st.tuples(st.sampled_from(["a", "b", "\ud800", ""]), st.integers(0, 200_000)), max_size=60
    )
)
def test_no_source_exceeds_its_limit_in_any_minute(requests: list[tuple[str, int]]) -> None:
    windows = RateWindows(scale=0.05, most_sources=2)
    admitted: dict[tuple[str, int], int] = {}
    for source, milliseconds in sorted(requests, key=lambda request: request[1]):
        now = after(milliseconds)
        if windows.admit(Operation.AUTHORIZE_CHECK, source, now) == 0:
            minute = (source, now // 60_000)
            admitted[minute] = admitted.get(minute, 0) + 1
    assert all(count <= 6 for count in admitted.values())

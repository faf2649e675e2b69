"""Rate windows: the limits of the specification's table, and how they are counted (READINGS 30)."""

import pytest

from ostiary_core import Monotonic
from ostiary_core.throttling.rate_windows import LIMITS, Operation, RateWindows, address_of
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
        (Operation.SIGN_IN, 120),
        (Operation.TEXT_CODE, 20),
        (Operation.RESET_PASSWORD, 20),
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
def test_addresses_of_one_network_or_host_count_as_one_source(one: str, other: str, same: bool) -> None:
    windows = RateWindows()
    for _ in range(120):
        windows.admit(Operation.AUTHORIZE_CHECK, one, MINUTE)
    assert (windows.admit(Operation.AUTHORIZE_CHECK, other, MINUTE) > 0) is same


def test_a_network_is_named_as_such() -> None:
    assert address_of("2001:db8:1:2:3::1") == "2001:db8:1:2::/64"


@pytest.mark.parametrize(
    "operation, waits",
    [
        (Operation.AUTHORIZE_CHECK, {0: 60, 1_000: 59, 30_500: 30, 59_001: 1, 59_999: 1}),
        # Half of the grace: a refresh that is sent again after that wait is still in time.
        (Operation.TOKEN, {0: 15, 44_000: 15, 46_000: 14, 59_999: 1}),
    ],
)
def test_a_refusal_says_how_long_to_wait(operation: Operation, waits: dict[int, int]) -> None:
    windows = RateWindows()
    for _ in range(LIMITS[operation]):
        windows.admit(operation, "x", MINUTE)
    assert {into: windows.admit(operation, "x", after(into)) for into in waits} == waits
    assert windows.admit(operation, "x", after(60_000)) == 0


def test_past_its_memory_a_source_is_refused_too_early_and_never_let_through_too_often() -> None:
    windows = RateWindows(most_sources=2)

    def admitted(source: str, operation: Operation = Operation.TOKEN, at: int = 0) -> int:
        return sum(windows.admit(operation, source, after(at)) == 0 for _ in range(700))

    assert [admitted(source) for source in ("first", "second", "stranger", "first")] == [600, 600, 600, 0]
    assert admitted("stranger", Operation.AUTHORIZE_CHECK) == 120
    assert [admitted(source, at=60_000) for source in ("first", "second", "stranger")] == [600] * 3
    for nth in range(50_000):
        windows.admit(Operation.TOKEN, f"source {nth}", MINUTE)
    assert (len(windows._counts), len(windows._shared)) == (2, 4_096), "whatever the number of sources"
    windows = RateWindows(scale=0.001)
    assert [admitted(source) for source in ("first", "second")] == [1, 1], "no limit falls below"

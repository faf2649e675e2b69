"""Two clocks of a process: the wall clock, slowed down if it was set back, and one that cannot be set."""

from hypothesis import given, strategies as st

from ostiary_net.runtime.system import SystemClock
from tests.support.stores import HandClock
from tests.support.story import START


def test_the_wall_clock_slows_down_after_the_machine_was_set_back_and_the_other_goes_on() -> None:
    clock = HandClock()
    assert clock.now() == START
    began = clock.monotonic()
    clock.set_back(3_600)
    clock.wait(60)
    assert (clock.now() - START, clock.monotonic() - began) == (54_000, 60_000)
    clock.wait(35_940)
    assert clock.now() - START == 32_400_000  # the machine's clock shows this time by now
    clock.wait(10)
    assert (clock.now() - START, clock.monotonic() - began) == (32_410_000, 36_010_000)


@given(st.lists(st.integers(0, 2**62)))
def test_the_wall_never_goes_back_whatever_the_machine_shows(shown: list[int]) -> None:
    readings = iter(shown)
    clock = SystemClock(lambda: next(readings))
    given_out = [clock.now() for _ in shown]
    assert given_out == sorted(given_out)


def test_the_clocks_of_this_machine_go_on() -> None:
    clock = SystemClock()
    first, then = clock.monotonic(), clock.monotonic()
    assert 0 <= first <= then
    assert clock.now() > START - 10 * 365 * 86_400_000

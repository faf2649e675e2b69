"""SignInThrottle: which guesses wait, how long, when they are forgotten; no account is locked for good."""

from itertools import count
from zlib import crc32

import pytest

from ostiary_core.model.instant import SECOND_MS, Monotonic
from ostiary_core.throttling.sign_in_throttle import (
    FREE_BY_ADDRESS,
    FREE_BY_NAME,
    FREE_BY_NAME_AND_ADDRESS,
    FailuresOfName,
    SignInThrottle,
)

START = Monotonic(1_800_000_000_123)
HERE, ELSEWHERE = "203.0.113.7", "198.51.100.5"
FREE = FREE_BY_ADDRESS
LONGEST_WAIT = 60


@pytest.fixture
def guesses() -> SignInThrottle:
    return SignInThrottle()


def after(start: Monotonic, seconds: int) -> Monotonic:
    return Monotonic(start + seconds * SECOND_MS)


def fail(guesses: SignInThrottle, times: int, now: Monotonic = START, source: str = HERE) -> list[int]:
    """Guess wrongly at one instant, each time about another account; return the waits."""
    return [guesses.admit(source, f"account {number}", now) for number in range(times)]


def fail_until_refused(guesses: SignInThrottle, source: str = HERE) -> Monotonic:
    """Guess wrongly about one account after another until the wait is the longest; return the time then."""
    now = START
    for number in count():
        wait = guesses.admit(source, f"some account {number}", now)
        if wait == LONGEST_WAIT:
            break
        now = after(now, wait)
    return now


def test_each_further_failure_doubles_the_wait_up_to_a_minute() -> None:
    guesses, now, waits = SignInThrottle(), START, []
    fail(guesses, FREE)
    for _ in range(9):
        waits.append(guesses.admit(HERE, "anna", now))
        now = after(now, waits[-1])
        assert guesses.admit(HERE, "anna", now) == 0
    assert waits[:6] == [1, 2, 4, 8, 16, 32]
    assert set(waits[6:]) <= {32, LONGEST_WAIT}


def test_a_refused_guess_does_not_lengthen_the_wait_which_is_in_seconds_that_suffice() -> None:
    guesses = SignInThrottle()
    fail(guesses, FREE)
    assert fail(guesses, 100) == [1] * 100
    assert fail(guesses, 1, Monotonic(START + 1)) == fail(guesses, 1, Monotonic(START + 999)) == [1]
    assert fail(guesses, 1, after(START, 1)) == [0]


def test_a_failure_is_forgotten_each_whole_minute_and_a_row_of_them_soon(guesses: SignInThrottle) -> None:
    for milliseconds, free in ((0, FREE), (299_999, 4), (300_000, 1), (420_000, 2), (9_000_000, FREE)):
        assert fail(guesses, 100, Monotonic(START + milliseconds)).count(0) == free
    later = after(START, 20_000)
    for _ in range(FREE):
        assert guesses.admit(ELSEWHERE, "insider", later) == 0
        guesses.forgive(ELSEWHERE, "insider", later)
    assert fail(guesses, FREE, later, ELSEWHERE).count(0) == FREE, "all of them were right"
    assert fail(guesses, 100, after(later, 600), ELSEWHERE).count(0) == 10, "ten are forgotten"


def test_an_account_takes_one_failure_off_its_address_once(guesses: SignInThrottle) -> None:
    fail(guesses, 5)
    for _ in range(3):
        assert guesses.admit(HERE, "guesser", START) == 0
        guesses.forgive(HERE, "guesser", START)
    assert fail(guesses, 100).count(0) == FREE - 4


def test_a_known_user_of_an_address_does_not_wait_for_the_failures_of_others_there() -> None:
    guesses = SignInThrottle(most_known_pairs=2)
    for name in ("anna", "bert", "anna", "carl"):
        assert guesses.admit(HERE, name, START) == 0
        guesses.forgive(HERE, name, START)
    now = fail_until_refused(guesses)
    for name, wait in (("anna", 0), ("bert", LONGEST_WAIT), ("carl", 0)):
        assert guesses.admit(HERE, name, now) == wait, "who was not seen for longest is a stranger"
    fail_until_refused(guesses, ELSEWHERE)
    assert guesses.admit(ELSEWHERE, "anna", now) == LONGEST_WAIT


def test_a_known_user_who_guesses_on_does_not_keep_others_out(guesses: SignInThrottle) -> None:
    guesses.admit(HERE, "insider", START)
    guesses.forgive(HERE, "insider", START)
    now = fail_until_refused(guesses)
    admitted = [guesses.admit(HERE, "insider", after(now, second)) for second in range(LONGEST_WAIT)]
    assert admitted.count(0) > FREE_BY_NAME_AND_ADDRESS
    assert guesses.admit(HERE, "newcomer", after(now, LONGEST_WAIT)) == 0


def test_a_scale_multiplies_what_is_free() -> None:
    assert fail(SignInThrottle(scale=3), 100).count(0) == 3 * FREE
    assert fail(SignInThrottle(scale=0.001), 100).count(0) == 1


def test_past_its_memory_addresses_share_counters_until_those_without_failures_are_forgotten() -> None:
    guesses, start = SignInThrottle(most_addresses=2), Monotonic(0)
    slots = {each: crc32(each.encode()) % 4_096 for each in map(str, range(50_000))}
    twins = [each for each, slot in slots.items() if slot == slots["0"]]
    fail(guesses, 1, start, "mistaken")
    fail(guesses, 1, start, "right")
    guesses.forgive("right", "anna", start)
    free = [(0, FREE), (0, 0), (59_999, 1), (60_000, FREE), (60_000, FREE)]
    for address, (at, times) in zip(twins, free, strict=False):
        assert fail(guesses, 100, Monotonic(at), address).count(0) == times
    guesses = SignInThrottle(most_addresses=10, most_known_pairs=10)
    for each in slots:
        guesses.admit(each, each, START)
    for number in range(20):
        guesses.forgive("0", f"person {number}", START)
    for kept in (guesses._by_address, guesses._by_name, guesses._by_both):
        assert (len(kept._counters), len(kept._shared)) == (10, 4_096)
    assert len(guesses._known_pairs) == 10


def in_row(guesses: SignInThrottle, name: str, source: str, times: int) -> tuple[list[int], Monotonic]:
    """Guess wrongly about a name from an address, each time as soon as allowed; return waits and time."""
    now, waits = START, []
    for _ in range(times):
        waits.append(guesses.admit(source, name, now))
        now = after(now, waits[-1])
        assert waits[-1] == 0 or guesses.admit(source, name, now) == 0
    return waits, now


def test_guesses_at_a_name_from_one_address_delay_no_other_address() -> None:
    guesses = SignInThrottle()
    waits, now = in_row(guesses, "anna", HERE, 40)
    assert waits[:11] == [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32]
    assert set(waits[11:]) == {32, LONGEST_WAIT}
    assert guesses.admit(ELSEWHERE, "anna", now) == 0


def test_a_right_password_is_the_end_of_ones_own_slips(guesses: SignInThrottle) -> None:
    in_row(guesses, "anna", HERE, 5)
    guesses.forgive(HERE, "anna", START)
    assert [guesses.admit(HERE, "anna", START) for _ in range(6)] == [0] * 5 + [1]


def test_a_name_that_many_addresses_guess_at_is_slowed_but_not_where_it_has_signed_in() -> None:
    guesses = SignInThrottle()
    assert guesses.admit(HERE, "anna", START) == 0
    guesses.forgive(HERE, "anna", START)
    now, waits = START, []
    for number in range(FREE_BY_NAME + 9):
        waits.append(guesses.admit(f"192.0.2.{number}", "anna", now))
        now = after(now, waits[-1])
        assert waits[-1] == 0 or guesses.admit(f"192.0.2.{number}", "anna", now) == 0
    assert waits[: FREE_BY_NAME + 3] == [0] * FREE_BY_NAME + [1, 2, 4]
    assert max(waits) == LONGEST_WAIT
    assert guesses.admit(ELSEWHERE, "anna", now) > 0
    assert guesses.admit(HERE, "anna", now) == 0
    assert guesses.admit(ELSEWHERE, "bert", now) == 0


def test_a_right_password_takes_back_one_guess_at_the_name_and_no_more(guesses: SignInThrottle) -> None:
    for number in range(60):
        assert guesses.admit(f"192.0.2.{number}", "anna", START) == 0
    assert guesses.admit(HERE, "anna", START) == 0
    guesses.forgive(HERE, "anna", START)
    waits = [guesses.admit(f"198.51.100.{number}", "anna", START) for number in range(42)]
    assert waits == [0] * (FREE_BY_NAME - 60) + [1, 1]


def test_a_right_password_before_the_second_factor_counts_neither_as_failure_nor_as_sign_in() -> None:
    guesses = SignInThrottle()
    fail(guesses, 3)
    for _ in range(FREE_BY_NAME):
        assert guesses.admit(HERE, "anna", START) == 0
        guesses.take_back(HERE, "anna", START)
    for source, free in ((HERE, FREE - 3), (ELSEWHERE, FREE)):
        assert fail(guesses, FREE, START, source).count(0) == free
        assert guesses.admit(source, "anna", START) == 1


def test_failures_of_a_name_are_listed_by_address_the_longest_wait_first() -> None:
    guesses = SignInThrottle()
    assert guesses.failures_of("anna", START) == FailuresOfName(0, 0, ())
    for source, times in (("192.0.2.2", 2), (ELSEWHERE, 6), ("192.0.2.1", 2), (HERE, 7), ("192.0.2.3", 3)):
        in_row(guesses, "anna", source, times)
    in_row(guesses, "anna", "192.0.2.4", 1)
    guesses.forgive("192.0.2.4", "anna", START)
    in_row(guesses, "anna smith", HERE, 6)
    told = guesses.failures_of("anna", START)
    assert told.failures == 20
    assert [(each.address, each.failures, each.wait_seconds) for each in told.by_address] == [
        *((HERE, 7, 7), (ELSEWHERE, 6, 3)),
        *(("192.0.2.3", 3, 0), ("192.0.2.1", 2, 0), ("192.0.2.2", 2, 0)),
    ]
    assert told.wait_seconds == 0
    later = guesses.failures_of("anna", after(START, 120))
    assert [(each.address, each.failures) for each in later.by_address] == [
        *((HERE, 5), (ELSEWHERE, 4), ("192.0.2.3", 1))
    ]


def test_a_name_that_waits_wherever_it_comes_from_says_so(guesses: SignInThrottle) -> None:
    for number in range(FREE_BY_NAME + 1):
        guesses.admit(f"192.0.2.{number}", "anna", after(START, number))
    told = guesses.failures_of("anna", after(START, FREE_BY_NAME))
    assert (told.failures, told.wait_seconds) == (FREE_BY_NAME, 1)


def test_an_unlock_takes_the_waits_of_one_name_back_and_no_others(guesses: SignInThrottle) -> None:
    for name in ("anna", "anna smith"):
        in_row(guesses, name, HERE, 6)
        in_row(guesses, name, ELSEWHERE, 6)
    before = guesses.failures_of("anna smith", START)
    guesses.unlock("anna", START)
    assert guesses.failures_of("anna", START) == FailuresOfName(0, 0, ())
    assert guesses.failures_of("anna smith", START) == before
    assert [guesses.admit(HERE, "anna", START) for _ in range(6)] == [0] * 5 + [1]

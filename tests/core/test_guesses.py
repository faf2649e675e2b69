"""SignInThrottle: what waits, how long, what is forgotten, and that nobody can lock anybody out for good."""

from hypothesis import given
from hypothesis import strategies as st

from ostiary_core.model.instant import SECOND_MS, Monotonic
from ostiary_core.model.policy import SPECIFICATION
from ostiary_core.throttling.sign_in_throttle import SignInThrottle, UnknownNameThrottle

START = Monotonic(1_800_000_000_123)
HERE, ELSEWHERE = "203.0.113.7", "198.51.100.5"
FREE = 20
LONGEST_WAIT = 60


def after(start: Monotonic, seconds: int) -> Monotonic:
    return Monotonic(start + seconds * SECOND_MS)


def fail(guesses: SignInThrottle, times: int, now: Monotonic = START, source: str = HERE) -> list[int]:
    """Wrong guesses at one instant, each about another account; how long each had to wait."""
    return [guesses.seconds_to_wait(source, f"account {number}", now) for number in range(times)]


def failed_out(guesses: SignInThrottle, now: Monotonic = START, source: str = HERE) -> Monotonic:
    """Guess wrongly, as often as one is let, until the longest wait; when the last was let in."""
    while True:
        wait = guesses.seconds_to_wait(source, "some account", now)
        if wait == LONGEST_WAIT:
            return now
        now = after(now, wait)


def test_each_further_failure_doubles_the_wait_up_to_a_minute() -> None:
    guesses, now, waits = SignInThrottle(), START, []
    fail(guesses, FREE)
    for _ in range(9):
        waits.append(guesses.seconds_to_wait(HERE, "anna", now))
        now = after(now, waits[-1])
        assert guesses.seconds_to_wait(HERE, "anna", now) == 0
    assert waits[:6] == [1, 2, 4, 8, 16, 32]
    assert set(waits[6:]) <= {32, LONGEST_WAIT}


def test_a_guess_that_has_to_wait_does_not_lengthen_the_wait() -> None:
    guesses = SignInThrottle()
    fail(guesses, FREE)
    assert fail(guesses, 100) == [1] * 100
    assert guesses.seconds_to_wait(HERE, "anna", after(START, 1)) == 0


def test_the_wait_is_told_in_whole_seconds_that_suffice() -> None:
    guesses = SignInThrottle()
    fail(guesses, FREE)
    assert guesses.seconds_to_wait(HERE, "anna", Monotonic(START + 1)) == 1
    assert guesses.seconds_to_wait(HERE, "anna", Monotonic(START + 999)) == 1
    assert guesses.seconds_to_wait(HERE, "anna", Monotonic(START + 1_000)) == 0


def test_a_crowd_mends_its_own_slips() -> None:
    guesses = SignInThrottle()
    for number in range(500):
        assert guesses.seconds_to_wait(HERE, f"person {number}", START) == 0, "mistyped"
        assert guesses.seconds_to_wait(HERE, f"person {number}", START) == 0
        guesses.forgive(HERE, f"person {number}", START)


def test_a_guesser_with_an_account_of_their_own_gains_a_single_guess() -> None:
    guesses, let_in = SignInThrottle(), 0
    for number in range(1_000):
        if guesses.seconds_to_wait(HERE, f"victim {number}", START) == 0:
            let_in += 1
        assert guesses.seconds_to_wait(HERE, "guesser", START) == 0 or number > FREE
        guesses.forgive(HERE, "guesser", START)
    assert let_in <= FREE + 1


def test_who_has_signed_in_from_an_address_does_not_wait_for_what_others_get_wrong_there() -> None:
    guesses = SignInThrottle()
    assert guesses.seconds_to_wait(HERE, "anna", START) == 0
    guesses.forgive(HERE, "anna", START)
    now = failed_out(guesses)
    assert guesses.seconds_to_wait(HERE, "bert", now) == LONGEST_WAIT
    assert guesses.seconds_to_wait(HERE, "anna", now) == 0


def test_who_does_not_wait_keeps_nobody_out_by_guessing_on() -> None:
    guesses = SignInThrottle()
    guesses.seconds_to_wait(HERE, "insider", START)
    guesses.forgive(HERE, "insider", START)
    now = failed_out(guesses)
    for second in range(LONGEST_WAIT):
        assert guesses.seconds_to_wait(HERE, "insider", after(now, second)) == 0
    assert guesses.seconds_to_wait(HERE, "newcomer", after(now, LONGEST_WAIT)) == 0


def test_however_long_the_guessing_lasts_a_stranger_is_let_in_within_a_minute_of_the_last_guess() -> None:
    guesses, now = SignInThrottle(), START
    for _ in range(2_000):
        now = after(now, guesses.seconds_to_wait(HERE, "victim", now))
        guesses.seconds_to_wait(HERE, "victim", now)
    assert guesses.seconds_to_wait(HERE, "anna", after(now, LONGEST_WAIT)) == 0


def test_a_scale_multiplies_what_is_free() -> None:
    assert fail(SignInThrottle(scale=3), 100).count(0) == 3 * FREE
    assert fail(SignInThrottle(scale=0.001), 100).count(0) == 1


def test_memory_is_bounded_and_nobody_gets_more_guesses_by_filling_it() -> None:
    guesses = SignInThrottle(most_addresses=10, most_acquaintances=10)
    for number in range(50_000):
        guesses.seconds_to_wait(f"2001:db8:{number:x}::1", "anna", START)
        guesses.forgive(f"198.51.{number % 250}.{number % 199}", f"person {number}", START)
    kept = vars(guesses).values()
    assert all(len(kind) <= 4_096 for kind in kept if isinstance(kind, dict))
    assert fail(guesses, 100, source="192.0.2.1").count(0) <= FREE


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from([HERE, ELSEWHERE, "2001:db8::1"]),
            st.sampled_from(["anna", "bert"]),
            st.booleans(),
            st.integers(0, 90_000),
        ),
        max_size=200,
    )
)
def test_nobody_ever_waits_longer_than_a_minute(steps: list[tuple[str, str, bool, int]]) -> None:
    guesses, now = SignInThrottle(), START
    for source, account, right, pause in steps:
        now = Monotonic(now + pause)
        wait = guesses.seconds_to_wait(source, account, now)
        assert 0 <= wait <= LONGEST_WAIT
        if wait == 0 and right:
            guesses.forgive(source, account, now)
        if wait:
            assert guesses.seconds_to_wait(source, account, after(now, wait)) == 0


# --- names that no account has


def test_a_name_that_no_account_has_is_slowed_as_an_account_is() -> None:
    names, now, waits = UnknownNameThrottle(), START, []
    for _ in range(20):
        wait = names.seconds_to_wait("nobody", now)
        waits.append(wait)
        if wait:
            now = after(now, wait)
            assert names.seconds_to_wait("nobody", now) == 0
    longest = SPECIFICATION.longest_sign_in_wait_seconds
    assert waits == [0] * 5 + [min(2**n, longest) for n in range(15)]
    assert names.seconds_to_wait("somebody else", now) == 0


def test_the_name_that_was_not_tried_for_longest_is_forgotten_first() -> None:
    names = UnknownNameThrottle(most_names=2)
    for name in ("first", "second"):
        for _ in range(5):
            names.seconds_to_wait(name, START)
    names.seconds_to_wait("third", START)
    assert names.seconds_to_wait("first", START) == 0

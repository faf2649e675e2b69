"""Failed client authentications: what waits, how long, and that nobody can lock a client out."""

from hypothesis import given
from hypothesis import strategies as st

from ostiary_core.events import AuthenticationMethod, ClientCredentials
from ostiary_core.instant import Instant, later
from ostiary_core.secret import Secret
from ostiary_core.secret_guesses import SecretGuesses

START = Instant(1_800_000_000_123)
HERE, ELSEWHERE = "203.0.113.7", "198.51.100.5"
FREE = 10
LONGEST_WAIT = 60


def presented(secret: str, client_id: str = "app") -> ClientCredentials:
    return ClientCredentials(client_id=client_id, secret=Secret(secret), method=AuthenticationMethod.BASIC)


RIGHT = presented("right")


def tried(guesses: SecretGuesses, credentials: ClientCredentials, source: str, now: Instant) -> int:
    """How long a wrong secret has to wait; one that has not is found wrong at once."""
    wait = guesses.seconds_to_wait(credentials, source, now)
    if wait == 0:
        guesses.wrong(credentials, source, now)
    return wait


def fail(guesses: SecretGuesses, times: int, now: Instant = START, source: str = HERE) -> list[int]:
    """Wrong secrets at one instant, each another one; how long each had to wait."""
    return [tried(guesses, presented(f"guess {number}"), source, now) for number in range(times)]


def failed_out(guesses: SecretGuesses, now: Instant = START) -> Instant:
    """Guess as often as one is let, until the longest wait; when the last was let in."""
    while True:
        wait = tried(guesses, presented("guess"), HERE, now)
        if wait == LONGEST_WAIT:
            return now
        now = later(now, wait)


def test_ten_failures_cost_nothing_and_each_further_one_doubles_the_wait() -> None:
    guesses, now, waits = SecretGuesses(), START, []
    assert fail(guesses, FREE) == [0] * FREE
    for _ in range(6):
        waits.append(tried(guesses, presented("guess"), HERE, now))
        now = later(now, waits[-1])
        assert tried(guesses, presented("guess"), HERE, now) == 0
    assert waits == [1, 2, 4, 8, 16, 32]


def test_who_has_to_wait_does_not_lengthen_the_wait_by_trying() -> None:
    guesses = SecretGuesses()
    fail(guesses, FREE)
    assert fail(guesses, 100) == [1] * 100
    assert tried(guesses, presented("guess"), HERE, later(START, 1)) == 0


def test_the_wait_is_told_in_whole_seconds_that_suffice() -> None:
    guesses = SecretGuesses()
    fail(guesses, FREE)
    assert guesses.seconds_to_wait(RIGHT, HERE, Instant(START + 1)) == 1
    assert guesses.seconds_to_wait(RIGHT, HERE, Instant(START + 999)) == 1
    assert guesses.seconds_to_wait(RIGHT, HERE, Instant(START + 1_000)) == 0


def test_a_client_at_another_address_and_another_client_at_the_same_do_not_wait() -> None:
    guesses = SecretGuesses()
    now = failed_out(guesses)
    assert guesses.seconds_to_wait(RIGHT, HERE, now) == LONGEST_WAIT
    assert guesses.seconds_to_wait(RIGHT, ELSEWHERE, now) == 0
    assert tried(guesses, presented("right", "other"), HERE, now) == 0


def test_a_secret_that_was_right_before_never_waits_wherever_others_guess() -> None:
    guesses = SecretGuesses()
    assert guesses.seconds_to_wait(RIGHT, ELSEWHERE, START) == 0
    guesses.right(RIGHT)
    now = failed_out(guesses)
    assert [guesses.seconds_to_wait(RIGHT, HERE, now) for _ in range(100)] == [0] * 100


def test_a_secret_that_is_no_longer_right_waits_like_any_other() -> None:
    guesses = SecretGuesses()
    guesses.seconds_to_wait(RIGHT, HERE, START)
    guesses.right(RIGHT)
    waits = []
    for _ in range(FREE + 1):
        waits.append(guesses.seconds_to_wait(RIGHT, HERE, START))
        guesses.wrong(RIGHT, HERE, START)
    assert waits == [0] * FREE + [1]


def test_a_client_may_begin_with_any_number_of_requests_at_once() -> None:
    guesses = SecretGuesses()
    assert [guesses.seconds_to_wait(RIGHT, HERE, START) for _ in range(5 * FREE)] == [0] * (5 * FREE)


def test_a_failure_is_forgotten_a_minute() -> None:
    guesses = SecretGuesses()
    fail(guesses, FREE)
    later_on = later(START, 60 * FREE)
    assert fail(guesses, FREE + 1, later_on) == [0] * FREE + [1]


def test_a_network_of_ipv6_is_one_address() -> None:
    guesses = SecretGuesses()
    for number in range(FREE):
        tried(guesses, presented("guess"), f"2001:db8:1:2::{number:x}", START)
    assert tried(guesses, presented("guess"), "2001:db8:1:2:ffff::1", START) == 1


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([HERE, ELSEWHERE, "::1", "\ud800"])),
        max_size=60,
    )
)
def test_memory_is_bounded_and_sharing_lets_nobody_through_more_often(tries: list[tuple[str, str]]) -> None:
    small, large = SecretGuesses(most_standings=2, most_proven=1), SecretGuesses()
    for client_id, source in tries:
        credentials = presented("guess", client_id)
        if tried(small, credentials, source, START) == 0:
            assert tried(large, credentials, source, START) == 0
    assert len(small._standings) <= 2
    for number in range(5):
        small.right(presented(f"right {number}"))
    assert len(small._proven) == 1

"""Wrong client secrets: what waits, how long, and that nobody can lock a client out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary_core.decision import Done, Refused, Reply
from ostiary_core.events import AuthenticationMethod, ClientCredentials
from ostiary_core.instant import Instant, later
from ostiary_core.secret import Secret
from ostiary_core.secret_guesses import SecretGuesses, is_authenticated
from ostiary_core.why import Why

START = Instant(1_800_000_000_123)
HERE, ELSEWHERE = "203.0.113.7", "198.51.100.5"
FREE = 10
LONGEST_WAIT = 60
WRONG = Refused(Why.CLIENT_SECRET_WRONG)


def presented(client_id: str = "app") -> ClientCredentials:
    return ClientCredentials(
        client_id=client_id, secret=Secret("presented"), method=AuthenticationMethod.BASIC
    )


def tried(
    guesses: SecretGuesses,
    now: Instant = START,
    reply: Reply = WRONG,
    source: str = HERE,
    client_id: str = "app",
) -> int:
    """How long a secret has to wait that was found to be `reply`."""
    return guesses.seconds_to_wait(presented(client_id), reply, source, now)


def failed_out(guesses: SecretGuesses, now: Instant = START) -> Instant:
    """Guess as often as one is let, until the longest wait; when the last was let in."""
    while (wait := tried(guesses, now)) != LONGEST_WAIT:
        now = later(now, wait)
    return now


def test_ten_wrong_secrets_cost_nothing_and_each_further_one_doubles_the_wait() -> None:
    guesses, now, waits = SecretGuesses(), START, []
    assert [tried(guesses) for _ in range(FREE)] == [0] * FREE
    for _ in range(6):
        waits.append(tried(guesses, now))
        now = later(now, waits[-1])
        assert tried(guesses, now) == 0
    assert waits == [1, 2, 4, 8, 16, 32]


def test_who_has_to_wait_does_not_lengthen_the_wait_by_trying() -> None:
    guesses = SecretGuesses()
    assert [tried(guesses) for _ in range(FREE + 100)] == [0] * FREE + [1] * 100
    assert tried(guesses, later(START, 1)) == 0


def test_the_wait_is_told_in_whole_seconds_that_suffice() -> None:
    guesses = SecretGuesses()
    for _ in range(FREE):
        tried(guesses)
    assert tried(guesses, Instant(START + 1)) == 1
    assert tried(guesses, Instant(START + 999)) == 1
    assert tried(guesses, Instant(START + 1_000)) == 0


def test_a_client_at_another_address_and_another_client_at_the_same_do_not_wait() -> None:
    guesses = SecretGuesses()
    now = failed_out(guesses)
    assert tried(guesses, now, source=ELSEWHERE) == 0
    assert tried(guesses, now, client_id="other") == 0


@pytest.mark.parametrize(
    "reply",
    [Done(), Refused(Why.TOKEN_MISSING), Refused(Why.CLIENT_DISABLED), Refused(Why.CLIENT_DELETED)],
    ids=str,
)
def test_the_right_secret_never_waits_wherever_others_guess_and_is_no_guess(reply: Reply) -> None:
    guesses = SecretGuesses()
    assert [tried(guesses, reply=reply) for _ in range(5 * FREE)] == [0] * (5 * FREE)
    assert [tried(guesses) for _ in range(FREE)] == [0] * FREE
    now = failed_out(guesses)
    assert [tried(guesses, now, reply) for _ in range(100)] == [0] * 100


@pytest.mark.parametrize("why", [Why.CLIENT_UNKNOWN, Why.CLIENT_BUILT_IN, Why.CLIENT_SECRET_WRONG])
def test_an_unknown_client_waits_as_one_that_exists(why: Why) -> None:
    guesses = SecretGuesses()
    assert [tried(guesses, reply=Refused(why)) for _ in range(FREE + 1)] == [0] * FREE + [1]


def test_a_client_proves_itself_whatever_else_is_wrong() -> None:
    invalid_client = {
        Why.CLIENT_UNKNOWN,
        Why.CLIENT_BUILT_IN,
        Why.CLIENT_DELETED,
        Why.CLIENT_DISABLED,
        Why.CLIENT_SECRET_WRONG,
    }
    assert {why for why in Why if not is_authenticated(Refused(why))} == invalid_client
    assert is_authenticated(Done())


def test_a_failure_is_forgotten_a_minute() -> None:
    guesses = SecretGuesses()
    for _ in range(FREE):
        tried(guesses)
    later_on = later(START, 60 * FREE)
    assert [tried(guesses, later_on) for _ in range(FREE + 1)] == [0] * FREE + [1]


def test_a_clock_that_was_set_back_makes_no_wait_longer() -> None:
    guesses = SecretGuesses()
    failed_out(guesses)
    yesterday = Instant(START - 24 * 3_600_000)
    assert tried(guesses, yesterday) == LONGEST_WAIT
    assert tried(guesses, later(yesterday, LONGEST_WAIT)) == 0


def test_a_network_of_ipv6_is_one_address() -> None:
    guesses = SecretGuesses()
    for number in range(FREE):
        tried(guesses, source=f"2001:db8:1:2::{number:x}")
    assert tried(guesses, source="2001:db8:1:2:ffff::1") == 1


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([HERE, ELSEWHERE, "::1", "\ud800"])),
        max_size=60,
    )
)
def test_memory_is_bounded_and_sharing_lets_nobody_through_more_often(tries: list[tuple[str, str]]) -> None:
    small, large = SecretGuesses(most_standings=2), SecretGuesses()
    for client_id, source in tries:
        if tried(small, source=source, client_id=client_id) == 0:
            assert tried(large, source=source, client_id=client_id) == 0
    assert len(small._standings) <= 2

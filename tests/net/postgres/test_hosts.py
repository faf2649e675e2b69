"""Which of several hosts is asked, when, and what becomes of connections that come too late."""

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from ostiary_net.postgres import hosts
from ostiary_net.postgres.hosts import Hosts

REFUSED = psycopg.OperationalError("not the primary")
BOUND_SECONDS = 20.0
BOTH = {"host": "standby,primary"}


class Made:
    """A connection that can be closed."""

    def __init__(self) -> None:
        self.closed = threading.Event()

    def close(self) -> None:
        self.closed.set()


def ask(known: Hosts, answer: Callable[[dict[str, str]], Any], seconds: float = BOUND_SECONDS) -> list[str]:
    """Connect by a function that returns a connection or raises; return the hosts that were asked."""
    asked = []

    def connect(host: dict[str, str]) -> Any:
        asked.append(host["host"])
        return answer(host)

    assert isinstance(known.connect(connect, seconds), Made)
    return asked


def only_primary(host: dict[str, str]) -> Made:
    if host["host"] == "standby":
        raise REFUSED
    return Made()


@pytest.mark.parametrize(
    "parameters, expected",
    [
        ({}, [{}]),
        ({"host": "one", "port": 1}, [{}]),
        ({"host": "a,b"}, [{"host": "a"}, {"host": "b"}]),
        ({"host": "a,b", "port": 7}, [{"host": "a", "port": "7"}, {"host": "b", "port": "7"}]),
        ({"host": "a,b", "port": "7,8"}, [{"host": "a", "port": "7"}, {"host": "b", "port": "8"}]),
        ({"host": "a,b", "port": ",8"}, [{"host": "a"}, {"host": "b", "port": "8"}]),
        ({"host": "a,b", "target_session_attrs": "any"}, [{}]),
        ({"host": "a,b", "hostaddr": "::1,::2"}, [{}]),
    ],
    ids=str,
)
def test_each_host_has_its_port_unless_the_driver_chooses(
    parameters: dict[str, Any], expected: list[dict[str, str]]
) -> None:
    known, asked = Hosts(parameters), []

    def refuse(host: dict[str, str]) -> Any:
        asked.append(host)
        raise REFUSED

    with pytest.raises(psycopg.OperationalError):
        known.connect(refuse, 0.2)
    assert len(known) == len(expected)
    assert [host for host in expected if host in asked] == expected
    assert [host for host in asked if host not in expected] == []


def test_a_silent_host_is_asked_a_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "_ASKS_BESIDE_SECONDS", 0.0)
    attempts, is_over = itertools.count(), threading.Event()

    def answer(host: dict[str, str]) -> Made:
        if host["host"] == "primary" and next(attempts) == 0:
            is_over.wait(BOUND_SECONDS)
        return only_primary(host)

    assert ask(Hosts(BOTH), answer).count("primary") == 2
    is_over.set()


def test_the_last_primary_is_asked_first_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "_AHEAD_SECONDS", BOUND_SECONDS)
    known, refuses = Hosts(BOTH), itertools.cycle([True, False])
    ask(known, only_primary)

    def answer(host: dict[str, str]) -> Made:
        if next(refuses):
            raise REFUSED
        return only_primary(host)

    assert ask(known, answer) == ["primary", "primary"]


def test_another_host_is_asked_soon_if_the_last_primary_is_silent() -> None:
    known, is_over = Hosts(BOTH), threading.Event()
    ask(known, only_primary)

    def answer(host: dict[str, str]) -> Made:
        if host["host"] == "primary":
            is_over.wait(BOUND_SECONDS)
        return Made()

    assert ask(known, answer)[:2] == ["primary", "standby"]
    is_over.set()


def test_hosts_that_refuse_are_asked_again_with_pauses_and_the_error_of_the_last_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hosts, "_ASKS_BESIDE_SECONDS", 0.3)
    asked = []

    def refuse(host: dict[str, str]) -> Any:
        asked.append(host["host"])
        raise psycopg.OperationalError(f"refused {len(asked)}")

    with pytest.raises(psycopg.OperationalError, match=r"refused \d+"):
        Hosts(BOTH).connect(refuse, 1.0)
    # Pauses of 20, 40, 80, 160, 200, 200, ... ms; what refuses is not silent, and is not asked beside.
    assert 2 <= asked.count("primary") <= 8
    ended = len(asked)
    time.sleep(0.3)
    assert len(asked) == ended


def test_a_connection_that_comes_late_is_closed() -> None:
    first, late = Made(), Made()

    def connect(host: dict[str, str]) -> Any:
        if host["host"] == "primary":
            return first
        time.sleep(0.1)
        return late

    assert Hosts(BOTH).connect(connect, BOUND_SECONDS) is first
    assert late.closed.wait(BOUND_SECONDS)
    assert not first.closed.is_set()


def test_without_any_answer_the_hosts_are_given_up() -> None:
    def be_silent(host: dict[str, str]) -> Any:
        time.sleep(0.4)
        return Made()

    with pytest.raises(psycopg.OperationalError, match="none of the hosts answers"):
        Hosts(BOTH).connect(be_silent, 0.1)

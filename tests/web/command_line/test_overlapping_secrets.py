"""`ostiary client reset-secret --keep-old-for`: how long the old one has."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.processes import Machine


@pytest.fixture
def secret(machine: Machine) -> str:
    return machine.client()


def find_listed(machine: Machine) -> dict[str, Any]:
    """The client as the list has it."""
    [record] = [each for each in machine.script("client", "list")["items"] if each["clientId"] == "app"]
    found: dict[str, Any] = record
    return found


@pytest.mark.parametrize(
    "duration, seconds", [("60", 60), ("90s", 90), ("30m", 1_800), ("12h", 43_200), ("30d", 2_592_000)]
)
def test_the_old_secret_is_given_the_time_that_was_asked_for(
    machine: Machine, secret: str, duration: str, seconds: int
) -> None:
    before = datetime.now(UTC)
    machine.script("client", "reset-secret", "app", "--keep-old-for", duration)
    until = datetime.fromisoformat(find_listed(machine)["oldSecretUntil"])
    lasts = timedelta(seconds=seconds)
    # The interface shows whole seconds or finer, and never more than there is.
    assert before + lasts - timedelta(seconds=1) <= until <= datetime.now(UTC) + lasts


def test_the_old_secret_is_ended_before_its_time(machine: Machine, secret: str) -> None:
    new = machine.script("client", "reset-secret", "app", "--keep-old-for", "1d")["secret"]
    assert new != secret
    machine.script("client", "end-old-secret", "app")
    assert find_listed(machine)["oldSecretUntil"] is None


@pytest.mark.parametrize("duration", ["soon", "1w", "-5m", "1.5h", ""])
def test_what_is_no_duration_is_said_before_anything_is_asked(
    machine: Machine, secret: str, duration: str
) -> None:
    ran = machine.run("client", "reset-secret", "app", "--keep-old-for", duration)
    assert ran.exit_code == 2
    assert "is not a duration" in ran.err

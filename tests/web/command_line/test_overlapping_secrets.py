"""`ostiary client reset-secret --keep-old-for`: two secrets work until the old one is ended."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.web.command_line.machine import Machine


@pytest.fixture
def address(machine: Machine) -> Iterator[str]:
    with machine.serving() as served:
        yield served


@pytest.fixture
def secret(machine: Machine) -> str:
    return machine.client()


def works(address: str, secret: str) -> bool:
    response = httpx.post(
        f"{address}/api/oauth2/token", data={"grant_type": "client_credentials"}, auth=("app", secret)
    )
    assert response.status_code == 200 or response.json() == {
        "error": "invalid_client",
        "error_description": response.json()["error_description"],
    }
    return response.status_code == 200


def shown(machine: Machine) -> dict[str, Any]:
    """The client as the list has it."""
    [record] = [each for each in machine.script("client", "list")["items"] if each["clientId"] == "app"]
    found: dict[str, Any] = record
    return found


@pytest.mark.parametrize(
    "duration, seconds",
    [("60", 60), ("90s", 90), ("30m", 1_800), ("12h", 43_200), ("30d", 2_592_000)],
)
def test_the_old_secret_is_given_the_time_that_was_asked_for(
    machine: Machine, secret: str, duration: str, seconds: int
) -> None:
    before = datetime.now(UTC)
    machine.script("client", "reset-secret", "app", "--keep-old-for", duration)
    until = datetime.fromisoformat(shown(machine)["oldSecretUntil"])
    lasts = timedelta(seconds=seconds)
    # The interface shows whole seconds or finer, and never more than there is.
    assert before + lasts - timedelta(seconds=1) <= until <= datetime.now(UTC) + lasts


def test_both_secrets_work_until_the_old_one_is_ended(machine: Machine, secret: str, address: str) -> None:
    new = machine.script("client", "reset-secret", "app", "--keep-old-for", "1d")["secret"]
    assert new != secret
    assert (works(address, secret), works(address, new)) == (True, True)
    machine.script("client", "end-old-secret", "app")
    assert (works(address, secret), works(address, new)) == (False, True)
    assert shown(machine)["oldSecretUntil"] is None


@pytest.mark.parametrize("duration", ["59", "1s", "31d", "2592001"])
def test_a_time_that_is_not_allowed_is_refused_and_changes_nothing(
    machine: Machine, secret: str, address: str, duration: str
) -> None:
    refused = machine.run("client", "reset-secret", "app", "--keep-old-for", duration, "--json").refused(
        "A0401"
    )
    assert [fault["path"] for fault in refused["errors"]] == ["keepOldForSeconds"]
    assert works(address, secret)


@pytest.mark.parametrize("duration", ["soon", "1w", "-5m", "1.5h", ""])
def test_what_is_no_duration_is_said_before_anything_is_asked(
    machine: Machine, secret: str, duration: str
) -> None:
    ran = machine.run("client", "reset-secret", "app", "--keep-old-for", duration)
    assert ran.exit_code == 2
    assert "is no duration" in ran.err


def test_what_was_done_is_in_the_audit_trail_without_either_secret(machine: Machine, secret: str) -> None:
    new = machine.script("client", "reset-secret", "app", "--keep-old-for", "1d")["secret"]
    machine.script("client", "end-old-secret", "app")
    trail = machine.run("audit", "export").out
    assert trail.index("client-secret-added") < trail.index("client-old-secret-ended")
    assert secret not in trail
    assert new not in trail

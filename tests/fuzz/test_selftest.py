"""Planted faults: the fuzzers must be able to fail. The whole list runs as `python -m fuzz --selftest`."""

from contextlib import nullcontext

import pytest

from fuzz.faults import FAULTS, Fault
from fuzz.rules.sequences import planted_world
from fuzz.shared.core_events import with_more_scopes
from fuzz.shared.selftest import catch

QUICKLY_CAUGHT = (
    "spent-access-lives",
    "maximum-extended",
    "retry-mints",
    "code-redeemable-twice",
    "code-of-any-client",
    "machine-refreshes",
    "secret-unchecked",
    "deletes-lost",
    "references-forgotten",
    "token-written",
    "enables-above",
    "role-changed-above",
)


@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault.name in QUICKLY_CAUGHT], ids=lambda fault: fault.name
)
def test_a_planted_fault_is_caught_and_gone_afterwards(fault: Fault) -> None:
    harmless = Fault("nothing", "nothing is planted", nullcontext)
    with with_more_scopes():
        found = catch(fault, planted_world, 100)
        assert found.violations
        assert catch(harmless, planted_world, found.runs).violations == ()


def test_faults_have_names_of_their_own_and_there_are_enough_of_them() -> None:
    names = [fault.name for fault in FAULTS]
    assert len(set(names)) == len(names) >= 30
    assert set(QUICKLY_CAUGHT) <= set(names)

"""Every published fault that is listed has its test."""

from tests.advisories.published import PUBLISHED
from tests.advisories.trials import trials


def test_every_published_fault_has_a_test() -> None:
    shown = {identifier for trial in trials() for identifier in trial.identifiers}
    assert shown == set(PUBLISHED)

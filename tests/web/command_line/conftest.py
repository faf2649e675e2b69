"""The machine that the commands run on."""

from pathlib import Path

import pytest

from tests.support.processes import Machine


@pytest.fixture
def bare_machine(tmp_path: Path) -> Machine:
    """One without a database."""
    return Machine(tmp_path)


@pytest.fixture
def machine(bare_machine: Machine) -> Machine:
    """One with a database and its first administrator."""
    assert bare_machine.run("migrate").exit_code == 0
    return bare_machine

"""The machine that the commands run on."""

from pathlib import Path

import pytest

from tests.support.processes import Machine


@pytest.fixture
def bare_machine(tmp_path: Path) -> Machine:
    """Return a machine without a database."""
    return Machine(tmp_path)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a machine with a database and its first administrator."""
    return Machine.with_database(tmp_path)

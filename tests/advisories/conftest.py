"""The application that the advisories are tried on."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.web.served import Served, serving


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """The application with the settings that it has by default, on a SQLite file."""
    async with serving(tmp_path) as running:
        yield running

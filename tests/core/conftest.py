"""The world with which most stories of the core begin."""

import pytest

from tests.support.story import World, given


@pytest.fixture
def world() -> World:
    """A client called app, and alice."""
    return given()

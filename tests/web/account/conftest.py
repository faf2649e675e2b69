"""Whose account it is that these tests are about."""

import pytest

from tests.support.callers import Api
from tests.support.people import sign_in, with_phone
from tests.support.served import Served


@pytest.fixture
async def anna(served: Served) -> Api:
    """A program that Anna signed in, who has a telephone."""
    await with_phone(served)
    return await sign_in(served)

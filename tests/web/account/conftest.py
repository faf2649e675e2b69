"""Whose account it is that these tests are about."""

import pytest

from tests.web.account.people import sign_in, with_phone
from tests.web.callers import Api
from tests.web.served import Served


@pytest.fixture
async def anna(served: Served) -> Api:
    """A program that Anna signed in, who has a telephone."""
    await with_phone(served)
    return await sign_in(served)

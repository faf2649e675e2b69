"""The user whose account these tests are about."""

import pytest

from tests.support.callers import Api
from tests.support.people import sign_in, with_phone
from tests.support.served import Served


@pytest.fixture
async def anna(served: Served) -> Api:
    """Return a program in which Anna, who has a telephone, is signed in."""
    await with_phone(served)
    return await sign_in(served)

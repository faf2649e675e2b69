"""Every test of this folder runs once on each store; those about durability on the ones that have it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.stores import DURABLE, KINDS, ContractStore, OpenStore, open_kind


@pytest.fixture(params=KINDS)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    """How the store of this test is opened."""
    with open_kind(request.param, tmp_path) as open_one:
        yield open_one


@pytest.fixture
def store(open_store: OpenStore) -> Iterator[ContractStore]:
    """An empty store."""
    with open_store() as opened:
        yield opened


@pytest.fixture(params=DURABLE)
def open_durable_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    """How the store of this test is opened, one that outlives being closed."""
    with open_kind(request.param, tmp_path) as open_one:
        yield open_one


@pytest.fixture
def durable_store(open_durable_store: OpenStore) -> Iterator[ContractStore]:
    """An empty store that outlives being closed."""
    with open_durable_store() as opened:
        yield opened

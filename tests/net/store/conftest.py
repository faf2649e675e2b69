"""Every test of this folder runs on each store, or on each that keeps its data on a disk."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.stores import DURABLE, KINDS, ContractStore, OpenStore, open_kind


@pytest.fixture(params=KINDS)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    """A function that opens the store of this test."""
    with open_kind(request.param, tmp_path) as open_one:
        yield open_one


@pytest.fixture
def store(open_store: OpenStore) -> Iterator[ContractStore]:
    """An empty store."""
    with open_store() as opened:
        yield opened


@pytest.fixture(params=DURABLE)
def open_durable_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    """A function that opens the store of this test, which keeps its data when it is closed."""
    with open_kind(request.param, tmp_path) as open_one:
        yield open_one


@pytest.fixture
def durable_store(open_durable_store: OpenStore) -> Iterator[ContractStore]:
    """An empty store that keeps its data when it is closed."""
    with open_durable_store() as opened:
        yield opened

"""An empty schema on the server that OSTIARY_TEST_POSTGRES names."""

from collections.abc import Iterator

import pytest

from tests.support.processes import Cluster, running_cluster
from tests.support.stores import made_schema


@pytest.fixture
def address() -> str:
    """The address of an empty schema, from which no other schema is seen."""
    return made_schema()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL for one module of tests, which they may stop and freeze."""
    with running_cluster() as made:
        yield made

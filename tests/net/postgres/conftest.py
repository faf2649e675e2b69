"""An empty schema on the server that OSTIARY_TEST_POSTGRES names."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

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


@pytest.fixture
def start_pgbouncer(cluster: Cluster) -> Iterator[Callable[[Path], None]]:
    """A function that starts PgBouncer, in front of the cluster, with a file of settings."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        if "pgbouncer" in os.environ.get("OSTIARY_TEST_REQUIRE", ""):
            pytest.fail("OSTIARY_TEST_REQUIRE names pgbouncer, and there is none")
        pytest.skip("no pgbouncer: install pgbouncer")
    with ExitStack() as running:

        def start(settings: Path) -> None:
            process = running.enter_context(
                subprocess.Popen([*cluster.owner, program, "-q", str(settings)], cwd="/")
            )
            running.callback(process.terminate)

        yield start

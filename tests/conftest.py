"""What holds for every test: how Hypothesis runs, frozen values, readable failures in shared assertions."""

import logging
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests.frozen import freeze, immutable_classes

pytest.register_assert_rewrite("tests.core.story", "tests.core.door")

# A deadline measures the machine and not the code; machines that run tests are busy.
settings.register_profile(
    "ostiary", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ostiary")

for _kind in immutable_classes():
    freeze(_kind)


@pytest.fixture(autouse=True)
def _logs_as_they_were() -> Iterator[None]:
    """Commands and servers run in this process set up its logs; the next test starts as the first one did."""
    configured = structlog.get_config()
    loggers = [logging.getLogger(name) for name in (None, "hypercorn.error", "hypercorn.access")]
    before = [(list(logger.handlers), logger.level) for logger in loggers]
    yield
    structlog.configure(**configured)
    for logger, (handlers, level) in zip(loggers, before, strict=True):
        logger.handlers[:] = handlers
        logger.setLevel(level)

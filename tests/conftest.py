"""What holds for every test: how Hypothesis runs, frozen values, readable failures in shared assertions."""

import logging
import os
import pkgutil
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, is_dataclass
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
import structlog
from hypothesis import HealthCheck, settings

import ostiary_core


def immutable_classes() -> Iterator[type[Any]]:
    """Every class of the core that `immutable` made: no other dataclass asks for an unsafe hash."""
    for module in pkgutil.walk_packages(ostiary_core.__path__, "ostiary_core."):
        for kind in vars(import_module(module.name)).values():
            is_own = isinstance(kind, type) and kind.__module__ == module.name and is_dataclass(kind)
            if is_own and vars(kind)["__dataclass_params__"].unsafe_hash:
                yield kind


def freeze(kind: Any) -> None:
    """Let each field of an object be set once, as its class does when it makes one, and none be deleted."""
    kind.__setattr__, kind.__delattr__ = _set_once, _keep


def _set_once(item: Any, name: str, value: object) -> None:
    if hasattr(item, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(item, name, value)


def _keep(item: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


pytest.register_assert_rewrite("tests.support", "tests.core.door")

# A deadline measures the machine and not the code; machines that run tests are busy.
settings.register_profile(
    "ostiary", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ostiary")

for _kind in immutable_classes():
    freeze(_kind)


# A shell ignores interrupts for what it runs in the background, and the servers of tests would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


LONGEST: Final = (
    "web/browser/test_every_page.py",
    "test_packaging.py",
    "net/postgres/test_processes.py",
    "fuzz/test_selftest.py",
    "net/front_door/test_processes.py",
    "web/test_malformed.py",
    "web/operations/test_proxies.py",
    "net/postgres/test_stalled.py",
    "web/resources/test_hostile_sheets.py",
    "net/store/test_conformance.py",
    "test_book.py",
    "web/operations/test_storage.py",
    "web/api_document/test_against_a_server.py",
    "fuzz/simulation/test_same_trace.py",
    "fuzz/test_mutants.py",
    "clients/test_python.py",
    "web/operations/test_backup.py",
    "net/postgres/test_rolling_restart.py",
    "test_docs.py",
)
"""Files that take longest: begun first, so that at the end no worker waits for another."""


ORDER_SEED: Final = os.environ.get("OSTIARY_TEST_ORDER_SEED")
"""Seed of the order of files, and of tests in each; without one they run as they are written."""


@pytest.hookimpl(tryfirst=True)
def pytest_report_header() -> str:
    """Name the seed, which gives the same order again."""
    return f"order of tests: {ORDER_SEED or 'as written'}"


def _shuffle(items: list[pytest.Item], seed: str) -> None:
    """Put files in a random order, and the tests of each: a file's own servers are started once."""
    draw = Random(seed)
    places = {path: draw.random() for path in sorted({item.path for item in items})}
    draw.shuffle(items)
    items.sort(key=lambda item: places[item.path])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests of a worker, whose files are handed out in this order: the longest, then the fullest."""
    places = {Path(__file__).parent / name: place for place, name in enumerate(LONGEST)}
    assert all(path.exists() for path in places)
    if ORDER_SEED is not None:
        _shuffle(items, ORDER_SEED)
    if hasattr(config, "workerinput"):
        counts = Counter(item.path for item in items)
        items.sort(key=lambda item: (places.get(item.path, len(places)), -counts[item.path], str(item.path)))


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

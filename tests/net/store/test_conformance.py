"""Our stores on disk pass the kit for stores; tests/core runs it on the store in memory."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path

import pytest

from ostiary_core.conformance import check_store
from tests.support.stores import DURABLE, ContractStore, OpenStore, at_once, open_kind


class Bench:
    """Makes stores of one kind, and opens each again from what it kept."""

    def __init__(self, open_in: Callable[[Path], AbstractContextManager[OpenStore]], folder: Path) -> None:
        self._open_in = open_in
        self._folder = folder
        self._stack = ExitStack()
        self._made = 0
        self._openers: dict[int, tuple[OpenStore, ExitStack]] = {}

    def make(self) -> ContractStore:
        self._made += 1
        folder = self._folder / str(self._made)
        folder.mkdir()
        return self._open(self._stack.enter_context(self._open_in(folder)))

    def reopen(self, store: ContractStore) -> ContractStore:
        open_store, held = self._openers.pop(id(store))
        held.close()
        return self._open(open_store)

    def _open(self, open_store: OpenStore) -> ContractStore:
        held = self._stack.enter_context(ExitStack())
        store = held.enter_context(open_store())
        self._openers[id(store)] = open_store, held
        return store

    def close(self) -> None:
        self._stack.close()


@pytest.fixture
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    one = Bench(partial(open_kind, request.param), tmp_path)
    yield one
    one.close()


@pytest.mark.parametrize("bench", DURABLE, indirect=True)
def test_our_store_is_sound(bench: Bench) -> None:
    report = check_store(bench.make, reopen=bench.reopen, at_once=at_once)
    assert report.is_sound, str(report)
    assert not report.left_out

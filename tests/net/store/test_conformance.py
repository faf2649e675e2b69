"""Our stores on disk pass the kit for stores; tests/core runs it on the store in memory."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import mkdtemp

import pytest

from ostiary_core.conformance import check_store
from tests.support.stores import DURABLE, ContractStore, OpenStore, at_once, open_kind


@pytest.mark.parametrize("kind", DURABLE)
def test_our_store_is_sound(kind: str, tmp_path: Path) -> None:
    opened: dict[int, tuple[OpenStore, ExitStack]] = {}
    with ExitStack() as stack:

        def make() -> ContractStore:
            return open_held(stack.enter_context(open_kind(kind, Path(mkdtemp(dir=tmp_path)))))

        def open_held(open_store: OpenStore) -> ContractStore:
            held = stack.enter_context(ExitStack())
            store = held.enter_context(open_store())
            opened[id(store)] = open_store, held
            return store

        def reopen(store: ContractStore) -> ContractStore:
            open_store, held = opened.pop(id(store))
            held.close()
            return open_held(open_store)

        report = check_store(make, reopen=reopen, at_once=at_once)
    assert report.is_sound, str(report)
    assert not report.left_out

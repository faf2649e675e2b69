"""Transcripts: what is shown on every page and by every command is what was read and kept.

`OSTIARY_TEST_TRANSCRIPTS=write` has a run write what is shown now; read the difference before it is kept.
"""

import os
import re
from pathlib import Path

import pytest

from ostiary_net.postgres import PostgreSQLStore
from ostiary_web.server.settings import Settings
from ostiary_web.server.storage import make_policy
from tests.support.served import OpenStore, Serve, on_disk
from tests.support.stores import lent_schema
from tests.support.transcripts import Player, play

FOLDER = Path(__file__).with_name("transcripts")
KEPT = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.iterdir())}
OF_SQLITE = re.compile("^> (command|summarise|GET .*metrics)|^    Schema$", re.MULTILINE)
"""On PostgreSQL there is no file for commands, and no log to measure, entries are counted a minute later, and
the steps of the schema have other numbers."""
IS_WRITING = os.environ.get("OSTIARY_TEST_TRANSCRIPTS") == "write"


@pytest.fixture(autouse=True)
def _is_optimised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostiary_web.server.checks.is_optimised", lambda: True)


async def show(name: str, serve: Serve, folder: Path, open_store: OpenStore = on_disk) -> str:
    settings = dict(re.findall("^> with (\\w+)=(.+)$", KEPT[name], re.MULTILINE))
    async with serve(open_store=open_store, **settings) as served:
        return await play(KEPT[name], Player(served, folder), is_writing=IS_WRITING)


@pytest.mark.parametrize("name", KEPT)
async def test_what_is_shown_is_what_was_kept(name: str, serve: Serve, tmp_path: Path) -> None:
    shown = await show(name, serve, tmp_path)
    if IS_WRITING:
        (FOLDER / f"{name}.txt").write_text(shown, encoding="utf-8")
    assert shown == KEPT[name]


@pytest.mark.parametrize("name", [name for name, kept in KEPT.items() if not OF_SQLITE.search(kept)])
async def test_what_is_shown_is_the_same_on_postgresql(name: str, serve: Serve, tmp_path: Path) -> None:
    with lent_schema() as address:

        def open_store(settings: Settings) -> PostgreSQLStore:
            return PostgreSQLStore(address, policy=make_policy(settings), keeps_time=False)

        assert await show(name, serve, tmp_path, open_store) == KEPT[name]

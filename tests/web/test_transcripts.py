"""Transcripts: what is shown on every page and by every command is what was read and kept.

`OSTIARY_TEST_TRANSCRIPTS=write` has a run write what is shown now; read the difference before it is kept.
"""

import os
import re
from pathlib import Path

import pytest

from tests.support.served import Serve
from tests.support.transcripts import Player, play

FOLDER = Path(__file__).with_name("transcripts")
IS_WRITING = os.environ.get("OSTIARY_TEST_TRANSCRIPTS") == "write"


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.iterdir()))
async def test_what_is_shown_is_what_was_kept(
    name: str, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostiary_web.server.checks.is_optimised", lambda: True)
    kept = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    settings = dict(re.findall("^> with (\\w+)=(.+)$", kept, re.MULTILINE))
    async with serve(**settings) as served:
        shown = await play(kept, Player(served, tmp_path))
    if IS_WRITING:
        (FOLDER / f"{name}.txt").write_text(shown, encoding="utf-8")
    assert shown == kept

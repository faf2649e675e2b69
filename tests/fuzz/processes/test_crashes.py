"""The crash campaign: it finds nothing on the real server, and finds what is lost where something is."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from fuzz.processes.api import Violation
from fuzz.processes.connection import Connection
from fuzz.processes.crashes import World
from fuzz.processes.server import Server, Warmth
from fuzz.shared.http_client import Response


def far_away() -> float:
    """A time that the campaign never reaches, on the clock it goes by."""
    return time.monotonic() + 600


@pytest.fixture(scope="module")
def warmth() -> Iterator[Warmth]:
    with Warmth() as warmth:
        yield warmth


def test_what_was_acknowledged_survives_kills_under_load(tmp_path: Path) -> None:
    world = World(7, 0, tmp_path, None)
    trio.run(world.live, 2, far_away())
    assert world.report.counts["kills"] >= 2
    # How much is done between two kills is the machine's; that something is, and is asked about, is not.
    assert world.report.tables["acknowledged"].total() > 0
    assert world.report.counts["checks"] > world.report.counts["kills"]


def test_a_server_that_forgets_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warmth: Warmth
) -> None:
    """Between a kill and the next start the files go back to what they were a kill earlier."""
    world = World(8, 0, tmp_path / "home", warmth)
    older = tmp_path / "older"
    start = Server.start

    def start_with_older_files(server: Server) -> None:
        if older.exists():
            shutil.rmtree(server.folder)
            shutil.copytree(older, server.folder)
        elif server.database.exists():
            shutil.copytree(server.folder, older)
        start(server)

    (tmp_path / "home").mkdir()
    monkeypatch.setattr(Server, "start", start_with_older_files)
    # More than one tenant may notice.
    with pytest.raises(ExceptionGroup) as caught:
        trio.run(world.live, 20, far_away())
    assert caught.value.split(Violation)[1] is None


def test_a_secret_in_the_log_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warmth: Warmth
) -> None:
    world = World(9, 0, tmp_path, warmth)
    post_form = Connection.post_form

    async def post_and_tell(
        connection: Connection, path: str, *parts: object, **form: str | None
    ) -> Response:
        if form.get("token"):
            with world.server.log.open("a") as log:
                log.write(f"asked for {form['token']}\n")
        response: Response = await post_form(connection, path, *parts, **form)  # type: ignore[arg-type]
        return response

    monkeypatch.setattr(Connection, "post_form", post_and_tell)
    with pytest.raises(Violation, match="log holds the text of"):
        trio.run(world.live, 5, far_away())

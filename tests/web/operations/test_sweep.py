"""`ostiary sweep`: what it purged is told, beside a server or without one."""

from pathlib import Path

from ostiary_core.model.decision import Insert, Update
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import RefreshToken, Session, Table, revise
from ostiary_core.model.secret import digest_of
from ostiary_net.sqlite import SQLiteStore
from tests.support.processes import Machine, token


def test_what_has_lapsed_is_gone_and_counted(tmp_path: Path) -> None:
    machine = Machine(tmp_path, RETENTION_SESSIONS_DAYS="1")
    assert machine.run("migrate").exit_code == 0
    secret = machine.client()
    with machine.serving() as address:
        for _ in range(2):
            token(address, secret)
        with SQLiteStore(tmp_path / "ostiary.db") as store:
            first, _ = (each for each in store.records(Table.SESSION) if isinstance(each, Session))
            refresh_token = RefreshToken(
                digest=digest_of("a token"), session_id=first.session_id, generation=0
            )
            store.write([Update(first, revise(first, expires_at=Instant(0))), Insert(refresh_token)])
        cleared = machine.script("sweep")
    assert cleared.pop("countedEntries") >= 2  # the server counts at its start
    assert {what: number for what, number in cleared.items() if number} == {"sessions": 1, "tokens": 1}
    assert set(machine.script("sweep").values()) == {0}
    assert machine.run("sweep").lines[0].split() == ["salts", "0"]

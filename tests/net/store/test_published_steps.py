"""Published steps of the schema are never edited, and databases of older releases open without loss."""

from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from ostiary_core import events
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Session, Table, User
from ostiary_core.model.reply import Done, PersonalTokenIssued, TokensIssued
from ostiary_core.model.secret import Secret
from ostiary_core.storage.listing import AUDIT, Listing
from ostiary_net.postgres import PostgreSQLStore
from ostiary_net.sql.migrations import SchemaError
from ostiary_net.sql.store import SQLStore
from ostiary_net.sqlite import SQLiteStore
from tests.support import asks
from tests.support.asks import user
from tests.support.stores import DURABLE, made_schema
from tests.support.story import World, given

FIRST_RELEASE = Path(__file__).parents[1] / "sqlite" / "first_release.sql"
NOW = Instant(1_800_000_150_000)
"""Half a minute after the last record of the file."""
SECRET = Secret("uvsARFYWkCRN4mYLwQnGpKV7yKQIOjf2bXktIw1BW0G")
REFRESH_TOKEN = Secret("BRelFaJP6vvwSAtEDVmoQcrKaKq53o4PzyieO5YcQI8")
ACCESS_TOKEN = Secret("O27qz33zaKsAITfV-5GRi92HeorG51y5YKmOQ4DdC0k")

PUBLISHED = {
    "sqlite/0015_first_release": "de606268235f17f42948c38d61e9fefa2157f5783771df75582895aab2a0cedf",
    "postgres/0014_first_release": "424f43b7f62781b0becf648f6294b39ecfecc1e1dfb62bb3c6ac8047585c5431",
}
"""SHA-256 of each published step: databases have taken it as it is."""


def step_of(step: str) -> bytes:
    database, _, name = step.partition("/")
    return files(f"ostiary_net.{database}").joinpath("migrations", f"{name}.sql").read_bytes()


@pytest.mark.parametrize("step", PUBLISHED)
def test_a_published_step_is_never_edited(step: str) -> None:
    assert sha256(step_of(step)).hexdigest() == PUBLISHED[step], "write a new step"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ostiary.db"
    with apsw.Connection(str(path)) as connection:
        connection.execute(FIRST_RELEASE.read_text(encoding="utf-8")).fetchall()
    return path


def test_a_file_of_the_first_release_is_opened_without_loss(file: Path) -> None:
    with SQLiteStore(file) as store:
        counts = {table: len(store.records(table)) for table in Table if table is not Table.ACCESS_TOKEN}
        assert {table: number for table, number in counts.items() if number} == {
            Table.IDENTIFIER: 3,
            Table.REFRESH_TOKEN: 3,
            Table.CODE: 1,
            Table.SESSION: 2,
            Table.CONSENT: 1,
            Table.USER: 3,
            Table.ROLE: 1,
            Table.CLIENT: 3,
        }
        assert [entry.number for entry in store.audit()] == list(range(1, 11))
        kept: Any = store
        world = World(store=kept, now=NOW, secrets={"app": SECRET})
        assert world.is_active(ACCESS_TOKEN)
        refreshed = world.when(asks.refresh(world.basic(), REFRESH_TOKEN)).reply
        assert isinstance(refreshed, TokensIssued)
        assert world.is_active(refreshed.access_token)
        assert [entry.number for entry in store.page(Listing(resource=AUDIT), NOW).items][:2] == [11, 10]
        assert store.state().schema == store.state().known_schema


def test_its_schema_is_the_one_that_this_release_makes(file: Path, tmp_path: Path) -> None:
    SQLiteStore(file).close()
    SQLiteStore(tmp_path / "new.db").close()
    assert shape_of(file) == shape_of(tmp_path / "new.db")


def shape_of(path: Path) -> dict[str, str]:
    """Return the statement of each table, index and view, without spaces and quotes."""
    with apsw.Connection(str(path)) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    return {str(name): "".join(str(sql).replace('"', "").split()) for name, sql in rows}


def count_again(address: str) -> None:
    """Take the counts of tokens from the accounts, as in an older release, and execute the step again."""
    is_file = address.endswith(".db")
    connection: Any = apsw.Connection(address) if is_file else psycopg.connect(address)
    with connection:
        for column in ("token_expiries", "tokens_epoch"):
            connection.execute(f"ALTER TABLE users DROP COLUMN {column}")
        step = "sqlite/0021_token_counts" if is_file else "postgres/0020_token_counts"
        connection.execute(step_of(step).decode())


def make_tokens(store: Any) -> tuple[Instant, ...]:
    """Make tokens of two users and end some; return when the live ones of anna expire."""
    users = [user(name, roles=("clerk",)) for name in ("anna", "ben", "carol")]
    world = given(asks.role("clerk", Permission.AUDIT_READ), *users, store=store)

    def make(name: str, days: int) -> Session:
        held = (Permission.AUDIT_READ.value,)
        asked = asks.personal_token(world.login(name), permissions=held, expiresInDays=days)
        return world.when(asked).then(PersonalTokenIssued).session

    short, ended, long = (make("anna", days) for days in (1, 30, 90))
    world.when(events.OwnSessionEnded(caller=world.caller("anna"), session_id=ended.session_id)).then(Done)
    make("ben", 30)
    world.when(asks.password_change(world.login("ben")))
    return (short.expires_at, long.expires_at)


def users_of(store: Any) -> dict[str, User]:
    return {each.username: each for each in store.records(Table.USER)}


@pytest.mark.parametrize("kind", DURABLE)
def test_the_step_that_brings_the_count_of_tokens_counts_those_that_live(kind: str, tmp_path: Path) -> None:
    address = made_schema() if kind == "postgresql" else str(tmp_path / "ostiary.db")

    def open_store() -> SQLStore:
        return PostgreSQLStore(address, keeps_time=False) if kind == "postgresql" else SQLiteStore(address)

    with open_store() as store:
        counted, epoch = make_tokens(store), users_of(store)["anna"].tokens_epoch
    count_again(address)
    with open_store() as store:
        users = users_of(store)
    assert tuple(sorted(users["anna"].token_expiries)) == counted
    assert (users["ben"].token_expiries, users["carol"].token_expiries) == ((), ())
    assert users["anna"].tokens_epoch == epoch


def test_a_file_from_before_the_first_release_is_refused_and_left_as_it_is(file: Path) -> None:
    with apsw.Connection(str(file)) as connection:
        connection.execute("DELETE FROM schema_migrations WHERE version > 12")
        connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    before = file.read_bytes()
    with pytest.raises(SchemaError, match="has schema version 12, from before the first release"):
        SQLiteStore(file)
    assert file.read_bytes() == before

"""Records in a store: each comes out as it went in, and every write is guarded."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings, strategies as st

from ostiary_core import Instant, LostRace
from ostiary_core.model.decision import Change, Delete, Insert, Update
from ostiary_core.model.records import RECORD_TABLES, Identifier, IdentifierKind, Record, Role, Table, revise
from ostiary_net.sql.columns import TABLES
from ostiary_net.sql.store import SQLStore
from tests.support import asks
from tests.support.stores import KINDS, ContractStore, open_kind
from tests.support.strategies import records_of


def role(role_id: str, name: str = "a role") -> Role:
    return Role(role_id=role_id, name=name)


def everything(store: ContractStore) -> set[Record]:
    return {record for table in RECORD_TABLES for record in store.records(table)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("table", TABLES)
def test_every_kind_of_record_comes_back_as_it_went_in(kind: str, table: Table) -> None:
    with TemporaryDirectory() as folder, open_kind(kind, Path(folder)) as open_store, open_store() as store:

        @settings(max_examples=15)
        @given(st.data())
        def round_trip(data: st.DataObject) -> None:
            first: Record = data.draw(records_of(TABLES[table].record))
            key = {name: getattr(first, name) for name in TABLES[table].key}
            later: Record = revise(data.draw(records_of(TABLES[table].record)), **key)
            store.write([Insert(first)])
            assert list(store.fetch(table, [first.key.id])) == [first]
            store.write([Update(first, later)])
            assert list(store.fetch(table, [first.key.id])) == [later]
            assert store.records(table) == (later,)
            store.write([Delete(later)])
            assert list(store.fetch(table, [first.key.id])) == []

        round_trip()


def test_a_password_hash_of_another_system_is_found_until_there_is_none(durable_store: ContractStore) -> None:
    assert isinstance(durable_store, SQLStore)
    ours = "$argon2id$v=19$m=8,t=1,p=1$"
    given = {"none": None, "ours": f"{ours}c2FsdA$aGFzaA", "theirs": "$2b$12$x"}
    durable_store.turn([replace(asks.user(name), password_hash=given[name]) for name in given], Instant(0))
    assert durable_store.has_password_hash_unlike(ours)
    [theirs] = [each for each in durable_store.records(Table.USER) if "theirs" in str(each)]
    durable_store.write([Update(theirs, revise(theirs, deleted_at=Instant(1)))])
    assert not durable_store.has_password_hash_unlike(ours)


def test_more_keys_of_two_parts_than_any_one_statement_takes_are_all_found(store: ContractStore) -> None:
    names: list[Record] = [
        Identifier(kind=IdentifierKind.USERNAME, value=f"name {number}", user_id="u") for number in range(700)
    ]
    store.write([Insert(name) for name in names])
    assert set(store.fetch(Table.IDENTIFIER, [name.key.id for name in names])) == set(names)


@pytest.mark.parametrize(
    "identifier",
    ["", "nobody", "nul\x00inside", "half a pair \ud800", "\udfff", "x" * 100_000, "' OR 1=1 --"],
)
def test_a_key_that_nothing_stands_under_is_a_known_absence(store: ContractStore, identifier: str) -> None:
    store.write([Insert(role("somebody"))])
    assert list(store.fetch(Table.ROLE, [identifier])) == []
    assert list(store.fetch(Table.ROLE, [identifier, "somebody"])) == [role("somebody")]
    assert list(store.fetch(Table.IDENTIFIER, [("username", identifier), (identifier, "x")])) == []


def test_a_name_with_a_nul_is_not_the_one_that_could_be_written_for_it(store: ContractStore) -> None:
    store.write([Insert(Identifier(kind=IdentifierKind.USERNAME, value="a\ufffdb", user_id="u"))])
    assert list(store.fetch(Table.IDENTIFIER, [("username", "a\x00b")])) == []


def test_a_refused_write_says_which_table_and_no_value(store: ContractStore) -> None:
    taken = Identifier(kind=IdentifierKind.PHONE, value="+15550100", user_id="u")
    store.write([Insert(taken)])
    with pytest.raises(LostRace) as lost:
        store.write([Insert(taken)])
    assert "identifier" in str(lost.value).lower()
    assert "+15550100" not in str(lost.value)


@pytest.mark.parametrize("number", [1, 2, 15, 16, 17, 47])
def test_one_lost_race_among_many_changes_refuses_all(store: ContractStore, number: int) -> None:
    first = [role(f"role {each}") for each in range(number)]
    later = [revise(one, name="renamed") for one in first]
    moved_on = role("another")
    store.write([Insert(moved_on)])
    store.write([Update(moved_on, revise(moved_on, name="moved on"))])
    store.write([Insert(one) for one in first])
    store.write([Update(before, after) for before, after in zip(first, later, strict=True)])
    standing = everything(store)
    for place in {0, number // 2, number - 1}:
        for changes in (
            _with([Insert(role(f"fresh {each}")) for each in range(number)], place, Insert(moved_on)),
            _with([Delete(one) for one in later], place, Delete(moved_on)),
            _with([Delete(one) for one in later], place, Delete(role("nobody"))),
            _with([Update(one, revise(one)) for one in later], place, Update(moved_on, revise(moved_on))),
        ):
            with pytest.raises(LostRace, match=r"(?i)role"):
                store.write(changes)
            assert everything(store) == standing
    store.write([Delete(one) for one in later])
    assert {record.key.id for record in everything(store)} == {"another"}


def _with(changes: Sequence[Change], place: int, other: Change) -> list[Change]:
    return [*changes[:place], other, *changes[place:]]


def test_records_of_several_revisions_are_removed_together(store: ContractStore) -> None:
    fresh = [role(f"fresh {number}") for number in range(20)]
    older = [role(f"older {number}") for number in range(20)]
    newer = [revise(one, name="renamed") for one in older]
    store.write([Insert(one) for one in [*fresh, *older]])
    store.write([Update(before, after) for before, after in zip(older, newer, strict=True)])
    store.write([Delete(one) for one in [*fresh, *newer]])
    assert everything(store) == set()

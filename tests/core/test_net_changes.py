"""A turn writes a record at most once, with the same result as if each of its changes were written."""

from collections.abc import Iterator, Sequence

from hypothesis import given, strategies as st

from ostiary_core import MemoryStore
from ostiary_core.model.decision import Change, Decision, Delete, Insert, Update
from ostiary_core.model.records import Identifier, IdentifierKind, Record, Role, Table, revise
from ostiary_core.model.reply import Done
from ostiary_core.storage.store import net_changes

Step = str | None
"""The next name of the role; None deletes it."""

steps: st.SearchStrategy[list[Step]] = st.lists(st.sampled_from(["one", "other", None]), max_size=6)


def role(name: str) -> Role:
    return Role(role_id="clerk", name=name)


def changes_from(standing: Role | None, steps: Sequence[Step]) -> Iterator[Change]:
    """Yield changes as the rules make them in one turn: each from what the one before it left."""
    for name in steps:
        before = standing
        if name is None:
            standing = None
            if before is not None:
                yield Delete(before)
        elif before is None:
            standing = role(name)
            yield Insert(standing)
        else:
            standing = revise(before, name=name)
            yield Update(before, standing)


def decisions_of(changes: Sequence[Change], decided_together: int) -> list[Decision]:
    """Group the changes in order, so many to a decision."""
    parts = [changes[start : start + decided_together] for start in range(0, len(changes), decided_together)]
    return [Decision(Done(), tuple(part)) for part in parts]


def the_role(store: MemoryStore) -> Role | None:
    for record in store.records(Table.ROLE):
        assert isinstance(record, Role)
        return record
    return None


@given(st.lists(steps, max_size=6), st.integers(1, 3))
def test_changes_written_at_once_have_the_result_of_changes_written_one_by_one(
    turns: list[list[Step]], decided_together: int
) -> None:
    """Compare all but revisions, which a record that stands between two turns never has twice."""
    at_once, one_by_one = MemoryStore(), MemoryStore()
    for turn in turns:
        for change in changes_from(the_role(one_by_one), turn):
            one_by_one.write([change])
        before = the_role(at_once)
        net = net_changes(decisions_of(list(changes_from(before, turn)), decided_together))
        at_once.write(net)
        after = the_role(at_once)
        assert (after and after.name) == ((last := the_role(one_by_one)) and last.name)
        assert len(net) <= 1
        if net and before is not None and after is not None:
            assert after.revision > before.revision
        else:
            assert (after == before) is (not net)


def test_a_name_that_passes_on_stays_at_the_revision_by_which_it_is_freed() -> None:
    of_anna, of_ben = (
        Identifier(kind=IdentifierKind.USERNAME, value="a", user_id=user_id) for user_id in ("anna", "ben")
    )
    store = MemoryStore()
    records: list[Record] = [of_anna, role("one")]
    store.write([Insert(record) for record in records])
    store.write(net_changes(decisions_of([Delete(of_anna), Insert(of_ben)], 1)))
    store.write([Delete(of_ben)])
    assert store.records(Table.IDENTIFIER) == ()

"""Values are never changed: type checkers refuse it, and so do the tests of the core."""

import copy
import dataclasses
import pickle
from typing import TYPE_CHECKING, Any, get_args

import pytest

from ostiary_core.http.answer import Answer
from ostiary_core.http.endpoint import PendingRequest
from ostiary_core.loading.keys import Keys
from ostiary_core.model.audit import AuditEntry, Origin
from ostiary_core.model.decision import Change, Decision
from ostiary_core.model.fact import Fact
from ostiary_core.model.records import Identifier, IdentifierKind, Record, revise
from ostiary_core.model.reply import Done, Reply
from tests.core.conftest import IMMUTABLE
from tests.support.strategies import EVENTS

RECORDS = get_args(Record)


def _some(kind: type[Any]) -> dict[str, object]:
    return {each.name: f"a {each.name}" for each in dataclasses.fields(kind)}


if TYPE_CHECKING:
    # Were a field allowed to be set, `mypy --strict` would call these comments unused.
    Identifier(kind=IdentifierKind.PHONE, value="1", user_id="u").user_id = "v"  # type: ignore[misc]
    Decision(Done()).facts = ()  # type: ignore[misc]
    Identifier(IdentifierKind.PHONE, "1", "u")  # type: ignore[call-arg]


def test_everything_that_a_request_makes_is_immutable() -> None:
    made = {*RECORDS, *get_args(Change), *get_args(Reply), *EVENTS, Decision, Fact, Keys}
    assert made | {Origin, AuditEntry, Answer, PendingRequest} <= {*IMMUTABLE}


@pytest.mark.parametrize("kind", IMMUTABLE)
def test_a_value_is_its_fields(kind: type[Any]) -> None:
    given = _some(kind)
    made = kind(**given)
    assert not hasattr(made, "__dict__")
    assert {name: getattr(made, name) for name in given} == given
    assert made == kind(**given)
    assert hash(made) == hash(kind(**given))
    assert pickle.loads(pickle.dumps(made)) == copy.copy(made) == copy.deepcopy(made) == made
    for name in given:
        assert dataclasses.replace(made, **{name: "another"}) != made
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, name, "another")
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(made, name)


@pytest.mark.parametrize("changes", [{"unknown": 1}, {"key": 1}, {"table": 1}, {"revision": 1}])
def test_a_revision_of_an_unknown_field_or_of_the_revision_itself_is_refused(changes: dict[str, int]) -> None:
    record = Identifier(kind=IdentifierKind.PHONE, value="1", user_id="u")
    with pytest.raises(TypeError):
        revise(record, **changes)


@pytest.mark.parametrize("kind", RECORDS)
def test_each_kind_of_record_has_a_next_revision(kind: type[Any]) -> None:
    record = kind(**{**_some(kind), "revision": 4})
    assert revise(record) == dataclasses.replace(record, revision=5)
    for name in _some(kind).keys() - {"revision"}:
        changed = dataclasses.replace(record, **{name: "another"}, revision=5)
        assert revise(record, **{name: "another"}) == changed
    assert record == kind(**{**_some(kind), "revision": 4})

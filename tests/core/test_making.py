"""A maker gives what the class gives, however it is called; what it would make wrongly it refuses."""

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, InitVar, dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from ostiary_core.decision import Decision, Delete, Fact, Insert, TokenActive, TokensIssued, Update
from ostiary_core.instant import Instant
from ostiary_core.making import maker, open_twin, replacer
from ostiary_core.records import (
    AuthorizationCode,
    Client,
    Consent,
    Identifier,
    IdentifierKind,
    RefreshToken,
    Role,
    Session,
    TextCode,
    User,
    revised,
)

T = TypeVar("T")

RECORDS = (Client, User, Role, Identifier, AuthorizationCode, RefreshToken, Session, Consent, TextCode)
OTHERS = (Decision, Delete, Fact, Insert, TokenActive, TokensIssued, Update)


@dataclass(frozen=True, slots=True)
class Hard:
    """Fields with the names of what a maker is written with, in the order that Python allows."""

    table: ClassVar[int] = 7

    kind: str
    late: int = field(kw_only=True)
    made: tuple[int, ...] = (1, 2)
    names: int = field(default=3, kw_only=True, repr=False)
    same: int = field(default=4, compare=False)
    self: str = "self"


make_hard = maker(Hard)
replace_hard = replacer(Hard)


def _some(kind: type[Any]) -> dict[str, object]:
    return {each.name: f"a {each.name}" for each in dataclasses.fields(kind)}


@pytest.mark.parametrize("kind", [*RECORDS, *OTHERS])
def test_what_is_made_is_what_the_class_makes(kind: type[Any]) -> None:
    given = _some(kind)
    made, expected = maker(kind)(**given), kind(**given)
    assert type(made) is kind
    assert made == expected
    assert hash(made) == hash(expected)
    assert repr(made) == repr(expected)


@pytest.mark.parametrize("kind", [*RECORDS, *OTHERS])
def test_defaults_are_those_of_the_class(kind: type[Any]) -> None:
    needed = {
        each.name: f"a {each.name}"
        for each in dataclasses.fields(kind)
        if each.default is dataclasses.MISSING
    }
    assert maker(kind)(**needed) == kind(**needed)


def test_places_names_and_defaults_are_taken_as_the_class_takes_them() -> None:
    assert make_hard("a", late=1) == Hard("a", late=1)
    assert make_hard("a", (3,), 5, "b", late=1, names=2) == Hard("a", (3,), 5, "b", late=1, names=2)
    assert make_hard(kind="a", self="b", late=1).self == "b"
    assert make_hard("a", late=1).table == 7


def test_what_the_class_refuses_is_refused_in_its_words() -> None:
    wrong: list[tuple[tuple[object, ...], dict[str, object]]] = [
        ((), {}),
        (("a",), {}),
        (("a",), {"late": 1, "unknown": 2}),
        (("a",), {"late": 1, "kind": "b"}),
        ((), {"late": 1}),
    ]
    for arguments, named in wrong:
        with pytest.raises(TypeError) as of_class:
            Hard(*arguments, **named)  # type: ignore[arg-type]
        with pytest.raises(TypeError) as of_maker:
            make_hard(*arguments, **named)  # type: ignore[arg-type]
        assert str(of_maker.value) == str(of_class.value).replace(".__init__", "")
    with pytest.raises(TypeError):
        make_hard("a", (1,), 2, "b", 1)  # type: ignore[call-arg]


def test_what_was_made_is_frozen_and_copied_like_any_other() -> None:
    made = make_hard("a", late=1)
    with pytest.raises(FrozenInstanceError):
        made.kind = "b"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del made.kind
    assert not hasattr(made, "__dict__")
    assert pickle.loads(pickle.dumps(made)) == made
    assert copy.copy(made) == copy.deepcopy(made) == made
    assert dataclasses.replace(made, kind="b") == Hard("b", late=1)


def test_a_replacer_does_what_the_standard_library_does() -> None:
    given = Hard("a", late=1, same=9)
    for changes in ({}, {"kind": "b"}, {"late": 2, "same": 3, "self": "c"}, _some(Hard)):
        made: Hard = replace_hard(given, **changes)
        expected = dataclasses.replace(given, **changes)
        assert type(made) is Hard
        assert dataclasses.astuple(made) == dataclasses.astuple(expected)
    assert given == Hard("a", late=1, same=9)


@pytest.mark.parametrize("changes", [{"unknown": 1}, {"key": 1}, {"table": 1}, {"revision": 1}])
def test_a_revision_of_what_is_no_field_or_of_the_revision_itself_is_refused(changes: dict[str, int]) -> None:
    record = Identifier(kind=IdentifierKind.PHONE, value="1", user_id="u")
    with pytest.raises(TypeError):
        revised(record, **changes)


@pytest.mark.parametrize("kind", RECORDS)
def test_each_kind_of_record_has_a_next_revision(kind: type[Any]) -> None:
    record = kind(**{**_some(kind), "revision": 4})
    assert revised(record) == dataclasses.replace(record, revision=5)


def test_an_object_of_the_open_twin_becomes_one_of_the_class() -> None:
    opened: Any = open_twin(Consent)()
    given = {
        "user_id": "u",
        "client_id": "c",
        "scopes": (),
        "granted_at": Instant(1),
        "epoch": 0,
        "revision": 1,
    }
    for name, value in given.items():
        setattr(opened, name, value)
    opened.__class__ = Consent
    assert opened == Consent(**given)  # type: ignore[arg-type]


class Plain:
    kind: str


@dataclass(frozen=True)
class WithoutSlots:
    kind: str


@dataclass(frozen=True, slots=True)
class Derived(Hard):
    more: int = 1


@dataclass(frozen=True, slots=True)
class OfAnyType(Generic[T]):
    kind: T


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Referred:
    kind: str


@dataclass(frozen=True, slots=True)
class Prepared:
    kind: str

    def __post_init__(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Started:
    kind: str
    start: InitVar[int]


@dataclass(frozen=True, slots=True)
class Computed:
    kind: str
    length: int = field(init=False, default=0)


@dataclass(frozen=True, slots=True)
class MadeAnew:
    kind: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Hidden:
    _kind: str


@dataclass(frozen=True, slots=True)
class WithItsOwn:
    kind: str

    def __init__(self, other: str) -> None: ...


@pytest.mark.parametrize("make", [maker, replacer])
@pytest.mark.parametrize(
    "kind",
    [
        str,
        Plain,
        WithoutSlots,
        Derived,
        OfAnyType,
        Referred,
        Prepared,
        Started,
        Computed,
        MadeAnew,
        Hidden,
        WithItsOwn,
    ],
)
def test_a_class_that_would_be_made_wrongly_is_refused(make: Any, kind: type[Any]) -> None:
    with pytest.raises(TypeError):
        make(kind)

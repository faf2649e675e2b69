"""Any event, with any contents, over any state: Hypothesis strategies drawn from the types themselves.

An event class or a field that is added later is generated from then on, without a word here.
"""

import dataclasses
import sys
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any

from hypothesis import strategies as st

from ostiary_core import Digest, Entropy, Instant, MemoryStore, Secret
from ostiary_core.events import AdministrationEvent, Event
from ostiary_core.model.changes import FieldChange
from ostiary_core.model.decision import Insert
from ostiary_core.model.instant import Arrival
from ostiary_core.model.records import RECORD_TABLES, Epochs, Key, Record, Table, TextCodePurpose
from ostiary_core.model.unknown_word import UnknownWord
from tests.support.story import START

EVENTS: tuple[type, ...] = tuple(
    item
    for name in sorted(sys.modules)
    if name.startswith("ostiary_core.events.")
    for item in vars(sys.modules[name]).values()
    if isinstance(item, type) and issubclass(item, Event) and item.__module__ == name
    if not item.__subclasses__()
)
"""Every class of events, in whichever module it is made."""
RECORDS: tuple[type, ...] = typing.get_args(Record)

_EDGES = ("", "\x00", "\ud800", "a\udfffb", "x" * 70_000, "%00", "user.read", "user.read x", "é", "\u202e")


@dataclasses.dataclass(frozen=True, eq=False)
class Pool:
    """Values that a hostile caller may know: words that mean something in the store, and bearer values."""

    words: tuple[str, ...]
    secrets: tuple[str, ...]
    by_name: Mapping[str, tuple[str, ...]]
    """Words that mean something in a field of this name."""
    is_storable: bool = False
    """Whether no text has a NUL or lacks UTF-8, as of those that the rules let through."""


@cache
def _texts(pool: Pool) -> st.SearchStrategy[str]:
    if pool.is_storable:
        written = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
        return st.one_of(st.sampled_from(pool.words), written)
    anything = st.text(st.characters(codec=None, exclude_categories=()), max_size=20)
    return st.one_of(st.sampled_from(pool.words), st.sampled_from(_EDGES), anything)


def _draw_named(pool: Pool, name: str) -> st.SearchStrategy[str]:
    """Draw mostly words that mean something in a field of this name."""
    apt = pool.by_name.get(name)
    if apt is None:
        return _texts(pool)
    return st.one_of(st.sampled_from(apt), st.sampled_from(apt), _texts(pool))


@cache
def _secrets(pool: Pool) -> st.SearchStrategy[Secret]:
    apt = st.sampled_from(pool.secrets)
    return st.one_of(apt, apt, _texts(pool)).map(Secret)


@cache
def _json(pool: Pool) -> st.SearchStrategy[object]:
    """Draw any value of a JSON body."""
    return st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), _texts(pool)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(_texts(pool), inner, max_size=2)
        ),
        max_leaves=4,
    )


@cache
def _objects(pool: Pool) -> st.SearchStrategy[Mapping[str, object]]:
    """Draw JSON objects such as administrators send, some of them with strange values and names."""

    def value(name: str, *apt: object) -> st.SearchStrategy[object]:
        good = st.sampled_from(apt) if apt else _draw_named(pool, name)
        return st.one_of(good, good, good, _json(pool))

    def lists(name: str) -> st.SearchStrategy[object]:
        return st.one_of(st.lists(_draw_named(pool, name), max_size=2, unique=True), _json(pool))

    everyone = {"id": value("id"), "name": value("name", "A name"), "enabled": value("enabled", True, False)}
    people = {
        **everyone,
        "username": value("username"),
        "phone": value("phone"),
        "mustChangePassword": value("", True, False),
        "roleIds": lists("role_id"),
        "locale": value("", "zh-CN", "en-US", None),
        "timezone": value("", "Asia/Shanghai", None),
    }
    clients = {
        **everyone,
        "clientId": value("client_id"),
        "redirectUris": value("", ["https://app.example/callback"], []),
        "grantTypes": value("", ["authorization_code", "refresh_token"], ["client_credentials"], []),
        "scopes": value("", ["user.read"], []),
        "autoApproveScopes": value("", ["user.read"], []),
        "accessTokenTtl": value("", 300, 86_400, 299),
        "refreshTokenTtl": value("", 3_600, 2_592_000, 3_599),
    }
    roles = {"code": value("role_id"), "name": value("", "A name"), "permissions": lists("permission")}
    shapes = [st.fixed_dictionaries({}, optional=shape) for shape in (people, clients, roles)]
    return st.one_of(*shapes, st.dictionaries(_texts(pool), _json(pool), max_size=2))


def instants(around: Instant = START) -> st.SearchStrategy[Instant]:
    """Draw instants around this one, and far from it."""
    near = st.integers(-60_000, 40 * 60_000).map(lambda milliseconds: around + milliseconds)
    far = st.sampled_from([-1, 0, around + 604_800_000, 2**62])
    return st.one_of(near, far).map(Instant)


@cache
def _keys(pool: Pool) -> st.SearchStrategy[Key]:
    """Draw keys of records that may be there, in any table."""
    digests = _secrets(pool).map(lambda secret: secret.digest)
    sent = st.tuples(st.sampled_from([each.value for each in TextCodePurpose]), _draw_named(pool, "phone"))
    return st.one_of(
        st.builds(Key, st.sampled_from([Table.ACCESS_TOKEN, Table.REFRESH_TOKEN, Table.CODE]), digests),
        st.builds(Key, st.just(Table.SESSION), _draw_named(pool, "session_id")),
        st.builds(Key, st.just(Table.USER), _draw_named(pool, "user_id")),
        st.builds(Key, st.just(Table.CLIENT), _draw_named(pool, "client_id")),
        st.builds(Key, st.just(Table.TEXT_CODE), sent),
    )


def _of(hint: Any, pool: Pool, name: str) -> st.SearchStrategy[Any]:
    """Draw values for a field by its annotation and its name."""
    plain: dict[Any, st.SearchStrategy[Any]] = {
        str: _draw_named(pool, name),
        bool: st.booleans(),
        int: st.integers(0, 2**53 if pool.is_storable else 40),
        bytes: st.binary(max_size=33),
        type(None): st.none(),
        Secret: _secrets(pool),
        Instant: instants(),
        Entropy: st.binary(min_size=32, max_size=32).map(Entropy),
        Digest: _secrets(pool).map(lambda secret: secret.digest),
        Key: _keys(pool),
        Arrival: st.builds(Arrival, instants(), instants()),
        FieldChange: st.builds(FieldChange, *[_draw_named(pool, "field"), *[_values(pool)] * 2]),
        UnknownWord: st.sampled_from(("of_the_next_release", "又一个")).map(UnknownWord),
        Epochs: st.builds(Epochs, *(st.integers(0, 2),) * 3),
    }
    if hint in plain:
        return plain[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return st.one_of([_of(argument, pool, name) for argument in arguments])
    if origin is tuple:
        assert arguments[1:] == (...,), hint
        return st.lists(_of(arguments[0], pool, name), max_size=3).map(tuple)
    if origin in (Mapping, typing.get_origin(Mapping[str, object])):
        return _objects(pool)
    if hint is AdministrationEvent:
        parts: tuple[type, ...] = tuple(kind for kind in EVENTS if issubclass(kind, AdministrationEvent))
        return st.one_of([events(kind, pool) for kind in parts])
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    assert dataclasses.is_dataclass(hint), f"no strategy for {hint}"
    return events(typing.cast(type, hint), pool)


@cache
def _values(pool: Pool) -> st.SearchStrategy[Any]:
    """Draw values that a field of the audit trail holds before and after."""
    texts = _draw_named(pool, "value")
    return st.one_of(
        st.none(), st.booleans(), st.integers(0, 9), texts, st.lists(texts, max_size=2).map(tuple)
    )


@cache
def events(kind: type, pool: Pool) -> st.SearchStrategy[Any]:
    """Draw instances of an event or record class, or of any other dataclass in their fields."""
    hints = typing.get_type_hints(kind)
    return st.builds(
        kind,
        **{
            field.name: _of(hints[field.name], pool, field.name)
            for field in dataclasses.fields(kind)
            if field.init
        },
    )


_AWKWARD = (
    *("", " ", "'; DROP TABLE users; --", '"quoted"', "%_\\", "\u202eright to left", "名字", "\U0001f510"),
    *("e\u0301 and é", "line\nbreak\ttab", "\x7f\x01", "x" * 300),
)
_STORABLE = Pool(_AWKWARD, tuple(f"secret {number}" for number in range(50)), {}, is_storable=True)


def records_of(kind: type) -> st.SearchStrategy[Any]:
    """Draw any record of one class that a store may be given, with texts that are awkward to store."""
    return events(kind, _STORABLE)


def copy_of(store: MemoryStore) -> MemoryStore:
    """Make another store with the same records."""
    made = MemoryStore(store.policy)
    made.write([Insert(record) for table in RECORD_TABLES for record in store.records(table)])
    return made

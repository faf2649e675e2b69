"""No secret shows in the printed form of anything that the core takes, keeps or gives back."""

import dataclasses
import pickle
import re
import typing
from collections.abc import Collection
from typing import Any

import pytest
from hypothesis import given as for_all, strategies as st

from ostiary_core import Digest, Entropy, Secret, keys, load
from ostiary_core.http import Answer
from ostiary_core.model.records import RECORD_TABLES
from ostiary_core.model.reply import Reply
from tests.support.asks import approve, machine, redeem, refresh
from tests.support.story import World
from tests.support.strategies import EVENTS, RECORDS

MARK = "mark-of-a-secret"
SECRET_TEXT_FIELDS = frozenset(
    {
        *("code_verifier", "code_challenge", "password_hash", "new_password_hash", "foreign_hash"),
        *("verified_against", "state", "redirect_to"),
    }
)
"""Fields that hold a secret or something private as plain text."""

SECRET_TYPES = frozenset({Entropy, Digest, bytes, object})
"""`object` is any JSON: a caller may have put a secret anywhere in it."""

PRINTED = [*EVENTS, *RECORDS, *typing.get_args(Reply)]


def secret_fields(kind: type) -> set[str]:
    """Return the fields of a class that must not show: by type, or by name if they are plain text."""
    hints = typing.get_type_hints(kind)
    return {
        field.name
        for field in dataclasses.fields(kind)
        if _holds(hints[field.name], SECRET_TYPES)
        or (field.name in SECRET_TEXT_FIELDS and not _holds(hints[field.name], {Secret}))
    }


def _holds(hint: Any, kinds: Collection[object]) -> bool:
    """Whether a field of this annotation holds any of `kinds`."""
    return hint in kinds or any(_holds(part, kinds) for part in typing.get_args(hint))


@pytest.mark.parametrize("kind", PRINTED, ids=lambda kind: kind.__name__)
def test_a_field_that_holds_a_secret_does_not_print(kind: type) -> None:
    assert "__repr__" in vars(kind), "a class prints its own fields, and none of a base or a wrapper"
    assert not {field.name for field in dataclasses.fields(kind) if field.repr} & secret_fields(kind)


def test_nothing_of_a_whole_life_prints_a_secret(world: World) -> None:
    """Print events, snapshots, decisions, answers and all records, from the registration to a rotation."""
    login = world.login()
    printed: list[str] = []
    secrets: set[str] = {world.secrets["app"].reveal(), "right"}

    def decided(event: Any) -> Any:
        snapshot = load([keys(event)], world.store.fetch)
        decision = world.when(event).decision
        printed.extend(map(repr, (event, keys(event), snapshot, decision)))
        return decision.reply

    sent = decided(approve(login)).redirect_to.reveal()
    code = re.findall(r"code=([A-Za-z0-9_-]{43})", sent)[0]
    first = decided(redeem(world.basic(), Secret(code)))
    second = decided(refresh(world.basic(), first))
    token = decided(machine(world.basic()))
    secrets.add(code)
    for pair in (login.tokens, first, second, token):
        secrets |= {value.reveal() for value in (pair.access_token, pair.refresh_token) if value is not None}
    printed.extend(repr(record) for table in RECORD_TABLES for record in world.store.records(table))
    printed.append(repr(Answer(200, (), sent.encode())))

    everything = "\n".join(printed)
    assert len(secrets) == 10
    assert not [secret for secret in secrets if secret in everything]
    salt = world.the_session().salt
    assert salt is not None
    assert repr(salt) not in everything


@for_all(text=st.text(min_size=4))
def test_a_secret_shows_in_no_form_but_its_own(text: str) -> None:
    secret = Secret(text)
    for form in (str(secret), repr(secret), f"{secret}", f"{secret!r}"):
        assert form in {"[secret]", "Secret([secret])"}
    assert secret.reveal() == text
    assert secret == Secret(text)
    assert hash(secret) == hash(Secret(text))
    assert secret != Secret(text + "x")
    assert secret != text


def test_a_secret_says_so_in_an_error_about_it() -> None:
    with pytest.raises(TypeError) as caught:
        len(Secret(MARK))  # type: ignore[arg-type]
    assert MARK not in str(caught.value)
    assert pickle.loads(pickle.dumps(Secret(MARK))) == Secret(MARK)

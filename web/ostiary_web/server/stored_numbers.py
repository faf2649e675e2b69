"""Convert telephone numbers that were stored before each had one form (`telephones`), once.

No session ends by it, as nobody has another number than before. Where two accounts have one number, written
in two ways, one keeps its own: the log names it, and recovery finds the other until somebody changes one.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, Protocol

import structlog

from ostiary_core.model.decision import Change, Delete, Insert, Update
from ostiary_core.model.identifiers import phone_identifier, phone_key
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import Record, Table, User, revise
from ostiary_core.storage.store import LostRace
from ostiary_core.storage.summaries import Milestone, StoreState
from ostiary_web.server.telephones import phone_number

_log = structlog.get_logger("ostiary")

_USERS_AT_A_TIME: Final = 500


class NumberStore(Protocol):
    """The part of a store that this needs."""

    def records(self, table: Table) -> tuple[Record, ...]: ...

    def fetch(self, table: Table, identifiers: Collection[Any]) -> Iterable[Record]: ...

    def write(self, changes: Sequence[Change]) -> None: ...

    def state(self) -> StoreState: ...

    def record_milestone(self, milestone: Milestone, now: Instant) -> None: ...


def rewrite_numbers(store: NumberStore, region: str, now: Instant) -> None:
    """Convert every stored number, once; numbers without a country code are of `region`."""
    if Milestone.NUMBERS_REWRITTEN in store.state().milestones:
        return
    asked = _find_users_to_rewrite(store.records(Table.USER), region)
    for start in range(0, len(asked), _USERS_AT_A_TIME):
        _rewrite(store, asked[start : start + _USERS_AT_A_TIME], region)
    store.record_milestone(Milestone.NUMBERS_REWRITTEN, now)
    if asked:
        _log.info("telephone numbers were given one form", count=len(asked), region=region)


def _canonical_number(user: User, region: str) -> str | None:
    return None if user.phone is None else phone_number(user.phone, region)


def _find_users_to_rewrite(records: Iterable[Record], region: str) -> list[User]:
    """Return the users whose numbers are not in canonical form."""
    return [
        user
        for user in records
        if isinstance(user, User)
        and user.deleted_at is None
        and _canonical_number(user, region) != user.phone
    ]


def _rewrite(store: NumberStore, users: Sequence[User], region: str, attempts: int = 3) -> None:
    """Convert the numbers of some users together; one by one if one of them changed meanwhile."""
    forms = {user.user_id: _canonical_number(user, region) or "" for user in users}
    keys = [phone_key(form).id for form in forms.values()]
    taken = {record.key.id for record in store.fetch(Table.IDENTIFIER, keys)}
    changes: list[Change] = []
    for user in users:
        form = forms[user.user_id]
        if user.phone is None or phone_key(form).id in taken:
            _log.warning("two accounts have one telephone number", user_id=user.user_id)
            continue
        taken.add(phone_key(form).id)
        changes += (
            Update(user, revise(user, phone=form)),
            Delete(phone_identifier(user.phone, user.user_id)),
            Insert(phone_identifier(form, user.user_id)),
        )
    try:
        store.write(changes)
    except LostRace:
        if attempts == 1:
            _log.warning("a telephone number keeps its old form", user_ids=sorted(forms))
            return
        for user in _find_users_to_rewrite(store.fetch(Table.USER, sorted(forms)), region):
            _rewrite(store, [user], region, attempts - 1)

"""Check the audit facts of a decision against its writes alone."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fuzz.shared.invariants import RECORDED, Violation
from fuzz.shared.record_checks import split_change
from ostiary_core.model.client import CLIENT
from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.record_type import RecordType, Setting
from ostiary_core.model.records import Client, Record, Role, SecondFactor, Session, SessionKind, User
from ostiary_core.model.role import ROLE
from ostiary_core.model.user import USER

_LONGEST: Final = 4_000
"""Longest recorded value, in characters."""

_CHANGE_NOTHING: Final = (FactKind.ADMINISTRATOR_REFUSED, FactKind.WARNING_ACKNOWLEDGED)
"""Kinds of facts that name the missing permission or the warning, and go with no write."""

_DAY_MS: Final = 24 * 60 * 60 * 1_000

_Fields = dict[str, tuple[object, object]]

_DECLARED: Final[Mapping[type[Record], RecordType[Any]]] = {Client: CLIENT, User: USER, Role: ROLE}

_CHOSEN: Final[Mapping[type[Record], Mapping[str, str]]] = {
    kind: {
        field.attribute: field.name
        for field in declared.fields
        if field.setting in (Setting.EDITED, Setting.SWITCHED) or field.is_audited
    }
    for kind, declared in _DECLARED.items()
}
"""Fields that users or administrators choose, by the type of record, with the interface's names."""


def faults_of_facts(decision: Decision) -> Iterator[Violation]:
    """Yield each fact that does not say what the writes of a decision did, in order for each record."""
    written: dict[tuple[type[Record], str], list[_Fields]] = {}
    for change in decision.changes:
        before, after = split_change(change)
        kept = after or before
        if isinstance(after, Session) and before is None and after.kind is SessionKind.PERSONAL_TOKEN:
            days = (after.expires_at - after.started_at) // _DAY_MS
            chosen = {"name": after.label, "permissions": after.scopes, "expiresInDays": days}
            fields_of_token: _Fields = {name: (None, value) for name, value in chosen.items()}
            written.setdefault((Session, after.session_id), []).append(fields_of_token)
        if not isinstance(kept, Client | User | Role) or getattr(kept, "built_in", False):
            continue
        if getattr(after, "deleted_at", None) is not None:
            after = None
        moved = _find_moved(_CHOSEN[type(kept)], before, after)
        if moved:
            written.setdefault((type(kept), str(kept.key.id)), []).append(moved)
    recorded: dict[tuple[type[Record], str], list[_Fields]] = {}
    for fact in decision.facts:
        if fact.changes and fact.kind not in _CHANGE_NOTHING:
            in_fact: _Fields = {each.field: (each.before, each.after) for each in fact.changes}
            recorded.setdefault(_subject(fact), []).append(in_fact)
    yield from _faults_of_recovery(decision)
    for key in written.keys() | recorded.keys():
        if not _are_alike(written.get(key, []), recorded.get(key, [])):
            yield Violation(RECORDED, f"the facts about a written {key[0].__name__} differ from the write")


def _faults_of_recovery(decision: Decision) -> Iterator[Violation]:
    """Yield a violation if a used recovery code is not recorded, or an unused one is."""
    users = {fact.user_id for fact in decision.facts if fact.kind is FactKind.RECOVERY_CODE_USED}
    for change in decision.changes:
        before, after = split_change(change)
        if not isinstance(before, SecondFactor) or not isinstance(after, SecondFactor):
            continue
        old, new = set(before.recovery_digests), set(after.recovery_digests)
        # All codes may be new, in a request that used an old one.
        if (new < old and after.user_id not in users) or (new == old and after.user_id in users):
            yield Violation(RECORDED, "the facts about used recovery codes are wrong")


def _are_alike(written: list[_Fields], recorded: list[_Fields]) -> bool:
    return len(written) == len(recorded) and all(
        did.keys() == fact.keys()
        and all(_is_whole(did[key][end], did[key][1 - end], fact[key][end]) for key in did for end in (0, 1))
        for did, fact in zip(written, recorded, strict=True)
    )


def _is_whole(value: Any, other: Any, shown: Any) -> bool:
    """Whether a value is recorded whole; for a long one, at least a part that the other side lacks."""
    if not isinstance(value, str | tuple) or sum(map(len, value)) <= _LONGEST:
        return bool(shown == value)
    kept = shown[:-1]
    found = [one for one in value if one in kept]
    is_part = value.startswith(kept) if isinstance(value, str) else found == [*kept]
    shared = isinstance(value, tuple) and set(kept) & set(other or ())
    return bool(shown[-1] == "…" and kept and is_part and not shared and sum(map(len, kept)) < _LONGEST)


def _subject(fact: Fact) -> tuple[type[Record], str]:
    if fact.session_id is not None:
        return Session, fact.session_id
    if fact.client_id is not None:
        return Client, fact.client_id
    if fact.role_id is not None:
        return Role, fact.role_id
    return User, str(fact.user_id)


def _find_moved(chosen: Mapping[str, str], before: Record | None, after: Record | None) -> _Fields:
    moved: _Fields = {}
    for attribute, name in chosen.items():
        old, new = getattr(before, attribute, None), getattr(after, attribute, None)
        if old != new and not (old in (None, ()) and new in (None, ())):
            moved[name] = (_mask_value(attribute, old), _mask_value(attribute, new))
    return moved


def _mask_value(attribute: str, value: Any) -> object:
    return f"***{value[-2:]}" if attribute == "phone" and value is not None else value

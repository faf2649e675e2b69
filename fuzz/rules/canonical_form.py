"""When two states are the same: what cannot matter any more, or is only a matter of names, is left out.

The form of a state is made from the records *and* from the model, so that two states are one only where
neither the core nor the specification can tell them apart. Identifiers and bearer values become what they
refer to, instants become the time that is left, revisions and spent epochs vanish, and the two clients, which
begin alike, may change places.
"""

from collections.abc import Iterable
from hashlib import blake2b

from fuzz.model import Realm
from fuzz.model.records import Code, Session
from fuzz.rules.world import World
from fuzz.shared.initial_states import BEGINNING_OF_TIME_MS
from ostiary_core.model import records
from ostiary_core.model.records import Table

GRACE_MS, CODE_MS, WRONG_MS = 30_000, 300_000, 900_000
OLDEST = 2
"""Tokens so many generations back are all alike."""

Shape = tuple[object, ...]
ENDED: Shape = ("ended",)


def canonical_form(world: World, at: int) -> bytes:
    """A value that is equal for states that behave alike."""
    now = BEGINNING_OF_TIME_MS + at
    shape = (_of_core(world, now), _of_model(world.model.realm, now))
    return blake2b(repr(shape).encode(), digest_size=16).digest()


def _left(instant: int, now: int) -> int:
    """The time that is left, or -1 once there is none."""
    return max(instant - now, -1)


def _alike(sessions: Iterable[Shape]) -> list[Shape]:
    """The sessions in an order of their own; those that ended are one."""
    listed = sorted(sessions, key=repr)
    return [one for place, one in enumerate(listed) if one != ENDED or one not in listed[:place]]


# --- the records


def _of_core(world: World, now: int) -> Shape:
    tables = {table: world.driver.store.records(table) for table in records.RECORD_TABLES}
    users = {user.user_id: user for user in tables[Table.USER] if isinstance(user, records.User)}
    clients = [client for client in tables[Table.CLIENT] if isinstance(client, records.Client)]
    consents = {
        consent.key.id: consent for consent in tables[Table.CONSENT] if isinstance(consent, records.Consent)
    }

    def stands(born: records.Session | records.AuthorizationCode, client: records.Client) -> bool:
        if born.epochs.client != client.epoch or not client.enabled or client.deleted_at is not None:
            return False
        if born.user_id is None:
            return True
        user = users[born.user_id]
        consent = consents.get((born.user_id, born.client_id))
        epoch = 0 if consent is None or client.built_in else consent.epoch
        return user.enabled and born.epochs.user == user.epoch and born.epochs.consent == epoch

    shapes = []
    for client in clients:
        own_sessions = _alike(
            _of_session(session, now) if stands(session, client) and session.ended_at is None else ENDED
            for session in tables[Table.SESSION]
            if isinstance(session, records.Session) and session.client_id == client.client_id
        )
        own_codes = [
            _of_code(code, now) if stands(code, client) or code.session_id else ("void",)
            for code in tables[Table.CODE]
            if isinstance(code, records.AuthorizationCode) and code.client_id == client.client_id
        ]
        own_consents = [
            (consent.scopes, consent.epoch > 0)
            for consent in consents.values()
            if consent.client_id == client.client_id
        ]
        shapes.append(
            (
                client.built_in,
                -1 if client.old_secret_until is None else _left(client.old_secret_until, now + 1),
                client.secret_used_at is None,
                client.enabled,
                client.deleted_at is not None,
                len(client.redirect_uris),
                client.grant_types,
                client.scopes,
                own_sessions,
                sorted(own_codes, key=repr),
                own_consents,
            )
        )
    people = sorted(
        (
            user.username,
            user.phone is not None,
            user.role_ids,
            user.enabled,
            user.deleted_at is not None,
            user.must_change_password,
            [_left(wrong + WRONG_MS, now + 1) for wrong in user.wrong_passwords_at],
        )
        for user in users.values()
    )
    return (*sorted(shapes, key=repr), *people)


def _of_session(session: records.Session, now: int) -> Shape:
    in_grace = (
        -1
        if session.rotated_at is None or session.salt is None
        else _left(session.rotated_at + GRACE_MS, now)
    )
    return (
        session.kind.value,
        session.scopes,
        session.access_scopes,
        _left(session.expires_at, now + 1),
        _left(session.access_expires_at, now + 1),
        min(session.generation, OLDEST),
        session.rotated_user_agent if in_grace >= 0 else None,
        in_grace,
    )


def _of_code(code: records.AuthorizationCode, now: int) -> Shape:
    if code.session_id is not None:
        return ("used",)
    if code.voided_why is not None:
        return ("void",)
    return (code.scopes, len(code.redirect_uri), _left(code.issued_at + CODE_MS, now + 1))


# --- the model


def _of_model(realm: Realm, now: int) -> Shape:
    shapes = []
    for client in (None, *realm.clients.values()):
        own_sessions = _alike(
            _of_model_session(session, now) for session in realm.sessions if session.client is client
        )
        own_codes = sorted(
            _of_model_code(code, now) for code in realm.codes.values() if code.client is client
        )
        shapes.append(
            (
                client is None or (client.enabled, client.deleted, len(client.redirect_uris)),
                client is None or (client.grants, client.scopes),
                -1 if client is None or client.old_secret is None else _left(client.old_until, now + 1),
                client is None or client.used_at is None,
                own_sessions,
                own_codes,
                client is None
                or [sorted(user.consents.get(client.client_id, ())) for user in realm.users.values()],
            )
        )
    people = sorted(
        (
            user.username,
            user.phone is not None,
            sorted(user.roles),
            user.enabled,
            user.deleted,
            user.must_change_password,
            [_left(wrong + WRONG_MS, now + 1) for wrong in user.wrong_at],
        )
        for user in realm.users.values()
    )
    return (*sorted(shapes, key=repr), *people)


def _of_model_session(session: Session, now: int) -> Shape:
    if session.ended:
        return ENDED
    pair = session.pairs[-1]
    in_grace = _left(pair.made_at + GRACE_MS, now) if len(session.pairs) > 1 else -1
    return (
        sorted(session.scope),
        _left(session.until, now + 1),
        session.refreshable,
        min(len(session.pairs), OLDEST + 1),
        pair.access is None,
        sorted(pair.scope),
        _left(pair.access_until, now + 1),
        in_grace,
        pair.made_for if in_grace >= 0 else None,
    )


def _of_model_code(code: Code, now: int) -> str:
    if code.session is not None:
        return "used, ended" if code.session.ended else "used"
    if code.void:
        return "void"
    return f"{sorted(code.scope)} {len(code.redirect_uri)} {_left(code.issued_at + CODE_MS, now + 1)}"

"""Calls into the core's events, as a runtime would make them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Final
from unittest.mock import patch

from fuzz.shared.calls import Call, Verb
from fuzz.shared.initial_states import CHOICES, CLIENT_FIELDS, SCOPES, WRONG_AT_ONCE, Settings
from fuzz.shared.odd_fields import odd_fields_of, with_odd_fields
from ostiary_core import events
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.instant import Arrival, Instant
from ostiary_core.model.policy import Policy, SecondFactorFor, TextRecoveryFor
from ostiary_core.model.secret import Entropy, Secret

SOURCE: Final = "192.0.2.1"
"""The address that everybody calls from."""


@contextmanager
def with_more_scopes() -> Iterator[None]:
    """The core with a longer table of scopes, so that something can be narrower or wider."""
    with patch("ostiary_core.model.client.SCOPES", SCOPES):
        yield


def policy_of(settings: Settings, name: str, clock_margin_seconds: int) -> Policy:
    """The policy of a world of this name."""
    return Policy(
        revoke_on_code_replay=settings.code_replay_ends_session,
        require_second_factor=SecondFactorFor(settings.second_factor_of),
        text_recovery=TextRecoveryFor(settings.recovery_by_text_of),
        second_factor_key=sha256(name.encode()).digest(),
        clock_margin_seconds=clock_margin_seconds,
    )


def hash_of(password: str | None) -> str:
    """What stands for argon2id here."""
    return sha256(f"salted {password}".encode()).hexdigest()


def person(call: Call) -> events.SignedIn:
    return events.SignedIn(access_token=Secret(call.login or ""))


def arrival_of(call: Call, now: Instant) -> Arrival:
    """When a call that is decided now came."""
    latest = now - call.waited_ms
    return Arrival(Instant(latest - call.unseen_ms), Instant(latest))


def token_service_event(call: Call, drawn: Entropy, now: Instant) -> events.Event:
    credentials = events.ClientCredentials(
        client_id=call.client_id or "",
        secret=Secret(call.secret or ""),
        method=events.AuthenticationMethod.BASIC,
    )
    token = None if call.token is None else Secret(call.token)
    match call.verb:
        case Verb.REDEEM:
            return events.CodeRedeemed(
                credentials=credentials,
                code=token,
                redirect_uri=call.redirect_uri,
                code_verifier=call.verifier,
                user_agent=call.user_agent,
                source=SOURCE,
                entropy=drawn,
            )
        case Verb.REFRESH:
            return events.RefreshRequested(
                credentials=credentials,
                refresh_token=token,
                scopes=call.scope or None,
                user_agent=call.user_agent,
                entropy=drawn,
                arrival=arrival_of(call, now),
            )
        case Verb.CLIENT_CREDENTIALS:
            return events.ClientCredentialsRequested(
                credentials=credentials,
                scopes=call.scope or None,
                user_agent=call.user_agent,
                source=SOURCE,
                entropy=drawn,
            )
        case Verb.INTROSPECT:
            return events.IntrospectionRequested(credentials=credentials, token=token)
        case _:
            return events.RevocationRequested(credentials=credentials, token=token)


def parameters(call: Call) -> events.AuthorizationParameters:
    return events.AuthorizationParameters(
        response_type=call.response_type,
        client_id=call.client_id,
        redirect_uri=call.redirect_uri,
        code_challenge=call.challenge,
        code_challenge_method=call.method,
        scope=None if call.scope is None else " ".join(call.scope),
        state=call.state,
        undecodable=call.garbled == "undecodable",
        repeated=("state",) if call.garbled == "repeated" else (),
    )


_OF_AN_ACCOUNT: Final[Mapping[Verb, Callable[..., events.Event]]] = {
    Verb.ENABLE_USER: events.UserEnabled,
    Verb.DISABLE_USER: events.UserDisabled,
    Verb.DELETE_USER: events.UserDeleted,
    Verb.FORCE_OUT_USER: events.UserForcedOut,
    Verb.RESET_FACTOR: events.SecondFactorReset,
    Verb.UNLOCK_USER: events.UserUnlocked,
}
_OF_A_CLIENT: Final[Mapping[Verb, Callable[..., events.Event]]] = {
    Verb.ENABLE_CLIENT: events.ClientEnabled,
    Verb.DISABLE_CLIENT: events.ClientDisabled,
    Verb.DELETE_CLIENT: events.ClientDeleted,
    Verb.FORCE_OUT_CLIENT: events.ClientForcedOut,
    Verb.END_OLD_SECRET: events.OldSecretEnded,
    Verb.SHOW_CLIENT: events.ClientRequested,
}
"""Events that say no more than whom they are about."""


def administration_event(call: Call, drawn: Entropy) -> events.Event:
    caller: events.Caller = events.Operator() if call.login is None else person(call)
    user_id, client_id, role_id = call.user_id or "", call.client_id or "", call.role_id or ""
    match call.verb:
        case verb if verb in _OF_AN_ACCOUNT:
            return _OF_AN_ACCOUNT[verb](caller=caller, user_id=user_id)
        case verb if verb in _OF_A_CLIENT:
            return _OF_A_CLIENT[verb](caller=caller, client_id=client_id)
        case Verb.REGISTER_USER:
            return events.UserRegistered(
                caller=caller,
                fields=with_odd_fields(call, fields_of_new_user(call)),
                password_hash=hash_of(call.password),
                faults=_found_outside(call),
                entropy=drawn,
            )
        case Verb.WITHDRAW_FOR:
            return events.ConsentWithdrawnByAdministrator(caller=caller, user_id=user_id, client_id=client_id)
        case Verb.IMPORT_USER:
            roles = {} if call.roles is None else {"roleIds": list(call.roles)}
            named = {"username": call.username, "name": call.username}
            return events.UserImported(
                caller=caller,
                fields=with_odd_fields(call, {**named, **roles}),
                replace=call.replaces,
                password_hash=None,
                foreign_hash=hash_of(call.password),
                faults=_found_outside(call),
                entropy=drawn,
            )
        case Verb.CHANGE_USER:
            fields = with_odd_fields(call, user_fields(call))
            return events.UserChanged(
                caller=caller,
                user_id=user_id,
                fields=fields,
                faults=_found_outside(call),
                shown=_fields_seen(call, fields),
            )
        case Verb.RESET_PASSWORD:
            new_hash = hash_of(call.new_password)
            return events.PasswordResetByAdministrator(
                caller=caller, user_id=user_id, new_password_hash=new_hash
            )
        case Verb.REGISTER_ROLE:
            return events.RoleRegistered(
                caller=caller, fields=with_odd_fields(call, fields_of_new_role(call))
            )
        case Verb.CHANGE_ROLE:
            fields = with_odd_fields(call, role_fields(call))
            return events.RoleChanged(
                caller=caller, role_id=role_id, fields=fields, shown=_fields_seen(call, fields)
            )
        case Verb.IMPORT_ROLE:
            fields = with_odd_fields(call, fields_of_new_role(call))
            return events.RoleImported(caller=caller, fields=fields, replace=call.replaces)
        case Verb.DELETE_ROLE:
            return events.RoleDeleted(caller=caller, role_id=role_id)
        case Verb.BATCH:
            return events.BatchRequested(events=tuple(_parts(call, drawn)))
        case Verb.END_SESSION:
            return events.SessionForcedOut(caller=caller, session_id=call.session_id or "")
        case Verb.REGISTER_CLIENT:
            fields = with_odd_fields(call, fields_of_new_client(call))
            return events.ClientRegistered(caller=caller, fields=fields, entropy=drawn)
        case Verb.CHANGE_CLIENT:
            fields = with_odd_fields(call, settings_of(call))
            return events.ClientChanged(
                caller=caller, client_id=client_id, fields=fields, shown=_fields_seen(call, fields)
            )
        case Verb.IMPORT_CLIENT:
            fields = with_odd_fields(call, fields_of_new_client(call))
            return events.ClientImported(caller=caller, fields=fields, replace=call.replaces, entropy=drawn)
        case Verb.RESET_SECRET:
            fields = with_odd_fields(call, overlap_fields(call))
            return events.ClientSecretReset(caller=caller, client_id=client_id, fields=fields, entropy=drawn)
        case Verb.GIVE_SECRET:
            digest = Secret(call.secret or "").digest
            return events.ClientSecretReplaced(caller=caller, client_id=client_id, digest=digest)
        case _:
            raise ValueError(f"{call.verb} is no call of the administration")


def choice_event(call: Call) -> events.Event:
    """What somebody chooses for themselves."""
    field, value, _ = CHOICES[call.choice or ""]
    match field:
        case "locale":
            return events.LocaleChosen(caller=person(call), locale=value)
        case "timezone":
            is_nowhere = call.choice == "nowhere"
            faults = (FieldFault(field, FieldRule.TIMEZONE),) if is_nowhere else ()
            return events.TimezoneChosen(caller=person(call), timezone=value, faults=faults)
        case _:
            return events.AvatarChosen(caller=person(call), avatar_url=value or None)


def runtime_event(call: Call, now: Instant) -> events.Event:
    """What a runtime reports of a client's secrets."""
    client_id, at = call.client_id or "", Instant(now - call.waited_ms)
    if call.verb is Verb.NOTE_SECRET_USE:
        return events.ClientSecretUsed(
            client_id=client_id, digest=Secret(call.secret or "").digest, used_at=at
        )
    return events.WrongSecretsCounted(client_id=client_id, times=WRONG_AT_ONCE, last_at=at)


def _parts(call: Call, drawn: Entropy) -> Iterator[events.AdministrationEvent]:
    """The events of a batch, each with entropy of its own."""
    for place, part in enumerate(call.parts):
        event = administration_event(part, Entropy(sha256(drawn + bytes([place])).digest()))
        assert isinstance(event, events.AdministrationEvent), f"{part.verb} is no part of a batch"
        yield event


def _found_outside(call: Call) -> tuple[FieldFault, ...]:
    """The faults that a runtime found in what a call sends."""
    odd = odd_fields_of(call)
    return tuple(FieldFault(path, FieldRule.TIMEZONE) for path in (odd.found_outside if odd else ()))


def _fields_seen(call: Call, fields: Mapping[str, object]) -> dict[str, object] | None:
    """What the caller says they saw of the fields that they send."""
    match call.seen:
        case None:
            return None
        case "as-sent":
            return dict(fields)
        case _:
            return dict.fromkeys(fields, "what nobody ever chose")


def fields_of_new_user(call: Call) -> dict[str, object]:
    """What an account is registered with, in the interface's names."""
    roles = {} if call.roles is None else {"roleIds": list(call.roles)}
    must_change = bool(call.must_change)
    return {"username": call.username, "name": call.username, "mustChangePassword": must_change, **roles}


def user_fields(call: Call) -> dict[str, object]:
    """What is to change of an account, in the interface's names."""
    given = {
        "username": call.new_username,
        "phone": call.phone,
        "mustChangePassword": call.must_change,
        "roleIds": None if call.roles is None else list(call.roles),
    }
    return {name: value for name, value in given.items() if value is not None}


def role_fields(call: Call) -> dict[str, object]:
    """What a role is changed to."""
    return {"name": call.role_id, "permissions": list(call.permissions or ())}


def fields_of_new_role(call: Call) -> dict[str, object]:
    return {"code": call.role_id, **role_fields(call)}


def fields_of_new_client(call: Call) -> dict[str, object]:
    return {"clientId": call.client_id, "name": call.client_id, **settings_of(call)}


def fields_of_token(call: Call) -> dict[str, object]:
    """What a personal access token is made with."""
    days = (call.refresh_seconds or 0) // 86_400
    return {"name": "a program", "permissions": list(call.permissions or ()), "expiresInDays": days}


def overlap_fields(call: Call) -> dict[str, object]:
    """How long a reset lets the old secret work on, where it does."""
    return {} if call.keep_seconds is None else {"keepOldForSeconds": call.keep_seconds}


def settings_of(call: Call) -> dict[str, object]:
    """The fields that an administrator sends, in the interface's names."""
    return {CLIENT_FIELDS[name]: value for name, value in call.settings.items()}

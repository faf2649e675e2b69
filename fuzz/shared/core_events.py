"""Translate calls into the core's events, as a runtime does."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from hashlib import sha256
from typing import Any, Final
from unittest.mock import patch

from fuzz.shared.calls import ADMINISTRATION, Call, Verb
from fuzz.shared.initial_states import CHOICES, CLIENT_FIELDS, SCOPES, WRONG_AT_ONCE, Settings
from fuzz.shared.odd_fields import odd_fields_of, with_odd_fields
from ostiary_core import events
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.instant import Arrival, Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.policy import Policy, SecondFactorFor, TextRecoveryFor
from ostiary_core.model.records import TextCodePurpose
from ostiary_core.model.secret import Entropy, Secret

SOURCE: Final = "192.0.2.1"
"""Source address of every call."""


@contextmanager
def with_more_scopes() -> Iterator[None]:
    """Give the core more scopes for a while, so that a scope can be narrower or wider."""
    with patch("ostiary_core.model.client.SCOPES", SCOPES):
        yield


def policy_of(settings: Settings, name: str, clock_margin_seconds: int) -> Policy:
    """Return the policy of the world with this name."""
    return Policy(
        revoke_on_code_replay=settings.code_replay_ends_session,
        require_second_factor=SecondFactorFor(settings.second_factor_of),
        personal_tokens_at_most=settings.tokens_at_most,
        text_recovery=TextRecoveryFor(settings.recovery_by_text_of),
        second_factor_key=sha256(name.encode()).digest(),
        clock_margin_seconds=clock_margin_seconds,
    )


def hash_of(password: str | None) -> str:
    """Return a stand-in for the argon2id hash of a password."""
    return sha256(f"salted {password}".encode()).hexdigest()


def person(call: Call) -> events.SignedIn:
    return events.SignedIn(access_token=Secret(call.login or ""))


_EVENTS: Final[Mapping[Verb, Any]] = {
    Verb.REDEEM: events.CodeRedeemed,
    Verb.REFRESH: events.RefreshRequested,
    Verb.CLIENT_CREDENTIALS: events.ClientCredentialsRequested,
    Verb.INTROSPECT: events.IntrospectionRequested,
    Verb.REVOKE: events.RevocationRequested,
    Verb.USER_INFO: events.ProfileRequested,
    Verb.CHECK: events.AuthorizationChecked,
    Verb.APPROVE: events.ConsentGiven,
    Verb.RECALL: events.AutomaticConsentRequested,
    Verb.DENY: events.ConsentDenied,
    Verb.WITHDRAW: events.ConsentWithdrawn,
    Verb.WITHDRAW_FOR: events.ConsentWithdrawnByAdministrator,
    Verb.SIGN_IN: events.SignInAttempted,
    Verb.OFFER_FACTOR: events.SecondFactorBegunAtSignIn,
    Verb.ENTER_FACTOR: events.SecondFactorEntered,
    Verb.REFRESH_LOGIN: events.LoginRefreshed,
    Verb.SIGN_OUT: events.SignedOut,
    Verb.SIGN_OUT_ELSEWHERE: events.OtherSessionsEnded,
    Verb.SHOW_ACCOUNT: events.AccountRequested,
    Verb.CHANGE_PASSWORD: events.PasswordChanged,
    Verb.CHANGE_PHONE: events.PhoneChanged,
    Verb.REQUEST_TEXT_CODE: events.TextCodeRequested,
    Verb.RECOVER_PASSWORD: events.PasswordResetByTextMessage,
    Verb.INVITE_USER: events.InvitationMade,
    Verb.ACCEPT_INVITATION: events.InvitationAccepted,
    Verb.BEGIN_FACTOR: events.SecondFactorBegun,
    Verb.CONFIRM_FACTOR: events.SecondFactorConfirmed,
    Verb.REMOVE_FACTOR: events.SecondFactorRemoved,
    Verb.RENEW_CODES: events.RecoveryCodesRenewed,
    Verb.PROVE: events.IdentityProved,
    Verb.RESET_FACTOR: events.SecondFactorReset,
    Verb.END_OWN_SESSION: events.OwnSessionEnded,
    Verb.CREATE_TOKEN: events.PersonalTokenCreated,
    Verb.NOTE_TOKEN_USE: events.PersonalTokenUsed,
    Verb.CREATE_ADMINISTRATOR: events.FirstAdministratorCreated,
    Verb.REGISTER_USER: events.UserRegistered,
    Verb.IMPORT_USER: events.UserImported,
    Verb.CHANGE_USER: events.UserChanged,
    Verb.ENABLE_USER: events.UserEnabled,
    Verb.DISABLE_USER: events.UserDisabled,
    Verb.DELETE_USER: events.UserDeleted,
    Verb.RESET_PASSWORD: events.PasswordResetByAdministrator,
    Verb.FORCE_OUT_USER: events.UserForcedOut,
    Verb.UNLOCK_USER: events.UserUnlocked,
    Verb.FORCE_OUT_ALL: events.EverybodyForcedOut,
    Verb.END_SESSION: events.SessionForcedOut,
    Verb.ACKNOWLEDGE: events.WarningAcknowledged,
    Verb.REGISTER_ROLE: events.RoleRegistered,
    Verb.IMPORT_ROLE: events.RoleImported,
    Verb.CHANGE_ROLE: events.RoleChanged,
    Verb.DELETE_ROLE: events.RoleDeleted,
    Verb.REGISTER_CLIENT: events.ClientRegistered,
    Verb.IMPORT_CLIENT: events.ClientImported,
    Verb.CHANGE_CLIENT: events.ClientChanged,
    Verb.ENABLE_CLIENT: events.ClientEnabled,
    Verb.DISABLE_CLIENT: events.ClientDisabled,
    Verb.DELETE_CLIENT: events.ClientDeleted,
    Verb.FORCE_OUT_CLIENT: events.ClientForcedOut,
    Verb.RESET_SECRET: events.ClientSecretReset,
    Verb.GIVE_SECRET: events.ClientSecretReplaced,
    Verb.END_OLD_SECRET: events.OldSecretEnded,
    Verb.SHOW_CLIENT: events.ClientRequested,
    Verb.NOTE_SECRET_USE: events.ClientSecretUsed,
    Verb.COUNT_WRONG_SECRETS: events.WrongSecretsCounted,
    Verb.BATCH: events.BatchRequested,
    Verb.SWEEP: events.GraceExpired,
}
_CHOICES: Final[Mapping[str, Any]] = {
    "locale": events.LocaleChosen,
    "timezone": events.TimezoneChosen,
    "avatarUrl": events.AvatarChosen,
}


@cache
def _names_of(event: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(event))


def event_of(call: Call, drawn: Entropy, now: Instant, **known: object) -> events.Event:
    """Return the event that a runtime makes of a call, with the fields that its class needs.

    `known` has the values that only the runtime knows: the result of verifying a password, the user of a
    login, a ticket that was read.
    """
    field, choice, _ = CHOICES.get(call.choice or "", ("", "", False))
    event = _CHOICES[field] if call.verb is Verb.CHOOSE else _EVENTS[call.verb]
    token = None if call.token is None else Secret(call.token)
    may_be_operator = call.verb in ADMINISTRATION | {Verb.SHOW_ACCOUNT}
    is_own = call.login is not None
    values: dict[str, Callable[[], object]] = {
        "caller": lambda: events.Operator() if may_be_operator and not is_own else person(call),
        "credentials": lambda: events.ClientCredentials(
            client_id=call.client_id or "",
            secret=Secret(call.secret or ""),
            method=events.AuthenticationMethod.BASIC,
        ),
        "code": lambda: token if call.verb is Verb.REDEEM else Secret(call.text_code or ""),
        "token": lambda: token,
        "refresh_token": lambda: token or (Secret("") if call.verb is Verb.REFRESH_LOGIN else None),
        "access_token": lambda: Secret(call.token or ""),
        "redirect_uri": lambda: call.redirect_uri,
        "code_verifier": lambda: call.verifier,
        "scopes": lambda: call.scope or None,
        "parameters": lambda: _parameters(call),
        "user_agent": lambda: call.user_agent,
        "source": lambda: SOURCE,
        "entropy": lambda: drawn,
        "arrival": lambda: _arrival_of(call, now),
        "user_id": lambda: call.user_id or "",
        "client_id": lambda: call.client_id or "",
        "role_id": lambda: call.role_id or "",
        "session_id": lambda: call.session_id or "",
        "username": lambda: type_name(call) if call.verb is Verb.SIGN_IN else call.username or "",
        "phone": lambda: call.phone or "",
        "fields": lambda: fields_sent(call),
        "shown": lambda: _fields_seen(call),
        "replace": lambda: call.replaces,
        "faults": lambda: _found_outside(call),
        "must_change_password": lambda: False,
        "password_hash": lambda: None if call.verb is Verb.IMPORT_USER else hash_of(call.password),
        "foreign_hash": lambda: hash_of(call.password),
        "new_password_hash": lambda: hash_of(call.new_password),
        "digest": lambda: Secret(call.secret or "").digest,
        "used_at": lambda: Instant(now - call.waited_ms),
        "last_at": lambda: Instant(now - call.waited_ms),
        "times": lambda: WRONG_AT_ONCE,
        "purpose": lambda: TextCodePurpose.CHANGE_PHONE if is_own else TextCodePurpose.RESET_PASSWORD,
        "permission": lambda: None if call.choice is None else Permission(call.choice),
        "warning": lambda: call.choice or "",
        "locale": lambda: choice,
        "timezone": lambda: choice,
        "avatar_url": lambda: choice or None,
        "events": lambda: tuple(_parts(call, drawn, now)),
    }
    if call.verb is Verb.REQUEST_TEXT_CODE and not is_own:
        known["caller"] = None
    asked = (name for name in _names_of(event) if name in known or name in values)
    made = event(**{name: known[name] if name in known else values[name]() for name in asked})
    assert isinstance(made, events.Event)
    return made


def _arrival_of(call: Call, now: Instant) -> Arrival:
    """Return the arrival time of a call that is decided now."""
    latest = now - call.waited_ms
    return Arrival(Instant(latest - call.unseen_ms), Instant(latest))


def _parameters(call: Call) -> events.AuthorizationParameters:
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


def _parts(call: Call, drawn: Entropy, now: Instant) -> Iterator[events.AdministrationEvent]:
    """Yield the events of a batch, each with its own entropy."""
    for place, part in enumerate(call.parts):
        event = event_of(part, Entropy(sha256(drawn + bytes([place])).digest()), now)
        assert isinstance(event, events.AdministrationEvent), f"{part.verb} is no part of a batch"
        yield event


def _found_outside(call: Call) -> tuple[FieldFault, ...]:
    """Return the faults that a runtime finds in the sent fields."""
    odd = odd_fields_of(call)
    paths = ("timezone",) if call.choice == "nowhere" else odd.found_outside if odd else ()
    return tuple(FieldFault(path, FieldRule.TIMEZONE) for path in paths)


def _fields_seen(call: Call) -> dict[str, object] | None:
    """Return the values that the caller claims to have seen in the sent fields."""
    match call.seen:
        case None:
            return None
        case "as-sent":
            return fields_sent(call)
        case _:
            return dict.fromkeys(fields_sent(call), "what nobody ever chose")


# --- fields as sent to the interface


def fields_sent(call: Call) -> dict[str, object]:
    """Return the sent fields of a record, with the odd ones."""
    fields_of = _FIELDS.get(call.verb)
    return {} if fields_of is None else with_odd_fields(call, fields_of(call))


def fields_of_new_user(call: Call) -> dict[str, object]:
    """Return the fields of a new account, by the interface's names."""
    roles = {} if call.roles is None else {"roleIds": list(call.roles)}
    must_change = bool(call.must_change)
    name, typed = call.username, type_name(call)
    return {"username": typed, "name": name, "mustChangePassword": must_change, **roles}


def type_name(call: Call) -> str:
    """Return the user name of a call as users type or paste it, sometimes with white space around it."""
    white = ("", " ", "\u00a0", "\u3000")[len(call.password or "") % 4]
    return f"{white}{call.username or ''}{white}"


def user_fields(call: Call) -> dict[str, object]:
    """Return the fields to change in an account, by the interface's names."""
    given = {
        "username": call.new_username,
        "phone": call.phone,
        "mustChangePassword": call.must_change,
        "roleIds": None if call.roles is None else list(call.roles),
    }
    return {name: value for name, value in given.items() if value is not None}


def role_fields(call: Call) -> dict[str, object]:
    """Return the changed fields of a role."""
    return {"name": call.role_id, "permissions": list(call.permissions or ())}


def fields_of_new_role(call: Call) -> dict[str, object]:
    return {"code": call.role_id, **role_fields(call)}


def fields_of_new_client(call: Call) -> dict[str, object]:
    return {"clientId": call.client_id, "name": call.client_id, **settings_of(call)}


def fields_of_token(call: Call) -> dict[str, object]:
    """Return the fields of a new personal access token."""
    days = (call.refresh_seconds or 0) // 86_400
    return {"name": "a program", "permissions": list(call.permissions or ()), "expiresInDays": days}


def overlap_fields(call: Call) -> dict[str, object]:
    """Return the field with the time that the old secret keeps working after a reset, if it does."""
    return {} if call.keep_seconds is None else {"keepOldForSeconds": call.keep_seconds}


def settings_of(call: Call) -> dict[str, object]:
    """Return the settings that an administrator sends, by the interface's names."""
    return {CLIENT_FIELDS[name]: value for name, value in call.settings.items()}


def _fields_of_imported_user(call: Call) -> dict[str, object]:
    sent = fields_of_new_user(call)
    del sent["mustChangePassword"]
    return sent


_FIELDS: Final[Mapping[Verb, Callable[[Call], dict[str, object]]]] = {
    Verb.REGISTER_USER: fields_of_new_user,
    Verb.IMPORT_USER: _fields_of_imported_user,
    Verb.CHANGE_USER: user_fields,
    **dict.fromkeys((Verb.REGISTER_ROLE, Verb.IMPORT_ROLE), fields_of_new_role),
    Verb.CHANGE_ROLE: role_fields,
    **dict.fromkeys((Verb.REGISTER_CLIENT, Verb.IMPORT_CLIENT), fields_of_new_client),
    Verb.CHANGE_CLIENT: settings_of,
    Verb.RESET_SECRET: overlap_fields,
    Verb.CREATE_TOKEN: fields_of_token,
}

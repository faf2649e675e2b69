"""Decide every event: the table of all rules, and the function that applies it.

Each class of events has one row in `RULES`: what it needs loaded, what decides it, whether it only reads.
`decide` is pure and total. It reads nothing but its arguments, changes nothing, and for every event and
every snapshot that holds the event's keys it returns a decision; a refusal is a value, not an exception.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from ostiary_core import events, retention
from ostiary_core.clients import client, client_secret
from ostiary_core.events.account import OwnSecondFactorEvent
from ostiary_core.events.authorization import AuthorizationEvent
from ostiary_core.events.event import (
    AccountEvent,
    AuthenticatedEvent,
    ClientEvent,
    Event,
    OwnAccountEvent,
    RoleEvent,
)
from ostiary_core.loading.keys import (
    Keys,
    access_token_keys,
    account_keys,
    by_caller,
    by_client,
    client_key,
    code_keys,
    invitation_key,
    named_keys,
    of_consent,
    of_invitation,
    of_ticket,
    refresh_token_keys,
    role_key,
    roots,
    second_factor_key,
    session_key,
    telephone_keys,
    token_keys,
    user_key,
)
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Decision, Update, refuse_fields
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.identifiers import BUILT_IN_CLIENTS, CONSOLE_CLIENT, username_key
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import SUPER_ADMINISTRATOR
from ostiary_core.model.policy import SPECIFICATION, Policy
from ostiary_core.model.records import RawKey, Role, Table, TextCodePurpose
from ostiary_core.model.reply import BatchDone, BatchPreviewed, BatchRefused, Refused
from ostiary_core.model.why import Why
from ostiary_core.oauth import consent, token_service
from ostiary_core.users import (
    acknowledgement,
    first_administrator,
    invitation,
    own_account,
    personal_token,
    refusals,
    role,
    second_factor,
    telephone,
    user_administration,
)
from ostiary_core.users.refusals import refusal_facts, tell_refusals

E = TypeVar("E", bound=Event)


class Rule(NamedTuple):
    """The rule for one class of events: its keys, its handler, and whether it only reads."""

    keys: Callable[[Any], Keys]
    handler: Callable[[Any, Snapshot], Decision]
    reads_only: bool


def _rule(
    kind: type[E], handler: Callable[[E, Snapshot], Decision], reads_only: bool = False
) -> tuple[type[Event], Rule]:
    keys = next(_KEYS[base] for base in kind.__mro__ if base in _KEYS)
    return kind, Rule(keys, handler, reads_only)


def _query(kind: type[E], handler: Callable[[E, Snapshot], Decision]) -> tuple[type[Event], Rule]:
    return _rule(kind, handler, reads_only=True)


def _administration(
    kind: type[E], handler: Callable[[E, Snapshot], Decision], reads_only: bool = False
) -> tuple[type[Event], Rule]:
    """Return the row of what an administrator asks for, whose refusals are told."""
    return _rule(kind, tell_refusals(handler), reads_only)


def _table(*rows: tuple[type[Event], Rule]) -> dict[type[Event], Rule]:
    """Return the rows by class of events; a test requires one for every class."""
    return dict(rows)


def take_turn(
    events: Iterable[Event], snapshot: Snapshot, now: Instant, policy: Policy = SPECIFICATION
) -> list[Decision]:
    """Decide many events in order over one snapshot, each seeing what the ones before it changed.

    Limit: an event that needs a consent cannot use a login token minted earlier in the same turn; it raises
    `NotLoaded`, as the consent was not loaded. No client has a token before its turn is kept.
    """
    current = snapshot.at(now, policy)
    decisions = []
    for event in events:
        decision = RULES[type(event)].handler(event, current)
        if decision.changes:
            current.apply(decision.changes)
        decisions.append(decision)
    return decisions


def decide(event: Event, snapshot: Snapshot, now: Instant, policy: Policy = SPECIFICATION) -> Decision:
    """Return the reply, changes and facts of `event` under `policy`.

    `snapshot` must hold `keys(event)` and what they refer to, as `load` reads it. A missing key raises
    `NotLoaded`, and entropy of another length than 32 bytes `ValueError`: faults of the program.
    """
    return RULES[type(event)].handler(event, snapshot.at(now, policy))


def keys(event: Event) -> Keys:
    """Return the keys of what `event` needs loaded, by its row of `RULES`."""
    return RULES[type(event)].keys(event)


def _decide_batch(event: events.BatchRequested, snapshot: Snapshot) -> Decision:
    """Decide a batch: all of it is done, or it is refused with every event that was refused (READINGS 51)."""
    current = snapshot.begin_batch()
    decisions = []
    repeated = _find_repeated(event.events)
    for place, part in enumerate(event.events):
        # Callers are judged by `snapshot`, as the batch began: its order gives nobody a permission.
        decision = RULES[type(part)].handler(part, current)
        if place in repeated and not isinstance(decision.reply, Refused):
            decision = refuse_fields((repeated[place],))
        if not isinstance(decision.reply, Refused):
            current.apply(decision.changes)
        decisions.append(decision)
    refusals = tuple(
        (place, decision.reply)
        for place, decision in enumerate(decisions)
        if isinstance(decision.reply, Refused)
    )
    if not refusals:
        refusals = tuple((place, Refused(Why.LAST_ADMINISTRATOR)) for place in _leave_nobody(decisions))
    if refusals:
        told = tuple(
            fact
            for place, refusal in refusals
            for fact in refusal_facts(event.events[place], refusal.why, current)
        )
        return Decision(BatchRefused(refusals), facts=told)
    if event.is_preview:
        return Decision(BatchPreviewed(tuple(decision.facts for decision in decisions)))
    return Decision(
        BatchDone(tuple(decision.reply for decision in decisions)),
        tuple(change for decision in decisions for change in decision.changes),
        tuple(fact for decision in decisions for fact in decision.facts),
    )


def _find_repeated(parts: Iterable[Event]) -> dict[int, FieldFault]:
    """Return the fault of each import that names a record which one before it names."""
    seen: set[RawKey] = set()
    found = {}
    for place, part in enumerate(parts):
        field, key_of = _NAMED_IN.get(type(part), ("", None))
        name = part.fields.get(field) if isinstance(part, _IMPORTED) and part.replace else None
        if key_of is not None and isinstance(name, str):
            key = key_of(name)
            if key in seen:
                found[place] = FieldFault(field, FieldRule.DUPLICATE)
            seen.add(key)
    return found


_IMPORTED: Final = (events.UserImported, events.RoleImported, events.ClientImported)
_NAMED_IN: Final[Mapping[type[Event], tuple[str, Callable[[str], RawKey]]]] = MappingProxyType(
    {
        events.UserImported: ("username", username_key),
        events.RoleImported: ("code", role_key),
        events.ClientImported: ("clientId", client_key),
    }
)
"""The field of an import that names its record, and the key of the name."""


def _leave_nobody(decisions: Iterable[Decision]) -> tuple[int, ...]:
    """Return the places in a batch that take super administrators away, if none is left at its end."""
    takers = []
    left = 1
    for place, decision in enumerate(decisions):
        for change in decision.changes:
            if isinstance(change, Update) and isinstance(change.before, Role):
                before, after = change.before, change.after
                if before.role_id == SUPER_ADMINISTRATOR and isinstance(after, Role):
                    left = after.enabled_holders
                    takers += [place] if left < before.enabled_holders else []
    return () if left else tuple(takers)


_KEYS: Final[Mapping[type[Event], Callable[[Any], Keys]]] = MappingProxyType(
    {
        AuthenticatedEvent: lambda it: by_client(it.credentials),
        AuthorizationEvent: lambda it: of_consent(it.caller, it.parameters.client_id),
        OwnAccountEvent: lambda it: by_caller(it.caller),
        AccountEvent: lambda it: by_caller(it.caller, user_key(it.user_id)),
        RoleEvent: lambda it: by_caller(it.caller, role_key(it.role_id)),
        ClientEvent: lambda it: by_caller(it.caller, client_key(it.client_id)),
        # --- the token service and user-info
        events.RefreshRequested: lambda it: by_client(it.credentials, refresh_token_keys(it.refresh_token)),
        events.IntrospectionRequested: lambda it: by_client(it.credentials, token_keys(it.token)),
        events.RevocationRequested: lambda it: by_client(it.credentials, token_keys(it.token)),
        events.CodeRedeemed: lambda it: by_client(it.credentials, code_keys(it.code)),
        events.ProfileRequested: lambda it: roots(*access_token_keys(it.access_token)),
        # --- users and their own accounts
        events.ConsentWithdrawn: lambda it: of_consent(it.caller, it.client_id),
        events.PasswordHashRequested: lambda it: (
            roots(username_key(it.of)) if isinstance(it.of, str) else by_caller(it.of)
        ),
        events.SignInAttempted: lambda it: roots(username_key(it.username), client_key(CONSOLE_CLIENT)),
        events.TicketPresented: lambda it: of_ticket(it.ticket),
        events.SecondFactorEntered: lambda it: of_ticket(it.ticket),
        events.SecondFactorBegunAtSignIn: lambda it: of_ticket(it.ticket),
        OwnSecondFactorEvent: lambda it: by_caller(it.caller, second_factor_key(it.user_id)),
        events.LoginRefreshed: lambda it: roots(*refresh_token_keys(it.refresh_token)),
        events.OwnSessionEnded: lambda it: by_caller(it.caller, session_key(it.session_id)),
        events.AccountRequested: lambda it: by_caller(it.caller),
        events.TextCodeRequested: lambda it: by_caller(it.caller, *telephone_keys(it.phone, it.purpose)),
        events.PhoneChanged: lambda it: by_caller(
            it.caller, *telephone_keys(it.phone, TextCodePurpose.CHANGE_PHONE)
        ),
        **dict.fromkeys(
            (events.TextCodePresented, events.PasswordResetByTextMessage),
            lambda it: roots(*telephone_keys(it.phone, TextCodePurpose.RESET_PASSWORD)),
        ),
        **dict.fromkeys(
            (events.InvitationPresented, events.InvitationAccepted), lambda it: of_invitation(it.token)
        ),
        # --- administration
        events.UserRegistered: lambda it: by_caller(it.caller, *account_keys(it.fields)),
        events.UserChanged: lambda it: by_caller(it.caller, user_key(it.user_id), *account_keys(it.fields)),
        **dict.fromkeys(
            (events.UserUnlocked, events.UserDeleted, events.SecondFactorReset),
            lambda it: by_caller(it.caller, user_key(it.user_id), second_factor_key(it.user_id)),
        ),
        events.UserRequested: lambda it: by_caller(
            it.caller,
            user_key(it.user_id),
            second_factor_key(it.user_id),
            invitation_key(it.user_id),
            client_key(CONSOLE_CLIENT),
        ),
        events.InvitationMade: lambda it: by_caller(
            it.caller, user_key(it.user_id), invitation_key(it.user_id), client_key(CONSOLE_CLIENT)
        ),
        events.UserImported: lambda it: by_caller(it.caller, *account_keys(it.fields)),
        events.ConsentWithdrawnByAdministrator: lambda it: by_caller(
            it.caller,
            user_key(it.user_id),
            client_key(it.client_id),
            (Table.CONSENT, (it.user_id, it.client_id)),
        ),
        events.RoleRegistered: lambda it: by_caller(it.caller, *named_keys(Table.ROLE, it.fields, "code")),
        events.RoleImported: lambda it: by_caller(it.caller, *named_keys(Table.ROLE, it.fields, "code")),
        events.ClientRegistered: lambda it: by_caller(
            it.caller, *named_keys(Table.CLIENT, it.fields, "clientId")
        ),
        events.ClientImported: lambda it: by_caller(
            it.caller, *named_keys(Table.CLIENT, it.fields, "clientId")
        ),
        events.SessionForcedOut: lambda it: by_caller(it.caller, session_key(it.session_id)),
        events.EverybodyForcedOut: lambda it: by_caller(it.caller, *map(client_key, it.client_ids)),
        events.WarningAcknowledged: lambda it: by_caller(it.caller),
        # No event of a batch names a consent.
        events.BatchRequested: lambda it: roots(*(key for part in it.events for key in keys(part).roots)),
        # --- the operator, and the runtime itself
        events.FirstAdministratorCreated: lambda it: roots(
            role_key(SUPER_ADMINISTRATOR), username_key(it.username), *map(client_key, BUILT_IN_CLIENTS)
        ),
        events.AdministratorRefused: lambda it: roots(),
        events.ClientSecretUsed: lambda it: roots(client_key(it.client_id)),
        events.WrongSecretsCounted: lambda it: roots(client_key(it.client_id)),
        events.GraceExpired: lambda it: roots(session_key(it.session_id)),
        events.RecordExpired: lambda it: roots(it.key),
    }
)
"""Keys of events, by their class or its nearest base class."""

RULES: Final = _table(
    # --- the token service and user-info
    _rule(events.RefreshRequested, token_service.refresh),
    _query(events.IntrospectionRequested, token_service.introspect),
    _rule(events.RevocationRequested, token_service.revoke),
    _rule(events.ClientCredentialsRequested, token_service.issue_to_client),
    _rule(events.CodeRedeemed, token_service.redeem),
    _rule(events.GrantUnrecognised, token_service.refuse_grant),
    _query(events.ProfileRequested, token_service.show_profile),
    # --- the consent page
    _query(events.AuthorizationChecked, consent.check),
    _rule(events.ConsentGiven, consent.approve),
    _rule(events.AutomaticConsentRequested, consent.issue_if_preapproved),
    _rule(events.ConsentDenied, consent.deny),
    _rule(events.ConsentWithdrawn, consent.withdraw),
    # --- users and their own accounts
    _query(events.PasswordHashRequested, own_account.password_on_file),
    _rule(events.SignInAttempted, own_account.sign_in),
    _query(events.TicketPresented, second_factor.check_ticket),
    _rule(events.SecondFactorEntered, second_factor.finish_sign_in),
    _rule(events.SecondFactorBegunAtSignIn, second_factor.begin_at_sign_in),
    _query(events.SecondFactorRequested, second_factor.show),
    _rule(events.SecondFactorBegun, second_factor.begin),
    _rule(events.SecondFactorConfirmed, second_factor.confirm),
    _rule(events.RecoveryCodesRenewed, second_factor.renew_recovery_codes),
    _rule(events.SecondFactorRemoved, second_factor.remove),
    _rule(events.IdentityProved, second_factor.prove_identity),
    _rule(events.LoginRefreshed, own_account.refresh_login),
    _rule(events.SignedOut, own_account.sign_out),
    _rule(events.OwnSessionEnded, own_account.end_own_session),
    _rule(events.OtherSessionsEnded, own_account.sign_out_elsewhere),
    _rule(events.PersonalTokenCreated, personal_token.create),
    _rule(events.PersonalTokenUsed, personal_token.record_use),
    _administration(events.AccountRequested, own_account.show_account, reads_only=True),
    _rule(events.PasswordChanged, own_account.change_password),
    _rule(events.LocaleChosen, own_account.choose_locale),
    _rule(events.TimezoneChosen, own_account.choose_timezone),
    _rule(events.AvatarChosen, own_account.choose_avatar),
    _rule(events.TextCodeRequested, telephone.request_text_code),
    _rule(events.PhoneChanged, telephone.change_phone),
    _rule(events.TextCodePresented, telephone.check_recovery),
    _rule(events.PasswordResetByTextMessage, telephone.reset_password_by_text_message),
    _query(events.InvitationPresented, invitation.check),
    _rule(events.InvitationAccepted, invitation.accept),
    # --- administration
    _administration(events.UserRequested, user_administration.show, reads_only=True),
    _administration(events.UserRegistered, user_administration.register),
    _administration(events.UserChanged, user_administration.change),
    _administration(events.UserImported, user_administration.import_row),
    _administration(events.UserEnabled, user_administration.enable),
    _administration(events.UserDisabled, user_administration.disable),
    _administration(events.UserDeleted, user_administration.delete),
    _administration(events.UserForcedOut, user_administration.force_out),
    _administration(events.UserUnlocked, user_administration.unlock),
    _administration(events.ConsentWithdrawnByAdministrator, user_administration.withdraw_consent),
    _administration(events.PasswordResetByAdministrator, user_administration.reset_password),
    _administration(events.InvitationMade, invitation.invite),
    _administration(events.SecondFactorReset, user_administration.reset_second_factor),
    _administration(events.RoleRequested, role.show, reads_only=True),
    _administration(events.RoleRegistered, role.register),
    _administration(events.RoleChanged, role.change),
    _administration(events.RoleImported, role.import_row),
    _administration(events.RoleDeleted, role.delete),
    _administration(events.ClientRequested, client.show, reads_only=True),
    _administration(events.ClientRegistered, client.register),
    _administration(events.ClientChanged, client.change),
    _administration(events.ClientImported, client.import_row),
    _administration(events.ClientEnabled, client.enable),
    _administration(events.ClientDisabled, client.disable),
    _administration(events.ClientForcedOut, client.force_out),
    _administration(events.ClientDeleted, client.delete),
    _administration(events.ClientSecretReset, client_secret.reset),
    _administration(events.ClientSecretReplaced, client_secret.replace_secret),
    _administration(events.OldSecretEnded, client_secret.end_old),
    _administration(events.SessionForcedOut, user_administration.force_out_session),
    _administration(events.EverybodyForcedOut, client.force_out_everybody),
    _administration(events.WarningAcknowledged, acknowledgement.acknowledge),
    _rule(events.BatchRequested, _decide_batch),
    # --- the operator, and the runtime itself
    _rule(events.FirstAdministratorCreated, first_administrator.create_first_administrator),
    _rule(events.AdministratorRefused, refusals.record),
    _rule(events.ClientSecretUsed, client_secret.record_use),
    _rule(events.WrongSecretsCounted, client_secret.add_wrong),
    _rule(events.GraceExpired, retention.erase_salt),
    _rule(events.RecordExpired, retention.delete_expired),
)
"""Rules by class of events: what to load, and what decides."""

READ_ONLY: Final = frozenset(kind for kind, rule in RULES.items() if rule.reads_only)
"""Classes of events that change nothing, which a store may decide beside a writer."""

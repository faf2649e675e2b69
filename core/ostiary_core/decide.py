"""Decide every event: the table of all rules, and the function that applies it.

Each class of events has one row in `RULES`: what it needs loaded, what decides it, whether it only reads.
`decide` is pure and total. It reads nothing but its arguments, changes nothing, and for every event and
every snapshot that holds the event's keys it returns a decision; a refusal is a value, not an exception.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeVar

from ostiary_core import events as e, retention
from ostiary_core.clients import client, client_secret
from ostiary_core.loading.keys import (
    Keys,
    access_token_keys,
    account_keys,
    by_caller,
    by_client,
    client_key,
    code_keys,
    named_keys,
    of_consent,
    refresh_token_keys,
    role_key,
    roots,
    session_key,
    telephone_keys,
    token_keys,
    user_key,
)
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Decision, Update
from ostiary_core.model.identifiers import BUILT_IN_CLIENTS, CONSOLE_CLIENT, username_key
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import SUPER_ADMINISTRATOR
from ostiary_core.model.policy import SPECIFICATION, Policy
from ostiary_core.model.records import Role, Table, TextCodePurpose
from ostiary_core.model.reply import BatchDone, BatchRefused, Refused
from ostiary_core.model.why import Why
from ostiary_core.oauth import consent, token_service
from ostiary_core.users import (
    first_administrator,
    own_account as account,
    role,
    telephone,
    user_administration as people,
)

E = TypeVar("E", bound=e.Event)


class Rule(NamedTuple):
    """The rule for one class of events: its keys, its handler, and whether it only reads."""

    keys: Callable[[Any], Keys]
    handler: Callable[..., Decision]
    """Takes the event, the snapshot, the time and, where `by_policy`, the policy."""
    by_policy: bool
    reads_only: bool


Row = tuple[type[e.Event], Rule]


def _rule(
    kind: type[E],
    keys: Callable[[E], Keys],
    handler: Callable[[E, Snapshot, Instant], Decision],
    reads_only: bool = False,
) -> Row:
    return kind, Rule(keys, handler, by_policy=False, reads_only=reads_only)


def _query(
    kind: type[E], keys: Callable[[E], Keys], handler: Callable[[E, Snapshot, Instant], Decision]
) -> Row:
    return _rule(kind, keys, handler, reads_only=True)


def _policy_rule(
    kind: type[E], keys: Callable[[E], Keys], handler: Callable[[E, Snapshot, Instant, Policy], Decision]
) -> Row:
    return kind, Rule(keys, handler, by_policy=True, reads_only=False)


def _table(*rows: Row) -> dict[type[e.Event], Rule]:
    """Return the rows by class of events; a test requires one for every class."""
    return dict(rows)


def take_turn(
    events: Iterable[e.Event], snapshot: Snapshot, now: Instant, policy: Policy = SPECIFICATION
) -> list[Decision]:
    """Decide many events in order over one snapshot, each seeing what the ones before it changed.

    Limit: an event that needs a consent cannot use a login token minted earlier in the same turn; it raises
    `NotLoaded`, as the consent was not loaded. No client has a token before its turn is kept.
    """
    current = snapshot.after(())
    decisions = []
    for event in events:
        decision = decide(event, current, now, policy)
        if decision.changes:
            current.apply(decision.changes)
        decisions.append(decision)
    return decisions


def decide(event: e.Event, snapshot: Snapshot, now: Instant, policy: Policy = SPECIFICATION) -> Decision:
    """Return the reply, changes and facts of `event` under `policy`.

    `snapshot` must hold `keys(event)` and what they refer to, as `load` reads it. A missing key raises
    `NotLoaded`, and entropy of another length than 32 bytes `ValueError`: faults of the program.
    """
    rule = RULES[type(event)]
    if rule.by_policy:
        return rule.handler(event, snapshot, now, policy)
    return rule.handler(event, snapshot, now)


def keys(event: e.Event) -> Keys:
    """Return the keys of what `event` needs loaded, by its row of `RULES`."""
    return RULES[type(event)].keys(event)


def _decide_batch(event: e.BatchRequested, snapshot: Snapshot, now: Instant, policy: Policy) -> Decision:
    """Decide a batch: all of it is done, or it is refused with every event that was refused (READINGS 51)."""
    current = snapshot.begin_batch()
    decisions = []
    for part in event.events:
        # Callers are judged by `snapshot`, as the batch began: its order gives nobody a permission.
        decision = decide(part, current, now, policy)
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
        return Decision(BatchRefused(refusals))
    return Decision(
        BatchDone(tuple(decision.reply for decision in decisions)),
        tuple(change for decision in decisions for change in decision.changes),
        tuple(fact for decision in decisions for fact in decision.facts),
    )


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


def _keys_of_session(event: e.OwnSessionEnded | e.SessionForcedOut) -> Keys:
    return by_caller(event.caller, session_key(event.session_id))


def _keys_of_everybody(event: e.EverybodyForcedOut) -> Keys:
    return by_caller(event.caller, *map(client_key, event.client_ids))


def _keys_of_grant(event: e.ConsentWithdrawnByAdministrator) -> Keys:
    consent_key = (Table.CONSENT, (event.user_id, event.client_id))
    return by_caller(event.caller, user_key(event.user_id), client_key(event.client_id), consent_key)


def _keys_of_new_account(event: e.UserRegistered | e.UserImported) -> Keys:
    return by_caller(event.caller, *account_keys(event.fields))


def _keys_of_named_client(event: e.ClientRegistered | e.ClientImported) -> Keys:
    return by_caller(event.caller, *named_keys(Table.CLIENT, event.fields, "clientId"))


def _keys_of_named_role(event: e.RoleRegistered | e.RoleImported) -> Keys:
    return by_caller(event.caller, *named_keys(Table.ROLE, event.fields, "code"))


def _keys_of_own_token(event: e.IntrospectionRequested | e.RevocationRequested) -> Keys:
    return by_client(event.credentials, token_keys(event.token))


def _keys_of_password(event: e.PasswordHashRequested) -> Keys:
    return roots(username_key(event.of)) if isinstance(event.of, str) else by_caller(event.of)


def _keys_of_batch(event: e.BatchRequested) -> Keys:
    # No event of a batch names a consent.
    return roots(*(place for part in event.events for place in keys(part).roots))


def _keys_of_built_in(event: e.FirstAdministratorCreated) -> Keys:
    clients = (client_key(client_id) for client_id in BUILT_IN_CLIENTS)
    return roots(role_key(SUPER_ADMINISTRATOR), username_key(event.username), *clients)


RULES: Final = _table(
    # --- the token service and user-info
    _policy_rule(
        e.RefreshRequested,
        lambda it: by_client(it.credentials, refresh_token_keys(it.refresh_token)),
        token_service.refresh,
    ),
    _query(e.IntrospectionRequested, _keys_of_own_token, token_service.introspect),
    _rule(e.RevocationRequested, _keys_of_own_token, token_service.revoke),
    _rule(e.ClientCredentialsRequested, lambda it: by_client(it.credentials), token_service.issue_to_client),
    _policy_rule(
        e.CodeRedeemed, lambda it: by_client(it.credentials, code_keys(it.code)), token_service.redeem
    ),
    _rule(e.GrantUnrecognised, lambda it: by_client(it.credentials), token_service.refuse_grant),
    _query(
        e.ProfileRequested, lambda it: roots(*access_token_keys(it.access_token)), token_service.show_profile
    ),
    # --- the consent page
    _query(e.AuthorizationChecked, lambda it: of_consent(it.caller, it.parameters.client_id), consent.check),
    _rule(e.ConsentGiven, lambda it: of_consent(it.caller, it.parameters.client_id), consent.approve),
    _rule(
        e.AutomaticConsentRequested,
        lambda it: of_consent(it.caller, it.parameters.client_id),
        consent.issue_if_preapproved,
    ),
    _rule(e.ConsentDenied, lambda it: of_consent(it.caller, it.parameters.client_id), consent.deny),
    _rule(e.ConsentWithdrawn, lambda it: of_consent(it.caller, it.client_id), consent.withdraw),
    # --- people and their own accounts
    _query(e.PasswordHashRequested, _keys_of_password, account.password_on_file),
    _rule(
        e.SignInAttempted,
        lambda it: roots(username_key(it.username), client_key(CONSOLE_CLIENT)),
        account.sign_in,
    ),
    _policy_rule(
        e.LoginRefreshed, lambda it: roots(*refresh_token_keys(it.refresh_token)), account.refresh_login
    ),
    _rule(e.SignedOut, lambda it: by_caller(it.caller), account.sign_out),
    _rule(e.OwnSessionEnded, _keys_of_session, account.end_own_session),
    _query(e.AccountRequested, lambda it: by_caller(it.caller), account.show_account),
    _policy_rule(e.PasswordChanged, lambda it: by_caller(it.caller), account.change_password),
    _policy_rule(e.LocaleChosen, lambda it: by_caller(it.caller), account.choose_locale),
    _rule(e.TimezoneChosen, lambda it: by_caller(it.caller), account.choose_timezone),
    _rule(e.AvatarChosen, lambda it: by_caller(it.caller), account.choose_avatar),
    _policy_rule(
        e.TextCodeRequested,
        lambda it: by_caller(it.caller, *telephone_keys(it.phone, it.purpose)),
        telephone.request_text_code,
    ),
    _policy_rule(
        e.PhoneChanged,
        lambda it: by_caller(it.caller, *telephone_keys(it.phone, TextCodePurpose.CHANGE_PHONE)),
        telephone.change_phone,
    ),
    _policy_rule(
        e.PasswordResetByTextMessage,
        lambda it: roots(*telephone_keys(it.phone, TextCodePurpose.RESET_PASSWORD)),
        telephone.reset_password_by_text_message,
    ),
    # --- administration
    _query(e.UserRequested, lambda it: by_caller(it.caller, user_key(it.user_id)), people.show),
    _policy_rule(e.UserRegistered, _keys_of_new_account, people.register),
    _policy_rule(
        e.UserChanged,
        lambda it: by_caller(it.caller, user_key(it.user_id), *account_keys(it.fields)),
        people.change,
    ),
    _policy_rule(e.UserImported, _keys_of_new_account, people.import_row),
    _rule(e.UserEnabled, lambda it: by_caller(it.caller, user_key(it.user_id)), people.enable),
    _rule(e.UserDisabled, lambda it: by_caller(it.caller, user_key(it.user_id)), people.disable),
    _rule(e.UserDeleted, lambda it: by_caller(it.caller, user_key(it.user_id)), people.delete),
    _rule(e.UserForcedOut, lambda it: by_caller(it.caller, user_key(it.user_id)), people.force_out),
    _rule(e.ConsentWithdrawnByAdministrator, _keys_of_grant, people.withdraw_consent),
    _rule(
        e.PasswordResetByAdministrator,
        lambda it: by_caller(it.caller, user_key(it.user_id)),
        people.reset_password,
    ),
    _query(e.RoleRequested, lambda it: by_caller(it.caller, role_key(it.role_id)), role.show),
    _rule(e.RoleRegistered, _keys_of_named_role, role.register),
    _rule(e.RoleChanged, lambda it: by_caller(it.caller, role_key(it.role_id)), role.change),
    _rule(e.RoleImported, _keys_of_named_role, role.import_row),
    _rule(e.RoleDeleted, lambda it: by_caller(it.caller, role_key(it.role_id)), role.delete),
    _query(e.ClientRequested, lambda it: by_caller(it.caller, client_key(it.client_id)), client.show),
    _rule(e.ClientRegistered, _keys_of_named_client, client.register),
    _rule(e.ClientChanged, lambda it: by_caller(it.caller, client_key(it.client_id)), client.change),
    _rule(e.ClientImported, _keys_of_named_client, client.import_row),
    _rule(e.ClientEnabled, lambda it: by_caller(it.caller, client_key(it.client_id)), client.enable),
    _rule(e.ClientDisabled, lambda it: by_caller(it.caller, client_key(it.client_id)), client.disable),
    _rule(e.ClientForcedOut, lambda it: by_caller(it.caller, client_key(it.client_id)), client.force_out),
    _rule(e.ClientDeleted, lambda it: by_caller(it.caller, client_key(it.client_id)), client.delete),
    _rule(
        e.ClientSecretReset, lambda it: by_caller(it.caller, client_key(it.client_id)), client_secret.reset
    ),
    _rule(
        e.ClientSecretReplaced,
        lambda it: by_caller(it.caller, client_key(it.client_id)),
        client_secret.replace_secret,
    ),
    _rule(e.OldSecretEnded, lambda it: by_caller(it.caller, client_key(it.client_id)), client_secret.end_old),
    _rule(e.SessionForcedOut, _keys_of_session, people.force_out_session),
    _rule(e.EverybodyForcedOut, _keys_of_everybody, client.force_out_everybody),
    _policy_rule(e.BatchRequested, _keys_of_batch, _decide_batch),
    # --- whoever runs the machine, and the runtime itself
    _rule(
        e.FirstAdministratorCreated,
        _keys_of_built_in,
        first_administrator.create_first_administrator,
    ),
    _rule(e.ClientSecretUsed, lambda it: roots(client_key(it.client_id)), client_secret.record_use),
    _rule(e.WrongSecretsCounted, lambda it: roots(client_key(it.client_id)), client_secret.add_wrong),
    _policy_rule(e.GraceExpired, lambda it: roots(session_key(it.session_id)), retention.erase_salt),
    _policy_rule(e.RecordExpired, lambda it: roots(it.key), retention.delete_expired),
)
"""Rules by class of events: what to load, and what decides."""

READ_ONLY: Final = frozenset(kind for kind, rule in RULES.items() if rule.reads_only)
"""Classes of events that change nothing, which a store may decide beside a writer."""

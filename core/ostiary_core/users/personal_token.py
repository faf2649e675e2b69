"""Personal access tokens: bearer tokens with which a user's programs administer.

Rules, all in this file and in `oauth.callers` (docs/decisions/0052-personal-access-tokens.md):

- A token is a session of the built-in client `console` without a refresh token: it ends by its time, by its
  holder, by an administrator who may end sessions, and with everything of its holder (READINGS 9).
- Only a login session makes one, and gives it no permission that its holder lacks; what the holder loses
  later is lost to the token, and comes back with it.
- Only a user who proved who they are a short time ago makes one, as it outlives the session. What else asks
  for a proof (READINGS 57) a token does only with the power to (`TokenPower`), which is chosen by name.
- It opens the administration alone, never one's own account, the consent page or user-info; it never is a
  super administrator and does not act on its holder (`callers.has_more_permissions`): it cannot widen itself.
- A hundred of a user live, at most: their record counts them, so that of two made at once one is refused.
- Its text is shown once and known by its digest alone. Its last use is kept to the minute.
"""

from typing import Final

from ostiary_core import events
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.changes import FieldChange
from ostiary_core.model.decision import Decision, Insert, Update, refuse, refuse_fields
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.fields import FieldReader, FieldRule
from ostiary_core.model.identifiers import CONSOLE_CLIENT
from ostiary_core.model.instant import DAY_SECONDS, Instant, is_news, later
from ostiary_core.model.permissions import ALL_PERMISSIONS, ALL_POWERS
from ostiary_core.model.record_type import Bounds
from ostiary_core.model.records import Session, SessionKind, User, revise
from ostiary_core.model.reply import Done, PersonalTokenIssued
from ostiary_core.model.secret import draw_personal_token, draw_session_id
from ostiary_core.model.why import Why
from ostiary_core.oauth.callers import (
    Person,
    find_active_person,
    find_holder,
    must_prove_identity,
    permissions_held,
    require_actor,
)
from ostiary_core.oauth.inherited_endings import login_epochs_now
from ostiary_core.oauth.session import end

NAME: Final = "name"
PERMISSIONS: Final = "permissions"
DAYS: Final = "expiresInDays"
LONGEST_NAME: Final = 100
LIFETIME_DAYS: Final = Bounds(least=1, most=365, default=90)


@require_actor(find_active_person)
def create(event: events.PersonalTokenCreated, who: Person, snapshot: Snapshot) -> Decision:
    """Make a token with permissions of its holder, for a number of days."""
    reader = FieldReader(event.fields, frozenset({NAME, PERMISSIONS, DAYS}))
    name = reader.text(NAME, None, LONGEST_NAME).strip()
    chosen = reader.texts(PERMISSIONS, ())
    for place, permission in enumerate(chosen):
        if permission not in (*ALL_PERMISSIONS, *ALL_POWERS):
            reader.fault(f"{PERMISSIONS}.{place}", FieldRule.PERMISSION)
    if not chosen:
        reader.fault(PERMISSIONS, FieldRule.REQUIRED)
    if not reader.has_field(DAYS):
        reader.fault(DAYS, FieldRule.REQUIRED)
    days = reader.number(
        DAYS, LIFETIME_DAYS.default, LIFETIME_DAYS.least, LIFETIME_DAYS.most, FieldRule.TOKEN_LIFETIME
    )
    if reader.faults:
        return refuse_fields(reader.faults)
    if not set(chosen) <= {*permissions_held(who, snapshot), *ALL_POWERS}:
        return refuse(Why.PERMISSION_MISSING)
    if must_prove_identity(who, snapshot):
        return refuse(Why.PROOF_REQUIRED)
    living = _find_living_expiries(who.user, snapshot)
    if len(living) >= snapshot.policy.personal_tokens_at_most:
        return refuse(Why.TOO_MANY_TOKENS)
    permissions = tuple(each for each in (*ALL_PERMISSIONS, *ALL_POWERS) if each in chosen)
    token, expires_at = draw_personal_token(event.entropy), later(snapshot.now, days * DAY_SECONDS)
    session = Session(
        draw_session_id(event.entropy, snapshot.now),
        SessionKind.PERSONAL_TOKEN,
        CONSOLE_CLIENT,
        who.user.user_id,
        permissions,
        login_epochs_now(who.user, snapshot),
        snapshot.now,
        expires_at,
        token.digest,
        permissions,
        expires_at,
        event.user_agent,
        event.source,
        label=name,
    )
    fact = Fact(
        FactKind.PERSONAL_TOKEN_CREATED,
        user_id=session.user_id,
        client_id=session.client_id,
        session_id=session.session_id,
        user_agent=event.user_agent,
        scopes=permissions,
        changes=(
            FieldChange(NAME, None, name),
            FieldChange(PERMISSIONS, None, permissions),
            FieldChange(DAYS, None, days),
        ),
    )
    counted = _count_tokens(who.user, (*living, expires_at), snapshot)
    return Decision(PersonalTokenIssued(session, token), (Insert(session), counted), (fact,))


def end_token(token: Session, why: Why, snapshot: Snapshot, actor_id: str | None = None) -> Decision:
    """End one token, which its holder's record counts no more."""
    changes, fact = end(token, why, snapshot.now, actor_id=actor_id)
    user = None if token.user_id is None else snapshot.user(token.user_id)
    if user is None:
        return Decision(Done(), changes, (fact,))
    left = list(_find_living_expiries(user, snapshot))
    # It is not there if a release made it that did not count.
    if token.expires_at in left:
        left.remove(token.expires_at)
        changes = (*changes, _count_tokens(user, tuple(left), snapshot))
    return Decision(Done(), changes, (fact,))


def _find_living_expiries(user: User, snapshot: Snapshot) -> tuple[Instant, ...]:
    """Return when each of the user's living tokens expires."""
    if user.tokens_epoch != _tokens_epoch_now(user, snapshot):
        return ()
    return tuple(expires_at for expires_at in user.token_expiries if snapshot.now < expires_at)


def _count_tokens(user: User, expiries: tuple[Instant, ...], snapshot: Snapshot) -> Update:
    epoch = _tokens_epoch_now(user, snapshot)
    return Update(user, revise(user, token_expiries=expiries, tokens_epoch=epoch))


def _tokens_epoch_now(user: User, snapshot: Snapshot) -> int:
    epochs = login_epochs_now(user, snapshot)
    return epochs.user + epochs.client


@require_actor(lambda caller, snapshot: find_holder(caller, snapshot, SessionKind.PERSONAL_TOKEN))
def record_use(event: events.PersonalTokenUsed, who: Person, snapshot: Snapshot) -> Decision:
    """Note when a token was last used, once a minute at most."""
    if not is_news(snapshot.now, who.session.rotated_at):
        return Decision(Done())
    return Decision(Done(), (Update(who.session, revise(who.session, rotated_at=snapshot.now)),))

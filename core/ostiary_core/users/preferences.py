"""The preferences of a user: language, time zone and picture. Changing them ends no session."""

from typing import Any

from ostiary_core.events import AvatarChosen, LocaleChosen, SignedIn, TimezoneChosen
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import (
    Decision,
    Done,
    Fact,
    FactKind,
    FieldFault,
    FieldRule,
    Refused,
    Update,
    refused,
)
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import revised
from ostiary_core.model.why import Why
from ostiary_core.oauth.authentication import find_person_free_to_act
from ostiary_core.users.user_fields import LOCALES, is_timezone_name

__all__ = ["choose_avatar", "choose_locale", "choose_timezone"]


def choose_locale(event: LocaleChosen, snapshot: Snapshot, now: Instant) -> Decision:
    """Set the user's language, one of the two there are."""
    faults = () if event.locale in LOCALES else (FieldFault("locale", FieldRule.LOCALE),)
    return _change(event.caller, faults, snapshot, now, locale=event.locale)


def choose_timezone(event: TimezoneChosen, snapshot: Snapshot, now: Instant) -> Decision:
    """Set the user's time zone by its IANA name."""
    faults = event.faults
    if not is_timezone_name(event.timezone):
        faults = (FieldFault("timezone", FieldRule.TIMEZONE),)
    return _change(event.caller, faults, snapshot, now, timezone=event.timezone)


def choose_avatar(event: AvatarChosen, snapshot: Snapshot, now: Instant) -> Decision:
    """Set the address of the user's picture, or remove the picture."""
    return _change(event.caller, (), snapshot, now, avatar_url=event.avatar_url)


def _change(
    caller: SignedIn, faults: tuple[FieldFault, ...], snapshot: Snapshot, now: Instant, **chosen: Any
) -> Decision:
    who = find_person_free_to_act(caller, snapshot, now)
    if isinstance(who, Why):
        return refused(who)
    if faults:
        return Decision(Refused(Why.FIELDS_INVALID, faults))
    changed = revised(who.user, updated_at=now, **chosen)
    fact = Fact(kind=FactKind.PREFERENCES_SET, user_id=who.user.user_id)
    return Decision(Done(), (Update(who.user, changed),), (fact,))

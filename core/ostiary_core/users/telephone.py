"""The telephone of an account: the codes sent to it, a new number, and the password it can recover.

Rules, all in this file ("Session and tokens", user-level row; READINGS 28):

- A code is six digits, good for ten minutes, five tries and one use. There is one a number and purpose.
- A code belongs to the account it was drawn for (the owner of the number, or the user who asks for a new
  one) and dies with any ending of that account (READINGS 48). For another account it is wrong, at no try.
- The answer does not tell whether the number is known. A number is sent one code a minute and ten a day,
  which keeps telephones from being flooded and codes from being guessed.
- An account asks for twenty codes a day, to all numbers together (READINGS 43). Requests count, not codes:
  so a refusal tells nothing of a number.
- A wrong code is recorded even if no code stands or the number is unknown, so that each costs one write.
- A new number asks for the current password, which is checked before the code: a wrong password counts and
  spends no code (READINGS 41).
- A new number ends every session and unredeemed code of the user but the login session in which it was set.
  Recovery ends everything, and leaves a second factor as it is.
- The policy may keep recovery to users with a second factor, or switch it off.
"""

import hmac
from dataclasses import replace

from ostiary_core.events import (
    PasswordResetByTextMessage,
    PhoneChanged,
    TextCodePresented,
    TextCodeRequested,
)
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Change, Decision, Delete, Insert, Update, refuse, refuse_fields
from ostiary_core.model.fact import NOBODY, Fact, FactKind
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.identifiers import phone_identifier, phone_key, text_code_key
from ostiary_core.model.instant import DAY_SECONDS, Instant, later, seconds_until, within
from ostiary_core.model.policy import SPECIFICATION, Policy, TextRecoveryFor
from ostiary_core.model.records import TextCode, TextCodePurpose, User, revise
from ostiary_core.model.reply import Done, Refused, TextCodeDrawn
from ostiary_core.model.secret import Digest, Secret, digest_of, draw_text_code
from ostiary_core.model.user import is_phone
from ostiary_core.model.why import Why
from ostiary_core.oauth.callers import Person, acting_of, find_active_person, require_actor
from ostiary_core.oauth.inherited_endings import login_epochs_now, with_next_epoch
from ostiary_core.users.own_account import (
    end_other_sessions,
    refuse_wrong_password,
    set_password_once,
)


def request_text_code(event: TextCodeRequested, snapshot: Snapshot) -> Decision:
    """Draw a code to send, or none; the caller cannot tell which (API, `sms-code`)."""
    if not is_phone(event.phone):
        return refuse_fields((FieldFault("phone", FieldRule.PHONE),))
    known = snapshot.identifier(phone_key(event.phone))
    addressee = None if known is None else snapshot.user(known.user_id)
    count: tuple[Change, ...] = ()
    acting = NOBODY
    if event.purpose is TextCodePurpose.CHANGE_PHONE:
        caller = event.caller
        who = Why.NOT_SIGNED_IN if caller is None else find_active_person(caller, snapshot)
        if isinstance(who, Why):
            return refuse(who)
        acting = acting_of(who)
        wait_seconds = seconds_to_text_code(who.user, snapshot.now, snapshot.policy)
        if wait_seconds:
            return Decision(Refused(Why.TEXT_CODES_TOO_FREQUENT, wait_seconds=wait_seconds))
        addressee = revise(
            who.user, text_codes_asked_at=(*_find_recent_requests(who.user, snapshot.now), snapshot.now)
        )
        count = (Update(who.user, addressee),)
    elif snapshot.policy.text_recovery is TextRecoveryFor.NOBODY:
        return refuse(Why.TEXT_RECOVERY_OFF)
    elif addressee is not None and not _may_recover(addressee, snapshot.policy):
        addressee = None
    if addressee is None or (known is None) is (event.purpose is TextCodePurpose.RESET_PASSWORD):
        return Decision(TextCodeDrawn(None), count)
    stored = snapshot.text_code(text_code_key(event.purpose, event.phone))
    if stored is not None and _is_pausing(stored, snapshot.now, snapshot.policy):
        return Decision(TextCodeDrawn(None), count)
    secret = draw_text_code(event.entropy)
    fact = Fact(kind=FactKind.TEXT_CODE_SENT, user_id=addressee.user_id, acting=acting)
    change = _store_code(event, secret, addressee, stored, snapshot)
    return Decision(TextCodeDrawn(secret, addressee), (*count, change), (fact,))


def seconds_to_text_code(user: User, now: Instant, policy: Policy = SPECIFICATION) -> int:
    """Return the whole seconds until an account may ask for another code to a new number; 0 if it may now."""
    asked_at = _find_recent_requests(user, now)
    if len(asked_at) < policy.text_codes_asked_a_day:
        return 0
    return seconds_until(later(asked_at[-policy.text_codes_asked_a_day], DAY_SECONDS) - now)


def _find_recent_requests(user: User, now: Instant) -> tuple[Instant, ...]:
    """Find the times of requests that still count."""
    # Times far ahead do not count: the clock was set back since.
    asked_at = within(DAY_SECONDS, user.text_codes_asked_at, now)
    return tuple(at for at in asked_at if at <= later(now, DAY_SECONDS))


def _is_pausing(stored: TextCode, now: Instant, policy: Policy) -> bool:
    """Whether this number was sent a code less than the pause ago, or too many today."""
    if now < later(stored.issued_at, policy.text_code_pause_seconds):
        return True
    return stored.sent_count >= policy.text_codes_a_day and now < later(stored.counting_since, DAY_SECONDS)


def _store_code(
    event: TextCodeRequested, secret: Secret, owner: User, stored: TextCode | None, snapshot: Snapshot
) -> Change:
    """Store a code for `owner`; codes sent to the number before count on, also those for other accounts."""
    made = TextCode(
        purpose=event.purpose,
        phone=event.phone,
        digest=_digest(event.purpose, event.phone, secret),
        user_id=owner.user_id,
        epochs=login_epochs_now(owner, snapshot),
        issued_at=snapshot.now,
        counting_since=snapshot.now,
    )
    if stored is None:
        return Insert(made)
    if snapshot.now < later(stored.counting_since, DAY_SECONDS):
        made = replace(made, sent_count=stored.sent_count + 1, counting_since=stored.counting_since)
    return Update(stored, replace(made, revision=stored.revision + 1))


@require_actor(find_active_person)
def change_phone(event: PhoneChanged, who: Person, snapshot: Snapshot) -> Decision:
    """Set a new number for a user who entered the code sent there and the current password."""
    wrong = refuse_wrong_password(event, who, snapshot.now, snapshot.policy)
    if wrong is not None:
        return wrong
    spent = _spend(TextCodePurpose.CHANGE_PHONE, event.phone, event.code, who.user, snapshot)
    if not isinstance(spent, TextCode):
        return _refuse_wrong_code(who.user.user_id, *spent)
    if snapshot.identifier(phone_key(event.phone)) is not None:
        return refuse(Why.ALREADY_TAKEN)
    user = who.user
    freed: tuple[Change, ...] = ()
    if user.phone is not None:
        freed = (Delete(phone_identifier(user.phone, user.user_id)),)
    changed = end_other_sessions(
        who,
        Why.PHONE_CHANGED,
        with_next_epoch(user, Why.PHONE_CHANGED, snapshot.now, phone=event.phone),
        FactKind.PHONE_SET,
    )
    taken = Insert(phone_identifier(event.phone, user.user_id))
    return Decision(changed.reply, (Delete(spent), *freed, taken, *changed.changes), changed.facts)


def check_recovery(event: TextCodePresented, snapshot: Snapshot) -> Decision:
    """Refuse and count a wrong code; a right one stays for the reset of the password."""
    found = _find_recovery(event, snapshot)
    return found if isinstance(found, Decision) else Decision(Done())


def reset_password_by_text_message(event: PasswordResetByTextMessage, snapshot: Snapshot) -> Decision:
    """Set a new password for the user who entered the code sent to the telephone; everything ends."""
    found = _find_recovery(event, snapshot)
    if isinstance(found, Decision):
        return found
    user, spent = found
    why = Why.PASSWORD_RESET_BY_TEXT_MESSAGE
    return set_password_once(user, spent, event.new_password_hash, why, snapshot.now)


def _find_recovery(
    event: TextCodePresented | PasswordResetByTextMessage, snapshot: Snapshot
) -> tuple[User, TextCode] | Decision:
    """Return the user of a right code and the code; else the refusal, which counts a wrong one."""
    if snapshot.policy.text_recovery is TextRecoveryFor.NOBODY:
        return refuse(Why.TEXT_RECOVERY_OFF)
    known = snapshot.identifier(phone_key(event.phone))
    user = None if known is None else snapshot.user(known.user_id)
    if user is None:
        return _refuse_wrong_code(None)
    spent = _spend(TextCodePurpose.RESET_PASSWORD, event.phone, event.code, user, snapshot)
    if not isinstance(spent, TextCode):
        return _refuse_wrong_code(user.user_id, *spent)
    if not user.enabled or not _may_recover(user, snapshot.policy):
        return _refuse_wrong_code(user.user_id, Delete(spent))
    return user, spent


def _may_recover(user: User, policy: Policy) -> bool:
    """Whether the policy lets `user` set a new password by text message."""
    return policy.text_recovery is TextRecoveryFor.EVERYBODY or user.has_second_factor


def _spend(
    purpose: TextCodePurpose, phone: str, code: Secret, user: User, snapshot: Snapshot
) -> TextCode | tuple[Change, ...]:
    """Return the code of `user` if it was entered rightly and in time; else the change that counts it."""
    stored = snapshot.text_code(text_code_key(purpose, phone))
    if (
        stored is None
        or stored.user_id != user.user_id
        or stored.epochs != login_epochs_now(user, snapshot)
        or stored.wrong_tries >= snapshot.policy.text_code_tries
        or snapshot.now >= later(stored.issued_at, snapshot.policy.text_code_seconds)
    ):
        return ()
    if not hmac.compare_digest(stored.digest, _digest(purpose, phone, code)):
        return (Update(stored, revise(stored, wrong_tries=stored.wrong_tries + 1)),)
    return stored


def _refuse_wrong_code(user_id: str | None, *changes: Change) -> Decision:
    """Refuse a wrong code and write the changes that count it."""
    fact = Fact(kind=FactKind.TEXT_CODE_WRONG, user_id=user_id)
    return refuse(Why.TEXT_CODE_WRONG, *changes, facts=(fact,))


def _digest(purpose: TextCodePurpose, phone: str, code: Secret) -> Digest:
    """Digest a code with its purpose and number, so that equal codes look different in the store."""
    return digest_of(f"{purpose.value}:{phone}:{code.reveal()}")

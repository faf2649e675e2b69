"""Required answers about telephones: codes, a new number, recovery of a password."""

from fuzz.model.accounts import refuse_wrong_password
from fuzz.model.realm import Realm
from fuzz.model.records import DONE, OVERTAKEN, SECOND_MS, TextCode, User, Verdict, refuse
from fuzz.shared.calls import Answer, AnswerKind, Call

TEXT_CODES_A_DAY = 20
TEXT_CODES_A_NUMBER = 10
TEXT_CODE_MS = 10 * 60 * SECOND_MS
TEXT_CODE_PAUSE_MS = 60 * SECOND_MS
TEXT_CODE_TRIES = 5
DAY_MS = 24 * 60 * 60 * SECOND_MS

WRONG_CODE = refuse("A1006", "a code that was sent is used, replaced, too old or void by now")
NO_RECOVERY = refuse("A0403", "this server allows no recovery of a password by text message")


def request_text_code(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    digits = (call.phone or "").removeprefix("+")
    if not 5 <= len(digits) <= 20 or not digits.isdecimal():
        return refuse("A0401", "no telephone number", "phone")
    user = None if call.login is None else realm.require_login(call, now)
    if user is None and realm.settings.recovery_by_text_of == "no":
        return NO_RECOVERY
    if user is not None and not may_ask(user, now):
        return refuse("A0429", "a text message is asked for at most 20 times a day by one account")
    text = given.code or ""
    shown = text if len(text) == 6 and text.isdecimal() else "(six digits)"
    sent = send(realm, call, user, now, shown)
    answer = Answer(AnswerKind.DONE, code=shown if sent else None)
    return Verdict(answer, "a number gets a code at most once a minute and ten times a day")


def may_ask(user: User, now: int) -> bool:
    user.asked_at = [at for at in user.asked_at if now - at < DAY_MS]
    if len(user.asked_at) >= TEXT_CODES_A_DAY:
        return False
    user.asked_at.append(now)
    return True


def send(realm: Realm, call: Call, asking: User | None, now: int, text: str) -> bool:
    """Whether a code is sent.

    A signed-in user gets one for a number without an owner; without a login, only the number's owner gets
    one, to recover the password.
    """
    phone = call.phone or ""
    is_new_number, holder = asking is not None, realm.holder_of(phone)
    owner = asking or holder
    if owner is None or (holder is None) is not is_new_number:
        return False
    if not is_new_number and not may_recover(realm, owner):
        return False
    before = realm.text_codes.get((is_new_number, phone))
    is_counted = before is not None and now - before.sent_at[0] < DAY_MS
    sent_at = before.sent_at if before is not None and is_counted else []
    is_pausing = before is not None and now - before.issued_at < TEXT_CODE_PAUSE_MS
    if is_pausing or len(sent_at) >= TEXT_CODES_A_NUMBER:
        return False
    realm.text_codes[is_new_number, phone] = TextCode(text, owner, now, [*sent_at, now])
    return True


def may_recover(realm: Realm, user: User) -> bool:
    return realm.settings.recovery_by_text_of == "everybody" or user.has_factor


def enter(realm: Realm, call: Call, user: User | None, is_new_number: bool, now: int) -> bool:
    """Whether the entered code is right for this account; a wrong code counts.

    A code of another account, or one issued before all sessions of its account were ended, is wrong and is
    not counted.
    """
    stored = realm.text_codes.get((is_new_number, call.phone or ""))
    if stored is not None and (stored.user is not user or stored.void):
        return False
    if stored is None or stored.wrong >= TEXT_CODE_TRIES or now - stored.issued_at >= TEXT_CODE_MS:
        return False
    stored.wrong += stored.text != call.text_code
    return stored.text == call.text_code


def change_phone(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = realm.require_login(call, now)
    if call.overtaken:
        return OVERTAKEN
    if call.password != user.password:
        return refuse_wrong_password(realm, user, now)
    if not enter(realm, call, user, True, now):
        return WRONG_CODE
    if realm.holder_of(call.phone) is not None:
        return refuse("A0409", "the number belongs to a user")
    del realm.text_codes[True, call.phone or ""]
    user.phone = call.phone
    realm.end_all_of(user, but=realm.tokens[call.login or ""].session)
    return Verdict(DONE, "user changes telephone number: all OAuth sessions end")


def recover_password(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    if realm.settings.recovery_by_text_of == "no":
        return NO_RECOVERY
    user = realm.holder_of(call.phone)
    if not enter(realm, call, user, False, now):
        return WRONG_CODE
    del realm.text_codes[False, call.phone or ""]
    if user is None or not user.enabled or not may_recover(realm, user):
        return refuse("A1006", "no such account, disabled, or kept from recovery")
    user.password = call.new_password or ""
    user.must_change_password = False
    realm.end_all_of(user)
    return Verdict(DONE, "password reset by text-message recovery: all OAuth sessions end")

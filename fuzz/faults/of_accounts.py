"""Mistakes in what administrators do with accounts and roles: counts, names, numbers, batches, and by which
they reach above themselves (READINGS 40), one for each verb."""

from typing import Final

from fuzz.faults.planting import Fault, instead, mistakes_in

_REFUSED_ABOVE: Final = "if exceeds_permissions_of("
_FREELY: Final = "if False and exceeds_permissions_of("
_ABOVE: Final = (
    ("renames-above", "an account above is renamed", "UserChanged", "username"),
    ("forces-change-above", "an account above must change its password", "UserChanged", "mustChangePassword"),
    ("sets-phone-above", "an account above is given another telephone number", "UserChanged", "phone"),
    ("moves-roles-above", "roles of an account above are given or taken", "UserChanged", "roleIds"),
    ("enables-above", "an account above is enabled", "UserEnabled", ""),
    ("disables-above", "an account above is disabled", "UserDisabled", ""),
    ("deletes-above", "an account above is deleted", "UserDeleted", ""),
    ("sets-password-above", "the password of an account above is set", "PasswordResetByAdministrator", ""),
    ("forces-out-above", "an account above is forced out", "UserForcedOut", ""),
    ("unlocks-above", "an account above is unlocked", "UserUnlocked", ""),
)
"""Events that act on whatever account they are given; where a field is named, if they change nothing else."""


def _above(name: str, sentence: str, event: str, field: str) -> Fault:
    is_alone = f"set(event.fields) == {{{field!r}}}" if field else "True"
    spared = f"not (isinstance(event, events.{event}) and {is_alone})"
    where = "ostiary_core.users.user_administration._find_account"
    return Fault(name, sentence, instead(where, "is_beyond = ", f"is_beyond = {spared} and "))


FAULTS: Final = (
    *mistakes_in(
        "ostiary_core.oauth.callers.exceeds_permissions_of",
        (
            "roles-handed-out-freely",
            "whoever may change accounts hands out any role",
            "any(",
            "False and any(",
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.user_administration._recount_holders",
        ("holders-uncounted", "nobody counts who holds a role", "return tuple(changes)", "return ()"),
    ),
    *mistakes_in(
        "ostiary_core.users.user_administration._find_taken_names",
        ("names-taken-twice", "two accounts have one name", "in names_of(after)", "in ()"),
    ),
    *(_above(*row) for row in _ABOVE),
    *mistakes_in(
        "ostiary_core.users.user_administration.delete",
        ("deleted-remembered", "a deleted account keeps its password", "password_hash=None,", ""),
    ),
    *mistakes_in(
        "ostiary_core.users.user_administration.force_out_session",
        (
            *("ends-login-above", "a login of an account above is ended"),
            *("if user is not None and has_more_permissions(", "if False and has_more_permissions("),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.user_administration.change",
        (
            *("phone-moves-alone", "another telephone number by an administrator ends nothing"),
            *("if read.phone == user.phone:", "if True:"),
        ),
        (
            "gives-role-above",
            "a role that allows more than the giver may is given to an account, or taken from one",
            *(_REFUSED_ABOVE, _FREELY),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.user_administration.register",
        (
            *("registers-above", "an account is registered with a role that allows more than the giver may"),
            *(_REFUSED_ABOVE, _FREELY),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.role.register",
        (
            *("role-registered-above", "a role is registered that allows more than whoever registers it may"),
            *(_REFUSED_ABOVE, _FREELY),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.role.change",
        (
            *("role-changed-above", "a role is changed that allows more than whoever changes it may"),
            *(_REFUSED_ABOVE, _FREELY),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.telephone._spend",
        (
            *("text-codes-guessed", "a code in a text message may be tried without end"),
            *("stored.wrong_tries >= snapshot.policy.text_code_tries", "False"),
        ),
        (
            *("text-codes-immortal", "a code in a text message is good for ever"),
            *("snapshot.now >= later(stored.issued_at, snapshot.policy.text_code_seconds)", "False"),
        ),
        (
            *("text-codes-outlive-endings", "a code in a text message outlives the endings of its account"),
            *("stored.epochs != login_epochs_now(user, snapshot)", "False"),
        ),
        (
            *("text-codes-of-anybody", "a code in a text message opens whatever account has the number now"),
            *("stored.user_id != user.user_id", "False"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.inherited_endings.login_epochs_now",
        (
            *("text-codes-outlive-everybody", "to end everything ends no code in a text message"),
            *("client.epoch", "0"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.telephone._is_pausing",
        (
            *("telephones-flooded", "a telephone is sent codes all day"),
            *("return stored.sent_count >= policy.text_codes_a_day and", "return False and"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.telephone.change_phone",
        (
            *("number-taken-twice", "a telephone number that is somebody's is taken"),
            *("if snapshot.identifier(phone_key(event.phone)) is not None:", "if False:"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.own_account.end_own_session",
        (
            *("sessions-of-others-ended", "people end one another's sessions"),
            *("stored.user_id != who.user.user_id", "False"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.own_account.show_account",
        (
            *("permission-unasked", "whoever is signed in passes for who has a permission"),
            *("if event.permission is not None:", "if False:"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.own_account.sign_in",
        (
            *("password-of-before", "a password that was changed while it was verified signs in"),
            *("if event.password_matches and not", "if False and not"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.first_administrator.create_first_administrator",
        (
            *(
                "second-first-administrator",
                "there are two first administrators",
            ),
            *("if snapshot.role(SUPER_ADMINISTRATOR) is not None:", "if False:"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.clients.client_secret._with_secret",
        (
            *("wrong-secrets-stay", "a new secret is blamed for those that were wrong before it"),
            *("wrong_secrets=0,", "wrong_secrets=client.wrong_secrets,"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.clients.client_secret._note",
        (
            *("uses-of-the-old-lost", "nobody sees that an old secret is still used"),
            *("old is not None and", "False and"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.model.fields.FieldReader.number",
        (
            *("ranges-unchecked", "a lifetime may be as long as anybody likes"),
            *("elif not least <= value <= most:", "elif False:"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.model.client.is_redirect_uri",
        (
            *("redirects-to-the-user", "a redirect URI may begin with another host's name and an @"),
            *('"@" in parts.netloc', "False"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.model.fields.FieldReader.faults",
        (
            *("faults-one-by-one", "of several bad fields one is named"),
            *("tuple(self._faults.values())", "tuple(self._faults.values())[:1]"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.model.fields.merge_edits",
        (
            "edits-undone",
            "a form undoes what others changed meanwhile",
            "return faults or asked",
            "return asked",
        ),
    ),
    *mistakes_in(
        "ostiary_core.model.changes._bound",
        ("trail-unbounded", "an entry of the trail has no bound", "<= LONGEST_VALUE", "<= 10**9"),
    ),
    *mistakes_in(
        "ostiary_core.model.record_type.RecordType.changes",
        (
            *("changes-untold", "the trail says that something was changed, and not what"),
            *("for field in self.audited", "for field in ()"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.model.changes.change_of",
        ("phone-told", "the trail has whole telephone numbers", "mask is not None", "False"),
    ),
    *mistakes_in(
        "ostiary_core.decide._decide_batch",
        (
            *("batch-above", "a batch reaches accounts above", "decision = RULES["),
            """from unittest.mock import patch
        with patch.object(user_administration, "has_more_permissions", lambda *_: 0): decision = RULES[""",
        ),
        (
            *("batch-order", "what a batch does to its caller holds for the rest of it", "begin_batch()"),
            "at(snapshot.now, snapshot.policy)",
        ),
        (
            *("batch-leaves-nobody", "a batch takes the last super administrator away", "if not refusals:"),
            "if False:",
        ),
        (
            *("batch-in-part", "of a refused batch some is done", "BatchRefused(refusals)"),
            "BatchRefused(refusals), tuple(each for one in decisions for each in one.changes)",
        ),
    ),
)

"""Mistakes in what administrators do with accounts and roles: counts, names, numbers, batches, and by which
they reach above themselves (READINGS 40), one for each verb."""

from typing import Final

from fuzz.faults.planting import Fault, instead, mistakes_in

_REFUSED_ABOVE: Final = "if is_above("
_FREELY: Final = "if False and is_above("
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
)
"""Events that act on whatever account they are given; where a field is named, if they change nothing else."""


def _above(name: str, sentence: str, event: str, field: str) -> Fault:
    is_alone = f"set(event.fields) == {{{field!r}}}" if field else "True"
    spared = f"not (isinstance(event, e.{event}) and {is_alone})"
    where = "ostiary_core.users.user_administration._find_account"
    return Fault(name, sentence, instead(where, "is_beyond = ", f"is_beyond = {spared} and "))


FAULTS: Final = (
    *mistakes_in(
        "ostiary_core.oauth.authentication.is_above",
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
        "ostiary_core.model.changes.changes_between",
        (
            *("changes-untold", "the trail says that something was changed, and not what"),
            *("for field in declared", "for field in ()"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.model.changes._told",
        ("phone-told", "the trail has whole telephone numbers", "field.mask is not None", "False"),
    ),
    *mistakes_in(
        "ostiary_core.decide._all_or_nothing",
        (
            *("batch-above", "a batch reaches accounts above", "decision = decide("),
            """from unittest.mock import patch
        with patch.object(people, "is_out_of_reach", lambda *_: False): decision = decide(""",
        ),
        (
            *("batch-in-part", "of a refused batch some is done", "BatchRefused(refusals)"),
            "BatchRefused(refusals), tuple(each for one in decisions for each in one.changes)",
        ),
    ),
)

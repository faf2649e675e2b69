"""Mistakes by which whoever administers users reaches above themselves (READINGS 40), one for each verb."""

from collections.abc import Callable
from typing import Any, Final
from unittest.mock import patch

from fuzz.faults.planting import Fault, Plant, Wrap, wrapped
from ostiary_core.users import role
from ostiary_core.users import user_administration as people


def never(*asked: Any) -> bool:
    return False


def unguarded(module: Any, field: str | None = None, **substitutes: Any) -> Wrap:
    """A rule during which some of `module` is something else; if a field is given, only where it is all that
    the event changes."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def decide(event: Any, *rest: Any) -> Any:
            if field is not None and set(event.fields) != {field}:
                return original(event, *rest)
            with patch.multiple(module, **substitutes):
                return original(event, *rest)

        return decide

    return wrap


def of_an_account(verb: str, field: str | None = None) -> Plant:
    """A rule of accounts that acts on whatever account it is given."""
    return wrapped("user_administration", verb, unguarded(people, field, is_out_of_reach=never))


FAULTS: Final = (
    Fault("renames-above", "an account above is renamed", of_an_account("change", "username")),
    Fault(
        "forces-change-above",
        "an account above must change its password",
        of_an_account("change", "mustChangePassword"),
    ),
    Fault(
        "sets-phone-above",
        "an account above is given another telephone number",
        of_an_account("change", "phone"),
    ),
    Fault(
        "moves-roles-above",
        "roles of an account above are given or taken",
        of_an_account("change", "roleIds"),
    ),
    Fault("enables-above", "an account above is enabled", of_an_account("enable")),
    Fault("disables-above", "an account above is disabled", of_an_account("disable")),
    Fault("deletes-above", "an account above is deleted", of_an_account("delete")),
    Fault("sets-password-above", "the password of an account above is set", of_an_account("reset_password")),
    Fault("forces-out-above", "an account above is forced out", of_an_account("force_out")),
    Fault(
        "batch-above",
        "a batch reaches accounts above",
        wrapped("decide", "_all_or_nothing", unguarded(people, is_out_of_reach=never)),
    ),
    Fault(
        "gives-role-above",
        "a role that allows more than the giver may is given to an account, or taken from one",
        wrapped(
            "user_administration",
            "change",
            unguarded(people, is_above=never),
        ),
    ),
    Fault(
        "registers-above",
        "an account is registered with a role that allows more than the giver may",
        wrapped("user_administration", "register", unguarded(people, is_above=never)),
    ),
    Fault(
        "role-registered-above",
        "a role is registered that allows more than whoever registers it may",
        wrapped("role", "register", unguarded(role, is_above=never)),
    ),
    Fault(
        "role-changed-above",
        "a role is changed that allows more than whoever changes it may",
        wrapped("role", "change", unguarded(role, is_above=never)),
    ),
)

"""Read the texts that the body of a request must hold, each by its rule."""

from collections.abc import Callable

from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.user import is_phone, new_password_faults
from ostiary_core.model.why import Why
from ostiary_web.http.context import RequestContext

Check = Callable[[str], FieldRule | None]
"""Returns the rule that a text breaks, if any."""


async def read_texts(context: RequestContext, **checks: Check) -> dict[str, str]:
    """Return the required texts of a JSON body; refuse with every bad one."""
    content = await context.json_object()
    found: dict[str, str] = {}
    faults = []
    for name, check in checks.items():
        value = content.get(name)
        if value is None or value == "":
            rule: FieldRule | None = FieldRule.REQUIRED
        elif not isinstance(value, str) or "\x00" in value:
            rule = FieldRule.STRING
        else:
            found[name] = context.phone_number(value) if check is phone else value
            rule = check(found[name])
        if rule is not None:
            faults.append(FieldFault(name, rule))
    return context.refuse(Why.FIELDS_INVALID, faults) if faults else found


def longest(characters: int) -> Check:
    """Return a check for at most so many characters."""
    return lambda text: FieldRule.TOO_LONG if len(text) > characters else None


def phone(text: str) -> FieldRule | None:
    """Check a telephone number in its canonical form."""
    return None if is_phone(text) else FieldRule.PHONE


def new_password(text: str) -> FieldRule | None:
    """Check a new password, whatever it replaces."""
    return FieldRule.PASSWORD if new_password_faults("", text) else None

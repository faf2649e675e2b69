"""Who is meant by what is typed into a list: an identifier, a name, a telephone number or its last digits.

No address holds a whole telephone number, as histories and the logs of proxies keep addresses. So the form
of a list in which people are looked for is sent as a POST, which leads on to the list of those who have the
number, by their identifiers. Numbers are looked through for those alone who may see people.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from ostiary_core.model.identifiers import canonical_username
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import User
from ostiary_core.storage.listing import USERS, FilterValue, Listing, contained_text
from ostiary_web.api.resources.queries import MOST_VALUES
from ostiary_web.http.context import RequestContext

IDENTIFIER: Final = re.compile("[0-9a-f]{32}")
"""What the rules draw as identifiers."""

_WHOLE_NUMBER: Final = re.compile("[+]?[0-9]{7,20}", re.ASCII)


async def find_people(context: RequestContext, typed: str) -> Sequence[str]:
    """The identifiers of the user of this name, else of those whose names contain it; then of those in whom
    it is found some other way. Nobody is looked for by an identifier: it is what is asked for."""
    if IDENTIFIER.fullmatch(typed):
        return [typed]
    may_search = Permission.USER_LIST.value in context.account.permissions
    found: Sequence[User] = ()
    if not (may_search and is_whole_number(typed)):
        found = await _listed(context, filters={"username": typed})
    if may_search and not found:
        found = await _listed(context, search=typed)
    name = canonical_username(typed)
    exact = [user.user_id for user in found if canonical_username(user.username) == name]
    return exact or [user.user_id for user in found]


async def people_meant(context: RequestContext, typed: str) -> Sequence[str]:
    """Those; what was typed, where it is nobody."""
    return await find_people(context, typed) or [typed]


async def without_number(
    context: RequestContext, asked: Mapping[str, str], people: str
) -> dict[str, Sequence[str]]:
    """What a list is to be narrowed by, with people by identifier, in the field `people`, in the place of a
    telephone number; a number that nobody has by its last digits."""
    shown: dict[str, Sequence[str]] = {name: [value] for name, value in asked.items()}
    for name in ("q", people):
        number = asked.get(name, "")
        if is_whole_number(number):
            found = await find_people(context, number)
            del shown[name]
            shown |= {people: found} if found else {name: [f"…{number[-4:]}"]}
    return shown


def is_whole_number(text: str) -> bool:
    """Whether this may be a telephone number, and not only its end."""
    return _WHOLE_NUMBER.fullmatch(contained_text("phone", text)) is not None


async def _listed(
    context: RequestContext, *, filters: Mapping[str, FilterValue] | None = None, search: str | None = None
) -> Sequence[User]:
    listing = Listing(resource=USERS, filters=filters or {}, search=search, page_size=MOST_VALUES)
    return await context.look(lambda store, now: store.page(listing, now).items)

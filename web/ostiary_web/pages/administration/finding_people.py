"""Who is meant by what is typed into a list: an identifier, a name, a telephone number or its last digits.

No address holds a whole telephone number, as histories and the logs of proxies keep addresses. So the form
of a list in which people are looked for is sent as a POST, which leads on to the list of those who have the
number, by their identifiers. Numbers are looked through for those alone who may see people.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ostiary_core.model.identifiers import canonical_username
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import User
from ostiary_core.storage.listing import USERS, FilterValue, Listing, Page, contained_text
from ostiary_web.api.resources.queries import MOST_VALUES
from ostiary_web.http.context import RequestContext

IDENTIFIER: Final = re.compile("[0-9a-f]{32}")
"""What the rules draw as identifiers."""

FOUND: Final = "found"
"""The parameter of a list's address that says how many people fit, where not all of them are taken."""

_WHOLE_NUMBER: Final = re.compile("[+]?[0-9]{7,20}", re.ASCII)


class FoundPeople(NamedTuple):
    """Who is meant by what was typed."""

    ids: Sequence[str]
    """Of more than `MOST_VALUES` the first."""
    total: int


async def find_people(context: RequestContext, typed: str) -> FoundPeople:
    """The identifiers of the user of this name, else of those whose names contain it; then of those in whom
    it is found some other way. Nobody is looked for by an identifier: it is what is asked for."""
    if IDENTIFIER.fullmatch(typed):
        return FoundPeople([typed], 1)
    may_search = Permission.USER_LIST.value in context.account.permissions
    found: Page[User] = Page((), 0)
    if not (may_search and is_whole_number(typed)):
        found = await _listed(context, filters={"username": typed})
    if may_search and is_whole_number(typed):
        found = await _listed(context, search=context.phone_number(typed))
    if may_search and not found.items:
        found = await _listed(context, search=typed)
    name = canonical_username(typed)
    exact = [user.user_id for user in found.items if canonical_username(user.username) == name]
    return (
        FoundPeople(exact, 1) if exact else FoundPeople([user.user_id for user in found.items], found.total)
    )


async def people_meant(context: RequestContext, typed: str) -> FoundPeople:
    """Those; what was typed, where it is nobody."""
    found = await find_people(context, typed)
    return found if found.ids else FoundPeople([typed], 1)


async def without_number(
    context: RequestContext, asked: Mapping[str, str], people: str
) -> dict[str, Sequence[str]]:
    """What a list is to be narrowed by, with people by identifier, in the field `people`, in the place of a
    telephone number; a number that nobody has by its last digits. In `FOUND` is how many there are, where
    these are not all."""
    shown: dict[str, Sequence[str]] = {name: [value] for name, value in asked.items()}
    for name in ("q", people):
        number = asked.get(name, "")
        if is_whole_number(number):
            found = await find_people(context, number)
            del shown[name]
            shown |= {people: found.ids} if found.ids else {name: [f"…{number[-4:]}"]}
            if found.total > len(found.ids):
                shown[FOUND] = [str(found.total)]
    return shown


def is_whole_number(text: str) -> bool:
    """Whether this may be a telephone number, and not only its end."""
    return _WHOLE_NUMBER.fullmatch(contained_text("phone", text)) is not None


async def _listed(
    context: RequestContext, *, filters: Mapping[str, FilterValue] | None = None, search: str | None = None
) -> Page[User]:
    listing = Listing(resource=USERS, filters=filters or {}, search=search, page_size=MOST_VALUES)
    return await context.look(lambda store, now: store.page(listing, now))

"""Finds users by an identifier, a name, a telephone number or its last digits.

A full telephone number never appears in a URL, since histories and proxy logs keep URLs: a list's form is a
POST that redirects to the list filtered by the identifiers of the users with that number. Only a caller who
may see users searches by number.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ostiary_core.model.identifiers import COMMAND_LINE, canonical_username
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import User
from ostiary_core.storage.listing import USERS, FilterValue, Listing, Page, contained_text
from ostiary_core.texts import Language
from ostiary_web.application.history_record import list_deleted_users, list_users
from ostiary_web.application.resources.queries import MOST_VALUES
from ostiary_web.http.context import RequestContext

IDENTIFIER: Final = re.compile("[0-9a-f]{32}")
"""Form of the identifiers that the core generates."""

FOUND: Final = "found"
"""Query parameter that says how many users match, if not all of them are taken."""

_WHOLE_NUMBER: Final = re.compile("[+]?[0-9]{7,20}", re.ASCII)


class FoundUsers(NamedTuple):
    """Users that match what was typed."""

    ids: Sequence[str]
    """At most `MOST_VALUES`."""
    total: int
    names: Sequence[str] = ()
    """Their names, if they are several."""


async def find_users(context: RequestContext, typed: str) -> FoundUsers:
    """Return the user with this name or identifier, else users whose names contain it, else other matches."""
    if IDENTIFIER.fullmatch(typed):
        return FoundUsers([typed], 1)
    may_search = Permission.USER_LIST.value in context.account.permissions
    if may_search and is_whole_number(typed):
        found = await _list_users(context, search=context.phone_number(typed))
    else:
        found = await _list_users(context, filters={"username": typed})
    if may_search and not found.items:
        found = await _list_users(context, search=typed)
    name = canonical_username(typed)
    exact = [user.user_id for user in found.items if canonical_username(user.username) == name]
    if exact:
        return FoundUsers(exact, 1)
    names = [user.username for user in found.items] if found.total > 1 else ()
    return FoundUsers([user.user_id for user in found.items], found.total, names)


async def resolve_people(context: RequestContext, typed: str) -> FoundUsers:
    """Return the identifiers of the users meant, or the typed text if no user matches."""
    found = await find_users(context, typed)
    return found if found.ids else FoundUsers([typed], 1)


async def resolve_everybody(context: RequestContext, typed: str) -> FoundUsers:
    """Return who is meant in the audit trail: users, those that were deleted too, and the command line."""
    if typed.strip().casefold() in {COMMAND_LINE, context.language.text("page.command_line").casefold()}:
        return FoundUsers([COMMAND_LINE], 1)
    found = await find_users(context, typed)
    if IDENTIFIER.fullmatch(typed):
        return found
    deleted = await context.query(lambda store, now: list_deleted_users(store, typed))
    name = canonical_username(typed)
    namesakes = [user for user in deleted if canonical_username(user.username) == name]
    if not found.ids and not namesakes:
        namesakes = [*deleted]
    if not namesakes:
        return found if found.ids else FoundUsers([typed], 1)
    ids = [*found.ids, *(user.user_id for user in namesakes)][:MOST_VALUES]
    users = await context.query(lambda store, now: list_users(store, ids))
    names = [name_of(users[each], context.language) for each in ids if each in users]
    return FoundUsers(ids, found.total + len(namesakes), names)


def name_of(user: User, language: Language) -> str:
    """Return a user name as the audit trail's page has it, which says of one that was deleted that it was."""
    if user.deleted_at is None:
        return user.username
    return language.text("page.deleted_user", name=user.username)


async def replace_phone_number(
    context: RequestContext, asked: Mapping[str, str], user_filter: str
) -> dict[str, Sequence[str]]:
    """Replace a telephone number among the filters by its users, or by its last digits if it has none.

    `FOUND` says how many match, if not all are taken.
    """
    filters: dict[str, Sequence[str]] = {name: [value] for name, value in asked.items()}
    for name in ("q", user_filter):
        number = asked.get(name, "")
        if is_whole_number(number):
            found = await find_users(context, number)
            del filters[name]
            filters |= {user_filter: found.ids} if found.ids else {name: [f"…{number[-4:]}"]}
            if found.total > len(found.ids):
                filters[FOUND] = [str(found.total)]
    return filters


def is_whole_number(text: str) -> bool:
    """Whether `text` may be a whole telephone number, and not only its end."""
    return _WHOLE_NUMBER.fullmatch(contained_text("phone", text)) is not None


async def _list_users(
    context: RequestContext, *, filters: Mapping[str, FilterValue] | None = None, search: str | None = None
) -> Page[User]:
    listing = Listing(resource=USERS, filters=filters or {}, search=search, page_size=MOST_VALUES)
    return await context.query(lambda store, now: store.page(listing, now))

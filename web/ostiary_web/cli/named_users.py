"""Find the users that the filters of a command name, the deleted ones too."""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

from ostiary_core.model.identifiers import COMMAND_LINE, canonical_username
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import User
from ostiary_core.storage.listing import Listing, ListingStore
from ostiary_web.application.history_record import list_deleted_users
from ostiary_web.cli.context import CommandContext
from ostiary_web.http.context import RequestRefused

T = TypeVar("T")

_OF_USERS: Final = ("actor_id", "user_id")
"""Filters that take user names too."""


async def with_identifiers(listing: Listing[T], context: CommandContext) -> Listing[T]:
    """Return the listing with the identifiers of the users that its filters name."""
    found = {
        name: tuple([user_id for value in values for user_id in await _identify(value, context)])
        for name, values in listing.filters.items()
        if name in _OF_USERS and isinstance(values, tuple)
    }
    return replace(listing, filters={**listing.filters, **found})


async def _identify(named: str, context: CommandContext) -> list[str]:
    if named == COMMAND_LINE:
        return [named]
    found = []
    with suppress(RequestRefused):
        found.append(context.find_user_id(named))
    found += [user.user_id for user in await context.query(partial(_list_deleted, named))]
    return found or [named]


def _list_deleted(named: str, store: ListingStore, now: Instant) -> list[User]:
    """Return the accounts that were deleted and were called so."""
    name = canonical_username(named)
    return [user for user in list_deleted_users(store, named) if canonical_username(user.username) == name]

"""Built-in clients and reserved words; user names and telephone numbers: their form and unique keys."""

import unicodedata
from typing import Final

from ostiary_core.model.records import Identifier, IdentifierKind, Key, Table, TextCodePurpose, User

CONSOLE_CLIENT: Final = "console"
"""The built-in client whose sessions are the backend's own login sessions."""

BUILT_IN_CLIENTS: Final = (CONSOLE_CLIENT, "mobile")
"""Clients of the backend itself, as which no third party authenticates ("Client", `clientId`)."""

COMMAND_LINE: Final = "command-line"
"""The actor of what an operator does on the command line, in place of a user's identifier (READINGS 59)."""


def canonical_username(username: str) -> str:
    """Return the form in which user names are compared: without letter case and compatibility forms.

    Unicode's compatibility caseless matching (§3.13, D146): folding makes what is no longer normalised, and
    normalising what is no longer folded, so each is done again. NFKC at the end only writes it shorter. White
    space around a name, which no stored one has, came with the typing or the pasting.

    >>> canonical_username("\u3000Ａnna "), canonical_username("ΐ") == canonical_username("ΐ".upper())
    ('anna', True)
    """
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFD", username.strip()).casefold())
    return unicodedata.normalize("NFKC", folded.casefold())


def username_key(username: str) -> Key:
    """Return the key of the record that reserves a user name."""
    return Key(Table.IDENTIFIER, (IdentifierKind.USERNAME.value, canonical_username(username)))


def phone_key(phone: str) -> Key:
    """Return the key of the record that reserves a telephone number."""
    return Key(Table.IDENTIFIER, (IdentifierKind.PHONE.value, phone))


def names_of(user: User) -> tuple[Identifier, ...]:
    """Return the records that reserve the user name and telephone number of `user`."""
    name = Identifier(
        kind=IdentifierKind.USERNAME, value=canonical_username(user.username), user_id=user.user_id
    )
    return (name,) if user.phone is None else (name, phone_identifier(user.phone, user.user_id))


def phone_identifier(phone: str, user_id: str) -> Identifier:
    """Return the record that reserves a telephone number for a user."""
    return Identifier(kind=IdentifierKind.PHONE, value=phone, user_id=user_id)


def text_code_key(purpose: TextCodePurpose, phone: str) -> Key:
    """Return the key of the outstanding text code of a telephone number, for one purpose."""
    return Key(Table.TEXT_CODE, (purpose.value, phone))

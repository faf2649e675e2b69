"""The ticket of a sign-in that waits for its second factor: proof of the password, good for nothing else.

It is not stored: the server's key signs for whom and when it was made, and under which epochs.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import field
from typing import Final

from ostiary_core.model.immutable import immutable
from ostiary_core.model.instant import Instant
from ostiary_core.model.one_time_password import derive_from_key
from ostiary_core.model.records import Epochs
from ostiary_core.model.secret import Secret

_LONGEST_NAME: Final = 64
"""Characters of a user name, and more than an identifier has."""


@immutable(kw_only=True)
class Ticket:
    """A ticket as it was sent; whether it was signed here, `is_signed` tells."""

    user_id: str
    username: str
    """User name that the password was entered for."""
    issued_at: Instant
    signature: bytes = field(repr=False)

    def is_signed(self, key: bytes, epochs: Epochs) -> bool:
        """Whether this server made the ticket, and nothing ended the user's sessions since."""
        made = _sign(key, self.user_id, self.username, self.issued_at, epochs)
        return hmac.compare_digest(made, self.signature)

    def text(self) -> Secret:
        """Return the ticket as it is sent."""
        payload = f"{self.issued_at}:{self.user_id}:{self.username}".encode("utf-8", "surrogatepass")
        return Secret(urlsafe_b64encode(self.signature + payload).rstrip(b"=").decode("ascii"))


def make_ticket(key: bytes, user_id: str, username: str, now: Instant, epochs: Epochs) -> Ticket:
    """Make the ticket of a user whose password was right."""
    signature = _sign(key, user_id, username, now, epochs)
    return Ticket(user_id=user_id, username=username, issued_at=now, signature=signature)


def read_ticket(text: str) -> Ticket | None:
    """Return the ticket that was sent as `text`; None if it has not the form of one."""
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        issued_at, user_id, username = raw[32:].decode("utf-8", "surrogatepass").split(":", 2)
        made_at = Instant(int(issued_at))
    except ValueError:
        return None
    # A forger may write any name: no store is asked for what no identifier can be.
    if not (
        user_id.isascii() and user_id.isprintable() and max(len(user_id), len(username)) <= _LONGEST_NAME
    ):
        return None
    return Ticket(user_id=user_id, username=username, issued_at=made_at, signature=raw[:32])


def _sign(key: bytes, user_id: str, username: str, issued_at: Instant, epochs: Epochs) -> bytes:
    # User names have no colon (`is_username`), and the others are letters and digits.
    message = f"{issued_at}:{user_id}:{epochs.user}:{epochs.client}:{username}"
    return derive_from_key(key, "ticket", message.encode("utf-8", "surrogatepass"))

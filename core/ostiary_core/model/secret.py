"""Secret values: drawn, derived and digested, and never printed."""

import hmac
from binascii import b2a_base64
from hashlib import blake2s, sha256
from typing import Final, NewType

from ostiary_core.model.instant import Instant

Digest = NewType("Digest", bytes)
"""SHA-256 of a bearer value, all of it that is ever stored."""

Entropy = NewType("Entropy", bytes)
"""32 random bytes of an event; any other length raises `ValueError`, a fault of the program."""

TOKEN_LENGTH: Final = 43
PERSONAL_TOKEN_PREFIX: Final = "ostiary_pat_"
_FINGERPRINT_BYTES: Final = 4
_ENTROPY_BYTES: Final = 32
_LONGEST_ID: Final = 64
_LETTERS_AND_DIGITS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")


class Secret:
    """A bearer value in plain text: a token, code, client secret. Its printed form shows nothing.

    >>> str(Secret("abc")), repr(Secret("abc"))
    ('[secret]', 'Secret([secret])')
    """

    __slots__ = ("_text", "digest")

    def __init__(self, text: str) -> None:
        self._text: str | None = text
        self.digest = digest_of(text)
        """SHA-256 of the text, lone surrogates included, so that no text fails."""

    def reveal(self) -> str:
        """Return the text, for the one answer that carries it."""
        if self._text is None:
            raise ValueError("the text of this secret was not kept")
        return self._text

    def drop_text(self) -> "Secret":
        """Return a copy without the text, for comparisons."""
        kept = object.__new__(Secret)
        kept._text, kept.digest = None, self.digest
        return kept

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self.digest, other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return "Secret([secret])"

    def __str__(self) -> str:
        return "[secret]"


def digest_of(text: str) -> Digest:
    """Return the SHA-256 of `text` in UTF-8."""
    return Digest(sha256(text.encode("utf-8", "surrogatepass")).digest())


def fingerprint_of(digest: Digest) -> str:
    """Return the 8 hexadecimal digits by which people tell secrets apart: the first of its SHA-256."""
    return digest[:_FINGERPRINT_BYTES].hex()


def draw_bytes(entropy: Entropy, purpose: str) -> bytes:
    """Derive 32 bytes from entropy for one purpose, so that one draw yields several independent values."""
    # Without entropy every client would get one token.
    if len(entropy) != _ENTROPY_BYTES:
        raise ValueError(f"expected {_ENTROPY_BYTES} random bytes as entropy, got {len(entropy)}")
    # Keyed BLAKE2s (RFC 7693 §2.9) is an HMAC in one pass.
    return blake2s(purpose.encode(), key=entropy).digest()


def _base64url(raw: bytes) -> str:
    return b2a_base64(raw, newline=False).translate(_URL_SAFE).rstrip(b"=").decode("ascii")


def draw_token(entropy: Entropy, purpose: str) -> Secret:
    """Draw an opaque token of 43 base64url characters ("What the service does", 5)."""
    return Secret(_base64url(draw_bytes(entropy, purpose)))


def draw_id(entropy: Entropy, purpose: str) -> str:
    """Draw an identifier of 32 hexadecimal digits; not a secret."""
    return draw_bytes(entropy, purpose)[:16].hex()


def make_dated_id(now: Instant, drawn: bytes) -> str:
    """Make an identifier of 32 hexadecimal digits that begins with its instant; not a secret.

    Sessions that start together then lie together in a store's indexes: random identifiers touch up to three
    more pages a start.

    >>> make_dated_id(Instant(1_800_000_000_000), bytes(32))
    '01a3185c500000000000000000000000'
    """
    return f"{max(now, 0) % 2**48:012x}{drawn[:10].hex()}"


def draw_session_id(entropy: Entropy, now: Instant) -> str:
    """Draw the identifier of a new session."""
    return make_dated_id(now, draw_bytes(entropy, "session"))


def draw_client_secret(entropy: Entropy) -> Secret:
    """Draw a client secret of 43 letters and digits: 256 bits, safe in any form of Basic (READINGS 20)."""
    return Secret(_draw_letters_and_digits(entropy, "client secret"))


def draw_personal_token(entropy: Entropy) -> Secret:
    """Draw a personal access token, which scanners of published text know by its prefix."""
    return Secret(PERSONAL_TOKEN_PREFIX + _draw_letters_and_digits(entropy, "personal access token"))


def draw_invitation(entropy: Entropy, user_id: str) -> Secret:
    """Draw the token of an invitation: the user it is for, and 256 bits."""
    return Secret(f"{user_id}.{_draw_letters_and_digits(entropy, 'invitation')}")


def user_of_invitation(token: Secret) -> str:
    """Return the identifier of the user that an invitation says it is for; empty for no identifier.

    >>> user_of_invitation(Secret("0af3.secret")), user_of_invitation(Secret("nonsense"))
    ('0af3', '')
    """
    user_id, dot, _ = token.reveal().partition(".")
    # No store is asked for what no identifier can be.
    is_identifier = dot and len(user_id) <= _LONGEST_ID and user_id.isascii() and user_id.isalnum()
    return user_id if is_identifier else ""


def _draw_letters_and_digits(entropy: Entropy, purpose: str) -> str:
    number = int.from_bytes(draw_bytes(entropy, purpose) + draw_bytes(entropy, f"{purpose}, more"))
    characters = []
    for _ in range(TOKEN_LENGTH):
        number, index = divmod(number, len(_LETTERS_AND_DIGITS))
        characters.append(_LETTERS_AND_DIGITS[index])
    return "".join(characters)


def draw_text_code(entropy: Entropy) -> Secret:
    """Draw the six decimal digits of a text message code (READINGS 28)."""
    return Secret(f"{int.from_bytes(draw_bytes(entropy, 'text code')) % 1_000_000:06d}")


def draw_salt(entropy: Entropy) -> bytes:
    """Draw the salt of a rotation, 32 bytes from which the next pair of tokens is derived (READINGS 1)."""
    return draw_bytes(entropy, "rotation salt")


def derive_successor(salt: bytes, purpose: str, spent: Secret) -> Secret:
    """Derive the token that follows `spent`, so that a safe retry gets the same token again.

    HMAC-SHA256(salt, purpose ‖ spent), base64url without padding (READINGS 1). The store has the salt and the
    client the spent token: neither alone yields the successor.
    """
    message = purpose.encode() + spent.reveal().encode("utf-8", "surrogatepass")
    return Secret(_base64url(hmac.digest(salt, message, "sha256")))

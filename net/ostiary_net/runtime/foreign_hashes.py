"""Reads and verifies password hashes that other systems made.

Rules, all in this file (docs/decisions/0037-password-hashes-of-other-systems.md):

- Seven forms: argon2id and scrypt as PHC strings; bcrypt, also of a SHA-256 as Django makes it; PBKDF2 of
  Django, passlib (in which Keycloak's can be written) and Werkzeug; Werkzeug's scrypt. The prefixes that
  Spring and Django put before argon2id and bcrypt are stripped, unless they say how to verify.
- A hash is read to its last character before it is kept, so that some password can match it.
- To verify one takes at most 128 MiB, and about two seconds of one processor of today.
"""

import hmac
import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable
from hashlib import new, pbkdf2_hmac, scrypt, sha256
from typing import Final, NamedTuple

import bcrypt
from argon2.exceptions import VerificationError
from argon2.low_level import Type, verify_secret

from ostiary_core.model.fields import FieldRule

_MOST_BYTES: Final = 128 * 1024 * 1024
_MOST_ARGON2_BYTES: Final = 1024 * 1024 * 1024
"""Most bytes of memory, times passes."""
_MOST_SCRYPT_BYTES: Final = 256 * 1024 * 1024
"""Most bytes of memory, times lanes."""
_BCRYPT_COSTS: Final = range(4, 15)
_MOST_PBKDF2_ITERATIONS: Final = 4_000_000
"""Most iterations of all blocks of a hash together (RFC 8018 §5.2: each block repeats them)."""
_MOST_LANES: Final = 16
_BCRYPT_BYTES: Final = 72
"""Bytes of a password that bcrypt reads; other systems cut passwords there."""

_PREFIXES: Final = (("{bcrypt}", ""), ("bcrypt$", ""), ("argon2$argon2id$", "$argon2id$"))
"""Prefixes of Spring (`DelegatingPasswordEncoder`) and Django, and what replaces each."""

_BASE64: Final = "[A-Za-z0-9+/]"
_ARGON2ID: Final = re.compile(
    rf"\$argon2id\$v=19\$m=(\d{{1,9}}),t=(\d{{1,9}}),p=(\d{{1,9}})\$({_BASE64}{{11,86}})\$({_BASE64}{{22,86}})",
    re.ASCII,
)
_SCRYPT: Final = re.compile(
    rf"\$scrypt\$ln=(\d{{1,2}}),r=(\d{{1,9}}),p=(\d{{1,9}})\$({_BASE64}{{0,86}})\$({_BASE64}{{22,86}})",
    re.ASCII,
)
# The last characters of salt and hash carry only some bits; the others are zero.
_BCRYPT: Final = re.compile(
    r"(bcrypt_sha256\$)?"
    r"(\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{30}[.CGKOSWaeimquy26])",
    re.ASCII,
)
_PBKDF2: Final = re.compile(
    rf"pbkdf2_sha256\$(\d{{1,9}})\$([\x21-\x23\x25-\x7e]{{1,128}})\$({_BASE64}{{43}}=)", re.ASCII
)
_PASSLIB_BASE64: Final = "[A-Za-z0-9./]"
_PASSLIB_PBKDF2: Final = re.compile(
    rf"\$pbkdf2-(sha256|sha512)\$(\d{{1,9}})\$({_PASSLIB_BASE64}{{0,86}})\$({_PASSLIB_BASE64}{{43,86}})",
    re.ASCII,
)
# Werkzeug itself makes salts of letters and digits, and whole digests.
_WERKZEUG_SALT: Final = r"([\x21-\x23\x25-\x7e]{1,128})"
_WERKZEUG_PBKDF2: Final = re.compile(
    rf"pbkdf2:(sha256|sha512):(\d{{1,9}})\${_WERKZEUG_SALT}\$([0-9a-f]{{64}}|[0-9a-f]{{128}})", re.ASCII
)
_WERKZEUG_SCRYPT: Final = re.compile(
    rf"scrypt:(\d{{1,9}}):(\d{{1,9}}):(\d{{1,9}})\${_WERKZEUG_SALT}\$([0-9a-f]{{128}})", re.ASCII
)


class ForeignHash(NamedTuple):
    """A hash of another system: whether its cost is allowed, and its verifier."""

    is_affordable: bool
    matches: Callable[[bytes], bool]


def normalize_foreign_hash(text: str) -> str | FieldRule:
    """Return the spelling of another system's hash that is stored, or the rule that it breaks.

    >>> normalize_foreign_hash("{bcrypt}$2a$10$dXJ3SW6G7P50lGmMkkmwe.20cQQubK3.HZWzG3YB1tlRy.fqvM/BG")
    '$2a$10$dXJ3SW6G7P50lGmMkkmwe.20cQQubK3.HZWzG3YB1tlRy.fqvM/BG'
    >>> normalize_foreign_hash("{noop}password"), normalize_foreign_hash("$2a$31$" + 53 * ".")
    (<FieldRule.PASSWORD_HASH: 'password-hash'>, <FieldRule.PASSWORD_HASH_COST: 'password-hash-cost'>)
    """
    for prefix, form in _PREFIXES:
        if text.startswith(prefix):
            text = form + text.removeprefix(prefix)
    foreign = read_foreign_hash(text)
    if foreign is None:
        return FieldRule.PASSWORD_HASH
    return text if foreign.is_affordable else FieldRule.PASSWORD_HASH_COST


def read_foreign_hash(text: str) -> ForeignHash | None:
    """Read a hash in one of the seven forms; None if `text` is none."""
    for form, read in _FORMS:
        if match := form.fullmatch(text):
            return read(match)
    return None


def _read_argon2id(match: re.Match[str]) -> ForeignHash | None:
    kibibytes, passes, lanes = (int(number) for number in match.groups()[:3])
    if _decode_base64(match[4]) is None or _decode_base64(match[5]) is None:
        return None
    if not passes or not lanes or kibibytes < 8 * lanes:
        return None

    def matches(password: bytes) -> bool:
        try:
            return verify_secret(match[0].encode(), password, Type.ID)
        except VerificationError:
            return False

    size = kibibytes * 1024
    affordable = size <= _MOST_BYTES and size * passes <= _MOST_ARGON2_BYTES and lanes <= _MOST_LANES
    return ForeignHash(affordable, matches)


def _read_scrypt(match: re.Match[str]) -> ForeignHash | None:
    exponent, block, lanes = (int(number) for number in match.groups()[:3])
    return _make_scrypt_hash(1 << exponent, block, lanes, _decode_base64(match[4]), _decode_base64(match[5]))


def _read_werkzeug_scrypt(match: re.Match[str]) -> ForeignHash | None:
    cost, block, lanes = (int(number) for number in match.groups()[:3])
    if cost.bit_count() != 1:
        return None
    return _make_scrypt_hash(cost, block, lanes, match[4].encode(), bytes.fromhex(match[5]))


def _make_scrypt_hash(
    cost: int, block: int, lanes: int, salt: bytes | None, digest: bytes | None
) -> ForeignHash | None:
    """Make a scrypt hash of cost N, a power of two (RFC 7914 §2); None if its parameters are invalid."""
    if salt is None or digest is None or cost < 2 or not block or not lanes:
        return None
    size = 128 * block * cost

    def matches(password: bytes) -> bool:
        room = 128 * block * (cost + lanes + 2)  # exactly what OpenSSL asks for
        made = scrypt(password, salt=salt, n=cost, r=block, p=lanes, maxmem=room, dklen=len(digest))
        return hmac.compare_digest(made, digest)

    return ForeignHash(
        size <= _MOST_BYTES and size * lanes <= _MOST_SCRYPT_BYTES and lanes <= _MOST_LANES, matches
    )


def _read_bcrypt(match: re.Match[str]) -> ForeignHash:
    def matches(password: bytes) -> bool:
        entered = sha256(password).hexdigest().encode() if match[1] else password
        return bcrypt.checkpw(entered[:_BCRYPT_BYTES], match[2].encode())

    return ForeignHash(int(match[3]) in _BCRYPT_COSTS, matches)


def _read_pbkdf2(match: re.Match[str]) -> ForeignHash | None:
    return _make_pbkdf2_hash("sha256", int(match[1]), match[2].encode(), _decode_base64(match[3].rstrip("=")))


def _read_passlib_pbkdf2(match: re.Match[str]) -> ForeignHash | None:
    salt, digest = (_decode_base64(text.replace(".", "+")) for text in match.groups()[2:])
    return None if salt is None else _make_pbkdf2_hash(match[1], int(match[2]), salt, digest)


def _read_werkzeug_pbkdf2(match: re.Match[str]) -> ForeignHash | None:
    digest = bytes.fromhex(match[4])
    if len(digest) != new(match[1]).digest_size:
        return None
    return _make_pbkdf2_hash(match[1], int(match[2]), match[3].encode(), digest)


def _make_pbkdf2_hash(
    function: str, iterations: int, salt: bytes, digest: bytes | None
) -> ForeignHash | None:
    if not iterations or digest is None:
        return None
    blocks = -(-len(digest) // new(function).digest_size)

    def matches(password: bytes) -> bool:
        made = pbkdf2_hmac(function, password, salt, iterations, len(digest))
        return hmac.compare_digest(made, digest)

    return ForeignHash(iterations * blocks <= _MOST_PBKDF2_ITERATIONS, matches)


def _decode_base64(text: str) -> bytes | None:
    """Decode canonical Base64 without padding; None for any other text (RFC 4648 §3.5)."""
    try:
        raw = b64decode(text + "=" * (-len(text) % 4))
    except Base64Error:
        return None
    return raw if b64encode(raw).decode().rstrip("=") == text else None


_FORMS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], ForeignHash | None]], ...]] = (
    (_ARGON2ID, _read_argon2id),
    (_BCRYPT, _read_bcrypt),
    (_PBKDF2, _read_pbkdf2),
    (_PASSLIB_PBKDF2, _read_passlib_pbkdf2),
    (_SCRYPT, _read_scrypt),
    (_WERKZEUG_PBKDF2, _read_werkzeug_pbkdf2),
    (_WERKZEUG_SCRYPT, _read_werkzeug_scrypt),
)

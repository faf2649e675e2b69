"""One-time passwords by time (RFC 6238), and the recovery codes that stand in for them.

The secret of a second factor is not stored: it is derived from the server's key and a salt on the record, so
neither the database alone nor the key alone yields it (docs/decisions/0051-second-factor.md).
"""

import hmac
from base64 import b32encode
from typing import Final
from urllib.parse import quote

from ostiary_core.model.instant import SECOND_MS, Instant
from ostiary_core.model.secret import Digest, Entropy, Secret, digest_of, draw_bytes

STEP_SECONDS: Final = 30
"""Length of a time step (RFC 6238 §4.1)."""
_DIGITS: Final = 6
_STEPS_ASIDE: Final = 1
"""Steps before and after the present one whose passwords are taken, as clocks of telephones differ (§5.2)."""
_SECRET_BYTES: Final = 20
"""Length of a secret: that of the hash (RFC 4226 §4, R6)."""
_KEY_BYTES: Final = 32
_RECOVERY_CODES: Final = 10
_RECOVERY_CODE_LENGTH: Final = 16
"""Letters of a recovery code, 5 bits each: 80 bits, so that its plain digest cannot be searched for."""


def one_time_password(secret: bytes, step: int) -> str:
    """Return the password of six digits for a time step (RFC 4226 §5.3).

    >>> one_time_password(b"12345678901234567890", 1)
    '287082'
    """
    mac = hmac.digest(secret, step.to_bytes(8), "sha1")
    offset = mac[-1] & 15
    return f"{(int.from_bytes(mac[offset : offset + 4]) & 0x7FFF_FFFF) % 10**_DIGITS:0{_DIGITS}d}"


def step_at(now: Instant) -> int:
    """Return the number of the time step of an instant (RFC 6238 §4.2)."""
    return max(0, now // (STEP_SECONDS * SECOND_MS))


def find_step(secret: bytes, code: str, now: Instant, used_step: int) -> int | None:
    """Return the step whose password `code` is, of those near `now` and later than `used_step`; else None."""
    present = step_at(now)
    found = None
    for step in range(max(present - _STEPS_ASIDE, used_step + 1), present + _STEPS_ASIDE + 1):
        if hmac.compare_digest(one_time_password(secret, step).encode(), code.encode()):
            found = step
    return found


def is_one_time_password(code: str) -> bool:
    """Whether a code has the form of a one-time password; recovery codes have another."""
    return len(code) == _DIGITS and code.isascii() and code.isdigit()


def canonical_code(text: str) -> str:
    """Return a typed code without the spaces, hyphens and letter case that people add.

    >>> canonical_code("287 082"), canonical_code("ABCD-efgh")
    ('287082', 'abcdefgh')
    """
    return "".join(character for character in text if not character.isspace() and character != "-").lower()


# --- what is derived from the key


def derive_second_factor(key: bytes, salt: bytes) -> bytes:
    """Derive the secret of a second factor from the server's key and the record's salt."""
    return derive_from_key(key, "secret", salt)[:_SECRET_BYTES]


def key_id_of(key: bytes) -> str:
    """Return the name by which a record tells the key that its secret is derived from."""
    return derive_from_key(key, "name")[:8].hex()


def derive_from_key(key: bytes, purpose: str, message: bytes = b"") -> bytes:
    """Derive 32 bytes from the server's key; raise `ValueError` without one, a fault of the program."""
    if len(key) != _KEY_BYTES:
        raise ValueError(f"expected {_KEY_BYTES} bytes as the key of second factors, got {len(key)}")
    return hmac.digest(key, f"second factor {purpose}:".encode() + message, "sha256")


# --- what its user is shown once


def secret_text(secret: bytes) -> Secret:
    """Return a secret as it is typed into an authenticator: in base32."""
    return Secret(b32encode(secret).decode("ascii"))


def otpauth_uri(secret: Secret, issuer: str, username: str) -> Secret:
    """Return the address that an authenticator reads from a picture (Key URI Format).

    >>> otpauth_uri(Secret("GEZDGNBV"), "My shop", "ann").reveal()
    'otpauth://totp/My%20shop:ann?secret=GEZDGNBV&issuer=My%20shop'
    """
    issued_by, account = quote(issuer, safe=""), quote(username, safe="", errors="surrogatepass")
    return Secret(f"otpauth://totp/{issued_by}:{account}?secret={secret.reveal()}&issuer={issued_by}")


def draw_recovery_codes(entropy: Entropy) -> tuple[Secret, ...]:
    """Draw the recovery codes of a second factor, in groups of four letters."""
    codes = []
    for number in range(_RECOVERY_CODES):
        letters = b32encode(draw_bytes(entropy, f"recovery code {number}")).decode("ascii").lower()
        groups = (letters[place : place + 4] for place in range(0, _RECOVERY_CODE_LENGTH, 4))
        codes.append(Secret("-".join(groups)))
    return tuple(codes)


def digest_recovery_code(user_id: str, code: str) -> str:
    """Return the digest of a recovery code in hexadecimal, which is all that is stored of it."""
    digest: Digest = digest_of(f"recovery-code:{user_id}:{canonical_code(code)}")
    return digest.hex()

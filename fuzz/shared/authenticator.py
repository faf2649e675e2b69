"""Codes of a user's authenticator: RFC 6238, written again without the core."""

import hmac
from base64 import b32decode
from typing import Final

STEP_MS: Final = 30_000


def code_at(secret: str, step: int) -> str:
    """Return the six digits of a time step, for a secret in base32."""
    mac = hmac.new(b32decode(secret), step.to_bytes(8, "big"), "sha1").digest()
    first = mac[-1] % 16
    return str(int.from_bytes(mac[first : first + 4], "big") % 2**31 % 1_000_000).zfill(6)


def steps_of(code: str, secret: str, now: int) -> list[int]:
    """Return the steps with this code: the present step and its two neighbours are tried."""
    return [step for step in range(now // STEP_MS - 1, now // STEP_MS + 2) if code_at(secret, step) == code]

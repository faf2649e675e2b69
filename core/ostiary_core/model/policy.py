"""Limits, lifetimes, switches and the key of the rules, with the values of the specification."""

from dataclasses import dataclass, field
from enum import StrEnum


class SecondFactorFor(StrEnum):
    """Who must have a second factor."""

    NOBODY = "no"
    ADMINISTRATORS = "administrators"
    """Users who hold a permission."""
    EVERYBODY = "everybody"


class TextRecoveryFor(StrEnum):
    """Who may set a new password by a text message."""

    NOBODY = "no"
    WITH_SECOND_FACTOR = "second-factor"
    """Users whom the message alone does not sign in."""
    EVERYBODY = "everybody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The parameters of the rules, with the specification's values as defaults ("Limits", rule 4)."""

    code_seconds: int = 300
    grace_seconds: int = 30
    clock_margin_seconds: int = 0
    """Time for which salts and codes are kept longer than needed, so that an instance whose clock is ahead
    takes none from one whose clock is behind (READINGS 1)."""
    compare_user_agent: bool = True
    """Whether a safe retry must come with the User-Agent of the first use ("Session and tokens"). No setting
    of the server changes it; an embedder may."""
    revoke_on_code_replay: bool = False
    """RFC 6749 §4.1.2 SHOULD: a code redeemed twice ends the session it made (READINGS 10)."""
    wrong_passwords_until_ending: int = 5
    """Wrong current passwords inside the window that end all sessions (READINGS 24)."""
    wrong_password_window_seconds: int = 15 * 60
    proof_seconds: int = 15 * 60
    """Time for which a sign-in, or a later proof, lets a user give power (READINGS 57); 0 never asks."""
    text_code_seconds: int = 600
    """Lifetime of a code sent by text message (READINGS 28)."""
    text_code_tries: int = 5
    """Wrong entries that void a code."""
    text_code_pause_seconds: int = 60
    """Pause between two codes to one number."""
    text_codes_a_day: int = 10
    """Most codes sent to a number in a day before one is entered correctly; bounds guessing."""
    text_codes_asked_a_day: int = 20
    """Most codes that one account may ask for in a day, to any numbers (READINGS 43)."""
    invitation_seconds: int = 72 * 60 * 60
    """Lifetime of an invitation (READINGS 60)."""
    text_recovery: TextRecoveryFor = TextRecoveryFor.EVERYBODY
    require_second_factor: SecondFactorFor = SecondFactorFor.NOBODY
    second_factor_key: bytes = field(default=b"", repr=False)
    """Key of 32 bytes that second factors and tickets are derived from; without it every use of either raises
    `ValueError`, a fault of the program."""
    ticket_seconds: int = 300
    """Time between the password and the second factor."""
    wrong_codes_until_wait: int = 5
    """Wrong codes of a second factor inside the window of wrong passwords after which its user waits."""
    locales: tuple[str, ...] = ("zh-CN", "en-US")
    """Languages that an account may choose: those that the server speaks."""
    personal_tokens_at_most: int = 100
    """Most personal access tokens of a user that live at a time."""
    retention_seconds: int = 30 * 24 * 60 * 60
    """Time for which a dead session is kept, so that its tokens are still recognised (READINGS 3)."""

    @property
    def salt_seconds(self) -> int:
        """Shortest time for which the salt of a rotation is kept."""
        return self.grace_seconds + self.clock_margin_seconds


SPECIFICATION = Policy()
"""The policy that the specification describes."""

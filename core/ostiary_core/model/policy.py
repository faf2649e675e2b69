"""The limits and lifetimes of the specification, as values that a simulation can vary."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the rules are parametrised by; the defaults are the specification's ("Limits", rule 4).

    What ends in `_seconds` is in whole seconds; other numbers are counts.
    """

    code_seconds: int = 300
    grace_seconds: int = 30
    clock_margin_seconds: int = 0
    """How much longer than needed salts and codes are kept: an instance whose clock is ahead must not take a
    grace or a code away from one whose clock is behind (READINGS 1)."""
    compare_user_agent: bool = True
    """Whether a safe retry must come with the User-Agent of the first use ("Session and tokens")."""
    revoke_on_code_replay: bool = False
    """RFC 6749 §4.1.2 SHOULD: a code redeemed twice ends the session it made (READINGS 10)."""
    wrong_passwords_until_ending: int = 5
    """As many wrong current passwords inside the window end everything (READINGS 24)."""
    wrong_password_window_seconds: int = 15 * 60
    text_code_seconds: int = 600
    """How long a code in a text message can be entered (READINGS 28)."""
    text_code_tries: int = 5
    """As many wrong entries make a code worthless."""
    text_code_pause_seconds: int = 60
    """A number is sent no further code for so long."""
    text_codes_a_day: int = 10
    """Codes a number is sent before one of them is entered rightly: bounds what guessing can yield."""
    text_codes_asked_a_day: int = 20
    """Codes that one account may ask for within a day, whatever the numbers (READINGS 43)."""
    minimum_password_length: int = 8
    locales: tuple[str, ...] = ("zh-CN", "en-US")
    """The languages that an account may have: those that the server speaks."""
    retention_seconds: int = 30 * 24 * 60 * 60
    """How long a dead session is kept, so that its tokens are still recognised (READINGS 3)."""

    @property
    def salt_seconds(self) -> int:
        """How long after a rotation its salt is kept at least."""
        return self.grace_seconds + self.clock_margin_seconds


SPECIFICATION = Policy()
"""The policy that the specification describes."""

"""What one process remembers of its callers: how often each asked this minute, and whose secrets failed.

Everybody who embeds the rules keeps one of these beside the store; `http.service` asks it and tells it.
"""

from ostiary_core.rate import RateWindows
from ostiary_core.secret_guesses import SecretGuesses

__all__ = ["Limits"]


class Limits:
    """Both memories, each bounded whatever the number of callers; `scale` multiplies what they allow."""

    def __init__(self, *, scale: float = 1.0) -> None:
        self.windows = RateWindows(scale=scale)
        self.guesses = SecretGuesses(scale=scale)

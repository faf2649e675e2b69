"""What the page of a code that was sent by text message says: to which number, and when it is sent again."""

from typing import NamedTuple

from quart import Response

from ostiary_core.model.instant import Instant, later, seconds_until
from ostiary_core.model.policy import SPECIFICATION
from ostiary_web.pages.context import PageContext
from ostiary_web.pages.kept import read_kept, redirect_keeping


class SentCode(NamedTuple):
    """A code that was asked for; whether one was sent, only the telephone shows."""

    phone: str
    wait_seconds: int
    """Time until another one is sent to the number; 0 if that is now."""


def redirect_to_code(page: PageContext, address: str, phone: str) -> Response:
    """Redirect to the page that asks for the code just sent to `phone`."""
    now = page.request.service.clock.now()
    return redirect_keeping(page, address, {"phone": phone, "asked_at": str(now)})


def find_sent_code(page: PageContext, path: str) -> SentCode | None:
    """Return the code that the page at `path` waits for, if this browser asked for one."""
    kept = read_kept(page, path)
    if "asked_at" not in kept:
        return None
    again_at = later(Instant(int(kept["asked_at"])), SPECIFICATION.text_code_pause_seconds)
    wait = max(0, again_at - page.request.service.clock.now())
    return SentCode(kept["phone"], seconds_until(wait) if wait else 0)

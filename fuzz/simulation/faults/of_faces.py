"""Mistakes of pages, sheets, uploads and limits: what is said, shown, kept and counted."""

from dataclasses import replace
from typing import Any, Final

from fuzz.faults.planting import Fault
from fuzz.simulation.faults.plants import Original, method, together
from ostiary_core.throttling.rate_windows import RateWindows
from ostiary_net.runtime.files import Files
from ostiary_web.api import auth
from ostiary_web.api.resources import imports
from ostiary_web.pages import context


def let_one_more(original: Original) -> Original:
    """Past every limit one request is let through."""
    let_through: set[object] = set()

    def admit(windows: Any, operation: Any, source: str, now: int) -> int:
        wait: int = original(windows, operation, source, now)
        here = id(windows), operation, source, now // 60_000
        if not wait or here in let_through:
            return wait
        let_through.add(here)
        return 0

    return admit


def count_all_together(original: Original) -> Original:
    """All addresses are counted together."""

    def admit(windows: Any, operation: Any, source: str, now: int) -> int:
        wait: int = original(windows, operation, "everybody", now)
        return wait

    return admit


def serve_first(original: Original) -> Original:
    """Every picture is the first that was ever asked for."""
    first: list[bytes] = []

    async def read(files: Any, name: str) -> Any:
        content = await original(files, name)
        if content is not None:
            first.append(content)
        return content and first[0]

    return read


def swap_tokens(original: Original) -> Original:
    """The browser keeps the refresh token as its access token, and the other way round."""

    def keep_login(response: Any, login: Any) -> Any:
        tokens = login.tokens
        other = replace(tokens, access_token=tokens.refresh_token, refresh_token=tokens.access_token)
        return original(response, replace(login, tokens=other))

    return keep_login


def negate(original: Original) -> Original:
    """What a sheet says yes to is no."""
    return lambda cell: not original(cell)


FAULTS: Final = (
    Fault(
        "limit-and-one", "one request past a limit is answered", method(RateWindows, "admit", let_one_more)
    ),
    Fault("limit-of-all", "addresses share their limits", method(RateWindows, "admit", count_all_together)),
    Fault("picture-of-another", "somebody else's picture is served", method(Files, "read", serve_first)),
    Fault(
        "cookies-swapped",
        "a browser's two tokens change places",
        together(method(auth, "keep_login", swap_tokens), method(context, "keep_login", swap_tokens)),
    ),
    Fault("sheet-negated", "a sheet's yes is taken for no", method(imports, "_boolean", negate)),
)

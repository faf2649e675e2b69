"""Mistakes in answers: refusals, pages, sheets, pictures, cookies and limits."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from fuzz.faults.planting import Fault, combine_plants, read_faults, replace_texts
from ostiary_core.http import token_service
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.why import Why


def change_meaning(why: Why, name: str, value: Any) -> Callable[[], AbstractContextManager[None]]:
    """Return a plant that gives a reason another meaning for a while."""

    @contextmanager
    def planted() -> Iterator[None]:
        before = getattr(MEANINGS[why], name)
        object.__setattr__(MEANINGS[why], name, value)
        try:
            yield
        finally:
            object.__setattr__(MEANINGS[why], name, before)

    return planted


FAULTS: Final = (
    *read_faults(Path(__file__).with_suffix(".txt")),
    Fault(
        "status-of-another",
        "a wrong current password is answered 400",
        change_meaning(Why.CURRENT_PASSWORD_WRONG, "status", 400),
    ),
    Fault(
        "failure-unknown",
        "a failure has a code that nobody knows",
        change_meaning(Why.INTERNAL_ERROR, "code", "A0999"),
    ),
    Fault(
        "administration-open",
        "who is signed in may read all of the administration",
        combine_plants(
            replace_texts("ostiary_web.http.gate.Gate.require_account", "permission=self.permission,", ""),
            replace_texts("ostiary_web.http.gate.Gate.refusal", "self.permission is not None", "False"),
        ),
    ),
    Fault(
        "no-challenge",
        "a 401 does not say by which scheme to authenticate",
        lambda: patch.object(token_service, "_CHALLENGE", (b"x-authenticate", b"Basic")),
    ),
)

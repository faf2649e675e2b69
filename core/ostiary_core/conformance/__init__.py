"""Check whether a store keeps the rules of a store.

    report = check_store(lambda: MyStore(new_file()), reopen=lambda store: MyStore(store.file))
    assert report.is_sound, report

It runs under any test runner or none. The stores of this project pass the same checks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ostiary_core.conformance import histories, lists, records, retention, turns
from ostiary_core.conformance.harness import AtOnce, Broken, Check, CheckedStore, StoreFactory

__all__ = ["AtOnce", "CheckedStore", "Flaw", "Report", "check_store"]


@dataclass(frozen=True, slots=True)
class Flaw:
    """A rule that a store breaks."""

    check: str
    """Rule that must hold."""
    words: str
    """Description of what happened instead."""

    def __str__(self) -> str:
        return f"{self.check}: {self.words}"


@dataclass(frozen=True, slots=True)
class Report:
    """The checks that passed, failed, and were left out."""

    passed: tuple[str, ...]
    flaws: tuple[Flaw, ...]
    left_out: tuple[str, ...]
    """Checks that could not be made, with what they need."""

    @property
    def is_sound(self) -> bool:
        """Whether no check failed; those left out may still."""
        return not self.flaws

    def __str__(self) -> str:
        lines = [f"WRONG  {flaw}" for flaw in self.flaws]
        lines += [f"right  {check}" for check in self.passed]
        lines += [f"-      {words}" for words in self.left_out]
        return "\n".join(lines)


def check_store(
    make: Callable[[], Any], *, reopen: Callable[[Any], Any] | None = None, at_once: AtOnce | None = None
) -> Report:
    """Make every possible check of the new and empty stores that `make` returns (`CheckedStore`).

    `reopen` takes a store and returns it opened again from what it kept, as after a crash. `at_once` makes
    calls concurrently, for a store that allows it: `lambda calls: list(pool.map(lambda call: call(),
    calls))`.
    """
    stores = StoreFactory(make, reopen, at_once)
    checks, left_out = choose_checks(stores)
    passed, flaws = [], []
    for check in checks:
        name = check.__name__.replace("_", " ")
        wrong = run_check(check, stores)
        if wrong is None:
            passed.append(name)
        else:
            flaws.append(Flaw(name, wrong))
    return Report(tuple(passed), tuple(flaws), tuple(left_out))


def choose_checks(stores: StoreFactory) -> tuple[list[Check], list[str]]:
    """Choose the checks that can be made, and describe those that cannot."""
    checks: list[Check] = [*records.CHECKS, *turns.CHECKS]
    left_out = []
    if stores.reopen is None:
        left_out.append("what is there after a crash was not looked at: give `reopen`")
    if stores.at_once is not None:
        checks += turns.CHECKS_AT_ONCE
    else:
        left_out.append("callers at the same time were not tried: give `at_once`")
    store = stores.make()
    for what, names, more in _OPTIONAL:
        missing = ", ".join(f"`{name}`" for name in names if not hasattr(store, name))
        if missing:
            left_out.append(f"{what} not looked at: the store lacks {missing}")
        else:
            checks += more
    return checks, left_out


_OPTIONAL: Final[tuple[tuple[str, tuple[str, ...], tuple[Check, ...]], ...]] = (
    ("lists were", ("page", "items_after", "count_running", "last_used"), lists.CHECKS),
    ("histories of sessions were", ("session_history",), histories.CHECKS),
    ("what expires was", ("find_expired", "forget_entries"), retention.CHECKS),
)
"""Optional abilities of a store: description, methods, and their checks."""


def run_check(check: Check, stores: StoreFactory) -> str | None:
    """Run one check; return what is wrong, or None."""
    try:
        check(stores)
    except Broken as broken:
        return str(broken)
    except Exception as error:
        # Without its text, which may quote what was written.
        return f"{type(error).__name__} was raised where the store should have gone on"
    return None

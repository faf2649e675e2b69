"""Is your store a store? Point `check_store` at it and read what it says.

    report = check_store(lambda: MyStore(new_file()), reopen=lambda store: MyStore(store.file))
    assert report.is_sound, report

It calls nothing but what it is given, so it runs under any test runner, or under none. The stores of this
project are held to the very same checks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ostiary_core.conformance import histories, lists, records, retention, turns
from ostiary_core.conformance.bench import AtOnce, Bench, Broken, CheckedStore

__all__ = ["AtOnce", "CheckedStore", "Finding", "Report", "check_store"]

Check = Callable[[Bench], None]
"""One check; it raises `Broken`."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a store."""

    check: str
    """What must hold."""
    words: str
    """What happened instead."""

    def __str__(self) -> str:
        return f"{self.check}: {self.words}"


@dataclass(frozen=True, slots=True)
class Report:
    """What was looked at, and what was found."""

    passed: tuple[str, ...]
    findings: tuple[Finding, ...]
    left_out: tuple[str, ...]
    """What could not be looked at, and what would have to be given for it."""

    @property
    def is_sound(self) -> bool:
        """Whether nothing was found. What was left out is not known to be right."""
        return not self.findings

    def __str__(self) -> str:
        lines = [f"WRONG  {finding}" for finding in self.findings]
        lines += [f"right  {check}" for check in self.passed]
        lines += [f"-      {words}" for words in self.left_out]
        return "\n".join(lines)


def check_store(
    make: Callable[[], Any],
    *,
    reopen: Callable[[Any], Any] | None = None,
    at_once: AtOnce | None = None,
) -> Report:
    """Every check that can be made of the stores that `make` makes, each new and empty (`CheckedStore`).

    `reopen` is given a store and gives the same one again from what it kept, as after a crash: close what
    must be closed, and keep nothing that was only in memory. `at_once` makes calls at the same time, for a
    store that several may use at once: `lambda calls: list(pool.map(lambda call: call(), calls))`.
    """
    bench = Bench(make, reopen, at_once)
    checks, left_out = choose_checks(bench)
    passed, findings = [], []
    for check in checks:
        name = check.__name__.replace("_", " ")
        wrong = run_check(check, bench)
        if wrong is None:
            passed.append(name)
        else:
            findings.append(Finding(name, wrong))
    return Report(tuple(passed), tuple(findings), tuple(left_out))


def choose_checks(bench: Bench) -> tuple[list[Check], list[str]]:
    """Choose the checks that can be made, and say what cannot be looked at."""
    checks: list[Check] = [*records.CHECKS, *turns.CHECKS]
    left_out = []
    if bench.reopen is not None:
        checks += turns.CHECKS_OF_REOPENING
    else:
        left_out.append("what is there after a crash was not looked at: give `reopen`")
    if bench.at_once is not None:
        checks += turns.CHECKS_AT_ONCE
    else:
        left_out.append("callers at the same time were not tried: give `at_once`")
    store = bench.make()
    for what, names, more in _OPTIONAL:
        missing = ", ".join(f"`{name}`" for name in names if not hasattr(store, name))
        if missing:
            left_out.append(f"{what} not looked at: the store lacks {missing}")
        else:
            checks += more
    return checks, left_out


_OPTIONAL: Final[tuple[tuple[str, tuple[str, ...], tuple[Check, ...]], ...]] = (
    ("lists were", ("page", "items_after", "last_used"), lists.CHECKS),
    ("histories of sessions were", ("session_history",), histories.CHECKS),
    ("what expires was", ("expired", "forget_entries"), retention.CHECKS),
)
"""What a store need not have: what it is called, the methods that it takes, and the checks of them."""


def run_check(check: Check, bench: Bench) -> str | None:
    """Run one check; return what is wrong, None where nothing is."""
    try:
        check(bench)
    except Broken as broken:
        return str(broken)
    except Exception as error:
        # Its text stays out: it may quote what was written.
        return f"{type(error).__name__} was raised where the store should have gone on"
    return None

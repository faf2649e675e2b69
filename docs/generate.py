"""Writes the pages of docs/ that are made from code: rows.md, states.md, permissions.md, invariants.md and
reference/ (`make docs`).

`python -m docs.generate --check` writes nothing and fails where a page is not current or a row of the
specification has no test.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from docs.permissions_page import permissions_page
from docs.reference_pages import reference_pages
from ostiary_core.oauth import state_tables
from ostiary_core.oauth.state_tables import NO_RECORD, Transition
from tests.rows.proofs import Proof, collected_proofs, find_unproved
from tests.rows.specification import TABLES

DOCS = Path(__file__).resolve().parent

_GENERATED = "<!-- Written by `make docs` from {source}. Changes made here are lost. -->"


def rows_page(proofs: Mapping[tuple[str, str], tuple[Proof, ...]]) -> str:
    """Every row of the specification's tables, and the tests that prove it."""
    return "\n".join(_rows_lines(proofs)) + "\n"


def _rows_lines(proofs: Mapping[tuple[str, str], tuple[Proof, ...]]) -> Iterator[str]:
    yield "# Which test proves which row"
    yield ""
    yield _GENERATED.format(source="the tests' `@row` markers")
    yield ""
    yield "Every row of every table of the specification, and the conditions its numbered lists state. A row"
    yield "that names several conditions is listed once for each. `tests/test_docs.py` fails while one has no"
    yield "test. Names are given without their `test_`."
    for table, rows in TABLES.items():
        yield ""
        yield f"## {table}"
        yield ""
        yield "| Row | Proved by |"
        yield "|---|---|"
        for row in rows:
            tests = proofs.get((table, row.name), ())
            yield f"| {row.name} | {'<br>'.join(map(_linked, tests)) or '**no test**'} |"


def _linked(proof: Proof) -> str:
    words = proof.name.removeprefix("test_").replace("|", "\\|")
    return f"[`{words}`](../{proof.file})"


def states_page() -> str:
    """The state machines, drawn from the tables that the rules' own modules hold."""
    return "\n".join(_states_lines()) + "\n"


def _states_lines() -> Iterator[str]:
    yield "# State machines"
    yield ""
    yield _GENERATED.format(source="`core/ostiary_core/oauth/state_tables.py`")
    yield ""
    yield "A state that only time or an ending from above leads to is not stored: it is computed from the"
    yield "record, the time, and the epochs of its user, client and consent (`state_of`)."
    yield from _machine("The authorization code", state_tables.CODE_TRANSITIONS)
    yield from _machine("The session", state_tables.SESSION_TRANSITIONS)


def _machine(title: str, transitions: Iterable[Transition]) -> Iterator[str]:
    transitions = tuple(transitions)
    yield ""
    yield f"## {title}"
    yield ""
    yield "```mermaid"
    yield "stateDiagram-v2"
    for row in transitions:
        source = "[*]" if row.source == NO_RECORD else row.source
        yield f"    {source} --> {row.target}: {row.name}"
    yield "```"
    yield ""
    yield "| From | Trigger | To | Transition | Recorded | Refused for |"
    yield "|---|---|---|---|---|---|"
    for row in transitions:
        recorded = "" if row.fact is None else f"`{row.fact.value}`"
        if row.why is not None:
            recorded += f" (`{row.why}`)"
        refusal = "" if row.refusal is None else f"`{row.refusal}`"
        yield f"| {row.source} | {row.trigger} | {row.target} | {row.name} | {recorded} | {refusal} |"


def pages(proofs: Mapping[tuple[str, str], tuple[Proof, ...]]) -> dict[str, str]:
    """The generated pages by file name."""
    made = {"rows.md": rows_page(proofs), "states.md": states_page(), "permissions.md": permissions_page()}
    if find_spec("fuzz") is not None and find_spec("fuzz.rules.document") is not None:
        made["invariants.md"] = import_module("fuzz.rules.document").make_invariants_page()
    return made | reference_pages()


def main(arguments: list[str] | None = None) -> int:
    """Write the pages, or with `--check` say what is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m docs.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail where something is amiss")
    check = parser.parse_args(arguments).check
    proofs = collected_proofs()
    complaints = [
        f"no test in tests/{row.proved_by}: {table}: {row.name}" for table, row in find_unproved(proofs)
    ]
    for name, text in pages(proofs).items():
        page = DOCS / name
        if not check:
            page.write_text(text, encoding="utf-8")
        elif not page.exists() or page.read_text(encoding="utf-8") != text:
            complaints.append(f"docs/{name} is not current: run `make docs` and commit it")
    print("\n".join(complaints) or "Every row has a test, every page is current.", file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

"""Generate `docs/invariants.md` from the invariants and the planted faults."""

from fuzz.faults import FAULTS
from fuzz.shared.invariants import INVARIANTS, OF_THE_RULES, OF_THE_SERVER

HEAD = """# What must never happen

*Written by `make docs` from `fuzz/shared/invariants.py` and `fuzz/faults`; change those, not this page.*

Every campaign over the rules checks the first {rules} of these, the random sequences and the kept traces:
after every turn for what the turn touched, and now and then for everything. The simulation of the whole
server checks what of them shows from outside or in the store, and most of the last {server}, which are of
the server around the rules. [proving.md](proving.md) says how to run them.

| | Name | What must hold |
|---|---|---|
"""

FAULTS_HEAD = """
# What would be noticed

Known mistakes of authorization servers. `.venv/bin/python -m fuzz --selftest` plants each of them in the core
from outside, one at a time, and fails where one is not caught; it prints which invariants caught it, and
after how many steps.

| Name | The mistake |
|---|---|
"""


def make_invariants_page() -> str:
    """Return the page as it should stand in `docs/`."""
    invariants = (f"| {one.number} | `{one.name}` | {one.sentence} |\n" for one in INVARIANTS)
    faults = (f"| `{one.name}` | {one.sentence} |\n" for one in FAULTS)
    head = HEAD.format(rules=len(OF_THE_RULES), server=len(OF_THE_SERVER))
    return head + "".join(invariants) + FAULTS_HEAD + "".join(faults)

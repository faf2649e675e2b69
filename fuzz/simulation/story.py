"""The story of one run: requests and outcomes, injected faults, violations."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import trio

from fuzz.shared.calls import Answer, Call, Verb
from fuzz.shared.invariants import Invariant, Violation
from fuzz.simulation.judge import RightSource
from fuzz.simulation.operations import Operation

DESK_PASSWORD: Final = "password of the administration desk"
AT_THE_DESK: Final = 1_000_000
IN_THE_END: Final = 2_000_000
"""Number from which requests outside the plan are counted."""


@dataclass
class Story:
    """The collected facts of a run."""

    operations: list[Operation] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    lines: list[tuple[float, str]] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    sources: list[RightSource] = field(default_factory=list)
    secrets: set[str] = field(default_factory=lambda: {DESK_PASSWORD})
    latest_secret: str = DESK_PASSWORD

    def fault(self, invariant: Invariant, detail: str) -> None:
        """Record a violation."""
        self.violations.append(Violation(invariant, detail))

    def log(self, text: str) -> None:
        """Add a sentence to the story."""
        self.lines.append((trio.current_time(), text))

    def log_operation(self, operation: Operation, came: str) -> None:
        call = operation.call
        named = {"client": call.client_id, "user": call.username, "agent": (call.user_agent or "")[:20]}
        about = " ".join(f"{name}={value}" for name, value in named.items() if value)
        who = f"step {operation.step}" if operation.step < AT_THE_DESK else "the desk"
        who = who if operation.step < IN_THE_END else "in the end"
        asked = f"asked at {operation.invoked_at:.3f} s of instance {operation.instance}"
        self.log(f"{who}: {call.verb} {about} {asked}: {came}")

    def remember(self, call: Call, answer: Answer) -> None:
        """Record the secrets that must not be stored or logged."""
        texts = (answer.access, answer.refresh, answer.code, answer.secret, *answer.codes, call.verifier)
        passwords = (call.new_password, call.password if call.verb is Verb.REGISTER_USER else None)
        for text in (*texts, *passwords):
            if text is not None and len(text) > 8:
                self.secrets.add(text)
                self.latest_secret = text

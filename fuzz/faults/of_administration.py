"""Mistakes in what administrators may do: second secrets, roles, names and numbers, batches."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from fuzz.faults.planting import Fault, wrapped
from ostiary_core.decide import decide
from ostiary_core.model.decision import Decision, Update
from ostiary_core.model.instant import MINUTE_MS, Instant
from ostiary_core.model.records import Client
from ostiary_core.model.reply import BatchRefused, Refused

Original = Callable[..., Any]


def rewritten(decision: Decision, other: Callable[[Any], Any]) -> Decision:
    """The decision with other changes."""
    return replace(decision, changes=tuple(other(change) for change in decision.changes))


def old_secret_for(milliseconds: int) -> Callable[[Original], Original]:
    """A reset keeps the old secret for so much longer than it was asked to, or than not at all."""

    def wrap(original: Original) -> Original:
        def reset(event: Any, snapshot: Any, now: Any) -> Any:
            def longer(change: Any) -> Any:
                if not isinstance(change, Update) or not isinstance(change.before, Client):
                    return change
                assert isinstance(change.after, Client)
                until = Instant((change.after.old_secret_until or now) + milliseconds)
                kept = replace(
                    change.after, old_secret_digest=change.before.secret_digest, old_secret_until=until
                )
                return Update(change.before, kept)

            return rewritten(original(event, snapshot, now), longer)

        return reset

    return wrap


def old_secret_survives(original: Original) -> Original:
    """Disabling and deleting end the sessions, and leave the old secret for whoever enables the client."""

    def ended(client: Client, *asked: Any, **changes: Any) -> Any:
        kept = {"old_secret_digest": client.old_secret_digest, "old_secret_until": client.old_secret_until}
        return replace(original(client, *asked, **changes), **kept)

    return ended


def never(original: Original) -> Original:
    return lambda *asked: False


def nothing(original: Original) -> Original:
    return lambda *asked: ()


def phone_moves_alone(original: Original) -> Original:
    """An administrator gives an account another telephone number, and everything goes on."""

    def change(event: Any, snapshot: Any, now: Any) -> Any:
        standing = snapshot.user(event.user_id)

        def spared(change: Any) -> Any:
            if not isinstance(change, Update) or change.before != standing:
                return change
            kept = {"epoch": standing.epoch, "epoch_why": standing.epoch_why, "epoch_at": standing.epoch_at}
            return Update(change.before, replace(change.after, **kept))

        return rewritten(original(event, snapshot, now), spared)

    return change


def in_part(original: Original) -> Original:
    """Of a batch that is refused, what could be done is done."""

    def batch(event: Any, snapshot: Any, now: Any, policy: Any) -> Any:
        decision = original(event, snapshot, now, policy)
        if not isinstance(decision.reply, BatchRefused):
            return decision
        standing = snapshot.after(())
        changes: list[Any] = []
        for part in event.events:
            decided = decide(part, standing, now, policy)
            if not isinstance(decided.reply, Refused):
                standing.apply(decided.changes)
                changes += decided.changes
        return Decision(decision.reply, tuple(changes), decision.facts)

    return batch


FAULTS: Final = (
    Fault(
        "old-secret-too-long",
        "an old secret works a minute too long",
        wrapped("client_secret", "reset", old_secret_for(MINUTE_MS)),
    ),
    Fault(
        "old-secret-survives-disabling",
        "a client that is enabled again has its old secret back",
        wrapped("inherited_endings", "end_all_of_client", old_secret_survives),
    ),
    Fault(
        "roles-handed-out-freely",
        "whoever may change accounts hands out any role",
        wrapped("authentication", "is_above", never),
    ),
    Fault(
        "holders-uncounted",
        "nobody counts who holds a role",
        wrapped("user_administration", "_recount_holders", nothing),
    ),
    Fault(
        "names-taken-twice",
        "two accounts have one name",
        wrapped("user_administration", "_find_taken_names", nothing),
    ),
    Fault(
        "phone-moves-alone",
        "another telephone number by an administrator ends nothing",
        wrapped("user_administration", "change", phone_moves_alone),
    ),
    Fault("batch-in-part", "of a refused batch some is done", wrapped("decide", "_all_or_nothing", in_part)),
)

"""The rules of an OAuth 2.0 authorization server as a deterministic state machine without I/O.

    decide(event, snapshot, now) -> Decision

Events come in with the time and whatever randomness they need; decisions go out as a reply, guarded
writes and facts. `MemoryStore` is the smallest thing that runs them; `ostiary_core.http` gives the token
service its HTTP meaning, still without I/O.
"""

from ostiary_core.decide import decide, keys, take_turn
from ostiary_core.loading.keys import Keys
from ostiary_core.loading.snapshot import NotLoaded, Snapshot, load
from ostiary_core.model.decision import Decision
from ostiary_core.model.instant import Instant, Monotonic
from ostiary_core.model.policy import SPECIFICATION, Policy
from ostiary_core.model.secret import Digest, Entropy, Secret
from ostiary_core.model.why import Why
from ostiary_core.storage.store import LostRace, MemoryStore, Store

__all__ = [
    "SPECIFICATION",
    "Decision",
    "Digest",
    "Entropy",
    "Instant",
    "Keys",
    "LostRace",
    "MemoryStore",
    "Monotonic",
    "NotLoaded",
    "Policy",
    "Secret",
    "Snapshot",
    "Store",
    "Why",
    "decide",
    "keys",
    "load",
    "take_turn",
]

"""Mistakes at the front door and in the lane: who is calling, what is whole, and whose answer it is."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

from fuzz.faults.planting import Fault
from fuzz.simulation.faults.plants import Original, function, method
from ostiary_core.http.answer import Answer
from ostiary_net.front_door.connections import Connections
from ostiary_net.front_door.source import source_of
from ostiary_net.lane import plain
from ostiary_net.lane.connection import LaneConnection
from ostiary_net.lane.writing import AnswerWriter

__all__ = ["FAULTS"]


def from_the_left(peer: str | None, forwarded_for: Sequence[bytes], trusted: Any) -> str:
    """What stands leftmost is whatever a caller likes."""
    if forwarded_for and source_of(peer, forwarded_for, trusted) != source_of(peer, [], trusted):
        return forwarded_for[0].split(b",")[0].strip().decode()
    return source_of(peer, forwarded_for, trusted)


def from_anybody(peer: str | None, forwarded_for: Sequence[bytes], trusted: Any) -> str:
    """The header is believed whoever sends it."""
    return forwarded_for[-1].split(b",")[-1].strip().decode() if forwarded_for else str(peer)


def ever_open(original: Original) -> Original:
    return lambda connections, connection: None


def backwards(original: Original) -> Original:
    """Answers to pipelined requests in the wrong order."""

    async def send(connection: Any, held: list[bytes]) -> None:
        held.reverse()
        await original(connection, held)

    return send


def half_read(data: bytes, start: int = 0) -> Any:
    """A request whose body has not come yet is answered by what has."""
    found = plain.read_plain(data, start)
    head_end = data.find(b"\r\n\r\n", start) + 4
    if not isinstance(found, plain.Torn) or head_end < 4:
        return found
    cut = data[start:head_end] + data[head_end:].ljust(found.end - head_end)
    whole = plain.read_plain(cut)
    if not isinstance(whole, plain.PlainRequest):
        return found
    return plain.PlainRequest(whole.operation, whole.path, whole.fields, whole.body.rstrip(), len(data))


def known_by_its_beginning(data: bytes) -> Any:
    """The digest of as much of a head as every request to one path has in common."""
    return sha256(data[: data.find(b"Authorization") if b"Authorization" in data else 60])


def too_short(original: Original) -> Original:
    """The last byte of an answer is never sent."""
    return lambda writer, answer: original(writer, answer)[:-1]


def answers_mixed(original: Original) -> Original:
    """A writer that is shared keeps the body of the answer before."""
    kept: list[Answer] = []

    def written(writer: Any, answer: Answer) -> bytes:
        kept.append(answer)
        late = kept[-2] if len(kept) % 7 == 0 else answer
        data: bytes = original(writer, late)
        return data

    return written


FAULTS: Final = (
    Fault(
        "heads-confused",
        "the lane takes one client's head for another's",
        function("ostiary_net.lane.calls.sha256", known_by_its_beginning),
    ),
    Fault(
        "left-end-trusted",
        "the left end of X-Forwarded-For is believed",
        function("ostiary_net.front_door.heads.source_of", from_the_left),
    ),
    Fault(
        "anybody-forwards",
        "X-Forwarded-For is believed from anybody",
        function("ostiary_net.front_door.heads.source_of", from_anybody),
    ),
    Fault("connections-leak", "closed connections stay counted", method(Connections, "leave", ever_open)),
    Fault(
        "pipeline-backwards",
        "pipelined answers come in the wrong order",
        method(LaneConnection, "_send", backwards),
    ),
    Fault(
        "torn-is-whole",
        "a torn request is taken as far as it came",
        function("ostiary_net.lane.connection.read_plain", half_read),
    ),
    Fault("last-byte-kept", "an answer's last byte is not sent", method(AnswerWriter, "written", too_short)),
    Fault(
        "answers-mixed",
        "a caller is given another one's answer",
        method(AnswerWriter, "written", answers_mixed),
    ),
)

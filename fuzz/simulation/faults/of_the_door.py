"""Mistakes at the front door and in the lane: who is calling, what is whole, and whose answer it is."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

from fuzz.faults.planting import Fault
from fuzz.simulation.faults.plants import Original, function, method
from ostiary_core.http.answer import Answer
from ostiary_net.front_door.connections import Connections
from ostiary_net.front_door.source import source_of
from ostiary_net.lane.connection import LaneConnection
from ostiary_net.lane.parser import Need, RequestParser
from ostiary_net.lane.writer import AnswerWriter


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

    def send(connection: Any) -> Any:
        connection._held.reverse()
        return original(connection)

    return send


def half_read(original: Original) -> Original:
    """A request whose body has not come yet is answered by what has."""

    def next_event(parser: Any) -> Any:
        event = original(parser)
        if event is not Need.BODY:
            return event
        parser._wanted = parser._body_start
        parser._head = replace(parser._head, length=len(parser._data) - parser._body_start)
        return original(parser)

    return next_event


def known_by_its_beginning(data: bytes) -> Any:
    """The digest of as much of a head as every request to one path has in common."""
    return sha256(data[: data.find(b"Authorization") if b"Authorization" in data else 60])


def too_short(original: Original) -> Original:
    """The last byte of an answer is never sent."""
    return lambda *asked, **named: original(*asked, **named)[:-1]


def answers_mixed(original: Original) -> Original:
    """A writer that is shared keeps the body of the answer before."""
    kept: list[Answer] = []

    def write(writer: Any, answer: Answer, **named: Any) -> bytes:
        kept.append(answer)
        late = kept[-2] if len(kept) % 7 == 0 else answer
        data: bytes = original(writer, late, **named)
        return data

    return write


FAULTS: Final = (
    Fault(
        "heads-confused",
        "the lane takes one client's head for another's",
        function("ostiary_net.lane.heads.sha256", known_by_its_beginning),
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
        method(LaneConnection, "_send_held", backwards),
    ),
    Fault(
        "torn-is-whole",
        "a torn request is taken as far as it came",
        method(RequestParser, "next_event", half_read),
    ),
    Fault("last-byte-kept", "an answer's last byte is not sent", method(AnswerWriter, "write", too_short)),
    Fault(
        "answers-mixed",
        "a caller is given another one's answer",
        method(AnswerWriter, "write", answers_mixed),
    ),
)

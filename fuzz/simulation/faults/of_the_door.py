"""Mistakes at the front door and in the lane: who is calling, what is whole, and whose answer it is."""

from typing import Final

from fuzz.faults.planting import mistakes_in

FAULTS: Final = (
    *mistakes_in(
        "ostiary_net.lane.heads._digest",
        (
            *("heads-confused", "the lane takes one client's head for another's"),
            *("+ head)", "+ head[: head.find(b'Authorization') if b'Authorization' in head else 60])"),
        ),
    ),
    *mistakes_in(
        "ostiary_net.front_door.source.find_source",
        (
            *("left-end-trusted", "the left end of X-Forwarded-For is believed"),
            *("_iterate_from_right(forwarded_for)", "reversed(list(_iterate_from_right(forwarded_for)))"),
        ),
        (
            *("anybody-forwards", "X-Forwarded-For is believed from anybody"),
            *("not is_trusted(peer, trusted)", "False"),
        ),
    ),
    *mistakes_in(
        "ostiary_net.front_door.connections.OpenConnections.leave",
        ("connections-leak", "closed connections stay counted", "self._open.discard(connection)", "pass"),
    ),
    *mistakes_in(
        "ostiary_net.lane.connection.LaneConnection._send_held",
        (
            *("pipeline-backwards", "pipelined answers come in the wrong order"),
            *("join(self._held)", "join(reversed(self._held))"),
        ),
    ),
    *mistakes_in(
        "ostiary_net.lane.parser.RequestParser.next_event",
        (
            *("torn-is-whole", "a torn request is taken as far as it came"),
            *("self._body_start + head.length", "min(self._body_start + head.length, len(data))"),
        ),
    ),
    *mistakes_in(
        "ostiary_net.lane.writer.AnswerWriter.write",
        (
            "last-byte-kept",
            "an answer's last byte is not sent",
            "head + answer.body",
            "(head + answer.body)[:-1]",
        ),
        (
            *("answers-mixed", "a caller is given another one's answer"),
            *("head + answer.body", "head + self._heads.setdefault((*kind, len(answer.body)), answer.body)"),
        ),
    ),
)

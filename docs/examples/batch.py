"""The rules with no server at all: requests of a file decided in order, answers written to another.

    .venv/bin/python docs/examples/batch.py REQUESTS.jsonl > ANSWERS.jsonl

A line is one request, `{"at": milliseconds, "method", "path", "headers", "body"}`; neighbours of one instant
are decided in one turn, so what one of them changes the next one sees, and all of them are kept or none.
The times are the file's and all randomness comes from a seed, so the same file gives the same answers
whenever it is run. The secrets of the first records, the same in every run too, and a code that is good for
the first 300,000 milliseconds are told on standard error.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from first_records import drawn_from, make_first_records

from ostiary_core import Instant, MemoryStore, Monotonic, Store
from ostiary_core.http import Answer, PendingRequest, Request, TokenEndpoint


class Batch:
    """Requests in, answers out, over one store."""

    def __init__(self, store: Store, seed: str) -> None:
        """`seed` stands for randomness: whoever knows it can work out every token, so keep it secret."""
        self._store = store
        self._draw = drawn_from(seed)
        self._endpoint = TokenEndpoint()

    def run(self, lines: Iterable[str]) -> Iterator[str]:
        """A line with the answer to each line."""
        for at, together in groupby(map(json.loads, lines), key=itemgetter("at")):
            yield from map(json.dumps, self._turn(Instant(at), list(together)))

    def _turn(self, at: Instant, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        received = [self._receive(at, line) for line in lines]
        pending = [one for one in received if isinstance(one, PendingRequest)]
        decisions = iter(
            self._store.turn([one.event for one in pending], at, [one.origin for one in pending])
        )
        answers = [one if isinstance(one, Answer) else one.answer(next(decisions)) for one in received]
        return [
            {
                "status": answer.status,
                "headers": [[name.decode(), value.decode()] for name, value in answer.headers],
                "body": answer.body.decode(),
            }
            for answer in answers
        ]

    def _receive(self, at: Instant, line: dict[str, Any]) -> PendingRequest | Answer:
        request = Request.of(
            line["method"],
            line["path"],
            [(name, value) for name, value in line["headers"]],
            line["body"].encode("latin-1"),
            source=line.get("source", "127.0.0.1"),
        )
        return self._endpoint.receive(
            request,
            now=at,
            monotonic=Monotonic(at),  # a file has one clock, and nobody sets it
            entropy=self._draw(),
            trace_id=self._draw()[:16].hex(),
        )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: batch.py REQUESTS.jsonl > ANSWERS.jsonl")
    kept = MemoryStore()
    records = make_first_records(kept, Instant(0), drawn_from("another seed that is no secret"))
    first = {"secrets": records.secrets, "code": records.code(kept, Instant(0))}
    print(json.dumps(first), file=sys.stderr)
    with open(sys.argv[1], encoding="utf-8") as file:
        for answer_line in Batch(kept, "a seed that is no secret").run(file):
            print(answer_line)

"""`python -m fuzz timing`: whether the time of a refusal reveals what exists.

Requests that must get the same answer are sent over one kept connection for each door, thousands of each
kind: in blocks, and in random order within each block. A kind differs from the first one of its group if a
rank test (`rank_test`) finds a difference with p < 0.001, divided by the number of pairs, and the difference
is larger than that between the first kind and its control, which is the same kind with other names and
secrets.

A control that differs fails the run: then names, or the machine, have more influence than the thing measured.
"""

import gc
import math
import shutil
import socket
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import cycle
from pathlib import Path
from random import Random
from statistics import median
from typing import Final

import trio

from fuzz.processes import api
from fuzz.processes.connection import Connection
from fuzz.processes.failures import InvariantBroken
from fuzz.processes.faults import faults_of
from fuzz.processes.server import ADMIN_PASSWORD, Server
from fuzz.shared.calls import Call, Verb
from fuzz.shared.campaign import Report, add_up, command, conduct, format_failure
from fuzz.shared.http_client import HttpClient, Request, Response
from fuzz.shared.invariants import DOCUMENTED, UNTIMED, Violation
from fuzz.shared.rank_test import Comparison, compare
from fuzz.shared.requests import request_of
from fuzz.shared.selftest import SEED, run_selftest

_ALPHA: Final = 0.001
_BLOCK: Final = 20
"""Samples of each kind in one block."""
_VARIANTS: Final = 8
"""Names and secrets of each kind, so that properties of a single one count little."""
_TRIES: Final = 4
"""Wrong passwords of each name: it has to wait after five, and a connection sends its first one twice."""
_SETTINGS: Final = {"LOG_LEVEL": "info"}
_DOORS: Final = {"front door": "", "application": "?door=application"}
"""Query that selects each door: requests with a query go to the application."""

_OF_CLIENTS: Final = (
    ("secret wrong in its first byte", "known", 0),
    ("control", "again", 0),
    ("in its last byte", "known", -1),
    ("unknown client", "never", 0),
    ("disabled client, wrong secret", "ended", 0),
    ("disabled client, its secret", "ended", None),
)
"""Kinds of clients: a name, the set of client names, and the position of the secret's error."""
_OF_TOKENS: Final = (
    ("wrong in its first byte", "known", 0),
    ("control", "again", 0),
    ("in its last byte", "known", -1),
    ("another client's", "other", None),
)
_OF_ACCOUNTS: Final = (
    ("wrong password", "known"),
    ("control", "again"),
    ("unknown name", "never"),
    ("disabled account", "ended"),
)


@dataclass(frozen=True, slots=True)
class Kind:
    """Requests of one kind, sent in turn."""

    name: str
    requests: Sequence[Request]
    is_judged: bool = True
    """Whether the kind is judged; False if only the owner or a thief of a value can send it."""


@dataclass(frozen=True, slots=True)
class Group:
    """Kinds that must get the same answer: the first, its control, and those compared with it."""

    name: str
    kinds: tuple[Kind, ...]
    samples: int
    """Samples of each kind."""

    @property
    def pairs(self) -> int:
        """Number of comparisons that can fail."""
        return sum(kind.is_judged for kind in self.kinds[1:])


class Timed:
    """One kept connection; between the two times of a sample there are only system calls."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._http = HttpClient("")
        self._socket: socket.socket | None = None

    def exchange(self, request: Request) -> tuple[int, Response]:
        """Return the nanoseconds until the last byte of the response, and the response."""
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=60)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._http = HttpClient(f"127.0.0.1:{self._port}")
            self._exchange(self._socket, request)  # a connection's first exchange costs more
        return self._exchange(self._socket, request)

    def _exchange(self, connected: socket.socket, request: Request) -> tuple[int, Response]:
        data = self._http.write(request)
        response = None
        began = ended = time.perf_counter_ns()
        connected.sendall(data)
        while response is None:
            received = connected.recv(65_536)
            ended = time.perf_counter_ns()
            self._http.receive(received)
            response = self._http.next_response()
        if not self._http.is_kept:
            self.close()
        return ended - began, response

    def close(self) -> None:
        """Close the connection; the next request makes another."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


# --- requests


class Population:
    """Clients, sessions and accounts of a new server, with names of one length for all kinds."""

    def __init__(self, sign_ins: int) -> None:
        self.secrets: dict[str, str] = {}
        self.pairs: dict[str, tuple[str, str]] = {}
        """Tokens of a session, by its client."""
        self.accounts = math.ceil(sign_ins / _TRIES)

    async def register(self, port: int) -> None:
        """Register everything. Raises `InvariantBroken`, `Lost`."""
        with Connection(port) as connection:
            login = await api.sign_in(connection, "admin", ADMIN_PASSWORD)
            for client_id in (*names("known"), *names("again"), *names("ended"), *names("other")):
                self.secrets[client_id] = secret = await api.register_client(connection, login, client_id)
                verifier = sha256(client_id.encode()).hexdigest()
                self.pairs[client_id] = await api.open_session(connection, login, client_id, secret, verifier)
            for client_id in names("ended"):
                await api.get(connection, Verb.DISABLE_CLIENT, login=login, client_id=client_id)
            for name in ("known", "again", "ended"):
                for username in names(name, self.accounts):
                    named = {"username": username, "password": "their-own-password"}
                    user = await api.get(connection, Verb.REGISTER_USER, login=login, **named)
                    if name == "ended":
                        await api.get(connection, Verb.DISABLE_USER, login=login, user_id=user.sub)

    def try_secrets(self, verb: Verb, query: str, who: str, place: int | None) -> list[Request]:
        """Return requests of clients that fail to authenticate, with secrets that differ at a position."""
        requests = []
        for client_id, known in zip(names(who), names("known"), strict=True):
            secret = change_character(place, self.secrets.get(client_id, self.secrets[known]))
            requests.append(_request(query, Call(verb, client_id, secret, token="A" * 43)))
        return requests

    def try_tokens(self, verb: Verb, query: str, who: str, place: int | None) -> list[Request]:
        """Return requests of known clients with tokens of others, which differ at a position."""
        requests = []
        for client_id, owner in zip(names("known"), names(who), strict=True):
            token = change_character(place, self.pairs[owner][verb is Verb.REFRESH])
            requests.append(_request(query, Call(verb, client_id, self.secrets[client_id], token=token)))
        return requests

    def try_passwords(self, who: str) -> list[Request]:
        """Return requests with wrong passwords, for each name as often as it need not wait."""
        wrong = Call(Verb.SIGN_IN, password="not-their-password")
        return [_request("", wrong._replace(username=name)) for name in names(who, self.accounts)]


def _request(query: str, call: Call) -> Request:
    request = request_of(call, by_form=False)
    return replace(request, target=request.target + query)


def names(kind: str, number: int = _VARIANTS) -> list[str]:
    """Return the names of one kind."""
    return [f"{kind}-{each:05}" for each in range(number)]


def change_character(place: int | None, secret: str) -> str:
    """Return the secret with another character at a position, or unchanged."""
    if place is None:
        return secret
    characters = list(secret)
    characters[place] = "A" if characters[place] != "A" else "B"
    return "".join(characters)


def groups(people: Population, samples: int, sign_ins: int) -> Iterator[Group]:
    """Yield everything to compare, at both doors; sign-in exists at the application only."""
    if sign_ins:
        kinds = tuple(Kind(name, people.try_passwords(who)) for name, who in _OF_ACCOUNTS)
        yield Group("sign-in", kinds, sign_ins)
    for door, query in _DOORS.items() if samples else ():
        for name, verb in (("grant", Verb.CLIENT_CREDENTIALS), ("introspection", Verb.INTROSPECT)):
            tried = ((kind, people.try_secrets(verb, query, *wrong)) for kind, *wrong in _OF_CLIENTS)
            kinds = tuple(Kind(kind, requests) for kind, requests in tried)
            yield Group(f"{name}, {door}", kinds, samples)
        for name, verb in (("introspected token", Verb.INTROSPECT), ("refresh token", Verb.REFRESH)):
            kinds = tuple(
                Kind(kind, people.try_tokens(verb, query, who, place), is_judged=who != "other")
                for kind, who, place in _OF_TOKENS
            )
            yield Group(f"{name}, {door}", kinds, samples)


# --- judging


def measure(connection: Timed, group: Group, random: Random) -> list[dict[str, list[int]]]:
    """Return nanoseconds by kind, block by block. Raises `InvariantBroken` if the answers differ."""
    requests = {kind.name: cycle(kind.requests) for kind in group.kinds}
    blocks = []
    answers = set()
    gc.collect()
    gc.disable()
    try:
        for begin in range(0, group.samples, _BLOCK):
            order = [*requests] * min(_BLOCK, group.samples - begin)
            random.shuffle(order)
            block = defaultdict(list)
            for name in order:
                nanoseconds, response = connection.exchange(next(requests[name]))
                block[name].append(nanoseconds)
                answers.add((response.status, response.error, len(response.body)))
            blocks.append(dict(block))
    finally:
        gc.enable()
    if len(answers) > 1:
        raise InvariantBroken(f"{group.name}: answered as {sorted(answers)}", DOCUMENTED)
    return blocks


def judge(group: Group, blocks: Sequence[Mapping[str, Sequence[int]]], most_p: float, again: str) -> Report:
    """Report the comparisons of a group; a kind that differs is a violation, a control fails the run."""
    first, control, *_ = (kind.name for kind in group.kinds)
    others = [kind.name for kind in group.kinds[1:]]
    comparisons = {each: compare((block[first], block[each]) for block in blocks) for each in others}
    middle = median(nanoseconds for block in blocks for nanoseconds in block[first])
    report = Report(counts=Counter(pairs=group.pairs, requests=group.samples * len(group.kinds)))
    seen = find_least_visible_shift([(block[first], block[control]) for block in blocks], most_p) // 1_000
    figures = f"{first}: {middle / 1_000:,.0f} us, sees {seen:,} us"
    lines = [f"{group.name}: {group.samples:,} of each kind, {figures}"]
    for kind in group.kinds[1:]:
        comparison = comparisons[kind.name]
        is_larger = kind.name == control or comparison.effect > comparisons[control].effect
        differs = comparison.p_value < most_p and is_larger
        remark = "" if not differs else "differs" if kind.is_judged else "(differs)"
        detail = f"{kind.name:<32}{describe(comparison)}  {remark}"
        lines.append(f"    {detail}".rstrip())
        if differs and kind.is_judged:
            violation = Violation(UNTIMED, f"{group.name}: {kind.name}")
            report.violations += () if kind.name == control else (violation,)
            means = (
                UNTIMED.sentence if kind.name != control else "Names or the machine differ: run it alone.",
                f"compared with {first}, how often it is the later, by how much, and how likely by chance:",
            )
            head = f"FAILED {group.name}"
            story = partial(format_failure, head, [violation], [*means, detail], f"once more:  {again}")
            report.stories.append(story)
    report.line = "\n  ".join(lines)
    return report


def find_least_visible_shift(pairs: Sequence[tuple[Sequence[int], Sequence[int]]], most_p: float) -> int:
    """Return the smallest delay, in nanoseconds, that would make a kind and its control differ.

    Only powers of two of a microsecond are tried.
    """

    def is_visible(pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> bool:
        return compare((one, [each + shift for each in other]) for one, other in pairs).p_value < most_p

    shift = 1_000
    while not (is_visible(pairs) and is_visible([(control, first) for first, control in pairs])):
        shift *= 2
    return shift


def describe(comparison: Comparison) -> str:
    """Format a comparison in one line."""
    shift = comparison.shift / 1_000
    return f"{comparison.superiority:.3f}  {shift:+7.1f} us  p {comparison.p_value:<8.2g}"


def run_groups(folder: Path, seed: int, samples: int, sign_ins: int) -> Iterator[Report]:
    """Measure and judge all groups, one after another, on one new server."""
    random = Random(f"timing {seed}")
    again = command("timing", "--seed", seed, "--samples", samples, "--sign-ins", sign_ins)
    with Server(folder, settings=_SETTINGS) as server:
        server.start_and_wait()
        people = Population(sign_ins)
        trio.run(people.register, server.port)
        every = list(groups(people, samples, sign_ins))
        most_p = _ALPHA / sum(group.pairs for group in every)
        connection = Timed(server.port)
        try:
            for group in every:
                warm_up(connection, group)
                yield judge(group, measure(connection, group, random), most_p, again)
        finally:
            connection.close()


def warm_up(connection: Timed, group: Group) -> None:
    """Send every request once, as the server remembers heads; sign-ins are left out, as they would count."""
    if group.name != "sign-in":
        for kind in group.kinds:
            for request in kind.requests:
                connection.exchange(request)


def run(seed: int, samples: int, sign_ins: int) -> int:
    """Measure every group; return 0 if no kind differs."""
    print(f"seed {seed}, {samples:,} samples of each kind, {sign_ins:,} of sign-ins", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="ostiary-timing-"))
    code = conduct(run_groups(folder, seed, samples, sign_ins), _figures, most_failures=1_000)
    if code == 0:
        shutil.rmtree(folder)
    return code


def _figures(total: Report, seconds: float) -> str:
    counts = total.counts
    return f"{len(total.stories)} of {counts['pairs']} pairs differ, {counts['requests']:,} requests"


def selftest(only: str) -> int:
    """Plant differences in the server; return 0 if all are found."""
    return run_selftest(only, faults_of("timing"), run_planted, 2)


def run_planted(number: int) -> Report:
    """Take few samples, as the planted differences are found at once."""
    with tempfile.TemporaryDirectory(prefix="ostiary-timing-") as folder:
        return add_up(run_groups(Path(folder), SEED + number, 2_000, 100))
